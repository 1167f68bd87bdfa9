//! An executor in memory, with a process that does what the suite asks: the smallest that keeps the
//! contract, to be read beside it.
//!
//! What a host loses when it dies is in `Memory`: which segments its instance holds. What outlives it
//! is in `World`: the segments, what was delivered to each, and what its process has said that it
//! took in. The process is no task of its own. It acts at once whenever something happens to it, so
//! that a run of the suite over it waits for nothing.
//!
//! A [`Flaw`] breaks one clause of it, which shows that the suite would see that. EXEC-15

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use super::{Conduct, Limits, Stage, Subject};
use crate::domain::{
    AttemptNo, AttemptUid, Epoch, EventUid, Generation, StartReason, Token, WorkUid,
};
use crate::extension::executor::{
    BoxFuture, Capabilities, ControlError, Credentials, Executor, Exit, InjectError, Injection,
    LaunchError, Metadata, NotAdoptable, Report, RunRequest, StopError, Stopped,
};

/// The reference executor as a subject of the suite.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reference {
    /// The clause that is broken; `None`: it keeps all of them.
    pub flaw: Option<Flaw>,
    /// How long the suite waits for it.
    pub limits: Limits,
}

/// A clause of the contract that an executor breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    /// It says that it does not implement what it implements.
    HidesInject,
    /// It is not accepting for a process that runs.
    RefusesWhileRunning,
    /// It reports whatever it delivered.
    OverClaims,
    /// It accepts for a process that has ended.
    AcceptsAfterResult,
    /// It accepts for a segment that this instance neither started nor recovered.
    AcceptsUnheld,
    /// It keeps the proofs where its host does.
    LosesProofOnRecovery,
    /// It accepts everything and never reports anything.
    NeverConsumes,
    /// It accepts everything and delivers nothing.
    NeverDelivers,
    /// What is offered twice is reported twice.
    ReportsTwice,
    /// The report of an attempt's later segment names what an earlier one did.
    ReportsAgain,
    /// It reports what it is asked for only once.
    ForgetsWhatItSaid,
    /// It does not know what became of an Event that is offered after the end.
    VagueAfterEnd,
    /// It is not accepting when the answer to a send is lost.
    DeniesTheUnheard,
    /// It is not accepting for an Event that it has delivered before.
    DeniesTheRepeated,
    /// It accepts when the answer to a send is lost.
    AcceptsTheUnheard,
    /// It has no report of a process that failed.
    LosesProofOfFailure,
    /// It accepts for a recovered process, and delivers nothing.
    DropsAfterRecovery,
    /// It recovers a segment under its old secret.
    KeepsSecretOnRecovery,
    /// It resumes an attempt under its old secret.
    KeepsSecretOnResume,
    /// It cannot make the interrupt that it advertises.
    CannotInterrupt,
    /// It says that it interrupted what it does not know.
    InterruptsNothing,
    /// It answers a stop before the process is gone.
    LeavesRunning,
}

impl Subject for Reference {
    fn stage(&self, conduct: Conduct) -> Box<dyn Stage> {
        let (work, attempt) = (WorkUid::new(), AttemptUid::new());
        Box::new(Ground { work, attempt, world: Arc::new(World::new(conduct)), flaw: self.flaw })
    }

    fn limits(&self) -> Limits {
        self.limits
    }
}

/// A stage of the reference.
#[derive(Debug)]
struct Ground {
    work: WorkUid,
    attempt: AttemptUid,
    world: Arc<World>,
    flaw: Option<Flaw>,
}

impl Stage for Ground {
    fn executor(&self) -> Arc<dyn Executor> {
        let world = Arc::clone(&self.world);
        Arc::new(Double { world, memory: Mutex::default(), flaw: self.flaw })
    }

    fn request(&self) -> RunRequest {
        RunRequest {
            work: self.work,
            attempt: self.attempt,
            number: AttemptNo(1),
            epoch: Epoch(1),
            token: Token::from_bytes([1; 32]),
            reason: StartReason::Start,
            trigger: None,
            inputs: Vec::new(),
            inputs_left: 0,
            previous: None,
            earlier: Vec::new(),
            earlier_left: 0,
            continuation: None,
            generation: Generation(1),
            work_dir: "/nowhere".into(),
            socket: "/nowhere/tool.sock".into(),
            traceparent: None,
        }
    }

    fn cue(&self) {
        self.world.change(|state| state.cued = true);
    }

    fn taken_in(&self) -> Vec<EventUid> {
        let state = self.world.lock();
        state.segments.values().flat_map(|segment| segment.taken_in.clone()).collect()
    }

    fn runs(&self) -> bool {
        self.world.lock().segments.values().any(|segment| segment.phase == Phase::Running)
    }

    fn token(&self, segment: &Metadata) -> Option<Token> {
        self.world.lock().segments.get(&segment.0).map(|segment| segment.token.clone())
    }

    fn lose_next_answer(&self) -> bool {
        self.world.change(|state| state.loses_answer = true);
        true
    }
}

/// What outlives a host.
#[derive(Debug)]
struct World {
    state: Mutex<State>,
    /// Rings at each change.
    changes: watch::Sender<u64>,
}

#[derive(Debug)]
struct State {
    conduct: Conduct,
    cued: bool,
    loses_answer: bool,
    /// By their metadata.
    segments: BTreeMap<String, Segment>,
}

#[derive(Debug)]
struct Segment {
    phase: Phase,
    token: Token,
    /// What was offered to the process, each once.
    delivered: Vec<EventUid>,
    /// What it said that it took in.
    taken_in: Vec<EventUid>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Phase {
    Held,
    Running,
    Ended(Exit),
}

impl World {
    fn new(conduct: Conduct) -> Self {
        let segments = BTreeMap::new();
        let state = State { conduct, cued: false, loses_answer: false, segments };
        Self { state: Mutex::new(state), changes: watch::Sender::new(0) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something happens, and the processes act on it.
    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let changed = {
            let mut state = self.lock();
            let changed = change(&mut state);
            state.act();
            changed
        };
        self.changes.send_modify(|changes| *changes += 1);
        changed
    }
}

impl State {
    /// What the processes do now.
    fn act(&mut self) {
        for segment in self.segments.values_mut() {
            if segment.phase != Phase::Running {
                continue;
            }
            match self.conduct {
                Conduct::Cooperates | Conduct::Crashes => {
                    for event in &segment.delivered {
                        if !segment.taken_in.contains(event) {
                            segment.taken_in.push(*event);
                        }
                    }
                }
                Conduct::Ignores | Conduct::Stays => {}
            }
            if self.cued {
                segment.phase = left(self.conduct);
            }
        }
    }
}

/// What becomes of a process at its cue.
fn left(conduct: Conduct) -> Phase {
    match conduct {
        Conduct::Cooperates | Conduct::Ignores => {
            Phase::Ended(Exit::Completed { status: None, continuation: None })
        }
        Conduct::Crashes => Phase::Ended(failed("it crashed")),
        Conduct::Stays => Phase::Running,
    }
}

fn failed(why: &str) -> Exit {
    Exit::Failed { reason: why.to_owned(), status: None, continuation: None, retry_after: None }
}

/// What an instance knows and loses with its host.
#[derive(Debug, Default)]
struct Memory {
    /// The segments that it started or recovered.
    held: BTreeSet<String>,
    /// Of those it recovered, how much each had taken in before; nothing of a sound one depends on it.
    before: BTreeMap<String, usize>,
    /// What it was asked to report.
    asked: BTreeSet<String>,
}

/// An instance of the executor.
#[derive(Debug)]
struct Double {
    world: Arc<World>,
    memory: Mutex<Memory>,
    flaw: Option<Flaw>,
}

impl Double {
    fn has(&self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prepares a segment, which proceeds later.
    fn prepare(&self, request: &RunRequest) -> Metadata {
        let name = format!("{}-{}", request.attempt, request.epoch);
        let old = || self.world.lock().segments.values().next().map(|first| first.token.clone());
        let token = if self.has(Flaw::KeepsSecretOnResume) { old() } else { None };
        let token = token.unwrap_or_else(|| request.token.clone());
        let (delivered, taken_in) = (Vec::new(), Vec::new());
        let segment = Segment { phase: Phase::Held, token, delivered, taken_in };
        self.world.change(|state| state.segments.insert(name.clone(), segment));
        self.memory().held.insert(name.clone());
        Metadata(name)
    }

    fn take_over(&self, metadata: &Metadata, new: &Credentials) -> Result<(), NotAdoptable> {
        let before = self.world.change(|state| {
            let segment = state.segments.get_mut(&metadata.0)?;
            if !self.has(Flaw::KeepsSecretOnRecovery) {
                segment.token = new.token.clone();
            }
            Some(segment.taken_in.len())
        });
        let before = before.ok_or_else(|| NotAdoptable { reason: "unknown".to_owned() })?;
        let mut memory = self.memory();
        memory.held.insert(metadata.0.clone());
        memory.before.insert(metadata.0.clone(), before);
        Ok(())
    }

    /// EXEC-01 EXEC-02 EXEC-03 EXEC-09 EXEC-10
    fn offer(&self, metadata: &Metadata, event: EventUid) -> Result<(), InjectError> {
        let not = |detail: &str| Err(InjectError::NotAccepting { detail: detail.to_owned() });
        let vague = |detail: &str| Err(InjectError::Ambiguous { detail: detail.to_owned() });
        let (held, recovered) = {
            let memory = self.memory();
            (memory.held.contains(&metadata.0), memory.before.contains_key(&metadata.0))
        };
        if !held {
            let accepts = self.has(Flaw::AcceptsUnheld);
            return if accepts { Ok(()) } else { not("this instance does not hold it") };
        }
        let drops =
            self.has(Flaw::NeverDelivers) || (self.has(Flaw::DropsAfterRecovery) && recovered);
        self.world.change(|state| {
            let lost = std::mem::take(&mut state.loses_answer);
            let Some(segment) = state.segments.get_mut(&metadata.0) else {
                return not("nobody knows this segment");
            };
            if segment.delivered.contains(&event) {
                if self.has(Flaw::ReportsTwice) && segment.phase == Phase::Running {
                    segment.taken_in.push(event);
                }
                // Delivered it was, whatever became of it since.
                return if self.has(Flaw::DeniesTheRepeated) { not("again") } else { Ok(()) };
            }
            match segment.phase {
                Phase::Ended(_) if self.has(Flaw::AcceptsAfterResult) => return Ok(()),
                Phase::Ended(_) if self.has(Flaw::VagueAfterEnd) => return vague("it has ended"),
                Phase::Ended(_) => return not("it has ended"),
                Phase::Held | Phase::Running if self.has(Flaw::RefusesWhileRunning) => {
                    return not("not now");
                }
                Phase::Held | Phase::Running => {}
            }
            if !drops {
                segment.delivered.push(event);
            }
            match lost {
                true if self.has(Flaw::DeniesTheUnheard) => not("nothing was heard"),
                true if self.has(Flaw::AcceptsTheUnheard) => Ok(()),
                true => vague("nothing was heard"),
                false => Ok(()),
            }
        })
    }

    /// EXEC-04 EXEC-05 EXEC-11
    fn consumed(&self, metadata: &Metadata) -> Vec<EventUid> {
        let mut memory = self.memory();
        let first = memory.asked.insert(metadata.0.clone());
        let before = memory.before.get(&metadata.0).copied().unwrap_or_default();
        drop(memory);
        let state = self.world.lock();
        let Some(segment) = state.segments.get(&metadata.0) else { return Vec::new() };
        let crashed = matches!(segment.phase, Phase::Ended(Exit::Failed { .. }));
        match self.flaw {
            Some(Flaw::NeverConsumes) => Vec::new(),
            Some(Flaw::OverClaims) => segment.delivered.clone(),
            Some(Flaw::LosesProofOnRecovery) => {
                segment.taken_in.get(before..).unwrap_or_default().to_vec()
            }
            Some(Flaw::LosesProofOfFailure) if crashed => Vec::new(),
            Some(Flaw::ForgetsWhatItSaid) if !first => Vec::new(),
            Some(Flaw::ReportsAgain) => {
                state.segments.values().flat_map(|segment| segment.taken_in.clone()).collect()
            }
            Some(_) | None => segment.taken_in.clone(),
        }
    }

    fn known(&self, metadata: &Metadata) -> bool {
        self.world.lock().segments.contains_key(&metadata.0)
    }

    fn end(&self, metadata: &Metadata) -> Result<Stopped, StopError> {
        let signalled = self.world.change(|state| {
            let segment = state.segments.get_mut(&metadata.0)?;
            let live = matches!(segment.phase, Phase::Held | Phase::Running);
            if live && !self.has(Flaw::LeavesRunning) {
                segment.phase = Phase::Ended(failed("it was stopped"));
            }
            Some(live)
        });
        let unknown = || StopError::Unknown { detail: metadata.0.clone() };
        signalled.map(|signalled| Stopped { signalled, forced: false }).ok_or_else(unknown)
    }

    async fn ended(&self, metadata: &Metadata) -> Exit {
        let mut changes = self.world.changes.subscribe();
        loop {
            match self.world.lock().segments.get(&metadata.0).map(|segment| &segment.phase) {
                Some(Phase::Ended(exit)) => return exit.clone(),
                Some(Phase::Held | Phase::Running) => {}
                None => return Exit::Lost { reason: "nobody knows this segment".to_owned() },
            }
            // The sender is part of what is borrowed here, so that it cannot be gone.
            drop(changes.changed().await);
        }
    }
}

impl Executor for Double {
    fn capabilities(&self) -> Capabilities {
        let injects = !self.has(Flaw::HidesInject);
        Capabilities { resumes: true, holds_until_pin: true, injects, interrupts: true }
    }

    fn run<'a>(&'a self, request: &'a RunRequest) -> BoxFuture<'a, Result<Metadata, LaunchError>> {
        Box::pin(async { Ok(self.prepare(request)) })
    }

    fn resume<'a>(
        &'a self,
        request: &'a RunRequest,
    ) -> BoxFuture<'a, Result<Metadata, LaunchError>> {
        Box::pin(async { Ok(self.prepare(request)) })
    }

    fn proceed<'a>(&'a self, metadata: &'a Metadata) -> BoxFuture<'a, Result<(), ControlError>> {
        Box::pin(async {
            self.world.change(|state| {
                if let Some(segment) = state.segments.get_mut(&metadata.0)
                    && segment.phase == Phase::Held
                {
                    segment.phase = Phase::Running;
                }
            });
            Ok(())
        })
    }

    fn recover<'a>(
        &'a self,
        metadata: &'a Metadata,
        credentials: &'a Credentials,
    ) -> BoxFuture<'a, Result<(), NotAdoptable>> {
        Box::pin(async { self.take_over(metadata, credentials) })
    }

    fn observe<'a>(&'a self, metadata: &'a Metadata) -> BoxFuture<'a, Exit> {
        Box::pin(self.ended(metadata))
    }

    fn inject<'a>(
        &'a self,
        metadata: &'a Metadata,
        injection: &'a Injection,
    ) -> BoxFuture<'a, Result<(), InjectError>> {
        Box::pin(async { self.offer(metadata, injection.event) })
    }

    fn interrupt<'a>(&'a self, metadata: &'a Metadata) -> BoxFuture<'a, Result<(), ControlError>> {
        Box::pin(async {
            let known = self.known(metadata) || self.has(Flaw::InterruptsNothing);
            if known && !self.has(Flaw::CannotInterrupt) {
                return Ok(());
            }
            Err(ControlError { detail: "it cannot be told".to_owned() })
        })
    }

    fn report<'a>(&'a self, metadata: &'a Metadata) -> BoxFuture<'a, Result<Report, ControlError>> {
        Box::pin(async { Ok(Report { consumed: self.consumed(metadata), usage: Vec::new() }) })
    }

    fn stop<'a>(
        &'a self,
        metadata: &'a Metadata,
        _grace: Duration,
    ) -> BoxFuture<'a, Result<Stopped, StopError>> {
        Box::pin(async { self.end(metadata) })
    }

    fn release(&self, metadata: &Metadata) {
        self.memory().held.remove(&metadata.0);
        self.world.change(|state| {
            if let Some(segment) = state.segments.get_mut(&metadata.0)
                && segment.phase == Phase::Held
            {
                segment.phase = Phase::Ended(failed("it was let go"));
            }
        });
    }
}
