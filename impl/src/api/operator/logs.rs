//! What the process of an attempt printed, as its keeper keeps it.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use serde::Deserialize;

use super::ids::{self, Sought};
use crate::api::extract::{Asked, Named};
use crate::api::problem::ApiError;
use crate::domain::{AttemptNo, AttemptUid};
use crate::host::Context;
use crate::store::{Tx, attempts, works};

#[derive(Debug, Deserialize)]
pub(super) struct Wanted {
    attempt: Option<u32>,
}

/// Standard output and standard error of every segment of an attempt, as text.
pub(super) async fn show(
    State(context): State<Arc<Context>>,
    Named(id): Named,
    Asked(wanted): Asked<Wanted>,
) -> Result<impl IntoResponse, ApiError> {
    let attempt = context.read(move |tx| attempt_of(tx, &id, wanted.attempt)).await??;
    let Some(attempt) = attempt else { return Ok(text(String::new())) };
    context.output_of(attempt).await.map(text).map_err(|error| {
        tracing::warn!(%error, "the output of an attempt cannot be read");
        ApiError::unavailable()
    })
}

fn text(body: String) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], body)
}

/// The attempt asked for, or the last one; `None` before the first.
fn attempt_of(tx: &mut dyn Tx, id: &str, n: Option<u32>) -> Sought<Option<AttemptUid>> {
    let work = match ids::work(tx, id)? {
        Ok(work) => work,
        Err(error) => return Ok(Err(error)),
    };
    let last = works::referred(tx, work)?.attempt;
    let Some(n) = n.map(AttemptNo).or(last) else { return Ok(Ok(None)) };
    Ok(match attempts::get(tx, work, n)? {
        Some(attempt) => Ok(Some(attempt.uid)),
        None => Err(ApiError::no_attempt(n)),
    })
}
