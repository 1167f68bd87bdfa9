//! Routing: evaluate against a snapshot, commit against the truth, in the order of each Work.

use crate::index::{EventIx, WorkIx, below};
use crate::law::{Law, cancel, enqueue, intents, mark, ownership, processes, retry, waits};
use crate::mutants::Mutant;
use crate::outcome::{Deferral, Outcome, Receipt, Refusal, RouteMark};
use crate::state::{
    AttemptStatus, Facts, Fallback, Holds, Input, IntentKind, Proposal, WorkStatus,
};
use crate::worlds::{Control, ControlPolicy, Decision, Does, Origin};

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
    intents::lose(law, state);
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
        let Routed { mark, work, .. } = routed(state, event);
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
    let Routed { mark: made, work, asked } = match apply(law, state, event, resolved) {
        Ok(routed) => routed,
        Err(unchanged) => return unchanged,
    };
    mark(law, state, event, made, work);
    state.event_mut(event).asked = asked;
    Receipt::Routed { mark: made, work }.into()
}

struct Routed {
    mark: RouteMark,
    work: Option<WorkIx>,
    /// What the route asked for, if a fallback stood in. POLICY-28
    asked: IntentKind,
}

impl Routed {
    fn to(mark: RouteMark, work: Option<WorkIx>) -> Self {
        Routed { mark, work, asked: IntentKind::None }
    }
}

fn routed(state: &impl Facts, event: EventIx) -> Routed {
    let event = state.event(event);
    Routed::to(event.mark, event.work.work())
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

/// The effect of a route, by the first line that applies, or why there is none.
fn apply(
    law: &Law,
    state: &mut impl Facts,
    event: EventIx,
    resolved: Option<WorkIx>,
) -> Result<Routed, Outcome> {
    let decision = law.world.decision(event, state.current().configuration);
    if let Some(work) = resolved {
        if state.work(work).status.terminal() && !law.broken(Mutant::TerminalTakesInput) {
            if matches!(law.world.origin(event), Origin::Retry(..))
                && law.broken(Mutant::DueRevives)
            {
                state.work_mut(work).status = WorkStatus::Ready;
                return Ok(queue(state, event, work));
            }
            ownership::reopen_by_route(law, state, event, work, &decision);
            return Ok(Routed::to(RouteMark::Terminal, Some(work)));
        }
        // A retry is the Work's own affair: no decision is looked at. RETRY-21 RETRY-22
        if let Origin::Retry(_, attempt) = law.world.origin(event) {
            let mark = retry::route(law, state, event, work, attempt);
            return Ok(Routed::to(mark, Some(work)));
        }
        // A waiting Work is asked first: what it waits for needs no route. POLICY-02
        if waits::wake_for(law, state, work, event) {
            return Ok(Routed::to(RouteMark::Woke, Some(work)));
        }
    }
    // An alias needs no route: it is input of the Work it names. ALIAS-05
    if let (Some(work), Origin::Alias(..)) = (resolved, law.world.origin(event))
        && !law.broken(Mutant::AliasNeedsRoute)
    {
        return Ok(queue(state, event, work));
    }
    match decision.does {
        Does::Decline => Ok(Routed::to(RouteMark::Unmatched, None)),
        Does::Drop if drops(law, state, resolved) => Ok(Routed::to(RouteMark::Drop, resolved)),
        Does::Close => Ok(close(law, state, event, resolved)),
        Does::Update if resolved.is_none() && !law.broken(Mutant::UpdateCreates) => {
            Ok(Routed::to(RouteMark::Unmatched, None))
        }
        Does::Drop | Does::Update | Does::Work => {
            input_under_policy(law, state, event, resolved, &decision)
        }
    }
}

/// The policy of a route says what becomes of its event while an attempt of its Work runs. POLICY-01 POLICY-04 POLICY-24 to
/// POLICY-28 POLICY-32
fn input_under_policy(
    law: &Law,
    state: &mut impl Facts,
    event: EventIx,
    resolved: Option<WorkIx>,
    decision: &Decision,
) -> Result<Routed, Outcome> {
    let running = resolved.filter(|work| runs(law, state, *work));
    let effect = match running {
        Some(work) => in_effect(law, state, work, &decision.control),
        None => waits_for_ever(law, state, resolved, decision),
    };
    // Nothing is inferred: without a fallback the event waits for the end of the attempt. POLICY-32
    let Some(effect) = effect else {
        return Err(Deferral::Unsupported.into());
    };
    if effect.policy == ControlPolicy::Drop {
        return Ok(dropped(law, state, event, resolved, decision, effect.asked));
    }
    let Some(routed) = input(law, state, event, resolved, decision) else {
        return Err(Refusal::KeyOwned.into());
    };
    let routed = Routed { asked: effect.asked, ..routed };
    match running {
        Some(work) => Ok(control(law, state, event, work, effect.policy, decision, routed)),
        None => Ok(routed),
    }
}

/// Whether the policy of a route has a say: an attempt of the Work runs, in whatever phase. POLICY-01
fn runs(law: &Law, state: &impl Facts, work: WorkIx) -> bool {
    match state.work(work).status {
        WorkStatus::Running => true,
        WorkStatus::Ready => law.broken(Mutant::PolicyOnReady),
        WorkStatus::Waiting => law.broken(Mutant::PolicyOnWaiting),
        WorkStatus::Absent | WorkStatus::Completed | WorkStatus::Failed | WorkStatus::Cancelled => {
            false
        }
    }
}

/// Work without a running attempt queues. POLICY-04
fn waits_for_ever(
    law: &Law,
    state: &impl Facts,
    resolved: Option<WorkIx>,
    decision: &Decision,
) -> Option<InEffect> {
    let lacks =
        resolved.is_some_and(|work| in_effect(law, state, work, &decision.control).is_none());
    (!lacks || !law.broken(Mutant::UnsupportedForEver)).then_some(InEffect::QUEUE)
}

/// Nothing comes of it; what it was about is on record. POLICY-24 POLICY-25
fn dropped(
    law: &Law,
    state: &mut impl Facts,
    event: EventIx,
    resolved: Option<WorkIx>,
    decision: &Decision,
    asked: IntentKind,
) -> Routed {
    if let Some(work) = resolved {
        if law.broken(Mutant::PolicyDropAttaches) {
            ownership::attach(law, state, work, decision);
        }
        if law.broken(Mutant::PolicyDropIsInput) {
            enqueue(state, event, work);
        }
        if law.broken(Mutant::PolicyDropQueues) {
            return Routed { asked, ..queue(state, event, work) };
        }
    }
    let about = resolved.filter(|_| !law.broken(Mutant::PolicyDropUnassociated));
    Routed { asked, ..Routed::to(RouteMark::Drop, about) }
}

/// The policy that applies to an event of running Work.
struct InEffect {
    policy: ControlPolicy,
    /// What the route asked for, if its fallback stands in. POLICY-28
    asked: IntentKind,
}

impl InEffect {
    const QUEUE: InEffect = InEffect { policy: ControlPolicy::Queue, asked: IntentKind::None };
}

/// The route's own policy if the pinned attempt supports it, else the fallback that it configured. POLICY-26 POLICY-27
/// POLICY-32
fn in_effect(law: &Law, state: &impl Facts, work: WorkIx, control: &Control) -> Option<InEffect> {
    let asked = control.policy.needs();
    let replaced = |policy: ControlPolicy| {
        let asked = if law.broken(Mutant::FallbackUnrecorded) { IntentKind::None } else { asked };
        InEffect { policy, asked }
    };
    let supported = supports(law, state, work, asked);
    let overruled = law.broken(Mutant::FallbackOverSupport) && asked != IntentKind::None;
    if supported && !(overruled && control.fallback != Fallback::None) {
        let recorded = law.broken(Mutant::FallbackAlwaysRecorded);
        let asked = if recorded { asked } else { IntentKind::None };
        return Some(InEffect { policy: control.policy, asked });
    }
    stands_in(law, control).map(replaced)
}

/// Whether the pin that the attempt was claimed with has the control. BIND-10 POLICY-26
fn supports(law: &Law, state: &impl Facts, work: WorkIx, kind: IntentKind) -> bool {
    if law.broken(Mutant::ControlsOfTheDay) {
        return intents::supports_today(law, state, work, kind);
    }
    state.supports(law.world, work, kind) || law.broken(Mutant::UnsupportedInEffect)
}

/// What the route configured for attempts that lack the control; its error fallback never stands in here. POLICY-32 POLICY-34
fn stands_in(law: &Law, control: &Control) -> Option<ControlPolicy> {
    let configured = if law.broken(Mutant::FallbackIgnored) {
        Fallback::None
    } else if law.broken(Mutant::ErrorFallbackStandsIn) {
        control.on_error
    } else {
        control.fallback
    };
    match configured {
        Fallback::None => law.broken(Mutant::QueueInferred).then_some(ControlPolicy::Queue),
        Fallback::Queue => Some(ControlPolicy::Queue),
        Fallback::Drop => Some(ControlPolicy::Drop),
    }
}

/// The intent is committed with the mark and the input. POLICY-08 POLICY-11 POLICY-19
fn control(
    law: &Law,
    state: &mut impl Facts,
    event: EventIx,
    work: WorkIx,
    policy: ControlPolicy,
    decision: &Decision,
    routed: Routed,
) -> Routed {
    let mark = match policy {
        _ if law.broken(Mutant::PolicyIgnored) => return routed,
        ControlPolicy::Queue if law.broken(Mutant::IntentOfQueued) => {
            intents::commit(law, state, event, work, IntentKind::Inject, Fallback::None);
            return routed;
        }
        ControlPolicy::Queue | ControlPolicy::Drop => return routed,
        ControlPolicy::Inject => RouteMark::Inject,
        ControlPolicy::Interrupt => RouteMark::Interrupt,
    };
    let on_error = match law.broken(Mutant::FallbackAnswersFailure) {
        true => decision.control.fallback,
        false => decision.control.on_error,
    };
    intents::commit(law, state, event, work, policy.needs(), on_error);
    let unheld = match policy {
        ControlPolicy::Interrupt => law.broken(Mutant::InterruptIsNoInput),
        ControlPolicy::Queue | ControlPolicy::Inject | ControlPolicy::Drop => {
            law.broken(Mutant::InjectedIsNoInput)
        }
    };
    if unheld {
        state.event_mut(event).input = Input::No;
    }
    Routed { mark, ..routed }
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
        return Routed::to(RouteMark::Unmatched, None);
    };
    let spared = law.stands(state, work) && law.broken(Mutant::CloseSparesStanding);
    if !spared {
        cancel::end(law, state, work);
        if !law.broken(Mutant::CloseUnrecorded) {
            state.work_mut(work).closed_by = event.into();
        }
    }
    Routed::to(RouteMark::Close, Some(work))
}

/// Pending input of the Work it resolves to, which grows by the keys to attach, or of a new one; none if a key to attach is
/// another Work's. OWN-01 to OWN-10
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
        None => Routed::to(RouteMark::Unmatched, None),
    })
}

/// Pending input, whatever the Work is doing; its status does not change. POLICY-03 POLICY-04 POLICY-08
fn queue(state: &mut impl Facts, event: EventIx, work: WorkIx) -> Routed {
    debug_assert!(state.work(work).status != WorkStatus::Absent, "input goes to Works that exist");
    enqueue(state, event, work);
    Routed::to(RouteMark::Queued, Some(work))
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
