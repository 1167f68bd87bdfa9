//! The configuration: which one is current, what was before, and reading it again. BIND-10 BIND-11

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};
use serde::Deserialize;

use super::ids::Place;
use super::once::Acting;
use super::rows;
use crate::api::auth::Principals;
use crate::api::extract::Asked;
use crate::api::problem::ApiError;
use crate::api::reload::{Reloaded, reload as read_again};
use crate::api::types::{
    BindingRow, ConfigDetail, ConfigHistory, ConfigRow, KindRow, Page, RefusedRow, ReloadAnswer,
    RetryRow, RouteRow, ScopeRow,
};
use crate::config::{self, Binding, Kind, Route, Scope};
use crate::domain::{Control, Generation, RetryPolicy};
use crate::extension::route::RouteAction;
use crate::host::Context;
use crate::store::{generations, listed, works};

#[derive(Debug, Deserialize)]
pub(super) struct Wanted {
    generation: Option<i64>,
}

/// One configuration with its text; the current one without a word.
pub(super) async fn show(
    State(context): State<Arc<Context>>,
    Asked(Wanted { generation }): Asked<Wanted>,
) -> Result<Json<ConfigDetail>, ApiError> {
    let current = context.current().generation;
    let n = generation.map_or(current, Generation);
    let found = context.read(move |tx| generations::get(tx, n)).await?;
    let stored = found.ok_or_else(|| unknown(n))?;
    let row = ConfigRow {
        generation: n.0,
        current: n == current,
        digest: stored.digest,
        since: stored.created_at.to_string(),
    };
    Ok(Json(ConfigDetail { config: row, text: config::shown(&stored.body) }))
}

fn unknown(n: Generation) -> ApiError {
    let title = format!("there is no configuration {n}");
    ApiError::new(StatusCode::NOT_FOUND, "unknown_generation", title)
        .next("`abide config history` lists them")
}

/// Every configuration there was, and what was refused.
pub(super) async fn history(
    State(context): State<Arc<Context>>,
    Asked(place): Asked<Place>,
) -> Result<Json<ConfigHistory>, ApiError> {
    let (after, limit) = (Generation(place.after()), place.limit());
    let found = context.read(move |tx| listed::generations(tx, after, limit)).await?;
    let current = context.current().generation;
    let last = found.last().map(|row| row.n.0);
    let row = |row: listed::ListedGeneration| ConfigRow {
        generation: row.n.0,
        current: row.n == current,
        digest: row.digest,
        since: row.created_at.to_string(),
    };
    let page = rows::page(found.into_iter().map(row).collect(), limit, last);
    let refused = context.configs.refused().into_iter();
    let refused =
        refused.map(|row| RefusedRow { at: row.at.to_string(), by: row.by, why: row.why });
    Ok(Json(ConfigHistory { page, refused: refused.collect() }))
}

/// Reads the daemon's file again. A repeat under the same key reads nothing.
pub(super) async fn reload(
    State(context): State<Arc<Context>>,
    Extension(acting): Extension<Acting>,
    Extension(principals): Extension<Arc<Principals>>,
    _body: Bytes,
) -> Result<Json<ReloadAnswer>, ApiError> {
    let once = acting.once();
    let Reloaded { generation, changed, notes } =
        read_again(&context, &principals, acting.actor(), once).await?;
    Ok(Json(ReloadAnswer { generation: generation.0, changed, notes }))
}

/// Every scope, as it is effective now.
pub(super) async fn scopes(
    State(context): State<Arc<Context>>,
) -> Result<Json<Page<ScopeRow>>, ApiError> {
    let current = context.current();
    let names: Vec<String> = current.config.scopes.keys().cloned().collect();
    let running = context.read(move |tx| {
        names.iter().map(|name| works::running_below(tx, name)).collect::<Result<Vec<_>, _>>()
    });
    let running = running.await?;
    let scopes = current.config.scopes.values().zip(running);
    let items = scopes.map(|(scope, running)| scope_row(scope, running)).collect();
    Ok(Json(Page { items, next: None }))
}

fn scope_row(scope: &Scope, running: u32) -> ScopeRow {
    ScopeRow {
        name: scope.name.clone(),
        capacity: scope.capacity,
        running,
        max_depth: scope.limits.max_depth,
        read_scopes: scope.read_scopes.clone(),
        routes: scope.routes.iter().map(|route| route_row(route)).collect(),
        kinds: scope.kinds.values().map(|kind| kind_row(kind)).collect(),
        bindings: scope.bindings.values().map(|binding| binding_row(binding)).collect(),
    }
}

fn route_row(route: &Route) -> RouteRow {
    let Control { policy, fallback, on_error } = route.control;
    RouteRow {
        name: route.name.clone(),
        declared_in: route.declared_in.clone(),
        on: route.on.clone(),
        when: route.when.clone(),
        key: route.key.clone(),
        attach: route.attach.clone(),
        action: word(route.action).to_owned(),
        kind: route.kind.clone(),
        active: hands(route.action).then_some(policy),
        fallback,
        on_error,
    }
}

/// Whether its events become input, so that a running attempt is a question at all.
const fn hands(action: RouteAction) -> bool {
    match action {
        RouteAction::Work | RouteAction::Update => true,
        RouteAction::Decline | RouteAction::Drop | RouteAction::Close => false,
    }
}

const fn word(action: RouteAction) -> &'static str {
    match action {
        RouteAction::Decline => "decline",
        RouteAction::Work => "work",
        RouteAction::Update => "update",
        RouteAction::Drop => "drop",
        RouteAction::Close => "close",
    }
}

fn kind_row(kind: &Kind) -> KindRow {
    KindRow {
        name: kind.name.clone(),
        binding: kind.binding.clone(),
        standing: kind.standing,
        reopen: kind.reopen.clone(),
        close_after_ms: kind.close_after.map(|length| length.0),
        retry: (!kind.standing).then(|| retry_row(&kind.retry)),
        hint_max_ms: kind.retry.hint_max.0,
    }
}

fn retry_row(policy: &RetryPolicy) -> RetryRow {
    let counting = policy.backoff.iter().take((policy.attempts as usize).saturating_sub(1));
    RetryRow {
        attempts: policy.attempts,
        backoff_ms: counting.map(|step| step.0).collect(),
        exhausted: policy.exhausted,
    }
}

fn binding_row(binding: &Binding) -> BindingRow {
    BindingRow {
        name: binding.name.clone(),
        declared_in: binding.declared_in.clone(),
        command: binding.command.clone(),
        resumes: binding.resumes,
        injects: binding.injects,
        interrupts: binding.interrupts,
        timeout_ms: binding.timeout.map(|length| length.0),
    }
}
