//! A kill at every point between two commits of a launch, a recovery, a wake and a cancellation.

use std::collections::BTreeSet;

use abide::domain::WorkStatus;
use abide_tests::drill::{Step, Victim};

use crate::accounts::{AGAIN, CANCELLED, Course, ONCE, RESUMED, What};
use crate::drilled::{self, Drill, Judge};
use crate::ground::{Failed, Ground};
use crate::steering;

use Victim::{Command, Daemon, Keeper};

type Act = fn(&mut Ground) -> Result<usize, Failed>;

fn run(what: &str, drills: Vec<Drill>) {
    drilled::run(what, drills, steering::every);
}

pub(crate) fn every() -> Vec<Drill> {
    [launch(), takeover(), wait(), cancellation(), retry(), held(), detach()]
        .into_iter()
        .flatten()
        .collect()
}

/// LEASE-03 ADOPT-06 ADOPT-07 ADOPT-10 OURS-19 OURS-20
#[test]
fn a_kill_anywhere_in_a_launch_starts_nothing_twice_and_loses_nothing() {
    run("launch", launch());
}

fn launch() -> Vec<Drill> {
    let mut drills = Vec::new();
    for command in ["reload", "accept", "commit_route", "claim", "clear_never_handed", "pin"] {
        drills.extend(around("launch", command, Daemon, &[], works, ONCE));
    }
    drills.extend(around("launch", "complete", Daemon, &[], works, ONCE));
    for point in KEEPER {
        drills.push(drill("launch", &[], Step::at(Daemon, point), works, ONCE));
    }
    drills.push(drill("launch", &[], Step::at(Daemon, "committed renew"), long, ONCE));
    drills
}

/// LEASE-08 LEASE-09 ADOPT-01 ADOPT-13 ADOPT-14 ADOPT-15 ADOPT-17
#[test]
fn a_kill_anywhere_in_a_takeover_leaves_it_to_the_next() {
    run("takeover", takeover());
}

fn takeover() -> Vec<Drill> {
    let mut drills = Vec::new();
    let running = [Step::at(Daemon, "recorded")];
    let held = [Step::at(Daemon, "committing pin")];
    let pinned = [Step::at(Daemon, "committed pin")];
    // Before the keeper tells anybody: a daemon that hears of the end completes the attempt, and leaves nothing.
    let ended = [Step::at(Daemon, "cleared")];
    for before in [&running, &pinned] {
        for command in ["claim_recovery", "settle_recovery"] {
            drills.extend(around("takeover", command, Daemon, before, long, ONCE));
        }
        drills.push(drill("takeover", before, Step::at(Daemon, "replaced"), long, ONCE));
    }
    for command in ["claim_recovery", "settle_recovery", "complete"] {
        drills.extend(around("takeover of an end", command, Daemon, &ended, works, ONCE));
    }
    for command in ["claim_recovery", "clear_never_handed", "pin"] {
        drills.extend(around("second launch", command, Daemon, &held, works, ONCE));
    }
    drills
}

/// WAIT-03 WAKE-01 WAKE-11 WAKE-16 WAKE-17 POLICY-22
#[test]
fn a_kill_anywhere_around_a_wait_wakes_it_once() {
    run("wait and wake", wait());
}

fn wait() -> Vec<Drill> {
    let mut drills = Vec::new();
    drills.extend(around("wait", "register_wait", Daemon, &[], waits, RESUMED));
    drills.extend(around("wait", "vacate", Daemon, &[], waits, RESUMED));
    for command in ["accept", "commit_route", "claim", "clear_never_handed", "pin"] {
        let second = around("wake", command, Daemon, &[], waits, RESUMED).map(second);
        drills.extend(second);
    }
    drills.extend(around("wake", "complete", Daemon, &[], waits, RESUMED));
    for point in KEEPER {
        let again = drill("wake", &[], Step::at(Daemon, point), waits, RESUMED);
        drills.push(second(again));
    }
    drills.extend(around("timeout", "fire_timer", Daemon, &[], sleeps, RESUMED));
    drills
}

/// CANCEL-01 CANCEL-06 POLICY-22 ADOPT-22
#[test]
fn a_kill_anywhere_in_a_cancellation_leaves_nothing_running() {
    run("cancellation", cancellation());
}

fn cancellation() -> Vec<Drill> {
    let mut drills = Vec::new();
    for command in ["cancel", "vacate"] {
        drills.extend(around("cancel", command, Daemon, &[], cancelled, CANCELLED));
    }
    for point in ["exited", "cleared", "said"] {
        drills.push(drill("cancel", &[], Step::at(Daemon, point), cancelled, CANCELLED));
        drills.push(drill("cancel", &[], Step::at(Keeper, point), cancelled, CANCELLED));
    }
    for victim in [Keeper, Command] {
        drills.extend(around("cancel", "cancel", victim, &[], cancelled, CANCELLED));
    }
    drills
}

/// RETRY-01 RETRY-10 RETRY-19 RETRY-20 RETRY-21 RETRY-24
#[test]
fn a_kill_anywhere_in_a_retry_makes_one_next_attempt() {
    run("retry", retry());
}

/// OURS-19 OURS-20 ADOPT-19 ADOPT-20 ADOPT-22 LEASE-15 POLICY-22
#[test]
fn a_killed_keeper_or_command_costs_an_attempt_and_no_more() {
    run("keepers and commands", held());
}

/// OURS-19 LEASE-02
#[test]
fn a_kill_while_a_daemon_gives_up_its_leases_leaves_its_attempts_running() {
    run("detach", detach());
}

fn retry() -> Vec<Drill> {
    let mut drills = Vec::new();
    for command in ["fail", "fire_retry"] {
        drills.extend(around("retry", command, Daemon, &[], fails, AGAIN));
    }
    for command in ["commit_route", "claim", "clear_never_handed", "pin"] {
        drills.extend(around("retry", command, Daemon, &[], fails, AGAIN).map(second));
    }
    drills.extend(around("retry", "complete", Daemon, &[], fails, AGAIN));
    for (victim, point) in [(Keeper, "recorded"), (Command, "spawned")] {
        let again = drill("retry", &[], Step::at(victim, point), fails, AGAIN);
        drills.push(second(again));
    }
    // Neither attempt ever ran: the third finds what the first was handed.
    for point in ["introduced", "ready", "told"] {
        let before = [Step::at(Keeper, point)];
        drills.push(drill("retry of a retry", &before, Step::at(Keeper, point), works, ONCE));
    }
    drills
}

fn held() -> Vec<Drill> {
    let mut drills = Vec::new();
    for point in KEEPER {
        drills.push(drill("keeper", &[], Step::at(Keeper, point), works, ONCE));
    }
    for point in ["spawned", "recorded"] {
        drills.push(drill("command", &[], Step::at(Command, point), long, ONCE));
    }
    let running = [Step::at(Daemon, "recorded")];
    for victim in [Keeper, Command] {
        drills.push(drill("held", &[], Step::at(victim, "committed renew"), long, ONCE));
        drills.extend(around("held", "register_wait", victim, &[], waits, RESUMED));
        for command in ["claim_recovery", "settle_recovery"] {
            drills.extend(around("held in a takeover", command, victim, &running, long, ONCE));
        }
        drills.push(drill(
            "held in a takeover",
            &running,
            Step::at(victim, "replaced"),
            long,
            ONCE,
        ));
    }
    drills.extend(around("held", "pin", Keeper, &[], works, ONCE));
    for (victim, point) in [(Keeper, "recorded"), (Command, "spawned")] {
        let resumed = drill("held after a wake", &[], Step::at(victim, point), waits, RESUMED);
        drills.push(second(resumed));
    }
    // What cannot be adopted is seen out, whoever has to.
    let orphaned = || {
        let last = Step::at(Keeper, "committed claim_recovery");
        drill("not adoptable", &running, last, long, ONCE)
    };
    for command in ["settle_recovery", "vacate", "fire_retry"] {
        for at in ["committing", "committed"] {
            drills.push(then(orphaned(), Step::at(Daemon, &format!("{at} {command}"))));
        }
    }
    drills
}

fn detach() -> Vec<Drill> {
    around("detach", "detach", Daemon, &[], stops, ONCE).into()
}

/// Every commit of these courses, and every point of a keeper, is a place where something is killed.
#[test]
fn no_commit_of_these_courses_is_without_a_kill() {
    let drilled = every();
    let points: BTreeSet<&str> =
        drilled.iter().flat_map(|drill| &drill.plan).map(|step| step.point.as_str()).collect();
    let mut missing: Vec<String> = Vec::new();
    missing.extend(KEEPER.iter().filter(|at| !points.contains(**at)).map(|at| (*at).to_owned()));
    let courses: [Act; 7] = [works, long, waits, sleeps, cancelled, fails, stops];
    for act in courses {
        for command in committed(act).unwrap_or_else(|failed| panic!("{failed}")) {
            let both = ["committing", "committed"].map(|at| format!("{at} {command}"));
            missing.extend(both.into_iter().filter(|at| !points.contains(at.as_str())));
        }
    }
    assert!(missing.is_empty(), "no drill kills at {missing:?}");
}

/// Routing wakes by itself; on a machine so busy that it has not within a quarter of a second, a loop does. No plan can ask
/// for that, so it is left to the random kills.
const RARE: &str = "wake";

/// The commands that an undisturbed course commits.
fn committed(act: Act) -> Result<BTreeSet<String>, Failed> {
    let mut ground = Ground::new(&[])?;
    let works = act(&mut ground)?;
    ground.settle(works)?;
    ground.end()?;
    let rows = ground.journal()?;
    let accepted = rows.into_iter().filter(|row| row.outcome == "accepted");
    Ok(accepted.map(|row| row.action).filter(|action| action != RARE).collect())
}

/// The points of a keeper whose segment takes its course.
const KEEPER: [&str; 9] =
    ["begun", "introduced", "ready", "told", "spawned", "recorded", "exited", "cleared", "said"];

fn around(
    what: &str,
    command: &str,
    victim: Victim,
    before: &[Step],
    act: Act,
    course: Course,
) -> [Drill; 2] {
    ["committing", "committed"].map(|at| {
        let last = Step::at(victim, &format!("{at} {command}"));
        drill(what, before, last, act, course)
    })
}

fn drill(what: &str, before: &[Step], last: Step, act: Act, course: Course) -> Drill {
    let plan: Vec<Step> = before.iter().cloned().chain([last]).collect();
    let shown: Vec<String> = plan.iter().map(Step::to_string).collect();
    let name = format!("{what}: {}", shown.join(", "));
    Drill { name, plan, act, judge: Judge::Worker(course) }
}

/// The last kill at the second passing of its point.
fn second(mut drill: Drill) -> Drill {
    if let Some(last) = drill.plan.pop() {
        drill.name.push_str(", the second");
        drill.plan.push(last.nth(2));
    }
    drill
}

/// Once more, with this kill after all.
fn then(mut drill: Drill, last: Step) -> Drill {
    drill.name.push_str(&format!(", {last}"));
    drill.plan.push(last);
    drill
}

fn works(ground: &mut Ground) -> Result<usize, Failed> {
    ground.emit("one", "task.works", "one")?;
    Ok(1)
}

/// Goes on until every kill of the plan has taken place.
fn long(ground: &mut Ground) -> Result<usize, Failed> {
    ground.emit("one", "task.long", "one")?;
    let steps = ground.steps();
    ground.until("every kill takes place", |ground| {
        Ok((ground.fired()?.len() == steps).then_some(()))
    })?;
    ground.release()?;
    Ok(1)
}

fn waits(ground: &mut Ground) -> Result<usize, Failed> {
    ground.emit("one", "task.waits", "one")?;
    ground.until("its attempt waits", |ground| {
        let seen = ground.see()?;
        Ok(seen.works.iter().any(|work| work.status == WorkStatus::Waiting).then_some(()))
    })?;
    ground.emit("news", "task.news", "one")?;
    Ok(1)
}

fn sleeps(ground: &mut Ground) -> Result<usize, Failed> {
    ground.emit("one", "task.sleeps", "one")?;
    Ok(1)
}

fn fails(ground: &mut Ground) -> Result<usize, Failed> {
    ground.emit("one", "task.fails", "one")?;
    Ok(1)
}

/// A daemon that is asked to stop while its attempt works.
fn stops(ground: &mut Ground) -> Result<usize, Failed> {
    ground.emit("one", "task.long", "one")?;
    effect(ground)?;
    ground.ask_to_stop()?;
    let steps = ground.steps();
    ground.until("every kill takes place", |ground| {
        Ok((ground.fired()?.len() == steps).then_some(()))
    })?;
    ground.release()?;
    Ok(1)
}

fn effect(ground: &mut Ground) -> Result<(), Failed> {
    ground.until("it does something", |ground| {
        Ok(ground.log()?.iter().any(|line| line.what == What::Effect).then_some(()))
    })
}

fn cancelled(ground: &mut Ground) -> Result<usize, Failed> {
    ground.emit("one", "task.long", "one")?;
    effect(ground)?;
    ground.cancel_all()?;
    Ok(1)
}
