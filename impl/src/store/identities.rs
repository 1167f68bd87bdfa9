//! `identity`: who was accepted already, by a keyed hash of `(source, delivery)`.

use std::hash::Hasher as _;

use siphasher::sip::SipHasher13;

use crate::domain::{IngressId, Seq};

use super::engine::{StoreError, Tx, Value, query_one};
use super::meta;

/// The keyed hash of an identity. It finds; the event row decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdentityHash(i64);

/// Hashes an identity with this database's key.
///
/// # Errors
/// The machine failed.
pub fn hash(tx: &mut dyn Tx, id: &IngressId) -> Result<IdentityHash, StoreError> {
    let mut hasher = SipHasher13::new_with_key(&meta::identity_key(tx)?);
    // The length keeps ("ab", "c") and ("a", "bc") apart.
    hasher.write_usize(id.source.len());
    hasher.write(id.source.as_bytes());
    hasher.write(id.delivery.as_bytes());
    Ok(IdentityHash(hasher.finish().cast_signed()))
}

/// The event accepted under exactly this identity. INGRESS-05
///
/// # Errors
/// The machine failed.
pub fn find(
    tx: &mut dyn Tx,
    hash: IdentityHash,
    id: &IngressId,
) -> Result<Option<Seq>, StoreError> {
    query_one(
        tx,
        "SELECT i.event FROM identity AS i \
         JOIN event AS e ON e.seq = i.event \
         JOIN name AS s ON s.id = e.source \
         WHERE i.hash = ?1 AND e.delivery = ?3 AND s.text = ?2",
        &[Value::Int(hash.0), (&id.source).into(), (&id.delivery).into()],
        |row| Ok(Seq(row.int(0)?)),
    )
}

/// Remembers an identity for good.
///
/// # Errors
/// The machine failed.
pub fn insert(tx: &mut dyn Tx, hash: IdentityHash, event: Seq) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO identity (hash, event) VALUES (?1, ?2)",
        &[Value::Int(hash.0), event.into()],
    )
    .map(drop)
}
