//! Waits and wakes: nothing observed is lost, and one wait wakes at most once. WAIT-17 WAKE-10

use crate::command::{Outcome, Receipt, Refusal};
use crate::domain::{
    AttemptStatus, Authority, Deadline, Hold, Key, MarkKind, Millis, Phase, Seq, Source, WaitId,
    WaitStatus, WaitUid, WorkId, WorkStatus, derived_uuid,
};
use crate::store::keys::{self, KeyId};
use crate::store::marks::{self, Mark};
use crate::store::names::{self, NameId};
use crate::store::rejections::Derived;
use crate::store::waits::{self, NewRow, Wait};
use crate::store::words::Word as _;
use crate::store::works::{self, Work};
use crate::store::{
    StoreError, Tx, attempts, events, generations, inputs, meta,
    subscriptions as subscription_rows, timers, unrouted,
};

use super::causality::{Concerns, Made, Type, accept_derived};
use super::intents::{self, Reported};
use super::{Step, authority, ownership, subscriptions};

/// A wait as its caller asks for it.
pub(super) struct Wanted<'a> {
    pub(super) uid: WaitUid,
    pub(super) keys: &'a [Key],
    pub(super) types: &'a [String],
    pub(super) after: Seq,
    pub(super) deadline: Option<Deadline>,
    pub(super) source: Option<&'a Source>,
    pub(super) read_scopes: &'a [String],
}

/// Parks or ends the attempt, registers the wait and scans accepted history, in one step. WAIT-16
/// WAIT-17 WAIT-19
pub(super) fn register_wait(
    tx: &mut dyn Tx,
    now: Millis,
    by: &Authority,
    wanted: &Wanted<'_>,
    reported: &Reported<'_>,
) -> Result<Step, StoreError> {
    let held = match authority::check(tx, now, by)? {
        Ok(held) => held,
        Err(refused) => return Ok(refused),
    };
    let lease = Some(held.expires_at);
    if held.attempt.phase != Some(Phase::Pinned) {
        return Ok(Step::from(Refusal::NotRunning).under(lease));
    }
    if wanted.keys.is_empty() && wanted.deadline.is_none() && wanted.source.is_none() {
        return Ok(Step::from(Refusal::WaitCannotEnd).under(lease));
    }
    let Some(keys) = owned(tx, held.work.id, wanted.keys)? else {
        return Ok(Step::from(Refusal::KeyNotOwned).under(lease));
    };
    if let Some(source) = wanted.source {
        // An alias carries one key of its dependent. ALIAS-05
        if keys.is_empty() {
            return Ok(Step::from(Refusal::KeyNotOwned).under(lease));
        }
        if !readable(tx, &held.work, source, wanted.read_scopes)? {
            return Ok(Step::from(Refusal::ScopeNotReadable).under(lease));
        }
    }
    if wanted.after > meta::last_seq(tx)? {
        return Ok(Step::from(Refusal::WatermarkAhead).under(lease));
    }
    let types = wanted.types.iter().map(|text| names::intern(tx, text));
    let types = types.collect::<Result<Vec<_>, _>>()?;
    let found = (keys.as_slice(), types.as_slice());
    register(tx, now, held, wanted, found, reported).map(|step| step.under(lease))
}

/// Whether a source lies in the work's own scope, or in one it was granted. BIND-05 ALIAS-09
fn readable(
    tx: &mut dyn Tx,
    work: &Work,
    source: &Source,
    granted: &[String],
) -> Result<bool, StoreError> {
    Ok(granted.contains(&source.scope) || names::text(tx, work.scope)? == source.scope)
}

/// The rows of these keys in their newest generation, if the work owns every one of them: a
/// successor may go on saying the name it was reopened under. WAIT-02 TERM-04
fn owned(tx: &mut dyn Tx, work: WorkId, wanted: &[Key]) -> Result<Option<Vec<KeyId>>, StoreError> {
    let mut rows = Vec::with_capacity(wanted.len());
    for key in wanted {
        match keys::newest(tx, key)? {
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
    (keys, types): (&[KeyId], &[NameId]),
    reported: &Reported<'_>,
) -> Result<Step, StoreError> {
    // Before the scan: what was taken in wakes nothing. INJECT-25 INJECT-26 INJECT-27
    let proofs = intents::weigh(tx, &held, reported)?;
    let authority::Held { mut work, mut attempt, .. } = held;
    intents::take_in(tx, now, &mut work, &mut attempt, &proofs, reported)?;
    intents::end(tx, now, &mut work)?;
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
    attempt.leave(if parks { AttemptStatus::Parked } else { AttemptStatus::Waiting }, now);
    attempt.ended_at = (!parks).then_some(now);
    attempts::save(tx, &attempt, attempt.epoch)?;
    work.attempt_is(attempt.n, attempt.epoch, attempt.status);
    work.status = WorkStatus::Waiting;
    work.wait_is(wait, WaitStatus::Active, None);
    // The process has yet to be seen to exit; its word that it waits is no proof. POLICY-22
    work.marked = Some(attempt.segment());
    let wait = referred(tx, wait)?;
    if let Some(source) = wanted.source {
        subscriptions::install(tx, now, &work, &wait, source)?;
    }
    let winner = wake_if_matched(tx, now, &mut work, &wait)?;
    works::save(tx, &mut work, now)?;
    let receipt = Receipt::Waiting { wait: wait.id, winner };
    Ok(Step::accepted(receipt, &work).naming(proofs.named))
}

fn wake_if_matched(
    tx: &mut dyn Tx,
    now: Millis,
    work: &mut Work,
    wait: &Wait,
) -> Result<Option<Seq>, StoreError> {
    let winner = waits::lowest_match(tx, wait)?;
    if let Some(winner) = winner {
        wake_by(tx, now, work, wait, winner)?;
    }
    Ok(winner)
}

fn referred(tx: &mut dyn Tx, wait: WaitId) -> Result<Wait, StoreError> {
    waits::get(tx, wait)?
        .ok_or_else(|| StoreError::corrupt(format!("wait {wait} vanished as it was registered")))
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
    subscription_rows::end(tx, wait.id)?;
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
    work.next_parent = continuation(tx, now, work, wait, winner)?;
    match work.next_parent {
        Some(continuation) => {
            mark(tx, now, continuation, MarkKind::Continuation, work.id, wait.id)?
        }
        // The wake stands; going on from it needs a person. WAKE-24
        None => work.holds.set(Hold::CausalLimit),
    }
    Ok(())
}

/// The event that a wake continues through, one deeper than its winner. WAKE-21 WAKE-22
fn continuation(
    tx: &mut dyn Tx,
    now: Millis,
    work: &Work,
    wait: &Wait,
    winner: Seq,
) -> Result<Option<Seq>, StoreError> {
    let uid = events::uid(tx, winner)?;
    let made = Made {
        payload: Some(format!(r#"{{"wait":"{}","winner":"{uid}"}}"#, wait.uid)),
        ..made_for(now, Derived::Continuation, wait, "core.wait.woken", work.scope)
    };
    accept_derived(tx, now, Derived::Continuation, winner, &made, concerning(wait))
}

/// An event of core's own about a wait. Its identity is the wait's, so that making it again could
/// only find it. TIMER-02 WAKE-21
pub(super) fn made_for(
    now: Millis,
    kind: Derived,
    wait: &Wait,
    event_type: &'static str,
    scope: NameId,
) -> Made {
    let uid = derived_uuid(now, wait.uid.uuid(), kind.word(), 0);
    let delivery = format!("{}/{}", wait.uid, kind.word());
    Made { wait: Some(wait.id), ..Made::new(uid, delivery, Type::Core(event_type), scope) }
}

/// Whom a diagnostic about a wait concerns.
pub(super) const fn concerning(wait: &Wait) -> Concerns {
    Concerns { wait: Some(wait.id), work: Some(wait.work), attempt: Some(wait.attempt) }
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
    marks::insert(
        tx,
        &Mark { event, kind, work, wait, route: None, reason: None, asked: None, generation, at },
    )
}

#[cfg(test)]
mod tests;
