//! Timers, holds and refused derived events.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;

use super::ids::Place;
use super::rows;
use crate::api::extract::Asked;
use crate::api::problem::ApiError;
use crate::api::types::{HoldRow, Page, RejectionRow, RestoreRow, TimerRow};
use crate::domain::{WaitId, WorkId};
use crate::host::Context;
use crate::store::words::Word as _;
use crate::store::{listed, meta};

/// Timers of waits, in the order they were registered.
pub(super) async fn timers(
    State(context): State<Arc<Context>>,
    Asked(place): Asked<Place>,
) -> Result<Json<Page<TimerRow>>, ApiError> {
    let (after, limit) = (WaitId(place.after()), place.limit());
    let found = context.read(move |tx| listed::timers(tx, after, limit)).await?;
    let last = found.last().map(|timer| timer.id.0);
    let row = |timer: listed::ListedTimer| TimerRow {
        kind: "wait".to_owned(),
        work: timer.work.to_string(),
        wait: Some(timer.wait.to_string()),
        attempt: None,
        due: timer.fire_at.to_string(),
        disabled: timer.disabled,
    };
    Ok(Json(rows::page(found.into_iter().map(row).collect(), limit, last)))
}

/// Works that would be closed, should nothing come.
pub(super) async fn idle(
    State(context): State<Arc<Context>>,
    Asked(place): Asked<Place>,
) -> Result<Json<Page<TimerRow>>, ApiError> {
    let (after, limit) = (WorkId(place.after()), place.limit());
    let found = context.read(move |tx| listed::idle(tx, after, limit)).await?;
    let last = found.last().map(|(id, _, _)| id.0);
    let items = found.into_iter().map(|(_, work, due)| TimerRow {
        kind: "idle".to_owned(),
        work: work.to_string(),
        wait: None,
        attempt: None,
        due: due.to_string(),
        disabled: false,
    });
    Ok(Json(rows::page(items.collect(), limit, last)))
}

/// Retries that are armed, in the order of their Works. RETRY-19
pub(super) async fn retries(
    State(context): State<Arc<Context>>,
    Asked(place): Asked<Place>,
) -> Result<Json<Page<TimerRow>>, ApiError> {
    let (after, limit) = (WorkId(place.after()), place.limit());
    let found = context.read(move |tx| listed::retries(tx, after, limit)).await?;
    let last = found.last().map(|retry| retry.id.0);
    let items = found.into_iter().map(|retry| TimerRow {
        kind: "retry".to_owned(),
        work: retry.work.to_string(),
        wait: None,
        attempt: Some(retry.attempt.0),
        due: retry.fire_at.to_string(),
        disabled: retry.disabled,
    });
    Ok(Json(rows::page(items.collect(), limit, last)))
}

/// Whether the restore hold stands. OURS-21
pub(super) async fn restored(
    State(context): State<Arc<Context>>,
) -> Result<Json<RestoreRow>, ApiError> {
    Ok(Json(restore_row(&context).await?))
}

pub(super) async fn restore_row(context: &Context) -> Result<RestoreRow, ApiError> {
    let found = context.read(|tx| Ok((meta::restored(tx)?, meta::incarnation(tx)?))).await?;
    let (held, incarnation) = found;
    Ok(RestoreRow { held, incarnation: incarnation.0 })
}

pub(super) async fn holds(
    State(context): State<Arc<Context>>,
    Asked(place): Asked<Place>,
) -> Result<Json<Page<HoldRow>>, ApiError> {
    let (after, limit) = (WorkId(place.after()), place.limit());
    let found = context.read(move |tx| listed::holds(tx, after, limit)).await?;
    let last = found.last().map(|held| held.id.0);
    let row = |held: listed::ListedHold| HoldRow {
        work: held.work.to_string(),
        attempts: held.attempts,
        status: held.status,
        holds: held.holds.iter().collect(),
        reason: held.reason.filter(|reason| !reason.is_empty()),
        kind: held.kind,
        scope: held.scope,
    };
    Ok(Json(rows::page(found.into_iter().map(row).collect(), limit, last)))
}

pub(super) async fn rejections(
    State(context): State<Arc<Context>>,
    Asked(place): Asked<Place>,
) -> Result<Json<Page<RejectionRow>>, ApiError> {
    let (after, limit) = (place.after(), place.limit());
    let found = context.read(move |tx| listed::rejections(tx, after, limit)).await?;
    let last = found.last().map(|row| row.id);
    let row = |row: listed::ListedRejection| RejectionRow {
        delivery: row.delivery,
        kind: row.kind.word().to_owned(),
        parent: row.parent.to_string(),
        reason: row.reason,
        depth: row.depth,
        at: row.at.to_string(),
    };
    Ok(Json(rows::page(found.into_iter().map(row).collect(), limit, last)))
}
