//! What routes and operators decide about events.

use crate::action::{Action, Commit};
use crate::index::{DeliveryIx, EventIx, below};
use crate::mutants::Mutant;
use crate::outcome::RouteMark;
use crate::properties::{Holds, Property, Step};
use crate::state::{Facts, Flag, WorkStatus};
use crate::worlds::{Decision, Does, Origin};

/// The properties of this area.
pub const ALL: &[Property] = &[
    DROPPED,
    NEVER_WAKES,
    UPDATES,
    CLOSES,
    KEEPS_KIND,
    DROPS_UNROUTED,
    REPLAYS_MARKED,
    CONFLICTING,
    SUSPECT,
];

/// A drop is a decision about the event; what its Work is doing has no say.
pub const DROPPED: Property = Property {
    name: "a drop decision drops, whatever the Work is doing",
    rules: &["ROUTE-08", "OURS-01"],
    caught: &[(Mutant::DropQueues, "routing"), (Mutant::DropOnlyWhileRunning, "routing")],
    holds: Holds::Step(|step| match decided(step) {
        Some((event, decision)) if decision.does == Does::Drop => {
            match step.after.event(event).mark {
                RouteMark::Drop | RouteMark::Terminal | RouteMark::Woke => true,
                RouteMark::Unrouted
                | RouteMark::Queued
                | RouteMark::Inject
                | RouteMark::Interrupt
                | RouteMark::Unmatched
                | RouteMark::Close
                | RouteMark::OperatorDrop
                | RouteMark::ReplaySuspect
                | RouteMark::Release
                | RouteMark::Continuation
                | RouteMark::StaleRetry => false,
            }
        }
        Some(_) | None => true,
    }),
};

/// The event routed by this step, and what its handler decided.
pub(super) fn decided(step: &Step<'_>) -> Option<(EventIx, Decision)> {
    match step.committed() {
        Some(Commit::CommitRoute { event }) => {
            Some((event, step.world.decision(event, step.before.current().configuration)))
        }
        Some(_) | None => None,
    }
}

/// A wake is a start by another name.
pub const NEVER_WAKES: Property = Property {
    name: "what was dropped, closed or unmatched never wakes",
    rules: &["WAIT-15", "OWN-10", "OURS-07", "POLICY-25"],
    caught: &[(Mutant::DroppedWakes, "configuration")],
    holds: Holds::State(|now| {
        now.waits().filter_map(|wait| now.state.wait(wait).winner.event()).all(|winner| {
            matches!(
                now.state.event(winner).mark,
                RouteMark::Woke | RouteMark::Queued | RouteMark::Inject | RouteMark::Interrupt
            )
        })
    }),
};

/// An update is for a Work that exists.
pub const UPDATES: Property = Property {
    name: "an update makes no Work",
    rules: &["OURS-01", "ROUTE-25"],
    caught: &[(Mutant::UpdateCreates, "routing")],
    holds: Holds::Step(|step| match decided(step) {
        Some((event, decision)) if decision.does == Does::Update => {
            let ended = step.after.event(event).mark == RouteMark::Terminal;
            ended || nothing_made(step)
        }
        Some(_) | None => true,
    }),
};

/// Whether this step made no Work.
pub(super) fn nothing_made(step: &Step<'_>) -> bool {
    step.before().works().all(|work| step.before.exists(work) == step.after.exists(work))
}

/// The Work ends in the route's own commit and says by what.
pub const CLOSES: Property = Property {
    name: "a closing route cancels its Work, standing or not, and is named as the cause",
    rules: &["OURS-02", "CANCEL-01"],
    caught: &[(Mutant::CloseSparesStanding, "standing"), (Mutant::CloseUnrecorded, "routing")],
    holds: Holds::Step(|step| match decided(step) {
        Some((event, _)) if step.after.event(event).mark == RouteMark::Close => {
            step.after.event(event).work.work().is_some_and(|work| {
                let closed = step.after.work(work);
                closed.status == WorkStatus::Cancelled && closed.closed_by == event.into()
            })
        }
        Some(_) | None => true,
    }),
};

/// What a Work was made as it stays.
pub const KEEPS_KIND: Property = Property {
    name: "a Work keeps its kind, scope, parent and predecessor",
    rules: &["OURS-03", "BIND-09", "TERM-06"],
    caught: &[(Mutant::KindChanges, "routing")],
    holds: Holds::Step(|step| {
        step.before().existing().all(|work| {
            let made = |facts: &dyn Facts| {
                let work = facts.work(work);
                (work.kind, work.scope, work.parent, work.predecessor)
            };
            made(step.before) == made(step.after)
        })
    }),
};

/// An operator's drop is for the event whose handler fails, not against what routing decided or core said.
pub const DROPS_UNROUTED: Property = Property {
    name: "an operator drops only an unrouted event of a sender",
    rules: &["OURS-07", "ROUTE-19"],
    caught: &[(Mutant::DropRemarks, "terminal"), (Mutant::DropOfCore, "endings")],
    holds: Holds::Step(|step| match step.committed() {
        Some(Commit::Drop { event }) => {
            step.before.is_unrouted(event)
                && matches!(step.world.origin(event), Origin::Delivery(_))
        }
        Some(_) | None => true,
    }),
};

/// What no route has decided on has nothing to be done again.
pub const REPLAYS_MARKED: Property = Property {
    name: "only a routed event of a sender is replayed, and it stays as it was",
    rules: &["OURS-08", "OWN-11", "BIND-12"],
    caught: &[
        (Mutant::ReplayUnrouted, "terminal"),
        (Mutant::ReplayUnmarks, "terminal"),
        (Mutant::ReplayOfCore, "endings"),
    ],
    holds: Holds::Step(|step| match step.committed() {
        Some(Commit::Replay { event, .. }) => {
            !step.before.is_unrouted(event)
                && !step.world.is_cores(event)
                && step.before.event(event) == step.after.event(event)
        }
        Some(_) | None => true,
    }),
};

/// The original is what counts; that there was another is on record.
pub const CONFLICTING: Property = Property {
    name: "another body under a known identity is noted with the original",
    rules: &["OURS-17", "INGRESS-05"],
    caught: &[(Mutant::ConflictUnmarked, "identities")],
    holds: Holds::Step(|step| match step.action {
        Action::Commit(Commit::Accept { delivery }) => others(step, delivery, |def, other| {
            def.identity == other.identity && def.body != other.body
        })
        .all(|original| step.after.event(original).conflicting == Flag::Yes),
        Action::Commit(_) | Action::World(_) => true,
    }),
};

/// Accepted deliveries that are to this one as asked.
fn others<'a>(
    step: &'a Step<'_>,
    delivery: DeliveryIx,
    alike: fn(&crate::worlds::Delivery, &crate::worlds::Delivery) -> bool,
) -> impl Iterator<Item = EventIx> + 'a {
    below(step.world.deliveries.len())
        .map(DeliveryIx)
        .filter(move |other| alike(step.world.delivery(delivery), step.world.delivery(*other)))
        .map(EventIx::from)
        .filter(|other| step.before.is_accepted(*other))
}

/// A signature over a body alone proves nothing the second time, until the window is over.
pub const SUSPECT: Property = Property {
    name: "a body known within its window starts nothing, and after it is news",
    rules: &["OURS-17"],
    caught: &[(Mutant::SuspectStarts, "identities"), (Mutant::SuspectForEver, "identities")],
    holds: Holds::Step(|step| match step.committed() {
        Some(Commit::Accept { delivery }) => {
            let known = others(step, delivery, |def, other| {
                def.signs.is_some() && def.signs == other.signs && def.body == other.body
            })
            .any(|other| step.before.event(other).suspect > 0);
            known == (step.after.event(delivery.into()).mark == RouteMark::ReplaySuspect)
        }
        Some(_) | None => true,
    }),
};
