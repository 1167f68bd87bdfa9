//! Chains of derived events.

use crate::action::{Action, Commit};
use crate::index::{EventIx, Maybe};
use crate::mutants::Mutant;
use crate::outcome::RouteMark;
use crate::properties::{Holds, Property, Step};
use crate::state::{CONTINUATION_REJECTED, Hold};
use crate::worlds::Origin;

/// The properties of this area.
pub const ALL: &[Property] = &[WITHIN_LIMIT, DESCENDS, CONTINUES, WAKE_CONTINUES, REFUSED_HOLDS];

/// No chain is longer than its root allows.
pub const WITHIN_LIMIT: Property = Property {
    name: "no event is deeper than its root allows",
    rules: &["CAUSE-15", "CAUSE-19", "CAUSE-29", "CAUSE-38"],
    caught: &[(Mutant::DepthUnchecked, "depth")],
    holds: Holds::State(|now| {
        now.accepted().all(|event| now.state.event(event).depth <= now.world.depth_max)
    }),
};

/// A derived event is one deeper than its parent, on its parent's root; a delivery is a root.
pub const DESCENDS: Property = Property {
    name: "a derived event is one deeper than its parent, on the same root",
    rules: &[
        "CAUSE-02", "CAUSE-03", "CAUSE-09", "CAUSE-14", "WAKE-22", "WAKE-23", "TIMER-01", "OWN-11",
        "ALIAS-05", "RETRY-19",
    ],
    caught: &[
        (Mutant::DepthReset, "waits"),
        (Mutant::RootForgotten, "waits"),
        (Mutant::AliasResetsDepth, "subscriptions"),
        (Mutant::ReplayIsRoot, "terminal"),
        (Mutant::RetryIsRoot, "retry"),
    ],
    holds: Holds::Step(|step| step.newly_accepted().all(|event| descends(step, event))),
};

fn descends(step: &Step<'_>, event: EventIx) -> bool {
    let (child, origin) = (step.after.event(event), step.world.origin(event));
    let root = child.depth == 0 && child.root == event.into();
    let parent = match origin {
        Origin::Delivery(_) => match child.repeats.event() {
            Some(original) => Some(original),
            None => return root,
        },
        Origin::Timeout(wait) => step.before.wait(wait).cause.event(),
        Origin::Continuation(wait) => step.after.wait(wait).winner.event(),
        Origin::Alias(_, source) => Some(source),
        Origin::Ended(work, _) => step.before.work(work).attempt.cause.event(),
        Origin::Retry(work, _) => step.before.work(work).attempt.trigger.event(),
        Origin::Created(_) => match step.action {
            Action::Commit(Commit::CommitRoute { event }) => Some(event),
            Action::Commit(_) | Action::World(_) => None,
        },
    };
    let Some(parent) = parent else {
        return false;
    };
    let parent = step.after.event(parent);
    child.depth == parent.depth + 1 && child.root == parent.root
}

/// After a wake the segment goes on from the wake, not from what it was before.
pub const CONTINUES: Property = Property {
    name: "a segment descends from the release of its chain, else from its wake, else from its trigger",
    rules: &["CAUSE-12", "CAUSE-13", "WAKE-21", "WAKE-22", "WAKE-24"],
    caught: &[(Mutant::WakeKeepsCause, "waits"), (Mutant::ReleaseWithoutParent, "wait-races")],
    holds: Holds::Step(|step| match step.committed() {
        Some(Commit::Claim { work }) => {
            let after = step.after.work(work).attempt;
            let before = step.before.work(work);
            let rightful: Maybe = match (before.released, before.wake.wait()) {
                (Maybe::NONE, Some(wait)) => step.world.continuation_of(wait).into(),
                (Maybe::NONE, None) => after.trigger,
                (released, _) => released,
            };
            after.cause == rightful
                && rightful.event().is_some_and(|cause| step.after.is_accepted(cause))
        }
        Some(_) | None => true,
    }),
};

/// A wake is continued by exactly one event, or its refusal is on record.
pub const WAKE_CONTINUES: Property = Property {
    name: "a woken wait has its continuation or the record of its refusal",
    rules: &["WAKE-21", "REJECT-01", "REJECT-11"],
    caught: &[(Mutant::WakeTwice, "waits")],
    holds: Holds::Step(|step| {
        let born_once = step.newly_accepted().all(|event| match step.world.origin(event) {
            Origin::Continuation(_) => step.after.event(event).mark == RouteMark::Continuation,
            Origin::Delivery(_)
            | Origin::Timeout(_)
            | Origin::Alias(..)
            | Origin::Ended(..)
            | Origin::Created(_)
            | Origin::Retry(..) => true,
        });
        let repeated = step.before().waits().any(|wait| {
            step.after.wait(wait).wakes > 1
                && step.before.wait(wait).wakes < step.after.wait(wait).wakes
        });
        let continued = step.after().waits().all(|wait| {
            let seen = step.after.wait(wait);
            let accepted = step.after.is_accepted(step.world.continuation_of(wait));
            let refused = seen.rejected & CONTINUATION_REJECTED != 0;
            (seen.wakes > 0) == (accepted != refused)
        });
        born_once && !repeated && continued
    }),
};

/// A refused continuation stops the chain until a person releases it.
pub const REFUSED_HOLDS: Property = Property {
    name: "a refused continuation holds its Work",
    rules: &["WAKE-24", "REJECT-08"],
    caught: &[(Mutant::RefusedContinuationUnheld, "depth")],
    holds: Holds::Step(|step| {
        step.after().waits().all(|wait| {
            let (before, after) = (step.before.wait(wait).rejected, step.after.wait(wait).rejected);
            let refused = (after & !before) & CONTINUATION_REJECTED != 0;
            !refused || step.after.work(step.world.wait(wait).work).holds.has(Hold::CausalLimit)
        })
    }),
};
