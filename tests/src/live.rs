//! The public runtime without a daemon: one writer on one file, its clock in the test's hand, commands and their answers.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use abide::clock::{Clock, TimeSource};
use abide::command::{Command, Outcome, Receipt};
use abide::domain::{
    Actor, AttemptUid, Authority, BindingPin, CausalLimits, Control, Deadline, Decision, Duration,
    Ending, EventUid, Generation, IngressId, Key, Millis, NewEvent, Proposal, RetryPolicy,
    ScopeLimit, Segment, Seq, Source, Token, WaitId, WaitUid, WorkId,
};
use abide::extension::route::{self, EventView, RouteAction, RouteHandler, Sender, WorkView};
use abide::law::routing::{Snapshot, snapshot};
use abide::store::observe::SeenWork;
use abide::store::{Observation, observe, payloads};
use abide::writer::{Writer, WriterOptions};
use tempfile::TempDir;

/// How long a lease lasts here.
pub const LEASE: Duration = Duration(60_000);

/// The scope of everything here.
pub const SCOPE: &str = "acme";

/// Another scope, for what is not to cross.
pub const ELSEWHERE: &str = "elsewhere";

/// The source of everything here.
pub const SOURCE: &str = "test";

/// Time that moves because a test says so.
#[derive(Debug, Default)]
struct Hand(AtomicI64);

impl TimeSource for Hand {
    fn wall(&self) -> Millis {
        Millis(1_700_000_000_000 + self.0.load(Ordering::SeqCst))
    }

    fn elapsed(&self) -> std::time::Duration {
        std::time::Duration::from_millis(self.0.load(Ordering::SeqCst).unsigned_abs())
    }
}

/// A writer on a file in a temporary folder.
pub struct Live {
    folder: TempDir,
    hand: Arc<Hand>,
    writer: Writer,
}

impl Default for Live {
    fn default() -> Self {
        Self::new()
    }
}

impl Live {
    /// On a new file.
    ///
    /// # Panics
    /// If the machine does not give a folder, a file or a thread.
    #[must_use]
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let hand = Arc::new(Hand::default());
        let writer = open(&folder, &hand);
        Self { folder, hand, writer }
    }

    /// The same file after the daemon has gone and come back.
    ///
    /// # Panics
    /// If the file cannot be opened again.
    #[must_use]
    pub fn reopened(mut self) -> Self {
        self.writer.shutdown_blocking();
        self.writer = open(&self.folder, &self.hand);
        self
    }

    /// Moves time.
    pub fn later(&self, ms: i64) {
        self.hand.0.fetch_add(ms, Ordering::SeqCst);
    }

    /// Performs a command.
    ///
    /// # Panics
    /// If the store fails.
    pub fn apply(&self, command: Command) -> Outcome {
        self.writer.apply_blocking(Actor::Loop("test"), command).expect("the store works")
    }

    /// Performs a command that must be accepted.
    ///
    /// # Panics
    /// If it is answered otherwise.
    pub fn accepted(&self, command: Command) -> Receipt {
        let name = command.name();
        match self.apply(command) {
            Outcome::Accepted(receipt) => receipt,
            other @ (Outcome::Duplicate(_)
            | Outcome::Deferred(_)
            | Outcome::Conflict
            | Outcome::Refused(_)) => panic!("{name} was answered {other:?}"),
        }
    }

    /// Everything that is compared after an action.
    ///
    /// # Panics
    /// If the store fails.
    #[must_use]
    pub fn see(&self) -> Observation {
        self.writer.readers().read(observe).expect("an observation")
    }

    /// What an event carries, as JSON text.
    ///
    /// # Panics
    /// If the store fails.
    #[must_use]
    pub fn payload(&self, event: Seq) -> Option<String> {
        self.writer.readers().read(|tx| payloads::get(tx, event)).expect("a payload")
    }

    /// One Work as it is.
    ///
    /// # Panics
    /// If it does not exist.
    #[must_use]
    pub fn work(&self, work: WorkId) -> SeenWork {
        self.see().works.into_iter().find(|seen| seen.work == work).expect("the work exists")
    }

    /// The owner of a key.
    #[must_use]
    pub fn owner(&self, name: &str) -> Option<WorkId> {
        let wanted = key(name);
        self.see().keys.iter().find(|seen| seen.key == wanted).map(|seen| seen.owner)
    }

    /// Accepts an event.
    ///
    /// # Panics
    /// If it is not accepted.
    pub fn accept(&self, event: NewEvent) -> Seq {
        let receipt = self.accepted(Command::Accept { event: Box::new(event) });
        let Receipt::Event { seq } = receipt else {
            panic!("an acceptance was answered {receipt:?}")
        };
        seq
    }

    /// What a handler gets to see of an unrouted event.
    ///
    /// # Panics
    /// If the store fails.
    #[must_use]
    pub fn snapshot(&self, event: Seq) -> Option<Snapshot> {
        self.writer.readers().read(|tx| snapshot(tx, event)).expect("a snapshot")
    }

    /// Evaluates an event with a handler; outside every transaction, as a daemon does.
    ///
    /// # Panics
    /// If the event has a mark, or the handler fails.
    pub fn evaluate(&self, event: Seq, handler: &dyn RouteHandler) -> Proposal {
        let seen = self.snapshot(event).expect("an unrouted event");
        let answer = handler.evaluate(&event_view(&seen), work_view(&seen).as_ref());
        decided(&seen, &answer.expect("a decision"))
    }

    /// Evaluates and commits until what was read still stands.
    pub fn route(&self, event: Seq, handler: &dyn RouteHandler) -> Outcome {
        loop {
            if self.snapshot(event).is_none() {
                // Another thread, or a wake, was faster.
                return Outcome::Conflict;
            }
            let proposal = self.evaluate(event, handler);
            match self.apply(Command::CommitRoute { proposal }) {
                Outcome::Conflict | Outcome::Deferred(_) => std::thread::yield_now(),
                done @ (Outcome::Accepted(_) | Outcome::Duplicate(_) | Outcome::Refused(_)) => {
                    return done;
                }
            }
        }
    }

    /// A Work that owns a key, made by an event of its own.
    ///
    /// # Panics
    /// If no Work was made.
    pub fn ready(&self, name: &str) -> WorkId {
        let event = self.accept(event(&format!("make-{name}")).keyed(name));
        self.route(event, &ByKey);
        self.owner(name).expect("a work was made")
    }

    /// Claims a Work.
    ///
    /// # Panics
    /// If it is not startable.
    pub fn claim(&self, work: WorkId) -> Authority {
        self.claim_under(work, RetryPolicy::default())
    }

    /// Claims a Work whose failures are to lead to what a policy says.
    ///
    /// # Panics
    /// If it is not startable.
    pub fn claim_under(&self, work: WorkId, retry: RetryPolicy) -> Authority {
        let (mut command, token) = claim(work);
        if let Command::Claim { pin, .. } = &mut command {
            pin.retry = retry;
        }
        let receipt = self.accepted(command);
        let Receipt::Claimed { attempt, epoch, .. } = receipt else {
            panic!("a claim was answered {receipt:?}")
        };
        Authority { work, attempt, epoch, token: token.hash() }
    }

    /// Claims a Work and lets its process run.
    pub fn start(&self, work: WorkId) -> Authority {
        let by = self.claim(work);
        self.accepted(Command::ClearNeverHanded { by });
        self.accepted(Command::Pin { by, metadata: "{}".to_owned() });
        by
    }

    /// Registers a wait; answers it and what woke it at once.
    ///
    /// # Panics
    /// If it is not registered.
    pub fn wait(&self, wait: Waiting) -> (WaitId, Option<Seq>) {
        let receipt = self.accepted(wait.command());
        let Receipt::Waiting { wait, winner } = receipt else {
            panic!("a registration was answered {receipt:?}")
        };
        (wait, winner)
    }

    /// The process of a segment is seen to have gone.
    pub fn leave(&self, by: Authority) {
        let segment = Segment { attempt: by.attempt, epoch: by.epoch };
        self.accepted(Command::Vacate { work: by.work, segment });
    }

    /// Completes an attempt.
    pub fn complete(&self, by: Authority) -> Outcome {
        self.apply(Command::Complete {
            by,
            ending: Ending::Completed,
            status: None,
            proofs: Vec::new(),
            usage: None,
        })
    }

    /// Ends a turn, says how, and leaves the Work open.
    pub fn hand_off(&self, by: Authority, status: &str) {
        let (ending, status) = (Ending::Handoff { close_after: None }, Some(status.to_owned()));
        self.accepted(Command::Complete { by, ending, status, proofs: Vec::new(), usage: None });
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.writer.shutdown_blocking();
    }
}

fn open(folder: &TempDir, hand: &Arc<Hand>) -> Writer {
    let file: PathBuf = folder.path().join("abide.db");
    let source: Arc<dyn TimeSource> = Arc::<Hand>::clone(hand);
    Writer::open(&file, Clock::new(source), WriterOptions::default()).expect("the writer starts")
}

/// A claim under a token of its own.
///
/// # Panics
/// If the machine has no randomness.
#[must_use]
pub fn claim(work: WorkId) -> (Command, Token) {
    let token = Token::random().expect("randomness");
    let pin = BindingPin {
        binding: "shell".to_owned(),
        generation: Generation(0),
        resumes: true,
        holds_until_pin: false,
        active: None,
        retry: RetryPolicy::default(),
        injects: false,
        interrupts: false,
    };
    let limit = |scope: &str| ScopeLimit { scope: scope.to_owned(), limit: 1_000 };
    let capacity = vec![limit(SCOPE), limit(ELSEWHERE)];
    let (attempt_uid, hash) = (AttemptUid::new(), token.hash());
    (Command::Claim { work, attempt_uid, token: hash, lease: LEASE, pin, capacity }, token)
}

/// A wait as a test says it.
#[derive(Debug, Clone)]
pub struct Waiting {
    by: Authority,
    keys: Vec<Key>,
    types: Vec<String>,
    after: Seq,
    deadline: Option<Deadline>,
    source: Option<Source>,
    reads: Vec<String>,
}

impl Waiting {
    /// A wait after a sequence, on nothing yet.
    #[must_use]
    pub fn after(by: Authority, after: Seq) -> Self {
        let (keys, types, reads) = (Vec::new(), Vec::new(), Vec::new());
        Self { by, keys, types, after, deadline: None, source: None, reads }
    }

    /// With these scopes granted beside its own.
    #[must_use]
    pub fn reading(self, scope: &str) -> Self {
        Self { reads: vec![scope.to_owned()], ..self }
    }

    /// For news of this key of the same scope.
    #[must_use]
    pub fn news_of(self, name: &str) -> Self {
        let (extension, scope) = ("test".to_owned(), SCOPE.to_owned());
        Self { source: Some(Source { extension, key: key(name), scope }), ..self }
    }

    /// On these keys.
    #[must_use]
    pub fn on(self, names: &[&str]) -> Self {
        Self { keys: names.iter().map(|name| key(name)).collect(), ..self }
    }

    /// For these types.
    #[must_use]
    pub fn types(self, types: &[&str]) -> Self {
        Self { types: types.iter().map(|name| (*name).to_owned()).collect(), ..self }
    }

    /// For so long.
    #[must_use]
    pub fn within(self, ms: u64) -> Self {
        Self { deadline: Some(Deadline::After(Duration(ms))), ..self }
    }

    /// The command that registers it.
    #[must_use]
    pub fn command(self) -> Command {
        let Self { by, keys, types, after, deadline, source, reads: read_scopes } = self;
        let uid = WaitUid::new();
        Command::RegisterWait {
            by,
            uid,
            keys,
            types,
            after,
            deadline,
            source,
            read_scopes,
            proofs: Vec::new(),
            usage: None,
        }
    }
}

/// A key of the source of everything here.
#[must_use]
pub fn key(name: &str) -> Key {
    Key { source: SOURCE.to_owned(), external_id: name.to_owned() }
}

/// An event of this delivery, with neither key nor target.
#[must_use]
pub fn event(delivery: &str) -> NewEvent {
    NewEvent {
        uid: EventUid::new(),
        id: IngressId { source: SOURCE.to_owned(), delivery: delivery.to_owned() },
        event_type: "note".to_owned(),
        subject: None,
        occurred_at: None,
        scope: SCOPE.to_owned(),
        key: None,
        target: None,
        limits: CausalLimits { max_depth: 32 },
        payload: Some("{}".to_owned()),
        suspect_within: None,
    }
}

/// Short ways to vary an event.
pub trait Vary: Sized {
    /// With a key.
    #[must_use]
    fn keyed(self, name: &str) -> Self;
    /// Of a type.
    #[must_use]
    fn typed(self, event_type: &str) -> Self;
    /// Carrying this.
    #[must_use]
    fn saying(self, payload: &str) -> Self;
    /// Of this scope.
    #[must_use]
    fn within(self, scope: &str) -> Self;
}

impl Vary for NewEvent {
    fn keyed(self, name: &str) -> Self {
        Self { key: Some(key(name)), ..self }
    }

    fn typed(self, event_type: &str) -> Self {
        Self { event_type: event_type.to_owned(), ..self }
    }

    fn saying(self, payload: &str) -> Self {
        Self { payload: Some(payload.to_owned()), ..self }
    }

    fn within(self, scope: &str) -> Self {
        Self { scope: scope.to_owned(), ..self }
    }
}

/// Finds the Work of the event's key, or makes it.
pub struct ByKey;

impl RouteHandler for ByKey {
    fn identify(&self, _event: &EventView) -> Result<Option<String>, route::RouteError> {
        Ok(None)
    }

    fn evaluate(
        &self,
        event: &EventView,
        _work: Option<&WorkView>,
    ) -> Result<route::Decision, route::RouteError> {
        let action = if event.key.is_some() { RouteAction::Work } else { RouteAction::Decline };
        let kind = (action == RouteAction::Work).then(|| "task".to_owned());
        Ok(route::Decision {
            route: kind.as_ref().map(|_| "by-key".to_owned()),
            action,
            kind,
            ..route::Decision::default()
        })
    }
}

fn event_view(seen: &Snapshot) -> EventView {
    let payload = seen.payload.as_deref().unwrap_or("null");
    let data = serde_json::from_str(payload).expect("payloads are JSON");
    EventView::accepted(&seen.event, data, Sender::default())
}

fn work_view(seen: &Snapshot) -> Option<WorkView> {
    let work = seen.work.as_ref()?;
    Some(WorkView {
        uid: work.uid,
        kind: work.kind.clone(),
        status: work.status,
        keys: work.keys.clone(),
        attempt: work.attempt.map_or(0, |attempt| attempt.0),
    })
}

/// The law's words for a handler's answer.
fn decided(seen: &Snapshot, answer: &route::Decision) -> Proposal {
    let attach: Vec<Key> = answer.attach.iter().map(|id| key(id)).collect();
    let decision = match answer.action {
        RouteAction::Decline => Decision::Decline,
        RouteAction::Drop => Decision::Drop,
        RouteAction::Close => Decision::Close,
        RouteAction::Update => Decision::Update { attach, control: Control::default() },
        RouteAction::Work => Decision::Work {
            attach,
            create: answer.kind.as_ref().map(|kind| seen.fresh(kind)),
            control: Control::default(),
        },
    };
    seen.decide(answer.route.as_deref(), decision)
}
