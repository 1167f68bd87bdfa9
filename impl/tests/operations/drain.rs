use std::process::{Child, Stdio};

use crate::support::{Folder, Said, said};

fn drain(folder: &Folder, more: &[&str]) -> Child {
    let mut command = folder.command();
    let command = command.arg("drain").args(more).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("it starts")
}

fn ended(drain: Child) -> Said {
    said(drain.wait_with_output().expect("it ends"))
}

/// Whether the daemon says that it drains.
fn draining(folder: &Folder) -> bool {
    folder.text("daemon.log").contains("draining: nothing more is claimed")
}

fn begun(folder: &Folder, more: &[&str]) -> Child {
    let child = drain(folder, more);
    while !draining(folder) {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    child
}

#[test]
fn a_drained_daemon_ends_by_itself_once_nothing_runs_and_has_begun_nothing_more() {
    let folder = Folder::new();
    let mut daemon = folder.serve();
    folder.emit(1);
    folder.launches(1);
    folder.work(1, |work| work["reason"].to_string().contains("running"));
    let waiting = begun(&folder, &[]);
    // What comes meanwhile is kept and routed, and waits for the next daemon.
    assert_eq!(folder.emit(2).code, Some(0));
    folder.work(2, |work| work["status"] == "ready" && work["pending"] == 1);
    folder.write("go", "");
    let drained = ended(waiting);
    assert_eq!(drained.code, Some(0), "{drained:?}");
    assert!(drained.err.contains("draining: 1 attempt still to end"), "{drained:?}");
    assert!(drained.out.starts_with("drained: "), "{drained:?}");
    assert_eq!(daemon.ends(), Some(0));
    assert_eq!(folder.launched(), 1);
    // At once: the lock is free.
    let _next = folder.serve();
    folder.is(1, "completed");
    folder.is(2, "completed");
}

#[test]
fn a_drain_that_takes_too_long_leaves_the_daemon_as_it_was() {
    let folder = Folder::new();
    let _daemon = folder.serve();
    folder.emit(1);
    folder.launches(1);
    let late = ended(drain(&folder, &["--timeout", "300ms"]));
    assert_eq!((late.code, late.out.as_str()), (Some(75), ""), "{late:?}");
    assert!(late.err.contains("not drained within 300ms: 1 attempt run"), "{late:?}");
    folder.emit(2);
    folder.launches(2);
    folder.write("go", "");
    folder.is(2, "completed");
}

#[test]
fn a_drain_can_be_called_off() {
    let folder = Folder::new();
    let _daemon = folder.serve();
    folder.emit(1);
    folder.launches(1);
    let waiting = begun(&folder, &[]);
    folder.emit(2);
    folder.is(2, "ready");
    folder.done(&["drain", "--cancel"]);
    assert_eq!(ended(waiting).code, Some(75));
    folder.launches(2);
    folder.write("go", "");
    folder.is(1, "completed");
}

/// Another daemon is not the one that was asked, whatever it answers.
#[test]
fn a_daemon_that_is_started_again_meanwhile_was_not_drained() {
    let folder = Folder::new();
    let daemon = folder.serve();
    folder.emit(1);
    folder.launches(1);
    let waiting = begun(&folder, &[]);
    drop(daemon);
    let _next = folder.serve();
    let ended = ended(waiting);
    assert_eq!((ended.code, ended.out.as_str()), (Some(1), ""), "{ended:?}");
    let either = ["serves the database now", "ended before it was drained"];
    assert!(either.iter().any(|says| ended.err.contains(says)), "{ended:?}");
    folder.write("go", "");
    folder.is(1, "completed");
}

#[test]
fn an_idle_daemon_is_drained_at_once() {
    let folder = Folder::new();
    let mut daemon = folder.serve();
    assert_eq!(ended(drain(&folder, &["--timeout", "60s"])).code, Some(0));
    assert_eq!(daemon.ends(), Some(0));
    let nobody = folder.run(&["drain"]);
    assert_eq!(nobody.code, Some(1));
    assert!(nobody.err.contains("the daemon is not running"), "{}", nobody.err);
}
