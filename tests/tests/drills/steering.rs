//! A kill at every point between two commits and calls of what is told to a process while it runs.

use std::collections::BTreeSet;

use abide::domain::{AttemptStatus, WorkStatus};
use abide_tests::drill::{Step, Victim};

use crate::accounts::Reason::{Next, Resume, Start};
use crate::drilled::{self, Drill, Judge};
use crate::ground::{Failed, Ground};
use crate::heard::{Done, Hearing, Message};
use crate::points;

use AttemptStatus::{Cancelled, Completed};
use Victim::{Command, Daemon, Keeper};

/// What is done, and what comes of it.
#[derive(Clone, Copy)]
struct Course {
    name: &'static str,
    act: fn(&mut Ground) -> Result<usize, Failed>,
    hearing: Hearing,
}

const INJECTED: Hearing =
    Hearing { segments: &[(1, Start)], attempts: &[Completed], proved: &["two"], interrupted: &[] };

const INTERRUPTED: Hearing = Hearing {
    segments: &[(1, Start), (2, Next)],
    attempts: &[Cancelled, Completed],
    proved: &[],
    interrupted: &[1],
};

/// A message reaches a running command, which completes.
const STEERS: Course =
    Course { name: "inject", act: |ground| steered(ground, "hear"), hearing: INJECTED };

/// The same of an agent.
const STEERS_AN_AGENT: Course = Course {
    name: "inject into an agent",
    act: |ground| steered(ground, "chat"),
    hearing: INJECTED,
};

/// A command that took a message in fails, and the next goes on without it.
const FAILS: Course = Course {
    name: "inject and fail",
    act: fails,
    hearing: Hearing {
        segments: &[(1, Start), (2, Next)],
        attempts: &[AttemptStatus::Failed, Completed],
        ..INJECTED
    },
};

/// A command that took a message in waits, and is woken by the next alone.
const PARKS: Course = Course {
    name: "inject and park",
    act: parks,
    hearing: Hearing { segments: &[(1, Start), (1, Resume)], ..INJECTED },
};

/// A route interrupts a command.
const STOPS: Course = Course {
    name: "interrupt",
    act: |ground| stopped(ground, "hear", false),
    hearing: INTERRUPTED,
};

/// The same of an agent.
const STOPS_AN_AGENT: Course = Course {
    name: "interrupt an agent",
    act: |ground| stopped(ground, "chat", false),
    hearing: INTERRUPTED,
};

/// A route interrupts a command that took a message in.
const STOPS_A_HEARER: Course = Course {
    name: "inject and interrupt",
    act: |ground| stopped(ground, "hear", true),
    hearing: INTERRUPTED,
};

/// A person interrupts a command.
const STOPS_BY_HAND: Course =
    Course { name: "interrupt by hand", act: stopped_by_hand, hearing: INTERRUPTED };

const COURSES: [Course; 8] =
    [STEERS, STEERS_AN_AGENT, FAILS, PARKS, STOPS, STOPS_AN_AGENT, STOPS_A_HEARER, STOPS_BY_HAND];

/// POLICY-12 POLICY-16 POLICY-17 POLICY-18 INJECT-08 INJECT-10 INJECT-15 EXEC-11
#[test]
fn a_kill_anywhere_in_an_injection_loses_nothing_and_proves_nothing_twice() {
    drilled::run("injections", injections(), every);
}

/// POLICY-19 POLICY-20 POLICY-21 POLICY-22 CTRL-05 CTRL-09
#[test]
fn a_kill_anywhere_in_an_interrupt_cancels_one_attempt_and_starts_its_successor_after_it() {
    drilled::run("interrupts", interrupts(), every);
}

/// Every drill that has a plan.
pub(crate) fn every() -> Vec<Drill> {
    [injections(), interrupts(), points::every()].into_iter().flatten().collect()
}

fn injections() -> Vec<Drill> {
    let mut drills = Vec::new();
    for course in [STEERS, STEERS_AN_AGENT] {
        for at in ["committing commit_route", "committed commit_route"] {
            // The first is of the message that it was started for.
            drills.push(drill(course, &[], Step::at(Daemon, at).nth(2)));
        }
        for command in ["dispatch", "settle_dispatch", "complete"] {
            drills.extend(around(course, &[], Daemon, command));
        }
        for at in ["answered inject", "delivered"] {
            drills.push(drill(course, &[], Step::at(Daemon, at)));
        }
        for victim in [Keeper, Command] {
            for at in ["committed dispatch", "delivered", "answered inject"] {
                drills.push(drill(course, &[], Step::at(victim, at)));
            }
        }
        // Whoever takes the attempt over is killed as well.
        let sent = [Step::at(Daemon, "delivered")];
        for at in ["committed settle_recovery", "delivered", "committed settle_dispatch"] {
            drills.push(drill(course, &sent, Step::at(Daemon, at)));
        }
    }
    drills.extend(around(FAILS, &[], Daemon, "fail"));
    drills.extend(around(PARKS, &[], Daemon, "register_wait"));
    for at in ["committing commit_route", "committed commit_route"] {
        drills.push(drill(PARKS, &[], Step::at(Daemon, at).nth(3)));
    }
    drills
}

fn interrupts() -> Vec<Drill> {
    let mut drills = Vec::new();
    for course in [STOPS, STOPS_AN_AGENT] {
        for at in ["committing commit_route", "committed commit_route"] {
            drills.push(drill(course, &[], Step::at(Daemon, at).nth(2)));
        }
        for command in ["dispatch", "settle_dispatch", "vacate"] {
            drills.extend(around(course, &[], Daemon, command));
        }
        for at in ["answered interrupt", "interrupted", "stopping", "exited", "cleared", "said"] {
            drills.push(drill(course, &[], Step::at(Daemon, at)));
        }
        for at in ["answered interrupt", "committed settle_dispatch", "stopping"] {
            drills.push(drill(course, &[], Step::at(Keeper, at)));
        }
        drills.push(drill(lost_or_interrupted(course), &[], Step::at(Keeper, "interrupted")));
        drills.push(drill(course, &[], Step::at(Command, "interrupted")));
        let told = [Step::at(Daemon, "interrupted")];
        for at in ["committed settle_recovery", "interrupted", "committed settle_dispatch"] {
            drills.push(drill(course, &told, Step::at(Daemon, at)));
        }
    }
    for at in ["committing settle_dispatch", "committed settle_dispatch"] {
        drills.push(drill(STOPS_A_HEARER, &[], Step::at(Daemon, at).nth(2)));
    }
    let lost = lost_or_interrupted(STOPS_A_HEARER);
    drills.push(drill(lost, &[], Step::at(Keeper, "interrupted")));
    for command in ["interrupt", "settle_dispatch"] {
        drills.extend(around(STOPS_BY_HAND, &[], Daemon, command));
    }
    drills
}

/// A keeper that dies before it has said that it was told takes its process with it: what is lost before the fence commits
/// is a failure, and what is lost after it is not. Either way the message is input of the next attempt.
fn lost_or_interrupted(course: Course) -> Course {
    let hearing = Hearing { interrupted: &[], ..course.hearing };
    Course { hearing, ..course }
}

fn around(course: Course, before: &[Step], victim: Victim, command: &str) -> [Drill; 2] {
    ["committing", "committed"]
        .map(|at| drill(course, before, Step::at(victim, &format!("{at} {command}"))))
}

fn drill(course: Course, before: &[Step], last: Step) -> Drill {
    let plan: Vec<Step> = before.iter().cloned().chain([last]).collect();
    let shown: Vec<String> = plan.iter().map(Step::to_string).collect();
    let name = format!("{}: {}", course.name, shown.join(", "));
    Drill { name, plan, act: course.act, judge: Judge::Listener(course.hearing) }
}

/// Every commit of these courses is a place where something is killed, here or where it is not about control.
#[test]
fn no_commit_of_a_control_is_without_a_kill() {
    let drilled = every();
    let points: BTreeSet<&str> =
        drilled.iter().flat_map(|drill| &drill.plan).map(|step| step.point.as_str()).collect();
    let mut missing = BTreeSet::new();
    for course in COURSES {
        let commands = undisturbed(course).unwrap_or_else(|failed| panic!("{failed}"));
        for command in commands.into_iter().filter(|command| command != "wake") {
            let both = ["committing", "committed"].map(|at| format!("{at} {command}"));
            missing.extend(both.into_iter().filter(|at| !points.contains(at.as_str())));
        }
    }
    assert!(missing.is_empty(), "no drill kills at {missing:?}");
}

/// The commands that a course commits if nobody is killed; it comes to what it should.
fn undisturbed(course: Course) -> Result<BTreeSet<String>, Failed> {
    let mut ground = Ground::new(&[])?;
    let works = (course.act)(&mut ground)?;
    ground.settle(works)?;
    ground.end()?;
    let accounts = course.hearing.judge(&ground, true)?;
    if accounts != crate::accounts::Accounts::default() {
        return Err(ground.stuck(&format!("{}: {accounts:?}", course.name)));
    }
    let rows = ground.journal()?;
    let accepted = rows.into_iter().filter(|row| row.outcome == "accepted");
    Ok(accepted.map(|row| row.action).collect())
}

/// A process that listens.
fn begins(ground: &mut Ground, prefix: &str) -> Result<(), Failed> {
    ground.post("one", &format!("{prefix}.one"), "k")?;
    started(ground, 1)
}

/// Waits until an attempt has a process.
fn started(ground: &mut Ground, attempt: u32) -> Result<(), Failed> {
    ground.until("an attempt starts", |ground| {
        let log = ground.heard()?;
        let start = log.iter().any(|one| one.what == Done::Start && one.attempt >= attempt);
        Ok(start.then_some(()))
    })
}

/// Injects a message, and waits until a process has it: as a message, or because it was handed to the next.
fn injects(ground: &mut Ground, prefix: &str) -> Result<(), Failed> {
    ground.post("two", &format!("{prefix}.two"), "k")?;
    ground.until("a process has the message", |ground| {
        let Some(message) = Message::find(ground, "two")? else { return Ok(None) };
        let log = ground.heard()?;
        let said = log.iter().any(|line| line.is(Done::Said, &message.uid));
        let handed = log.iter().flat_map(|line| &line.handed).any(|one| one.event == message.uid);
        let heard = said || handed || message.is_proved();
        Ok((message.is_settled() && heard).then_some(()))
    })
}

fn steered(ground: &mut Ground, prefix: &str) -> Result<usize, Failed> {
    begins(ground, prefix)?;
    injects(ground, prefix)?;
    ground.release()?;
    Ok(1)
}

fn fails(ground: &mut Ground) -> Result<usize, Failed> {
    begins(ground, "hear")?;
    injects(ground, "hear")?;
    ground.order(1, "fail")?;
    started(ground, 2)?;
    ground.release()?;
    Ok(1)
}

fn parks(ground: &mut Ground) -> Result<usize, Failed> {
    begins(ground, "hear")?;
    injects(ground, "hear")?;
    ground.order(1, "park")?;
    ground.until("its attempt waits", |ground| {
        let seen = ground.see()?;
        Ok(seen.works.iter().any(|work| work.status == WorkStatus::Waiting).then_some(()))
    })?;
    ground.post("three", "hear.three", "k")?;
    ground.until("it goes on", |ground| {
        let starts = ground.heard()?.iter().filter(|line| line.what == Done::Start).count();
        Ok((starts > 1).then_some(()))
    })?;
    ground.release()?;
    Ok(1)
}

fn stopped(ground: &mut Ground, prefix: &str, hears: bool) -> Result<usize, Failed> {
    begins(ground, prefix)?;
    if hears {
        injects(ground, prefix)?;
    }
    ground.post("stop", &format!("{prefix}.stop"), "k")?;
    started(ground, 2)?;
    ground.release()?;
    Ok(1)
}

fn stopped_by_hand(ground: &mut Ground) -> Result<usize, Failed> {
    begins(ground, "hear")?;
    let uid = ground.see()?.works.first().map(|work| work.uid.clone()).ok_or("no work")?;
    let path = format!("/work/{uid}/interrupt");
    ground.until("its attempt is cancelled", |ground| {
        let daemon = ground.daemon()?;
        // Whatever it answers, the next look tells. It names the attempt, so that a repeat stops no other.
        drop(daemon.operator("POST", &path, r#"{"expect_attempt":1}"#));
        let seen = ground.see()?;
        let attempt = seen.works.first().and_then(|work| work.attempt.as_ref());
        Ok(attempt.filter(|attempt| attempt.status == Cancelled).map(drop))
    })?;
    ground.post("two", "hear.two", "k")?;
    started(ground, 2)?;
    ground.release()?;
    Ok(1)
}
