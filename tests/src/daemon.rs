//! A real daemon in a temporary folder: started, killed and asked through its own doors.

use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::http::{Answer, Connection};

/// How long a drill waits for something that must happen before it reports a stall. Never a verdict on speed.
pub const STALL: Duration = Duration::from_secs(240);

/// The daemon of one folder. Dropping it kills the daemon, never what it started.
pub struct Daemon {
    folder: PathBuf,
    child: Child,
    hooks: String,
}

impl Daemon {
    /// Starts `abide serve` on `folder/abide.toml` and waits until it has announced its doors.
    ///
    /// # Errors
    /// The binary is missing, or the daemon ended before it was ready; its output is in the message.
    pub fn start(folder: &Path) -> io::Result<Self> {
        Self::start_as(&binary("abide")?, folder)
    }

    /// The same of another program that serves as `abide` does.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_as(program: &Path, folder: &Path) -> io::Result<Self> {
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(folder.join("daemon.log"))?;
        let mut child = Command::new(program)
            .args(["serve", "-c"])
            .arg(folder.join("abide.toml"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()?;
        let hooks = announced_hooks(&mut child)?;
        Ok(Self { folder: folder.to_owned(), child, hooks })
    }

    /// The address of the hooks door.
    #[must_use]
    pub fn hooks(&self) -> &str {
        &self.hooks
    }

    /// The daemon's process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Kills the daemon with SIGKILL and waits until it is gone.
    ///
    /// # Errors
    /// It could not be killed or waited for.
    pub fn kill(mut self) -> io::Result<()> {
        self.child.kill()?;
        self.child.wait().map(|_| ())
    }

    /// Asks the daemon to stop.
    ///
    /// # Errors
    /// It could not be told.
    pub fn ask_to_stop(&self) -> io::Result<()> {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        Ok(kill_process(pid.ok_or(io::ErrorKind::InvalidInput)?, Signal::TERM)?)
    }

    /// Asks the daemon to stop and waits until it has.
    ///
    /// # Errors
    /// It could not be told or waited for.
    pub fn stop(mut self) -> io::Result<ExitStatus> {
        self.ask_to_stop()?;
        self.child.wait()
    }

    /// How the daemon ended, if it has.
    ///
    /// # Errors
    /// It cannot be waited for.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// Asks the operator door as the configured principal `ops`.
    ///
    /// # Errors
    /// The door is not there.
    pub fn operator(&self, method: &str, path: &str, body: &str) -> io::Result<Answer> {
        let state = self.folder.join("state");
        let token = std::fs::read_to_string(state.join("ops.token"))?;
        let authorization = format!("Bearer {}", token.trim());
        let headers =
            [("authorization", authorization.as_str()), ("content-type", "application/json")];
        Connection::unix(&state.join("operator.sock"))?.send(
            method,
            path,
            &headers,
            body.to_owned(),
        )
    }

    /// Every row of a paged list of the operator door.
    ///
    /// # Errors
    /// The door is not there, or answered something else than a page.
    pub fn list(&self, path: &str) -> io::Result<Vec<serde_json::Value>> {
        let mut rows = Vec::new();
        let mut after = 0;
        loop {
            let answer = self.operator("GET", &format!("{path}?after={after}&limit=500"), "")?;
            let page = answer.json();
            let Some(items) = page["items"].as_array() else {
                return Err(io::Error::other(format!("{path}: {} {}", answer.status, answer.body)));
            };
            rows.extend(items.iter().cloned());
            match page["next"].as_i64() {
                Some(next) => after = next,
                None => return Ok(rows),
            }
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // Already dead is what a drill may have made of it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs `abide` once in a folder and returns what it said.
///
/// # Errors
/// The binary is missing.
pub fn abide(folder: &Path, arguments: &[&str]) -> io::Result<Output> {
    Command::new(binary("abide")?).current_dir(folder).args(arguments).stdin(Stdio::null()).output()
}

/// Where cargo put a binary of this workspace, beside the running test.
///
/// # Errors
/// It was not built: `cargo test --workspace` builds it.
pub fn binary(name: &str) -> io::Result<PathBuf> {
    let test = std::env::current_exe()?;
    let folder = test.ancestors().find(|folder| folder.join(name).is_file());
    match folder {
        Some(folder) => Ok(folder.join(name)),
        None => Err(io::Error::other(format!(
            "no `{name}` above {}: run `cargo test --workspace`, which builds it",
            test.display()
        ))),
    }
}

fn announced_hooks(child: &mut Child) -> io::Result<String> {
    let stdout =
        child.stdout.take().ok_or_else(|| io::Error::other("the daemon's output is not piped"))?;
    let (found, wait) = mpsc::channel();
    std::thread::spawn(move || {
        // Reading on after the announcement keeps the daemon from blocking on a full pipe.
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if let Some(address) = line.trim().strip_prefix("hooks") {
                let address = address.trim().trim_start_matches("http://").to_owned();
                let _ = found.send(address);
            }
        }
    });
    wait.recv_timeout(STALL).map_err(|_| {
        io::Error::other("the daemon ended, or never announced its doors: see daemon.log")
    })
}
