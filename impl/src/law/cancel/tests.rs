//! Cancellation: everything open of a work ends in the commit that ends the work.

use crate::command::{Command, Deferral, Outcome, Receipt, Refusal};
use crate::domain::{
    AttemptNo, AttemptStatus, Duration, Ending, Exhausted, Hold, MarkKind, Millis, Source, Verdict,
    WaitStatus, WorkId, WorkStatus,
};
use crate::law::testing::{
    Bench, LEASE, Vary as _, cancel, complete, event, fail, fresh_work, key, pin_command, policy,
    request, settle, store, wait_command,
};
use crate::store::observe::SeenTimer;
use crate::store::reads;

#[test]
fn cancelling_is_refused_in_order() {
    let store = store();
    let mut bench = Bench::on(&store);
    bench.refused(&cancel(WorkId(99)), Refusal::UnknownWork);
    let by = bench.running("x");
    bench.accepted(&complete(by));
    bench.refused(&cancel(by.work), Refusal::Terminal);
    let work = bench.ready("y");
    bench.accepted(&cancel(work));
    bench.inert(&cancel(work), &Outcome::Duplicate(Receipt::Cancelled { work }));
}

#[test]
fn a_waiting_work_ends_with_its_attempt_wait_and_timer() {
    let store = store();
    let mut bench = Bench::on(&store);
    let (by, _) = bench.parked("x", Some(500));
    bench.accepted(&cancel(by.work));
    let seen = bench.work(by.work);
    assert_eq!(seen.status, WorkStatus::Cancelled);
    assert_eq!(seen.attempt.expect("an attempt").status, AttemptStatus::Cancelled);
    let wait = seen.wait.expect("a wait");
    assert_eq!((wait.status, wait.timer), (WaitStatus::Cancelled, SeenTimer::None));
    assert!(seen.excluded.is_some());
}

#[test]
fn a_running_attempt_is_marked_unless_nobody_was_handed_it() {
    let store = store();
    let mut bench = Bench::on(&store);
    let work = bench.ready("x");
    bench.claim(work);
    bench.accepted(&cancel(work));
    assert_eq!(bench.work(work).excluded, None);
    let by = bench.running("y");
    bench.accepted(&cancel(by.work));
    assert!(bench.work(by.work).excluded_is_last);
    bench.refused(&complete(by), Refusal::StaleAuthority);
}

#[test]
fn pending_input_stays_and_starts_nothing() {
    let store = store();
    let mut bench = Bench::on(&store);
    let work = bench.ready("x");
    bench.accepted(&cancel(work));
    assert_eq!(bench.work(work).pending.len(), 1);
    let (command, _) = bench.claim_command(work);
    bench.refused(&command, Refusal::Terminal);
    let late = bench.accept(event("late").with_key("x"));
    assert_eq!(bench.route(late), (MarkKind::Terminal, Some(work)));
}

#[test]
fn a_hold_goes_with_the_work() {
    let store = store();
    let mut bench = Bench::on(&store);
    let work = bench.ready("x");
    let by = bench.running_under(work, &policy(1, Exhausted::Keep));
    bench.accepted(&fail(by));
    assert_eq!(bench.work(work).holds, vec![Hold::Exhausted]);
    bench.accepted(&cancel(by.work));
    let seen = bench.work(by.work);
    assert_eq!((seen.holds, seen.failures), (vec![], 1));
    assert_eq!(seen.attempt.expect("an attempt").status, AttemptStatus::Failed);
}

#[test]
fn a_woken_wait_stays_woken_and_its_attempt_is_fenced() {
    let store = store();
    let mut bench = Bench::on(&store);
    let (by, wait) = bench.parked("x", None);
    let winner = bench.input_wake("x");
    bench.accepted(&cancel(by.work));
    let seen = bench.work(by.work);
    assert_eq!(seen.attempt.expect("an attempt").status, AttemptStatus::Cancelled);
    let seen = seen.wait.expect("a wait");
    assert_eq!((seen.status, seen.winner), (WaitStatus::Woken, Some(winner)));
    let woken = Outcome::Duplicate(Receipt::Woken { wait, winner });
    bench.inert(&Command::Wake { wait }, &woken);
}

/// OURS-09 OURS-10
#[test]
fn standing_work_is_cancelled_for_good_or_not_at_all() {
    let store = store();
    let mut bench = Bench::on(&store);
    let work = bench.standing("x");
    let named =
        |expect, for_good| Command::Cancel { work, expect, for_good, reason: String::new() };
    bench.refused(&named(Some(AttemptNo(1)), true), Refusal::StaleTarget);
    bench.refused(&named(Some(AttemptNo(0)), false), Refusal::Standing);
    bench.accepted(&named(Some(AttemptNo(0)), true));
    bench.inert(&named(None, false), &Outcome::Duplicate(Receipt::Cancelled { work }));
}

/// OURS-06: who holds it means to look into it.
#[test]
fn held_work_is_not_closed_however_idle() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    let ending = Ending::Handoff { close_after: Some(Duration(100)) };
    bench.accepted(&Command::Complete {
        by,
        ending,
        status: None,
        proofs: Vec::new(),
        usage: None,
    });
    let work = by.work;
    bench.accepted(&Command::Hold { work, expect: None, reason: String::new() });
    bench.refused(&Command::CloseIdle { work }, Refusal::NotDue);
    bench.later(100);
    bench.accept(event("news").with_key("x"));
    bench.inert(&Command::CloseIdle { work }, &Outcome::Deferred(Deferral::Held));
    let due = reads::due_idle(&mut bench.tx, bench.now, (Millis(0), WorkId(0)), 9);
    assert_eq!(due.expect("a read"), []);
}

/// C06: what has ended stays as it ended, and says so.
#[test]
fn cancelling_an_ended_work_leaves_its_record_as_it_is() {
    let store = store();
    let mut bench = Bench::on(&store);
    bench.refused(&cancel(WorkId(9)), Refusal::UnknownWork);
    let by = bench.running("completed");
    bench.accepted(&complete(by));
    bench.refused(&cancel(by.work), Refusal::Terminal);
    let work = bench.ready("failed");
    let by = bench.running_under(work, &policy(1, Exhausted::Fail));
    bench.accepted(&fail(by));
    bench.refused(&cancel(work), Refusal::Terminal);
    let work = bench.ready("cancelled");
    bench.accepted(&cancel(work));
    bench.inert(&cancel(work), &Outcome::Duplicate(Receipt::Cancelled { work }));
}

/// C07 CANCEL-02: at the commit, not when the day is over.
#[test]
fn a_work_that_waits_for_a_day_ends_at_once_with_timer_and_subscription() {
    let store = store();
    let mut bench = Bench::on(&store);
    bench.ready("pr");
    let by = bench.running("x");
    let after = bench.last_seq();
    let day = 24 * 60 * 60 * 1000;
    let mut wait = wait_command(by, &["x"], after, Some(day));
    if let Command::RegisterWait { source, .. } = &mut wait {
        let (extension, scope) = ("tool".to_owned(), "acme".to_owned());
        *source = Some(Source { extension, key: key("pr"), scope });
    }
    let (wait, _) = bench.wait_on(&wait);
    assert!(bench.work(by.work).wait.expect("a wait").checkpoint.is_some());
    bench.accepted(&cancel(by.work));
    let seen = bench.work(by.work);
    assert_eq!(seen.status, WorkStatus::Cancelled);
    let seen = seen.wait.expect("a wait");
    assert_eq!(
        (seen.status, seen.timer, seen.checkpoint),
        (WaitStatus::Cancelled, SeenTimer::None, None)
    );
    bench.later(day);
    bench.refused(&Command::FireTimer { wait }, Refusal::TimerCancelled);
    let due = reads::due_timers(&mut bench.tx, bench.now, (Millis(0), wait), 9);
    assert_eq!(due.expect("a read"), []);
}

/// C12 CANCEL-05: a session that still runs makes nothing more.
#[test]
fn a_process_of_a_cancelled_work_is_fenced_whatever_it_asks_for() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    bench.accepted(&cancel(by.work));
    let after = bench.last_seq();
    for command in [
        Command::Renew { by, lease: LEASE },
        Command::ClearNeverHanded { by },
        pin_command(by),
        complete(by),
        Command::Complete {
            by,
            ending: Ending::Handoff { close_after: None },
            status: Some("review".to_owned()),
            proofs: Vec::new(),
            usage: None,
        },
        fail(by),
        wait_command(by, &["x"], after, Some(1)),
        settle(by, Verdict::Adopted),
        settle(by, Verdict::NotAdoptable),
        Command::Detach { by },
    ] {
        bench.refused(&command, Refusal::StaleAuthority);
    }
    let token = bench.token();
    let recover = Command::ClaimRecovery { work: by.work, token, lease: LEASE };
    bench.later(LEASE.0);
    bench.refused(&recover, Refusal::NothingToRecover);
}

/// C13: ended is ended; who wants to go on makes a successor.
#[test]
fn a_cancelled_work_is_not_taken_up_again_but_by_a_successor() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    bench.accepted(&fail(by));
    let work = by.work;
    bench.accepted(&cancel(work));
    let (claim, _) = bench.claim_command(work);
    let (expect, fire) = (None, Command::FireRetry { work, attempt: by.attempt });
    bench.refused(&claim, Refusal::Terminal);
    bench.refused(&Command::Retry { work, expect, request: request("a") }, Refusal::Terminal);
    bench.refused(&Command::Release { work, expect, request: request("b") }, Refusal::Terminal);
    bench.refused(&fire, Refusal::NoRetry);
    let successor = fresh_work("s").uid;
    bench.requested(&Command::Reopen { work, expect, request: request("c"), successor });
    let next = bench.see().works.pop().expect("a work");
    assert_eq!((next.predecessor, next.parent, next.failures), (Some(work), None, 0));
    assert_eq!(next.backoff, None);
    bench.claim(next.work);
}
