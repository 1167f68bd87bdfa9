//! A daemon without processes: a real database in a temporary folder, an executor double, a clock
//! that moves when it is told to.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use serde_json::Value;
use tokio::sync::{Notify, watch};
use tower::ServiceExt as _;
use type_safe_id::TypeSafeId;
use uuid::Uuid;

use crate::clock::{Clock, TimeSource};
use crate::command::{Command, Outcome, Receipt};
use crate::config::{Config, Environment};
use crate::daemon::evaluation;
use crate::domain::{
    Actor, AttemptUid, Authority, BindingPin, CausalLimits, Control, ControlPolicy, Deadline,
    Decision, EventUid, IngressId, Key, Millis, NewEvent, Seq, Source, Token, WaitId, WorkId,
    WorkStatus,
};
use crate::extension::executor::{
    BoxFuture, Capabilities, ControlError, Credentials, Executor, Exit, InjectError, Injection,
    LaunchError, Metadata, NotAdoptable, Report, RunRequest, StopError, Stopped, Usage,
};
use crate::host::{Configs, Context, Driven, Executors, Health, Patience, Troubles};
use crate::store::works::Work;
use crate::store::{attempts, pages};
use crate::writer::{Writer, WriterOptions};

/// A wall clock only shows that something has stalled.
const STALL: Duration = Duration::from_secs(60);

/// An executor that hangs is given up soon, and asked again soon.
const IMPATIENT: Patience = Patience {
    control: Duration::from_millis(300),
    report: Duration::from_millis(300),
    again: Duration::from_millis(10),
    again_max: Duration::from_millis(100),
    sweep: Duration::from_secs(30),
};

/// Waits for something that must happen.
pub(crate) async fn soon<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(STALL, work).await.expect("a stall")
}

/// A clock whose hands a test moves.
#[derive(Debug)]
struct Hands {
    wall: AtomicI64,
    elapsed: AtomicI64,
}

impl TimeSource for Hands {
    fn wall(&self) -> Millis {
        Millis(self.wall.load(Ordering::SeqCst))
    }

    fn elapsed(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.elapsed.load(Ordering::SeqCst)).unwrap_or(0))
    }
}

/// What an executor was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Call {
    Run {
        number: u32,
        epoch: u64,
        inputs: usize,
    },
    Resume {
        epoch: u64,
    },
    Proceed(String),
    Recover(String),
    Observe,
    Find,
    Stop,
    Release(String),
    /// The sequence of an event that is offered.
    Inject {
        event: i64,
        repeated: bool,
    },
    Interrupt,
    Report,
}

/// What an executor says to a control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Says {
    Yes,
    /// Certainly not delivered.
    No,
    /// Nobody can tell.
    Perhaps,
    /// Nothing, ever.
    Nothing,
}

/// An executor that keeps nothing running: it answers as a test has set it.
#[derive(Debug)]
pub(crate) struct Double {
    calls: Mutex<Vec<Call>>,
    changed: Notify,
    resumes: bool,
    /// Held shut, neither `run` nor `recover` answers.
    gate: watch::Sender<bool>,
    /// What `observe` answers once there is something.
    exit: watch::Sender<Option<Exit>>,
    /// What `observe` answers once it was stopped.
    when_stopped: Mutex<Option<Exit>>,
    adoptable: AtomicBool,
    launchable: AtomicBool,
    /// What is found of an attempt; `None`: there is no way to look.
    found: Mutex<Option<Vec<Metadata>>>,
    can_inject: AtomicBool,
    can_interrupt: AtomicBool,
    /// What it says to the next injects, and then to all others.
    injects: Mutex<(VecDeque<Says>, Says)>,
    /// The same of interrupts.
    interrupts: Mutex<(VecDeque<Says>, Says)>,
    /// How a segment ends while it is told to stop.
    when_interrupted: Mutex<Option<Exit>>,
    /// What the process took in; `None`: nobody can tell.
    report: Mutex<Option<Report>>,
}

impl Double {
    fn new(resumes: bool) -> Self {
        Self {
            calls: Mutex::default(),
            changed: Notify::new(),
            resumes,
            gate: watch::Sender::new(false),
            exit: watch::Sender::new(None),
            when_stopped: Mutex::default(),
            adoptable: true.into(),
            launchable: true.into(),
            found: Mutex::default(),
            can_inject: false.into(),
            can_interrupt: false.into(),
            injects: Mutex::new((VecDeque::new(), Says::Yes)),
            interrupts: Mutex::new((VecDeque::new(), Says::Yes)),
            when_interrupted: Mutex::default(),
            report: Mutex::new(Some(Report::default())),
        }
    }

    fn note(&self, call: Call) {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).push(call);
        self.changed.notify_waiters();
    }

    pub(crate) fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until it was asked this.
    pub(crate) async fn asked(&self, call: &Call) {
        soon(async {
            loop {
                let changed = self.changed.notified();
                if self.calls().contains(call) {
                    return;
                }
                changed.await;
            }
        })
        .await;
    }

    /// `run` and `recover` wait from here on, or no more.
    pub(crate) fn hold_launches(&self, hold: bool) {
        self.gate.send_replace(hold);
    }

    /// Every segment ends so from here on.
    pub(crate) fn ends(&self, exit: Exit) {
        self.exit.send_replace(Some(exit));
    }

    /// Nobody gets to see that a segment has ended so before it is stopped.
    pub(crate) fn has_ended(&self, exit: Exit) {
        *self.when_stopped.lock().unwrap_or_else(PoisonError::into_inner) = Some(exit);
    }

    /// Nothing can be launched.
    pub(crate) fn refuse_launches(&self) {
        self.launchable.store(false, Ordering::SeqCst);
    }

    /// It finds so much of any attempt.
    pub(crate) fn finds(&self, found: &[&str]) {
        let found = found.iter().map(|name| Metadata((*name).to_owned())).collect();
        *self.found.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
    }

    /// What it implements from here on.
    pub(crate) fn can(&self, injects: bool, interrupts: bool) {
        self.can_inject.store(injects, Ordering::SeqCst);
        self.can_interrupt.store(interrupts, Ordering::SeqCst);
    }

    /// What it says to the next injects, and then to all others.
    pub(crate) fn says_to_injects(&self, next: &[Says], then: Says) {
        *lock(&self.injects) = (next.iter().copied().collect(), then);
    }

    /// The same of interrupts.
    pub(crate) fn says_to_interrupts(&self, next: &[Says], then: Says) {
        *lock(&self.interrupts) = (next.iter().copied().collect(), then);
    }

    /// A segment ends so as soon as it is told to stop.
    pub(crate) fn ends_when_interrupted(&self, exit: Exit) {
        *lock(&self.when_interrupted) = Some(exit);
    }

    /// The process says that it took these in; `None`: nobody can tell.
    pub(crate) fn reports(&self, consumed: Option<Vec<EventUid>>) {
        let usage = vec![Usage { unit: "input_tokens".to_owned(), amount: "12".to_owned() }];
        *lock(&self.report) = consumed.map(|consumed| Report { consumed, usage });
    }

    /// The controls it was asked for, in order.
    pub(crate) fn controls(&self) -> Vec<Call> {
        let control = |call: &Call| matches!(call, Call::Inject { .. } | Call::Interrupt);
        self.calls().into_iter().filter(control).collect()
    }

    /// No segment can be taken over.
    pub(crate) fn forget(&self) {
        self.adoptable.store(false, Ordering::SeqCst);
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is said now.
fn say(script: &Mutex<(VecDeque<Says>, Says)>) -> Says {
    let mut script = lock(script);
    script.0.pop_front().unwrap_or(script.1)
}

impl Executor for Double {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            resumes: self.resumes,
            holds_until_pin: true,
            injects: self.can_inject.load(Ordering::SeqCst),
            interrupts: self.can_interrupt.load(Ordering::SeqCst),
        }
    }

    fn inject<'a>(
        &'a self,
        _metadata: &'a Metadata,
        injection: &'a Injection,
    ) -> BoxFuture<'a, Result<(), InjectError>> {
        let event = injection.body["abideseq"].as_str().and_then(|seq| seq.parse().ok());
        let event = event.expect("an event has a sequence");
        self.note(Call::Inject { event, repeated: injection.repeated });
        let (says, detail) = (say(&self.injects), "the double says so".to_owned());
        Box::pin(async move {
            match says {
                Says::Yes => Ok(()),
                Says::No => Err(InjectError::NotAccepting { detail }),
                Says::Perhaps => Err(InjectError::Ambiguous { detail }),
                Says::Nothing => std::future::pending().await,
            }
        })
    }

    fn interrupt<'a>(&'a self, _metadata: &'a Metadata) -> BoxFuture<'a, Result<(), ControlError>> {
        self.note(Call::Interrupt);
        let (says, detail) = (say(&self.interrupts), "the double says so".to_owned());
        let ended = lock(&self.when_interrupted).take();
        Box::pin(async move {
            if ended.is_some() {
                self.exit.send_replace(ended);
                // Whoever observes it sees the end first.
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            match says {
                Says::Yes => Ok(()),
                Says::No | Says::Perhaps => Err(ControlError { detail }),
                Says::Nothing => std::future::pending().await,
            }
        })
    }

    fn report<'a>(
        &'a self,
        _metadata: &'a Metadata,
    ) -> BoxFuture<'a, Result<Report, ControlError>> {
        self.note(Call::Report);
        let report = lock(&self.report).clone();
        let detail = "nobody can tell".to_owned();
        Box::pin(async move { report.ok_or(ControlError { detail }) })
    }

    fn run<'a>(&'a self, request: &'a RunRequest) -> BoxFuture<'a, Result<Metadata, LaunchError>> {
        let (number, epoch) = (request.number.0, request.epoch.0);
        self.note(Call::Run { number, epoch, inputs: request.inputs.len() });
        Box::pin(async move {
            let mut gate = self.gate.subscribe();
            let _open = gate.wait_for(|held| !held).await.expect("the double is there");
            if !self.launchable.load(Ordering::SeqCst) {
                return Err(LaunchError::Holder { detail: "no such program".to_owned() });
            }
            Ok(Metadata(format!("segment {number}-{epoch}")))
        })
    }

    fn resume<'a>(
        &'a self,
        request: &'a RunRequest,
    ) -> BoxFuture<'a, Result<Metadata, LaunchError>> {
        let epoch = request.epoch.0;
        self.note(Call::Resume { epoch });
        Box::pin(async move { Ok(Metadata(format!("segment resumed-{epoch}"))) })
    }

    fn proceed<'a>(&'a self, metadata: &'a Metadata) -> BoxFuture<'a, Result<(), ControlError>> {
        self.note(Call::Proceed(metadata.0.clone()));
        Box::pin(async { Ok(()) })
    }

    fn recover<'a>(
        &'a self,
        metadata: &'a Metadata,
        _credentials: &'a Credentials,
    ) -> BoxFuture<'a, Result<(), NotAdoptable>> {
        self.note(Call::Recover(metadata.0.clone()));
        let adoptable = self.adoptable.load(Ordering::SeqCst);
        Box::pin(async move {
            let mut gate = self.gate.subscribe();
            let _open = gate.wait_for(|held| !held).await.expect("the double is there");
            let reason = "it is not known here".to_owned();
            if adoptable { Ok(()) } else { Err(NotAdoptable { reason }) }
        })
    }

    fn observe<'a>(&'a self, _metadata: &'a Metadata) -> BoxFuture<'a, Exit> {
        self.note(Call::Observe);
        Box::pin(async move {
            let mut exit = self.exit.subscribe();
            let seen = exit.wait_for(Option::is_some).await.expect("the double is there");
            seen.clone().expect("it was waited for")
        })
    }

    fn stop<'a>(
        &'a self,
        _metadata: &'a Metadata,
        _grace: Duration,
    ) -> BoxFuture<'a, Result<Stopped, StopError>> {
        self.note(Call::Stop);
        let ended = self.when_stopped.lock().unwrap_or_else(PoisonError::into_inner).take();
        let signalled = ended.is_none();
        if ended.is_some() {
            self.exit.send_replace(ended);
        }
        Box::pin(async move { Ok(Stopped { signalled, forced: false }) })
    }

    fn find<'a>(&'a self, _attempt: AttemptUid) -> BoxFuture<'a, Result<Vec<Metadata>, StopError>> {
        self.note(Call::Find);
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let detail = "there is no way to look".to_owned();
        Box::pin(async move { found.ok_or(StopError::Unknown { detail }) })
    }

    fn release(&self, metadata: &Metadata) {
        self.note(Call::Release(metadata.0.clone()));
    }
}

/// The daemon under test.
pub(crate) struct Bench {
    pub(crate) context: Arc<Context>,
    pub(crate) double: Arc<Double>,
    hands: Arc<Hands>,
    stop: watch::Sender<bool>,
    pub(crate) folder: Arc<tempfile::TempDir>,
}

pub(crate) const CONFIGURATION: &str = r#"
[listen]
hooks = "127.0.0.1:0"

[principal.ops]
token = { file = "ops.token" }
may = ["view", "work"]

[principal.eyes]
token = { file = "eyes.token" }
may = ["view"]

[[ingress]]
name = "github"
kind = "github"
scope = "main"
secrets = [{ env = "GH_SECRET" }]
max = "2KiB"

[[ingress]]
name = "plain"
kind = "http"
scope = "main"
unsigned = true

[scope.main]
capacity = 2

[[scope.main.route]]
name = "all"
on = ["t.*"]
when = '!has(event.data.big) || event.data.big > 1'
key = 'string(event.data.n)'
do = "work"
kind = "k"

[scope.main.kind.k]
binding = "b"

[scope.main.binding.b]
executor = "shell"
command = ["/bin/true"]
capabilities = ["inject", "interrupt"]
isolation = "none"
lease = "30s"
stop_grace = "5s"
"#;

const fn wanted(policy: ControlPolicy) -> Control {
    Control { policy, fallback: None, on_error: None }
}

pub(crate) const INJECT: Control = wanted(ControlPolicy::Inject);
pub(crate) const INTERRUPT: Control = wanted(ControlPolicy::Interrupt);
pub(crate) const QUEUE: Control = wanted(ControlPolicy::Queue);

impl Bench {
    pub(crate) async fn new() -> Self {
        Self::with(false).await
    }

    /// A daemon whose executor can, or cannot, continue a parked attempt.
    pub(crate) async fn with(resumes: bool) -> Self {
        Self::configured(resumes, CONFIGURATION).await
    }

    /// A daemon whose executor takes controls, and can, or cannot, continue a parked attempt.
    pub(crate) async fn steerable(resumes: bool) -> Self {
        let bench = Self::with(resumes).await;
        bench.double.can(true, true);
        bench
    }

    /// The same under another configuration.
    pub(crate) async fn configured(resumes: bool, text: &str) -> Self {
        let folder = Arc::new(tempfile::tempdir().expect("a temporary folder"));
        let hands = Arc::new(Hands { wall: AtomicI64::new(1_000_000), elapsed: AtomicI64::new(0) });
        Self::over(folder, hands, Arc::new(Double::new(resumes)), text).await
    }

    /// Another daemon on the same file, after this one is gone. Nothing of this one may run.
    pub(crate) async fn reopened(self) -> Self {
        self.stop();
        self.context.writer.shutdown().await;
        let (folder, hands) = (Arc::clone(&self.folder), Arc::clone(&self.hands));
        Self::over(folder, hands, Arc::clone(&self.double), CONFIGURATION).await
    }

    async fn over(
        folder: Arc<tempfile::TempDir>,
        hands: Arc<Hands>,
        double: Arc<Double>,
        text: &str,
    ) -> Self {
        let file = folder.path().join("abide.toml");
        let env = Environment::of([("GH_SECRET", "hush")]);
        let config = Config::parse(text.to_owned(), &file, &env);
        let config = config.unwrap_or_else(|errors| panic!("{errors}"));
        let clock = Clock::new(Arc::clone(&hands) as Arc<dyn TimeSource>);
        let database = folder.path().join("abide.db");
        let writer = Writer::open(&database, clock, WriterOptions::default());
        let writer = writer.expect("a database");
        let generation = writer.make_current("d".into(), "{}".into()).await.expect("recorded");
        let executor: Arc<dyn Executor> = Arc::clone(&double) as Arc<dyn Executor>;
        let (stop, stopping) = watch::channel(false);
        let context = Context {
            configs: Configs::new(generation, config, env),
            writer,
            executors: Executors::new(move |_| Arc::clone(&executor)),
            works: folder.path().join("works"),
            segments: folder.path().join("segments"),
            health: Health::default(),
            driven: Driven::default(),
            drain: crate::host::Drain::default(),
            troubles: Troubles::default(),
            patience: IMPATIENT,
            points: crate::points::Points::UNHEARD,
            stop: stopping,
        };
        Self { context: Arc::new(context), double, hands, stop, folder }
    }

    /// Gives up no call within a test. To be said before anything runs.
    pub(crate) fn is_patient(&mut self) {
        let context = Arc::get_mut(&mut self.context).expect("nothing runs");
        context.patience = Patience::default();
    }

    /// Nobody looks for controls unless told to. To be said before anything runs.
    pub(crate) fn is_not_swept(&mut self) {
        let context = Arc::get_mut(&mut self.context).expect("nothing runs");
        context.patience.sweep = STALL * 10;
    }

    /// Reads another configuration, as a reload does.
    pub(crate) async fn reload(&self, text: &str) {
        let env = Environment::of([("GH_SECRET", "hush")]);
        let file = self.folder.path().join("abide.toml");
        let config = Config::parse(text.to_owned(), &file, &env);
        let config = config.unwrap_or_else(|errors| panic!("{errors}"));
        let generation = self.context.writer.make_current(text.to_owned(), "{}".into()).await;
        self.context.configs.replace(generation.expect("recorded"), config);
    }

    /// Keeps an event whose route wants this of it while an attempt runs, and routes it.
    pub(crate) async fn steer(&self, key: &str, control: Control) -> Seq {
        let seq = self.event("t.a", key, "{}").await;
        self.routes_as(seq, control).await;
        seq
    }

    /// Routes an event, so that it interrupts.
    pub(crate) async fn interrupts_with(&self, seq: Seq) {
        self.routes_as(seq, INTERRUPT).await;
    }

    async fn routes_as(&self, seq: Seq, control: Control) {
        let proposal = crate::evaluation::propose(&self.context, seq).await;
        let mut proposal = proposal.expect("it is decided").expect("it is unrouted");
        match &mut proposal.decision {
            Decision::Update { control: wanted, .. } | Decision::Work { control: wanted, .. } => {
                *wanted = control;
            }
            Decision::Decline | Decision::Drop | Decision::Close => panic!("it is no input"),
        }
        let outcome = self.commit(Command::CommitRoute { proposal }).await;
        assert!(matches!(outcome, Outcome::Accepted(_)), "{outcome:?}");
    }

    /// Trusted time goes on by so much.
    pub(crate) fn later(&self, by: Duration) {
        let by = i64::try_from(by.as_millis()).expect("a length of a test");
        self.hands.wall.fetch_add(by, Ordering::SeqCst);
    }

    /// Time really passes, whatever the wall clock showed before.
    pub(crate) fn elapses(&self, by: Duration) {
        let length = i64::try_from(by.as_millis()).expect("a length of a test");
        self.hands.elapsed.fetch_add(length, Ordering::SeqCst);
        self.later(by);
    }

    /// Somebody sets the wall clock back.
    pub(crate) fn set_back(&self, by: Duration) {
        let by = i64::try_from(by.as_millis()).expect("a length of a test");
        self.hands.wall.fetch_sub(by, Ordering::SeqCst);
    }

    /// Breaks rows behind the daemon's back.
    pub(crate) fn damage(&self, sql: &str) {
        let file = self.folder.path().join("abide.db");
        let connection = rusqlite::Connection::open(file).expect("the database");
        connection.busy_timeout(STALL).expect("a setting");
        let lax = "PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON;";
        connection.execute_batch(&format!("{lax} {sql}")).expect("damage");
    }

    /// A pinned attempt of a Work of its own, under a binding of this name.
    pub(crate) async fn pinned(&self, key: &str, binding: &str) -> Authority {
        let seq = self.event("t.a", key, "{}").await;
        evaluation::route(&self.context, seq).await;
        let mark = self.context.read(move |tx| pages::mark(tx, seq)).await.expect("it reads");
        let work = mark.and_then(|(_, work)| work).expect("a work");
        let by = self.claim_as(work, binding, None).await;
        self.commit(Command::ClearNeverHanded { by }).await;
        self.commit(Command::Pin { by, metadata: format!("of {key}") }).await;
        by
    }

    /// Registers a wait of a pinned attempt on its own key, for events of type `t.b`.
    pub(crate) async fn waits(&self, by: Authority, key: &str, deadline: Option<u64>) -> WaitId {
        self.waits_on(by, key, deadline, None).await
    }

    /// The same with a subscription to the key of another Work.
    pub(crate) async fn waits_on(
        &self,
        by: Authority,
        key: &str,
        deadline: Option<u64>,
        source: Option<&str>,
    ) -> WaitId {
        let key_of = |name: &str| Key { source: "x:y".to_owned(), external_id: name.to_owned() };
        let after = self.context.read(crate::store::meta::last_seq).await.expect("it reads");
        let command = Command::RegisterWait {
            by,
            uid: TypeSafeId::from_uuid(Uuid::now_v7()),
            keys: vec![key_of(key)],
            types: vec!["t.b".to_owned()],
            after,
            deadline: deadline.map(|length| Deadline::After(crate::domain::Duration(length))),
            source: source.map(|name| Source {
                extension: "tool".to_owned(),
                key: key_of(name),
                scope: "main".to_owned(),
            }),
            read_scopes: Vec::new(),
            proofs: Vec::new(),
            usage: None,
        };
        let outcome = self.commit(command).await;
        let Outcome::Accepted(Receipt::Waiting { wait, .. }) = outcome else {
            panic!("{outcome:?}")
        };
        wait
    }

    pub(crate) async fn commit(&self, command: Command) -> Outcome {
        self.context.writer.apply(Actor::Loop("test"), command).await.expect("it commits")
    }

    /// Keeps an event with a key.
    pub(crate) async fn event(&self, event_type: &str, key: &str, data: &str) -> Seq {
        let delivery = Uuid::now_v7().to_string();
        let event = NewEvent {
            uid: TypeSafeId::from_uuid(Uuid::now_v7()),
            id: IngressId { source: "x:y".to_owned(), delivery },
            event_type: event_type.to_owned(),
            subject: None,
            occurred_at: None,
            scope: "main".to_owned(),
            key: Some(Key { source: "x:y".to_owned(), external_id: key.to_owned() }),
            target: None,
            limits: CausalLimits { max_depth: 32 },
            payload: Some(data.to_owned()),
            suspect_within: None,
        };
        let outcome = self.commit(Command::Accept { event: Box::new(event) }).await;
        let Outcome::Accepted(Receipt::Event { seq }) = outcome else { panic!("{outcome:?}") };
        seq
    }

    /// Routes one event and claims its Work, as a daemon that is about to die.
    pub(crate) async fn claimed(&self) -> Authority {
        let seq = self.event("t.a", "k", "{}").await;
        evaluation::route(&self.context, seq).await;
        self.claim().await
    }

    /// Claims the first Work under the token of ones.
    pub(crate) async fn claim(&self) -> Authority {
        self.claim_under("b").await
    }

    /// The same for a binding of another name.
    pub(crate) async fn claim_under(&self, binding: &str) -> Authority {
        self.claim_as(WorkId(1), binding, None).await
    }

    /// Claims a Work, for so much active time.
    pub(crate) async fn claim_as(
        &self,
        work: WorkId,
        binding: &str,
        active: Option<u64>,
    ) -> Authority {
        let can = self.double.capabilities();
        self.claim_with(work, binding, active, (can.injects, can.interrupts)).await
    }

    /// Claims the first Work under a pin that has these controls.
    pub(crate) async fn claim_can(
        &self,
        binding: &str,
        injects: bool,
        interrupts: bool,
    ) -> Authority {
        self.claim_with(WorkId(1), binding, None, (injects, interrupts)).await
    }

    async fn claim_with(
        &self,
        work: WorkId,
        binding: &str,
        active: Option<u64>,
        (injects, interrupts): (bool, bool),
    ) -> Authority {
        let pin = BindingPin {
            binding: binding.to_owned(),
            generation: self.context.current().generation,
            resumes: false,
            holds_until_pin: true,
            active: active.map(crate::domain::Duration),
            retry: crate::domain::RetryPolicy::default(),
            injects,
            interrupts,
        };
        let attempt_uid = TypeSafeId::from_uuid(Uuid::now_v7());
        let token = Token::from_bytes([1; 32]).hash();
        let lease = crate::domain::Duration::seconds(30);
        let claim = Command::Claim { work, attempt_uid, token, lease, pin, capacity: Vec::new() };
        let outcome = self.commit(claim).await;
        let Outcome::Accepted(Receipt::Claimed { attempt, epoch, .. }) = outcome else {
            panic!("{outcome:?}")
        };
        Authority { work, attempt, epoch, token }
    }

    /// The authority that holds a Work's attempt now, from the database.
    pub(crate) async fn authority(&self, work: i64) -> Authority {
        self.until(move |tx| {
            let work = crate::store::works::get(tx, WorkId(work)).expect("it reads")?;
            let attempt = attempts::get(tx, work.id, work.attempt?).expect("it reads")?;
            let token = attempt.token?;
            Some(Authority { work: work.id, attempt: attempt.n, epoch: attempt.epoch, token })
        })
        .await
    }

    /// Waits until a read is as wanted.
    pub(crate) async fn until<T: Send + 'static>(
        &self,
        mut read: impl FnMut(&mut dyn crate::store::Tx) -> Option<T> + Send + Clone + 'static,
    ) -> T {
        let mut bell = self.context.bell();
        soon(async {
            loop {
                bell.hears();
                let mut once = read.clone();
                let found = self.context.read(move |tx| Ok(once(tx))).await.expect("it reads");
                if let Some(found) = found {
                    return found;
                }
                assert!(bell.rings(None).await, "the daemon stopped");
                let _ = &mut read;
            }
        })
        .await
    }

    /// Waits until a Work has this status, seen to be so in one snapshot.
    pub(crate) async fn work_is(&self, id: i64, wanted: WorkStatus) -> Work {
        self.work_where(id, move |work| work.status == wanted).await
    }

    /// Waits until a Work is as wanted.
    pub(crate) async fn work_where(
        &self,
        id: i64,
        wanted: impl Fn(&Work) -> bool + Send + Clone + 'static,
    ) -> Work {
        self.until(move |tx| {
            let row = pages::work(tx, WorkId(id)).expect("it reads")?;
            wanted(&row.work).then_some(row.work)
        })
        .await
    }

    /// What the journal says was accepted, in order, routing and acceptance left out.
    pub(crate) async fn steps(&self) -> Vec<String> {
        let rows = self.context.read(|tx| crate::store::journal::since(tx, 0, 1000)).await;
        let rows = rows.expect("it reads").into_iter();
        let rows = rows.filter(|row| row.outcome == "accepted");
        let rows = rows.map(|row| row.action);
        rows.filter(|action| action != "accept" && action != "commit_route").collect()
    }

    /// Runs a loop in the background until the bench is dropped.
    pub(crate) fn run<F>(&self, run: impl Fn(Arc<Context>) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        tokio::spawn(run(Arc::clone(&self.context)));
    }

    /// Tells every loop to stop.
    pub(crate) fn stop(&self) {
        self.stop.send_replace(true);
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.stop();
    }
}

/// One request to a door, answered as status and JSON.
pub(crate) async fn ask(router: &Router, request: Request<Body>) -> (StatusCode, Value) {
    let response = router.clone().oneshot(request).await.expect("a router always answers");
    let status = response.status();
    let body = axum::body::to_bytes(response.into_body(), 1 << 20).await.expect("it is whole");
    (status, serde_json::from_slice(&body).unwrap_or(Value::Null))
}
