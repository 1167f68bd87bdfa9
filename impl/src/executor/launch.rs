//! Starts a keeper for one segment and hears from it that it is ready.

use std::ffi::OsString;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::BufReader;
use tokio::process::{Child, ChildStdin, Command};

use super::kept::{Binding, Place};
use super::segment::Segment;
use crate::domain::StartReason;
use crate::extension::executor::{LaunchError, RunRequest};
use crate::extension::request::RequestFile;
use crate::keeper::client::KeeperRef;
use crate::keeper::folder::{Folder, write_json};
use crate::keeper::inbox;
use crate::keeper::protocol::{Launch, Ready, read_line, write_line};

/// A keeper is ready in milliseconds; a machine under load gets this long.
const READY_MAX: Duration = Duration::from_secs(30);

/// What an executor gives one segment beyond what the binding says.
#[derive(Debug, Clone)]
pub(super) struct Start {
    /// Further arguments of the command.
    pub(super) arguments: Vec<String>,
    /// The first line of its standard input, which then stays open; `None`: it reads nothing there,
    /// and finds what it is given while it works in the file `ABIDE_INBOX`.
    pub(super) input: Option<String>,
    /// What the executor itself wants to find in the folder again: `executor.json`.
    pub(super) note: Option<serde_json::Value>,
}

/// Where [`Start::note`] is.
pub(super) fn note(folder: &Folder) -> PathBuf {
    folder.file("executor.json")
}

/// The name of the first line of input.
const FIRST: &str = "first";

/// Holds a segment that has not proceeded. Its keeper sees this end with its host, and then waits
/// for the next one; it ends at once when it is let go. OURS-20
#[derive(Debug)]
pub(super) struct Leash(ChildStdin);

impl Leash {
    /// Tells the keeper that nobody will come for its segment.
    pub(super) fn let_go(self) {
        // Should the keeper not hear it, it waits in vain and ends later.
        if let Ok(pipe) = self.0.into_owned_fd() {
            drop(std::fs::File::from(pipe).write(b"."));
        }
    }
}

/// Makes the folder, starts the keeper in it and returns once it can be controlled. If the future
/// is dropped, nothing was started, and nothing is. LEASE-07
pub(super) async fn launch(
    place: &Place,
    binding: &Binding,
    request: &RunRequest,
    start: &Start,
) -> Result<(Segment, Leash), LaunchError> {
    let name = format!("{}-{}", request.attempt, request.epoch);
    let folder = prepare(place, request, &name, start).await?;
    let launch = order(binding, request, &folder, start);
    let mut child = spawn(place, &folder)?;
    let (leash, ready) = introduce(&mut child, &launch)
        .await
        .map_err(|error| LaunchError::Holder { detail: said(&folder, &error) })?;
    // The keeper is our child for as long as we live: somebody has to reap it.
    tokio::spawn(async move { drop(child.wait().await) });
    let secret = folder.read_secret().map_err(preparing(folder.path()))?.hash();
    let keeper = KeeperRef { keeper: ready.keeper, secret };
    Ok((Segment::new(name, keeper), Leash(leash)))
}

/// Writes everything the process will read. It is synced, so it stays off the runtime's threads.
async fn prepare(
    place: &Place,
    request: &RunRequest,
    name: &str,
    start: &Start,
) -> Result<Folder, LaunchError> {
    let (segments, request, start) = (place.segments.clone(), request.clone(), start.clone());
    let path = segments.join(name);
    let prepared = tokio::task::spawn_blocking(move || {
        make_private(&segments)?;
        make_private(&request.work_dir)?;
        let folder = Folder::create(path.clone()).map_err(preparing(&path))?;
        folder.write_token(&request.token).map_err(preparing(&folder.token()))?;
        write_json(&folder.request(), &RequestFile::from(&request))
            .map_err(preparing(&folder.request()))?;
        if let Some(line) = &start.input {
            inbox::begin(&folder.inbox(), FIRST, line).map_err(preparing(&folder.inbox()))?;
        }
        if let Some(value) = &start.note {
            write_json(&note(&folder), value).map_err(preparing(&note(&folder)))?;
        }
        Ok(folder)
    });
    prepared.await.map_err(|error| LaunchError::Holder { detail: error.to_string() })?
}

fn make_private(path: &Path) -> Result<(), LaunchError> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(preparing(path))
}

/// What the keeper is to start. Event data is in a file and never in here.
fn order(binding: &Binding, request: &RunRequest, folder: &Folder, start: &Start) -> Launch {
    let input = start.input.is_some();
    Launch {
        version: Launch::version(input, !input),
        command: binding.command.iter().chain(&start.arguments).map(OsString::from).collect(),
        dir: request.work_dir.clone(),
        env: environment(binding, request, folder, start),
        grace_ms: u64::try_from(binding.grace.as_millis()).unwrap_or(u64::MAX),
        input,
        events: !input,
    }
}

/// The whole environment: what the binding lets through, then ours, which wins.
fn environment(
    binding: &Binding,
    request: &RunRequest,
    folder: &Folder,
    start: &Start,
) -> Vec<(OsString, OsString)> {
    let passed =
        binding.env.iter().filter_map(|name| Some((OsString::from(name), std::env::var_os(name)?)));
    let own = [
        ("ABIDE_REASON", reason(request.reason).into()),
        ("ABIDE_REQUEST", folder.request().into_os_string()),
        ("ABIDE_DIR", request.work_dir.clone().into_os_string()),
        ("ABIDE_SOCKET", request.socket.clone().into_os_string()),
        ("ABIDE_TOKEN_FILE", folder.token().into_os_string()),
    ];
    let inbox = start.input.is_none().then(|| ("ABIDE_INBOX", folder.events().into_os_string()));
    let own = own.into_iter().chain(inbox).map(|(name, value)| (name.into(), value));
    let trace = request.traceparent.iter().map(|trace| ("TRACEPARENT".into(), trace.into()));
    passed.chain(own).chain(trace).collect()
}

const fn reason(reason: StartReason) -> &'static str {
    match reason {
        StartReason::Start => "start",
        StartReason::Next => "next",
        StartReason::Resume => "resume",
    }
}

/// The keeper gets nothing of our environment, and leaves our session by itself.
fn spawn(place: &Place, folder: &Folder) -> Result<Child, LaunchError> {
    let log = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(folder.log())
        .map_err(preparing(&folder.log()))?;
    Command::new(&place.program)
        .arg0("abide")
        .arg("keeper")
        .arg(folder.path())
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()
        .map_err(preparing(&place.program))
}

async fn introduce(child: &mut Child, launch: &Launch) -> io::Result<(ChildStdin, Ready)> {
    let mut stdin = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
    let mut stdout = BufReader::new(child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?);
    let ready = async {
        write_line(&mut stdin, launch).await?;
        read_line::<Ready>(&mut stdout).await
    };
    let ready = tokio::time::timeout(READY_MAX, ready)
        .await
        .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??
        .ok_or(io::ErrorKind::UnexpectedEof)?;
    if ready.version != launch.version || child.id() != u32::try_from(ready.keeper.pid).ok() {
        return Err(io::Error::other("the program is no keeper that understands this launch"));
    }
    Ok((stdin, ready))
}

/// What the keeper complained of, or else what happened to the conversation.
fn said(folder: &Folder, error: &io::Error) -> String {
    match std::fs::read(folder.log()) {
        Ok(log) if !log.is_empty() => String::from_utf8_lossy(&log).trim().to_owned(),
        Ok(_) | Err(_) => error.to_string(),
    }
}

fn preparing(path: &Path) -> impl Fn(io::Error) -> LaunchError + use<> {
    let path = PathBuf::from(path);
    move |error| LaunchError::Prepare { path: path.clone(), error }
}
