//! Small drills on the built binary: senders and executors that do what they should not.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use abide::domain::Millis;
use abide::store::observe::SeenTimer;
use abide::store::{Store, journal, observe};
use abide_refinement::audit::audit_database;
use abide_tests::daemon::{Daemon, STALL, abide, binary};
use abide_tests::http::Connection;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

const SECRET: &str = "a webhook secret of these drills";

const KIND: &str = "[scope.main.kind.run]\nbinding = \"shell\"\n";

const CONFIGURATION: &str = r#"
[daemon]
state = "state"

[listen]
hooks = "127.0.0.1:0"

[principal.ops]
token = { file = "state/ops.token" }
may = ["view", "work", "config"]

[[ingress]]
name = "github"
kind = "github"
scope = "main"
secrets = [{ file = "hook.secret" }]

[scope.main]

[[scope.main.route]]
name = "all"
on = ["*"]
key = 'string(event.data.number)'
do = "work"
kind = "run"

[scope.main.kind.run]
binding = "shell"

[scope.main.binding.shell]
executor = "shell"
command = ["./run.sh"]
isolation = "none"
lease = "2s"
"#;

fn configured(script: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("hook.secret"), SECRET).expect("the secret");
    fs::write(folder.path().join("abide.toml"), CONFIGURATION).expect("the configuration");
    let path = folder.path().join("run.sh");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("the script");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
    folder
}

/// The same, with a kind whose first failure is its last.
fn configured_to_try_once(script: &str) -> tempfile::TempDir {
    let folder = configured(script);
    let once = CONFIGURATION.replace(KIND, &format!("{KIND}retry = {{ attempts = 1 }}\n"));
    assert_ne!(once, CONFIGURATION, "the kind is where it is looked for");
    fs::write(folder.path().join("abide.toml"), once).expect("the configuration");
    folder
}

/// Offers an event with a key by the command line.
fn emit(folder: &Path, more: &[&str]) -> Value {
    let fixed = ["emit", "-c", "abide.toml", "--json", "--source", "op:drill", "--type", "asked"];
    let arguments = [&fixed, more].concat();
    let said = abide(folder, &arguments).expect("the command runs");
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    serde_json::from_slice(&said.stdout).expect("the answer is JSON")
}

/// The one Work, once it is as it should be.
fn work_that(daemon: &Daemon, is: impl Fn(&Value) -> bool) -> Value {
    let begun = Instant::now();
    loop {
        let works = daemon.list("/work").expect("the works are listed");
        if let Some(work) = works.into_iter().find(|work| is(work)) {
            let id = work["id"].as_str().expect("an id");
            return daemon.operator("GET", &format!("/work/{id}"), "").expect("it is shown").json();
        }
        assert!(begun.elapsed() < STALL, "the work never came to be so");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn held(work: &Value) -> bool {
    work["status"] == "ready"
        && work["attempts"] != 0
        && work["reason"].to_string().contains("held")
}

/// What is no text is shown as text, and the failure is one like any other.
#[test]
fn an_executor_that_writes_no_text_fails_with_a_printable_reason() {
    let folder =
        configured_to_try_once(r"printf '\377\376 out'; printf '\377\376 no text' >&2; exit 1");
    let daemon = Daemon::start(folder.path()).expect("the daemon starts");
    emit(folder.path(), &["--key", "1"]);
    let work = work_that(&daemon, held);
    let result = work["history"][0]["result"].as_str().expect("a reason");
    assert_eq!(work["history"][0]["status"], "failed");
    assert!(result.contains("no text") && result.contains('\u{fffd}'), "{result}");
}

/// What a process says of its next try stands in the row of its failure, and sets the instant of that try.
/// RETRY-15 RETRY-16
#[test]
fn a_hint_of_a_process_reaches_the_journal_and_the_retry() {
    hinted("45m", r#"{"delay":2700000}"#, 2_700_000);
    // Then the first step of the default backoff counts.
    hinted("soon", r#""unreadable""#, 300_000);
}

fn hinted(said: &str, written: &str, delay: i64) {
    let tool = binary("abide").expect("abide is built");
    let folder =
        configured(&format!("'{}' tool result failed --retry-after {said}", tool.display()));
    let daemon = Daemon::start(folder.path()).expect("the daemon starts");
    emit(folder.path(), &["--key", "1"]);
    work_that(&daemon, |work| work["status"] == "ready" && work["attempts"] == 1);

    let database = folder.path().join("state/abide.db");
    let store = Store::open_reader(&database).expect("the database");
    let mut session = store.session();
    session.begin_snapshot().expect("a snapshot");
    let rows = journal::since(&mut session, 0, u32::MAX).expect("the journal");
    let fail = rows.iter().find(|row| row.action == "fail").expect("the row of the failure");
    let arguments: Value = serde_json::from_str(&fail.args).expect("it is JSON");
    assert_eq!(arguments["hint"].to_string(), written, "{arguments}");
    let seen = observe(&mut session).expect("the state");
    assert_eq!(seen.works[0].retry, SeenTimer::Armed(Millis(fail.at.0 + delay)));
    let audit = audit_database(&database).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(audit.unjudged(), 0, "{audit:?}");
}

/// A command that is not there any more uses up the budget, and is not tried over and over.
#[test]
fn what_can_never_start_is_held_with_its_reason() {
    let folder = configured_to_try_once("exit 0");
    let daemon = Daemon::start(folder.path()).expect("the daemon starts");
    fs::remove_file(folder.path().join("run.sh")).expect("it was there");
    emit(folder.path(), &["--key", "1"]);
    let work = work_that(&daemon, held);
    assert_eq!(work["history"].as_array().map(Vec::len), Some(1));
    let result = work["history"][0]["result"].as_str().expect("a reason");
    assert!(result.contains("run.sh"), "{result}");
    // Whatever comes next, it stays with the one attempt until a person says otherwise.
    emit(folder.path(), &["--key", "1"]);
    let work = work_that(&daemon, |work| work["pending"] == 1);
    assert_eq!((work["attempts"].clone(), held(&work)), (json!(1), true));
}

/// A sender that names no delivery is told so; one's own events get an id that can be repeated.
#[test]
fn a_delivery_without_an_id_is_refused_and_ones_own_gets_one() {
    let folder = configured("exit 0");
    let daemon = Daemon::start(folder.path()).expect("the daemon starts");
    let body =
        json!({ "action": "opened", "repository": { "id": 1, "full_name": "a/b" } }).to_string();
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).expect("HMAC takes any key");
    mac.update(body.as_bytes());
    let signature = format!("sha256={}", hex::encode(mac.finalize().into_bytes()));
    let headers = [
        ("content-type", "application/json"),
        ("x-github-event", "issues"),
        ("x-hub-signature-256", signature.as_str()),
    ];
    let mut door = Connection::tcp(daemon.hooks()).expect("the hooks door");
    for _ in 0..2 {
        let answer = door.send("POST", "/hooks/github", &headers, body.clone()).expect("an answer");
        assert_eq!(answer.status, 400, "{}", answer.body);
    }
    assert_eq!(daemon.list("/events").expect("the events are listed").len(), 0);

    let first = emit(folder.path(), &[]);
    let id = first["delivery"].as_str().expect("the id is shown");
    let again = emit(folder.path(), &["--id", id]);
    assert_eq!((&first["seq"], &again["duplicate"]), (&again["seq"], &json!(true)));
    assert_eq!(daemon.list("/events").expect("the events are listed").len(), 1);
}
