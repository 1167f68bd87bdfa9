//! Real deliveries against the real binary: the corpus of GitHub payloads, many copies of it, senders that repeat
//! themselves, a daemon killed under running attempts, and every event accounted for at the end.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use abide_tests::corpus::{self, Payload};
use abide_tests::daemon::{Daemon, STALL, abide, binary};
use abide_tests::http::Connection;
use abide_tests::specs::trace::{TraceHeader, TraceStep};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

const SECRET: &str = "a webhook secret of this test";
/// Senders at once.
const SENDERS: usize = 8;
/// Copies of the corpus besides the original, each of repositories of its own.
const COPIES: i64 = 50;
/// What keeps the repositories of the copies apart.
const SHIFT: i64 = 1_000_000_000;

/// One delivery a sender has to get through, whatever happens to the daemon.
struct Delivery {
    id: String,
    event: String,
    body: String,
    signature: String,
    /// The repository and number it is about, if routes want it.
    subject: Option<(i64, i64)>,
}

impl Delivery {
    fn of(id: String, payload: &Payload) -> Self {
        let body = payload.body.to_string();
        let mut mac =
            Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).expect("HMAC takes any key");
        mac.update(body.as_bytes());
        let signature = format!("sha256={}", hex::encode(mac.finalize().into_bytes()));
        Self { id, event: payload.event.clone(), body, signature, subject: payload.subject() }
    }

    fn post(&self, door: &mut Connection) -> io::Result<u16> {
        let headers = [
            ("content-type", "application/json"),
            ("x-github-event", self.event.as_str()),
            ("x-github-delivery", self.id.as_str()),
            ("x-hub-signature-256", self.signature.as_str()),
        ];
        let answer = door.send("POST", "/hooks/github", &headers, self.body.clone())?;
        assert!(
            matches!(answer.status, 200 | 202 | 503),
            "{}: {} {}",
            self.id,
            answer.status,
            answer.body
        );
        Ok(answer.status)
    }
}

#[test]
fn every_real_delivery_is_kept_once_and_handled_in_order_across_a_kill() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    configure(folder.path());
    let (payloads, copies) = payloads();
    let deliveries = deliveries(&payloads, copies);
    say(&format!("{} deliveries from {} payloads", deliveries.len(), payloads.len()));

    let daemon = Daemon::start(folder.path()).expect("the daemon starts");
    let door = Mutex::new(daemon.hooks().to_owned());
    let daemon = Mutex::new(Some(daemon));
    let sent = AtomicUsize::new(0);
    let half = deliveries.len() / 2;
    let killed = std::thread::scope(|scope| {
        for sender in 0..SENDERS {
            let (deliveries, door, sent) = (&deliveries, &door, &sent);
            scope.spawn(move || send_all(sender, deliveries, door, sent));
        }
        kill_and_restart(folder.path(), &daemon, &door, &sent, half)
    });
    say(&format!("killed under {killed} running attempts after {half} deliveries"));
    assert!(killed > 0, "the kill found no running attempt");

    let daemon = daemon.into_inner().expect("no sender panicked").expect("the daemon runs");
    std::fs::write(folder.path().join("release"), "").expect("the release file");
    settle(&daemon);
    close_what_waits(&daemon, copies);
    settle(&daemon);
    account(folder.path(), &daemon, &deliveries, copies);
}

/// Past the capture of the test runner: the counts are the point of a passing run.
fn say(line: &str) {
    // Nobody reading is no reason to fail.
    let _ = writeln!(io::stdout().lock(), "end to end: {line}");
}

/// The corpus, or a few payloads of our own where it is not at hand.
fn payloads() -> (Vec<Payload>, i64) {
    match corpus::load() {
        Some(payloads) => {
            assert_eq!(payloads.len(), 329, "the corpus is the one this test was written for");
            (payloads, COPIES)
        }
        None => {
            // Past the capture of the test runner, so that nobody takes this for the real thing.
            let _ = writeln!(
                io::stderr().lock(),
                "\n!!! THE REAL PAYLOADS DID NOT RUN: set ABIDE_CORPUS to an unpacked \
                 @octokit/webhooks-examples (see .ci/run); a few payloads of our own stand in.\n"
            );
            (own_payloads(), 3)
        }
    }
}

fn own_payloads() -> Vec<Payload> {
    let about = |event: &str, action: &str, field: &str, number: i64| Payload {
        event: event.to_owned(),
        body: json!({
            "action": action, "number": number, "repository": { "id": 1, "full_name": "acme/web" },
            field: { "number": number }, "sender": { "login": "ada" },
        }),
    };
    let mut payloads = vec![
        about("pull_request", "opened", "pull_request", 1),
        about("issues", "opened", "issue", 2),
        about("pull_request", "labeled", "pull_request", 1),
        about("issue_comment", "created", "issue", 2),
    ];
    let ping = json!({ "zen": "Keep it simple.", "hook_id": 1, "hook": { "id": 1 } });
    payloads.push(Payload { event: "ping".to_owned(), body: ping });
    payloads
}

fn opened(repository: i64, number: i64, action: &str) -> Payload {
    Payload {
        event: "pull_request".to_owned(),
        body: json!({
            "action": action, "number": number, "pull_request": { "number": number },
            "repository": { "id": repository, "full_name": "acme/web" }, "sender": { "login": "ada" },
        }),
    }
}

/// What asks for a wait and what asks for long work comes first, so that both are under way at the kill.
fn deliveries(payloads: &[Payload], copies: i64) -> Vec<Delivery> {
    let mut all = Vec::new();
    for copy in 0..=copies {
        all.push(Delivery::of(format!("waits-{copy}"), &opened(copy * SHIFT + 7, 9001, "opened")));
    }
    all.push(Delivery::of("works-on".to_owned(), &opened(7, 9002, "opened")));
    for copy in 0..=copies {
        for (at, payload) in payloads.iter().enumerate() {
            all.push(Delivery::of(format!("{copy}-{at}"), &payload.in_repository(copy * SHIFT)));
        }
    }
    all
}

/// Sends its share in order and every third delivery twice. A sender that hears nothing sends again.
fn send_all(sender: usize, deliveries: &[Delivery], door: &Mutex<String>, sent: &AtomicUsize) {
    let mut connection = None;
    for (at, delivery) in deliveries.iter().enumerate().skip(sender).step_by(SENDERS) {
        send_until_heard(delivery, door, &mut connection);
        if at % 3 == 0 {
            send_until_heard(delivery, door, &mut connection);
        }
        sent.fetch_add(1, Ordering::Relaxed);
    }
}

fn send_until_heard(
    delivery: &Delivery,
    door: &Mutex<String>,
    connection: &mut Option<Connection>,
) {
    let begun = Instant::now();
    loop {
        assert!(begun.elapsed() < STALL, "{} was never answered", delivery.id);
        if connection.is_none() {
            let address = door.lock().expect("no sender panicked").clone();
            *connection = Connection::tcp(&address).ok();
        }
        match connection.as_mut().map(|open| delivery.post(open)) {
            Some(Ok(200 | 202)) => return,
            Some(Ok(_)) => {}
            Some(Err(_)) | None => *connection = None,
        }
        std::thread::yield_now();
    }
}

/// Kills the daemon once half is sent and an attempt runs that cannot end by itself; answers how many attempts ran.
fn kill_and_restart(
    folder: &Path,
    daemon: &Mutex<Option<Daemon>>,
    door: &Mutex<String>,
    sent: &AtomicUsize,
    half: usize,
) -> usize {
    let begun = Instant::now();
    while sent.load(Ordering::Relaxed) < half || !started(folder) {
        assert!(begun.elapsed() < STALL, "the senders stalled at {}", sent.load(Ordering::Relaxed));
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let mut slot = daemon.lock().expect("no sender panicked");
    let running = slot.take().map(|daemon| {
        let running = running(&daemon);
        daemon.kill().expect("the daemon is killed");
        running
    });
    let next = Daemon::start(folder).expect("the daemon starts again on the same file");
    *door.lock().expect("no sender panicked") = next.hooks().to_owned();
    *slot = Some(next);
    running.unwrap_or_default()
}

fn running(daemon: &Daemon) -> usize {
    let works = daemon.list("/work").expect("the works are listed");
    works.iter().filter(|work| work["status"] == "running").count()
}

/// Whether the attempt that cannot end by itself has said that it started. Its Work is the one whose process has
/// started and not ended while the release file is missing.
fn started(folder: &Path) -> bool {
    let lines = log(folder);
    let pids = |what: &str| -> BTreeSet<i64> {
        lines
            .iter()
            .filter(|line| line["what"] == what)
            .filter_map(|line| line["pid"].as_i64())
            .collect()
    };
    pids("start").difference(&pids("end")).next().is_some()
}

/// Waits until nothing is left to do by itself.
fn settle(daemon: &Daemon) {
    let begun = Instant::now();
    loop {
        let works = daemon.list("/work").expect("the works are listed");
        let busy = works
            .iter()
            .filter(|work| {
                work["status"] == "running" || work["status"] == "ready" || work["excluded"] == true
            })
            .count();
        let events = daemon.list("/events").expect("the events are listed");
        let unrouted = events.iter().filter(|event| event["mark"].is_null()).count();
        if busy == 0 && unrouted == 0 {
            return;
        }
        assert!(begun.elapsed() < STALL, "{busy} works still busy and {unrouted} events unrouted");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
}

/// Two closings of each waiting pull request: the first wakes it, the second finds it woken.
fn close_what_waits(daemon: &Daemon, copies: i64) {
    let mut door = Connection::tcp(daemon.hooks()).expect("the hooks door");
    for copy in 0..=copies {
        let repository = copy * SHIFT + 7;
        for (nth, action) in ["labeled", "closed", "closed"].into_iter().enumerate() {
            let delivery =
                Delivery::of(format!("close-{copy}-{nth}"), &opened(repository, 9001, action));
            assert_eq!(delivery.post(&mut door).expect("an answer"), 202);
        }
    }
}

fn log(folder: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(folder.join("stand-in.log")).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn account(folder: &Path, daemon: &Daemon, deliveries: &[Delivery], copies: i64) {
    let events = daemon.list("/events").expect("the events are listed");
    let works = daemon.list("/work").expect("the works are listed");
    let waits = daemon.list("/waits").expect("the waits are listed");

    // Each delivery is accepted once.
    let outside: Vec<&Value> = events.iter().filter(|event| event["source"] != "core").collect();
    let ids: BTreeSet<&str> =
        outside.iter().filter_map(|event| event["delivery"].as_str()).collect();
    let extra = 3 * (usize::try_from(copies).expect("few copies") + 1);
    assert_eq!(ids.len(), outside.len(), "a delivery was accepted twice");
    assert_eq!(outside.len(), deliveries.len() + extra, "a delivery was lost");

    // One Work a pull request or issue, and nothing else.
    let subjects: BTreeSet<(i64, i64)> =
        deliveries.iter().filter_map(|delivery| delivery.subject).collect();
    assert_eq!(works.len(), subjects.len(), "one work a pull request or issue");
    let open = works.iter().filter(|work| work["status"] == "waiting").count();
    let done = works.iter().filter(|work| work["status"] == "completed").count();
    assert_eq!(open + done, works.len(), "every work waits or is completed: {works:?}");

    // Everything about a pull request or issue went to its Work; everything else is visible as unmatched.
    let wanted = deliveries.iter().filter(|delivery| delivery.subject.is_some()).count() + extra;
    let unmatched = outside.iter().filter(|event| event["mark"] == "unmatched").count();
    let late = outside.iter().filter(|event| event["mark"] == "terminal").count();
    let handled: usize =
        outside.iter().filter(|event| event["mark"] == "queued" || event["mark"] == "woke").count();
    assert_eq!(handled + late, wanted, "every event of a work is its input, or came after its end");
    assert_eq!(unmatched, outside.len() - wanted, "everything else is unmatched");

    handed_over_in_order(folder, &events);

    let woken = woken_once(&waits, &works, copies);

    let rows = journal_reads_as_a_trace(folder);
    let starts = log(folder).iter().filter(|line| line["what"] == "start").count();
    let doctor = abide(folder, &["doctor", "-c", "abide.toml"]).expect("doctor runs");
    assert!(doctor.status.success(), "doctor: {}", String::from_utf8_lossy(&doctor.stdout));
    say(&format!(
        "{} events kept, {done} works completed and {open} waiting, {handled} inputs, \
         {late} after the end, {unmatched} unmatched, {woken} waits woken once, {starts} processes \
         started, {rows} journal rows; doctor clean",
        outside.len(),
    ));
}

/// Every wake has a winner of its own, no Work has two active waits, and what waited for a closing got the first.
fn woken_once(waits: &[Value], works: &[Value], copies: i64) -> usize {
    let active = waits.iter().filter(|wait| wait["status"] == "active").count();
    let waiting = works.iter().filter(|work| work["status"] == "waiting").count();
    assert_eq!(active, waiting, "a waiting work has one active wait");
    let woken: Vec<&Value> = waits.iter().filter(|wait| wait["status"] == "woken").collect();
    assert_eq!(active + woken.len(), waits.len(), "no wait is anything else");
    let winners: BTreeSet<i64> = woken.iter().filter_map(|wait| wait["winner"].as_i64()).collect();
    assert_eq!(winners.len(), woken.len(), "no event woke two waits");
    let closings =
        woken.iter().filter(|wait| wait["types"] == json!(["pull_request.closed"])).count();
    assert_eq!(
        closings,
        usize::try_from(copies).expect("few copies") + 1,
        "one wake a closing waited for"
    );
    woken.len()
}

/// The production journal is in the one format of traces, row by row.
fn journal_reads_as_a_trace(folder: &Path) -> usize {
    let exported = abide(folder, &["journal", "export", "-c", "abide.toml"]).expect("it runs");
    assert!(exported.status.success(), "{}", String::from_utf8_lossy(&exported.stderr));
    let text = String::from_utf8(exported.stdout).expect("JSON is UTF-8");
    let mut lines = text.lines();
    let header = lines.next().map(serde_json::from_str::<TraceHeader>);
    assert!(matches!(header, Some(Ok(_))), "{header:?}");
    lines
        .map(|line| match serde_json::from_str::<TraceStep>(line) {
            Ok(_) => {}
            Err(error) => panic!("{error}: {line}"),
        })
        .count()
}

/// What the processes themselves say they were handed: every input once, and in acceptance order.
fn handed_over_in_order(folder: &Path, events: &[Value]) {
    let mut handed: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    for line in log(folder).iter().filter(|line| line["what"] == "start") {
        let work = line["work"].as_str().unwrap_or_default().to_owned();
        let inputs = line["inputs"].as_array().cloned().unwrap_or_default();
        handed.entry(work).or_default().extend(inputs.iter().filter_map(Value::as_i64));
    }
    let mut wanted: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    for event in events {
        if event["mark"] == "queued" || event["mark"] == "woke" {
            let work = event["work"].as_str().unwrap_or_default().to_owned();
            wanted.entry(work).or_default().push(event["seq"].as_i64().unwrap_or_default());
        }
    }
    for (work, inputs) in &wanted {
        let mut sorted = inputs.clone();
        sorted.sort_unstable();
        assert_eq!(
            handed.get(work),
            Some(&sorted),
            "{work} was handed its input once and in order"
        );
    }
    assert_eq!(handed.len(), wanted.len(), "no process ran for anything else");
}

fn configure(folder: &Path) {
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
    std::fs::write(folder.join("abide.toml"), CONFIGURATION).expect("the configuration");
}

const CONFIGURATION: &str = r#"
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

[scope.corpus.kind.review]
binding = "stand-in"

[scope.corpus.binding.stand-in]
executor = "shell"
command = ["./run.sh"]
capabilities = []
isolation = "none"
lease = "2s"
stop_grace = "2s"
"#;
