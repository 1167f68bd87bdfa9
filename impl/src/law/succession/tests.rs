//! Succession: who succeeds whom, under which key, and what stays as it was.

use crate::command::{Command, Outcome, Receipt, Refusal};
use crate::domain::{AttemptNo, Control, Decision, MarkKind, WorkId, WorkStatus};
use crate::law::testing::{
    Bench, Vary as _, cancel, complete, event, fresh_work, request, store, wait_command,
};
use crate::store::payloads;

fn reopen(work: WorkId, id: &str) -> Command {
    let successor = fresh_work(&format!("successor-{id}")).uid;
    Command::Reopen { work, expect: None, request: request(id), successor }
}

/// The successor that a request made.
fn reopened(bench: &mut Bench<'_>, work: WorkId, id: &str) -> WorkId {
    let seq = bench.requested(&reopen(work, id));
    bench.event_at(seq).work.expect("a work was made")
}

fn key_of(bench: &mut Bench<'_>, work: WorkId) -> Vec<String> {
    let keys = bench.see().keys.into_iter().filter(|seen| seen.owner == work);
    keys.map(|seen| seen.key.external_id).collect()
}

/// TERM-03 OURS-09 OURS-23
#[test]
fn the_guards_of_a_reopening_answer_in_order() {
    let store = store();
    let mut bench = Bench::on(&store);
    let work = bench.ready("x");
    bench.refused(&reopen(WorkId(9), "r"), Refusal::UnknownWork);
    let mut stale = reopen(work, "r");
    if let Command::Reopen { expect, .. } = &mut stale {
        *expect = Some(AttemptNo(3));
    }
    bench.refused(&stale, Refusal::StaleTarget);
    bench.refused(&reopen(work, "r"), Refusal::NotTerminal);
    bench.accepted(&cancel(work));
    let seq = bench.requested(&reopen(work, "r"));
    bench.inert(&stale, &Outcome::Duplicate(Receipt::Event { seq }));
    bench.refused(&reopen(work, "other"), Refusal::HasSuccessor);
}

/// TERM-03 TERM-05 TERM-06 TERM-07 TERM-01 OURS-11
#[test]
fn a_successor_owns_the_next_generation_and_the_old_work_stays_as_it_was() {
    let store = store();
    let mut bench = Bench::on(&store);
    let seq = bench.accept(event("a").with_key("x"));
    let create = Some(fresh_work("old"));
    let attach = vec![crate::law::testing::key("y")];
    let old = bench
        .decide(seq, Decision::Work { attach, create, control: Control::default() })
        .1
        .expect("a work");
    bench.accepted(&cancel(old));
    let before = bench.work(old);
    let created = bench.requested(&reopen(old, "r"));
    assert_eq!(bench.work(old), before);
    let seen = bench.event_at(created);
    let new = bench.work(seen.work.expect("a work was made"));
    assert_eq!((new.status, new.predecessor, new.parent), (WorkStatus::Ready, Some(old), None));
    assert_eq!((new.pending, new.kind), (vec![created], before.kind));
    assert_eq!((seen.event_type.as_str(), seen.depth), ("core.work.created", 0));
    assert_eq!((seen.mark, seen.key), (Some(MarkKind::Queued), None));
    let body = payloads::get(&mut bench.tx, created).expect("a read").expect("a payload");
    assert!(body.contains(&before.uid) && body.contains(&new.uid), "{body}");
    // The first key alone is passed on.
    assert_eq!(key_of(&mut bench, new.work), ["x/generation/1"]);
    let mut kept = key_of(&mut bench, old);
    kept.sort();
    assert_eq!(kept, ["x", "y"]);
}

/// TERM-03: generations count the reopenings of the resource, whoever is reopened.
#[test]
fn a_successor_is_reopened_under_the_generation_after_its_own() {
    let store = store();
    let mut bench = Bench::on(&store);
    let old = bench.ready("x");
    bench.accepted(&cancel(old));
    let first = reopened(&mut bench, old, "one");
    bench.accepted(&cancel(first));
    let second = reopened(&mut bench, first, "two");
    assert_eq!(key_of(&mut bench, second), ["x/generation/2"]);
    let seq = bench.accept(event("late").with_key("x"));
    assert_eq!(bench.route(seq), (MarkKind::Queued, Some(second)));
    // A key that names its generation is taken as it is. TERM-04
    let seq = bench.accept(event("older").with_key("x/generation/1"));
    assert_eq!(bench.route(seq), (MarkKind::Terminal, Some(first)));
}

/// TERM-07
#[test]
fn a_generation_that_somebody_owns_already_makes_no_successor() {
    let store = store();
    let mut bench = Bench::on(&store);
    let old = bench.ready("x");
    bench.ready("x/generation/1");
    bench.accepted(&cancel(old));
    bench.refused(&reopen(old, "r"), Refusal::KeyOwned);
    let mut proposal = {
        let seq = bench.accept(event("late").with_key("x"));
        bench.proposal(seq, Decision::Decline)
    };
    proposal.reopen = Some(fresh_work("s").uid);
    bench.accepted(&Command::CommitRoute { proposal });
    assert_eq!(bench.see().works.len(), 2);
}

#[test]
fn a_generation_that_was_only_named_is_taken() {
    let store = store();
    let mut bench = Bench::on(&store);
    let old = bench.ready("x");
    let early = bench.accept(event("early").with_key("x/generation/1"));
    bench.accepted(&cancel(old));
    let new = reopened(&mut bench, old, "r");
    assert_eq!(bench.route(early), (MarkKind::Queued, Some(new)));
}

#[test]
fn a_work_without_key_has_none_to_pass_on() {
    let store = store();
    let mut bench = Bench::on(&store);
    let seq = bench.accept(event("a"));
    let create = Some(fresh_work("old"));
    let attach = Vec::new();
    let old = bench
        .decide(seq, Decision::Work { attach, create, control: Control::default() })
        .1
        .expect("a work");
    let by = bench.claim_and_pin(old);
    bench.accepted(&complete(by));
    let new = reopened(&mut bench, old, "r");
    assert!(key_of(&mut bench, new).is_empty());
}

/// OURS-03
#[test]
fn the_successor_of_standing_work_is_standing() {
    let store = store();
    let mut bench = Bench::on(&store);
    let old = bench.standing("x");
    let mut cancel = cancel(old);
    if let Command::Cancel { for_good, .. } = &mut cancel {
        *for_good = true;
    }
    bench.accepted(&cancel);
    let new = reopened(&mut bench, old, "r");
    assert!(bench.work(new).standing);
}

/// TERM-04 WAIT-02: a script goes on saying the name it knows.
#[test]
fn a_successor_waits_on_its_resource_by_its_first_name() {
    let store = store();
    let mut bench = Bench::on(&store);
    let old = bench.ready("x");
    bench.accepted(&cancel(old));
    let new = reopened(&mut bench, old, "r");
    let by = bench.claim_and_pin(new);
    let after = bench.last_seq();
    let both = &["x", "x/generation/1"];
    let (_, winner) = bench.wait_on(&wait_command(by, both, after, None));
    assert_eq!(winner, None);
    let news = bench.accept(event("news").with_key("x"));
    assert_eq!(bench.route(news), (MarkKind::Woke, Some(new)));
}

/// TERM-04 OWN-07: else the event would stay unrouted, and block its work, for good.
#[test]
fn a_key_to_attach_is_taken_in_its_newest_generation() {
    let store = store();
    let mut bench = Bench::on(&store);
    let old = bench.ready("x");
    bench.accepted(&cancel(old));
    let new = reopened(&mut bench, old, "r");
    let news = bench.accept(event("news").with_key("x"));
    let attach = vec![crate::law::testing::key("x")];
    assert_eq!(
        bench.decide(news, Decision::Update { attach, control: Control::default() }),
        (MarkKind::Queued, Some(new))
    );
    assert_eq!(key_of(&mut bench, new), ["x/generation/1"]);
    // Of another work it is still owned.
    bench.ready("y");
    let other = bench.accept(event("other").with_key("y"));
    let attach = vec![crate::law::testing::key("x")];
    let proposal = bench.proposal(other, Decision::Update { attach, control: Control::default() });
    bench.refused(&Command::CommitRoute { proposal }, Refusal::KeyOwned);
}
