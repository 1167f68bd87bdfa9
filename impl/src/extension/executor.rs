//! What runs an attempt: the contract between the host, which holds the lease, and an executor,
//! which holds the process.
//!
//! The host goes through one segment (one claim of one attempt) in this order:
//!
//! 1. [`run`](Executor::run) or [`resume`](Executor::resume) prepares it and answers opaque
//!    [`Metadata`]. Nothing of the attempt proceeds yet.
//! 2. The host commits the metadata with the segment: the *pin*. A host that lost its lease calls
//!    [`release`](Executor::release) instead, and nothing was ever started. OURS-20
//! 3. [`proceed`](Executor::proceed) lets it start.
//! 4. [`observe`](Executor::observe) resolves when it has ended; the host commits the result. If
//!    the attempt was parked, ended or cancelled meanwhile the exit says only that the segment's
//!    processes are gone. POLICY-22
//!
//! While it runs the host may [`inject`](Executor::inject) Events or [`interrupt`](Executor::interrupt)
//! it, each time for an intent that is durable before the call. What the process took in is said by
//! [`report`](Executor::report) and by nothing else, and commits with the result. POLICY-12 EXEC-05
//!
//! A host that takes over an expired attempt gives the pinned metadata back byte for byte to
//! [`recover`](Executor::recover), then goes on at step 3: `proceed` is idempotent, so a crash
//! between the pin and `proceed` needs no case of its own. ADOPT-04 ADOPT-13
//!
//! An executor decides nothing that is durable, and no method is called inside a transaction.
//! ADOPT-03

use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::time::Duration;

use serde_json::Value;

use super::request::PreviousAttempt;
use crate::domain::{
    AttemptNo, AttemptUid, Epoch, EventUid, Generation, RetryHint, StartReason, Token, WorkUid,
};

/// A boxed future, so that the trait can be used as an object.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Runs attempts. Dropping an executor never touches a process that has proceeded. OURS-19
pub trait Executor: Send + Sync + fmt::Debug {
    /// What this executor can do under its binding; constant over its life.
    fn capabilities(&self) -> Capabilities;

    /// Prepares the segment of a new attempt, or of one that is launched again because nothing of
    /// it was ever started. Nothing of the attempt proceeds before
    /// [`proceed`](Executor::proceed). ADOPT-10
    ///
    /// # Errors
    /// The segment could not be prepared; nothing of it runs.
    fn run<'a>(&'a self, request: &'a RunRequest) -> BoxFuture<'a, Result<Metadata, LaunchError>>;

    /// Prepares the next segment of a parked attempt after its wake, under its new credentials.
    /// WAKE-16 EXEC-13
    ///
    /// # Errors
    /// As [`run`](Executor::run); also where [`Capabilities::resumes`] is `false`.
    fn resume<'a>(
        &'a self,
        request: &'a RunRequest,
    ) -> BoxFuture<'a, Result<Metadata, LaunchError>>;

    /// Lets the segment start; called once the pin has committed. Repeating it, also for a segment
    /// that has ended, changes nothing. What fails to start ends as [`Exit::Failed`].
    ///
    /// # Errors
    /// Whatever holds the segment could not be told.
    fn proceed<'a>(&'a self, metadata: &'a Metadata) -> BoxFuture<'a, Result<(), ControlError>>;

    /// Takes over a segment that this or another host started: verifies that what runs, or what
    /// is left of it once it has finished, is this segment's, and replaces the old epoch's
    /// credentials, before it answers. ADOPT-14 ADOPT-15
    ///
    /// # Errors
    /// The metadata is unknown, names something dead, or cannot be verified; nothing was
    /// signalled. That is no proof that its processes have stopped. ADOPT-19 ADOPT-22
    fn recover<'a>(
        &'a self,
        metadata: &'a Metadata,
        credentials: &'a Credentials,
    ) -> BoxFuture<'a, Result<(), NotAdoptable>>;

    /// Resolves when the segment has ended, with what came of it. It can be called again, and for
    /// a segment that ended long ago. Dropping the future only stops looking.
    fn observe<'a>(&'a self, metadata: &'a Metadata) -> BoxFuture<'a, Exit>;

    /// Offers an Event to the running process. `Ok` says that it was accepted for delivery, not that
    /// the process took it in. The same Event may be offered again, by this host or a later one, and
    /// reaches the process at least once and the [`report`](Executor::report) at most once.
    /// POLICY-18 EXEC-01 EXEC-04
    ///
    /// # Errors
    /// See [`InjectError`]: it was certainly not delivered, or nobody can tell.
    fn inject<'a>(
        &'a self,
        metadata: &'a Metadata,
        injection: &'a Injection,
    ) -> BoxFuture<'a, Result<(), InjectError>> {
        let _ = (metadata, injection);
        let detail = "this executor does not implement inject".to_owned();
        Box::pin(async move { Err(InjectError::NotAccepting { detail }) })
    }

    /// Tells what holds the segment that it is to be stopped. `Ok` says that it was told; the host
    /// then fences the attempt and has the process [stopped](Executor::stop). The result of a
    /// segment that ends in between may still be committed first. It may be called again.
    /// POLICY-19 POLICY-22
    ///
    /// # Errors
    /// It could not be told, or nobody knows whether it was.
    fn interrupt<'a>(&'a self, metadata: &'a Metadata) -> BoxFuture<'a, Result<(), ControlError>> {
        let _ = metadata;
        let detail = "this executor does not implement interrupt".to_owned();
        Box::pin(async move { Err(ControlError { detail }) })
    }

    /// What the process has taken in and used up so far, on its own evidence. The host asks when it
    /// commits a result, so the answer after the end is the final one; it outlives host and daemon.
    /// EXEC-04 EXEC-05 EXEC-11
    ///
    /// # Errors
    /// The evidence could not be read. A result without it only repeats input.
    fn report<'a>(&'a self, metadata: &'a Metadata) -> BoxFuture<'a, Result<Report, ControlError>> {
        let _ = metadata;
        Box::pin(async { Ok(Report::default()) })
    }

    /// Ends every process of the segment: asks, waits for `grace`, then forces. Resolves when they
    /// are *seen* to have exited, which may be never: the caller sets its own limit. CANCEL-06
    ///
    /// # Errors
    /// Something may still run and could not be told from a stranger's process; no stranger was
    /// signalled.
    fn stop<'a>(
        &'a self,
        metadata: &'a Metadata,
        grace: Duration,
    ) -> BoxFuture<'a, Result<Stopped, StopError>>;

    /// Looks for segments of an attempt that nobody pinned, or that were pinned in a life that the
    /// host's database does not know, for it was restored from a backup. What was never launched
    /// here, or cannot have proceeded, is not found. OURS-21
    ///
    /// # Errors
    /// It cannot be told what there is, so that something may run. An executor that has no way to
    /// look always answers so.
    fn find<'a>(&'a self, attempt: AttemptUid) -> BoxFuture<'a, Result<Vec<Metadata>, StopError>> {
        let detail = format!("its executor was handed {attempt} and has no way to find it again");
        Box::pin(async move { Err(StopError::Unknown { detail }) })
    }

    /// Lets go of a segment. One that has not proceeded ends without having started anything; one
    /// that has goes on untouched. LEASE-07 OURS-19
    fn release(&self, metadata: &Metadata);
}

/// What an executor implements. A binding advertises a part of it. POLICY-26
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Capabilities {
    /// [`Executor::resume`] continues a parked attempt; otherwise a wait ends the attempt.
    pub resumes: bool,
    /// No process of a segment proceeds before its pin, so an unpinned one may be launched again.
    /// ADOPT-05 ADOPT-07
    pub holds_until_pin: bool,
    /// [`Executor::inject`] reaches a running process, and [`Executor::report`] says what it took in.
    pub injects: bool,
    /// [`Executor::interrupt`] is implemented.
    pub interrupts: bool,
}

/// Everything an executor is told about the segment it prepares. Values are CloudEvents in JSON.
#[derive(Debug, Clone)]
pub struct RunRequest {
    /// The Work.
    pub work: WorkUid,
    /// The attempt.
    pub attempt: AttemptUid,
    /// The attempt's number.
    pub number: AttemptNo,
    /// The claim this segment is of.
    pub epoch: Epoch,
    /// The secret of that claim; it reaches the process in a file and nothing else.
    pub token: Token,
    /// Why the segment starts.
    pub reason: StartReason,
    /// The Event that started the attempt.
    pub trigger: Option<Value>,
    /// The batch this segment was handed, in acceptance order; the beginning of a long one.
    pub inputs: Vec<Value>,
    /// How many of the batch are not in `inputs`: the tool door has them.
    pub inputs_left: u32,
    /// The attempt before this one, for context only. OURS-24
    pub previous: Option<PreviousAttempt>,
    /// What the failed and interrupted attempts just before that one were handed, if it failed or was
    /// interrupted too: what the Work is still about. In acceptance order attempt by attempt; the
    /// beginning of a long row. OURS-24
    pub earlier: Vec<Value>,
    /// How many of them are not in `earlier`: the tool door has them.
    pub earlier_left: u32,
    /// What the last result left for this attempt.
    pub continuation: Option<String>,
    /// The configuration the segment is pinned to.
    pub generation: Generation,
    /// A folder of the Work's own; made if it is not there.
    pub work_dir: PathBuf,
    /// The daemon's tool door.
    pub socket: PathBuf,
    /// W3C trace context of the claim.
    pub traceparent: Option<String>,
}

/// What an executor needs to find a segment again. Opaque to everything else, and never a secret:
/// it is stored and shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metadata(pub String);

/// An Event that is offered to a running process.
#[derive(Debug, Clone, PartialEq)]
pub struct Injection {
    /// Names it for good: what is offered again has the same. POLICY-17
    pub event: EventUid,
    /// The Event, as a CloudEvent in JSON.
    pub body: Value,
    /// A send of it was tried before and nobody knows what came of it. POLICY-18
    pub repeated: bool,
}

/// Why an Event was not accepted for delivery.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InjectError {
    /// It was certainly not delivered and never will be: the process has finished or has given its
    /// result, has no input, or this executor does not hold it. EXEC-02 EXEC-09 EXEC-10
    #[error("not accepting: {detail}")]
    NotAccepting {
        /// Which of these, for people.
        detail: String,
    },
    /// Nobody can tell whether it was delivered. EXEC-03
    #[error("it is not known whether it was delivered: {detail}")]
    Ambiguous {
        /// What went wrong, for people.
        detail: String,
    },
}

/// What a segment's process has taken in and used up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Injected Events that the process took in, each once. Never one on the executor's own word.
    /// EXEC-05
    pub consumed: Vec<EventUid>,
    /// What it used, as far as it says: one amount a unit.
    pub usage: Vec<Usage>,
}

/// An amount that a process says it used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usage {
    /// Of what: `usd`, `input_tokens`.
    pub unit: String,
    /// How much, as decimal text.
    pub amount: String,
}

/// The new authority of an adopted segment.
#[derive(Debug, Clone)]
pub struct Credentials {
    /// The recoverer's claim.
    pub epoch: Epoch,
    /// The secret of that claim.
    pub token: Token,
}

/// How a segment ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exit {
    /// It did what it was asked to.
    Completed {
        /// What it says of its result; never interpreted.
        status: Option<String>,
        /// What it leaves for the next attempt.
        continuation: Option<String>,
    },
    /// It did, and leaves its Work open for the next input.
    HandedOff {
        /// What it says of its result; never interpreted.
        status: Option<String>,
        /// What it leaves for the next attempt.
        continuation: Option<String>,
    },
    /// It did not.
    Failed {
        /// Why, for people: valid text without control characters.
        reason: String,
        /// What it says of its result; never interpreted.
        status: Option<String>,
        /// What it leaves for the next attempt.
        continuation: Option<String>,
        /// What it says of the delay of a retry. It is passed on as it is: the law decides whether
        /// it is valid. RETRY-13 RETRY-16
        retry_after: Option<RetryHint>,
    },
    /// Whatever held it is gone and its result with it. Processes of it may still run: only
    /// [`Executor::stop`] shows that they do not. ADOPT-22
    Lost {
        /// Why, for people.
        reason: String,
    },
}

/// Every process of the segment has been seen to have exited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped {
    /// There was something to stop.
    pub signalled: bool,
    /// Something outlasted the grace and was killed.
    pub forced: bool,
}

/// A segment that could not be prepared. Nothing of it runs.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// This binding's executor does not continue parked attempts.
    #[error("this executor cannot resume a parked attempt")]
    CannotResume,
    /// A file or folder of the segment could not be made.
    #[error("cannot prepare `{path}`: {error}")]
    Prepare {
        /// Which.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// What should hold the process did not come up.
    #[error("the keeper did not start: {detail}")]
    Holder {
        /// What it said, or what was missing.
        detail: String,
    },
}

/// What holds a segment could not be told something.
#[derive(Debug, thiserror::Error)]
#[error("cannot control the segment: {detail}")]
pub struct ControlError {
    /// What went wrong.
    pub detail: String,
}

/// A segment that cannot be taken over. ADOPT-19
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not adoptable: {reason}")]
pub struct NotAdoptable {
    /// What did not hold, for people.
    pub reason: String,
}

/// A segment whose end could not be seen.
#[derive(Debug, thiserror::Error)]
pub enum StopError {
    /// Processes that may be this segment's run, and nothing proves that they are.
    #[error("processes {pids:?} may belong to the segment, but nothing proves it: none signalled")]
    Unverifiable {
        /// Which.
        pids: Vec<i32>,
    },
    /// The metadata is not this executor's.
    #[error("unknown segment: {detail}")]
    Unknown {
        /// What is wrong with it.
        detail: String,
    },
    /// The system did not answer.
    #[error("cannot stop the segment: {0}")]
    Io(#[from] std::io::Error),
}
