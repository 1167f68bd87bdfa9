//! The daemon as a process: what it prints, what it refuses, and how it goes.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process};

const ABIDE: &str = env!("CARGO_BIN_EXE_abide");

/// A wall clock only shows that something has stalled.
const STALL: Duration = Duration::from_secs(60);

const CONFIGURATION: &str = r#"
[listen]
hooks = "127.0.0.1:0"

[principal.ops]
token = { file = "state/ops.token" }
may = ["view", "work"]

[[ingress]]
name = "plain"
kind = "http"
scope = "main"
unsigned = true

[[scope.main.route]]
name = "all"
on = ["*"]
key = 'string(event.data.n)'
do = "work"
kind = "k"

[scope.main.kind.k]
binding = "b"

[scope.main.binding.b]
executor = "shell"
command = ["/bin/true"]
isolation = "none"
"#;

/// A daemon, killed when the test ends however it ends.
struct Daemon(Child);

impl Daemon {
    fn start(folder: &Path) -> Self {
        let child = Command::new(ABIDE)
            .args(["serve", "-c"])
            .arg(folder.join("abide.toml"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(fs::File::create(folder.join("log")).expect("a file"))
            .spawn()
            .expect("it starts");
        Self(child)
    }

    /// What it prints, up to `ready`.
    fn announced(&mut self) -> Vec<String> {
        let out = BufReader::new(self.0.stdout.take().expect("it is piped"));
        let mut lines = Vec::new();
        for line in out.lines() {
            lines.push(line.expect("it is text"));
            if lines.last().is_some_and(|line| line == "ready") {
                break;
            }
        }
        lines
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw).expect("a process");
        kill_process(pid, signal).expect("it is ours");
    }

    fn ends(&mut self) -> Option<i32> {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.0.try_wait().expect("it is ours") {
                return status.code();
            }
            assert!(begun.elapsed() < STALL, "it does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("abide.toml"), CONFIGURATION).expect("it is written");
    folder
}

/// OURS-22
#[test]
fn a_second_daemon_on_one_database_refuses_and_names_the_first() {
    let folder = folder();
    let mut first = Daemon::start(folder.path());
    let doors = first.announced();
    let names: Vec<&str> = doors.iter().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(names, ["hooks", "operator", "tool", "ready"]);
    assert!(doors[0].starts_with("hooks 127.0.0.1:") && !doors[0].ends_with(":0"), "{doors:?}");

    let second = Command::new(ABIDE)
        .args(["serve", "-c"])
        .arg(folder.path().join("abide.toml"))
        .output()
        .expect("it runs");
    assert_eq!(second.status.code(), Some(1));
    assert_eq!(second.stdout, b"");
    let said = String::from_utf8_lossy(&second.stderr);
    assert!(said.contains(&format!("process {}", first.0.id())), "{said}");
    assert!(said.contains("database_held"), "{said}");
    assert!(folder.path().join("state/operator.sock").exists(), "the first one's door is there");
}

#[test]
fn a_database_of_a_newer_schema_is_refused_and_left_as_it_is() {
    let folder = folder();
    let mut first = Daemon::start(folder.path());
    first.announced();
    drop(first);
    let file = folder.path().join("state/abide.db");
    let conn = rusqlite::Connection::open(&file).expect("it is ours");
    conn.execute_batch("PRAGMA journal_mode = DELETE; PRAGMA user_version = 9999;").expect("set");
    drop(conn);
    let before = fs::read(&file).expect("it reads");
    let refused = Command::new(ABIDE)
        .args(["serve", "-c"])
        .arg(folder.path().join("abide.toml"))
        .output()
        .expect("it runs");
    assert_eq!(refused.status.code(), Some(1));
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("newer_schema") && said.contains("9999"), "{said}");
    assert!(fs::read(&file).expect("it reads") == before, "the file was changed");
}

/// OURS-19
#[test]
fn it_ends_when_it_is_told_to() {
    let folder = folder();
    for signal in [Signal::TERM, Signal::INT] {
        let mut daemon = Daemon::start(folder.path());
        daemon.announced();
        daemon.signal(signal);
        assert_eq!(daemon.ends(), Some(0), "{}", log(&folder));
    }
}

/// The answer of a command of the program in this folder, which must succeed.
fn asked(folder: &tempfile::TempDir, args: &[&str]) -> String {
    let asked = Command::new(ABIDE)
        .args(args)
        .arg("-c")
        .arg(folder.path().join("abide.toml"))
        .output()
        .expect("it runs");
    assert!(asked.status.success(), "{args:?}: {}", String::from_utf8_lossy(&asked.stderr));
    String::from_utf8(asked.stdout).expect("it is text")
}

fn soon(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < STALL, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// OURS-19, decision 12: the command goes on while nobody serves, and the next daemon takes it over
/// long before its lease would have ended.
#[test]
fn a_command_outlives_a_stopped_daemon_and_the_next_has_it_at_once() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let place = folder.path().display();
    let script = format!("echo $$ > {place}/pid; until [ -e {place}/go ]; do sleep 0.02; done");
    let command = format!(r#"command = ["/bin/sh", "-c", "{script}"]"#);
    let text = CONFIGURATION.replace(r#"command = ["/bin/true"]"#, &command);
    fs::write(folder.path().join("abide.toml"), format!("{text}lease = \"10m\"\n"))
        .expect("it is written");
    let mut daemon = Daemon::start(folder.path());
    daemon.announced();
    asked(&folder, &["emit", "--source", "op:me", "--type", "hello", "--data", r#"{"n": 1}"#]);
    let pid = || fs::read_to_string(folder.path().join("pid")).unwrap_or_default();
    soon("it runs", || pid().ends_with('\n'));
    let running = pid().trim().parse().ok().and_then(Pid::from_raw).expect("a process");
    let told = Instant::now();
    daemon.signal(Signal::TERM);
    assert_eq!(daemon.ends(), Some(0), "{}", log(&folder));
    assert!(told.elapsed() < Duration::from_secs(20), "{:?}", told.elapsed());
    rustix::process::test_kill_process(running).expect("it runs on");
    let journal = asked(&folder, &["journal", "export"]);
    assert!(journal.contains(r#""action":"detach""#), "{journal}");

    let mut next = Daemon::start(folder.path());
    next.announced();
    fs::write(folder.path().join("go"), "").expect("it is written");
    soon("it is completed", || {
        asked(&folder, &["journal", "export"]).contains(r#""status":"completed""#)
    });
    let journal = asked(&folder, &["journal", "export"]);
    for action in [r#""action":"claim_recovery""#, r#""verdict":"adopted""#] {
        assert!(journal.contains(action), "{journal}");
    }
    assert_eq!(journal.matches(r#""action":"claim""#).count(), 1, "{journal}");
}

fn log(folder: &tempfile::TempDir) -> String {
    fs::read_to_string(folder.path().join("log")).expect("it is text")
}

fn logged(folder: &tempfile::TempDir, what: &str) {
    let begun = Instant::now();
    while !log(folder).contains(what) {
        assert!(begun.elapsed() < STALL, "no `{what}` in {}", log(folder));
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn history(folder: &tempfile::TempDir) -> serde_json::Value {
    let asked = Command::new(ABIDE)
        .args(["config", "history", "--json", "-c"])
        .arg(folder.path().join("abide.toml"))
        .output()
        .expect("it runs");
    assert!(asked.status.success(), "{}", String::from_utf8_lossy(&asked.stderr));
    serde_json::from_slice(&asked.stdout).expect("it is JSON")
}

/// BIND-10 BIND-11
#[test]
fn a_hangup_reads_the_configuration_again_and_a_refused_one_changes_nothing() {
    let folder = folder();
    let file = folder.path().join("abide.toml");
    let all = CONFIGURATION.replace("\"view\", \"work\"", "\"view\", \"config\"");
    fs::write(&file, &all).expect("it is written");
    let mut daemon = Daemon::start(folder.path());
    daemon.announced();
    fs::write(&file, all.replace("kind = \"k\"", "kind = \"other\"")).expect("it is written");
    daemon.signal(Signal::HUP);
    logged(&folder, "there is no kind `other` here");
    // The token is where the refused file names it, too.
    let refused = history(&folder);
    assert_eq!(refused["items"].as_array().map(Vec::len), Some(1));
    assert_eq!(refused["refused"][0]["by"], "loop:sighup");
    let why = refused["refused"][0]["why"].as_str().unwrap_or_default();
    assert!(why.contains("abide.toml:20:8") && !why.contains('\n'), "{why}");

    fs::write(&file, format!("{all}\n[scope.main]\ncapacity = 2\n")).expect("it is written");
    daemon.signal(Signal::HUP);
    logged(&folder, "configuration read");
    let read = history(&folder);
    assert_eq!(read["items"][1]["current"], true);
    daemon.signal(Signal::TERM);
    assert_eq!(daemon.ends(), Some(0), "{}", log(&folder));
    // The same text is the same generation, over a restart too.
    let mut daemon = Daemon::start(folder.path());
    daemon.announced();
    assert_eq!(history(&folder)["items"], read["items"]);
}

/// OURS-19
#[test]
fn it_ends_although_a_reload_is_under_way() {
    let folder = folder();
    let mut daemon = Daemon::start(folder.path());
    daemon.announced();
    // Nobody writes to this, so that reading it never ends.
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("it runs").success());
    let secret = "secrets = [{ file = \"pipe\" }]";
    let slow = CONFIGURATION.replace("unsigned = true", secret);
    fs::write(folder.path().join("abide.toml"), slow).expect("it is written");
    daemon.signal(Signal::HUP);
    let (flags, begun) = (OFlags::WRONLY | OFlags::NONBLOCK, Instant::now());
    // It can be opened so once the daemon has it open to read.
    let _writer = loop {
        if let Ok(writer) = rustix::fs::open(&pipe, flags, Mode::empty()) {
            break writer;
        }
        assert!(begun.elapsed() < STALL, "it does not read");
        std::thread::sleep(Duration::from_millis(5));
    };
    daemon.signal(Signal::TERM);
    let begun = Instant::now();
    assert_eq!(daemon.ends(), Some(0), "{}", log(&folder));
    assert!(begun.elapsed() < Duration::from_secs(30), "it did not hear the signal");
}

/// POLICY-27: what a binding cannot do is refused before anything is scheduled with it.
#[test]
fn a_configuration_that_is_not_valid_starts_nothing_and_says_why() {
    let wrong = [
        ("binding = \"b\"", "binding = \"c\"", "there is no binding `c`"),
        ("do = \"work\"", "do = \"work\"\nactive = \"inject\"", "does not advertise `inject`"),
        ("do = \"work\"", "do = \"work\"\nactive = \"coalesce\"", "no policy `coalesce`"),
    ];
    for (from, to, why) in wrong {
        let folder = folder();
        let file = folder.path().join("abide.toml");
        fs::write(&file, CONFIGURATION.replace(from, to)).expect("it is written");
        let mut daemon = Daemon::start(folder.path());
        assert_eq!(daemon.ends(), Some(1));
        let mut said = String::new();
        fs::File::open(folder.path().join("log"))
            .expect("a file")
            .read_to_string(&mut said)
            .expect("text");
        assert!(said.contains("abide.toml:") && said.contains("next:"), "{said}");
        assert!(said.contains(why), "{said}");
        assert!(!folder.path().join("state").exists());
    }
}
