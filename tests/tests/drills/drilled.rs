//! Runs drills side by side and reports them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use abide_refinement::audit::Report;
use abide_tests::drill::{Fired, Step, Victim};

use crate::accounts::{Accounts, Course, account, hold_to_course};
use crate::ground::{Failed, Ground, NOBODY, kills, say};
use crate::heard::Hearing;

/// Drills of one test at once; the grounds see to it that there are not too many daemons.
const AT_ONCE: usize = 3;

/// How often a drill is taken that finds nobody to kill.
const TAKES: usize = 5;

/// A kill or several, and what is going on meanwhile.
pub(crate) struct Drill {
    /// What it is of, for people.
    pub(crate) name: String,
    pub(crate) plan: Vec<Step>,
    /// What is asked of the daemon. It answers how many Works that makes.
    pub(crate) act: fn(&mut Ground) -> Result<usize, Failed>,
    pub(crate) judge: Judge,
}

/// What comes of a drill.
pub(crate) enum Judge {
    /// Workers took this course, if only daemons were killed, and ended so in any case.
    Worker(Course),
    /// Listeners heard what they were told.
    Listener(Hearing),
}

impl Judge {
    fn judge(&self, ground: &Ground, daemons_alone: bool) -> Result<Accounts, Failed> {
        let course = match self {
            Self::Worker(course) => course,
            Self::Listener(hearing) => return hearing.judge(ground, daemons_alone),
        };
        let (seen, log) = (ground.see()?, ground.log()?);
        let mut accounts = account(&seen, &log, &ground.sent);
        if daemons_alone {
            let more = hold_to_course(&seen, &log, |_| Some(*course));
            accounts.doubles.extend(more.doubles);
            accounts.losses.extend(more.losses);
        } else if seen.works.iter().any(|work| work.status != course.ends) {
            accounts.losses.push(format!("a work does not end {:?}", course.ends));
        }
        Ok(accounts)
    }
}

/// What came of a drill.
struct Drilled {
    accounts: Accounts,
    audit: Report,
    kills: BTreeMap<Victim, usize>,
}

/// What came of many.
#[derive(Debug, Default)]
struct Total {
    drills: usize,
    kills: BTreeMap<Victim, usize>,
    audited: usize,
    unjudged: BTreeMap<String, usize>,
    doubles: usize,
    losses: usize,
    findings: Vec<String>,
}

/// Runs every drill, or those that `ABIDE_DRILL` names; a failure of one does not keep the others from running.
///
/// # Panics
/// If one of them failed, with what is known of each; if a plan was not carried out to its last kill; if nothing is
/// drilled, unless another group has what is named.
pub(crate) fn run(what: &str, drills: Vec<Drill>, all: fn() -> Vec<Drill>) {
    let begun = Instant::now();
    let only = std::env::var("ABIDE_DRILL").unwrap_or_default();
    let chosen: VecDeque<Drill> =
        drills.into_iter().filter(|drill| drill.name.contains(&only)).collect();
    let elsewhere = || all().iter().any(|drill| drill.name.contains(&only));
    assert!(!chosen.is_empty() || elsewhere(), "no drill is called ABIDE_DRILL={only}");
    let planned: usize = chosen.iter().map(|drill| drill.plan.len()).sum();
    let queue = Mutex::new(chosen);
    let total = Mutex::new(Total::default());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                    let Some(drill) = next else { return };
                    let drilled = run_until_killed(&drill);
                    note(
                        &mut total.lock().unwrap_or_else(PoisonError::into_inner),
                        &drill,
                        drilled,
                    );
                }
            });
        }
    });
    let total = total.into_inner().unwrap_or_else(PoisonError::into_inner);
    report(what, &total, begun);
    assert!(total.findings.is_empty(), "{}", total.findings.join("\n\n"));
    assert_eq!(total.kills.values().sum::<usize>(), planned, "every kill of every plan");
}

/// A command may have ended when its turn to be killed has come. Then the drill is taken again.
fn run_until_killed(drill: &Drill) -> Result<Drilled, Failed> {
    let mut drilled = run_one(drill)?;
    for _ in 1..TAKES {
        if drilled.is_some() {
            break;
        }
        drilled = run_one(drill)?;
    }
    drilled.ok_or_else(|| format!("{NOBODY}, {TAKES} times"))
}

/// `None` if there was nobody to kill.
fn run_one(drill: &Drill) -> Result<Option<Drilled>, Failed> {
    let mut ground = Ground::new(&drill.plan)?;
    let acted =
        (drill.act)(&mut ground).and_then(|works| ground.settle(works)).and_then(|_| ground.end());
    match acted {
        Err(failed) if failed == NOBODY => return Ok(None),
        acted => acted?,
    }
    let fired = ground.fired()?;
    if fired.contains(&Fired::Nobody) {
        return Ok(None);
    }
    let kills = kills(&drill.plan, &fired);
    let planned = kills.get(&Victim::Daemon).copied().unwrap_or(0);
    if planned != ground.killed {
        let killed = ground.killed;
        return Err(ground.stuck(&format!("{killed} daemons were killed, planned {planned}")));
    }
    let daemons_alone = drill.plan.iter().all(|step| step.victim == Victim::Daemon);
    let accounts = drill.judge.judge(&ground, daemons_alone)?;
    if accounts != Accounts::default() {
        say(&ground.stuck(&format!("{}: {accounts:?}", drill.name)));
    }
    let audit = ground.audit()?;
    Ok(Some(Drilled { accounts, audit, kills }))
}

fn note(total: &mut Total, drill: &Drill, drilled: Result<Drilled, Failed>) {
    total.drills += 1;
    match drilled {
        Ok(Drilled { accounts, audit, kills }) => {
            total.audited += audit.replayed;
            for (why, rows) in audit.not_judged {
                *total.unjudged.entry(why).or_default() += rows;
            }
            for (victim, count) in kills {
                *total.kills.entry(victim).or_default() += count;
            }
            total.doubles += accounts.doubles.len();
            total.losses += accounts.losses.len();
            let found = accounts.doubles.into_iter().chain(accounts.losses);
            total.findings.extend(found.map(|found| format!("{}: {found}", drill.name)));
        }
        Err(failed) => total.findings.push(format!("{}: {failed}", drill.name)),
    }
}

fn report(what: &str, total: &Total, begun: Instant) {
    let Total { drills, kills, audited, unjudged, doubles, losses, findings } = total;
    let killed: Vec<String> = [Victim::Daemon, Victim::Keeper, Victim::Command]
        .into_iter()
        .map(|victim| format!("{} {}", kills.get(&victim).copied().unwrap_or(0), victim.name()))
        .collect();
    say(&format!(
        "drills of {what}: {drills} in {:.1} s; killed {}; {losses} losses, {doubles} doubles, {} \
         findings; {audited} journal rows as the law has them, not judged {unjudged:?}",
        begun.elapsed().as_secs_f64(),
        killed.join(", "),
        findings.len(),
    ));
}
