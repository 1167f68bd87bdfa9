//! `key`: external identities, and the work that owns each, if one does. OWN-01

use crate::domain::{Key, WorkId};

use super::engine::{StoreError, Tx, Value, query_all, query_one};
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
}

/// The row of an identity that was named before.
///
/// # Errors
/// The machine failed.
pub fn find(tx: &mut dyn Tx, key: &Key) -> Result<Option<Held>, StoreError> {
    query_one(
        tx,
        "SELECT k.id, k.work FROM name AS s JOIN key AS k ON k.source = s.id \
         WHERE s.text = ?1 AND k.external_id = ?2",
        &[(&key.source).into(), (&key.external_id).into()],
        |row| Ok(Held { id: KeyId(row.int(0)?), owner: row.opt_int(1)?.map(WorkId) }),
    )
}

/// Stores an identity that was not named before, owned by nobody.
///
/// # Errors
/// The machine failed, or it was named before.
pub fn insert(tx: &mut dyn Tx, key: &Key) -> Result<KeyId, StoreError> {
    let source = names::intern(tx, &key.source)?;
    tx.execute(
        "INSERT INTO key (source, external_id) VALUES (?1, ?2)",
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
