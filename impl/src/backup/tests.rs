use std::path::PathBuf;

use super::restore::RestoreError;
use super::*;
use crate::clock::Clock;
use crate::domain::{Incarnation, Millis, Seq};
use crate::store::lock::{self, lock};
use crate::store::{Store, journal, meta};

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn database(&self) -> PathBuf {
        self.file("abide.db")
    }

    /// The database with a few Works, sealed as a writer would, and closed.
    fn populated(&self) -> PathBuf {
        let store = Store::open(&self.database()).expect("a database");
        crate::law::testing::populate(&store);
        let mut session = store.session();
        crate::store::Engine::begin(&mut session).expect("a transaction");
        journal::seal(&mut session).expect("a seal");
        crate::store::Engine::commit(&mut session).expect("a commit");
        self.database()
    }

    fn backup(&self, name: &str) -> (PathBuf, Written) {
        let file = self.file(name);
        let written = backup(&self.database(), &file).expect("a backup");
        (file, written)
    }

    fn restore(&self, file: &Path) -> Result<Restored, RestoreError> {
        restore(&self.database(), file, Origin::Same, &Clock::system())
    }

    /// What a restore of a backup makes ready, in the place for that.
    fn ready(&self, file: &Path) {
        let elsewhere = tempfile::tempdir().expect("a folder");
        let database = elsewhere.path().join("abide.db");
        restore(&database, file, Origin::Same, &Clock::system()).expect("it is restored");
        copy::settle(&database).expect("nobody uses it");
        fs::copy(&database, swap::ready(&self.database())).expect("a ready copy");
    }

    /// Changes a database by hand.
    fn alter(&self, name: &str, text: &str) {
        let conn = rusqlite::Connection::open(self.file(name)).expect("a database");
        conn.execute_batch(text).expect("it changes");
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).expect("the folder");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .filter(|name| !name.ends_with(".lock") && !name.ends_with(".incarnation"))
            .collect();
        names.sort();
        names
    }

    /// Every file with what it holds.
    fn seen(&self) -> Vec<(String, Vec<u8>)> {
        let read = |name: String| {
            let bytes = fs::read(self.file(&name)).expect("a file");
            (name, bytes)
        };
        self.names().into_iter().map(read).collect()
    }
}

fn contents(database: &Path) -> Contents {
    let store = Store::open_reader(database).expect("a database");
    copy::contents(&mut store.session()).expect("its contents")
}

/// Everything that is observed of a database, of which a copy is looked at.
fn observed(file: &Path) -> String {
    let place = tempfile::tempdir().expect("a folder");
    let copied = place.path().join("copy.db");
    fs::copy(file, &copied).expect("a copy");
    let store = Store::open(&copied).expect("a database");
    format!("{:?}", crate::store::observe(&mut store.session()).expect("an observation"))
}

/// Accepts one more event.
fn go_on(database: &Path) {
    let store = Store::open(database).expect("a database");
    let mut session = store.session();
    crate::store::Engine::begin(&mut session).expect("a transaction");
    let event = Box::new(crate::law::testing::matching());
    let accept = crate::command::Command::Accept { event };
    let actor = crate::domain::Actor::Loop("test");
    crate::law::apply(&mut session, Millis(20_000), &actor, &accept).expect("kept");
    journal::seal(&mut session).expect("a seal");
    crate::store::Engine::commit(&mut session).expect("a commit");
}

/// S11
#[test]
fn a_backup_is_one_private_file_that_stands_alone() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = Folder::new();
    let database = folder.populated();
    let before = contents(&database);
    let (file, written) = folder.backup("b.db");
    assert_eq!(written.contents, before);
    assert_eq!(observed(&file), observed(&database), "timers, waits, leases and all");
    let meta = fs::metadata(&file).expect("it is there");
    assert_eq!((meta.permissions().mode() & 0o777, meta.len()), (0o600, written.bytes));
    assert!(matches!(backup(&database, &file), Err(BackupError::Exists { .. })), "never over");
    let nowhere = folder.file("nowhere").join("b.db");
    assert!(matches!(backup(&database, &nowhere), Err(BackupError::Unwritable { .. })));
    let names = folder.names();
    assert!(names.iter().all(|name| !name.starts_with(".abide-backup")), "{names:?}");
}

#[test]
fn what_is_no_database_is_not_backed_up() {
    let folder = Folder::new();
    fs::write(folder.database(), "a letter, and a long one at that. ".repeat(99)).expect("a file");
    let error = backup(&folder.database(), &folder.file("b.db")).expect_err("no database");
    assert!(error.to_string().contains("no abide database"), "{error}");
    assert_eq!(folder.names(), ["abide.db"]);
}

/// OURS-21
#[test]
fn a_restored_database_is_the_backup_in_its_next_life() {
    let folder = Folder::new();
    let database = folder.populated();
    let (file, written) = folder.backup("b.db");
    go_on(&database);
    let later = contents(&database);
    assert!(later.seq > written.contents.seq);

    let restored = folder.restore(&file).expect("it is restored");
    assert_eq!(restored.replaced.as_ref(), Some(&later));
    assert_eq!(restored.now.seq, written.contents.seq);
    assert_eq!(restored.now.incarnation, Incarnation(2));
    assert_eq!(contents(&database), restored.now);
    assert_eq!(contents(&restored.kept.expect("it is kept")), later, "nothing of it is lost");
    let store = Store::open_reader(&database).expect("a database");
    let mut session = store.session();
    assert!(meta::restored(&mut session).expect("a read"), "under the hold");
    let rows = journal::since(&mut session, written.contents.row, 9).expect("rows");
    assert_eq!(rows.iter().map(|row| row.action.as_str()).collect::<Vec<_>>(), ["restore"]);
    let findings = crate::store::doctor::examine(&mut session).expect("a report");
    assert!(
        findings.iter().all(|one| one.severity == crate::store::doctor::Severity::Info),
        "{findings:?}"
    );
}

/// OURS-21: no epoch of one life is an epoch of another, however the lives follow one another.
#[test]
fn every_restore_is_an_incarnation_above_all_before() {
    let folder = Folder::new();
    let database = folder.populated();
    let (file, _) = folder.backup("b.db");
    for incarnation in 2..5 {
        let restored = folder.restore(&file).expect("it is restored");
        assert_eq!(restored.now.incarnation, Incarnation(incarnation));
        assert_eq!(restored.kept, Some(folder.file(&format!("abide.db.before-{incarnation}"))));
    }
    // Even if the database itself cannot tell any more, or is gone.
    fs::write(&database, "SQLite format 3\0 and then nothing that is one").expect("damage");
    let restored = folder.restore(&file).expect("it is restored");
    assert_eq!((restored.replaced, restored.now.incarnation), (None, Incarnation(5)));
    fs::remove_file(&database).expect("it is gone");
    let restored = folder.restore(&file).expect("it is restored");
    assert_eq!((restored.kept, restored.now.incarnation), (None, Incarnation(6)));
}

#[test]
fn a_backup_can_be_restored_where_there_is_nothing_yet() {
    let folder = Folder::new();
    folder.populated();
    let (file, written) = folder.backup("b.db");
    let database = folder.file("new/state/abide.db");
    let restored = restore(&database, &file, Origin::Same, &Clock::system());
    let restored = restored.expect("it is restored");
    assert_eq!((restored.kept, restored.replaced), (None, None));
    assert_eq!(contents(&database).seq, written.contents.seq);
}

/// OURS-16
#[test]
fn trusted_time_of_the_replaced_database_goes_on() {
    let folder = Folder::new();
    let database = folder.populated();
    let (file, _) = folder.backup("b.db");
    let far = Millis(9_000_000_000_000);
    let store = Store::open(&database).expect("a database");
    let mut session = store.session();
    crate::store::Engine::begin(&mut session).expect("a transaction");
    meta::raise_time_mark(&mut session, far).expect("a mark");
    crate::store::Engine::commit(&mut session).expect("a commit");
    drop(session);
    drop(store);
    let restored = folder.restore(&file).expect("it is restored");
    assert!(restored.now.time_mark >= far, "{}", restored.now.time_mark);
}

#[test]
fn a_database_that_is_served_is_not_replaced() {
    let folder = Folder::new();
    let database = folder.populated();
    let (file, _) = folder.backup("b.db");
    let before = folder.seen();
    let held = lock(&lock::beside(&database)).expect("a free lock");
    let error = folder.restore(&file).expect_err("it is served");
    let said = error.to_string();
    assert!(said.starts_with(&format!("process {} serves ", std::process::id())), "{said}");
    drop(held);
    assert_eq!(folder.seen(), before);
}

/// Whatever is wrong with a backup, nothing but a copy of it was written, and that is gone.
#[test]
fn what_is_no_sound_backup_changes_nothing() {
    let folder = Folder::new();
    let database = folder.populated();
    let (file, _) = folder.backup("b.db");
    let whole = fs::read(&file).expect("a backup");
    let flipped = |at: usize| {
        let mut bytes = whole.clone();
        for byte in &mut bytes[at..at + 700] {
            *byte ^= 0x5a;
        }
        bytes
    };
    let sql = |text: &str| {
        let place = folder.file("made");
        fs::copy(&file, &place).expect("a copy");
        let conn = rusqlite::Connection::open(&place).expect("a database");
        conn.execute_batch(text).expect("it changes");
        drop(conn);
        let bytes = fs::read(&place).expect("a file");
        fs::remove_file(place).expect("it was there");
        bytes
    };
    let never_filled = folder.file("never filled");
    let conn = rusqlite::Connection::open(&never_filled).expect("a database");
    conn.execute_batch("VACUUM").expect("a header is written");
    drop(conn);
    let never = fs::read(&never_filled).expect("a file");
    fs::remove_file(never_filled).expect("it was there");
    assert!(never.starts_with(b"SQLite format 3\0"));
    let cases: [(&str, Vec<u8>, &str); 11] = [
        ("a valid database with nothing in it", never, "no schema of abide"),
        ("no database's", sql("DELETE FROM meta"), "its one row is missing"),
        ("empty", Vec::new(), "too short"),
        ("garbage", b"a letter, and no database ".repeat(500), "no SQLite file"),
        ("a header alone", whole[..100].to_vec(), "damaged"),
        ("cut short", whole[..whole.len() / 2].to_vec(), "damaged"),
        ("flipped bytes", flipped(whole.len() / 2), "damaged"),
        ("another program's", sql("PRAGMA application_id = 7"), "another program"),
        ("a later version's", sql("PRAGMA user_version = 99"), "schema 99"),
        ("a broken rule", sql("UPDATE counter SET seq = seq + 1"), "sequences are dense"),
        ("a cut journal", sql("DELETE FROM journal WHERE n = 2"), "chain holds"),
    ];
    let before = folder.seen();
    for (what, bytes, says) in cases {
        let bad = folder.file("bad");
        fs::write(&bad, bytes).expect("a file");
        let error = folder.restore(&bad).expect_err(what).to_string();
        assert!(error.contains(says), "{what}: {error}");
        fs::remove_file(bad).expect("it was there");
        assert_eq!(folder.seen(), before, "{what}");
    }
    assert!(folder.restore(&folder.file("nowhere")).is_err());
    let error = folder.restore(&database).expect_err("itself").to_string();
    assert!(error.contains("the database that it would replace"), "{error}");
    assert_eq!(folder.seen(), before);
}

/// A file that was copied from under a daemon misses what its log holds.
#[test]
fn a_part_of_a_database_in_use_is_no_backup() {
    let folder = Folder::new();
    folder.populated();
    let (file, _) = folder.backup("b.db");
    fs::write(folder.file("b.db-wal"), "frames").expect("a log");
    let error = folder.restore(&file).expect_err("a part").to_string();
    assert!(error.contains("write-ahead log") && error.contains("abide backup"), "{error}");
}

/// However often the swap is cut off, whoever comes next finds one whole database in the end; and
/// at no moment is there one in the place without its log.
#[test]
fn a_swap_that_is_cut_off_anywhere_is_finished_by_the_next() {
    let mut cuts = 0;
    for moves in 0..9 {
        let folder = Folder::new();
        let database = folder.populated();
        let (file, written) = folder.backup("b.db");
        // One that nobody can read, so that its log stays beside it: the two belong together.
        let (old, log) = ("SQLite format 3\0 and then nothing that is one", "frames");
        fs::write(&database, old).expect("damage");
        fs::write(beside(&database, "-wal"), log).expect("a log");
        folder.ready(&file);

        assert!(unfinished(&database));
        let cut = swap::finish_within(&database, &mut { moves });
        let at = |place: &Path| {
            let read = |suffix| fs::read(beside(place, suffix)).ok();
            (read(""), read("-wal"))
        };
        let kept = folder.file("abide.db.before-2");
        if cut.is_err() {
            cuts += 1;
            let whole = (Some(old.into()), Some(log.into()));
            let (database, kept) = (at(&database), at(&kept));
            assert!(database == whole || kept == whole, "{moves}: one of the two is whole");
            for (file, log) in [database, kept] {
                assert!(file.is_none() || log.is_some(), "{moves}: never parted from its log");
            }
        }
        finish(&database).expect("it goes on");
        assert!(!unfinished(&database));
        assert_eq!(contents(&database).seq, written.contents.seq, "{moves}");
        assert_eq!(at(&kept), (Some(old.into()), Some(log.into())), "{moves}");
    }
    assert_eq!(cuts, 5, "two names given, two taken, and the new one in the place");
}

/// OURS-21: whoever can write into the folder does not put a database into the place by that.
#[test]
fn what_no_restore_has_made_ready_takes_nobodys_place() {
    let folder = Folder::new();
    let database = folder.populated();
    let (file, _) = folder.backup("b.db");
    folder.ready(&file);
    let ready = swap::ready(&database);
    let sound = fs::read(&ready).expect("a copy");
    let name = "abide.db.restored";
    let cases: [(&str, &dyn Fn(), &str); 6] = [
        ("a letter", &|| fs::write(&ready, "a letter").expect("a file"), "no abide database"),
        (
            "a backup",
            &|| fs::write(&ready, fs::read(&file).expect("it")).expect("a copy"),
            "does not stand",
        ),
        ("a released one", &|| folder.alter(name, "UPDATE counter SET restored = 0"), "not stand"),
        (
            "of this life",
            &|| folder.alter(name, "UPDATE counter SET incarnation = 1"),
            "of 1 already",
        ),
        ("of no life", &|| folder.alter(name, "DELETE FROM counter"), "row is missing"),
        ("with a log", &|| fs::write(beside(&ready, "-wal"), "x").expect("a log"), "a log lies"),
    ];
    let before = fs::read(&database).expect("the database");
    for (what, make, says) in cases {
        fs::write(&ready, &sound).expect("a copy");
        make();
        let error = finish(&database).expect_err(what);
        assert!(matches!(error, SwapError::Strange { .. }), "{what}: {error}");
        assert!(error.to_string().contains(says), "{what}: {error}");
        let restoring = folder.restore(&file).expect_err(what);
        assert!(matches!(restoring, RestoreError::Strange(_)), "{what}: {restoring}");
        assert!(unfinished(&database) && fs::read(&database).expect("it") == before, "{what}");
        let _ = fs::remove_file(beside(&ready, "-wal"));
    }
    fs::write(&ready, &sound).expect("a copy");
    remember(&database, Incarnation(3)).expect("it is remembered");
    let error = finish(&database).expect_err("of a life before the last").to_string();
    assert!(error.contains("3 was given out already"), "{error}");
}

/// A copy that is ready is not "nothing": the next one finishes it, and nobody says otherwise.
#[test]
fn a_ready_copy_that_cannot_be_moved_is_said_to_be_ready() {
    let folder = Folder::new();
    let database = folder.populated();
    let (file, _) = folder.backup("b.db");
    fs::remove_file(&database).expect("it was there");
    // Nothing can be renamed over a folder that is not empty.
    fs::create_dir_all(beside(&database, "-shm").join("in the way")).expect("a folder");
    let error = folder.restore(&file).expect_err("its place is taken");
    assert!(matches!(error, RestoreError::Unfinished { .. }), "{error}");
    assert!(error.to_string().contains("is ready"), "{error}");
    assert!(unfinished(&database));
    let again = folder.restore(&file).expect_err("its place is taken still");
    assert!(matches!(again, RestoreError::Unfinished { .. }), "{again}");
    fs::remove_dir_all(beside(&database, "-shm")).expect("it was there");
    let later = folder.restore(&folder.file("nowhere.db")).expect_err("no backup");
    assert!(matches!(later, RestoreError::Unreadable { .. }) && unfinished(&database), "{later}");
    folder.alter("b.db", "UPDATE counter SET seq = seq + 1");
    let later = folder.restore(&file).expect_err("it is not sound");
    assert!(matches!(later, RestoreError::Later(_)), "{later}");
    assert!(later.to_string().contains("was finished now"), "{later}");
    assert_eq!((unfinished(&database), contents(&database).incarnation), (false, Incarnation(2)));
}

/// OURS-21: what was given out is known even when every file that tells of it is gone.
#[test]
fn an_incarnation_is_given_out_once_even_if_all_else_is_lost() {
    let folder = Folder::new();
    let database = folder.populated();
    let (file, _) = folder.backup("b.db");
    for incarnation in 2..4 {
        let restored = folder.restore(&file).expect("it is restored");
        assert_eq!(restored.now.incarnation, Incarnation(incarnation));
        for name in folder.names().iter().filter(|name| *name != "b.db") {
            fs::remove_file(folder.file(name)).expect("it was there");
        }
    }
    let place = beside(&database, ".incarnation");
    assert_eq!(fs::read_to_string(&place).expect("it is there"), "3\n");
    remember(&database, Incarnation(2)).expect("it is known");
    assert_eq!(fs::read_to_string(&place).expect("it is there"), "3\n", "it never goes down");
    for other in ["", "many", "-1", "99999999999", &"1".repeat(99)] {
        fs::write(&place, other).expect("a file");
        let error = folder.restore(&file).expect_err("it tells nothing").to_string();
        assert!(error.contains("holds no incarnation"), "{other}: {error}");
    }
}

/// What tells of a life may have been put there by anybody.
#[test]
fn an_incarnation_beyond_all_restores_is_not_counted_on_from() {
    let folder = Folder::new();
    let database = folder.populated();
    let (file, _) = folder.backup("b.db");
    let refused = |says: &str| {
        let error = folder.restore(&file).expect_err(says);
        assert!(matches!(error, RestoreError::Untrusted { .. }), "{error}");
        assert!(error.to_string().contains(says), "{error}");
    };
    fs::write(folder.file("abide.db.before-4294967295"), "").expect("a file");
    refused("abide.db.before-4294967295 tells of incarnation 4294967295");
    fs::remove_file(folder.file("abide.db.before-4294967295")).expect("it was there");
    folder.alter("abide.db", "UPDATE counter SET incarnation = 4000000000");
    refused("abide.db tells of incarnation 4000000000");
    fs::remove_file(&database).expect("it was there");
    fs::write(beside(&database, ".incarnation"), "4000000000").expect("a file");
    refused("abide.db.incarnation tells");
}

#[test]
fn a_database_is_replaced_by_a_backup_of_itself_unless_somebody_says_so() {
    let (folder, other) = (Folder::new(), Folder::new());
    let database = folder.populated();
    other.populated();
    let (file, written) = other.backup("b.db");
    let before = folder.seen();
    let error = folder.restore(&file).expect_err("it is another");
    assert!(matches!(error, RestoreError::Other { .. }), "{error}");
    assert!(error.to_string().contains("--other-database"), "{error}");
    assert_eq!(folder.seen(), before);
    let restored = restore(&database, &file, Origin::Any, &Clock::system());
    assert_eq!(restored.expect("somebody said so").now.id, written.contents.id);
}

#[test]
fn what_belongs_to_another_user_is_not_restored_by_root() {
    let folder = Path::new("/srv/abide/state");
    assert!(restore::check_owner(folder, 1000, 1000).is_ok());
    let error = restore::check_owner(folder, 1000, 0).expect_err("root is another");
    assert!(error.to_string().contains("belongs to user 1000"), "{error}");
}

/// What is interrupted leaves a draft; the next backup removes it, and none that is being written.
#[test]
fn drafts_of_interrupted_backups_are_removed_and_others_are_not() {
    let folder = Folder::new();
    folder.populated();
    let lost = [".abide-backup-aB3xYz", ".abide-backup-aB3xYz-journal"];
    let (living, foreign) = (".abide-backup-living", ".abide-backup-2026-03-01.db");
    for name in lost.into_iter().chain([living, foreign]) {
        fs::write(folder.file(name), "half").expect("a file");
    }
    let held = File::open(folder.file(living)).expect("a file");
    held.lock().expect("nobody has it");
    folder.backup("b.db");
    assert_eq!(folder.names(), [foreign, living, "abide.db", "b.db"]);
}

#[test]
fn a_backup_has_no_name_that_a_database_or_a_restore_gives() {
    let folder = Folder::new();
    folder.populated();
    let names = [
        "abide.db.restored",
        "abide.db.restoring",
        "abide.db.incarnation",
        "abide.db.before-3",
        "abide.db-wal",
        "other.db-shm",
        "abide.db.lock",
        "abide.db.before-3-1",
    ];
    for name in names {
        let error = backup(&folder.database(), &folder.file(name)).expect_err(name);
        assert!(matches!(error, BackupError::Reserved { .. }), "{name}: {error}");
    }
    folder.backup("before-upgrade.db");
    folder.backup("abide.before-upgrade.db");
}

/// What is private is private from its first byte on.
#[test]
fn a_draft_of_a_restore_is_its_owners_alone_from_the_start() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = Folder::new();
    let database = folder.populated();
    let (file, _) = folder.backup("b.db");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("it is ours");
    folder.restore(&file).expect("it is restored");
    let mode = fs::metadata(&database).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

/// A restore that is killed before its copy is ready leaves the database as it was.
#[test]
fn what_a_killed_restore_left_half_made_is_made_anew() {
    let folder = Folder::new();
    let database = folder.populated();
    let (file, _) = folder.backup("b.db");
    for suffix in ["", "-wal", "-shm", "-journal"] {
        fs::write(beside(&database, &format!(".restoring{suffix}")), "half").expect("a draft");
    }
    assert!(!unfinished(&database));
    assert_eq!(contents(&database).incarnation, Incarnation(1));
    let restored = folder.restore(&file).expect("it is restored");
    assert_eq!(restored.now.incarnation, Incarnation(2));
    assert!(folder.names().iter().all(|name| !name.contains("restoring")));
    assert!(contents(&database).seq > Seq(0));
}
