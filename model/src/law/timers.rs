//! Timers: a due time becomes an accepted event, at most once, unless a match was accepted first.

use crate::index::{EventIx, Maybe, WaitIx};
use crate::law::{Law, causality, registered, waits};
use crate::mutants::Mutant;
use crate::outcome::{Outcome, Receipt, Refusal};
use crate::state::{Facts, TIMEOUT_REJECTED, Timer, WaitStatus};

/// Time moves to the next tick. A deadline that is reached stays reached. LEASE-01 WAKE-04
pub(super) fn tick(state: &mut impl Facts) -> Outcome {
    for work in state.works_mut() {
        work.attempt.lease = work.attempt.lease.saturating_sub(1);
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
