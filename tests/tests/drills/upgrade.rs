//! Attempts that run on while the daemon is replaced by another build of its binary.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Instant;

use abide::domain::{Phase, WorkStatus};
use abide::keeper::identity::Identity;
use abide_tests::daemon::binary;
use abide_tests::drill::Held;

use crate::accounts::{Accounts, ONCE, What, account, hold_to_course};
use crate::ground::{Failed, Ground, said, say};

/// Attempts that run.
const ATTEMPTS: usize = 6;

/// How the first daemon ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Stopped,
    Killed,
}

/// OURS-19 ADOPT-04 ADOPT-13 ADOPT-14 ADOPT-15 ADOPT-17
#[test]
fn six_attempts_run_on_while_a_stopped_daemon_is_replaced_by_another_build() {
    replaced(End::Stopped).unwrap_or_else(|failed| panic!("{failed}"));
}

/// OURS-19 LEASE-08 LEASE-09 ADOPT-04 ADOPT-13 ADOPT-14 ADOPT-15 ADOPT-17
#[test]
fn six_attempts_run_on_while_a_killed_daemon_is_replaced_by_another_build() {
    replaced(End::Killed).unwrap_or_else(|failed| panic!("{failed}"));
}

/// A running attempt as it is seen from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Running {
    epoch: u64,
    keeper: Identity,
    command: Identity,
}

fn replaced(end: End) -> Result<(), Failed> {
    let builds = tempfile::tempdir().map_err(said)?;
    let program = builds.path().join("abide");
    build(&program, b"\nthe first build")?;
    let mut ground = Ground::with(&[], program.clone())?;
    for n in 0..ATTEMPTS {
        // Commands and agents in turn.
        let task = ["task.long", "turn.long"][n % 2];
        ground.emit(&format!("{n}"), task, &format!("k{n}"))?;
    }
    ground.until("every attempt works", |ground| {
        let effects = ground.log()?.iter().filter(|line| line.what == What::Effect).count();
        Ok((effects == ATTEMPTS).then_some(()))
    })?;
    let before = running(&ground)?;
    let (old, new) = (inode(&program)?, builds.path().join("abide.new"));
    build(&new, b"\nthe second build")?;

    let first = ground.take_daemon().ok_or("no daemon serves")?;
    let ended = Instant::now();
    match end {
        End::Stopped => drop(first.stop().map_err(said)?),
        End::Killed => first.kill().map_err(said)?,
    }
    let gone = Instant::now();
    fs::rename(&new, &program).map_err(said)?;
    if inode(&program)? == old {
        return Err("the binary was not replaced".to_owned());
    }
    ground.keep_up()?;
    let ready = Instant::now();
    ground.until("every attempt is adopted", |ground| {
        let seen = ground.see()?;
        let adopted = |work: &abide::store::observe::SeenWork| {
            work.attempt.as_ref().is_some_and(|attempt| {
                let old = before.get(&work.uid).map_or(u64::MAX, |running| running.epoch);
                attempt.epoch.0 > old && attempt.phase == Some(Phase::Pinned)
            })
        };
        Ok(seen.works.iter().all(adopted).then_some(()))
    })?;
    let adopted = Instant::now();
    let after = running(&ground)?;
    let ms = |from: Instant, to: Instant| to.duration_since(from).as_millis();
    say(&format!(
        "{end:?}: the daemon took {} ms to end; the next, another build, was ready after {} ms and had \
         adopted all after {} ms more: {} ms without a daemon",
        ms(ended, gone),
        ms(gone, ready),
        ms(ready, adopted),
        ms(ended, ready),
    ));
    compare(&before, &after)?;

    ground.release()?;
    let seen = ground.settle(ATTEMPTS)?;
    ground.end()?;
    let log = ground.log()?;
    let accounts = account(&seen, &log, &ground.sent);
    let audit = ground.audit()?;
    let course = hold_to_course(&seen, &log, |_| Some(ONCE));
    if accounts != Accounts::default() || course != Accounts::default() {
        return Err(ground.stuck(&format!("{accounts:?} {course:?}")));
    }
    let completed = seen.works.iter().filter(|work| work.status == WorkStatus::Completed).count();
    let starts = log.iter().filter(|line| line.what == What::Start).count();
    say(&format!(
        "{end:?}: {completed} completed by {starts} starts; {} journal rows as the law has them",
        audit.replayed
    ));
    Ok(())
}

/// A copy of `abide` that is another file with other bytes.
fn build(program: &Path, mark: &[u8]) -> Result<(), Failed> {
    use std::io::Write as _;
    fs::copy(binary("abide").map_err(said)?, program).map_err(said)?;
    let mut file = fs::OpenOptions::new().append(true).open(program).map_err(said)?;
    file.write_all(mark).map_err(said)
}

fn inode(path: &Path) -> Result<u64, Failed> {
    Ok(fs::metadata(path).map_err(said)?.ino())
}

/// By Work: its live claim, and who holds and runs its attempt.
fn running(ground: &Ground) -> Result<BTreeMap<String, Running>, Failed> {
    let seen = ground.see()?;
    let mut running = BTreeMap::new();
    for held in Held::all(&ground.path().join("state")).map_err(said)? {
        let text = fs::read_to_string(held.segment.join("request.json")).map_err(said)?;
        let request: serde_json::Value = serde_json::from_str(&text).map_err(said)?;
        let uid = request["work"].as_str().unwrap_or_default();
        let work = seen.works.iter().find(|work| work.uid == uid).ok_or("a segment of no work")?;
        let epoch = work.attempt.as_ref().map_or(0, |attempt| attempt.epoch.0);
        let command = held.command().map_err(said)?.ok_or("a keeper holds nothing")?;
        running.insert(uid.to_owned(), Running { epoch, keeper: held.keeper, command });
    }
    if running.len() == ATTEMPTS {
        return Ok(running);
    }
    Err(ground.stuck(&format!("{} of {ATTEMPTS} attempts run", running.len())))
}

fn compare(
    before: &BTreeMap<String, Running>,
    after: &BTreeMap<String, Running>,
) -> Result<(), Failed> {
    say("  work                              claim before  after  keeper  command");
    for (uid, old) in before {
        let new = after.get(uid).ok_or("an attempt is gone")?;
        let same = |same: bool| if same { "same" } else { "OTHER" };
        let keeper = same(old.keeper == new.keeper);
        let command = same(old.command == new.command);
        let (old, new) = (old.epoch, new.epoch);
        say(&format!("  {uid:<32}  {old:>12}  {new:>5}  {keeper:>6}  {command:>7}"));
        if keeper != "same" || command != "same" || new <= old {
            return Err(format!("{uid} did not simply run on"));
        }
    }
    Ok(())
}
