//! What every body must be before anything is read from it.

use axum::http::{HeaderMap, header};
use serde_json::{Map, Value};

use super::IngressError;

/// Refuses a body above the limit of its door. The server refuses most before they are read.
pub(super) fn bounded(body: &[u8], max: u64) -> Result<(), IngressError> {
    if body.len() as u64 > max { Err(IngressError::PayloadTooLarge { max }) } else { Ok(()) }
}

/// The body as text.
pub(super) fn text(body: &[u8]) -> Result<&str, IngressError> {
    std::str::from_utf8(body).map_err(|error| IngressError::NotUtf8 { at: error.valid_up_to() })
}

/// JSON of any type.
pub(super) fn json(text: &str) -> Result<Value, IngressError> {
    serde_json::from_str(text).map_err(|error| {
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or_default();
        let message = message.chars().take(160).flat_map(char::escape_debug).collect();
        IngressError::NotJson { line: error.line(), column: error.column(), message }
    })
}

/// A JSON object.
pub(super) fn object(text: &str) -> Result<Map<String, Value>, IngressError> {
    match json(text)? {
        Value::Object(fields) => Ok(fields),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(IngressError::NotObject)
        }
    }
}

/// The media type, lower case and without parameters; `None` if the sender gave none.
pub(super) fn media_type(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(header::CONTENT_TYPE)?;
    let value = String::from_utf8_lossy(value.as_bytes());
    let value = value.split(';').next().unwrap_or_default();
    Some(value.trim().to_ascii_lowercase())
}

/// `application/json`, or anything built on it.
pub(super) fn is_json(media_type: &str) -> bool {
    matches!(media_type, "application/json" | "text/json") || media_type.ends_with("+json")
}

/// A header as text that can be an identity or a type: visible ASCII, neither empty nor long.
pub(super) fn plain<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let value = headers.get(name)?.to_str().ok()?.trim();
    let plain = !value.is_empty() && value.len() <= 256 && !value.contains(char::is_whitespace);
    plain.then_some(value)
}
