//! Intents: a control reaches a running attempt in three commits, and no executor is called inside any of them.
//!
//! The intent is committed with the mark of its event, or with the request of a person; a dispatch commits that a send is
//! now tried; a settlement commits what was answered. What an injected process took in is consumed by the result that says
//! so, and by nothing else.

use crate::action::{Authority, Expect, SendAnswer};
use crate::index::{DeliveryIx, EventIx, Proofs, WorkIx, below};
use crate::law::{Law, enqueue, exclude_segment, ingress, mark, misnamed, release, unauthorised};
use crate::mutants::Mutant;
use crate::outcome::{Outcome, Receipt, Refusal, RouteMark};
use crate::state::{
    AttemptStatus, Event, Facts, Fallback, Hold, Input, Intent, IntentKind, IntentStatus, Message,
    Phase, Timer, WorkStatus,
};

/// Commits with its mark that an event is to reach the running attempt of its Work. POLICY-11 POLICY-19 CTRL-02
pub(super) fn commit(
    law: &Law,
    state: &mut impl Facts,
    event: EventIx,
    work: WorkIx,
    kind: IntentKind,
    on_error: Fallback,
) {
    if law.broken(Mutant::MarkWithoutIntent) {
        return;
    }
    let next = u8::from(law.broken(Mutant::IntentForTheNext));
    let attempt = state.work(work).attempt.number + next;
    let status = match law.broken(Mutant::IntentBornDispatched) {
        true => IntentStatus::Dispatched,
        false => IntentStatus::Committed,
    };
    let forgotten = law.broken(Mutant::ErrorFallbackForgotten);
    let on_error = if forgotten { Fallback::None } else { on_error };
    state.event_mut(event).intent =
        Intent { kind, status, attempt, on_error, message: Message::None };
    if kind == IntentKind::Interrupt && law.broken(Mutant::InterruptRecordedAtOnce) {
        state.work_mut(work).attempt.interrupted_by = event.into();
    }
    if kind == IntentKind::Interrupt && law.broken(Mutant::InterruptFencesAtOnce) {
        fence(law, state, work, event);
    }
}

/// Records that a send is now tried; only then is the executor called. POLICY-12 POLICY-17 INJECT-21
pub(super) fn dispatch(
    law: &Law,
    state: &mut impl Facts,
    work: WorkIx,
    by: Authority,
    event: EventIx,
) -> Outcome {
    if let Some(refusal) = unauthorised(law, state, work, by) {
        return refusal.into();
    }
    let theirs = whose(state, work, event, law.broken(Mutant::DispatchAcrossWorks));
    let Some(intent) = state.intent(theirs, event).copied() else {
        return Refusal::UnknownIntent.into();
    };
    if let Some(refusal) = unsendable(law, state, theirs, &intent) {
        return refusal.into();
    }
    let pinned = state.work(work).attempt.phase == Phase::Pinned;
    if !pinned && !law.broken(Mutant::DispatchBeforePin) {
        return Refusal::NotRunning.into();
    }
    let sent = Receipt::Dispatched { attempt: intent.attempt, kind: intent.kind };
    // A send whose end nobody knows is made again, under the same intent. POLICY-17
    if intent.status == IntentStatus::Dispatched {
        return match law.broken(Mutant::ResendRefused) {
            true => Refusal::IntentSettled.into(),
            false => Outcome::Duplicate(sent),
        };
    }
    if !law.broken(Mutant::DispatchUnrecorded) {
        state.event_mut(event).intent.status = IntentStatus::Dispatched;
    }
    if law.broken(Mutant::DispatchConsumes) && intent.kind == IntentKind::Inject {
        state.event_mut(event).input = Input::Batch;
    }
    if law.broken(Mutant::DispatchFences) && intent.kind == IntentKind::Interrupt {
        fence(law, state, work, event);
    }
    sent.into()
}

/// The Work that an event is looked up for: the one that names it, and under a broken law the one it belongs to. INJECT-11
fn whose(state: &impl Facts, work: WorkIx, event: EventIx, across: bool) -> WorkIx {
    let owner = state.event(event).work.work().filter(|_| across);
    owner.unwrap_or(work)
}

/// An intent acts on the attempt it was committed for or on none, and once its answer is known on none. POLICY-23 INJECT-02
/// INJECT-24
fn unsendable(law: &Law, state: &impl Facts, work: WorkIx, intent: &Intent) -> Option<Refusal> {
    let stale = intent.status == IntentStatus::Stale;
    if stale || of_another(state, work, intent) {
        return (!law.broken(Mutant::StaleDispatched)).then_some(Refusal::StaleIntent);
    }
    (!intent.status.open() && !law.broken(Mutant::SettledResent)).then_some(Refusal::IntentSettled)
}

/// Whether an intent was committed for another attempt than the last one of its Work. POLICY-23 INJECT-24
fn of_another(state: &impl Facts, work: WorkIx, intent: &Intent) -> bool {
    intent.attempt != state.work(work).attempt.number
}

/// Settles an intent by the answer of its executor. A late answer changes nothing, whoever brings it; an early one belongs
/// to whoever holds the attempt. INJECT-01 to INJECT-07 INJECT-19 INJECT-20
pub(super) fn settle(
    law: &Law,
    state: &mut impl Facts,
    work: WorkIx,
    by: Authority,
    event: EventIx,
    answer: SendAnswer,
) -> Outcome {
    let Some(intent) = state.intent(work, event).copied() else {
        return Refusal::UnknownIntent.into();
    };
    let late = !intent.status.open();
    if late
        && law.broken(Mutant::LateAnswerReturnsInput)
        && state.event(event).input == Input::Batch
    {
        state.event_mut(event).input = Input::Pending;
    }
    if late && !law.broken(Mutant::LateAnswerSettles) && !law.broken(Mutant::LateAnswerRefused) {
        return Outcome::Duplicate(Receipt::Settled(intent.status));
    }
    if let Some(refusal) = unauthorised(law, state, work, by)
        && !law.broken(Mutant::StaleAnswerSettles)
    {
        return refusal.into();
    }
    if late && law.broken(Mutant::LateAnswerRefused) {
        return Outcome::Duplicate(Receipt::Settled(intent.status));
    }
    if intent.status == IntentStatus::Committed && !law.broken(Mutant::UndispatchedSettles) {
        return Refusal::NotDispatched.into();
    }
    let pinned = state.work(work).attempt.phase == Phase::Pinned;
    if !pinned || law.broken(Mutant::DispatchedNeverSettles) {
        return Refusal::NotRunning.into();
    }
    match (intent.kind, answer) {
        (IntentKind::Interrupt, SendAnswer::Accepted) => fence(law, state, work, event),
        (IntentKind::Interrupt, SendAnswer::NotAccepting | SendAnswer::Failed) => {
            if law.broken(Mutant::RefusedInterruptFences) {
                fence(law, state, work, event);
            } else {
                fall_back(law, state, event, &intent);
            }
        }
        (IntentKind::Inject | IntentKind::None, SendAnswer::Failed) => {
            fall_back(law, state, event, &intent);
        }
        // Delivery is not consumption, and not accepting is no route: the input stays as it is. INJECT-01 INJECT-04 INJECT-06
        (IntentKind::Inject | IntentKind::None, SendAnswer::Accepted) => {
            let accepted = state.event_mut(event);
            accepted.intent.status = IntentStatus::Accepted;
            if law.broken(Mutant::AcceptedConsumes) {
                accepted.input = Input::Batch;
            }
        }
        (IntentKind::Inject | IntentKind::None, SendAnswer::NotAccepting) => {
            if law.broken(Mutant::NotAcceptingFallsBack) {
                fall_back(law, state, event, &intent);
                return Receipt::Settled(state.event(event).intent.status).into();
            }
            let undelivered = state.event_mut(event);
            undelivered.intent.status = IntentStatus::NotAccepting;
            if law.broken(Mutant::NotAcceptingWithdraws) {
                undelivered.input = Input::Withdrawn;
            }
            if law.broken(Mutant::NotAcceptingRecorded) {
                undelivered.asked = IntentKind::Inject;
            }
        }
    }
    Receipt::Settled(state.event(event).intent.status).into()
}

/// A control that failed is sent again, unless its route said what stands in; only then may input be withdrawn. INJECT-07
/// POLICY-33 POLICY-34 CTRL-08
fn fall_back(law: &Law, state: &mut impl Facts, event: EventIx, intent: &Intent) {
    let failed = state.event_mut(event);
    let ignored = law.broken(Mutant::ErrorFallbackIgnored);
    match intent.on_error {
        Fallback::None => unconfigured(law, failed),
        Fallback::Queue | Fallback::Drop if ignored => {}
        Fallback::Queue => {
            failed.intent.status = IntentStatus::FellBack;
            if law.broken(Mutant::QueueFallbackWithdraws) {
                failed.input = Input::Withdrawn;
            }
        }
        Fallback::Drop => {
            failed.intent.status = IntentStatus::FellBack;
            if !law.broken(Mutant::DropFallbackKeeps) {
                failed.input = Input::Withdrawn;
            }
        }
    }
}

/// Nobody knows what became of it, and nothing is invented: it stays to be sent again. INJECT-03 INJECT-07
fn unconfigured(law: &Law, failed: &mut Event) {
    let injects = failed.intent.kind == IntentKind::Inject;
    if injects && law.broken(Mutant::AmbiguousIsAccepted) {
        failed.intent.status = IntentStatus::Accepted;
    }
    if injects && law.broken(Mutant::AmbiguousIsNotAccepting) {
        failed.intent.status = IntentStatus::NotAccepting;
    }
    if injects && law.broken(Mutant::AmbiguousFallsBack) {
        failed.intent.status = IntentStatus::FellBack;
    }
    if injects && law.broken(Mutant::AmbiguousWithdraws) {
        failed.input = Input::Withdrawn;
    }
    if !injects && law.broken(Mutant::RefusedInterruptSettles) {
        failed.intent.status = IntentStatus::NotAccepting;
    }
}

/// Ends the attempt and nothing else of its Work: no failure, and all pending input survives. Its process is stopped after
/// that, so the segment is excluded until it is seen to have ended. POLICY-20 POLICY-21 POLICY-22 CTRL-09
fn fence(law: &Law, state: &mut impl Facts, work: WorkIx, event: EventIx) {
    if !law.broken(Mutant::FenceUnsettled) {
        state.event_mut(event).intent.status = IntentStatus::Fenced;
    }
    let before = state.work(work).attempt;
    if !law.broken(Mutant::FenceLeavesAttempt) {
        release(law, state, work, AttemptStatus::Cancelled);
    }
    if !law.broken(Mutant::FenceUnmarked) {
        exclude_segment(state, work);
    }
    let fenced = state.work_mut(work);
    if !law.broken(Mutant::FenceUnrecorded) {
        fenced.attempt.interrupted_by = event.into();
    }
    fenced.status = match law.broken(Mutant::InterruptTerminal) {
        true => WorkStatus::Cancelled,
        false => WorkStatus::Ready,
    };
    if law.broken(Mutant::FenceFailsAttempt) {
        fenced.attempt.status = AttemptStatus::Failed;
    }
    if law.broken(Mutant::FenceKeepsAuthority) {
        (fenced.attempt.epochs, fenced.attempt.lease) = (before.epochs, before.lease);
    }
    if law.broken(Mutant::InterruptCounts) {
        fenced.failures += 1;
    }
    if law.broken(Mutant::InterruptBacksOff) {
        fenced.backoff = fenced.attempt.number;
        fenced.retry = Timer::due_in(1);
    }
    if law.broken(Mutant::InterruptHolds) {
        fenced.holds = fenced.holds.with(Hold::Exhausted);
    }
    if law.broken(Mutant::FenceForgetsFailures) {
        fenced.failures = 0;
    }
    if law.broken(Mutant::FenceLiftsHold) {
        fenced.holds = fenced.holds.without(Hold::Operator);
    }
    if law.broken(Mutant::FenceSetsIdle) && !state.has_pending(work) {
        let kind = law.world.kind(state.work(work).kind);
        state.work_mut(work).idle = kind.close_after.map_or(Timer::NONE, Timer::due_in);
    }
    for other in state.input(work, Input::Pending) {
        let lost = match other == event {
            true => law.broken(Mutant::FenceTakesItsEvent),
            false => law.broken(Mutant::FenceLosesPending),
        };
        if lost {
            state.event_mut(other).input = Input::Batch;
        }
    }
}

/// A person interrupts the running attempt: the request is a control and never input. CTRL-01 to CTRL-08
pub(super) fn interrupt(
    law: &Law,
    state: &mut impl Facts,
    work: WorkIx,
    expect: Expect,
    request: DeliveryIx,
    implemented: bool,
) -> Outcome {
    if let Some(answer) = ingress::repeated(law, state, request) {
        return answer;
    }
    if let Some(refusal) = misnamed(law, state, work, expect) {
        return refusal.into();
    }
    if state.work(work).status.terminal() {
        return Refusal::Terminal.into();
    }
    let runs = state.work(work).attempt.status == AttemptStatus::Running;
    if !runs && !law.broken(Mutant::InterruptOfReady) {
        return Refusal::NothingToInterrupt.into();
    }
    if interrupting(state, work).is_some() && law.broken(Mutant::InterruptOncePerAttempt) {
        return Refusal::NothingToInterrupt.into();
    }
    let control = EventIx::from(request);
    if !interruptible(law, state, work, implemented) {
        if law.broken(Mutant::RefusedInterruptLeavesEvent) {
            ingress::accept_root(state, control, None);
        }
        return Refusal::NotInterruptible.into();
    }
    let seq = ingress::accept_root(state, control, None);
    mark(law, state, control, RouteMark::Interrupt, Some(work));
    if law.broken(Mutant::OperatorInterruptIsInput) {
        enqueue(state, control, work);
    }
    let on_error = match law.broken(Mutant::OperatorInterruptFallsBack) {
        true => Fallback::Queue,
        false => Fallback::None,
    };
    if !law.broken(Mutant::OperatorInterruptWithoutIntent) {
        commit(law, state, control, work, IntentKind::Interrupt, on_error);
    }
    Receipt::Sequence(seq).into()
}

/// What the attempt was claimed with has it, and its executor still implements it. CTRL-05 CTRL-06
fn interruptible(law: &Law, state: &impl Facts, work: WorkIx, implemented: bool) -> bool {
    let kind = IntentKind::Interrupt;
    let pinned = match law.broken(Mutant::CapabilityOfTheDay) {
        true => supports_today(law, state, work, kind),
        false => state.supports(law.world, work, kind),
    };
    (pinned || law.broken(Mutant::CapabilityUnchecked))
        && (implemented || law.broken(Mutant::ImplementationUnchecked))
}

/// What the current configuration would pin, which is not what counts.
pub(super) fn supports_today(
    law: &Law,
    state: &impl Facts,
    work: WorkIx,
    kind: IntentKind,
) -> bool {
    let controls = law.world.controls(work, state.current().generation);
    match kind {
        IntentKind::None => true,
        IntentKind::Inject => controls.injects,
        IntentKind::Interrupt => controls.interrupts,
    }
}

/// The open interrupt of an attempt.
pub(super) fn interrupting(state: &impl Facts, work: WorkIx) -> Option<EventIx> {
    let interrupts = |event: &EventIx| state.event(*event).intent.kind == IntentKind::Interrupt;
    state.open_intents(work).into_iter().find(interrupts)
}

/// Aims what was never sent at the next attempt, which no law does.
pub(super) fn retarget(state: &mut impl Facts, work: WorkIx) {
    let number = state.work(work).attempt.number;
    for event in below(state.events().len()).map(EventIx) {
        let stale = state.intent(work, event).is_some_and(|i| i.status == IntentStatus::Stale);
        if stale {
            let intent = &mut state.event_mut(event).intent;
            (intent.status, intent.attempt) = (IntentStatus::Committed, number);
        }
    }
}

/// Makes pending again what the last segment consumed, which no law does.
pub(super) fn give_back(state: &mut impl Facts, work: WorkIx) {
    for event in state.input(work, Input::Batch) {
        state.event_mut(event).input = Input::Pending;
    }
}

/// What is lost with a daemon of all this: nothing.
pub(super) fn lose(law: &Law, state: &mut impl Facts) {
    if law.broken(Mutant::IntentDiesWithCrash) {
        outdate(state);
    }
    if law.broken(Mutant::CrashLosesMessages) {
        for event in below(law.world.slots()).map(EventIx) {
            state.event_mut(event).intent.message = Message::None;
        }
    }
}

/// Makes every open intent stale although no attempt ended, which no law does.
pub(super) fn outdate(state: &mut impl Facts) {
    for event in below(state.events().len()).map(EventIx) {
        let intent = &mut state.event_mut(event).intent;
        if intent.status.open() {
            intent.status = IntentStatus::Stale;
        }
    }
}

/// Forgets that anything was sent, which no law does.
pub(super) fn unsend(state: &mut impl Facts) {
    for event in below(state.events().len()).map(EventIx) {
        let intent = &mut state.event_mut(event).intent;
        if intent.status == IntentStatus::Dispatched {
            intent.status = IntentStatus::Committed;
        }
    }
}

/// With its segment every open intent is over, whatever ended it; a recovery ends no segment. POLICY-23 INJECT-23
pub(super) fn expire(law: &Law, state: &mut impl Facts, work: WorkIx, status: AttemptStatus) {
    let survives = match status {
        AttemptStatus::Parked | AttemptStatus::Waiting => law.broken(Mutant::IntentSurvivesPark),
        AttemptStatus::Completed | AttemptStatus::Failed => law.broken(Mutant::IntentSurvivesEnd),
        AttemptStatus::Cancelled => law.broken(Mutant::IntentSurvivesFence),
        AttemptStatus::None | AttemptStatus::Running => false,
    };
    for event in below(law.world.slots()).map(EventIx) {
        if state.intent(work, event).is_none() {
            continue;
        }
        let left = state.event_mut(event);
        let goes = left.intent.status.open()
            || (left.intent.status == IntentStatus::Accepted
                && law.broken(Mutant::AcceptedGoesStale));
        if goes && !survives {
            left.intent.status = IntentStatus::Stale;
            if left.input == Input::Pending && law.broken(Mutant::StaleLosesInput) {
                left.input = Input::Withdrawn;
            }
        }
        // Whatever its process still takes in, no result will say so.
        left.intent.message = Message::None;
    }
}

/// The events whose consumption a result proves, of those that it names; any other is as if it had not been named.
/// INJECT-08 to INJECT-16
pub(super) fn proved(law: &Law, state: &impl Facts, work: WorkIx, named: Proofs) -> Proofs {
    let accepted = |event: &EventIx| {
        state.intent(work, *event).is_some_and(|intent| intent.status == IntentStatus::Accepted)
            && law.broken(Mutant::AcceptedIsProof)
    };
    below(state.events().len())
        .map(EventIx)
        .filter(|event| named.has(*event) || accepted(event))
        .filter(|event| proves(law, state, work, *event))
        .collect()
}

/// A result that names what it cannot prove is as good as any other. INJECT-16
pub(super) fn unproved(
    law: &Law,
    state: &impl Facts,
    work: WorkIx,
    named: Proofs,
) -> Option<Refusal> {
    let false_ones = named != proved(law, state, work, named);
    (false_ones && law.broken(Mutant::FalseProofRefused)).then_some(Refusal::UnknownIntent)
}

fn proves(law: &Law, state: &impl Facts, work: WorkIx, event: EventIx) -> bool {
    let work = whose(state, work, event, law.broken(Mutant::ProofAcrossWorks));
    let pending = state.is_input(event, work, Input::Pending);
    let Some(intent) = state.intent(work, event) else {
        return pending && law.broken(Mutant::ProofWithoutIntent);
    };
    let claimed = [Input::Batch, Input::Consumed]
        .into_iter()
        .any(|standing| state.is_input(event, work, standing));
    let withdrawn = state.is_input(event, work, Input::Withdrawn);
    let of_pending = pending
        || (claimed && law.broken(Mutant::ProofOfClaimed))
        || (withdrawn && law.broken(Mutant::ProofOfWithdrawn));
    (intent.kind == IntentKind::Inject || law.broken(Mutant::ProofOfInterrupt))
        && !of_another(state, work, intent)
        && may_have_arrived(law, intent.status)
        && of_pending
}

/// Whether a process can have taken in what has come so far. What was never sent it cannot; of what was not accepted the
/// last answer says so. INJECT-12 INJECT-13 INJECT-14
fn may_have_arrived(law: &Law, status: IntentStatus) -> bool {
    match status {
        IntentStatus::Dispatched => !law.broken(Mutant::ProofNeedsAnswer),
        IntentStatus::FellBack => !law.broken(Mutant::ProofOfFallenBackIgnored),
        IntentStatus::Accepted => true,
        IntentStatus::Committed => law.broken(Mutant::ProofUndispatched),
        IntentStatus::NotAccepting => law.broken(Mutant::ProofNotAccepting),
        IntentStatus::None
        | IntentStatus::Fenced
        | IntentStatus::Consumed
        | IntentStatus::Stale => false,
    }
}

/// Whether input is pending once what was proved is counted as consumed. DONE-07 INJECT-22
pub(super) fn leaves_pending(law: &Law, state: &impl Facts, work: WorkIx, proved: Proofs) -> bool {
    let counted = |event: EventIx| {
        let accepted = state.event(event).intent.status == IntentStatus::Accepted;
        proved.has(event) || (accepted && law.broken(Mutant::AcceptedEndsWork))
    };
    state.input(work, Input::Pending).into_iter().any(|event| !counted(event))
}

/// What was proved is consumed by the segment whose result proved it, with that result. INJECT-09 INJECT-17
pub(super) fn consume(law: &Law, state: &mut impl Facts, proved: Proofs) {
    for event in below(state.events().len()).map(EventIx).filter(|event| proved.has(*event)) {
        let taken = state.event_mut(event);
        if !law.broken(Mutant::ProofLeavesInput) {
            taken.input = Input::Batch;
        }
        if !law.broken(Mutant::ProofLeavesIntent) {
            taken.intent.status = IntentStatus::Consumed;
        }
    }
}
