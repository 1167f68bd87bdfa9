//! Chains of derived events.

use crate::action::Commit;
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
    rules: &["CAUSE-03", "CAUSE-09", "CAUSE-14", "WAKE-22", "WAKE-23", "TIMER-01"],
    caught: &[(Mutant::DepthReset, "waits"), (Mutant::RootForgotten, "waits")],
    holds: Holds::Step(|step| step.newly_accepted().all(|event| descends(step, event))),
};

fn descends(step: &Step<'_>, event: EventIx) -> bool {
    let parent = match step.world.origin(event) {
        Origin::Delivery(_) => {
            return step.after.event(event).depth == 0
                && step.after.event(event).root == event.into();
        }
        Origin::Timeout(wait) => step.before.wait(wait).cause.event(),
        Origin::Continuation(wait) => step.after.wait(wait).winner.event(),
    };
    let (child, Some(parent)) = (step.after.event(event), parent) else {
        return false;
    };
    let parent = step.after.event(parent);
    child.depth == parent.depth + 1 && child.root == parent.root
}

/// After a wake the segment goes on from the wake, not from what it was before.
pub const CONTINUES: Property = Property {
    name: "a segment that follows a wake descends from the wake, any other from its trigger",
    rules: &["CAUSE-12", "CAUSE-13", "WAKE-21", "WAKE-22"],
    caught: &[(Mutant::WakeKeepsCause, "waits")],
    holds: Holds::Step(|step| match step.committed() {
        Some(Commit::Claim { work }) => {
            let after = step.after.work(work).attempt;
            let rightful: Maybe = match step.before.work(work).wake.wait() {
                Some(wait) => step.world.continuation_of(wait).into(),
                None => after.trigger,
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
            Origin::Delivery(_) | Origin::Timeout(_) => true,
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
    holds: Holds::State(|now| {
        now.waits().all(|wait| {
            let work = now.state.work(now.world.wait(wait).work);
            let refused = now.state.wait(wait).rejected & CONTINUATION_REJECTED != 0;
            !refused || work.status.terminal() || work.hold == Hold::CausalLimit
        })
    }),
};
