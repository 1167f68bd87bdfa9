//! What a segment is handed, read from one snapshot.

use serde_json::{Value, json};

use super::context::Context;
use crate::domain::{AttemptNo, Authority, Seq, StartReason, Token, WorkId, WorkUid};
use crate::extension::executor::RunRequest;
use crate::extension::request::PreviousAttempt;
use crate::ingress::cloudevents;
use crate::store::attempts::Attempt;
use crate::store::{StoreError, Tx, attempts, inputs, intents, payloads, reads, works};

/// So many events of a batch, and of the attempt before, are handed over in the request; the tool
/// door has the rest. A work that nothing started for long may have gathered any number.
pub const HANDED_MAX: u32 = 1000;

/// Bytes of data after which a page of events ends, and what a request hands over of a batch, so that
/// either is made in memory.
const PAGE_BYTES: usize = 8 << 20;

/// Everything the executor is told about the segment held by `by`; `None` if there is no such
/// attempt.
///
/// # Errors
/// The machine failed.
pub async fn request(
    context: &Context,
    by: Authority,
    token: Token,
) -> Result<Option<RunRequest>, StoreError> {
    let folders = context.works.clone();
    let socket = context.current().config.listen.tool.clone();
    context
        .read(move |tx| {
            let Some(attempt) = attempts::get(tx, by.work, by.attempt)? else { return Ok(None) };
            let work = works::referred(tx, by.work)?.uid;
            let previous = previous(tx, by.work, by.attempt, &work)?;
            let (earlier, earlier_left) = earlier(tx, by.work, previous.as_ref(), &work)?;
            let (inputs, inputs_left) = batch(tx, &attempt, &work)?;
            Ok(Some(RunRequest {
                work,
                attempt: attempt.uid,
                number: attempt.n,
                epoch: by.epoch,
                token,
                reason: attempt.reason,
                trigger: cloud_event(tx, trigger(&attempt), &work)?,
                inputs,
                inputs_left,
                previous,
                earlier,
                earlier_left,
                continuation: None,
                generation: attempt.pin.generation,
                work_dir: folders.join(work.to_string()),
                socket,
                traceparent: None,
            }))
        })
        .await
}

/// What woke a resumed segment, or else what its attempt was made for. WAKE-18
fn trigger(attempt: &Attempt) -> Seq {
    match attempt.reason {
        StartReason::Resume => attempt.woken_by.unwrap_or(attempt.trigger),
        StartReason::Start | StartReason::Next => attempt.trigger,
    }
}

/// The batch of the claim that consumed it, and how much of it is left out; a recovery hands over
/// the same. WAKE-25 WAKE-26
fn batch(
    tx: &mut dyn Tx,
    attempt: &Attempt,
    work: &WorkUid,
) -> Result<(Vec<Value>, u32), StoreError> {
    let Attempt { work: id, n, batch_epoch, .. } = *attempt;
    let (first, all) = inputs::batch_begins(tx, id, n, batch_epoch, HANDED_MAX)?;
    begins(tx, &first, all, work)
}

/// The attempt before this one: context, not input. OURS-24
fn previous(
    tx: &mut dyn Tx,
    work: WorkId,
    n: AttemptNo,
    uid: &WorkUid,
) -> Result<Option<PreviousAttempt>, StoreError> {
    let Some(number) = n.0.checked_sub(1).filter(|number| *number > 0).map(AttemptNo) else {
        return Ok(None);
    };
    let attempt = attempts::referred(tx, work, number)?;
    let first = inputs::consumed_by(tx, work, number, Seq(0), HANDED_MAX)?;
    let all = inputs::count_consumed_by(tx, work, number)?;
    let (inputs, inputs_left) = begins(tx, &first, all, uid)?;
    let interrupt_event = match attempt.interrupt_event {
        Some(seq) => cloud_event(tx, seq, uid)?,
        None => None,
    };
    Ok(Some(PreviousAttempt {
        number,
        status: attempt.status,
        interrupt_event,
        trigger: cloud_event(tx, attempt.trigger, uid)?,
        inputs,
        inputs_left,
    }))
}

/// What the failed and interrupted attempts before the last one were handed, if that failed or was
/// interrupted too. The input of what follows says only that it is a retry, or what interrupted. OURS-24
fn earlier(
    tx: &mut dyn Tx,
    work: WorkId,
    previous: Option<&PreviousAttempt>,
    uid: &WorkUid,
) -> Result<(Vec<Value>, u32), StoreError> {
    let Some(last) = previous.filter(|last| last.leaves_open()) else {
        return Ok((Vec::new(), 0));
    };
    let after = attempts::last_with_answer(tx, work, last.number)?;
    let (first, all) = inputs::consumed_between(tx, work, after, last.number, HANDED_MAX)?;
    begins(tx, &first, all, uid)
}

/// The first events of what a claim or an attempt was handed, and how many of `all` are left out.
fn begins(
    tx: &mut dyn Tx,
    first: &[Seq],
    all: u32,
    work: &WorkUid,
) -> Result<(Vec<Value>, u32), StoreError> {
    let (inputs, taken) = page(tx, first, work)?;
    let taken = u32::try_from(taken).unwrap_or(u32::MAX);
    Ok((inputs, all.saturating_sub(taken)))
}

/// As many of these events as fit in a page, at least one, and how many that are.
fn page(tx: &mut dyn Tx, seqs: &[Seq], work: &WorkUid) -> Result<(Vec<Value>, usize), StoreError> {
    let (mut events, mut bytes) = (Vec::new(), 0);
    for (taken, seq) in seqs.iter().enumerate() {
        if bytes >= PAGE_BYTES {
            return Ok((events, taken));
        }
        let Some((event, length)) = encoded(tx, *seq, work)? else { continue };
        bytes += length;
        events.push(event);
    }
    Ok((events, seqs.len()))
}

/// One event of a Work as a CloudEvent with its data.
fn cloud_event(tx: &mut dyn Tx, seq: Seq, work: &WorkUid) -> Result<Option<Value>, StoreError> {
    Ok(encoded(tx, seq, work)?.map(|(event, _)| event))
}

/// The same, and the length of its data. What a process may have been sent already says so.
/// POLICY-16
fn encoded(
    tx: &mut dyn Tx,
    seq: Seq,
    work: &WorkUid,
) -> Result<Option<(Value, usize)>, StoreError> {
    let Some(event) = reads::event(tx, seq)? else { return Ok(None) };
    let payload = payloads::get(tx, seq)?;
    let mut value = cloudevents::encode(&event.event, payload.as_deref(), Some(work));
    if let Some((attempt, status)) = intents::sent_before(tx, seq)? {
        value["repeated"] = json!({ "attempt": attempt, "status": status });
    }
    Ok(Some((value, payload.map_or(0, |payload| payload.len()))))
}

/// An event as it is offered to a running process.
///
/// # Errors
/// The machine failed, or the event is missing.
pub fn injection(tx: &mut dyn Tx, seq: Seq, work: &WorkUid) -> Result<Value, StoreError> {
    let event = reads::event(tx, seq)?
        .ok_or_else(|| StoreError::corrupt(format!("event {seq} is to be sent and missing")))?;
    let payload = payloads::get(tx, seq)?;
    Ok(cloudevents::encode(&event.event, payload.as_deref(), Some(work)))
}

/// What an attempt was handed, over all its segments: a page of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Handed {
    /// The event it was made for.
    pub trigger: Option<Value>,
    /// What it consumed, in acceptance order.
    pub inputs: Vec<Value>,
    /// Where the next page begins; `None` at the end.
    pub next: Option<Seq>,
}

/// Trigger and input of an attempt after an event; `None` if there is no such attempt.
///
/// # Errors
/// The machine failed.
pub fn handed(
    tx: &mut dyn Tx,
    work: WorkId,
    n: AttemptNo,
    after: Seq,
    limit: u32,
) -> Result<Option<Handed>, StoreError> {
    let Some(attempt) = attempts::get(tx, work, n)? else { return Ok(None) };
    let uid = works::referred(tx, work)?.uid;
    let trigger = cloud_event(tx, attempt.trigger, &uid)?;
    let mut seqs = inputs::consumed_by(tx, work, n, after, limit.saturating_add(1))?;
    let more = seqs.len() > limit as usize;
    seqs.truncate(limit as usize);
    let (inputs, taken) = page(tx, &seqs, &uid)?;
    let next = (more || taken < seqs.len())
        .then(|| taken.checked_sub(1).and_then(|last| seqs.get(last)).copied().unwrap_or(after));
    Ok(Some(Handed { trigger, inputs, next }))
}
