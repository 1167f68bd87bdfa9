//! Waits and wakes: nothing observed is lost, and one wait wakes at most once. WAIT-17 WAKE-10

use crate::command::{Outcome, Receipt, Refusal};
use crate::domain::{
    AttemptStatus, Authority, Deadline, Hold, Key, MarkKind, Millis, Phase, Seq, WaitId,
    WaitStatus, WaitUid, WorkId, WorkStatus,
};
use crate::store::keys::{self, KeyId};
use crate::store::marks::{self, Mark};
use crate::store::names::{self, NameId};
use crate::store::rejections::Derived;
use crate::store::waits::{self, NewRow, Wait};
use crate::store::works::{self, Work};
use crate::store::{StoreError, Tx, attempts, generations, inputs, meta, timers, unrouted};

use super::causality::accept_derived;
use super::{Step, authority, ownership};

/// A wait as its caller asks for it.
pub(super) struct Wanted<'a> {
    pub(super) uid: WaitUid,
    pub(super) keys: &'a [Key],
    pub(super) types: &'a [String],
    pub(super) after: Seq,
    pub(super) deadline: Option<Deadline>,
}

/// Parks or ends the attempt, registers the wait and scans accepted history, in one step. WAIT-16
/// WAIT-17 WAIT-19
pub(super) fn register_wait(
    tx: &mut dyn Tx,
    now: Millis,
    by: &Authority,
    wanted: &Wanted<'_>,
) -> Result<Step, StoreError> {
    let held = match authority::check(tx, now, by)? {
        Ok(held) => held,
        Err(refused) => return Ok(refused),
    };
    let lease = Some(held.expires_at);
    if held.attempt.phase != Some(Phase::Pinned) {
        return Ok(Step::from(Refusal::NotRunning).under(lease));
    }
    if wanted.keys.is_empty() && wanted.deadline.is_none() {
        return Ok(Step::from(Refusal::WaitCannotEnd).under(lease));
    }
    let Some(keys) = owned(tx, held.work.id, wanted.keys)? else {
        return Ok(Step::from(Refusal::KeyNotOwned).under(lease));
    };
    if wanted.after > meta::last_seq(tx)? {
        return Ok(Step::from(Refusal::WatermarkAhead).under(lease));
    }
    let types = wanted.types.iter().map(|text| names::intern(tx, text));
    let types = types.collect::<Result<Vec<_>, _>>()?;
    register(tx, now, held, wanted, &keys, &types).map(|step| step.under(lease))
}

/// The rows of these keys if the work owns every one of them. WAIT-02
fn owned(tx: &mut dyn Tx, work: WorkId, wanted: &[Key]) -> Result<Option<Vec<KeyId>>, StoreError> {
    let mut rows = Vec::with_capacity(wanted.len());
    for key in wanted {
        match keys::find(tx, key)? {
            Some(held) if held.owner == Some(work) => rows.push(held.id),
            Some(_) | None => return Ok(None),
        }
    }
    Ok(Some(rows))
}

fn register(
    tx: &mut dyn Tx,
    now: Millis,
    held: authority::Held,
    wanted: &Wanted<'_>,
    keys: &[KeyId],
    types: &[NameId],
) -> Result<Step, StoreError> {
    let authority::Held { mut work, mut attempt, .. } = held;
    let fire_at = wanted.deadline.map(|deadline| match deadline {
        Deadline::At(instant) => instant,
        Deadline::After(length) => now + length,
    });
    let new = NewRow {
        uid: wanted.uid,
        work: work.id,
        attempt: attempt.n,
        epoch: attempt.epoch,
        after: wanted.after,
        parent: attempt.parent,
        fire_at,
        now,
        keys,
        types,
    };
    let wait = waits::insert(tx, &new)?;
    if let Some(fire_at) = fire_at {
        timers::insert(tx, wait, fire_at)?;
    }
    let parks = attempt.pin.resumes;
    attempt.leave(if parks { AttemptStatus::Parked } else { AttemptStatus::Waiting });
    attempt.ended_at = (!parks).then_some(now);
    attempts::save(tx, &attempt, attempt.epoch)?;
    work.attempt_is(attempt.n, attempt.epoch, attempt.status);
    work.status = WorkStatus::Waiting;
    work.wait_is(wait, WaitStatus::Active, None);
    // The process has yet to be seen to exit; its word that it waits is no proof. POLICY-22
    work.marked = Some(attempt.segment());
    let winner = wake_if_matched(tx, now, &mut work, wait)?;
    works::save(tx, &mut work, now)?;
    Ok(Step::accepted(Receipt::Waiting { wait, winner }, &work))
}

fn wake_if_matched(
    tx: &mut dyn Tx,
    now: Millis,
    work: &mut Work,
    wait: WaitId,
) -> Result<Option<Seq>, StoreError> {
    let Some(wait) = waits::get(tx, wait)? else {
        return Err(StoreError::corrupt(format!("wait {wait} vanished as it was registered")));
    };
    let winner = waits::lowest_match(tx, &wait)?;
    if let Some(winner) = winner {
        wake_by(tx, now, work, &wait, winner)?;
    }
    Ok(winner)
}

/// Wakes an active wait with its lowest match, once. WAKE-02 WAKE-07 WAKE-10
pub(super) fn wake(tx: &mut dyn Tx, now: Millis, wait: WaitId) -> Result<Step, StoreError> {
    let Some(wait) = waits::get(tx, wait)? else { return Ok(Refusal::UnknownWait.into()) };
    match wait.status {
        WaitStatus::Cancelled => return Ok(Refusal::WaitCancelled.into()),
        WaitStatus::Woken => return Ok(Outcome::Duplicate(woken(&wait)?).into()),
        WaitStatus::Active => {}
    }
    let Some(winner) = waits::lowest_match(tx, &wait)? else {
        return Ok(Refusal::NothingToWakeFrom.into());
    };
    wake_and_save(tx, now, &wait, winner)
}

/// Wakes the work of an active wait by an accepted event.
pub(super) fn wake_and_save(
    tx: &mut dyn Tx,
    now: Millis,
    wait: &Wait,
    winner: Seq,
) -> Result<Step, StoreError> {
    let mut work = works::referred(tx, wait.work)?;
    wake_by(tx, now, &mut work, wait, winner)?;
    works::save(tx, &mut work, now)?;
    Ok(Step::accepted(Receipt::Woken { wait: wait.id, winner }, &work))
}

/// The receipt of a wake that happened before.
fn woken(wait: &Wait) -> Result<Receipt, StoreError> {
    match wait.winner {
        Some(winner) => Ok(Receipt::Woken { wait: wait.id, winner }),
        None => Err(StoreError::corrupt(format!("wait {} is woken by nothing", wait.id))),
    }
}

/// Moves wait, timer, mark, input and work over one wake; the caller saves the work. WAKE-08
/// WAKE-09
pub(super) fn wake_by(
    tx: &mut dyn Tx,
    now: Millis,
    work: &mut Work,
    wait: &Wait,
    winner: Seq,
) -> Result<(), StoreError> {
    if work.status != WorkStatus::Waiting || !waits::mark_woken(tx, wait.id, winner, now)? {
        return Err(StoreError::corrupt(format!(
            "wait {} left `active`, or work {} left `waiting`, inside its own transaction",
            wait.id, work.id
        )));
    }
    timers::remove(tx, wait.id)?;
    if marks::get(tx, winner)?.is_none() {
        // Out of turn: a wake is no route effect, and routing the winner again must find this.
        unrouted::remove(tx, winner)?;
        mark(tx, now, winner, MarkKind::Woke, work.id, wait.id)?;
    }
    if !inputs::is_pending(tx, work.id, winner)? {
        ownership::append(tx, work, winner)?;
    }
    work.status = WorkStatus::Ready;
    work.wait_is(wait.id, WaitStatus::Woken, Some(winner));
    work.next_trigger = Some(winner);
    work.next_parent = accept_derived(tx, now, Derived::Continuation, winner, wait, work)?;
    match work.next_parent {
        Some(continuation) => {
            mark(tx, now, continuation, MarkKind::Continuation, work.id, wait.id)?
        }
        // The wake stands; going on from it needs a person. WAKE-24
        None => work.hold = Some(Hold::CausalLimit),
    }
    Ok(())
}

fn mark(
    tx: &mut dyn Tx,
    at: Millis,
    event: Seq,
    kind: MarkKind,
    work: WorkId,
    wait: WaitId,
) -> Result<(), StoreError> {
    let generation = generations::current_no(tx)?;
    let (work, wait) = (Some(work), Some(wait));
    marks::insert(tx, &Mark { event, kind, work, wait, route: None, generation, at })
}

#[cfg(test)]
mod tests;
