//! Policies of routes: what becomes of an event while an attempt of its Work runs, and what its route configured where
//! that attempt lacks the control.

use crate::action::{Action, Commit};
use crate::index::{EventIx, WorkIx};
use crate::mutants::Mutant;
use crate::outcome::{Deferral, Outcome, RouteMark};
use crate::properties::{Holds, Property, Step};
use crate::state::{Facts, Fallback, Input, IntentKind, IntentStatus, WorkStatus};
use crate::worlds::{Control, ControlPolicy, Decision, Does, Origin};

/// The properties of this area.
pub const ALL: &[Property] =
    &[HAS_ITS_SAY, AS_ROUTED, UNSUPPORTED, RECORDED, COMMITTED, HAS_AN_INTENT, POLICY_DROPS];

/// Ready Work queues and waiting Work asks its wait, whatever the route says of running attempts.
pub const HAS_ITS_SAY: Property = Property {
    name: "the policy of a route has no say while no attempt of the Work runs",
    rules: &["POLICY-01", "POLICY-04"],
    caught: &[
        (Mutant::PolicyOnReady, "inject"),
        (Mutant::PolicyOnWaiting, "steer-and-wait"),
        (Mutant::PolicyOnReady, "completion"),
        (Mutant::UnsupportedForEver, "pinned-controls"),
    ],
    holds: Holds::Step(|step| {
        let Some((event, does)) = routing(step) else {
            return true;
        };
        let applied = match step.after.event(event).mark {
            RouteMark::Inject | RouteMark::Interrupt => step.accepted(),
            RouteMark::Drop => step.accepted() && does != Does::Drop,
            RouteMark::Unrouted => step.outcome == Deferral::Unsupported.into(),
            RouteMark::Queued
            | RouteMark::Woke
            | RouteMark::Unmatched
            | RouteMark::Close
            | RouteMark::Terminal
            | RouteMark::OperatorDrop
            | RouteMark::ReplaySuspect
            | RouteMark::Release
            | RouteMark::Continuation
            | RouteMark::StaleRetry => false,
        };
        !applied || steered(step).is_some()
    }),
};

/// The unrouted event that this step is to route, and what its handler decided.
fn routing(step: &Step<'_>) -> Option<(EventIx, Does)> {
    match step.action {
        Action::Commit(Commit::CommitRoute { event }) if step.before.is_unrouted(event) => {
            let configuration = step.before.current().configuration;
            Some((event, step.world.decision(event, configuration).does))
        }
        Action::Commit(_) | Action::World(_) => None,
    }
}

/// An event that this step is to route to running Work as its input, and by which decision. An alias needs no route and a
/// retry is its Work's own affair.
struct Steered {
    event: EventIx,
    work: WorkIx,
    decision: Decision,
}

fn steered(step: &Step<'_>) -> Option<Steered> {
    let (event, does) = routing(step)?;
    let work = step.before.resolves_to(step.world, event)?;
    let runs = step.before.work(work).status == WorkStatus::Running;
    let own = matches!(step.world.origin(event), Origin::Alias(..) | Origin::Retry(..));
    let input = matches!(does, Does::Update | Does::Work);
    let decision = step.world.decision(event, step.before.current().configuration);
    (runs && input && !own).then_some(Steered { event, work, decision })
}

/// The policy that applies, and what the route asked for if its fallback stands in; none if nothing does.
fn applies(
    step: &Step<'_>,
    work: WorkIx,
    control: &Control,
) -> Option<(ControlPolicy, IntentKind)> {
    let pinned = step.world.controls(work, step.before.work(work).attempt.generation);
    let (supported, asked) = match control.policy {
        ControlPolicy::Queue | ControlPolicy::Drop => (true, IntentKind::None),
        ControlPolicy::Inject => (pinned.injects, IntentKind::Inject),
        ControlPolicy::Interrupt => (pinned.interrupts, IntentKind::Interrupt),
    };
    match control.fallback {
        _ if supported => Some((control.policy, IntentKind::None)),
        Fallback::Queue => Some((ControlPolicy::Queue, asked)),
        Fallback::Drop => Some((ControlPolicy::Drop, asked)),
        Fallback::None => None,
    }
}

/// Nothing is inferred: a control that the pin lacks is replaced as the route configured, or the event is not routed.
pub const AS_ROUTED: Property = Property {
    name: "an event of running Work is marked as its route says, or as the fallback that the route configured",
    rules: &[
        "POLICY-01",
        "POLICY-08",
        "POLICY-11",
        "POLICY-19",
        "POLICY-24",
        "POLICY-25",
        "POLICY-26",
        "POLICY-27",
        "POLICY-32",
        "POLICY-34",
    ],
    caught: &[
        (Mutant::QueueInferred, "fallback"),
        (Mutant::PolicyIgnored, "inject"),
        (Mutant::UnsupportedInEffect, "fallback"),
        (Mutant::ErrorFallbackStandsIn, "fallback"),
        (Mutant::PolicyDropQueues, "completion"),
        (Mutant::FallbackOverSupport, "fallback"),
        (Mutant::ControlsOfTheDay, "fallback"),
        (Mutant::InjectedIsNoInput, "inject"),
        (Mutant::PolicyDropUnassociated, "completion"),
    ],
    holds: Holds::Step(|step| match steered(step) {
        Some(Steered { event, work, decision }) if step.accepted() => {
            let mark = match applies(step, work, &decision.control) {
                Some((ControlPolicy::Queue, _)) => RouteMark::Queued,
                Some((ControlPolicy::Inject, _)) => RouteMark::Inject,
                Some((ControlPolicy::Interrupt, _)) => RouteMark::Interrupt,
                Some((ControlPolicy::Drop, _)) => RouteMark::Drop,
                None => return false,
            };
            let seen = step.after.event(event);
            let input = if mark == RouteMark::Drop { Input::No } else { Input::Pending };
            (seen.mark, seen.work, seen.input) == (mark, work.into(), input)
        }
        Some(_) | None => true,
    }),
};

/// What waits for the end of an attempt waits for a reason.
pub const UNSUPPORTED: Property = Property {
    name: "an event waits for the end of an attempt only if that lacks the control and its route has no fallback",
    rules: &["POLICY-27", "POLICY-32"],
    caught: &[(Mutant::FallbackIgnored, "fallback")],
    holds: Holds::Step(|step| {
        let waits = step.outcome == Outcome::Deferred(Deferral::Unsupported);
        let lacks = |at: Steered| applies(step, at.work, &at.decision.control).is_none();
        !waits || steered(step).is_some_and(lacks)
    }),
};

/// Which policy was asked for where another is in effect; no later answer changes it.
pub const RECORDED: Property = Property {
    name: "a mark records the policy that a fallback stood in for, then and only then, and for good",
    rules: &["POLICY-28", "POLICY-34", "INJECT-05"],
    caught: &[
        (Mutant::FallbackUnrecorded, "fallback"),
        (Mutant::FallbackAlwaysRecorded, "inject"),
        (Mutant::NotAcceptingRecorded, "inject"),
    ],
    holds: Holds::Step(|step| {
        let of_this = steered(step).filter(|_| step.accepted()).map(|at| {
            let asked = applies(step, at.work, &at.decision.control);
            (at.event, asked.map_or(IntentKind::None, |(_, asked)| asked))
        });
        step.after().accepted().all(|event| {
            let asked = match of_this {
                Some((routed, asked)) if routed == event => asked,
                Some(_) | None => step.before.event(event).asked,
            };
            step.after.event(event).asked == asked
        })
    }),
};

/// Its event, its attempt and what stands in if it fails are fixed before anybody is called.
pub const COMMITTED: Property = Property {
    name: "an intent is committed with its mark, for the attempt that runs, with the error fallback of its route",
    rules: &["POLICY-11", "POLICY-19", "POLICY-33", "POLICY-34", "CTRL-02", "CTRL-08"],
    caught: &[
        (Mutant::IntentForTheNext, "inject"),
        (Mutant::IntentBornDispatched, "inject"),
        (Mutant::ErrorFallbackForgotten, "inject"),
        (Mutant::FallbackAnswersFailure, "fallback"),
        (Mutant::OperatorInterruptFallsBack, "interrupt"),
        (Mutant::IntentOfQueued, "completion"),
        (Mutant::PolicyOnReady, "inject"),
    ],
    holds: Holds::Step(|step| {
        let kind = |facts: &dyn Facts, event: EventIx| facts.event(event).intent.kind;
        let made = |event: &EventIx| {
            kind(step.before, *event) == IntentKind::None
                && kind(step.after, *event) != IntentKind::None
        };
        step.after().accepted().filter(made).all(|event| rightly_committed(step, event))
    }),
};

fn rightly_committed(step: &Step<'_>, event: EventIx) -> bool {
    let seen = step.after.event(event);
    let (work, kind, on_error) = match step.committed() {
        Some(Commit::CommitRoute { event: routed }) if routed == event => match steered(step) {
            Some(at) => (at.work, at.decision.control.policy.needs(), at.decision.control.on_error),
            None => return false,
        },
        Some(Commit::Interrupt { work, request, .. }) if event == request.into() => {
            (work, IntentKind::Interrupt, Fallback::None)
        }
        Some(_) | None => return false,
    };
    let runs = step.before.work(work).status == WorkStatus::Running;
    let intent = seen.intent;
    runs && seen.work == work.into()
        && (intent.kind, intent.on_error) == (kind, on_error)
        && intent.status == IntentStatus::Committed
        && intent.attempt == step.before.work(work).attempt.number
}

/// A mark that promises more than was committed would be believed by whoever reads it.
pub const HAS_AN_INTENT: Property = Property {
    name: "an event has an intent exactly if its mark says that it is to reach an attempt",
    rules: &["POLICY-11", "POLICY-19", "CTRL-02"],
    caught: &[
        (Mutant::MarkWithoutIntent, "inject"),
        (Mutant::OperatorInterruptWithoutIntent, "interrupt"),
        (Mutant::IntentOfQueued, "completion"),
    ],
    holds: Holds::State(|now| {
        now.accepted().all(|event| {
            let event = now.state.event(event);
            let kind = match event.mark {
                RouteMark::Inject => IntentKind::Inject,
                RouteMark::Interrupt => IntentKind::Interrupt,
                RouteMark::Unrouted
                | RouteMark::Queued
                | RouteMark::Woke
                | RouteMark::Unmatched
                | RouteMark::Drop
                | RouteMark::Close
                | RouteMark::Terminal
                | RouteMark::OperatorDrop
                | RouteMark::ReplaySuspect
                | RouteMark::Release
                | RouteMark::Continuation
                | RouteMark::StaleRetry => IntentKind::None,
            };
            event.intent.kind == kind
        })
    }),
};

/// It stays for audit, with the Work that it was about.
pub const POLICY_DROPS: Property = Property {
    name: "what the policy of a route drops is of its Work, is no input and gives it no key",
    rules: &["POLICY-24", "POLICY-25"],
    caught: &[
        (Mutant::PolicyDropUnassociated, "completion"),
        (Mutant::PolicyDropIsInput, "completion"),
        (Mutant::PolicyDropAttaches, "pinned-controls"),
        (Mutant::MarkForgetsGeneration, "fallback"),
    ],
    holds: Holds::Step(|step| match steered(step) {
        Some(at) if step.after.event(at.event).mark == RouteMark::Drop => {
            let seen = step.after.event(at.event);
            let kept = |work: WorkIx| step.before.work(work) == step.after.work(work);
            (seen.work, seen.input) == (at.work.into(), Input::No)
                && seen.generation == step.before.current().generation + 1
                && step.before().works().all(kept)
        }
        Some(_) | None => true,
    }),
};
