//! The shell executor: any command, held by a keeper.
//!
//! The command finds everything in its environment ([`crate::extension::request`] says what is in
//! the request file) and talks back with `abide tool`. It runs in the Work's own folder. Exit 0 is
//! completed unless it declared another result; anything else is failed, and the end of its
//! standard error is the reason.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::process::Signal;

use super::launch::{self, Leash};
use super::outcome;
use super::segment::Segment;
use crate::extension::executor::{
    BoxFuture, Capabilities, ControlError, Credentials, Executor, Exit, LaunchError, Metadata,
    NotAdoptable, RunRequest, StopError, Stopped,
};
use crate::keeper::client::{ClientError, Controller};
use crate::keeper::orphans;
use crate::keeper::processes::{Handle, after, running_below, stop_all};

/// Pause before looking again when the system could not say whether a keeper runs.
const AGAIN: Duration = Duration::from_secs(1);

/// Where the executor finds and puts things.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The `abide` binary, absolute: keepers are processes of it.
    pub program: PathBuf,
    /// The folder of all segment folders, absolute, in the state folder; made if it is not there.
    pub segments: PathBuf,
}

/// How often a keeper that lives is asked again before it counts as not adoptable.
const RECOVER_TRIES: u32 = 5;

/// What a keeper that is asked to end by a signal gets beyond the grace of its command.
const KEEPER_GRACE: Duration = Duration::from_secs(5);

/// What a binding of `executor = "shell"` configures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// The command and its arguments. A name without a slash is looked up in the `PATH` that `env`
    /// lets through; any other is absolute, because it is started in the Work's folder.
    pub command: Vec<String>,
    /// Names of our environment that the command gets; nothing else of it passes.
    pub env: Vec<String>,
    /// The command knows what to do with `ABIDE_REASON=resume`.
    pub resumes: bool,
    /// How long what outlives the command has to end by itself.
    pub grace: Duration,
}

impl Binding {
    /// The values of our environment that the command is given.
    fn passed(&self) -> Vec<String> {
        self.env.iter().filter_map(|name| std::env::var(name).ok()).collect()
    }
}

/// Runs commands under keepers.
#[derive(Debug)]
pub struct Shell {
    place: Place,
    binding: Binding,
    /// Segments launched here that have not proceeded, by folder name.
    leashes: Mutex<HashMap<String, Leash>>,
}

impl Shell {
    /// An executor of this binding.
    #[must_use]
    pub fn new(place: Place, binding: Binding) -> Self {
        Self { place, binding, leashes: Mutex::default() }
    }

    async fn launch(&self, request: &RunRequest) -> Result<Metadata, LaunchError> {
        let (segment, leash) = launch::launch(&self.place, &self.binding, request).await?;
        let metadata = segment.metadata();
        self.leashes().insert(segment.name().to_owned(), leash);
        Ok(metadata)
    }

    async fn start(&self, metadata: &Metadata) -> Result<(), ControlError> {
        let segment = Segment::read(metadata).map_err(|detail| ControlError { detail })?;
        let folder = segment.folder(&self.place.segments);
        let told = async { Controller::open(&folder, &segment.keeper).await?.proceed().await };
        match told.await {
            Ok(()) => {}
            // It ended, perhaps while we asked: there is nothing left to start.
            Err(_) if self.has_ended(&segment) => {}
            Err(error) => return Err(ControlError { detail: error.to_string() }),
        }
        self.leashes().remove(segment.name());
        Ok(())
    }

    async fn adopt(
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
                Err(_) if self.has_ended(&segment) => {
                    return folder.write_token(&credentials.token).map_err(|error| NotAdoptable {
                        reason: format!("its token stands: {error}"),
                    });
                }
                // A keeper that lives and does not answer proves nothing yet. ADOPT-19
                Err(ClientError::Io(error)) if tries < RECOVER_TRIES && lives(&segment) => {
                    tracing::warn!(segment = segment.name(), %error, "a keeper does not answer yet");
                    tries += 1;
                    tokio::time::sleep(AGAIN).await;
                }
                Err(error) => return Err(NotAdoptable { reason: error.to_string() }),
            }
        }
    }

    async fn wait(&self, metadata: &Metadata) -> Exit {
        let segment = match Segment::read(metadata) {
            Ok(segment) => segment,
            Err(reason) => return Exit::Lost { reason },
        };
        loop {
            match self.wait_once(&segment).await {
                Ok(exit) => return exit,
                Err(error) => {
                    tracing::warn!(segment = segment.name(), %error, "cannot see a keeper");
                    tokio::time::sleep(AGAIN).await;
                }
            }
        }
    }

    /// Waits for the keeper, not for its file: a killed keeper writes none.
    async fn wait_once(&self, segment: &Segment) -> io::Result<Exit> {
        if let Some(keeper) = Handle::of(&segment.keeper.keeper)? {
            keeper.ended().await?;
        }
        match segment.exit(&self.place.segments) {
            Ok(Some(exit)) => Ok(outcome::exit(
                &segment.folder(&self.place.segments),
                &exit.ending,
                &self.binding.passed(),
            )),
            Ok(None) => Ok(lost("its keeper is gone and left no exit status")),
            Err(error) => Ok(lost(&format!("its exit status is unreadable: {error}"))),
        }
    }

    async fn end(&self, metadata: &Metadata, grace: Duration) -> Result<Stopped, StopError> {
        let segment = Segment::read(metadata).map_err(|detail| StopError::Unknown { detail })?;
        if segment.exit(&self.place.segments)?.is_some() {
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
        match segment.exit(&self.place.segments)? {
            Some(exit) => Ok(Stopped { signalled: true, forced: exit.forced }),
            None => orphans::stop(&folder, &segment.keeper.keeper, grace).await,
        }
    }

    fn has_ended(&self, segment: &Segment) -> bool {
        matches!(segment.exit(&self.place.segments), Ok(Some(_)))
    }

    fn leashes(&self) -> std::sync::MutexGuard<'_, HashMap<String, Leash>> {
        // A panic elsewhere cannot leave the map half changed.
        self.leashes.lock().unwrap_or_else(PoisonError::into_inner)
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

fn lost(reason: &str) -> Exit {
    Exit::Lost { reason: reason.to_owned() }
}

impl Executor for Shell {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            resumes: self.binding.resumes,
            holds_until_pin: true,
            injects: false,
            interrupts: false,
        }
    }

    fn run<'a>(&'a self, request: &'a RunRequest) -> BoxFuture<'a, Result<Metadata, LaunchError>> {
        Box::pin(self.launch(request))
    }

    fn resume<'a>(
        &'a self,
        request: &'a RunRequest,
    ) -> BoxFuture<'a, Result<Metadata, LaunchError>> {
        Box::pin(async move {
            if !self.binding.resumes {
                return Err(LaunchError::CannotResume);
            }
            self.launch(request).await
        })
    }

    fn proceed<'a>(&'a self, metadata: &'a Metadata) -> BoxFuture<'a, Result<(), ControlError>> {
        Box::pin(self.start(metadata))
    }

    fn recover<'a>(
        &'a self,
        metadata: &'a Metadata,
        credentials: &'a Credentials,
    ) -> BoxFuture<'a, Result<(), NotAdoptable>> {
        Box::pin(self.adopt(metadata, credentials))
    }

    fn observe<'a>(&'a self, metadata: &'a Metadata) -> BoxFuture<'a, Exit> {
        Box::pin(self.wait(metadata))
    }

    fn stop<'a>(
        &'a self,
        metadata: &'a Metadata,
        grace: Duration,
    ) -> BoxFuture<'a, Result<Stopped, StopError>> {
        Box::pin(self.end(metadata, grace))
    }

    fn release(&self, metadata: &Metadata) {
        if let Ok(segment) = Segment::read(metadata) {
            let leash = self.leashes().remove(segment.name());
            if let Some(leash) = leash {
                leash.let_go();
            }
        }
    }
}
