//! `key`: external identities, and the work that owns each, if one does. OWN-01

use crate::domain::{Key, WorkId};

use super::engine::{Row, StoreError, Tx, Value, execute_one, query_all, query_one};
use super::names;

/// Row of an external identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(pub i64);

impl From<KeyId> for Value<'_> {
    fn from(id: KeyId) -> Self {
        Self::Int(id.0)
    }
}

/// An external identity and its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    /// Its row.
    pub id: KeyId,
    /// The work that owns it.
    pub owner: Option<WorkId>,
    /// The key it is a generation of; itself if it is none. TERM-03
    pub base: KeyId,
    /// How many reopenings it comes after; 0 for a base.
    pub generation: u32,
    /// The newest generation of it; itself for the newest and for a generation. TERM-04
    pub newest: KeyId,
}

fn read(row: &dyn Row) -> Result<Held, StoreError> {
    let id = KeyId(row.int(0)?);
    Ok(Held {
        id,
        owner: row.opt_int(1)?.map(WorkId),
        base: row.opt_int(2)?.map_or(id, KeyId),
        generation: row.small(3)?,
        newest: row.opt_int(4)?.map_or(id, KeyId),
    })
}

/// The row of an identity that was named before.
///
/// # Errors
/// The machine failed.
pub fn find(tx: &mut dyn Tx, key: &Key) -> Result<Option<Held>, StoreError> {
    query_one(
        tx,
        "SELECT k.id, k.work, k.base, k.generation, k.newest FROM name AS s \
         JOIN key AS k ON k.source = s.id WHERE s.text = ?1 AND k.external_id = ?2",
        &[(&key.source).into(), (&key.external_id).into()],
        read,
    )
}

/// The newest generation of a key; itself if it names a generation, and `None` if it was not named
/// before. TERM-04
///
/// # Errors
/// The machine failed, or a row it refers to is missing.
pub fn newest(tx: &mut dyn Tx, key: &Key) -> Result<Option<Held>, StoreError> {
    match find(tx, key)? {
        Some(held) if held.newest != held.id => referred(tx, held.newest).map(Some),
        held => Ok(held),
    }
}

/// A key that a row refers to, and that therefore exists.
///
/// # Errors
/// The machine failed, or the key is missing.
pub fn referred(tx: &mut dyn Tx, id: KeyId) -> Result<Held, StoreError> {
    query_one(
        tx,
        "SELECT id, work, base, generation, newest FROM key WHERE id = ?1",
        &[id.into()],
        read,
    )?
    .ok_or_else(|| StoreError::corrupt(format!("key: row {} is missing", id.0)))
}

/// The words of a key.
///
/// # Errors
/// The machine failed, or there is no such row.
pub fn text(tx: &mut dyn Tx, id: KeyId) -> Result<Key, StoreError> {
    query_one(
        tx,
        "SELECT s.text, k.external_id FROM key AS k JOIN name AS s ON s.id = k.source \
         WHERE k.id = ?1",
        &[id.into()],
        |row| Ok(Key { source: row.text(0)?.to_owned(), external_id: row.text(1)?.to_owned() }),
    )?
    .ok_or_else(|| StoreError::corrupt(format!("key: row {} is missing", id.0)))
}

/// The row of a key, stored now if it was not named before.
///
/// # Errors
/// The machine failed.
pub fn intern(tx: &mut dyn Tx, key: &Key) -> Result<KeyId, StoreError> {
    match find(tx, key)? {
        Some(held) => Ok(held.id),
        None => insert(tx, key),
    }
}

/// A base key and every generation of it.
///
/// # Errors
/// The machine failed.
pub fn generations(tx: &mut dyn Tx, base: KeyId) -> Result<Vec<KeyId>, StoreError> {
    let mut all = vec![base];
    all.extend(query_all(
        tx,
        "SELECT id FROM key WHERE base = ?1 ORDER BY generation",
        &[base.into()],
        |row| Ok(KeyId(row.int(0)?)),
    )?);
    Ok(all)
}

/// Makes `key` the newest generation of `base`: from now on its events are accepted under it.
/// TERM-03 TERM-04
///
/// # Errors
/// The machine failed, or a generation of that number is there.
pub fn succeed(
    tx: &mut dyn Tx,
    base: KeyId,
    key: KeyId,
    generation: u32,
) -> Result<(), StoreError> {
    execute_one(
        tx,
        "UPDATE key SET base = ?2, generation = ?3 WHERE id = ?1 AND base IS NULL \
         AND newest IS NULL",
        &[key.into(), base.into(), generation.into()],
        "key: a generation was made of a key that has some of its own",
    )?;
    execute_one(
        tx,
        "UPDATE key SET newest = ?2 WHERE id = ?1 AND base IS NULL",
        &[base.into(), key.into()],
        "key: a base is missing, or is itself a generation",
    )
}

/// Stores an identity that was not named before, owned by nobody.
///
/// # Errors
/// The machine failed, or it was named before.
pub fn insert(tx: &mut dyn Tx, key: &Key) -> Result<KeyId, StoreError> {
    let source = names::intern(tx, &key.source)?;
    tx.execute(
        "INSERT INTO key (source, external_id, generation) VALUES (?1, ?2, 0)",
        &[source.into(), (&key.external_id).into()],
    )?;
    match find(tx, key)? {
        Some(held) => Ok(held.id),
        None => Err(StoreError::corrupt("key: a row vanished as it was written")),
    }
}

/// The owner of an identity.
///
/// # Errors
/// The machine failed, or there is no such row.
pub fn owner(tx: &mut dyn Tx, key: KeyId) -> Result<Option<WorkId>, StoreError> {
    query_one(tx, "SELECT work FROM key WHERE id = ?1", &[key.into()], |row| {
        Ok(row.opt_int(0)?.map(WorkId))
    })?
    .ok_or_else(|| StoreError::corrupt(format!("key: row {} is missing", key.0)))
}

/// Gives an identity that nobody owns to a work; `false` and no write if somebody does. OWN-01
///
/// # Errors
/// The machine failed.
pub fn attach(tx: &mut dyn Tx, key: KeyId, work: WorkId) -> Result<bool, StoreError> {
    let changed = tx.execute(
        "UPDATE key SET work = ?2 WHERE id = ?1 AND work IS NULL",
        &[key.into(), work.into()],
    )?;
    Ok(changed == 1)
}

/// The identities a work owns, in the order they were first named.
///
/// # Errors
/// The machine failed.
pub fn of_work(tx: &mut dyn Tx, work: WorkId) -> Result<Vec<Key>, StoreError> {
    query_all(
        tx,
        "SELECT s.text, k.external_id FROM key AS k JOIN name AS s ON s.id = k.source \
         WHERE k.work = ?1 ORDER BY k.id",
        &[work.into()],
        |row| Ok(Key { source: row.text(0)?.to_owned(), external_id: row.text(1)?.to_owned() }),
    )
}
