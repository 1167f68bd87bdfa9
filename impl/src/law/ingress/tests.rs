//! Acceptance: identity, numbering, and what is refused in which order.

use crate::command::{Command, Outcome, Receipt, Refusal};
use crate::domain::{Duration, IngressId, MarkKind, NewEvent, Seq, WorkId};
use crate::law::testing::{Bench, Vary as _, cancel, complete, event, fresh_work, request, store};
use crate::store::observe::SeenEvent;
use crate::store::rejections::Derived;
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

/// OURS-17
#[test]
fn another_body_under_a_known_identity_marks_the_original_and_nothing_else() {
    let store = store();
    let mut bench = Bench::on(&store);
    let seq = bench.accept(event("a"));
    let mut again = event("a");
    bench.inert(&accept(again.clone()), &Outcome::Duplicate(Receipt::Event { seq }));
    again.payload = Some("{}".to_owned());
    let before = bench.see();
    for _ in 0..2 {
        let answer = bench.apply(&accept(again.clone()));
        assert_eq!(answer, Outcome::Duplicate(Receipt::Event { seq }));
        let mut after = bench.see();
        assert!(after.events[0].conflicting);
        after.events[0].conflicting = false;
        assert_eq!(after, before);
    }
    again.payload = None;
    bench.inert(&accept(again), &Outcome::Duplicate(Receipt::Event { seq }));
}

/// OURS-17
#[test]
fn a_known_body_under_a_new_identity_is_suspect_until_its_window_ends() {
    let store = store();
    let mut bench = Bench::on(&store);
    let signed = |delivery: &str| NewEvent {
        suspect_within: Some(Duration(500)),
        ..event(delivery).with_key("x")
    };
    bench.accept(signed("a"));
    let other_sender = NewEvent {
        id: IngressId { source: "elsewhere".to_owned(), delivery: "e".to_owned() },
        ..signed("e")
    };
    let elsewhere = bench.accept(other_sender);
    assert_eq!(bench.event_at(elsewhere).mark, None);
    bench.later(499);
    let suspect = bench.accept(signed("b"));
    let seen = bench.event_at(suspect);
    assert_eq!((seen.mark, seen.work), (Some(MarkKind::ReplaySuspect), None));
    // It is a body of that sender too, and its own window begins with it.
    bench.later(499);
    let again = bench.accept(signed("c"));
    assert_eq!(bench.event_at(again).mark, Some(MarkKind::ReplaySuspect));
    bench.later(500);
    let late = bench.accept(signed("d"));
    assert_eq!(bench.event_at(late).mark, None);
    // A replay releases it. OURS-08
    let request = request("r");
    let replayed = bench.requested(&Command::Replay { event: suspect, request });
    assert_eq!(bench.event_at(replayed).mark, None);
    assert_eq!(bench.event_at(suspect).mark, Some(MarkKind::ReplaySuspect));
}

/// OURS-17
#[test]
fn a_sender_that_signs_identities_is_never_suspect() {
    let store = store();
    let mut bench = Bench::on(&store);
    bench.accept(event("a"));
    let second = bench.accept(event("b"));
    assert_eq!(bench.event_at(second).mark, None);
}

fn replay(event: Seq, id: &str) -> Command {
    Command::Replay { event, request: request(id) }
}

/// OWN-11 OURS-08 OURS-23
#[test]
fn a_replay_is_a_child_of_the_original_and_one_a_request() {
    let store = store();
    let mut bench = Bench::on(&store);
    let work = bench.ready("x");
    let original = Seq(1);
    bench.refused(&replay(Seq(99), "r"), Refusal::UnknownEvent);
    let unrouted = bench.accept(event("b").with_key("x"));
    bench.refused(&replay(unrouted, "r"), Refusal::NotRouted);
    bench.route(unrouted);
    let before = bench.event_at(original);
    let seq = bench.requested(&replay(original, "r"));
    let seen = bench.event_at(seq);
    assert_eq!((seen.parent, seen.root, seen.depth), (Some(original), original, 1));
    assert_eq!((seen.key, seen.mark), (before.key.clone(), None));
    assert_eq!(bench.event_at(original), before);
    bench.inert(&replay(original, "r"), &Outcome::Duplicate(Receipt::Event { seq }));
    assert_eq!(bench.route(seq), (MarkKind::Queued, Some(work)));
    let body = payloads::get(&mut bench.tx, seq).expect("a read");
    assert_eq!(body, payloads::get(&mut bench.tx, original).expect("a read"));
}

/// CAUSE-15 REJECT-02
#[test]
fn a_replay_too_deep_leaves_one_diagnostic() {
    let store = store();
    let mut bench = Bench::on(&store);
    let seq = bench.accept(event("a").with_key("x").with_depth(0));
    bench.route(seq);
    for _ in 0..2 {
        assert_eq!(bench.apply(&replay(seq, "r")), Outcome::Refused(Refusal::DepthLimit));
    }
    let seen = bench.see();
    assert_eq!((seen.events.len(), seen.rejections.len()), (1, 1));
}

/// TERM-04 OWN-11
#[test]
fn further_deliveries_are_accepted_under_the_newest_generation_of_their_key() {
    let store = store();
    let mut bench = Bench::on(&store);
    let old = bench.ready("x");
    let before = bench.accept(event("before").with_key("x"));
    bench.accepted(&cancel(old));
    let reopen = Command::Reopen {
        work: old,
        expect: None,
        request: request("r"),
        successor: fresh_work("s").uid,
    };
    bench.accepted(&reopen);
    let after = bench.accept(event("after").with_key("x"));
    let named = |seen: SeenEvent| seen.key.expect("a key").external_id;
    assert_eq!(named(bench.event_at(after)), "x/generation/1");
    assert_eq!(named(bench.event_at(before)), "x");
    assert_eq!(bench.route(before), (MarkKind::Terminal, Some(old)));
    assert_ne!(bench.route(after).1, Some(old));
    // Beside the old work as target the key is the successor's. INGRESS-10
    let both = accept(event("both").with_key("x").with_target(old));
    bench.refused(&both, Refusal::ContradictoryTarget);
    let replayed = bench.requested(&replay(before, "again"));
    assert_eq!(named(bench.event_at(replayed)), "x/generation/1");
}

/// WAIT-06 OURS-08: core's own, replayed, would be a work's news of itself.
#[test]
fn what_core_made_itself_is_not_replayed() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    let mut command = complete(by);
    if let Command::Complete { ending, status, .. } = &mut command {
        *ending = crate::domain::Ending::Handoff { close_after: None };
        *status = Some("fine".to_owned());
    }
    bench.accepted(&command);
    let ended = bench.last_seq();
    // Before it is routed as well as after.
    bench.refused(&replay(ended, "r"), Refusal::CoreType);
    bench.route(ended);
    bench.refused(&replay(ended, "r"), Refusal::CoreType);
    bench.accepted(&cancel(by.work));
    let successor = fresh_work("s").uid;
    let reopen = Command::Reopen { work: by.work, expect: None, request: request("o"), successor };
    let created = bench.requested(&reopen);
    bench.refused(&replay(created, "r"), Refusal::CoreType);
    let (_, wait) = bench.parked("y", Some(500));
    bench.later(500);
    bench.accepted(&Command::FireTimer { wait });
    let woken = bench
        .see()
        .events
        .into_iter()
        .filter(|seen| matches!(seen.derived, Some(Derived::Timeout | Derived::Continuation)));
    let made: Vec<_> = woken.map(|seen| seen.seq).collect();
    assert_eq!(made.len(), 2);
    for seq in made {
        bench.refused(&replay(seq, "r"), Refusal::CoreType);
    }
    // A replay is its sender's news, and can be replayed again.
    let again = bench.requested(&replay(Seq(1), "r"));
    bench.decide(again, crate::domain::Decision::Drop);
    let twice = bench.requested(&replay(again, "rr"));
    let original = events::original(&mut bench.tx, twice).expect("a read");
    assert_eq!(original, Seq(1));
}

/// OURS-23: a sender learns nothing of the requests that were made, and marks nothing.
#[test]
fn a_sender_that_says_it_is_core_is_refused_before_its_identity_is_looked_up() {
    let store = store();
    let mut bench = Bench::on(&store);
    bench.ready("x");
    bench.requested(&replay(Seq(1), "alice/k"));
    let mut guessed = event("guess");
    guessed.id.source = "core".to_owned();
    guessed.id.delivery = "request/alice/k".to_owned();
    bench.refused(&Command::Accept { event: Box::new(guessed) }, Refusal::CoreType);
}
