//! From bytes to an Event: identity, type, scope and payload; no socket and no storage.
//!
//! What a delivery may decide about itself is little. Its scope comes from trusted configuration,
//! its identity from the signed resource and the sender's id, and its key from the routes.
//! INGRESS-08 INGRESS-12

mod body;
pub mod cloudevents;
mod error;
pub mod github;
pub mod http;
mod signature;
#[cfg(test)]
mod tests;

use axum::http::HeaderMap;
use serde_json::Value;

pub use error::IngressError;
pub use signature::SIGNATURE_HEADER;

use crate::config::{Config, Ingress, IngressKind, Scope, ScopeRule};
use crate::domain::{Event, EventUid, Key, NewEvent};
use crate::extension::route::{EventView, RouteHandler, Sender};

/// Turns a request to `/hooks/NAME` into the events it offers, keys included.
///
/// `mint` gives each event its id at the edge. It evaluates routes, so it may block for as long as
/// [`crate::config::Routes`] says.
///
/// # Errors
/// Why nothing of the request may be accepted.
pub fn receive(
    config: &Config,
    name: &str,
    headers: &HeaderMap,
    body: &[u8],
    mint: &mut dyn FnMut() -> EventUid,
) -> Result<Vec<NewEvent>, IngressError> {
    let ingress = find(config, name)?;
    let mut events = match ingress.kind {
        IngressKind::Github => vec![github::translate(config, ingress, headers, body, mint())?],
        IngressKind::Http => http::translate(config, ingress, headers, body, mint)?,
    };
    for event in &mut events {
        identify(config, event)?;
    }
    Ok(events)
}

/// The ingress of that name.
///
/// # Errors
/// `unknown_ingress`.
pub fn find<'a>(config: &'a Config, name: &str) -> Result<&'a Ingress, IngressError> {
    let found = config.ingresses.iter().find(|ingress| ingress.name == name);
    found.ok_or_else(|| IngressError::UnknownIngress { name: name.escape_debug().to_string() })
}

/// Gives an Event that was offered without a key the one its scope's routes compute for it, in the
/// namespace of its own source. INGRESS-12
///
/// One that names its Work is left as it is: a computed key could only contradict it. INGRESS-10
///
/// # Errors
/// A route could not be evaluated, so the Event's place in the order of its Work is not known.
pub fn identify(config: &Config, event: &mut NewEvent) -> Result<(), IngressError> {
    if event.key.is_some() || event.target.is_some() {
        return Ok(());
    }
    let Some(scope) = config.scope(&event.scope) else {
        return Err(IngressError::UnknownScope {
            resource: event.scope.escape_debug().to_string(),
        });
    };
    let external_id = scope.handler.identify(&offered_view(config, event))?;
    event.key = external_id.map(|external_id| Key { source: event.id.source.clone(), external_id });
    Ok(())
}

/// How the routes see an Event before it is accepted.
#[must_use]
pub fn offered_view(config: &Config, event: &NewEvent) -> EventView {
    let data = data_of(event.payload.as_deref());
    let sender = sender(config, &event.id.source, &data);
    EventView::offered(event, data, sender)
}

/// How the routes see an accepted Event; the same as before, and its sequence.
#[must_use]
pub fn accepted_view(config: &Config, event: &Event, payload: Option<&str>) -> EventView {
    let data = data_of(payload);
    let sender = sender(config, &event.id.source, &data);
    EventView::accepted(event, data, sender)
}

/// A stored payload was JSON when it was accepted.
fn data_of(payload: Option<&str>) -> Value {
    payload.and_then(|text| serde_json::from_str(text).ok()).unwrap_or(Value::Null)
}

/// Who is behind an Event, from what its source's payloads say. A function of source and payload
/// alone, so that it is the same before acceptance and at every later evaluation. ROUTE-13
#[must_use]
pub fn sender(config: &Config, source: &str, data: &Value) -> Sender {
    if !source.starts_with(github::SOURCE_PREFIX) {
        return Sender::default();
    }
    let mut sender = github::sender(data);
    let accounts = config.ingresses.iter().flat_map(|ingress| &ingress.self_accounts);
    let is = |actor: &String| accounts.clone().any(|account| account == actor);
    sender.is_self = sender.actor.as_ref().is_some_and(is);
    sender
}

/// The one scope of a delivery. INGRESS-08
fn scope_for<'a>(
    config: &'a Config,
    ingress: &Ingress,
    resource: Option<&str>,
) -> Result<&'a Scope, IngressError> {
    let name = match &ingress.scope {
        ScopeRule::One(scope) => Some(scope),
        ScopeRule::ByResource(map) => resource.and_then(|resource| map.get(resource)),
    };
    let scope = name.and_then(|name| config.scope(name));
    scope.map(AsRef::as_ref).ok_or_else(|| {
        let resource = resource.unwrap_or("a delivery without a repository");
        IngressError::UnknownScope { resource: resource.escape_debug().to_string() }
    })
}
