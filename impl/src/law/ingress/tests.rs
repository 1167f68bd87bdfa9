//! Acceptance: identity, numbering, and what is refused in which order.

use crate::command::{Command, Outcome, Receipt, Refusal};
use crate::domain::{NewEvent, Seq, WorkId};
use crate::law::testing::{Bench, Vary as _, cancel, event, store};
use crate::store::{events, identities, payloads};

fn accept(event: NewEvent) -> Command {
    Command::Accept { event: Box::new(event) }
}

#[test]
fn sequences_are_dense_and_roots_are_their_own() {
    let store = store();
    let mut bench = Bench::on(&store);
    assert_eq!(bench.accept(event("a")), Seq(1));
    assert_eq!(bench.accept(event("b").with_key("x")), Seq(2));
    let seen = bench.see().events;
    assert_eq!((seen[1].root, seen[1].depth, seen[1].mark), (Seq(2), 0, None));
}

#[test]
fn a_repeated_identity_answers_the_original_whatever_else_it_says() {
    let store = store();
    let mut bench = Bench::on(&store);
    let seq = bench.accept(event("a").with_key("x"));
    let again = accept(event("a").with_type("core.forged").with_target(WorkId(99)));
    bench.inert(&again, &Outcome::Duplicate(Receipt::Event { seq }));
}

#[test]
fn one_delivery_id_of_two_sources_is_two_events() {
    let store = store();
    let mut bench = Bench::on(&store);
    bench.accept(event("a"));
    let mut other = event("a2");
    other.id.source = "ci2".to_owned();
    other.id.delivery = "a".to_owned();
    assert_eq!(bench.accept(other), Seq(2));
}

#[test]
fn source_and_delivery_are_not_run_together() {
    let store = store();
    let mut bench = Bench::on(&store);
    let mut first = event("one");
    (first.id.source, first.id.delivery) = ("ab".to_owned(), "c".to_owned());
    let mut second = event("two");
    (second.id.source, second.id.delivery) = ("a".to_owned(), "bc".to_owned());
    assert_ne!(bench.accept(first), bench.accept(second));
}

#[test]
fn guards_answer_in_order() {
    let store = store();
    let mut bench = Bench::on(&store);
    let work = bench.ready("w");
    let other = bench.ready("v");
    let foreign = event("f").in_scope("other");
    // Every fault at once; each step takes the first of them away.
    let faulty = foreign.with_type("core.wait.timeout").with_target(WorkId(99)).with_key("v");
    bench.refused(&accept(faulty.clone()), Refusal::CoreType);
    let faulty = faulty.with_type("build.done");
    bench.refused(&accept(faulty.clone()), Refusal::UnknownWork);
    let faulty = faulty.with_target(work);
    bench.refused(&accept(faulty.clone()), Refusal::WrongScope);
    let faulty = faulty.in_scope("acme");
    bench.refused(&accept(faulty.clone()), Refusal::ContradictoryTarget);
    bench.refused(&accept(faulty.clone().with_key("nobody's")), Refusal::ContradictoryTarget);
    bench.accept(faulty.with_target(other));
}

#[test]
fn a_key_owned_in_another_scope_is_refused_without_a_target() {
    let store = store();
    let mut bench = Bench::on(&store);
    let work = bench.ready("w");
    let stranger = accept(event("s").with_key("w").in_scope("other"));
    bench.refused(&stranger, Refusal::WrongScope);
    // A terminal owner is an owner.
    bench.accepted(&cancel(work));
    bench.refused(&stranger, Refusal::WrongScope);
}

#[test]
fn the_source_of_core_is_nobody_elses() {
    let store = store();
    let mut bench = Bench::on(&store);
    let mut forged = event("wait_x/timeout");
    forged.id.source = "core".to_owned();
    bench.refused(&accept(forged), Refusal::CoreType);
}

#[test]
fn an_event_is_kept_as_it_came() {
    let store = store();
    let mut bench = Bench::on(&store);
    let mut offered = event("a").with_key("x");
    offered.subject = Some("sub\0ject".to_owned());
    offered.payload = Some("{\"nul\":\"\u{0}\"}".to_owned());
    let seq = bench.accept(offered.clone());
    let kept = events::get(&mut bench.tx, seq).expect("a read").expect("the event");
    assert_eq!((kept.id, kept.key, kept.subject), (offered.id, offered.key, offered.subject));
    assert_eq!(kept.uid, offered.uid);
    assert_eq!(payloads::get(&mut bench.tx, seq).expect("a read"), offered.payload);
}

#[test]
fn a_hash_finds_and_the_event_decides() {
    let store = store();
    let mut bench = Bench::on(&store);
    let first = bench.accept(event("a"));
    // As if both identities had one hash.
    let hash = identities::hash(&mut bench.tx, &event("b").id).expect("a hash");
    identities::insert(&mut bench.tx, hash, first).expect("stored");
    assert_eq!(bench.accept(event("b")), Seq(2));
    let again = Outcome::Duplicate(Receipt::Event { seq: Seq(2) });
    bench.inert(&accept(event("b")), &again);
}
