//! The agent executor: a command that speaks newline-delimited stream-json on its standard input
//! and output, held by a keeper. What the lines are is the public protocol of Claude Code's print
//! mode (`-p --input-format stream-json --output-format stream-json --verbose`); any program that
//! speaks it will do.
//!
//! A segment begins with one message, which is in the inbox before the command runs; its output is
//! read from the file that the keeper's command writes, so that a daemon that comes later sees all of
//! it. Once the agent has answered, its input is closed and it has the grace of its binding to leave.
//!
//! # Events that come while it works
//!
//! Each is a message of its own, whose `uuid` is the Event's, and an agent that is started with
//! `--replay-user-messages` echoes it with that `uuid` and `isReplay` when it takes it in. The echo
//! in the kept output, of a message that is in the kept inbox, is the proof, and nothing else is.
//! Nothing is accepted once the agent has answered. What was accepted just before may be what it does
//! in a further turn before it leaves: then the last answer counts, and it has as long for it as for
//! the first. EXEC-06 EXEC-09
//!
//! # What a turn comes to
//!
//! | The agent | The attempt |
//! |---|---|
//! | declared a result with `abide tool result` | is what it declared, if it answered or exited 0 |
//! | answered well | is completed |
//! | answered with an error | has failed, with its words |
//! | answered with an error after a limit was reached | has failed, with a hint. RETRY-13 |
//! | ended without an answer | has failed, with how it ended |
//!
//! A segment that registered a wait is void by then, whatever it comes to.
//!
//! # Sessions
//!
//! The agent names its session, and the name is kept in the Work's folder. If the binding resumes, a
//! later segment of the Work passes it as `--resume SESSION`. A session that two segments in a row
//! could not go on with, each leaving with an error before it began, is forgotten: the agent does not
//! know it any more. Being killed or kept from a network does not take it away.

mod prompt;
mod scan;
mod session;
mod stream;
mod used;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep, timeout};

use self::scan::{Scan, Scans};
use self::stream::{Answer, Seen};
use super::kept::{Binding, Kept, Place, apart, unreadable};
use super::launch::{self, Start};
use super::outcome;
use super::segment::Segment;
use crate::api::tool_types::ResultRequest;
use crate::domain::{AttemptUid, StartReason};
use crate::extension::executor::{
    BoxFuture, Capabilities, ControlError, Credentials, Executor, Exit, InjectError, Injection,
    LaunchError, Metadata, NotAdoptable, Report, RunRequest, StopError, Stopped,
};
use crate::extension::hint::rate_limited;
use crate::keeper::client::{ClientError, Controller};
use crate::keeper::folder::{Ending, ExitFile, Folder, read_json};

/// Pauses between two looks at the output; the longer one while nothing comes.
const LOOK: Duration = Duration::from_millis(50);
const LOOK_MAX: Duration = Duration::from_millis(500);

/// How long an agent that is stopped is looked at before.
const LAST_LOOK_MAX: Duration = Duration::from_secs(5);

/// What `executor.json` says.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Note {
    /// Version of this file.
    version: u32,
    /// The Work's folder.
    work_dir: PathBuf,
    /// The session that the agent was told to go on with.
    resumed: Option<String>,
}

/// An agent that has answered.
#[derive(Debug)]
struct Leaving {
    /// Its input is closed.
    told: bool,
    /// When it has to be gone, unless it goes on.
    by: Instant,
    /// How often it had answered then.
    answers: u64,
}

/// Runs agents under keepers.
#[derive(Debug)]
pub struct Agent {
    kept: Kept,
    prompt: Option<PathBuf>,
    /// What its agents have said so far.
    scans: Scans,
}

impl Agent {
    /// An executor of this binding. `prompt` is a file of the operator's whose text every message
    /// begins with.
    #[must_use]
    pub fn new(place: Place, binding: Binding, prompt: Option<PathBuf>) -> Self {
        Self { kept: Kept::new(place, binding), prompt, scans: Scans::default() }
    }

    async fn launch(&self, request: &RunRequest) -> Result<Metadata, LaunchError> {
        let resumed = self.session(request).await?;
        let words = self.words().await?;
        let arguments = resumed.iter().flat_map(|id| ["--resume".to_owned(), id.clone()]).collect();
        let note = Note { version: 1, work_dir: request.work_dir.clone(), resumed };
        let note = serde_json::to_value(note).map_err(|error| self.unprepared(error.into()))?;
        let input = prompt::message(&words, request);
        self.kept.launch(request, &Start { arguments, input: Some(input), note: Some(note) }).await
    }

    /// What to go on with: nothing for the first attempt of a Work.
    async fn session(&self, request: &RunRequest) -> Result<Option<String>, LaunchError> {
        match request.reason {
            StartReason::Start => Ok(None),
            StartReason::Next | StartReason::Resume if !self.kept.binding.resumes => Ok(None),
            StartReason::Next | StartReason::Resume => {
                let work = request.work_dir.clone();
                let read = apart(move || Ok(session::read(&work))).await;
                read.map_err(|error| self.unprepared(error))
            }
        }
    }

    /// What the operator wrote for the agent.
    async fn words(&self) -> Result<String, LaunchError> {
        let Some(path) = self.prompt.clone() else { return Ok(String::new()) };
        let read = apart(move || prompt::operators(&path)).await;
        read.map_err(|error| self.unprepared(error))
    }

    fn unprepared(&self, error: io::Error) -> LaunchError {
        LaunchError::Prepare { path: self.prompt.clone().unwrap_or_default(), error }
    }

    async fn wait(&self, metadata: &Metadata) -> Exit {
        let segment = match Segment::read(metadata) {
            Ok(segment) => segment,
            Err(reason) => return Exit::Lost { reason },
        };
        let folder = self.kept.folder(&segment);
        let mut turn = self.turn(&segment).await;
        match self.ended(&segment, metadata, &mut turn).await {
            Ok(exit) => {
                turn.look(true).await;
                self.judge(&segment, folder, exit, turn).await
            }
            Err(reason) => Exit::Lost { reason },
        }
    }

    async fn turn(&self, segment: &Segment) -> Turn {
        Turn::of(&self.kept.folder(segment), self.scan(segment)).await
    }

    /// What the agent of this segment says, as far as it was looked at.
    fn scan(&self, segment: &Segment) -> Scan {
        self.scans.of(segment.name(), &self.kept.folder(segment))
    }

    /// Follows the turn to its end, and sees to it that there is one once the agent has answered.
    async fn ended(
        &self,
        segment: &Segment,
        metadata: &Metadata,
        turn: &mut Turn,
    ) -> Result<ExitFile, String> {
        let ended = self.kept.ended(segment);
        tokio::pin!(ended);
        let mut pause = LOOK;
        let mut leaving: Option<Leaving> = None;
        loop {
            pause = if turn.look(false).await { LOOK } else { (pause * 2).min(LOOK_MAX) };
            if turn.seen().answer.is_some() {
                let (by, answers) = (Instant::now() + self.kept.binding.grace, turn.seen().answers);
                let leaving = leaving.get_or_insert(Leaving { told: false, by, answers });
                if turn.seen().goes_on() || leaving.answers != answers {
                    (leaving.by, leaving.answers) = (by, answers);
                }
                self.dismiss(metadata, segment, leaving).await;
            }
            tokio::select! {
                ended = &mut ended => return ended,
                () = sleep(pause) => {}
            }
        }
    }

    /// Closes the agent's input, which is how it knows that nothing more is asked of it, and stops it
    /// if it stays: its answer is all that it was started for.
    async fn dismiss(&self, metadata: &Metadata, segment: &Segment, leaving: &mut Leaving) {
        if !leaving.told {
            // It may have gone by itself; if not, it is told again.
            leaving.told = self.close(segment).await.is_ok();
        }
        if Instant::now() >= leaving.by {
            tracing::warn!(segment = segment.name(), "an agent does not leave; it is stopped");
            if let Err(error) = self.kept.end(metadata, self.kept.binding.grace).await {
                tracing::warn!(segment = segment.name(), %error, "an agent cannot be stopped");
            }
        }
    }

    /// Ends the agent's input after what is in its inbox; an error if that is not known to be so.
    async fn close(&self, segment: &Segment) -> Result<(), ClientError> {
        let folder = self.kept.folder(segment);
        let told = async { Controller::open(&folder, &segment.keeper).await?.close_input().await };
        told.await.inspect_err(|error| {
            tracing::debug!(segment = segment.name(), %error, "an input is not closed yet");
        })
    }

    /// Gives the agent an Event as a message, if it is held here and has not answered. EXEC-09 EXEC-10
    async fn offer(&self, metadata: &Metadata, injection: &Injection) -> Result<(), InjectError> {
        let segment = self.kept.held(metadata)?;
        let (id, line) = (injection.event.to_string(), prompt::injected(injection));
        let seen = self.scan(&segment).all().await;
        let seen = seen.map_err(|error| InjectError::Ambiguous { detail: error.to_string() })?;
        // What was accepted before the answer stays so, and nothing else is from here on.
        if seen.answer.is_some()
            && let Err(error) = self.close(&segment).await
        {
            return self.kept.undelivered(&segment, &id, &error).await;
        }
        self.kept.deliver(metadata, &id, &line).await
    }

    /// What the agent echoed of what it was given, each once and in the order it was accepted in, and
    /// what it says it used. EXEC-04 EXEC-05 EXEC-06 EXEC-11
    async fn evidence(&self, metadata: &Metadata) -> Result<Report, ControlError> {
        let segment = Segment::read(metadata).map_err(|detail| ControlError { detail })?;
        let scan = self.scan(&segment);
        let look = async {
            // What it has said before what it was given: no echo is without its message.
            let seen = scan.all().await?;
            Ok((seen, scan.given().await?))
        };
        let (seen, given) = look.await.map_err(|error: io::Error| unreadable(&error))?;
        let consumed = given.into_iter().filter(|event| seen.echoes.contains(&event.uuid()));
        Ok(Report { consumed: consumed.collect(), usage: seen.used.amounts() })
    }

    /// What the turn comes to, as often as it is asked.
    async fn judge(&self, segment: &Segment, folder: Folder, exit: ExitFile, turn: Turn) -> Exit {
        let (binding, segment) = (self.kept.binding.clone(), segment.name().to_owned());
        let judged = apart(move || {
            turn.doubt(&exit.ending, &segment);
            let declared = outcome::declared(&folder);
            Ok(match declared {
                Ok(declared) => comes_to(&folder, &exit.ending, declared, turn.seen(), &binding),
                Err(unreadable) => unreadable,
            })
        });
        judged.await.unwrap_or_else(|error| {
            outcome::failed(&format!("what it left cannot be looked at: {error}"), None)
        })
    }

    async fn end(&self, metadata: &Metadata, grace: Duration) -> Result<Stopped, StopError> {
        if let Ok(segment) = Segment::read(metadata) {
            // Its session outlives it, also where nobody watched. It is stopped all the same.
            let look = async { self.turn(&segment).await.look(false).await };
            if timeout(LAST_LOOK_MAX, look).await.is_err() {
                tracing::warn!(segment = segment.name(), "an agent's session cannot be seen");
            }
        }
        self.kept.end(metadata, grace).await
    }
}

/// What a turn comes to.
fn comes_to(
    folder: &Folder,
    ending: &Ending,
    declared: Option<ResultRequest>,
    seen: &Seen,
    binding: &Binding,
) -> Exit {
    let passed = binding.passed();
    let exit = match (declared, seen.last_answer(), ending) {
        (Some(declared), Some(_), _) | (Some(declared), None, Ending::Exited(0)) => {
            outcome::judged(declared)
        }
        (None, Some(Answer::Done), _) => Exit::Completed { status: None, continuation: None },
        (None, Some(Answer::Failed(why)), _) => {
            let why = outcome::head(folder, why, &passed);
            outcome::failed(&format!("the agent answered with an error: {why}"), None)
        }
        (declared, None, ending) => {
            let mut why = outcome::describe(folder, ending, &passed);
            if seen.skipped > 0 {
                why = format!("{why} ({} lines of its output were not understood)", seen.skipped);
            }
            outcome::failed(&format!("the agent ended without an answer: {why}"), declared)
        }
    };
    hinted(exit, seen)
}

/// A failure after a limit says when to try again, unless the process itself has said so. RETRY-13
fn hinted(exit: Exit, seen: &Seen) -> Exit {
    match exit {
        Exit::Failed { reason, status, continuation, retry_after: None } => {
            let limit = seen.limit();
            let retry_after = limit.map(|reset| rate_limited(reset, outcome::now()));
            Exit::Failed { reason, status, continuation, retry_after }
        }
        exit @ (Exit::Failed { .. }
        | Exit::Completed { .. }
        | Exit::HandedOff { .. }
        | Exit::Lost { .. }) => exit,
    }
}

/// A turn as its folder shows it.
#[derive(Debug)]
struct Turn {
    note: Option<Note>,
    scan: Scan,
    seen: Seen,
    /// So much of the output that is of.
    at: u64,
    /// The session that is kept.
    kept: Option<String>,
    /// Why the output could not be read the last time.
    trouble: Option<String>,
}

impl Turn {
    async fn of(folder: &Folder, scan: Scan) -> Self {
        let path = launch::note(folder);
        let note = apart(move || read_json(&path)).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "what an agent was launched with is unreadable");
            None
        });
        Self { note, scan, seen: Seen::default(), at: 0, kept: None, trouble: None }
    }

    const fn seen(&self) -> &Seen {
        &self.seen
    }

    /// Reads what is new, and keeps the session as soon as it has a name. `last`: nothing comes after
    /// what is there. Answers whether there was anything.
    async fn look(&mut self, last: bool) -> bool {
        let looked = if last {
            self.scan.all().await.map(|seen| Some((self.at, seen)))
        } else {
            self.scan.look(self.at).await
        };
        let more = match looked {
            Ok(Some((at, seen))) => {
                (self.at, self.seen, self.trouble) = (at, seen, None);
                true
            }
            Ok(None) => false,
            Err(error) => {
                self.complain(&error);
                false
            }
        };
        self.keep_session().await;
        more
    }

    /// It is looked at often, and an agent can see to it that it stays unreadable.
    fn complain(&mut self, error: &io::Error) {
        let trouble = Some(error.to_string());
        if self.trouble != trouble {
            tracing::warn!(%error, "an agent's output cannot be read");
            self.trouble = trouble;
        }
    }

    async fn keep_session(&mut self) {
        let (Some(id), Some(note)) = (&self.seen.session, &self.note) else { return };
        if self.kept.as_ref() == Some(id) {
            return;
        }
        let (id, work) = (id.clone(), note.work_dir.clone());
        match apart(move || session::write(&work, &id).map(|()| id)).await {
            Ok(id) => self.kept = Some(id),
            Err(error) => tracing::warn!(%error, "an agent's session cannot be kept"),
        }
    }

    /// An agent that was told to go on with a session, did not begin one and left with an error may
    /// not know it. One that was killed, or that a limit kept out, says nothing about that.
    fn doubt(&self, ending: &Ending, segment: &str) {
        let Some(Note { work_dir, resumed: Some(id), .. }) = &self.note else { return };
        let refused = match ending {
            Ending::Exited(code) => *code != 0,
            Ending::Killed(_) | Ending::NotStarted(_) | Ending::Unknown(_) => false,
        };
        if refused
            && self.seen.session.is_none()
            && self.seen.limit().is_none()
            && let Err(error) = session::doubt(work_dir, id, segment)
        {
            tracing::warn!(%error, "an agent's session cannot be doubted");
        }
    }
}

impl Executor for Agent {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            resumes: self.kept.binding.resumes,
            holds_until_pin: true,
            injects: self.kept.binding.injects,
            interrupts: self.kept.binding.interrupts,
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
            if !self.kept.binding.resumes {
                return Err(LaunchError::CannotResume);
            }
            self.launch(request).await
        })
    }

    fn proceed<'a>(&'a self, metadata: &'a Metadata) -> BoxFuture<'a, Result<(), ControlError>> {
        Box::pin(self.kept.start(metadata))
    }

    fn recover<'a>(
        &'a self,
        metadata: &'a Metadata,
        credentials: &'a Credentials,
    ) -> BoxFuture<'a, Result<(), NotAdoptable>> {
        Box::pin(self.kept.adopt(metadata, credentials))
    }

    fn observe<'a>(&'a self, metadata: &'a Metadata) -> BoxFuture<'a, Exit> {
        Box::pin(self.wait(metadata))
    }

    fn inject<'a>(
        &'a self,
        metadata: &'a Metadata,
        injection: &'a Injection,
    ) -> BoxFuture<'a, Result<(), InjectError>> {
        Box::pin(self.offer(metadata, injection))
    }

    fn interrupt<'a>(&'a self, metadata: &'a Metadata) -> BoxFuture<'a, Result<(), ControlError>> {
        Box::pin(self.kept.interrupt(metadata))
    }

    fn report<'a>(&'a self, metadata: &'a Metadata) -> BoxFuture<'a, Result<Report, ControlError>> {
        Box::pin(self.evidence(metadata))
    }

    fn stop<'a>(
        &'a self,
        metadata: &'a Metadata,
        grace: Duration,
    ) -> BoxFuture<'a, Result<Stopped, StopError>> {
        Box::pin(self.end(metadata, grace))
    }

    fn find<'a>(&'a self, attempt: AttemptUid) -> BoxFuture<'a, Result<Vec<Metadata>, StopError>> {
        Box::pin(self.kept.find(attempt))
    }

    fn release(&self, metadata: &Metadata) {
        self.kept.release(metadata);
        if let Ok(segment) = Segment::read(metadata) {
            self.scans.forget(segment.name());
        }
    }
}
