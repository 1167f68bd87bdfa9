//! What a segment is handed, read from one snapshot.

use serde_json::Value;

use super::context::Context;
use crate::domain::{AttemptNo, Authority, Epoch, Seq, StartReason, Token, WorkId, WorkUid};
use crate::extension::executor::RunRequest;
use crate::extension::request::PreviousAttempt;
use crate::ingress::cloudevents;
use crate::store::attempts::Attempt;
use crate::store::{StoreError, Tx, attempts, inputs, payloads, reads, works};

/// More than any attempt holds: a batch is handed over whole or not at all.
const ALL: u32 = u32::MAX;

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
    let socket = context.config.listen.tool.clone();
    context
        .read(move |tx| {
            let Some(attempt) = attempts::get(tx, by.work, by.attempt)? else { return Ok(None) };
            let work = works::referred(tx, by.work)?.uid;
            let previous = previous(tx, by.work, by.attempt, &work)?;
            Ok(Some(RunRequest {
                work,
                attempt: attempt.uid,
                number: attempt.n,
                epoch: by.epoch,
                token,
                reason: attempt.reason,
                trigger: cloud_event(tx, trigger(&attempt), &work)?,
                inputs: batch(tx, &attempt, &work)?,
                previous,
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

/// The batch of the claim that consumed it; a recovery hands over the same. WAKE-25 WAKE-26
fn batch(tx: &mut dyn Tx, attempt: &Attempt, work: &WorkUid) -> Result<Vec<Value>, StoreError> {
    let batch = inputs::batch(tx, attempt.work, attempt.n, attempt.batch_epoch)?;
    cloud_events(tx, &batch, work)
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
    Ok(Some(PreviousAttempt {
        number,
        status: attempt.status,
        trigger: cloud_event(tx, attempt.trigger, uid)?,
        inputs: consumed_by(tx, work, number, uid)?,
    }))
}

/// Everything an attempt was handed, over all its segments, in acceptance order.
fn consumed_by(
    tx: &mut dyn Tx,
    work: WorkId,
    n: AttemptNo,
    uid: &WorkUid,
) -> Result<Vec<Value>, StoreError> {
    let of_attempt = |consumed: Option<(AttemptNo, Epoch)>| consumed.is_some_and(|by| by.0 == n);
    let all = inputs::of_work(tx, work, Seq(0), ALL)?;
    let seqs: Vec<Seq> = all
        .into_iter()
        .filter(|input| of_attempt(input.consumed))
        .map(|input| input.event)
        .collect();
    cloud_events(tx, &seqs, uid)
}

fn cloud_events(tx: &mut dyn Tx, seqs: &[Seq], work: &WorkUid) -> Result<Vec<Value>, StoreError> {
    let mut events = Vec::with_capacity(seqs.len());
    for seq in seqs {
        events.extend(cloud_event(tx, *seq, work)?);
    }
    Ok(events)
}

/// One event of a Work as a CloudEvent with its data.
fn cloud_event(tx: &mut dyn Tx, seq: Seq, work: &WorkUid) -> Result<Option<Value>, StoreError> {
    let Some(event) = reads::event(tx, seq)? else { return Ok(None) };
    let payload = payloads::get(tx, seq)?;
    Ok(Some(cloudevents::encode(&event.event, payload.as_deref(), Some(work))))
}

/// What an attempt was handed, over all its segments.
#[derive(Debug, Clone, PartialEq)]
pub struct Handed {
    /// The event it was made for.
    pub trigger: Option<Value>,
    /// Everything it consumed, in acceptance order.
    pub inputs: Vec<Value>,
}

/// Trigger and input of an attempt; `None` if there is no such attempt.
///
/// # Errors
/// The machine failed.
pub fn handed(tx: &mut dyn Tx, work: WorkId, n: AttemptNo) -> Result<Option<Handed>, StoreError> {
    let Some(attempt) = attempts::get(tx, work, n)? else { return Ok(None) };
    let uid = works::referred(tx, work)?.uid;
    let trigger = cloud_event(tx, attempt.trigger, &uid)?;
    Ok(Some(Handed { trigger, inputs: consumed_by(tx, work, n, &uid)? }))
}
