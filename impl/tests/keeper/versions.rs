//! Two builds of one program: a keeper lives through upgrades of its daemon. The folders `version-1`,
//! `version-2` and `version-3` hold what these versions wrote and said, word for word. They do not
//! change; whatever changes here has to go on understanding them. OURS-19

use std::sync::{Arc, Mutex};
use std::time::Duration;

use abide::domain::{Epoch, EventUid, Token};
use abide::executor::shell::Shell;
use abide::extension::executor::{Credentials, Executor, Exit, InjectError, Injection, Metadata};
use abide::keeper::acks;
use abide::keeper::client::{ClientError, Controller, KeeperRef};
use abide::keeper::folder::{Ending, Folder, Progress};
use abide::keeper::identity::Identity;
use abide::keeper::inbox::Inbox;
use abide::keeper::protocol::{Denial, State};
use abide::keeper::{OLDEST, VERSION, socket};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

use crate::support::{Ground, Raw, gone, soon, token};

/// How a version launched, and how it spoke.
struct Version {
    launch: &'static str,
    ready: &'static str,
    conversation: &'static str,
}

const FIRST: Version = Version {
    launch: include_str!("version-1/launch.json"),
    ready: include_str!("version-1/ready.json"),
    conversation: include_str!("version-1/conversation.txt"),
};

const SECOND: Version = Version {
    launch: include_str!("version-2/launch.json"),
    ready: include_str!("version-2/ready.json"),
    conversation: include_str!("version-2/conversation.txt"),
};

const THIRD: Version = Version {
    launch: include_str!("version-3/launch.json"),
    ready: include_str!("version-3/ready.json"),
    conversation: include_str!("version-3/conversation.txt"),
};

const METADATA: &str = include_str!("version-1/metadata.json");

/// The names that stand for what differs from run to run.
fn filled(text: &str, keeper: &Identity, secret: &Token, leader: i32) -> String {
    text.replace("BOOT", &keeper.boot_id)
        .replace("4711", &keeper.pid.to_string())
        .replace("815", &keeper.start_time.to_string())
        .replace("1234", &leader.to_string())
        .replace("SECRET", &secret.reveal())
        .replace("TOKEN", &token(2).reveal())
        .replace("HASH", &serde_json::to_string(&secret.hash()).expect("a hash").replace('"', ""))
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).expect("it is JSON")
}

/// Whether `more` says everything that `less` says. What it says beyond that, version 1 ignores.
fn says(more: &Value, less: &Value) -> bool {
    match (more, less) {
        (Value::Object(more), Value::Object(less)) => {
            less.iter().all(|(name, value)| more.get(name).is_some_and(|given| says(given, value)))
        }
        (more, less) => more == less,
    }
}

impl Version {
    /// Its requests with the answers to each.
    fn exchanges(&self) -> Vec<(&'static str, &'static str)> {
        let lines: Vec<&str> = self.conversation.lines().collect();
        let exchange = |pair: &[&'static str]| {
            let request = pair[0].strip_prefix("> ").expect("a request");
            (request, pair[1].strip_prefix("< ").expect("an answer"))
        };
        lines.chunks(2).map(exchange).collect()
    }
}

/// A raw connection.
struct Line(BufReader<UnixStream>);

impl Line {
    async fn to(folder: &Folder) -> Self {
        Self(BufReader::new(socket::connect(&folder.socket()).await.expect("it listens")))
    }

    async fn ask(&mut self, request: &str) -> Value {
        let line = format!("{request}\n");
        self.0.get_mut().write_all(line.as_bytes()).await.expect("it is sent");
        let mut answer = String::new();
        soon(self.0.read_line(&mut answer)).await.expect("it answers");
        parsed(&answer)
    }
}

/// A daemon that was replaced by a newer program, and put back.
#[tokio::test]
async fn a_daemon_of_version_1_is_understood() {
    understood(&FIRST).await;
}

#[tokio::test]
async fn a_daemon_of_version_2_is_understood() {
    understood(&SECOND).await;
}

#[tokio::test]
async fn a_daemon_of_version_3_is_understood() {
    understood(&THIRD).await;
}

async fn understood(version: &Version) {
    let raw = Raw::launch(version.launch).await;
    let (keeper, secret) = (raw.keeper(), raw.folder.read_secret().expect("it is there"));
    let ready = parsed(&filled(version.ready, &keeper, &secret, 0));
    assert!(says(&raw.ready, &ready), "{}", raw.ready);
    let leader = || raw.folder.read_process().expect("readable").map_or(0, |file| file.leader.pid);
    let mut line = Line::to(&raw.folder).await;
    for (request, answer) in version.exchanges() {
        let given = line.ask(&filled(request, &keeper, &secret, 0)).await;
        let expected = parsed(&filled(answer, &keeper, &secret, leader()));
        // How much a command has read is its own affair.
        let given = parsed(&given.to_string().replace("\"written\":1", "\"written\":0"));
        assert!(says(&given, &expected), "{request} is answered {given} and not {expected}");
    }
    gone(&keeper).await;
    let exit = raw.folder.read_exit().expect("readable").expect("it is there");
    assert!(matches!(exit.ending, Ending::Killed(_)), "{exit:?}");
}

/// This process in place of a keeper of another version: it answers what that did, and takes nothing
/// but what that understood.
fn keeper_of(
    version: &'static Version,
    folder: &Folder,
    secret: &Token,
) -> Arc<Mutex<Vec<String>>> {
    let listener = socket::listen(&folder.socket()).expect("it listens");
    let me = Identity::current().expect("/proc is there");
    let secret = secret.clone();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&heard);
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.expect("a connection");
            let mut stream = BufReader::new(stream);
            let mut line = String::new();
            while stream.read_line(&mut line).await.is_ok_and(|read| read > 0) {
                let request = parsed(&line);
                let name = request["request"].as_str().expect("a request").to_owned();
                let known = version.exchanges().into_iter().rev().find(|(known, _)| {
                    let mut known = parsed(&filled(known, &me, &secret, 7));
                    // Of the arguments only those of a greeting are fixed, and what it speaks at most
                    // is for the greeting to say.
                    known.as_object_mut().expect("an object").remove("upto");
                    known["request"] == request["request"]
                        && (name != "hello" || says(&request, &known))
                });
                let unknown =
                    version.exchanges().into_iter().find(|(known, _)| known.contains("dance"));
                let (_, answer) = known.or(unknown).expect("it is in the transcript");
                log.lock().expect("no test panics inside").push(name);
                let answer = format!("{}\n", filled(answer, &me, &secret, 7));
                stream.get_mut().write_all(answer.as_bytes()).await.expect("it is sent");
                line.clear();
            }
        }
    });
    heard
}

/// ADOPT-14 ADOPT-15
#[tokio::test]
async fn a_keeper_of_version_1_is_adopted_and_controlled() {
    let ground = Ground::new();
    let segments = ground.place().segments;
    std::fs::create_dir(&segments).expect("a folder");
    let folder = Folder::create(segments.join("att-1")).expect("a new folder");
    let secret = token(7);
    folder.write_secret(&secret).expect("it is written");
    let me = Identity::current().expect("/proc is there");
    let heard = keeper_of(&FIRST, &folder, &secret);

    let metadata = Metadata(filled(METADATA, &me, &secret, 7));
    let shell = ground.script("");
    let credentials = Credentials { epoch: Epoch(2), token: token(2) };
    soon(shell.recover(&metadata, &credentials)).await.expect("it is adopted");
    shell.proceed(&metadata).await.expect("it goes on");
    // What it has no word for it is not asked, and that is certain. EXEC-02
    let injection = Injection { event: EventUid::new(), body: json!({"id": "e"}), repeated: false };
    let answer = shell.inject(&metadata, &injection).await;
    assert!(matches!(answer, Err(InjectError::NotAccepting { .. })), "{answer:?}");
    // It has no word for an interrupt, and can be stopped.
    shell.interrupt(&metadata).await.expect("it can be stopped");

    let keeper: KeeperRef = serde_json::from_str(&metadata.0).expect("it holds one");
    let mut controller = Controller::open(&folder, &keeper).await.expect("it is the recorded one");
    assert_eq!(controller.version(), 1);
    // What it does not understand it refuses, and goes on.
    let refused = controller.input("a", "line").await.expect_err("there is no inbox");
    assert!(matches!(refused, ClientError::Refused { code: Denial::UnknownRequest, .. }));
    assert_eq!(controller.inbox().await.expect("an answer"), None);
    assert_eq!(controller.status().await.expect("an answer"), State::Running { pid: 7 });
    controller.stop(Duration::ZERO).await.expect("an answer");
    let heard = heard.lock().expect("no test panics inside").clone();
    let expected =
        ["hello", "credentials", "hello", "proceed", "hello", "input", "status", "status", "stop"];
    let greetings_alone = ["hello", "hello"];
    assert_eq!(heard, [&expected[..5], &greetings_alone, &expected[5..]].concat());
}

#[tokio::test]
async fn a_keeper_of_version_2_keeps_input() {
    let root = tempfile::tempdir().expect("a temporary folder");
    let folder = Folder::create(root.path().join("att-1")).expect("a new folder");
    let secret = token(7);
    folder.write_secret(&secret).expect("it is written");
    keeper_of(&SECOND, &folder, &secret);
    let keeper = Identity::current().expect("/proc is there");
    let reference = KeeperRef { keeper, secret: secret.hash() };
    let mut controller = Controller::open(&folder, &reference).await.expect("it is the one");
    assert_eq!(controller.version(), 2);
    controller.input("a", "one").await.expect("it is kept");
    let older = controller.deliver("b", "two").await.expect_err("it has no word for it");
    assert!(matches!(older, ClientError::Older { version: 2, .. }));
    controller.close_input().await.expect("it is closed");
    let inbox = controller.inbox().await.expect("an answer").expect("there is one");
    assert!(inbox.accepted == 1 && inbox.closed);
}

#[tokio::test]
async fn a_keeper_of_version_3_takes_lines_and_remembers_an_interrupt() {
    let root = tempfile::tempdir().expect("a temporary folder");
    let folder = Folder::create(root.path().join("att-1")).expect("a new folder");
    let secret = token(7);
    folder.write_secret(&secret).expect("it is written");
    keeper_of(&THIRD, &folder, &secret);
    let keeper = Identity::current().expect("/proc is there");
    let reference = KeeperRef { keeper, secret: secret.hash() };
    let mut controller = Controller::open(&folder, &reference).await.expect("it is the one");
    assert_eq!(controller.version(), 3);
    controller.deliver("a", "one").await.expect("it is kept");
    controller.interrupt().await.expect("it is told");
    assert!(controller.interrupted().await.expect("an answer"));
}

/// EXEC-11: a process may have been told and have answered long before this build.
#[tokio::test]
async fn what_a_keeper_of_version_3_left_is_read() {
    let root = tempfile::tempdir().expect("a temporary folder");
    let folder = Folder::create(root.path().join("att-1")).expect("a new folder");
    let files = [
        ("exit.json", include_str!("version-3/exit.json")),
        ("interrupt.json", include_str!("version-3/interrupt.json")),
        ("inbox.ndjson", include_str!("version-3/inbox.ndjson")),
        ("events.ndjson", include_str!("version-3/events.ndjson")),
        ("acks.ndjson", include_str!("version-3/acks.ndjson")),
    ];
    for (name, text) in files {
        std::fs::write(folder.file(name), text).expect("it is written");
    }
    let exit = folder.read_exit().expect("readable").expect("it is there");
    let inbox = Progress { accepted: 3, written: 2, closed: false };
    assert_eq!((exit.ending, exit.inbox), (Ending::Killed(15), Some(inbox)));
    assert_eq!(folder.read_interrupt().expect("readable").map(|file| file.version), Some(3));
    let two = EventUid::from_uuid(uuid::Uuid::from_u128(2));
    assert_eq!(acks::consumed(&folder).expect("readable"), [two]);
    assert_eq!(Inbox::open(folder.inbox()).expect("it opens").progress().accepted, 3);
}

#[tokio::test]
async fn what_a_keeper_of_version_2_left_is_read() {
    let root = tempfile::tempdir().expect("a temporary folder");
    let folder = Folder::create(root.path().join("att-1")).expect("a new folder");
    let files = [
        ("process.json", include_str!("version-2/process.json")),
        ("exit.json", include_str!("version-2/exit.json")),
        ("inbox.ndjson", include_str!("version-2/inbox.ndjson")),
    ];
    for (name, text) in files {
        std::fs::write(folder.file(name), text).expect("it is written");
    }
    let exit = folder.read_exit().expect("readable").expect("it is there");
    let inbox = Progress { accepted: 2, written: 1, closed: true };
    assert_eq!((exit.ending, exit.forced, exit.inbox), (Ending::Killed(9), true, Some(inbox)));
    let process = folder.read_process().expect("readable").expect("it is there");
    assert_eq!((process.version, process.leader.pid), (2, 1234));
    let inbox = Inbox::open(folder.inbox()).expect("it opens").progress();
    assert!(inbox.accepted == 2 && inbox.closed);
}

/// ADOPT-18
#[tokio::test]
async fn what_a_keeper_of_version_1_left_is_read() {
    let ground = Ground::new();
    let segments = ground.place().segments;
    std::fs::create_dir(&segments).expect("a folder");
    let folder = Folder::create(segments.join("att-1")).expect("a new folder");
    // A boot that is long over: the segment ended while no daemon looked.
    let keeper = Identity { boot_id: "another".into(), pid: 4711, start_time: 815 };
    let files = [
        ("keeper.json", include_str!("version-1/keeper.json")),
        ("process.json", include_str!("version-1/process.json")),
        ("exit.json", include_str!("version-1/exit.json")),
        ("result.json", include_str!("version-1/result.json")),
    ];
    for (name, text) in files {
        let text = filled(text, &keeper, &token(7), 1234);
        std::fs::write(folder.file(name), text).expect("it is written");
    }
    let process = folder.read_process().expect("readable").expect("it is there");
    assert_eq!((process.version, process.leader.pid), (1, 1234));
    let metadata = Metadata(filled(METADATA, &keeper, &token(7), 1234));
    let shell: Shell = ground.script("");
    let credentials = Credentials { epoch: Epoch(2), token: token(2) };
    shell.recover(&metadata, &credentials).await.expect("a finished one is adopted");
    let merged = Exit::Completed { status: Some("merged".into()), continuation: None };
    assert_eq!(soon(shell.observe(&metadata)).await, merged);
    assert!(!shell.stop(&metadata, Duration::ZERO).await.expect("it is over").signalled);
}

#[tokio::test]
async fn a_daemon_of_a_later_version_is_answered_in_the_highest_that_both_speak() {
    let raw = Raw::launch(FIRST.launch).await;
    let secret = raw.folder.read_secret().expect("it is there").reveal();
    let hello = |low: u32, high: u32| {
        json!({"request": "hello", "version": low, "upto": high, "secret": secret, "mood": "new"})
            .to_string()
    };
    let answer = Line::to(&raw.folder).await.ask(&hello(VERSION + 1, VERSION + 7)).await;
    assert_eq!((&answer["reply"], &answer["code"]), (&json!("refused"), &json!("unknown_version")));
    let mut line = Line::to(&raw.folder).await;
    let answer = line.ask(&hello(OLDEST, VERSION + 7)).await;
    assert_eq!((&answer["reply"], &answer["version"]), (&json!("hello"), &json!(VERSION)));
    // What it does not know it refuses; what comes after is heard.
    for unknown in [r#"{"request":"dance"}"#, "no json", "[]", "{}"] {
        assert_eq!(line.ask(unknown).await["code"], "unknown_request", "{unknown}");
    }
    let answer = line.ask(r#"{"request":"status","since":3}"#).await;
    assert_eq!(answer["state"]["state"], "held");
    let answer = line.ask(r#"{"request":"stop","grace_ms":0,"why":"enough"}"#).await;
    assert_eq!(answer["reply"], "done");
    gone(&raw.keeper()).await;
}

#[tokio::test]
async fn a_launch_of_a_later_version_starts_nothing_and_says_why() {
    let launch = FIRST.launch.replace("\"version\":1", &format!("\"version\":{}", VERSION + 1));
    let said = Raw::refused(&launch).await;
    assert!(said.contains("another version"), "{said}");
}
