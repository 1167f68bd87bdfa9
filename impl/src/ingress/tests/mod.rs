//! What is made of deliveries, and what is refused of them.

mod cloud;
mod hooks;

use axum::http::{HeaderMap, HeaderName, HeaderValue};

use super::{IngressError, receive, signature};
use crate::config::Config;
use crate::config::tests::{SMALL, environment, folder, read_in};
use crate::domain::{EventUid, NewEvent};

/// A configuration with a GitHub ingress of two secrets and a generic one that is unsigned.
const BOTH: &str = r#"
[listen]
hooks = "127.0.0.1:7700"

[[ingress]]
name = "open"
kind = "http"
scope = "main"
unsigned = true
"#;

fn config() -> Config {
    let ingress = r#"secrets = [{ env = "OLD" }, { env = "GH_SECRET" }]
self = ["acme-bot[bot]"]
max = "64KiB""#;
    let text = SMALL.replace("secrets = [{ env = \"GH_SECRET\" }]", ingress);
    configured(&format!("{BOTH}{text}"))
}

fn configured(text: &str) -> Config {
    let env = crate::config::Environment::of([("GH_SECRET", "hush"), ("OLD", "older")]);
    read_in(&folder(), text, &env).unwrap_or_else(|errors| panic!("{errors}"))
}

fn headers(list: &[(&str, &str)]) -> HeaderMap {
    let pairs = list.iter().map(|(name, value)| {
        let name = HeaderName::try_from(*name).expect("it is a header's name");
        (name, HeaderValue::try_from(*value).expect("it is a header's value"))
    });
    pairs.collect()
}

/// The signature header of a body.
fn signed(secret: &str, body: &[u8]) -> String {
    format!("sha256={}", hex::encode(signature::sign(secret.as_bytes(), body)))
}

fn post(
    config: &Config,
    name: &str,
    list: &[(&str, &str)],
    body: &[u8],
) -> Result<Vec<NewEvent>, IngressError> {
    receive(config, name, &headers(list), body, &mut EventUid::new)
}

#[test]
fn an_unknown_ingress_is_refused() {
    let error = post(&config(), "gitlab", &[], b"{}").expect_err("there is none");
    assert_eq!((error.code(), error.status().as_u16()), ("unknown_ingress", 404));
}

#[test]
fn every_refusal_says_what_is_so_and_what_to_do() {
    let all = [
        IngressError::UnknownIngress { name: "x".into() },
        IngressError::PayloadTooLarge { max: 10 },
        IngressError::MissingSignature { header: "x-hub-signature-256" },
        IngressError::WrongSignature,
        IngressError::MissingHeader { header: "X-GitHub-Event" },
        IngressError::MissingDeliveryId { place: "id" },
        IngressError::UnsupportedMediaType { given: "a/b".into(), wanted: "c/d" },
        IngressError::NotUtf8 { at: 3 },
        IngressError::NotJson { line: 1, column: 2, message: "expected value".into() },
        IngressError::NotObject,
        IngressError::BadAttribute { name: "time".into(), problem: "is not a time".into() },
        IngressError::ReservedAttribute { name: "abidework".into() },
        IngressError::ReservedSource { source_name: "github:x".into() },
        IngressError::CoreType,
        IngressError::NoSource { wanted: "repository" },
        IngressError::UnknownScope { resource: "a/b".into() },
        IngressError::BatchTooLarge { max: 1000 },
        IngressError::InBatch { index: 2, error: Box::new(IngressError::NotObject) },
    ];
    let mut codes: Vec<&str> = all.iter().map(IngressError::code).collect();
    let shown = all.iter().map(|error| format!("{} {}: {error}", error.status(), error.code()));
    insta::assert_snapshot!(shown.collect::<Vec<_>>().join("\n"));
    codes.pop();
    codes.sort_unstable();
    codes.dedup();
    assert_eq!(codes.len(), all.len() - 1, "each has its own code");
}

#[test]
fn a_signature_is_checked_against_a_known_answer() {
    // The example of GitHub's own documentation.
    let made = signature::sign(b"It's a Secret to Everybody", b"Hello, World!");
    let known = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
    assert_eq!(hex::encode(made), known);
    // The tests' environment is the one the other configurations are read in.
    assert!(read_in(&folder(), SMALL, &environment()).is_ok());
}
