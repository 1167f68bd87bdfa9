//! The hooks door: deliveries from outside, and nothing else. 202 for a new event, 200 for one that
//! was kept before, and only once it is durable. INGRESS-01

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::json;
use tokio::task::spawn_blocking;

use super::accept;
use super::problem::ApiError;
use crate::api::extract::Named;
use crate::domain::Actor;
use crate::host::Context;
use crate::ingress;

/// Every address of this door.
pub fn router(context: Arc<Context>) -> Router {
    Router::new()
        .route("/hooks/{ingress}", post(deliver))
        .route("/healthz", get(healthz))
        .with_state(context)
}

async fn healthz() -> Response {
    Json(json!({ "status": "ok" })).into_response()
}

async fn deliver(
    State(context): State<Arc<Context>>,
    Named(name): Named,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, ApiError> {
    let current = context.current();
    let actor = Actor::Ingress(ingress::find(&current.config, &name)?.name.clone());
    let received = {
        // Signatures and expressions take their time, on a thread that has it.
        let receive =
            move || ingress::receive(&current.config, &name, &headers, &body, &mut accept::mint);
        spawn_blocking(receive).await
    };
    let events = received.map_err(|error| broke(&error))??;
    let mut kept = accept::all(&context, actor, events).await?;
    let new = kept.iter().any(|event| !event.duplicate);
    let status = if new { StatusCode::ACCEPTED } else { StatusCode::OK };
    Ok(match (kept.pop(), kept.is_empty()) {
        (Some(only), true) => (status, Json(only)).into_response(),
        (last, _) => {
            kept.extend(last);
            (status, Json(kept)).into_response()
        }
    })
}

fn broke(error: &tokio::task::JoinError) -> ApiError {
    tracing::error!(%error, "a delivery could not be translated");
    ApiError::unavailable()
}
