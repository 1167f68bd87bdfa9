//! The agent executor with a stand-in that speaks the protocol.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use abide::domain::{Epoch, RetryHint, StartReason};
use abide::executor::agent::Agent;
use abide::extension::executor::{Credentials, Executor, Exit, LaunchError, Metadata, RunRequest};
use abide::keeper::folder::Progress;
use serde_json::Value;

use crate::support::{
    ABIDE, COMPLETED, Ground, STAND_IN, appeared, ended, reason, runs, soon, started, token,
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
