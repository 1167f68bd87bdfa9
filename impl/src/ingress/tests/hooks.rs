//! GitHub deliveries.

use serde_json::{Value, json};

use super::{config, configured, post, signed};
use crate::config::Config;
use crate::config::tests::SMALL;
use crate::domain::{Millis, NewEvent, WorkId};
use crate::ingress::{IngressError, identify, offered_view, sender};

fn repository() -> Value {
    json!({
        "id": 1234, "full_name": "acme/web", "html_url": "https://github.com/acme/web"
    })
}

fn pull_request() -> Value {
    json!({
        "action": "opened",
        "number": 7,
        "pull_request": {
            "number": 7,
            "html_url": "https://github.com/acme/web/pull/7",
            "updated_at": "2026-01-31T12:00:00Z",
            "author_association": "MEMBER",
        },
        "repository": repository(),
        "sender": { "login": "ada" },
    })
}

/// Delivers a payload signed with the current secret.
fn deliver_to(config: &Config, event: &str, payload: &Value) -> Result<NewEvent, IngressError> {
    let body = payload.to_string();
    let signature = signed("hush", body.as_bytes());
    let headers = [
        ("x-github-event", event),
        ("x-github-delivery", "d-1"),
        ("x-hub-signature-256", signature.as_str()),
        ("content-type", "application/json; charset=utf-8"),
    ];
    post(config, "github", &headers, body.as_bytes()).map(|mut events| events.remove(0))
}

fn deliver(event: &str, payload: &Value) -> Result<NewEvent, IngressError> {
    deliver_to(&config(), event, payload)
}

/// Delivers bytes under the given headers.
fn raw(headers: &[(&str, &str)], body: &[u8]) -> &'static str {
    post(&config(), "github", headers, body).map_or_else(|error| error.code(), |_| "accepted")
}

#[test]
fn a_pull_request_becomes_an_event_with_a_key() {
    let payload = pull_request();
    let event = deliver("pull_request", &payload).expect("it is accepted");
    assert_eq!(event.event_type, "pull_request.opened");
    assert_eq!(event.id.source, "github:github.com/1234");
    assert_eq!(event.id.delivery, "d-1");
    assert_eq!(event.subject.as_deref(), Some("https://github.com/acme/web/pull/7"));
    assert_eq!(event.occurred_at, Some(Millis(1_769_860_800_000)));
    assert_eq!(event.scope, "main");
    assert_eq!(event.limits.max_depth, 32);
    assert_eq!(event.target, None);
    assert_eq!(event.payload, Some(payload.to_string()));
    let key = event.key.expect("the route gives it one");
    assert_eq!((key.source.as_str(), key.external_id.as_str()), ("github:github.com/1234", "7"));
}

#[test]
fn each_kind_of_event_has_its_type_source_and_subject() {
    let (repository, at) = (repository(), "2026-01-31T12:00:00Z");
    let table = [
        (
            "push",
            json!({ "ref": "refs/heads/main", "repository": repository,
            "head_commit": { "timestamp": "2026-01-31T14:00:00+02:00" } }),
        ),
        (
            "issues",
            json!({ "action": "opened", "repository": repository,
            "issue": { "html_url": "https://github.com/acme/web/issues/9", "updated_at": at } }),
        ),
        (
            "issue_comment",
            json!({ "action": "created", "repository": repository,
            "issue": { "html_url": "https://github.com/acme/web/issues/9" },
            "comment": { "updated_at": at } }),
        ),
        ("ping", json!({ "zen": "x", "hook_id": 55 })),
        ("sponsorship", json!({ "action": "created", "sender": { "id": 6 } })),
        (
            "security_advisory",
            json!({ "action": "published", "security_advisory": { "ghsa_id": "GHSA-1" } }),
        ),
        (
            "organization",
            json!({ "action": "member_added",
            "organization": { "id": 8, "login": "acme" } }),
        ),
        ("installation", json!({ "action": "created", "installation": { "id": 3 } })),
        (
            "enterprise",
            json!({ "enterprise": { "id": 2, "slug": "big",
            "html_url": "https://ghe.example.org/enterprises/big" } }),
        ),
    ];
    let rows = table.iter().map(|(event, payload)| {
        let event = deliver(event, payload).expect("it is accepted");
        format!(
            "{} | {} | {} | {}",
            event.event_type,
            event.id.source,
            event.subject.unwrap_or_default(),
            event.occurred_at.map(|at| at.to_string()).unwrap_or_default()
        )
    });
    insta::assert_snapshot!(rows.collect::<Vec<_>>().join("\n"));
}

#[test]
fn any_secret_of_the_ingress_may_have_signed() {
    let body = pull_request().to_string();
    for (secret, outcome) in [("hush", "accepted"), ("older", "accepted"), ("x", "wrong_signature")]
    {
        let signature = signed(secret, body.as_bytes());
        let headers = [
            ("x-github-event", "pull_request"),
            ("x-github-delivery", "d"),
            ("x-hub-signature-256", signature.as_str()),
        ];
        assert_eq!(raw(&headers, body.as_bytes()), outcome, "{secret}");
    }
}

#[test]
fn a_signature_that_is_absent_truncated_or_of_another_body_is_refused() {
    let body = pull_request().to_string();
    let right = signed("hush", body.as_bytes());
    let other = signed("hush", b"{}");
    let names = [("x-github-event", "pull_request"), ("x-github-delivery", "d")];
    assert_eq!(raw(&names, body.as_bytes()), "missing_signature");
    let upper = right.to_uppercase();
    for wrong in [&right[..70], &right[7..], &other, "", "sha256=", &upper, "sha1=00"] {
        let headers = [names[0], names[1], ("x-hub-signature-256", wrong)];
        assert_eq!(raw(&headers, body.as_bytes()), "wrong_signature", "{wrong}");
    }
}

#[test]
fn the_signature_is_checked_before_anything_is_read_of_the_body() {
    assert_eq!(
        raw(&[("x-hub-signature-256", "sha256=00")], b"\xff\xfe not json"),
        "wrong_signature"
    );
}

#[test]
fn size_is_checked_before_the_signature() {
    assert_eq!(raw(&[], &vec![b' '; (64 << 10) + 1]), "payload_too_large");
    assert_eq!(raw(&[], &vec![b' '; 64 << 10]), "missing_signature");
}

#[test]
fn bodies_that_are_no_json_object_each_have_their_own_code() {
    let refused = |body: &[u8], extra: (&'static str, &'static str)| {
        let signature = signed("hush", body);
        let headers = [
            ("x-github-event", "push"),
            ("x-github-delivery", "d"),
            ("x-hub-signature-256", signature.as_str()),
            extra,
        ];
        raw(&headers, body)
    };
    let json = ("content-type", "application/json");
    assert_eq!(refused(b"{\"a\": \"\xff\"}", json), "not_utf8");
    assert_eq!(refused(b"{\"a\": ", json), "not_json");
    assert_eq!(refused(b"", json), "not_json");
    assert_eq!(refused("[".repeat(300).as_bytes(), json), "not_json");
    assert_eq!(refused(b"[1]", json), "not_object");
    assert_eq!(refused(b"{}", json), "no_source");
    let form = ("content-type", "application/x-www-form-urlencoded");
    assert_eq!(refused(b"payload=%7B%7D", form), "unsupported_media_type");
}

#[test]
fn deliveries_without_id_or_event_are_refused() {
    let body = pull_request().to_string();
    let signature = signed("hush", body.as_bytes());
    let signature = ("x-hub-signature-256", signature.as_str());
    let (event, id) = (("x-github-event", "push"), ("x-github-delivery", "d"));
    assert_eq!(raw(&[signature, event], body.as_bytes()), "missing_delivery_id");
    let blank = ("x-github-delivery", " ");
    assert_eq!(raw(&[signature, event, blank], body.as_bytes()), "missing_delivery_id");
    assert_eq!(raw(&[signature, id], body.as_bytes()), "missing_header");
}

/// CAUSE-07
#[test]
fn a_delivery_cannot_forge_a_type() {
    let with = |event: &str, action: &str| {
        let mut payload = pull_request();
        payload["action"] = json!(action);
        deliver(event, &payload).map_or_else(|error| error.code(), |_| "accepted")
    };
    assert_eq!(with("core", "wait"), "core_type");
    assert_eq!(with("core.wait", "timeout"), "bad_attribute");
    assert_eq!(with("issues", "a b"), "bad_attribute");
    assert_eq!(with("issues", ""), "bad_attribute");
}

/// INGRESS-08
#[test]
fn the_signed_resource_selects_the_scope_by_its_exact_name() {
    let text = SMALL.replace("scope = \"main\"", "scopes = { \"acme/web\" = \"main\" }");
    let config = configured(&text);
    assert_eq!(deliver_to(&config, "pull_request", &pull_request()).expect("it is").scope, "main");
    for other in ["Acme/Web", "acme/web2", "acme"] {
        let mut payload = pull_request();
        payload["repository"]["full_name"] = json!(other);
        let error = deliver_to(&config, "pull_request", &payload).expect_err("it has none");
        assert_eq!(error.code(), "unknown_scope", "{other}");
    }
}

/// INGRESS-08 CAUSE-23
#[test]
fn each_repository_goes_to_its_own_scope_with_its_limits_and_key() {
    let scopes = "scopes = { \"acme/web\" = \"main/web\", \"acme/api\" = \"main\" }";
    let below = "[[scope.\"main/web\".route]]\nname = \"all\"\non = [\"*\"]\n\
                 key = '\"web-\" + string(event.data.number)'\ndo = \"work\"\nkind = \"review\"\n\
                 [scope.\"main/web\"]\ncausal = { max_depth = 3 }\n";
    let text = format!("{}{below}", SMALL.replace("scope = \"main\"", scopes));
    let config = configured(&text);
    let deliver = |name: &str| {
        let mut payload = pull_request();
        payload["repository"]["full_name"] = json!(name);
        deliver_to(&config, "pull_request", &payload).expect("it is accepted")
    };
    let (web, api) = (deliver("acme/web"), deliver("acme/api"));
    assert_eq!((web.scope.as_str(), web.limits.max_depth), ("main/web", 3));
    assert_eq!((api.scope.as_str(), api.limits.max_depth), ("main", 32));
    let id = |event: NewEvent| event.key.map(|key| key.external_id);
    assert_eq!((id(web).as_deref(), id(api).as_deref()), (Some("web-7"), Some("7")));
}

/// OURS-17
#[test]
fn a_body_may_be_suspect_only_where_its_identity_is_not_signed() {
    let github = deliver("pull_request", &pull_request()).expect("it is accepted");
    assert!(github.suspect_within.is_some(), "the delivery's id is in a header");
    let text = SMALL.replace("kind = \"github\"", "kind = \"http\"");
    let config = configured(&text);
    let send = |headers: &[(&str, &str)], body: &str| {
        let signature = signed("hush", body.as_bytes());
        let all = [headers, &[("x-hub-signature-256", signature.as_str())]].concat();
        post(&config, "github", &all, body.as_bytes()).expect("it is accepted").remove(0)
    };
    let binary =
        [("ce-specversion", "1.0"), ("ce-id", "1"), ("ce-source", "ci:1"), ("ce-type", "t")];
    let json = [("content-type", "application/json")];
    let binary = send(&[&binary[..], &json[..]].concat(), "{}");
    assert!(binary.suspect_within.is_some());
    let body = r#"{"specversion": "1.0", "id": "1", "source": "ci:1", "type": "t"}"#;
    let structured = send(&[("content-type", "application/cloudevents+json")], body);
    assert_eq!(structured.suspect_within, None, "the signature covers the id");
}

/// INGRESS-12
#[test]
fn equal_numbers_of_two_repositories_are_two_keys() {
    let one = deliver("pull_request", &pull_request()).expect("it is accepted");
    let mut payload = pull_request();
    payload["repository"]["id"] = json!(99);
    let other = deliver("pull_request", &payload).expect("it is accepted");
    assert_ne!(one.key, other.key);
}

/// OURS-12
#[test]
fn an_event_of_our_own_account_is_accepted_without_a_key() {
    let mut payload = pull_request();
    payload["sender"]["login"] = json!("acme-bot[bot]");
    let event = deliver("pull_request", &payload).expect("it is accepted");
    assert_eq!(event.key, None);
    assert!(offered_view(&config(), &event).sender.is_self);
}

/// INGRESS-10
#[test]
fn an_event_that_names_its_work_gets_no_computed_key() {
    let mut event = deliver("pull_request", &pull_request()).expect("it is accepted");
    event.key = None;
    event.target = Some(WorkId(1));
    identify(&config(), &mut event).expect("there is nothing to evaluate");
    assert_eq!(event.key, None);
}

#[test]
fn actor_and_trust_come_from_the_payload_of_github_sources_only() {
    let data = pull_request();
    let from = sender(&config(), "github:github.com/1", &data);
    assert_eq!((from.actor.as_deref(), from.trust.as_deref()), (Some("ada"), Some("member")));
    assert_eq!(sender(&config(), "other:1", &data).actor, None);
}

#[test]
fn a_route_that_cannot_be_evaluated_is_told_to_the_sender() {
    let text = SMALL.replace("string(event.data.number)", "event.data.number");
    let error = deliver_to(&configured(&text), "pull_request", &pull_request());
    let error = error.expect_err("the key is a number");
    assert_eq!((error.code(), error.status().as_u16()), ("expression_result", 503));
}
