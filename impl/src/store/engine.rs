//! The thin line between the law and a database: values in, rows out, savepoints.
//!
//! SQL arrives as `&'static str`, so that an engine can hold every statement prepared by the
//! address of its text. Parameters are `?1`, `?2`, …; an engine that spells them otherwise rewrites
//! them when it prepares. What a row means is said by `store/TABLE.rs`, never here.

use std::borrow::Cow;

use uuid::Uuid;

use crate::domain::{AttemptNo, Epoch, Generation, Millis, Seq, TokenHash, WaitId, WorkId};

/// A parameter of a statement; borrows what it can.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'a> {
    /// SQL `NULL`.
    Null,
    /// A 64-bit integer.
    Int(i64),
    /// UTF-8 text; NUL is data.
    Text(&'a str),
    /// Bytes.
    Blob(&'a [u8]),
}

/// One row of a result, read by column index.
pub trait Row {
    /// The value of a column.
    ///
    /// # Errors
    /// There is no such column, or its value is of no type we store.
    fn value(&self, column: usize) -> Result<Value<'_>, StoreError>;
}

impl dyn Row + '_ {
    /// An integer that may be absent.
    ///
    /// # Errors
    /// The column holds something else.
    pub fn opt_int(&self, column: usize) -> Result<Option<i64>, StoreError> {
        match self.value(column)? {
            Value::Null => Ok(None),
            Value::Int(value) => Ok(Some(value)),
            other @ (Value::Text(_) | Value::Blob(_)) => Err(wrong_type(column, "integer", other)),
        }
    }

    /// An integer.
    ///
    /// # Errors
    /// The column holds something else.
    pub fn int(&self, column: usize) -> Result<i64, StoreError> {
        self.opt_int(column)?.ok_or_else(|| wrong_type(column, "integer", Value::Null))
    }

    /// A small unsigned number, as attempts, epochs and depths are.
    ///
    /// # Errors
    /// The column holds something else, or a number out of range.
    pub fn small(&self, column: usize) -> Result<u32, StoreError> {
        small(self.int(column)?, column)
    }

    /// A small unsigned number that may be absent.
    ///
    /// # Errors
    /// The column holds something else, or a number out of range.
    pub fn opt_small(&self, column: usize) -> Result<Option<u32>, StoreError> {
        self.opt_int(column)?.map(|value| small(value, column)).transpose()
    }

    /// An unsigned number, as lengths of time and epochs are.
    ///
    /// # Errors
    /// The column holds something else, or a negative number.
    pub fn unsigned(&self, column: usize) -> Result<u64, StoreError> {
        unsigned(self.int(column)?, column)
    }

    /// An unsigned number that may be absent.
    ///
    /// # Errors
    /// The column holds something else, or a negative number.
    pub fn opt_unsigned(&self, column: usize) -> Result<Option<u64>, StoreError> {
        self.opt_int(column)?.map(|value| unsigned(value, column)).transpose()
    }

    /// Text that may be absent.
    ///
    /// # Errors
    /// The column holds something else.
    pub fn opt_text(&self, column: usize) -> Result<Option<&str>, StoreError> {
        match self.value(column)? {
            Value::Null => Ok(None),
            Value::Text(value) => Ok(Some(value)),
            other @ (Value::Int(_) | Value::Blob(_)) => Err(wrong_type(column, "text", other)),
        }
    }

    /// Text.
    ///
    /// # Errors
    /// The column holds something else.
    pub fn text(&self, column: usize) -> Result<&str, StoreError> {
        self.opt_text(column)?.ok_or_else(|| wrong_type(column, "text", Value::Null))
    }

    /// Bytes that may be absent.
    ///
    /// # Errors
    /// The column holds something else.
    pub fn opt_blob(&self, column: usize) -> Result<Option<&[u8]>, StoreError> {
        match self.value(column)? {
            Value::Null => Ok(None),
            Value::Blob(value) => Ok(Some(value)),
            other @ (Value::Int(_) | Value::Text(_)) => Err(wrong_type(column, "blob", other)),
        }
    }

    /// Bytes.
    ///
    /// # Errors
    /// The column holds something else.
    pub fn blob(&self, column: usize) -> Result<&[u8], StoreError> {
        self.opt_blob(column)?.ok_or_else(|| wrong_type(column, "blob", Value::Null))
    }

    /// The 16 bytes of an id.
    ///
    /// # Errors
    /// The column holds something else.
    pub fn uuid(&self, column: usize) -> Result<Uuid, StoreError> {
        Uuid::from_slice(self.blob(column)?)
            .map_err(|_| StoreError::corrupt(format!("column {column} is no 16-byte id")))
    }
}

fn small(value: i64, column: usize) -> Result<u32, StoreError> {
    u32::try_from(value)
        .map_err(|_| StoreError::corrupt(format!("column {column} holds {value}, out of range")))
}

fn unsigned(value: i64, column: usize) -> Result<u64, StoreError> {
    u64::try_from(value)
        .map_err(|_| StoreError::corrupt(format!("column {column} holds {value}, out of range")))
}

fn wrong_type(column: usize, wanted: &str, found: Value<'_>) -> StoreError {
    let found = match found {
        Value::Null => "NULL",
        Value::Int(_) => "an integer",
        Value::Text(_) => "text",
        Value::Blob(_) => "bytes",
    };
    StoreError::corrupt(format!("column {column} holds {found} where {wanted} is stored"))
}

/// What is done with each row of a query.
pub type Each<'f> = &'f mut dyn FnMut(&dyn Row) -> Result<(), StoreError>;

/// One open transaction.
pub trait Tx {
    /// Runs a statement that returns no rows; answers how many rows it changed.
    ///
    /// # Errors
    /// The machine failed, or a constraint refused the statement.
    fn execute(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<usize, StoreError>;

    /// Runs a statement and hands each row of its result to `each`, in order.
    ///
    /// # Errors
    /// The machine failed, a constraint refused the statement, or `each` did.
    fn query(
        &mut self,
        sql: &'static str,
        values: &[Value<'_>],
        each: Each<'_>,
    ) -> Result<(), StoreError>;

    /// Marks a point to go back to. Points nest; the newest is the one the next two act on.
    ///
    /// # Errors
    /// The machine failed.
    fn savepoint(&mut self) -> Result<(), StoreError>;

    /// Undoes everything since the newest point, which stays.
    ///
    /// # Errors
    /// The machine failed, or there is no point.
    fn rollback_to(&mut self) -> Result<(), StoreError>;

    /// Forgets the newest point and keeps what was done since.
    ///
    /// # Errors
    /// The machine failed, or there is no point.
    fn release(&mut self) -> Result<(), StoreError>;
}

/// A [`Tx`] whose transactions its owner begins and ends.
pub trait Engine: Tx {
    /// Begins a transaction that will write, and takes the right to write now rather than later.
    ///
    /// # Errors
    /// The machine failed, or another process holds that right.
    fn begin(&mut self) -> Result<(), StoreError>;

    /// Makes the transaction durable.
    ///
    /// # Errors
    /// The machine failed; nothing of the transaction may be relied on.
    fn commit(&mut self) -> Result<(), StoreError>;

    /// Undoes the transaction; without one it does nothing.
    ///
    /// # Errors
    /// The machine failed.
    fn rollback(&mut self) -> Result<(), StoreError>;

    /// Rows changed since the engine was opened, undone changes included.
    fn changed(&self) -> u64;
}

/// Reads at most one row.
///
/// # Errors
/// As [`Tx::query`]; and the statement answered more than one row.
pub fn query_one<T>(
    tx: &mut dyn Tx,
    sql: &'static str,
    values: &[Value<'_>],
    read: impl Fn(&dyn Row) -> Result<T, StoreError>,
) -> Result<Option<T>, StoreError> {
    let mut found = None;
    tx.query(sql, values, &mut |row| {
        if found.replace(read(row)?).is_some() {
            return Err(StoreError::corrupt(format!("more than one row answers: {sql}")));
        }
        Ok(())
    })?;
    Ok(found)
}

/// Reads every row.
///
/// # Errors
/// As [`Tx::query`].
pub fn query_all<T>(
    tx: &mut dyn Tx,
    sql: &'static str,
    values: &[Value<'_>],
    read: impl Fn(&dyn Row) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let mut rows = Vec::new();
    tx.query(sql, values, &mut |row| {
        rows.push(read(row)?);
        Ok(())
    })?;
    Ok(rows)
}

/// A row of a list that goes on after it, whatever it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed<T> {
    /// What the list is ordered by first, and then by the id.
    pub at: i64,
    /// The row's id.
    pub id: i64,
    /// The row, or why it cannot be read: damage hides no other row.
    pub row: Result<T, StoreError>,
}

/// Reads every row, damaged ones as such. The columns `at` and `id` are what the list is ordered by
/// and goes on after.
///
/// # Errors
/// As [`Tx::query`]; and a row cannot be told from others.
pub fn query_listed<T>(
    tx: &mut dyn Tx,
    sql: &'static str,
    values: &[Value<'_>],
    (at, id): (usize, usize),
    read: impl Fn(&dyn Row) -> Result<T, StoreError>,
) -> Result<Vec<Listed<T>>, StoreError> {
    query_all(tx, sql, values, |row| {
        Ok(Listed { at: row.int(at)?, id: row.int(id)?, row: read(row) })
    })
}

/// Runs a statement that must change exactly one row; `what` says what is damaged if it does not.
///
/// # Errors
/// As [`Tx::execute`]; [`StoreError::Corrupt`] if another number of rows changed.
pub fn execute_one(
    tx: &mut dyn Tx,
    sql: &'static str,
    values: &[Value<'_>],
    what: &str,
) -> Result<(), StoreError> {
    match tx.execute(sql, values)? {
        1 => Ok(()),
        changed => Err(StoreError::corrupt(format!("{what} ({changed} rows changed)"))),
    }
}

/// The machine's failure, never the law's answer: the transaction rolls back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// What is stored contradicts itself.
    #[error(
        "the database is damaged: {what}. Stop the daemon, keep the file and run `abide doctor`"
    )]
    Corrupt {
        /// What was found, and where.
        what: Cow<'static, str>,
    },
    /// The engine cannot make sense of the file: pages of it are damaged.
    #[error(
        "the database file is damaged ({what}): stop the daemon and restore the last good backup with \
         `abide restore FILE`, which keeps the damaged file"
    )]
    Malformed {
        /// What the engine said.
        what: String,
    },
    /// A later version wrote the file.
    #[error(
        "{path} has schema {found} and this binary knows up to {known}: start the newer abide, or \
         restore a backup made before the upgrade"
    )]
    NewerSchema {
        /// The file.
        path: String,
        /// Its schema.
        found: i64,
        /// The newest this binary knows.
        known: i64,
    },
    /// The file has the number of a schema and not the schema: a step was cut short elsewhere, or
    /// somebody changed it by hand.
    #[error(
        "{path} has not the schema that its number says: {what}. Restore a backup with `abide restore \
         FILE`, or start the version that made the file"
    )]
    Schema {
        /// The file.
        path: String,
        /// The first difference.
        what: String,
    },
    /// The file holds something else.
    #[error("{path} is no abide database: point `database` at another file")]
    Foreign {
        /// The file.
        path: String,
    },
    /// Another process is writing.
    #[error(
        "another process holds the database's write lock: is a second daemon or a backup running? \
         ({what})"
    )]
    Busy {
        /// What the engine said.
        what: String,
    },
    /// No room is left.
    #[error(
        "the disk that holds the database is full: make room; nothing accepted is lost ({what})"
    )]
    Full {
        /// What the engine said.
        what: String,
    },
    /// The disk or the file system failed.
    #[error("the database cannot be read or written: check the disk and its permissions ({what})")]
    Io {
        /// What the engine said.
        what: String,
    },
    /// A constraint refused a statement that the law had decided on.
    #[error("the store refused a write the law had decided on: {what}")]
    Constraint {
        /// What the engine said, and of which statement.
        what: String,
    },
    /// Anything else the engine said.
    #[error("the database engine failed: {what}")]
    Engine {
        /// What it said, and of which statement.
        what: String,
    },
}

impl StoreError {
    /// The name under which a program tells one failure from another.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Corrupt { .. } => "corrupt",
            Self::Malformed { .. } => "damaged_file",
            Self::NewerSchema { .. } => "newer_schema",
            Self::Schema { .. } => "other_schema",
            Self::Foreign { .. } => "foreign_database",
            Self::Busy { .. } => "busy",
            Self::Full { .. } => "full",
            Self::Io { .. } => "io",
            Self::Constraint { .. } => "constraint",
            Self::Engine { .. } => "engine",
        }
    }

    /// Damage, with what was found and where.
    #[must_use]
    pub fn corrupt(what: impl Into<Cow<'static, str>>) -> Self {
        Self::Corrupt { what: what.into() }
    }

    /// The file itself is damaged: nothing that is read from it can be trusted any more.
    #[must_use]
    pub const fn is_damage(&self) -> bool {
        match self {
            Self::Malformed { .. } => true,
            Self::Corrupt { .. }
            | Self::NewerSchema { .. }
            | Self::Schema { .. }
            | Self::Foreign { .. }
            | Self::Busy { .. }
            | Self::Full { .. }
            | Self::Io { .. }
            | Self::Constraint { .. }
            | Self::Engine { .. } => false,
        }
    }

    /// Storage itself is failing, so the next command will fare no better.
    #[must_use]
    pub const fn is_storage(&self) -> bool {
        match self {
            Self::Full { .. } | Self::Io { .. } | Self::Malformed { .. } => true,
            Self::Corrupt { .. }
            | Self::NewerSchema { .. }
            | Self::Schema { .. }
            | Self::Foreign { .. }
            | Self::Busy { .. }
            | Self::Constraint { .. }
            | Self::Engine { .. } => false,
        }
    }
}

impl From<i64> for Value<'_> {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<u32> for Value<'_> {
    fn from(value: u32) -> Self {
        Self::Int(value.into())
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(value: &'a str) -> Self {
        Self::Text(value)
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(value: &'a String) -> Self {
        Self::Text(value)
    }
}

impl<'a> From<&'a [u8]> for Value<'a> {
    fn from(value: &'a [u8]) -> Self {
        Self::Blob(value)
    }
}

impl<'a> From<&'a Uuid> for Value<'a> {
    fn from(value: &'a Uuid) -> Self {
        Self::Blob(value.as_bytes())
    }
}

impl<'a> From<&'a TokenHash> for Value<'a> {
    fn from(value: &'a TokenHash) -> Self {
        Self::Blob(&value.0)
    }
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

macro_rules! integers {
    ($($id:ty),*) => {$(
        impl From<$id> for Value<'_> {
            fn from(value: $id) -> Self {
                Self::Int(value.0.into())
            }
        }
    )*};
}
integers!(Seq, WorkId, WaitId, AttemptNo, Generation, Millis);

impl From<Epoch> for Value<'_> {
    fn from(epoch: Epoch) -> Self {
        // The last epoch of the last incarnation fits.
        Self::Int(i64::try_from(epoch.0).unwrap_or(i64::MAX))
    }
}
