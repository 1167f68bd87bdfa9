//! Waits: registration and its scan, which event wins, and what a wake does once.

use crate::command::{Command, Outcome, Receipt, Refusal};
use crate::domain::{
    AttemptStatus, Deadline, Hold, MarkKind, Millis, Seq, Verdict, WaitId, WaitStatus, WorkStatus,
};
use crate::law::testing::{
    Bench, LEASE, Vary as _, cancel, complete, event, pin_command, settle, store, wait_command,
};
use crate::store::observe::SeenTimer;

#[test]
fn registration_parks_and_marks_and_arms_in_one_step() {
    let store = store();
    let mut bench = Bench::on(&store);
    let (by, wait) = bench.parked("x", Some(500));
    let seen = bench.work(by.work);
    assert_eq!(seen.status, WorkStatus::Waiting);
    assert!(seen.excluded_is_last);
    let attempt = seen.attempt.expect("an attempt");
    assert_eq!((attempt.status, attempt.expires_at), (AttemptStatus::Parked, None));
    let seen = seen.wait.expect("a wait");
    assert_eq!((seen.wait, seen.status, seen.after), (wait, WaitStatus::Active, Seq(1)));
    assert_eq!(seen.timer, SeenTimer::Armed(Millis(bench.now.0 + 500)));
    bench.refused(&complete(by), Refusal::StaleAuthority);
}

#[test]
fn registrations_are_refused_in_order() {
    let store = store();
    let mut bench = Bench::on(&store);
    let work = bench.ready("x");
    bench.ready("foreign");
    let by = bench.claim(work);
    let bad = |keys: &[&str], after| wait_command(by, keys, after, None);
    bench.refused(&bad(&[], Seq(99)), Refusal::NotRunning);
    bench.hand(by);
    bench.accepted(&pin_command(by));
    bench.refused(&bad(&[], Seq(99)), Refusal::WaitCannotEnd);
    bench.refused(&bad(&["x", "foreign"], Seq(99)), Refusal::KeyNotOwned);
    bench.refused(&bad(&["nobody's"], Seq(99)), Refusal::KeyNotOwned);
    bench.refused(&bad(&["x"], Seq(3)), Refusal::WatermarkAhead);
    bench.accepted(&bad(&["x"], Seq(2)));
}

#[test]
fn a_wait_for_nothing_but_time_is_a_wait() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    let mut command = wait_command(by, &[], Seq(1), None);
    if let Command::RegisterWait { deadline, .. } = &mut command {
        *deadline = Some(Deadline::At(Millis(77_000)));
    }
    let (wait, _) = bench.wait_on(&command);
    // A key of the work is none of the wait's.
    bench.accept(event("b").with_key("x"));
    bench.refused(&Command::Wake { wait }, Refusal::NothingToWakeFrom);
    let seen = bench.work(by.work).wait.expect("a wait");
    assert_eq!(seen.timer, SeenTimer::Armed(Millis(77_000)));
}

#[test]
fn an_event_accepted_before_the_registration_wakes_it_in_the_same_step() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    let queued = bench.input("x", "b");
    let unrouted = bench.accept(event("c").with_key("x"));
    let (wait, winner) = bench.wait_on(&wait_command(by, &["x"], Seq(1), Some(500)));
    assert_eq!(winner, Some(queued));
    let seen = bench.work(by.work);
    assert_eq!((seen.status, seen.pending), (WorkStatus::Ready, vec![queued]));
    let seen = seen.wait.expect("a wait");
    assert_eq!((seen.wait, seen.status, seen.timer), (wait, WaitStatus::Woken, SeenTimer::None));
    bench.refused(&complete(by), Refusal::StaleAuthority);
    assert_eq!(bench.route(unrouted), (MarkKind::Queued, Some(by.work)));
}

#[test]
fn the_scan_skips_what_is_at_or_below_the_watermark_and_what_is_consumed() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    let low = bench.input("x", "b");
    // The trigger is consumed, so that a watermark of 0 does not spin on it.
    let (_, winner) = bench.wait_on(&wait_command(by, &["x"], Seq(0), None));
    assert_eq!(winner, Some(low));
    let by = bench.running("y");
    let seen = bench.input("y", "c");
    let (wait, winner) = bench.wait_on(&wait_command(by, &["y"], seen, None));
    assert_eq!(winner, None);
    bench.refused(&Command::Wake { wait }, Refusal::NothingToWakeFrom);
}

#[test]
fn an_event_that_names_another_work_or_another_type_does_not_match() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    let mut command = wait_command(by, &["x"], Seq(1), None);
    if let Command::RegisterWait { types, .. } = &mut command {
        types.push("review.done".to_owned());
    }
    let (wait, _) = bench.wait_on(&command);
    bench.accept(event("b").with_key("x"));
    bench.accept(event("c").with_target(by.work).with_type("review.done"));
    bench.refused(&Command::Wake { wait }, Refusal::NothingToWakeFrom);
    let both = bench.accept(event("d").with_key("x").with_type("review.done"));
    assert_eq!(bench.accepted(&Command::Wake { wait }), Receipt::Woken { wait, winner: both });
}

#[test]
fn an_event_of_another_scope_wakes_nobody() {
    let store = store();
    let mut bench = Bench::on(&store);
    let stranger = bench.accept(event("s").with_key("x").in_scope("other"));
    let by = bench.running("x");
    let before = Seq(stranger.0 - 1);
    let (wait, winner) = bench.wait_on(&wait_command(by, &["x"], before, None));
    assert_eq!(winner, None);
    bench.refused(&Command::Wake { wait }, Refusal::NothingToWakeFrom);
}

#[test]
fn a_wake_is_one_wake() {
    let store = store();
    let mut bench = Bench::on(&store);
    let (by, wait) = bench.parked("x", Some(500));
    bench.refused(&Command::Wake { wait: WaitId(99) }, Refusal::UnknownWait);
    bench.refused(&Command::Wake { wait }, Refusal::NothingToWakeFrom);
    let first = bench.accept(event("b").with_key("x"));
    let second = bench.accept(event("c").with_key("x"));
    let woken = Receipt::Woken { wait, winner: first };
    assert_eq!(bench.accepted(&Command::Wake { wait }), woken);
    bench.inert(&Command::Wake { wait }, &Outcome::Duplicate(woken));
    let seen = bench.see();
    let marks: Vec<_> = seen.events.iter().map(|event| (event.seq, event.mark)).collect();
    // The continuation is a child of the winner and marked at birth; the loser waits for its turn.
    let continuation = seen.events.last().expect("a continuation");
    assert_eq!(marks[1], (first, Some(MarkKind::Woke)));
    assert_eq!(marks[2], (second, None));
    assert_eq!(continuation.mark, Some(MarkKind::Continuation));
    assert_eq!((continuation.root, continuation.depth), (first, 1));
    assert_eq!((continuation.wait, continuation.work), (Some(wait), Some(by.work)));
    assert_eq!(bench.work(by.work).pending, vec![first]);
    bench.refused(&Command::FireTimer { wait }, Refusal::TimerCancelled);
}

#[test]
fn a_cancelled_wait_stays_cancelled_and_a_woken_one_woken() {
    let store = store();
    let mut bench = Bench::on(&store);
    let (by, wait) = bench.parked("x", Some(500));
    bench.accepted(&cancel(by.work));
    bench.accept(event("b").with_key("x"));
    bench.refused(&Command::Wake { wait }, Refusal::WaitCancelled);
    let (by, wait) = bench.parked("y", None);
    let winner = bench.input_wake("y");
    bench.accepted(&cancel(by.work));
    let woken = Receipt::Woken { wait, winner };
    bench.inert(&Command::Wake { wait }, &Outcome::Duplicate(woken));
}

#[test]
fn a_refused_continuation_holds_the_work_and_the_wake_stands() {
    let store = store();
    let mut bench = Bench::on(&store);
    let (by, wait) = bench.parked("x", None);
    let winner = bench.accept(event("b").with_key("x").with_depth(0));
    assert_eq!(bench.route(winner), (MarkKind::Woke, Some(by.work)));
    let seen = bench.see();
    assert_eq!(seen.rejections.len(), 1);
    assert_eq!(seen.rejections[0].wait, Some(wait));
    assert_eq!(seen.events.len(), 2);
    let seen = bench.work(by.work);
    assert_eq!((seen.status, seen.holds), (WorkStatus::Ready, vec![Hold::CausalLimit]));
    assert_eq!(seen.pending, vec![winner]);
}

#[test]
fn a_recovering_attempt_cannot_wait_until_it_is_adopted() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    bench.later(LEASE.0);
    let (by, _) = bench.recover(by.work);
    let command = wait_command(by, &["x"], Seq(1), None);
    bench.refused(&command, Refusal::NotRunning);
    bench.accepted(&settle(by, Verdict::Adopted));
    bench.wait_on(&command);
}
