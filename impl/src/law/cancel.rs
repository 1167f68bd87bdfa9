//! Cancellation: one commit ends the work for good, whatever it was doing. CANCEL-01 CANCEL-04

use crate::command::{Deferral, Outcome, Receipt, Refusal};
use crate::domain::{
    AttemptNo, AttemptStatus, Holds, Millis, Phase, WaitStatus, WorkId, WorkStatus,
};
use crate::store::works::{self, Work};
use crate::store::{StoreError, Tx, attempts, meta, subscriptions, timers, unrouted, waits};

use super::{Step, intents, requests};

/// Cancels a work because an operator said so. CANCEL-01 OURS-10
pub(super) fn cancel(
    tx: &mut dyn Tx,
    now: Millis,
    work: WorkId,
    expect: Option<AttemptNo>,
    for_good: bool,
    reason: &str,
) -> Result<Step, StoreError> {
    let mut work = match requests::target(tx, work, expect)? {
        Ok(work) => work,
        Err(answer) => return Ok(answer),
    };
    let receipt = Receipt::Cancelled { work: work.id };
    match work.status {
        WorkStatus::Cancelled => return Ok(Outcome::Duplicate(receipt).into()),
        WorkStatus::Completed | WorkStatus::Failed => return Ok(Refusal::Terminal.into()),
        WorkStatus::Ready | WorkStatus::Running | WorkStatus::Waiting => {}
    }
    if work.standing && !for_good {
        return Ok(Refusal::Standing.into());
    }
    terminate(tx, now, &mut work, reason)?;
    Ok(Step::accepted(receipt, &work))
}

/// Cancels a work that nothing came for since its handoff.
pub(super) fn close_idle(tx: &mut dyn Tx, now: Millis, work: WorkId) -> Result<Step, StoreError> {
    let Some(mut work) = works::get(tx, work)? else { return Ok(Refusal::UnknownWork.into()) };
    if work.status.is_terminal() {
        return Ok(Refusal::Terminal.into());
    }
    let Some(idle_at) = work.idle_at.filter(|_| work.pending_count == 0) else {
        return Ok(Refusal::NotIdle.into());
    };
    // What the backup does not know may be its input once it is sent again. OURS-21
    if meta::restored(tx)? {
        return Ok(Deferral::Restored.into());
    }
    if now < idle_at {
        return Ok(Refusal::NotDue.into());
    }
    // Who holds it means to look into it. OURS-06
    if !work.holds.is_empty() {
        return Ok(Deferral::Held.into());
    }
    // What is accepted and not yet routed here may be its input in a moment. DONE-02
    if unrouted::lowest_of(tx, work.id, work.scope)?.is_some() {
        return Ok(Outcome::Conflict.into());
    }
    terminate(tx, now, &mut work, "idle since its handoff for as long as its kind allows")?;
    Ok(Step::accepted(Receipt::Cancelled { work: work.id }, &work))
}

/// Ends an open work with its attempt, wait and timers. Pending input stays as audit. CANCEL-02
/// CANCEL-03 CANCEL-11
pub(super) fn terminate(
    tx: &mut dyn Tx,
    now: Millis,
    work: &mut Work,
    reason: &str,
) -> Result<(), StoreError> {
    cancel_attempt(tx, now, work)?;
    cancel_wait(tx, now, work)?;
    work.holds = Holds::NONE;
    work.idle_at = None;
    work.end_backoff();
    work.next_trigger = None;
    work.next_parent = None;
    work.reason = Some(reason.to_owned());
    // Written last, so that nothing of it is open when it is terminal.
    work.status = WorkStatus::Cancelled;
    works::save(tx, work, now)
}

/// Fences whoever holds the attempt, a recoverer included. CANCEL-05 CANCEL-10
fn cancel_attempt(tx: &mut dyn Tx, now: Millis, work: &mut Work) -> Result<(), StoreError> {
    let (Some(n), Some(AttemptStatus::Running | AttemptStatus::Parked)) =
        (work.attempt, work.attempt_status)
    else {
        return Ok(());
    };
    let mut attempt = attempts::referred(tx, work.id, n)?;
    // Whatever an executor was handed may still run. POLICY-22
    match attempt.phase {
        Some(Phase::Handed | Phase::Pinned | Phase::Recovering) => {
            work.marked = Some(attempt.segment());
        }
        Some(Phase::NeverHanded) | None => {}
    }
    intents::end(tx, now, work)?;
    attempt.leave(AttemptStatus::Cancelled, now);
    attempt.ended_at = Some(now);
    attempts::save(tx, &attempt, attempt.epoch)?;
    work.attempt_is(n, attempt.epoch, AttemptStatus::Cancelled);
    Ok(())
}

/// A woken wait stays woken; only an active one is cancelled, with its timer. WAKE-12 WAKE-14
fn cancel_wait(tx: &mut dyn Tx, now: Millis, work: &mut Work) -> Result<(), StoreError> {
    let (Some(wait), Some(WaitStatus::Active)) = (work.wait, work.wait_status) else {
        return Ok(());
    };
    if !waits::mark_cancelled(tx, wait, now)? {
        return Err(StoreError::corrupt(format!(
            "work {} calls its wait {wait} active and the wait says otherwise",
            work.id
        )));
    }
    timers::remove(tx, wait)?;
    subscriptions::end(tx, wait)?;
    work.wait_is(wait, WaitStatus::Cancelled, None);
    Ok(())
}

#[cfg(test)]
mod tests;
