//! `POST /events`: a principal offers events of its own, as CloudEvents in any of their modes.
//!
//! Unlike a stranger, a principal may say which key, scope and Work an event is for: `abidekey` (the
//! external id, in the namespace of the event's own source), `abidescope` and `abidework`. Every
//! other attribute that begins with `abide` is refused here too.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde_json::{Map, Value};
use tokio::task::spawn_blocking;

use super::ids;
use super::once::Acting;
use crate::api::accept;
use crate::api::limits::OPERATOR;
use crate::api::problem::ApiError;
use crate::command::Command;
use crate::config::{Config, KEY_MAX, Scope};
use crate::domain::{Key, NewEvent};
use crate::host::Context;
use crate::ingress::{self, IngressError, cloudevents};

/// The attributes a principal may set, beyond CloudEvents' own.
const OURS: [&str; 3] = ["abidekey", "abidescope", "abidework"];

/// What a principal says of one event.
type Said = BTreeMap<&'static str, String>;

pub(super) async fn offer(
    State(context): State<Arc<Context>>,
    Extension(acting): Extension<Acting>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, ApiError> {
    if !context.can_commit() {
        return Err(ApiError::unavailable());
    }
    let outcomes = acting.perform(&context, accepts(&context, headers, &body)).await?;
    let many = outcomes.len() != 1;
    let mut kept = accept::answers(&context, outcomes, &[]).await?;
    let new = kept.iter().any(|event| !event.duplicate);
    let status = if new { StatusCode::CREATED } else { StatusCode::OK };
    Ok(match kept.pop() {
        Some(only) if !many => (status, Json(only)).into_response(),
        last => {
            kept.extend(last);
            (status, Json(kept)).into_response()
        }
    })
}

/// The commands that keep what a request offers.
async fn accepts(
    context: &Arc<Context>,
    headers: HeaderMap,
    body: &Bytes,
) -> Result<Vec<Command>, ApiError> {
    let (events, said) = decode(headers, body)?;
    let mut offered = Vec::with_capacity(events.len());
    for (event, said) in events.into_iter().zip(said) {
        offered.push(address(context, event, &said).await?);
    }
    let offered = identify(context, offered).await?;
    Ok(offered.into_iter().map(|event| Command::Accept { event: Box::new(event) }).collect())
}

/// Reads the events, and apart from them what only a principal may say.
fn decode(
    mut headers: HeaderMap,
    body: &Bytes,
) -> Result<(Vec<cloudevents::CloudEvent>, Vec<Said>), ApiError> {
    let max = OPERATOR.body as u64;
    let (body, mut said) = if headers.contains_key("ce-specversion") {
        (body.clone(), vec![from_headers(&mut headers)?])
    } else {
        // What is not as it should be is left to the one who reads it for good, and says how.
        parted(body)?.unwrap_or_else(|| (body.clone(), Vec::new()))
    };
    let events = cloudevents::decode(&headers, &body, max)?;
    said.resize(events.len(), Said::new());
    Ok((events, said))
}

fn from_headers(headers: &mut HeaderMap) -> Result<Said, ApiError> {
    let mut said = Said::new();
    for name in OURS {
        let Some(value) = headers.remove(format!("ce-{name}")) else { continue };
        let text = value.to_str().map_err(|_| wrong(name, "is not ASCII"))?;
        said.insert(name, checked(name, text)?);
    }
    Ok(said)
}

/// The same body without what only a principal may say; `None` if it is not JSON objects.
fn parted(body: &Bytes) -> Result<Option<(Bytes, Vec<Said>)>, ApiError> {
    let Some((mut objects, shape)) = objects(body) else { return Ok(None) };
    let said = objects.iter_mut().map(from_fields).collect::<Result<_, _>>()?;
    let texts: Vec<String> =
        objects.into_iter().map(|object| Value::Object(object).to_string()).collect();
    let body = match shape {
        Shape::List => format!("[{}]", texts.join(",")),
        Shape::Lines => texts.join("\n"),
    };
    Ok(Some((body.into(), said)))
}

/// How several objects are written in one body; a single one is a line.
enum Shape {
    List,
    Lines,
}

type Object = Map<String, Value>;

fn objects(body: &[u8]) -> Option<(Vec<Object>, Shape)> {
    let text = std::str::from_utf8(body).ok()?;
    if text.trim_start().starts_with('[') {
        return Some((serde_json::from_str(text).ok()?, Shape::List));
    }
    if let Ok(one) = serde_json::from_str(text) {
        return Some((vec![one], Shape::Lines));
    }
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let objects = lines.map(serde_json::from_str).collect::<Result<_, _>>().ok()?;
    Some((objects, Shape::Lines))
}

fn from_fields(fields: &mut Object) -> Result<Said, ApiError> {
    let mut said = Said::new();
    for name in OURS {
        match fields.shift_remove(name) {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) => {
                said.insert(name, checked(name, &text)?);
            }
            Some(Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
                return Err(wrong(name, "is not a text"));
            }
        }
    }
    Ok(said)
}

fn checked(name: &str, text: &str) -> Result<String, ApiError> {
    if text.is_empty() || text.len() > KEY_MAX || text.contains(char::is_control) {
        let problem = format!("must have 1 to {KEY_MAX} bytes without control characters");
        return Err(wrong(name, &problem));
    }
    Ok(text.to_owned())
}

fn wrong(name: &str, problem: &str) -> ApiError {
    IngressError::BadAttribute { name: name.to_owned(), problem: problem.to_owned() }.into()
}

/// Gives an event its scope and, if its sender said so, its key and its Work. INGRESS-08
async fn address(
    context: &Context,
    event: cloudevents::CloudEvent,
    said: &Said,
) -> Result<NewEvent, ApiError> {
    let current = context.current();
    let scope = scope_of(&current.config, said)?;
    let source = event.source.clone();
    let mut new = event.into_new(accept::mint(), scope.name.clone(), scope.limits);
    new.key = said.get("abidekey").map(|text| own_key(&source, text));
    new.target = match said.get("abidework").cloned() {
        Some(id) => Some(context.read(move |tx| ids::work(tx, &id)).await??),
        None => None,
    };
    Ok(new)
}

/// The scope a principal names; without a word the only one there is.
fn scope_of<'a>(config: &'a Config, said: &Said) -> Result<&'a Scope, ApiError> {
    let found = match said.get("abidescope") {
        Some(named) => config.scope(named).ok_or_else(|| {
            let resource = named.escape_debug().to_string();
            ApiError::from(IngressError::UnknownScope { resource })
        }),
        None => config.only_scope().ok_or_else(ApiError::scope_needed),
    };
    found.map(AsRef::as_ref)
}

/// An external id in the namespace of the event's own source, which may be spelled out. INGRESS-12
fn own_key(source: &str, text: &str) -> Key {
    let spelled = text.strip_prefix(source).and_then(|rest| rest.strip_prefix('#'));
    Key { source: source.to_owned(), external_id: spelled.unwrap_or(text).to_owned() }
}

/// Lets the routes name the key of what names neither a key nor a Work.
async fn identify(
    context: &Arc<Context>,
    mut offered: Vec<NewEvent>,
) -> Result<Vec<NewEvent>, ApiError> {
    let current = context.current();
    let identified = spawn_blocking(move || {
        for event in offered.iter_mut().filter(|event| event.target.is_none()) {
            ingress::identify(&current.config, event)?;
        }
        Ok::<_, IngressError>(offered)
    });
    let identified = identified.await.map_err(|error| {
        tracing::error!(%error, "the keys of offered events could not be computed");
        ApiError::unavailable()
    })?;
    Ok(identified?)
}
