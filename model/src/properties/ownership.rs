//! Keys, successors and Work made by hand.

use crate::action::Commit;
use crate::index::{EventIx, Maybe, WorkIx};
use crate::mutants::Mutant;
use crate::outcome::{Outcome, Refusal, RouteMark};
use crate::properties::decisions::{decided, nothing_made};
use crate::properties::{Holds, Property, Step};
use crate::state::Input;
use crate::worlds::{Ask, Origin};

/// The properties of this area.
pub const ALL: &[Property] = &[
    KEYS_GROW,
    ABORTS_WHOLE,
    OWNS_ATTACHED,
    MAPPED,
    HAS_FIRST_INPUT,
    REOPENED_ONCE,
    REOPENED_ENDED,
    SUCCEEDS,
    INVITED,
    CHILD_IN_SCOPE,
];

/// No action takes a key off a Work.
pub const KEYS_GROW: Property = Property {
    name: "the keys of a Work only grow",
    rules: &["OWN-06", "OWN-02", "TERM-07", "OWN-13"],
    caught: &[(Mutant::AttachSteals, "ownership"), (Mutant::ReopenMovesKey, "terminal")],
    holds: Holds::Step(|step| {
        step.before().works().all(|work| {
            let (before, after) = (step.before.work(work).keys, step.after.work(work).keys);
            before & !after == 0
        })
    }),
};

/// A decision is applied whole or not at all.
pub const ABORTS_WHOLE: Property = Property {
    name: "a decision that claims another Work's key has no effect at all",
    rules: &["OWN-07", "OWN-08", "ROUTE-17"],
    caught: &[(Mutant::AttachPartly, "ownership")],
    holds: Holds::Step(|step| {
        step.outcome != Outcome::Refused(Refusal::KeyOwned) || !step.changed()
    }),
};

/// What was to be attached belongs to the Work that got the event.
pub const OWNS_ATTACHED: Property = Property {
    name: "a queued event's Work owns its key and every key attached with it",
    rules: &["OWN-01", "OWN-07", "OWN-09", "ROUTE-17"],
    caught: &[(Mutant::AttachForgets, "ownership")],
    holds: Holds::Step(|step| match decided(step) {
        Some((event, decision)) if step.after.event(event).mark == RouteMark::Queued => {
            let work = step.after.event(event).work.work();
            let key = step.after.event(event).key.key();
            let own = |key: u8| step.after.owner(key) == work;
            key.is_none_or(own)
                && decision.attaches.iter().all(|key| own(step.after.newest(step.world, *key)))
        }
        Some(_) | None => true,
    }),
};

/// Late news of a reopened resource is the successor's, unless it says itself whose it is.
pub const MAPPED: Property = Property {
    name: "an event is accepted under the newest generation of its key, or under the one that it names",
    rules: &["TERM-04", "OURS-11"],
    caught: &[
        (Mutant::GenerationUnmapped, "terminal"),
        (Mutant::NamedGenerationMapped, "terminal"),
    ],
    holds: Holds::Step(|step| {
        step.newly_accepted().all(|event| {
            step.world.origin(event).delivery().is_none_or(|delivery| {
                let def = step.world.delivery(delivery);
                let sent = def.key.filter(|_| def.asks.is_none());
                let named = sent.filter(|key| step.world.resource(*key) != *key);
                let newest = |key: u8| {
                    step.before.last_generation(step.world, step.world.resource(key)) == key
                };
                match (step.after.event(event).key.key(), named) {
                    (Some(key), Some(named)) => key == named,
                    (Some(key), None) => newest(key),
                    (None, named) => named.is_none(),
                }
            })
        })
    }),
};

/// What was created has its created event to start from, in the same commit.
pub const HAS_FIRST_INPUT: Property = Property {
    name: "Work that is created or reopened has its created event pending",
    rules: &["TERM-05", "CAUSE-08", "BIND-03", "OURS-11"],
    caught: &[(Mutant::CreatedIsNoInput, "terminal")],
    holds: Holds::Step(|step| {
        step.newly_accepted().filter(|event| creates(step, *event)).all(|event| {
            let work = step.after.event(event).work.work();
            let appeared =
                work.is_some_and(|work| !step.before.exists(work) && step.after.exists(work));
            appeared && step.after.event(event).input == Input::Pending
        })
    }),
};

fn creates(step: &Step<'_>, event: EventIx) -> bool {
    match step.committed() {
        Some(Commit::Reopen { .. } | Commit::CreateWork { .. }) => true,
        Some(_) | None => matches!(step.world.origin(event), Origin::Created(_)),
    }
}

/// The Work that this step reopened.
fn reopened(step: &Step<'_>) -> Option<WorkIx> {
    match step.committed() {
        Some(Commit::Reopen { work, .. }) => Some(work),
        Some(Commit::CommitRoute { event }) => {
            let made = step
                .newly_accepted()
                .any(|event| matches!(step.world.origin(event), Origin::Created(_)));
            step.after.event(event).work.work().filter(|_| made)
        }
        Some(_) | None => None,
    }
}

/// One successor; it may have one itself.
pub const REOPENED_ONCE: Property = Property {
    name: "a Work is reopened at most once",
    rules: &["TERM-03", "OURS-11"],
    caught: &[(Mutant::SecondSuccessor, "terminal")],
    holds: Holds::Step(|step| {
        reopened(step).is_none_or(|work| step.before.successor(work).is_none())
    }),
};

/// A successor is no second Work beside an open one.
pub const REOPENED_ENDED: Property = Property {
    name: "only Work that has ended is reopened",
    rules: &["OURS-11", "TERM-03"],
    caught: &[(Mutant::ReopenOpen, "terminal")],
    holds: Holds::Step(|step| {
        reopened(step).is_none_or(|work| step.before.work(work).status.terminal())
    }),
};

/// Succession is a generation of a key, not parenthood.
pub const SUCCEEDS: Property = Property {
    name: "a successor owns the next generation of its predecessor's key and is no child of it",
    rules: &["TERM-03", "TERM-06", "TERM-07"],
    caught: &[(Mutant::SuccessorIsChild, "terminal")],
    holds: Holds::State(|now| {
        now.existing().all(|work| {
            let seen = now.state.work(work);
            let Some(old) = seen.predecessor.work() else {
                return true;
            };
            let first = now.state.work(old).first_key.key();
            let next = first.and_then(|key| now.world.next_generation(key));
            seen.parent == Maybe::NONE && next.is_none_or(|key| now.state.owner(key) == Some(work))
        })
    }),
};

/// Terminal is terminal unless a policy says otherwise.
pub const INVITED: Property = Property {
    name: "no late event makes a Work that nobody decided on",
    rules: &["TERM-08", "TERM-02", "DONE-04"],
    caught: &[(Mutant::ReopenUninvited, "terminal")],
    holds: Holds::Step(|step| match decided(step) {
        Some((event, decision)) if step.after.event(event).mark == RouteMark::Terminal => {
            let old = step.after.event(event).work.work();
            old.is_some_and(|old| decision.successor_of(old).is_some()) || nothing_made(step)
        }
        Some(_) | None => true,
    }),
};

/// A child elsewhere takes explicit authority.
pub const CHILD_IN_SCOPE: Property = Property {
    name: "a child has a parent, in its own scope unless that was authorised",
    rules: &["BIND-03", "BIND-04"],
    caught: &[(Mutant::ParentUnchecked, "ownership"), (Mutant::ChildAnywhere, "ownership")],
    holds: Holds::Step(|step| match step.committed() {
        Some(Commit::CreateWork { request }) => {
            let def = step.world.delivery(request);
            match def.asks {
                Some(Ask::Create { parent: Some(parent), authorised }) => {
                    step.before.exists(parent)
                        && (authorised || step.before.work(parent).scope == def.scope)
                }
                Some(_) | None => true,
            }
        }
        Some(_) | None => true,
    }),
};
