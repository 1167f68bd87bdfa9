//! Holds: a person keeps work from starting, and lets it go. OURS-06 WAKE-24

use crate::command::{Outcome, Receipt, Refusal};
use crate::domain::{AttemptNo, Hold, Holds, MarkKind, Millis, Request, Seq, WorkId};
use crate::store::marks::{self, Mark};
use crate::store::works::{self, Work};
use crate::store::{StoreError, Tx, generations};

use super::{Step, ownership, requests};

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
    if work.holds.has(Hold::CausalLimit) {
        work.next_parent = Some(seq);
    }
    work.holds = Holds::NONE;
    work.reason = None;
    if work.retry.is_some_and(|timer| timer.disabled) {
        // Nothing else would start the retry. CAUSE-32
        work.end_backoff();
        ownership::first_input(tx, now, &mut work, seq)?;
    } else {
        note(tx, now, &work, seq)?;
        works::save(tx, &mut work, now)?;
    }
    Ok(Step::accepted(Receipt::Event { seq }, &work))
}

/// Marks a release that is no input.
fn note(tx: &mut dyn Tx, at: Millis, work: &Work, event: Seq) -> Result<(), StoreError> {
    let (kind, generation) = (MarkKind::Release, generations::current_no(tx)?);
    let (work, wait, route, reason) = (Some(work.id), None, None, None);
    marks::insert(tx, &Mark { event, kind, work, wait, route, reason, asked: None, generation, at })
}

#[cfg(test)]
mod tests;
