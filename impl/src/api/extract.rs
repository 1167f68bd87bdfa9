//! What an address says beside its body: what cannot be understood of it is a problem like any other.

use axum::extract::{FromRequestParts, Path, Query};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use super::problem::ApiError;

/// The words after `?`.
#[derive(Debug)]
pub(super) struct Asked<T>(pub(super) T);

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for Asked<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let asked = Query::try_from_uri(&parts.uri);
        let Query(words) = asked.map_err(|error| {
            let why = error.body_text();
            ApiError::malformed(format!("what follows `?` is not understood: {}", one_line(&why)))
                .next("each word once: `after` and `limit` are whole numbers from 0")
        })?;
        Ok(Self(words))
    }
}

/// The name in the path.
#[derive(Debug)]
pub(super) struct Named(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for Named {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let named = Path::<String>::from_request_parts(parts, state).await;
        let Path(name) = named.map_err(|error| {
            ApiError::malformed(format!(
                "the path is not understood: {}",
                one_line(&error.body_text())
            ))
            .next("send the id as it was answered, in UTF-8")
        })?;
        Ok(Self(name))
    }
}

fn one_line(why: &str) -> String {
    why.escape_debug().take(256).collect()
}
