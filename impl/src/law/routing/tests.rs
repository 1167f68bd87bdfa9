//! Routing: what an evaluation sees, when its proposal still stands, and which line decides.

use crate::command::{Command, Deferral, Outcome, Receipt, Refusal};
use crate::domain::{Generation, MarkKind, Millis, Seq, WorkStatus};
use crate::law::routing::snapshot;
use crate::law::testing::{Bench, Vary as _, cancel, complete, event, store, wait_command};
use crate::store::generations;

#[test]
fn a_keyed_event_makes_the_work_that_owns_its_key() {
    let store = store();
    let mut bench = Bench::on(&store);
    let seq = bench.accept(event("a").with_key("x"));
    let (mark, work) = bench.route(seq);
    let work = work.expect("a work");
    assert_eq!(mark, MarkKind::Queued);
    let seen = bench.work(work);
    assert_eq!((seen.status, seen.pending), (WorkStatus::Ready, vec![seq]));
    assert_eq!(bench.see().keys[0].owner, work);
}

#[test]
fn evaluating_again_proposes_the_same_work() {
    let store = store();
    let mut bench = Bench::on(&store);
    let seq = bench.accept(event("a").with_key("x"));
    let first = bench.evaluate(seq);
    bench.later(7);
    assert_eq!(bench.evaluate(seq), first);
    let uid = first.create.expect("a work to make").uid;
    assert_eq!(uid.uuid().get_version_num(), 8);
}

#[test]
fn a_snapshot_shows_the_work_an_event_resolves_to() {
    let store = store();
    let mut bench = Bench::on(&store);
    let work = bench.ready("x");
    let seq = bench.accept(event("b").with_key("x"));
    let seen = snapshot(&mut bench.tx, seq).expect("a read").expect("unrouted");
    let view = seen.work.expect("the owner of its key");
    assert_eq!((view.id, view.kind.as_str(), view.status), (work, "task", WorkStatus::Ready));
    assert_eq!(view.keys.len(), 1);
    assert_eq!(seen.payload.as_deref(), Some(r#"{"secret":"hunter2"}"#));
    bench.route(seq);
    assert_eq!(snapshot(&mut bench.tx, seq).expect("a read"), None);
}

#[test]
fn an_unknown_event_and_a_marked_one_are_answered_first() {
    let store = store();
    let mut bench = Bench::on(&store);
    let seq = bench.accept(event("a").with_key("x"));
    let mut proposal = bench.evaluate(seq);
    let (mark, work) = bench.route(seq);
    let receipt = Receipt::Routed { event: seq, mark, work };
    // The proposal is stale by now, and the mark answers before that is looked at.
    let again = Command::CommitRoute { proposal: proposal.clone() };
    bench.inert(&again, &Outcome::Duplicate(receipt));
    proposal.event = Seq(99);
    bench.refused(&Command::CommitRoute { proposal }, Refusal::UnknownEvent);
}

#[test]
fn a_proposal_from_another_owner_revision_or_generation_conflicts() {
    let store = store();
    let mut bench = Bench::on(&store);
    let (first, second) =
        (bench.accept(event("a").with_key("x")), bench.accept(event("b").with_key("x")));
    let unowned = Command::CommitRoute { proposal: bench.evaluate(second) };
    let work = bench.route(first).1.expect("a work");
    bench.inert(&unowned, &Outcome::Conflict);

    let ready = Command::CommitRoute { proposal: bench.evaluate(second) };
    bench.claim(work);
    bench.inert(&ready, &Outcome::Conflict);

    let old = Command::CommitRoute { proposal: bench.evaluate(second) };
    let n = generations::make_current(&mut bench.tx, "d", "body", Millis(1)).expect("stored");
    assert_eq!(n, Generation(1));
    bench.inert(&old, &Outcome::Conflict);
    assert_eq!(bench.route(second), (MarkKind::Queued, Some(work)));
}

#[test]
fn a_handler_cannot_see_a_renewal_so_it_makes_no_conflict() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    let seq = bench.accept(event("b").with_key("x"));
    let proposal = bench.evaluate(seq);
    let lease = crate::law::testing::LEASE;
    bench.accepted(&Command::Renew { by, lease });
    bench.accepted(&Command::CommitRoute { proposal });
}

#[test]
fn route_effects_on_one_work_commit_in_acceptance_order() {
    let store = store();
    let mut bench = Bench::on(&store);
    let work = bench.ready("x");
    let lower = bench.accept(event("b").with_target(work));
    let higher = bench.accept(event("c").with_key("x"));
    let command = Command::CommitRoute { proposal: bench.evaluate(higher) };
    bench.inert(&command, &Outcome::Deferred(Deferral::OutOfTurn));
    bench.route(lower);
    bench.accepted(&command);
}

#[test]
fn a_key_taken_in_another_scope_after_acceptance_keeps_its_event_unrouted() {
    let store = store();
    let mut bench = Bench::on(&store);
    let here = bench.accept(event("a").with_key("x"));
    let there = bench.accept(event("b").with_key("x").in_scope("other"));
    bench.route(here);
    let command = Command::CommitRoute { proposal: bench.evaluate(there) };
    bench.refused(&command, Refusal::WrongScope);
}

#[test]
fn an_event_that_no_route_matched_is_unmatched() {
    let store = store();
    let mut bench = Bench::on(&store);
    bench.ready("x");
    for event in [event("a"), event("b").with_key("new"), event("c").with_key("x")] {
        let seq = bench.accept(event);
        let mut proposal = bench.evaluate(seq);
        (proposal.route, proposal.create) = (None, None);
        let receipt = bench.accepted(&Command::CommitRoute { proposal });
        let mark = MarkKind::Unmatched;
        assert_eq!(receipt, Receipt::Routed { event: seq, mark, work: None });
    }
    assert_eq!(bench.see().works.len(), 1);
}

#[test]
fn a_matched_event_without_key_or_target_is_unmatched() {
    let store = store();
    let mut bench = Bench::on(&store);
    bench.ready("x");
    let seq = bench.accept(event("b"));
    assert_eq!(bench.route(seq), (MarkKind::Unmatched, None));
}

#[test]
fn a_late_event_is_associated_with_terminal_work_and_changes_nothing_of_it() {
    let store = store();
    let mut bench = Bench::on(&store);
    let work = bench.ready("x");
    let seq = bench.accept(event("b").with_key("x"));
    bench.accepted(&cancel(work));
    let before = bench.work(work);
    assert_eq!(bench.route(seq), (MarkKind::Terminal, Some(work)));
    assert_eq!(bench.work(work), before);
}

#[test]
fn input_is_queued_without_changing_what_the_work_does() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    let seq = bench.input("x", "b");
    let seen = bench.work(by.work);
    assert_eq!((seen.status, seen.pending), (WorkStatus::Running, vec![seq]));
    assert!(matches!(
        bench.accepted(&complete(by)),
        Receipt::Ended { status: WorkStatus::Ready, .. }
    ));
}

#[test]
fn a_matching_event_wakes_a_waiting_work_when_it_is_routed() {
    let store = store();
    let mut bench = Bench::on(&store);
    let (by, _) = bench.parked("x", None);
    let seq = bench.accept(event("b").with_key("x"));
    assert_eq!(bench.route(seq), (MarkKind::Woke, Some(by.work)));
    let seen = bench.work(by.work);
    assert_eq!((seen.status, seen.pending), (WorkStatus::Ready, vec![seq]));
}

#[test]
fn an_event_that_does_not_match_the_wait_is_context() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    let mut command = wait_command(by, &["x"], Seq(1), None);
    if let Command::RegisterWait { types, .. } = &mut command {
        types.push("review.done".to_owned());
    }
    bench.wait_on(&command);
    let context = bench.accept(event("b").with_key("x"));
    assert_eq!(bench.route(context), (MarkKind::Queued, Some(by.work)));
    assert_eq!(bench.work(by.work).status, WorkStatus::Waiting);
    let matching = bench.accept(event("c").with_key("x").with_type("review.done"));
    assert_eq!(bench.route(matching), (MarkKind::Woke, Some(by.work)));
    assert_eq!(bench.work(by.work).pending, vec![context, matching]);
}
