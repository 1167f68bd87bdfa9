//! Acceptance, routing and ownership.

use crate::action::{Action, Commit};
use crate::index::{DeliveryIx, EventIx, WorkIx, below};
use crate::mutants::Mutant;
use crate::outcome::{Outcome, Refusal, RouteMark};
use crate::properties::{Holds, Moment, Property, Step};
use crate::state::{Event, Facts, Flag, Input, Proposal};

/// The properties of this area.
pub const ALL: &[Property] = &[
    NUMBERED,
    IMMUTABLE,
    INERT,
    REFUSED,
    NOTHING_FORGED,
    TARGETS_AGREE,
    ONE_OWNER,
    OWN_SCOPE,
    FRESH,
    IN_ORDER,
    MARKED_ONCE,
    NOTHING_LOST,
];

/// Acceptance order is a total order without gaps.
pub const NUMBERED: Property = Property {
    name: "accepted events are numbered 1, 2, 3 and so on",
    rules: &["INGRESS-02", "TIMER-03"],
    caught: &[(Mutant::SequenceReused, "waits")],
    holds: Holds::State(|now| {
        let mut numbers: Vec<u8> = now.accepted().map(|event| now.state.event(event).seq).collect();
        numbers.sort_unstable();
        numbers.iter().copied().eq(1..=now.state.latest())
    }),
};

/// What was accepted is never renumbered, moved to another chain or removed.
pub const IMMUTABLE: Property = Property {
    name: "an accepted event keeps its number and its chain",
    rules: &["INGRESS-03", "INGRESS-05", "TERM-04", "OURS-17"],
    caught: &[
        (Mutant::DuplicateRenumbers, "acceptance"),
        (Mutant::ConflictOverwrites, "identities"),
        (Mutant::AliasTwice, "subscriptions"),
    ],
    holds: Holds::Step(|step| {
        let fixed = |event: &Event| (event.seq, event.root, event.depth, event.key, event.repeats);
        step.before()
            .accepted()
            .all(|event| fixed(step.before.event(event)) == fixed(step.after.event(event)))
    }),
};

/// A repeated delivery, route, pin, wake, firing or cancel has no second effect.
pub const INERT: Property = Property {
    name: "a known identity is a duplicate and changes nothing",
    rules: &["INGRESS-05", "INGRESS-06", "TIMER-02", "OURS-23", "CAUSE-24"],
    caught: &[(Mutant::DuplicateRenumbers, "acceptance"), (Mutant::RequestRepeats, "terminal")],
    holds: Holds::Step(|step| {
        let known = match step.action {
            Action::Commit(Commit::Accept { delivery }) => known(step, delivery),
            Action::Commit(commit) => commit.request().is_some_and(|request| known(step, request)),
            Action::World(_) => false,
        };
        match step.outcome {
            Outcome::Duplicate(_) => !changed_otherwise(step),
            Outcome::Accepted(_)
            | Outcome::Deferred(_)
            | Outcome::Conflict
            | Outcome::Refused(_) => !known,
        }
    }),
};

/// Whether anything changed but that an event is known to have come with two bodies.
fn changed_otherwise(step: &Step<'_>) -> bool {
    let noted = |event: &Event| Event { conflicting: Flag::Yes, ..*event };
    let (before, after) = (step.before.events(), step.after.events());
    step.before.current() != step.after.current()
        || step.before.works() != step.after.works()
        || step.before.waits() != step.after.waits()
        || !before.iter().map(noted).eq(after.iter().map(noted))
}

fn known(step: &Step<'_>, delivery: DeliveryIx) -> bool {
    let identity = step.world.delivery(delivery).identity;
    below(step.world.deliveries.len()).map(DeliveryIx).any(|other| {
        step.world.delivery(other).identity == identity && step.before.is_accepted(other.into())
    })
}

/// Only a causal limit writes anything when it refuses: its diagnostic.
pub const REFUSED: Property = Property {
    name: "what is refused, deferred or in conflict changes nothing",
    rules: &[
        "LEASE-12",
        "ROUTE-15",
        "OWN-07",
        "WAKE-04",
        "POLICY-06",
        "DONE-02",
        "INJECT-09",
        "CTRL-07",
    ],
    caught: &[
        (Mutant::NotDueCancelsTimer, "waits"),
        (Mutant::ConflictKeepsProof, "completion"),
        (Mutant::RefusedInterruptLeavesEvent, "completion"),
    ],
    holds: Holds::Step(|step| match step.outcome {
        Outcome::Accepted(_) | Outcome::Duplicate(_) => true,
        Outcome::Refused(Refusal::DepthLimit) => true,
        Outcome::Refused(_) | Outcome::Deferred(_) | Outcome::Conflict => !step.changed(),
    }),
};

/// Core's families of types are core's alone.
pub const NOTHING_FORGED: Property = Property {
    name: "no sender's event carries a core type",
    rules: &["CAUSE-07", "CAUSE-01"],
    caught: &[(Mutant::CoreTypeUnchecked, "targets")],
    holds: Holds::State(|now| {
        below(now.world.deliveries.len()).map(DeliveryIx).all(|delivery| {
            let def = now.world.delivery(delivery);
            !def.core || def.asks.is_some() || !now.state.is_accepted(delivery.into())
        })
    }),
};

/// Target, key and scope of an accepted event name one Work.
pub const TARGETS_AGREE: Property = Property {
    name: "an event that names a Work lies in its scope and has no foreign key",
    rules: &["INGRESS-09", "INGRESS-10", "INGRESS-11"],
    caught: &[(Mutant::ContradictionUnchecked, "targets")],
    holds: Holds::State(|now| now.accepted().all(|event| agrees(now, event))),
};

fn agrees(now: &Moment<'_>, event: EventIx) -> bool {
    let about = now.state.about(now.world, event);
    let Some(target) = about.target else {
        return true;
    };
    now.state.exists(target)
        && about.scope.is_none_or(|scope| scope == now.state.work(target).scope)
        && about.key.is_none_or(|key| now.state.owner(key) == Some(target))
}

/// A key resolves to one Work, across scopes and for ever.
pub const ONE_OWNER: Property = Property {
    name: "a key has at most one owner",
    rules: &["OWN-01", "OWN-02", "OWN-04"],
    caught: &[(Mutant::SecondOwner, "acceptance"), (Mutant::CreateOverOwner, "ownership")],
    holds: Holds::State(|now| {
        below(now.world.keys.len()).all(|key| {
            now.state.works().iter().filter(|work| work.keys & (1 << key) != 0).count() <= 1
        })
    }),
};

/// A route in one scope gives nothing in another.
pub const OWN_SCOPE: Property = Property {
    name: "a Work gets input from its own scope only",
    rules: &["OWN-03", "OWN-07", "INGRESS-08"],
    caught: &[(Mutant::RouteAcrossScopes, "acceptance")],
    holds: Holds::State(|now| {
        now.accepted().all(|event| {
            match (now.state.event(event).work.work(), now.state.scope_of(now.world, event)) {
                (Some(work), Some(scope)) => now.state.work(work).scope == scope,
                (Some(_), None) | (None, _) => true,
            }
        })
    }),
};

/// A decision made from what has moved is never applied.
pub const FRESH: Property = Property {
    name: "a route commits from a fresh proposal only",
    rules: &["ROUTE-15", "ROUTE-17", "DONE-01"],
    caught: &[(Mutant::StaleProposalCommits, "acceptance")],
    holds: Holds::Step(|step| match step.committed() {
        Some(Commit::CommitRoute { event }) => step.before.event(event).proposal == Proposal::Fresh,
        Some(_) | None => true,
    }),
};

/// Route effects on one Work follow the acceptance order.
pub const IN_ORDER: Property = Property {
    name: "events of one Work are routed in acceptance order",
    rules: &["OWN-05", "OWN-09", "POLICY-09"],
    caught: &[(Mutant::RouteOutOfOrder, "acceptance"), (Mutant::DropOutOfTurn, "routing")],
    holds: Holds::Step(|step| match step.committed() {
        Some(Commit::CommitRoute { event } | Commit::Drop { event }) => {
            match step.before.resolves_to(step.world, event) {
                Some(work) => nothing_lower(step, event, work),
                None => true,
            }
        }
        Some(_) | None => true,
    }),
};

fn nothing_lower(step: &Step<'_>, event: EventIx, work: WorkIx) -> bool {
    let seq = step.before.event(event).seq;
    step.before().accepted().all(|lower| {
        step.before.event(lower).seq >= seq
            || !step.before.is_unrouted(lower)
            || step.before.resolves_to(step.world, lower) != Some(work)
    })
}

/// One event, one checkpoint, one Work; both stay as written.
pub const MARKED_ONCE: Property = Property {
    name: "an event is marked once",
    rules: &["ROUTE-11", "ROUTE-19", "OWN-10", "BIND-12", "OURS-07"],
    caught: &[
        (Mutant::RouteTwice, "acceptance"),
        (Mutant::ReloadRemarks, "configuration"),
        (Mutant::ReplayUnmarks, "terminal"),
        (Mutant::DropRemarks, "terminal"),
    ],
    holds: Holds::Step(|step| {
        let marked = |facts: &dyn Facts, event: EventIx| {
            let event = facts.event(event);
            (event.mark, event.work, event.generation)
        };
        let rerouted = match step.committed() {
            Some(Commit::CommitRoute { event } | Commit::Drop { event }) => {
                !step.before.is_unrouted(event)
            }
            Some(_) | None => false,
        };
        let kept = step.before().accepted().all(|event| {
            step.before.event(event).mark == RouteMark::Unrouted
                || marked(step.before, event) == marked(step.after, event)
        });
        kept && !rerouted
    }),
};

/// Input is pending or consumed for ever; nothing else becomes of it.
pub const NOTHING_LOST: Property = Property {
    name: "no accepted event is lost: it is unrouted, input of its Work, or marked as none",
    rules: &[
        "INGRESS-03",
        "POLICY-35",
        "POLICY-10",
        "OURS-28",
        "WAKE-09",
        "CTRL-04",
        "POLICY-25",
        "DONE-05",
    ],
    caught: &[
        (Mutant::FailureDropsPending, "attempts"),
        (Mutant::WakeWithoutInput, "waits"),
        (Mutant::OperatorInterruptIsInput, "interrupt"),
        (Mutant::PolicyDropIsInput, "completion"),
        (Mutant::InjectedIsNoInput, "inject"),
    ],
    holds: Holds::State(|now| {
        now.accepted().all(|ix| {
            let event = now.state.event(ix);
            let input = event.input != Input::No;
            match event.mark {
                RouteMark::Queued | RouteMark::Inject | RouteMark::Woke => {
                    input && event.work.work().is_some()
                }
                // A person's interrupt is a control and never input. CTRL-04
                RouteMark::Interrupt => {
                    input != now.world.is_cores(ix) && event.work.work().is_some()
                }
                RouteMark::Terminal | RouteMark::Close | RouteMark::StaleRetry => {
                    !input && event.work.work().is_some()
                }
                RouteMark::Unrouted | RouteMark::Unmatched | RouteMark::ReplaySuspect => {
                    !input && event.work.work().is_none()
                }
                RouteMark::Continuation
                | RouteMark::Drop
                | RouteMark::OperatorDrop
                | RouteMark::Release => !input,
            }
        })
    }),
};
