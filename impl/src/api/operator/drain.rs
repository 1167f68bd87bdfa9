//! Draining: how far it has come, and asking for it.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::{Extension, Json};

use super::body;
use super::once::Acting;
use crate::api::problem::ApiError;
use crate::api::types::{DrainRequest, DrainRow};
use crate::host::Context;
use crate::store::works;

/// Works that are named; all of them are counted.
const NAMED: u32 = 20;

/// The longest bound, in milliseconds: a year.
const MOST: u64 = 365 * 86_400_000;

pub(super) async fn show(State(context): State<Arc<Context>>) -> Result<Json<DrainRow>, ApiError> {
    row(&context).await
}

/// Claims nothing more and goes once nothing runs; or claims again.
pub(super) async fn drain(
    State(context): State<Arc<Context>>,
    Extension(acting): Extension<Acting>,
    body: Bytes,
) -> Result<Json<DrainRow>, ApiError> {
    let request: DrainRequest = body::parse_any(&body, "no request to drain")?;
    let id = acting.request_id();
    let by = acting.actor();
    if request.cancel {
        context.drain.cancel(&id);
        if context.drain.is_on() {
            tracing::info!(%by, "asked to claim again, and it is ending already");
        } else {
            tracing::info!(%by, "no longer draining: attempts are claimed again");
        }
    } else {
        let most = request.timeout_ms.map(|most| Duration::from_millis(most.min(MOST)));
        context.drain.begin(&id, most);
        tracing::info!(%by, ?most, "draining: nothing more is claimed");
    }
    row(&context).await
}

async fn row(context: &Context) -> Result<Json<DrainRow>, ApiError> {
    let (running, works) =
        context.read(|tx| Ok((works::running(tx)?, works::running_uids(tx, NAMED)?))).await?;
    let left = context.drain.left();
    Ok(Json(DrainRow {
        instance: context.drain.instance().to_string(),
        draining: context.drain.is_on(),
        running,
        works: works.into_iter().map(|uid| uid.to_string()).collect(),
        left_ms: left.map(|left| u64::try_from(left.as_millis()).unwrap_or(u64::MAX)),
    }))
}
