//! Timers: a due timeout becomes one accepted event, and only an accepted event wakes. TIMER-02
//! WAKE-07

use crate::command::{Deferral, Outcome, Receipt, Refusal};
use crate::domain::{Millis, Seq, WaitId, WaitStatus};
use crate::store::rejections::Derived;
use crate::store::waits::{self, Wait};
use crate::store::works::{self, Work};
use crate::store::{StoreError, Tx, meta, timers, unrouted};

use super::Step;
use super::causality::{Made, accept_derived};
use super::waits::{concerning, made_for, wake_and_save};

/// Accepts the due timeout of a wait and wakes it, jointly; a match accepted before wakes it
/// instead. WAKE-05 WAKE-06
pub(super) fn fire_timer(tx: &mut dyn Tx, now: Millis, wait: WaitId) -> Result<Step, StoreError> {
    let wait = match due(tx, now, wait)? {
        Ok(wait) => wait,
        Err(answer) => return Ok(answer),
    };
    if let Some(winner) = waits::lowest_match(tx, &wait)? {
        return wake_and_save(tx, now, &wait, winner);
    }
    let work = works::referred(tx, wait.work)?;
    let Some(timeout) = accept(tx, now, &wait, &work)? else {
        return disable(tx, &wait, &work);
    };
    note(tx, &wait, timeout)?;
    wake_and_save(tx, now, &wait, timeout)
}

/// Accepts the due timeout of a wait and leaves the wake to another commit. WAKE-03 TIMER-05
pub(super) fn accept_timeout(
    tx: &mut dyn Tx,
    now: Millis,
    wait: WaitId,
) -> Result<Step, StoreError> {
    let wait = match due(tx, now, wait)? {
        Ok(wait) => wait,
        Err(answer) => return Ok(answer),
    };
    if waits::lowest_match(tx, &wait)?.is_some() {
        return Ok(Refusal::MatchAccepted.into());
    }
    let work = works::referred(tx, wait.work)?;
    let Some(seq) = accept(tx, now, &wait, &work)? else {
        return disable(tx, &wait, &work);
    };
    note(tx, &wait, seq)?;
    timers::remove(tx, wait.id)?;
    unrouted::insert(tx, seq, work.scope, None, Some(work.id), None)?;
    Ok(Step::accepted(Receipt::TimeoutAccepted { wait: wait.id, seq }, &work))
}

/// The timeout event of a wait, on the chain of its registration; `None` if that is too long.
/// TIMER-01 TIMER-03
fn accept(
    tx: &mut dyn Tx,
    now: Millis,
    wait: &Wait,
    work: &Work,
) -> Result<Option<Seq>, StoreError> {
    let made = Made {
        target: Some(work.id),
        payload: Some(format!(r#"{{"wait":"{}"}}"#, wait.uid)),
        ..made_for(now, Derived::Timeout, wait, "core.wait.timeout", work.scope)
    };
    accept_derived(tx, now, Derived::Timeout, wait.parent, &made, concerning(wait))
}

/// The wait, if its timeout may be accepted now; else the answer. WAKE-04
fn due(tx: &mut dyn Tx, now: Millis, wait: WaitId) -> Result<Result<Wait, Step>, StoreError> {
    let refused = |refusal: Refusal| Ok(Err(refusal.into()));
    let Some(wait) = waits::get(tx, wait)? else { return refused(Refusal::UnknownWait) };
    if let Some(seq) = wait.timeout {
        let receipt = Receipt::TimeoutAccepted { wait: wait.id, seq };
        return Ok(Err(Outcome::Duplicate(receipt).into()));
    }
    match wait.status {
        WaitStatus::Woken | WaitStatus::Cancelled => return refused(Refusal::TimerCancelled),
        WaitStatus::Active => {}
    }
    if wait.fire_at.is_none() {
        return refused(Refusal::NoTimer);
    }
    let Some(timer) = timers::get(tx, wait.id)? else {
        return Err(StoreError::corrupt(format!(
            "wait {} is active and its timer is gone without having fired",
            wait.id
        )));
    };
    if timer.disabled {
        return refused(Refusal::FiringDisabled);
    }
    // Whoever would have ended the wait in time may say so again first. OURS-21
    if meta::restored(tx)? {
        return Ok(Err(Deferral::Restored.into()));
    }
    if now < timer.fire_at {
        return refused(Refusal::NotDue);
    }
    Ok(Ok(wait))
}

/// The one refusal that writes: its diagnostic is stored, and this firing is not tried again.
/// CAUSE-32 CAUSE-33 CAUSE-34
fn disable(tx: &mut dyn Tx, wait: &Wait, work: &Work) -> Result<Step, StoreError> {
    timers::disable(tx, wait.id)?;
    let digest = Some(work.digest());
    Ok(Step { digest, ..Refusal::DepthLimit.into() })
}

fn note(tx: &mut dyn Tx, wait: &Wait, timeout: Seq) -> Result<(), StoreError> {
    if waits::set_timeout(tx, wait.id, timeout)? {
        return Ok(());
    }
    Err(StoreError::corrupt(format!(
        "wait {} got another timeout inside its own transaction",
        wait.id
    )))
}

#[cfg(test)]
mod tests;
