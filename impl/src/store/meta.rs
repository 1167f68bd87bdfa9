//! `meta` and `counter`: what a database is, its last sequence and its mark of trusted time.

use uuid::Uuid;

use crate::domain::{Millis, Seq};

use super::engine::{StoreError, Tx, execute_one, query_one};

fn missing(table: &str) -> StoreError {
    StoreError::corrupt(format!("{table}: its one row is missing"))
}

/// The id this database got when it was made.
///
/// # Errors
/// The machine failed.
pub fn database_id(tx: &mut dyn Tx) -> Result<Uuid, StoreError> {
    query_one(tx, "SELECT database_id FROM meta WHERE id = 1", &[], |row| row.uuid(0))?
        .ok_or_else(|| missing("meta"))
}

/// The secret that ingress identities are hashed with, so that no sender can aim at a collision.
///
/// # Errors
/// The machine failed.
pub fn identity_key(tx: &mut dyn Tx) -> Result<[u8; 16], StoreError> {
    query_one(tx, "SELECT identity_key FROM meta WHERE id = 1", &[], |row| {
        Ok(row.uuid(0)?.into_bytes())
    })?
    .ok_or_else(|| missing("meta"))
}

/// The highest sequence given out; 0 before the first.
///
/// # Errors
/// The machine failed.
pub fn last_seq(tx: &mut dyn Tx) -> Result<Seq, StoreError> {
    query_one(tx, "SELECT seq FROM counter WHERE id = 1", &[], |row| Ok(Seq(row.int(0)?)))?
        .ok_or_else(|| missing("counter"))
}

/// Takes the next sequence. The row stays locked until the commit, so that commit order is sequence
/// order on any engine. INGRESS-02
///
/// # Errors
/// The machine failed.
pub fn next_seq(tx: &mut dyn Tx) -> Result<Seq, StoreError> {
    // Not `RETURNING`: SQLite would build a table for its one row.
    execute_one(
        tx,
        "UPDATE counter SET seq = seq + 1 WHERE id = 1",
        &[],
        "counter: its one row is missing",
    )?;
    last_seq(tx)
}

/// The latest trusted time that was made durable. OURS-16
///
/// # Errors
/// The machine failed.
pub fn time_mark(tx: &mut dyn Tx) -> Result<Millis, StoreError> {
    query_one(tx, "SELECT time_mark FROM counter WHERE id = 1", &[], |row| Ok(Millis(row.int(0)?)))?
        .ok_or_else(|| missing("counter"))
}

/// Raises the mark of trusted time; it never goes down. OURS-16
///
/// # Errors
/// The machine failed.
pub fn raise_time_mark(tx: &mut dyn Tx, now: Millis) -> Result<(), StoreError> {
    execute_one(
        tx,
        "UPDATE counter SET time_mark = CASE WHEN time_mark < ?1 THEN ?1 ELSE time_mark END \
         WHERE id = 1",
        &[now.into()],
        "counter: its one row is missing",
    )
}
