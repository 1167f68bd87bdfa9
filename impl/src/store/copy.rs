//! Whole databases as files: one snapshot written elsewhere, what a file holds, and a file that
//! stands alone.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};
use uuid::Uuid;

use crate::domain::{Incarnation, Millis, Seq};

use super::engine::StoreError;
use super::sqlite::{BUSY, Store, failure};
use super::{journal, meta, migrate};

/// What a database holds, as a person recognises it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    /// Which database it is, in every life.
    pub id: Uuid,
    /// The highest sequence.
    pub seq: Seq,
    /// The last journal row.
    pub row: i64,
    /// How often it was restored, from 1. OURS-21
    pub incarnation: Incarnation,
    /// The hold of a restore stands. OURS-21
    pub held: bool,
    /// Its mark of trusted time: about when it was last written.
    pub time_mark: Millis,
}

/// Writes one snapshot of `database` into `file`, which is absent or empty. Whoever writes to the
/// database meanwhile is not held up.
///
/// # Errors
/// The database is absent, foreign or damaged; or the file cannot be written.
pub fn snapshot(database: &Path, file: &Path) -> Result<(), StoreError> {
    let conn = connect(database, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    migrate::recognise(&conn, &database.display().to_string())?;
    // The copy is written as durably as the database itself.
    conn.pragma_update(None, "synchronous", "FULL").map_err(|e| failure(&e, "synchronous"))?;
    let name = file.to_str().ok_or_else(|| StoreError::Io {
        what: format!("{} is not UTF-8, which the engine asks for", file.display()),
    })?;
    conn.execute("VACUUM main INTO ?1", [name]).map_err(|e| failure(&e, "VACUUM INTO")).map(drop)
}

/// Reads every page of a file that nobody else uses, and says whether the engine finds it sound.
///
/// # Errors
/// It is foreign, of a newer schema, or damaged.
pub fn sound(file: &Path) -> Result<(), StoreError> {
    let conn = connect(file, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    checked(&conn, file)
}

/// What the engine's quick look at the pages of a database says, for people.
#[must_use]
pub fn quick_check(file: &Path) -> String {
    let look = || -> Result<String, StoreError> {
        connect(file, OpenFlags::SQLITE_OPEN_READ_WRITE)?
            .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
            .map_err(|e| failure(&e, "quick_check"))
    };
    look().unwrap_or_else(|error| error.to_string()).replace('\n', " ")
}

fn checked(conn: &Connection, file: &Path) -> Result<(), StoreError> {
    migrate::recognise(conn, &file.display().to_string())?;
    let found: String = conn
        .query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))
        .map_err(|e| failure(&e, "integrity_check"))?;
    if found != "ok" {
        return Err(StoreError::Malformed { what: found });
    }
    Ok(())
}

/// What a copy that stands alone holds, once every page of it was read and found sound. Nothing is
/// written, beside it either.
///
/// # Errors
/// It is foreign, has another schema, or is damaged.
pub fn inspect(file: &Path) -> Result<Contents, StoreError> {
    let conn = connect(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    checked(&conn, file)?;
    contents(&mut Store::of(conn).session())
}

/// What a database holds, by the little that says so.
///
/// # Errors
/// The machine failed.
pub fn contents(tx: &mut dyn super::Tx) -> Result<Contents, StoreError> {
    Ok(Contents {
        id: meta::database_id(tx)?,
        seq: meta::last_seq(tx)?,
        row: journal::last(tx)?,
        incarnation: meta::incarnation(tx)?,
        held: meta::restored(tx)?,
        time_mark: meta::time_mark(tx)?,
    })
}

/// Moves everything from the write-ahead log of a file that nobody else uses into the file, which
/// then stands alone.
///
/// # Errors
/// It cannot be opened or written, or somebody else uses it.
pub fn settle(file: &Path) -> Result<(), StoreError> {
    let conn = connect(file, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    migrate::recognise(&conn, &file.display().to_string())?;
    let mode: String = conn
        .query_row("PRAGMA journal_mode = DELETE", [], |row| row.get(0))
        .map_err(|e| failure(&e, "journal_mode"))?;
    match mode.as_str() {
        "delete" => conn.close().map_err(|(_, e)| failure(&e, "close")),
        other => {
            let what = format!("{} is in use: its journal mode stays {other}", file.display());
            Err(StoreError::Busy { what })
        }
    }
}

fn connect(file: &Path, access: OpenFlags) -> Result<Connection, StoreError> {
    let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(file, flags).map_err(|e| failure(&e, "open"))?;
    conn.busy_timeout(BUSY).map_err(|e| failure(&e, "busy_timeout"))?;
    Ok(conn)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::store::{Engine as _, Tx as _};

    struct Folder(tempfile::TempDir);

    impl Folder {
        fn new() -> Self {
            Self(tempfile::tempdir().expect("a folder"))
        }

        fn file(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        fn populated(&self) -> (PathBuf, Store) {
            let file = self.file("abide.db");
            let store = Store::open(&file).expect("a database");
            crate::law::testing::populate(&store);
            (file, store)
        }

        fn names(&self) -> Vec<String> {
            let entries = std::fs::read_dir(self.0.path()).expect("the folder");
            let mut names: Vec<String> = entries
                .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
                .collect();
            names.sort();
            names
        }
    }

    #[test]
    fn a_snapshot_holds_what_was_committed_and_stands_alone() {
        let folder = Folder::new();
        let (file, store) = folder.populated();
        // A writer in the middle of a transaction neither holds the copy up nor gets into it.
        let mut writing = store.session();
        writing.begin().expect("a transaction");
        writing.execute("UPDATE counter SET seq = seq + 1", &[]).expect("a write");
        let copy = folder.file("copy");
        snapshot(&file, &copy).expect("a copy");
        let before = folder.names();
        let found = inspect(&copy).expect("it is sound");
        assert_eq!(folder.names(), before, "a look writes nothing");
        writing.rollback().expect("it ends");
        assert_eq!(found, contents(&mut store.session()).expect("its contents"));
        assert!(found.row > 0 && found.seq > Seq(0));
    }

    #[test]
    fn a_copy_with_flipped_bytes_is_found_out() {
        let folder = Folder::new();
        let (file, _store) = folder.populated();
        let copy = folder.file("copy");
        snapshot(&file, &copy).expect("a copy");
        let mut bytes = std::fs::read(&copy).expect("its bytes");
        let middle = bytes.len() / 2;
        for byte in &mut bytes[middle..middle + 600] {
            *byte ^= 0x5a;
        }
        std::fs::write(&copy, bytes).expect("damage");
        let error = inspect(&copy).expect_err("it is damaged");
        assert!(matches!(error, StoreError::Malformed { .. }), "{error}");
    }

    #[test]
    fn what_is_there_is_not_written_over() {
        let folder = Folder::new();
        let (file, _store) = folder.populated();
        let copy = folder.file("copy");
        std::fs::write(&copy, "a letter").expect("a file");
        assert!(snapshot(&file, &copy).is_err());
        assert_eq!(std::fs::read(&copy).expect("it is there"), b"a letter");
    }

    #[test]
    fn a_settled_file_has_nothing_beside_it() {
        let folder = Folder::new();
        let (file, store) = folder.populated();
        assert!(settle(&file).is_err(), "somebody uses it");
        drop(store);
        settle(&file).expect("nobody uses it");
        assert_eq!(folder.names(), ["abide.db"]);
        assert!(inspect(&file).is_ok());
    }
}
