//! The toolbelt against a door that answers what the test says.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Output;
use std::sync::{Arc, Mutex};

use abide::domain::EventUid;
use abide::extension::request::RequestFile;
use abide::keeper::acks;
use abide::keeper::folder::{Folder, write_json};
use abide::keeper::inbox::begin;
use abide::keeper::socket;
use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use serde_json::{Value, json};

use crate::support::{ABIDE, Ground, soon, token};

/// What one call of the tool sent.
#[derive(Debug, Clone)]
struct Call {
    what: String,
    bearer: String,
    key: String,
    body: Value,
}

type Answers = Arc<dyn Fn(usize) -> (u16, Value) + Send + Sync>;

/// A segment's folder and a door beside it.
struct Belt {
    root: tempfile::TempDir,
    folder: Folder,
    calls: Arc<Mutex<Vec<Call>>>,
}

impl Belt {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("a temporary folder");
        let folder = Folder::create(root.path().join("att-1")).expect("a new folder");
        folder.write_token(&token(1)).expect("it is written");
        fs::write(folder.file("keeper.json"), "{}").expect("it is written");
        let request = RequestFile::from(&Ground::new().request());
        write_json(&folder.request(), &request).expect("it is written");
        Self { root, folder, calls: Arc::default() }
    }

    fn socket(&self) -> PathBuf {
        self.root.path().join("tool.sock")
    }

    /// Answers the n-th call with the n-th answer.
    fn serve(&self, answers: Answers) {
        let calls = Arc::clone(&self.calls);
        let answer = move |method: Method, uri: Uri, headers: HeaderMap, body: Bytes| {
            let header = |name: &str| {
                headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("").to_owned()
            };
            let call = Call {
                what: format!("{method} {uri}"),
                bearer: header("authorization"),
                key: header("idempotency-key"),
                body: serde_json::from_slice(&body).unwrap_or(Value::Null),
            };
            let mut calls = calls.lock().expect("no test panics inside");
            calls.push(call);
            let (status, value) = answers(calls.len() - 1);
            let status = StatusCode::from_u16(status).expect("a status");
            async move { (status, value.to_string()) }
        };
        let listener = socket::listen(&self.socket()).expect("it listens");
        let app = Router::new().fallback(answer);
        tokio::spawn(async move { axum::serve(listener, app).await });
    }

    fn always(&self, status: u16, value: Value) {
        self.serve(Arc::new(move |_| (status, value.clone())));
    }

    async fn tool(&self, arguments: &[&str]) -> (i32, Output) {
        let output = tokio::process::Command::new(ABIDE)
            .arg("tool")
            .args(arguments)
            .env_clear()
            .env("ABIDE_SOCKET", self.socket())
            .env("ABIDE_TOKEN_FILE", self.folder.token())
            .env("ABIDE_REQUEST", self.folder.request())
            .env("ABIDE_INBOX", self.folder.events())
            .output();
        let output = soon(output).await.expect("it runs");
        (output.status.code().expect("it exits"), output)
    }

    fn calls(&self) -> Vec<Call> {
        self.calls.lock().expect("no test panics inside").clone()
    }
}

/// Gives the command of this belt events to read, as its keeper would.
fn given(belt: &Belt, numbers: &[u128]) -> Vec<String> {
    let mut ids = Vec::new();
    for n in numbers {
        let id = EventUid::from_uuid(uuid::Uuid::from_u128(*n)).to_string();
        let line = json!({"abideid": id, "data": "\u{9b}"}).to_string();
        begin(&belt.folder.inbox(), &id, &line).expect("it is written");
        let file = fs::OpenOptions::new().append(true).create(true).open(belt.folder.events());
        file.expect("a file").write_all(format!("{line}\n").as_bytes()).expect("it is written");
        ids.push(id);
    }
    ids
}

fn problem(status: u16, code: &str) -> Value {
    json!({"type": "about:blank", "status": status, "code": code, "title": "no", "detail": "so"})
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("it is text")
}

/// WAIT-12: what was handed is what was seen.
#[tokio::test]
async fn a_wait_names_what_was_seen_and_ends_with_4() {
    let belt = Belt::new();
    belt.always(201, json!({"wait": "wait_1", "winner": null}));
    let arguments =
        ["wait", "--key", "a#1", "--key", "2", "--type", "ci.done", "--timeout", "1m30s"];
    let (code, output) = belt.tool(&arguments).await;
    assert_eq!(code, 4, "{output:?}");
    let answer: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_eq!(answer["wait"], "wait_1");

    let calls = belt.calls();
    let expected = json!({
        "keys": ["a#1", "2"], "types": ["ci.done"], "after": 7, "timeout_ms": 90_000,
    });
    assert_eq!((calls[0].what.as_str(), &calls[0].body), ("POST /tool/wait", &expected));
    assert_eq!(calls[0].bearer, format!("Bearer {}", token(1).reveal()));
    assert!(!calls[0].key.is_empty());
}

#[tokio::test]
async fn a_wait_on_one_source_until_a_time_after_a_given_event() {
    let belt = Belt::new();
    belt.always(200, json!({"wait": "wait_1", "winner": 9}));
    let until = "2030-01-31T09:00:00Z";
    let arguments = ["wait", "--key", "1#x", "--on", "s#9", "--until", until, "--after", "3"];
    assert_eq!(belt.tool(&arguments).await.0, 4);
    let expected = json!({
        "keys": ["1#x"], "types": [], "on": "s#9", "after": 3, "until": until,
    });
    assert_eq!(belt.calls()[0].body, expected);
}

#[tokio::test]
async fn a_wait_that_cannot_tell_what_was_seen_is_not_registered() {
    let belt = Belt::new();
    fs::write(belt.folder.request(), "{").expect("it is written");
    let (code, output) = belt.tool(&["wait", "--key", "1"]).await;
    assert!(code == 1 && stderr(&output).contains("--after"), "{output:?}");
}

#[tokio::test]
async fn a_refusal_is_one_line_and_ends_with_1() {
    let belt = Belt::new();
    belt.always(409, problem(409, "key_not_owned"));
    let (code, output) = belt.tool(&["wait", "--key", "1"]).await;
    assert_eq!((code, stderr(&output).as_str()), (1, "abide: key_not_owned: so\n"));
    assert_eq!(belt.calls().len(), 1);
}

/// LEASE-13
#[tokio::test]
async fn a_stale_token_that_nobody_replaced_ends_with_3_at_once() {
    let belt = Belt::new();
    belt.always(409, problem(409, "stale_authority"));
    assert_eq!(belt.tool(&["beat"]).await.0, 3);
    assert_eq!(belt.calls().len(), 1);
}

/// ADOPT-15
#[tokio::test]
async fn a_stale_token_that_was_replaced_is_read_again() {
    let belt = Belt::new();
    let folder = belt.folder.clone();
    belt.serve(Arc::new(move |call| {
        if call > 0 {
            return (200, json!({"expires_at": 5}));
        }
        folder.write_token(&token(2)).expect("it is written");
        (409, problem(409, "stale_authority"))
    }));
    assert_eq!(belt.tool(&["beat"]).await.0, 0);
    let calls = belt.calls();
    assert_eq!(calls[1].bearer, format!("Bearer {}", token(2).reveal()));
    assert_eq!(calls[0].key, calls[1].key);
}

#[tokio::test]
async fn what_may_pass_ends_with_75() {
    let expired = Belt::new();
    expired.always(409, problem(409, "lease_expired"));
    let limited = Belt::new();
    limited.always(429, problem(429, "rate_limited"));
    let moved = Belt::new();
    moved.always(409, problem(409, "conflict"));
    let nobody = Belt::new();
    let beat = &["beat"][..];
    let codes = tokio::join!(
        async { expired.tool(beat).await.0 },
        async { limited.tool(beat).await.0 },
        async { moved.tool(beat).await.0 },
        async { nobody.tool(beat).await.0 },
    );
    assert_eq!(codes, (75, 75, 75, 75));
    assert_eq!([&expired, &limited, &moved].map(|belt| belt.calls().len()), [5, 1, 1]);
}

#[tokio::test]
async fn a_recovery_that_settles_meanwhile_is_waited_for() {
    let belt = Belt::new();
    belt.serve(Arc::new(|call| match call {
        0 => (503, problem(503, "recovering")),
        _ => (200, json!({"expires_at": 5})),
    }));
    assert_eq!(belt.tool(&["beat"]).await.0, 0);
}

#[tokio::test]
async fn inputs_are_shown_without_control_characters() {
    let belt = Belt::new();
    belt.always(200, json!({"attempt": 2, "trigger": null, "inputs": ["\u{9b}31m\u{7f}"]}));
    let (code, output) = belt.tool(&["inputs", "--attempt", "2"]).await;
    assert_eq!(code, 0);
    assert_eq!(belt.calls()[0].what, "GET /tool/inputs?attempt=2");
    let shown = String::from_utf8(output.stdout).expect("it is text");
    assert!(shown.contains("\\u009b31m\\u007f"), "{shown}");
    let read: Value = serde_json::from_str(&shown).expect("it is still JSON");
    assert_eq!(read["inputs"][0], "\u{9b}31m\u{7f}");
}

#[tokio::test]
async fn inputs_of_many_pages_are_one_answer_unless_a_page_is_asked_for() {
    let belt = Belt::new();
    belt.serve(Arc::new(|call| match call {
        0 => (200, json!({"attempt": 1, "trigger": null, "inputs": [1, 2], "next": 9})),
        _ => (200, json!({"attempt": 1, "trigger": null, "inputs": [3]})),
    }));
    let (_, output) = belt.tool(&["inputs"]).await;
    let read: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_eq!((&read["inputs"], &read["next"]), (&json!([1, 2, 3]), &Value::Null));
    assert_eq!(belt.calls()[1].what, "GET /tool/inputs?after=9");

    let belt = Belt::new();
    belt.always(200, json!({"attempt": 1, "trigger": null, "inputs": [1], "next": 9}));
    let (_, output) = belt.tool(&["inputs", "--after", "3", "--limit", "1"]).await;
    let read: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_eq!((belt.calls().len(), &read["next"]), (1, &json!(9)));
    assert_eq!(belt.calls()[0].what, "GET /tool/inputs?after=3&limit=1");
}

#[tokio::test]
async fn the_last_declared_result_counts_and_reserved_words_declare_nothing() {
    let belt = Belt::new();
    assert_eq!(belt.tool(&["result", "failed", "--status", "first"]).await.0, 0);
    assert_eq!(belt.tool(&["result", "completed"]).await.0, 0);
    let kept = fs::read_to_string(belt.folder.result()).expect("it is there");
    assert_eq!(kept, r#"{"outcome":"completed"}"#);
    let (code, output) = belt.tool(&["result", "failed", "--continuation", "x"]).await;
    assert!(code == 1 && stderr(&output).contains("reserved"), "{output:?}");
    assert_eq!(fs::read_to_string(belt.folder.result()).expect("it is there"), kept);
    assert_eq!(belt.tool(&["result", "handoff", "--status", "waits"]).await.0, 0);
    let kept = fs::read_to_string(belt.folder.result()).expect("it is there");
    assert_eq!(kept, r#"{"outcome":"handoff","status":"waits"}"#);
}

/// RETRY-13 RETRY-16: a hint is declared as it was given, readable or not.
#[tokio::test]
async fn a_hint_is_declared_with_a_failure_as_it_was_given_and_with_nothing_else() {
    let belt = Belt::new();
    let kept = || fs::read_to_string(belt.folder.result()).expect("it is there");
    let (code, output) = belt.tool(&["result", "failed", "--retry-after", "45m"]).await;
    assert_eq!((code, stderr(&output).as_str()), (0, ""));
    assert_eq!(kept(), r#"{"outcome":"failed","retry_after":"45m"}"#);
    let (code, output) = belt.tool(&["result", "failed", "--retry-after", "so\u{1b}on"]).await;
    assert!(code == 0 && stderr(&output).contains("so\\u{1b}on"), "{output:?}");
    assert_eq!(kept(), r#"{"outcome":"failed","retry_after":"so\u001bon"}"#);
    for outcome in ["completed", "handoff"] {
        assert_eq!(belt.tool(&["result", outcome, "--retry-after", "45m"]).await.0, 2);
    }
    assert!(kept().contains("failed"));
}

/// EXEC-07: nobody serves the door, and nobody has to.
#[tokio::test]
async fn events_are_shown_until_they_are_acknowledged_without_any_daemon() {
    let belt = Belt::new();
    let (code, output) = belt.tool(&["inbox"]).await;
    assert_eq!((code, output.stdout.len()), (0, 0), "{output:?}");
    let ids = given(&belt, &[1, 2, 3]);
    let shown = async || {
        let (code, output) = belt.tool(&["inbox"]).await;
        assert_eq!((code, stderr(&output).as_str()), (0, ""));
        String::from_utf8(output.stdout).expect("it is text")
    };
    let text = shown().await;
    assert_eq!(text.lines().count(), 3);
    let (id, event) = text.lines().next().and_then(|line| line.split_once(' ')).expect("two words");
    let event: Value = serde_json::from_str(event).expect("it is JSON");
    assert_eq!(
        (id, &event["abideid"], &event["data"]),
        (ids[0].as_str(), &json!(ids[0]), &json!("\u{9b}"))
    );
    assert!(!text.contains('\u{9b}'), "a terminal would act on it");

    let (code, output) = belt.tool(&["ack", &ids[1]]).await;
    assert_eq!((code, output.stdout.len(), stderr(&output).as_str()), (0, 0, ""));
    assert_eq!(belt.tool(&["ack", &ids[1]]).await.0, 0, "it may be said again");
    let text = shown().await;
    assert_eq!(text.lines().count(), 2);
    assert!(!text.contains(&ids[1]));
    assert_eq!(belt.tool(&["ack", &ids[0], &ids[2], &ids[0]]).await.0, 0);
    assert_eq!(shown().await, "");
    assert_eq!(acks::consumed(&belt.folder).expect("readable").len(), 3);
}

/// EXEC-05
#[tokio::test]
async fn what_is_not_in_the_inbox_is_not_acknowledged_and_ends_with_1() {
    let belt = Belt::new();
    let ids = given(&belt, &[1]);
    let stranger = EventUid::from_uuid(uuid::Uuid::from_u128(9)).to_string();
    for other in [stranger.as_str(), "evt_1", "", "4", "\u{1b}[31m"] {
        let (code, output) = belt.tool(&["ack", &ids[0], other]).await;
        let said = stderr(&output);
        assert!(
            code == 1 && said.contains("is not in the inbox") && said.lines().count() == 1,
            "{said}"
        );
        assert!(!said.contains('\u{1b}'));
    }
    assert!(!belt.folder.acks().exists());
    assert_eq!(belt.tool(&["ack"]).await.0, 2);
    let outside = std::process::Command::new(ABIDE).args(["tool", "inbox"]).env_clear().output();
    let outside = outside.expect("it runs");
    assert!(outside.status.code() == Some(2) && stderr(&outside).contains("ABIDE_INBOX"));
}

#[tokio::test]
async fn an_acknowledgement_that_the_disk_does_not_take_ends_with_75() {
    let belt = Belt::new();
    let ids = given(&belt, &[1]);
    // No file may grow, which is an error to whoever does not hear the signal.
    let script = "trap '' XFSZ; ulimit -f 0; exec \"$0\" tool ack \"$1\"";
    let mut command = tokio::process::Command::new("/bin/sh");
    command.args(["-c", script, ABIDE, &ids[0]]).env_clear();
    let output = command.env("ABIDE_INBOX", belt.folder.events()).output();
    let output = soon(output).await.expect("it runs");
    let code = output.status.code();
    assert!(code == Some(75) && stderr(&output).contains("try later"), "{output:?}");
}

/// It does not become a file by waiting.
#[tokio::test]
async fn an_acknowledgement_where_no_file_can_be_ends_with_1() {
    let belt = Belt::new();
    let ids = given(&belt, &[1]);
    let acks = belt.folder.acks();
    let refused = async |what: &str| {
        let (code, output) = belt.tool(&["ack", &ids[0]]).await;
        let said = stderr(&output);
        assert!(code == 1 && said.contains("no file") && !said.contains("later"), "{what}: {said}");
    };
    fs::create_dir(&acks).expect("a folder");
    refused("a folder").await;
    fs::remove_dir(&acks).expect("it is there");
    std::os::unix::fs::symlink("/dev/null", &acks).expect("a link");
    refused("a link").await;
    fs::remove_file(&acks).expect("it is there");
    let made = std::process::Command::new("mkfifo").arg(&acks).status();
    assert!(made.expect("it runs").success());
    refused("a pipe").await;
}

/// Every process that a command starts may have taken something in.
#[tokio::test]
async fn acknowledgements_of_several_processes_at_once_do_not_lose_one_another() {
    let belt = Belt::new();
    let ids = given(&belt, &(1..=12).collect::<Vec<_>>());
    let acknowledged = ids.iter().map(|id| {
        let mut command = tokio::process::Command::new(ABIDE);
        command.args(["tool", "ack", id]).env_clear().env("ABIDE_INBOX", belt.folder.events());
        command.spawn().expect("it starts")
    });
    for mut process in acknowledged.collect::<Vec<_>>() {
        assert!(soon(process.wait()).await.expect("it ends").success());
    }
    let consumed = acks::consumed(&belt.folder).expect("readable");
    assert_eq!(consumed.iter().map(ToString::to_string).collect::<Vec<_>>(), ids);
}

#[tokio::test]
async fn an_inbox_is_listened_to_until_nothing_comes_any_more() {
    let belt = Belt::new();
    let first = given(&belt, &[1]);
    let mut listening = tokio::process::Command::new(ABIDE);
    listening.args(["tool", "inbox", "--wait", "2s"]).env_clear();
    listening.env("ABIDE_INBOX", belt.folder.events()).stdout(std::process::Stdio::piped());
    let mut listening = listening.spawn().expect("it starts");
    let stdout = listening.stdout.take().expect("it is piped");
    let mut lines = tokio::io::AsyncBufReadExt::lines(tokio::io::BufReader::new(stdout));
    let mut next = async || soon(lines.next_line()).await.expect("it is text");
    assert!(next().await.expect("a line").starts_with(&first[0]));
    let second = given(&belt, &[2]);
    assert!(next().await.expect("a line").starts_with(&second[0]));
    assert_eq!(next().await, None);
    assert!(soon(listening.wait()).await.expect("it ends").success());
}

#[tokio::test]
async fn wrong_usage_ends_with_2() {
    let belt = Belt::new();
    let both = ["wait", "--timeout", "1s", "--until", "2030-01-31T09:00:00Z"];
    for arguments in [&["result"][..], &["wait", "--timeout", "soon"], &both, &["unknown"]] {
        assert_eq!(belt.tool(arguments).await.0, 2, "{arguments:?}");
    }
    let outside = std::process::Command::new(ABIDE).args(["tool", "beat"]).env_clear().output();
    let outside = outside.expect("it runs");
    assert_eq!(outside.status.code(), Some(2));
    assert!(stderr(&outside).contains("ABIDE_SOCKET"));
}
