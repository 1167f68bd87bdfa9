//! Offers events to the law and says what became of them; both doors that take events do it so.

use std::sync::Arc;

use type_safe_id::TypeSafeId;
use uuid::Uuid;

use super::problem::{ApiError, settled};
use super::types::AcceptedEvent;
use crate::command::{Command, Outcome, Receipt};
use crate::domain::{Actor, EventUid, NewEvent, Seq};
use crate::host::Context;
use crate::store::events;

/// An id for an event that is offered.
#[must_use]
pub fn mint() -> EventUid {
    TypeSafeId::from_uuid(Uuid::now_v7())
}

/// Offers every event, in order and in one commit; each answer is durable. INGRESS-01
///
/// # Errors
/// Nothing can be committed; or one of them is refused, and then the others are kept all the same:
/// offering them again answers duplicates.
pub async fn all(
    context: &Arc<Context>,
    actor: Actor,
    offered: Vec<NewEvent>,
) -> Result<Vec<AcceptedEvent>, ApiError> {
    if !context.can_commit() {
        return Err(ApiError::unavailable());
    }
    let uids: Vec<EventUid> = offered.iter().map(|event| event.uid).collect();
    let accept = |event| (actor.clone(), Command::Accept { event: Box::new(event) });
    let outcomes = context.writer.apply_all(offered.into_iter().map(accept).collect()).await?;
    answers(context, outcomes, &uids).await
}

/// What became of offered events; `uids` are those they were offered with, as far as they are known.
///
/// # Errors
/// One of them is refused; the others are kept all the same.
pub async fn answers(
    context: &Arc<Context>,
    outcomes: Vec<Outcome>,
    uids: &[EventUid],
) -> Result<Vec<AcceptedEvent>, ApiError> {
    let batch = outcomes.len() > 1;
    let mut kept = Vec::with_capacity(outcomes.len());
    for (at, outcome) in outcomes.into_iter().enumerate() {
        let settled = settled(outcome).map_err(|error| in_batch(error, at, batch))?;
        kept.push(answer(context, uids.get(at).copied(), settled).await?);
    }
    Ok(kept)
}

fn in_batch(error: ApiError, at: usize, batch: bool) -> ApiError {
    if !batch {
        return error;
    }
    error.of_item(at + 1)
}

async fn answer(
    context: &Context,
    uid: Option<EventUid>,
    (receipt, duplicate): (Receipt, bool),
) -> Result<AcceptedEvent, ApiError> {
    let Receipt::Event { seq } = receipt else {
        tracing::error!(?receipt, "an acceptance was answered with another receipt");
        return Err(ApiError::unavailable());
    };
    let uid = match uid.filter(|_| !duplicate) {
        Some(uid) => uid,
        None => original(context, seq).await?,
    };
    Ok(AcceptedEvent { id: uid.to_string(), seq: seq.0, duplicate })
}

/// The id of the event that was kept first. INGRESS-05
async fn original(context: &Context, seq: Seq) -> Result<EventUid, ApiError> {
    let found = context.read(move |tx| events::get(tx, seq)).await?;
    found.map(|event| event.uid).ok_or_else(ApiError::unavailable)
}
