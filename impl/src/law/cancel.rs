//! Cancellation: one commit ends the work for good, whatever it was doing. CANCEL-01 CANCEL-04

use crate::command::{Outcome, Receipt, Refusal};
use crate::domain::{AttemptStatus, Millis, Phase, WaitStatus, WorkId, WorkStatus};
use crate::store::works::{self, Work};
use crate::store::{StoreError, Tx, attempts, timers, waits};

use super::Step;

/// Cancels a work with its attempt, wait and timer. Pending input stays as audit. CANCEL-02
/// CANCEL-03 CANCEL-11
pub(super) fn cancel(
    tx: &mut dyn Tx,
    now: Millis,
    work: WorkId,
    reason: &str,
) -> Result<Step, StoreError> {
    let Some(mut work) = works::get(tx, work)? else { return Ok(Refusal::UnknownWork.into()) };
    let receipt = Receipt::Cancelled { work: work.id };
    match work.status {
        WorkStatus::Cancelled => return Ok(Outcome::Duplicate(receipt).into()),
        WorkStatus::Completed | WorkStatus::Failed => return Ok(Refusal::Terminal.into()),
        WorkStatus::Ready | WorkStatus::Running | WorkStatus::Waiting => {}
    }
    cancel_attempt(tx, now, &mut work)?;
    cancel_wait(tx, now, &mut work)?;
    work.hold = None;
    work.next_trigger = None;
    work.next_parent = None;
    work.reason = Some(reason.to_owned());
    // Written last, so that nothing of it is open when it is terminal.
    work.status = WorkStatus::Cancelled;
    works::save(tx, &mut work, now)?;
    Ok(Step::accepted(receipt, &work))
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
    attempt.leave(AttemptStatus::Cancelled);
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
    work.wait_is(wait, WaitStatus::Cancelled, None);
    Ok(())
}

#[cfg(test)]
mod tests;
