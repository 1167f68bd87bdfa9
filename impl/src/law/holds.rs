//! Holds: a person keeps work from starting, and lets it go. OURS-06 WAKE-24

use crate::command::{Outcome, Receipt, Refusal};
use crate::domain::{AttemptNo, Hold, Holds, MarkKind, Millis, Request, WorkId};
use crate::store::marks::{self, Mark};
use crate::store::{StoreError, Tx, generations, works};

use super::{Step, requests};

/// Lets no attempt of the work start; attempt, wait and input stay as they are. OURS-06
pub(super) fn hold(
    tx: &mut dyn Tx,
    now: Millis,
    work: WorkId,
    expect: Option<AttemptNo>,
    reason: &str,
) -> Result<Step, StoreError> {
    let mut work = match requests::target(tx, work, expect)? {
        Ok(work) => work,
        Err(answer) => return Ok(answer),
    };
    if work.status.is_terminal() {
        return Ok(Refusal::Terminal.into());
    }
    let receipt = Receipt::Held { work: work.id };
    if work.holds.has(Hold::Operator) {
        return Ok(Outcome::Duplicate(receipt).into());
    }
    work.holds.set(Hold::Operator);
    work.reason = Some(reason.to_owned());
    works::save(tx, &mut work, now)?;
    Ok(Step::accepted(receipt, &work))
}

/// Lifts every hold. A wake whose continuation was refused goes on from the release. WAKE-24
pub(super) fn release(
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
    if work.holds.is_empty() {
        return Ok(Refusal::NotHeld.into());
    }
    let payload = format!(r#"{{"work":"{}"}}"#, work.uid);
    let (kind, scope) = ("core.work.released", work.scope);
    let seq = requests::accept(tx, now, request, hash, kind, scope, payload)?;
    let (kind, generation) = (MarkKind::Release, generations::current_no(tx)?);
    let associated = Some(work.id);
    let (wait, route, reason) = (None, None, None);
    let mark =
        Mark { event: seq, kind, work: associated, wait, route, reason, generation, at: now };
    marks::insert(tx, &mark)?;
    if work.holds.has(Hold::CausalLimit) {
        work.next_parent = Some(seq);
    }
    work.holds = Holds::NONE;
    work.reason = None;
    works::save(tx, &mut work, now)?;
    Ok(Step::accepted(Receipt::Event { seq }, &work))
}

#[cfg(test)]
mod tests;
