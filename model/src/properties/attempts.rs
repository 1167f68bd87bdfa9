//! Attempts, authority and recovery.

use crate::action::{Action, Authority, Commit, Verdict};
use crate::index::{EventIx, Maybe, WorkIx};
use crate::mutants::Mutant;
use crate::outcome::{Outcome, Receipt, Recovery, Start};
use crate::properties::{Holds, Property, Step};
use crate::state::{AttemptStatus, Exclusion, Hold, Input, Phase, Work, WorkStatus};

/// The properties of this area.
pub const ALL: &[Property] = &[
    STALE_REFUSED,
    EXPIRED_REFUSED,
    ONE_EPOCH,
    HOLDER_RUNS,
    ONE_ATTEMPT,
    KEEPS_TRIGGER,
    WINNER_TRIGGERS,
    CAPACITY,
    HELD,
    EXCLUDED,
    LOSER_EXCLUDED,
    WHOLE_BATCH,
    RECOVERY_KEEPS,
    LIVE_LEASE,
    RELAUNCH,
    HANDED_FIRST,
    FAILURE_HOLDS,
];

/// A superseded authority is refused before anything else is looked at.
pub const STALE_REFUSED: Property = Property {
    name: "only the last granted authority of a running attempt acts",
    rules: &[
        "LEASE-06",
        "LEASE-07",
        "LEASE-12",
        "LEASE-14",
        "LEASE-15",
        "ADOPT-16",
        "CANCEL-05",
        "CANCEL-10",
        "OURS-21",
        "INJECT-16",
        "INJECT-33",
    ],
    caught: &[
        (Mutant::ForgetAuthority, "attempts"),
        (Mutant::ForgetAuthority, "restore"),
        (Mutant::CancelLeavesAuthority, "attempts"),
        (Mutant::CancelLeavesAuthority, "cancel"),
        (Mutant::ProofGrantsAuthority, "inject"),
        (Mutant::StaleAnswerSettles, "inject"),
    ],
    holds: Holds::Step(|step| match shown(step) {
        Some((work, by)) if step.accepted() => {
            by == Authority::Current
                && step.before.work(work).attempt.status == AttemptStatus::Running
        }
        Some(_) | None => true,
    }),
};

/// At `now == expires_at` the lease is over.
pub const EXPIRED_REFUSED: Property = Property {
    name: "a lease at its end confers nothing",
    rules: &["LEASE-01", "LEASE-11", "LEASE-12"],
    caught: &[
        (Mutant::ExpiryInclusive, "attempts"),
        (Mutant::ExpiryInclusive, "deadlines"),
        (Mutant::StaleAnswerSettles, "steer-and-retry"),
    ],
    holds: Holds::Step(|step| match shown(step) {
        Some((work, _)) if step.accepted() => step.before.work(work).attempt.lease > 0,
        Some(_) | None => true,
    }),
};

fn shown(step: &Step<'_>) -> Option<(WorkIx, Authority)> {
    match step.action {
        Action::Commit(commit) => commit.shown(),
        Action::World(_) => None,
    }
}

/// Every claim, recovery and resume supersedes the epoch before it, so epochs strictly grow.
pub const ONE_EPOCH: Property = Property {
    name: "an attempt has at most one live epoch",
    rules: &["LEASE-08", "LEASE-10", "ADOPT-01", "WAKE-16", "INJECT-32"],
    caught: &[
        (Mutant::RecoveryKeepsEpoch, "attempts"),
        (Mutant::ResumeKeepsEpoch, "waits"),
        (Mutant::ResumeKeepsEpoch, "steer-and-wait"),
    ],
    holds: Holds::State(|now| now.state.works().iter().all(|work| work.attempt.epochs <= 1)),
};

/// Parking, ending and cancelling an attempt release its epoch.
pub const HOLDER_RUNS: Property = Property {
    name: "authority is held exactly while an attempt runs",
    rules: &["LEASE-04", "LEASE-06", "WAIT-16", "WAIT-19", "CANCEL-05", "INJECT-33", "POLICY-20"],
    caught: &[
        (Mutant::ParkKeepsAuthority, "waits"),
        (Mutant::CancelLeavesAuthority, "attempts"),
        (Mutant::RecoveryStaysVoid, "restore"),
        (Mutant::FenceKeepsAuthority, "interrupt"),
        (Mutant::ParkKeepsAuthority, "steer-and-wait"),
    ],
    holds: Holds::Step(|step| {
        step.before().works().all(|work| {
            let seen = step.after.work(work);
            let runs = seen.attempt.status == AttemptStatus::Running;
            (runs == (seen.attempt.epochs > 0) || (fenced(seen) && rightly_fenced(step, work)))
                && runs == (seen.status == WorkStatus::Running)
                && (runs || seen.attempt.lease == 0)
        })
    }),
};

/// Whether an attempt runs and nobody holds it.
fn fenced(work: &Work) -> bool {
    let attempt = &work.attempt;
    attempt.status == AttemptStatus::Running && (attempt.epochs, attempt.lease) == (0, 0)
}

/// A restore voids what was granted to the attempts that it finds running; each is fenced until it is recovered itself,
/// whatever becomes of others. OURS-21
fn rightly_fenced(step: &Step<'_>, work: WorkIx) -> bool {
    let before = step.before.work(work);
    match step.committed() {
        Some(Commit::Restore) => before.attempt.status == AttemptStatus::Running,
        Some(Commit::ClaimRecovery { work: of }) if of == work => false,
        Some(_) | None => {
            fenced(before) && before.attempt.number == step.after.work(work).attempt.number
        }
    }
}

/// An open attempt is never replaced, and numbers grow by one.
pub const ONE_ATTEMPT: Property = Property {
    name: "an attempt is replaced only once it has ended, by the next number",
    rules: &["POLICY-05", "LEASE-03", "RETRY-12", "ADOPT-01", "ADOPT-10", "POLICY-20", "INJECT-32"],
    caught: &[
        (Mutant::ClaimWhileRunning, "waits"),
        (Mutant::RecoveryNewAttempt, "attempts"),
        (Mutant::ResumeNewAttempt, "waits"),
        (Mutant::ReplacementBeforeFence, "interrupt"),
        (Mutant::ResumeNewAttempt, "steer-and-wait"),
    ],
    holds: Holds::Step(|step| {
        step.before().works().all(|work| {
            let (before, after) = step.attempt(work);
            let same = after.number == before.number;
            let restarted = claimed(step) == Some(work) && before.status == AttemptStatus::Running;
            !restarted && (same || (!before.status.open() && after.number == before.number + 1))
        })
    }),
};

pub(super) fn claimed(step: &Step<'_>) -> Option<WorkIx> {
    match step.committed() {
        Some(Commit::Claim { work }) => Some(work),
        Some(_) | None => None,
    }
}

/// What started an attempt stays what started it.
pub const KEEPS_TRIGGER: Property = Property {
    name: "an attempt keeps its trigger",
    rules: &["WAKE-17", "ADOPT-01", "WAKE-18"],
    caught: &[(Mutant::ResumeReplacesTrigger, "waits")],
    holds: Holds::Step(|step| {
        step.before().works().all(|work| {
            let (before, after) = step.attempt(work);
            before.number == 0 || after.number != before.number || after.trigger == before.trigger
        })
    }),
};

/// Without resume the winner of the wake is the trigger of attempt N+1, else the lowest pending input is.
pub const WINNER_TRIGGERS: Property = Property {
    name: "a new attempt is triggered by the wake's winner, else by its lowest input",
    rules: &["WAKE-19", "WAKE-20", "DONE-03", "INJECT-34"],
    caught: &[
        (Mutant::NextForgetsWinner, "waits-next-attempt"),
        (Mutant::NextForgetsWinner, "steer-and-end"),
    ],
    holds: Holds::Step(|step| match (step.committed(), step.outcome) {
        (Some(Commit::Claim { work }), Outcome::Accepted(Receipt::Claimed { start, .. })) => {
            start == Start::Resume
                || step.after.work(work).attempt.trigger == rightful_trigger(step, work)
        }
        (Some(_), _) | (None, _) => true,
    }),
};

fn rightful_trigger(step: &Step<'_>, work: WorkIx) -> Maybe {
    match step.before.work(work).wake.wait() {
        Some(wait) => step.before.wait(wait).winner,
        None => step
            .before
            .input(work, Input::Pending)
            .first()
            .map_or(Maybe::NONE, |event| (*event).into()),
    }
}

/// A scope never runs more than it may.
pub const CAPACITY: Property = Property {
    name: "a scope and what lies in it run no more attempts than its capacity",
    rules: &["POLICY-06", "ROUTE-22", "RETRY-29", "RETRY-30"],
    caught: &[
        (Mutant::ClaimOverCapacity, "attempts"),
        (Mutant::ClaimOverCapacity, "retry"),
        (Mutant::CapacityOfOwnScope, "configuration"),
        (Mutant::CapacityWithoutBelow, "configuration"),
    ],
    holds: Holds::State(|now| {
        (0u8..)
            .zip(now.world.scopes)
            .all(|(scope, _)| now.state.running_in(now.world, scope) <= now.world.capacity)
    }),
};

/// Neither clock nor input starts held Work.
pub const HELD: Property = Property {
    name: "held Work does not start",
    rules: &["HOLD-01", "HOLD-03", "RETRY-06", "WAKE-24", "OURS-06"],
    caught: &[(Mutant::ClaimOverHold, "attempts"), (Mutant::ClaimOverOperator, "wait-races")],
    holds: Holds::Step(|step| {
        claimed(step).is_none_or(|work| step.before.work(work).holds.is_empty())
    }),
};

/// Losing authority is no proof of having stopped.
pub const EXCLUDED: Property = Property {
    name: "no attempt runs over an exclusion mark, and only its own exit lifts the mark",
    rules: &["POLICY-22", "ADOPT-22", "RETRY-30"],
    caught: &[
        (Mutant::ClaimOverExclusion, "waits"),
        (Mutant::ClaimOverExclusion, "recovery"),
        (Mutant::VacateAnySegment, "waits"),
    ],
    holds: Holds::Step(|step| {
        let lifted_by_another = match step.committed() {
            Some(Commit::Vacate { segment, .. }) => segment != Authority::Current,
            Some(_) | None => false,
        };
        let runs_over = step.after.works().iter().any(|work| {
            work.attempt.status == AttemptStatus::Running && work.excluded != Exclusion::None
        });
        !lifted_by_another && !runs_over
    }),
};

/// A segment that loses its authority with a process at large is marked.
pub const LOSER_EXCLUDED: Property = Property {
    name: "a segment fenced while its process may run is excluded",
    rules: &["POLICY-22", "ADOPT-22", "WAIT-16", "OURS-20"],
    caught: &[
        (Mutant::FailedLaunchUnmarked, "attempts"),
        (Mutant::FailedLaunchUnmarked, "crash-grain"),
        (Mutant::ParkUnmarked, "waits"),
        (Mutant::NotAdoptableUnmarked, "attempts"),
        (Mutant::CancelUnmarked, "attempts"),
        (Mutant::FenceUnmarked, "interrupt"),
    ],
    holds: Holds::Step(|step| {
        let fenced = match step.committed() {
            Some(Commit::RegisterWait { work, .. }) => Some(work),
            Some(Commit::SettleRecovery { work, verdict: Verdict::NotAdoptable, .. }) => Some(work),
            // Handed over and not seen to be held: it runs, for all that anybody knows.
            Some(Commit::Fail { work, .. }) => {
                let handed = step.before.work(work).attempt.phase == Phase::Handed;
                (handed && !step.world.binding(work).holds).then_some(work)
            }
            Some(_) | None => None,
        };
        let cancelled = |work: &WorkIx| {
            ran_handed(step, *work)
                && step.after.work(*work).attempt.status == AttemptStatus::Cancelled
        };
        let marked = |work: WorkIx| step.after.work(work).excluded == Exclusion::LastSegment;
        fenced.is_none_or(marked) && step.before().works().filter(cancelled).all(marked)
    }),
};

fn ran_handed(step: &Step<'_>, work: WorkIx) -> bool {
    let attempt = &step.before.work(work).attempt;
    attempt.status == AttemptStatus::Running && attempt.phase != Phase::NeverHanded
}

/// What accumulated is handed over whole.
pub const WHOLE_BATCH: Property = Property {
    name: "a claim takes all pending input and nothing else",
    rules: &[
        "POLICY-09",
        "WAKE-25",
        "WAKE-26",
        "OURS-28",
        "INJECT-04",
        "INJECT-22",
        "INJECT-28",
        "INJECT-31",
        "INJECT-34",
    ],
    caught: &[
        (Mutant::ClaimTakesTriggerOnly, "attempts"),
        (Mutant::ClaimTakesTriggerOnly, "inject"),
        (Mutant::ClaimTakesTriggerOnly, "steer-and-wait"),
        (Mutant::ClaimTakesTriggerOnly, "steer-and-end"),
    ],
    holds: Holds::Step(|step| match claimed(step) {
        Some(work) => {
            step.after.input(work, Input::Batch) == step.before.input(work, Input::Pending)
        }
        None => true,
    }),
};

/// Recovery is the same attempt with the same input.
pub const RECOVERY_KEEPS: Property = Property {
    name: "recovery keeps number, trigger and batch",
    rules: &["ADOPT-01", "ADOPT-11", "WAKE-26", "CAUSE-12"],
    caught: &[
        (Mutant::RecoveryWidensBatch, "attempts"),
        (Mutant::RecoveryNewAttempt, "attempts"),
        (Mutant::RelaunchCounts, "recovery"),
    ],
    holds: Holds::Step(|step| match step.committed() {
        Some(Commit::ClaimRecovery { work }) => {
            let (before, after) = step.work(work);
            let same = (
                before.attempt.number,
                before.attempt.trigger,
                before.attempt.cause,
                before.failures,
            ) == (
                after.attempt.number,
                after.attempt.trigger,
                after.attempt.cause,
                after.failures,
            );
            let input =
                |event: EventIx| step.before.event(event).input == step.after.event(event).input;
            same && step.before().events().all(input)
        }
        Some(_) | None => true,
    }),
};

/// Nobody takes a lease that still confers authority.
pub const LIVE_LEASE: Property = Property {
    name: "a live lease is never taken",
    rules: &["LEASE-09", "LEASE-02", "ADOPT-12"],
    caught: &[(Mutant::RecoverLiveLease, "attempts")],
    holds: Holds::Step(|step| match step.committed() {
        Some(Commit::ClaimRecovery { work }) => {
            let attempt = &step.before.work(work).attempt;
            attempt.lease == 0 && attempt.status == AttemptStatus::Running
        }
        Some(_) | None => true,
    }),
};

/// A relaunch must not start a second process.
pub const RELAUNCH: Property = Property {
    name: "only a segment that has provably started nothing is relaunched",
    rules: &["ADOPT-05", "ADOPT-07", "ADOPT-08", "ADOPT-09", "ADOPT-17", "OURS-20"],
    caught: &[(Mutant::RelaunchAfterHandOver, "attempts"), (Mutant::RelaunchPinned, "recovery")],
    holds: Holds::Step(|step| match (step.committed(), step.outcome) {
        (
            Some(Commit::ClaimRecovery { work }),
            Outcome::Accepted(Receipt::Recovered(Recovery::Relaunch)),
        ) => match step.before.work(work).attempt.phase {
            Phase::NeverHanded => true,
            Phase::Handed => step.world.binding(work).holds,
            Phase::None | Phase::Pinned | Phase::Recovering => false,
        },
        (Some(_), _) | (None, _) => true,
    }),
};

/// The never-handed record is withdrawn before the hand-over, in a commit of its own.
pub const HANDED_FIRST: Property = Property {
    name: "only a segment that was handed over is pinned",
    rules: &["ADOPT-06", "ADOPT-09"],
    caught: &[(Mutant::PinBeforeHandOver, "attempts")],
    holds: Holds::Step(|step| match step.committed() {
        Some(Commit::Pin { work, .. }) => step.before.work(work).attempt.phase == Phase::Handed,
        Some(_) | None => true,
    }),
};

/// The failure that uses up the budget arms nothing and leaves the Work open, with its reason.
pub const FAILURE_HOLDS: Property = Property {
    name: "Work whose failure budget is used up is held as exhausted",
    rules: &["RETRY-06", "RETRY-09", "ADOPT-20", "ADOPT-21"],
    caught: &[(Mutant::FailureUnheld, "attempts")],
    holds: Holds::Step(|step| {
        step.failed().all(|work| {
            let (before, seen) = step.work(work);
            let policy = step.world.policy(seen.kind, before.attempt.generation);
            let spent = policy.uses_up(before.failures + 1);
            let excepted = step.world.kind(seen.kind).standing || seen.status.terminal();
            !spent || excepted || (seen.holds.has(Hold::Exhausted) && seen.failures > 0)
        })
    }),
};
