//! A folder with a daemon whose attempts run until a file says that they may end.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// How long something may take before it is called stuck; no verdict on speed.
pub(crate) const STALL: Duration = Duration::from_secs(120);

const CONFIGURATION: &str = r#"
[principal.ops]
token = { file = "state/ops.token" }
may = ["view", "work", "config"]

[scope.main]
capacity = 8

[[scope.main.route]]
name = "all"
on = ["*"]
key = 'string(event.data.n)'
do = "work"
kind = "k"

[scope.main.kind.k]
binding = "b"
retry = { attempts = 2, backoff = ["1s"] }

[scope.main.binding.b]
executor = "shell"
command = ["./run.sh"]
isolation = "none"
lease = "1s"
stop_grace = "1s"
"#;

/// Notes that it was launched and how it may be impersonated, then runs until it may end.
const SCRIPT: &str = r#"#!/bin/sh
here=$(dirname "$0")
echo "$ABIDE_SOCKET $ABIDE_TOKEN_FILE" > "$here/door"
echo launched >> "$here/launched"
until [ -e "$here/go" ]; do sleep 0.05; done
"#;

pub(crate) struct Folder(tempfile::TempDir);

/// What a command said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) code: Option<i32>,
}

/// A daemon of a folder. Dropping it kills it.
pub(crate) struct Daemon(pub(crate) Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Daemon {
    /// How it ends by itself.
    pub(crate) fn ends(&mut self) -> Option<i32> {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.0.try_wait().expect("it is ours") {
                return status.code();
            }
            assert!(begun.elapsed() < STALL, "it does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Folder {
    pub(crate) fn new() -> Self {
        let folder = Self(tempfile::tempdir().expect("a temporary folder"));
        folder.write("abide.toml", CONFIGURATION);
        folder.script(SCRIPT);
        folder
    }

    /// What an attempt runs.
    pub(crate) fn script(&self, text: &str) {
        self.write("run.sh", text);
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(self.path("run.sh"), mode).expect("its mode");
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("a file");
    }

    pub(crate) fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.path("state/abide.db")
    }

    /// How many attempts were launched, ever.
    pub(crate) fn launched(&self) -> usize {
        self.text("launched").lines().count()
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_abide"));
        command.current_dir(self.0.path()).stdin(Stdio::null()).env("COLUMNS", "80");
        command.env_remove("ABIDE_CONFIG");
        command
    }

    pub(crate) fn run(&self, line: &[&str]) -> Said {
        said(self.command().args(line).output().expect("the binary runs"))
    }

    /// Runs what must succeed, and answers what it printed.
    pub(crate) fn done(&self, line: &[&str]) -> String {
        let said = self.run(line);
        assert_eq!(said.code, Some(0), "`abide {}`: {said:?}", line.join(" "));
        said.out
    }

    pub(crate) fn json(&self, line: &[&str]) -> Value {
        serde_json::from_str(&self.done(line)).expect("a JSON object")
    }

    pub(crate) fn serve(&self) -> Daemon {
        let mut log = std::fs::OpenOptions::new();
        let log = log.create(true).append(true).open(self.path("daemon.log")).expect("a log");
        let mut serve = self.command();
        let serve = serve.arg("serve").stdout(Stdio::piped()).stderr(log);
        let mut child = serve.spawn().expect("the daemon starts");
        let out = child.stdout.take().expect("its output is piped");
        let daemon = Daemon(child);
        let mut lines = BufReader::new(out).lines().map_while(Result::ok);
        assert!(lines.any(|line| line.trim() == "ready"), "{}", self.text("daemon.log"));
        daemon
    }

    pub(crate) fn emit(&self, n: u32) -> Said {
        let data = format!("{{\"n\": {n}}}");
        self.run(&["emit", "--source", "op:me", "--type", "t", "--data", &data])
    }

    /// The work of a key, once it is as wanted.
    pub(crate) fn work(&self, n: u32, wanted: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        loop {
            let listed = self.done(&["work", "list", "--json", "--limit", "10000"]);
            let works: Vec<Value> =
                listed.lines().map(|row| serde_json::from_str(row).expect("JSON")).collect();
            let key = format!("#{n}");
            let owns = |work: &&Value| work["keys"][0].as_str().is_some_and(|k| k.ends_with(&key));
            if let Some(work) = works.iter().find(owns).filter(|work| wanted(work)) {
                return work.clone();
            }
            let log = self.text("daemon.log");
            assert!(begun.elapsed() < STALL, "work {n} never came to be so: {works:?}\n{log}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The work of a key, once it has this status.
    pub(crate) fn is(&self, n: u32, status: &str) -> Value {
        self.work(n, |work| work["status"] == status)
    }

    /// Waits until so many attempts were launched.
    pub(crate) fn launches(&self, count: usize) {
        let begun = Instant::now();
        while self.launched() < count {
            assert!(begun.elapsed() < STALL, "not launched: {}", self.text("daemon.log"));
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

pub(crate) fn said(output: std::process::Output) -> Said {
    let text = |bytes| String::from_utf8(bytes).expect("it prints UTF-8");
    Said { out: text(output.stdout), err: text(output.stderr), code: output.status.code() }
}
