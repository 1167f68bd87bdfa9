//! `name`: sources, types, scopes and kinds, each stored once.

use std::fmt;

use super::engine::{StoreError, Tx, Value, query_one};

/// Row of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameId(pub i64);

impl From<NameId> for Value<'_> {
    fn from(id: NameId) -> Self {
        Self::Int(id.0)
    }
}

impl fmt::Display for NameId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The row of a text that was stored before.
///
/// # Errors
/// The machine failed.
pub fn find(tx: &mut dyn Tx, text: &str) -> Result<Option<NameId>, StoreError> {
    query_one(tx, "SELECT id FROM name WHERE text = ?1", &[text.into()], |row| {
        Ok(NameId(row.int(0)?))
    })
}

/// The row of a text, stored now if it was not before.
///
/// # Errors
/// The machine failed.
pub fn intern(tx: &mut dyn Tx, text: &str) -> Result<NameId, StoreError> {
    if let Some(id) = find(tx, text)? {
        return Ok(id);
    }
    tx.execute("INSERT INTO name (text) VALUES (?1)", &[text.into()])?;
    find(tx, text)?.ok_or_else(|| StoreError::corrupt("name: a row vanished as it was written"))
}

/// The text of a row.
///
/// # Errors
/// The machine failed, or there is no such row.
pub fn text(tx: &mut dyn Tx, id: NameId) -> Result<String, StoreError> {
    query_one(tx, "SELECT text FROM name WHERE id = ?1", &[id.into()], |row| {
        Ok(row.text(0)?.to_owned())
    })?
    .ok_or_else(|| StoreError::corrupt(format!("name: row {id} is missing")))
}
