//! Attempts: one at a time, each held under one lease by one claim, and what its holder may report.
//! POLICY-05 LEASE-10

use crate::command::{Deferral, Outcome, Receipt, Refusal};
use crate::domain::{
    AttemptNo, AttemptStatus, AttemptUid, Authority, BindingPin, Duration, Ending, Epoch, Holds,
    Millis, Phase, Provenance, RetryHint, ScopeLimit, Seq, StartReason, TokenHash, WorkId,
    WorkStatus, derived_uuid,
};
use crate::store::attempts::{self, Attempt};
use crate::store::rejections::Derived;
use crate::store::words::Word as _;
use crate::store::works::{self, Work};
use crate::store::{StoreError, Tx, events, inputs, meta, unrouted};

use super::causality::{Concerns, Made, Type, accept_derived};
use super::intents::{self, Reported};
use super::{Step, authority, retry};

/// What a claim brings with it.
pub(super) struct NewClaim<'a> {
    pub(super) uid: AttemptUid,
    pub(super) token: TokenHash,
    pub(super) lease: Duration,
    pub(super) pin: &'a BindingPin,
}

/// Starts or resumes the one attempt of ready work and hands it all pending input. POLICY-05
/// LEASE-10 WAKE-25
pub(super) fn claim(
    tx: &mut dyn Tx,
    now: Millis,
    work: WorkId,
    claim: &NewClaim<'_>,
    capacity: &[ScopeLimit],
) -> Result<Step, StoreError> {
    let Some(work) = works::get(tx, work)? else { return Ok(Refusal::UnknownWork.into()) };
    match work.status {
        WorkStatus::Completed | WorkStatus::Failed | WorkStatus::Cancelled => {
            return Ok(Refusal::Terminal.into());
        }
        WorkStatus::Running => return Ok(Refusal::AttemptOpen.into()),
        WorkStatus::Waiting => return Ok(Refusal::WorkWaiting.into()),
        WorkStatus::Ready => {}
    }
    if work.backoff.is_some() {
        return Ok(Deferral::Backoff.into());
    }
    if work.pending_count == 0 && work.next_trigger.is_none() {
        return Ok(Refusal::NothingToStart.into());
    }
    if meta::restored(tx)? {
        return Ok(Deferral::Restored.into());
    }
    if !work.holds.is_empty() {
        return Ok(Deferral::Held.into());
    }
    if work.marked.is_some() {
        return Ok(Deferral::Excluded.into());
    }
    for ScopeLimit { scope, limit } in capacity {
        if works::running_below(tx, scope)? >= *limit {
            return Ok(Deferral::Capacity.into());
        }
    }
    start(tx, now, work, claim)
}

fn start(
    tx: &mut dyn Tx,
    now: Millis,
    mut work: Work,
    claim: &NewClaim<'_>,
) -> Result<Step, StoreError> {
    let attempt = match (work.attempt, work.attempt_status) {
        (Some(n), Some(AttemptStatus::Parked)) => resume(tx, now, &work, n, claim)?,
        (last, _) => create(tx, now, &work, last, claim)?,
    };
    let consumed = inputs::consume(tx, work.id, attempt.n, attempt.epoch)?;
    if u32::try_from(consumed) != Ok(work.pending_count) {
        return Err(StoreError::corrupt(format!(
            "work {} counts {} pending inputs and has {consumed}",
            work.id, work.pending_count
        )));
    }
    let parent = events::referred(tx, attempt.parent)?;
    work.status = WorkStatus::Running;
    work.attempt_is(attempt.n, attempt.epoch, AttemptStatus::Running);
    work.clear_pending();
    work.next_trigger = None;
    work.next_parent = None;
    work.idle_at = None;
    work.reason = None;
    (work.root, work.depth) = (Some(parent.root), Some(parent.depth));
    works::save(tx, &mut work, now)?;
    let Attempt { n, epoch, reason, expires_at, .. } = attempt;
    let receipt = Receipt::Claimed { work: work.id, attempt: n, epoch, reason };
    Ok(Step::accepted(receipt, &work).under(expires_at))
}

/// The same attempt goes on; its trigger, its pin and the active time it has left stay, the winner
/// is noted beside them. WAKE-16 WAKE-17 WAKE-18 WAKE-28 BIND-10
fn resume(
    tx: &mut dyn Tx,
    now: Millis,
    work: &Work,
    n: AttemptNo,
    claim: &NewClaim<'_>,
) -> Result<Attempt, StoreError> {
    let mut attempt = attempts::referred(tx, work.id, n)?;
    let Some(winner) = work.next_trigger else {
        return Err(StoreError::corrupt(format!(
            "work {} is ready with a parked attempt that nothing woke",
            work.id
        )));
    };
    let before = attempt.epoch;
    attempt.epoch = meta::incarnation(tx)?.epoch_after(before);
    attempt.status = AttemptStatus::Running;
    attempt.phase = Some(Phase::NeverHanded);
    attempt.token = Some(claim.token);
    attempt.expires_at = Some(now + claim.lease);
    attempt.parent = work.next_parent.unwrap_or(winner);
    attempt.woken_by = Some(winner);
    attempt.batch_epoch = attempt.epoch;
    attempt.reason = StartReason::Resume;
    attempt.segment_at = now;
    // Nothing is pinned with the new segment: the old one's process is not its own. ADOPT-05
    attempt.metadata = None;
    attempts::save(tx, &attempt, before)?;
    Ok(attempt)
}

/// The next number, for the wake that asks for it or the lowest pending input. WAKE-19 RETRY-12
fn create(
    tx: &mut dyn Tx,
    now: Millis,
    work: &Work,
    last: Option<AttemptNo>,
    claim: &NewClaim<'_>,
) -> Result<Attempt, StoreError> {
    let n = AttemptNo(last.map_or(1, |last| last.0.saturating_add(1)));
    let (trigger, parent) = cause(tx, work)?;
    let epoch = meta::incarnation(tx)?.epoch_after(Epoch(0));
    let attempt = Attempt {
        work: work.id,
        n,
        uid: claim.uid,
        status: AttemptStatus::Running,
        phase: Some(Phase::NeverHanded),
        epoch,
        token: Some(claim.token),
        expires_at: Some(now + claim.lease),
        trigger,
        parent,
        woken_by: work.next_trigger,
        batch_epoch: epoch,
        reason: if last.is_none() { StartReason::Start } else { StartReason::Next },
        pin: claim.pin.clone(),
        active_left: claim.pin.active,
        segment_at: now,
        metadata: None,
        started_at: now,
        ended_at: None,
        result: None,
        hint: None,
        interrupt_event: None,
        usage: None,
    };
    attempts::insert(tx, &attempt)?;
    Ok(attempt)
}

/// The trigger of a new attempt, and what its own events descend from. WAKE-20 WAKE-22
fn cause(tx: &mut dyn Tx, work: &Work) -> Result<(Seq, Seq), StoreError> {
    if let Some(winner) = work.next_trigger {
        return Ok((winner, work.next_parent.unwrap_or(winner)));
    }
    // A release without a wake goes on from a retry that a causal limit refused. CAUSE-32
    match inputs::lowest_pending(tx, work.id)? {
        Some(lowest) => Ok((lowest, work.next_parent.unwrap_or(lowest))),
        None => Err(StoreError::corrupt(format!(
            "work {} counts {} pending inputs and has none",
            work.id, work.pending_count
        ))),
    }
}

/// Withdraws the record that no executor was handed this segment, before one is. ADOPT-06
pub(super) fn clear_never_handed(
    tx: &mut dyn Tx,
    now: Millis,
    by: &Authority,
) -> Result<Step, StoreError> {
    let held = match authority::check(tx, now, by)? {
        Ok(held) => held,
        Err(refused) => return Ok(refused),
    };
    let receipt = Receipt::Advanced { work: held.work.id, attempt: held.attempt.n };
    let step = match held.attempt.phase {
        Some(Phase::NeverHanded) => {
            attempts::set_phase(tx, &held.attempt, Phase::NeverHanded, Phase::Handed)?;
            Step::accepted(receipt, &held.work)
        }
        Some(Phase::Handed) => Outcome::Duplicate(receipt).into(),
        Some(Phase::Pinned | Phase::Recovering) => Refusal::NotLaunching.into(),
        None => return Err(no_phase(&held.attempt)),
    };
    Ok(step.under(Some(held.expires_at)))
}

/// Saves the executor's metadata with the segment; from here on it is only adopted. ADOPT-04
/// ADOPT-09
pub(super) fn pin(
    tx: &mut dyn Tx,
    now: Millis,
    by: &Authority,
    metadata: &str,
) -> Result<Step, StoreError> {
    let held = match authority::check(tx, now, by)? {
        Ok(held) => held,
        Err(refused) => return Ok(refused),
    };
    let receipt = Receipt::Advanced { work: held.work.id, attempt: held.attempt.n };
    let step = match held.attempt.phase {
        Some(Phase::Pinned) => Outcome::Duplicate(receipt).into(),
        Some(Phase::Recovering) => Refusal::NotLaunching.into(),
        Some(Phase::NeverHanded) => Refusal::NotHanded.into(),
        Some(Phase::Handed) => {
            attempts::pin(tx, &held.attempt, metadata)?;
            Step::accepted(receipt, &held.work)
        }
        None => return Err(no_phase(&held.attempt)),
    };
    Ok(step.under(Some(held.expires_at)))
}

/// Extends a live lease; it never revives one. LEASE-11
pub(super) fn renew(
    tx: &mut dyn Tx,
    now: Millis,
    by: &Authority,
    lease: Duration,
) -> Result<Step, StoreError> {
    let held = match authority::check(tx, now, by)? {
        Ok(held) => held,
        Err(refused) => return Ok(refused),
    };
    let expires_at = now + lease;
    attempts::set_expiry(tx, &held.attempt, expires_at)?;
    Ok(Outcome::Accepted(Receipt::Renewed { work: held.work.id, expires_at }).into())
}

/// Ends the attempt with its work done; the work ends too unless something is left for it. DONE-02
/// DONE-03 DONE-06
pub(super) fn complete(
    tx: &mut dyn Tx,
    now: Millis,
    by: &Authority,
    ending: Ending,
    status: Option<&str>,
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
    let proofs = intents::weigh(tx, &held, reported)?;
    let pending = proofs.leave(&held.work) > 0;
    let done = ending == Ending::Completed && !held.work.standing && !pending;
    // What is accepted and not yet routed here may be its input in a moment. DONE-02
    if done && unrouted::lowest_of(tx, held.work.id, held.work.scope)?.is_some() {
        return Ok(Step::from(Outcome::Conflict).naming(proofs.named).under(lease));
    }
    let authority::Held { mut work, mut attempt, .. } = held;
    intents::take_in(tx, now, &mut work, &mut attempt, &proofs, reported)?;
    intents::end(tx, now, &mut work)?;
    attempt.leave(AttemptStatus::Completed, now);
    attempt.ended_at = Some(now);
    attempt.result = status.map(str::to_owned);
    attempts::save(tx, &attempt, attempt.epoch)?;
    work.attempt_is(attempt.n, attempt.epoch, AttemptStatus::Completed);
    work.status = if done { WorkStatus::Completed } else { WorkStatus::Ready };
    // The next failure is the first again. RETRY-10
    work.failures = 0;
    work.reason = None;
    if done {
        work.holds = Holds::NONE;
    }
    if let Ending::Handoff { close_after: Some(length) } = ending
        && !pending
        && !work.standing
    {
        work.idle_at = Some(now + length);
    }
    if let Some(status) = status {
        publish(tx, now, &work, &attempt, status)?;
    }
    works::save(tx, &mut work, now)?;
    let receipt = Receipt::Ended { work: work.id, attempt: attempt.n, status: work.status };
    Ok(Step::accepted(receipt, &work).naming(proofs.named).under(lease))
}

/// Publishes the status that a turn declares, with no meaning of core's own. What its chain does
/// not allow leaves a diagnostic, and the turn has ended all the same. ALIAS-15 WAIT-06
fn publish(
    tx: &mut dyn Tx,
    now: Millis,
    work: &Work,
    attempt: &Attempt,
    status: &str,
) -> Result<(), StoreError> {
    let kind = Derived::TurnEnded;
    let uid = derived_uuid(now, attempt.uid.uuid(), kind.word(), 0);
    let delivery = format!("{}/{}", attempt.uid, kind.word());
    let status = serde_json::Value::from(status);
    let payload = format!(
        r#"{{"work":"{}","attempt":"{}","number":{},"status":{status}}}"#,
        work.uid, attempt.uid, attempt.n
    );
    let made = Made {
        key: work.first_key,
        provenance: Some(Provenance { work: work.id, attempt: attempt.n }),
        payload: Some(payload),
        ..Made::new(uid, delivery, Type::Core("core.turn.ended"), work.scope)
    };
    let concerns = Concerns { work: Some(work.id), attempt: Some(attempt.n), wait: None };
    if let Some(seq) = accept_derived(tx, now, kind, attempt.parent, &made, concerns)? {
        unrouted::insert(tx, seq, work.scope, work.first_key, None, Some(work.id))?;
    }
    Ok(())
}

/// Ends the attempt as failed, and admits the failure. RETRY-01
pub(super) fn fail(
    tx: &mut dyn Tx,
    now: Millis,
    by: &Authority,
    reason: &str,
    hint: Option<RetryHint>,
    reported: &Reported<'_>,
) -> Result<Step, StoreError> {
    let held = match authority::check(tx, now, by)? {
        Ok(held) => held,
        Err(refused) => return Ok(refused),
    };
    let lease = Some(held.expires_at);
    match held.attempt.phase {
        Some(Phase::Recovering) => return Ok(Step::from(Refusal::NotRunning).under(lease)),
        Some(Phase::NeverHanded | Phase::Handed | Phase::Pinned) => {}
        None => return Err(no_phase(&held.attempt)),
    }
    if retry::ends_too_early(tx, &held.work, &held.attempt)? {
        return Ok(Step::from(Outcome::Conflict).under(lease));
    }
    let proofs = intents::weigh(tx, &held, reported)?;
    let authority::Held { mut work, mut attempt, .. } = held;
    intents::take_in(tx, now, &mut work, &mut attempt, &proofs, reported)?;
    // An executor that holds nothing until the pin may have started what it was handed. POLICY-22
    if attempt.phase == Some(Phase::Handed) && !attempt.pin.holds_until_pin {
        work.marked = Some(attempt.segment());
    }
    let n = attempt.n;
    retry::admit(tx, now, &mut work, attempt, reason, hint)?;
    let receipt = Receipt::Ended { work: work.id, attempt: n, status: work.status };
    Ok(Step::accepted(receipt, &work).naming(proofs.named).under(lease))
}

fn no_phase(attempt: &Attempt) -> StoreError {
    StoreError::corrupt(format!(
        "attempt {} of work {} is running without a phase",
        attempt.n, attempt.work
    ))
}

#[cfg(test)]
mod tests;
