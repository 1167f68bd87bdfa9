//! A segment root in a temporary folder, and ways to wait.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use abide::domain::{AttemptNo, AttemptUid, Epoch, Generation, StartReason, Token, WorkUid};
use abide::executor::shell::{Binding, Place, Shell};
use abide::extension::executor::{Executor, Exit, Metadata, RunRequest};
use abide::keeper::client::{Controller, KeeperRef};
use abide::keeper::folder::{Folder, KeeperFile, ProcessFile, read_json};
use abide::keeper::identity::{Identity, Stat};
use abide::keeper::processes::Handle;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};

/// Far beyond what anything here takes on a loaded machine.
pub(crate) const STALL: Duration = Duration::from_secs(60);

/// The built binary.
pub(crate) const ABIDE: &str = env!("CARGO_BIN_EXE_abide");

/// An agent of these tests.
pub(crate) const STAND_IN: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/keeper/stand-in-agent.sh");

/// A state folder of one test.
pub(crate) struct Ground {
    root: tempfile::TempDir,
    attempt: AttemptUid,
}

impl Ground {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().expect("a temporary folder");
        Self { root, attempt: AttemptUid::new() }
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.root.path().join("work")
    }

    /// A file in the Work's folder, which is where commands run.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.work().join(name)
    }

    pub(crate) fn place(&self) -> Place {
        Place { program: ABIDE.into(), segments: self.root.path().join("segments") }
    }

    pub(crate) fn shell(&self, command: &[&str]) -> Shell {
        Shell::new(self.place(), self.binding(command))
    }

    pub(crate) fn binding(&self, command: &[&str]) -> Binding {
        Binding {
            command: command.iter().map(ToString::to_string).collect(),
            env: vec!["PATH".into()],
            resumes: true,
            injects: true,
            interrupts: true,
            grace: Duration::from_millis(200),
        }
    }

    /// An executor of a shell script.
    pub(crate) fn script(&self, script: &str) -> Shell {
        self.shell(&["/bin/sh", "-c", script])
    }

    pub(crate) fn request(&self) -> RunRequest {
        RunRequest {
            work: WorkUid::new(),
            attempt: self.attempt,
            number: AttemptNo(1),
            epoch: Epoch(1),
            token: token(1),
            reason: StartReason::Start,
            trigger: Some(event(4)),
            inputs: vec![event(4), event(7)],
            inputs_left: 0,
            previous: None,
            earlier: Vec::new(),
            earlier_left: 0,
            continuation: None,
            generation: Generation(1),
            work_dir: self.work(),
            socket: self.root.path().join("tool.sock"),
            traceparent: Some("00-1-2-01".into()),
        }
    }

    pub(crate) fn folder(&self) -> Folder {
        Folder::at(self.place().segments.join(format!("{}-1", self.attempt)))
    }

    pub(crate) fn segment_file(&self, name: &str) -> PathBuf {
        self.folder().file(name)
    }

    /// The command's process, which leads its group.
    pub(crate) fn leader(&self) -> Identity {
        let ProcessFile { leader, .. } =
            self.folder().read_process().expect("it is readable").expect("it was started");
        leader
    }
}

/// A keeper that is launched by its own protocol and by no executor; it is asked to end, with its
/// command, when it is dropped.
pub(crate) struct Raw {
    /// The folder of its command.
    dir: Option<tempfile::TempDir>,
    pub(crate) folder: Folder,
    pub(crate) ready: Value,
    _root: tempfile::TempDir,
    _leash: ChildStdin,
    child: Child,
}

impl Drop for Raw {
    fn drop(&mut self) {
        let id = self.child.id().and_then(|id| i32::try_from(id).ok());
        if let Some(pid) = id.and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::TERM);
        }
    }
}

impl Raw {
    /// Launches with this line.
    pub(crate) async fn launch(line: &str) -> Self {
        let (root, folder, mut child) = Self::spawn();
        let leash = Self::say(&mut child, line).await;
        let mut stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut ready = String::new();
        soon(stdout.read_line(&mut ready)).await.expect("it is text");
        let ready = serde_json::from_str(&ready).expect("it is ready");
        Self { dir: None, folder, ready, _root: root, _leash: leash, child }
    }

    pub(crate) fn in_folder(mut self, dir: tempfile::TempDir) -> Self {
        self.dir = Some(dir);
        self
    }

    /// What a keeper says that does not begin.
    pub(crate) async fn refused(line: &str) -> String {
        let (_root, _, mut child) = Self::spawn();
        let _leash = Self::say(&mut child, line).await;
        let output = soon(child.wait_with_output()).await.expect("it ends");
        assert!(!output.status.success() && output.stdout.is_empty(), "{output:?}");
        String::from_utf8(output.stderr).expect("it is text")
    }

    fn spawn() -> (tempfile::TempDir, Folder, Child) {
        let root = tempfile::tempdir().expect("a temporary folder");
        let folder = Folder::create(root.path().join("att-1")).expect("a new folder");
        let child = Command::new(ABIDE)
            .arg("keeper")
            .arg(folder.path())
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        (root, folder, child.expect("it starts"))
    }

    async fn say(child: &mut Child, line: &str) -> ChildStdin {
        let mut stdin = child.stdin.take().expect("it is piped");
        let line = format!("{}\n", line.trim_end());
        stdin.write_all(line.as_bytes()).await.expect("it is sent");
        stdin
    }

    pub(crate) fn keeper(&self) -> Identity {
        self.reference().keeper
    }

    pub(crate) async fn controller(&self) -> Controller {
        let controller = Controller::open(&self.folder, &self.reference()).await;
        controller.expect("it is the recorded one")
    }

    fn reference(&self) -> KeeperRef {
        let file = read_json::<KeeperFile>(&self.folder.file("keeper.json"));
        let KeeperFile { keeper, secret, .. } = file.expect("readable").expect("it is there");
        KeeperRef { keeper, secret }
    }

    /// A file of its command's.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.dir.as_ref().expect("it has a folder").path().join(name)
    }
}

/// Launches and starts a segment.
pub(crate) async fn started(shell: &dyn Executor, ground: &Ground) -> Metadata {
    let metadata = shell.run(&ground.request()).await.expect("it launches");
    shell.proceed(&metadata).await.expect("it proceeds");
    metadata
}

/// How the segment ended; fails the test if it does not end.
pub(crate) async fn ended(shell: &dyn Executor, metadata: &Metadata) -> Exit {
    soon(shell.observe(metadata)).await
}

pub(crate) async fn soon<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(STALL, work).await.expect("a stall")
}

/// Waits until a file has content, which it then has whole if its writer renames it there.
pub(crate) async fn appeared(path: &Path) -> String {
    soon(async {
        loop {
            match fs::read_to_string(path) {
                Ok(text) if !text.is_empty() => return text.trim().to_owned(),
                Ok(_) | Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    })
    .await
}

/// The process whose id a script wrote into a file.
pub(crate) async fn process_in(path: &Path) -> Identity {
    let pid = appeared(path).await.parse().expect("a process id");
    let stat = Stat::read(pid).expect("/proc is there").expect("it runs");
    Identity { pid, start_time: stat.start_time, ..Identity::current().expect("/proc is there") }
}

/// Waits until a process has ended.
pub(crate) async fn gone(process: &Identity) {
    if let Some(handle) = Handle::of(process).expect("a handle") {
        soon(handle.ended()).await.expect("it is watched");
    }
}

pub(crate) fn runs(process: &Identity) -> bool {
    process.is_alive().expect("/proc is there")
}

/// The keeper, as the metadata names it.
pub(crate) fn keeper(metadata: &Metadata) -> Identity {
    let value = parsed(metadata);
    serde_json::from_value(value["keeper"].clone()).expect("an identity")
}

pub(crate) fn parsed(metadata: &Metadata) -> Value {
    serde_json::from_str(&metadata.0).expect("it is JSON")
}

pub(crate) fn token(bits: u8) -> Token {
    Token::from_bytes([bits; 32])
}

pub(crate) fn event(seq: u32) -> Value {
    json!({"specversion": "1.0", "id": format!("e{seq}"), "source": "test", "type": "t",
           "abideseq": seq.to_string()})
}

pub(crate) fn reason(exit: Exit) -> String {
    match exit {
        Exit::Failed { reason, .. } => reason,
        Exit::Completed { .. } | Exit::HandedOff { .. } | Exit::Lost { .. } => {
            panic!("it did not fail: {exit:?}")
        }
    }
}

pub(crate) const COMPLETED: Exit = Exit::Completed { status: None, continuation: None };
