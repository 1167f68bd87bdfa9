//! `idempotency`: what a principal's request under a key was answered, so that a repeat is answered
//! the same and changes nothing. OURS-23

use crate::domain::Millis;

use super::engine::{StoreError, Tx, query_one};

/// The answer a key was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Hash of the request it was an answer to.
    pub request: Vec<u8>,
    /// The answer, as its writer wrote it.
    pub answer: String,
}

/// What a principal's key was answered at `since` or later.
///
/// # Errors
/// The machine failed.
pub fn find(
    tx: &mut dyn Tx,
    principal: &str,
    key: &str,
    since: Millis,
) -> Result<Option<Kept>, StoreError> {
    query_one(
        tx,
        "SELECT request, answer FROM idempotency WHERE principal = ?1 AND key = ?2 AND at >= ?3",
        &[principal.into(), key.into(), since.into()],
        |row| Ok(Kept { request: row.blob(0)?.to_vec(), answer: row.text(1)?.to_owned() }),
    )
}

/// Keeps an answer; one under the same key that is too old to be found is replaced.
///
/// # Errors
/// The machine failed.
pub fn keep(
    tx: &mut dyn Tx,
    principal: &str,
    key: &str,
    kept: &Kept,
    now: Millis,
) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO idempotency (principal, key, request, answer, at) VALUES (?1, ?2, ?3, ?4, ?5) \
         ON CONFLICT (principal, key) DO UPDATE SET request = ?3, answer = ?4, at = ?5",
        &[
            principal.into(),
            key.into(),
            kept.request.as_slice().into(),
            kept.answer.as_str().into(),
            now.into(),
        ],
    )
    .map(drop)
}

/// Forgets what is too old to be found.
///
/// # Errors
/// The machine failed.
pub fn forget(tx: &mut dyn Tx, before: Millis) -> Result<(), StoreError> {
    tx.execute("DELETE FROM idempotency WHERE at < ?1", &[before.into()]).map(drop)
}
