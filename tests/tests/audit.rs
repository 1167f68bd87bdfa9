//! The journal of a real daemon is lawful: waits, a wake, a kill with a recovery, a hold and a release.

use std::fs::File;
use std::io::BufReader;

use abide_refinement::audit::{audit_database, audit_export};
use abide_tests::daemon::abide;

#[test]
fn the_journal_of_the_demo_passes_from_its_database_and_from_its_export() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let played = abide(folder.path(), &["demo", "--keep", "played"]).expect("the demo runs");
    assert!(played.status.success(), "{}", String::from_utf8_lossy(&played.stderr));
    let stored = audit_database(&folder.path().join("played/state/abide.db"));
    let stored = stored.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((stored.works, stored.unsealed, stored.undecided.len()), (2, 0, 0), "{stored:?}");
    assert!(stored.rows > 30 && stored.replayed * 10 > stored.rows * 9, "{stored:?}");

    let printed = abide(folder.path(), &["journal", "export", "-c", "played/abide.toml"]);
    let file = folder.path().join("journal.ndjson");
    std::fs::write(&file, printed.expect("the export runs").stdout).expect("a file");
    let exported = audit_export(BufReader::new(File::open(&file).expect("a file")));
    let exported = exported.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((exported.rows, exported.replayed), (stored.rows, stored.replayed));
    assert_eq!(exported.seals, None);
}
