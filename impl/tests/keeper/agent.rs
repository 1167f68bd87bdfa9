//! The agent executor with a stand-in that speaks the protocol.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use abide::domain::{Epoch, EventUid, RetryHint, StartReason};
use abide::executor::agent::Agent;
use abide::extension::executor::{
    Credentials, Executor, Exit, InjectError, Injection, LaunchError, Metadata, RunRequest,
};
use abide::keeper::folder::{Folder, Progress};
use abide::keeper::identity::Identity;
use abide::keeper::processes::Handle;
use abide::keeper::protocol::{Denial, Reply, Request, read_line, write_line};
use abide::keeper::{VERSION, socket};
use rustix::process::Signal;
use serde_json::Value;
use tokio::io::BufReader;

use crate::support::{
    ABIDE, COMPLETED, Ground, STAND_IN, appeared, ended, event, gone, keeper, reason, runs, soon,
    started, token,
};

/// An agent that does this.
fn agent(ground: &Ground, acts: &[&str]) -> Agent {
    let command = [&["/bin/sh", STAND_IN, ABIDE], acts].concat();
    Agent::new(ground.place(), ground.binding(&command), None)
}

fn hint(exit: &Exit) -> Option<RetryHint> {
    match exit {
        Exit::Failed { retry_after, .. } => *retry_after,
        Exit::Completed { .. } | Exit::HandedOff { .. } | Exit::Lost { .. } => {
            panic!("it did not fail: {exit:?}")
        }
    }
}

/// A further segment of the ground's Work.
fn further(ground: &Ground, epoch: u32, reason: StartReason) -> RunRequest {
    RunRequest { epoch: Epoch(epoch.into()), reason, ..ground.request() }
}

async fn launched(agent: &Agent, request: &RunRequest) -> Metadata {
    let metadata = match request.reason {
        StartReason::Start | StartReason::Next => agent.run(request).await,
        StartReason::Resume => agent.resume(request).await,
    };
    let metadata = metadata.expect("it launches");
    agent.proceed(&metadata).await.expect("it proceeds");
    metadata
}

fn text(ground: &Ground, name: &str) -> String {
    fs::read_to_string(ground.file(name)).expect("it is there").trim().to_owned()
}

#[tokio::test]
async fn an_agent_hears_one_message_answers_and_leaves() {
    let ground = Ground::new();
    let agent = agent(&ground, &["init", "answer"]);
    let metadata = started(&agent, &ground).await;
    assert_eq!(ended(&agent, &metadata).await, COMPLETED);

    let heard: Value = serde_json::from_str(&text(&ground, "heard-start")).expect("it is JSON");
    assert_eq!((&heard["type"], &heard["message"]["role"]), (&"user".into(), &"user".into()));
    let said = heard["message"]["content"][0]["text"].as_str().expect("it is text");
    assert!(said.contains("\"abideseq\":\"7\"") && said.contains("abide tool"), "{said}");
    assert!(!said.contains(&token(1).reveal()));
    let exit = ground.folder().read_exit().expect("it is readable").expect("it is there");
    assert_eq!(exit.inbox, Some(Progress { accepted: 1, written: 1, closed: true }));
}

/// OURS-20
#[tokio::test]
async fn an_agent_hears_nothing_before_its_segment_proceeds() {
    let ground = Ground::new();
    let agent = agent(&ground, &["init", "answer"]);
    let metadata = agent.run(&ground.request()).await.expect("it launches");
    assert!(ground.segment_file("inbox.ndjson").exists());
    assert!(!ground.segment_file("process.json").exists() && !ground.file("heard-start").exists());
    agent.release(&metadata);
    let why = reason(ended(&agent, &metadata).await);
    assert!(why.contains("let go before the start"), "{why}");
}

/// E12
#[tokio::test]
async fn an_error_is_a_failure_in_its_own_words_made_safe() {
    let ground = Ground::new();
    let agent = agent(&ground, &["init", "error"]);
    let metadata = started(&agent, &ground).await;
    let exit = ended(&agent, &metadata).await;
    assert_eq!(hint(&exit), None);
    let why = reason(exit);
    assert_eq!(why, "the agent answered with an error: the build \\u{1b}[31mbroke");
}

/// RETRY-13
#[tokio::test]
async fn a_reached_limit_is_a_failure_with_a_hint() {
    /// The first second of the year 2100.
    const RESET: i64 = 4_102_444_800;
    let ground = Ground::new();
    let limited = agent(&ground, &["init", &format!("limit:{RESET}")]);
    let now = || {
        let since = std::time::UNIX_EPOCH.elapsed().expect("it is later");
        i64::try_from(since.as_millis()).expect("it is not that late")
    };
    let before = now();
    let metadata = started(&limited, &ground).await;
    let exit = ended(&limited, &metadata).await;
    let due = RESET * 1000 + 120_000;
    assert!(
        matches!(hint(&exit), Some(RetryHint::Delay(left)) if left >= due - now() && left <= due - before),
        "{exit:?}"
    );
    assert!(reason(exit).contains("You have hit your limit"));

    let ground = Ground::new();
    let limited = agent(&ground, &["init", "limit"]);
    let metadata = started(&limited, &ground).await;
    let exit = ended(&limited, &metadata).await;
    assert_eq!(hint(&exit), Some(RetryHint::Delay(30 * 60 * 1000)));
}

#[tokio::test]
async fn an_agent_that_ends_without_an_answer_has_failed() {
    let ground = Ground::new();
    let crashing = agent(&ground, &["init", "complain", "crash:3"]);
    let metadata = started(&crashing, &ground).await;
    let why = reason(ended(&crashing, &metadata).await);
    assert_eq!(why, "the agent ended without an answer: exit status 3: it hurts");

    // Not even by a good exit.
    let ground = Ground::new();
    let silent = agent(&ground, &["init", "crash:0"]);
    let metadata = started(&silent, &ground).await;
    let why = reason(ended(&silent, &metadata).await);
    assert_eq!(why, "the agent ended without an answer: exit status 0");
}

/// What it did is done, however it leaves.
#[tokio::test]
async fn an_agent_that_does_not_leave_after_its_answer_is_stopped_and_has_answered() {
    let ground = Ground::new();
    let agent = agent(&ground, &["init", "answer", "deaf"]);
    let metadata = started(&agent, &ground).await;
    assert_eq!(ended(&agent, &metadata).await, COMPLETED);
    assert!(!runs(&ground.leader()));
}

#[tokio::test]
async fn output_that_is_no_message_is_got_over_and_counted() {
    let ground = Ground::new();
    let noisy = agent(&ground, &["garbage", "init", "giant", "garbage", "answer"]);
    let metadata = started(&noisy, &ground).await;
    assert_eq!(ended(&noisy, &metadata).await, COMPLETED);

    let ground = Ground::new();
    let noisy = agent(&ground, &["garbage", "giant", "crash:1"]);
    let metadata = started(&noisy, &ground).await;
    let why = reason(ended(&noisy, &metadata).await);
    assert!(why.ends_with("exit status 1 (5 lines of its output were not understood)"), "{why}");
}

/// OURS-19 ADOPT-14 ADOPT-15, L14
#[test]
fn a_turn_outlives_its_daemon_and_its_answer_is_had_by_the_next() {
    let ground = Ground::new();
    let first = tokio::runtime::Runtime::new().expect("a runtime");
    let metadata = first.block_on(async {
        let agent = agent(&ground, &["init", "up", "until:go", "answer"]);
        let metadata = started(&agent, &ground).await;
        let up = ground.file("up");
        tokio::select! {
            exit = agent.observe(&metadata) => panic!("it is not over: {exit:?}"),
            _ = appeared(&up) => {}
        }
        metadata
    });
    drop(first);

    let second = tokio::runtime::Runtime::new().expect("a runtime");
    second.block_on(async {
        let next = agent(&ground, &["crash:9"]);
        let credentials = Credentials { epoch: Epoch(2), token: token(2) };
        soon(next.recover(&metadata, &credentials)).await.expect("it is adopted");
        next.proceed(&metadata).await.expect("it runs already");
        fs::write(ground.file("go"), "").expect("it is written");
        assert_eq!(ended(&next, &metadata).await, COMPLETED);
    });
    // And by one that comes when all is over, as often as it asks.
    let third = tokio::runtime::Runtime::new().expect("a runtime");
    third.block_on(async {
        let late = agent(&ground, &[]);
        for _ in 0..2 {
            assert_eq!(ended(&late, &metadata).await, COMPLETED);
        }
    });
}

#[tokio::test]
async fn a_declared_result_wins_over_the_answer_but_not_over_a_crash() {
    let ground = Ground::new();
    let declaring = agent(&ground, &["init", "declare:handoff --status waits", "error"]);
    let metadata = started(&declaring, &ground).await;
    let declared = Exit::HandedOff { status: Some("waits".into()), continuation: None };
    assert_eq!(ended(&declaring, &metadata).await, declared);

    let ground = Ground::new();
    let declaring =
        agent(&ground, &["init", "declare:failed --retry-after 90s", "limit:4102444800"]);
    let metadata = started(&declaring, &ground).await;
    let exit = ended(&declaring, &metadata).await;
    assert_eq!(hint(&exit), Some(RetryHint::Delay(90_000)), "its own hint is the nearer one");

    let ground = Ground::new();
    let declaring = agent(&ground, &["init", "declare:completed", "crash:2"]);
    let metadata = started(&declaring, &ground).await;
    let why = reason(ended(&declaring, &metadata).await);
    assert!(why.contains("exit status 2"), "{why}");
}

#[tokio::test]
async fn a_session_goes_on_in_the_next_segment_and_a_new_work_has_a_new_one() {
    let ground = Ground::new();
    let agent = agent(&ground, &["init", "answer"]);
    let metadata = started(&agent, &ground).await;
    assert_eq!(ended(&agent, &metadata).await, COMPLETED);
    let first = text(&ground, "session-start");
    for (epoch, reason, name) in
        [(2, StartReason::Resume, "session-resume"), (3, StartReason::Next, "session-next")]
    {
        let metadata = launched(&agent, &further(&ground, epoch, reason)).await;
        assert_eq!(ended(&agent, &metadata).await, COMPLETED);
        assert_eq!(text(&ground, name), first);
    }

    fs::remove_file(ground.file(".abide-session.json")).expect("it was kept there");
    let metadata = launched(&agent, &further(&ground, 4, StartReason::Next)).await;
    assert_eq!(ended(&agent, &metadata).await, COMPLETED);
    assert_ne!(text(&ground, "session-next"), first, "a missing one is a new one");
}

/// The agent works where its session is kept, and what it puts there stops nobody.
#[tokio::test]
async fn a_session_that_is_no_file_is_none() {
    let ground = Ground::new();
    fs::create_dir_all(ground.work()).expect("a folder");
    let made =
        std::process::Command::new("mkfifo").arg(ground.file(".abide-session.json")).status();
    assert!(made.expect("it runs").success());
    let agent = agent(&ground, &["init", "answer"]);
    let metadata = soon(launched(&agent, &further(&ground, 1, StartReason::Next))).await;
    assert_eq!(ended(&agent, &metadata).await, COMPLETED);
}

#[tokio::test]
async fn an_agent_that_does_not_resume_is_never_told_to() {
    let ground = Ground::new();
    let command = ["/bin/sh", STAND_IN, ABIDE, "init", "answer"];
    let mut binding = ground.binding(&command);
    binding.resumes = false;
    let agent = Agent::new(ground.place(), binding, None);
    let metadata = started(&agent, &ground).await;
    assert_eq!(ended(&agent, &metadata).await, COMPLETED);
    let metadata = launched(&agent, &further(&ground, 2, StartReason::Next)).await;
    assert_eq!(ended(&agent, &metadata).await, COMPLETED);
    assert_ne!(text(&ground, "session-next"), text(&ground, "session-start"));
    let refused = agent.resume(&further(&ground, 3, StartReason::Resume)).await;
    assert!(matches!(refused, Err(LaunchError::CannotResume)));
}

/// One failure may be of any cause; what is not the session's own, such as a kill, is never held
/// against it.
#[tokio::test]
async fn a_session_that_the_agent_does_not_know_fails_twice_and_is_forgotten() {
    let ground = Ground::new();
    let knowing = agent(&ground, &["init", "answer"]);
    let metadata = started(&knowing, &ground).await;
    assert_eq!(ended(&knowing, &metadata).await, COMPLETED);
    let first = text(&ground, "session-start");

    let killed = agent(&ground, &["up", "deaf"]);
    for epoch in [2, 3] {
        let metadata = launched(&killed, &further(&ground, epoch, StartReason::Next)).await;
        appeared(&ground.file("up")).await;
        fs::remove_file(ground.file("up")).expect("it is there");
        soon(killed.stop(&metadata, Duration::from_secs(30))).await.expect("it stops");
        reason(ended(&killed, &metadata).await);
        assert_eq!(text(&ground, "session-next"), first);
    }

    let unknowing = agent(&ground, &["unknown", "init", "answer"]);
    for epoch in [4, 5] {
        let metadata = launched(&unknowing, &further(&ground, epoch, StartReason::Next)).await;
        for _ in 0..2 {
            let why = reason(ended(&unknowing, &metadata).await);
            assert!(why.contains("No conversation found"), "{why}");
        }
        assert_eq!(text(&ground, "session-next"), first);
    }
    let metadata = launched(&unknowing, &further(&ground, 6, StartReason::Next)).await;
    assert_eq!(ended(&unknowing, &metadata).await, COMPLETED);
    assert_ne!(text(&ground, "session-next"), first);
}

#[tokio::test]
async fn a_stopped_turn_leaves_its_session() {
    let ground = Ground::new();
    let agent = agent(&ground, &["init", "up", "deaf"]);
    let metadata = started(&agent, &ground).await;
    appeared(&ground.file("up")).await;
    let stopped = soon(agent.stop(&metadata, Duration::from_secs(30))).await.expect("it stops");
    assert!(stopped.signalled && !runs(&ground.leader()));
    let kept: Value = serde_json::from_str(&text(&ground, ".abide-session.json")).expect("JSON");
    assert_eq!(kept["session"], text(&ground, "session-start"));
}

#[tokio::test]
async fn the_operators_words_come_first_and_a_missing_file_of_them_starts_nothing() {
    let ground = Ground::new();
    let path = ground.place().segments.with_extension("md");
    let with = |path: PathBuf| {
        let command = ["/bin/sh", STAND_IN, ABIDE, "init", "answer"];
        Agent::new(ground.place(), ground.binding(&command), Some(path))
    };
    let refused = with(path.clone()).run(&ground.request()).await.expect_err("it is not there");
    assert!(matches!(&refused, LaunchError::Prepare { path: named, .. } if *named == path));
    assert!(!ground.place().segments.exists());

    fs::write(&path, "Review what is new.").expect("it is written");
    let agent = with(path);
    let metadata = started(&agent, &ground).await;
    assert_eq!(ended(&agent, &metadata).await, COMPLETED);
    let heard: Value = serde_json::from_str(&text(&ground, "heard-start")).expect("it is JSON");
    let said = heard["message"]["content"][0]["text"].as_str().expect("it is text");
    assert!(said.starts_with("Review what is new.\n\n"), "{said}");
}

fn uid(n: u128) -> EventUid {
    EventUid::from_uuid(uuid::Uuid::from_u128(n))
}

/// Offers an Event, which is accepted.
async fn injected(agent: &Agent, metadata: &Metadata, n: u128) {
    let injection = injection(n);
    soon(agent.inject(metadata, &injection)).await.expect("it is accepted");
}

fn injection(n: u128) -> Injection {
    Injection { event: uid(n), body: event(40 + u32::try_from(n).expect("few")), repeated: false }
}

async fn consumed(agent: &Agent, metadata: &Metadata) -> Vec<EventUid> {
    agent.report(metadata).await.expect("it is readable").consumed
}

async fn used(agent: &Agent, metadata: &Metadata) -> Vec<(String, String)> {
    let report = agent.report(metadata).await.expect("it is readable");
    report.usage.into_iter().map(|usage| (usage.unit, usage.amount)).collect()
}

fn amounts(expected: [(&str, &str); 4]) -> Vec<(String, String)> {
    expected.map(|(unit, amount)| (unit.to_owned(), amount.to_owned())).into()
}

/// EXEC-06 EXEC-12
#[tokio::test]
async fn an_event_that_comes_while_an_agent_works_is_a_message_and_its_echo_the_proof() {
    let ground = Ground::new();
    let agent = agent(&ground, &["init", "listen", "until:go", "answer"]);
    let metadata = started(&agent, &ground).await;
    injected(&agent, &metadata, 1).await;
    appeared(&ground.file("taken")).await;
    assert_eq!(consumed(&agent, &metadata).await, [uid(1)]);
    assert_eq!(used(&agent, &metadata).await, [], "it has not answered");
    let said = fs::read_to_string(ground.segment_file("stdout.log")).expect("it is there");
    assert!(said.contains("Something has happened") && said.contains("e41"), "{said}");
    fs::write(ground.file("go"), "").expect("it is written");
    assert_eq!(ended(&agent, &metadata).await, COMPLETED);
    assert_eq!(consumed(&agent, &metadata).await, [uid(1)]);
    let turn = [
        ("input_tokens", "3"),
        ("output_tokens", "6"),
        ("cache_read_input_tokens", "10"),
        ("usd", "0.01"),
    ];
    assert_eq!(used(&agent, &metadata).await, amounts(turn));
}

/// EXEC-09: also where it does not leave, and nobody watches it.
#[tokio::test]
async fn nothing_is_accepted_once_an_agent_has_answered() {
    let ground = Ground::new();
    let agent = agent(&ground, &["init", "up", "until:go", "answer", "deaf"]);
    let metadata = started(&agent, &ground).await;
    appeared(&ground.file("up")).await;
    injected(&agent, &metadata, 1).await;
    fs::write(ground.file("go"), "").expect("it is written");
    appeared(&ground.file("answered")).await;
    let late = soon(agent.inject(&metadata, &injection(2))).await;
    assert!(matches!(late, Err(InjectError::NotAccepting { .. })), "{late:?}");
    // What was accepted stays accepted, and is no proof.
    injected(&agent, &metadata, 1).await;
    assert_eq!(consumed(&agent, &metadata).await, []);
    assert!(runs(&ground.leader()));
    assert_eq!(ended(&agent, &metadata).await, COMPLETED);
    assert_eq!(consumed(&agent, &metadata).await, []);
}

/// EXEC-06: it has as long for what it was given as for what it began with.
#[tokio::test]
async fn what_was_accepted_before_the_answer_may_be_a_further_turn_and_its_answer_counts() {
    let ground = Ground::new();
    let acts = ["slow:further", "init", "up", "until:go", "answer", "listen"];
    let agent = agent(&ground, &acts);
    let metadata = started(&agent, &ground).await;
    appeared(&ground.file("up")).await;
    injected(&agent, &metadata, 1).await;
    fs::write(ground.file("go"), "").expect("it is written");
    let further = async {
        appeared(&ground.file("taken")).await;
        // Five times what it has to leave once it has answered.
        tokio::time::sleep(Duration::from_secs(1)).await;
        fs::write(ground.file("further"), "").expect("it is written");
    };
    let (exit, ()) = tokio::join!(ended(&agent, &metadata), further);
    assert_eq!(exit, COMPLETED);
    assert_eq!(consumed(&agent, &metadata).await, [uid(1)]);
    let turns = [
        ("input_tokens", "6"),
        ("output_tokens", "12"),
        ("cache_read_input_tokens", "20"),
        ("usd", "0.025"),
    ];
    assert_eq!(used(&agent, &metadata).await, amounts(turns));
}

/// INJECT-29: what it took in is not taken back by its failure.
#[tokio::test]
async fn an_agent_that_dies_in_a_further_turn_has_failed_and_its_echo_stands() {
    let ground = Ground::new();
    let agent = agent(&ground, &["dies", "init", "up", "until:go", "answer", "listen"]);
    let metadata = started(&agent, &ground).await;
    appeared(&ground.file("up")).await;
    injected(&agent, &metadata, 1).await;
    fs::write(ground.file("go"), "").expect("it is written");
    let why = reason(ended(&agent, &metadata).await);
    assert_eq!(why, "the agent ended without an answer: exit status 7");
    assert_eq!(consumed(&agent, &metadata).await, [uid(1)]);
}

/// EXEC-05
#[tokio::test]
async fn an_echo_of_what_no_inbox_holds_proves_nothing() {
    let ground = Ground::new();
    let forged = format!("forge:{}", uid(9).uuid().hyphenated());
    let agent = agent(&ground, &[&forged, "init", "listen", "until:go", "answer"]);
    let metadata = started(&agent, &ground).await;
    injected(&agent, &metadata, 1).await;
    appeared(&ground.file("taken")).await;
    fs::write(ground.file("go"), "").expect("it is written");
    assert_eq!(ended(&agent, &metadata).await, COMPLETED);
    assert_eq!(consumed(&agent, &metadata).await, [uid(1)]);
}

/// EXEC-11: the proof needs neither the daemon that sent it nor the keeper that took it.
#[tokio::test]
async fn an_echo_outlives_daemon_and_keeper() {
    let ground = Ground::new();
    let first = agent(&ground, &["init", "listen", "until:go", "answer"]);
    let metadata = started(&first, &ground).await;
    injected(&first, &metadata, 1).await;
    appeared(&ground.file("taken")).await;
    drop(first);
    let keeper = keeper(&metadata);
    let handle = Handle::of(&keeper).expect("a handle").expect("it runs");
    handle.signal(Signal::KILL).expect("it is ours");
    gone(&keeper).await;
    let next = agent(&ground, &[]);
    assert_eq!(consumed(&next, &metadata).await, [uid(1)]);
    assert!(matches!(ended(&next, &metadata).await, Exit::Lost { .. }));
    soon(next.stop(&metadata, Duration::from_secs(30))).await.expect("it stops");
    assert_eq!(consumed(&next, &metadata).await, [uid(1)]);
}

/// Output of any length is read once: a look that was given up is gone on with, by whoever looks next.
#[tokio::test]
async fn output_of_any_length_is_read_on_and_not_from_its_beginning() {
    let ground = Ground::new();
    let agent = agent(&ground, &[]);
    let metadata = agent.run(&ground.request()).await.expect("it launches");
    injected(&agent, &metadata, 1).await;
    let echo = serde_json::json!({"type": "user", "uuid": uid(1).uuid(), "isReplay": true});
    let result = serde_json::json!({"type": "result", "subtype": "success", "total_cost_usd": 1});
    let said = format!("\n{echo}\n{result}\n");
    let path = ground.segment_file("stdout.log");
    let file = fs::OpenOptions::new().create(true).append(true).open(&path).expect("a file");
    // A hole in it takes no room.
    file.set_len(256 << 20).expect("it grows");
    (&file).write_all(said.as_bytes()).expect("it is written");
    let report = soon(async {
        loop {
            let look = tokio::time::timeout(Duration::from_millis(20), agent.report(&metadata));
            if let Ok(report) = look.await {
                return report.expect("it is readable");
            }
        }
    });
    let report = report.await;
    assert_eq!(report.consumed, [uid(1)]);
    let used: Vec<_> = report.usage.iter().map(|usage| usage.amount.as_str()).collect();
    assert_eq!(used, ["1"]);
    // The same look serves whoever offers, and whoever waits.
    let late = soon(agent.inject(&metadata, &injection(2))).await;
    assert!(matches!(late, Err(InjectError::NotAccepting { .. })), "{late:?}");
    agent.release(&metadata);
}

/// EXEC-10: whoever does not hold a segment changes nothing about it.
#[tokio::test]
async fn an_instance_does_not_close_the_input_of_what_it_does_not_hold() {
    let ground = Ground::new();
    let first = agent(&ground, &["init", "answer", "deaf"]);
    let metadata = started(&first, &ground).await;
    appeared(&ground.file("answered")).await;
    let other = agent(&ground, &[]);
    let why = soon(other.inject(&metadata, &injection(1))).await;
    assert!(matches!(why, Err(InjectError::NotAccepting { .. })), "{why:?}");
    let inbox = fs::read_to_string(ground.segment_file("inbox.ndjson")).expect("it is there");
    assert!(!inbox.contains(r#"{"entry":"close"}"#), "{inbox}");
    soon(first.stop(&metadata, Duration::ZERO)).await.expect("it stops");
}

/// EXEC-09: what has answered is given nothing, also where its input cannot be closed.
#[tokio::test]
async fn nothing_is_delivered_after_an_answer_where_the_input_cannot_be_closed() {
    let ground = Ground::new();
    let segments = ground.place().segments;
    fs::create_dir(&segments).expect("a folder");
    let folder = Folder::create(segments.join("att-1")).expect("a new folder");
    let secret = token(7);
    folder.write_secret(&secret).expect("it is written");
    let result = r#"{"type":"result","subtype":"success"}"#;
    fs::write(folder.stdout(), format!("{result}\n")).expect("it is written");
    // This process in place of a keeper whose disk is full for a moment.
    let me = Identity::current().expect("/proc is there");
    let listener = socket::listen(&folder.socket()).expect("it listens");
    let (keeper, heard) = (me.clone(), Arc::new(Mutex::new(Vec::new())));
    let log = Arc::clone(&heard);
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.expect("a connection");
            let mut stream = BufReader::new(stream);
            while let Ok(Some(request)) = read_line::<Request>(&mut stream).await {
                log.lock().expect("no test panics inside").push(format!("{request:?}"));
                let reply = match request {
                    Request::Hello { .. } => {
                        Reply::Hello { version: VERSION, keeper: keeper.clone() }
                    }
                    Request::CloseInput => {
                        Reply::Refused { code: Denial::Failed, detail: "full".into() }
                    }
                    Request::Proceed
                    | Request::Status
                    | Request::Credentials { .. }
                    | Request::Stop { .. }
                    | Request::Input { .. }
                    | Request::Deliver { .. }
                    | Request::Interrupt => Reply::Done,
                };
                write_line(stream.get_mut(), &reply).await.expect("it is sent");
            }
        }
    });
    let metadata = serde_json::json!({
        "version": 1, "folder": "att-1", "keeper": me, "secret": secret.hash(),
    });
    let metadata = Metadata(metadata.to_string());
    let agent = agent(&ground, &[]);
    let credentials = Credentials { epoch: Epoch(2), token: token(2) };
    soon(agent.recover(&metadata, &credentials)).await.expect("it is adopted");
    let answer = soon(agent.inject(&metadata, &injection(1))).await;
    assert!(matches!(answer, Err(InjectError::Ambiguous { .. })), "{answer:?}");
    let heard = heard.lock().expect("no test panics inside").concat();
    assert!(heard.contains("CloseInput") && !heard.contains("Deliver"), "{heard}");
}
