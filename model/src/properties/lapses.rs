//! How authority lapses without its attempt ending, and what goes on from there: recovery, detaching, restoring.

use crate::action::{Action, Commit, Verdict};
use crate::mutants::Mutant;
use crate::outcome::{Outcome, Receipt, Recovery, RouteMark};
use crate::properties::{Holds, Property, Step};
use crate::state::{Attempt, AttemptStatus, Flag, Input, Phase, Work};

/// The properties of this area.
pub const ALL: &[Property] =
    &[ON_RECORD, NOT_PARKED, ADOPTS, DETACHES, RESTORES, RESTORE_HOLDS, RESTORE_RELEASED];

/// Whoever crashes while recovering leaves an attempt under recovery.
pub const ON_RECORD: Property = Property {
    name: "a recovery is on record as such from its claim until it is settled",
    rules: &["ADOPT-02", "ADOPT-16", "ADOPT-20"],
    caught: &[(Mutant::RecoveryUnrecorded, "recovery")],
    holds: Holds::Step(|step| match (step.committed(), step.outcome) {
        (
            Some(Commit::ClaimRecovery { work }),
            Outcome::Accepted(Receipt::Recovered(Recovery::Adopt)),
        ) => step.after.work(work).attempt.phase == Phase::Recovering,
        (Some(Commit::SettleRecovery { work, .. }), _) => {
            step.before.work(work).attempt.phase == Phase::Recovering
        }
        (Some(_), _) | (None, _) => true,
    }),
};

/// It has no lease to lose, and goes on by its wake.
pub const NOT_PARKED: Property = Property {
    name: "a parked attempt is resumed after its wake and never recovered",
    rules: &["ADOPT-12", "ADOPT-13"],
    caught: &[(Mutant::RecoverParked, "recovery")],
    holds: Holds::Step(|step| match step.committed() {
        Some(Commit::ClaimRecovery { work } | Commit::SettleRecovery { work, .. }) => {
            step.before.work(work).attempt.status == AttemptStatus::Running
        }
        Some(_) | None => true,
    }),
};

/// It is the same attempt, with the same input.
pub const ADOPTS: Property = Property {
    name: "an adoption changes nothing but that the attempt runs again",
    rules: &["ADOPT-01", "ADOPT-10", "ADOPT-17"],
    caught: &[(Mutant::AdoptionNewAttempt, "recovery")],
    holds: Holds::Step(|step| match step.committed() {
        Some(Commit::SettleRecovery { work, verdict: Verdict::Adopted, .. }) => {
            let (before, after) = step.work(work);
            let rightful = Attempt { phase: Phase::Pinned, ..before.attempt };
            after.attempt == rightful
                && after.failures == before.failures
                && step.before.events() == step.after.events()
        }
        Some(_) | None => true,
    }),
};

/// A daemon that stops ends its own right to act, and nothing of the attempt.
pub const DETACHES: Property = Property {
    name: "detaching gives up the lease at once and changes nothing else of the attempt",
    rules: &["LEASE-02", "LEASE-06", "OURS-19"],
    caught: &[(Mutant::DetachKeepsAuthority, "recovery"), (Mutant::DetachEndsAttempt, "recovery")],
    holds: Holds::Step(|step| match step.committed() {
        Some(Commit::Detach { work, .. }) => {
            let (before, after) = step.work(work);
            let attempt = Attempt { lease: 0, ..before.attempt };
            let rightful = Work { attempt, host: Flag::No, process: after.process, ..*before };
            *after == rightful && step.before.events() == step.after.events()
        }
        Some(_) | None => true,
    }),
};

/// What was granted in another life is void, and what was running is still to be looked after.
pub const RESTORES: Property = Property {
    name: "a restore makes the next incarnation, voids every authority, holds the database and leaves the rest",
    rules: &["OURS-21"],
    caught: &[
        (Mutant::RestoreKeepsTokens, "restore"),
        (Mutant::RestoreWithoutHold, "restore"),
        (Mutant::RestoreSameIncarnation, "restore"),
        (Mutant::RestoreEndsAttempts, "restore"),
        (Mutant::RestoreRelaunches, "restore"),
    ],
    holds: Holds::Step(|step| match step.committed() {
        Some(Commit::Restore) => {
            let (before, after) = (step.before.current(), step.after.current());
            // What was being launched may have been launched since.
            let phase = |phase: Phase| match phase {
                Phase::NeverHanded | Phase::Handed | Phase::Recovering => Phase::Recovering,
                Phase::None | Phase::Pinned => phase,
            };
            let voided = |work: &Work| Work {
                attempt: Attempt {
                    lease: 0,
                    epochs: 0,
                    phase: phase(work.attempt.phase),
                    ..work.attempt
                },
                host: Flag::No,
                ..*work
            };
            let works = step.before.works().iter().map(voided);
            after.restores == before.restores + 1
                && after.restore_hold == Flag::Yes
                && works.eq(step.after.works().iter().copied())
                && step.before.events() == step.after.events()
                && step.before.waits() == step.after.waits()
        }
        Some(_) | None => true,
    }),
};

/// Two lives of one database never act at once.
pub const RESTORE_HOLDS: Property = Property {
    name: "nothing is claimed, recovered or due under the restore hold, and only a person lifts it",
    rules: &["OURS-21"],
    caught: &[
        (Mutant::ClaimOverRestore, "restore"),
        (Mutant::RecoveryOverRestore, "restore"),
        (Mutant::RetriesFireUnderRestore, "restore"),
        (Mutant::TimersRunUnderRestore, "restored-clocks"),
        (Mutant::IdleUnderRestore, "restored-clocks"),
    ],
    holds: Holds::Step(|step| {
        let stood = step.before.current().restore_hold == Flag::Yes;
        let lifted = stood && step.after.current().restore_hold == Flag::No;
        let stopped = claims_or_falls_due(step.action) && (step.accepted() || step.changed());
        match step.committed() {
            Some(Commit::ReleaseRestore { .. }) => true,
            Some(_) | None => !(lifted || (stood && stopped)),
        }
    }),
};

/// Whether an action is what a restored database has to wait with: whatever starts an attempt, goes on with one or acts
/// on a deadline.
fn claims_or_falls_due(action: Action) -> bool {
    matches!(
        action,
        Action::Commit(
            Commit::Claim { .. }
                | Commit::ClaimRecovery { .. }
                | Commit::CloseIdle { .. }
                | Commit::FireTimer { .. }
                | Commit::AcceptTimeout { .. }
                | Commit::FireRetry { .. }
        )
    )
}

/// It is said once, of a database that was restored, and starts nothing itself.
pub const RESTORE_RELEASED: Property = Property {
    name: "the release of a restored database lifts its hold and is input of nothing",
    rules: &["OURS-21", "OURS-23"],
    caught: &[
        (Mutant::RestoreReleasedTwice, "restore"),
        (Mutant::RestoreReleaseIsInput, "restore"),
    ],
    holds: Holds::Step(|step| match step.committed() {
        Some(Commit::ReleaseRestore { request }) => {
            let event = step.after.event(request.into());
            step.before.current().restore_hold == Flag::Yes
                && step.after.current().restore_hold == Flag::No
                && event.mark == RouteMark::Release
                && event.input == Input::No
                && same_works(step)
        }
        Some(_) | None => true,
    }),
};

fn same_works(step: &Step<'_>) -> bool {
    step.before.works() == step.after.works()
}
