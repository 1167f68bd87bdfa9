//! Works with their attempts and waits, and what a person may do to one.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::ids::{self, Place, Sought};
use super::rows;
use crate::api::extract::{Asked, Named};
use crate::api::problem::ApiError;
use crate::api::types::{Page, WaitRow, WorkDetail, WorkRow};
use crate::command::Refusal;
use crate::domain::{AttemptNo, EventUid, Seq, WaitId, WaitStatus, WorkId, WorkStatus};
use crate::host::Context;
use crate::store::attempts::Attempt;
use crate::store::intents::Intent;
use crate::store::listed::{self, ListedSubscription, Relatives};
use crate::store::reads::ListedWait;
use crate::store::{StoreError, Tx, attempts, events, inputs, intents, pages, reads, waits};

/// How much of one Work is shown: its newest attempts and waits, and its first pending input. The
/// rest is in `/events` and the journal.
const SHOWN: u32 = 1000;

/// Consumed input that is shown: that of the newest attempts.
const INPUTS: u32 = 10_000;

#[derive(Debug, Deserialize)]
pub(super) struct Filter {
    status: Option<String>,
}

pub(super) async fn list(
    State(context): State<Arc<Context>>,
    Asked(place): Asked<Place>,
    Asked(filter): Asked<Filter>,
) -> Result<Json<Page<WorkRow>>, ApiError> {
    let words = "ready, running, waiting, completed, failed or cancelled";
    let status: Option<WorkStatus> = word(filter.status.as_deref(), words)?;
    let (after, limit) = (WorkId(place.after()), place.limit());
    let found = context.read(move |tx| pages::works(tx, status, after, limit)).await?;
    let last = found.last().map(|row| row.work.id.0);
    let items = found.iter().map(|row| rows::work(&context, row)).collect();
    Ok(Json(rows::page(items, limit, last)))
}

pub(super) async fn waits(
    State(context): State<Arc<Context>>,
    Asked(place): Asked<Place>,
    Asked(filter): Asked<Filter>,
) -> Result<Json<Page<WaitRow>>, ApiError> {
    let status: Option<WaitStatus> = word(filter.status.as_deref(), "active, woken or cancelled")?;
    let (after, limit) = (WaitId(place.after()), place.limit());
    let found = context.read(move |tx| {
        let waits = reads::list_waits(tx, status, after, limit)?;
        subscribed(tx, waits)
    });
    let found = found.await?;
    let last = found.last().map(|(row, _)| row.wait.id.0);
    let items = found.into_iter().map(|(row, subscription)| rows::wait(row, subscription));
    Ok(Json(rows::page(items.collect(), limit, last)))
}

fn word<T: DeserializeOwned>(text: Option<&str>, words: &str) -> Result<Option<T>, ApiError> {
    let Some(text) = text else { return Ok(None) };
    serde_json::from_value(Value::from(text)).map(Some).map_err(|_| {
        let title = format!("there is no status `{}`", text.escape_debug());
        ApiError::malformed(title).next(format!("use {words}"))
    })
}

pub(super) async fn show(
    State(context): State<Arc<Context>>,
    Named(id): Named,
) -> Result<Json<WorkDetail>, ApiError> {
    let found = context.read(move |tx| detail(tx, &id)).await??;
    let Found { row, relatives, attempts, mut consumed, pending, waits, intents } = found;
    let history = attempts.iter().map(|(attempt, interrupted)| {
        rows::attempt(attempt, consumed.remove(&attempt.n).unwrap_or_default(), *interrupted)
    });
    Ok(Json(WorkDetail {
        work: rows::related(rows::work(&context, &row), &relatives),
        history: history.collect(),
        pending_input: pending.into_iter().map(|seq| seq.0).collect(),
        waits: waits.into_iter().map(|(row, source)| rows::wait(row, source)).collect(),
        intents: intents.into_iter().map(rows::intent).collect(),
    }))
}

/// Everything that is shown of one Work, of one snapshot.
struct Found {
    row: pages::WorkRow,
    relatives: Relatives,
    /// Each with the event that interrupted it.
    attempts: Vec<(Attempt, Option<EventUid>)>,
    consumed: BTreeMap<AttemptNo, Vec<Seq>>,
    pending: Vec<Seq>,
    waits: Vec<Subscribed>,
    /// Each with its event.
    intents: Vec<(Intent, EventUid)>,
}

/// A wait, and what it subscribes to.
type Subscribed = (ListedWait, Option<ListedSubscription>);

fn detail(tx: &mut dyn Tx, id: &str) -> Sought<Found> {
    let id = match ids::work(tx, id)? {
        Ok(id) => id,
        Err(error) => return Ok(Err(error)),
    };
    let Some(row) = pages::work(tx, id)? else { return Ok(Err(Refusal::UnknownWork.into())) };
    let before = row.work.attempt.map_or(0, |n| n.0.saturating_sub(SHOWN));
    let mut attempts = Vec::new();
    for attempt in attempts::of_work(tx, id, AttemptNo(before), SHOWN)? {
        let interrupted = attempt.interrupt_event.map(|seq| events::uid(tx, seq)).transpose()?;
        attempts.push((attempt, interrupted));
    }
    let mut intents = Vec::new();
    for intent in intents::newest_of_work(tx, id, SHOWN)? {
        let event = events::uid(tx, intent.event)?;
        intents.push((intent, event));
    }
    let (consumed, pending) = (consumed(tx, id)?, inputs::pending(tx, id, SHOWN)?);
    let waits = listed_waits(tx, id)?;
    let relatives = listed::relatives(tx, id)?;
    Ok(Ok(Found { row, relatives, attempts, consumed, pending, waits, intents }))
}

/// What each of the newest attempts consumed, in order.
fn consumed(tx: &mut dyn Tx, id: WorkId) -> Result<BTreeMap<AttemptNo, Vec<Seq>>, StoreError> {
    let mut consumed: BTreeMap<AttemptNo, Vec<Seq>> = BTreeMap::new();
    for (attempt, event) in inputs::newest_consumed(tx, id, INPUTS)? {
        consumed.entry(attempt).or_default().push(event);
    }
    consumed.values_mut().for_each(|events| events.reverse());
    Ok(consumed)
}

fn listed_waits(tx: &mut dyn Tx, id: WorkId) -> Result<Vec<Subscribed>, StoreError> {
    let mut found = Vec::new();
    for wait in waits::newest_of_work(tx, id, SHOWN)? {
        found.extend(reads::wait(tx, wait.id)?);
    }
    subscribed(tx, found)
}

fn subscribed(tx: &mut dyn Tx, waits: Vec<ListedWait>) -> Result<Vec<Subscribed>, StoreError> {
    let mut all = Vec::with_capacity(waits.len());
    for wait in waits {
        let subscription = listed::subscription(tx, wait.wait.id)?;
        all.push((wait, subscription));
    }
    Ok(all)
}
