//! Routing: evaluate against a snapshot, commit against the truth, in the order of each Work.

use crate::index::{EventIx, WorkIx, below};
use crate::law::{Law, cancel, enqueue, mark, ownership, processes, retry, waits};
use crate::mutants::Mutant;
use crate::outcome::{Deferral, Outcome, Receipt, Refusal, RouteMark};
use crate::state::{AttemptStatus, Facts, Holds, Proposal, WorkStatus};
use crate::worlds::{Decision, Does, Origin};

/// Reads an unrouted event and keeps a proposal; durable truth stays as it is. ROUTE-12 ROUTE-14
pub(super) fn evaluate(state: &mut impl Facts, event: EventIx) -> Outcome {
    if !state.is_unrouted(event) {
        return Refusal::UnknownEvent.into();
    }
    state.event_mut(event).proposal = Proposal::Fresh;
    Receipt::Done.into()
}

/// Loses what is volatile: proposals and hosts. INGRESS-04 OURS-19
pub(super) fn crash(law: &Law, state: &mut impl Facts) -> Outcome {
    processes::lose_hosts(law, state);
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
    // The resolved Work, its revision or the current generation is not what the handler saw. ROUTE-15 BIND-13
    let fresh = !state.is_unrouted(event) || state.event(event).proposal == Proposal::Fresh;
    if !fresh && !law.broken(Mutant::StaleProposalCommits) {
        return Outcome::Conflict;
    }
    // The key went to a Work of another scope after acceptance: the event stays as it is, to be diagnosed. OWN-03 OWN-07
    let resolved = match (state.speaks_of(law.world, event), state.resolves_to(law.world, event)) {
        (Some(owner), None) if law.broken(Mutant::RouteAcrossScopes) => Some(owner),
        (Some(_), None) => return Refusal::WrongScope.into(),
        (None, None) if law.broken(Mutant::TurnEndReturns) => publisher(law, state, event),
        (_, resolved) => resolved,
    };
    if let Some(work) = resolved
        && out_of_turn(law, state, event, work)
        && !law.broken(Mutant::RouteOutOfOrder)
    {
        return Deferral::OutOfTurn.into();
    }
    let Some(Routed { mark: made, work }) = apply(law, state, event, resolved) else {
        return Refusal::KeyOwned.into();
    };
    mark(law, state, event, made, work);
    Receipt::Routed { mark: made, work }.into()
}

struct Routed {
    mark: RouteMark,
    work: Option<WorkIx>,
}

fn routed(state: &impl Facts, event: EventIx) -> Routed {
    let event = state.event(event);
    Routed { mark: event.mark, work: event.work.work() }
}

fn publisher(law: &Law, state: &impl Facts, event: EventIx) -> Option<WorkIx> {
    state.about(law.world, event).publisher
}

fn out_of_turn(law: &Law, state: &impl Facts, event: EventIx, work: WorkIx) -> bool {
    let seq = state.event(event).seq;
    below(law.world.slots()).map(EventIx).any(|lower| {
        state.event(lower).seq < seq
            && state.is_unrouted(lower)
            && state.resolves_to(law.world, lower) == Some(work)
    })
}

/// The effect of a route, by the first line that applies; none if a key to attach is another Work's.
fn apply(
    law: &Law,
    state: &mut impl Facts,
    event: EventIx,
    resolved: Option<WorkIx>,
) -> Option<Routed> {
    let decision = law.world.decision(event, state.current().configuration);
    if let Some(work) = resolved {
        if state.work(work).status.terminal() && !law.broken(Mutant::TerminalTakesInput) {
            if matches!(law.world.origin(event), Origin::Retry(..))
                && law.broken(Mutant::DueRevives)
            {
                state.work_mut(work).status = WorkStatus::Ready;
                return Some(queue(state, event, work));
            }
            ownership::reopen_by_route(law, state, event, work, &decision);
            return Some(Routed { mark: RouteMark::Terminal, work: Some(work) });
        }
        // A retry is the Work's own affair: no decision is looked at. RETRY-21 RETRY-22
        if let Origin::Retry(_, attempt) = law.world.origin(event) {
            let mark = retry::route(law, state, event, work, attempt);
            return Some(Routed { mark, work: Some(work) });
        }
        // A waiting Work is asked first: what it waits for needs no route. POLICY-02
        if waits::wake_for(law, state, work, event) {
            return Some(Routed { mark: RouteMark::Woke, work: Some(work) });
        }
    }
    // An alias needs no route: it is input of the Work it names. ALIAS-05
    if let (Some(work), Origin::Alias(..)) = (resolved, law.world.origin(event))
        && !law.broken(Mutant::AliasNeedsRoute)
    {
        return Some(queue(state, event, work));
    }
    match decision.does {
        Does::Decline => Some(Routed { mark: RouteMark::Unmatched, work: None }),
        Does::Drop if drops(law, state, resolved) => {
            Some(Routed { mark: RouteMark::Drop, work: resolved })
        }
        Does::Close => Some(close(law, state, event, resolved)),
        Does::Update if resolved.is_none() && !law.broken(Mutant::UpdateCreates) => {
            Some(Routed { mark: RouteMark::Unmatched, work: None })
        }
        Does::Drop | Does::Update | Does::Work => input(law, state, event, resolved, &decision),
    }
}

/// A drop is a decision about the event, whatever its Work is doing. ROUTE-08
fn drops(law: &Law, state: &impl Facts, resolved: Option<WorkIx>) -> bool {
    let runs =
        resolved.is_some_and(|work| state.work(work).attempt.status == AttemptStatus::Running);
    !law.broken(Mutant::DropQueues) && (runs || !law.broken(Mutant::DropOnlyWhileRunning))
}

/// Cancels the Work an event resolves to, standing or not, in the route's own commit. OURS-02
fn close(law: &Law, state: &mut impl Facts, event: EventIx, resolved: Option<WorkIx>) -> Routed {
    let Some(work) = resolved else {
        return Routed { mark: RouteMark::Unmatched, work: None };
    };
    let spared = law.stands(state, work) && law.broken(Mutant::CloseSparesStanding);
    if !spared {
        cancel::end(law, state, work);
        if !law.broken(Mutant::CloseUnrecorded) {
            state.work_mut(work).closed_by = event.into();
        }
    }
    Routed { mark: RouteMark::Close, work: Some(work) }
}

/// Pending input of the Work it resolves to, which grows by the keys to attach, or of a new one. OWN-01 to OWN-10
fn input(
    law: &Law,
    state: &mut impl Facts,
    event: EventIx,
    resolved: Option<WorkIx>,
    decision: &Decision,
) -> Option<Routed> {
    if ownership::foreign(law, state, decision, resolved) {
        return None;
    }
    if let Some(work) = resolved {
        ownership::attach(law, state, work, decision);
        if law.broken(Mutant::SecondOwner)
            && let Some(second) = ownership::create(law, state, event, decision)
        {
            return Some(queue(state, event, second));
        }
        if law.broken(Mutant::InputLiftsHold) {
            state.work_mut(work).holds = Holds::NONE;
        }
        if law.broken(Mutant::InputEndsBackoff) {
            retry::clear(state, work);
        }
        return Some(queue(state, event, work));
    }
    let owned = state.key_of(law.world, event).is_some_and(|key| state.owner(key).is_some());
    let made = if owned { None } else { ownership::create(law, state, event, decision) };
    Some(match made {
        Some(work) => queue(state, event, work),
        None => Routed { mark: RouteMark::Unmatched, work: None },
    })
}

/// Pending input, whatever the Work is doing; its status does not change. POLICY-03 POLICY-04 POLICY-08
fn queue(state: &mut impl Facts, event: EventIx, work: WorkIx) -> Routed {
    debug_assert!(state.work(work).status != WorkStatus::Absent, "input goes to Works that exist");
    enqueue(state, event, work);
    Routed { mark: RouteMark::Queued, work: Some(work) }
}

/// An operator takes an unrouted event out, in its turn; nothing ever starts from it. OURS-07
pub(super) fn drop(law: &Law, state: &mut impl Facts, event: EventIx) -> Outcome {
    if !state.is_accepted(event) {
        return Refusal::UnknownEvent.into();
    }
    if !state.is_unrouted(event) && !law.broken(Mutant::DropRemarks) {
        return Refusal::AlreadyRouted.into();
    }
    if law.world.is_cores(event) && !law.broken(Mutant::DropOfCore) {
        return Refusal::CoreType.into();
    }
    let resolved = state.resolves_to(law.world, event);
    if let Some(work) = resolved
        && out_of_turn(law, state, event, work)
        && !law.broken(Mutant::DropOutOfTurn)
    {
        return Deferral::OutOfTurn.into();
    }
    mark(law, state, event, RouteMark::OperatorDrop, resolved);
    Receipt::Routed { mark: RouteMark::OperatorDrop, work: resolved }.into()
}

/// The next generation, and it is current: what was decided or pinned under another keeps that. BIND-10 BIND-11
pub(super) fn reload(law: &Law, state: &mut impl Facts, configuration: u8) -> Outcome {
    let current = state.current().configuration == configuration;
    if current && !law.broken(Mutant::ReloadRepeats) {
        return Outcome::Duplicate(Receipt::Done);
    }
    let now = state.current_mut();
    now.generation += 1;
    now.configuration = configuration;
    let generation = now.generation;
    // Whatever a handler proposed, it proposed under the former configuration. ROUTE-15 BIND-13
    for event in state.events_mut() {
        if event.proposal == Proposal::Fresh && !law.broken(Mutant::ReloadKeepsProposals) {
            event.proposal = Proposal::Stale;
        }
        if event.mark != RouteMark::Unrouted && law.broken(Mutant::ReloadRemarks) {
            event.generation = generation + 1;
        }
    }
    for work in state.works_mut() {
        if work.attempt.status.open() && law.broken(Mutant::ReloadUnpins) {
            work.attempt.generation = generation;
        }
    }
    Receipt::Done.into()
}
