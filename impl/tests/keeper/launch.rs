//! Launching: nothing before the pin, everything in its place, and how a segment ends.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use abide::domain::{Epoch, StartReason};
use abide::executor::shell::Shell;
use abide::extension::executor::{Credentials, Executor, Exit, LaunchError};
use abide::extension::request::RequestFile;
use abide::keeper::folder::{Ending, Folder};
use abide::keeper::identity::Stat;

use crate::support::{
    ABIDE, COMPLETED, Ground, appeared, ended, gone, keeper, parsed, reason, runs, started, token,
};

/// OURS-20
#[tokio::test]
async fn nothing_is_started_before_the_segment_proceeds() {
    let ground = Ground::new();
    let shell = ground.script("echo done > mark");
    let metadata = shell.run(&ground.request()).await.expect("it launches");

    let keeper = keeper(&metadata);
    let below = abide::keeper::processes::running_below(keeper.pid).expect("/proc is there");
    assert_eq!((runs(&keeper), below), (true, vec![]));
    assert!(!ground.segment_file("process.json").exists() && !ground.file("mark").exists());

    shell.proceed(&metadata).await.expect("it proceeds");
    assert_eq!(ended(&shell, &metadata).await, COMPLETED);
    assert!(ground.file("mark").exists());
}

/// OURS-20 LEASE-07
#[tokio::test]
async fn a_launch_that_is_let_go_ends_without_having_started_anything() {
    let ground = Ground::new();
    let shell = ground.script("echo done > mark");
    let metadata = shell.run(&ground.request()).await.expect("it launches");
    shell.release(&metadata);
    gone(&keeper(&metadata)).await;

    let exit = ground.folder().read_exit().expect("it is readable").expect("it is there");
    assert!(matches!(exit.ending, Ending::NotStarted(_)), "{exit:?}");
    assert!(!ground.file("mark").exists());
    let next = ground.script("");
    next.proceed(&metadata).await.expect("there is nothing left to start");
    assert!(reason(ended(&next, &metadata).await).contains("let go before the start"));
}

/// A host that dies between pin and start has promised a start that the next one keeps. OURS-19
/// OURS-20
#[tokio::test]
async fn a_launch_whose_host_goes_away_starts_nothing_and_can_be_taken_over() {
    let ground = Ground::new();
    let shell = ground.script("echo done > mark");
    let metadata = shell.run(&ground.request()).await.expect("it launches");
    // Dropping the executor closes the same pipe that a killed daemon's end closes.
    drop(shell);

    let next = ground.script("");
    let credentials = Credentials { epoch: Epoch(2), token: token(2) };
    next.recover(&metadata, &credentials).await.expect("it is there and its own");
    assert!(runs(&keeper(&metadata)) && !ground.file("mark").exists());
    next.proceed(&metadata).await.expect("it proceeds");
    assert_eq!(ended(&next, &metadata).await, COMPLETED);
    assert!(ground.file("mark").exists());
}

#[tokio::test]
async fn a_segment_starts_once_however_often_it_is_told_to() {
    let ground = Ground::new();
    let shell = ground.script("echo x >> mark");
    let metadata = started(&shell, &ground).await;
    shell.proceed(&metadata).await.expect("it is running, or over");
    assert_eq!(ended(&shell, &metadata).await, COMPLETED);
    shell.proceed(&metadata).await.expect("it is over");
    assert_eq!(fs::read_to_string(ground.file("mark")).expect("it is there"), "x\n");
}

#[tokio::test]
async fn an_epoch_is_launched_once() {
    let ground = Ground::new();
    let shell = ground.script("");
    shell.run(&ground.request()).await.expect("it launches");
    let again = shell.run(&ground.request()).await.expect_err("its folder exists");
    assert!(matches!(again, LaunchError::Prepare { .. }), "{again}");
    let next = ground.request();
    let relaunched = abide::extension::executor::RunRequest { epoch: Epoch(2), ..next };
    shell.run(&relaunched).await.expect("the next epoch launches");
}

#[tokio::test]
async fn the_command_gets_its_environment_and_nothing_of_ours() {
    let ground = Ground::new();
    let shell = ground.shell(&["/usr/bin/env"]);
    let metadata = started(&shell, &ground).await;
    assert_eq!(ended(&shell, &metadata).await, COMPLETED);

    let shown = fs::read_to_string(ground.segment_file("stdout.log")).expect("it is text");
    let mut names: Vec<_> = shown.lines().filter_map(|line| line.split('=').next()).collect();
    names.sort_unstable();
    let expected = [
        "ABIDE_DIR",
        "ABIDE_INBOX",
        "ABIDE_REASON",
        "ABIDE_REQUEST",
        "ABIDE_SOCKET",
        "ABIDE_TOKEN_FILE",
        "PATH",
        "TRACEPARENT",
    ];
    assert_eq!(names, expected);
    assert!(shown.contains("ABIDE_REASON=start\n"));

    let text = fs::read(ground.segment_file("request.json")).expect("it is there");
    let request: RequestFile = serde_json::from_slice(&text).expect("it is a request");
    assert_eq!(request, RequestFile::from(&ground_request_of(&ground, &request)));
    assert_eq!(request.reason, StartReason::Start);
}

/// The request of the ground, under the work id that was minted for the launch.
fn ground_request_of(
    ground: &Ground,
    file: &RequestFile,
) -> abide::extension::executor::RunRequest {
    let work = file.work.parse().expect("a work id");
    abide::extension::executor::RunRequest { work, ..ground.request() }
}

#[tokio::test]
async fn secrets_are_in_private_files_and_nowhere_else() {
    let ground = Ground::new();
    let shell = ground.script("");
    let request = ground.request();
    let metadata = shell.run(&request).await.expect("it launches");
    let secret = ground.folder().read_secret().expect("it is there").reveal();

    let keeper = keeper(&metadata);
    let seen = [
        format!("{metadata:?} {shell:?} {request:?}"),
        fs::read_to_string(format!("/proc/{}/cmdline", keeper.pid)).expect("it runs"),
        fs::read_to_string(format!("/proc/{}/environ", keeper.pid)).expect("it runs"),
        fs::read_to_string(ground.segment_file("request.json")).expect("it is there"),
        fs::read_to_string(ground.segment_file("keeper.json")).expect("it is there"),
    ];
    for text in seen {
        assert!(!text.contains(&secret) && !text.contains(&token(1).reveal()), "{text}");
    }
    let mode = |path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode(ground.folder().path().to_owned()), 0o700);
    for name in ["token", "secret", "control.sock"] {
        assert_eq!(mode(ground.segment_file(name)), 0o600, "{name}");
    }
}

#[tokio::test]
async fn a_keeper_leads_a_session_of_its_own_and_its_command_a_group() {
    let ground = Ground::new();
    let shell = ground.script("echo up > mark; read line < /dev/zero");
    let metadata = started(&shell, &ground).await;
    appeared(&ground.file("mark")).await;
    let keeper = keeper(&metadata);
    let leader = ground.leader();
    let stat = |pid| Stat::read(pid).expect("/proc is there").expect("it runs");
    assert_eq!(stat(keeper.pid).session, keeper.pid);
    assert_eq!((stat(leader.pid).group, stat(leader.pid).session), (leader.pid, keeper.pid));
    shell.stop(&metadata, std::time::Duration::ZERO).await.expect("it stops");
}

/// T15
#[tokio::test]
async fn what_cannot_be_started_fails_with_the_systems_words() {
    let missing = Ground::new();
    let shell = missing.shell(&["/no/such/command"]);
    let metadata = started(&shell, &missing).await;
    let why = reason(ended(&shell, &metadata).await);
    assert!(why.contains("/no/such/command") && why.contains("No such file"), "{why}");

    let plain = Ground::new();
    let shell = plain.shell(&["/etc/passwd"]);
    let metadata = started(&shell, &plain).await;
    let why = reason(ended(&shell, &metadata).await);
    assert!(why.contains("Permission denied"), "{why}");

    let empty = Ground::new();
    let shell = empty.shell(&[]);
    let metadata = started(&shell, &empty).await;
    assert_eq!(reason(ended(&shell, &metadata).await), "no command is set");
}

#[tokio::test]
async fn a_program_that_is_no_keeper_is_a_launch_error() {
    let ground = Ground::new();
    for program in ["/bin/true", "/no/such/abide"] {
        let place = abide::executor::shell::Place { program: program.into(), ..ground.place() };
        let shell = Shell::new(place, ground.binding(&["/bin/true"]));
        let mut request = ground.request();
        request.epoch = Epoch(u64::try_from(program.len()).expect("it is short"));
        let error = shell.run(&request).await.expect_err("it is no keeper");
        assert!(!error.to_string().is_empty());
    }
}

/// E12
#[tokio::test]
async fn output_is_kept_as_it_is_and_a_reason_is_text() {
    let ground = Ground::new();
    let shell = ground.script(r"printf 'a\377\0b'; printf 'bad \376\033[1m' >&2; exit 3");
    let metadata = started(&shell, &ground).await;
    let why = reason(ended(&shell, &metadata).await);
    assert_eq!(why, "exit status 3: bad \u{fffd}\\u{1b}[1m");
    assert_eq!(fs::read(ground.segment_file("stdout.log")).expect("it is there"), b"a\xff\0b");
}

#[tokio::test]
async fn a_signal_is_a_failure_that_names_it() {
    let ground = Ground::new();
    let shell = ground.script("kill -KILL $$");
    let metadata = started(&shell, &ground).await;
    assert_eq!(reason(ended(&shell, &metadata).await), "killed by signal 9");
}

#[tokio::test]
async fn a_declared_result_is_what_the_segment_ends_with() {
    let ground = Ground::new();
    let shell = ground.shell(&[ABIDE, "tool", "result", "completed", "--status", "merged"]);
    let metadata = started(&shell, &ground).await;
    let declared = Exit::Completed { status: Some("merged".into()), continuation: None };
    assert_eq!(ended(&shell, &metadata).await, declared);
}

#[tokio::test]
async fn a_binding_that_cannot_resume_refuses_to() {
    let ground = Ground::new();
    let mut binding = ground.binding(&["/bin/true"]);
    binding.resumes = false;
    let shell = Shell::new(ground.place(), binding);
    assert!(!shell.capabilities().resumes && shell.capabilities().holds_until_pin);
    let refused = shell.resume(&ground.request()).await.expect_err("it cannot");
    assert!(matches!(refused, LaunchError::CannotResume));
    assert!(!ground.place().segments.exists());
}

/// A socket's address holds 107 bytes; a state folder may lie deeper.
#[tokio::test]
async fn a_deep_state_folder_works() {
    let ground = Ground::new();
    let mut place = ground.place();
    place.segments = place.segments.join("d".repeat(100)).join("e".repeat(100));
    let folder = Folder::at(place.segments.clone());
    let shell = Shell::new(place, ground.binding(&["/bin/true"]));
    let metadata = started(&shell, &ground).await;
    assert_eq!(ended(&shell, &metadata).await, COMPLETED);
    let name = parsed(&metadata)["folder"].as_str().expect("a name").to_owned();
    assert!(folder.file(&name).join("exit.json").exists());
}
