//! Real webhook payloads: the npm package `@octokit/webhooks-examples`, unpacked where `ABIDE_CORPUS` says.
//!
//! The payloads are fetched, never committed. Where they are missing a test says so loudly; under `ABIDE_CI` that is a
//! failure.

use std::path::PathBuf;

use serde_json::Value;

/// One payload as GitHub would deliver it.
#[derive(Debug, Clone)]
pub struct Payload {
    /// The `X-GitHub-Event` header.
    pub event: String,
    /// The body.
    pub body: Value,
}

impl Payload {
    /// The repository and the number of the pull request or issue it is about, if it is about one.
    #[must_use]
    pub fn subject(&self) -> Option<(i64, i64)> {
        let repository = self.body["repository"]["id"].as_i64()?;
        let of = |field: &str| self.body[field]["number"].as_i64();
        of("pull_request").or_else(|| of("issue")).map(|number| (repository, number))
    }

    /// The same payload of another repository.
    #[must_use]
    pub fn in_repository(&self, shift: i64) -> Self {
        let mut copy = self.clone();
        if let Some(id) = copy.body["repository"]["id"].as_i64() {
            copy.body["repository"]["id"] = Value::from(id + shift);
        }
        copy
    }
}

/// The corpus; `None`, after saying so, where it is missing and may be.
///
/// # Panics
/// Under `ABIDE_CI`, if it is missing; anywhere, if it is not what it should be.
#[must_use]
pub fn load() -> Option<Vec<Payload>> {
    let Some(folder) = std::env::var_os("ABIDE_CORPUS").map(PathBuf::from) else {
        assert!(
            std::env::var_os("ABIDE_CI").is_none(),
            "ABIDE_CI is set, so ABIDE_CORPUS must name the payloads"
        );
        return None;
    };
    let file = folder.join("api.github.com/index.json");
    let text = std::fs::read_to_string(&file)
        .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let kinds: Vec<Value> = serde_json::from_str(&text).expect("the corpus is a JSON array");
    Some(kinds.iter().flat_map(payloads_of).collect())
}

fn payloads_of(kind: &Value) -> Vec<Payload> {
    let event = kind["name"].as_str().unwrap_or_default().to_owned();
    let examples = kind["examples"].as_array().cloned().unwrap_or_default();
    examples.into_iter().map(|body| Payload { event: event.clone(), body }).collect()
}
