//! What the drills would have to notice, made to happen by hand.

use std::process::Command;

use abide_tests::daemon::binary;
use abide_tests::drill::{Step, Victim};

use crate::accounts::{Accounts, ONCE, What, account, hold_to_course};
use crate::ground::{Failed, Ground, said};

/// The worker's lock, the record and the database each give away a process too many, and whatever is missing.
#[test]
fn a_second_process_and_a_process_that_is_missing_are_found() {
    let ground = once().unwrap_or_else(|failed| panic!("{failed}"));
    let (seen, log) = (ground.see().expect("a state"), ground.log().expect("a record"));
    assert_eq!(account(&seen, &log, &ground.sent), Accounts::default());
    assert_eq!(hold_to_course(&seen, &log, |_| Some(ONCE)), Accounts::default());

    let without = |what: What| {
        let left: Vec<_> = log.iter().filter(|line| line.what != what).cloned().collect();
        let more = hold_to_course(&seen, &left, |_| Some(ONCE));
        (account(&seen, &left, &ground.sent).losses, more.losses)
    };
    assert_eq!(without(What::End).0.len(), 1, "a Work that completed and never came to its end");
    assert_eq!(without(What::Start).0.len(), 1, "an input that no process saw");
    assert_eq!(without(What::Effect).1.len(), 1, "effects that were never had");
    let mut unseen = seen.clone();
    unseen.events.clear();
    assert_eq!(account(&unseen, &log, &ground.sent).losses.len(), 1, "an event that is gone");

    run_again(&ground).unwrap_or_else(|failed| panic!("{failed}"));
    let log = ground.log().expect("a record");
    let doubles = account(&seen, &log, &ground.sent).doubles;
    assert_eq!(doubles.len(), 3, "a claim and an attempt twice, and side by side: {doubles:?}");
    let more = hold_to_course(&seen, &log, |_| Some(ONCE)).doubles;
    assert_eq!(more.len(), 1, "effects too many: {more:?}");
}

/// `abide` passes the same points, and there is nobody whom it tells.
#[test]
fn abide_itself_follows_no_plan() {
    let plan = ["committed claim", "recorded"].map(|point| Step::at(Victim::Daemon, point));
    let mut ground = Ground::with(&plan, binary("abide").expect("it is built"))
        .unwrap_or_else(|f| panic!("{f}"));
    let asked = ground.emit("one", "task.works", "one").and_then(|_| ground.settle(1));
    asked.unwrap_or_else(|failed| panic!("{failed}"));
    assert_eq!((ground.fired(), ground.killed), (Ok(Vec::new()), 0));
}

/// A drill without a kill.
fn once() -> Result<Ground, Failed> {
    let mut ground = Ground::new(&[])?;
    ground.emit("one", "task.works", "one")?;
    ground.settle(1)?;
    ground.end()?;
    Ok(ground)
}

/// Runs the same claim again, while another process seems to work on its Work.
fn run_again(ground: &Ground) -> Result<(), Failed> {
    let seen = ground.see()?;
    let work = &seen.works[0].uid;
    let lock = std::fs::File::open(ground.path().join("locks").join(work)).map_err(said)?;
    lock.lock().map_err(said)?;
    let segments = std::fs::read_dir(ground.path().join("state/segments")).map_err(said)?;
    let segment = segments.map_while(Result::ok).next().ok_or("no segment")?.path();
    let status = Command::new(ground.path().join("run.sh"))
        .env("ABIDE_REQUEST", segment.join("request.json"))
        .env("ABIDE_DIR", ground.path().join("state/works").join(work))
        .status()
        .map_err(said)?;
    if status.success() { Ok(()) } else { Err(format!("the worker ended {status}")) }
}
