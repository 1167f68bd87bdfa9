//! What every executor that runs a command under a keeper shares: launching, starting, adopting,
//! giving it lines to read, seeing the end and stopping. What an end means, and what a line is, is the
//! executor's own.

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
    ControlError, Credentials, InjectError, LaunchError, Metadata, NotAdoptable, RunRequest,
    StopError, Stopped,
};
use crate::keeper::client::{ClientError, Controller};
use crate::keeper::folder::{ExitFile, Folder};
use crate::keeper::processes::{Handle, after, running_below, stop_all};
use crate::keeper::protocol::Denial;
use crate::keeper::{inbox, orphans};

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

/// How long a keeper has to answer that it is told of an interrupt; less than hosts wait for.
const TELL_MAX: Duration = Duration::from_secs(5);

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
    /// The command takes in what comes while it works.
    pub injects: bool,
    /// The command may be stopped for what comes while it works.
    pub interrupts: bool,
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
    /// Segments that were launched or adopted here, by folder name. EXEC-10
    grips: Mutex<HashMap<String, Grip>>,
}

/// How a segment is held here.
#[derive(Debug)]
enum Grip {
    /// It has not proceeded.
    Leashed(Leash),
    /// It goes on without anybody.
    Loose,
    /// It was seen to have ended.
    Ended,
}

/// Segments that are remembered before those that have ended are forgotten.
const GRIPS: usize = 1024;

impl Kept {
    pub(super) fn new(place: Place, binding: Binding) -> Self {
        Self { place, binding, grips: Mutex::default() }
    }

    pub(super) async fn launch(
        &self,
        request: &RunRequest,
        start: &Start,
    ) -> Result<Metadata, LaunchError> {
        let (segment, leash) = launch::launch(&self.place, &self.binding, request, start).await?;
        let metadata = segment.metadata();
        self.grip(&segment, Grip::Leashed(leash));
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
        if let Some(grip) = self.grips().get_mut(segment.name()) {
            *grip = Grip::Loose;
        }
        Ok(())
    }

    pub(super) async fn adopt(
        &self,
        metadata: &Metadata,
        credentials: &Credentials,
    ) -> Result<(), NotAdoptable> {
        let segment = Segment::read(metadata).map_err(|reason| NotAdoptable { reason })?;
        self.take_over(&segment, credentials).await?;
        if !self.grips().contains_key(segment.name()) {
            self.grip(&segment, Grip::Loose);
        }
        Ok(())
    }

    async fn take_over(
        &self,
        segment: &Segment,
        credentials: &Credentials,
    ) -> Result<(), NotAdoptable> {
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
                Err(_) if self.has_ended(segment).await => {
                    let token = credentials.token.clone();
                    return apart(move || withdrawn(&folder, folder.write_token(&token)))
                        .await
                        .map_err(|error| NotAdoptable {
                            reason: format!("its token stands: {error}"),
                        });
                }
                // A keeper that lives and does not answer, or cannot do it now, proves nothing yet.
                // ADOPT-19
                Err(error) if passing(&error) && tries < RECOVER_TRIES && lives(segment) => {
                    tracing::warn!(segment = segment.name(), %error, "a keeper is asked again");
                    tries += 1;
                    tokio::time::sleep(AGAIN).await;
                }
                Err(error) => return Err(NotAdoptable { reason: error.to_string() }),
            }
        }
    }

    /// The segment, if it was launched or adopted here and not let go of since. EXEC-10
    ///
    /// # Errors
    /// It is not held here, so that nothing is accepted for it.
    pub(super) fn held(&self, metadata: &Metadata) -> Result<Segment, InjectError> {
        let segment =
            Segment::read(metadata).map_err(|detail| InjectError::NotAccepting { detail })?;
        if self.grips().contains_key(segment.name()) {
            return Ok(segment);
        }
        let detail = "this executor does not hold the segment".to_owned();
        Err(InjectError::NotAccepting { detail })
    }

    /// Gives the command a line to read, under an id that names it for good: `Ok` once the keeper has
    /// it. The same id again is the same line, whatever it says. EXEC-01 POLICY-17 POLICY-18
    ///
    /// # Errors
    /// That it is not accepting is said only where that is certain: the segment is not held here or
    /// has ended, its result is declared, or its keeper has no way to take the line. EXEC-02 EXEC-03
    pub(super) async fn deliver(
        &self,
        metadata: &Metadata,
        id: &str,
        line: &str,
    ) -> Result<(), InjectError> {
        let segment = self.held(metadata)?;
        if self.is_over(&segment) {
            return self.accepted_before(&segment, id, "the segment is over").await;
        }
        // No inbox takes it, and much more no keeper reads to its end, which would answer nothing.
        if line.len() > inbox::LINE_MAX {
            return self.accepted_before(&segment, id, "a line has at most 1 MiB").await;
        }
        let folder = self.folder(&segment);
        let told =
            async { Controller::open(&folder, &segment.keeper).await?.deliver(id, line).await };
        match told.await {
            Ok(()) => Ok(()),
            Err(error) => match refusal(&error) {
                Refusal::There => {
                    tracing::warn!(segment = segment.name(), id, "a line is there in other words");
                    Ok(())
                }
                Refusal::Never => Err(InjectError::NotAccepting { detail: error.to_string() }),
                Refusal::Unknown => self.undelivered(&segment, id, &error).await,
            },
        }
    }

    /// Whether a line was kept by a keeper that does not say so. One that is gone takes no more lines,
    /// so that its inbox tells; of one that lives nobody knows. EXEC-03
    ///
    /// # Errors
    /// It was not kept, or nobody knows.
    pub(super) async fn undelivered(
        &self,
        segment: &Segment,
        id: &str,
        error: &ClientError,
    ) -> Result<(), InjectError> {
        if !self.has_ended(segment).await && !is_gone(segment) {
            return Err(InjectError::Ambiguous { detail: error.to_string() });
        }
        self.accepted_before(segment, id, "its keeper is gone").await
    }

    /// What is said of a line that is not accepted any more: what the inbox has was accepted. EXEC-02
    async fn accepted_before(
        &self,
        segment: &Segment,
        id: &str,
        why: &str,
    ) -> Result<(), InjectError> {
        let folder = self.folder(segment);
        match apart(move || inbox::ids(&folder.inbox())).await {
            Ok(ids) if ids.iter().any(|there| there == id) => Ok(()),
            Ok(_) => {
                let detail = format!("{why}, and the line is not in its inbox");
                Err(InjectError::NotAccepting { detail })
            }
            Err(error) => {
                let detail = format!("{why}, and its inbox is unreadable: {error}");
                Err(InjectError::Ambiguous { detail })
            }
        }
    }

    /// Has the keeper remember that its command is to be stopped. Stopping it is for [`Kept::end`],
    /// once the attempt is fenced, and needs no more than that the keeper is ours and lives: one that
    /// cannot be told keeps nobody from it, and the intent is on record all the same.
    /// POLICY-19 POLICY-22
    ///
    /// # Errors
    /// There is no command any more, or nothing that holds it.
    pub(super) async fn interrupt(&self, metadata: &Metadata) -> Result<(), ControlError> {
        let segment = Segment::read(metadata).map_err(|detail| ControlError { detail })?;
        let folder = self.folder(&segment);
        let told = async { Controller::open(&folder, &segment.keeper).await?.interrupt().await };
        let told = tokio::time::timeout(TELL_MAX, told).await;
        let told = told.unwrap_or_else(|_| Err(io::Error::from(io::ErrorKind::TimedOut).into()));
        let Err(error) = told else { return Ok(()) };
        if is_closed(&error) || self.has_ended(&segment).await || !runs(&segment) {
            return Err(ControlError { detail: error.to_string() });
        }
        tracing::warn!(segment = segment.name(), %error, "a keeper is not told of an interrupt");
        Ok(())
    }

    /// Looks at what a segment has left in its folder, whether or not anything of it still runs.
    /// EXEC-11
    ///
    /// # Errors
    /// It is no segment of this executor's, or cannot be looked at.
    pub(super) async fn left<T: Send + 'static>(
        &self,
        metadata: &Metadata,
        look: impl FnOnce(&Folder) -> io::Result<T> + Send + 'static,
    ) -> Result<T, ControlError> {
        let segment = Segment::read(metadata).map_err(|detail| ControlError { detail })?;
        let folder = self.folder(&segment);
        apart(move || look(&folder)).await.map_err(|error| unreadable(&error))
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
        self.is_seen_to_have_ended(segment);
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
        let stopped = self.stop(&segment, grace).await?;
        self.is_seen_to_have_ended(&segment);
        Ok(stopped)
    }

    async fn stop(&self, segment: &Segment, grace: Duration) -> Result<Stopped, StopError> {
        if self.exit(segment).await?.is_some() {
            return Ok(Stopped { signalled: false, forced: false });
        }
        let folder = segment.folder(&self.place.segments);
        if let Some(keeper) = Handle::of(&segment.keeper.keeper)? {
            let told =
                async { Controller::open(&folder, &segment.keeper).await?.stop(grace).await };
            if told.await.is_err() {
                end_keeper(&keeper, segment, grace).await?;
            }
            keeper.ended().await?;
        }
        match self.exit(segment).await? {
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

    /// Lets go of a segment.
    pub(super) fn release(&self, metadata: &Metadata) {
        let Ok(segment) = Segment::read(metadata) else { return };
        let grip = self.grips().remove(segment.name());
        match grip {
            Some(Grip::Leashed(leash)) => leash.let_go(),
            Some(Grip::Loose | Grip::Ended) | None => {}
        }
    }

    fn grip(&self, segment: &Segment, grip: Grip) {
        let mut grips = self.grips();
        if grips.len() >= GRIPS {
            grips.retain(|_, grip| !matches!(grip, Grip::Ended));
        }
        grips.insert(segment.name().to_owned(), grip);
    }

    /// Nothing more is accepted for it, and it may be forgotten. EXEC-10
    fn is_seen_to_have_ended(&self, segment: &Segment) {
        if let Some(grip) = self.grips().get_mut(segment.name()) {
            *grip = Grip::Ended;
        }
    }

    fn is_over(&self, segment: &Segment) -> bool {
        matches!(self.grips().get(segment.name()), Some(Grip::Ended))
    }

    fn grips(&self) -> MutexGuard<'_, HashMap<String, Grip>> {
        // A panic elsewhere cannot leave the map half changed.
        self.grips.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Looks at files where it may take its time. What an attempt can reach it may have replaced with
/// anything, so none of it is looked at on the runtime's own threads.
pub(super) async fn apart<T: Send + 'static>(
    look: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    tokio::task::spawn_blocking(look).await.map_err(io::Error::other)?
}

pub(super) fn unreadable(error: &io::Error) -> ControlError {
    ControlError { detail: format!("what it left cannot be read: {error}") }
}

/// No command is there that could be stopped.
const fn is_closed(error: &ClientError) -> bool {
    matches!(error, ClientError::Refused { code: Denial::Closed, .. })
}

/// What may be otherwise in a moment: nobody answers, or a disk is full.
fn passing(error: &ClientError) -> bool {
    match error {
        ClientError::Io(_) | ClientError::Refused { code: Denial::Failed, .. } => true,
        ClientError::Older { .. }
        | ClientError::Unverified(_)
        | ClientError::Refused {
            code:
                Denial::NotAuthorised
                | Denial::UnknownVersion
                | Denial::UnknownRequest
                | Denial::Invalid
                | Denial::Closed
                | Denial::OtherLine
                | Denial::Other,
            ..
        } => false,
    }
}

/// What it means for a line that it was not taken.
enum Refusal {
    /// It is there, as it was said the first time.
    There,
    /// It is not there and never will be.
    Never,
    /// Nobody knows.
    Unknown,
}

fn refusal(error: &ClientError) -> Refusal {
    match error {
        ClientError::Refused { code: Denial::OtherLine, .. } => Refusal::There,
        ClientError::Older { .. }
        | ClientError::Refused {
            code: Denial::Closed | Denial::Invalid | Denial::UnknownRequest,
            ..
        } => Refusal::Never,
        ClientError::Io(_)
        | ClientError::Unverified(_)
        | ClientError::Refused {
            code: Denial::Failed | Denial::NotAuthorised | Denial::UnknownVersion | Denial::Other,
            ..
        } => Refusal::Unknown,
    }
}

/// Whether the keeper is certainly there. One that was killed and is not reaped yet has a handle, too,
/// and holds nothing any more.
fn runs(segment: &Segment) -> bool {
    matches!(segment.keeper.keeper.is_alive(), Ok(true))
}

/// Whether the keeper is certainly gone.
fn is_gone(segment: &Segment) -> bool {
    matches!(segment.keeper.keeper.is_alive(), Ok(false))
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
    use crate::keeper::client::KeeperRef;
    use crate::keeper::folder::Ending;
    use crate::keeper::identity::Identity;
    use crate::keeper::inbox::begin;

    /// EXEC-02 EXEC-03: what may be otherwise in a moment, or what nobody heard, is not certain.
    #[test]
    fn only_what_is_so_for_good_is_called_so() {
        let refused = |code| ClientError::Refused { code, detail: String::new() };
        let certain = [
            ClientError::Older { version: 2, what: "deliver" },
            refused(Denial::Closed),
            refused(Denial::Invalid),
            refused(Denial::UnknownRequest),
        ];
        let unknown = [
            ClientError::Io(io::ErrorKind::TimedOut.into()),
            ClientError::Io(io::ErrorKind::ConnectionRefused.into()),
            ClientError::Unverified("another process"),
            refused(Denial::Failed),
            refused(Denial::NotAuthorised),
            refused(Denial::UnknownVersion),
            refused(Denial::Other),
        ];
        assert!(certain.iter().all(|error| matches!(refusal(error), Refusal::Never)));
        assert!(unknown.iter().all(|error| matches!(refusal(error), Refusal::Unknown)));
        assert!(matches!(refusal(&refused(Denial::OtherLine)), Refusal::There));
    }

    /// EXEC-10: also where nobody observed it, as after a cancellation.
    #[tokio::test]
    async fn a_segment_that_was_stopped_is_over_and_may_be_forgotten() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let place = Place { program: IMAGE.into(), segments: root.path().to_owned() };
        let kept = Kept::new(
            place,
            Binding {
                command: Vec::new(),
                env: Vec::new(),
                resumes: false,
                injects: true,
                interrupts: true,
                grace: Duration::ZERO,
            },
        );
        let keeper = Identity { boot_id: "another".into(), pid: 7, start_time: 9 };
        let secret = Token::from_bytes([7; 32]).hash();
        let segment = |n: usize| {
            let keeper = KeeperRef { keeper: keeper.clone(), secret };
            Segment::new(format!("att_{n}-1"), keeper)
        };
        let folder = Folder::create(root.path().join("att_0-1")).expect("a new folder");
        begin(&folder.inbox(), "a", "one").expect("it is written");
        let ending = Ending::Exited(0);
        let exit =
            ExitFile { version: 3, keeper: keeper.clone(), ending, forced: false, inbox: None };
        folder.write_exit(&exit).expect("it is written");
        kept.grip(&segment(0), Grip::Loose);
        let metadata = segment(0).metadata();
        kept.end(&metadata, Duration::ZERO).await.expect("it is over");
        assert!(kept.is_over(&segment(0)));
        kept.deliver(&metadata, "a", "one").await.expect("it was accepted");
        let late = kept.deliver(&metadata, "b", "two").await;
        assert!(matches!(late, Err(InjectError::NotAccepting { .. })), "{late:?}");
        for n in 1..=GRIPS {
            kept.grip(&segment(n), Grip::Loose);
        }
        assert!(!kept.grips().contains_key(segment(0).name()), "it takes the place of others");
    }

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
