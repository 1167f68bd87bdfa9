//! Facts that no abstract machine can express: what survives a restart, what a handler may do, what is never looked at.

#[path = "contract/queue.rs"]
mod queue;

use abide::api::tool_types::WaitRequest;
use abide::command::{Command, Outcome, Receipt, Refusal};
use abide::domain::{
    AttemptStatus, Authority, Control, Decision, MarkKind, Millis, NewEvent, Seq, WaitId,
    WaitStatus, WorkId, WorkStatus,
};
use abide::extension::route::{self, EventView, RouteError, RouteHandler, WorkView};
use abide::store::observe::{SeenTimer, SeenWait};
use abide_tests::live::{ByKey, ELSEWHERE, Live, SCOPE, Vary, Waiting, event, key};
use serde_json::json;

fn wait_of(live: &Live, work: WorkId) -> SeenWait {
    live.work(work).wait.expect("it has a wait")
}

/// A Work with an attempt that runs, and the sequence of what it was started by.
fn running(live: &Live, name: &str) -> (Authority, Seq) {
    let work = live.ready(name);
    let by = live.start(work);
    let batch = live.work(work).attempt.expect("an attempt").batch;
    (by, *batch.last().expect("an input"))
}

/// INGRESS-04
#[test]
fn acceptance_has_no_route_effect_and_is_picked_up_after_a_restart() {
    let live = Live::new();
    let accepted = live.accept(event("e").keyed("k"));
    let live = live.reopened();
    let seen = live.see();
    assert_eq!((seen.events.len(), seen.works.len(), seen.keys.len()), (1, 0, 0));
    assert_eq!(seen.events[0].mark, None);
    assert!(matches!(live.route(accepted, &ByKey), Outcome::Accepted(_)));
    assert_eq!(live.work(live.owner("k").expect("an owner")).pending, [accepted]);
}

/// INGRESS-05 INGRESS-07
#[test]
fn a_key_is_no_identity_and_an_identity_no_key() {
    let live = Live::new();
    let first = live.accept(event("one").keyed("k"));
    let second = live.accept(event("two").keyed("k"));
    assert_ne!(first, second, "two deliveries of one key are two events");
    let again = event("one").keyed("other").typed("another");
    let answer = live.apply(Command::Accept { event: Box::new(again) });
    assert_eq!(answer, Outcome::Duplicate(Receipt::Event { seq: first }), "and one is one");
    assert_eq!(live.see().events.len(), 2);
}

/// INGRESS-05: there is no window after which a known identity would be new.
#[test]
fn an_identity_is_known_for_good() {
    let live = Live::new();
    let first = live.accept(event("e"));
    for _ in 0..3 {
        live.later(25 * 60 * 60 * 1_000);
        let again = live.apply(Command::Accept { event: Box::new(event("e")) });
        assert_eq!(again, Outcome::Duplicate(Receipt::Event { seq: first }));
    }
    let live = live.reopened();
    let again = live.apply(Command::Accept { event: Box::new(event("e")) });
    assert_eq!(again, Outcome::Duplicate(Receipt::Event { seq: first }));
}

/// ROUTE-13 ROUTE-14 ROUTE-16
#[test]
fn evaluating_however_often_writes_nothing_and_decides_the_same() {
    let live = Live::new();
    let offered = live.accept(event("e").keyed("k"));
    let before = live.see();
    let first = live.evaluate(offered, &ByKey);
    live.later(1_000);
    let live = live.reopened();
    for _ in 0..10 {
        assert_eq!(live.evaluate(offered, &ByKey), first);
    }
    assert_eq!(live.see(), before);
}

/// ROUTE-12
#[test]
fn what_a_handler_sees_is_a_copy_of_its_own() {
    let live = Live::new();
    let work = live.ready("k");
    let offered = live.accept(event("e").keyed("k"));
    let before = live.see();
    let mut copy = live.snapshot(offered).expect("an unrouted event");
    copy.event.key = Some(key("another"));
    copy.event.scope = "another".to_owned();
    let seen = copy.work.as_mut().expect("the owner of its key");
    seen.keys.clear();
    seen.status = WorkStatus::Cancelled;
    assert_eq!(live.see(), before);
    assert!(matches!(live.route(offered, &ByKey), Outcome::Accepted(_)));
    assert_eq!(live.owner("k"), Some(work));
}

/// ROUTE-18
#[test]
fn a_route_commit_starts_nothing() {
    let live = Live::new();
    let work = live.ready("k");
    let seen = live.work(work);
    assert_eq!((seen.status, seen.attempt, seen.consumed.len()), (WorkStatus::Ready, None, 0));
}

/// WAIT-01 WAIT-12
#[test]
fn a_wait_says_after_a_restart_what_it_said_and_matches_on() {
    let live = Live::new();
    let (by, after) = running(&live, "k");
    live.wait(Waiting::after(by, after).on(&["k"]).types(&["done"]).within(60_000));
    let before = wait_of(&live, by.work);
    let live = live.reopened();
    assert_eq!(wait_of(&live, by.work), before);
    let other = live.accept(event("other").keyed("k").typed("begun"));
    live.route(other, &ByKey);
    assert_eq!(wait_of(&live, by.work).status, WaitStatus::Active, "its types are kept");
    let live = live.reopened();
    let done = live.accept(event("done").keyed("k").typed("done"));
    live.route(done, &ByKey);
    assert_eq!(wait_of(&live, by.work).winner, Some(done));
}

/// WAIT-03 WAIT-05
#[test]
fn one_event_must_have_a_listed_key_and_a_listed_type() {
    let live = Live::new();
    let (by, after) = running(&live, "k");
    let (wait, _) = live.wait(Waiting::after(by, after).on(&["k"]).types(&["done", "failed"]));
    for (delivery, name, event_type) in
        [("a", "k", "begun"), ("b", "elsewhere", "done"), ("c", "k", "done.x"), ("d", "k", "DONE")]
    {
        live.accept(event(delivery).keyed(name).typed(event_type));
        assert_eq!(live.apply(Command::Wake { wait }), Refusal::NothingToWakeFrom.into());
    }
    let match_ = live.accept(event("e").keyed("k").typed("failed"));
    assert_eq!(live.accepted(Command::Wake { wait }), Receipt::Woken { wait, winner: match_ });
}

/// WAIT-03
#[test]
fn a_wait_without_types_takes_any() {
    let live = Live::new();
    let (by, after) = running(&live, "k");
    let (wait, _) = live.wait(Waiting::after(by, after).on(&["k"]));
    let any = live.accept(event("e").keyed("k").typed("whatever.it.is"));
    assert_eq!(live.accepted(Command::Wake { wait }), Receipt::Woken { wait, winner: any });
}

/// WAIT-11: several prerequisites are an extension's to turn into one event.
#[test]
fn a_wait_knows_no_condition_but_keys_types_a_source_and_a_time() {
    let plain = json!({
        "keys": ["1"], "types": ["t"], "after": 1, "timeout_ms": 1, "on": "source#2",
    });
    assert!(serde_json::from_value::<WaitRequest>(plain.clone()).is_ok());
    for word in
        ["all", "any", "not", "when", "filter", "count", "condition", "expression", "quorum"]
    {
        let mut asked = plain.clone();
        asked[word] = json!(["1"]);
        assert!(serde_json::from_value::<WaitRequest>(asked).is_err(), "{word}");
    }
    // A list of keys is any of them, and stays so.
    let live = Live::new();
    let (by, after) = running(&live, "a");
    let more = live.accept(event("b").keyed("b"));
    attach(&live, by.work, more);
    let (wait, _) = live.wait(Waiting::after(by, after).on(&["a", "b"]).types(&["done"]));
    let winner = live.accept(event("done").keyed("b").typed("done"));
    assert_eq!(live.accepted(Command::Wake { wait }), Receipt::Woken { wait, winner });
}

/// WAIT-08 INGRESS-10
#[test]
fn what_is_addressed_to_another_work_wakes_nobody_here() {
    let live = Live::new();
    let (by, after) = running(&live, "k");
    let other = live.ready("other");
    let (wait, _) = live.wait(Waiting::after(by, after).on(&["k"]));
    let keyed = NewEvent { target: Some(other), ..event("a").keyed("k") };
    let answer = live.apply(Command::Accept { event: Box::new(keyed) });
    assert_eq!(answer, Refusal::ContradictoryTarget.into());
    live.accept(NewEvent { target: Some(other), ..event("b") });
    assert_eq!(live.apply(Command::Wake { wait }), Refusal::NothingToWakeFrom.into());
}

/// WAIT-09 ALIAS-14
#[test]
fn matching_reads_neither_the_time_nor_the_payload() {
    for occurred_at in [None, Some(Millis(0)), Some(Millis(i64::MAX))] {
        for payload in [None, Some("null"), Some(r#"{"state":"merged"}"#)] {
            let live = Live::new();
            let (by, after) = running(&live, "k");
            let (wait, _) = live.wait(Waiting::after(by, after).on(&["k"]));
            let payload = payload.map(str::to_owned);
            let varied = NewEvent { occurred_at, payload, ..event("e").keyed("k") };
            let winner = live.accept(varied);
            assert_eq!(live.accepted(Command::Wake { wait }), Receipt::Woken { wait, winner });
        }
    }
}

/// WAIT-05: what matched only the first wait is context for the second.
#[test]
fn a_second_wait_has_keys_of_its_own() {
    let live = Live::new();
    let (by, after) = running(&live, "a");
    for name in ["b", "c"] {
        let attached = live.accept(event(name).keyed(name));
        attach(&live, by.work, attached);
    }
    let (first, _) = live.wait(Waiting::after(by, after).on(&["a", "b"]).types(&["done"]));
    let answer = live.accept(event("answer").keyed("a").typed("done"));
    live.accepted(Command::Wake { wait: first });
    live.leave(by);
    let by = live.start(by.work);
    let (second, _) = live.wait(Waiting::after(by, answer).on(&["c"]).types(&["done"]));
    let stray = live.accept(event("stray").keyed("b").typed("done"));
    live.route(stray, &ByKey);
    assert_eq!(live.apply(Command::Wake { wait: second }), Refusal::NothingToWakeFrom.into());
    assert!(live.work(by.work).pending.contains(&stray), "it is context");
    let winner = live.accept(event("last").keyed("c").typed("done"));
    assert_eq!(
        live.accepted(Command::Wake { wait: second }),
        Receipt::Woken { wait: second, winner }
    );
}

/// Makes the event's key one of a Work's own.
fn attach(live: &Live, work: WorkId, attached: Seq) {
    let seen = live.snapshot(attached).expect("an unrouted event");
    let own = seen.event.key.clone().expect("a key");
    let bridge = NewEvent { target: Some(work), ..event(&format!("to-{attached}")) };
    let bridge = live.accept(bridge);
    let decision = Decision::Update { attach: vec![own], control: Control::default() };
    let proposal = live.snapshot(bridge).expect("unrouted").decide(Some("attach"), decision);
    live.accepted(Command::CommitRoute { proposal });
    live.route(attached, &ByKey);
}

/// WAKE-08 WAKE-10: the loser of a race keeps nothing open.
#[test]
fn a_woken_wait_leaves_no_timer_behind_and_the_work_completes() {
    let live = Live::new();
    let (by, after) = running(&live, "k");
    let (wait, _) = live.wait(Waiting::after(by, after).on(&["k"]).within(1_000));
    live.accept(event("e").keyed("k"));
    live.accepted(Command::Wake { wait });
    assert_eq!(wait_of(&live, by.work).timer, SeenTimer::None);
    live.later(2_000);
    assert_eq!(live.apply(Command::FireTimer { wait }), Refusal::TimerCancelled.into());
    live.leave(by);
    let by = live.start(by.work);
    assert!(matches!(live.complete(by), Outcome::Accepted(_)));
    let seen = live.work(by.work);
    assert_eq!((seen.status, seen.pending.len()), (WorkStatus::Completed, 0));
}

/// WAKE-07: a payload of JSON null is an ordinary event, and a timeout is one whatever is read of it.
#[test]
fn why_a_wait_woke_is_its_winner_and_survives_a_restart() {
    let live = Live::new();
    let (by, after) = running(&live, "null");
    let (wait, _) = live.wait(Waiting::after(by, after).on(&["null"]).within(1_000));
    let nothing = live.accept(event("e").keyed("null").saying("null"));
    live.accepted(Command::Wake { wait });
    assert_eq!(wait_of(&live, by.work).winner, Some(nothing));
    assert_eq!(wait_of(&live, by.work).timeout, None);

    let (by, after) = running(&live, "late");
    let (wait, _) = live.wait(Waiting::after(by, after).on(&["late"]).within(1_000));
    live.later(1_000);
    live.accepted(Command::FireTimer { wait });
    let timeout = wait_of(&live, by.work).timeout.expect("an accepted timeout");
    let live = live.reopened();
    live.leave(by);
    let resumed = live.start(by.work);
    let attempt = live.work(by.work).attempt.expect("an attempt");
    assert_eq!((resumed.attempt, attempt.batch), (by.attempt, vec![timeout]));
}

/// TIMER-04
#[test]
fn a_timeout_is_part_of_its_registration_or_there_is_none() {
    let live = Live::new();
    let (by, after) = running(&live, "timed");
    live.wait(Waiting::after(by, after).on(&["timed"]).within(1_000));
    assert!(matches!(wait_of(&live, by.work).timer, SeenTimer::Armed(_)));

    let (by, after) = running(&live, "untimed");
    let (wait, _) = live.wait(Waiting::after(by, after).on(&["untimed"]));
    assert_eq!(wait_of(&live, by.work).timer, SeenTimer::None);
    live.later(1_000_000);
    assert_eq!(live.apply(Command::FireTimer { wait }), Refusal::NoTimer.into());

    // A registration that is refused leaves no timer.
    let (by, after) = running(&live, "refused");
    let foreign = Waiting::after(by, after).on(&["timed"]).within(1_000).command();
    assert_eq!(live.apply(foreign), Refusal::KeyNotOwned.into());
    assert_eq!(live.work(by.work).wait, None);
}

/// TIMER-06 TIMER-07
#[test]
fn a_wait_remembers_its_timeout_after_the_timer_has_gone() {
    let live = Live::new();
    let (by, after) = running(&live, "k");
    let (wait, _) = live.wait(Waiting::after(by, after).on(&["k"]).within(1_000));
    live.later(1_000);
    live.accepted(Command::AcceptTimeout { wait });
    let seen = wait_of(&live, by.work);
    assert_eq!((seen.timer, seen.status), (SeenTimer::None, WaitStatus::Active));
    let live = live.reopened();
    let seen = wait_of(&live, by.work);
    let timeout = seen.timeout.expect("it is known by the wait");
    assert_eq!(live.accepted(Command::Wake { wait }), Receipt::Woken { wait, winner: timeout });
    let seen = wait_of(&live.reopened(), by.work);
    assert_eq!(
        (seen.timeout, seen.winner, seen.timer),
        (Some(timeout), Some(timeout), SeenTimer::None)
    );
}

/// WAKE-04 TIMER-02
#[test]
fn a_timer_is_due_at_its_instant_and_fires_once() {
    let live = Live::new();
    let (by, after) = running(&live, "k");
    let (wait, _) = live.wait(Waiting::after(by, after).on(&["k"]).within(1_000));
    live.later(999);
    assert_eq!(live.apply(Command::FireTimer { wait }), Refusal::NotDue.into());
    live.later(1);
    assert!(matches!(live.apply(Command::FireTimer { wait }), Outcome::Accepted(_)));
    live.later(1);
    assert!(matches!(live.apply(Command::FireTimer { wait }), Outcome::Duplicate(_)));
    let of_wait = |live: &Live| -> usize {
        let timeouts = live.see().events;
        timeouts.iter().filter(|event| event.event_type == "core.wait.timeout").count()
    };
    assert_eq!(of_wait(&live), 1);
}

fn subscribed(live: &Live) -> (Authority, WaitId) {
    let (by, after) = running(live, "dependent");
    let (wait, winner) = live.wait(Waiting::after(by, after).on(&["dependent"]).news_of("source"));
    assert_eq!(winner, None);
    (by, wait)
}

/// ALIAS-02 ALIAS-06 ALIAS-07
#[test]
fn a_subscription_goes_on_after_a_restart_from_where_it_was() {
    let live = Live::new();
    let (by, wait) = subscribed(&live);
    let checkpoint = wait_of(&live, by.work).checkpoint;
    let live = live.reopened();
    assert_eq!(wait_of(&live, by.work).checkpoint, checkpoint);
    let news = live.accept(event("news").keyed("source"));
    let answer = live.accepted(Command::Translate { wait, event: news });
    assert_eq!(wait_of(&live, by.work).checkpoint, Some(news));
    let live = live.reopened();
    let Receipt::Event { seq: alias } = answer else { panic!("{answer:?}") };
    let again = live.apply(Command::Translate { wait, event: news });
    assert_eq!(again, Outcome::Duplicate(Receipt::Event { seq: alias }));
    assert_eq!(live.accepted(Command::Wake { wait }), Receipt::Woken { wait, winner: alias });
}

/// ALIAS-01 ALIAS-08 ALIAS-10
#[test]
fn an_alias_refers_to_its_source_and_carries_nothing_of_it() {
    let live = Live::new();
    let owner = live.ready("source");
    let (by, wait) = subscribed(&live);
    let news = live.accept(event("news").keyed("source").saying(r#"{"secret":"hunter2"}"#));
    let Receipt::Event { seq } = live.accepted(Command::Translate { wait, event: news }) else {
        panic!("an alias is an event")
    };
    let seen = live.see();
    let alias = seen.events.iter().find(|event| event.seq == seq).expect("it is accepted");
    assert_eq!((alias.parent, alias.target), (Some(news), Some(by.work)));
    assert_eq!(alias.key, Some(key("dependent")));
    let said = live.payload(seq).expect("a reference");
    assert!(!said.contains("hunter2") && said.contains("evt_"), "{said}");
    assert_eq!(live.owner("source"), Some(owner), "the source's key stays where it was");
}

/// ALIAS-03 ALIAS-04
#[test]
fn what_came_between_reading_and_registering_is_translated_by_the_registration() {
    let live = Live::new();
    let (by, after) = running(&live, "dependent");
    let news = live.accept(event("news").keyed("source"));
    let (_, winner) = live.wait(Waiting::after(by, after).on(&["dependent"]).news_of("source"));
    let winner = winner.expect("it woke at once");
    let seen = live.see();
    assert_eq!(
        seen.events.iter().find(|event| event.seq == winner).and_then(|alias| alias.parent),
        Some(news)
    );
}

/// BIND-06
#[test]
fn reading_another_scope_gives_no_right_to_write_there() {
    let live = Live::new();
    let source = live.ready("source");
    let made = live.accept(event("reader").keyed("reader").within(ELSEWHERE));
    live.route(made, &ByKey);
    let by = live.start(live.owner("reader").expect("a work was made"));
    live.wait(Waiting::after(by, made).on(&["reader"]).news_of("source").reading(SCOPE));
    let before = (live.work(source), live.see().keys);

    // Neither by its key, nor by its name, nor by taking the key.
    let by_key = event("by-key").keyed("source").within(ELSEWHERE);
    let answer = live.apply(Command::Accept { event: Box::new(by_key) });
    assert_eq!(answer, Refusal::WrongScope.into());
    let by_name = NewEvent { target: Some(source), ..event("by-name").within(ELSEWHERE) };
    let answer = live.apply(Command::Accept { event: Box::new(by_name) });
    assert_eq!(answer, Refusal::WrongScope.into());
    let taking = live.accept(NewEvent { target: Some(by.work), ..event("take").within(ELSEWHERE) });
    let decision = Decision::Update { attach: vec![key("source")], control: Control::default() };
    let proposal = live.snapshot(taking).expect("unrouted").decide(Some("take"), decision);
    assert_eq!(live.apply(Command::CommitRoute { proposal }), Refusal::KeyOwned.into());
    assert_eq!((live.work(source), live.see().keys), before);
}

/// WAIT-20
#[test]
fn evidence_below_the_watermark_needs_a_fresh_observation() {
    let live = Live::new();
    let (by, _) = running(&live, "k");
    let evidence = live.accept(event("met").keyed("k").typed("done"));
    live.route(evidence, &ByKey);
    let (wait, winner) = live.wait(Waiting::after(by, evidence).on(&["k"]).types(&["done"]));
    assert_eq!(winner, None);
    assert_eq!(live.apply(Command::Wake { wait }), Refusal::NothingToWakeFrom.into());
    let fresh = live.accept(event("still met").keyed("k").typed("done"));
    assert_eq!(live.accepted(Command::Wake { wait }), Receipt::Woken { wait, winner: fresh });
    assert_eq!(wait_of(&live, by.work).after, evidence, "the boundary is where it was");
}

/// WAIT-06 WAIT-07
#[test]
fn only_what_its_own_execution_published_is_kept_from_a_wait() {
    let live = Live::new();
    let (by, after) = running(&live, "k");
    live.hand_off(by, "so far");
    let more = live.accept(event("more").keyed("k"));
    live.route(more, &ByKey);
    let by = live.start(by.work);
    let (wait, winner) = live.wait(Waiting::after(by, after).on(&["k"]));
    assert_eq!(winner, None, "its own turn's end lies above the watermark and wakes nobody");
    // It names the Work, and no execution published it.
    let named = live.accept(NewEvent { target: Some(by.work), ..event("named").keyed("k") });
    assert_eq!(live.accepted(Command::Wake { wait }), Receipt::Woken { wait, winner: named });

    // An execution published it, of another Work.
    let (other, _) = running(&live, "other");
    let (dependent, after) = running(&live, "dependent");
    let news = Waiting::after(dependent, after).on(&["dependent"]).news_of("other");
    let (wait, _) = live.wait(news);
    live.hand_off(other, "done here");
    let ended = live.see().events.last().map(|event| event.seq).expect("a turn's end");
    assert!(matches!(live.apply(Command::Translate { wait, event: ended }), Outcome::Accepted(_)));
    assert!(matches!(live.apply(Command::Wake { wait }), Outcome::Accepted(_)));
}

/// ALIAS-15
#[test]
fn a_turn_that_declares_a_status_publishes_it_whatever_it_is() {
    let mut seen = Vec::new();
    for status in ["review", "approved", "failed", "\u{1f980} anything", ""] {
        let live = Live::new();
        let (by, _) = running(&live, "k");
        live.hand_off(by, status);
        let ended = live.see().events.last().cloned().expect("a turn's end");
        assert_eq!((ended.event_type.as_str(), ended.mark), ("core.turn.ended", None));
        let said = live.payload(ended.seq).expect("it says how");
        let said: serde_json::Value = serde_json::from_str(&said).expect("it is JSON");
        assert_eq!(said["status"], status);
        let work = live.work(by.work);
        seen.push((work.status, work.holds, work.failures, ended.depth));
    }
    assert!(seen.iter().all(|one| *one == seen[0]), "no status means anything here: {seen:?}");
}

/// Makes Work of another kind than [`ByKey`].
struct OtherKind;

impl RouteHandler for OtherKind {
    fn identify(&self, event: &EventView) -> Result<Option<String>, RouteError> {
        ByKey.identify(event)
    }

    fn evaluate(
        &self,
        event: &EventView,
        work: Option<&WorkView>,
    ) -> Result<route::Decision, RouteError> {
        let decision = ByKey.evaluate(event, work)?;
        Ok(route::Decision { kind: Some("other".to_owned()), ..decision })
    }
}

/// OURS-03
#[test]
fn a_kind_is_fixed_when_its_work_is_made() {
    let live = Live::new();
    let work = live.ready("k");
    let again = live.accept(event("again").keyed("k"));
    live.route(again, &OtherKind);
    assert_eq!(live.work(work).pending.len(), 2);
    assert_eq!(live.work(work).kind, "task");
    let fresh = live.accept(event("fresh").keyed("fresh"));
    live.route(fresh, &OtherKind);
    assert_eq!(live.work(live.owner("fresh").expect("a work")).kind, "other");
}

/// TERM-02: what comes late is kept, and never starts anything, over a restart either.
#[test]
fn a_late_event_is_kept_with_its_work_and_inert() {
    let live = Live::new();
    let (by, _) = running(&live, "k");
    assert!(matches!(live.complete(by), Outcome::Accepted(_)));
    let before = live.work(by.work);
    let late = live.accept(event("late").keyed("k"));
    live.route(late, &ByKey);
    let live = live.reopened();
    let seen = live.see().events.into_iter().find(|event| event.seq == late).expect("it is kept");
    assert_eq!((seen.mark, seen.work), (Some(MarkKind::Terminal), Some(by.work)));
    assert_eq!(live.work(by.work), before);
    assert_eq!(before.attempt.map(|attempt| attempt.status), Some(AttemptStatus::Completed));
}
