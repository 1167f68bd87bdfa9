//! What the body of a request says.

use axum::body::Bytes;
use serde::de::DeserializeOwned;

use crate::api::problem::ApiError;

/// A body that is JSON of a known form.
///
/// # Errors
/// It is `what` instead.
pub(super) fn parse<T: DeserializeOwned>(body: &Bytes, what: &str) -> Result<T, ApiError> {
    serde_json::from_slice(body).map_err(|error| {
        ApiError::malformed(format!("the body is {what}: {error}"))
            .next("`docs/operator.md` has the words of every body")
    })
}

/// The same of a body that may be left out.
///
/// # Errors
/// As [`parse`].
pub(super) fn parse_any<T: DeserializeOwned + Default>(
    body: &Bytes,
    what: &str,
) -> Result<T, ApiError> {
    if body.is_empty() { Ok(T::default()) } else { parse(body, what) }
}
