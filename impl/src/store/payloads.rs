//! `payload`: what events carry, apart from their rows, so that what is read often does not drag
//! it along.

use crate::domain::Seq;

use super::engine::{StoreError, Tx, query_one};

/// Keeps the payload of an event.
///
/// # Errors
/// The machine failed.
pub fn insert(tx: &mut dyn Tx, event: Seq, body: &str) -> Result<(), StoreError> {
    tx.execute("INSERT INTO payload (event, body) VALUES (?1, ?2)", &[event.into(), body.into()])
        .map(drop)
}

/// The payload of an event; `None` if it had none.
///
/// # Errors
/// The machine failed.
pub fn get(tx: &mut dyn Tx, event: Seq) -> Result<Option<String>, StoreError> {
    query_one(tx, "SELECT body FROM payload WHERE event = ?1", &[event.into()], |row| {
        Ok(row.text(0)?.to_owned())
    })
}
