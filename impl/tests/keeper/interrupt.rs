//! Interrupt: told, remembered, and only then stopped.

use std::fs;
use std::time::Duration;

use abide::domain::Epoch;
use abide::extension::executor::{Credentials, Executor, Metadata};
use abide::host::Patience;
use abide::keeper::client::{Controller, KeeperRef};
use abide::keeper::processes::Handle;
use rustix::process::Signal;

use crate::support::{
    COMPLETED, Ground, appeared, ended, gone, keeper, process_in, runs, soon, started, token,
};

async fn controller(ground: &Ground, metadata: &Metadata) -> Controller {
    let keeper: KeeperRef = serde_json::from_str(&metadata.0).expect("it holds one");
    Controller::open(&ground.folder(), &keeper).await.expect("it is ours")
}

/// POLICY-19 POLICY-22, I12: the wrapper is not what works.
#[tokio::test]
async fn an_interrupted_group_runs_until_it_is_stopped_and_then_all_of_it_is_gone() {
    let ground = Ground::new();
    let shell = ground.script("sleep 1000 & echo $! > child; wait");
    let metadata = started(&shell, &ground).await;
    let child = process_in(&ground.file("child")).await;
    let leader = ground.leader();
    for _ in 0..2 {
        soon(shell.interrupt(&metadata)).await.expect("it is told");
    }
    // Nothing is fenced yet: what it does is still its own.
    assert!(runs(&child) && runs(&leader));
    assert!(controller(&ground, &metadata).await.interrupted().await.expect("an answer"));

    let stopped = soon(shell.stop(&metadata, Duration::from_secs(30))).await.expect("it stops");
    assert!(stopped.signalled && !stopped.forced);
    for process in [&child, &leader, &keeper(&metadata)] {
        assert!(!runs(process), "{process:?}");
    }
    let late = soon(shell.interrupt(&metadata)).await.expect_err("nothing is left");
    assert!(late.to_string().contains("keeper"), "{late}");
}

/// POLICY-20: the next host finds that it was told.
#[tokio::test]
async fn an_interrupt_is_remembered_over_a_recovery_and_the_loss_of_the_keeper() {
    let ground = Ground::new();
    let shell = ground.script("echo up > up; while [ ! -e go ]; do sleep 0.02; done");
    let metadata = started(&shell, &ground).await;
    appeared(&ground.file("up")).await;
    assert!(!controller(&ground, &metadata).await.interrupted().await.expect("an answer"));
    soon(shell.interrupt(&metadata)).await.expect("it is told");
    drop(shell);
    let next = ground.script("exit 9");
    let credentials = Credentials { epoch: Epoch(2), token: token(2) };
    soon(next.recover(&metadata, &credentials)).await.expect("it is adopted");
    assert!(controller(&ground, &metadata).await.interrupted().await.expect("an answer"));
    soon(next.interrupt(&metadata)).await.expect("it is told again");

    let keeper = keeper(&metadata);
    let handle = Handle::of(&keeper).expect("a handle").expect("it runs");
    handle.signal(Signal::KILL).expect("it is ours");
    gone(&keeper).await;
    assert!(ground.folder().read_interrupt().expect("readable").is_some());
    // Nobody is there to be told, though the process may run.
    soon(next.interrupt(&metadata)).await.expect_err("nobody is told");
    soon(next.stop(&metadata, Duration::ZERO)).await.expect("it stops");
    assert!(!runs(&ground.leader()));
}

/// A result that is there before the fence is a result (decision 0017).
#[tokio::test]
async fn a_command_that_ends_after_an_interrupt_has_its_result() {
    let ground = Ground::new();
    let shell = ground.script("echo up > up; while [ ! -e go ]; do sleep 0.02; done");
    let metadata = started(&shell, &ground).await;
    appeared(&ground.file("up")).await;
    soon(shell.interrupt(&metadata)).await.expect("it is told");
    fs::write(ground.file("go"), "").expect("it is written");
    assert_eq!(ended(&shell, &metadata).await, COMPLETED);
    let late = soon(shell.interrupt(&metadata)).await;
    late.expect_err("nothing is left that could be stopped");
}

/// The fence needs no more than that the process can be stopped: one that keeps its keeper from being
/// told is interrupted all the same (decision 0017).
#[tokio::test]
async fn a_keeper_that_cannot_be_told_keeps_nobody_from_interrupting() {
    let ground = Ground::new();
    let shell = ground.script("echo up > up; while [ ! -e go ]; do sleep 0.02; done");
    let metadata = started(&shell, &ground).await;
    appeared(&ground.file("up")).await;
    let leader = ground.leader();
    fs::create_dir(ground.segment_file("interrupt.json")).expect("a folder");
    soon(shell.interrupt(&metadata)).await.expect("it can be stopped");
    fs::remove_file(ground.folder().socket()).expect("it is there");
    soon(shell.interrupt(&metadata)).await.expect("it can be stopped");
    assert!(runs(&leader));
    soon(shell.stop(&metadata, Duration::ZERO)).await.expect("it stops");
    assert!(!runs(&leader) && !runs(&keeper(&metadata)));
    soon(shell.interrupt(&metadata)).await.expect_err("nothing is left");
}

/// And soon enough for a host, which waits for ten seconds.
#[tokio::test]
async fn a_keeper_that_stands_still_keeps_nobody_from_interrupting() {
    let ground = Ground::new();
    let shell = ground.script("echo up > up; while [ ! -e go ]; do sleep 0.02; done");
    let metadata = started(&shell, &ground).await;
    appeared(&ground.file("up")).await;
    let handle = Handle::of(&keeper(&metadata)).expect("a handle").expect("it runs");
    handle.signal(Signal::STOP).expect("it is ours");
    let told = tokio::time::timeout(Patience::default().control, shell.interrupt(&metadata)).await;
    handle.signal(Signal::CONT).expect("it is ours");
    told.expect("soon enough").expect("it can be stopped");
    soon(shell.stop(&metadata, Duration::ZERO)).await.expect("it stops");
    assert!(!runs(&ground.leader()));
}
