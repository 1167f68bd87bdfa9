//! Stopping: the whole tree, seen to be gone before anybody says so.

use std::time::Duration;

use abide::extension::executor::Executor;
use abide::keeper::folder::Ending;
use abide::keeper::processes::Handle;
use rustix::process::Signal;

use crate::support::{
    COMPLETED, Ground, appeared, ended, gone, keeper, process_in, reason, runs, soon, started,
};

#[tokio::test]
async fn a_command_that_listens_ends_by_being_asked() {
    let ground = Ground::new();
    let shell = ground.script("trap 'exit 7' TERM; echo up > up; while :; do sleep 0.02; done");
    let metadata = started(&shell, &ground).await;
    appeared(&ground.file("up")).await;
    let stopped = soon(shell.stop(&metadata, Duration::from_secs(30))).await.expect("it stops");
    assert!(stopped.signalled && !stopped.forced);
    assert!(reason(ended(&shell, &metadata).await).starts_with("exit status 7"));
}

/// A grandchild that does not listen, and one that left the group and the session.
#[tokio::test]
async fn a_tree_that_does_not_listen_is_forced_down_to_its_last_process() {
    let ground = Ground::new();
    let deaf = "(trap '' TERM; sh -c 'echo $$ > deaf; while :; do sleep 0.02; done') &";
    let escaped =
        "setsid sh -c 'trap \"\" TERM; echo $$ > escaped; while :; do sleep 0.02; done' &";
    let shell = ground.script(&format!("{deaf} {escaped} wait"));
    let metadata = started(&shell, &ground).await;
    let deaf = process_in(&ground.file("deaf")).await;
    let escaped = process_in(&ground.file("escaped")).await;
    let leader = ground.leader();

    let stopped = soon(shell.stop(&metadata, Duration::from_millis(100))).await.expect("it stops");
    assert!(stopped.signalled && stopped.forced);
    for process in [&deaf, &escaped, &leader, &keeper(&metadata)] {
        assert!(!runs(process), "{process:?}");
    }
    assert_eq!(reason(ended(&shell, &metadata).await), "killed by signal 15");
}

/// I12: the wrapper is not what works, and what works may have left it.
#[tokio::test]
async fn a_wrapper_goes_with_what_it_started_and_with_what_left_it_twice() {
    let ground = Ground::new();
    let waits = "sleep 1000 & echo $! > child";
    let left = "(setsid sh -c 'sleep 1000 & echo $! > left' &)";
    let shell = ground.script(&format!("{waits}; {left}; wait"));
    let metadata = started(&shell, &ground).await;
    let child = process_in(&ground.file("child")).await;
    let left = process_in(&ground.file("left")).await;
    let leader = ground.leader();
    let stopped = soon(shell.stop(&metadata, Duration::from_secs(30))).await.expect("it stops");
    assert!(stopped.signalled && !stopped.forced);
    for process in [&child, &left, &leader, &keeper(&metadata)] {
        assert!(!runs(process), "{process:?}");
    }
}

/// POLICY-22
#[tokio::test]
async fn an_exit_is_told_only_when_nothing_of_the_command_is_left() {
    let ground = Ground::new();
    let shell = ground.script("(trap '' TERM; exec sleep 1000) & echo $! > left; exit 0");
    let metadata = started(&shell, &ground).await;
    let exit = ended(&shell, &metadata).await;
    assert_eq!(exit, COMPLETED);
    let left: i32 = appeared(&ground.file("left")).await.parse().expect("an id");
    let stat = abide::keeper::identity::Stat::read(left).expect("/proc is there");
    assert!(stat.is_none(), "it is gone and reaped: {stat:?}");
    let exit = ground.folder().read_exit().expect("it is readable").expect("it is there");
    assert_eq!((exit.ending, exit.forced), (Ending::Exited(0), true));
}

#[tokio::test]
async fn a_second_stop_can_shorten_the_grace_of_the_first() {
    let ground = Ground::new();
    let shell = ground.script("trap '' TERM; echo up > up; while :; do sleep 0.02; done");
    let metadata = started(&shell, &ground).await;
    appeared(&ground.file("up")).await;
    let patient = shell.stop(&metadata, Duration::from_secs(100_000));
    let impatient = shell.stop(&metadata, Duration::ZERO);
    let (patient, impatient) = soon(async { tokio::join!(patient, impatient) }).await;
    // One that comes after the end finds nothing left to stop.
    for stopped in [patient.expect("it stops"), impatient.expect("it stops")] {
        assert_eq!(stopped.signalled, stopped.forced);
    }
    assert_eq!(reason(ended(&shell, &metadata).await), "killed by signal 9");
}

#[tokio::test]
async fn a_segment_stopped_before_it_proceeds_has_started_nothing() {
    let ground = Ground::new();
    let shell = ground.script("echo x > mark");
    let metadata = shell.run(&ground.request()).await.expect("it launches");
    soon(shell.stop(&metadata, Duration::ZERO)).await.expect("it stops");
    assert!(!runs(&keeper(&metadata)) && !ground.file("mark").exists());
    shell.proceed(&metadata).await.expect("there is nothing left to start");
    assert!(reason(ended(&shell, &metadata).await).contains("stopped before"));
}

/// A machine that shuts down asks every process, keepers too.
#[tokio::test]
async fn a_keeper_that_is_asked_to_end_takes_its_command_along() {
    let ground = Ground::new();
    let shell = ground.script("echo up > up; sleep 1000");
    let metadata = started(&shell, &ground).await;
    appeared(&ground.file("up")).await;
    let keeper = keeper(&metadata);
    let handle = Handle::of(&keeper).expect("a handle").expect("it runs");
    handle.signal(Signal::TERM).expect("it is ours");
    gone(&keeper).await;
    assert!(!runs(&ground.leader()));
    assert_eq!(reason(ended(&shell, &metadata).await), "killed by signal 15");
}

/// A keeper that does not answer may not keep its process for ever.
#[tokio::test]
async fn a_keeper_whose_socket_is_gone_is_ended_with_what_it_held() {
    let ground = Ground::new();
    let shell = ground.script("echo up > up; sleep 1000");
    let metadata = started(&shell, &ground).await;
    appeared(&ground.file("up")).await;
    std::fs::remove_file(ground.folder().socket()).expect("it was there");
    let stopped = soon(shell.stop(&metadata, Duration::from_secs(30))).await.expect("it stops");
    assert!(stopped.signalled && !runs(&ground.leader()) && !runs(&keeper(&metadata)));
}
