//! The audit on journals of the runtime: lawful ones pass, and each doctoring that the law can see is found where it is.

#[path = "audit/controls.rs"]
mod controls;

use std::path::{Path, PathBuf};

use abide::command::{Command, Outcome, Receipt};
use abide::domain::{
    Actor, AttemptNo, AttemptUid, Authority, BindingPin, CausalLimits, Control, Deadline, Decision,
    Duration, Ending, Epoch, EventUid, Generation, IngressId, Key, Millis, NewEvent, Proposal,
    ProposedWork, Request, RetryHint, RetryPolicy, ScopeLimit, Segment, Seq, TokenHash, Verdict,
    WaitId, WaitUid, WorkId, WorkUid,
};
use abide::law;
use abide::store::{Engine, Store, Tx, Value, journal};
use abide_model::action::Action;
use abide_model::classes::{classes, covering};
use abide_model::graph::explore;
use abide_model::law::Law;
use abide_model::state::State;
use abide_model::worlds::{Visit, World, named, offered};
use abide_refinement::audit::{AuditError, Illegal, Report, audit, audit_database, audit_export};
use abide_refinement::runtime::InMemory;
use abide_refinement::subject::Subject;

/// The class traces of a world.
struct Traces;

impl Visit for Traces {
    type Out = Vec<Vec<Action>>;

    fn visit<const W: usize, const E: usize, const T: usize>(
        self,
        world: &'static World,
    ) -> Self::Out {
        let graph = explore::<W, E, T>(Law::of(world));
        covering(&graph, &classes(&graph))
    }
}

/// A walk that takes any action the surroundings offer, forbidden ones too, by a generator that always walks alike.
struct Walk {
    seed: u64,
    steps: usize,
}

impl Visit for Walk {
    type Out = Vec<Action>;

    fn visit<const W: usize, const E: usize, const T: usize>(
        self,
        world: &'static World,
    ) -> Self::Out {
        let (law, mut state, mut seed) = (Law::of(world), State::<W, E, T>::new(), self.seed);
        let mut walk = Vec::with_capacity(self.steps);
        while walk.len() < self.steps {
            let offers = offered(world, &state);
            if offers.is_empty() {
                break;
            }
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let pick = usize::try_from(seed >> 33).expect("31 bits") % offers.len();
            let action = offers[pick];
            (_, state) = law.step(&state, action);
            walk.push(action);
        }
        walk
    }
}

/// Random walks reach orders that no class trace has, in every world and without exploring it; `AUDIT_WALKS` says how many.
#[test]
fn journals_of_random_walks_through_every_world_pass() {
    let walks = std::env::var("AUDIT_WALKS").ok().and_then(|walks| walks.parse().ok());
    let folder = tempfile::tempdir().expect("a folder");
    for (nth, world) in abide_model::worlds::ALL.iter().enumerate() {
        for seed in 0..walks.unwrap_or(3_u64) {
            let walk = Walk { seed: seed * 1_000 + nth as u64, steps: 60 };
            let trace = abide_model::worlds::visit(world, walk);
            let file = folder.path().join(format!("{nth}-{seed}.db"));
            journal_of(world, &trace, &file);
            let report = passes(&file);
            assert!(report.undecided.is_empty(), "{}: {:?}", world.name, report.undecided);
        }
    }
}

/// Performs a trace on a file of its own and closes it under a seal.
fn journal_of(world: &'static World, trace: &[Action], file: &Path) {
    let store = Store::open(file).expect("a file");
    let mut subject = InMemory::new(world, &store).expect("a first configuration");
    for action in trace {
        match action {
            Action::Commit(commit) => {
                subject.perform(*commit).expect("the runtime answers");
            }
            Action::World(env) => subject.surroundings(*env).expect("the surroundings act"),
        }
    }
    subject.keep().expect("the journal is kept");
}

fn passes(file: &Path) -> Report {
    audit_database(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// How many class traces of each world are followed; `AUDIT_TRACES` says otherwise.
const TRACES: usize = 6;

/// Class traces end in everything that the law refuses, defers or has already done.
fn class_traces_pass(worlds: &[&str]) {
    let most = std::env::var("AUDIT_TRACES").ok().and_then(|most| most.parse().ok());
    for name in worlds {
        let world = named(name).unwrap_or_else(|| panic!("there is no world `{name}`"));
        let folder = tempfile::tempdir().expect("a folder");
        let traces = abide_model::worlds::visit(world, Traces);
        let step = traces.len().div_ceil(most.unwrap_or(TRACES)).max(1);
        let (mut rows, mut replayed) = (0, 0);
        for (n, trace) in traces.iter().enumerate().step_by(step) {
            let file = folder.path().join(format!("{n}.db"));
            journal_of(world, trace, &file);
            let report = passes(&file);
            assert!(report.undecided.is_empty(), "{name}: {:?}", report.undecided);
            assert_eq!(report.rows, report.replayed + report.unjudged(), "{name}");
            rows += report.rows;
            replayed += report.replayed;
        }
        assert!(rows > 0 && replayed * 10 >= rows * 9, "{name}: {replayed} of {rows} replayed");
    }
}

#[test]
fn journals_of_class_traces_about_routing_pass() {
    class_traces_pass(&["acceptance", "identities", "routing", "terminal"]);
}

#[test]
fn journals_of_class_traces_about_waits_pass() {
    class_traces_pass(&["pauses", "bursts", "aliases"]);
}

#[test]
fn journals_of_class_traces_about_endings_and_failures_pass() {
    class_traces_pass(&["endings", "standing", "hints"]);
}

#[test]
fn journals_of_class_traces_about_controls_pass() {
    class_traces_pass(&["fallback", "steer-and-wait", "pinned-controls"]);
}

const SCOPE: &str = "acme";
const LEASE: i64 = 60_000;

/// A runtime on a file, with time and tokens in the test's hand.
struct Story {
    file: PathBuf,
    _folder: tempfile::TempDir,
    commands: Vec<(i64, Command)>,
    now: i64,
    token: u8,
    /// Whether what is claimed can be injected into, and whether it can be interrupted.
    pinned: (bool, bool),
    store: Store,
}

impl Story {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("abide.db");
        let store = Store::open(&file).expect("a file");
        let (commands, pinned) = (Vec::new(), (false, false));
        Self { file, _folder: folder, commands, now: 1_000_000, token: 0, pinned, store }
    }

    fn go(&mut self, command: Command) -> Outcome {
        let mut session = self.store.session();
        session.begin().expect("a transaction");
        let answer = law::apply(&mut session, Millis(self.now), &Actor::Loop("test"), &command);
        journal::seal(&mut session).expect("a seal");
        session.commit().expect("a commit");
        drop(session);
        self.commands.push((self.now, command));
        answer.expect("the store works")
    }

    fn does(&mut self, command: Command) -> Receipt {
        let answer = self.go(command);
        let Outcome::Accepted(receipt) = answer else {
            panic!("{:?} was answered {answer:?}", self.commands.last())
        };
        receipt
    }

    fn refuses(&mut self, command: Command) {
        let answer = self.go(command);
        assert!(!matches!(answer, Outcome::Accepted(_)), "{:?}", self.commands.last());
    }

    fn later(&mut self, ms: i64) {
        self.now += ms;
    }

    fn accept(&mut self, delivery: &str) -> Seq {
        let receipt = self.does(Command::Accept { event: Box::new(event(delivery)) });
        let Receipt::Event { seq } = receipt else { panic!("{receipt:?}") };
        seq
    }

    fn route(&mut self, event: Seq, resolved: Option<(WorkId, i64)>) -> Receipt {
        let create = resolved.is_none().then(|| ProposedWork {
            uid: WorkUid::new(),
            kind: "run".to_owned(),
            standing: false,
        });
        let decision = Decision::Work { attach: Vec::new(), create, control: Control::default() };
        self.does(Command::CommitRoute { proposal: proposal(event, resolved, decision) })
    }

    fn claim(&mut self) -> Command {
        self.token += 1;
        Command::Claim {
            work: WORK,
            attempt_uid: AttemptUid::new(),
            token: TokenHash([self.token; 32]),
            lease: duration(LEASE),
            pin: BindingPin {
                binding: "shell".to_owned(),
                generation: Generation(1),
                resumes: true,
                holds_until_pin: false,
                active: None,
                retry: RetryPolicy::default(),
                injects: self.pinned.0,
                interrupts: self.pinned.1,
            },
            capacity: vec![ScopeLimit { scope: SCOPE.to_owned(), limit: 1 }],
        }
    }

    fn started(&mut self) -> Authority {
        let command = self.claim();
        let Receipt::Claimed { attempt, epoch, .. } = self.does(command) else {
            panic!("a claim is answered as one")
        };
        let by = self.by(attempt, epoch);
        self.does(Command::ClearNeverHanded { by });
        self.does(Command::Pin { by, metadata: "{}".to_owned() });
        by
    }

    fn by(&self, attempt: AttemptNo, epoch: Epoch) -> Authority {
        Authority { work: WORK, attempt, epoch, token: TokenHash([self.token; 32]) }
    }
}

const WORK: WorkId = WorkId(1);

fn duration(ms: i64) -> Duration {
    Duration(u64::try_from(ms).expect("a length"))
}

fn key() -> Key {
    Key { source: "test".to_owned(), external_id: "42".to_owned() }
}

fn event(delivery: &str) -> NewEvent {
    NewEvent {
        uid: EventUid::new(),
        id: IngressId { source: "test".to_owned(), delivery: delivery.to_owned() },
        event_type: "note".to_owned(),
        subject: None,
        occurred_at: None,
        scope: SCOPE.to_owned(),
        key: Some(key()),
        target: None,
        limits: CausalLimits { max_depth: 32 },
        payload: Some(format!(r#"{{"of":"{delivery}"}}"#)),
        suspect_within: None,
    }
}

fn proposal(event: Seq, resolved: Option<(WorkId, i64)>, decision: Decision) -> Proposal {
    let route = Some("route".to_owned());
    Proposal { event, resolved, generation: Generation(1), route, decision, reopen: None }
}

fn request(id: &str) -> Request {
    let limits = CausalLimits { max_depth: 32 };
    Request { uid: EventUid::new(), id: id.to_owned(), limits }
}

/// One Work through waits, a recovery, a hold, failures and retries to its end. Rows that doctorings change are looked up by
/// what they are, never by number.
fn story() -> Story {
    let mut on = Story::new();
    on.does(Command::Reload { digest: "one".to_owned(), body: "one".to_owned() });
    let first = on.accept("first");
    on.go(Command::Accept { event: Box::new(event("first")) });
    on.route(first, None);
    on.go(Command::CommitRoute { proposal: proposal(first, None, Decision::Decline) });
    let by = on.started();
    on.later(10);
    // Waits, is woken by an event that is routed, and goes on.
    let wait = |by| Command::RegisterWait {
        by,
        uid: WaitUid::new(),
        keys: vec![key()],
        types: Vec::new(),
        after: Seq(1),
        deadline: Some(Deadline::After(duration(5_000))),
        source: None,
        read_scopes: Vec::new(),
        proofs: Vec::new(),
        usage: None,
    };
    on.does(wait(by));
    on.does(Command::Vacate {
        work: WORK,
        segment: Segment { attempt: by.attempt, epoch: by.epoch },
    });
    on.refuses(Command::FireTimer { wait: WaitId(1) });
    let second = on.accept("second");
    on.route(second, Some((WORK, 4)));
    on.go(Command::Wake { wait: WaitId(1) });
    on.does(Command::Hold { work: WORK, expect: None, reason: "look".to_owned() });
    let held = on.claim();
    on.refuses(held);
    on.does(Command::Release { work: WORK, expect: None, request: request("release") });
    let resumed = on.started();
    on.refuses(Command::Pin { by: Authority { ..by }, metadata: "{}".to_owned() });
    // Waits again, and times out.
    on.does(wait(resumed));
    let segment = Segment { attempt: resumed.attempt, epoch: resumed.epoch };
    on.does(Command::Vacate { work: WORK, segment });
    on.later(5_000);
    on.does(Command::FireTimer { wait: WaitId(2) });
    on.go(Command::FireTimer { wait: WaitId(2) });
    let by = on.started();
    // Loses its lease, is recovered, and cannot be adopted.
    on.refuses(Command::ClaimRecovery {
        work: WORK,
        token: TokenHash([100; 32]),
        lease: duration(LEASE),
    });
    on.does(Command::Detach { by });
    on.later(1);
    on.refuses(Command::Renew { by, lease: duration(LEASE) });
    on.refuses(Command::Complete {
        by,
        ending: Ending::Completed,
        status: None,
        proofs: Vec::new(),
        usage: None,
    });
    on.token = 101;
    let taken = on.does(Command::ClaimRecovery {
        work: WORK,
        token: TokenHash([101; 32]),
        lease: duration(LEASE),
    });
    let Receipt::Recovering { attempt, epoch, .. } = taken else { panic!("{taken:?}") };
    let by = on.by(attempt, epoch);
    on.does(Command::SettleRecovery { by, verdict: Verdict::NotAdoptable, reason: String::new() });
    let segment = Segment { attempt, epoch };
    on.does(Command::Vacate { work: WORK, segment });
    // Its retry comes due, is routed, and the next attempt fails with a hint; a person has it tried again.
    let backoff = on.claim();
    on.refuses(backoff);
    on.refuses(Command::FireRetry { work: WORK, attempt });
    on.later(5 * 60_000);
    let due = on.does(Command::FireRetry { work: WORK, attempt });
    on.go(Command::FireRetry { work: WORK, attempt });
    let Receipt::Event { seq } = due else { panic!("{due:?}") };
    let stale = proposal(seq, Some((WORK, 1)), Decision::Decline);
    on.refuses(Command::CommitRoute { proposal: stale });
    on.does(Command::CommitRoute { proposal: proposal(seq, Some((WORK, 10)), Decision::Decline) });
    let by = on.started();
    let hint = Some(RetryHint::Delay(1_000));
    on.does(Command::Fail { by, reason: "no".to_owned(), hint, proofs: Vec::new(), usage: None });
    on.refuses(Command::FireRetry { work: WORK, attempt: by.attempt });
    on.does(Command::Retry { work: WORK, expect: Some(by.attempt), request: request("again") });
    let by = on.started();
    let status = Some("done".to_owned());
    on.does(Command::Complete {
        by,
        ending: Ending::Completed,
        status,
        proofs: Vec::new(),
        usage: None,
    });
    let last = on.claim();
    on.refuses(last);
    on.refuses(Command::Cancel {
        work: WORK,
        expect: None,
        for_good: false,
        reason: String::new(),
    });
    let late = on.accept("late");
    on.does(Command::CommitRoute { proposal: proposal(late, Some((WORK, 14)), Decision::Decline) });
    on
}

#[test]
fn a_story_of_waits_recovery_and_retries_passes_and_counts_everything() {
    let on = story();
    let report = passes(&on.file);
    assert_eq!((report.works, report.unsealed, report.unjudged()), (1, 0, 0), "{report:?}");
    // A renewal writes no row.
    assert_eq!(report.rows, on.commands.len() - 1);
    assert_eq!(report.replayed, report.rows);
    assert_eq!(report.seals, Some(report.rows));
}

/// A row as it is stored.
#[derive(Debug, Clone)]
struct Stored {
    n: i64,
    action: String,
    args: String,
    outcome: String,
    facts: String,
}

fn rows(on: &Story) -> Vec<Stored> {
    let mut session = on.store.session();
    let rows = journal::since(&mut session, 0, 10_000).expect("rows");
    rows.into_iter()
        .map(|row| Stored {
            n: row.n,
            action: row.action,
            args: row.args,
            outcome: row.outcome,
            facts: row.facts,
        })
        .collect()
}

/// The nth row of an action with an outcome, from 1.
fn find(on: &Story, action: &str, outcome: &str, nth: usize) -> Stored {
    let found = rows(on)
        .into_iter()
        .filter(|row| row.action == action && row.outcome == outcome)
        .nth(nth - 1);
    found.unwrap_or_else(|| panic!("no {nth}. {action} that was {outcome}: {:#?}", rows(on)))
}

/// Changes the journal and seals it anew, so that only the law can tell.
fn doctor(on: &Story, change: impl FnOnce(&mut dyn Tx)) {
    let mut session = on.store.session();
    session.begin().expect("a transaction");
    change(&mut session);
    session.execute("DELETE FROM seal", &[]).expect("no seal is left");
    journal::seal(&mut session).expect("a seal");
    session.commit().expect("a commit");
}

fn rewrite(tx: &mut dyn Tx, row: &Stored) {
    let values = [
        Value::Int(row.n),
        Value::Text(&row.args),
        Value::Text(&row.outcome),
        Value::Text(&row.facts),
        Value::Text(&row.action),
    ];
    tx.execute(
        "UPDATE journal SET args = ?2, outcome = ?3, facts = ?4, action = ?5 WHERE n = ?1",
        &values,
    )
    .expect("a row");
}

fn remove(tx: &mut dyn Tx, n: i64) {
    tx.execute("DELETE FROM journal WHERE n = ?1", &[Value::Int(n)]).expect("a row");
    tx.execute("UPDATE journal SET n = -(n - 1) WHERE n > ?1", &[Value::Int(n)]).expect("rows");
    tx.execute("UPDATE journal SET n = -n WHERE n < 0", &[]).expect("rows");
}

fn insert_copy(tx: &mut dyn Tx, of: i64, after: i64) {
    let at = Value::Int(after);
    tx.execute("UPDATE journal SET n = -(n + 1) WHERE n > ?1", &[at]).expect("rows");
    tx.execute("UPDATE journal SET n = -n WHERE n < 0", &[]).expect("rows");
    let of = if of > after { of + 1 } else { of };
    tx.execute(
        "INSERT INTO journal (n, at, actor, action, args, outcome, facts, digest) \
         SELECT ?1 + 1, (SELECT at FROM journal WHERE n = ?1), actor, action, args, outcome, \
         facts, digest FROM journal WHERE n = ?2",
        &[at, Value::Int(of)],
    )
    .expect("a row");
}

fn swap(tx: &mut dyn Tx, one: &Stored, other: &Stored) {
    rewrite(tx, &Stored { n: other.n, ..one.clone() });
    rewrite(tx, &Stored { n: one.n, ..other.clone() });
}

fn found(on: &Story) -> Illegal {
    match audit_database(&on.file) {
        Err(AuditError::Illegal(found)) => *found,
        other => panic!("the doctored journal was answered {other:?}"),
    }
}

/// A row whose answer is turned into another is found at that very row.
fn flipped(action: &str, outcome: &str, nth: usize, to: (&str, &str)) {
    let on = story();
    let row = find(&on, action, outcome, nth);
    let (outcome, facts) = (to.0.to_owned(), to.1.to_owned());
    doctor(&on, |tx| rewrite(tx, &Stored { outcome, facts, ..row.clone() }));
    let found = found(&on);
    assert_eq!(found.n, row.n, "{action} that was {}: {found}", row.outcome);
    assert!(found.action.starts_with(action), "{found}");
    assert!(!found.story.is_empty(), "{found}");
}

#[test]
fn an_acceptance_turned_into_a_refusal_is_found_at_its_row() {
    let refused = ("refused", "\"terminal\"");
    for (action, nth) in [
        ("accept", 1),
        ("commit_route", 1),
        ("commit_route", 2),
        ("claim", 1),
        ("claim", 2),
        ("clear_never_handed", 1),
        ("pin", 2),
        ("register_wait", 1),
        ("hold", 1),
        ("release", 1),
        ("fire_timer", 1),
        ("detach", 1),
        ("claim_recovery", 1),
        ("settle_recovery", 1),
        ("vacate", 1),
        ("fire_retry", 1),
        ("fail", 1),
        ("retry", 1),
        ("complete", 1),
    ] {
        flipped(action, "accepted", nth, refused);
    }
    flipped("reload", "accepted", 1, ("duplicate", r#"{"reloaded":{"generation":0}}"#));
}

#[test]
fn a_refusal_turned_into_an_acceptance_is_found_at_its_row() {
    let claimed = r#"{"claimed":{"work":1,"attempt":1,"epoch":2,"reason":"resume"}}"#;
    // The claim under the hold, the claim in the backoff, and the claim of Work that has ended.
    flipped("claim", "deferred", 1, ("accepted", claimed));
    flipped("claim", "deferred", 2, ("accepted", claimed));
    flipped("claim", "refused", 1, ("accepted", claimed));
    // The authority of the segment before, and the one whose lease was over.
    let advanced = r#"{"advanced":{"work":1,"attempt":1}}"#;
    flipped("pin", "refused", 1, ("accepted", advanced));
    let ended = r#"{"ended":{"work":1,"attempt":1,"status":"completed"}}"#;
    flipped("complete", "refused", 1, ("accepted", ended));
    // A timer and a retry before they are due.
    flipped("fire_timer", "refused", 1, ("accepted", r#"{"woken":{"wait":1,"winner":2}}"#));
    flipped("fire_retry", "refused", 1, ("accepted", r#"{"event":{"seq":8}}"#));
    // A live lease that is taken, a wait that wakes twice, a retry that fires twice, an identity that is kept twice.
    let taken = r#"{"recovering":{"work":1,"attempt":1,"epoch":4,"relaunch":false}}"#;
    flipped("claim_recovery", "refused", 1, ("accepted", taken));
    flipped("wake", "duplicate", 1, ("accepted", r#"{"woken":{"wait":1,"winner":2}}"#));
    flipped("fire_timer", "duplicate", 1, ("accepted", r#"{"woken":{"wait":2,"winner":9}}"#));
    flipped("fire_retry", "duplicate", 1, ("accepted", r#"{"event":{"seq":9}}"#));
    flipped("accept", "duplicate", 1, ("accepted", r#"{"event":{"seq":2}}"#));
    // A proposal that read what has moved.
    let queued = r#"{"routed":{"event":7,"mark":"queued","work":1}}"#;
    flipped("commit_route", "conflict", 1, ("accepted", queued));
}

#[test]
fn a_receipt_that_says_something_else_is_found_at_its_row() {
    for (action, nth, from, to) in [
        ("accept", 2, "\"seq\":2", "\"seq\":3"),
        ("commit_route", 1, "queued", "unmatched"),
        ("commit_route", 2, "\"woke\"", "\"queued\""),
        ("claim", 2, "\"epoch\":2", "\"epoch\":3"),
        ("claim", 2, "resume", "next"),
        ("claim", 4, "\"attempt\":2", "\"attempt\":1"),
        ("fire_timer", 1, "\"winner\":5", "\"winner\":4"),
        ("claim_recovery", 1, "\"relaunch\":false", "\"relaunch\":true"),
        ("complete", 1, "completed", "ready"),
        ("reload", 1, "\"generation\":1", "\"generation\":2"),
    ] {
        let on = story();
        let row = find(&on, action, "accepted", nth);
        assert!(row.facts.contains(from), "{action} {nth} says {}", row.facts);
        let facts = row.facts.replace(from, to);
        doctor(&on, |tx| rewrite(tx, &Stored { facts, ..row.clone() }));
        let found = found(&on);
        assert_eq!(found.n, row.n, "{found}");
    }
}

#[test]
fn arguments_that_say_something_else_are_found_where_the_law_looks_at_them() {
    for (action, nth, from, to) in [
        ("claim", 1, "\"lease\":60000", "\"lease\":60001"),
        ("pin", 1, "\"epoch\":1", "\"epoch\":2"),
        ("pin", 1, "\"attempt\":1", "\"attempt\":2"),
        ("vacate", 1, "\"epoch\":1", "\"epoch\":2"),
        ("commit_route", 2, "[1,4]", "[1,3]"),
        ("commit_route", 1, "\"generation\":1", "\"generation\":0"),
        ("complete", 1, "\"completed\"", "{\"handoff\":{\"close_after\":null}}"),
        ("register_wait", 1, "\"external_id\":\"42\"", "\"external_id\":\"43\""),
        ("fire_retry", 1, "\"attempt\":1", "\"attempt\":2"),
        ("retry", 1, "\"expect\":2", "\"expect\":1"),
    ] {
        let on = story();
        let row = find(&on, action, "accepted", nth);
        assert!(row.args.contains(from), "{action} {nth} says {}", row.args);
        let args = row.args.replace(from, to);
        doctor(&on, |tx| rewrite(tx, &Stored { args, ..row.clone() }));
        assert_eq!(found(&on).n, row.n, "{action}: {from} as {to}");
    }
}

/// What a later row rests on is missing there, so that row is the first that the law does not allow.
#[test]
fn a_dropped_row_is_found_at_the_first_row_that_rests_on_it() {
    for (action, nth, first) in [
        ("accept", 1, "accept"),
        ("commit_route", 1, "commit_route"),
        ("claim", 1, "clear_never_handed"),
        ("clear_never_handed", 1, "pin"),
        ("pin", 1, "register_wait"),
        ("register_wait", 1, "vacate"),
        ("vacate", 1, "claim"),
        ("commit_route", 2, "wake"),
        ("hold", 1, "claim"),
        ("release", 1, "claim"),
        ("fire_timer", 1, "fire_timer"),
        ("detach", 1, "complete"),
        ("claim_recovery", 1, "settle_recovery"),
        ("settle_recovery", 1, "vacate"),
        ("fire_retry", 1, "fire_retry"),
        ("fail", 1, "fire_retry"),
        ("retry", 1, "claim"),
    ] {
        let on = story();
        let row = find(&on, action, "accepted", nth);
        doctor(&on, |tx| remove(tx, row.n));
        let found = found(&on);
        assert!(found.n >= row.n, "{found}");
        assert!(found.action.starts_with(first), "without {action} {nth}: {found}");
    }
}

#[test]
fn a_row_that_stands_twice_is_found_where_it_does() {
    for (action, nth) in [
        ("accept", 1),
        ("claim", 1),
        ("fire_timer", 1),
        ("fire_retry", 1),
        ("settle_recovery", 1),
        ("retry", 1),
        ("complete", 1),
    ] {
        let on = story();
        let row = find(&on, action, "accepted", nth);
        doctor(&on, |tx| insert_copy(tx, row.n, row.n));
        assert_eq!(found(&on).n, row.n + 1, "{action}");
    }
}

#[test]
fn two_rows_in_the_wrong_order_are_found_at_the_first_of_them() {
    for (one, other) in [
        (("commit_route", 1), ("claim", 1)),
        (("clear_never_handed", 1), ("pin", 1)),
        (("register_wait", 1), ("vacate", 1)),
        (("claim_recovery", 1), ("settle_recovery", 1)),
    ] {
        let on = story();
        let first = find(&on, one.0, "accepted", one.1);
        let second = find(&on, other.0, "accepted", other.1);
        doctor(&on, |tx| swap(tx, &first, &second));
        assert_eq!(found(&on).n, first.n, "{one:?} and {other:?}");
    }
}

#[test]
fn a_changed_row_under_its_old_seal_is_found_by_the_chain_where_the_law_sees_nothing() {
    let on = story();
    let row = find(&on, "hold", "accepted", 1);
    let mut session = on.store.session();
    let changed = [Value::Int(row.n), Value::Text("principal:somebody-else")];
    session.execute("UPDATE journal SET actor = ?2 WHERE n = ?1", &changed).expect("a row");
    drop(session);
    match audit_database(&on.file) {
        Err(AuditError::Chain { n }) => assert_eq!(n, row.n),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_number_that_is_missing_is_found() {
    let on = story();
    doctor(&on, |tx| {
        tx.execute("DELETE FROM journal WHERE n = 5", &[]).expect("a row");
    });
    let gap = audit_database(&on.file);
    assert!(matches!(gap, Err(AuditError::Gap { after: 4, found: 6 })), "{gap:?}");
}

const HEAD: &str = r#"{"trace":1,"database":"db","universe":{},"tick_ms":1}"#;
const ACCEPTED: &str = r#"{"action":"accept","args":{"source":"op:me","delivery":"1","type":"hello","scope":"acme","key":{"source":"op:me","external_id":"42"},"max_depth":32,"n":1,"at":1000,"actor":"principal:ops"},"outcome":{"accepted":{"event":{"seq":1}}}}"#;
const ROUTED: &str = r#"{"action":"commit_route","args":{"event":1,"resolved":null,"generation":0,"route":"all","decision":"work","create":"review","n":2,"at":1002,"actor":"loop:router"},"outcome":{"accepted":{"routed":{"event":1,"mark":"queued","work":"work_1"}}}}"#;
const HELD: &str = r#"{"action":"hold","args":{"work":"work_1","n":3,"at":1003,"actor":"principal:ops"},"outcome":{"accepted":{"held":{"work":"work_1"}}}}"#;

fn export(lines: &[&str]) -> Result<Report, AuditError> {
    audit_export(lines.join("\n").as_bytes())
}

#[test]
fn an_export_is_audited_by_the_ids_it_names() {
    let report = export(&[HEAD, ACCEPTED, ROUTED, HELD]).expect("a lawful journal");
    assert_eq!((report.rows, report.replayed, report.works, report.seals), (3, 3, 1, None));
    let again = HELD.replace("\"n\":3", "\"n\":4");
    let Err(AuditError::Illegal(found)) = export(&[HEAD, ACCEPTED, ROUTED, HELD, &again]) else {
        panic!("a Work is held twice")
    };
    assert_eq!((found.n, found.work.as_deref()), (4, Some("work_1")));
    assert_eq!(found.lawful, "duplicate");
    assert_eq!(found.story.len(), 3, "{:?}", found.story);
}

#[test]
fn what_is_no_journal_is_refused_at_its_line_and_never_panics() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("input");
    let broken: [&[u8]; 8] = [
        b"",
        b"SQLite format 3\0 and then nothing of the kind",
        b"\xff\xfe\x00",
        b"{}",
        b"[1,2,3]",
        b"{\"trace\":2,\"database\":\"db\"}",
        b"{\"trace\":1,\"database\":\"db\"}\n{\"action\":\"claim\"}",
        b"{\"trace\":1,\"database\":\"db\"}\n{\"action\":\"fly\",\"args\":{\"n\":1,\"at\":0},\"outcome\":\"conflict\"}",
    ];
    for bytes in broken {
        std::fs::write(&file, bytes).expect("a file");
        let error = audit(&file).expect_err("it is no journal");
        assert!(!error.is_finding(), "{error}");
    }
    assert!(audit(&folder.path().join("nowhere")).is_err_and(|error| !error.is_finding()));
    let partial = ACCEPTED.replace("\"n\":1", "\"n\":7");
    assert!(matches!(export(&[HEAD, &partial]), Err(AuditError::Partial { n: 7 })));
}

/// Every row of a lawful journal with one argument or fact of another type: refused or unlawful, never a panic.
#[test]
fn rows_with_something_else_in_any_place_never_panic() {
    let junk = ["null", "-1", "9223372036854775807", "\"x\"", "[]", "{}", "true"];
    let on = story();
    let lines: Vec<(serde_json::Value, serde_json::Value)> = rows(&on)
        .iter()
        .map(|row| {
            let mut args: serde_json::Value = serde_json::from_str(&row.args).expect("JSON");
            args["n"] = row.n.into();
            args["at"] = on.now.into();
            let facts: serde_json::Value = serde_json::from_str(&row.facts).expect("JSON");
            (serde_json::json!([row.action, args]), serde_json::json!({ &row.outcome: facts }))
        })
        .collect();
    let text = |lines: &[(serde_json::Value, serde_json::Value)]| {
        let mut out = HEAD.to_owned();
        for (asked, outcome) in lines {
            let line = serde_json::json!({
                "action": asked[0], "args": asked[1], "outcome": outcome,
            });
            out.push('\n');
            out.push_str(&line.to_string());
        }
        out
    };
    for at in 0..lines.len() {
        let names: Vec<String> =
            lines[at].0[1].as_object().expect("arguments").keys().cloned().collect();
        for (nth, name) in names.iter().enumerate() {
            let mut lines = lines[..=at].to_vec();
            lines[at].0[1][name.as_str()] =
                serde_json::from_str(junk[(at + nth) % junk.len()]).expect("JSON");
            let _ = audit_export(text(&lines).as_bytes());
        }
    }
}
