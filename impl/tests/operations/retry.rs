use crate::support::Folder;

/// A failed attempt comes again by itself, a used up budget is said, and a person goes on: with one
/// work, or with all of them. RETRY-27
#[test]
fn what_a_failure_used_up_is_retried_one_by_one_or_all_at_once() {
    let folder = Folder::new();
    folder.script("#!/bin/sh\n[ -e \"$(dirname \"$0\")/go\" ] || exit 7\n");
    let _daemon = folder.serve();
    for n in 1..4 {
        folder.emit(n);
    }
    for n in 1..4 {
        // Two attempts: the second by itself, a second after the first.
        let held = folder.work(n, |work| work["holds"][0] == "exhausted");
        assert_eq!((&held["attempts"], &held["failures"]), (&2.into(), &2.into()));
    }
    let id = folder.is(1, "ready")["id"].as_str().expect("an id").to_owned();
    let why = folder.done(&["why", &id]);
    assert!(why.contains("exhausted after 2 failures"), "{why}");
    assert!(why.contains(&format!("next: abide work retry {id}")), "{why}");
    let other = folder.run(&["work", "retry", &id, "--expect-attempt", "1"]);
    assert_eq!(other.code, Some(1));
    assert!(other.err.contains("stale_target"), "{}", other.err);

    folder.write("go", "");
    folder.done(&["work", "retry", &id, "--expect-attempt", "2"]);
    assert_eq!(folder.is(1, "completed")["attempts"], 3);
    let would = folder.done(&["work", "retry", "--exhausted", "--kind", "k", "--dry-run"]);
    assert_eq!(would.lines().count(), 2, "{would}");
    assert!(folder.done(&["work", "retry", "--exhausted", "--kind", "x"]).contains("no such work"));
    assert_eq!(folder.is(2, "ready")["attempts"], 2, "nothing has moved");
    assert_eq!(folder.done(&["work", "retry", "--exhausted"]).lines().count(), 2);
    folder.is(2, "completed");
    folder.is(3, "completed");
}
