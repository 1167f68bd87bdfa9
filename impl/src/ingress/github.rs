//! GitHub webhooks.
//!
//! - Identity: `X-GitHub-Delivery`, which GitHub repeats when it delivers again. INGRESS-05
//! - Type: `X-GitHub-Event`, then the payload's `action`: `pull_request.opened`, `push`.
//! - Source: `github:HOST/ID` with the repository's numeric id, which survives renames. Without a
//!   repository it is `github:HOST/org/ID`, `github:HOST/installation/ID`,
//!   `github:HOST/enterprise/ID`, for the ping of an app's hook `github:HOST/hook/ID`, for what
//!   concerns an account alone `github:HOST/user/ID`, and for advisories `github:HOST/advisories`.
//!   INGRESS-12
//! - Scope: the ingress's one, or by the exact `owner/repository` (without a repository the
//!   organisation's or enterprise's name) of the signed payload. INGRESS-08
//! - Events of an account in `self` are accepted like others, but get no key, and no route is tried
//!   for them: they end unmatched. OURS-12

use axum::http::HeaderMap;
use serde_json::{Map, Value};

use super::{IngressError, body, scope_for, signature};
use crate::config::{Config, Ingress};
use crate::domain::{CORE_PREFIX, EventUid, IngressId, Millis, NewEvent, SUSPECT_WITHIN};
use crate::extension::route::Sender;

/// Every source of this ingress begins so.
pub const SOURCE_PREFIX: &str = "github:";

const DELIVERY: &str = "x-github-delivery";
const EVENT: &str = "x-github-event";

/// Turns one delivery into an Event without a key; [`super::identify`] gives it one.
///
/// # Errors
/// Why the delivery may not be accepted; its size and its signature are looked at first.
pub fn translate(
    config: &Config,
    ingress: &Ingress,
    headers: &HeaderMap,
    bytes: &[u8],
    uid: EventUid,
) -> Result<NewEvent, IngressError> {
    body::bounded(bytes, ingress.max)?;
    signature::verify(ingress, headers, bytes)?;
    let delivery = body::plain(headers, DELIVERY)
        .ok_or(IngressError::MissingDeliveryId { place: "X-GitHub-Delivery" })?;
    let event = body::plain(headers, EVENT)
        .ok_or(IngressError::MissingHeader { header: "X-GitHub-Event" })?;
    check_media_type(headers)?;
    let text = body::text(bytes)?;
    let payload = body::object(text)?;
    let scope = scope_for(config, ingress, resource(&payload))?;
    Ok(NewEvent {
        uid,
        id: IngressId { source: source(&payload)?, delivery: delivery.to_owned() },
        event_type: event_type(event, &payload)?,
        subject: subject(&payload),
        occurred_at: time(&payload),
        scope: scope.name.clone(),
        key: None,
        target: None,
        limits: scope.limits,
        payload: Some(text.to_owned()),
        // The signature covers the body, and not the header that says which delivery it is. OURS-17
        suspect_within: (!ingress.secrets.is_empty()).then_some(SUSPECT_WITHIN),
    })
}

/// A hook may be set to send forms; what is signed is then not the JSON.
fn check_media_type(headers: &HeaderMap) -> Result<(), IngressError> {
    match body::media_type(headers) {
        Some(given) if !body::is_json(&given) => {
            let given = given.escape_debug().to_string();
            let wanted = "application/json (set it as the content type of the webhook)";
            Err(IngressError::UnsupportedMediaType { given, wanted })
        }
        Some(_) | None => Ok(()),
    }
}

/// The type of a delivery from its event name and the payload's action.
///
/// # Errors
/// A word that cannot be part of a type, or a core type. CAUSE-07
pub fn event_type(event: &str, payload: &Map<String, Value>) -> Result<String, IngressError> {
    let word = |name: &str, text: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if !text.is_empty() && text.len() <= 64 && text.chars().all(plain) {
            return Ok(());
        }
        let problem = "is not a plain word of at most 64 letters".to_owned();
        Err(IngressError::BadAttribute { name: name.to_owned(), problem })
    };
    word("X-GitHub-Event", event)?;
    let event_type = match payload.get("action").and_then(Value::as_str) {
        Some(action) => {
            word("action", action)?;
            format!("{event}.{action}")
        }
        None => event.to_owned(),
    };
    if event_type.starts_with(CORE_PREFIX) { Err(IngressError::CoreType) } else { Ok(event_type) }
}

/// The resource a delivery is about, by ids that survive renames.
///
/// # Errors
/// `no_source` if the payload names none.
pub fn source(payload: &Map<String, Value>) -> Result<String, IngressError> {
    let host = host(payload);
    if let Some(id) = id_of(payload, "repository") {
        return Ok(format!("{SOURCE_PREFIX}{host}/{id}"));
    }
    let owners = [("organization", "org"), ("installation", "installation")];
    for (field, part) in owners.into_iter().chain([("enterprise", "enterprise")]) {
        if let Some(id) = id_of(payload, field) {
            return Ok(format!("{SOURCE_PREFIX}{host}/{part}/{id}"));
        }
    }
    if let Some(id) = payload.get("hook_id").and_then(Value::as_u64) {
        return Ok(format!("{SOURCE_PREFIX}{host}/hook/{id}"));
    }
    // Sponsorships, purchases and revoked authorizations are an account's own affair.
    if let Some(id) = id_of(payload, "sender") {
        return Ok(format!("{SOURCE_PREFIX}{host}/user/{id}"));
    }
    // Advisories are the provider's, and nobody's in particular.
    if payload.get("security_advisory").is_some_and(Value::is_object) {
        return Ok(format!("{SOURCE_PREFIX}{host}/advisories"));
    }
    Err(IngressError::NoSource {
        wanted: "repository, organisation, installation, enterprise, hook or sender with an id",
    })
}

fn id_of(payload: &Map<String, Value>, field: &str) -> Option<u64> {
    payload.get(field)?.get("id")?.as_u64()
}

/// The installation's host, from the address of something in the payload.
fn host(payload: &Map<String, Value>) -> String {
    let fields = ["repository", "organization", "enterprise", "sender"].into_iter();
    let mut addresses = fields.filter_map(|field| text_at(payload, &[field, "html_url"]));
    let host = addresses.find_map(|address| {
        let host = address.strip_prefix("https://").or(address.strip_prefix("http://"))?;
        let host = host.split('/').next()?.to_ascii_lowercase();
        let plain = |c: char| c.is_ascii_alphanumeric() || ".-:".contains(c);
        (!host.is_empty() && host.len() <= 253 && host.chars().all(plain)).then_some(host)
    });
    host.unwrap_or_else(|| "github.com".to_owned())
}

/// The name `scopes` is asked with.
fn resource(payload: &Map<String, Value>) -> Option<&str> {
    let names = [["repository", "full_name"], ["organization", "login"], ["enterprise", "slug"]];
    names.iter().find_map(|path| text_at(payload, path))
}

/// What of the source the delivery is about: an address, a number, or a branch.
fn subject(payload: &Map<String, Value>) -> Option<String> {
    let things = ["pull_request", "issue", "discussion", "release", "check_run", "workflow_run"];
    let address = things.iter().find_map(|thing| text_at(payload, &[thing, "html_url"]));
    if let Some(address) = address.or_else(|| text_at(payload, &["ref"])) {
        return Some(address.to_owned());
    }
    payload.get("number").and_then(Value::as_u64).map(|number| number.to_string())
}

/// When it happened, as far as the payload says.
fn time(payload: &Map<String, Value>) -> Option<Millis> {
    const PLACES: &[&[&str]] = &[
        &["comment", "updated_at"],
        &["review", "submitted_at"],
        &["pull_request", "updated_at"],
        &["issue", "updated_at"],
        &["discussion", "updated_at"],
        &["release", "published_at"],
        &["head_commit", "timestamp"],
    ];
    let text = PLACES.iter().find_map(|path| text_at(payload, path))?;
    let instant: jiff::Timestamp = text.parse().ok()?;
    Some(Millis(instant.as_millisecond()))
}

/// Who sent it, and how they stand to the resource. Whether it is this installation's own account
/// is for the configuration to say.
#[must_use]
pub fn sender(data: &Value) -> Sender {
    let Value::Object(payload) = data else { return Sender::default() };
    let written = ["comment", "review", "pull_request", "issue", "discussion"];
    let trust = written.iter().find_map(|thing| text_at(payload, &[thing, "author_association"]));
    Sender {
        actor: text_at(payload, &["sender", "login"]).map(str::to_owned),
        trust: trust.map(str::to_lowercase),
        is_self: false,
    }
}

fn text_at<'a>(payload: &'a Map<String, Value>, path: &[&str]) -> Option<&'a str> {
    let (first, rest) = path.split_first()?;
    let mut value = payload.get(*first)?;
    for field in rest {
        value = value.get(field)?;
    }
    value.as_str()
}
