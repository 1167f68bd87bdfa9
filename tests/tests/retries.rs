//! Retries in real minutes: what is configured when nothing is, and what is configured by name.

use abide::command::{Command, Deferral, Outcome, Receipt, Refusal};
use abide::domain::{
    AttemptNo, AttemptStatus, Authority, CausalLimits, Duration, EventUid, Exhausted, Hold, Millis,
    Request, RetryHint, RetryPolicy, Seq, WorkId, WorkStatus,
};
use abide::store::observe::SeenTimer;
use abide_tests::live::{ByKey, Live, Vary, claim, event};

const MINUTE: i64 = 60_000;

fn minutes(count: u64) -> Duration {
    Duration::seconds(count * 60)
}

/// A budget of four, as a kind may configure it. RETRY-07
fn four() -> RetryPolicy {
    let backoff = [5, 10, 15].map(minutes).to_vec();
    RetryPolicy { attempts: 4, backoff, ..RetryPolicy::default() }
}

fn fail(live: &Live, by: Authority, hint: Option<RetryHint>) {
    live.accepted(Command::Fail {
        by,
        reason: "it broke".to_owned(),
        hint,
        proofs: Vec::new(),
        usage: None,
    });
}

/// Claims a Work, which fails at once.
fn fails(live: &Live, work: WorkId, retry: RetryPolicy, hint: Option<RetryHint>) -> AttemptNo {
    let by = live.claim_under(work, retry);
    fail(live, by, hint);
    by.attempt
}

fn fire(live: &Live, work: WorkId, attempt: AttemptNo) -> Outcome {
    live.apply(Command::FireRetry { work, attempt })
}

fn try_claim(live: &Live, work: WorkId) -> Outcome {
    live.apply(claim(work).0)
}

/// One millisecond before the instant nothing fires; at it the retry is accepted, and routed.
fn due_after(live: &Live, work: WorkId, attempt: AttemptNo, ms: i64) -> Seq {
    live.later(ms - 1);
    assert_eq!(fire(live, work, attempt), Outcome::Refused(Refusal::NotDue));
    assert_eq!(try_claim(live, work), Outcome::Deferred(Deferral::Backoff));
    live.later(1);
    let Outcome::Accepted(Receipt::Event { seq }) = fire(live, work, attempt) else {
        panic!("a due retry was not accepted")
    };
    assert_eq!(try_claim(live, work), Outcome::Deferred(Deferral::Backoff), "it is not routed yet");
    live.route(seq, &ByKey);
    seq
}

fn armed(live: &Live, work: WorkId) -> Millis {
    match live.work(work).retry {
        SeenTimer::Armed(at) => at,
        other @ (SeenTimer::None | SeenTimer::Disabled) => panic!("no retry is armed: {other:?}"),
    }
}

fn is_exhausted(live: &Live, work: WorkId, failures: u32) {
    let seen = live.work(work);
    assert_eq!((seen.status, seen.failures), (WorkStatus::Ready, failures));
    assert_eq!((seen.holds, seen.backoff), (vec![Hold::Exhausted], None));
    assert_eq!(seen.retry, SeenTimer::None);
    assert_eq!(seen.attempt.map(|attempt| attempt.status), Some(AttemptStatus::Failed));
}

/// RETRY-03 RETRY-04 RETRY-05 RETRY-06
#[test]
fn by_default_two_retries_follow_after_five_and_ten_minutes_and_no_third() {
    let live = Live::new();
    let work = live.ready("k");
    for wait in [5, 10] {
        let attempt = fails(&live, work, RetryPolicy::default(), None);
        due_after(&live, work, attempt, wait * MINUTE);
    }
    let last = fails(&live, work, RetryPolicy::default(), None);
    assert_eq!(last, AttemptNo(3));
    is_exhausted(&live, work, 3);
    live.later(365 * 24 * 60 * MINUTE);
    assert_eq!(fire(&live, work, last), Outcome::Refused(Refusal::NoRetry));
    assert_eq!(try_claim(&live, work), Outcome::Refused(Refusal::NothingToStart));
    is_exhausted(&live.reopened(), work, 3);
}

/// RETRY-07 RETRY-27
#[test]
fn a_budget_of_four_waits_fifteen_minutes_after_the_third_and_a_person_starts_the_fifth() {
    let live = Live::new();
    let work = live.ready("k");
    for wait in [5, 10, 15] {
        let attempt = fails(&live, work, four(), None);
        due_after(&live, work, attempt, wait * MINUTE);
    }
    fails(&live, work, four(), None);
    is_exhausted(&live, work, 4);
    let request = Request {
        uid: EventUid::new(),
        id: "by-hand".to_owned(),
        limits: CausalLimits { max_depth: 32 },
    };
    live.accepted(Command::Retry { work, expect: Some(AttemptNo(4)), request });
    let by = live.claim_under(work, four());
    assert_eq!(by.attempt, AttemptNo(5));
    fail(&live, by, None);
    assert_eq!(live.work(work).failures, 1);
    due_after(&live, work, by.attempt, 5 * MINUTE);
}

/// RETRY-08
#[test]
fn equal_failures_at_one_instant_are_due_at_one_instant() {
    let live = Live::new();
    let works: Vec<WorkId> = (0..8).map(|nth| live.ready(&format!("k{nth}"))).collect();
    for work in &works {
        fails(&live, *work, RetryPolicy::default(), None);
    }
    let first = armed(&live, works[0]);
    assert!(works.iter().all(|work| armed(&live, *work) == first));
    let live = live.reopened();
    assert!(works.iter().all(|work| armed(&live, *work) == first), "a restart moves nothing");
}

/// RETRY-15 RETRY-16 RETRY-17: a day is the longest hint, and a day and a millisecond is none.
#[test]
fn a_hint_counts_from_a_millisecond_to_a_day_and_nothing_else_does() {
    let day = 24 * 60 * MINUTE;
    let backoff = 5 * MINUTE;
    let cases = [
        (RetryHint::Delay(1), 1),
        (RetryHint::Delay(30 * MINUTE), 30 * MINUTE),
        (RetryHint::Delay(day), day),
        (RetryHint::Delay(day + 1), backoff),
        (RetryHint::Delay(i64::MAX), backoff),
        (RetryHint::Delay(0), backoff),
        (RetryHint::Delay(-1), backoff),
        (RetryHint::Delay(i64::MIN), backoff),
        (RetryHint::Unreadable, backoff),
    ];
    let live = Live::new();
    for (nth, (hint, delay)) in cases.into_iter().enumerate() {
        let work = live.ready(&format!("k{nth}"));
        let attempt = fails(&live, work, RetryPolicy::default(), Some(hint));
        due_after(&live, work, attempt, delay);
    }
}

/// RETRY-18: nobody is asked, and at every hint in turn.
#[test]
fn no_sequence_of_failures_and_hints_is_tried_without_end_or_without_delay() {
    let hints =
        [None, Some(RetryHint::Delay(1)), Some(RetryHint::Delay(0)), Some(RetryHint::Unreadable)];
    for first in 0..hints.len() {
        let live = Live::new();
        let work = live.ready("k");
        let mut tried = 0;
        while live.work(work).holds.is_empty() {
            assert!(tried < 3, "a budget of three was exceeded");
            let attempt = fails(&live, work, RetryPolicy::default(), hints[(first + tried) % 4]);
            tried += 1;
            let armed = live.work(work).retry != SeenTimer::None;
            let early = if armed { Refusal::NotDue } else { Refusal::NoRetry };
            assert_eq!(fire(&live, work, attempt), Outcome::Refused(early));
            if armed {
                live.later(24 * 60 * MINUTE);
                let Outcome::Accepted(Receipt::Event { seq }) = fire(&live, work, attempt) else {
                    panic!("a due retry was not accepted")
                };
                live.route(seq, &ByKey);
            }
        }
        assert_eq!(tried, 3);
    }
}

/// RETRY-31 RETRY-32
#[test]
fn a_policy_that_fails_the_work_fails_it_with_the_last_failure() {
    let live = Live::new();
    let work = live.ready("k");
    let policy = RetryPolicy { attempts: 1, exhausted: Exhausted::Fail, ..RetryPolicy::default() };
    let by = live.claim_under(work, policy);
    let late = live.accept(event("late").keyed("k"));
    let last = Command::Fail {
        by,
        reason: "it broke".to_owned(),
        hint: None,
        proofs: Vec::new(),
        usage: None,
    };
    assert_eq!(live.apply(last.clone()), Outcome::Conflict, "what came is routed first");
    live.route(late, &ByKey);
    live.accepted(last);
    let seen = live.work(work);
    assert_eq!((seen.status, seen.holds, seen.pending), (WorkStatus::Failed, vec![], vec![late]));
    assert_eq!(try_claim(&live, work), Outcome::Refused(Refusal::Terminal));
}

/// RETRY-14: a hint is a length of time, and there is no place in it for who gave it.
#[test]
fn a_hint_counts_the_same_whoever_gives_it() {
    let live = Live::new();
    let hint = RetryHint::Delay(30 * MINUTE);
    match hint {
        RetryHint::Delay(_) | RetryHint::Unreadable => {}
    }
    let due = ["shell", "claude", "codex"].map(|binding| {
        let work = live.ready(binding);
        let (mut command, token) = claim(work);
        if let Command::Claim { pin, .. } = &mut command {
            pin.binding = binding.to_owned();
        }
        let Receipt::Claimed { attempt, epoch, .. } = live.accepted(command) else {
            panic!("a claim was answered otherwise")
        };
        fail(&live, Authority { work, attempt, epoch, token: token.hash() }, Some(hint));
        armed(&live, work)
    });
    assert!(due.iter().all(|at| *at == due[0]), "{due:?}");
}
