use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::support::Folder;

/// S01: many who send, attempts that renew, lists that are read and somebody who looks into the file
/// from outside: nobody is told that anything is locked.
#[test]
fn fifty_senders_and_a_reader_from_outside_are_never_told_of_a_lock() {
    const SENDERS: u32 = 50;
    const EACH: u32 = 2;

    let folder = Folder::new();
    // So many processes at once may keep a small machine from renewing for a while.
    let configured = folder.text("abide.toml").replace("lease = \"1s\"", "lease = \"9s\"");
    folder.write("abide.toml", &configured);
    let _daemon = folder.serve();
    for n in 0..8 {
        assert_eq!(folder.emit(n).code, Some(0));
    }
    folder.launches(8);
    let outside = Connection::open(folder.database()).expect("a database");
    outside.execute_batch("BEGIN; SELECT count(*) FROM event;").expect("a snapshot");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (folder, done) = (&folder, &done);
        for list in ["work", "event"] {
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    folder.done(&[list, "list", "--json"]);
                    std::thread::sleep(Duration::from_millis(50));
                }
            });
        }
        let senders: Vec<_> = (0..SENDERS)
            .map(|sender| {
                scope.spawn(move || {
                    for n in 0..EACH {
                        let said = folder.emit(100 + sender * EACH + n);
                        assert_eq!(said.code, Some(0), "{said:?}");
                    }
                })
            })
            .collect();
        let all = senders.into_iter().all(|sender| sender.join().is_ok());
        done.store(true, Ordering::Relaxed);
        assert!(all, "a sender was refused");
    });
    outside.execute_batch("ROLLBACK").expect("it ends");
    folder.write("go", "");
    let first = folder.is(0, "completed");
    assert_eq!(first["attempts"], 1, "its lease was renewed all the time");
    let log = folder.text("daemon.log");
    assert!(!log.contains("locked") && !log.contains("busy"), "{log}");
}

/// S02: whoever holds the file for a moment makes callers wait, and no more than that.
#[test]
fn a_lock_from_outside_that_is_short_makes_callers_wait() {
    let folder = Folder::new();
    let _daemon = folder.serve();
    folder.write("go", "");
    let outside = Connection::open(folder.database()).expect("a database");
    outside.execute_batch("BEGIN EXCLUSIVE").expect("nobody writes");
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let sender = scope.spawn(|| folder.emit(1));
        std::thread::sleep(Duration::from_secs(3));
        assert!(!sender.is_finished(), "it was answered over the lock");
        outside.execute_batch("ROLLBACK").expect("it was held");
        let said = sender.join().expect("it ends");
        assert_eq!(said.code, Some(0), "{said:?}");
    });
    assert!(begun.elapsed() >= Duration::from_secs(3));
    folder.is(1, "completed");
}

/// S02: for longer they are told to come back, and it goes on by itself.
#[test]
fn a_lock_from_outside_that_is_long_is_answered_with_later_and_goes_over() {
    let folder = Folder::new();
    let mut daemon = folder.serve();
    folder.write("go", "");
    let outside = Connection::open(folder.database()).expect("a database");
    outside.execute_batch("BEGIN EXCLUSIVE").expect("nobody writes");
    let said = folder.emit(1);
    assert_eq!(said.code, Some(75), "{said:?}");
    assert!(said.err.contains("unavailable") && said.err.contains("--id"), "{said:?}");
    outside.execute_batch("ROLLBACK").expect("it was held");
    while folder.emit(2).code != Some(0) {
        assert!(daemon.0.try_wait().expect("it is ours").is_none(), "it goes on");
    }
    folder.is(2, "completed");
}

/// S07: a daemon that meets a damaged page stops writing, says so once with what to do, and ends.
#[test]
fn a_daemon_on_a_damaged_file_ends_and_says_what_to_do() {
    let folder = Folder::new();
    folder.write("go", "");
    let daemon = folder.serve();
    for n in 0..40 {
        folder.emit(n);
    }
    folder.is(39, "completed");
    folder.done(&["backup", "b.db"]);
    drop(daemon);
    // Everything is in the file itself, and then every page but the first few is overwritten.
    let conn = Connection::open(folder.database()).expect("a database");
    let pages: i64 = conn.query_row("PRAGMA page_count", [], |row| row.get(0)).expect("pages");
    let mode = "PRAGMA journal_mode = DELETE";
    conn.query_row(mode, [], |row| row.get::<_, String>(0)).expect("it is ours alone");
    drop(conn);
    let mut bytes = std::fs::read(folder.database()).expect("the file");
    let page = bytes.len() / usize::try_from(pages).expect("a count");
    let root = pages_of(&folder, "mark");
    for at in root {
        bytes[(at - 1) * page..at * page].fill(0x5a);
    }
    std::fs::write(folder.database(), bytes).expect("damage");

    let mut daemon = folder.serve();
    folder.emit(100);
    assert_eq!(daemon.ends(), Some(1), "{}", folder.text("daemon.log"));
    let log = folder.text("daemon.log");
    let said: Vec<&str> = log.lines().filter(|line| line.contains("damaged")).collect();
    assert_eq!(said.len(), 1, "one message: {log}");
    for part in ["damaged_file", "state/abide.db", "quick_check: ", "abide restore FILE"] {
        assert!(said[0].contains(part), "{part}: {}", said[0]);
    }
    folder.done(&["restore", "b.db"]);
    let _daemon = folder.serve();
    folder.is(39, "completed");
}

/// The pages of a table.
fn pages_of(folder: &Folder, table: &str) -> Vec<usize> {
    let conn = Connection::open(folder.database()).expect("a database");
    let root: i64 = conn
        .query_row("SELECT rootpage FROM sqlite_schema WHERE name = ?1", [table], |row| row.get(0))
        .expect("the table");
    vec![usize::try_from(root).expect("a page")]
}

/// S06: two that start at once make one database, whole.
#[test]
fn of_two_daemons_that_start_at_once_one_serves_and_the_other_says_who() {
    let folder = Folder::new();
    folder.write("go", "");
    let start = || {
        let mut serve = folder.command();
        serve.arg("serve").output().expect("it runs")
    };
    std::thread::scope(|scope| {
        let first = scope.spawn(start);
        let second = scope.spawn(start);
        while !first.is_finished() && !second.is_finished() {
            std::thread::sleep(Duration::from_millis(10));
        }
        // The one that serves is drained, so that both have ended.
        while folder.run(&["drain"]).code != Some(0) {
            std::thread::sleep(Duration::from_millis(50));
        }
        let ended = [first, second].map(|one| one.join().expect("it ends"));
        let refused = ended.iter().filter(|one| one.status.code() == Some(1)).count();
        let served = ended.iter().filter(|one| one.status.success()).count();
        assert_eq!((refused, served), (1, 1), "{ended:?}");
    });
    assert!(folder.done(&["doctor"]).starts_with("sound"));
}
