//! The inbox of a shell command: what is offered while it works, and what it says of it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use abide::domain::{Epoch, EventUid, StartReason};
use abide::executor::shell::Shell;
use abide::extension::executor::{
    Credentials, Executor, Exit, InjectError, Injection, Metadata, Report, RunRequest,
};
use abide::keeper::folder::Folder;
use abide::keeper::processes::Handle;
use abide::keeper::protocol::{Reply, Request, Sealed, read_line, write_line};
use abide::keeper::{VERSION, socket};
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::io::BufReader;

use crate::support::{
    ABIDE, COMPLETED, Ground, appeared, ended, event, gone, keeper, parsed, runs, soon, started,
    token,
};

/// Waits for `go`, and has its inbox left alone until then.
const HELD: &str = "echo up > up; while [ ! -e go ]; do sleep 0.02; done";

fn uid(n: u128) -> EventUid {
    EventUid::from_uuid(uuid::Uuid::from_u128(n))
}

fn injection(n: u128) -> Injection {
    Injection { event: uid(n), body: event(40 + u32::try_from(n).expect("few")), repeated: false }
}

/// A script for which `abide` is the built binary.
fn script(ground: &Ground, script: &str) -> Shell {
    let folder = Path::new(ABIDE).parent().expect("a folder").display();
    ground.script(&format!("PATH={folder}:$PATH; {script}"))
}

fn go(ground: &Ground) {
    fs::write(ground.file("go"), "").expect("it is written");
}

/// Looks until the process has said that it took in so many.
async fn reported(shell: &Shell, metadata: &Metadata, count: usize) -> Vec<EventUid> {
    soon(async {
        loop {
            let Report { consumed, .. } = shell.report(metadata).await.expect("it is readable");
            if consumed.len() >= count {
                return consumed;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    })
    .await
}

fn not_accepting(answer: Result<(), InjectError>) -> String {
    match answer {
        Err(InjectError::NotAccepting { detail }) => detail,
        Ok(()) | Err(InjectError::Ambiguous { .. }) => panic!("not so: {answer:?}"),
    }
}

/// The lines of the file that the command reads.
fn lines(ground: &Ground) -> Vec<Value> {
    let text = fs::read_to_string(ground.folder().events()).expect("it is there");
    assert!(text.is_empty() || text.ends_with('\n'));
    text.lines().map(|line| serde_json::from_str(line).expect("it is JSON")).collect()
}

/// The block of the guide that follows these words.
fn example(after: &str) -> &'static str {
    let guide = include_str!("../../../docs/operator.md");
    let from = guide.find(after).expect("the guide has it");
    let block = guide[from..].split("```").nth(1).expect("a block");
    block.strip_prefix("sh\n").expect("a script")
}

/// EXEC-07 EXEC-12: the script of the guide takes in what comes, one by one.
#[tokio::test]
async fn the_script_of_the_guide_takes_in_what_is_injected() {
    let ground = Ground::new();
    let shell = script(&ground, example("A script that takes in events while it works"));
    assert!(shell.capabilities().injects && shell.capabilities().interrupts);
    let metadata = started(&shell, &ground).await;
    assert_eq!(shell.report(&metadata).await.expect("it is readable"), Report::default());
    soon(shell.inject(&metadata, &injection(1))).await.expect("it is accepted");
    assert_eq!(reported(&shell, &metadata, 1).await, [uid(1)]);
    soon(shell.inject(&metadata, &injection(2))).await.expect("it is accepted");
    assert_eq!(reported(&shell, &metadata, 2).await, [uid(1), uid(2)]);
    let heard = fs::read_to_string(ground.file("heard.ndjson")).expect("it is there");
    let heard: Vec<Value> =
        heard.lines().map(|line| serde_json::from_str(line).expect("it is JSON")).collect();
    assert_eq!(heard, lines(&ground));
    assert_eq!(
        (&heard[0]["abideid"], &heard[0]["id"]),
        (&json!(uid(1).to_string()), &json!("e41"))
    );
    shell.stop(&metadata, std::time::Duration::ZERO).await.expect("it stops");
}

/// EXEC-04 POLICY-18: whoever did not hear the answer says it again.
#[tokio::test]
async fn an_event_whose_answer_was_lost_is_in_the_inbox_once() {
    let ground = Ground::new();
    let shell = ground.script(HELD);
    let metadata = started(&shell, &ground).await;
    let line = json!({"abideid": uid(1).to_string()}).to_string();
    let folder = ground.folder();
    let mut stream = BufReader::new(socket::connect(&folder.socket()).await.expect("it listens"));
    let secret = Sealed(folder.read_secret().expect("it is there"));
    let hello = Request::Hello { version: VERSION, upto: None, secret };
    write_line(stream.get_mut(), &hello).await.expect("it is sent");
    let hello: Option<Reply> = soon(read_line(&mut stream)).await.expect("an answer");
    assert!(matches!(hello, Some(Reply::Hello { .. })));
    // Its sender is gone before the answer is.
    let request = Request::Deliver { id: uid(1).to_string(), line };
    write_line(stream.get_mut(), &request).await.expect("it is sent");
    drop(stream);

    for repeated in [false, true, true] {
        let injection = Injection { repeated, ..injection(1) };
        soon(shell.inject(&metadata, &injection)).await.expect("it is accepted");
    }
    soon(shell.inject(&metadata, &injection(2))).await.expect("it is accepted");
    let ids = abide::keeper::inbox::ids(&folder.inbox()).expect("it is readable");
    assert_eq!(ids, [uid(1), uid(2)].map(|id| id.to_string()));
    go(&ground);
    assert_eq!(ended(&shell, &metadata).await, COMPLETED);
    assert_eq!(lines(&ground).len(), 2);
    // It never read them.
    assert_eq!(shell.report(&metadata).await.expect("it is readable").consumed, []);
}

/// EXEC-05 EXEC-11: what the process took in is known, whoever asks and whatever has gone since.
#[test]
fn acknowledgements_outlive_daemon_and_keeper() {
    let ground = Ground::new();
    let takes_one = "abide tool inbox --wait 2m | while read -r id event; do \
        while [ ! -e alone ]; do sleep 0.02; done; abide tool ack \"$id\" && echo \"$id\" > acked; done";
    let first = tokio::runtime::Runtime::new().expect("a runtime");
    let metadata = first.block_on(async {
        let shell = script(&ground, takes_one);
        let metadata = started(&shell, &ground).await;
        soon(shell.inject(&metadata, &injection(1))).await.expect("it is accepted");
        metadata
    });
    // From here on there is no daemon.
    drop(first);
    let second = tokio::runtime::Runtime::new().expect("a runtime");
    second.block_on(async {
        fs::write(ground.file("alone"), "").expect("it is written");
        assert_eq!(appeared(&ground.file("acked")).await, uid(1).to_string());
        let shell = script(&ground, "exit 9");
        let credentials = Credentials { epoch: Epoch(2), token: token(2) };
        soon(shell.recover(&metadata, &credentials)).await.expect("it is adopted");
        soon(shell.inject(&metadata, &injection(1))).await.expect("it is there already");
        soon(shell.inject(&metadata, &injection(2))).await.expect("it is accepted");
        assert_eq!(reported(&shell, &metadata, 2).await, [uid(1), uid(2)]);

        let keeper = keeper(&metadata);
        let handle = Handle::of(&keeper).expect("a handle").expect("it runs");
        handle.signal(Signal::KILL).expect("it is ours");
        gone(&keeper).await;
        // Its inbox tells what it took: the process may have it, and may not have anything else.
        soon(shell.inject(&metadata, &injection(2))).await.expect("it was accepted");
        let why = not_accepting(soon(shell.inject(&metadata, &injection(3))).await);
        assert!(why.contains("its keeper is gone"), "{why}");
        assert!(matches!(ended(&shell, &metadata).await, Exit::Lost { .. }));
        let consumed = shell.report(&metadata).await.expect("it is readable").consumed;
        assert_eq!(consumed, [uid(1), uid(2)]);
        shell.stop(&metadata, std::time::Duration::ZERO).await.expect("it stops");
    });
}

/// EXEC-02 EXEC-09
#[tokio::test]
async fn a_command_that_has_ended_or_given_its_result_accepts_nothing_more() {
    let ground = Ground::new();
    let declares =
        "abide tool result completed; echo said > said; while [ ! -e go ]; do sleep 0.02; done";
    let shell = script(&ground, declares);
    let metadata = shell.run(&ground.request()).await.expect("it launches");
    // It need not have started.
    soon(shell.inject(&metadata, &injection(1))).await.expect("it is accepted");
    shell.proceed(&metadata).await.expect("it proceeds");
    appeared(&ground.file("said")).await;
    let why = not_accepting(soon(shell.inject(&metadata, &injection(2))).await);
    assert!(why.contains("declared its result"), "{why}");
    go(&ground);
    assert_eq!(ended(&shell, &metadata).await, COMPLETED);
    for n in [2, 3] {
        not_accepting(soon(shell.inject(&metadata, &injection(n))).await);
    }
    soon(shell.inject(&metadata, &injection(1))).await.expect("it was accepted, and still is");
    let left: Vec<Value> = lines(&ground);
    assert_eq!(left.len(), 1);
}

/// EXEC-10
#[tokio::test]
async fn an_executor_accepts_nothing_for_what_it_does_not_hold() {
    let ground = Ground::new();
    let shell = ground.script(HELD);
    let metadata = started(&shell, &ground).await;
    let other = ground.script(HELD);
    let why = not_accepting(soon(other.inject(&metadata, &injection(1))).await);
    assert!(why.contains("does not hold"), "{why}");
    not_accepting(shell.inject(&Metadata("{}".into()), &injection(1)).await);
    let credentials = Credentials { epoch: Epoch(2), token: token(2) };
    soon(other.recover(&metadata, &credentials)).await.expect("it is adopted");
    soon(other.inject(&metadata, &injection(1))).await.expect("it is accepted");
    other.release(&metadata);
    not_accepting(soon(other.inject(&metadata, &injection(1))).await);
    go(&ground);
    assert_eq!(ended(&shell, &metadata).await, COMPLETED);
}

/// EXEC-02 EXEC-10: a segment that was stopped here is a dead one, and what it had accepted it has.
#[tokio::test]
async fn what_was_stopped_accepts_nothing_more_and_has_what_it_accepted() {
    let ground = Ground::new();
    let shell = ground.script(HELD);
    let metadata = started(&shell, &ground).await;
    soon(shell.inject(&metadata, &injection(1))).await.expect("it is accepted");
    soon(shell.stop(&metadata, std::time::Duration::ZERO)).await.expect("it stops");
    let why = not_accepting(soon(shell.inject(&metadata, &injection(2))).await);
    assert!(why.contains("is over"), "{why}");
    soon(shell.inject(&metadata, &injection(1))).await.expect("it was accepted");
}

/// The attempt can write to its folder, and what it damages there fills no disk.
#[tokio::test]
async fn a_damaged_inbox_is_complained_of_once() {
    let ground = Ground::new();
    let shell = ground.script(HELD);
    let metadata = shell.run(&ground.request()).await.expect("it launches");
    soon(shell.inject(&metadata, &injection(1))).await.expect("it is accepted");
    fs::write(ground.folder().inbox(), "").expect("it is cut");
    shell.proceed(&metadata).await.expect("it proceeds");
    appeared(&ground.folder().log()).await;
    tokio::time::sleep(std::time::Duration::from_millis(1600)).await;
    let log = fs::read_to_string(ground.folder().log()).expect("it is there");
    assert_eq!(log.lines().count(), 1, "{log}");
    go(&ground);
    assert_eq!(ended(&shell, &metadata).await, COMPLETED);
}

/// EXEC-03
#[tokio::test]
async fn of_a_keeper_that_lives_and_does_not_answer_nobody_knows() {
    let ground = Ground::new();
    let shell = ground.script(HELD);
    let metadata = started(&shell, &ground).await;
    let (there, away) = (ground.folder().socket(), ground.segment_file("away"));
    fs::rename(&there, &away).expect("it is moved");
    let answer = soon(shell.inject(&metadata, &injection(1))).await;
    assert!(matches!(answer, Err(InjectError::Ambiguous { .. })), "{answer:?}");
    fs::rename(&away, &there).expect("it is moved");
    soon(shell.inject(&metadata, &injection(1))).await.expect("it is accepted");
    go(&ground);
    assert_eq!(ended(&shell, &metadata).await, COMPLETED);
}

/// What no inbox takes stays input of the Work, and no log or error repeats what it says.
#[tokio::test]
async fn what_does_not_fit_is_not_accepted_and_is_not_repeated_anywhere() {
    let ground = Ground::new();
    let shell = ground.script(HELD);
    let metadata = started(&shell, &ground).await;
    // The second is longer than anything that a keeper reads.
    let long = |bytes: usize| Injection {
        body: json!({"data": "hunter2".repeat(bytes / 7)}),
        ..injection(1)
    };
    let no_event = Injection { body: json!("hunter2"), ..injection(2) };
    for injection in [long(2 << 20), long(9 << 20), no_event] {
        let why = not_accepting(soon(shell.inject(&metadata, &injection)).await);
        assert!(!why.contains("hunter2"), "{why}");
    }
    soon(shell.inject(&metadata, &injection(3))).await.expect("the next is accepted");
    go(&ground);
    assert_eq!(ended(&shell, &metadata).await, COMPLETED);
    let log = fs::read_to_string(ground.folder().log()).expect("it is there");
    assert_eq!(log, "");
    let mode = fs::metadata(ground.folder().events()).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

/// Nobody has to wait for the command to look, and the command's end is not held up by what it never
/// read.
#[tokio::test]
async fn what_is_never_read_holds_nothing_up() {
    let ground = Ground::new();
    let shell = ground.script(HELD);
    let metadata = started(&shell, &ground).await;
    appeared(&ground.file("up")).await;
    for n in 1..20 {
        soon(shell.inject(&metadata, &injection(n))).await.expect("it is accepted");
    }
    go(&ground);
    assert_eq!(ended(&shell, &metadata).await, COMPLETED);
    assert!(!runs(&keeper(&metadata)));
    assert_eq!(shell.report(&metadata).await.expect("it is readable").consumed, []);
}

/// EXEC-13: a segment has its own inbox, and its token is there before anybody hears of it.
#[tokio::test]
async fn a_resumed_attempt_has_its_new_token_and_an_inbox_of_its_own() {
    let ground = Ground::new();
    let shell = script(
        &ground,
        "abide tool inbox | while read -r id event; do abide tool ack $id; done; true",
    );
    let first = shell.run(&ground.request()).await.expect("it launches");
    soon(shell.inject(&first, &injection(1))).await.expect("it is accepted");
    shell.proceed(&first).await.expect("it proceeds");
    ended(&shell, &first).await;

    let request = RunRequest {
        reason: StartReason::Resume,
        epoch: Epoch(2),
        token: token(2),
        ..ground.request()
    };
    let second = shell.resume(&request).await.expect("it launches");
    let name = parsed(&second)["folder"].as_str().expect("a name").to_owned();
    let folder = Folder::at(ground.place().segments.join(name));
    assert_eq!(folder.read_token().expect("it is there"), token(2));
    not_accepting(soon(shell.inject(&first, &injection(2))).await);
    soon(shell.inject(&second, &injection(1))).await.expect("it is accepted");
    let ids = abide::keeper::inbox::ids(&folder.inbox()).expect("it is readable");
    assert_eq!(ids, [uid(1).to_string()]);
    assert_eq!(shell.report(&second).await.expect("it is readable").consumed, []);
    shell.release(&second);
}
