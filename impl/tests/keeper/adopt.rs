//! Adoption: the process outlives its daemon, and only the right one is taken over.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use abide::domain::{Epoch, Token};
use abide::extension::executor::{Credentials, Executor, Exit, Metadata};
use abide::keeper::client::{ClientError, Controller, KeeperRef};
use abide::keeper::folder::ProcessFile;
use abide::keeper::identity::{Identity, Stat};
use abide::keeper::protocol::{Denial, Reply, Request, Sealed, State, read_line, write_line};
use abide::keeper::socket;
use abide::keeper::{OLDEST, VERSION};
use rustix::process::Signal;
use tokio::io::BufReader;

use crate::support::{
    COMPLETED, Ground, appeared, ended, gone, keeper, parsed, runs, soon, started, token,
};

/// Waits for a file, and says that it is up and whose token it found.
const HELD: &str = "cat \"$ABIDE_TOKEN_FILE\" > before.new; mv before.new before; \
    while [ ! -e go ]; do sleep 0.02; done; cat \"$ABIDE_TOKEN_FILE\" > after; exit 0";

fn credentials(bits: u8) -> Credentials {
    Credentials { epoch: Epoch(2), token: token(bits) }
}

fn with(metadata: &Metadata, field: &str, value: impl Into<serde_json::Value>) -> Metadata {
    let mut changed = parsed(metadata);
    changed["keeper"][field] = value.into();
    Metadata(changed.to_string())
}

/// A process that has nothing to do with any of this, until the test ends.
struct Stranger(Child);

impl Stranger {
    fn new() -> Self {
        let mut command = Command::new("/bin/sleep");
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        Self(command.arg("1000").stdin(Stdio::null()).spawn().expect("it starts"))
    }

    fn identity(&self) -> Identity {
        let pid = i32::try_from(self.0.id()).expect("an id");
        let stat = Stat::read(pid).expect("/proc is there").expect("it runs");
        let me = Identity::current().expect("/proc is there");
        Identity { pid, start_time: stat.start_time, ..me }
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// OURS-19 ADOPT-14 ADOPT-15, L14
#[test]
fn a_command_outlives_its_daemon_and_is_adopted_under_a_new_token() {
    let ground = Ground::new();
    let first = tokio::runtime::Runtime::new().expect("a runtime");
    let metadata = first.block_on(async {
        let shell = ground.script(HELD);
        let metadata = started(&shell, &ground).await;
        assert_eq!(appeared(&ground.file("before")).await, token(1).reveal());
        metadata
    });
    // Everything the first daemon held is gone with its runtime.
    drop(first);

    let second = tokio::runtime::Runtime::new().expect("a runtime");
    second.block_on(async {
        let shell = ground.script("exit 9");
        soon(shell.recover(&metadata, &credentials(2))).await.expect("it is adopted");
        // Replaced by the time `recover` answers.
        let text = fs::read_to_string(ground.folder().token()).expect("it is there");
        assert_eq!(Token::parse(&text), Some(token(2)));
        shell.proceed(&metadata).await.expect("it runs already");

        fs::write(ground.file("go"), "").expect("it is written");
        assert_eq!(ended(&shell, &metadata).await, COMPLETED);
        assert_eq!(appeared(&ground.file("after")).await, token(2).reveal());
    });
}

/// ADOPT-18
#[tokio::test]
async fn a_finished_segment_is_adopted_and_gives_its_result_as_often_as_asked() {
    let ground = Ground::new();
    let shell = ground.script("echo why >&2; exit 5");
    let metadata = started(&shell, &ground).await;
    gone(&keeper(&metadata)).await;
    drop(shell);

    let next = ground.script("");
    for _ in 0..2 {
        next.recover(&metadata, &credentials(2)).await.expect("it is adopted");
        let exit = ended(&next, &metadata).await;
        assert!(matches!(&exit, Exit::Failed { reason, .. } if reason == "exit status 5: why"));
    }
    let stopped = next.stop(&metadata, Duration::ZERO).await.expect("nothing is left");
    assert!(!stopped.signalled);
}

/// A full disk for a while costs no attempt. ADOPT-15 ADOPT-19
#[tokio::test]
async fn a_keeper_that_cannot_replace_its_token_now_is_asked_again() {
    let ground = Ground::new();
    let shell = ground.script(HELD);
    let metadata = started(&shell, &ground).await;
    appeared(&ground.file("before")).await;
    // What cannot be replaced by a file.
    let token_file = ground.folder().token();
    fs::remove_file(&token_file).expect("it is there");
    fs::create_dir(&token_file).expect("a folder");
    let credentials = credentials(2);
    let recovered = async {
        let freed = async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            fs::remove_dir(&token_file).expect("it is there");
        };
        tokio::join!(shell.recover(&metadata, &credentials), freed).0
    };
    soon(recovered).await.expect("it is adopted");
    fs::write(ground.file("go"), "").expect("it is written");
    assert_eq!(ended(&shell, &metadata).await, COMPLETED);
    assert_eq!(appeared(&ground.file("after")).await, token(2).reveal());
}

/// LEASE-15, L13
#[tokio::test]
async fn another_start_time_another_boot_or_another_id_is_not_adopted() {
    let ground = Ground::new();
    let shell = ground.script(HELD);
    let metadata = started(&shell, &ground).await;
    let keeper = keeper(&metadata);
    let stranger = Stranger::new();
    let foreign = stranger.identity();
    let reused = with(&metadata, "pid", foreign.pid);
    let wrong = [
        with(&metadata, "start_time", keeper.start_time + 1),
        with(&metadata, "boot_id", "another"),
        reused.clone(),
        // A stranger with the very start time: it still does not listen on the socket.
        with(&reused, "start_time", foreign.start_time),
        Metadata("{}".into()),
        Metadata(String::new()),
    ];
    for metadata in wrong {
        let refused = soon(shell.recover(&metadata, &credentials(2))).await;
        refused.expect_err("it is another one");
    }
    let text = fs::read_to_string(ground.folder().token()).expect("it is there");
    assert_eq!(Token::parse(&text), Some(token(1)), "a refused adoption replaces nothing");
    assert!(runs(&foreign) && runs(&keeper));
    shell.stop(&metadata, Duration::ZERO).await.expect("the real one stops");
}

/// LEASE-15, L13
#[tokio::test]
async fn a_stranger_under_a_recorded_id_is_never_signalled() {
    let ground = Ground::new();
    let shell = ground.script("exit 0");
    let metadata = started(&shell, &ground).await;
    ended(&shell, &metadata).await;
    fs::remove_file(ground.segment_file("exit.json")).expect("it was there");
    let stranger = Stranger::new();
    let foreign = stranger.identity();

    // The keeper's and the command's ids are the stranger's now; their start times are not.
    let earlier = Identity { start_time: foreign.start_time - 1, ..foreign.clone() };
    ground
        .folder()
        .write_process(&ProcessFile { version: VERSION, leader: earlier.clone() })
        .expect("written");
    let reused = with(&with(&metadata, "pid", earlier.pid), "start_time", earlier.start_time);
    let stopped = soon(shell.stop(&reused, Duration::ZERO)).await.expect("nothing of it is left");
    assert!(!stopped.signalled && runs(&foreign));
    // After another boot not even a look is needed.
    let rebooted = with(&reused, "boot_id", "another");
    assert!(!shell.stop(&rebooted, Duration::ZERO).await.expect("it is gone").signalled);
    assert!(runs(&foreign));
}

/// ADOPT-14
#[tokio::test]
async fn another_secret_is_not_adopted() {
    let ground = Ground::new();
    let shell = ground.script(HELD);
    let metadata = started(&shell, &ground).await;
    let secret = ground.folder().read_secret().expect("it is there");
    ground.folder().write_secret(&token(9)).expect("it is written");
    let refused = shell.recover(&metadata, &credentials(2)).await.expect_err("another secret");
    assert!(refused.reason.contains("secret"), "{refused}");

    ground.folder().write_secret(&secret).expect("it is written");
    shell.recover(&metadata, &credentials(2)).await.expect("its own secret");
    shell.stop(&metadata, Duration::ZERO).await.expect("it stops");
}

#[tokio::test]
async fn a_keeper_tells_nothing_to_who_does_not_know_its_secret() {
    let ground = Ground::new();
    let shell = ground.script(HELD);
    let metadata = started(&shell, &ground).await;
    let ask = async |request: Request| {
        let stream = socket::connect(&ground.folder().socket()).await.expect("it listens");
        let mut stream = BufReader::new(stream);
        write_line(stream.get_mut(), &request).await.expect("it is sent");
        let reply: Reply = read_line(&mut stream).await.expect("readable").expect("an answer");
        let more: Option<Reply> = soon(read_line(&mut stream)).await.expect("readable");
        assert_eq!(more, None, "it hangs up");
        match reply {
            Reply::Refused { code, .. } => code,
            Reply::Hello { .. } | Reply::Done | Reply::Status { .. } => panic!("{reply:?}"),
        }
    };
    let hello = |version, secret| Request::Hello { version, upto: None, secret: Sealed(secret) };
    let secret = ground.folder().read_secret().expect("it is there");
    assert_eq!(ask(hello(VERSION, token(9))).await, Denial::NotAuthorised);
    assert_eq!(ask(hello(VERSION + 1, secret.clone())).await, Denial::UnknownVersion);
    assert_eq!(ask(hello(OLDEST - 1, secret)).await, Denial::UnknownVersion);
    assert_eq!(ask(Request::Stop { grace_ms: 0 }).await, Denial::NotAuthorised);
    assert_eq!(ask(Request::Status).await, Denial::NotAuthorised);

    let keeper: KeeperRef = serde_json::from_str(&metadata.0).expect("it holds one");
    let mut controller = Controller::open(&ground.folder(), &keeper).await.expect("it is ours");
    let running = State::Running { pid: ground.leader().pid };
    assert_eq!(controller.status().await.expect("an answer"), running);
    controller.stop(Duration::ZERO).await.expect("an answer");
    ended(&shell, &metadata).await;
    let over = Controller::open(&ground.folder(), &keeper).await;
    assert!(matches!(over, Err(ClientError::Unverified(_))));
}

/// ADOPT-19 ADOPT-22
#[tokio::test]
async fn a_killed_keeper_is_not_adoptable_and_what_it_held_is_still_found_and_stopped() {
    let ground = Ground::new();
    let shell = ground.script("sleep 1000 & echo $! > child; wait");
    let metadata = started(&shell, &ground).await;
    let child = crate::support::process_in(&ground.file("child")).await;
    let leader = ground.leader();
    kill(&keeper(&metadata)).await;

    let next = ground.script("");
    next.recover(&metadata, &credentials(2)).await.expect_err("its keeper is dead");
    assert!(matches!(ended(&next, &metadata).await, Exit::Lost { .. }));
    assert!(runs(&leader) && runs(&child), "an unverifiable end is no end");

    let stopped = soon(next.stop(&metadata, Duration::from_secs(30))).await.expect("it stops");
    assert!(stopped.signalled && !stopped.forced);
    assert!(!runs(&leader) && !runs(&child));
}

/// Whether or not something reaps the leader here, the token file in its environment tells.
#[tokio::test]
async fn a_process_that_left_its_group_and_lost_its_keeper_and_leader_is_still_stopped() {
    let ground = Ground::new();
    let shell = ground.script("setsid sh -c 'echo $$ > left; exec sleep 1000' & wait");
    let metadata = started(&shell, &ground).await;
    let left = crate::support::process_in(&ground.file("left")).await;
    kill(&keeper(&metadata)).await;
    kill(&ground.leader()).await;

    let stopped = soon(shell.stop(&metadata, Duration::from_secs(30))).await.expect("it stops");
    assert!(stopped.signalled && !runs(&left));
}

async fn kill(process: &Identity) {
    let handle = abide::keeper::processes::Handle::of(process).expect("a handle");
    handle.expect("it runs").signal(Signal::KILL).expect("it is ours");
    gone(process).await;
}
