//! CloudEvents 1.0 in JSON, both ways.
//!
//! Read: structured (`application/cloudevents+json`), batch (`application/cloudevents-batch+json`),
//! NDJSON (`application/x-ndjson`, one structured event a line) and binary (`ce-*` headers).
//! Attributes that begin with `abide` are ours: they are written and never taken from outside.
//! Other extension attributes are read over; this version keeps the attributes of the core
//! specification and JSON data.

use axum::http::HeaderMap;
use serde_json::{Map, Value, json};

use super::{IngressError, body};
use crate::domain::{
    CORE_PREFIX, CausalLimits, Event, EventUid, IngressId, Millis, NewEvent, WorkUid,
};

/// The most events of one request.
pub const BATCH_MAX: usize = 1000;

/// The longest `id`, `source`, `type` or `subject`, in bytes.
pub const ATTRIBUTE_MAX: usize = 1024;

const STRUCTURED: &str = "application/cloudevents+json";
const BATCH: &str = "application/cloudevents-batch+json";
const NDJSON: &[&str] = &["application/x-ndjson", "application/ndjson"];
const WANTED: &str = "application/cloudevents+json, its batch form, application/x-ndjson, or \
                      application/json with ce-* headers";

/// A CloudEvent as its sender made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloudEvent {
    /// The sender's id: a repeat is a duplicate. INGRESS-05
    pub id: String,
    /// Names the resource it is about.
    pub source: String,
    /// What kind of fact it is.
    pub event_type: String,
    /// What of the source it is about.
    pub subject: Option<String>,
    /// When it happened.
    pub time: Option<Millis>,
    /// The data, as JSON text.
    pub data: Option<String>,
}

impl CloudEvent {
    /// The Event to offer, without key and target.
    #[must_use]
    pub fn into_new(self, uid: EventUid, scope: String, limits: CausalLimits) -> NewEvent {
        NewEvent {
            uid,
            id: IngressId { source: self.source, delivery: self.id },
            event_type: self.event_type,
            subject: self.subject,
            occurred_at: self.time,
            scope,
            key: None,
            target: None,
            limits,
            payload: self.data,
            suspect_within: None,
        }
    }
}

/// Reads the events of a request, in any of the four modes.
///
/// # Errors
/// Why the request holds no events that may be accepted. One bad event refuses its whole batch.
pub fn decode(
    headers: &HeaderMap,
    bytes: &[u8],
    max: u64,
) -> Result<Vec<CloudEvent>, IngressError> {
    body::bounded(bytes, max)?;
    let media_type = body::media_type(headers);
    match media_type.as_deref() {
        Some(STRUCTURED) => Ok(vec![structured(body::object(body::text(bytes)?)?)?]),
        Some(BATCH) => batch(body::text(bytes)?),
        Some(given) if NDJSON.contains(&given) => lines(body::text(bytes)?),
        given if headers.contains_key("ce-specversion") => Ok(vec![binary(headers, given, bytes)?]),
        Some(given) if body::is_json(given) => plain_json(body::text(bytes)?),
        given => Err(IngressError::UnsupportedMediaType {
            given: given.unwrap_or("nothing").escape_debug().to_string(),
            wanted: WANTED,
        }),
    }
}

/// Plain JSON that is an event, or a list of events, is read as such.
fn plain_json(text: &str) -> Result<Vec<CloudEvent>, IngressError> {
    match body::json(text)? {
        Value::Array(items) => all(items.into_iter().map(Ok)),
        Value::Object(fields) => Ok(vec![structured(fields)?]),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            Err(IngressError::NotObject)
        }
    }
}

fn batch(text: &str) -> Result<Vec<CloudEvent>, IngressError> {
    match body::json(text)? {
        Value::Array(items) => all(items.into_iter().map(Ok)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            let problem = "is not a list of events".to_owned();
            Err(IngressError::BadAttribute { name: "the batch".to_owned(), problem })
        }
    }
}

fn lines(text: &str) -> Result<Vec<CloudEvent>, IngressError> {
    all(text.lines().filter(|line| !line.trim().is_empty()).map(body::json))
}

/// Every event of a batch, or the first thing that is wrong with it.
fn all(
    items: impl Iterator<Item = Result<Value, IngressError>>,
) -> Result<Vec<CloudEvent>, IngressError> {
    let mut events = Vec::new();
    for (n, item) in items.enumerate() {
        if n == BATCH_MAX {
            return Err(IngressError::BatchTooLarge { max: BATCH_MAX });
        }
        let event = item.and_then(|item| match item {
            Value::Object(fields) => structured(fields),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => Err(IngressError::NotObject),
        });
        let in_batch = |error| IngressError::InBatch { index: n + 1, error: Box::new(error) };
        events.push(event.map_err(in_batch)?);
    }
    Ok(events)
}

/// Reads one event in structured mode.
///
/// # Errors
/// An attribute that is missing, of the wrong form, or Abide's own.
pub fn structured(mut fields: Map<String, Value>) -> Result<CloudEvent, IngressError> {
    let data = fields.remove("data");
    if fields.contains_key("data_base64") {
        return Err(bad("data_base64", "is not read: send JSON as `data`"));
    }
    let mut attributes = Attributes::default();
    for (name, value) in fields {
        match value {
            Value::String(text) => attributes.put(&name, text)?,
            // Extensions may be numbers and truths; a null is as good as absent.
            Value::Number(_) | Value::Bool(_) => attributes.put(&name, value.to_string())?,
            Value::Null => {}
            Value::Array(_) | Value::Object(_) => return Err(bad(&name, "is not a text")),
        }
    }
    attributes.finish(data.map(|data| data.to_string()))
}

/// Reads one event in binary mode: attributes in headers, data in the body.
fn binary(
    headers: &HeaderMap,
    media_type: Option<&str>,
    bytes: &[u8],
) -> Result<CloudEvent, IngressError> {
    let mut attributes = Attributes::default();
    for (name, value) in headers {
        let Some(name) = name.as_str().strip_prefix("ce-") else { continue };
        let text = value.to_str().map_err(|_| bad(name, "is not ASCII: percent-encode it"))?;
        attributes.put(name, percent_decoded(text).ok_or_else(|| bad(name, "is not UTF-8"))?)?;
    }
    if let Some(media_type) = media_type {
        attributes.put("datacontenttype", media_type.to_owned())?;
    }
    let text = body::text(bytes)?;
    let data = (!text.is_empty()).then_some(text);
    let event = attributes.finish(data.map(str::to_owned))?;
    if let Some(text) = data {
        body::json(text)?;
    }
    Ok(event)
}

/// The attributes read so far.
#[derive(Default)]
struct Attributes {
    specversion: Option<String>,
    id: Option<String>,
    source: Option<String>,
    event_type: Option<String>,
    subject: Option<String>,
    time: Option<String>,
    datacontenttype: Option<String>,
}

impl Attributes {
    fn put(&mut self, name: &str, text: String) -> Result<(), IngressError> {
        if name.to_ascii_lowercase().starts_with("abide") {
            let name = name.escape_debug().to_string();
            return Err(IngressError::ReservedAttribute { name });
        }
        let place = match name {
            "specversion" => &mut self.specversion,
            "id" => &mut self.id,
            "source" => &mut self.source,
            "type" => &mut self.event_type,
            "subject" => &mut self.subject,
            "time" => &mut self.time,
            "datacontenttype" => &mut self.datacontenttype,
            _ => return Ok(()),
        };
        if text.is_empty() || text.len() > ATTRIBUTE_MAX || text.contains(char::is_control) {
            let wrong = format!("must have 1 to {ATTRIBUTE_MAX} bytes without control characters");
            return Err(bad(name, &wrong));
        }
        *place = Some(text);
        Ok(())
    }

    fn finish(self, data: Option<String>) -> Result<CloudEvent, IngressError> {
        if self.specversion.as_deref() != Some("1.0") {
            return Err(bad("specversion", "must be \"1.0\""));
        }
        if let Some(given) = self.datacontenttype.filter(|given| !is_json_type(given)) {
            let given = given.escape_debug().to_string();
            return Err(IngressError::UnsupportedMediaType { given, wanted: "JSON data" });
        }
        let event_type = self.event_type.ok_or_else(|| bad("type", "is missing"))?;
        if event_type.starts_with(CORE_PREFIX) {
            return Err(IngressError::CoreType);
        }
        let time = self.time.map(|text| text.parse::<jiff::Timestamp>()).transpose();
        let time = time.map_err(|_| bad("time", "is not a time such as 2026-01-31T12:00:00Z"))?;
        Ok(CloudEvent {
            id: self.id.ok_or(IngressError::MissingDeliveryId { place: "id" })?,
            source: self.source.ok_or_else(|| bad("source", "is missing"))?,
            event_type,
            subject: self.subject,
            time: time.map(|time| Millis(time.as_millisecond())),
            data,
        })
    }
}

fn is_json_type(given: &str) -> bool {
    let bare = given.split(';').next().unwrap_or_default();
    body::is_json(&bare.trim().to_ascii_lowercase())
}

fn bad(name: &str, problem: &str) -> IngressError {
    let name = name.escape_debug().to_string();
    IngressError::BadAttribute { name, problem: problem.to_owned() }
}

/// Headers carry other than printable ASCII percent-encoded.
fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let escaped = after.get(..2).filter(|_| *first == b'%');
        let escaped = escaped.and_then(|digits| hex::decode(digits).ok());
        match escaped.as_deref() {
            Some([byte]) => {
                bytes.push(*byte);
                rest = &after[2..];
            }
            Some(_) | None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

/// An accepted Event as a CloudEvent, with what Abide knows of it: `abideid` (its own id),
/// `abideseq` (its acceptance order, as text), `abidescope`, `abidekey` (`source#external-id`),
/// `abidework`, and where it stands in its chain: `abideroot` and `abidecause` (sequences, as text)
/// and `abidedepth`.
#[must_use]
pub fn encode(event: &Event, payload: Option<&str>, work: Option<&WorkUid>) -> Value {
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| {
        if !value.is_null() {
            fields.insert(name.to_owned(), value);
        }
    };
    put("specversion", json!("1.0"));
    put("id", json!(event.id.delivery));
    put("source", json!(event.id.source));
    put("type", json!(event.event_type));
    put("subject", json!(event.subject));
    put("time", json!(event.occurred_at.map(|time| time.to_string())));
    put("abideid", json!(event.uid.to_string()));
    put("abideseq", json!(event.seq.to_string()));
    put("abidescope", json!(event.scope));
    let key = event.key.as_ref().map(|key| format!("{}#{}", key.source, key.external_id));
    put("abidekey", json!(key));
    put("abidework", json!(work.map(ToString::to_string)));
    put("abideroot", json!(event.root.to_string()));
    put("abidedepth", json!(event.depth));
    put("abidecause", json!(event.parent.map(|parent| parent.to_string())));
    if let Some(data) = payload.and_then(|text| serde_json::from_str(text).ok()) {
        fields.insert("datacontenttype".to_owned(), json!("application/json"));
        fields.insert("data".to_owned(), data);
    }
    Value::Object(fields)
}
