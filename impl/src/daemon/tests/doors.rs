//! The hooks and the operator door: who may ask, what is refused and how, and what is answered.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

use super::Bench;
use super::bench::ask;
use crate::api::auth::{Principals, TokenError};
use crate::api::{hooks, operator};
use crate::command::Command;
use crate::daemon::evaluation;
use crate::domain::{Seq, WorkStatus};
use crate::serve::state;

/// The operator door, with what `ops` and `eyes` present.
struct Operator {
    router: Router,
    ops: String,
    eyes: String,
}

impl Operator {
    fn of(bench: &Bench) -> Self {
        let principals =
            Principals::load(&bench.context.current().config.principals).expect("tokens");
        let router = operator::router(Arc::clone(&bench.context), &Arc::new(principals));
        let token = |name: &str| {
            let file = bench.folder.path().join(format!("{name}.token"));
            std::fs::read_to_string(file).expect("it was made").trim().to_owned()
        };
        Self { router, ops: token("ops"), eyes: token("eyes") }
    }

    async fn get(&self, path: &str) -> (StatusCode, Value) {
        ask(&self.router, request(Method::GET, path, &self.ops, "", "")).await
    }

    async fn post(&self, path: &str, media_type: &str, body: &str) -> (StatusCode, Value) {
        ask(&self.router, request(Method::POST, path, &self.ops, media_type, body)).await
    }

    async fn offer(&self, event: &Value) -> (StatusCode, Value) {
        self.post("/events", "application/cloudevents+json", &event.to_string()).await
    }
}

fn request(method: Method, path: &str, token: &str, media_type: &str, body: &str) -> Request<Body> {
    let request = Request::builder().method(method).uri(path);
    let request = request.header("authorization", format!("Bearer {token}"));
    let request = request.header("content-type", media_type);
    request.body(Body::from(body.to_owned())).expect("a request")
}

fn event(id: &str, more: &Value) -> Value {
    let mut event = json!({"specversion": "1.0", "id": id, "source": "op:me", "type": "t.a"});
    let fields = event.as_object_mut().expect("an object");
    fields.extend(more.as_object().expect("an object").clone());
    event
}

fn code(answer: &(StatusCode, Value)) -> (u16, &str) {
    (answer.0.as_u16(), answer.1["code"].as_str().unwrap_or_default())
}

/// API-01
#[tokio::test]
async fn a_missing_wrong_or_foreign_token_is_refused_without_effect() {
    let bench = Bench::new().await;
    let door = Operator::of(&bench);
    let body = event("1", &json!({"abidekey": "k"})).to_string();
    let wrong = ["", "x", &door.eyes[1..], &format!("{}0", door.ops)];
    for token in wrong {
        let post = request(Method::POST, "/events", token, "application/json", &body);
        assert_eq!(code(&ask(&door.router, post).await), (401, "unauthenticated"));
    }
    let bare = Request::get("/events").body(Body::empty()).expect("a request");
    assert_eq!(code(&ask(&door.router, bare).await), (401, "unauthenticated"));
    let post = request(Method::POST, "/events", &door.eyes, "application/json", &body);
    assert_eq!(code(&ask(&door.router, post).await), (403, "forbidden"));
    let read = request(Method::GET, "/events", &door.eyes, "", "");
    let (status, page) = ask(&door.router, read).await;
    assert_eq!((status, page), (StatusCode::OK, json!({"items": []})));
}

/// INGRESS-05 INGRESS-07
#[tokio::test]
async fn an_event_is_kept_once_and_answered_with_its_place() {
    let bench = Bench::new().await;
    let door = Operator::of(&bench);
    let offered = event("1", &json!({"abidekey": "k", "data": {"n": 1}}));
    let (status, first) = door.offer(&offered).await;
    assert_eq!((status, &first["seq"]), (StatusCode::CREATED, &json!(1)));
    let (status, again) = door.offer(&offered).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(again, json!({"id": first["id"], "seq": 1, "duplicate": true}));
    let (_, shown) = door.get("/events/1").await;
    assert_eq!((&shown["key"], &shown["data"]), (&json!("k"), &json!({"n": 1})));
    let id = first["id"].as_str().expect("an id");
    assert_eq!(door.get(&format!("/events/{}", &id[..20])).await.1["seq"], json!(1));
}

#[tokio::test]
async fn every_mode_of_cloudevents_is_read_and_a_batch_is_answered_as_a_list() {
    let bench = Bench::new().await;
    let door = Operator::of(&bench);
    let batch = json!([event("1", &json!({"abidekey": "a"})), event("2", &json!({}))]).to_string();
    let (status, list) = door.post("/events", "application/cloudevents-batch+json", &batch).await;
    assert_eq!((status, list.as_array().map(Vec::len)), (StatusCode::CREATED, Some(2)));
    let lines = format!("{}\n{}\n", event("2", &json!({})), event("3", &json!({"abidekey": "b"})));
    let (status, list) = door.post("/events", "application/x-ndjson", &lines).await;
    assert_eq!(status, StatusCode::CREATED);
    assert_eq!((&list[0]["duplicate"], &list[1]["duplicate"]), (&json!(true), &json!(false)));
    let binary = Request::post("/events")
        .header("authorization", format!("Bearer {}", door.ops))
        .header("content-type", "application/json")
        .header("ce-specversion", "1.0")
        .header("ce-id", "4")
        .header("ce-source", "op:me")
        .header("ce-type", "t.a")
        .header("ce-abidekey", "c")
        .body(Body::from(r#"{"n": 4}"#))
        .expect("a request");
    let (status, one) = ask(&door.router, binary).await;
    assert_eq!((status, &one["seq"]), (StatusCode::CREATED, &json!(4)));
    let keys: Vec<Value> = door.get("/events").await.1["items"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| row["key"].clone())
        .collect();
    assert_eq!(keys, [json!("a"), Value::Null, json!("b"), json!("c")]);
}

/// INGRESS-08 INGRESS-09 INGRESS-10 CAUSE-07
#[tokio::test]
async fn what_may_not_be_offered_has_its_code_and_its_status() {
    let bench = Bench::new().await;
    let door = Operator::of(&bench);
    let seq = bench.event("t.a", "k", "{}").await;
    evaluation::route(&bench.context, seq).await;
    let work = door.get("/work").await.1["items"][0]["id"].clone();
    let refused = [
        (json!({"type": "core.x"}), (409, "core_type")),
        (json!({"abidescope": "other"}), (403, "unknown_scope")),
        (json!({"abidework": "work_7"}), (404, "unknown_work")),
        (json!({"abidework": work, "abidekey": "else"}), (422, "contradictory_target")),
        (json!({"abideseq": "9"}), (400, "reserved_attribute")),
        (json!({"abidekey": 5}), (400, "bad_attribute")),
        (json!({"id": null}), (400, "missing_delivery_id")),
        (json!({"data": {"n": 5}, "type": 7}), (201, "")),
    ];
    for (more, wanted) in refused {
        let answer = door.offer(&event("x", &more)).await;
        assert_eq!(code(&answer), wanted, "{more} {}", answer.1);
    }
    for (media_type, body, wanted) in [
        ("text/plain", "x", (415, "unsupported_media_type")),
        ("application/cloudevents+json", "{", (400, "not_json")),
        ("application/cloudevents+json", "[]", (400, "not_object")),
    ] {
        assert_eq!(code(&door.post("/events", media_type, body).await), wanted);
    }
}

#[tokio::test]
async fn lists_go_forward_page_by_page_and_filter() {
    let bench = Bench::new().await;
    let door = Operator::of(&bench);
    for n in 0..5 {
        let event_type = if n == 2 { "t.b" } else { "t.a" };
        bench.event(event_type, &format!("k{n}"), "{}").await;
    }
    let (_, page) = door.get("/events?limit=2").await;
    assert_eq!((&page["next"], page["items"].as_array().map(Vec::len)), (&json!(2), Some(2)));
    let (_, page) = door.get("/events?after=4&limit=2").await;
    assert_eq!((page.get("next"), page["items"].as_array().map(Vec::len)), (None, Some(1)));
    for (query, seqs) in [
        ("type=t.b", vec![3]),
        ("key=k4", vec![5]),
        ("key=x:y%23k1", vec![2]),
        ("mark=unrouted", vec![1, 2, 3, 4, 5]),
        ("mark=queued", vec![]),
    ] {
        let (_, page) = door.get(&format!("/events?{query}")).await;
        let found: Vec<i64> = page["items"]
            .as_array()
            .expect("rows")
            .iter()
            .filter_map(|row| row["seq"].as_i64())
            .collect();
        assert_eq!(found, seqs, "{query}");
    }
    assert_eq!(code(&door.get("/events?mark=lost").await), (400, "malformed"));
    assert_eq!(code(&door.get("/work?status=asleep").await), (400, "malformed"));
    assert_eq!(code(&door.get("/events/99").await), (404, "unknown_event"));
    assert_eq!(code(&door.get("/work/work_").await), (404, "unknown_work"));
}

/// CANCEL-01 CANCEL-11
#[tokio::test]
async fn a_work_is_cancelled_once_and_its_journal_names_who_did_it() {
    let bench = Bench::new().await;
    let door = Operator::of(&bench);
    let seq = bench.event("t.a", "k", "{}").await;
    evaluation::route(&bench.context, seq).await;
    let id = door.get("/work").await.1["items"][0]["id"].as_str().expect("an id").to_owned();
    let path = format!("/work/{id}/cancel");
    let (status, row) = door.post(&path, "application/json", r#"{"reason": "not now"}"#).await;
    assert_eq!((status, &row["status"]), (StatusCode::OK, &json!("cancelled")));
    assert_eq!(row["reason"], json!("it was cancelled: ops: not now"));
    assert_eq!(door.post(&path, "", "").await.0, StatusCode::OK);
    let (_, journal) = door.get("/journal?limit=1000").await;
    let rows = journal["items"].as_array().expect("rows");
    let cancel = rows.iter().find(|row| row["action"] == "cancel").expect("it is noted");
    assert_eq!(cancel["actor"], json!("principal:ops"));
    let (_, why) = door.get(&format!("/why/{id}")).await;
    assert_eq!(why["sentence"], json!("it is over: it was cancelled: ops: not now"));
}

#[tokio::test]
async fn why_says_what_an_event_waits_for() {
    let bench = Bench::new().await;
    let door = Operator::of(&bench);
    // Order binds once a work owns the key, so one event makes the work first. OWN-05
    let owner = bench.event("t.a", "k", "{}").await;
    evaluation::route(&bench.context, owner).await;
    let first = bench.event("t.a", "k", r#"{"big": "text"}"#).await;
    let second = bench.event("t.a", "k", "{}").await;
    evaluation::route(&bench.context, first).await;
    bench.context.troubles.event(first, "route `all`: its `when` failed");
    let (_, why) = door.get(&format!("/why/{second}")).await;
    assert_eq!(
        why["sentence"],
        json!("event 3 is not routed yet: event 2 of the same work comes first")
    );
    assert_eq!(why["next"], json!("abide why 2"));
    let (_, why) = door.get("/why/2").await;
    let sentence = why["sentence"].as_str().expect("a sentence");
    assert!(sentence.contains("its `when` failed"), "{sentence}");
    assert_eq!(code(&door.get("/why/nothing").await), (404, "unknown_id"));
    assert_eq!(first, Seq(2));
}

#[tokio::test]
async fn ready_means_that_every_loop_looks() {
    let bench = Bench::new().await;
    let door = Operator::of(&bench);
    bench.context.health.looks("router");
    let (status, body) = door.get("/readyz").await;
    assert_eq!((status, &body["ready"]), (StatusCode::OK, &json!(true)));
    bench.stop();
    let (status, body) = door.get("/readyz").await;
    assert_eq!((status, &body["stopping"]), (StatusCode::SERVICE_UNAVAILABLE, &json!(true)));
}

#[tokio::test]
async fn a_draining_daemon_claims_nothing_and_goes_once_nothing_runs() {
    let bench = Bench::new().await;
    let seq = bench.event("t.a", "k", "{}").await;
    evaluation::route(&bench.context, seq).await;
    bench.pinned("runs", "b").await;
    bench.context.drain.begin("1", None);
    bench.run(crate::daemon::scheduler::run);
    bench.run(crate::daemon::drain::run);
    let drained = tokio::time::timeout(Duration::from_millis(400), bench.context.drain.drained());
    assert!(drained.await.is_err(), "one runs");
    let works = bench.context.read(crate::store::works::running).await;
    assert_eq!(works.expect("it reads"), 1, "nothing was claimed");
    let by = bench.authority(2).await;
    let (ending, status) = (crate::domain::Ending::Completed, None);
    bench.commit(Command::Complete { by, ending, status, proofs: Vec::new(), usage: None }).await;
    bench.context.drain.drained().await;
    let works = bench.context.read(crate::store::works::running).await;
    assert_eq!(works.expect("it reads"), 0, "nothing was claimed at the end");
}

#[tokio::test]
async fn a_drain_whose_time_is_over_lets_the_daemon_claim_again() {
    let bench = Bench::new().await;
    bench.pinned("runs", "b").await;
    let seq = bench.event("t.a", "k", "{}").await;
    evaluation::route(&bench.context, seq).await;
    bench.context.drain.begin("1", Some(Duration::ZERO));
    bench.run(crate::daemon::scheduler::run);
    bench.run(crate::daemon::drain::run);
    bench.work_is(2, WorkStatus::Running).await;
    assert!(!bench.context.drain.is_on());
}

/// The bound of a drain is one of time: it needs nothing that could fail.
#[tokio::test]
async fn a_drain_ends_in_time_while_nothing_can_be_committed() {
    let bench = Bench::new().await;
    let door = Operator::of(&bench);
    let outside = rusqlite::Connection::open(bench.folder.path().join("abide.db"));
    let outside = outside.expect("it is a database");
    outside.execute_batch("BEGIN IMMEDIATE").expect("nobody writes");
    let offered = event("1", &json!({"abidekey": "other"}));
    assert_eq!(code(&door.offer(&offered).await), (503, "unavailable"));
    bench.context.drain.begin("1", Some(Duration::from_millis(50)));
    bench.run(crate::daemon::drain::run);
    assert_eq!(door.get("/drain").await.1["draining"], json!(true));
    tokio::time::sleep(Duration::from_millis(80)).await;
    assert_eq!(door.get("/drain").await.1["draining"], json!(false));
    outside.execute_batch("ROLLBACK").expect("it was held");
}

#[tokio::test]
async fn after_the_writer_is_gone_callers_are_told_to_come_back() {
    let bench = Bench::new().await;
    let door = Operator::of(&bench);
    bench.context.writer.shutdown().await;
    let answer = door.offer(&event("1", &json!({"abidekey": "k"}))).await;
    assert_eq!(code(&answer), (503, "draining"));
}

/// Whoever holds the database from outside stops commits, and nothing else: callers are told to
/// come back, and everything goes on by itself once it lets go.
#[tokio::test]
async fn while_nothing_can_be_committed_callers_are_told_to_come_back_and_nothing_is_claimed() {
    let bench = Bench::new().await;
    let door = Operator::of(&bench);
    let seq = bench.event("t.a", "k", "{}").await;
    evaluation::route(&bench.context, seq).await;
    let outside = rusqlite::Connection::open(bench.folder.path().join("abide.db"));
    let outside = outside.expect("it is a database");
    outside.execute_batch("BEGIN IMMEDIATE").expect("nobody writes");
    let offered = event("1", &json!({"abidekey": "other"}));
    assert_eq!(code(&door.offer(&offered).await), (503, "unavailable"));
    // Known to be failed now: nobody has to wait for the lock again.
    assert_eq!(code(&door.offer(&offered).await), (503, "unavailable"));
    let (status, body) = door.get("/readyz").await;
    assert_eq!((status, &body["ready"]), (StatusCode::SERVICE_UNAVAILABLE, &json!(false)));
    bench.run(crate::daemon::scheduler::run);
    bench.run(crate::daemon::storage::run);
    assert_eq!(door.get("/work").await.1["items"][0]["status"], json!("ready"));
    outside.execute_batch("ROLLBACK").expect("it was held");
    bench.work_is(1, WorkStatus::Running).await;
    assert_eq!(door.offer(&offered).await.0, StatusCode::CREATED);
    assert_eq!(door.get("/readyz").await.0, StatusCode::OK);
}

fn delivery(id: &str, body: &str, secret: &str) -> Request<Body> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("any key");
    mac.update(body.as_bytes());
    let signature = format!("sha256={}", hex::encode(mac.finalize().into_bytes()));
    Request::post("/hooks/github")
        .header("content-type", "application/json")
        .header("x-github-event", "t")
        .header("x-github-delivery", id)
        .header("x-hub-signature-256", signature)
        .body(Body::from(body.to_owned()))
        .expect("a request")
}

/// INGRESS-01 INGRESS-05
#[tokio::test]
async fn a_delivery_is_taken_once_and_a_forged_one_not_at_all() {
    let bench = Bench::new().await;
    let door = hooks::router(Arc::clone(&bench.context));
    let body = r#"{"action": "a", "repository": {"id": 1}, "n": 3}"#;
    let (status, new) = ask(&door, delivery("d", body, "hush")).await;
    assert_eq!((status, &new["duplicate"]), (StatusCode::ACCEPTED, &json!(false)));
    let (status, again) = ask(&door, delivery("d", body, "hush")).await;
    assert_eq!((status, &again["id"]), (StatusCode::OK, &new["id"]));
    let forged = ask(&door, delivery("e", body, "guess")).await;
    assert_eq!(code(&forged), (401, "wrong_signature"));
    assert_eq!(code(&ask(&door, delivery("f", "{", "hush")).await), (400, "not_json"));
    let long = format!(r#"{{"a": "{}"}}"#, "x".repeat(3000));
    assert_eq!(code(&ask(&door, delivery("g", &long, "hush")).await), (413, "payload_too_large"));
    let unknown = Request::post("/hooks/gone").body(Body::empty()).expect("a request");
    assert_eq!(code(&ask(&door, unknown).await), (404, "unknown_ingress"));
}

#[tokio::test]
async fn tokens_and_folders_are_for_their_owner_alone() {
    let bench = Bench::new().await;
    let door = Operator::of(&bench);
    let mode = |name: &str| {
        let path = bench.folder.path().join(name);
        std::fs::metadata(path).expect("it is there").permissions().mode() & 0o777
    };
    assert_eq!(mode("ops.token"), 0o600);
    // The next start reads what the first one made.
    assert_eq!(Operator::of(&bench).ops, door.ops);
    let file = bench.folder.path().join("ops.token");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).expect("it is ours");
    let open = Principals::load(&bench.context.current().config.principals);
    assert!(matches!(open, Err(TokenError::Open { .. })), "{open:?}");
    state::make(&bench.folder.path().join("state")).expect("it is made");
    assert_eq!((mode("state"), mode("state/works"), mode("state/segments")), (0o700, 0o700, 0o700));
}

#[tokio::test]
async fn two_principals_with_one_token_are_refused() {
    let bench = Bench::new().await;
    Operator::of(&bench);
    let file = |name: &str| bench.folder.path().join(name);
    std::fs::copy(file("ops.token"), file("eyes.token")).expect("they are there");
    let shared = Principals::load(&bench.context.current().config.principals);
    assert!(matches!(shared, Err(TokenError::Shared { .. })), "{shared:?}");
}
