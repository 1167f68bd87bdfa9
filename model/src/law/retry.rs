//! Retry: what a failure leads to, and how failed Work comes to its next attempt.
//!
//! A due retry is an event like any other and starts nothing itself; the backoff stands until it is routed, and is told
//! from others by the attempt that it names.

use crate::action::{Expect, Hint};
use crate::index::{DeliveryIx, EventIx, WorkIx};
use crate::law::{Law, attempts, causality, enqueue, ingress, mark, misnamed, release, restore};
use crate::mutants::Mutant;
use crate::outcome::{Deferral, Outcome, Receipt, Refusal, RouteMark};
use crate::state::{
    AttemptStatus, Facts, Hold, Holds, ITSELF_REJECTED, Input, Phase, Timer, WorkStatus,
};
use crate::worlds::{Exhausted, Policy};

/// Whether this failure would fail the Work for good over an event that already resolves to it. RETRY-31 DONE-02
pub(super) fn conflicts(law: &Law, state: &impl Facts, work: WorkIx) -> bool {
    let ends = policy(law, state, work).exhausted == Exhausted::Fail
        && uses_up(law, state, work)
        && !law.stands(state, work);
    ends && state.owed_a_route(law.world, work) && !law.broken(Mutant::ExhaustionOverUnrouted)
}

/// The policy that the failing attempt was pinned with. BIND-10
fn policy<'a>(law: &'a Law, state: &impl Facts, work: WorkIx) -> &'a Policy {
    let failing = state.work(work);
    let generation = match law.broken(Mutant::PolicyOfTheDay) {
        true => state.current().generation,
        false => failing.attempt.generation,
    };
    law.world.policy(failing.kind, generation)
}

fn uses_up(law: &Law, state: &impl Facts, work: WorkIx) -> bool {
    policy(law, state, work).uses_up(count(law, state, work))
}

/// The number of this failure; attempt numbers have no say in it. RETRY-09
fn count(law: &Law, state: &impl Facts, work: WorkIx) -> u8 {
    let failing = state.work(work);
    match law.broken(Mutant::CountFromAttempt) {
        true => failing.attempt.number,
        false => failing.failures.saturating_add(1),
    }
}

/// Admits a failure whole: the attempt ends, and in the same step the Work is in backoff, held or failed. RETRY-01
/// RETRY-02 RETRY-06 ADOPT-21
pub(super) fn admit(law: &Law, state: &mut impl Facts, work: WorkIx, hint: Hint) {
    let (count, last) = (count(law, state, work), uses_up(law, state, work));
    let Policy { steps, exhausted, .. } = *policy(law, state, work);
    release(law, state, work, AttemptStatus::Failed);
    if law.broken(Mutant::FailureDropsPending) {
        for event in state.input(work, Input::Pending) {
            state.event_mut(event).input = Input::No;
        }
    }
    state.work_mut(work).status = WorkStatus::Ready;
    // Standing Work waits for its next event, however often it failed; only a hint makes it try again. JOB-16 JOB-27
    if law.stands(state, work) && !law.broken(Mutant::StandingExhausts) {
        let asked = asked(law, hint);
        let after = asked.or_else(|| law.broken(Mutant::StandingRetries).then_some(1));
        if let Some(ticks) = after {
            back_off(law, state, work, ticks);
        }
        return;
    }
    state.work_mut(work).failures = count;
    if last {
        exhaust(law, state, work, exhausted);
        if !law.broken(Mutant::ExhaustionArms) {
            return;
        }
    }
    let step = step(law, steps, count);
    back_off(law, state, work, asked(law, hint).unwrap_or(step));
}

/// The delay of the count's step, without jitter. RETRY-04 RETRY-05 RETRY-07 RETRY-08
fn step(law: &Law, steps: &[u8], count: u8) -> u8 {
    let nth = if law.broken(Mutant::BackoffFirstStep) { 1 } else { count };
    let place = usize::from(nth.saturating_sub(1));
    // A step is given for every count but the last; only a broken law asks beyond them.
    steps.get(place).or(steps.last()).copied().unwrap_or(1)
}

/// The delay that a valid hint asks for; any other hint is ignored, and never leads to a retry at once. RETRY-15 to
/// RETRY-17
fn asked(law: &Law, hint: Hint) -> Option<u8> {
    match hint {
        Hint::Valid if !law.broken(Mutant::HintIgnored) => Some(law.world.hint),
        Hint::Invalid if law.broken(Mutant::HintImmediate) => Some(0),
        Hint::Excessive if law.broken(Mutant::HintUnbounded) => Some(law.world.hint + 1),
        Hint::None | Hint::Valid | Hint::Invalid | Hint::Excessive => None,
    }
}

/// The backoff and its timer are one fact. RETRY-01 RETRY-02
fn back_off(law: &Law, state: &mut impl Facts, work: WorkIx, ticks: u8) {
    let failed = state.work_mut(work);
    if !law.broken(Mutant::FailureWithoutBackoff) {
        failed.backoff = failed.attempt.number;
    }
    if !law.broken(Mutant::FailureWithoutTimer) {
        failed.retry = Timer::due_in(ticks);
    }
}

/// The failure that uses up the budget arms nothing: a person goes on from here, or nobody does. RETRY-06 RETRY-31
fn exhaust(law: &Law, state: &mut impl Facts, work: WorkIx, exhausted: Exhausted) {
    let spent = state.work_mut(work);
    let fails = match exhausted {
        Exhausted::Keep => law.broken(Mutant::ExhaustionFails),
        Exhausted::Fail => !law.broken(Mutant::ExhaustionKeeps),
    };
    if fails {
        spent.status = WorkStatus::Failed;
        spent.holds = Holds::NONE;
    } else if !law.broken(Mutant::FailureUnheld) {
        spent.holds = spent.holds.with(Hold::Exhausted);
    }
}

/// Ends a backoff with its timer.
pub(super) fn clear(state: &mut impl Facts, work: WorkIx) {
    state.work_mut(work).backoff = 0;
    state.work_mut(work).retry = Timer::NONE;
}

/// Accepts the due retry of the backoff's attempt; the backoff stands until that is routed. RETRY-19 RETRY-20
pub(super) fn fire(law: &Law, state: &mut impl Facts, work: WorkIx, attempt: u8) -> Outcome {
    if !state.exists(work) {
        return Refusal::UnknownWork.into();
    }
    let due = law.world.retry_of(work, attempt);
    if let Some(due) = due.filter(|due| state.is_accepted(*due)) {
        return Outcome::Duplicate(Receipt::Sequence(state.event(due).seq));
    }
    let failed = *state.work(work);
    if failed.backoff != attempt && !law.broken(Mutant::RetryOfAnother) {
        return Refusal::NoRetry.into();
    }
    // Not tried again, not even when the limit would pass it. CAUSE-33
    if failed.retry == Timer::DISABLED {
        return Refusal::FiringDisabled.into();
    }
    if restore::stops_clocks(law, state, Mutant::RetriesFireUnderRestore) {
        return Deferral::Restored.into();
    }
    let reached = failed.retry.ticks() == Some(0) && !law.broken(Mutant::RetryNeverFires);
    if !reached && !law.broken(Mutant::RetryBeforeDue) {
        return Refusal::NotDue.into();
    }
    let Some(due) = due else {
        // No event of the universe stands for it: a bound of the world, which offers such a failure to nobody.
        return Refusal::NoRetry.into();
    };
    let Some(seq) = accept(law, state, due, failed.attempt.trigger.event()) else {
        refuse(law, state, work, due);
        return Refusal::DepthLimit.into();
    };
    if !law.broken(Mutant::FiringLeavesTimer) {
        state.work_mut(work).retry = Timer::NONE;
    }
    if law.broken(Mutant::FiringEndsBackoff) {
        clear(state, work);
    }
    if law.broken(Mutant::FiringClaims) {
        clear(state, work);
        mark(law, state, due, RouteMark::Queued, Some(work));
        enqueue(state, due, work);
        let _ = attempts::claim(law, state, work);
    }
    Receipt::Sequence(seq).into()
}

fn accept(law: &Law, state: &mut impl Facts, due: EventIx, trigger: Option<EventIx>) -> Option<u8> {
    if law.broken(Mutant::RetryIsRoot) {
        return Some(ingress::accept_root(state, due, None));
    }
    causality::accept_derived(law, state, due, trigger)
}

/// A chain at its end is not extended for trying again: the Work waits for a person, or for its next event if it stands.
/// RETRY-19 CAUSE-32 CAUSE-33 JOB-16
fn refuse(law: &Law, state: &mut impl Facts, work: WorkIx, due: EventIx) {
    state.event_mut(due).rejected |= ITSELF_REJECTED;
    if law.stands(state, work) && !law.broken(Mutant::StandingHeldByRefusal) {
        clear(state, work);
        return;
    }
    let stopped = state.work_mut(work);
    if !law.broken(Mutant::RefusedRetryRefires) {
        stopped.retry = Timer::DISABLED;
    }
    if !law.broken(Mutant::RefusedRetryUnheld) {
        stopped.holds = stopped.holds.with(Hold::CausalLimit);
    }
}

/// Routes a retry: what is current ends its backoff and is input, anything else changes nothing. RETRY-21 RETRY-22
/// RETRY-24 RETRY-28
pub(super) fn route(
    law: &Law,
    state: &mut impl Facts,
    event: EventIx,
    work: WorkIx,
    attempt: u8,
) -> RouteMark {
    let stands = state.work(work).backoff;
    let current = stands == attempt;
    let cleared = stands > 0 && law.broken(Mutant::StaleRetryClears);
    if !current && !cleared {
        if law.broken(Mutant::StaleRetryQueues) {
            enqueue(state, event, work);
            return RouteMark::Queued;
        }
        return RouteMark::StaleRetry;
    }
    if !law.broken(Mutant::RetryLeavesBackoff) {
        clear(state, work);
    }
    if !law.broken(Mutant::RetryIsNoInput) {
        enqueue(state, event, work);
    }
    RouteMark::Queued
}

/// A person has failed Work tried again: accepted and queued in one commit, so that it clears no later failure.
/// RETRY-11 RETRY-26 RETRY-27 RETRY-28 RETRY-32
pub(super) fn by_hand(
    law: &Law,
    state: &mut impl Facts,
    work: WorkIx,
    expect: Expect,
    request: DeliveryIx,
) -> Outcome {
    if let Some(answer) = ingress::repeated(law, state, request) {
        return answer;
    }
    if let Some(refusal) = misnamed(law, state, work, expect) {
        return refusal.into();
    }
    let failed = *state.work(work);
    if failed.status.terminal() && !law.broken(Mutant::RetryRevives) {
        return Refusal::Terminal.into();
    }
    let stopped = failed.status == WorkStatus::Ready || law.broken(Mutant::RetryRevives);
    let has_failed = failed.attempt.status == AttemptStatus::Failed;
    let retried = stopped && has_failed;
    if !retried && !law.broken(Mutant::RetryUnfailed) {
        return Refusal::NothingToRetry.into();
    }
    debug_assert!(
        failed.attempt.phase == Phase::None || law.mutant.is_some(),
        "what has failed is in no phase"
    );
    let seq = ingress::accept_root(state, request.into(), None);
    mark(law, state, request.into(), RouteMark::Queued, Some(work));
    enqueue(state, request.into(), work);
    let again = state.work_mut(work);
    if law.broken(Mutant::RetryRevives) {
        again.status = WorkStatus::Ready;
    }
    again.holds = lifted(law, again.holds);
    if !law.broken(Mutant::ManualKeepsCount) {
        again.failures = 0;
    }
    if !law.broken(Mutant::ManualLeavesTimer) {
        again.retry = Timer::NONE;
    }
    if !law.broken(Mutant::ManualLeavesBackoff) {
        again.backoff = 0;
    }
    if law.broken(Mutant::ManualClaims) {
        let _ = attempts::claim(law, state, work);
    }
    Receipt::Sequence(seq).into()
}

/// What failing and retrying led to is lifted; what a person holds is that person's. RETRY-27 OURS-06
fn lifted(law: &Law, holds: Holds) -> Holds {
    if law.broken(Mutant::ManualLeavesHold) {
        return holds;
    }
    let holds = holds.without(Hold::Exhausted).without(Hold::CausalLimit);
    if law.broken(Mutant::ManualLiftsOperator) { Holds::NONE } else { holds }
}
