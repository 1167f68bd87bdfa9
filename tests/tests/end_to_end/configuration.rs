//! What the daemon is configured with, first and after its reload.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use abide_tests::daemon::{Daemon, STALL, binary};

use crate::deliveries::SECRET;

pub(crate) fn configure(folder: &Path) {
    let stand_in = binary("stand-in").expect("the stand-in is built");
    let abide = binary("abide").expect("abide is built");
    std::fs::write(folder.join("hook.secret"), SECRET).expect("the secret");
    let environment =
        [("ABIDE_STAND_IN_LOG", folder.join("stand-in.log")), ("ABIDE_BINARY", abide)];
    // The daemon passes on what a binding lists and nothing else; a script fixes the two values.
    let mut script = String::from("#!/bin/sh\n");
    for (name, value) in &environment {
        script.push_str(&format!("export {name}='{}'\n", value.display()));
    }
    script.push_str(&format!("exec '{}'\n", stand_in.display()));
    let path = folder.join("run.sh");
    std::fs::write(&path, script).expect("the script");
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("executable");
    std::fs::write(folder.join("abide.toml"), format!("{HEAD}{ROUTES}"))
        .expect("the configuration");
}

/// Makes the second configuration current while attempts run, and answers the generations before and after.
pub(crate) fn reload(folder: &Path, daemon: &Daemon) -> (i64, i64) {
    let before = current(daemon);
    let second = format!("{HEAD}{QUIET}{ROUTES}");
    std::fs::write(folder.join("abide.toml"), second).expect("the second configuration");
    let hangup = Command::new("kill").args(["-HUP", &daemon.pid().to_string()]).status();
    assert!(hangup.expect("kill runs").success());
    let begun = Instant::now();
    loop {
        let after = current(daemon);
        if after != before {
            return (before, after);
        }
        assert!(begun.elapsed() < STALL, "the second configuration never became current");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The generation that is current.
pub(crate) fn current(daemon: &Daemon) -> i64 {
    let shown = daemon.operator("GET", "/config", "").expect("the configuration is shown").json();
    shown["generation"].as_i64().unwrap_or_else(|| panic!("{shown}"))
}

const HEAD: &str = r#"
[daemon]
state = "state"
database = "sqlite:abide.db"

[listen]
hooks = "127.0.0.1:0"
operator = "operator.sock"
tool = "tool.sock"

[principal.ops]
token = { file = "state/ops.token" }
may = ["view", "work", "config"]

[[ingress]]
name = "github"
kind = "github"
scope = "corpus"
secrets = [{ file = "hook.secret" }]
max = "1MiB"

[scope.corpus]
capacity = 4
causal = { max_depth = 32 }

[scope.corpus.kind.review]
binding = "stand-in"

[scope.corpus.kind.dependent]
binding = "resumed"

[scope.corpus.kind.steered]
binding = "hearing"

[scope.corpus.kind.returning]
binding = "stand-in"
reopen = ["pull_request.reopened"]

[scope.corpus.binding.stand-in]
executor = "shell"
command = ["./run.sh"]
capabilities = []
isolation = "none"
lease = "2s"
stop_grace = "2s"

[scope.corpus.binding.hearing]
executor = "shell"
command = ["./run.sh"]
capabilities = ["inject"]
isolation = "none"
lease = "2s"
stop_grace = "2s"

[scope.corpus.binding.resumed]
executor = "shell"
command = ["./run.sh"]
capabilities = ["resume"]
isolation = "none"
lease = "2s"
stop_grace = "2s"
"#;

/// Of the second configuration alone: labels of what waits are nobody's input any more.
const QUIET: &str = r#"
[[scope.corpus.route]]
name = "quiet"
on = ["pull_request.labeled"]
when = 'event.data.number == 9001'
key = 'string(event.data.pull_request.number)'
do = "drop"
"#;

const ROUTES: &str = r#"
[[scope.corpus.route]]
name = "locked"
on = ["pull_request.locked"]
when = 'event.data.number == 9003'
key = 'string(event.data.pull_request.number)'
do = "close"

[[scope.corpus.route]]
name = "dependent"
on = ["pull_request.*"]
when = 'event.data.number == 9004'
key = 'string(event.data.pull_request.number)'
do = "work"
kind = "dependent"

[[scope.corpus.route]]
name = "returning"
on = ["pull_request.*"]
when = 'event.data.number == 9005'
key = 'string(event.data.pull_request.number)'
do = "work"
kind = "returning"

[[scope.corpus.route]]
name = "steered"
on = ["pull_request.*"]
when = 'event.data.number == 9002'
key = 'string(event.data.pull_request.number)'
do = "work"
kind = "steered"
active = "inject"
fallback = "queue"

[[scope.corpus.route]]
name = "pull-request"
on = ["pull_request.*", "pull_request_review.*", "pull_request_review_comment.*", "pull_request_review_thread.*"]
key = 'string(event.data.pull_request.number)'
do = "work"
kind = "review"

[[scope.corpus.route]]
name = "issue"
on = ["issues.*", "issue_comment.*"]
key = 'string(event.data.issue.number)'
do = "work"
kind = "review"
active = "inject"
fallback = "queue"
"#;
