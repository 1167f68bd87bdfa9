//! Timers: a due time becomes an accepted event, at most once, unless a match was accepted first.

use crate::index::{EventIx, Maybe, WaitIx, WorkIx};
use crate::law::{Law, cancel, causality, registered, restore, waits};
use crate::mutants::Mutant;
use crate::outcome::{Deferral, Outcome, Receipt, Refusal};
use crate::state::{AttemptStatus, Facts, TIMEOUT_REJECTED, Timer, WaitStatus};

/// Time moves to the next tick. A deadline that is reached stays reached. LEASE-01 WAKE-04 WAKE-27
pub(super) fn tick(law: &Law, state: &mut impl Facts) -> Outcome {
    for work in state.works_mut() {
        work.attempt.lease = work.attempt.lease.saturating_sub(1);
        work.idle = work.idle.later();
        work.retry = work.retry.later();
        // Time spent parked, even for days, is not charged. WAKE-27
        let charged = match work.attempt.status {
            AttemptStatus::Running => !law.broken(Mutant::ActiveTimeStands),
            AttemptStatus::Parked => law.broken(Mutant::ParkedTimeCharged),
            AttemptStatus::None
            | AttemptStatus::Completed
            | AttemptStatus::Waiting
            | AttemptStatus::Failed
            | AttemptStatus::Cancelled => false,
        };
        if charged {
            work.attempt.active = work.attempt.active.later();
        }
    }
    for event in state.events_mut() {
        event.suspect = event.suspect.saturating_sub(1);
    }
    for wait in state.waits_mut() {
        wait.timer = wait.timer.later();
    }
    Receipt::Done.into()
}

/// Accepts the due timeout and wakes by it; a match accepted before wins instead. WAKE-03 to WAKE-06
pub(super) fn fire(law: &Law, state: &mut impl Facts, wait: WaitIx) -> Outcome {
    if let Some(answer) = not_fireable(law, state, wait) {
        return answer;
    }
    if let Some(winner) = earlier_match(law, state, wait) {
        waits::wake_by(law, state, wait, winner);
        return Receipt::Woken { winner }.into();
    }
    if accept(law, state, wait).is_none() {
        return Refusal::DepthLimit.into();
    }
    let winner = law.world.timeout_of(wait);
    waits::wake_by(law, state, wait, winner);
    Receipt::Woken { winner }.into()
}

/// Accepts the due timeout alone: whoever wakes next finds it the lowest match. WAKE-03 TIMER-05 TIMER-06
pub(super) fn accept_timeout(law: &Law, state: &mut impl Facts, wait: WaitIx) -> Outcome {
    if let Some(answer) = not_fireable(law, state, wait) {
        return answer;
    }
    if earlier_match(law, state, wait).is_some() {
        return Refusal::MatchAccepted.into();
    }
    match accept(law, state, wait) {
        Some(seq) => Receipt::Sequence(seq).into(),
        None => Refusal::DepthLimit.into(),
    }
}

fn not_fireable(law: &Law, state: &mut impl Facts, wait: WaitIx) -> Option<Outcome> {
    if !registered(state, wait) {
        return Some(Refusal::UnknownWait.into());
    }
    let timeout = law.world.timeout_of(wait);
    if state.is_accepted(timeout) {
        return Some(Outcome::Duplicate(Receipt::Sequence(state.event(timeout).seq)));
    }
    if state.wait(wait).status != WaitStatus::Active {
        return Some(Refusal::TimerCancelled.into());
    }
    let timer = state.wait(wait).timer;
    if law.world.wait(wait).timeout.is_none() {
        return Some(Refusal::NoTimer.into());
    }
    // Not tried again, not even when the limit would pass it. CAUSE-33
    if timer == Timer::DISABLED {
        return Some(Refusal::FiringDisabled.into());
    }
    if restore::stops_clocks(law, state, Mutant::TimersRunUnderRestore) {
        return Some(Deferral::Restored.into());
    }
    let due = timer.ticks() == Some(0) && !law.broken(Mutant::TimerNeverFires);
    if !due && !law.broken(Mutant::TimeoutBeforeDue) {
        if law.broken(Mutant::NotDueCancelsTimer) {
            state.wait_mut(wait).timer = Timer::NONE;
        }
        return Some(Refusal::NotDue.into());
    }
    None
}

fn earlier_match(law: &Law, state: &impl Facts, wait: WaitIx) -> Option<EventIx> {
    waits::lowest_match(law, state, wait).filter(|_| !law.broken(Mutant::TimeoutOverMatch))
}

/// The timeout descends from what its registration descended from. A refused firing is recorded and disabled in the
/// refusing transaction, and the wait stays active. TIMER-01 CAUSE-32 CAUSE-34
fn accept(law: &Law, state: &mut impl Facts, wait: WaitIx) -> Option<u8> {
    let cause = state.wait(wait).cause.event();
    let accepted = causality::accept_derived(law, state, law.world.timeout_of(wait), cause);
    if accepted.is_none() && law.broken(Mutant::FiringNotDisabled) {
        return None;
    }
    let timed = state.wait_mut(wait);
    timed.cause = Maybe::NONE;
    timed.timer = if accepted.is_some() { Timer::NONE } else { Timer::DISABLED };
    timed.rejected |= if accepted.is_some() { 0 } else { TIMEOUT_REJECTED };
    accepted
}

/// Cancels Work that was handed off, once it has been idle for as long as its kind allows and nothing has come.
pub(super) fn close_idle(law: &Law, state: &mut impl Facts, work: WorkIx) -> Outcome {
    if !state.exists(work) {
        return Refusal::UnknownWork.into();
    }
    if state.work(work).status.terminal() {
        return Refusal::Terminal.into();
    }
    let idle = state.work(work).idle;
    let input = state.has_pending(work) && !law.broken(Mutant::IdleOverInput);
    if idle == Timer::NONE || input {
        return Refusal::NotIdle.into();
    }
    if restore::stops_clocks(law, state, Mutant::IdleUnderRestore) {
        return Deferral::Restored.into();
    }
    if idle.ticks() != Some(0) && !law.broken(Mutant::IdleBeforeDue) {
        return Refusal::NotDue.into();
    }
    // A person who holds the Work has not done with it. OURS-06
    if !state.work(work).holds.is_empty() && !law.broken(Mutant::IdleOverHold) {
        return Deferral::Held.into();
    }
    // What resolves to the Work already is news, though no route has committed. DONE-02
    if state.owed_a_route(law.world, work) && !law.broken(Mutant::IdleOverUnrouted) {
        return Outcome::Conflict;
    }
    cancel::end(law, state, work);
    Receipt::Done.into()
}
