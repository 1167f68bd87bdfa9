//! Holds: what they keep back, who lifts them, and what goes on from there.

use crate::command::{Command, Deferral, Outcome, Receipt, Refusal};
use crate::domain::{AttemptNo, Exhausted, Hold, MarkKind, WorkId, WorkStatus};
use crate::law::testing::{
    Bench, Vary as _, cancel, complete, event, fail, policy, request, store, wait_command,
};

fn hold(work: WorkId, expect: Option<AttemptNo>) -> Command {
    Command::Hold { work, expect, reason: "look at it first".to_owned() }
}

fn release(work: WorkId, id: &str) -> Command {
    Command::Release { work, expect: None, request: request(id) }
}

/// OURS-06 OURS-09
#[test]
fn the_guards_of_a_hold_answer_in_order() {
    let store = store();
    let mut bench = Bench::on(&store);
    let work = bench.ready("x");
    bench.refused(&hold(WorkId(9), Some(AttemptNo(7))), Refusal::UnknownWork);
    bench.refused(&hold(work, Some(AttemptNo(1))), Refusal::StaleTarget);
    bench.refused(&release(work, "r"), Refusal::NotHeld);
    assert_eq!(bench.accepted(&hold(work, Some(AttemptNo(0)))), Receipt::Held { work });
    bench.inert(&hold(work, None), &Outcome::Duplicate(Receipt::Held { work }));
    bench.accepted(&cancel(work));
    bench.refused(&hold(work, None), Refusal::Terminal);
    bench.refused(&release(work, "r"), Refusal::Terminal);
}

/// OURS-06
#[test]
fn a_hold_leaves_the_attempt_running_and_keeps_the_next_from_starting() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    bench.accepted(&hold(by.work, Some(by.attempt)));
    assert_eq!(bench.work(by.work).status, WorkStatus::Running);
    bench.input("x", "b");
    bench.accepted(&complete(by));
    let (claim, _) = bench.claim_command(by.work);
    bench.inert(&claim, &Outcome::Deferred(Deferral::Held));
    let seq = bench.requested(&release(by.work, "r"));
    let seen = bench.event_at(seq);
    assert_eq!((seen.mark, seen.work, seen.depth), (Some(MarkKind::Release), Some(by.work), 0));
    assert!(seen.key.is_none() && seen.target.is_none());
    bench.accepted(&claim);
}

/// OURS-23
#[test]
fn a_repeated_release_answers_the_first_and_lifts_nothing_later() {
    let store = store();
    let mut bench = Bench::on(&store);
    let work = bench.ready("x");
    bench.accepted(&hold(work, None));
    let seq = bench.requested(&release(work, "r"));
    bench.accepted(&hold(work, None));
    bench.inert(&release(work, "r"), &Outcome::Duplicate(Receipt::Event { seq }));
    assert_eq!(bench.work(work).holds, vec![Hold::Operator]);
}

#[test]
fn one_release_lifts_every_hold() {
    let store = store();
    let mut bench = Bench::on(&store);
    let work = bench.ready("x");
    let by = bench.running_under(work, &policy(1, Exhausted::Keep));
    bench.accepted(&hold(by.work, None));
    bench.accepted(&fail(by));
    assert_eq!(bench.work(by.work).holds, vec![Hold::Exhausted, Hold::Operator]);
    bench.accepted(&release(by.work, "r"));
    assert!(bench.work(by.work).holds.is_empty());
}

/// WAKE-24, reading B23
#[test]
fn a_wake_whose_continuation_was_refused_goes_on_from_the_release() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    let after = bench.last_seq();
    bench.wait_on(&wait_command(by, &["x"], after, None));
    bench.vacate(by);
    let winner = bench.accept(event("deep").with_key("x").with_depth(0));
    assert_eq!(bench.route(winner).0, MarkKind::Woke);
    assert_eq!(bench.work(by.work).holds, vec![Hold::CausalLimit]);
    let seq = bench.requested(&release(by.work, "r"));
    let by = bench.claim_and_pin(by.work);
    // What the segment does now descends from the release, a root of its own.
    let after = bench.last_seq();
    let (wait, _) = bench.wait_on(&wait_command(by, &[], after, Some(0)));
    bench.accepted(&Command::FireTimer { wait });
    let timeout = bench.see().works[0].wait.as_ref().and_then(|wait| wait.timeout);
    let seen = bench.event_at(timeout.expect("it fired"));
    assert_eq!((seen.parent, seen.root, seen.depth), (Some(seq), seq, 1));
}

#[test]
fn a_work_that_ends_is_held_no_more() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    bench.accepted(&hold(by.work, None));
    bench.accepted(&complete(by));
    let seen = bench.work(by.work);
    assert_eq!((seen.status, seen.holds), (WorkStatus::Completed, vec![]));
}
