//! Routing: evaluate against a snapshot, commit against the truth, in the order of each Work.

use crate::index::{EventIx, WorkIx, below};
use crate::law::{Law, enqueue, ownership, waits};
use crate::mutants::Mutant;
use crate::outcome::{Deferral, Outcome, Receipt, Refusal, RouteMark};
use crate::state::{Facts, Proposal, WorkStatus};

/// Reads an unrouted event and keeps a proposal; durable truth stays as it is. ROUTE-12 ROUTE-14
pub(super) fn evaluate(state: &mut impl Facts, event: EventIx) -> Outcome {
    if !state.is_unrouted(event) {
        return Refusal::UnknownEvent.into();
    }
    state.event_mut(event).proposal = Proposal::Fresh;
    Receipt::Done.into()
}

/// Loses what is volatile: the proposals. INGRESS-04
pub(super) fn crash(state: &mut impl Facts) -> Outcome {
    for event in state.events_mut() {
        event.proposal = Proposal::None;
    }
    Receipt::Done.into()
}

/// Applies the proposal for an event, in one transaction. ROUTE-15 to ROUTE-19, OWN-05
pub(super) fn commit_route(law: &Law, state: &mut impl Facts, event: EventIx) -> Outcome {
    if !state.is_accepted(event) {
        return Refusal::UnknownEvent.into();
    }
    // The first checkpoint stays as written. ROUTE-19
    if !state.is_unrouted(event) && !law.broken(Mutant::RouteTwice) {
        let Routed { mark, work } = routed(state, event);
        return Outcome::Duplicate(Receipt::Routed { mark, work });
    }
    // The resolved Work, its revision or its generation is not what the handler saw. ROUTE-15
    let fresh = !state.is_unrouted(event) || state.event(event).proposal == Proposal::Fresh;
    if !fresh && !law.broken(Mutant::StaleProposalCommits) {
        return Outcome::Conflict;
    }
    // The key went to a Work of another scope after acceptance: the event stays as it is, to be diagnosed. OWN-03 OWN-07
    let resolved = match (state.speaks_of(law.world, event), state.resolves_to(law.world, event)) {
        (Some(owner), None) if law.broken(Mutant::RouteAcrossScopes) => Some(owner),
        (Some(_), None) => return Refusal::WrongScope.into(),
        (_, resolved) => resolved,
    };
    if let Some(work) = resolved
        && out_of_turn(law, state, event, work)
        && !law.broken(Mutant::RouteOutOfOrder)
    {
        return Deferral::OutOfTurn.into();
    }
    let Routed { mark, work } = apply(law, state, event, resolved);
    let entry = state.event_mut(event);
    entry.mark = mark;
    entry.work = work.map_or(entry.work, Into::into);
    entry.proposal = Proposal::None;
    Receipt::Routed { mark, work }.into()
}

struct Routed {
    mark: RouteMark,
    work: Option<WorkIx>,
}

fn routed(state: &impl Facts, event: EventIx) -> Routed {
    let event = state.event(event);
    Routed { mark: event.mark, work: event.work.work() }
}

fn out_of_turn(law: &Law, state: &impl Facts, event: EventIx, work: WorkIx) -> bool {
    let seq = state.event(event).seq;
    below(law.world.slots()).map(EventIx).any(|lower| {
        state.event(lower).seq < seq
            && state.is_unrouted(lower)
            && state.resolves_to(law.world, lower) == Some(work)
    })
}

/// The effect of a route, by the first line that applies.
fn apply(law: &Law, state: &mut impl Facts, event: EventIx, resolved: Option<WorkIx>) -> Routed {
    let unmatched = Routed { mark: RouteMark::Unmatched, work: None };
    let Some(work) = resolved else {
        return match ownership::create(law, state, event) {
            Some(work) => queue(state, event, work),
            None => unmatched,
        };
    };
    if state.work(work).status.terminal() && !law.broken(Mutant::TerminalTakesInput) {
        return Routed { mark: RouteMark::Terminal, work: Some(work) };
    }
    // A waiting Work is asked first: what it waits for needs no route. POLICY-02
    if waits::wake_for(law, state, work, event) {
        return Routed { mark: RouteMark::Woke, work: Some(work) };
    }
    if !law.world.routed(event) {
        return unmatched;
    }
    if law.broken(Mutant::SecondOwner)
        && let Some(second) = ownership::create(law, state, event)
    {
        return queue(state, event, second);
    }
    queue(state, event, work)
}

/// Pending input, whatever the Work is doing; its status does not change. POLICY-03 POLICY-04 POLICY-08
fn queue(state: &mut impl Facts, event: EventIx, work: WorkIx) -> Routed {
    debug_assert!(state.work(work).status != WorkStatus::Absent, "input goes to Works that exist");
    enqueue(state, event, work);
    Routed { mark: RouteMark::Queued, work: Some(work) }
}
