//! Intents: what is to reach a running attempt is durable before anything is sent, and no answer to
//! a send proves that it was taken in. POLICY-12 POLICY-13 INJECT-08

use std::collections::BTreeSet;

use crate::command::{Outcome, Receipt, Refusal};
use crate::domain::{
    AttemptNo, AttemptStatus, Authority, ControlPolicy, EventUid, Fallback, IntentKind,
    IntentStatus, MarkKind, Millis, Phase, Request, SendAnswer, Seq, WorkId, WorkStatus,
};
use crate::store::attempts::{self, Attempt};
use crate::store::intents::{self, Intent, NewRow};
use crate::store::marks::{self, Mark};
use crate::store::works::{self, Work};
use crate::store::{StoreError, Tx, generations, inputs};

use super::authority::{self, Held};
use super::{Step, requests};

/// Events that one result can prove. A list beyond it is cut, which only repeats input.
const PROOFS_MAX: usize = 4_096;

/// Says that a send is tried now. The executor is called once this has committed. POLICY-12
/// INJECT-21
pub(super) fn dispatch(
    tx: &mut dyn Tx,
    now: Millis,
    by: &Authority,
    event: Seq,
) -> Result<Step, StoreError> {
    let held = match authority::check(tx, now, by)? {
        Ok(held) => held,
        Err(refused) => return Ok(refused),
    };
    dispatch_held(tx, now, &held, event).map(|step| step.under(Some(held.expires_at)))
}

fn dispatch_held(
    tx: &mut dyn Tx,
    now: Millis,
    held: &Held,
    event: Seq,
) -> Result<Step, StoreError> {
    let Some(mut intent) = intents::of(tx, held.work.id, event)? else {
        return Ok(Refusal::UnknownIntent.into());
    };
    // Never carried over to another attempt. POLICY-23 INJECT-24
    if intent.status == IntentStatus::Stale || intent.attempt != held.attempt.n {
        return Ok(Refusal::StaleIntent.into());
    }
    if !intent.status.is_open() {
        return Ok(Refusal::IntentSettled.into());
    }
    if held.attempt.phase != Some(Phase::Pinned) {
        return Ok(Refusal::NotRunning.into());
    }
    if intent.status == IntentStatus::Dispatched {
        return Ok(Outcome::Duplicate(receipt(&intent)).into());
    }
    intents::dispatch(tx, event, now)?;
    intent.status = IntentStatus::Dispatched;
    Ok(Step::accepted(receipt(&intent), &held.work))
}

const fn receipt(intent: &Intent) -> Receipt {
    let Intent { event, work, attempt, kind, status, .. } = *intent;
    Receipt::Intent { event, work, attempt, kind, status }
}

/// Commits what an executor answered. What is settled or stale answers whoever asks, so that a late
/// answer is a repetition and no mistake. INJECT-19 INJECT-20
pub(super) fn settle_dispatch(
    tx: &mut dyn Tx,
    now: Millis,
    by: &Authority,
    event: Seq,
    answer: SendAnswer,
    detail: &str,
) -> Result<Step, StoreError> {
    let Some(intent) = intents::of(tx, by.work, event)? else {
        return Ok(Refusal::UnknownIntent.into());
    };
    if !intent.status.is_open() {
        return Ok(Outcome::Duplicate(receipt(&intent)).into());
    }
    let held = match authority::check(tx, now, by)? {
        Ok(held) => held,
        Err(refused) => return Ok(refused),
    };
    let lease = Some(held.expires_at);
    if intent.status == IntentStatus::Committed {
        return Ok(Step::from(Refusal::NotDispatched).under(lease));
    }
    if held.attempt.phase != Some(Phase::Pinned) {
        return Ok(Step::from(Refusal::NotRunning).under(lease));
    }
    let sent = Sent { now, intent, detail };
    let step = match (sent.intent.kind, answer) {
        (IntentKind::Inject, SendAnswer::Accepted) => {
            sent.settle(tx, held.work, IntentStatus::Accepted)
        }
        (IntentKind::Inject, SendAnswer::NotAccepting) => {
            sent.settle(tx, held.work, IntentStatus::NotAccepting)
        }
        (IntentKind::Interrupt, SendAnswer::Accepted) => sent.fence(tx, held),
        (IntentKind::Inject, SendAnswer::Failed)
        | (IntentKind::Interrupt, SendAnswer::NotAccepting | SendAnswer::Failed) => {
            sent.fail(tx, held.work)
        }
    };
    step.map(|step| step.under(lease))
}

/// A dispatched intent whose answer came.
struct Sent<'a> {
    now: Millis,
    intent: Intent,
    detail: &'a str,
}

impl Sent<'_> {
    /// No answer of an executor touches the input. INJECT-01 INJECT-04 INJECT-06
    fn settle(
        self,
        tx: &mut dyn Tx,
        mut work: Work,
        status: IntentStatus,
    ) -> Result<Step, StoreError> {
        let intent = self.close(tx, &mut work, status)?;
        works::save(tx, &mut work, self.now)?;
        Ok(Step::accepted(receipt(&intent), &work))
    }

    fn close(
        &self,
        tx: &mut dyn Tx,
        work: &mut Work,
        status: IntentStatus,
    ) -> Result<Intent, StoreError> {
        intents::settle(tx, self.intent.event, status, self.now, self.detail)?;
        closed(work)?;
        Ok(Intent { status, ..self.intent.clone() })
    }

    /// The control failed, or nobody knows: the route's error fallback stands in, and without one it
    /// is sent again. Nothing else is invented. INJECT-03 INJECT-07 POLICY-33
    fn fail(self, tx: &mut dyn Tx, mut work: Work) -> Result<Step, StoreError> {
        let Some(fallback) = self.intent.on_error else {
            intents::send_again(tx, self.intent.event, self.detail)?;
            return Ok(Step::accepted(receipt(&self.intent), &work));
        };
        match fallback {
            Fallback::Queue => {}
            Fallback::Drop => withdraw(tx, &mut work, self.intent.event)?,
        }
        self.settle(tx, work, IntentStatus::FellBack)
    }

    /// Ends the attempt and nothing else: its process is stopped afterwards, from the exclusion mark
    /// alone, and all its work has pending waits for that. It is no failure. POLICY-20 POLICY-21
    /// POLICY-22 CTRL-09
    fn fence(self, tx: &mut dyn Tx, held: Held) -> Result<Step, StoreError> {
        let Held { mut work, mut attempt, .. } = held;
        let intent = self.close(tx, &mut work, IntentStatus::Fenced)?;
        work.marked = Some(attempt.segment());
        attempt.leave(AttemptStatus::Cancelled, self.now);
        attempt.ended_at = Some(self.now);
        attempt.interrupt_event = Some(intent.event);
        attempts::save(tx, &attempt, attempt.epoch)?;
        work.attempt_is(attempt.n, attempt.epoch, AttemptStatus::Cancelled);
        work.status = WorkStatus::Ready;
        end(tx, self.now, &mut work)?;
        works::save(tx, &mut work, self.now)?;
        Ok(Step::accepted(receipt(&intent), &work))
    }
}

fn withdraw(tx: &mut dyn Tx, work: &mut Work, event: Seq) -> Result<(), StoreError> {
    if !inputs::withdraw(tx, work.id, event)? {
        return Err(StoreError::corrupt(format!(
            "event {event} has an open intent and is no pending input of work {}",
            work.id
        )));
    }
    work.take_pending(event);
    Ok(())
}

/// Notes that one of the open intents is open no more.
fn closed(work: &mut Work) -> Result<(), StoreError> {
    let Some(left) = work.open_intents.checked_sub(1) else {
        return Err(StoreError::corrupt(format!("work {} counts no open intent", work.id)));
    };
    work.open_intents = left;
    Ok(())
}

/// What was to reach an attempt that parks or ends is stale, whatever ended it; the caller saves the
/// work. Their input stays pending. POLICY-23 INJECT-23
pub(super) fn end(tx: &mut dyn Tx, now: Millis, work: &mut Work) -> Result<(), StoreError> {
    if work.open_intents == 0 {
        return Ok(());
    }
    let stale = intents::make_stale(tx, work.id, now)?;
    if u32::try_from(stale) != Ok(work.open_intents) {
        return Err(StoreError::corrupt(format!(
            "work {} counts {} open intents and has {stale}",
            work.id, work.open_intents
        )));
    }
    work.open_intents = 0;
    Ok(())
}

/// Commits an intent for the running attempt of a work; the caller saves the work. POLICY-12
pub(super) fn commit(
    tx: &mut dyn Tx,
    now: Millis,
    work: &mut Work,
    event: Seq,
    kind: IntentKind,
    on_error: Option<Fallback>,
) -> Result<(), StoreError> {
    let (Some(attempt), Some(epoch)) = (work.attempt, work.epoch) else {
        return Err(StoreError::corrupt(format!("work {} is running without an attempt", work.id)));
    };
    let work_id = work.id;
    intents::insert(tx, &NewRow { event, work: work_id, attempt, epoch, kind, on_error, now })?;
    work.open_intents = work.open_intents.saturating_add(1);
    Ok(())
}

/// Whether the pin an attempt was claimed with has a control. BIND-10 POLICY-26
pub(super) const fn supports(attempt: &Attempt, policy: ControlPolicy) -> bool {
    match policy {
        ControlPolicy::Queue | ControlPolicy::Drop => true,
        ControlPolicy::Inject => attempt.pin.injects,
        ControlPolicy::Interrupt => attempt.pin.interrupts,
    }
}

/// Asks for the running attempt to be stopped, whatever a route says; the request is no input. CTRL-01
/// CTRL-02 CTRL-04 CTRL-07
pub(super) fn interrupt(
    tx: &mut dyn Tx,
    now: Millis,
    work: WorkId,
    expect: Option<AttemptNo>,
    request: &Request,
    implemented: bool,
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
    let (Some(n), Some(AttemptStatus::Running)) = (work.attempt, work.attempt_status) else {
        return Ok(Refusal::NothingToInterrupt.into());
    };
    let attempt = attempts::referred(tx, work.id, n)?;
    // The pin says what was so then; the caller says what is so now. CTRL-05 CTRL-06
    if !supports(&attempt, ControlPolicy::Interrupt) || !implemented {
        return Ok(Refusal::NotInterruptible.into());
    }
    let payload = format!(r#"{{"work":"{}","attempt":"{}","number":{n}}}"#, work.uid, attempt.uid);
    let seq = requests::accept(tx, now, request, hash, MANUAL, work.scope, payload)?;
    let (kind, generation) = (MarkKind::Interrupt, generations::current_no(tx)?);
    let work_id = Some(work.id);
    let (wait, route, reason, asked, at) = (None, None, None, None, now);
    let mark = Mark { event: seq, kind, work: work_id, wait, route, reason, asked, generation, at };
    marks::insert(tx, &mark)?;
    // An operator's interrupt is tried until it is known. CTRL-08
    commit(tx, now, &mut work, seq, IntentKind::Interrupt, None)?;
    works::save(tx, &mut work, now)?;
    Ok(Step::accepted(Receipt::Event { seq }, &work))
}

/// The type of an operator's request to interrupt. CTRL-02
const MANUAL: &str = "core.manual.interrupt";

/// What a result says beside its ending.
pub(super) struct Reported<'a> {
    pub(super) proofs: &'a [EventUid],
    pub(super) usage: Option<&'a str>,
}

/// What the proofs of a result are worth.
#[derive(Default)]
pub(super) struct Proofs {
    /// Events that were named, whether they are proofs or not.
    pub(super) named: Vec<Seq>,
    /// Those of them whose consumption is proved, and whether their intent is still open.
    proved: Vec<(Seq, bool)>,
}

impl Proofs {
    /// Input of the work that is pending once they are counted. DONE-07
    pub(super) fn leave(&self, work: &Work) -> u32 {
        let proved = u32::try_from(self.proved.len()).unwrap_or(u32::MAX);
        work.pending_count.saturating_sub(proved)
    }
}

/// Looks up what a result names. What proves nothing costs the result nothing. INJECT-11 to INJECT-16
pub(super) fn weigh(
    tx: &mut dyn Tx,
    held: &Held,
    reported: &Reported<'_>,
) -> Result<Proofs, StoreError> {
    let mut proofs = Proofs::default();
    let mut seen = BTreeSet::new();
    for uid in reported.proofs.iter().take(PROOFS_MAX) {
        let Some(named) = intents::named(tx, held.work.id, *uid)? else { continue };
        if !seen.insert(named.event) {
            continue;
        }
        proofs.named.push(named.event);
        if let Some((attempt, status)) = named.pending
            && attempt == held.attempt.n
            && provable(status)
        {
            proofs.proved.push((named.event, status.is_open()));
        }
    }
    Ok(proofs)
}

/// Whether a send was tried, and nothing said that it certainly did not arrive. INJECT-12 INJECT-13
/// INJECT-14 INJECT-18
const fn provable(status: IntentStatus) -> bool {
    match status {
        IntentStatus::Dispatched | IntentStatus::Accepted | IntentStatus::FellBack => true,
        IntentStatus::Committed
        | IntentStatus::NotAccepting
        | IntentStatus::Fenced
        | IntentStatus::Consumed
        | IntentStatus::Stale => false,
    }
}

/// Moves what was proved out of pending, and notes what was used; the caller saves both. INJECT-09
/// INJECT-17
pub(super) fn take_in(
    tx: &mut dyn Tx,
    now: Millis,
    work: &mut Work,
    attempt: &mut Attempt,
    proofs: &Proofs,
    reported: &Reported<'_>,
) -> Result<(), StoreError> {
    for &(event, open) in &proofs.proved {
        intents::consume(tx, event, now)?;
        if !inputs::prove(tx, work.id, event, attempt.segment())? {
            return Err(StoreError::corrupt(format!(
                "event {event} left the pending input of work {} inside its own transaction",
                work.id
            )));
        }
        work.take_pending(event);
        if open {
            closed(work)?;
        }
    }
    if let Some(usage) = reported.usage {
        attempt.usage = Some(usage.to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests;
