//! A segment root in a temporary folder, and ways to wait.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use abide::domain::{AttemptNo, AttemptUid, Epoch, Generation, StartReason, Token, WorkUid};
use abide::executor::shell::{Binding, Place, Shell};
use abide::extension::executor::{Executor, Exit, Metadata, RunRequest};
use abide::keeper::folder::{Folder, ProcessFile};
use abide::keeper::identity::{Identity, Stat};
use abide::keeper::processes::Handle;
use serde_json::{Value, json};

/// Far beyond what anything here takes on a loaded machine.
pub(crate) const STALL: Duration = Duration::from_secs(60);

/// The built binary.
pub(crate) const ABIDE: &str = env!("CARGO_BIN_EXE_abide");

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
        let ProcessFile { leader } =
            self.folder().read_process().expect("it is readable").expect("it was started");
        leader
    }
}

/// Launches and starts a segment.
pub(crate) async fn started(shell: &Shell, ground: &Ground) -> Metadata {
    let metadata = shell.run(&ground.request()).await.expect("it launches");
    shell.proceed(&metadata).await.expect("it proceeds");
    metadata
}

/// How the segment ended; fails the test if it does not end.
pub(crate) async fn ended(shell: &Shell, metadata: &Metadata) -> Exit {
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
