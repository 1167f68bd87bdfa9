//! The commands against temporary folders.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use serde_json::json;
use tempfile::TempDir;

use super::check::Check;
use super::init::Init;
use super::route::Route;
use crate::config::Environment;

#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Check(Check),
    Init(Init),
    Route(Route),
}

/// Runs a command line in which `@` stands for the folder; says what it printed, without the
/// folder's name, and whether it succeeded.
fn run(dir: &TempDir, line: &str) -> (String, String, bool) {
    let folder = dir.path().display().to_string();
    let words = line.replace('@', &folder);
    let parsed = Cli::try_parse_from(std::iter::once("abide").chain(words.split(' ')));
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let env = Environment::default();
    let code = match parsed.unwrap_or_else(|error| panic!("{error}")).command {
        Command::Check(check) => check.run(&env, &mut out, &mut err),
        Command::Init(init) => init.run(&mut out, &mut err),
        Command::Route(route) => route.run(&env, &mut out, &mut err),
    };
    let text = |bytes| String::from_utf8(bytes).expect("it prints UTF-8").replace(&folder, "DIR");
    let succeeded = code.expect("memory takes every byte") == ExitCode::SUCCESS;
    (text(out), text(err), succeeded)
}

fn initialised() -> TempDir {
    let dir = TempDir::new().expect("a temporary folder can be made");
    let (_, err, succeeded) = run(&dir, "init @");
    assert!(succeeded, "{err}");
    dir
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it is there").permissions().mode() & 0o777
}

#[test]
fn what_init_writes_is_valid_as_it_is() {
    let dir = initialised();
    let (out, err, succeeded) = run(&dir, "check -c @/abide.toml");
    assert!(succeeded, "{err}");
    insta::assert_snapshot!(out);
}

#[test]
fn init_says_what_it_wrote_and_what_is_next() {
    let dir = TempDir::new().expect("a temporary folder can be made");
    let (out, _, succeeded) = run(&dir, "init @/new/place");
    assert!(succeeded);
    insta::assert_snapshot!(out);
    let place = dir.path().join("new/place");
    assert_eq!(mode(&place.join("review.sh")) & 0o111, 0o111);
    assert_eq!(mode(&place.join("state")), 0o700);
    assert_eq!(mode(&place.join("state/github.secret")), 0o600);
}

#[test]
fn init_makes_another_secret_each_time() {
    let secret = |dir: &TempDir| fs::read_to_string(dir.path().join("state/github.secret"));
    let (one, other) = (initialised(), initialised());
    let one = secret(&one).expect("it is there");
    assert_eq!(one.trim().len(), 64);
    assert_ne!(one, secret(&other).expect("it is there"));
}

#[test]
fn init_overwrites_nothing_and_then_writes_nothing() {
    let dir = TempDir::new().expect("a temporary folder can be made");
    fs::write(dir.path().join("review.sh"), "mine").expect("a file can be written there");
    let (out, err, succeeded) = run(&dir, "init @");
    assert!(!succeeded);
    assert_eq!(out, "");
    insta::assert_snapshot!(err);
    assert_eq!(fs::read_to_string(dir.path().join("review.sh")).expect("it is there"), "mine");
    assert!(!dir.path().join("abide.toml").exists());
    let kept = initialised();
    assert!(!run(&kept, "init @").2);
}

#[test]
fn the_sample_executor_runs_without_a_daemon() {
    let dir = initialised();
    let output = std::process::Command::new(dir.path().join("review.sh")).output();
    let output = output.expect("it can be started");
    assert!(output.status.success());
    assert!(output.stdout.ends_with(b"done\n"));
}

#[test]
fn check_reports_to_stderr_and_fails() {
    let dir = initialised();
    let file = dir.path().join("abide.toml");
    let text = fs::read_to_string(&file).expect("it is there");
    let text = text.replace("do = \"work\"                  ", "active = \"coalesce\" #");
    fs::write(&file, text.replace("lease = \"30s\"", "leese = \"30s\""))
        .expect("it can be written");
    let (out, err, succeeded) = run(&dir, "check -c @/abide.toml");
    assert!(!succeeded);
    assert_eq!(out, "");
    insta::assert_snapshot!(err);
}

#[test]
fn check_shows_escaped_what_a_terminal_must_not_obey() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let text = "[scope.main.kind.k]\nbinding = \"b\"\n[scope.main.binding.b]\n\
                executor = \"shell\"\nisolation = \"none\"\n\
                command = [\"/bin/true\", \"\\u001b]0;x\\u0007\"]\n";
    fs::write(dir.path().join("abide.toml"), text).expect("it is written");
    let (out, err, succeeded) = run(&dir, "check -c @/abide.toml");
    assert!(succeeded, "{err}");
    assert!(out.contains(r"/bin/true \u{1b}]0;x\u{7}"), "{out}");
    assert!(!out.contains(['\u{1b}', '\u{7}']), "{out:?}");
}

#[test]
fn check_of_a_file_that_is_not_there_says_what_to_do() {
    let dir = TempDir::new().expect("a temporary folder can be made");
    let (_, err, succeeded) = run(&dir, "check -c @/abide.toml");
    assert!(!succeeded);
    insta::assert_snapshot!(err);
}

/// Writes a payload next to the configuration.
fn payload(dir: &TempDir, name: &str, value: &serde_json::Value) {
    fs::write(dir.path().join(name), value.to_string()).expect("a file can be written there");
}

fn repository() -> serde_json::Value {
    json!({ "id": 1234, "full_name": "acme/web", "html_url": "https://github.com/acme/web" })
}

#[test]
fn route_test_shows_key_reasons_and_decision_for_each_file() {
    let dir = initialised();
    let pull = json!({ "action": "opened", "pull_request": { "number": 7 },
        "repository": repository() });
    payload(&dir, "pull.json", &pull);
    let cloud = json!({ "specversion": "1.0", "id": "1", "source": "github:github.com/1234",
        "type": "issue_comment.created",
        "data": { "issue": { "number": 7 }, "comment": { "body": "thanks" } } });
    payload(&dir, "cloud.json", &cloud);
    let comment = json!({ "issue": { "number": 7 }, "comment": { "body": "/review please" },
        "repository": repository() });
    payload(&dir, "comment.json", &comment);
    let first = run(&dir, "route test -c @/abide.toml --type pull_request @/pull.json");
    let second = run(&dir, "route test -c @/abide.toml @/cloud.json");
    let third =
        "route test -c @/abide.toml --type issue_comment.created @/comment.json @/comment.json";
    let third = run(&dir, third);
    assert!(first.2 && second.2 && third.2, "{}{}{}", first.1, second.1, third.1);
    insta::assert_snapshot!(format!("{}\n{}\n{}", first.0, second.0, third.0));
}

/// A repository counts pull requests and issues together.
#[test]
fn the_sample_routes_give_a_pull_request_its_comments_and_its_issue_one_key() {
    let dir = initialised();
    let data = json!({ "pull_request": { "number": 7 }, "issue": { "number": 7 },
        "comment": { "body": "/review" }, "repository": repository() });
    payload(&dir, "any.json", &data);
    for event_type in ["pull_request.opened", "issues.opened", "issue_comment.created"] {
        let line = format!("route test -c @/abide.toml --type {event_type} @/any.json");
        let (out, err, _) = run(&dir, &line);
        assert!(out.contains("key       github:github.com/1234#7 (by route"), "{out}{err}");
        assert!(out.contains("decision  route `"), "{out}{err}");
    }
}

#[test]
fn route_test_takes_a_key_and_a_source_from_its_caller() {
    let dir = initialised();
    payload(&dir, "any.json", &json!({}));
    let line = "route test -c @/abide.toml --type issues.opened --source ci:x --key k @/any.json";
    let (out, err, succeeded) = run(&dir, line);
    assert!(succeeded, "{err}");
    insta::assert_snapshot!(out);
}

#[test]
fn route_test_says_of_each_file_what_is_wrong_with_it() {
    let dir = initialised();
    payload(&dir, "plain.json", &json!({ "a": 1 }));
    payload(&dir, "list.json", &json!([1]));
    payload(&dir, "forged.json", &json!({ "specversion": "1.0", "abidework": "work_1" }));
    fs::write(dir.path().join("bytes.json"), b"\xff").expect("a file can be written there");
    fs::write(dir.path().join("text.json"), b"{").expect("a file can be written there");
    let files = ["plain", "list", "forged", "bytes", "text", "none"];
    let files = files.map(|name| format!("@/{name}.json")).join(" ");
    let (out, err, succeeded) = run(&dir, &format!("route test -c @/abide.toml {files}"));
    assert!(!succeeded);
    assert_eq!(out.trim(), "");
    let (_, sourceless, _) = run(&dir, "route test -c @/abide.toml --type push @/plain.json");
    insta::assert_snapshot!(format!("{err}{sourceless}"));
}

/// OURS-01 OURS-02 ROUTE-24
#[test]
fn route_test_shows_what_each_action_does_and_which_keys_it_attaches() {
    let dir = initialised();
    let routes = r#"
[scope."team"]

[[scope."team".route]]
name = "noise"
on = ["noise.*"]
do = "drop"

[[scope."team".route]]
name = "end"
on = ["end.*"]
key = 'event.data.id'
do = "close"

[[scope."team".route]]
name = "more"
on = ["more.*"]
key = 'event.data.id'
attach = 'event.data.refs.map(r, r.id)'
do = "update"

[[scope."team".route]]
name = "fresh"
on = ["fresh.*"]
do = "work"
kind = "job"

[[scope."team".route]]
name = "steer"
on = ["steer.*"]
key = 'event.data.id'
do = "work"
kind = "job"
active = "inject"

[[scope."team".route]]
name = "stop"
on = ["stop.*"]
key = 'event.data.id'
do = "update"
active = "interrupt"
fallback = "queue"
on_error = "drop"

[[scope."team".route]]
name = "slot"
on = ["slot.*"]
key = 'event.data.id'
do = "update"
active = "drop"

[scope."team".kind.job]
binding = "b"

[scope."team".binding.b]
executor = "shell"
command = ["true"]
capabilities = ["inject"]
isolation = "none"
"#;
    let file = dir.path().join("abide.toml");
    let text = fs::read_to_string(&file).expect("it is there");
    fs::write(&file, format!("{text}{routes}")).expect("it can be written");
    payload(&dir, "any.json", &json!({ "id": "x", "refs": [{ "id": "a" }, { "id": "b" }] }));
    let mut shown = Vec::new();
    for event_type in ["noise", "end", "more", "fresh", "other", "steer", "stop", "slot"] {
        // A type with a dot is taken as it is; the others would be GitHub's names.
        let line = format!(
            "route test -c @/abide.toml --scope team --source ci:1 --type {event_type}.x @/any.json"
        );
        let (out, err, _) = run(&dir, &line);
        shown.push(format!("{out}{err}"));
    }
    insta::assert_snapshot!(shown.join("\n"));
    let (_, several, _) =
        run(&dir, "route test -c @/abide.toml --source ci:1 --type a.b @/any.json");
    assert!(several.contains("say `--scope` with one of `main`, `team`"), "{several}");
    let (_, unknown, _) =
        run(&dir, "route test -c @/abide.toml --scope x --source ci:1 --type a.b @/any.json");
    assert!(unknown.contains("there is no scope `x`"), "{unknown}");
    let (checked, _, valid) = run(&dir, "check -c @/abide.toml");
    assert!(valid && checked.contains("route    `end`: end.* -> close"), "{checked}");
}
