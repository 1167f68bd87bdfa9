use std::time::Duration;

use crate::support::{Folder, said};

/// Nothing is to come of something; a verdict on what does not happen needs some time to pass.
const QUIET: Duration = Duration::from_millis(2500);

/// A database that goes back to a backup: what runs from before is told to stop, nothing starts
/// over it, and what was lost is not in it; until a person lets it go on. OURS-21
#[test]
fn a_restored_database_starts_nothing_and_trusts_nobody_until_it_is_released() {
    let folder = Folder::new();
    let daemon = folder.serve();
    folder.emit(1);
    folder.launches(1);
    folder.work(1, |work| work["reason"].to_string().contains("running"));
    let written = folder.json(&["backup", "b.db", "--json"]);
    assert_eq!(written["incarnation"], 1);
    assert_eq!(folder.run(&["backup", "b.db"]).code, Some(1), "nothing is written over");
    folder.emit(2);
    folder.launches(2);

    let pid = daemon.0.id();
    let living = folder.run(&["restore", "b.db"]);
    assert_eq!(living.code, Some(1));
    assert!(living.err.contains(&format!("process {pid} serves ")), "{}", living.err);
    assert!(living.err.contains("nothing was changed"), "{}", living.err);

    drop(daemon);
    let told = folder.done(&["restore", "b.db"]);
    assert!(told.contains("incarnation 2") && told.contains("hold release --restore"), "{told}");
    let door = folder.text("door");
    let _daemon = folder.serve();
    assert!(folder.done(&["hold", "list"]).contains("nothing starts"));
    folder.emit(3);
    folder.is(3, "ready");
    let why = folder.done(&["why", folder.is(3, "ready")["id"].as_str().expect("an id")]);
    assert!(why.contains("restored from a backup"), "{why}");
    assert!(why.contains("next: abide hold release --restore"), "{why}");
    std::thread::sleep(QUIET);
    assert_eq!(folder.launched(), 2, "nothing is launched, and nothing taken over");
    assert_eq!(folder.is(1, "running")["attempts"], 1);
    // Work 2 was made after the backup: its process is of a life that this database does not know.
    let works = folder.done(&["work", "list", "--json"]);
    assert_eq!(works.lines().count(), 2, "{works}");
    let (socket, token) = door.trim().split_once(' ').expect("a socket and a token");
    let beat = folder
        .command()
        .args(["tool", "beat"])
        .envs([("ABIDE_SOCKET", socket), ("ABIDE_TOKEN_FILE", token)])
        .output();
    let beat = said(beat.expect("it runs"));
    assert_eq!(beat.code, Some(3), "{beat:?}");

    folder.done(&["hold", "release", "--restore"]);
    assert_eq!(
        folder.run(&["hold", "release", "--restore"]).code,
        Some(1),
        "there is none any more"
    );
    folder.launches(3);
    folder.write("go", "");
    folder.is(1, "completed");
    folder.is(3, "completed");
    assert_eq!(folder.launched(), 3, "the attempt of before was taken over, not begun again");
    assert_eq!(folder.is(1, "completed")["attempts"], 1);
    assert!(folder.done(&["doctor"]).starts_with("sound"));
}

/// OURS-21
#[test]
fn a_database_restored_twice_is_in_its_third_life() {
    let folder = Folder::new();
    folder.write("go", "");
    let daemon = folder.serve();
    folder.emit(1);
    folder.is(1, "completed");
    folder.done(&["backup", "b.db"]);
    drop(daemon);
    assert_eq!(folder.json(&["restore", "b.db", "--json"])["incarnation"], 2);
    // Of a stopped daemon, from the middle of its second life.
    folder.done(&["backup", "c.db"]);
    assert_eq!(folder.json(&["restore", "b.db", "--json"])["incarnation"], 3);
    let restored = folder.json(&["restore", "c.db", "--json"]);
    assert_eq!(restored["incarnation"], 4);
    assert!(restored["kept"].as_str().is_some_and(|kept| kept.ends_with("abide.db.before-4")));
    let _daemon = folder.serve();
    folder.done(&["hold", "release", "--restore"]);
    folder.emit(2);
    folder.is(2, "completed");
}

/// Whatever it is given, the database stays as it is, and is served again.
#[test]
fn what_is_no_backup_is_refused_with_a_reason_and_changes_nothing() {
    let folder = Folder::new();
    folder.write("go", "");
    let daemon = folder.serve();
    folder.emit(1);
    folder.is(1, "completed");
    folder.done(&["backup", "b.db"]);
    drop(daemon);
    folder.write("letter.txt", &"a letter, and no database. ".repeat(400));
    let mut bytes = std::fs::read(folder.path("b.db")).expect("a backup");
    let middle = bytes.len() / 2;
    bytes[middle..middle + 800].fill(0x5a);
    std::fs::write(folder.path("torn.db"), bytes).expect("a file");
    let before = std::fs::read(folder.database()).expect("the database");
    for (file, says) in [
        ("letter.txt", "no SQLite file"),
        ("torn.db", "damaged"),
        ("nowhere.db", "cannot be read"),
        ("state/abide.db", "the database that it would replace"),
    ] {
        let refused = folder.run(&["restore", file]);
        assert_eq!((refused.code, refused.out.as_str()), (Some(1), ""), "{file}");
        assert!(refused.err.contains(says), "{file}: {}", refused.err);
        assert_eq!(refused.err.lines().count(), 1, "one line: {}", refused.err);
        let after = std::fs::read(folder.database()).expect("the database");
        assert!(before == after, "{file} changed the database");
    }
    let _daemon = folder.serve();
    folder.emit(2);
    folder.is(2, "completed");
}

/// A restore that was killed once its copy was ready is finished by whoever comes next.
#[test]
fn an_interrupted_restore_is_finished_by_the_next_daemon() {
    let folder = Folder::new();
    folder.write("go", "");
    let daemon = folder.serve();
    folder.emit(1);
    folder.is(1, "completed");
    folder.done(&["backup", "b.db"]);
    folder.emit(2);
    folder.is(2, "completed");
    drop(daemon);
    folder.done(&["restore", "b.db"]);
    // As if it had been cut off right before its two moves.
    let database = folder.database();
    std::fs::rename(&database, folder.path("state/abide.db.restored")).expect("it is there");
    std::fs::rename(folder.path("state/abide.db.before-2"), &database).expect("it is there");
    let looked = folder.run(&["doctor"]);
    assert_eq!(looked.code, Some(1));
    assert!(looked.err.contains("was interrupted"), "{}", looked.err);
    let _daemon = folder.serve();
    assert!(folder.done(&["hold", "list"]).contains("incarnation 2"));
    assert!(folder.path("state/abide.db.before-2").exists());
    assert_eq!(folder.done(&["work", "list", "--json"]).lines().count(), 1, "it is the backup");
}

/// A file is not the database because it has a name.
#[test]
fn what_no_restore_has_made_ready_is_served_by_nobody() {
    let folder = Folder::new();
    folder.write("go", "");
    let daemon = folder.serve();
    folder.emit(1);
    folder.is(1, "completed");
    let reserved = folder.run(&["backup", "state/abide.db.restored"]);
    assert_eq!(reserved.code, Some(1));
    assert!(reserved.err.contains("choose another"), "{}", reserved.err);
    folder.done(&["backup", "b.db"]);
    drop(daemon);
    let ready = folder.path("state/abide.db.restored");
    std::fs::copy(folder.path("b.db"), &ready).expect("a copy");
    let before = std::fs::read(folder.database()).expect("the database");
    for command in [&["serve"][..], &["restore", "b.db"]] {
        let refused = folder.run(command);
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(format!("{refused:?}").contains("no copy that a restore has made"), "{refused:?}");
    }
    assert!(before == std::fs::read(folder.database()).expect("the database"));
    std::fs::remove_file(ready).expect("it was there");
    let _daemon = folder.serve();
    folder.emit(2);
    folder.is(2, "completed");
    let remembered = folder.text("state/abide.db.incarnation");
    assert_eq!(remembered, "1\n", "the daemon keeps it up to date");
}
