//! How turns end: handoffs, idleness, standing Work, and what is published about it.

use crate::action::{Action, Commit, Ending};
use crate::index::WorkIx;
use crate::mutants::Mutant;
use crate::outcome::Outcome;
use crate::properties::{Holds, Property, Step};
use crate::state::{ITSELF_REJECTED, Timer, WorkStatus};
use crate::worlds::Origin;

/// The properties of this area.
pub const ALL: &[Property] = &[
    HANDS_OFF,
    IDLE_SET,
    IDLE_CLOSES,
    IDLE_GONE,
    STANDS,
    STANDING_FAILS,
    PUBLISHED,
    NO_NEWS,
    CONFLICTS_RIGHTLY,
];

/// A turn that is handed off is over, its Work is not.
pub const HANDS_OFF: Property = Property {
    name: "a handoff leaves its Work open",
    rules: &["DONE-03", "JOB-21"],
    caught: &[(Mutant::HandoffCompletes, "endings")],
    holds: Holds::Step(|step| match step.committed() {
        Some(Commit::Complete { work, ending: Ending::Handoff, .. }) => {
            step.after.work(work).status == WorkStatus::Ready
        }
        Some(_) | None => true,
    }),
};

/// Work that waits for news nobody may send is not left open for ever.
pub const IDLE_SET: Property = Property {
    name: "a handoff with nothing left starts the idle timer of its kind, unless the Work stands",
    rules: &["JOB-21", "JOB-17"],
    caught: &[(Mutant::HandoffWithoutIdleTimer, "endings"), (Mutant::StandingIdles, "standing")],
    holds: Holds::Step(|step| match step.committed() {
        Some(Commit::Complete { work, ending: Ending::Handoff, .. }) => {
            let kind = step.world.kind(step.before.work(work).kind);
            let close = kind.close_after.filter(|_| !kind.standing);
            let idle = if step.before.has_pending(work) { None } else { close };
            step.after.work(work).idle == idle.map_or(Timer::NONE, Timer::due_in)
        }
        Some(_) | None => true,
    }),
};

/// Being idle means that nothing came, routed or not, for as long as its kind says.
pub const IDLE_CLOSES: Property = Property {
    name: "Work is closed as idle only when that is due, nothing has come and nobody holds it",
    rules: &["DONE-02", "DONE-06", "CANCEL-03", "OURS-06"],
    caught: &[
        (Mutant::IdleOverInput, "endings"),
        (Mutant::IdleOverUnrouted, "endings"),
        (Mutant::IdleOverHold, "endings"),
        (Mutant::IdleBeforeDue, "endings"),
    ],
    holds: Holds::Step(|step| match step.committed() {
        Some(Commit::CloseIdle { work }) => {
            step.before.work(work).idle.ticks() == Some(0)
                && !step.before.has_pending(work)
                && step.before.work(work).holds.is_empty()
                && !step.before.owed_a_route(step.world, work)
        }
        Some(_) | None => true,
    }),
};

/// Work that runs is not idle.
pub const IDLE_GONE: Property = Property {
    name: "running or ended Work has no idle timer",
    rules: &["CANCEL-02", "CANCEL-04", "TERM-01"],
    caught: &[
        (Mutant::ClaimLeavesIdleTimer, "endings"),
        (Mutant::CancelLeavesIdleTimer, "endings"),
    ],
    holds: Holds::State(|now| {
        now.state
            .works()
            .iter()
            .all(|work| work.idle == Timer::NONE || work.status == WorkStatus::Ready)
    }),
};

/// Standing Work outlives its attempts, and a slip of a person.
pub const STANDS: Property = Property {
    name: "standing Work ends by a closing route or for good, and no other way",
    rules: &["JOB-14", "JOB-17", "OURS-10"],
    caught: &[
        (Mutant::StandingCompletes, "standing"),
        (Mutant::StandingCancelledLightly, "standing"),
    ],
    holds: Holds::Step(|step| {
        let rightly = match step.committed() {
            Some(Commit::Cancel { for_good, .. }) => for_good,
            Some(Commit::CommitRoute { .. }) => true,
            Some(_) | None => false,
        };
        rightly || step.before().works().all(|work| !ended(step, work) || !step.stands(work))
    }),
};

fn ended(step: &Step<'_>, work: WorkIx) -> bool {
    !step.before.work(work).status.terminal() && step.after.work(work).status.terminal()
}

/// The next event starts it again, however often it failed.
pub const STANDING_FAILS: Property = Property {
    name: "a failure of standing Work is neither counted nor a reason to hold it",
    rules: &["JOB-16", "JOB-27", "JOB-15"],
    caught: &[(Mutant::StandingExhausts, "standing")],
    holds: Holds::Step(|step| {
        step.failed().filter(|work| step.stands(*work)).all(|work| {
            let (before, after) = step.work(work);
            before.holds == after.holds && before.failures == after.failures
        })
    }),
};

/// Core says what a turn declared, whatever that means.
pub const PUBLISHED: Property = Property {
    name: "a declared status is published under the Work's first key, or its refusal is on record",
    rules: &["ALIAS-15", "CAUSE-03", "REJECT-01"],
    caught: &[
        (Mutant::TurnEndUnpublished, "endings"),
        (Mutant::TurnEndRefusedSilently, "wait-races"),
    ],
    holds: Holds::Step(|step| match step.committed() {
        Some(Commit::Complete { work, declares, .. }) => {
            let attempt = step.before.work(work).attempt.number;
            step.world.ended_of(work, attempt).is_none_or(|ended| {
                let event = step.after.event(ended);
                let said = event.seq > 0 && event.key == step.after.work(work).first_key;
                let refused = event.rejected & ITSELF_REJECTED != 0;
                declares == (said || refused)
            })
        }
        Some(_) | None => true,
    }),
};

/// What an execution published is no news to its own Work.
pub const NO_NEWS: Property = Property {
    name: "nothing that a Work published is its input or wakes it",
    rules: &["WAIT-06", "DONE-02", "DONE-06"],
    caught: &[(Mutant::TurnEndReturns, "endings"), (Mutant::OwnPublicationWakes, "wait-races")],
    holds: Holds::State(|now| {
        now.accepted().all(|event| match now.world.origin(event) {
            Origin::Ended(work, _) => now.state.event(event).work != work.into(),
            Origin::Delivery(_)
            | Origin::Timeout(_)
            | Origin::Continuation(_)
            | Origin::Alias(..)
            | Origin::Created(_)
            | Origin::Retry(..) => true,
        })
    }),
};

/// A completion waits for what concerns its Work, and for nothing else.
pub const CONFLICTS_RIGHTLY: Property = Property {
    name: "a completion conflicts only with an unrouted event of its Work",
    rules: &["DONE-01", "DONE-02", "WAIT-06", "ROUTE-20"],
    caught: &[(Mutant::TurnEndBlocks, "endings")],
    holds: Holds::Step(|step| match (step.action, step.outcome) {
        (Action::Commit(Commit::Complete { work, .. }), Outcome::Conflict) => {
            step.before.owed_a_route(step.world, work)
        }
        (_, _) => true,
    }),
};
