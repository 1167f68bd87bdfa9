//! Hosts and processes, where a world knows of them.

use crate::action::{Action, Commit, Env};
use crate::mutants::Mutant;
use crate::properties::{Holds, Property};
use crate::state::{AttemptStatus, Phase, Process, Work, WorkStatus};

/// The properties of this area.
pub const ALL: &[Property] =
    &[OUTLIVES, STOPPED_AFTER, AFTER_PIN, ONE_RUNS, RECORD_FIRST, RESULT_KEPT];

/// What is at work for an attempt does not depend on who watches it.
pub const OUTLIVES: Property = Property {
    name: "neither a crash nor detaching ends, starts or replaces a process",
    rules: &["OURS-19"],
    caught: &[
        (Mutant::CrashKillsProcesses, "crash-grain"),
        (Mutant::DetachStopsProcess, "crash-grain"),
    ],
    holds: Holds::Step(|step| match step.action {
        Action::World(Env::Crash) | Action::Commit(Commit::Detach { .. }) => {
            let processes = |work: &Work| (work.process, work.left_held, work.left_running);
            let before = step.before.works().iter().map(processes);
            before.eq(step.after.works().iter().map(processes))
        }
        Action::Commit(_) | Action::World(_) => true,
    }),
};

/// The commit is what cancels; stopping a process takes as long as it takes.
pub const STOPPED_AFTER: Property = Property {
    name: "no commit that ends a Work ends its process: that is stopped afterwards",
    rules: &["CANCEL-06", "CANCEL-05"],
    caught: &[(Mutant::CancelStopsProcess, "crash-grain")],
    holds: Holds::Step(|step| {
        let committed = matches!(step.action, Action::Commit(_));
        let ended = step
            .before()
            .works()
            .filter(|work| step.after.work(*work).status == WorkStatus::Cancelled);
        !committed
            || ended.into_iter().all(|work| {
                let (before, after) = step.work(work);
                !(before.process.runs() || before.process == Process::Held)
                    || after.process == before.process
            })
    }),
};

/// A launch that lost its lease before the pin has started nothing.
pub const AFTER_PIN: Property = Property {
    name: "where the executor holds its processes, none runs before its segment is pinned",
    rules: &["OURS-20", "ADOPT-07", "LEASE-07"],
    caught: &[(Mutant::ProcessBeforePin, "crash-grain"), (Mutant::ProceedBeforePin, "crash-grain")],
    holds: Holds::Step(|step| {
        step.before().works().all(|work| {
            let (before, after) = step.work(work);
            let starts = after.process.runs() && !before.process.runs();
            let pinned = before.attempt.phase == Phase::Pinned;
            !starts || pinned || !step.world.binding(work).holds
        })
    }),
};

/// Whatever was lost, relaunched, replaced or left behind.
pub const ONE_RUNS: Property = Property {
    name: "never do two processes of one Work run at once",
    rules: &["ADOPT-05", "ADOPT-08", "ADOPT-17", "ADOPT-22", "LEASE-03", "POLICY-22", "OURS-20"],
    caught: &[
        (Mutant::RelaunchAfterHandOver, "crash-grain"),
        (Mutant::RelaunchPinned, "crash-grain"),
        (Mutant::ClaimOverExclusion, "crash-grain"),
        (Mutant::NotAdoptableUnmarked, "crash-grain"),
    ],
    holds: Holds::State(|now| {
        now.state.works().iter().all(|work| work.left_running + u8::from(work.process.runs()) <= 1)
    }),
};

/// A crash right after the call is never read as a call that was not made.
pub const RECORD_FIRST: Property = Property {
    name: "an executor is called only once the record that it was not is withdrawn",
    rules: &["ADOPT-06"],
    caught: &[(Mutant::LaunchBeforeRecord, "crash-grain")],
    holds: Holds::Step(|step| match step.action {
        Action::World(Env::Launch { work }) if step.accepted() => {
            step.before.work(work).attempt.phase == Phase::Handed
        }
        Action::Commit(_) | Action::World(_) => true,
    }),
};

/// Who watched it end does not matter.
pub const RESULT_KEPT: Property = Property {
    name: "a result that a keeper has is committed, unless the keeper dies or the attempt is cancelled",
    rules: &["OURS-19", "ADOPT-18"],
    caught: &[(Mutant::AdoptionLosesResult, "crash-grain")],
    holds: Holds::Step(|step| {
        step.before().works().all(|work| {
            let (before, after) = step.work(work);
            let gone = before.process == Process::Finished && after.process != Process::Finished;
            let rightly = match step.action {
                Action::Commit(
                    Commit::Complete { work: of, .. } | Commit::Fail { work: of, .. },
                ) => of == work,
                Action::World(Env::KeeperDies { work: of } | Env::ProcessExits { work: of }) => {
                    of == work
                }
                Action::Commit(_) | Action::World(_) => {
                    after.attempt.status == AttemptStatus::Cancelled
                }
            };
            !gone || rightly
        })
    }),
};
