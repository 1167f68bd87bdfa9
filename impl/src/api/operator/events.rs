//! Events, chains and the journal, as they are kept.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use serde_json::Value;

use super::ids::{self, Place};
use super::rows;
use crate::api::extract::{Asked, Named};
use crate::api::problem::ApiError;
use crate::api::types::{Chain, EventDetail, EventRow, Page};
use crate::command::Refusal;
use crate::domain::{MarkKind, Seq};
use crate::host::Context;
use crate::store::journal::JournalRow;
use crate::store::pages::{self, EventFilter, Marked};
use crate::store::{StoreError, intents, journal, payloads};

/// The most of a chain that is shown; a chain is no longer than its root allows it to be deep, but
/// it may be wide.
const CHAIN_MAX: u32 = 1000;

#[derive(Debug, Deserialize)]
pub(super) struct Filter {
    #[serde(rename = "type")]
    event_type: Option<String>,
    key: Option<String>,
    mark: Option<String>,
}

pub(super) async fn list(
    State(context): State<Arc<Context>>,
    Asked(place): Asked<Place>,
    Asked(filter): Asked<Filter>,
) -> Result<Json<Page<EventRow>>, ApiError> {
    let mark = filter.mark.as_deref().map(marked).transpose()?;
    let filter = EventFilter { event_type: filter.event_type, key: filter.key, mark };
    let (after, limit) = (Seq(place.after()), place.limit());
    let found = context.read(move |tx| pages::events(tx, &filter, after, limit)).await?;
    let last = found.last().map(|row| row.event.seq.0);
    Ok(Json(rows::page(found.into_iter().map(rows::event).collect(), limit, last)))
}

fn marked(text: &str) -> Result<Marked, ApiError> {
    if text == "unrouted" {
        return Ok(Marked::Unrouted);
    }
    serde_json::from_value::<MarkKind>(Value::from(text)).map(Marked::As).map_err(|_| {
        let title = format!("there is no mark `{}`", text.escape_debug());
        ApiError::malformed(title).next(
            "use queued, inject, interrupt, woke, unmatched, drop, close, terminal, operator_drop, replay_suspect, \
                   release, continuation, or unrouted for none yet",
        )
    })
}

pub(super) async fn show(
    State(context): State<Arc<Context>>,
    Named(id): Named,
) -> Result<Json<EventDetail>, ApiError> {
    let found = context.read(move |tx| {
        let seq = match ids::event(tx, &id)? {
            Ok(seq) => seq,
            Err(error) => return Ok(Err(error)),
        };
        let row = pages::event(tx, seq)?.ok_or_else(|| missing(seq))?;
        Ok(Ok((row, payloads::get(tx, seq)?, intents::get(tx, seq)?)))
    });
    let (row, payload, intent) = found.await??;
    let uid = row.event.uid;
    Ok(Json(EventDetail {
        event: rows::event(row),
        data: rows::data(payload),
        intent: intent.map(|intent| rows::intent((intent, uid))),
    }))
}

/// One event, as it is now.
pub(super) async fn row(context: &Arc<Context>, seq: Seq) -> Result<EventRow, ApiError> {
    let found = context.read(move |tx| pages::event(tx, seq)).await?;
    found.map(rows::event).ok_or_else(|| Refusal::UnknownEvent.into())
}

pub(super) async fn chain(
    State(context): State<Arc<Context>>,
    Named(id): Named,
) -> Result<Json<Chain>, ApiError> {
    let found = context.read(move |tx| {
        let seq = match ids::event(tx, &id)? {
            Ok(seq) => seq,
            Err(error) => return Ok(Err(error)),
        };
        let root = pages::event(tx, seq)?.ok_or_else(|| missing(seq))?.event.root;
        let events = pages::chain(tx, root, CHAIN_MAX)?;
        Ok(Ok((events, pages::rejections(tx, root, CHAIN_MAX)?)))
    });
    let (events, rejections) = found.await??;
    Ok(Json(Chain {
        events: events.into_iter().map(rows::event).collect(),
        rejections: rejections.iter().map(rows::rejection).collect(),
    }))
}

pub(super) async fn journal(
    State(context): State<Arc<Context>>,
    Asked(place): Asked<Place>,
) -> Result<Json<Page<JournalRow>>, ApiError> {
    let limit = place.limit();
    let found = context.read(move |tx| journal::since(tx, place.after(), limit)).await?;
    let last = found.last().map(|row| row.n);
    Ok(Json(rows::page(found, limit, last)))
}

fn missing(seq: Seq) -> StoreError {
    StoreError::corrupt(format!("event {seq} is found by its id and missing"))
}
