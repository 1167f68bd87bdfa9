//! `meta` and `counter`: what a database is, its last sequence and its mark of trusted time.

use uuid::Uuid;

use crate::domain::{Incarnation, Millis, Seq};

use super::engine::{StoreError, Tx, Value, execute_one, query_one};

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

/// How often this database was restored, counted from 1. OURS-21
///
/// # Errors
/// The machine failed.
pub fn incarnation(tx: &mut dyn Tx) -> Result<Incarnation, StoreError> {
    query_one(tx, "SELECT incarnation FROM counter WHERE id = 1", &[], |row| {
        Ok(Incarnation(row.small(0)?))
    })?
    .ok_or_else(|| missing("counter"))
}

/// Whether the restore hold stands. OURS-21
///
/// # Errors
/// The machine failed.
pub fn restored(tx: &mut dyn Tx) -> Result<bool, StoreError> {
    query_one(tx, "SELECT restored FROM counter WHERE id = 1", &[], |row| Ok(row.int(0)? != 0))?
        .ok_or_else(|| missing("counter"))
}

/// Begins an incarnation, under the restore hold. OURS-21
///
/// # Errors
/// The machine failed.
pub fn incarnate(tx: &mut dyn Tx, incarnation: Incarnation) -> Result<(), StoreError> {
    execute_one(
        tx,
        "UPDATE counter SET incarnation = ?1, restored = 1 WHERE id = 1",
        &[Value::Int(incarnation.0.into())],
        "counter: its one row is missing",
    )
}

/// Lifts the restore hold. OURS-21
///
/// # Errors
/// The machine failed, or it does not stand.
pub fn release(tx: &mut dyn Tx) -> Result<(), StoreError> {
    execute_one(
        tx,
        "UPDATE counter SET restored = 0 WHERE id = 1 AND restored = 1",
        &[],
        "counter: a restore hold was lifted that did not stand",
    )
}
