//! Brings a file to the schema this binary knows, one numbered step at a time, or refuses it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use rusqlite::{Connection, ErrorCode, TransactionBehavior, params};

use super::engine::StoreError;
use super::sqlite::failure;

/// The numbered steps; `user_version` says how many a file has taken.
const STEPS: &[&str] = &[include_str!("schema/0001.sql")];

/// Marks a file as ours: "abid" in ASCII.
const APPLICATION_ID: i64 = 0x6162_6964;

/// Refuses a file that is not ours or too new, before a setting of ours has touched it.
pub(super) fn recognise(conn: &Connection, path: &str) -> Result<(), StoreError> {
    taken(conn, path).map(drop)
}

/// Takes the steps a file has not taken yet, all of them or none.
pub(super) fn migrate(conn: &mut Connection, path: &str) -> Result<(), StoreError> {
    let step = |e: rusqlite::Error| failure(&e, "migrate");
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate).map_err(step)?;
    let taken = taken(&tx, path)?;
    for sql in STEPS.iter().skip(taken) {
        tx.execute_batch(sql).map_err(step)?;
    }
    tx.pragma_update(None, "user_version", known()).map_err(step)?;
    if taken == 0 {
        tx.pragma_update(None, "application_id", APPLICATION_ID).map_err(step)?;
        found(&tx)?;
    }
    tx.commit().map_err(step)
}

/// Refuses a file whose schema is not exactly the one this binary knows; changes nothing.
pub(super) fn check(conn: &Connection, path: &str) -> Result<(), StoreError> {
    if taken(conn, path)? < STEPS.len() {
        let what = format!("{path} has an older schema: start `abide serve` once to migrate it");
        return Err(StoreError::Engine { what });
    }
    verify(conn, path)
}

/// Refuses a file whose tables and indices are not those that its steps make, and names the first
/// that differs. A number alone would not tell a step that was cut short.
pub(super) fn verify(conn: &Connection, path: &str) -> Result<(), StoreError> {
    static GOLDEN: OnceLock<Parts> = OnceLock::new();
    let golden = match GOLDEN.get() {
        Some(golden) => golden,
        None => {
            let made = golden()?;
            GOLDEN.get_or_init(|| made)
        }
    };
    let found = parts(conn)?;
    let names: BTreeSet<&String> = golden.keys().chain(found.keys()).collect();
    for name in names {
        let differs = match (golden.get(name), found.get(name)) {
            (Some(one), Some(other)) if one == other => continue,
            (Some(_), Some(_)) => "differs",
            (Some(_), None) => "is missing",
            (None, _) => "is not of this version",
        };
        let what = format!("`{name}` {differs}");
        return Err(StoreError::Schema { path: path.to_owned(), what });
    }
    Ok(())
}

/// Tables and indices by name, each as the engine keeps its definition.
type Parts = BTreeMap<String, String>;

fn golden() -> Result<Parts, StoreError> {
    let step = |e: rusqlite::Error| failure(&e, "the schema in memory");
    let conn = Connection::open_in_memory().map_err(step)?;
    STEPS.iter().try_for_each(|sql| conn.execute_batch(sql)).map_err(step)?;
    parts(&conn)
}

fn parts(conn: &Connection) -> Result<Parts, StoreError> {
    let step = |e: rusqlite::Error| failure(&e, "read the schema");
    let mut all = conn
        .prepare("SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'")
        .map_err(step)?;
    let rows = all.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).map_err(step)?;
    rows.collect::<Result<_, _>>().map_err(step)
}

fn taken(conn: &Connection, path: &str) -> Result<usize, StoreError> {
    let pragma = |name: &str| {
        conn.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).map_err(|e| {
            match e.sqlite_error_code() {
                Some(ErrorCode::NotADatabase) => StoreError::Foreign { path: path.to_owned() },
                Some(_) | None => failure(&e, name),
            }
        })
    };
    let found = pragma("user_version")?;
    let known = known();
    if found > 0 && pragma("application_id")? != APPLICATION_ID || found < 0 {
        return Err(StoreError::Foreign { path: path.to_owned() });
    }
    if found == 0 && has_tables(conn)? {
        return Err(StoreError::Foreign { path: path.to_owned() });
    }
    if found > known {
        return Err(StoreError::NewerSchema { path: path.to_owned(), found, known });
    }
    Ok(usize::try_from(found).unwrap_or(0))
}

fn known() -> i64 {
    i64::try_from(STEPS.len()).unwrap_or(i64::MAX)
}

fn has_tables(conn: &Connection) -> Result<bool, StoreError> {
    conn.query_row("SELECT EXISTS (SELECT 1 FROM sqlite_schema)", [], |row| row.get(0))
        .map_err(|e| failure(&e, "read the schema"))
}

/// Gives a new file its id, its key and its counters.
fn found(conn: &Connection) -> Result<(), StoreError> {
    let mut secrets = [0u8; 32];
    getrandom::fill(&mut secrets)
        .map_err(|e| StoreError::Io { what: format!("no randomness for a new database: {e}") })?;
    let (id, key) = secrets.split_at(16);
    let now = jiff::Timestamp::now().as_millisecond();
    conn.execute("INSERT INTO meta VALUES (1, ?1, ?2, ?3)", params![id, key, now])
        .map_err(|e| failure(&e, "found meta"))?;
    conn.execute("INSERT INTO counter VALUES (1, 0, 0, 1, 0)", [])
        .map_err(|e| failure(&e, "found counter"))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use rusqlite::Connection;

    use crate::store::{Store, StoreError};

    #[test]
    fn a_newer_schema_is_refused_and_left_alone() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("abide.db");
        drop(Store::open(&path).expect("a new file"));
        let conn = Connection::open(&path).expect("the file");
        conn.pragma_update(None, "user_version", 99).expect("a later version");
        drop(conn);
        let refused = Store::open(&path).expect_err("a newer schema");
        assert!(matches!(refused, StoreError::NewerSchema { found: 99, known: 1, .. }));
        let conn = Connection::open(&path).expect("the file");
        let version: i64 =
            conn.pragma_query_value(None, "user_version", |row| row.get(0)).expect("its version");
        assert_eq!(version, 99);
    }

    /// S06
    #[test]
    fn a_schema_that_is_not_what_its_number_says_is_refused_by_its_first_difference() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("abide.db");
        for (damage, says) in [
            ("DROP INDEX work_uid", "`work_uid` is missing"),
            ("ALTER TABLE work ADD COLUMN theirs INTEGER", "`work` differs"),
            ("CREATE TABLE theirs (x)", "`theirs` is not of this version"),
        ] {
            drop(Store::open(&path).expect("a sound file"));
            let conn = Connection::open(&path).expect("the file");
            conn.execute_batch(damage).expect("it changes");
            drop(conn);
            for opened in [Store::open(&path), Store::open_reader(&path)] {
                let error = opened.expect_err(damage);
                assert!(matches!(error, StoreError::Schema { .. }), "{error}");
                assert!(error.to_string().contains(says), "{error}");
            }
            std::fs::remove_file(&path).expect("it is there");
        }
    }

    /// S06: a step that does not end leaves nothing of it, its number included.
    #[test]
    fn of_steps_that_are_cut_short_nothing_is_left() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("abide.db");
        let mut conn = Connection::open(&path).expect("a file");
        let tx = conn.transaction().expect("a transaction");
        tx.execute_batch(super::STEPS[0]).expect("the first step");
        tx.pragma_update(None, "user_version", 1).expect("its number");
        // The process ends here.
        drop(tx);
        drop(conn);
        drop(Store::open(&path).expect("the steps are taken whole"));
        assert!(Store::open_reader(&path).is_ok());
    }

    /// S06
    #[test]
    fn of_many_that_make_one_file_all_find_the_same_one() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("abide.db");
        let id = || {
            let store = Store::open(&path).expect("it is made once");
            crate::store::meta::database_id(&mut store.session()).expect("its id")
        };
        let ids = std::thread::scope(|scope| {
            let openers: Vec<_> = (0..8).map(|_| scope.spawn(id)).collect();
            openers.into_iter().map(|one| one.join().expect("it ends")).collect::<Vec<_>>()
        });
        assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    }

    #[test]
    fn a_file_of_another_program_is_refused() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("other.db");
        let conn = Connection::open(&path).expect("a file");
        conn.execute_batch("CREATE TABLE theirs (x)").expect("a table");
        drop(conn);
        assert!(matches!(Store::open(&path), Err(StoreError::Foreign { .. })));
        let text = dir.path().join("notes.txt");
        std::fs::write(&text, "not a database at all. ".repeat(90)).expect("a text");
        assert!(matches!(Store::open(&text), Err(StoreError::Foreign { .. })));
    }

    #[test]
    fn the_schema_is_the_golden_one() {
        let store = Store::open_in_memory().expect("a database");
        let mut dump = String::new();
        let mut statement = store
            .connection()
            .prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type, name")
            .expect("the schema");
        let mut rows = statement.query([]).expect("its rows");
        while let Some(row) = rows.next().expect("a row") {
            let sql: String = row.get(0).expect("its text");
            writeln!(dump, "{sql};").expect("a string takes any text");
        }
        insta::assert_snapshot!(dump);
    }
}
