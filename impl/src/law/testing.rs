//! What the unit tests of the law share: a database in memory, and short words for commands.

#![expect(clippy::wildcard_enum_match_arm, reason = "any other answer fails the test")]

use type_safe_id::TypeSafeId;
use uuid::Uuid;

use crate::command::{Command, Outcome, Receipt, Refusal};
use crate::domain::{
    Actor, AttemptNo, Authority, BindingPin, CausalLimits, Control, ControlPolicy, Deadline,
    Decision, Duration, Ending, Epoch, EventUid, Exhausted, Fallback, Generation, IngressId,
    IntentStatus, Key, MarkKind, Millis, NewEvent, Proposal, ProposedWork, Request, RetryHint,
    RetryPolicy, ScopeLimit, Segment, SendAnswer, Seq, Source, Token, TokenHash, Verdict, WaitId,
    WorkId,
};
use crate::store::{
    Engine, Observation, Session, Store, StoreError, observe,
    observe::{SeenEvent, SeenWork},
};

use super::{apply, routing};

pub(crate) const LEASE: Duration = Duration(1_000);

/// One open transaction, its time, and the last authority that was granted.
pub(crate) struct Bench<'s> {
    pub(crate) tx: Session<'s>,
    pub(crate) now: Millis,
    minted: u32,
}

/// A store to build a [`Bench`] on.
pub(crate) fn store() -> Store {
    Store::open_in_memory().expect("a database in memory")
}

impl<'s> Bench<'s> {
    pub(crate) fn on(store: &'s Store) -> Self {
        let mut tx = store.session();
        tx.begin().expect("a transaction");
        Self { tx, now: Millis(10_000), minted: 0 }
    }

    pub(crate) fn attempt(&mut self, command: &Command) -> Result<Outcome, StoreError> {
        apply(&mut self.tx, self.now, &Actor::Loop("test"), command)
    }

    pub(crate) fn apply(&mut self, command: &Command) -> Outcome {
        self.attempt(command).expect("the store works")
    }

    pub(crate) fn accepted(&mut self, command: &Command) -> Receipt {
        match self.apply(command) {
            Outcome::Accepted(receipt) => receipt,
            other => panic!("{} was answered {other:?}", command.name()),
        }
    }

    /// Asserts a refusal, and that nothing that is compared has changed.
    pub(crate) fn refused(&mut self, command: &Command, refusal: Refusal) {
        self.inert(command, &Outcome::Refused(refusal));
    }

    /// Asserts an answer, and that nothing that is compared has changed.
    pub(crate) fn inert(&mut self, command: &Command, answer: &Outcome) {
        let before = self.see();
        assert_eq!(&self.apply(command), answer, "{}", command.name());
        assert_eq!(self.see(), before, "{} was answered {answer:?} and wrote", command.name());
    }

    pub(crate) fn see(&mut self) -> Observation {
        observe(&mut self.tx).expect("an observation")
    }

    pub(crate) fn work(&mut self, work: WorkId) -> SeenWork {
        let seen = self.see().works.into_iter().find(|seen| seen.work == work);
        seen.expect("the work is there")
    }

    pub(crate) fn later(&mut self, by: u64) {
        self.now = self.now + Duration(by);
    }

    pub(crate) fn accept(&mut self, event: NewEvent) -> Seq {
        match self.accepted(&Command::Accept { event: Box::new(event) }) {
            Receipt::Event { seq } => seq,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn evaluate(&mut self, event: Seq) -> Proposal {
        routing::snapshot(&mut self.tx, event)
            .expect("a snapshot")
            .expect("an unrouted event")
            .propose(Some("route"), Some("task"))
    }

    pub(crate) fn route(&mut self, event: Seq) -> (MarkKind, Option<WorkId>) {
        let proposal = self.evaluate(event);
        match self.accepted(&Command::CommitRoute { proposal }) {
            Receipt::Routed { mark, work, .. } => (mark, work),
            other => panic!("{other:?}"),
        }
    }

    /// The proposal of a handler that decided so about an unrouted event.
    pub(crate) fn proposal(&mut self, event: Seq, decision: Decision) -> Proposal {
        routing::snapshot(&mut self.tx, event)
            .expect("a snapshot")
            .expect("an unrouted event")
            .decide(Some("route"), decision)
    }

    /// Routes an event by a decision, and answers its mark and work.
    pub(crate) fn decide(&mut self, event: Seq, decision: Decision) -> (MarkKind, Option<WorkId>) {
        let proposal = self.proposal(event, decision);
        match self.accepted(&Command::CommitRoute { proposal }) {
            Receipt::Routed { mark, work, .. } => (mark, work),
            other => panic!("{other:?}"),
        }
    }

    /// The event that a request became.
    pub(crate) fn requested(&mut self, command: &Command) -> Seq {
        match self.accepted(command) {
            Receipt::Event { seq } => seq,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn event_at(&mut self, seq: Seq) -> SeenEvent {
        let seen = self.see().events.into_iter().find(|seen| seen.seq == seq);
        seen.expect("the event is there")
    }

    /// A ready work that owns `key`, made by an event of its own.
    pub(crate) fn ready(&mut self, name: &str) -> WorkId {
        let seq = self.accept(event(&format!("make-{name}")).with_key(name));
        self.route(seq).1.expect("a work was made")
    }

    /// The same of a kind whose work outlives its attempts.
    pub(crate) fn standing(&mut self, name: &str) -> WorkId {
        let seq = self.accept(event(&format!("make-{name}")).with_key(name));
        let create = Some(ProposedWork { standing: true, ..fresh_work(name) });
        self.decide(seq, Decision::Work { attach: Vec::new(), create, control: Control::default() })
            .1
            .expect("a work was made")
    }

    /// A new pending input of the work that owns `name`.
    pub(crate) fn input(&mut self, name: &str, delivery: &str) -> Seq {
        let seq = self.accept(event(delivery).with_key(name));
        assert_eq!(self.route(seq).0, MarkKind::Queued);
        seq
    }

    /// A new event of the key `name` that wakes whoever waits for it.
    pub(crate) fn input_wake(&mut self, name: &str) -> Seq {
        let seq = self.accept(event(&format!("wake-{name}")).with_key(name));
        assert_eq!(self.route(seq).0, MarkKind::Woke);
        seq
    }

    pub(crate) fn token(&mut self) -> TokenHash {
        self.minted += 1;
        let mut bits = [0; 32];
        bits[..4].copy_from_slice(&self.minted.to_le_bytes());
        Token::from_bytes(bits).hash()
    }

    pub(crate) fn claim_command(&mut self, work: WorkId) -> (Command, TokenHash) {
        let token = self.token();
        let attempt_uid = TypeSafeId::from_uuid(Uuid::from_u128(self.minted.into()));
        let (pin, capacity) = (pin(true), limit("acme", 9));
        let command = Command::Claim { work, attempt_uid, token, lease: LEASE, pin, capacity };
        (command, token)
    }

    pub(crate) fn claim(&mut self, work: WorkId) -> Authority {
        self.claim_pinned_to(work, pin(true))
    }

    pub(crate) fn claim_pinned_to(&mut self, work: WorkId, to: BindingPin) -> Authority {
        let (mut command, token) = self.claim_command(work);
        if let Command::Claim { pin, .. } = &mut command {
            *pin = to;
        }
        match self.accepted(&command) {
            Receipt::Claimed { attempt, epoch, .. } => Authority { work, attempt, epoch, token },
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn hand(&mut self, by: Authority) {
        self.accepted(&Command::ClearNeverHanded { by });
    }

    /// A claimed attempt whose process runs.
    pub(crate) fn running(&mut self, name: &str) -> Authority {
        let work = self.ready(name);
        self.claim_and_pin(work)
    }

    pub(crate) fn claim_and_pin(&mut self, work: WorkId) -> Authority {
        let by = self.claim(work);
        self.hand(by);
        self.accepted(&pin_command(by));
        by
    }

    /// A running attempt of ready work under a retry policy of its own.
    pub(crate) fn running_under(&mut self, work: WorkId, policy: &RetryPolicy) -> Authority {
        let by = self.claim_pinned_to(work, BindingPin { retry: policy.clone(), ..pin(true) });
        self.hand(by);
        self.accepted(&pin_command(by));
        by
    }

    /// Fires and routes the due retry of a failed attempt, and answers its event.
    pub(crate) fn retried(&mut self, failed: Authority) -> Seq {
        let (work, attempt) = (failed.work, failed.attempt);
        let seq = self.requested(&Command::FireRetry { work, attempt });
        assert_eq!(self.route(seq), (MarkKind::Queued, Some(work)));
        seq
    }

    pub(crate) fn recover(&mut self, work: WorkId) -> (Authority, bool) {
        let token = self.token();
        match self.accepted(&Command::ClaimRecovery { work, token, lease: LEASE }) {
            Receipt::Recovering { attempt, epoch, relaunch, .. } => {
                (Authority { work, attempt, epoch, token }, relaunch)
            }
            other => panic!("{other:?}"),
        }
    }

    /// Registers a wait and answers its row and whoever woke it at once.
    pub(crate) fn wait_on(&mut self, wanted: &Command) -> (WaitId, Option<Seq>) {
        match self.accepted(wanted) {
            Receipt::Waiting { wait, winner } => (wait, winner),
            other => panic!("{other:?}"),
        }
    }

    /// A parked attempt that waits on its own key with a timeout, from the last event on.
    pub(crate) fn parked(&mut self, name: &str, timeout: Option<u64>) -> (Authority, WaitId) {
        let by = self.running(name);
        let after = self.last_seq();
        let command = wait_command(by, &[name], after, timeout);
        let (wait, winner) = self.wait_on(&command);
        assert_eq!(winner, None);
        (by, wait)
    }

    /// Makes another configuration current.
    pub(crate) fn reload(&mut self, body: &str) {
        let (digest, body) = ("d".to_owned(), body.to_owned());
        self.accepted(&Command::Reload { digest, body });
    }

    /// A work that subscribes, is held and released, hands off, is closed idle and reopened.
    fn subscribed_round(&mut self, source: &str, round: u32) {
        let name = format!("s{round}");
        let by = self.running(&name);
        let after = self.last_seq();
        let mut command = wait_command(by, &[&name], after, None);
        if let Command::RegisterWait { source: of, .. } = &mut command {
            let (extension, scope) = ("tool".to_owned(), "acme".to_owned());
            *of = Some(Source { extension, key: key(source), scope });
        }
        let (wait, _) = self.wait_on(&command);
        self.vacate(by);
        let news = self.accept(event(&format!("news-{round}")).with_key(source));
        let alias = self.requested(&Command::Translate { wait, event: news });
        self.route(alias);
        self.accepted(&Command::Drop { event: news, reason: String::new() });
        let work = by.work;
        self.accepted(&Command::Hold { work, expect: None, reason: String::new() });
        let release = request(&format!("release-{round}"));
        self.accepted(&Command::Release { work, expect: None, request: release });
        let by = self.claim_and_pin(work);
        let ending = Ending::Handoff { close_after: Some(Duration(1)) };
        let status = Some("fine".to_owned());
        self.accepted(&Command::Complete { by, ending, status, proofs: Vec::new(), usage: None });
        let ended = self.last_seq();
        self.route(ended);
        self.later(1);
        self.accepted(&Command::CloseIdle { work });
        let reopen = request(&format!("reopen-{round}"));
        let successor = fresh_work(&format!("successor-{round}")).uid;
        self.accepted(&Command::Reopen { work, expect: None, request: reopen, successor });
        let replay = request(&format!("replay-{round}"));
        let replayed = self.requested(&Command::Replay { event: news, request: replay });
        self.accepted(&Command::Drop { event: replayed, reason: String::new() });
    }

    /// A work that fails, is retried by its timer and by a person, and then done.
    fn failed_round(&mut self, round: u32) {
        let failed = self.running(&format!("f{round}"));
        self.accepted(&fail(failed));
        self.later(300_000);
        self.retried(failed);
        let again = self.claim_and_pin(failed.work);
        self.accepted(&fail_with(again, RetryHint::Delay(5_000)));
        let (work, request) = (failed.work, request(&format!("retry-{round}")));
        self.requested(&Command::Retry { work, expect: None, request });
        let by = self.claim_and_pin(work);
        self.accepted(&Command::Detach { by });
        let (by, _) = self.recover(work);
        self.accepted(&settle(by, Verdict::Adopted));
        self.accepted(&complete(by));
    }

    /// Routes a new event of the key `name` by a route that says this of running attempts.
    pub(crate) fn controlled(
        &mut self,
        name: &str,
        delivery: &str,
        control: Control,
    ) -> (Seq, Outcome) {
        let seq = self.accept(event(delivery).with_key(name));
        let decision = Decision::Update { attach: Vec::new(), control };
        let proposal = self.proposal(seq, decision);
        (seq, self.apply(&Command::CommitRoute { proposal }))
    }

    /// An event that is to be injected into the running attempt of the work that owns `name`.
    pub(crate) fn inject(&mut self, name: &str, delivery: &str) -> Seq {
        self.inject_or(name, delivery, None)
    }

    /// The same with an error fallback.
    pub(crate) fn inject_or(
        &mut self,
        name: &str,
        delivery: &str,
        on_error: Option<Fallback>,
    ) -> Seq {
        let control = Control { policy: ControlPolicy::Inject, fallback: None, on_error };
        self.sent_by(name, delivery, control, MarkKind::Inject)
    }

    /// An event that is to stop the running attempt of the work that owns `name`.
    pub(crate) fn interrupting(&mut self, name: &str, delivery: &str) -> Seq {
        let policy = ControlPolicy::Interrupt;
        let control = Control { policy, fallback: None, on_error: None };
        self.sent_by(name, delivery, control, MarkKind::Interrupt)
    }

    fn sent_by(&mut self, name: &str, delivery: &str, control: Control, mark: MarkKind) -> Seq {
        match self.controlled(name, delivery, control) {
            (seq, Outcome::Accepted(Receipt::Routed { mark: given, .. })) if given == mark => seq,
            (_, other) => panic!("{other:?}"),
        }
    }

    /// Says that a send is tried.
    pub(crate) fn dispatch(&mut self, by: Authority, event: Seq) {
        self.accepted(&dispatch(by, event));
    }

    /// Tries a send and commits its answer; answers where the intent is now.
    pub(crate) fn answered(
        &mut self,
        by: Authority,
        event: Seq,
        answer: SendAnswer,
    ) -> IntentStatus {
        self.dispatch(by, event);
        match self.accepted(&settle_send(by, event, answer)) {
            Receipt::Intent { status, .. } => status,
            other => panic!("{other:?}"),
        }
    }

    /// Where the intent of an event is.
    pub(crate) fn intent(&mut self, event: Seq) -> IntentStatus {
        self.event_at(event).intent.expect("an intent").status
    }

    /// The id of an event at the edge.
    pub(crate) fn uid(&mut self, event: Seq) -> EventUid {
        crate::store::events::uid(&mut self.tx, event).expect("the event is there")
    }

    /// The same result with proofs for these events.
    pub(crate) fn proving(&mut self, mut command: Command, events: &[Seq]) -> Command {
        let uids = events.iter().map(|event| self.uid(*event)).collect();
        match &mut command {
            Command::Complete { proofs, .. }
            | Command::Fail { proofs, .. }
            | Command::RegisterWait { proofs, .. } => *proofs = uids,
            other => panic!("{} has no proofs", other.name()),
        }
        command
    }

    /// An attempt that is injected into, parks, is resumed and interrupted, and a work that an error
    /// fallback takes input from.
    fn controlled_round(&mut self, round: u32) {
        let name = format!("c{round}");
        let by = self.running(&name);
        let proved = self.inject(&name, &format!("proved-{round}"));
        self.answered(by, proved, SendAnswer::Accepted);
        let withdrawn = self.inject_or(&name, &format!("withdrawn-{round}"), Some(Fallback::Drop));
        self.answered(by, withdrawn, SendAnswer::Failed);
        let again = self.inject(&name, &format!("again-{round}"));
        self.answered(by, again, SendAnswer::Failed);
        let after = self.last_seq();
        let wanted = wait_command(by, &[&name], after, Some(500));
        let wanted = self.proving(wanted, &[proved]);
        self.wait_on(&wanted);
        self.vacate(by);
        self.input_wake(&name);
        let by = self.claim_and_pin(by.work);
        let never = self.inject(&name, &format!("never-{round}"));
        let (work, request) = (by.work, request(&format!("interrupt-{round}")));
        let interrupt = Command::Interrupt { work, expect: None, request, implemented: true };
        let interrupt = self.requested(&interrupt);
        self.answered(by, interrupt, SendAnswer::Accepted);
        let row = crate::store::intents::get(&mut self.tx, never).expect("a read");
        assert_eq!(row.expect("an intent").status, IntentStatus::Stale);
        self.vacate(by);
    }

    pub(crate) fn last_seq(&mut self) -> Seq {
        crate::store::meta::last_seq(&mut self.tx).expect("the counter")
    }

    pub(crate) fn vacate(&mut self, by: Authority) {
        let segment = Segment { attempt: by.attempt, epoch: by.epoch };
        self.accepted(&Command::Vacate { work: by.work, segment });
    }
}

/// Commits one work with a parked attempt that waits on `x` with a timeout.
pub(crate) fn populate(store: &Store) {
    let mut bench = Bench::on(store);
    bench.parked("x", Some(500));
    bench.tx.commit().expect("a commit");
}

/// Commits works with every kind of intent there is at rest, and one that is open.
pub(crate) fn populate_controls(store: &Store) {
    let mut bench = Bench::on(store);
    bench.controlled_round(1);
    let by = bench.running("open");
    let unsupported = BindingPin { injects: false, ..pin(true) };
    let dispatched = bench.inject("open", "dispatched");
    bench.dispatch(by, dispatched);
    let work = bench.ready("plain");
    bench.claim_pinned_to(work, unsupported);
    let control =
        Control { policy: ControlPolicy::Inject, fallback: Some(Fallback::Drop), on_error: None };
    bench.controlled("plain", "dropped", control);
    bench.tx.commit().expect("a commit");
}

/// A session that has taken `rounds` works through a whole life: wait, wake, resume, recovery, end.
pub(crate) fn steady(store: &Store, rounds: u32) -> Session<'_> {
    let mut bench = Bench::on(store);
    for round in 0..rounds {
        bench.failed_round(round);
        bench.controlled_round(round);
        let name = format!("w{round}");
        let (by, wait) = bench.parked(&name, Some(500));
        bench.vacate(by);
        bench.later(500);
        bench.accepted(&Command::FireTimer { wait });
        let by = bench.claim(by.work);
        bench.hand(by);
        bench.accepted(&pin_command(by));
        bench.later(LEASE.0);
        let (by, _) = bench.recover(by.work);
        bench.accepted(&settle(by, Verdict::Adopted));
        bench.accepted(&Command::Renew { by, lease: LEASE });
        bench.subscribed_round(&name, round);
        if round % 2 == 0 {
            bench.accepted(&complete(by));
        } else {
            bench.accepted(&cancel(by.work));
        }
    }
    bench.tx
}

/// An event that the wait of [`populate`] matches.
pub(crate) fn matching() -> NewEvent {
    event("match").with_key("x")
}

pub(crate) fn limit(scope: &str, limit: u32) -> Vec<ScopeLimit> {
    vec![ScopeLimit { scope: scope.to_owned(), limit }]
}

/// A request that nobody else makes under this name.
pub(crate) fn request(id: &str) -> Request {
    let uid = TypeSafeId::from_uuid(event(id).uid.uuid());
    Request { uid, id: id.to_owned(), limits: CausalLimits { max_depth: 32 } }
}

pub(crate) fn fresh_work(name: &str) -> ProposedWork {
    let uid = TypeSafeId::from_uuid(event(name).uid.uuid());
    ProposedWork { uid, kind: "task".to_owned(), standing: false }
}

pub(crate) fn pin(resumes: bool) -> BindingPin {
    let binding = "shell".to_owned();
    BindingPin {
        binding,
        generation: Generation(0),
        resumes,
        holds_until_pin: false,
        injects: true,
        interrupts: true,
        active: None,
        retry: RetryPolicy::default(),
    }
}

pub(crate) fn pin_command(by: Authority) -> Command {
    Command::Pin { by, metadata: r#"{"pid":7}"#.to_owned() }
}

pub(crate) fn wait_command(
    by: Authority,
    keys: &[&str],
    after: Seq,
    timeout: Option<u64>,
) -> Command {
    Command::RegisterWait {
        by,
        uid: TypeSafeId::from_uuid(Uuid::from_u128(
            u128::from(by.epoch.0) << 64 | u128::from(by.attempt.0) << 32 | by.work.0 as u128,
        )),
        keys: keys.iter().map(|name| key(name)).collect(),
        types: Vec::new(),
        after,
        deadline: timeout.map(|length| Deadline::After(Duration(length))),
        source: None,
        read_scopes: Vec::new(),
        proofs: Vec::new(),
        usage: None,
    }
}

pub(crate) fn dispatch(by: Authority, event: Seq) -> Command {
    Command::Dispatch { by, event }
}

pub(crate) fn settle_send(by: Authority, event: Seq, answer: SendAnswer) -> Command {
    Command::SettleDispatch { by, event, answer, detail: "so it said".to_owned() }
}

pub(crate) fn interrupt(work: WorkId, id: &str) -> Command {
    Command::Interrupt { work, expect: None, request: request(id), implemented: true }
}

pub(crate) fn complete(by: Authority) -> Command {
    Command::Complete {
        by,
        ending: Ending::Completed,
        status: None,
        proofs: Vec::new(),
        usage: None,
    }
}

pub(crate) fn fail(by: Authority) -> Command {
    Command::Fail {
        by,
        reason: "exit status 1".to_owned(),
        hint: None,
        proofs: Vec::new(),
        usage: None,
    }
}

pub(crate) fn fail_with(by: Authority, hint: RetryHint) -> Command {
    Command::Fail {
        by,
        reason: "overloaded".to_owned(),
        hint: Some(hint),
        proofs: Vec::new(),
        usage: None,
    }
}

/// So many failures, after which the work is kept or failed: 100 and 200 ms between them.
pub(crate) fn policy(attempts: u32, exhausted: Exhausted) -> RetryPolicy {
    let backoff = vec![Duration(100), Duration(200)];
    RetryPolicy { attempts, backoff, exhausted, hint_max: Duration(10_000) }
}

pub(crate) fn settle(by: Authority, verdict: Verdict) -> Command {
    Command::SettleRecovery { by, verdict, reason: String::new() }
}

pub(crate) fn cancel(work: WorkId) -> Command {
    let reason = "no longer wanted".to_owned();
    Command::Cancel { work, expect: None, for_good: false, reason }
}

/// The same claim under a token that was never granted.
pub(crate) fn forged(by: Authority) -> Authority {
    Authority { token: Token::from_bytes([0xff; 32]).hash(), ..by }
}

pub(crate) fn nobody(work: WorkId) -> Authority {
    let token = Token::from_bytes([0xee; 32]).hash();
    Authority { work, attempt: AttemptNo(1), epoch: Epoch(1), token }
}

pub(crate) fn key(name: &str) -> Key {
    Key { source: "ci".to_owned(), external_id: name.to_owned() }
}

/// An event of scope `acme` without key or target.
pub(crate) fn event(delivery: &str) -> NewEvent {
    let mut bytes = [0u8; 16];
    for (at, byte) in delivery.bytes().enumerate() {
        bytes[at % 16] = bytes[at % 16].wrapping_mul(31).wrapping_add(byte);
    }
    NewEvent {
        uid: TypeSafeId::from_uuid(Uuid::from_bytes(bytes)),
        id: IngressId { source: "ci".to_owned(), delivery: delivery.to_owned() },
        event_type: "build.done".to_owned(),
        subject: None,
        occurred_at: None,
        scope: "acme".to_owned(),
        key: None,
        target: None,
        limits: CausalLimits { max_depth: 32 },
        payload: Some(r#"{"secret":"hunter2"}"#.to_owned()),
        suspect_within: None,
    }
}

/// Short ways to vary an event.
pub(crate) trait Vary: Sized {
    fn with_key(self, name: &str) -> Self;
    fn with_target(self, work: WorkId) -> Self;
    fn with_type(self, event_type: &str) -> Self;
    fn in_scope(self, scope: &str) -> Self;
    fn with_depth(self, max_depth: u32) -> Self;
}

impl Vary for NewEvent {
    fn with_key(self, name: &str) -> Self {
        Self { key: Some(key(name)), ..self }
    }

    fn with_target(self, work: WorkId) -> Self {
        Self { target: Some(work), ..self }
    }

    fn with_type(self, event_type: &str) -> Self {
        Self { event_type: event_type.to_owned(), ..self }
    }

    fn in_scope(self, scope: &str) -> Self {
        Self { scope: scope.to_owned(), ..self }
    }

    fn with_depth(self, max_depth: u32) -> Self {
        Self { limits: CausalLimits { max_depth }, ..self }
    }
}
