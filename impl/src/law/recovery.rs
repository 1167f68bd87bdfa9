//! Recovery: an expired attempt goes on as itself, under a greater epoch, or fails. ADOPT-01

use crate::command::{Deferral, Outcome, Receipt, Refusal};
use crate::domain::{
    AttemptStatus, Authority, Duration, Millis, Phase, Segment, TokenHash, Verdict, WorkId,
};
use crate::store::{StoreError, Tx, attempts, meta, works};

use super::{Step, authority, retry};

/// Takes over a running attempt whose lease has ended. LEASE-08 LEASE-09 ADOPT-02 ADOPT-12
pub(super) fn claim_recovery(
    tx: &mut dyn Tx,
    now: Millis,
    work: WorkId,
    token: TokenHash,
    lease: Duration,
) -> Result<Step, StoreError> {
    let Some(mut work) = works::get(tx, work)? else { return Ok(Refusal::UnknownWork.into()) };
    let (Some(n), Some(AttemptStatus::Running)) = (work.attempt, work.attempt_status) else {
        return Ok(Refusal::NothingToRecover.into());
    };
    let mut attempt = attempts::referred(tx, work.id, n)?;
    let (Some(expires_at), Some(phase)) = (attempt.expires_at, attempt.phase) else {
        return Err(StoreError::corrupt(format!(
            "attempt {n} of work {} is running without a lease or a phase",
            work.id
        )));
    };
    if now < expires_at {
        return Ok(Refusal::LeaseLive.into());
    }
    if meta::restored(tx)? {
        return Ok(Deferral::Restored.into());
    }
    // Relaunch only what provably started nothing. ADOPT-05 ADOPT-08 ADOPT-09
    let relaunch = match phase {
        Phase::NeverHanded => true,
        Phase::Handed => attempt.pin.holds_until_pin,
        Phase::Pinned | Phase::Recovering => false,
    };
    let before = attempt.epoch;
    attempt.epoch = meta::incarnation(tx)?.epoch_after(before);
    attempt.token = Some(token);
    attempt.expires_at = Some(now + lease);
    attempt.phase = Some(if relaunch { Phase::NeverHanded } else { Phase::Recovering });
    attempts::save(tx, &attempt, before)?;
    let epoch = attempt.epoch;
    work.attempt_is(n, epoch, AttemptStatus::Running);
    works::save(tx, &mut work, now)?;
    let receipt = Receipt::Recovering { work: work.id, attempt: n, epoch, relaunch };
    Ok(Step::accepted(receipt, &work).under(attempt.expires_at))
}

/// Commits what the executor's `recover` found. ADOPT-18 ADOPT-20 ADOPT-22
pub(super) fn settle_recovery(
    tx: &mut dyn Tx,
    now: Millis,
    by: &Authority,
    verdict: Verdict,
    reason: &str,
) -> Result<Step, StoreError> {
    let held = match authority::check(tx, now, by)? {
        Ok(held) => held,
        Err(refused) => return Ok(refused),
    };
    let lease = Some(held.expires_at);
    if held.attempt.phase != Some(Phase::Recovering) {
        return Ok(Step::from(Refusal::NotRecovering).under(lease));
    }
    let authority::Held { mut work, attempt, .. } = held;
    let n = attempt.n;
    match verdict {
        Verdict::Adopted => {
            attempts::set_phase(tx, &attempt, Phase::Recovering, Phase::Pinned)?;
            Ok(Step::accepted(Receipt::Advanced { work: work.id, attempt: n }, &work).under(lease))
        }
        Verdict::NotAdoptable => {
            if retry::ends_too_early(tx, &work, &attempt)? {
                return Ok(Step::from(Outcome::Conflict).under(lease));
            }
            // Not being verifiable proves no stop. ADOPT-22
            work.marked = Some(attempt.segment());
            retry::admit(tx, now, &mut work, attempt, reason, None)?;
            let receipt = Receipt::Ended { work: work.id, attempt: n, status: work.status };
            Ok(Step::accepted(receipt, &work).under(lease))
        }
    }
}

/// Gives a lease up, so that the attempt can be recovered at once: an ended lease is all that
/// changes. OURS-19 LEASE-02
pub(super) fn detach(tx: &mut dyn Tx, now: Millis, by: &Authority) -> Result<Step, StoreError> {
    let held = match authority::check(tx, now, by)? {
        Ok(held) => held,
        Err(refused) => return Ok(refused),
    };
    attempts::set_expiry(tx, &held.attempt, now)?;
    let receipt = Receipt::Detached { work: held.work.id, attempt: held.attempt.n };
    Ok(Step::accepted(receipt, &held.work).under(Some(held.expires_at)))
}

/// Lifts the exclusion mark of a segment whose process was seen to exit. POLICY-22
pub(super) fn vacate(
    tx: &mut dyn Tx,
    now: Millis,
    work: WorkId,
    segment: Segment,
) -> Result<Step, StoreError> {
    let Some(mut work) = works::get(tx, work)? else { return Ok(Refusal::UnknownWork.into()) };
    match work.marked {
        None => return Ok(Refusal::NotExcluded.into()),
        Some(marked) if marked != segment => return Ok(Refusal::StaleSegment.into()),
        Some(_) => {}
    }
    work.marked = None;
    works::save(tx, &mut work, now)?;
    Ok(Step::accepted(Receipt::Vacated { work: work.id }, &work))
}

#[cfg(test)]
mod tests;
