//! Holds, and whom an operator means.

use crate::action::{Commit, Expect};
use crate::index::WorkIx;
use crate::mutants::Mutant;
use crate::outcome::RouteMark;
use crate::properties::{Holds, Property};
use crate::state::{Hold, Holds as Reasons, Input, Timer, Work};

/// The properties of this area.
pub const ALL: &[Property] = &[HOLDS_ONLY, RELEASES, HOLDS_STAND, AS_NAMED];

/// Holding is about the next claim; what runs or waits goes on.
pub const HOLDS_ONLY: Property = Property {
    name: "a hold changes nothing but that the Work is held",
    rules: &["OURS-06", "HOLD-02"],
    caught: &[(Mutant::HoldStopsTimer, "wait-races"), (Mutant::HoldEnded, "wait-races")],
    holds: Holds::Step(|step| match step.committed() {
        Some(Commit::Hold { work, .. }) => {
            let freed = |work: &Work| Work { holds: Reasons::NONE, ..*work };
            let same =
                step.before.works().iter().map(freed).eq(step.after.works().iter().map(freed));
            same && !step.before.work(work).status.terminal()
                && step.before.events() == step.after.events()
                && step.before.waits() == step.after.waits()
        }
        Some(_) | None => true,
    }),
};

/// A release is a person's word; it starts nothing of itself.
pub const RELEASES: Property = Property {
    name: "a release lifts every hold that stands and, but for that of a refused retry, is input of nothing",
    rules: &["OURS-06", "WAKE-24"],
    caught: &[
        (Mutant::ReleaseUnheld, "wait-races"),
        (Mutant::ReleaseLeavesHold, "wait-races"),
        (Mutant::ReleaseIsInput, "wait-races"),
    ],
    holds: Holds::Step(|step| match step.committed() {
        Some(Commit::Release { work, request, .. }) => {
            let event = step.after.event(request.into());
            // Only the release of a refused retry is what the next attempt starts from.
            let refused = step.before.work(work).retry == Timer::DISABLED;
            !step.before.work(work).holds.is_empty()
                && step.after.work(work).holds.is_empty()
                && (refused || (event.mark == RouteMark::Release && event.input == Input::No))
        }
        Some(_) | None => true,
    }),
};

/// Neither clock nor input nor a wake lifts a hold.
pub const HOLDS_STAND: Property = Property {
    name: "a hold stands until it is released, its failure is retried by hand or its Work ends",
    rules: &["HOLD-03", "HOLD-04", "WAKE-24", "OURS-06"],
    caught: &[(Mutant::InputLiftsHold, "standing"), (Mutant::ManualLiftsOperator, "retry-limit")],
    holds: Holds::Step(|step| {
        let released = match step.committed() {
            Some(Commit::Release { work, .. }) => Some(work),
            Some(_) | None => None,
        };
        // What failing led to is lifted by retrying, what a person holds is not. RETRY-27
        let retried = |work: WorkIx, reason: Hold| match step.committed() {
            Some(Commit::Retry { work: of, .. }) => of == work && reason != Hold::Operator,
            Some(_) | None => false,
        };
        step.before().works().filter(|work| released != Some(*work)).all(|work| {
            let (before, after) = step.work(work);
            after.status.terminal()
                || before
                    .holds
                    .reasons()
                    .all(|reason| after.holds.has(reason) || retried(work, reason))
        })
    }),
};

/// A person who names an attempt means that one.
pub const AS_NAMED: Property = Property {
    name: "an operator's action strikes the attempt it names or none",
    rules: &["OURS-09"],
    caught: &[(Mutant::ExpectIgnored, "standing"), (Mutant::ExpectIgnored, "retry")],
    holds: Holds::Step(|step| match step.committed() {
        Some(
            Commit::Cancel { expect, .. }
            | Commit::Hold { expect, .. }
            | Commit::Release { expect, .. }
            | Commit::Retry { expect, .. }
            | Commit::Reopen { expect, .. },
        ) => expect != Expect::Other,
        Some(_) | None => true,
    }),
};
