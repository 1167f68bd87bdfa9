//! Subscriptions: what is translated, once and in order, and what is not.

use crate::command::{Command, Deferral, Outcome, Receipt, Refusal};
use crate::domain::{Authority, Decision, MarkKind, Seq, Source, WaitId, WorkStatus};
use crate::law::testing::{
    Bench, Vary as _, cancel, complete, event, key, pin_command, store, wait_command,
};
use crate::store::doctor::{Severity, examine};
use crate::store::rejections::Derived;

fn source(name: &str, scope: &str) -> Source {
    Source { extension: "tool".to_owned(), key: key(name), scope: scope.to_owned() }
}

fn subscribe(by: Authority, from: Source, after: Seq) -> Command {
    let mut command = wait_command(by, &["x"], after, None);
    if let Command::RegisterWait { source, .. } = &mut command {
        *source = Some(from);
    }
    command
}

fn translate(wait: WaitId, event: Seq) -> Command {
    Command::Translate { wait, event }
}

/// A work that waits on its own key `x` and subscribes to `pr`, which another work owns.
fn waiting(bench: &mut Bench<'_>) -> (Authority, WaitId) {
    bench.ready("pr");
    let by = bench.running("x");
    let after = bench.last_seq();
    let (wait, winner) = bench.wait_on(&subscribe(by, source("pr", "acme"), after));
    assert_eq!(winner, None);
    (by, wait)
}

/// WAIT-02 BIND-05 ALIAS-05 ALIAS-09
#[test]
fn the_guards_of_a_subscription_answer_in_order() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    let mut command = subscribe(by, source("pr", "other"), Seq(99));
    if let Command::RegisterWait { keys, .. } = &mut command {
        keys.clear();
    }
    bench.refused(&command, Refusal::KeyNotOwned);
    let mut command = subscribe(by, source("pr", "other"), Seq(99));
    bench.refused(&command, Refusal::ScopeNotReadable);
    if let Command::RegisterWait { read_scopes, .. } = &mut command {
        read_scopes.push("other".to_owned());
    }
    bench.refused(&command, Refusal::WatermarkAhead);
}

/// ALIAS-03 ALIAS-08 WAIT-17
#[test]
fn a_registration_translates_the_first_that_is_accepted_and_wakes_from_it() {
    let store = store();
    let mut bench = Bench::on(&store);
    bench.ready("pr");
    let by = bench.running("x");
    let after = bench.last_seq();
    let first = bench.input("pr", "p1");
    bench.accept(event("p2").with_key("pr"));
    let (_, winner) = bench.wait_on(&subscribe(by, source("pr", "acme"), after));
    let winner = winner.expect("the first alias woke it");
    let seen = bench.event_at(winner);
    assert_eq!((seen.parent, seen.root, seen.depth), (Some(first), first, 1));
    assert_eq!((seen.key, seen.target), (Some(key("x")), Some(by.work)));
    assert_eq!(seen.derived, Some(Derived::Alias));
    let aliases = bench.see().events.into_iter().filter(|seen| seen.derived.is_some());
    let parents: Vec<_> = aliases.filter_map(|seen| seen.parent).collect();
    assert_eq!(parents, [first, winner], "one alias and the continuation");
    // The prerequisite's key has the owner it had. ALIAS-01
    assert_ne!(bench.see().keys[0].owner, by.work);
}

/// ALIAS-07 CAUSE-29
#[test]
fn a_registration_goes_on_past_what_is_too_deep() {
    let store = store();
    let mut bench = Bench::on(&store);
    bench.ready("pr");
    let by = bench.running("x");
    let after = bench.last_seq();
    bench.accept(event("deep").with_key("pr").with_depth(0));
    let second = bench.accept(event("p2").with_key("pr"));
    let (_, winner) = bench.wait_on(&subscribe(by, source("pr", "acme"), after));
    assert_eq!(bench.event_at(winner.expect("an alias")).parent, Some(second));
}

/// WAIT-17 ALIAS-03 ALIAS-07: an alias is numbered above what its source said meanwhile.
#[test]
fn a_burst_at_a_source_is_news_one_by_one_over_successive_waits() {
    let store = store();
    let mut bench = Bench::on(&store);
    let (by, wait) = waiting(&mut bench);
    let burst = ["p1", "p2", "p3"].map(|name| bench.accept(event(name).with_key("pr")));
    let first = bench.requested(&translate(wait, burst[0]));
    assert_eq!(bench.route(first), (MarkKind::Woke, Some(by.work)));
    let mut told = vec![bench.event_at(first).parent];
    let mut last = by;
    for _ in 1..burst.len() {
        bench.vacate(last);
        let by = bench.claim_and_pin(last.work);
        last = by;
        // It saw the alias, and says so.
        let after = bench.last_seq();
        let (_, winner) = bench.wait_on(&subscribe(by, source("pr", "acme"), after));
        told.push(bench.event_at(winner.expect("the next of the burst")).parent);
    }
    assert_eq!(told, burst.map(Some));
    // Another source begins at its own watermark.
    bench.vacate(last);
    let other = bench.accept(event("o1").with_key("other"));
    let by = bench.claim_and_pin(by.work);
    let (_, winner) = bench.wait_on(&subscribe(by, source("other", "acme"), other));
    assert_eq!(winner, None);
    // A checkpoint below its watermark is where it goes on, and no damage.
    let found = examine(&mut bench.tx).expect("a report").into_iter();
    let damage: Vec<_> = found.filter(|one| one.severity == Severity::Damage).collect();
    assert!(damage.iter().all(|one| one.check.contains("chain")), "{damage:?}");
}

/// WAIT-17 WAKE-25 POLICY-03: an alias that does not wake is input all the same.
#[test]
fn an_alias_that_comes_second_is_queued_whatever_a_handler_said() {
    let store = store();
    let mut bench = Bench::on(&store);
    let (by, wait) = waiting(&mut bench);
    let news = bench.accept(event("p1").with_key("pr"));
    let own = bench.accept(event("own").with_key("x"));
    let alias = bench.requested(&translate(wait, news));
    assert_eq!(bench.route(own), (MarkKind::Woke, Some(by.work)));
    let revision = bench.evaluate(alias).resolved;
    assert_eq!(bench.decide(alias, Decision::Decline), (MarkKind::Queued, Some(by.work)));
    let seen = bench.work(by.work);
    assert_eq!((seen.pending, seen.status), (vec![own, alias], WorkStatus::Ready));
    let next = bench.accept(event("next").with_key("x"));
    assert_eq!(bench.evaluate(next).resolved, revision, "nothing that a handler sees moved");
}

/// OURS-07
#[test]
fn what_an_operator_dropped_is_not_translated_and_what_a_route_dropped_is() {
    let store = store();
    let mut bench = Bench::on(&store);
    let (_, wait) = waiting(&mut bench);
    let poison = bench.accept(event("poison").with_key("pr"));
    bench.accepted(&Command::Drop { event: poison, reason: "forged".to_owned() });
    bench.refused(&translate(wait, poison), Refusal::NothingToTranslate);
    let dull = bench.accept(event("dull").with_key("pr"));
    assert_eq!(bench.decide(dull, Decision::Drop).0, MarkKind::Drop);
    bench.requested(&translate(wait, dull));
}

/// ALIAS-05 ALIAS-06 ALIAS-07
#[test]
fn a_source_event_becomes_one_alias_in_the_order_of_the_source() {
    let store = store();
    let mut bench = Bench::on(&store);
    let (by, wait) = waiting(&mut bench);
    bench.refused(&translate(WaitId(9), Seq(1)), Refusal::UnknownWait);
    bench.refused(&translate(wait, Seq(99)), Refusal::UnknownEvent);
    // At or below the checkpoint; of another key.
    bench.refused(&translate(wait, Seq(1)), Refusal::NothingToTranslate);
    let other = bench.accept(event("o").with_key("other"));
    bench.refused(&translate(wait, other), Refusal::NothingToTranslate);
    let first = bench.accept(event("p1").with_key("pr"));
    let second = bench.accept(event("p2").with_key("pr"));
    bench.inert(&translate(wait, second), &Outcome::Deferred(Deferral::OutOfTurn));
    let alias = bench.requested(&translate(wait, first));
    bench.inert(&translate(wait, first), &Outcome::Duplicate(Receipt::Event { seq: alias }));
    let seen = bench.work(by.work);
    let checkpoint = seen.wait.and_then(|wait| wait.checkpoint);
    assert_eq!((seen.status, checkpoint), (WorkStatus::Waiting, Some(first)));
    assert_eq!(bench.event_at(alias).mark, None);
    // Routed or not by its own work, the source is translated. ALIAS-08
    assert_eq!(bench.route(alias), (MarkKind::Woke, Some(by.work)));
    // Still the first answer, though the subscription has ended. ALIAS-11
    bench.inert(&translate(wait, first), &Outcome::Duplicate(Receipt::Event { seq: alias }));
    bench.refused(&translate(wait, second), Refusal::SubscriptionEnded);
}

/// WAIT-03
#[test]
fn only_what_passes_the_waits_types_and_scope_is_selected() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    let after = bench.last_seq();
    let mut command = subscribe(by, source("pr", "acme"), after);
    if let Command::RegisterWait { types, .. } = &mut command {
        types.push("review.done".to_owned());
    }
    let (wait, _) = bench.wait_on(&command);
    let elsewhere =
        bench.accept(event("e").with_key("pr").with_type("review.done").in_scope("other"));
    let other_type = bench.accept(event("t").with_key("pr"));
    let fits = bench.accept(event("f").with_key("pr").with_type("review.done"));
    bench.refused(&translate(wait, elsewhere), Refusal::NothingToTranslate);
    bench.refused(&translate(wait, other_type), Refusal::NothingToTranslate);
    let alias = bench.requested(&translate(wait, fits));
    assert_eq!(bench.event_at(alias).event_type, "review.done");
}

/// TERM-03: a key and its generations are one resource.
#[test]
fn every_generation_of_the_sources_key_is_selected() {
    let store = store();
    let mut bench = Bench::on(&store);
    let (_, wait) = waiting(&mut bench);
    let owner = bench.see().keys[0].owner;
    bench.accepted(&cancel(owner));
    bench.accepted(&Command::Reopen {
        work: owner,
        expect: None,
        request: crate::law::testing::request("r"),
        successor: crate::law::testing::fresh_work("s").uid,
    });
    let seq = bench.accept(event("later").with_key("pr"));
    assert_eq!(bench.event_at(seq).key.expect("a key").external_id, "pr/generation/1");
    bench.requested(&translate(wait, seq));
}

/// WAIT-06, reading B13: no work is told of its own doing.
#[test]
fn what_the_dependent_published_itself_is_not_translated_back() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    bench.input("x", "b");
    bench.accepted(&declared(by));
    let published = bench.last_seq();
    let by = bench.claim(by.work);
    bench.hand(by);
    bench.accepted(&pin_command(by));
    // It subscribes to the very key that its turn's end carries.
    let (wait, _) = bench.wait_on(&subscribe(by, source("x", "acme"), Seq(published.0 - 1)));
    bench.refused(&translate(wait, published), Refusal::NothingToTranslate);
    let news = bench.accept(event("news").with_key("x"));
    bench.requested(&translate(wait, news));
}

fn declared(by: Authority) -> Command {
    let mut command = complete(by);
    if let Command::Complete { status, .. } = &mut command {
        *status = Some("done".to_owned());
    }
    command
}

/// OURS-17: a suspect starts nothing, here or elsewhere, until it is released.
#[test]
fn a_suspect_event_is_not_translated_and_its_replay_is() {
    let store = store();
    let mut bench = Bench::on(&store);
    let (_, wait) = waiting(&mut bench);
    let signed = |delivery: &str| crate::domain::NewEvent {
        suspect_within: Some(crate::domain::Duration(500)),
        ..event(delivery).with_key("pr")
    };
    let first = bench.accept(signed("p1"));
    bench.requested(&translate(wait, first));
    let suspect = bench.accept(signed("p2"));
    bench.refused(&translate(wait, suspect), Refusal::NothingToTranslate);
    let request = crate::law::testing::request("r");
    let replayed = bench.requested(&Command::Replay { event: suspect, request });
    bench.requested(&translate(wait, replayed));
}

/// CAUSE-29 REJECT-01
#[test]
fn an_alias_too_deep_leaves_a_diagnostic_and_is_passed_over() {
    let store = store();
    let mut bench = Bench::on(&store);
    let (by, wait) = waiting(&mut bench);
    let deep = bench.accept(event("deep").with_key("pr").with_depth(0));
    let next = bench.accept(event("next").with_key("pr"));
    assert_eq!(bench.apply(&translate(wait, deep)), Outcome::Refused(Refusal::DepthLimit));
    let seen = bench.work(by.work).wait.expect("a wait");
    assert_eq!(seen.checkpoint, Some(deep));
    assert_eq!(bench.see().rejections[0].kind, Derived::Alias);
    bench.refused(&translate(wait, deep), Refusal::NothingToTranslate);
    bench.requested(&translate(wait, next));
}

/// WAKE-12 ALIAS-11
#[test]
fn a_cancelled_work_subscribes_to_nothing() {
    let store = store();
    let mut bench = Bench::on(&store);
    let (by, wait) = waiting(&mut bench);
    bench.accepted(&cancel(by.work));
    assert_eq!(bench.work(by.work).wait.expect("a wait").checkpoint, None);
    let seq = bench.accept(event("p1").with_key("pr"));
    bench.refused(&translate(wait, seq), Refusal::SubscriptionEnded);
}

#[test]
fn a_wait_without_a_source_has_no_subscription() {
    let store = store();
    let mut bench = Bench::on(&store);
    let (_, wait) = bench.parked("x", None);
    let seq = bench.accept(event("p1").with_key("pr"));
    bench.refused(&translate(wait, seq), Refusal::SubscriptionEnded);
}
