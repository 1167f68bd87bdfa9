//! What a person may do at the operator door, what is refused, and what a repeat is answered.

mod controls;

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Method, Request, StatusCode};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::api::auth::Principals;
use crate::api::operator;
use crate::api::reload::{ReloadError, reload};
use crate::command::{Command, Outcome, Receipt};
use crate::config::{Config, Principal, Right, SecretSource};
use crate::daemon::evaluation;
use crate::daemon::tests::Bench;
use crate::domain::{Actor, AttemptNo, Generation, Incarnation, Seq, WorkId};
use crate::store::generations;
use crate::writer::Once;

/// The door, with a person who may do everything and one who may only look.
struct Door {
    bench: Bench,
    router: Router,
    ops: String,
    eyes: String,
}

type Answer = (StatusCode, Value);

impl Door {
    async fn open() -> Self {
        Self::at(Bench::new().await)
    }

    fn at(bench: Bench) -> Self {
        let principal = |name: &str, may: &[Right]| Principal {
            name: name.to_owned(),
            token: SecretSource::File(bench.folder.path().join(format!("{name}.token"))),
            may: may.to_vec(),
        };
        let all = [Right::View, Right::Work, Right::Config];
        let configured = [principal("ops", &all), principal("eyes", &[Right::View])];
        let principals = Principals::load(&configured).expect("tokens");
        let router = operator::router(Arc::clone(&bench.context), &Arc::new(principals));
        let token = |name: &str| {
            let file = bench.folder.path().join(format!("{name}.token"));
            std::fs::read_to_string(file).expect("it was made").trim().to_owned()
        };
        let (ops, eyes) = (token("ops"), token("eyes"));
        Self { bench, router, ops, eyes }
    }

    async fn ask(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.expect("it always answers");
        let status = response.status();
        let body = to_bytes(response.into_body(), 1 << 20).await.expect("it is whole");
        (status, serde_json::from_slice(&body).unwrap_or(Value::Null))
    }

    async fn get(&self, path: &str) -> Value {
        let request = Request::get(path).header("authorization", format!("Bearer {}", self.ops));
        self.ask(request.body(Body::empty()).expect("a request")).await.1
    }

    async fn post(&self, path: &str, body: Value) -> Answer {
        self.post_as(&self.ops, None, path, &body).await
    }

    async fn post_once(&self, key: &str, path: &str, body: Value) -> Answer {
        self.post_as(&self.ops, Some(key), path, &body).await
    }

    async fn post_as(&self, token: &str, key: Option<&str>, path: &str, body: &Value) -> Answer {
        let mut request = Request::builder().method(Method::POST).uri(path);
        request = request.header("authorization", format!("Bearer {token}"));
        request = request.header("content-type", "application/json");
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.ask(request.body(Body::from(body)).expect("a request")).await
    }

    /// Keeps and routes an event, and answers the id of its Work.
    async fn work(&self, key: &str) -> String {
        let seq = self.event(key).await;
        let row = self.get(&format!("/events/{seq}")).await;
        row["work"].as_str().expect("it is of a work").to_owned()
    }

    async fn event(&self, key: &str) -> Seq {
        let seq = self.bench.event("t.a", key, "{}").await;
        evaluation::route(&self.bench.context, seq).await;
        seq
    }

    /// How many commands were committed.
    async fn steps(&self) -> usize {
        self.bench.steps().await.len()
    }
}

fn code(answer: &Answer) -> (u16, &str) {
    (answer.0.as_u16(), answer.1["code"].as_str().unwrap_or_default())
}

/// OURS-06 OURS-14
#[tokio::test]
async fn a_work_is_held_and_released_and_both_name_who() {
    let door = Door::open().await;
    let work = door.work("k").await;
    let path = format!("/work/{work}");
    let (status, row) = door.post(&format!("{path}/hold"), json!({ "reason": "a freeze" })).await;
    assert_eq!((status, &row["holds"]), (StatusCode::OK, &json!(["operator"])));
    let why = door.get(&format!("/why/{work}")).await;
    assert_eq!(why["sentence"], "it is held by ops: a freeze");
    let held = door.get("/holds").await;
    assert_eq!(
        (&held["items"][0]["work"], &held["items"][0]["reason"]),
        (&json!(work), &json!("ops: a freeze"))
    );
    // Holding it again changes nothing.
    let (status, row) = door.post(&format!("{path}/hold"), Value::Null).await;
    assert_eq!((status, &row["holds"]), (StatusCode::OK, &json!(["operator"])));
    let (status, row) = door.post(&format!("{path}/release"), json!({})).await;
    assert_eq!((status, &row["holds"]), (StatusCode::OK, &Value::Null));
    assert_eq!(code(&door.post(&format!("{path}/release"), json!({})).await), (409, "not_held"));
    assert_eq!(door.get("/holds").await, json!({ "items": [] }));
    let journal = door.get("/journal").await;
    let rows = journal["items"].as_array().expect("rows");
    let hold = rows.iter().find(|row| row["action"] == "hold").expect("it is journalled");
    assert_eq!(hold["actor"], "principal:ops");
    let marks = door.get("/events?mark=release").await;
    assert_eq!(marks["items"][0]["type"], "core.work.released");
}

/// OURS-09
#[tokio::test]
async fn an_action_on_another_attempt_than_the_one_looked_at_is_refused() {
    let door = Door::open().await;
    let work = door.work("k").await;
    for verb in ["hold", "release", "retry", "cancel", "reopen"] {
        let path = format!("/work/{work}/{verb}");
        let stale = door.post(&path, json!({ "expect_attempt": 1 })).await;
        assert_eq!(code(&stale), (409, "stale_target"), "{verb}");
        let misspelt = door.post(&path, json!({ "expect_atempt": 1 })).await;
        assert_eq!(code(&misspelt), (400, "malformed"), "{verb}");
    }
    let hold = format!("/work/{work}/hold");
    assert_eq!(door.post(&hold, json!({ "expect_attempt": 0 })).await.0, StatusCode::OK);
    assert_eq!(code(&door.post("/work/work_z/hold", json!({})).await), (404, "unknown_work"));
}

/// OURS-07 OURS-08
#[tokio::test]
async fn an_unrouted_event_is_dropped_and_a_routed_one_replayed() {
    let door = Door::open().await;
    let seq = door.bench.event("t.a", "k", r#"{"big": "x"}"#).await;
    let (drop, replay) = (format!("/events/{seq}/drop"), format!("/events/{seq}/replay"));
    assert_eq!(code(&door.post(&replay, json!({})).await), (409, "not_routed"));
    for wrong in [Value::Null, json!({}), json!({ "reason": " " }), json!({ "why": "x" })] {
        assert_eq!(code(&door.post(&drop, wrong.clone()).await), (400, "malformed"), "{wrong}");
    }
    let (status, row) = door.post(&drop, json!({ "reason": "void" })).await;
    assert_eq!((status, &row["mark"]), (StatusCode::OK, &json!("operator_drop")));
    assert_eq!(row["reason"], "ops: void");
    assert_eq!(code(&door.post(&drop, json!({ "reason": "x" })).await), (409, "already_routed"));
    let why = door.get(&format!("/why/{seq}")).await;
    assert_eq!(why["sentence"], "event 1 was dropped by ops: void; nothing starts from it");
    assert_eq!(why["next"], "abide event replay 1");
    let (status, kept) = door.post(&replay, json!({})).await;
    assert_eq!((status, &kept["seq"]), (StatusCode::CREATED, &json!(2)));
    let shown = door.get("/events/2").await;
    assert_eq!((&shown["parent"], &shown["depth"]), (&row["id"], &json!(1)));
    let why = door.get("/why/2").await;
    let sentence = why["sentence"].as_str().unwrap_or_default();
    assert!(sentence.contains("it is a replay of"), "{sentence}");
    assert_eq!(code(&door.post("/events/9/replay", json!({})).await), (404, "unknown_event"));
    assert_eq!(code(&door.post(&replay, json!({ "x": 1 })).await), (400, "malformed"));
}

/// OURS-11
#[tokio::test]
async fn ended_work_is_reopened_once_and_names_its_successor() {
    let door = Door::open().await;
    let work = door.work("k").await;
    let reopen = format!("/work/{work}/reopen");
    assert_eq!(code(&door.post(&reopen, json!({})).await), (409, "not_terminal"));
    door.post(&format!("/work/{work}/cancel"), json!({ "reason": "done" })).await;
    let (status, successor) = door.post(&reopen, json!({})).await;
    assert_eq!(status, StatusCode::CREATED);
    assert_eq!(successor["keys"], json!(["x:y#k/generation/1"]));
    assert_eq!(code(&door.post(&reopen, json!({})).await), (409, "has_successor"));
    let old = door.get(&format!("/work/{work}")).await;
    assert_eq!((&old["successor"], &old["status"]), (&successor["id"], &json!("cancelled")));
    let path = format!("/work/{}", successor["id"].as_str().expect("an id"));
    assert_eq!(door.get(&path).await["predecessor"], json!(work));
    let why = door.get(&format!("/why/{work}")).await;
    let sentence = why["sentence"].as_str().unwrap_or_default();
    assert!(sentence.contains("it was reopened as work_"), "{sentence}");
}

/// BIND-03 BIND-04
#[tokio::test]
async fn a_work_is_created_with_a_key_a_parent_and_data() {
    let door = Door::open().await;
    let create = |body: Value| door.post("/work", body);
    let (status, work) = create(json!({ "kind": "k", "key": "op:me#1", "data": { "n": 1 } })).await;
    assert_eq!(status, StatusCode::CREATED);
    assert_eq!((&work["keys"], &work["pending"]), (&json!(["op:me#1"]), &json!(1)));
    let parent = work["id"].as_str().expect("an id");
    let (_, child) = create(json!({ "kind": "k", "parent": parent })).await;
    let path = format!("/work/{}", child["id"].as_str().expect("an id"));
    assert_eq!(door.get(&path).await["parent"], json!(parent));
    assert_eq!(code(&create(json!({ "kind": "k", "key": "op:me#1" })).await), (409, "key_owned"));
    let refused = [
        (json!({ "kind": "none" }), 422, "unknown_kind"),
        (json!({ "kind": "k", "scope": "none" }), 403, "unknown_scope"),
        (json!({ "kind": "k", "key": "1" }), 400, "malformed"),
        (json!({ "kind": "k", "key": "#1" }), 400, "malformed"),
        (json!({ "kind": "k", "parent": "work_z" }), 404, "unknown_work"),
        (json!({ "kind": "k", "accross": true }), 400, "malformed"),
        (json!({}), 400, "malformed"),
        (json!([]), 400, "malformed"),
    ];
    for (body, status, name) in refused {
        assert_eq!(code(&create(body.clone()).await), (status, name), "{body}");
    }
}

/// OURS-23
#[tokio::test]
async fn a_repeat_under_its_key_is_answered_as_the_first_and_changes_nothing() {
    let door = Door::open().await;
    let body = json!({ "kind": "k", "key": "op:me#1" });
    let first = door.post_once("one", "/work", body.clone()).await;
    assert_eq!(first.0, StatusCode::CREATED);
    let steps = door.steps().await;
    let again = door.post_once("one", "/work", body.clone()).await;
    assert_eq!((again.0, &again.1["id"]), (StatusCode::OK, &first.1["id"]));
    let other = json!({ "kind": "k", "key": "op:me#2" });
    let reused = door.post_once("one", "/work", other.clone()).await;
    assert_eq!(code(&reused), (422, "idempotency_key_reused"));
    let path = format!("/work/{}/hold", first.1["id"].as_str().expect("an id"));
    let reused = door.post_once("one", &path, body.clone()).await;
    assert_eq!(
        code(&reused),
        (422, "idempotency_key_reused"),
        "another address is another request"
    );
    assert_eq!(door.steps().await, steps, "none of them was performed");
    // A refusal is an outcome, too.
    let release = format!("{}/release", path.trim_end_matches("/hold"));
    assert_eq!(code(&door.post_once("two", &release, json!({})).await), (409, "not_held"));
    door.post(&path, json!({})).await;
    assert_eq!(code(&door.post_once("two", &release, json!({})).await), (409, "not_held"));
    // Without a key, or under another, it is another request.
    assert_eq!(door.post_once("three", &release, json!({})).await.0, StatusCode::OK);
    for wrong in ["", &"x".repeat(257)] {
        let refused = door.post_once(wrong, "/work", body.clone()).await;
        assert_eq!(code(&refused), (400, "malformed"));
    }
}

/// OURS-23
#[tokio::test]
async fn a_key_is_its_principals_own_and_is_forgotten_after_a_day() {
    let door = Door::open().await;
    let work = door.work("k").await;
    let (hold, day) = (format!("/work/{work}/hold"), std::time::Duration::from_secs(86_400));
    assert_eq!(door.post_once("one", &hold, json!({})).await.0, StatusCode::OK);
    door.post(&format!("/work/{work}/release"), json!({})).await;
    door.bench.later(day);
    let (_, row) = door.post_once("one", &hold, json!({})).await;
    assert_eq!(row["holds"], Value::Null, "it is the first answer, at the last moment, too");
    door.bench.later(std::time::Duration::from_millis(1));
    let (_, row) = door.post_once("one", &hold, json!({ "reason": "new" })).await;
    assert_eq!(row["holds"], json!(["operator"]), "the day is over: it is a new request");
    let eyes = door.eyes.clone();
    let refused = door.post_as(&eyes, Some("one"), &hold, &json!({})).await;
    assert_eq!(code(&refused), (403, "forbidden"));
}

/// OURS-23 INGRESS-05
#[tokio::test]
async fn offered_events_are_answered_again_whole() {
    let door = Door::open().await;
    let event =
        |id: &str| json!({ "specversion": "1.0", "id": id, "source": "op:me", "type": "t.a" });
    let batch = json!([event("1"), event("2")]);
    let first = door.post_once("one", "/events", batch.clone()).await;
    let again = door.post_once("one", "/events", batch).await;
    assert_eq!((first.0, again.0), (StatusCode::CREATED, StatusCode::OK));
    for (first, again) in [0, 1].map(|n| (&first.1[n], &again.1[n])) {
        assert_eq!((&again["id"], &again["duplicate"]), (&first["id"], &json!(true)));
    }
    assert_eq!(first.1.as_array().map(Vec::len), Some(2));
    let reused = door.post_once("one", "/events", event("1")).await;
    assert_eq!(code(&reused), (422, "idempotency_key_reused"));
}

/// What the bench runs under, with a kind more.
const MORE: &str = r#"
[principal.ops]
token = { file = "ops.token" }
may = ["view", "work", "config"]

[scope.main]
capacity = 1

[[scope.main.route]]
name = "all"
on = ["t.*"]
key = 'string(event.data.n)'
do = "work"
kind = "k"

[scope.main.kind.k]
binding = "b"

[scope.main.kind.always]
binding = "b"
standing = true

[scope.main.binding.b]
executor = "shell"
command = ["/bin/true"]
isolation = "none"

[scope."main/below"]
"#;

/// BIND-10 BIND-11
#[tokio::test]
async fn a_reload_is_a_generation_or_changes_nothing() {
    let door = Door::open().await;
    let file = door.bench.folder.path().join("abide.toml");
    std::fs::write(&file, MORE.replace("do = \"work\"", "do = \"wrok\"")).expect("a file");
    let refused = door.post("/config/reload", json!({})).await;
    assert_eq!(code(&refused), (422, "config_refused"));
    let title = refused.1["title"].as_str().unwrap_or_default();
    assert!(title.contains("abide.toml:13:6") && !title.contains('\n'), "{title}");
    assert_eq!(door.get("/config").await["generation"], 1);
    assert_eq!(door.bench.context.current().config.scopes["main"].capacity, Some(2));
    let history = door.get("/config/history").await;
    assert_eq!(history["refused"][0]["by"], "principal:ops");
    assert_eq!(history["items"].as_array().map(Vec::len), Some(1));

    std::fs::write(&file, MORE).expect("a file");
    let (status, answer) = door.post_once("one", "/config/reload", json!({})).await;
    assert_eq!((status, &answer["generation"]), (StatusCode::OK, &json!(2)));
    assert_eq!(answer["changed"], true);
    let notes = answer["notes"].to_string();
    assert!(notes.contains("[listen]") && notes.contains("isolation"), "{notes}");
    assert_eq!(door.bench.context.current().config.scopes["main"].capacity, Some(1));
    let shown = door.get("/config").await;
    let text = shown["text"].as_str().unwrap_or_default();
    assert!(text.contains("[scope.main.kind.always]") && shown["current"] == true, "{text}");
    assert!(text.starts_with("# Paths are relative to /"), "{text}");
    assert_eq!(door.get("/config?generation=1").await["current"], false);
    let (_, again) = door.post("/config/reload", json!({})).await;
    assert_eq!((&again["changed"], &again["generation"]), (&json!(false), &json!(2)));
    std::fs::write(&file, "nonsense").expect("a file");
    let (_, repeated) = door.post_once("one", "/config/reload", json!({})).await;
    assert_eq!(repeated["generation"], 2, "a repeat reads nothing");
    let missing = Request::get("/config?generation=9");
    let missing = missing.header("authorization", format!("Bearer {}", door.ops));
    let missing = door.ask(missing.body(Body::empty()).expect("a request")).await;
    assert_eq!(code(&missing), (404, "unknown_generation"));
    let eyes = Request::get("/scopes").header("authorization", format!("Bearer {}", door.eyes));
    let eyes = door.ask(eyes.body(Body::empty()).expect("a request")).await;
    assert_eq!(code(&eyes), (401, "unauthenticated"), "the new configuration does not know them");
}

impl Door {
    fn rewrite(&self, text: &str) {
        std::fs::write(self.bench.folder.path().join("abide.toml"), text).expect("a file");
    }

    fn capacity(&self) -> Option<u32> {
        self.bench.context.current().config.scopes["main"].capacity
    }

    fn principals(&self) -> Arc<Principals> {
        let current = self.bench.context.current();
        Arc::new(Principals::load(&current.config.principals).expect("tokens"))
    }
}

/// BIND-10 OURS-23: another repeat may have been asked before the first was answered.
#[tokio::test]
async fn a_repeated_reload_moves_nothing_back() {
    let door = Door::open().await;
    let once = || Once { principal: "ops".to_owned(), key: "k".to_owned(), request: [1; 32] };
    let (ops, principals) = (Actor::Principal("ops".to_owned()), door.principals());
    let reload = |once| reload(&door.bench.context, &principals, ops.clone(), once);
    door.rewrite(MORE);
    let first = reload(Some(once())).await.expect("it is valid");
    door.rewrite(&MORE.replace("capacity = 1", "capacity = 3"));
    reload(None).await.expect("it is valid");
    door.rewrite(&MORE.replace("capacity = 1", "capacity = 4"));
    let again = reload(Some(once())).await.expect("it was answered before");
    assert_eq!((again.generation, again.changed), (first.generation, true));
    let current = door.bench.context.current();
    assert_eq!((current.generation, door.capacity()), (Generation(3), Some(3)));
    let reused = reload(Some(Once { request: [2; 32], ..once() })).await;
    assert!(matches!(reused, Err(ReloadError::Reused)), "{reused:?}");
    let older = Config::clone(&current.config);
    door.bench.context.configs.replace(Generation(2), older);
    assert_eq!(door.bench.context.current().generation, Generation(3));
}

/// BIND-10: what is committed is made current although whoever asked has gone.
#[tokio::test]
async fn a_reload_that_nobody_waits_for_is_finished() {
    let door = Door::open().await;
    door.rewrite(MORE);
    let principals = door.principals();
    {
        let asked = reload(&door.bench.context, &principals, Actor::Loop("test"), None);
        let mut asked = std::pin::pin!(asked);
        let once = std::future::poll_fn(|task| {
            std::task::Poll::Ready(asked.as_mut().poll(task).is_pending())
        });
        assert!(once.await);
    }
    let begun = std::time::Instant::now();
    while door.bench.context.current().generation == Generation(1) {
        assert!(begun.elapsed() < std::time::Duration::from_secs(20), "it was left");
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    assert_eq!(door.capacity(), Some(1));
}

/// INGRESS-02: a door stays where it was opened.
#[tokio::test]
async fn a_reload_makes_no_unsigned_ingress_behind_a_public_door() {
    let door = Door::open().await;
    let mut config = Config::clone(&door.bench.context.current().config);
    config.listen.hooks = Some("0.0.0.0:7700".parse().expect("an address"));
    door.bench.context.configs.replace(Generation(1), config);
    let unsigned = "[listen]\nhooks = \"127.0.0.1:7700\"\n[[ingress]]\nname = \"plain\"\n\
                    kind = \"http\"\nscope = \"main\"\nunsigned = true\n";
    door.rewrite(&format!("{unsigned}{MORE}"));
    let refused = door.post("/config/reload", json!({})).await;
    assert_eq!(code(&refused), (422, "config_refused"));
    let title = refused.1["title"].as_str().unwrap_or_default();
    assert!(title.contains("until a restart") && title.contains("abide.toml:7:"), "{title}");
}

/// BIND-10 BIND-12: a comment is neither another configuration nor kept.
#[tokio::test]
async fn a_comment_makes_no_generation_and_is_not_kept() {
    let door = Door::open().await;
    door.rewrite(&format!("# it was hunter2\n{MORE}"));
    let (_, answer) = door.post("/config/reload", json!({})).await;
    assert_eq!(answer["generation"], 2);
    door.rewrite(MORE);
    let (_, answer) = door.post("/config/reload", json!({})).await;
    assert_eq!((&answer["generation"], &answer["changed"]), (&json!(2), &json!(false)));
    let shown = door.get("/config?generation=2").await;
    assert!(!shown.to_string().contains("hunter2"));
    let kept = door.bench.context.read(|tx| generations::get(tx, Generation(2))).await;
    let kept = kept.expect("it reads").expect("it is kept");
    assert!(!kept.body.contains("hunter2"));
}

/// OURS-23
#[tokio::test]
async fn an_old_key_never_answers_for_another_request() {
    let door = Door::open().await;
    let (one, two) = (door.work("one").await, door.work("two").await);
    for work in [&one, &two] {
        door.post(&format!("/work/{work}/hold"), json!({})).await;
    }
    let release = |work: &str| format!("/work/{work}/release");
    assert_eq!(door.post_once("nightly", &release(&one), json!({})).await.0, StatusCode::OK);
    door.bench.later(std::time::Duration::from_secs(25 * 3600));
    let (status, row) = door.post_once("nightly", &release(&two), json!({})).await;
    assert_eq!((status, &row["id"], &row["holds"]), (StatusCode::OK, &json!(two), &Value::Null));
}

#[tokio::test]
async fn a_reason_is_short_and_names_who_gives_it() {
    let door = Door::open().await;
    let work = door.work("k").await;
    let path = |verb: &str| format!("/work/{work}/{verb}");
    for verb in ["hold", "cancel"] {
        let long = json!({ "reason": "x".repeat(1025) });
        assert_eq!(code(&door.post(&path(verb), long).await), (400, "malformed"), "{verb}");
    }
    let fits = json!({ "reason": "x".repeat(1024) });
    assert_eq!(door.post(&path("hold"), fits).await.0, StatusCode::OK);
    door.post(&path("cancel"), json!({ "reason": "superseded" })).await;
    let why = door.get(&format!("/why/{work}")).await;
    let sentence = why["sentence"].as_str().unwrap_or_default();
    assert!(sentence.contains("it was cancelled: ops: superseded"), "{sentence}");
}

#[tokio::test]
async fn a_wrong_query_or_path_is_a_problem_too() {
    let door = Door::open().await;
    let wrong = [
        "/work?after=zzz",
        "/timers?limit=-1",
        "/config?generation=abc",
        "/events?after=1&after=2",
        "/work/%FF",
    ];
    for path in wrong {
        let answer = door.get(path).await;
        let (title, next) = (answer["title"].as_str(), answer["detail"].as_str());
        assert_eq!(answer["code"], "malformed", "{path}");
        assert!(title.is_some() && next.is_some(), "{path}: {answer}");
    }
}

/// BIND-10
#[tokio::test]
async fn an_attempt_keeps_the_generation_it_was_claimed_under() {
    let door = Door::open().await;
    door.work("k").await;
    let by = door.bench.claim().await;
    let pinned = |by: crate::domain::Authority| {
        let context = Arc::clone(&door.bench.context);
        async move { context.pinned(by.work, by.attempt).await }
    };
    let before = pinned(by).await.expect("it is configured");
    assert_eq!(before.binding.stop_grace.0, 5000);
    std::fs::write(door.bench.folder.path().join("abide.toml"), MORE).expect("a file");
    assert_eq!(door.post("/config/reload", json!({})).await.0, StatusCode::OK);
    let after = pinned(by).await.expect("it is kept");
    assert_eq!(after.binding.stop_grace.0, 5000, "the new one says 10 s");
    let shown = door.get("/work/work_0").await;
    assert_eq!(shown["history"][0]["generation"], 1);
}

/// OURS-10
#[tokio::test]
async fn standing_work_is_cancelled_for_good_or_not_at_all() {
    let door = Door::open().await;
    std::fs::write(door.bench.folder.path().join("abide.toml"), MORE).expect("a file");
    assert_eq!(door.post("/config/reload", json!({})).await.0, StatusCode::OK);
    let needed = door.post("/work", json!({ "kind": "always" })).await;
    assert_eq!(code(&needed), (400, "scope_needed"), "there are two scopes now");
    let (_, work) = door.post("/work", json!({ "kind": "always", "scope": "main/below" })).await;
    assert_eq!(work["standing"], true);
    let id = work["id"].as_str().expect("an id");
    let cancel = format!("/work/{id}/cancel");
    let refused = door.post(&cancel, json!({})).await;
    assert_eq!(code(&refused), (409, "standing"));
    let next = refused.1["detail"].as_str().unwrap_or_default();
    assert!(next.contains("--for-good") && next.contains("interrupt"), "{next}");
    let (status, row) = door.post(&cancel, json!({ "for_good": true })).await;
    assert_eq!((status, &row["status"]), (StatusCode::OK, &json!("cancelled")));
    let across = json!({ "kind": "k", "scope": "main", "parent": id });
    assert_eq!(code(&door.post("/work", across.clone()).await), (422, "wrong_scope"));
    let mut across = across;
    across["across"] = json!(true);
    assert_eq!(door.post("/work", across).await.0, StatusCode::CREATED);
}

#[tokio::test]
async fn what_runs_waits_and_is_refused_is_listed() {
    let door = Door::open().await;
    door.work("k").await;
    let by = door.bench.claim().await;
    let scopes = door.get("/scopes").await;
    let main = &scopes["items"][0];
    assert_eq!((&main["name"], &main["running"]), (&json!("main"), &json!(1)));
    assert_eq!(
        (&main["routes"][0]["do"], &main["bindings"][0]["name"]),
        (&json!("work"), &json!("b"))
    );
    door.bench.commit(Command::ClearNeverHanded { by }).await;
    door.bench.commit(Command::Pin { by, metadata: "m".to_owned() }).await;
    let keys = door.bench.context.read(|tx| crate::store::keys::of_work(tx, WorkId(1)));
    let wait = Command::RegisterWait {
        by,
        uid: type_safe_id::TypeSafeId::from_uuid(uuid::Uuid::now_v7()),
        keys: keys.await.expect("it reads"),
        types: Vec::new(),
        after: Seq(1),
        deadline: Some(crate::domain::Deadline::After(crate::domain::Duration::seconds(60))),
        source: Some(crate::domain::Source {
            extension: "tool".to_owned(),
            key: crate::domain::Key { source: "x:z".to_owned(), external_id: "9".to_owned() },
            scope: "main".to_owned(),
        }),
        read_scopes: Vec::new(),
        proofs: Vec::new(),
        usage: None,
    };
    door.bench.commit(wait).await;
    let timers = door.get("/timers").await;
    assert_eq!(
        (&timers["items"][0]["kind"], &timers["items"][0]["disabled"]),
        (&json!("wait"), &json!(false))
    );
    let waits = door.get("/waits").await;
    let source = &waits["items"][0]["subscription"];
    let expected = json!({ "source": "x:z#9", "scope": "main", "checkpoint": 1, "active": true });
    assert_eq!(source, &expected);
    assert_eq!(door.get("/timers/idle").await, json!({ "items": [] }));
    assert_eq!(door.get("/rejections").await, json!({ "items": [] }));
    let why = door.get("/why/work_0").await;
    let sentence = why["sentence"].as_str().unwrap_or_default();
    assert!(sentence.contains("x:z#9 in scope `main` (seen up to event 1)"), "{sentence}");
}

impl Door {
    /// Claims the first Work and fails it.
    async fn fails(&self) {
        self.bench.claim().await;
        let by = self.bench.authority(1).await;
        let reason = "exit status 7".to_owned();
        self.bench
            .commit(Command::Fail { by, reason, hint: None, proofs: Vec::new(), usage: None })
            .await;
    }
}

/// RETRY-11 RETRY-26 RETRY-27 OURS-09 OURS-23
#[tokio::test]
async fn a_failed_work_is_retried_by_a_person_once_and_its_failures_count_anew() {
    let door = Door::open().await;
    let work = door.work("k").await;
    let path = format!("/work/{work}");
    let retry = format!("{path}/retry");
    assert_eq!(code(&door.post(&retry, json!({})).await), (409, "nothing_to_retry"));
    door.fails().await;
    let row = door.get(&path).await;
    assert_eq!((&row["failures"], &row["backoff"]["attempt"]), (&json!(1), &json!(1)));
    assert!(row["reason"].as_str().is_some_and(|it| it.starts_with("retry due in 5m")), "{row}");
    let timers = door.get("/timers/retry").await;
    let timer = &timers["items"][0];
    assert_eq!((&timer["kind"], &timer["work"]), (&json!("retry"), &json!(work)));
    assert_eq!((&timer["attempt"], &timer["due"]), (&json!(1), &row["backoff"]["due"]));

    let other = json!({ "expect_attempt": 2 });
    assert_eq!(code(&door.post(&retry, other).await), (409, "stale_target"));
    let seen = json!({ "expect_attempt": 1 });
    let first = door.post_once("r", &retry, seen.clone()).await;
    assert_eq!((first.0, &first.1["pending"]), (StatusCode::OK, &json!(1)));
    assert_eq!((&first.1["failures"], &first.1["backoff"]), (&Value::Null, &Value::Null));
    assert_eq!(door.get("/timers/retry").await, json!({ "items": [] }));
    let steps = door.steps().await;
    let again = door.post_once("r", &retry, seen).await;
    assert_eq!((again.0, &again.1["pending"]), (StatusCode::OK, &json!(1)));
    assert_eq!(door.steps().await, steps, "a repeat changes nothing");
    let events = door.get("/events?type=core.retry.requested").await;
    assert_eq!(events["items"].as_array().map(Vec::len), Some(1));
    // The next failure is the first again.
    door.fails().await;
    assert_eq!(door.get(&path).await["failures"], 1);
    let eyes = door.post_as(&door.eyes, None, &retry, &json!({})).await;
    assert_eq!(code(&eyes), (403, "forbidden"));
}

/// RETRY-06 RETRY-27 RETRY-32
#[tokio::test]
async fn a_used_up_budget_says_so_and_is_lifted_by_a_retry_alone() {
    let door = Door::open().await;
    let work = door.work("k").await;
    door.fails().await;
    for attempt in 1..3 {
        door.bench.later(std::time::Duration::from_secs(600));
        let fire = Command::FireRetry { work: WorkId(1), attempt: AttemptNo(attempt) };
        let Outcome::Accepted(Receipt::Event { seq }) = door.bench.commit(fire).await else {
            panic!("it is due")
        };
        let why = door.get(&format!("/why/{work}")).await;
        assert!(why["sentence"].as_str().is_some_and(|it| it.contains("not routed yet")), "{why}");
        evaluation::route(&door.bench.context, seq).await;
        door.fails().await;
    }
    let why = door.get(&format!("/why/{work}")).await;
    assert_eq!(why["sentence"], "it is held, exhausted after 3 failures: exit status 7");
    assert_eq!(why["next"], format!("abide work retry {work}"));
    let held = door.get("/holds").await;
    assert_eq!(held["items"][0]["holds"], json!(["exhausted"]));
    let (status, row) = door.post(&format!("/work/{work}/retry"), json!({})).await;
    assert_eq!((status, &row["holds"]), (StatusCode::OK, &Value::Null));
    assert_eq!(row["reason"], "waits for its turn");
    door.post(&format!("/work/{work}/cancel"), json!({})).await;
    let over = door.post(&format!("/work/{work}/retry"), json!({})).await;
    assert_eq!(code(&over), (409, "terminal"));
}

/// OURS-21
#[tokio::test]
async fn the_restore_hold_is_shown_and_released_once() {
    let door = Door::open().await;
    let work = door.work("k").await;
    let path = "/holds/restore/release";
    assert_eq!(code(&door.post(path, json!({})).await), (409, "not_held"));
    door.bench.commit(Command::Restore { above: Incarnation(1) }).await;
    assert_eq!(door.get("/holds/restore").await, json!({ "held": true, "incarnation": 2 }));
    let why = door.get(&format!("/why/{work}")).await;
    assert_eq!(why["next"], "abide hold release --restore");
    let eyes = door.post_as(&door.eyes, None, path, &json!({})).await;
    assert_eq!(code(&eyes), (403, "forbidden"));
    let first = door.post_once("r", path, json!({})).await;
    assert_eq!(first, (StatusCode::OK, json!({ "held": false, "incarnation": 2 })));
    assert_eq!(door.post_once("r", path, json!({})).await, first, "a repeat is answered so again");
    assert_eq!(code(&door.post(path, json!({})).await), (409, "not_held"));
    let events = door.get("/events?type=core.restore.released").await;
    let seq = events["items"][0]["seq"].as_i64().expect("it is kept");
    let why = door.get(&format!("/why/{seq}")).await;
    assert!(why["sentence"].as_str().is_some_and(|it| it.contains("restored database")), "{why}");
}

#[tokio::test]
async fn a_draining_daemon_is_not_ready_and_a_repeated_request_changes_nothing() {
    let door = Door::open().await;
    door.work("k").await;
    let eyes = door.post_as(&door.eyes, None, "/drain", &json!({})).await;
    assert_eq!(code(&eyes), (403, "forbidden"));
    assert_eq!(code(&door.post("/drain", json!({ "timeout": 5 })).await), (400, "malformed"));
    let (status, row) = door.post_once("d", "/drain", json!({ "timeout_ms": 60_000 })).await;
    assert_eq!(
        (status, &row["draining"], &row["running"]),
        (StatusCode::OK, &json!(true), &json!(0))
    );
    let ready = door.get("/readyz").await;
    assert_eq!((&ready["ready"], &ready["draining"]), (&json!(false), &json!(true)));
    // What comes meanwhile is kept and routed.
    door.work("other").await;
    door.post("/drain", json!({ "cancel": true })).await;
    let (_, again) = door.post_once("d", "/drain", json!({ "timeout_ms": 60_000 })).await;
    assert_eq!(again["draining"], json!(false), "a repeat changes nothing");
    assert_eq!(door.get("/readyz").await["draining"], json!(false));
}

/// S09: a list shows no payload, whatever the events of its Works hold.
#[tokio::test]
async fn a_page_of_a_list_is_small_however_large_the_payloads_are() {
    const WORKS: usize = 120;

    let door = Door::open().await;
    let payload = json!({ "text": "x".repeat(25_000) }).to_string();
    for n in 0..WORKS {
        let seq = door.bench.event("t.a", &format!("k{n}"), &payload).await;
        evaluation::route(&door.bench.context, seq).await;
    }
    for list in ["/work", "/events"] {
        let page = door.get(&format!("{list}?limit=1000")).await;
        assert_eq!(page["items"].as_array().map(Vec::len), Some(WORKS), "{list}");
        let bytes = page.to_string().len();
        assert!(bytes < WORKS * 1000, "{list} has {bytes} bytes");
        // However much is asked for at once, a page has a bound.
        let page = door.get(&format!("{list}?limit=50")).await;
        assert_eq!(page["items"].as_array().map(Vec::len), Some(50));
    }
}

/// S10: one Work with a long life is shown by its newest part.
#[tokio::test]
async fn a_work_with_thousands_of_attempts_and_inputs_is_shown_by_the_newest() {
    const ATTEMPTS: i64 = 2000;
    const EACH: i64 = 10;

    let door = Door::open().await;
    let work = door.work("k").await;
    door.fails().await;
    let file = door.bench.folder.path().join("abide.db");
    let conn = rusqlite::Connection::open(file).expect("the database");
    let mut columns =
        conn.prepare("SELECT name FROM pragma_table_info('attempt')").expect("it reads");
    let columns = columns.query_map([], |row| row.get::<_, String>(0)).expect("columns");
    let copied = |name: String| match name.as_str() {
        "n" => "c.n".to_owned(),
        "uid" => "randomblob(16)".to_owned(),
        _ => format!("a.{name}"),
    };
    let copied: Vec<String> = columns.map(|name| copied(name.expect("a name"))).collect();
    let counting = format!(
        "WITH RECURSIVE c (n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM c WHERE n < {ATTEMPTS})"
    );
    door.bench.damage(&format!(
        "{counting} INSERT INTO attempt SELECT {} FROM attempt AS a JOIN c WHERE a.n = 1;
         {counting}, e (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM e WHERE n < {EACH})
         INSERT INTO input SELECT 1, c.n, c.n * {EACH} + e.n, 1, 0 FROM c JOIN e;
         UPDATE work SET attempt = {ATTEMPTS};",
        copied.join(", ")
    ));
    let shown = door.get(&format!("/work/{work}")).await;
    let history = shown["history"].as_array().expect("attempts");
    assert_eq!(history.len(), 1000);
    let last = &history[999];
    assert_eq!((&last["number"], &last["inputs"][9]), (&json!(ATTEMPTS), &json!(20_010)));
    assert_eq!(history[0]["inputs"].as_array().map(Vec::len), Some(10), "a whole batch");
    assert!(shown.to_string().len() < 1 << 20, "{} bytes", shown.to_string().len());
}
