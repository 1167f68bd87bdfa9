//! Waits, ends and retries under real threads that meet at a barrier: no wake is lost, nothing happens
//! twice, and what came first stands. W02 W10 W20 C01 L05 T12

use std::sync::{Arc, Barrier};
use std::thread;

use type_safe_id::TypeSafeId;

use super::{TEST, open};
use crate::command::{Command, Outcome, Receipt, Refusal};
use crate::domain::{
    AttemptNo, Authority, BindingPin, CausalLimits, Deadline, Duration, Ending, Epoch, Generation,
    IngressId, Key, MarkKind, NewEvent, Request, RetryHint, RetryPolicy, Segment, Seq, Token,
    Verdict, WaitId, WorkId, WorkStatus,
};
use crate::law::routing;
use crate::store::observe::{Observation, SeenTimer, SeenWork};
use crate::store::{doctor, observe};
use crate::writer::Writer;

fn key(name: &str) -> Key {
    Key { source: "ci".to_owned(), external_id: name.to_owned() }
}

fn apply(writer: &Writer, command: Command) -> Outcome {
    writer.apply_blocking(TEST, command).expect("an answer")
}

fn accept(writer: &Writer, name: &str, delivery: &str) -> Seq {
    let event = NewEvent {
        uid: TypeSafeId::new(),
        id: IngressId { source: "ci".to_owned(), delivery: delivery.to_owned() },
        event_type: "build.done".to_owned(),
        subject: None,
        occurred_at: None,
        scope: "acme".to_owned(),
        key: Some(key(name)),
        target: None,
        limits: CausalLimits { max_depth: 32 },
        payload: None,
        suspect_within: None,
    };
    match apply(writer, Command::Accept { event: Box::new(event) }) {
        Outcome::Accepted(Receipt::Event { seq }) => seq,
        other @ (Outcome::Accepted(_)
        | Outcome::Duplicate(_)
        | Outcome::Deferred(_)
        | Outcome::Conflict
        | Outcome::Refused(_)) => panic!("{other:?}"),
    }
}

/// Routes an event as the router does: again, while what was read has moved.
fn route(writer: &Writer, seq: Seq) -> Option<WorkId> {
    loop {
        let snapshot = writer.readers().read(|tx| routing::snapshot(tx, seq)).expect("a read");
        let proposal = snapshot?.propose(Some("route"), Some("task"));
        match apply(writer, Command::CommitRoute { proposal }) {
            Outcome::Accepted(Receipt::Routed { work, .. }) => return work,
            Outcome::Accepted(_) | Outcome::Duplicate(_) => return None,
            Outcome::Conflict | Outcome::Deferred(_) => {}
            Outcome::Refused(refusal) => panic!("{refusal}"),
        }
    }
}

/// A pinned attempt of the work that owns `name`, made now.
fn running(writer: &Writer, name: &str) -> Authority {
    let seq = accept(writer, name, &format!("make-{name}"));
    let work = route(writer, seq).expect("a work");
    claim(writer, work)
}

fn claim(writer: &Writer, work: WorkId) -> Authority {
    let pin = BindingPin {
        binding: "shell".to_owned(),
        generation: Generation(0),
        resumes: true,
        holds_until_pin: true,
        active: None,
        retry: RetryPolicy::default(),
        injects: false,
        interrupts: false,
    };
    let token = Token::from_bytes([7; 32]).hash();
    let (attempt_uid, lease) = (TypeSafeId::new(), Duration::seconds(600));
    let claim = Command::Claim { work, attempt_uid, token, lease, pin, capacity: Vec::new() };
    let outcome = apply(writer, claim);
    let Outcome::Accepted(Receipt::Claimed { attempt, epoch, .. }) = outcome else {
        panic!("{outcome:?}")
    };
    let by = Authority { work, attempt, epoch, token };
    apply(writer, Command::ClearNeverHanded { by });
    apply(writer, Command::Pin { by, metadata: String::new() });
    by
}

fn wait(by: Authority, name: &str, after: Seq, timeout: Option<u64>) -> Command {
    Command::RegisterWait {
        by,
        uid: TypeSafeId::new(),
        keys: vec![key(name)],
        types: Vec::new(),
        after,
        deadline: timeout.map(|length| Deadline::After(Duration(length))),
        source: None,
        read_scopes: Vec::new(),
        proofs: Vec::new(),
        usage: None,
    }
}

fn parked(writer: &Writer, name: &str, timeout: u64) -> (Authority, WaitId) {
    let by = running(writer, name);
    let last = writer.readers().read(crate::store::meta::last_seq).expect("a read");
    match apply(writer, wait(by, name, last, Some(timeout))) {
        Outcome::Accepted(Receipt::Waiting { wait, winner: None }) => (by, wait),
        other @ (Outcome::Accepted(_)
        | Outcome::Duplicate(_)
        | Outcome::Deferred(_)
        | Outcome::Conflict
        | Outcome::Refused(_)) => panic!("{other:?}"),
    }
}

/// Runs two things at one barrier.
fn meet<A: Send, B: Send>(
    one: impl FnOnce() -> A + Send,
    other: impl FnOnce() -> B + Send,
) -> (A, B) {
    let barrier = Arc::new(Barrier::new(2));
    thread::scope(|scope| {
        let theirs = Arc::clone(&barrier);
        let other = scope.spawn(move || {
            theirs.wait();
            other()
        });
        barrier.wait();
        let one = one();
        (one, other.join().expect("no panic"))
    })
}

fn see(writer: &Writer) -> Observation {
    writer.readers().read(observe).expect("a read")
}

fn sound(writer: &Writer) {
    let findings = writer.readers().read(doctor::examine).expect("a report");
    assert_eq!(findings, []);
}

/// One wake by the one event, however the two met.
fn woken_once(writer: &Writer, work: WorkId, winner: Seq) {
    let seen = see(writer).works.into_iter().find(|seen| seen.work == work).expect("a work");
    assert_eq!((seen.status, seen.pending.as_slice()), (WorkStatus::Ready, [winner].as_slice()));
    assert_eq!(seen.wait.and_then(|wait| wait.winner), Some(winner));
}

/// W02 WAIT-17
#[test]
fn an_event_and_a_registration_that_meet_lose_no_wake() {
    let dir = tempfile::tempdir().expect("a folder");
    let writer = open(dir.path());
    for round in 0..60 {
        let name = format!("w{round}");
        let by = running(&writer, &name);
        let after = writer.readers().read(crate::store::meta::last_seq).expect("a read");
        let register = wait(by, &name, after, Some(600_000));
        let event = || {
            let seq = accept(&writer, &name, &format!("e{round}"));
            route(&writer, seq);
            seq
        };
        let (seq, _) = match round % 3 {
            // Both orders, and whichever comes of a barrier.
            0 => (event(), apply(&writer, register)),
            1 => {
                let registered = apply(&writer, register);
                (event(), registered)
            }
            _ => meet(event, || apply(&writer, register)),
        };
        woken_once(&writer, by.work, seq);
    }
    sound(&writer);
    writer.shutdown_blocking();
}

/// W10 TIMER-02
#[test]
fn a_due_timer_that_two_fire_fires_once() {
    let dir = tempfile::tempdir().expect("a folder");
    let writer = open(dir.path());
    for round in 0..40 {
        let (by, wait) = parked(&writer, &format!("w{round}"), 0);
        let fire = || apply(&writer, Command::FireTimer { wait });
        let (one, other) = meet(fire, fire);
        let accepted = |outcome: &&Outcome| matches!(outcome, Outcome::Accepted(_));
        assert_eq!([&one, &other].into_iter().filter(accepted).count(), 1, "{one:?} {other:?}");
        let seen = see(&writer);
        let work = seen.works.iter().find(|seen| seen.work == by.work).expect("a work");
        let timeouts = seen
            .events
            .iter()
            .filter(|event| event.wait == Some(wait) && event.event_type == "core.wait.timeout");
        assert_eq!((work.pending.len(), timeouts.count()), (1, 1));
    }
    sound(&writer);
    writer.shutdown_blocking();
}

/// W20: whoever wins, every work gets to its end and nothing is left over.
#[test]
fn a_timeout_and_a_match_that_meet_wake_once_and_every_work_completes() {
    let dir = tempfile::tempdir().expect("a folder");
    let writer = open(dir.path());
    let mut dice = 0x9e37_79b9_7f4a_7c15_u64;
    let mut matched = 0;
    for round in 0..120 {
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        let name = format!("w{round}");
        let (by, wait) = parked(&writer, &name, 0);
        let event = || {
            if dice & 1 == 0 {
                thread::yield_now();
            }
            let seq = accept(&writer, &name, &format!("e{round}"));
            route(&writer, seq);
        };
        let fire = || {
            if dice & 2 == 0 {
                thread::yield_now();
            }
            // Half of the schedulers accept the timeout by itself and leave the wake to a waker.
            if dice & 4 == 0 {
                apply(&writer, Command::FireTimer { wait });
            } else {
                apply(&writer, Command::AcceptTimeout { wait });
                apply(&writer, Command::Wake { wait });
            }
        };
        meet(event, fire);
        matched += u32::from(ends(&writer, by, wait));
    }
    assert!(matched > 0, "the match never won: the two never met");
    let seen = see(&writer);
    assert!(seen.works.iter().all(|work| work.status == WorkStatus::Completed));
    assert!(seen.works.iter().all(|work| work.pending.is_empty()));
    assert!(seen.events.iter().all(|event| event.mark.is_some()));
    sound(&writer);
    writer.shutdown_blocking();
}

/// Takes a woken work to its end; answers whether the match, not the timeout, woke it.
fn ends(writer: &Writer, by: Authority, wait: WaitId) -> bool {
    // A timeout that lost, or was accepted alone, may still have to be routed.
    for event in see(writer).events.iter().filter(|event| event.mark.is_none()) {
        route(writer, event.seq);
    }
    let seen = see(writer);
    let work = seen.works.iter().find(|seen| seen.work == by.work).expect("a work");
    let woken = work.wait.as_ref().expect("its wait");
    assert_eq!((woken.wait, woken.timer), (wait, SeenTimer::None));
    let winner = woken.winner.expect("it woke");
    let matched = seen.events.iter().any(|event| event.seq == winner && event.key.is_some());
    assert_eq!(work.pending.iter().filter(|seq| **seq == winner).count(), 1);
    let segment = Segment { attempt: AttemptNo(1), epoch: Epoch(1) };
    apply(writer, Command::Vacate { work: by.work, segment });
    let by = claim(writer, by.work);
    let done = Command::Complete {
        by,
        ending: Ending::Completed,
        status: None,
        proofs: Vec::new(),
        usage: None,
    };
    let outcome = apply(writer, done);
    assert!(matches!(outcome, Outcome::Accepted(_)), "{outcome:?}");
    let consumed = see(writer).works.into_iter().find(|seen| seen.work == by.work);
    let consumed = consumed.expect("a work").consumed;
    let routed = seen
        .events
        .iter()
        .filter(|event| event.work == Some(by.work) && event.mark != Some(MarkKind::Continuation));
    assert_eq!(consumed.len(), routed.count());
    matched
}

fn request(id: &str) -> Request {
    let limits = CausalLimits { max_depth: 32 };
    Request { uid: TypeSafeId::new(), id: id.to_owned(), limits }
}

fn work_of(writer: &Writer, by: Authority) -> SeenWork {
    let seen = see(writer).works.into_iter().find(|seen| seen.work == by.work);
    seen.expect("a work")
}

/// Runs two things in both orders, and at one barrier, by turns.
fn either<A: Send, B: Send>(
    round: u32,
    one: impl FnOnce() -> A + Send,
    other: impl FnOnce() -> B + Send,
) -> (A, B) {
    match round % 3 {
        0 => {
            let one = one();
            (one, other())
        }
        1 => {
            let other = other();
            (one(), other)
        }
        _ => meet(one, other),
    }
}

fn cancel(by: Authority) -> Command {
    Command::Cancel { work: by.work, expect: None, for_good: false, reason: String::new() }
}

fn accepted(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Accepted(_))
}

/// C01 CANCEL-11 CANCEL-12: whichever commits first stands, and is never written over.
#[test]
fn a_cancellation_and_a_completion_that_meet_leave_the_first() {
    let dir = tempfile::tempdir().expect("a folder");
    let writer = open(dir.path());
    for round in 0..120 {
        let by = running(&writer, &format!("w{round}"));
        let done = Command::Complete {
            by,
            ending: Ending::Completed,
            status: None,
            proofs: Vec::new(),
            usage: None,
        };
        let (cancelled, completed) =
            either(round, || apply(&writer, cancel(by)), || apply(&writer, done));
        let status = work_of(&writer, by).status;
        match (accepted(&cancelled), accepted(&completed)) {
            (true, false) => {
                assert_eq!(completed, Outcome::Refused(Refusal::StaleAuthority));
                assert_eq!(status, WorkStatus::Cancelled);
            }
            (false, true) => {
                assert_eq!(cancelled, Outcome::Refused(Refusal::Terminal));
                assert_eq!(status, WorkStatus::Completed);
            }
            (true, true) | (false, false) => panic!("{cancelled:?} {completed:?}"),
        }
    }
    sound(&writer);
    writer.shutdown_blocking();
}

/// LEASE-08 L05: of two recoverers one holds the attempt, and the other nothing.
#[test]
fn an_expired_attempt_that_two_recover_is_recovered_once() {
    let dir = tempfile::tempdir().expect("a folder");
    let writer = open(dir.path());
    for round in 0..60 {
        let by = running(&writer, &format!("w{round}"));
        assert!(accepted(&apply(&writer, Command::Detach { by })));
        let recover = |bits: u8| {
            let token = Token::from_bytes([bits; 32]).hash();
            let lease = Duration::seconds(600);
            (apply(&writer, Command::ClaimRecovery { work: by.work, token, lease }), token)
        };
        let (one, other) = either(round, || recover(1), || recover(2));
        let (won, lost) = if accepted(&one.0) { (one, other) } else { (other, one) };
        assert!(accepted(&won.0), "{won:?}");
        assert_eq!(lost.0, Outcome::Refused(Refusal::LeaseLive));
        let epoch = Epoch(by.epoch.0 + 1);
        let settle = |token| {
            let (by, reason) = (Authority { epoch, token, ..by }, String::new());
            Command::SettleRecovery { by, verdict: Verdict::Adopted, reason }
        };
        let refused = apply(&writer, settle(lost.1));
        assert_eq!(refused, Outcome::Refused(Refusal::StaleAuthority));
        assert!(accepted(&apply(&writer, settle(won.1))));
    }
    sound(&writer);
    writer.shutdown_blocking();
}

/// CANCEL-08 CANCEL-09 T12: a retry that is fired and routed, and one that a person asks for.
#[test]
fn a_retry_and_a_cancellation_that_meet_leave_a_cancelled_work_and_no_timer() {
    let dir = tempfile::tempdir().expect("a folder");
    let writer = open(dir.path());
    for round in 0..90 {
        let by = running(&writer, &format!("w{round}"));
        let hint = Some(RetryHint::Delay(1));
        let failed = apply(
            &writer,
            Command::Fail { by, reason: String::new(), hint, proofs: Vec::new(), usage: None },
        );
        assert!(accepted(&failed), "{failed:?}");
        let retry = || {
            if round % 2 == 0 {
                let request = request(&format!("r{round}"));
                apply(&writer, Command::Retry { work: by.work, expect: None, request });
                return;
            }
            thread::sleep(std::time::Duration::from_millis(2));
            let fire = Command::FireRetry { work: by.work, attempt: by.attempt };
            if let Outcome::Accepted(Receipt::Event { seq }) = apply(&writer, fire) {
                route(&writer, seq);
            }
        };
        let ((), cancelled) = either(round, retry, || apply(&writer, cancel(by)));
        assert!(accepted(&cancelled), "{cancelled:?}");
        let seen = work_of(&writer, by);
        assert_eq!((seen.status, seen.backoff), (WorkStatus::Cancelled, None));
        assert_eq!(seen.retry, SeenTimer::None);
        assert_eq!(seen.attempt.map(|attempt| attempt.n), Some(by.attempt));
    }
    sound(&writer);
    writer.shutdown_blocking();
}

/// RETRY-28: a person and the timer, whichever comes first, make one next attempt.
#[test]
fn a_retry_that_fires_while_a_person_retries_is_one_more_attempt_and_not_two() {
    let dir = tempfile::tempdir().expect("a folder");
    let writer = open(dir.path());
    for round in 0..60 {
        let by = running(&writer, &format!("w{round}"));
        let hint = Some(RetryHint::Delay(1));
        apply(
            &writer,
            Command::Fail { by, reason: String::new(), hint, proofs: Vec::new(), usage: None },
        );
        thread::sleep(std::time::Duration::from_millis(2));
        let timer = || {
            let fire = Command::FireRetry { work: by.work, attempt: by.attempt };
            if let Outcome::Accepted(Receipt::Event { seq }) = apply(&writer, fire) {
                route(&writer, seq);
            }
        };
        let person = || {
            let request = request(&format!("r{round}"));
            apply(&writer, Command::Retry { work: by.work, expect: None, request })
        };
        let ((), asked) = either(round, timer, person);
        assert!(accepted(&asked), "{asked:?}");
        let seen = work_of(&writer, by);
        assert_eq!((seen.backoff, seen.failures), (None, 0));
        let next = claim(&writer, by.work);
        assert_eq!(next.attempt, AttemptNo(2));
        let done = Command::Complete {
            by: next,
            ending: Ending::Completed,
            status: None,
            proofs: Vec::new(),
            usage: None,
        };
        assert!(accepted(&apply(&writer, done)));
        assert_eq!(work_of(&writer, by).status, WorkStatus::Completed);
    }
    sound(&writer);
    writer.shutdown_blocking();
}
