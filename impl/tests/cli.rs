//! The command line against a real daemon, from `init` to `journal export`; and the demo.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// How long something may take before it is called stuck; no verdict on speed.
const STALL: Duration = Duration::from_secs(120);

/// A folder, and `abide` run in it.
struct Folder(tempfile::TempDir);

/// What a command said.
struct Said {
    out: String,
    err: String,
    code: Option<i32>,
}

/// A daemon of a folder. Dropping it kills it.
struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_abide"));
        command.current_dir(self.path()).stdin(Stdio::null()).env("COLUMNS", "80");
        command.env_remove("ABIDE_CONFIG").env("ABIDE__LISTEN__HOOKS", "127.0.0.1:0");
        command
    }

    fn run(&self, line: &[&str]) -> Said {
        let output = self.command().args(line).output().expect("the binary runs");
        let text = |bytes| String::from_utf8(bytes).expect("it prints UTF-8");
        Said { out: text(output.stdout), err: text(output.stderr), code: output.status.code() }
    }

    /// Runs what must succeed, and answers what it printed.
    fn done(&self, line: &[&str]) -> String {
        let said = self.run(line);
        assert_eq!(said.code, Some(0), "`abide {}`: {}{}", line.join(" "), said.out, said.err);
        said.out
    }

    /// Runs what must print one JSON object a line.
    fn rows(&self, line: &[&str]) -> Vec<Value> {
        let out = self.done(line);
        out.lines().map(|row| serde_json::from_str(row).expect("a JSON object a line")).collect()
    }

    /// Runs what must print one JSON object.
    fn json(&self, line: &[&str]) -> Value {
        serde_json::from_str(&self.done(line)).expect("a JSON object")
    }

    fn script(&self, text: &str) {
        let path = self.path().join("review.sh");
        std::fs::write(&path, text).expect("the script");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("its mode");
    }

    fn serve(&self) -> Daemon {
        let log = std::fs::File::create(self.path().join("daemon.log")).expect("a log");
        let mut child = self
            .command()
            .arg("serve")
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .expect("the daemon starts");
        let out = child.stdout.take().expect("its output is piped");
        let daemon = Daemon(child);
        let mut lines = BufReader::new(out).lines().map_while(Result::ok);
        let ready = lines.any(|line| line.trim() == "ready");
        assert!(ready, "the daemon never got ready: see its log");
        daemon
    }

    /// The one work with a key that ends so, once it has this status and nothing of it runs.
    fn work(&self, key: &str, status: &str) -> Value {
        let begun = Instant::now();
        loop {
            let works = self.rows(&["work", "list", "--json"]);
            let owns = |work: &&Value| {
                let keys = work["keys"].as_array().expect("keys");
                keys.iter().any(|owned| owned.as_str().is_some_and(|owned| owned.ends_with(key)))
            };
            let found = works.iter().find(owns);
            let settled = |work: &&Value| work["status"] == status && work["excluded"] == false;
            if let Some(work) = found.filter(settled) {
                return work.clone();
            }
            assert!(begun.elapsed() < STALL, "{key} is not {status}: {works:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Text with what differs from run to run replaced.
fn steady(text: &str, filters: &[(&str, &str)], check: impl Fn(&str)) {
    let mut all = vec![
        (r"\b(work|evt|att|wait)_[0-9a-z]{10,26}", "${1}_ID"),
        (r"\d{4}-\d\d-\d\dT[0-9:.]+Z", "TIME"),
        (r"\b\d+s( ago)?\b", "NOW$1"),
        (r" +\bNOW\b", " NOW"),
    ];
    all.extend_from_slice(filters);
    insta::with_settings!({ filters => all }, { check(text) });
}

fn opened(folder: &Folder, number: u32) -> String {
    let data = format!("{{\"pull_request\":{{\"number\":{number}}}}}");
    folder.done(&["emit", "--source", "op:me", "--type", "pull_request.opened", "--data", &data])
}

#[test]
fn what_init_writes_reviews_a_pull_request() {
    let folder = Folder::new();
    assert!(folder.done(&["init"]).contains("next: `abide check"));
    assert!(folder.done(&["check"]).contains("is valid"));

    let missing = folder.run(&["event", "list"]);
    assert_eq!(missing.code, Some(1));
    assert!(missing.err.contains("abide serve -c abide.toml"), "{}", missing.err);

    let daemon = folder.serve();
    assert!(folder.done(&["event", "list"]).contains("next: abide emit"));
    assert!(folder.done(&["work", "list"]).contains("next: abide event list"));
    assert!(opened(&folder, 7).starts_with("kept as event 1"));
    let work = folder.work("#7", "completed");
    let id = work["id"].as_str().expect("an id");
    assert!(folder.done(&["work", "logs", id]).contains("reason: start"));
    assert!(folder.done(&["why", id]).contains("completed"));
    drop(daemon);

    let gone = folder.run(&["event", "list"]);
    assert_eq!(gone.code, Some(1));
    assert!(gone.err.contains("the daemon is not running"), "{}", gone.err);
    assert_eq!(gone.err.lines().count(), 1, "one line: {}", gone.err);
}

#[test]
fn everything_about_a_work_that_waits_can_be_asked_and_it_can_be_cancelled() {
    let folder = Folder::new();
    folder.done(&["init"]);
    let abide = env!("CARGO_BIN_EXE_abide");
    folder.script(&format!("#!/bin/sh\necho waiting\nexec '{abide}' tool wait --key 8\n"));
    let _daemon = folder.serve();

    let line = ["emit", "--source", "op:me", "--type", "hello", "--id", "1", "--json"];
    let (first, again) = (folder.json(&line), folder.json(&line));
    assert_eq!((&first["duplicate"], &again["duplicate"]), (&false.into(), &true.into()));
    assert_eq!(first["id"], again["id"]);
    opened(&folder, 8);
    let work = folder.work("#8", "waiting");
    let id = work["id"].as_str().expect("an id");

    steady(&folder.done(&["event", "list"]), &[], |text| insta::assert_snapshot!("events", text));
    steady(&folder.done(&["event", "show", "1"]), &[], |text| {
        insta::assert_snapshot!("event", text)
    });
    let unmatched = folder.rows(&["event", "list", "--mark", "unmatched", "--json"]);
    assert_eq!(unmatched.len(), 1);
    steady(&folder.done(&["work", "list"]), &[], |text| insta::assert_snapshot!("works", text));
    steady(&folder.done(&["work", "show", id]), &[], |text| insta::assert_snapshot!("work", text));
    steady(&folder.done(&["wait", "list"]), &[], |text| insta::assert_snapshot!("waits", text));
    let wait = folder.rows(&["wait", "list", "--json"]);
    let wait = wait[0]["id"].as_str().expect("an id");
    steady(&folder.done(&["wait", "show", &wait[..20]]), &[], |text| {
        insta::assert_snapshot!("wait", text);
    });
    steady(&folder.done(&["why", id]), &[], |text| insta::assert_snapshot!("why-work", text));
    steady(&folder.done(&["why", "1"]), &[], |text| insta::assert_snapshot!("why-event", text));
    steady(&folder.done(&["chain", "2"]), &[], |text| insta::assert_snapshot!("chain", text));
    assert_eq!(folder.json(&["work", "show", "--json", id])["history"][0]["number"], 1);
    assert_eq!(folder.json(&["event", "show", "--json", "2"])["data"]["pull_request"]["number"], 8);

    let resting = folder.run(&["work", "interrupt", id]);
    assert_eq!(resting.code, Some(1));
    assert!(resting.err.starts_with("abide: nothing_to_interrupt: "), "{}", resting.err);

    let cancelled = folder.done(&["work", "cancel", id, "--reason", "no longer wanted"]);
    assert!(cancelled.contains("no longer wanted"), "{cancelled}");
    assert_eq!(folder.json(&["work", "show", "--json", id])["status"], "cancelled");
    assert!(folder.done(&["wait", "list"]).contains("--all"));
    let unknown = folder.run(&["work", "cancel", "work_7zzzzzzzzz"]);
    assert_eq!(unknown.code, Some(1));
    assert!(unknown.err.starts_with("abide: unknown_work: "), "{}", unknown.err);

    assert!(folder.done(&["doctor"]).starts_with("sound: 2 events"));
    let trace = folder.rows(&["journal", "export"]);
    assert_eq!(trace[0]["trace"], 1);
    let actions: Vec<&str> = trace.iter().filter_map(|step| step["action"].as_str()).collect();
    for action in ["accept", "commit_route", "claim", "pin", "register_wait", "vacate", "cancel"] {
        assert!(actions.contains(&action), "{action} is not in {actions:?}");
    }
    let last = trace.len() - 1;
    let later = folder.rows(&["journal", "export", "--since", &(last - 2).to_string()]);
    assert_eq!(later[1..], trace[last - 1..]);
}

/// OURS-06 OURS-07 OURS-08 OURS-09 OURS-11 BIND-10
#[test]
fn a_person_holds_releases_reopens_creates_drops_and_reloads() {
    let folder = Folder::new();
    folder.done(&["init"]);
    let abide = env!("CARGO_BIN_EXE_abide");
    folder.script(&format!("#!/bin/sh\nexec '{abide}' tool wait --key 8 --timeout 1d\n"));
    let _daemon = folder.serve();
    opened(&folder, 8);
    let work = folder.work("#8", "waiting");
    let id = work["id"].as_str().expect("an id");

    // Held while it waits: the wake is kept, and nothing starts.
    let held = folder.done(&["work", "hold", id, "--reason", "a freeze", "--expect-attempt", "1"]);
    assert!(held.contains("it is held by ops: a freeze"), "{held}");
    let stale = folder.run(&["work", "hold", id, "--expect-attempt", "2"]);
    assert_eq!(stale.code, Some(1));
    assert!(stale.err.starts_with("abide: stale_target: "), "{}", stale.err);
    assert_eq!(stale.err.lines().count(), 1, "{}", stale.err);
    opened(&folder, 8);
    folder.work("#8", "ready");
    let why = folder.done(&["why", id]);
    assert!(why.contains("held by ops: a freeze") && why.contains("abide work release"), "{why}");
    assert_eq!(folder.rows(&["hold", "list", "--json"]).len(), 1);
    assert!(folder.done(&["hold", "list"]).contains("a freeze"));
    folder.done(&["hold", "release", id]);
    folder.work("#8", "waiting");
    assert!(folder.done(&["hold", "list"]).contains("nothing is held"));
    let timers = folder.rows(&["timer", "list", "--json"]);
    assert_eq!((timers.len(), &timers[0]["kind"]), (1, &"wait".into()));
    assert!(folder.done(&["rejection", "list"]).contains("nothing was refused"));

    // Ended and reopened: what still comes in goes to the successor.
    folder.done(&["work", "cancel", id]);
    assert!(folder.done(&["work", "reopen", id]).starts_with("work_"));
    let successor = folder.json(&["work", "show", "--json", id])["successor"].clone();
    let next = successor.as_str().expect("it has one");
    assert!(folder.done(&["why", id]).contains(next));
    let again = folder.run(&["work", "reopen", id]);
    assert!(again.err.starts_with("abide: has_successor: "), "{}", again.err);

    // A kind of its own by a reload; the running daemon takes it at once.
    let file = folder.path().join("abide.toml");
    let text = std::fs::read_to_string(&file).expect("it is there");
    std::fs::write(&file, format!("{text}\nnonsense = 1\n")).expect("it is written");
    let refused = folder.run(&["config", "reload"]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.err.starts_with("abide: config_refused: "), "{}", refused.err);
    std::fs::write(&file, more(&text)).expect("it is written");
    assert!(folder.done(&["config", "reload"]).starts_with("configuration 2 is current"));
    // What a generation keeps is what it says, without the comments of its file.
    let now = folder.done(&["config", "show"]);
    let before = folder.done(&["config", "show", "--generation", "1"]);
    assert!(now.contains("[scope.main.kind.always]") && !now.contains("nonsense"), "{now}");
    assert!(before.contains("[scope.main.kind.review]"), "{before}");
    assert!(!before.contains("[scope.main.kind.always]"), "{before}");
    assert!(!before.contains("validates this file"), "{before}");
    let history = folder.done(&["config", "history"]);
    assert!(history.contains("refused") && history.contains("nonsense"), "{history}");
    let scopes = folder.rows(&["scope", "list", "--json"]);
    let scope = scopes[0]["name"].as_str().expect("a name");
    assert!(folder.done(&["scope", "show", scope]).contains("always"), "{scopes:?}");
    let made = folder.done(&["work", "create", "--kind", "always", "--data", "{\"ask\": 1}"]);
    let made = made.split(':').next().expect("an id");
    let refused = folder.run(&["work", "cancel", made]);
    assert!(refused.err.contains("--for-good"), "{}", refused.err);
    folder.done(&["work", "cancel", made, "--for-good"]);

    // An event that no route can be evaluated for is given up; a routed one is done again.
    let odd = ["emit", "--source", "op:me", "--type", "odd", "--key", "9", "--data", "{\"n\": 1}"];
    folder.done(&odd);
    let seq =
        folder.rows(&["event", "list", "--json"]).pop().expect("it is kept")["seq"].to_string();
    let why = folder.done(&["why", &seq]);
    assert!(why.contains("not routed"), "{why}");
    let dropped = folder.done(&["event", "drop", &seq, "--reason", "it is odd"]);
    assert!(dropped.contains("is dropped"), "{dropped}");
    assert!(folder.done(&["why", &seq]).contains("dropped by ops: it is odd"));
    assert!(folder.done(&["event", "replay", "1"]).starts_with("kept as event"));
    assert!(folder.done(&["doctor"]).starts_with("sound: "));
}

/// ALIAS-01 ALIAS-05 ALIAS-15 DONE-03
#[test]
fn an_attempt_waits_on_what_is_not_its_own_and_hands_over() {
    let folder = Folder::new();
    folder.done(&["init"]);
    let abide = env!("CARGO_BIN_EXE_abide");
    folder.script(&format!(
        "#!/bin/sh\n\
         if [ \"$ABIDE_REASON\" = resume ]; then\n\
         '{abide}' tool inputs --limit 1\n\
         exec '{abide}' tool result handoff --status 'saw it'\n\
         fi\n\
         '{abide}' tool wait --key 7 --on acme/nowhere:op:me#9 && exit 1\n\
         exec '{abide}' tool wait --key 7 --on op:me#9\n"
    ));
    let _daemon = folder.serve();
    opened(&folder, 7);
    let work = folder.work("#7", "waiting");
    let id = work["id"].as_str().expect("an id");
    let other = ["emit", "--source", "op:me", "--type", "hello", "--key", "9", "--json"];
    let seq = folder.json(&other)["seq"].clone();
    let work_is = |status: &str| folder.work("#7", status);
    let begun = Instant::now();
    while work_is("ready")["pending"] != 0
        || folder.json(&["work", "show", "--json", id])["history"][0]["status"] != "completed"
    {
        assert!(begun.elapsed() < STALL, "it does not hand over");
    }
    let logs = folder.done(&["work", "logs", id]);
    assert!(logs.contains("\"next\"") || logs.contains("\"inputs\""), "{logs}");
    let shown = folder.rows(&["wait", "list", "--all", "--json"]).pop().expect("it is there");
    let source = &shown["subscription"];
    assert_eq!((&source["source"], &source["active"]), (&"op:me#9".into(), &false.into()));
    assert_eq!(source["checkpoint"], seq);
    assert_eq!(folder.json(&["event", "show", "--json", &seq.to_string()])["mark"], "unmatched");
    let said = folder.rows(&["event", "list", "--type", "core.turn.ended", "--json"]);
    assert_eq!(said[0]["key"], "7");
    assert!(folder.done(&["doctor"]).starts_with("sound: "));
}

/// A configuration with a standing kind, and a route that cannot be evaluated.
fn more(text: &str) -> String {
    let scope = text.lines().find_map(|line| line.strip_prefix("[scope.")).expect("a scope");
    let scope = scope.split(['.', ']']).next().expect("its name");
    let binding = text.lines().find_map(|line| line.strip_prefix("binding = ")).expect("a binding");
    format!(
        "{text}\n[scope.{scope}.kind.always]\nbinding = {binding}\nstanding = true\n\
         [[scope.{scope}.route]]\nname = \"odd\"\non = [\"odd\"]\n\
         when = 'event.data.n == 1 && event.data.n.contains(\"x\")'\ndo = \"drop\"\n"
    )
}

#[test]
fn a_reader_that_goes_away_ends_a_command_quietly() {
    let folder = Folder::new();
    folder.done(&["init"]);
    let _daemon = folder.serve();
    let mut child = folder
        .command()
        .args(["event", "tail", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    drop(child.stdout.take());
    folder.done(&["emit", "--source", "op:me", "--type", "hello"]);
    let status = child.wait().expect("it ends by itself");
    assert_eq!(status.code(), Some(0));
}

#[test]
fn the_demo_is_all_so() {
    let folder = Folder::new();
    let said = folder.run(&["demo"]);
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    assert!(said.out.lines().all(|line| line.chars().count() <= 80), "{}", said.out);
    let (story, timeline) = said.out.split_once("\nThe same as a timeline").expect("both");
    for told in ["event 3 wakes #42", "#42 attempt 1 is adopted", "#43 is held", "#43 is cancelled"]
    {
        assert!(timeline.contains(told), "{told} is not in {timeline}");
    }
    let played = story.lines().next().and_then(|line| line.rsplit(' ').next()).expect("a folder");
    assert!(!Path::new(played).exists(), "{played} is left");
    assert_eq!(running_in(played), Vec::<String>::new(), "a process is left");
    let story = story.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(story.matches('✓').count(), 31, "{story}");
    assert!(!story.contains('✗'), "{story}");
}

#[test]
fn a_kept_demo_can_be_looked_at() {
    let folder = Folder::new();
    let said = folder.run(&["demo", "--keep", "kept"]);
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    assert!(folder.path().join("kept/abide.toml").exists());
    assert!(folder.done(&["doctor", "-c", "kept/abide.toml"]).starts_with("sound: 11 events"));
    let again = folder.run(&["demo", "--keep", "kept"]);
    assert_eq!(again.code, Some(1), "what is there is not played over");
}

/// Command lines of processes that name a folder.
fn running_in(folder: &str) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").expect("processes").filter_map(Result::ok);
    let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(folder)).collect()
}
