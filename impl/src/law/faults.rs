//! A fault at every write of a transaction: all of it is there afterwards or none, and running it
//! again finishes it once. W07 W08 E07 WAKE-08 WAIT-16 ROUTE-17

use crate::command::{Command, Outcome, Receipt};
use crate::domain::{
    Actor, AttemptNo, Authority, Control, ControlPolicy, Decision, Ending, Exhausted, Fallback,
    Incarnation, IntentStatus, MarkKind, Millis, SendAnswer, Seq, Source, Verdict, WorkId,
    WorkStatus,
};
use crate::store::doctor::{Severity, examine};
use crate::store::engine::{Each, Engine as _, StoreError, Tx, Value};
use crate::store::observe::{SeenTimer, SeenWork};
use crate::store::{Observation, Session, Store, observe};

use super::apply;
use super::testing::{
    Bench, LEASE, Vary as _, cancel, complete, dispatch, event, fail, fresh_work, interrupt, key,
    policy, request, settle, settle_send, store, wait_command,
};

const TEST: Actor = Actor::Loop("test");

/// A transaction whose nth write fails.
struct Faulty<'a, 's> {
    inner: &'a mut Session<'s>,
    left: u32,
}

impl Tx for Faulty<'_, '_> {
    fn execute(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<usize, StoreError> {
        if self.left == 0 {
            return Err(StoreError::Io { what: "pulled the plug".to_owned() });
        }
        self.left -= 1;
        self.inner.execute(sql, values)
    }

    fn query(
        &mut self,
        sql: &'static str,
        values: &[Value<'_>],
        each: Each<'_>,
    ) -> Result<(), StoreError> {
        self.inner.query(sql, values, each)
    }

    fn savepoint(&mut self) -> Result<(), StoreError> {
        self.inner.savepoint()
    }

    fn rollback_to(&mut self) -> Result<(), StoreError> {
        self.inner.rollback_to()
    }

    fn release(&mut self) -> Result<(), StoreError> {
        self.inner.release()
    }
}

fn see(store: &Store) -> Observation {
    observe(&mut store.session()).expect("an observation")
}

/// Performs a command in a transaction of its own whose `nth` write fails.
fn attempt(store: &Store, now: Millis, command: &Command, nth: u32) -> Result<Outcome, StoreError> {
    let mut session = store.session();
    session.begin().expect("a transaction");
    let outcome = apply(&mut Faulty { inner: &mut session, left: nth }, now, &TEST, command);
    match outcome {
        Ok(outcome) => session.commit().map(|()| outcome),
        Err(error) => {
            session.rollback().expect("a rollback");
            Err(error)
        }
    }
}

/// Fails a command at each of its writes in turn, until it gets through; answers how many there are.
fn sweep(store: &Store, now: Millis, command: &Command) -> (u32, Outcome) {
    let before = see(store);
    for nth in 0.. {
        match attempt(store, now, command, nth) {
            Err(_) => assert_eq!(see(store), before, "write {nth} left something behind"),
            Ok(outcome) => return (nth, outcome),
        }
    }
    unreachable!("a command has a last write")
}

/// The same, and then again: what was done is not done twice.
fn once(store: &Store, now: Millis, command: &Command) -> Outcome {
    let (writes, outcome) = sweep(store, now, command);
    assert!(writes > 2, "{} has {writes} writes: the sweep shows nothing", command.name());
    let done = see(store);
    for _ in 0..3 {
        let again = attempt(store, now, command, u32::MAX).expect("an answer");
        assert!(!matches!(again, Outcome::Accepted(_)), "{} twice: {again:?}", command.name());
        assert_eq!(see(store), done);
    }
    let damage = examine(&mut store.session()).expect("a report").into_iter();
    let damage: Vec<_> = damage
        .filter(|found| found.severity == Severity::Damage && !found.check.contains("chain"))
        .collect();
    assert_eq!(damage, []);
    outcome
}

fn committed(store: &Store, prepare: impl FnOnce(&mut Bench<'_>) -> Command) -> (Command, Millis) {
    let mut bench = Bench::on(store);
    let command = prepare(&mut bench);
    bench.tx.commit().expect("a commit");
    (command, bench.now)
}

/// W07 W08
#[test]
fn a_wake_happens_whole_or_not_at_all_and_once() {
    let store = store();
    let (command, now) = committed(&store, |bench| {
        let (_, wait) = bench.parked("x", Some(500));
        bench.accept(event("match").with_key("x"));
        Command::Wake { wait }
    });
    let outcome = once(&store, now, &command);
    assert!(matches!(outcome, Outcome::Accepted(Receipt::Woken { .. })), "{outcome:?}");
    let seen = see(&store);
    assert_eq!(seen.works[0].pending.len(), 1);
    let continued = |kind| seen.events.iter().filter(|event| event.mark == Some(kind)).count();
    assert_eq!((continued(MarkKind::Woke), continued(MarkKind::Continuation)), (1, 1));
}

/// W10
#[test]
fn a_timer_fires_whole_or_not_at_all_and_once() {
    let store = store();
    let (command, now) = committed(&store, |bench| {
        let (_, wait) = bench.parked("x", Some(500));
        bench.later(500);
        Command::FireTimer { wait }
    });
    once(&store, now, &command);
    let timeouts = see(&store).events.into_iter();
    assert_eq!(timeouts.filter(|event| event.event_type == "core.wait.timeout").count(), 1);
}

/// W07
#[test]
fn a_routing_that_wakes_happens_whole_or_not_at_all() {
    let store = store();
    let (command, now) = committed(&store, |bench| {
        bench.parked("x", Some(500));
        let seq = bench.accept(event("match").with_key("x"));
        Command::CommitRoute { proposal: bench.evaluate(seq) }
    });
    once(&store, now, &command);
}

/// WAIT-16 ALIAS-03
#[test]
fn a_registration_with_its_scan_and_translation_happens_whole_or_not_at_all() {
    let store = store();
    let (command, now) = committed(&store, |bench| {
        bench.ready("pr");
        let by = bench.running("x");
        let after = bench.last_seq();
        bench.accept(event("p1").with_key("pr"));
        bench.accept(event("p2").with_key("pr"));
        let mut command = wait_command(by, &["x"], after, Some(500));
        if let Command::RegisterWait { source, .. } = &mut command {
            let (extension, scope) = ("tool".to_owned(), "acme".to_owned());
            *source = Some(Source { extension, key: key("pr"), scope });
        }
        command
    });
    let outcome = once(&store, now, &command);
    let woken = matches!(outcome, Outcome::Accepted(Receipt::Waiting { winner: Some(_), .. }));
    assert!(woken, "{outcome:?}");
}

/// ROUTE-17 OWN-07
#[test]
fn a_creation_with_its_keys_happens_whole_or_not_at_all() {
    let store = store();
    let (command, now) = committed(&store, |bench| {
        let seq = bench.accept(event("a").with_key("x"));
        let attach = vec![key("y"), key("z")];
        let create = Some(fresh_work("made"));
        Command::CommitRoute {
            proposal: bench
                .proposal(seq, Decision::Work { attach, create, control: Control::default() }),
        }
    });
    once(&store, now, &command);
    assert_eq!(see(&store).keys.len(), 3);
}

/// OURS-02 CANCEL-04
#[test]
fn a_close_happens_whole_or_not_at_all() {
    let store = store();
    let (command, now) = committed(&store, |bench| {
        bench.running("x");
        let seq = bench.accept(event("b").with_key("x"));
        Command::CommitRoute { proposal: bench.proposal(seq, Decision::Close) }
    });
    once(&store, now, &command);
}

/// CAUSE-08 TERM-05
#[test]
fn a_successor_and_its_event_exist_together_or_not_at_all() {
    let store = store();
    let (command, now) = committed(&store, |bench| {
        let work = bench.ready("x");
        bench.accepted(&cancel(work));
        let successor = fresh_work("s").uid;
        Command::Reopen { work, expect: None, request: request("r"), successor }
    });
    once(&store, now, &command);
}

/// ALIAS-07
#[test]
fn an_alias_and_its_checkpoint_move_together() {
    let store = store();
    let (command, now) = committed(&store, |bench| {
        bench.ready("pr");
        let by = bench.running("x");
        let after = bench.last_seq();
        let mut command = wait_command(by, &["x"], after, None);
        if let Command::RegisterWait { source, .. } = &mut command {
            let (extension, scope) = ("tool".to_owned(), "acme".to_owned());
            *source = Some(Source { extension, key: key("pr"), scope });
        }
        let (wait, _) = bench.wait_on(&command);
        Command::Translate { wait, event: bench.accept(event("p1").with_key("pr")) }
    });
    once(&store, now, &command);
}

/// ALIAS-15 DONE-06
#[test]
fn an_ending_and_what_it_publishes_happen_together() {
    let store = store();
    let (command, now) = committed(&store, |bench| {
        let by = bench.running("x");
        let ending = Ending::Handoff { close_after: None };
        Command::Complete {
            by,
            ending,
            status: Some("fine".to_owned()),
            proofs: Vec::new(),
            usage: None,
        }
    });
    once(&store, now, &command);
}

/// POLICY-12: neither a mark without its intent nor an intent without its mark.
#[test]
fn a_control_is_committed_with_its_mark_or_not_at_all() {
    let store = store();
    let (command, now) = committed(&store, |bench| {
        bench.running("x");
        let seq = bench.accept(event("a").with_key("x"));
        let policy = ControlPolicy::Inject;
        let control = Control { policy, ..Control::default() };
        let decision = Decision::Update { attach: vec![key("y")], control };
        Command::CommitRoute { proposal: bench.proposal(seq, decision) }
    });
    once(&store, now, &command);
    let seen = see(&store);
    assert_eq!(seen.events[1].mark, Some(MarkKind::Inject));
    assert!(seen.events[1].intent.is_some() && seen.works[0].pending.len() == 1);
}

/// CTRL-01 POLICY-12
#[test]
fn an_operators_interrupt_happens_whole_or_not_at_all_and_once() {
    let store = store();
    let (command, now) = committed(&store, |bench| interrupt(bench.running("x").work, "stop"));
    once(&store, now, &command);
    assert_eq!(see(&store).events.iter().filter(|event| event.intent.is_some()).count(), 1);
}

/// POLICY-12 INJECT-21
#[test]
fn a_dispatch_is_known_before_anything_is_sent_or_not_at_all() {
    let store = store();
    let (command, now) = committed(&store, |bench| {
        let by = bench.running("x");
        dispatch(by, bench.inject("x", "a"))
    });
    let (writes, outcome) = sweep(&store, now, &command);
    assert!(writes > 1, "{writes} writes: the sweep shows nothing");
    assert!(matches!(outcome, Outcome::Accepted(Receipt::Intent { .. })), "{outcome:?}");
    let again = attempt(&store, now, &command, u32::MAX).expect("an answer");
    assert!(matches!(again, Outcome::Duplicate(_)), "{again:?}");
}

/// INJECT-01 INJECT-03 POLICY-33
#[test]
fn an_answer_and_what_follows_from_it_happen_together() {
    for (on_error, answer) in [
        (None, SendAnswer::Accepted),
        (None, SendAnswer::NotAccepting),
        (Some(Fallback::Queue), SendAnswer::Failed),
        (Some(Fallback::Drop), SendAnswer::Failed),
    ] {
        let store = store();
        let (command, now) = committed(&store, |bench| {
            let by = bench.running("x");
            let seq = bench.inject_or("x", "a", on_error);
            bench.dispatch(by, seq);
            settle_send(by, seq, answer)
        });
        once(&store, now, &command);
        let withdrawn = on_error == Some(Fallback::Drop);
        assert_eq!(see(&store).works[0].withdrawn.len(), usize::from(withdrawn));
    }
}

/// POLICY-20 POLICY-22: a fenced attempt without its mark is never seen, nor a stale intent without.
#[test]
fn a_fence_happens_whole_or_not_at_all_and_once() {
    let store = store();
    let (command, now) = committed(&store, |bench| {
        let by = bench.running("x");
        bench.inject("x", "a");
        let seq = bench.interrupting("x", "stop");
        bench.dispatch(by, seq);
        settle_send(by, seq, SendAnswer::Accepted)
    });
    once(&store, now, &command);
    let seen = &see(&store).works[0];
    assert!(seen.excluded_is_last && seen.pending.len() == 2);
    assert_eq!(seen.attempt.as_ref().and_then(|one| one.interrupt_event), Some(Seq(3)));
}

/// INJECT-09: what a result proves is consumed with it or not at all, whatever the result is.
#[test]
fn a_result_and_its_proofs_happen_together() {
    let results: [fn(&mut Bench<'_>, Authority) -> Command; 3] = [
        |_, by| complete(by),
        |_, by| fail(by),
        |bench, by| wait_command(by, &["x"], bench.last_seq(), Some(500)),
    ];
    for result in results {
        let store = store();
        let (command, now) = committed(&store, |bench| {
            let by = bench.running("x");
            let proved = bench.inject("x", "proved");
            bench.answered(by, proved, SendAnswer::Accepted);
            let tried = bench.inject("x", "tried");
            bench.dispatch(by, tried);
            bench.inject("x", "never");
            let command = result(bench, by);
            bench.proving(command, &[proved, tried])
        });
        once(&store, now, &command);
        let seen = see(&store);
        assert_eq!(seen.works[0].pending, [Seq(4)]);
        let status = |at: usize| seen.events[at].intent.expect("an intent").status;
        let expected = [IntentStatus::Consumed, IntentStatus::Consumed, IntentStatus::Stale];
        assert_eq!([1, 2, 3].map(status), expected);
    }
}

/// RETRY-02: a failed attempt without its retry is never seen, nor a retry without its failure.
#[test]
fn a_failure_and_its_retry_happen_whole_or_not_at_all() {
    let store = store();
    let (command, now) = committed(&store, |bench| fail(bench.running("x")));
    once(&store, now, &command);
    assert_eq!(see(&store).works[0].backoff, Some(AttemptNo(1)));
}

/// RETRY-31
#[test]
fn a_failure_that_ends_its_work_happens_whole_or_not_at_all() {
    let store = store();
    let (command, now) = committed(&store, |bench| {
        let work = bench.ready("x");
        fail(bench.running_under(work, &policy(1, Exhausted::Fail)))
    });
    once(&store, now, &command);
    assert_eq!(see(&store).works[0].status, WorkStatus::Failed);
}

/// RETRY-19 RETRY-20
#[test]
fn a_retry_fires_whole_or_not_at_all_and_once() {
    let store = store();
    let (command, now) = committed(&store, |bench| {
        let by = bench.running("x");
        bench.accepted(&fail(by));
        bench.later(300_000);
        Command::FireRetry { work: by.work, attempt: by.attempt }
    });
    once(&store, now, &command);
    let seen = see(&store);
    assert_eq!(seen.events.iter().filter(|event| event.failed.is_some()).count(), 1);
    assert_eq!((seen.works[0].backoff, seen.works[0].retry), (Some(AttemptNo(1)), SeenTimer::None));
}

/// RETRY-21
#[test]
fn a_routed_retry_ends_its_backoff_whole_or_not_at_all() {
    let store = store();
    let (command, now) = committed(&store, |bench| {
        let by = bench.running("x");
        bench.accepted(&fail(by));
        bench.later(300_000);
        let fire = Command::FireRetry { work: by.work, attempt: by.attempt };
        let seq = bench.requested(&fire);
        Command::CommitRoute { proposal: bench.evaluate(seq) }
    });
    once(&store, now, &command);
    assert_eq!(see(&store).works[0].backoff, None);
}

/// RETRY-26
#[test]
fn a_manual_retry_happens_whole_or_not_at_all_and_once() {
    let store = store();
    let (command, now) = committed(&store, |bench| {
        let by = bench.running("x");
        bench.accepted(&fail(by));
        Command::Retry { work: by.work, expect: None, request: request("r") }
    });
    once(&store, now, &command);
    assert_eq!(see(&store).works[0].pending.len(), 1);
}

/// CAUSE-32
#[test]
fn a_release_that_is_input_happens_whole_or_not_at_all() {
    let store = store();
    let (command, now) = committed(&store, |bench| {
        let seq = bench.accept(event("make").with_key("x").with_depth(0));
        let work = bench.route(seq).1.expect("a work");
        let by = bench.claim_and_pin(work);
        bench.accepted(&fail(by));
        bench.later(300_000);
        bench.apply(&Command::FireRetry { work, attempt: by.attempt });
        Command::Release { work, expect: None, request: request("r") }
    });
    once(&store, now, &command);
    assert_eq!(see(&store).works[0].retry, SeenTimer::None);
}

/// CANCEL-02 CANCEL-04
#[test]
fn a_cancellation_in_a_backoff_happens_whole_or_not_at_all() {
    let store = store();
    let (command, now) = committed(&store, |bench| {
        let by = bench.running("x");
        bench.accepted(&fail(by));
        cancel(by.work)
    });
    // The work and the journal: nothing of a backoff lies anywhere else.
    let (writes, _) = sweep(&store, now, &command);
    assert!(writes > 1, "{writes} writes: the sweep shows nothing");
    assert_eq!(see(&store).works[0].retry, SeenTimer::None);
}

/// ADOPT-20 ADOPT-22
#[test]
fn a_refused_adoption_with_its_mark_and_its_retry_happens_whole_or_not_at_all() {
    let store = store();
    let (command, now) = committed(&store, |bench| {
        let by = bench.running("x");
        bench.later(LEASE.0);
        let (by, _) = bench.recover(by.work);
        settle(by, Verdict::NotAdoptable)
    });
    let (_, outcome) = sweep(&store, now, &command);
    assert!(matches!(outcome, Outcome::Accepted(Receipt::Ended { .. })), "{outcome:?}");
    let seen = &see(&store).works[0];
    assert!(seen.excluded.is_some() && seen.backoff.is_some());
}

/// OURS-21: raised in the same step.
#[test]
fn a_restore_happens_whole_or_not_at_all() {
    let store = store();
    let (command, now) = committed(&store, |bench| {
        bench.running("x");
        bench.running("y");
        Command::Restore { above: Incarnation(1) }
    });
    let (writes, _) = sweep(&store, now, &command);
    assert!(writes > 2, "{writes} writes: the sweep shows nothing");
    let seen = see(&store);
    assert_eq!((seen.incarnation, seen.restored), (Incarnation(2), true));
    let over = |seen: &SeenWork| seen.attempt.as_ref().and_then(|one| one.expires_at) == Some(now);
    assert!(seen.works.iter().all(over));
    let (command, now) = (Command::ReleaseRestore { request: request("r") }, now);
    once(&store, now, &command);
    assert!(!see(&store).restored);
}

/// E07: a creation that is rolled back leaves its key to the next.
#[test]
fn the_second_creator_of_a_key_succeeds_when_the_first_was_rolled_back() {
    let store = store();
    let create = |id: &str| Command::CreateWork {
        request: request(id),
        scope: "acme".to_owned(),
        create: fresh_work(id),
        key: Some(key("x")),
        parent: None,
        authorised: false,
        data: None,
    };
    let now = Millis(10_000);
    let writes = {
        let other = super::testing::store();
        sweep(&other, now, &create("count")).0
    };
    for nth in 0..writes {
        assert!(attempt(&store, now, &create("first"), nth).is_err(), "write {nth}");
    }
    let second = attempt(&store, now, &create("second"), u32::MAX).expect("an answer");
    assert!(matches!(second, Outcome::Accepted(_)), "{second:?}");
    let first = attempt(&store, now, &create("first"), u32::MAX).expect("an answer");
    assert_eq!(first, Outcome::Refused(crate::command::Refusal::KeyOwned));
    assert_eq!(see(&store).keys[0].owner, WorkId(1));
}
