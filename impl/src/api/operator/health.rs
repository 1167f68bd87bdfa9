//! Whether the daemon lives, and whether it gets on.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::host::Context;
use crate::writer::WriterState;

/// Troubles that health shows; it counts them all.
const TROUBLES: usize = 20;

pub(super) async fn healthz() -> Json<Value> {
    Json(json!({ "status": "ok" }))
}

/// Ready: what is committed can be committed, and every loop looks.
pub(super) async fn readyz(State(context): State<Arc<Context>>) -> Response {
    let loops = context.health.loops();
    let stuck: Vec<&str> =
        loops.iter().filter(|one| one.stuck).map(|one| one.name.as_str()).collect();
    let storage = match &*context.writer.state().borrow() {
        WriterState::Running => None,
        WriterState::Failed(error) => Some(error.to_string()),
    };
    let (troubles, first) = context.troubles.shown(TROUBLES);
    let (stopping, draining) = (context.stopping(), context.drain.is_on());
    let ready = storage.is_none() && stuck.is_empty() && !stopping && !draining;
    let body = Json(json!({
        "ready": ready,
        "stopping": stopping,
        "draining": draining,
        "storage": storage.as_deref().unwrap_or("ok"),
        "stuck": stuck,
        "driven": context.driven.count(),
        "loops": loops,
        "troubles": { "count": troubles, "first": first },
    }));
    if ready {
        return body.into_response();
    }
    (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "5")], body).into_response()
}
