//! CloudEvents, both ways.

use axum::http::HeaderMap;
use serde_json::{Value, json};

use super::{config, headers, post};
use crate::domain::{Event, EventUid, IngressId, Key, Millis, Seq, WorkUid};
use crate::ingress::cloudevents::{BATCH_MAX, CloudEvent, decode, encode};

fn event() -> Value {
    json!({
        "specversion": "1.0", "id": "1", "source": "ci:acme", "type": "build.failed",
        "subject": "main", "time": "2026-01-31T12:00:00Z", "data": { "n": 1 },
    })
}

fn with(name: &str, value: Value) -> Value {
    let mut event = event();
    event[name] = value;
    event
}

fn media(media_type: &str) -> HeaderMap {
    headers(&[("content-type", media_type)])
}

fn structured(event: &Value) -> Result<CloudEvent, &'static str> {
    let bytes = event.to_string();
    let events = decode(&media("application/cloudevents+json"), bytes.as_bytes(), 1 << 20);
    events.map(|mut events| events.remove(0)).map_err(|error| error.code())
}

fn expected() -> CloudEvent {
    CloudEvent {
        id: "1".into(),
        source: "ci:acme".into(),
        event_type: "build.failed".into(),
        subject: Some("main".into()),
        time: Some(Millis(1_769_860_800_000)),
        data: Some("{\"n\":1}".into()),
    }
}

#[test]
fn the_four_modes_give_the_same_event() {
    let one = event().to_string();
    let batch = format!("[{one},{one}]");
    let lines = format!("{one}\n\n{one}\n");
    let read = |media_type: &str, body: &str| decode(&media(media_type), body.as_bytes(), 1 << 20);
    assert_eq!(read("application/cloudevents+json; charset=utf-8", &one), Ok(vec![expected()]));
    assert_eq!(read("application/json", &one), Ok(vec![expected()]));
    let two = Ok(vec![expected(), expected()]);
    assert_eq!(read("application/cloudevents-batch+json", &batch), two);
    assert_eq!(read("application/json", &batch), two);
    assert_eq!(read("application/x-ndjson", &lines), two);
    let binary = headers(&[
        ("content-type", "application/json"),
        ("ce-specversion", "1.0"),
        ("ce-id", "1"),
        ("ce-source", "ci:acme"),
        ("ce-type", "build.failed"),
        ("ce-subject", "m%61in"),
        ("ce-time", "2026-01-31T12:00:00Z"),
    ]);
    assert_eq!(decode(&binary, b"{\"n\":1}", 1 << 20), Ok(vec![expected()]));
}

/// INGRESS-08
#[test]
fn forged_attributes_are_refused_in_every_mode() {
    for name in ["abidework", "abidekey", "abideseq", "abidescope", "abidewhatever", "AbideWork"] {
        assert_eq!(structured(&with(name, json!("x"))), Err("reserved_attribute"), "{name}");
    }
    assert_eq!(structured(&with("abidedepth", json!(0))), Err("reserved_attribute"));
    let binary = headers(&[("ce-specversion", "1.0"), ("ce-abidework", "work_1")]);
    let error = decode(&binary, b"", 100).expect_err("it is refused");
    assert_eq!(error.code(), "reserved_attribute");
}

#[test]
fn attributes_that_are_missing_or_wrong_are_refused() {
    let without = |name: &str| {
        let mut event = event();
        event.as_object_mut().expect("it is an object").remove(name);
        structured(&event)
    };
    assert_eq!(without("id"), Err("missing_delivery_id"));
    assert_eq!(without("source"), Err("bad_attribute"));
    assert_eq!(without("type"), Err("bad_attribute"));
    assert_eq!(without("specversion"), Err("bad_attribute"));
    assert!(without("data").is_ok_and(|event| event.data.is_none()));
    assert_eq!(structured(&with("specversion", json!("0.3"))), Err("bad_attribute"));
    assert_eq!(structured(&with("id", json!(""))), Err("bad_attribute"));
    assert_eq!(structured(&with("id", json!("a\nb"))), Err("bad_attribute"));
    assert_eq!(structured(&with("id", json!("x".repeat(2000)))), Err("bad_attribute"));
    assert_eq!(structured(&with("source", json!({}))), Err("bad_attribute"));
    assert_eq!(structured(&with("time", json!("yesterday"))), Err("bad_attribute"));
    assert_eq!(structured(&with("type", json!("core.wait.woken"))), Err("core_type"));
    assert_eq!(structured(&with("data_base64", json!("AA=="))), Err("bad_attribute"));
    let text = with("datacontenttype", json!("text/plain"));
    assert_eq!(structured(&text), Err("unsupported_media_type"));
    assert_eq!(structured(&with("traceparent", json!("00-1"))), Ok(expected()));
}

#[test]
fn bodies_each_have_their_own_code() {
    let code = |media_type: &str, body: &[u8]| {
        decode(&media(media_type), body, 100).map_or_else(|error| error.code(), |_| "accepted")
    };
    assert_eq!(code("application/cloudevents+json", b"\xff"), "not_utf8");
    assert_eq!(code("application/cloudevents+json", b"{"), "not_json");
    assert_eq!(code("application/cloudevents+json", b"3"), "not_object");
    assert_eq!(code("application/cloudevents+json", &[b' '; 101]), "payload_too_large");
    assert_eq!(code("application/cloudevents-batch+json", b"{}"), "bad_attribute");
    assert_eq!(code("text/plain", b"{}"), "unsupported_media_type");
    let error = decode(&HeaderMap::new(), b"{}", 100).expect_err("it has no type");
    assert_eq!(error.status().as_u16(), 415);
}

#[test]
fn one_bad_event_refuses_its_batch_and_is_named() {
    let batch = json!([event(), with("type", json!("core.x"))]).to_string();
    let error = decode(&media("application/cloudevents-batch+json"), batch.as_bytes(), 1 << 20);
    let error = error.expect_err("it is refused");
    assert_eq!(error.code(), "core_type");
    assert!(error.to_string().starts_with("event 2 of the batch"), "{error}");
    let lines = format!("{}\n\nnot json\n", event());
    let error = decode(&media("application/x-ndjson"), lines.as_bytes(), 1 << 20);
    assert!(error.expect_err("it is refused").to_string().starts_with("event 2"));
}

#[test]
fn a_batch_has_a_limit() {
    let batch = |count: usize| {
        let lines = format!("{}\n", event()).repeat(count);
        decode(&media("application/x-ndjson"), lines.as_bytes(), 1 << 30)
    };
    assert_eq!(batch(BATCH_MAX).map(|events| events.len()), Ok(BATCH_MAX));
    assert_eq!(batch(BATCH_MAX + 1).expect_err("it is too large").code(), "batch_too_large");
}

/// INGRESS-12
#[test]
fn a_generic_sender_cannot_speak_for_another_ingress() {
    let send = |source: &str| {
        let body = with("source", json!(source)).to_string();
        let headers = [("content-type", "application/cloudevents+json")];
        post(&config(), "open", &headers, body.as_bytes())
    };
    for source in ["github:github.com/1234", "slack:x", "schedule:nightly", "op:ada"] {
        assert_eq!(send(source).expect_err("it is refused").code(), "reserved_source");
    }
    let event = send("ci:acme").expect("it is accepted").remove(0);
    assert_eq!(event.scope, "main");
    assert_eq!(event.key, None, "its data has no number");
}

#[test]
fn an_accepted_event_is_written_with_what_abide_knows() {
    let accepted = Event {
        seq: Seq(41),
        uid: EventUid::from_uuid(uuid::Uuid::nil()),
        id: IngressId { source: "ci:acme".into(), delivery: "1".into() },
        event_type: "build.failed".into(),
        subject: Some("main".into()),
        occurred_at: Some(Millis(1_769_860_800_000)),
        accepted_at: Millis(1_769_860_800_500),
        scope: "main".into(),
        key: Some(Key { source: "ci:acme".into(), external_id: "7".into() }),
        target: None,
        parent: Some(Seq(40)),
        root: Seq(39),
        depth: 2,
        provenance: None,
    };
    let work = WorkUid::from_uuid(uuid::Uuid::nil());
    let written = encode(&accepted, Some("{\"n\": 1}"), Some(&work));
    let pretty = serde_json::to_string_pretty(&written).expect("it is JSON");
    insta::assert_snapshot!(pretty);
}
