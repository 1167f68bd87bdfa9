//! Real deliveries against the real binary: the corpus of GitHub payloads, many copies of it, senders that repeat
//! themselves, a configuration that is replaced and a daemon that is killed under running attempts, and every event
//! accounted for at the end.

#[path = "end_to_end/accounts.rs"]
mod accounts;
#[path = "end_to_end/configuration.rs"]
mod configuration;
#[path = "end_to_end/deliveries.rs"]
mod deliveries;

use std::io::{self, Write};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use abide_tests::daemon::{Daemon, STALL};
use abide_tests::http::Connection;
use serde_json::Value;

use accounts::account;
use configuration::{configure, current, reload};
use deliveries::{Delivery, WORKS_ON, deliveries, endings, payloads, steers};

/// Senders at once.
const SENDERS: usize = 8;

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
    let (killed, generations) = std::thread::scope(|scope| {
        for sender in 0..SENDERS {
            let (deliveries, door, sent) = (&deliveries, &door, &sent);
            scope.spawn(move || send_all(sender, deliveries, door, sent));
        }
        reload_kill_and_restart(folder.path(), &daemon, &door, &sent, half)
    });
    say(&format!("reloaded and killed under {killed} running attempts after {half} deliveries"));
    assert!(killed > 0, "the kill found no running attempt");

    let daemon = daemon.into_inner().expect("no sender panicked").expect("the daemon runs");
    assert_eq!(current(&daemon), generations.1, "what was current is current again");
    let steers = steers();
    steer(folder.path(), &daemon, &steers);
    std::fs::write(folder.path().join("release"), "").expect("the release file");
    settle(&daemon);
    say("everything has come to rest");
    let endings = endings(copies);
    for batch in &endings {
        send_in_order(&daemon, batch);
        settle(&daemon);
    }
    say("and again");
    let deliveries = [deliveries, steers].concat();
    account(folder.path(), &daemon, &deliveries, &endings.concat(), generations);
}

/// Past the capture of the test runner: the counts are the point of a passing run.
fn say(line: &str) {
    static BEGUN: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    let since = BEGUN.get_or_init(Instant::now).elapsed().as_secs();
    // Nobody reading is no reason to fail.
    let _ = writeln!(io::stdout().lock(), "end to end: {since:>3} s: {line}");
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

/// One sender sends these in this order, and nothing of them twice.
fn send_in_order(daemon: &Daemon, deliveries: &[Delivery]) {
    let mut door = Connection::tcp(daemon.hooks()).expect("the hooks door");
    for delivery in deliveries {
        assert_eq!(delivery.post(&mut door).expect("an answer"), 202, "{}", delivery.id);
    }
}

/// Tells the one that works on more, and waits until it has taken in what it takes.
fn steer(folder: &Path, daemon: &Daemon, steers: &[Delivery]) {
    send_in_order(daemon, steers);
    let begun = Instant::now();
    let takes = || log(folder).iter().filter(|line| line["what"] == "takes").count();
    while takes() < steers.len() / 2 {
        assert!(begun.elapsed() < STALL, "it does not take in what comes");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// Once half is sent and an attempt runs that cannot end by itself, replaces the configuration and kills the daemon.
/// Answers how many attempts ran, and the generations before and after.
fn reload_kill_and_restart(
    folder: &Path,
    daemon: &Mutex<Option<Daemon>>,
    door: &Mutex<String>,
    sent: &AtomicUsize,
    half: usize,
) -> (usize, (i64, i64)) {
    let begun = Instant::now();
    while sent.load(Ordering::Relaxed) < half || !started(folder) {
        assert!(begun.elapsed() < STALL, "the senders stalled at {}", sent.load(Ordering::Relaxed));
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let mut slot = daemon.lock().expect("no sender panicked");
    let first = slot.take().expect("the daemon runs");
    let generations = reload(folder, &first);
    let running = running(&first);
    first.kill().expect("the daemon is killed");
    let next = Daemon::start(folder).expect("the daemon starts again on the same file");
    *door.lock().expect("no sender panicked") = next.hooks().to_owned();
    *slot = Some(next);
    (running, generations)
}

fn running(daemon: &Daemon) -> usize {
    let works = daemon.list("/work").expect("the works are listed");
    works.iter().filter(|work| work["status"] == "running").count()
}

/// Whether the attempt that cannot end by itself has said that it started.
fn started(folder: &Path) -> bool {
    log(folder).iter().any(|line| line["what"] == "start" && line["asked"] == WORKS_ON)
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

fn log(folder: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(folder.join("stand-in.log")).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}
