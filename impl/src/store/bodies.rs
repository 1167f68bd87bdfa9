//! `signed_body`: bodies of senders that sign bodies only. OURS-17

use crate::domain::{Millis, Seq};

use super::engine::{StoreError, Tx, query_one};
use super::events::BodyDigest;
use super::names::NameId;

/// Remembers the body of an accepted event.
///
/// # Errors
/// The machine failed.
pub fn insert(
    tx: &mut dyn Tx,
    source: NameId,
    body: &BodyDigest,
    event: Seq,
) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO signed_body (source, body, event) VALUES (?1, ?2, ?3)",
        &[source.into(), body.as_slice().into(), event.into()],
    )
    .map(drop)
}

/// When this body of this sender was last accepted.
///
/// # Errors
/// The machine failed.
pub fn last_accepted(
    tx: &mut dyn Tx,
    source: NameId,
    body: &BodyDigest,
) -> Result<Option<Millis>, StoreError> {
    // Trusted time never decreases, so that the newest event is the latest.
    query_one(
        tx,
        "SELECT e.accepted_at FROM event AS e WHERE e.seq = \
         (SELECT max(b.event) FROM signed_body AS b WHERE b.source = ?1 AND b.body = ?2)",
        &[source.into(), body.as_slice().into()],
        |row| Ok(Millis(row.int(0)?)),
    )
}
