//! Retry: what a failure leads to, and what the next attempt starts from. RETRY-01 RETRY-19

use crate::command::{Deferral, Outcome, Receipt, Refusal};
use crate::domain::{
    AttemptNo, AttemptStatus, Duration, Exhausted, HintFinding, Hold, Holds, Millis, Request,
    RetryHint, RetryPolicy, Seq, WorkId, WorkStatus, derived_uuid,
};
use crate::store::attempts::{self, Attempt};
use crate::store::rejections::Derived;
use crate::store::timers::Timer;
use crate::store::words::Word as _;
use crate::store::works::{self, Work};
use crate::store::{StoreError, Tx, identities, meta, unrouted};

use super::causality::{Concerns, Made, Type, accept_derived, identity};
use super::{Step, intents, ownership, requests};

/// Whether a failure would end the work now although something accepted is not yet routed to it,
/// which may be its input in a moment. RETRY-31
pub(super) fn ends_too_early(
    tx: &mut dyn Tx,
    work: &Work,
    attempt: &Attempt,
) -> Result<bool, StoreError> {
    let policy = &attempt.pin.retry;
    let last = !work.standing && step(policy, counted(work)).is_none();
    let ends = last && policy.exhausted == Exhausted::Fail;
    Ok(ends && unrouted::lowest_of(tx, work.id, work.scope)?.is_some())
}

/// Fails a running attempt and admits the failure under its pinned policy. Pending input stays,
/// whatever it leads to. RETRY-01 RETRY-06 RETRY-31
pub(super) fn admit(
    tx: &mut dyn Tx,
    now: Millis,
    work: &mut Work,
    mut attempt: Attempt,
    reason: &str,
    hint: Option<RetryHint>,
) -> Result<(), StoreError> {
    let hint = hint.map(|hint| (hint, find(hint, attempt.pin.retry.hint_max)));
    intents::end(tx, now, work)?;
    attempt.leave(AttemptStatus::Failed, now);
    attempt.ended_at = Some(now);
    attempt.result = Some(reason.to_owned());
    attempt.hint = hint;
    attempts::save(tx, &attempt, attempt.epoch)?;
    work.attempt_is(attempt.n, attempt.epoch, AttemptStatus::Failed);
    work.status = WorkStatus::Ready;
    work.reason = Some(reason.to_owned());
    let next = consequence(work, &attempt.pin.retry, hint.and_then(asked_for));
    if !work.standing {
        work.failures = counted(work);
    }
    match next {
        Next::Open => {}
        Next::Retry(delay) => {
            work.backoff = Some(attempt.n);
            work.retry = Some(Timer { fire_at: now + delay, disabled: false });
        }
        Next::Held => work.holds.set(Hold::Exhausted),
        Next::Ended => {
            work.status = WorkStatus::Failed;
            work.holds = Holds::NONE;
        }
    }
    works::save(tx, work, now)
}

/// What follows a failure.
enum Next {
    /// Nothing of its own: the next input starts the next attempt. JOB-16
    Open,
    /// The next attempt waits for so long. RETRY-04
    Retry(Duration),
    /// A person decides. RETRY-06
    Held,
    /// The work has failed. RETRY-31
    Ended,
}

fn consequence(work: &Work, policy: &RetryPolicy, asked: Option<Duration>) -> Next {
    // Standing work has no budget, so only its executor can ask for a delay. JOB-16 JOB-27
    if work.standing {
        return asked.map_or(Next::Open, Next::Retry);
    }
    match (step(policy, counted(work)), policy.exhausted) {
        (Some(step), _) => Next::Retry(asked.unwrap_or(step)),
        (None, Exhausted::Keep) => Next::Held,
        (None, Exhausted::Fail) => Next::Ended,
    }
}

/// The failures of a work with one more. RETRY-05
const fn counted(work: &Work) -> u32 {
    work.failures.saturating_add(1)
}

/// The delay after this many failures, without jitter; `None` if they use up the budget. A policy
/// that has no step for them has no budget for them either: nothing is made up. RETRY-05 RETRY-06
/// RETRY-08 RETRY-18
fn step(policy: &RetryPolicy, failures: u32) -> Option<Duration> {
    let index = usize::try_from(failures.checked_sub(1)?).ok()?;
    policy.backoff.get(index).filter(|_| failures < policy.attempts).copied()
}

/// What a hint is worth: a valid one lies within the bound, which belongs to it. RETRY-16 RETRY-17
fn find(hint: RetryHint, bound: Duration) -> HintFinding {
    match hint {
        RetryHint::Unreadable => HintFinding::Invalid,
        RetryHint::Delay(milliseconds) => match u64::try_from(milliseconds) {
            Err(_) | Ok(0) => HintFinding::Invalid,
            Ok(delay) if delay > bound.0 => HintFinding::Excessive,
            Ok(_) => HintFinding::Valid,
        },
    }
}

fn asked_for((hint, finding): (RetryHint, HintFinding)) -> Option<Duration> {
    let RetryHint::Delay(delay) = hint else { return None };
    let delay = u64::try_from(delay).ok().map(Duration);
    delay.filter(|_| finding == HintFinding::Valid)
}

/// Accepts the due retry event of a failed attempt. The backoff stands until it is routed. RETRY-19
/// RETRY-20
pub(super) fn fire_retry(
    tx: &mut dyn Tx,
    now: Millis,
    work: WorkId,
    failed: AttemptNo,
) -> Result<Step, StoreError> {
    let Some(mut work) = works::get(tx, work)? else { return Ok(Refusal::UnknownWork.into()) };
    let Some(attempt) = attempts::get(tx, work.id, failed)? else {
        return Ok(Refusal::NoRetry.into());
    };
    let made = retry_event(now, &work, &attempt);
    let id = identity(&made.delivery);
    let hash = identities::hash(tx, &id)?;
    if let Some(seq) = identities::find(tx, hash, &id)? {
        return Ok(Outcome::Duplicate(Receipt::Event { seq }).into());
    }
    let Some(timer) = work.retry.filter(|_| work.backoff == Some(failed)) else {
        return Ok(Refusal::NoRetry.into());
    };
    if timer.disabled {
        return Ok(Refusal::FiringDisabled.into());
    }
    // What comes again first is input of the same attempt. OURS-21
    if meta::restored(tx)? {
        return Ok(Deferral::Restored.into());
    }
    if now < timer.fire_at {
        return Ok(Refusal::NotDue.into());
    }
    match accept(tx, now, &attempt, &made)? {
        Some(seq) => {
            work.retry = None;
            works::save(tx, &mut work, now)?;
            unrouted::insert(tx, seq, work.scope, None, Some(work.id), None)?;
            Ok(Step::accepted(Receipt::Event { seq }, &work))
        }
        None => disable(tx, now, work, timer),
    }
}

/// The retry event of a failed attempt: the same at every firing. RETRY-19
fn retry_event(now: Millis, work: &Work, attempt: &Attempt) -> Made {
    let role = Derived::Retry.word();
    let uid = derived_uuid(now, attempt.uid.uuid(), role, 0);
    let delivery = format!("{}/{role}", attempt.uid);
    Made {
        target: Some(work.id),
        failed: Some(attempt.n),
        payload: Some(failed_attempt(work, attempt)),
        ..Made::new(uid, delivery, Type::Core("core.retry.due"), work.scope)
    }
}

fn failed_attempt(work: &Work, attempt: &Attempt) -> String {
    format!(r#"{{"work":"{}","attempt":"{}","number":{}}}"#, work.uid, attempt.uid, attempt.n)
}

/// A child of what the failed attempt was made for. CAUSE-29
fn accept(
    tx: &mut dyn Tx,
    now: Millis,
    attempt: &Attempt,
    made: &Made,
) -> Result<Option<Seq>, StoreError> {
    let concerns = Concerns { work: Some(attempt.work), attempt: Some(attempt.n), wait: None };
    accept_derived(tx, now, Derived::Retry, attempt.trigger, made, concerns)
}

/// The chain is too long for a retry: a person lets the work go on, or cancels it. Standing work goes
/// on by itself, with its next input. CAUSE-32 JOB-16
fn disable(tx: &mut dyn Tx, now: Millis, mut work: Work, timer: Timer) -> Result<Step, StoreError> {
    if work.standing {
        work.end_backoff();
    } else {
        work.retry = Some(Timer { disabled: true, ..timer });
        work.holds.set(Hold::CausalLimit);
    }
    works::save(tx, &mut work, now)?;
    let digest = Some(work.digest());
    Ok(Step { digest, ..Refusal::DepthLimit.into() })
}

/// Lets the next attempt of failed work be claimed at once, with its failures counted anew. The
/// request is its input: it can not come after a later failure. RETRY-26 RETRY-27 RETRY-32
pub(super) fn retry(
    tx: &mut dyn Tx,
    now: Millis,
    work: WorkId,
    expect: Option<AttemptNo>,
    request: &Request,
) -> Result<Step, StoreError> {
    let hash = match requests::fresh(tx, request)? {
        Ok(hash) => hash,
        Err(answer) => return Ok(answer),
    };
    let mut work = match requests::target(tx, work, expect)? {
        Ok(work) => work,
        Err(answer) => return Ok(answer),
    };
    if work.status.is_terminal() {
        return Ok(Refusal::Terminal.into());
    }
    let (WorkStatus::Ready, Some(n), Some(AttemptStatus::Failed)) =
        (work.status, work.attempt, work.attempt_status)
    else {
        return Ok(Refusal::NothingToRetry.into());
    };
    let failed = attempts::referred(tx, work.id, n)?;
    let (kind, scope) = ("core.retry.requested", work.scope);
    let payload = failed_attempt(&work, &failed);
    let seq = requests::accept(tx, now, request, hash, kind, scope, payload)?;
    work.end_backoff();
    // Who holds it means to look into it first. OURS-06
    work.holds.lift(Hold::Exhausted);
    work.holds.lift(Hold::CausalLimit);
    work.failures = 0;
    if work.holds.is_empty() {
        work.reason = None;
    }
    ownership::first_input(tx, now, &mut work, seq)?;
    Ok(Step::accepted(Receipt::Event { seq }, &work))
}

#[cfg(test)]
mod tests;
