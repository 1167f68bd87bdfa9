//! `generation`: the configurations that were current, numbered in that order. BIND-10

use crate::domain::{Generation, Millis};

use super::engine::{StoreError, Tx, query_one};

/// A configuration as it was made current.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Its number.
    pub n: Generation,
    /// The digest of its text.
    pub digest: String,
    /// Its text, with secrets named and not spelled out.
    pub body: String,
    /// When it became current.
    pub created_at: Millis,
}

/// The number of the current configuration; 0 before the first.
///
/// # Errors
/// The machine failed.
pub fn current_no(tx: &mut dyn Tx) -> Result<Generation, StoreError> {
    Ok(query_one(tx, "SELECT max(n) FROM generation", &[], |row| row.opt_int(0))?
        .flatten()
        .map_or(Generation(0), Generation))
}

/// The current configuration.
///
/// # Errors
/// The machine failed.
pub fn current(tx: &mut dyn Tx) -> Result<Option<Stored>, StoreError> {
    let n = current_no(tx)?;
    get(tx, n)
}

/// One configuration.
///
/// # Errors
/// The machine failed.
pub fn get(tx: &mut dyn Tx, n: Generation) -> Result<Option<Stored>, StoreError> {
    query_one(
        tx,
        "SELECT n, digest, body, created_at FROM generation WHERE n = ?1",
        &[n.into()],
        |row| {
            Ok(Stored {
                n: Generation(row.int(0)?),
                digest: row.text(1)?.to_owned(),
                body: row.text(2)?.to_owned(),
                created_at: Millis(row.int(3)?),
            })
        },
    )
}

/// Stores a configuration under a number higher than any: it is current from now on.
///
/// # Errors
/// The machine failed, or the number is taken.
pub fn insert(
    tx: &mut dyn Tx,
    n: Generation,
    digest: &str,
    body: &str,
    now: Millis,
) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO generation (n, digest, body, created_at) VALUES (?1, ?2, ?3, ?4)",
        &[n.into(), digest.into(), body.into(), now.into()],
    )
    .map(drop)
}
