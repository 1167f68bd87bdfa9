//! The tool door: what the token of a claim may do, and what becomes of one that was replaced.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use serde_json::{Value, json};

use super::Bench;
use super::bench::{INJECT, ask};
use crate::api::tool;
use crate::command::{Command, Outcome};
use crate::daemon::evaluation;
use crate::domain::{AttemptNo, Duration as Length, Seq, Token, WorkId, WorkStatus};
use crate::store::{pages, reads};

const FIRST: [u8; 32] = [1; 32];

struct Tool {
    router: Router,
}

impl Tool {
    async fn call(
        &self,
        method: Method,
        path: &str,
        token: [u8; 32],
        key: &str,
        body: &Value,
    ) -> (StatusCode, Value) {
        let token = Token::from_bytes(token).reveal();
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("authorization", format!("Bearer {token}"))
            .header("idempotency-key", key)
            .body(Body::from(body.to_string()))
            .expect("a request");
        ask(&self.router, request).await
    }

    async fn wait(&self, token: [u8; 32], key: &str, body: &Value) -> (StatusCode, Value) {
        self.call(Method::POST, "/tool/wait", token, key, body).await
    }
}

fn code(answer: &(StatusCode, Value)) -> (u16, &str) {
    (answer.0.as_u16(), answer.1["code"].as_str().unwrap_or_default())
}

/// A Work whose first attempt runs, held under the first token.
async fn running(bench: &Bench) -> Tool {
    let seq = bench.event("t.a", "k", r#"{"n": 1}"#).await;
    evaluation::route(&bench.context, seq).await;
    let by = bench.claim().await;
    bench.commit(Command::ClearNeverHanded { by }).await;
    bench.commit(Command::Pin { by, metadata: "m".to_owned() }).await;
    Tool { router: tool::router(Arc::clone(&bench.context)) }
}

#[tokio::test]
async fn an_attempt_reads_its_input_and_extends_its_lease() {
    let bench = Bench::new().await;
    let door = running(&bench).await;
    let inputs = door.call(Method::GET, "/tool/inputs", FIRST, "", &Value::Null).await;
    assert_eq!(inputs.0, StatusCode::OK);
    assert_eq!(inputs.1["inputs"][0]["data"], json!({"n": 1}));
    assert_eq!(inputs.1["inputs"][0]["abidekey"], json!("x:y#k"));
    let none = door.call(Method::GET, "/tool/inputs?attempt=9", FIRST, "", &Value::Null).await;
    assert_eq!(code(&none), (404, "unknown_attempt"));
    bench.later(Duration::from_secs(10));
    let _drive = bench.context.driven.run(bench.authority(1).await).expect("nobody runs it");
    let beat = door.call(Method::POST, "/tool/beat", FIRST, "b", &Value::Null).await;
    assert_eq!(beat.1["expires_at"], json!(1_000_000 + 40_000));
}

/// LEASE-08: nor does it outlast a host that is gone, for ever and unseen.
#[tokio::test]
async fn a_process_that_nobody_hosts_here_does_not_keep_its_lease_up() {
    let bench = Bench::new().await;
    let door = running(&bench).await;
    bench.later(Duration::from_secs(29));
    let beat = || door.call(Method::POST, "/tool/beat", FIRST, "b", &Value::Null);
    let answer = beat().await;
    assert_eq!((answer.0, &answer.1["expires_at"]), (StatusCode::OK, &json!(1_000_000 + 30_000)));
    bench.later(Duration::from_secs(1));
    assert_eq!(code(&beat().await), (409, "lease_expired"));
}

/// LEASE-01 LEASE-13
#[tokio::test]
async fn a_token_that_was_never_given_is_too_late_or_is_none_gets_nothing() {
    let bench = Bench::new().await;
    let door = running(&bench).await;
    let beat = |token| door.call(Method::POST, "/tool/beat", token, "b", &Value::Null);
    let other = [9; 32];
    assert_eq!(code(&beat(other).await), (409, "stale_authority"));
    let bare = Request::post("/tool/beat").body(Body::empty()).expect("a request");
    assert_eq!(code(&ask(&door.router, bare).await), (401, "unauthenticated"));
    bench.later(Duration::from_secs(30));
    assert_eq!(code(&beat(FIRST).await), (409, "lease_expired"));
}

/// ADOPT-16
#[tokio::test]
async fn a_token_about_to_be_replaced_is_told_to_wait_for_its_successor() {
    let bench = Bench::new().await;
    let door = running(&bench).await;
    let first = bench.authority(1).await;
    bench.later(Duration::from_secs(30));
    let token = Token::from_bytes([2; 32]).hash();
    let lease = Length::seconds(30);
    bench.commit(Command::ClaimRecovery { work: WorkId(1), token, lease }).await;
    let body = json!({"keys": ["k"]});
    assert_eq!(code(&door.wait(FIRST, "w", &body).await), (503, "recovering"));
    // Its token was looked up before the takeover, and what it asks comes after.
    let raced = tool::applied(&bench.context, &first, Command::Renew { by: first, lease }).await;
    assert_eq!(raced.expect_err("it is told to repeat").code(), "recovering");
    // It may have its new token before the takeover is settled.
    assert_eq!(code(&door.wait([2; 32], "w", &body).await), (503, "recovering"));
    let by = bench.authority(1).await;
    let verdict = crate::domain::Verdict::Adopted;
    bench.commit(Command::SettleRecovery { by, verdict, reason: String::new() }).await;
    assert_eq!(code(&door.wait(FIRST, "w", &body).await), (409, "stale_authority"));
    assert_eq!(door.wait([2; 32], "w", &body).await.0, StatusCode::CREATED);
}

/// WAIT-16 WAIT-19
#[tokio::test]
async fn a_wait_commits_at_the_call_and_its_repeat_is_answered_as_it_was() {
    let bench = Bench::new().await;
    let door = running(&bench).await;
    let body = json!({"keys": ["k"], "types": ["t.b"], "timeout_ms": 5000});
    let (status, first) = door.wait(FIRST, "w", &body).await;
    assert_eq!((status, &first["winner"]), (StatusCode::CREATED, &Value::Null));
    bench.work_is(1, WorkStatus::Waiting).await;
    // The first answer may have been lost; meanwhile the wait was woken.
    bench.later(Duration::from_millis(1));
    let event = bench.event("t.b", "k", "{}").await;
    evaluation::route(&bench.context, event).await;
    let (status, again) = door.wait(FIRST, "w", &body).await;
    assert_eq!((status, again), (StatusCode::OK, first.clone()));
    assert_eq!(code(&door.wait(FIRST, "another", &body).await), (409, "stale_authority"));
    let uid = first["wait"].as_str().expect("an id").parse().expect("a wait's id");
    let wait = bench.context.read(move |tx| pages::wait_of(tx, uid)).await.expect("it reads");
    let wait = wait.expect("it is there");
    let found = bench.context.read(move |tx| reads::wait(tx, wait)).await.expect("it reads");
    let found = found.expect("it is there");
    // Without `after`, what the segment was handed is what it has observed. WAIT-12
    assert_eq!((found.wait.after, found.keys[0].external_id.as_str()), (Seq(1), "k"));
}

/// WAIT-02 OURS-18
#[tokio::test]
async fn a_wait_that_may_not_be_registered_leaves_the_attempt_as_it_is() {
    let bench = Bench::new().await;
    let door = running(&bench).await;
    for (body, wanted) in [
        (json!({}), (409, "wait_cannot_end")),
        (json!({"keys": ["else"]}), (409, "key_not_owned")),
        (json!({"keys": ["a:b#k"]}), (409, "key_not_owned")),
        (json!({"keys": ["k"], "after": 99}), (409, "watermark_ahead")),
        (json!({"keys": ["k"], "timeout": 5}), (400, "malformed")),
    ] {
        assert_eq!(code(&door.wait(FIRST, "w", &body).await), wanted, "{body}");
    }
    bench.work_is(1, WorkStatus::Running).await;
    let spelled = json!({"keys": [{"source": "x:y", "external_id": "k"}, "x:y#k"]});
    assert_eq!(door.wait(FIRST, "w", &spelled).await.0, StatusCode::CREATED);
}

/// CANCEL-05
#[tokio::test]
async fn a_cancelled_work_answers_its_process_nothing_more() {
    let bench = Bench::new().await;
    let door = running(&bench).await;
    let cancel =
        Command::Cancel { work: WorkId(1), expect: None, for_good: false, reason: String::new() };
    assert!(matches!(bench.commit(cancel).await, Outcome::Accepted(_)));
    let wait = door.wait(FIRST, "w", &json!({"keys": ["k"]})).await;
    assert_eq!(code(&wait), (409, "stale_authority"));
}

/// INJECT-25 to INJECT-28
#[tokio::test]
async fn a_wait_takes_off_what_its_process_says_it_took_in() {
    let bench = Bench::new().await;
    bench.double.can(true, false);
    let door = running(&bench).await;
    let by = bench.authority(1).await;
    let (first, second) = (bench.steer("k", INJECT).await, bench.steer("k", INJECT).await);
    for event in [first, second] {
        bench.commit(Command::Dispatch { by, event }).await;
    }
    let read = bench.context.read(move |tx| {
        let mut uid = |seq| crate::store::events::get(tx, seq).map(|event| event.map(|e| e.uid));
        Ok((uid(first)?, uid(second)?))
    });
    let (Some(one), Some(other)) = read.await.expect("it reads") else { panic!("they are kept") };
    bench.double.reports(Some(vec![one, other]));
    let body = json!({"keys": ["k"], "types": ["t.a"], "after": 1});
    let answer = door.wait(FIRST, "w", &body).await;
    assert_eq!((answer.0, &answer.1["winner"]), (StatusCode::CREATED, &Value::Null));
    let waiting = bench.work_is(1, WorkStatus::Waiting).await;
    assert_eq!(waiting.pending_count, 0);
    let read =
        bench.context.read(|tx| crate::store::attempts::referred(tx, WorkId(1), AttemptNo(1)));
    let usage = read.await.expect("it reads").usage;
    assert_eq!(usage.as_deref(), Some(r#"{"input_tokens":"12"}"#));
    let news = bench.event("t.a", "k", "{}").await;
    evaluation::route(&bench.context, news).await;
    let woken = bench.work_is(1, WorkStatus::Ready).await;
    assert_eq!((woken.winner, woken.pending_count), (Some(news), 1));
}

/// A wait is not given up because nobody can tell what its process took in.
#[tokio::test]
async fn a_wait_goes_without_proof_where_nobody_can_tell() {
    let bench = Bench::new().await;
    bench.double.can(true, false);
    let door = running(&bench).await;
    let by = bench.authority(1).await;
    let event = bench.steer("k", INJECT).await;
    bench.commit(Command::Dispatch { by, event }).await;
    bench.double.reports(None);
    let body = json!({"keys": ["k"], "types": ["t.b"]});
    assert_eq!(door.wait(FIRST, "w", &body).await.0, StatusCode::CREATED);
    assert_eq!(bench.work_is(1, WorkStatus::Waiting).await.pending_count, 1);
}
