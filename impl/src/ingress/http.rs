//! CloudEvents over HTTP, from senders that know nothing of Abide.
//!
//! Signed like GitHub's webhooks, with the same header. The sender names its own sources, except
//! those that begin like a source of another kind of ingress. INGRESS-12

use axum::http::HeaderMap;

use super::{IngressError, cloudevents, github, scope_for, signature};
use crate::config::{Config, Ingress};
use crate::domain::{EventUid, NewEvent, SUSPECT_WITHIN};

/// Prefixes of sources that a generic sender may not speak for.
const RESERVED: &[&str] = &[github::SOURCE_PREFIX, "slack:", "schedule:", "op:", "core:"];

/// Turns one request into its events, all or none of them.
///
/// # Errors
/// Why the request may not be accepted; its size and its signature are looked at first.
pub fn translate(
    config: &Config,
    ingress: &Ingress,
    headers: &HeaderMap,
    bytes: &[u8],
    mint: &mut dyn FnMut() -> EventUid,
) -> Result<Vec<NewEvent>, IngressError> {
    super::body::bounded(bytes, ingress.max)?;
    signature::verify(ingress, headers, bytes)?;
    // In the binary mode the identity is in headers, which the signature does not cover. OURS-17
    let bodies_only = headers.contains_key("ce-specversion") && !ingress.secrets.is_empty();
    let mut events = Vec::new();
    for event in cloudevents::decode(headers, bytes, ingress.max)? {
        if RESERVED.iter().any(|prefix| event.source.starts_with(prefix)) {
            let source_name = event.source.escape_debug().to_string();
            return Err(IngressError::ReservedSource { source_name });
        }
        let scope = scope_for(config, ingress, Some(&event.source))?;
        let mut new = event.into_new(mint(), scope.name.clone(), scope.limits);
        new.suspect_within = bodies_only.then_some(SUSPECT_WITHIN);
        events.push(new);
    }
    Ok(events)
}
