//! Cancellation: everything open of a work ends in the commit that ends the work.

use crate::command::{Command, Deferral, Outcome, Receipt, Refusal};
use crate::domain::{
    AttemptNo, AttemptStatus, Duration, Ending, MarkKind, Millis, WaitStatus, WorkId, WorkStatus,
};
use crate::law::testing::{Bench, Vary as _, cancel, complete, event, fail, store};
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
    let by = bench.running("x");
    bench.accepted(&fail(by));
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
    bench.accepted(&Command::Complete { by, ending, status: None });
    let work = by.work;
    bench.accepted(&Command::Hold { work, expect: None, reason: String::new() });
    bench.refused(&Command::CloseIdle { work }, Refusal::NotDue);
    bench.later(100);
    bench.accept(event("news").with_key("x"));
    bench.inert(&Command::CloseIdle { work }, &Outcome::Deferred(Deferral::Held));
    let due = reads::due_idle(&mut bench.tx, bench.now, (Millis(0), WorkId(0)), 9);
    assert_eq!(due.expect("a read"), []);
}
