//! SQLite: how a file is opened, and a [`Session`] that runs statements on it.
//!
//! WAL, `synchronous=FULL`, foreign keys, and the query planner's stability guarantee, without
//! which a held statement is planned again on every run.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};
use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::types::ValueRef;
use rusqlite::{CachedStatement, Connection, ErrorCode, OpenFlags, StatementStatus};

use super::engine::{Each, Engine, Row, StoreError, Tx, Value};
use super::migrate;

/// How long a connection waits for another process's write lock.
pub(super) const BUSY: std::time::Duration = std::time::Duration::from_secs(5);

/// What a database without a file is called.
const MEMORY: &str = ":memory:";

/// More than the statements of `store/`, so that none is ever dropped from the cache.
const STATEMENTS: usize = 512;

/// One connection to one database, migrated and ready.
#[derive(Debug)]
pub struct Store {
    conn: Connection,
}

impl Store {
    /// Opens the file, makes it if it is absent, and migrates it.
    ///
    /// # Errors
    /// The file cannot be opened, is no database of ours, or has a newer schema.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let conn = Connection::open(path).map_err(|e| failure(&e, "open"))?;
        Self::prepare(conn, &path.display().to_string())
    }

    /// A database that lives as long as this value.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_in_memory() -> Result<Self, StoreError> {
        let conn = Connection::open_in_memory().map_err(|e| failure(&e, "open in memory"))?;
        Self::prepare(conn, MEMORY)
    }

    /// Opens an existing file for reading; it is neither made nor migrated.
    ///
    /// # Errors
    /// The file cannot be opened, is no database of ours, or has another schema.
    pub fn open_reader(path: &Path) -> Result<Self, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = Connection::open_with_flags(path, flags).map_err(|e| failure(&e, "open"))?;
        conn.busy_timeout(BUSY).map_err(|e| failure(&e, "busy_timeout"))?;
        migrate::check(&conn, &path.display().to_string())?;
        configure(&conn)?;
        conn.pragma_update(None, "query_only", true).map_err(|e| failure(&e, "query_only"))?;
        Ok(Self { conn })
    }

    /// A connection as it is, which was opened and recognised elsewhere.
    pub(super) const fn of(conn: Connection) -> Self {
        Self { conn }
    }

    fn prepare(mut conn: Connection, path: &str) -> Result<Self, StoreError> {
        // Even the journal mode is written to the file.
        conn.busy_timeout(BUSY).map_err(|e| failure(&e, "busy_timeout"))?;
        migrate::recognise(&conn, path)?;
        configure(&conn)?;
        migrate::migrate(&mut conn, path)?;
        if path != MEMORY {
            migrate::verify(&conn, path)?;
        }
        Ok(Self { conn })
    }

    /// Statements on this connection. A session that lives long holds each statement prepared; a
    /// short one takes them from the connection's cache and gives them back.
    #[must_use]
    pub fn session(&self) -> Session<'_> {
        Session { conn: &self.conn, held: HashMap::default(), changed: 0 }
    }

    /// Lets the write-ahead log grow to so many pages before a commit checkpoints it itself.
    ///
    /// # Errors
    /// The engine refused.
    pub fn set_autocheckpoint(&self, pages: u32) -> Result<(), StoreError> {
        self.conn
            .pragma_update(None, "wal_autocheckpoint", pages)
            .map_err(|e| failure(&e, "wal_autocheckpoint"))
    }

    /// Moves what it can from the write-ahead log into the file without waiting for anyone.
    ///
    /// # Errors
    /// The disk failed.
    pub fn checkpoint(&self) -> Result<(), StoreError> {
        self.conn
            .query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
            .map_err(|e| failure(&e, "wal_checkpoint"))
    }

    /// The connection, for tests that break things on purpose.
    #[cfg(test)]
    pub(crate) const fn connection(&self) -> &Connection {
        &self.conn
    }
}

fn configure(conn: &Connection) -> Result<(), StoreError> {
    let set = |name: &str, value: &str| {
        conn.pragma_update(None, name, value).map_err(|e| failure(&e, name))
    };
    conn.busy_timeout(BUSY).map_err(|e| failure(&e, "busy_timeout"))?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)
        .map_err(|e| failure(&e, "QPSG"))?;
    set("journal_mode", "WAL")?;
    set("synchronous", "FULL")?;
    set("foreign_keys", "ON")?;
    set("cache_size", "-65536")?;
    set("temp_store", "MEMORY")
}

/// The statements of one connection, held prepared, and its transactions.
pub struct Session<'c> {
    conn: &'c Connection,
    held: HashMap<Address, CachedStatement<'c>, BuildHasherDefault<AddressHasher>>,
    changed: u64,
}

/// Where a statement's text lies and how long it is; two texts may share their beginning.
type Address = (usize, usize);

impl<'c> Session<'c> {
    /// How often the engine planned a held statement again. In steady state it never does.
    #[must_use]
    pub fn reprepared(&self) -> i64 {
        self.held.values().map(|held| i64::from(held.get_status(StatementStatus::RePrepare))).sum()
    }

    /// How many statements are held.
    #[must_use]
    pub fn statements(&self) -> usize {
        self.held.len()
    }

    /// Begins a transaction that reads one snapshot.
    ///
    /// # Errors
    /// The engine refused.
    pub fn begin_snapshot(&mut self) -> Result<(), StoreError> {
        self.execute("BEGIN DEFERRED", &[]).map(drop)
    }

    fn held(&mut self, sql: &'static str) -> Result<&mut CachedStatement<'c>, StoreError> {
        use std::collections::hash_map::Entry;
        match self.held.entry((sql.as_ptr() as usize, sql.len())) {
            Entry::Occupied(held) => Ok(held.into_mut()),
            Entry::Vacant(place) => {
                let made = self.conn.prepare_cached(sql).map_err(|e| failure(&e, sql))?;
                Ok(place.insert(made))
            }
        }
    }
}

impl fmt::Debug for Session<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("statements", &self.held.len()).finish_non_exhaustive()
    }
}

impl Tx for Session<'_> {
    fn execute(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<usize, StoreError> {
        let statement = self.held(sql)?;
        bind(statement, values, sql)?;
        let changed = statement.raw_execute().map_err(|e| failure(&e, sql))?;
        self.changed += changed as u64;
        Ok(changed)
    }

    fn query(
        &mut self,
        sql: &'static str,
        values: &[Value<'_>],
        each: Each<'_>,
    ) -> Result<(), StoreError> {
        let statement = self.held(sql)?;
        bind(statement, values, sql)?;
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next().map_err(|e| failure(&e, sql))? {
            each(&Found(row))?;
        }
        Ok(())
    }

    fn savepoint(&mut self) -> Result<(), StoreError> {
        self.execute("SAVEPOINT point", &[]).map(drop)
    }

    fn rollback_to(&mut self) -> Result<(), StoreError> {
        self.execute("ROLLBACK TO point", &[]).map(drop)
    }

    fn release(&mut self) -> Result<(), StoreError> {
        self.execute("RELEASE point", &[]).map(drop)
    }
}

impl Engine for Session<'_> {
    fn begin(&mut self) -> Result<(), StoreError> {
        self.execute("BEGIN IMMEDIATE", &[]).map(drop)
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        self.execute("COMMIT", &[]).map(drop)
    }

    fn rollback(&mut self) -> Result<(), StoreError> {
        // A full disk may have rolled the transaction back already.
        if self.conn.is_autocommit() {
            return Ok(());
        }
        self.execute("ROLLBACK", &[]).map(drop)
    }

    fn changed(&self) -> u64 {
        self.changed
    }
}

fn bind(
    statement: &mut CachedStatement<'_>,
    values: &[Value<'_>],
    sql: &str,
) -> Result<(), StoreError> {
    let expected = statement.parameter_count();
    if expected != values.len() {
        let what = format!("{} values for {expected} parameters of: {sql}", values.len());
        return Err(StoreError::Engine { what });
    }
    for (index, value) in values.iter().enumerate() {
        let bound = match *value {
            Value::Null => statement.raw_bind_parameter(index + 1, rusqlite::types::Null),
            Value::Int(value) => statement.raw_bind_parameter(index + 1, value),
            Value::Text(value) => statement.raw_bind_parameter(index + 1, value),
            Value::Blob(value) => statement.raw_bind_parameter(index + 1, value),
        };
        bound.map_err(|e| failure(&e, sql))?;
    }
    Ok(())
}

struct Found<'r, 's>(&'r rusqlite::Row<'s>);

impl Row for Found<'_, '_> {
    fn value(&self, column: usize) -> Result<Value<'_>, StoreError> {
        let found = self.0.get_ref(column).map_err(|e| failure(&e, "read a column"))?;
        match found {
            ValueRef::Null => Ok(Value::Null),
            ValueRef::Integer(value) => Ok(Value::Int(value)),
            ValueRef::Blob(value) => Ok(Value::Blob(value)),
            ValueRef::Text(value) => match std::str::from_utf8(value) {
                Ok(value) => Ok(Value::Text(value)),
                Err(_) => {
                    Err(StoreError::corrupt(format!("column {column} holds text that is no UTF-8")))
                }
            },
            ValueRef::Real(_) => {
                Err(StoreError::corrupt(format!("column {column} holds a floating-point number")))
            }
        }
    }
}

/// Sorts what the engine said into what a person can do about it; `doing` is the statement or the
/// step that failed.
pub(super) fn failure(error: &rusqlite::Error, doing: &str) -> StoreError {
    let what = format!("{error}; at: {doing}");
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy { what },
        Some(ErrorCode::DiskFull) => StoreError::Full { what },
        Some(
            ErrorCode::SystemIoFailure
            | ErrorCode::CannotOpen
            | ErrorCode::ReadOnly
            | ErrorCode::PermissionDenied,
        ) => StoreError::Io { what },
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            StoreError::Malformed { what }
        }
        Some(ErrorCode::ConstraintViolation) => StoreError::Constraint { what },
        Some(_) | None => StoreError::Engine { what },
    }
}

/// Addresses are as good as random already; this only folds two words into one.
#[derive(Debug, Default)]
struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_usize(byte.into());
        }
    }

    fn write_usize(&mut self, word: usize) {
        self.0 = (self.0.rotate_left(5) ^ word as u64).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
}

#[cfg(test)]
mod tests;
