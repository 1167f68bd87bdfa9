//! What a person may do to an event: drop one that is not routed, replay one that is.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};

use super::once::Acting;
use super::{acts, body, events, ids};
use crate::api::accept;
use crate::api::extract::Named;
use crate::api::problem::{ApiError, settled};
use crate::api::types::{AcceptedEvent, DropRequest, EventRow};
use crate::command::{Command, Receipt};
use crate::domain::Seq;
use crate::host::Context;

/// Marks an unrouted event so that nothing ever starts from it. OURS-07
pub(super) async fn drop(
    State(context): State<Arc<Context>>,
    Extension(acting): Extension<Acting>,
    Named(id): Named,
    body: Bytes,
) -> Result<Json<EventRow>, ApiError> {
    let command = async {
        let DropRequest { reason } = body::parse(&body, "no request to drop an event")?;
        if reason.trim().is_empty() {
            return Err(ApiError::malformed("a dropped event needs a reason")
                .next("say why in `reason`: nothing else will tell"));
        }
        let reason = acting.says(&reason)?;
        Ok(Command::Drop { event: event(&context, id).await?, reason })
    };
    let (receipt, _) = settled(acting.perform_one(&context, command).await?)?;
    let Receipt::Routed { event, .. } = receipt else { return Err(other(&receipt)) };
    events::row(&context, event).await.map(Json)
}

/// Accepts a routed event once more, as a child of the original. OURS-08
pub(super) async fn replay(
    State(context): State<Arc<Context>>,
    Extension(acting): Extension<Acting>,
    Named(id): Named,
    body: Bytes,
) -> Result<(StatusCode, Json<AcceptedEvent>), ApiError> {
    let command = async {
        let NoWords {} = body::parse_any(&body, "no request to replay an event")?;
        let event = event(&context, id).await?;
        let scope = events::row(&context, event).await?.scope;
        let request = acting.request(acts::limits(&context, &scope));
        Ok(Command::Replay { event, request })
    };
    let outcome = acting.perform_one(&context, command).await?;
    let mut kept = accept::answers(&context, vec![outcome], &[]).await?;
    let kept = kept.pop().ok_or_else(ApiError::unavailable)?;
    let status = if kept.duplicate { StatusCode::OK } else { StatusCode::CREATED };
    Ok((status, Json(kept)))
}

/// A body that says nothing: `{}`.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct NoWords {}

async fn event(context: &Arc<Context>, id: String) -> Result<Seq, ApiError> {
    context.read(move |tx| ids::event(tx, &id)).await?
}

fn other(receipt: &Receipt) -> ApiError {
    tracing::error!(?receipt, "a drop was answered with another receipt");
    ApiError::unavailable()
}
