//! Routing: what an evaluation sees, when its proposal still stands, and which line decides.

use crate::command::{Command, Deferral, Outcome, Receipt, Refusal};
use crate::domain::{Control, Decision, Hold, Key, MarkKind, Seq, WorkId, WorkStatus};
use crate::law::routing::snapshot;
use crate::law::testing::{
    Bench, Vary as _, cancel, complete, event, fresh_work, key, store, wait_command,
};
use crate::store::rejections::Derived;

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
    let Decision::Work { create: Some(create), .. } = first.decision else { panic!("no work") };
    let uid = create.uid;
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
    bench.reload("body");
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
        (proposal.route, proposal.decision) = (None, Decision::Decline);
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

fn work(attach: &[&str], create: bool) -> Decision {
    let attach = attach.iter().map(|name| key(name)).collect();
    Decision::Work {
        attach,
        create: create.then(|| fresh_work("made")),
        control: Control::default(),
    }
}

fn update(attach: &[&str]) -> Decision {
    Decision::Update {
        attach: attach.iter().map(|name| key(name)).collect(),
        control: Control::default(),
    }
}

/// OURS-01
#[test]
fn a_drop_applies_whatever_the_work_is_doing() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    let seq = bench.accept(event("b").with_key("x"));
    assert_eq!(bench.decide(seq, Decision::Drop), (MarkKind::Drop, Some(by.work)));
    assert_eq!(bench.work(by.work).pending, vec![]);
    let nobody = bench.accept(event("c").with_key("y"));
    assert_eq!(bench.decide(nobody, Decision::Drop), (MarkKind::Drop, None));
}

/// OURS-01
#[test]
fn an_update_never_creates_work() {
    let store = store();
    let mut bench = Bench::on(&store);
    let seq = bench.accept(event("a").with_key("x"));
    assert_eq!(bench.decide(seq, update(&["y"])), (MarkKind::Unmatched, None));
    assert_eq!(bench.see().keys.len(), 0);
    let owner = bench.ready("z");
    let seq = bench.accept(event("b").with_key("z"));
    assert_eq!(bench.decide(seq, update(&["y"])), (MarkKind::Queued, Some(owner)));
    assert_eq!(bench.see().keys.len(), 2);
}

/// OURS-02 CANCEL-04 CANCEL-05
#[test]
fn a_close_cancels_the_work_with_the_event_as_the_cause() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    let seq = bench.accept(event("b").with_key("x"));
    assert_eq!(bench.decide(seq, Decision::Close), (MarkKind::Close, Some(by.work)));
    let seen = bench.work(by.work);
    assert_eq!((seen.status, seen.closed_by), (WorkStatus::Cancelled, Some(seq)));
    assert!(seen.excluded_is_last && seen.pending.is_empty());
    bench.refused(&complete(by), Refusal::StaleAuthority);
    let late = bench.accept(event("c").with_key("x"));
    assert_eq!(bench.decide(late, Decision::Close), (MarkKind::Terminal, Some(by.work)));
    let nobody = bench.accept(event("d").with_key("y"));
    assert_eq!(bench.decide(nobody, Decision::Close), (MarkKind::Unmatched, None));
}

/// OURS-10 JOB-17
#[test]
fn a_close_ends_standing_work_too() {
    let store = store();
    let mut bench = Bench::on(&store);
    let standing = bench.standing("x");
    let seq = bench.accept(event("b").with_key("x"));
    assert_eq!(bench.decide(seq, Decision::Close), (MarkKind::Close, Some(standing)));
    assert_eq!(bench.work(standing).status, WorkStatus::Cancelled);
}

/// POLICY-02
#[test]
fn a_wait_is_tried_before_the_decision() {
    let store = store();
    let mut bench = Bench::on(&store);
    let (by, _) = bench.parked("x", None);
    let seq = bench.accept(event("b").with_key("x"));
    assert_eq!(bench.decide(seq, Decision::Drop), (MarkKind::Woke, Some(by.work)));
}

/// OWN-06 OWN-09 ROUTE-15
#[test]
fn attached_keys_resolve_to_the_work_and_move_its_revision() {
    let store = store();
    let mut bench = Bench::on(&store);
    let early = bench.accept(event("early").with_key("y"));
    let first = bench.accept(event("a").with_key("x"));
    let (_, made) = bench.decide(first, work(&["y", "x", "z"], true));
    let made = made.expect("a work");
    let owned: Vec<_> = bench.see().keys.into_iter().map(|seen| (seen.key, seen.owner)).collect();
    let mut wanted = vec![(key("y"), made), (key("x"), made), (key("z"), made)];
    wanted.sort_by_key(|(key, _): &(Key, WorkId)| key.clone());
    let mut sorted = owned;
    sorted.sort_by_key(|(key, _)| key.clone());
    assert_eq!(sorted, wanted);
    // The early event joined the backlog, and goes before later ones.
    let later = bench.accept(event("later").with_key("x"));
    let waits = Command::CommitRoute { proposal: bench.evaluate(later) };
    bench.inert(&waits, &Outcome::Deferred(Deferral::OutOfTurn));
    bench.decide(early, update(&["w"]));
    // Its keys are what a handler sees: the proposal made before is stale.
    bench.inert(&waits, &Outcome::Conflict);
    assert_eq!(bench.route(later), (MarkKind::Queued, Some(made)));
}

/// OWN-06: attaching what is owned already is no change. E09
#[test]
fn attaching_a_key_the_work_owns_changes_nothing() {
    let store = store();
    let mut bench = Bench::on(&store);
    let owner = bench.ready("x");
    let first = bench.accept(event("b").with_key("x"));
    let second = bench.accept(event("c").with_key("x"));
    let proposal = bench.evaluate(second);
    assert_eq!(bench.decide(first, update(&["x"])), (MarkKind::Queued, Some(owner)));
    bench.accepted(&Command::CommitRoute { proposal });
}

/// OWN-07 OWN-02 E16
#[test]
fn a_key_of_another_work_aborts_every_effect() {
    let store = store();
    let mut bench = Bench::on(&store);
    let ended = bench.ready("taken");
    bench.accepted(&cancel(ended));
    bench.ready("x");
    let seq = bench.accept(event("b").with_key("x"));
    let proposal = bench.proposal(seq, update(&["free", "taken"]));
    bench.refused(&Command::CommitRoute { proposal }, Refusal::KeyOwned);
    let alone = bench.accept(event("c").with_key("new"));
    let proposal = bench.proposal(alone, work(&["taken"], true));
    bench.refused(&Command::CommitRoute { proposal }, Refusal::KeyOwned);
}

/// ROUTE-24 ROUTE-25
#[test]
fn an_event_without_key_gets_work_of_its_own_only_by_a_decision_that_creates() {
    let store = store();
    let mut bench = Bench::on(&store);
    let seq = bench.accept(event("a"));
    assert_eq!(bench.decide(seq, work(&[], false)), (MarkKind::Unmatched, None));
    let seq = bench.accept(event("b"));
    let (mark, made) = bench.decide(seq, work(&[], true));
    let made = made.expect("a work");
    assert_eq!((mark, bench.work(made).pending), (MarkKind::Queued, vec![seq]));
    assert!(bench.see().keys.is_empty());
}

/// BIND-10 BIND-12
#[test]
fn a_mark_names_the_configuration_it_was_made_under() {
    let store = store();
    let mut bench = Bench::on(&store);
    bench.reload("one");
    let seq = bench.accept(event("a").with_key("x"));
    bench.route(seq);
    bench.reload("two");
    assert_eq!(bench.event_at(seq).generation.map(|n| n.0), Some(1));
    assert_eq!(bench.see().generation.0, 2);
}

/// TERM-03 TERM-05 TERM-08
#[test]
fn a_late_event_reopens_its_work_once() {
    let store = store();
    let mut bench = Bench::on(&store);
    let old = bench.ready("x");
    let (first, second) =
        (bench.accept(event("b").with_key("x")), bench.accept(event("c").with_key("x")));
    bench.accepted(&cancel(old));
    for (seq, name) in [(first, "s1"), (second, "s2")] {
        let mut proposal = bench.proposal(seq, Decision::Decline);
        proposal.reopen = Some(fresh_work(name).uid);
        let receipt = bench.accepted(&Command::CommitRoute { proposal });
        let mark = MarkKind::Terminal;
        assert_eq!(receipt, Receipt::Routed { event: seq, mark, work: Some(old) });
    }
    let seen = bench.see();
    let successors: Vec<_> =
        seen.works.iter().filter(|seen| seen.predecessor == Some(old)).collect();
    let [successor] = successors.as_slice() else { panic!("{successors:?}") };
    let created = seen.events.iter().find(|seen| seen.seq == successor.pending[0]);
    let created = created.expect("its event");
    assert_eq!((created.parent, created.depth), (Some(first), 1));
    assert_eq!(created.derived, Some(Derived::Successor));
    assert_eq!((successor.parent, successor.pending.len()), (None, 1));
    let owned = seen.keys.iter().find(|seen| seen.owner == successor.work);
    assert_eq!(owned.map(|seen| seen.key.external_id.as_str()), Some("x/generation/1"));
}

/// CAUSE-15 REJECT-01
#[test]
fn beyond_the_depth_limit_no_successor_is_made_and_the_mark_stands() {
    let store = store();
    let mut bench = Bench::on(&store);
    let old = bench.ready("x");
    let seq = bench.accept(event("b").with_key("x").with_depth(0));
    bench.accepted(&cancel(old));
    let mut proposal = bench.proposal(seq, Decision::Decline);
    proposal.reopen = Some(fresh_work("s").uid);
    bench.accepted(&Command::CommitRoute { proposal });
    let seen = bench.see();
    assert_eq!((seen.works.len(), seen.rejections.len()), (1, 1));
    assert_eq!(seen.rejections[0].kind, Derived::Successor);
    assert_eq!(bench.event_at(seq).mark, Some(MarkKind::Terminal));
}

fn drop_event(event: Seq) -> Command {
    Command::Drop { event, reason: "a poisoned head".to_owned() }
}

/// OURS-07 E13
#[test]
fn an_operator_drops_an_unrouted_event_in_its_turn() {
    let store = store();
    let mut bench = Bench::on(&store);
    let owner = bench.ready("x");
    let first = bench.accept(event("b").with_key("x"));
    let second = bench.accept(event("c").with_key("x"));
    bench.refused(&drop_event(Seq(99)), Refusal::UnknownEvent);
    bench.inert(&drop_event(second), &Outcome::Deferred(Deferral::OutOfTurn));
    let mark = MarkKind::OperatorDrop;
    let receipt = Receipt::Routed { event: first, mark, work: Some(owner) };
    assert_eq!(bench.accepted(&drop_event(first)), receipt);
    bench.refused(&drop_event(first), Refusal::AlreadyRouted);
    assert_eq!(bench.route(second), (MarkKind::Queued, Some(owner)));
    assert_eq!(bench.work(owner).pending.len(), 2);
}

#[test]
fn cores_own_events_are_not_dropped() {
    let store = store();
    let mut bench = Bench::on(&store);
    let (_, wait) = bench.parked("x", Some(500));
    bench.later(500);
    let receipt = bench.accepted(&Command::AcceptTimeout { wait });
    let Receipt::TimeoutAccepted { seq, .. } = receipt else { panic!("{receipt:?}") };
    bench.refused(&drop_event(seq), Refusal::CoreType);
}

/// OWN-03
#[test]
fn an_owner_elsewhere_is_none_of_a_dropped_events_business() {
    let store = store();
    let mut bench = Bench::on(&store);
    let there = bench.accept(event("b").with_key("x").in_scope("other"));
    bench.ready("x");
    bench.accept(event("c").with_key("x"));
    let mark = MarkKind::OperatorDrop;
    let receipt = Receipt::Routed { event: there, mark, work: None };
    assert_eq!(bench.accepted(&drop_event(there)), receipt);
}

/// OURS-06
#[test]
fn a_held_work_takes_input_like_any_other() {
    let store = store();
    let mut bench = Bench::on(&store);
    let owner = bench.ready("x");
    bench.accepted(&Command::Hold { work: owner, expect: None, reason: String::new() });
    let seq = bench.input("x", "b");
    let seen = bench.work(owner);
    assert_eq!((seen.holds, seen.pending.last()), (vec![Hold::Operator], Some(&seq)));
}
