//! The demo's daemon: a real `abide serve`, started, killed and started again.

use std::io;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

use super::stage::Stage;
use crate::cli::Failure;

/// How long something may take before it is called stuck; no verdict on speed.
pub(super) const STALL: Duration = Duration::from_secs(30);

/// A running daemon. Dropping it kills the daemon, and nothing that it started.
#[derive(Debug)]
pub(super) struct Daemon {
    child: Child,
    /// Address of the hooks door.
    pub(super) hooks: String,
}

impl Daemon {
    /// Starts `abide serve` and waits until it has announced its doors.
    pub(super) async fn start(stage: &Stage) -> Result<Self, Failure> {
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(stage.path("daemon.log"))
            .map_err(|error| failed(&error))?;
        let mut child = Command::new(&stage.program)
            .args(["serve", "-c"])
            .arg(stage.path("abide.toml"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| failed(&error))?;
        let stdout = child.stdout.take().expect("the daemon's output was asked to be piped");
        let announced = announced(BufReader::new(stdout).lines());
        match timeout(STALL, announced).await {
            Ok(Some(hooks)) => Ok(Self { child, hooks }),
            Ok(None) | Err(_) => Err(Failure::refused(
                "the daemon ended, or never announced its doors: its own words are in daemon.log",
            )),
        }
    }

    /// The daemon's process.
    pub(super) fn pid(&self) -> u32 {
        self.child.id().unwrap_or_default()
    }

    /// Kills it as a crash would (`SIGKILL`), and sees it gone.
    pub(super) async fn kill(mut self) -> Result<(), Failure> {
        self.child.kill().await.map_err(|error| failed(&error))
    }

    /// Asks it to stop (`SIGTERM`), and sees it gone.
    pub(super) async fn stop(mut self) -> Result<bool, Failure> {
        let pid = i32::try_from(self.pid()).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| Failure::refused("the daemon has ended by itself"))?;
        kill_process(pid, Signal::TERM).map_err(|error| failed(&error.into()))?;
        match timeout(STALL, self.child.wait()).await {
            Ok(Ok(status)) => Ok(status.success()),
            Ok(Err(error)) => Err(failed(&error)),
            Err(_) => Err(Failure::refused("the daemon does not stop when asked to")),
        }
    }
}

/// The address after `hooks`. What comes later is read and dropped, so that the daemon never
/// blocks on a full pipe.
async fn announced(mut lines: Lines<BufReader<ChildStdout>>) -> Option<String> {
    while let Ok(Some(line)) = lines.next_line().await {
        if let Some(address) = line.trim().strip_prefix("hooks") {
            let address = address.trim().trim_start_matches("http://").trim_end_matches('/');
            let address = address.to_owned();
            tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
            return Some(address);
        }
    }
    None
}

fn failed(error: &io::Error) -> Failure {
    Failure::refused(format!("the daemon cannot be run: {error}"))
}
