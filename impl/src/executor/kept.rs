//! What every executor that runs a command under a keeper shares: launching, starting, adopting,
//! seeing the end and stopping. What an end means is the executor's own.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::Signal;

use super::launch::{self, Leash, Start};
use super::segment::{self, Segment};
use crate::domain::AttemptUid;
use crate::extension::executor::{
    ControlError, Credentials, LaunchError, Metadata, NotAdoptable, RunRequest, StopError, Stopped,
};
use crate::keeper::client::{ClientError, Controller};
use crate::keeper::folder::{ExitFile, Folder};
use crate::keeper::orphans;
use crate::keeper::processes::{Handle, after, running_below, stop_all};
use crate::keeper::protocol::Denial;

/// Pause before looking again when the system could not say whether a keeper runs.
const AGAIN: Duration = Duration::from_secs(1);

/// This process's own program, also once the file it was started from is replaced or deleted.
pub const IMAGE: &str = "/proc/self/exe";

/// Where the executor finds and puts things.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The `abide` binary: keepers are processes of it. [`IMAGE`] where this process is one.
    pub program: PathBuf,
    /// The folder of all segment folders, absolute, in the state folder; made if it is not there.
    pub segments: PathBuf,
}

/// How often a keeper that lives is asked again before it counts as not adoptable.
const RECOVER_TRIES: u32 = 5;

/// What a keeper that is asked to end by a signal gets beyond the grace of its command.
const KEEPER_GRACE: Duration = Duration::from_secs(5);

/// What a binding configures for any executor that runs a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// The command and its arguments. A name without a slash is looked up in the `PATH` that `env`
    /// lets through; any other is absolute, because it is started in the Work's folder.
    pub command: Vec<String>,
    /// Names of our environment that the command gets; nothing else of it passes.
    pub env: Vec<String>,
    /// The command can go on where it was, after a wait.
    pub resumes: bool,
    /// How long what outlives the command has to end by itself.
    pub grace: Duration,
}

impl Binding {
    /// The values of our environment that the command is given.
    pub(super) fn passed(&self) -> Vec<String> {
        self.env.iter().filter_map(|name| std::env::var(name).ok()).collect()
    }
}

/// Commands of one binding under their keepers.
#[derive(Debug)]
pub(super) struct Kept {
    place: Place,
    pub(super) binding: Binding,
    /// Segments launched here that have not proceeded, by folder name.
    leashes: Mutex<HashMap<String, Leash>>,
}

impl Kept {
    pub(super) fn new(place: Place, binding: Binding) -> Self {
        Self { place, binding, leashes: Mutex::default() }
    }

    pub(super) async fn launch(
        &self,
        request: &RunRequest,
        start: &Start,
    ) -> Result<Metadata, LaunchError> {
        let (segment, leash) = launch::launch(&self.place, &self.binding, request, start).await?;
        let metadata = segment.metadata();
        self.leashes().insert(segment.name().to_owned(), leash);
        Ok(metadata)
    }

    pub(super) async fn start(&self, metadata: &Metadata) -> Result<(), ControlError> {
        let segment = Segment::read(metadata).map_err(|detail| ControlError { detail })?;
        let folder = segment.folder(&self.place.segments);
        let told = async { Controller::open(&folder, &segment.keeper).await?.proceed().await };
        match told.await {
            Ok(()) => {}
            // It ended, perhaps while we asked: there is nothing left to start.
            Err(_) if self.has_ended(&segment).await => {}
            Err(error) => return Err(ControlError { detail: error.to_string() }),
        }
        self.leashes().remove(segment.name());
        Ok(())
    }

    pub(super) async fn adopt(
        &self,
        metadata: &Metadata,
        credentials: &Credentials,
    ) -> Result<(), NotAdoptable> {
        let segment = Segment::read(metadata).map_err(|reason| NotAdoptable { reason })?;
        let folder = segment.folder(&self.place.segments);
        let mut tries = 0;
        loop {
            let token = credentials.token.clone();
            let told = async {
                Controller::open(&folder, &segment.keeper).await?.replace_token(token).await
            };
            match told.await {
                Ok(()) => return Ok(()),
                // The handle of a finished one: nothing is left that could read the new token, but
                // the old one is not left lying about either. ADOPT-14 ADOPT-15
                Err(_) if self.has_ended(&segment).await => {
                    let token = credentials.token.clone();
                    return apart(move || withdrawn(&folder, folder.write_token(&token)))
                        .await
                        .map_err(|error| NotAdoptable {
                            reason: format!("its token stands: {error}"),
                        });
                }
                // A keeper that lives and does not answer, or cannot do it now, proves nothing yet.
                // ADOPT-19
                Err(error) if passing(&error) && tries < RECOVER_TRIES && lives(&segment) => {
                    tracing::warn!(segment = segment.name(), %error, "a keeper is asked again");
                    tries += 1;
                    tokio::time::sleep(AGAIN).await;
                }
                Err(error) => return Err(NotAdoptable { reason: error.to_string() }),
            }
        }
    }

    /// Resolves once the keeper has ended, with what it left; an error says why that is nothing.
    /// It is the keeper that is waited for, not its file: a killed keeper writes none.
    pub(super) async fn ended(&self, segment: &Segment) -> Result<ExitFile, String> {
        loop {
            match keeper_ended(segment).await {
                Ok(()) => break,
                Err(error) => {
                    tracing::warn!(segment = segment.name(), %error, "cannot see a keeper");
                    tokio::time::sleep(AGAIN).await;
                }
            }
        }
        match self.exit(segment).await {
            Ok(Some(exit)) => Ok(exit),
            Ok(None) => Err("its keeper is gone and left no exit status".to_owned()),
            Err(error) => Err(format!("its exit status is unreadable: {error}")),
        }
    }

    pub(super) fn folder(&self, segment: &Segment) -> Folder {
        segment.folder(&self.place.segments)
    }

    pub(super) async fn end(
        &self,
        metadata: &Metadata,
        grace: Duration,
    ) -> Result<Stopped, StopError> {
        let segment = Segment::read(metadata).map_err(|detail| StopError::Unknown { detail })?;
        if self.exit(&segment).await?.is_some() {
            return Ok(Stopped { signalled: false, forced: false });
        }
        let folder = segment.folder(&self.place.segments);
        if let Some(keeper) = Handle::of(&segment.keeper.keeper)? {
            let told =
                async { Controller::open(&folder, &segment.keeper).await?.stop(grace).await };
            if told.await.is_err() {
                end_keeper(&keeper, &segment, grace).await?;
            }
            keeper.ended().await?;
        }
        match self.exit(&segment).await? {
            Some(exit) => Ok(Stopped { signalled: true, forced: exit.forced }),
            None => orphans::stop(&folder, &segment.keeper.keeper, grace).await,
        }
    }

    /// Every segment of an attempt that has a folder here and a keeper that could have started
    /// something. OURS-21
    pub(super) async fn find(&self, attempt: AttemptUid) -> Result<Vec<Metadata>, StopError> {
        let segments = self.place.segments.clone();
        tokio::task::spawn_blocking(move || segment::of_attempt(&segments, attempt))
            .await
            .map_err(io::Error::other)?
            .map_err(StopError::Io)
    }

    async fn has_ended(&self, segment: &Segment) -> bool {
        matches!(self.exit(segment).await, Ok(Some(_)))
    }

    async fn exit(&self, segment: &Segment) -> io::Result<Option<ExitFile>> {
        let (segment, segments) = (segment.clone(), self.place.segments.clone());
        apart(move || segment.exit(&segments)).await
    }

    /// Lets go of what has not proceeded.
    pub(super) fn release(&self, metadata: &Metadata) {
        if let Ok(segment) = Segment::read(metadata) {
            let leash = self.leashes().remove(segment.name());
            if let Some(leash) = leash {
                leash.let_go();
            }
        }
    }

    fn leashes(&self) -> MutexGuard<'_, HashMap<String, Leash>> {
        // A panic elsewhere cannot leave the map half changed.
        self.leashes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Looks at files where it may take its time. What an attempt can reach it may have replaced with
/// anything, so none of it is looked at on the runtime's own threads.
pub(super) async fn apart<T: Send + 'static>(
    look: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    tokio::task::spawn_blocking(look).await.map_err(io::Error::other)?
}

/// What may be otherwise in a moment: nobody answers, or a disk is full.
fn passing(error: &ClientError) -> bool {
    match error {
        ClientError::Io(_) | ClientError::Refused { code: Denial::Failed, .. } => true,
        ClientError::Unverified(_)
        | ClientError::Refused {
            code:
                Denial::NotAuthorised
                | Denial::UnknownVersion
                | Denial::UnknownRequest
                | Denial::Invalid
                | Denial::Other,
            ..
        } => false,
    }
}

/// The old token of a finished segment is gone if the new one is `written`, or else if its file is.
/// No full disk costs its result. ADOPT-15 ADOPT-18
fn withdrawn(folder: &Folder, written: io::Result<()>) -> io::Result<()> {
    let Err(error) = written else { return Ok(()) };
    tracing::warn!(%error, "a finished segment's token is removed, for it cannot be replaced");
    match std::fs::remove_file(folder.token()) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

async fn keeper_ended(segment: &Segment) -> io::Result<()> {
    match Handle::of(&segment.keeper.keeper)? {
        Some(keeper) => keeper.ended().await,
        None => Ok(()),
    }
}

fn lives(segment: &Segment) -> bool {
    matches!(Handle::of(&segment.keeper.keeper), Ok(Some(_)))
}

/// Ends a keeper that cannot be talked to. By boot, id and start time it is the one we started, and
/// while it lives it is the reaper of all that it holds: asked to end it takes that along and tells
/// how. One that does not listen either loses what it holds first, and goes last. POLICY-22
async fn end_keeper(keeper: &Handle, segment: &Segment, grace: Duration) -> Result<(), StopError> {
    keeper.signal(Signal::TERM)?;
    let limit = grace.saturating_add(KEEPER_GRACE);
    if tokio::time::timeout(limit, keeper.ended()).await.is_err() {
        let pid = segment.keeper.keeper.pid;
        stop_all(|| running_below(pid), after(Duration::ZERO)).await?;
        keeper.signal(Signal::KILL)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Token;

    /// ADOPT-15 ADOPT-18
    #[test]
    fn a_finished_segments_token_that_cannot_be_replaced_is_removed() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let folder = Folder::create(root.path().join("s")).expect("a new folder");
        let full = || Err(io::ErrorKind::StorageFull.into());
        folder.write_token(&Token::from_bytes([1; 32])).expect("it is written");
        withdrawn(&folder, full()).expect("it is gone");
        assert!(!folder.token().exists());
        withdrawn(&folder, full()).expect("it is gone already");

        std::fs::create_dir(folder.token()).expect("a folder");
        withdrawn(&folder, full()).expect_err("it stands");
    }
}
