//! The operator door: people and programs of this machine, each with a token and rights of its own.
//! API-01
//!
//! A handler parses, reads one snapshot or performs one command, and answers; no answer streams out
//! of a transaction.

mod acts;
mod body;
mod config;
mod controls;
mod create;
mod drain;
mod events;
mod health;
mod ids;
mod lists;
mod logs;
mod offer;
mod once;
mod reason;
mod replays;
mod rows;
#[cfg(test)]
mod tests;
mod why;
mod works;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};

use super::auth::Principals;
use crate::config::Right;
use crate::domain::Actor;
use crate::host::Context;

/// Rows of a page without `limit`, and at most.
const PAGE: u32 = 100;
const PAGE_MAX: u32 = 1000;

/// Who asks, once it is known and may.
#[derive(Debug, Clone)]
struct Caller(String);

impl Caller {
    fn actor(&self) -> Actor {
        Actor::Principal(self.0.clone())
    }
}

/// Every address of this door.
pub fn router(context: Arc<Context>, principals: &Arc<Principals>) -> Router {
    let guard = |right| Guard { principals: Arc::clone(principals), right };
    let view = Router::new()
        .route("/events", get(events::list))
        .route("/events/{id}", get(events::show))
        .route("/events/{id}/chain", get(events::chain))
        .route("/work", get(works::list))
        .route("/work/{id}", get(works::show))
        .route("/work/{id}/logs", get(logs::show))
        .route("/waits", get(works::waits))
        .route("/timers", get(lists::timers))
        .route("/timers/idle", get(lists::idle))
        .route("/timers/retry", get(lists::retries))
        .route("/holds", get(lists::holds))
        .route("/holds/restore", get(lists::restored))
        .route("/rejections", get(lists::rejections))
        .route("/scopes", get(config::scopes))
        .route("/journal", get(events::journal))
        .route("/why/{id}", get(why::show))
        .route("/drain", get(drain::show))
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .layer(middleware::from_fn_with_state(guard(Right::View), allow));
    let work = Router::new()
        .route("/events", post(offer::offer))
        .route("/events/{id}/drop", post(replays::drop))
        .route("/events/{id}/replay", post(replays::replay))
        .route("/work", post(create::create))
        .route("/work/{id}/hold", post(acts::hold))
        .route("/work/{id}/release", post(acts::release))
        .route("/work/{id}/retry", post(acts::retry))
        .route("/work/{id}/interrupt", post(acts::interrupt))
        .route("/work/{id}/cancel", post(acts::cancel))
        .route("/work/{id}/reopen", post(acts::reopen))
        .route("/holds/restore/release", post(acts::release_restore))
        .layer(middleware::from_fn(once::note))
        .layer(middleware::from_fn_with_state(guard(Right::Work), allow));
    let config = Router::new()
        .route("/config", get(config::show))
        .route("/config/history", get(config::history))
        .route("/config/reload", post(config::reload))
        .route("/drain", post(drain::drain))
        .layer(middleware::from_fn(once::note))
        .layer(axum::Extension(Arc::clone(principals)))
        .layer(middleware::from_fn_with_state(guard(Right::Config), allow));
    view.merge(work).merge(config).with_state(context)
}

#[derive(Debug, Clone)]
struct Guard {
    principals: Arc<Principals>,
    right: Right,
}

async fn allow(State(guard): State<Guard>, mut request: Request, next: Next) -> Response {
    match guard.principals.check(request.headers(), guard.right) {
        Ok(name) => {
            request.extensions_mut().insert(Caller(name));
            next.run(request).await
        }
        Err(error) => error.into_response(),
    }
}
