//! The inbox: durable lines for a command's standard input.

use std::fs;
use std::time::Duration;

use abide::keeper::client::ClientError;
use abide::keeper::folder::{Ending, Progress};
use abide::keeper::inbox::{Inbox, LINE_MAX};
use abide::keeper::processes::Handle;
use abide::keeper::protocol::{Denial, Launch};
use rustix::process::Signal;

use crate::support::{Raw, appeared, gone, soon};

/// A keeper whose command reads its input.
async fn reading(script: &str) -> Raw {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let launch = Launch {
        version: Launch::version(true, false),
        command: ["/bin/sh", "-c", script].iter().map(Into::into).collect(),
        dir: folder.path().to_owned(),
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        grace_ms: 200,
        input: true,
        events: false,
    };
    let line = serde_json::to_string(&launch).expect("it is plain data");
    Raw::launch(&line).await.in_folder(folder)
}

fn code(error: &ClientError) -> Denial {
    match error {
        ClientError::Refused { code, .. } => *code,
        ClientError::Io(_) | ClientError::Older { .. } | ClientError::Unverified(_) => {
            panic!("not refused: {error}")
        }
    }
}

/// OURS-19
#[tokio::test]
async fn acknowledged_lines_are_written_in_order_whoever_holds_the_other_end() {
    let script = "cat > got.new; mv got.new got; while [ ! -e go ]; do sleep 0.02; done";
    let raw = reading(script).await;
    let mut first = raw.controller().await;
    first.input("a", "one").await.expect("it is kept");
    first.input("b", "two \u{e9}\0\"").await.expect("it is kept");
    first.proceed().await.expect("it proceeds");
    drop(first);

    // The next daemon does not know what was heard, and says it again.
    let mut second = raw.controller().await;
    second.input("b", "two \u{e9}\0\"").await.expect("it is kept already");
    second.input("c", "three").await.expect("it is kept");
    assert_eq!(
        code(&second.input("c", "other").await.expect_err("it has that name")),
        Denial::OtherLine
    );
    second.close_input().await.expect("it is closed");
    // Closed or not, what was kept is kept, and the conversation goes on.
    second.close_input().await.expect("it is closed already");
    second.input("a", "one").await.expect("it is kept already");
    let late = second.input("d", "late").await.expect_err("it is closed");
    assert_eq!(code(&late), Denial::Invalid);

    fs::write(raw.file("go"), "").expect("it is written");
    gone(&raw.keeper()).await;
    let got = fs::read_to_string(raw.file("got")).expect("it read to the end");
    assert_eq!(got, "one\ntwo \u{e9}\0\"\nthree\n");
    let exit = raw.folder.read_exit().expect("readable").expect("it is there");
    assert_eq!(exit.ending, Ending::Exited(0));
    assert_eq!(exit.inbox, Some(Progress { accepted: 3, written: 3, closed: true }));
}

#[tokio::test]
async fn input_stays_open_until_it_is_closed() {
    let raw =
        reading("read one; echo \"$one\" > one.new; mv one.new one; read two || echo end > two")
            .await;
    let mut controller = raw.controller().await;
    controller.proceed().await.expect("it proceeds");
    controller.input("a", "first").await.expect("it is kept");
    assert_eq!(appeared(&raw.file("one")).await, "first");
    assert!(!raw.file("two").exists());
    controller.close_input().await.expect("it is closed");
    assert_eq!(appeared(&raw.file("two")).await, "end");
    gone(&raw.keeper()).await;
}

/// OURS-19: what was acknowledged is known even where the keeper was killed.
#[tokio::test]
async fn acknowledgements_outlive_the_keeper() {
    let raw = reading("cat > /dev/null").await;
    let mut controller = raw.controller().await;
    controller.input("a", "one").await.expect("it is kept");
    controller.input("b", "two").await.expect("it is kept");
    let keeper = raw.keeper();
    let handle = Handle::of(&keeper).expect("a handle").expect("it runs");
    handle.signal(Signal::KILL).expect("it is ours");
    gone(&keeper).await;
    let inbox = Inbox::open(raw.folder.inbox()).expect("it opens");
    assert_eq!(inbox.progress().accepted, 2);
    inbox.add("b", "two").expect("it is there");
    assert_eq!(inbox.progress().accepted, 2);
}

/// A command that is slow to read takes nobody's time but its own.
#[tokio::test]
async fn a_command_that_does_not_read_stops_neither_acknowledgements_nor_its_end() {
    let raw = reading("echo up > up; sleep 1000").await;
    let mut controller = raw.controller().await;
    controller.proceed().await.expect("it proceeds");
    appeared(&raw.file("up")).await;
    let line = "x".repeat(LINE_MAX / 2);
    for id in ["a", "b", "c"] {
        soon(controller.input(id, &line)).await.expect("it is kept");
    }
    let progress = controller.inbox().await.expect("an answer").expect("there is one");
    assert_eq!((progress.accepted, progress.written), (3, 0));
    soon(controller.stop(Duration::ZERO)).await.expect("it is told");
    gone(&raw.keeper()).await;
    let exit = raw.folder.read_exit().expect("readable").expect("it is there");
    assert!(matches!(exit.ending, Ending::Killed(_)), "{exit:?}");
}

#[tokio::test]
async fn a_command_that_closed_its_input_is_no_trouble() {
    let raw = reading("exec 0<&-; echo up > up; while [ ! -e go ]; do sleep 0.02; done").await;
    let mut controller = raw.controller().await;
    controller.proceed().await.expect("it proceeds");
    appeared(&raw.file("up")).await;
    controller.input("a", "one").await.expect("it is kept");
    controller.close_input().await.expect("it is closed");
    fs::write(raw.file("go"), "").expect("it is written");
    gone(&raw.keeper()).await;
    let exit = raw.folder.read_exit().expect("readable").expect("it is there");
    assert_eq!((exit.ending, exit.inbox.map(|inbox| inbox.written)), (Ending::Exited(0), Some(0)));
}

#[tokio::test]
async fn what_is_no_line_is_refused_and_the_next_is_heard() {
    let raw = reading("cat > got.new; mv got.new got").await;
    let mut controller = raw.controller().await;
    let long = "x".repeat(LINE_MAX + 1);
    for (id, line) in [("", "x"), ("a", "x\ny"), ("a", long.as_str())] {
        let refused = controller.input(id, line).await.expect_err("it is no line");
        assert_eq!(code(&refused), Denial::Invalid);
    }
    // Every byte of this takes six on its way.
    controller.input("a", &"\u{1}".repeat(LINE_MAX)).await.expect("it fits");
    controller.close_input().await.expect("it is closed");
    controller.proceed().await.expect("it proceeds");
    gone(&raw.keeper()).await;
    assert_eq!(fs::read(raw.file("got")).expect("it is there").len(), LINE_MAX + 1);
}

#[tokio::test]
async fn a_command_that_was_launched_to_read_nothing_reads_nothing() {
    let launch = include_str!("version-1/launch.json");
    let raw = Raw::launch(launch).await;
    let mut controller = raw.controller().await;
    controller.proceed().await.expect("it proceeds");
    for refused in [controller.input("a", "one").await, controller.deliver("a", "one").await] {
        assert_eq!(code(&refused.expect_err("it reads nothing")), Denial::Invalid);
    }
    assert_eq!(controller.inbox().await.expect("an answer"), None);
    assert!(!raw.folder.inbox().exists() && !raw.folder.events().exists());
}

/// EXEC-09: what is offered while the command works goes the way of all input, until it is closed.
#[tokio::test]
async fn what_is_delivered_is_input_until_it_is_closed_or_the_result_is_declared() {
    let raw =
        reading("cat > got.new; mv got.new got; while [ ! -e go ]; do sleep 0.02; done").await;
    let mut controller = raw.controller().await;
    controller.proceed().await.expect("it proceeds");
    controller.deliver("a", "one").await.expect("it is kept");
    controller.deliver("a", "one").await.expect("it is kept already");
    fs::write(raw.folder.result(), "{}").expect("it is written");
    controller.deliver("a", "one").await.expect("it is kept, whatever came since");
    let late = controller.deliver("b", "late").await.expect_err("its result is there");
    assert_eq!(code(&late), Denial::Closed);
    fs::remove_file(raw.folder.result()).expect("it is there");
    let late = controller.deliver("b", "late").await.expect_err("it was said once");
    assert_eq!(code(&late), Denial::Closed);
    controller.close_input().await.expect("it is closed");
    fs::write(raw.file("go"), "").expect("it is written");
    gone(&raw.keeper()).await;
    assert_eq!(fs::read_to_string(raw.file("got")).expect("it read to the end"), "one\n");
    assert!(!raw.folder.events().exists(), "it reads its standard input");
}
