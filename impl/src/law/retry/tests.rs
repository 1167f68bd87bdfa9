//! Retry: what a failure leads to, when its retry may fire, what a person may ask for, and what is
//! stale.

use crate::command::{Command, Deferral, Outcome, Receipt, Refusal};
use crate::domain::{
    AttemptNo, AttemptStatus, Authority, BindingPin, Control, Decision, Duration, Ending,
    Exhausted, HintFinding, Hold, Incarnation, MarkKind, Millis, ProposedWork, RetryHint,
    RetryPolicy, Seq, StartReason, Verdict, WorkId, WorkStatus,
};
use crate::law::testing::{
    Bench, LEASE, Vary as _, cancel, complete, event, fail, fail_with, fresh_work, limit, pin,
    pin_command, policy, request, settle, store, wait_command,
};
use crate::store::attempts;
use crate::store::observe::SeenTimer;
use crate::store::rejections::Derived;

fn fire(by: Authority) -> Command {
    Command::FireRetry { work: by.work, attempt: by.attempt }
}

fn retry(work: WorkId, id: &str) -> Command {
    Command::Retry { work, expect: None, request: request(id) }
}

fn release(work: WorkId, id: &str) -> Command {
    Command::Release { work, expect: None, request: request(id) }
}

/// What waits for a retry: the failed attempt, its timer, and the failures counted.
fn waits(bench: &mut Bench<'_>, work: WorkId) -> (Option<AttemptNo>, SeenTimer, u32) {
    let seen = bench.work(work);
    (seen.backoff, seen.retry, seen.failures)
}

fn hint_of(bench: &mut Bench<'_>, by: Authority) -> Option<(RetryHint, HintFinding)> {
    attempts::referred(&mut bench.tx, by.work, by.attempt).expect("a row").hint
}

/// RETRY-01 RETRY-02: all of it in the one commit.
#[test]
fn a_failure_ends_its_attempt_and_arms_its_retry() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    let pending = bench.input("x", "b");
    let status = WorkStatus::Ready;
    let ended = Receipt::Ended { work: by.work, attempt: by.attempt, status };
    assert_eq!(bench.accepted(&fail(by)), ended);
    let due = bench.now + Duration::seconds(300);
    assert_eq!(waits(&mut bench, by.work), (Some(by.attempt), SeenTimer::Armed(due), 1));
    let seen = bench.work(by.work);
    assert_eq!((seen.holds, seen.pending), (vec![], vec![pending]));
    let attempt = seen.attempt.expect("an attempt");
    assert_eq!((attempt.status, attempt.expires_at), (AttemptStatus::Failed, None));
    let row = attempts::referred(&mut bench.tx, by.work, by.attempt).expect("a row");
    assert_eq!((row.result.as_deref(), row.token), (Some("exit status 1"), None));
    bench.refused(&fail(by), Refusal::StaleAuthority);
}

/// RETRY-03 RETRY-04 RETRY-05 RETRY-06: 5 minutes, 10 minutes, and then a person.
#[test]
fn the_default_policy_retries_twice_and_then_keeps_the_work() {
    let store = store();
    let mut bench = Bench::on(&store);
    let work = bench.ready("x");
    for (failures, minutes) in [(1, 5), (2, 10)] {
        let by = bench.claim_and_pin(work);
        bench.accepted(&fail(by));
        let due = bench.now + Duration::seconds(minutes * 60);
        assert_eq!(waits(&mut bench, work), (Some(by.attempt), SeenTimer::Armed(due), failures));
        bench.later(minutes * 60_000 - 1);
        bench.refused(&fire(by), Refusal::NotDue);
        bench.later(1);
        bench.retried(by);
    }
    let by = bench.claim_and_pin(work);
    assert_eq!(by.attempt, AttemptNo(3));
    bench.accepted(&fail(by));
    assert_eq!(waits(&mut bench, work), (None, SeenTimer::None, 3));
    let seen = bench.work(work);
    assert_eq!((seen.status, seen.holds), (WorkStatus::Ready, vec![Hold::Exhausted]));
    bench.later(1_000_000_000);
    bench.refused(&fire(by), Refusal::NoRetry);
    let input = bench.input("x", "b");
    let (claim, _) = bench.claim_command(work);
    bench.inert(&claim, &Outcome::Deferred(Deferral::Held));
    assert_eq!(bench.work(work).pending, vec![input]);
}

/// RETRY-07
#[test]
fn a_budget_of_four_has_a_third_step_of_fifteen_minutes() {
    let store = store();
    let mut bench = Bench::on(&store);
    let work = bench.ready("x");
    let backoff = [5, 10, 15].map(|minutes| Duration::seconds(minutes * 60)).to_vec();
    let policy = RetryPolicy { attempts: 4, backoff, ..RetryPolicy::default() };
    for minutes in [5, 10, 15] {
        let by = bench.running_under(work, &policy);
        bench.accepted(&fail(by));
        bench.later(minutes * 60_000 - 1);
        bench.refused(&fire(by), Refusal::NotDue);
        bench.later(1);
        bench.retried(by);
    }
    let by = bench.running_under(work, &policy);
    bench.accepted(&fail(by));
    assert_eq!(bench.work(work).holds, vec![Hold::Exhausted]);
}

/// RETRY-31 RETRY-32
#[test]
fn a_work_that_is_to_fail_ends_with_the_last_failure_and_is_not_retried() {
    let store = store();
    let mut bench = Bench::on(&store);
    let work = bench.ready("x");
    let by = bench.running_under(work, &policy(1, Exhausted::Fail));
    bench.accepted(&Command::Hold { work, expect: None, reason: String::new() });
    let pending = bench.input("x", "b");
    let status = WorkStatus::Failed;
    let ended = Receipt::Ended { work, attempt: by.attempt, status };
    assert_eq!(bench.accepted(&fail(by)), ended);
    assert_eq!(waits(&mut bench, work), (None, SeenTimer::None, 1));
    let seen = bench.work(work);
    assert_eq!((seen.holds, seen.pending), (vec![], vec![pending]));
    bench.refused(&retry(work, "r"), Refusal::Terminal);
    bench.refused(&fire(by), Refusal::NoRetry);
    bench.refused(&cancel(work), Refusal::Terminal);
    let (claim, _) = bench.claim_command(work);
    bench.refused(&claim, Refusal::Terminal);
}

/// RETRY-31, reading C19: by its failure or by its recovery.
#[test]
fn a_failure_that_ends_the_work_waits_for_what_is_unrouted() {
    for recovered in [false, true] {
        let store = store();
        let mut bench = Bench::on(&store);
        let work = bench.ready("x");
        let by = bench.running_under(work, &policy(1, Exhausted::Fail));
        let ending = if recovered {
            bench.later(LEASE.0);
            settle(bench.recover(work).0, Verdict::NotAdoptable)
        } else {
            fail(by)
        };
        let news = bench.accept(event("b").with_key("x"));
        bench.inert(&ending, &Outcome::Conflict);
        bench.route(news);
        bench.accepted(&ending);
        let seen = bench.work(work);
        assert_eq!((seen.status, seen.pending), (WorkStatus::Failed, vec![news]));
        assert_eq!(seen.excluded.is_some(), recovered);
    }
}

/// Where the failure does not end the work, nothing unrouted stands against it. Reading C19
#[test]
fn any_other_failure_does_not_wait_for_what_is_unrouted() {
    for (policy, standing) in [
        (policy(2, Exhausted::Fail), false),
        (policy(1, Exhausted::Keep), false),
        (policy(1, Exhausted::Fail), true),
    ] {
        let store = store();
        let mut bench = Bench::on(&store);
        let work = if standing { bench.standing("x") } else { bench.ready("x") };
        let by = bench.running_under(work, &policy);
        bench.accept(event("b").with_key("x"));
        bench.accepted(&fail(by));
        assert_eq!(bench.work(work).status, WorkStatus::Ready);
    }
}

/// RETRY-18: what a configuration refuses is no endless retry when it is stored all the same.
#[test]
fn a_policy_without_a_step_has_no_budget_for_it() {
    let store = store();
    let mut bench = Bench::on(&store);
    let work = bench.ready("x");
    let policy = RetryPolicy { attempts: 9, ..policy(9, Exhausted::Keep) };
    for _ in 0..2 {
        let by = bench.running_under(work, &policy);
        bench.accepted(&fail(by));
        bench.later(200);
        bench.retried(by);
    }
    let by = bench.running_under(work, &policy);
    bench.accepted(&fail_with(by, RetryHint::Delay(5)));
    assert_eq!(waits(&mut bench, work), (None, SeenTimer::None, 3));
    assert_eq!(bench.work(work).holds, vec![Hold::Exhausted]);
}

/// RETRY-09 RETRY-10: neither the number of the attempt nor what did not fail.
#[test]
fn failures_are_counted_apart_from_attempts_and_anew_after_a_success() {
    let store = store();
    let mut bench = Bench::on(&store);
    let work = bench.ready("x");
    let by = bench.claim_and_pin(work);
    bench.accepted(&fail(by));
    bench.later(300_000);
    bench.retried(by);
    // A park, a wake and a recovery count nothing.
    let by = bench.claim_and_pin(work);
    let after = bench.last_seq();
    bench.wait_on(&wait_command(by, &["x"], after, None));
    bench.vacate(by);
    bench.input_wake("x");
    bench.claim_and_pin(work);
    bench.later(LEASE.0);
    let (by, _) = bench.recover(work);
    bench.accepted(&settle(by, Verdict::Adopted));
    assert_eq!((by.attempt, bench.work(work).failures), (AttemptNo(2), 1));
    let ending = Ending::Handoff { close_after: None };
    bench.accepted(&Command::Complete {
        by,
        ending,
        status: None,
        proofs: Vec::new(),
        usage: None,
    });
    assert_eq!(bench.work(work).failures, 0);
    bench.input("x", "more");
    let by = bench.claim_and_pin(work);
    bench.accepted(&fail(by));
    let due = bench.now + Duration::seconds(300);
    let third = Some(AttemptNo(3));
    assert_eq!(waits(&mut bench, work), (third, SeenTimer::Armed(due), 1));
}

/// RETRY-15 RETRY-16 RETRY-17 T09: the bounds of a hint, one by one. None is cut down to fit, and
/// none that is refused starts anything at once.
#[test]
fn a_hint_counts_from_one_millisecond_to_the_bound_and_else_not_at_all() {
    let (valid, invalid, excessive) =
        (HintFinding::Valid, HintFinding::Invalid, HintFinding::Excessive);
    for (hint, finding, delay) in [
        (RetryHint::Delay(i64::MIN), invalid, 100),
        (RetryHint::Delay(-1), invalid, 100),
        (RetryHint::Delay(0), invalid, 100),
        (RetryHint::Unreadable, invalid, 100),
        (RetryHint::Delay(1), valid, 1),
        (RetryHint::Delay(9_999), valid, 9_999),
        (RetryHint::Delay(10_000), valid, 10_000),
        (RetryHint::Delay(10_001), excessive, 100),
        (RetryHint::Delay(1_000_000_000_000_000_000), excessive, 100),
        (RetryHint::Delay(i64::MAX), excessive, 100),
    ] {
        let store = store();
        let mut bench = Bench::on(&store);
        let work = bench.ready("x");
        let by = bench.running_under(work, &policy(3, Exhausted::Keep));
        bench.accepted(&fail_with(by, hint));
        let due = SeenTimer::Armed(bench.now + Duration(delay));
        assert_eq!(waits(&mut bench, work), (Some(by.attempt), due, 1), "{hint:?}");
        assert_eq!(hint_of(&mut bench, by), Some((hint, finding)));
    }
}

/// RETRY-17: the bound is the policy's, 24 h where nothing else is said, and even the last instant
/// of time is no overflow.
#[test]
fn the_bound_of_a_hint_is_pinned_and_a_delay_beyond_time_saturates() {
    let day = 24 * 60 * 60 * 1000;
    for (hint_max, delay, at) in [
        (RetryPolicy::HINT_MAX, day, Some(day)),
        (RetryPolicy::HINT_MAX, day + 1, None),
        (Duration(u64::MAX), i64::MAX, Some(i64::MAX)),
    ] {
        let store = store();
        let mut bench = Bench::on(&store);
        let work = bench.ready("x");
        let policy = RetryPolicy { hint_max, ..RetryPolicy::default() };
        let by = bench.running_under(work, &policy);
        bench.accepted(&fail_with(by, RetryHint::Delay(delay)));
        let due = Millis(bench.now.0.saturating_add(at.unwrap_or(300_000)));
        assert_eq!(bench.work(work).retry, SeenTimer::Armed(due));
    }
}

/// T09: no number of failures makes the delay short or negative.
#[test]
fn a_long_budget_keeps_its_last_steps_and_never_retries_hot() {
    let store = store();
    let mut bench = Bench::on(&store);
    let work = bench.ready("x");
    let backoff = (0..64_u32).map(|step| Duration(1_u64.checked_shl(step).unwrap_or(u64::MAX)));
    let backoff: Vec<_> = backoff.chain([Duration(u64::MAX)]).collect();
    let policy = RetryPolicy { attempts: 1_000, backoff, ..policy(3, Exhausted::Keep) };
    for _ in 0..20 {
        let by = bench.running_under(work, &policy);
        bench.accepted(&fail(by));
        let SeenTimer::Armed(due) = bench.work(work).retry else { panic!("it is armed") };
        assert!(due > bench.now);
        bench.now = due;
        bench.retried(by);
    }
    assert_eq!(bench.work(work).failures, 20);
}

/// JOB-16 JOB-27, reading C13
#[test]
fn standing_work_counts_nothing_and_waits_only_where_it_is_asked_to() {
    let store = store();
    let mut bench = Bench::on(&store);
    let work = bench.standing("x");
    for (round, hint) in [
        None,
        Some(RetryHint::Delay(0)),
        Some(RetryHint::Delay(10_001)),
        Some(RetryHint::Unreadable),
    ]
    .into_iter()
    .enumerate()
    {
        let by = bench.running_under(work, &policy(1, Exhausted::Fail));
        bench.accepted(&Command::Fail {
            by,
            reason: String::new(),
            hint,
            proofs: Vec::new(),
            usage: None,
        });
        assert_eq!(waits(&mut bench, work), (None, SeenTimer::None, 0));
        let (claim, _) = bench.claim_command(work);
        bench.refused(&claim, Refusal::NothingToStart);
        bench.input("x", &format!("next-{round}"));
    }
    let by = bench.running_under(work, &policy(1, Exhausted::Fail));
    bench.accepted(&fail_with(by, RetryHint::Delay(10_000)));
    let due = SeenTimer::Armed(bench.now + Duration(10_000));
    assert_eq!(waits(&mut bench, work), (Some(by.attempt), due, 0));
    assert_eq!(bench.work(work).holds, vec![]);
    bench.later(10_000);
    bench.retried(by);
    bench.claim(work);
}

/// RETRY-25
#[test]
fn an_ordinary_event_in_a_backoff_is_input_of_the_next_attempt_and_hurries_nothing() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    bench.accepted(&fail(by));
    let before = waits(&mut bench, by.work);
    let input = bench.input("x", "b");
    assert_eq!(waits(&mut bench, by.work), before);
    let (claim, _) = bench.claim_command(by.work);
    bench.inert(&claim, &Outcome::Deferred(Deferral::Backoff));
    bench.later(300_000);
    let due = bench.retried(by);
    let next = bench.claim(by.work);
    let attempt = bench.work(by.work).attempt.expect("an attempt");
    assert_eq!((attempt.trigger, attempt.batch), (input, vec![input, due]));
    assert_eq!((next.attempt, attempt.reason), (AttemptNo(2), StartReason::Next));
}

/// RETRY-19 RETRY-20 CAUSE-29, T08: due at its instant, and then once.
#[test]
fn a_retry_fires_at_its_instant_and_once_and_claims_nothing() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    let work = by.work;
    bench.accepted(&fail(by));
    bench.later(299_999);
    bench.refused(&fire(by), Refusal::NotDue);
    bench.later(1);
    let seq = bench.requested(&fire(by));
    let again = Outcome::Duplicate(Receipt::Event { seq });
    bench.inert(&fire(by), &again);
    let seen = bench.event_at(seq);
    assert_eq!((seen.event_type.as_str(), seen.derived), ("core.retry.due", Some(Derived::Retry)));
    assert_eq!((seen.parent, seen.root, seen.depth), (Some(Seq(1)), Seq(1), 1));
    assert_eq!((seen.target, seen.failed), (Some(work), Some(by.attempt)));
    assert_eq!((seen.mark, seen.key), (None, None));
    assert_eq!(waits(&mut bench, work), (Some(by.attempt), SeenTimer::None, 1));
    // Fired is not routed.
    let (claim, _) = bench.claim_command(work);
    bench.inert(&claim, &Outcome::Deferred(Deferral::Backoff));
    assert_eq!(bench.route(seq), (MarkKind::Queued, Some(work)));
    assert_eq!(waits(&mut bench, work), (None, SeenTimer::None, 1));
    bench.inert(&fire(by), &again);
    bench.accepted(&claim);
    let attempt = bench.work(work).attempt.expect("an attempt");
    assert_eq!((attempt.trigger, attempt.batch), (seq, vec![seq]));
    bench.inert(&fire(by), &again);
}

/// T08: one firing, however late.
#[test]
fn a_retry_that_is_late_by_a_millisecond_is_as_due() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    bench.accepted(&fail(by));
    bench.later(300_001);
    bench.retried(by);
}

#[test]
fn a_firing_is_refused_in_order() {
    let store = store();
    let mut bench = Bench::on(&store);
    let of = |work, attempt| Command::FireRetry { work, attempt };
    bench.refused(&of(WorkId(9), AttemptNo(1)), Refusal::UnknownWork);
    let work = bench.ready("x");
    bench.refused(&of(work, AttemptNo(1)), Refusal::NoRetry);
    let by = bench.running_under(work, &policy(3, Exhausted::Keep));
    bench.refused(&fire(by), Refusal::NoRetry);
    bench.accepted(&fail(by));
    bench.refused(&of(work, AttemptNo(2)), Refusal::NoRetry);
    bench.refused(&of(work, AttemptNo(0)), Refusal::NoRetry);
    bench.refused(&fire(by), Refusal::NotDue);
}

/// RETRY-19: a retry has no route of its own, and no route of anybody's decides it.
#[test]
fn whatever_a_handler_says_of_a_retry_it_is_routed_by_what_it_is() {
    for decision in [
        Decision::Drop,
        Decision::Close,
        Decision::Decline,
        Decision::Update { attach: Vec::new(), control: Control::default() },
    ] {
        let store = store();
        let mut bench = Bench::on(&store);
        let by = bench.running("x");
        bench.accepted(&fail(by));
        bench.later(300_000);
        let seq = bench.requested(&fire(by));
        bench.refused(&Command::Drop { event: seq, reason: String::new() }, Refusal::CoreType);
        let replay = Command::Replay { event: seq, request: request("again") };
        bench.refused(&replay, Refusal::CoreType);
        assert_eq!(bench.decide(seq, decision), (MarkKind::Queued, Some(by.work)));
        bench.refused(&replay, Refusal::CoreType);
    }
}

/// RETRY-28: nor does it reopen what has ended meanwhile.
#[test]
fn a_retry_reopens_no_work() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    bench.accepted(&fail(by));
    bench.later(300_000);
    let seq = bench.requested(&fire(by));
    bench.accepted(&cancel(by.work));
    let mut proposal = bench.proposal(seq, Decision::Decline);
    proposal.reopen = Some(fresh_work("s").uid);
    bench.accepted(&Command::CommitRoute { proposal });
    assert_eq!(bench.event_at(seq).mark, Some(MarkKind::Terminal));
    assert_eq!(bench.see().works.len(), 1);
}

/// RETRY-21: in its turn like any other.
#[test]
fn a_retry_is_routed_in_its_turn() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    bench.accepted(&fail(by));
    let earlier = bench.accept(event("b").with_key("x"));
    bench.later(300_000);
    let seq = bench.requested(&fire(by));
    let proposal = bench.evaluate(seq);
    let early = Command::CommitRoute { proposal };
    bench.inert(&early, &Outcome::Deferred(Deferral::OutOfTurn));
    bench.route(earlier);
    bench.accepted(&early);
}

/// RETRY-22 RETRY-28, T10: the retry of a failure that something else has overtaken.
#[test]
fn a_retry_of_an_attempt_that_was_overtaken_is_stale_and_clears_no_later_backoff() {
    let store = store();
    let mut bench = Bench::on(&store);
    let first = bench.running("x");
    let work = first.work;
    bench.accepted(&fail(first));
    bench.later(300_000);
    let late = bench.requested(&fire(first));
    // A person does not wait for it, and the next attempt fails in turn.
    bench.requested(&retry(work, "now"));
    let second = bench.claim_and_pin(work);
    bench.accepted(&fail(second));
    let before = waits(&mut bench, work);
    assert_eq!(bench.route(late), (MarkKind::StaleRetry, Some(work)));
    assert_eq!(waits(&mut bench, work), before);
    assert_eq!(before.0, Some(second.attempt));
    let seen = bench.work(work);
    assert!(seen.pending.is_empty() && seen.consumed.iter().all(|input| input.event != late));
}

/// RETRY-24: while an attempt runs, while a wait is active, once both are over.
#[test]
fn a_stale_retry_touches_neither_an_attempt_nor_a_wait() {
    for stage in 0..3 {
        let store = store();
        let mut bench = Bench::on(&store);
        let first = bench.running("x");
        let work = first.work;
        bench.accepted(&fail(first));
        bench.later(300_000);
        let late = bench.requested(&fire(first));
        bench.requested(&retry(work, "now"));
        let by = bench.claim_and_pin(work);
        match stage {
            0 => {}
            1 => {
                bench.wait_on(&wait_command(by, &["x"], Seq(0), None));
            }
            _ => {
                let ending = Ending::Handoff { close_after: None };
                bench.accepted(&Command::Complete {
                    by,
                    ending,
                    status: None,
                    proofs: Vec::new(),
                    usage: None,
                });
            }
        }
        let before = bench.work(work);
        assert_eq!(bench.route(late), (MarkKind::StaleRetry, Some(work)), "stage {stage}");
        assert_eq!(bench.work(work), before, "stage {stage}");
    }
}

/// RETRY-23 CANCEL-08 CANCEL-09, T12: both orders end cancelled, with no timer and no attempt.
#[test]
fn cancelling_in_a_backoff_ends_its_timer_and_a_retry_that_was_due_starts_nothing() {
    for fired in [false, true] {
        let store = store();
        let mut bench = Bench::on(&store);
        let by = bench.running("x");
        let work = by.work;
        bench.accepted(&fail(by));
        bench.later(300_000);
        let seq = fired.then(|| bench.requested(&fire(by)));
        bench.accepted(&cancel(work));
        assert_eq!(waits(&mut bench, work), (None, SeenTimer::None, 1));
        match seq {
            Some(seq) => {
                bench.inert(&fire(by), &Outcome::Duplicate(Receipt::Event { seq }));
                assert_eq!(bench.route(seq), (MarkKind::Terminal, Some(work)));
            }
            None => bench.refused(&fire(by), Refusal::NoRetry),
        }
        let seen = bench.work(work);
        assert_eq!((seen.status, seen.pending), (WorkStatus::Cancelled, vec![]));
        assert_eq!(waits(&mut bench, work), (None, SeenTimer::None, 1));
        let (claim, _) = bench.claim_command(work);
        bench.refused(&claim, Refusal::Terminal);
        bench.refused(&retry(work, "r"), Refusal::Terminal);
    }
}

/// RETRY-23 CANCEL-08: routed, and even claimed.
#[test]
fn cancelling_after_a_routed_retry_leaves_it_as_history() {
    for claimed in [false, true] {
        let store = store();
        let mut bench = Bench::on(&store);
        let by = bench.running("x");
        bench.accepted(&fail(by));
        bench.later(300_000);
        let seq = bench.retried(by);
        if claimed {
            bench.claim(by.work);
        }
        bench.accepted(&cancel(by.work));
        let seen = bench.work(by.work);
        assert_eq!(seen.pending, if claimed { vec![] } else { vec![seq] });
        let (claim, _) = bench.claim_command(by.work);
        bench.refused(&claim, Refusal::Terminal);
    }
}

/// OURS-09 RETRY-26 RETRY-32
#[test]
fn the_guards_of_a_manual_retry_answer_in_order() {
    let store = store();
    let mut bench = Bench::on(&store);
    let named = |work, expect| Command::Retry { work, expect, request: request("r") };
    bench.refused(&named(WorkId(9), Some(AttemptNo(7))), Refusal::UnknownWork);
    let work = bench.ready("x");
    bench.refused(&named(work, Some(AttemptNo(1))), Refusal::StaleTarget);
    bench.refused(&named(work, Some(AttemptNo(0))), Refusal::NothingToRetry);
    let by = bench.claim_and_pin(work);
    bench.refused(&named(work, None), Refusal::NothingToRetry);
    let after = bench.last_seq();
    bench.wait_on(&wait_command(by, &["x"], after, None));
    bench.refused(&named(work, None), Refusal::NothingToRetry);
    bench.input_wake("x");
    bench.refused(&named(work, None), Refusal::NothingToRetry);
    bench.vacate(by);
    let by = bench.claim_and_pin(work);
    let ending = Ending::Handoff { close_after: None };
    bench.accepted(&Command::Complete {
        by,
        ending,
        status: None,
        proofs: Vec::new(),
        usage: None,
    });
    bench.refused(&named(work, None), Refusal::NothingToRetry);
    bench.accepted(&cancel(work));
    bench.refused(&named(work, None), Refusal::Terminal);
}

/// RETRY-11 RETRY-26 OURS-23
#[test]
fn a_manual_retry_ends_the_backoff_counts_anew_and_is_the_input_of_the_next_attempt() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    let work = by.work;
    bench.accepted(&fail(by));
    let seq = bench.requested(&retry(work, "r"));
    assert_eq!(waits(&mut bench, work), (None, SeenTimer::None, 0));
    let seen = bench.event_at(seq);
    assert_eq!(seen.event_type, "core.retry.requested");
    assert_eq!((seen.mark, seen.work), (Some(MarkKind::Queued), Some(work)));
    assert_eq!((seen.root, seen.depth, seen.key, seen.target), (seq, 0, None, None));
    assert_eq!(bench.work(work).status, WorkStatus::Ready);
    bench.inert(&retry(work, "r"), &Outcome::Duplicate(Receipt::Event { seq }));
    bench.refused(&fire(by), Refusal::NoRetry);
    bench.later(1_000_000);
    bench.refused(&fire(by), Refusal::NoRetry);
    let next = bench.claim_and_pin(work);
    let attempt = bench.work(work).attempt.expect("an attempt");
    assert_eq!((next.attempt, attempt.trigger), (AttemptNo(2), seq));
    // Said again after a later failure, it is the first answer and clears nothing. RETRY-28
    bench.accepted(&fail(next));
    bench.inert(&retry(work, "r"), &Outcome::Duplicate(Receipt::Event { seq }));
    assert_eq!(waits(&mut bench, work).2, 1);
}

/// RETRY-27 OURS-06: an exhausted work goes on, unless a person holds it.
#[test]
fn a_manual_retry_lifts_exhaustion_and_no_hold_of_a_person() {
    for held in [false, true] {
        let store = store();
        let mut bench = Bench::on(&store);
        let work = bench.ready("x");
        let by = bench.running_under(work, &policy(1, Exhausted::Keep));
        if held {
            bench.accepted(&Command::Hold { work, expect: None, reason: String::new() });
        }
        bench.accepted(&fail(by));
        bench.requested(&retry(work, "r"));
        let (claim, _) = bench.claim_command(work);
        if held {
            assert_eq!(bench.work(work).holds, vec![Hold::Operator]);
            bench.inert(&claim, &Outcome::Deferred(Deferral::Held));
            bench.requested(&release(work, "go"));
        }
        assert_eq!(bench.work(work).holds, vec![]);
        bench.accepted(&claim);
    }
}

/// OURS-06: a hold does not stop the clock, and a release does not jump the queue.
#[test]
fn a_release_leaves_a_backoff_that_its_timer_will_end() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    bench.accepted(&Command::Hold { work: by.work, expect: None, reason: String::new() });
    bench.accepted(&fail(by));
    let before = waits(&mut bench, by.work);
    let seq = bench.requested(&release(by.work, "go"));
    assert_eq!(waits(&mut bench, by.work), before);
    assert_eq!(bench.event_at(seq).mark, Some(MarkKind::Release));
    assert!(bench.work(by.work).pending.is_empty());
}

/// A work without a retry to fire, for its chain is too long, and a person who goes on with it.
fn too_deep(bench: &mut Bench<'_>) -> Authority {
    let made = bench.accept(event("make").with_key("x").with_depth(0));
    let work = bench.route(made).1.expect("a work");
    let by = bench.claim_and_pin(work);
    bench.accepted(&fail(by));
    bench.later(300_000);
    assert_eq!(bench.apply(&fire(by)), Outcome::Refused(Refusal::DepthLimit));
    by
}

/// CAUSE-29 CAUSE-32, reading C14
#[test]
fn a_retry_too_deep_leaves_a_diagnostic_and_holds_the_work() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = too_deep(&mut bench);
    assert_eq!(waits(&mut bench, by.work), (Some(by.attempt), SeenTimer::Disabled, 1));
    assert_eq!(bench.work(by.work).holds, vec![Hold::CausalLimit]);
    let seen = bench.see();
    assert_eq!((seen.events.len(), seen.rejections.len()), (1, 1));
    let rejected = seen.rejections[0];
    assert_eq!((rejected.kind, rejected.parent), (Derived::Retry, Seq(1)));
    assert_eq!((rejected.work, rejected.attempt), (Some(by.work), Some(by.attempt)));
    bench.refused(&fire(by), Refusal::FiringDisabled);
    bench.later(1_000_000);
    bench.refused(&fire(by), Refusal::FiringDisabled);
}

/// JOB-16: a person is not asked about standing work; its next input starts it.
#[test]
fn a_retry_too_deep_of_standing_work_leaves_a_diagnostic_and_holds_nothing() {
    let store = store();
    let mut bench = Bench::on(&store);
    let made = bench.accept(event("make").with_key("x").with_depth(0));
    let create = Some(ProposedWork { standing: true, ..fresh_work("x") });
    let decision = Decision::Work { attach: Vec::new(), create, control: Control::default() };
    let work = bench.decide(made, decision).1.expect("a work");
    let by = bench.claim_and_pin(work);
    bench.accepted(&fail_with(by, RetryHint::Delay(5)));
    bench.later(5);
    assert_eq!(bench.apply(&fire(by)), Outcome::Refused(Refusal::DepthLimit));
    assert_eq!(waits(&mut bench, work), (None, SeenTimer::None, 0));
    assert_eq!(bench.work(work).holds, vec![]);
    assert_eq!(bench.see().rejections.len(), 1);
    bench.refused(&fire(by), Refusal::NoRetry);
    bench.input("x", "next");
    bench.claim(work);
}

/// CAUSE-32, reading C14: the old chain cannot be extended.
#[test]
fn a_release_is_itself_the_input_where_no_retry_can_come() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = too_deep(&mut bench);
    let seq = bench.requested(&release(by.work, "go"));
    assert_eq!(waits(&mut bench, by.work), (None, SeenTimer::None, 1));
    let seen = bench.work(by.work);
    assert_eq!((seen.holds, seen.pending), (vec![], vec![seq]));
    let note = bench.event_at(seq);
    assert_eq!((note.mark, note.depth, note.root), (Some(MarkKind::Queued), 0, seq));
    let next = bench.claim_and_pin(by.work);
    let attempt = bench.work(by.work).attempt.expect("an attempt");
    assert_eq!((next.attempt, attempt.trigger), (AttemptNo(2), seq));
    bench.refused(&fire(by), Refusal::NoRetry);
    // Its own retry goes on from the release.
    bench.accepted(&fail(next));
    bench.later(600_000);
    let due = bench.retried(next);
    assert_eq!(bench.event_at(due).root, seq);
}

/// CAUSE-32: even where other input is the trigger.
#[test]
fn a_segment_after_such_a_release_goes_on_from_it() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = too_deep(&mut bench);
    let input = bench.input("x", "b");
    let seq = bench.requested(&release(by.work, "go"));
    let next = bench.claim(by.work);
    let row = attempts::referred(&mut bench.tx, by.work, next.attempt).expect("a row");
    assert_eq!((row.trigger, row.parent), (input, seq));
}

/// RETRY-27: no person need release what a person retries.
#[test]
fn a_manual_retry_goes_on_where_no_retry_can_come() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = too_deep(&mut bench);
    let seq = bench.requested(&retry(by.work, "r"));
    assert_eq!(waits(&mut bench, by.work), (None, SeenTimer::None, 0));
    assert_eq!(bench.work(by.work).holds, vec![]);
    bench.claim(by.work);
    let attempt = bench.work(by.work).attempt.expect("an attempt");
    assert_eq!(attempt.trigger, seq);
}

/// BIND-10 RETRY-12: the attempt's own policy decides, whatever is configured meanwhile.
#[test]
fn a_failure_is_admitted_under_the_policy_it_was_claimed_with() {
    let store = store();
    let mut bench = Bench::on(&store);
    let work = bench.ready("x");
    let by =
        bench.claim_pinned_to(work, BindingPin { retry: policy(2, Exhausted::Keep), ..pin(true) });
    bench.hand(by);
    bench.accepted(&pin_command(by));
    let after = bench.last_seq();
    bench.wait_on(&wait_command(by, &["x"], after, None));
    bench.vacate(by);
    bench.reload("newer");
    bench.input_wake("x");
    // A resume brings another policy and keeps its own.
    let by = bench.running_under(work, &policy(1, Exhausted::Fail));
    let row = attempts::referred(&mut bench.tx, work, by.attempt).expect("a row");
    assert_eq!(row.pin.retry, policy(2, Exhausted::Keep));
    bench.accepted(&fail(by));
    let due = SeenTimer::Armed(bench.now + Duration(100));
    assert_eq!(waits(&mut bench, work), (Some(by.attempt), due, 1));
    // The next attempt's failure is the second, under what it is pinned to.
    bench.later(100);
    bench.retried(by);
    let by = bench.running_under(work, &policy(2, Exhausted::Fail));
    bench.accepted(&fail(by));
    assert_eq!(bench.work(work).status, WorkStatus::Failed);
}

/// RETRY-29 RETRY-30: the claim of a retry is a claim like any other.
#[test]
fn a_retry_waits_for_capacity_and_exclusion_without_losing_its_turn() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    bench.later(LEASE.0);
    let (by, _) = bench.recover(by.work);
    bench.accepted(&settle(by, Verdict::NotAdoptable));
    bench.later(300_000);
    let due = bench.retried(by);
    let (mut claim, _) = bench.claim_command(by.work);
    bench.inert(&claim, &Outcome::Deferred(Deferral::Excluded));
    bench.vacate(by);
    if let Command::Claim { capacity, .. } = &mut claim {
        *capacity = limit("acme", 0);
    }
    bench.inert(&claim, &Outcome::Deferred(Deferral::Capacity));
    assert_eq!(bench.work(by.work).pending, vec![due]);
    if let Command::Claim { capacity, .. } = &mut claim {
        *capacity = limit("acme", 1);
    }
    bench.accepted(&claim);
}

/// ADOPT-20 ADOPT-21, reading C9: under a backoff the mark stands, and each ends by itself.
#[test]
fn what_cannot_be_adopted_is_retried_like_any_failure_and_stays_excluded() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    bench.later(LEASE.0);
    let (by, _) = bench.recover(by.work);
    bench.accepted(&settle(by, Verdict::NotAdoptable));
    let due = SeenTimer::Armed(bench.now + Duration::seconds(300));
    assert_eq!(waits(&mut bench, by.work), (Some(by.attempt), due, 1));
    assert!(bench.work(by.work).excluded_is_last);
    bench.vacate(by);
    assert_eq!(waits(&mut bench, by.work), (Some(by.attempt), due, 1));
}

/// The order of what keeps a claim back, from the backoff on.
#[test]
fn a_backoff_is_named_before_anything_else_that_keeps_a_claim_back() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    bench.accepted(&Command::Hold { work: by.work, expect: None, reason: String::new() });
    bench.accepted(&fail(by));
    bench.accepted(&Command::Restore { above: Incarnation(1) });
    let (claim, _) = bench.claim_command(by.work);
    bench.inert(&claim, &Outcome::Deferred(Deferral::Backoff));
    bench.requested(&retry(by.work, "r"));
    bench.inert(&claim, &Outcome::Deferred(Deferral::Restored));
    bench.requested(&Command::ReleaseRestore { request: request("ok") });
    bench.inert(&claim, &Outcome::Deferred(Deferral::Held));
}

/// L21 L01: late reports on an ended work change nothing of it.
#[test]
fn late_reports_on_an_ended_work_are_refused_and_make_nothing() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    bench.accepted(&complete(by));
    for command in [
        Command::Renew { by, lease: LEASE },
        complete(by),
        fail_with(by, RetryHint::Delay(1)),
        Command::Detach { by },
        settle(by, Verdict::Adopted),
    ] {
        bench.refused(&command, Refusal::StaleAuthority);
    }
    let late = bench.accept(event("late").with_key("x"));
    assert_eq!(bench.route(late), (MarkKind::Terminal, Some(by.work)));
    assert_eq!(bench.see().works.len(), 1);
}

/// L11: nothing of a long backoff can be handed out again.
#[test]
fn a_backoff_of_hours_has_no_lease_to_lose_and_no_claim_before_its_retry() {
    let store = store();
    let mut bench = Bench::on(&store);
    let work = bench.ready("x");
    let hours = 6 * 60 * 60 * 1000;
    let by = bench.running_under(work, &RetryPolicy::default());
    bench.accepted(&fail_with(by, RetryHint::Delay(hours)));
    for _ in 0..100 {
        bench.later(u64::try_from(hours / 100).expect("it is positive") - 1);
        let (claim, token) = bench.claim_command(work);
        bench.inert(&claim, &Outcome::Deferred(Deferral::Backoff));
        let recover = Command::ClaimRecovery { work, token, lease: LEASE };
        bench.refused(&recover, Refusal::NothingToRecover);
        bench.refused(&fire(by), Refusal::NotDue);
    }
    bench.later(100);
    bench.retried(by);
    bench.claim(work);
}
