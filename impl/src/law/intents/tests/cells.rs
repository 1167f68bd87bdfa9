//! Every policy in every state of the work it reaches: each event ends as exactly one of pending,
//! consumed, dropped with a reason, or too late. I07

use crate::command::{Command, Deferral, Outcome, Receipt, Refusal};
use crate::domain::{
    AttemptNo, Authority, BindingPin, Control, ControlPolicy, Decision, Fallback, IntentKind,
    IntentStatus, MarkKind, Seq, Source, WorkStatus,
};
use crate::law::testing::{
    Bench, LEASE, Vary as _, cancel, complete, event, fail, key, pin, pin_command, store,
    wait_command,
};
use crate::store::pages;

/// Routes an event to a running attempt by a route that asks for this.
pub(super) fn sent_or(
    bench: &mut Bench<'_>,
    name: &str,
    kind: IntentKind,
    on_error: Option<Fallback>,
) -> Seq {
    let policy = match kind {
        IntentKind::Inject => ControlPolicy::Inject,
        IntentKind::Interrupt => ControlPolicy::Interrupt,
    };
    let control = Control { policy, fallback: None, on_error };
    let (seq, outcome) = bench.controlled(name, "sent", control);
    assert!(matches!(outcome, Outcome::Accepted(_)), "{outcome:?}");
    let intent = bench.event_at(seq).intent.expect("an intent");
    assert_eq!((intent.kind, intent.on_error), (kind, on_error));
    seq
}

/// What a route asks for, whether the attempt supports it, and the fallback: what becomes of the
/// event while the attempt runs.
type Cell = (ControlPolicy, bool, Option<Fallback>, Option<Becomes>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Becomes {
    Queued,
    QueuedInstead,
    Dropped,
    DroppedInstead,
    Sent(IntentKind),
}

/// `None`: it is not routed yet.
const CELLS: [Cell; 24] = {
    use {Becomes as B, ControlPolicy as P, IntentKind as K};
    const QUEUE: Option<Fallback> = Some(Fallback::Queue);
    const DROP: Option<Fallback> = Some(Fallback::Drop);
    [
        (P::Queue, true, None, Some(B::Queued)),
        (P::Queue, true, QUEUE, Some(B::Queued)),
        (P::Queue, true, DROP, Some(B::Queued)),
        (P::Queue, false, None, Some(B::Queued)),
        (P::Queue, false, QUEUE, Some(B::Queued)),
        (P::Queue, false, DROP, Some(B::Queued)),
        (P::Drop, true, None, Some(B::Dropped)),
        (P::Drop, true, QUEUE, Some(B::Dropped)),
        (P::Drop, true, DROP, Some(B::Dropped)),
        (P::Drop, false, None, Some(B::Dropped)),
        (P::Drop, false, QUEUE, Some(B::Dropped)),
        (P::Drop, false, DROP, Some(B::Dropped)),
        (P::Inject, true, None, Some(B::Sent(K::Inject))),
        (P::Inject, true, QUEUE, Some(B::Sent(K::Inject))),
        (P::Inject, true, DROP, Some(B::Sent(K::Inject))),
        (P::Inject, false, None, None),
        (P::Inject, false, QUEUE, Some(B::QueuedInstead)),
        (P::Inject, false, DROP, Some(B::DroppedInstead)),
        (P::Interrupt, true, None, Some(B::Sent(K::Interrupt))),
        (P::Interrupt, true, QUEUE, Some(B::Sent(K::Interrupt))),
        (P::Interrupt, true, DROP, Some(B::Sent(K::Interrupt))),
        (P::Interrupt, false, None, None),
        (P::Interrupt, false, QUEUE, Some(B::QueuedInstead)),
        (P::Interrupt, false, DROP, Some(B::DroppedInstead)),
    ]
};

/// The pin of an attempt that supports just this, or just everything else.
fn pinned(policy: ControlPolicy, supported: bool) -> BindingPin {
    let (injects, interrupts) = match policy {
        ControlPolicy::Queue | ControlPolicy::Drop => (supported, supported),
        ControlPolicy::Inject => (supported, !supported),
        ControlPolicy::Interrupt => (!supported, supported),
    };
    BindingPin { injects, interrupts, ..pin(true) }
}

/// How far the attempt has come when the event is routed.
const PHASES: [&str; 4] = ["never handed", "handed", "pinned", "recovering"];

fn at(bench: &mut Bench<'_>, phase: &str, to: BindingPin) -> Authority {
    let work = bench.ready("x");
    let by = bench.claim_pinned_to(work, to);
    if phase == "never handed" {
        return by;
    }
    bench.hand(by);
    if phase == "handed" {
        return by;
    }
    bench.accepted(&pin_command(by));
    if phase == "pinned" {
        return by;
    }
    bench.later(LEASE.0);
    bench.recover(work).0
}

/// POLICY-01 POLICY-08 POLICY-11 POLICY-19 POLICY-24 POLICY-28 POLICY-32 POLICY-34: in every phase
/// alike.
#[test]
fn while_an_attempt_runs_every_policy_does_what_the_page_says() {
    for phase in PHASES {
        for (policy, supported, fallback, becomes) in CELLS {
            let cell = format!("{phase}: {policy:?} {supported} {fallback:?}");
            let store = store();
            let mut bench = Bench::on(&store);
            let by = at(&mut bench, phase, pinned(policy, supported));
            let before = bench.work(by.work);
            // The other fallback is never taken for this one. POLICY-34
            let on_error = Some(Fallback::Drop);
            let control = Control { policy, fallback, on_error };
            let (seq, outcome) = bench.controlled("x", "news", control);
            let seen = bench.event_at(seq);
            let row = pages::event(&mut bench.tx, seq).expect("a read").expect("a row");
            let (pending, asked) = match becomes {
                None => {
                    assert_eq!(outcome, Outcome::Deferred(Deferral::Unsupported), "{cell}");
                    assert_eq!((seen.mark, bench.work(by.work)), (None, before), "{cell}");
                    continue;
                }
                Some(Becomes::Queued) => (Some(MarkKind::Queued), None),
                Some(Becomes::QueuedInstead) => (Some(MarkKind::Queued), Some(policy)),
                Some(Becomes::Dropped) => (None, None),
                Some(Becomes::DroppedInstead) => (None, Some(policy)),
                Some(Becomes::Sent(IntentKind::Inject)) => (Some(MarkKind::Inject), None),
                Some(Becomes::Sent(IntentKind::Interrupt)) => (Some(MarkKind::Interrupt), None),
            };
            let mark = pending.unwrap_or(MarkKind::Drop);
            let receipt = Receipt::Routed { event: seq, mark, work: Some(by.work) };
            assert_eq!(outcome, Outcome::Accepted(receipt), "{cell}");
            assert_eq!((seen.mark, seen.work), (Some(mark), Some(by.work)), "{cell}");
            assert_eq!((seen.asked, row.asked), (asked, asked), "{cell}");
            assert_eq!(seen.generation, Some(bench.see().generation), "{cell}");
            assert_eq!(row.route.as_deref(), Some("route"), "{cell}");
            let why = mark == MarkKind::Drop || asked.is_some();
            assert_eq!(row.reason.is_some_and(|text| !text.is_empty()), why, "{cell}");
            let after = bench.work(by.work);
            let input = pending.map_or_else(Vec::new, |_| vec![seq]);
            assert_eq!((after.status, after.pending), (WorkStatus::Running, input), "{cell}");
            assert_eq!(after.attempt, before.attempt, "{cell}");
            let sent = match becomes {
                Some(Becomes::Sent(kind)) => Some((kind, IntentStatus::Committed, on_error)),
                _ => None,
            };
            let intent = seen.intent.map(|one| (one.kind, one.status, one.on_error));
            assert_eq!(intent, sent, "{cell}");
        }
    }
}

/// B19: it keeps its place, and has an answer once the attempt has ended. POLICY-32 DONE-02
#[test]
fn what_an_attempt_does_not_support_waits_for_its_end() {
    let store = store();
    let mut bench = Bench::on(&store);
    let work = bench.ready("x");
    let by = bench.claim_pinned_to(work, pinned(ControlPolicy::Inject, false));
    bench.hand(by);
    bench.accepted(&pin_command(by));
    let control = Control { policy: ControlPolicy::Inject, ..Control::default() };
    let (seq, _) = bench.controlled("x", "early", control);
    let (late, outcome) = bench.controlled("x", "late", Control::default());
    assert_eq!(outcome, Outcome::Deferred(Deferral::OutOfTurn));
    bench.inert(&complete(by), &Outcome::Conflict);
    bench.accepted(&fail(by));
    for seq in [seq, late] {
        let decision = Decision::Update { attach: Vec::new(), control };
        assert_eq!(bench.decide(seq, decision), (MarkKind::Queued, Some(work)));
    }
    assert_eq!(bench.work(work).pending, [seq, late]);
}

/// POLICY-01 POLICY-04: what does not run has no policy.
#[test]
fn on_work_that_does_not_run_every_policy_is_a_queue() {
    for (policy, supported, fallback, _) in CELLS {
        let control = Control { policy, fallback, on_error: Some(Fallback::Drop) };
        let to = pinned(policy, supported);
        let cell = format!("{policy:?} {supported} {fallback:?}");
        let store = store();
        let mut bench = Bench::on(&store);
        let attach = Vec::new;
        let decision = || Decision::Update { attach: attach(), control };

        let ready = bench.ready("ready");
        let seq = bench.accept(event("a").with_key("ready"));
        assert_eq!(bench.decide(seq, decision()), (MarkKind::Queued, Some(ready)), "{cell}");

        let failed = bench.ready("failed");
        let by = bench.claim_pinned_to(failed, to.clone());
        bench.accepted(&fail(by));
        let seq = bench.accept(event("b").with_key("failed"));
        assert_eq!(bench.decide(seq, decision()), (MarkKind::Queued, Some(failed)), "{cell}");

        let waits = bench.ready("waits");
        let by = bench.claim_pinned_to(waits, to.clone());
        bench.hand(by);
        bench.accepted(&pin_command(by));
        let mut wanted = wait_command(by, &["waits"], Seq(0), Some(500));
        if let Command::RegisterWait { types, .. } = &mut wanted {
            types.push("deploy.done".to_owned());
        }
        bench.wait_on(&wanted);
        let seq = bench.accept(event("c").with_key("waits"));
        assert_eq!(bench.decide(seq, decision()), (MarkKind::Queued, Some(waits)), "{cell}");
        assert_eq!(bench.work(waits).status, WorkStatus::Waiting, "{cell}");
        // A match is tried before any route. POLICY-02
        let seq = bench.accept(event("d").with_key("waits").with_type("deploy.done"));
        assert_eq!(bench.decide(seq, decision()), (MarkKind::Woke, Some(waits)), "{cell}");

        let ended = bench.ready("ended");
        bench.accepted(&cancel(ended));
        let seq = bench.accept(event("e").with_key("ended"));
        assert_eq!(bench.decide(seq, decision()), (MarkKind::Terminal, Some(ended)), "{cell}");
        assert_eq!(bench.work(ended).pending.len(), 1, "{cell}");

        let seq = bench.accept(event("f").with_key("new"));
        let create = Some(crate::law::testing::fresh_work("new"));
        let made = Decision::Work { attach: attach(), create, control };
        assert_eq!(bench.decide(seq, made).0, MarkKind::Queued, "{cell}");
        let seen = bench.see();
        assert!(seen.events.iter().all(|event| event.intent.is_none()), "{cell}");
        assert!(seen.events.iter().all(|event| event.asked.is_none()), "{cell}");
    }
}

/// The control is looked at before the keys to attach, and a drop attaches none. OWN-07 POLICY-24
#[test]
fn keys_are_attached_only_with_input() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    bench.ready("taken");
    let lacking = bench.ready("lacking");
    bench.claim_pinned_to(lacking, pinned(ControlPolicy::Interrupt, false));
    let mut asked = |name: &str, delivery: &str, policy, attach: &str| {
        let seq = bench.accept(event(delivery).with_key(name));
        let control = Control { policy, ..Control::default() };
        let decision = Decision::Update { attach: vec![key(attach)], control };
        let proposal = bench.proposal(seq, decision);
        let outcome = bench.apply(&Command::CommitRoute { proposal });
        (seq, outcome)
    };
    let (_, refused) = asked("lacking", "a", ControlPolicy::Interrupt, "taken");
    assert_eq!(refused, Outcome::Deferred(Deferral::Unsupported));
    let (dropped, outcome) = asked("x", "b", ControlPolicy::Drop, "taken");
    assert!(matches!(outcome, Outcome::Accepted(_)), "{outcome:?}");
    let (_, outcome) = asked("x", "c", ControlPolicy::Drop, "free");
    assert!(matches!(outcome, Outcome::Accepted(_)), "{outcome:?}");
    let (sent, outcome) = asked("x", "d", ControlPolicy::Inject, "more");
    assert!(matches!(outcome, Outcome::Accepted(_)), "{outcome:?}");
    let (_, refused) = asked("x", "e", ControlPolicy::Inject, "taken");
    assert_eq!(refused, Outcome::Refused(Refusal::KeyOwned));
    let owned = |bench: &mut Bench<'_>, name: &str| {
        let keys = bench.see().keys;
        keys.iter().find(|seen| seen.key == key(name)).map(|seen| seen.owner)
    };
    assert_eq!(owned(&mut bench, "free"), None);
    assert_eq!(owned(&mut bench, "more"), Some(by.work));
    assert_eq!(bench.work(by.work).pending, [sent]);
    assert_eq!(bench.event_at(dropped).work, Some(by.work));
    assert_eq!(reads_open(&mut bench, by), [sent]);
}

fn reads_open(bench: &mut Bench<'_>, by: Authority) -> Vec<Seq> {
    let rows = crate::store::intents::open_of(&mut bench.tx, by.work, 9).expect("a read");
    rows.into_iter().map(|row| row.event).collect()
}

/// An alias needs no route, so no route's control is its own; nor is a retry's. POLICY-03 ALIAS-05
/// RETRY-28
#[test]
fn an_alias_and_a_retry_are_queued_whatever_a_route_says() {
    for policy in [ControlPolicy::Inject, ControlPolicy::Interrupt, ControlPolicy::Drop] {
        let store = store();
        let mut bench = Bench::on(&store);
        bench.ready("pr");
        let by = bench.running("x");
        let after = bench.last_seq();
        let mut wanted = wait_command(by, &["x"], after, None);
        if let Command::RegisterWait { source, .. } = &mut wanted {
            let (extension, scope) = ("tool".to_owned(), "acme".to_owned());
            *source = Some(Source { extension, key: key("pr"), scope });
        }
        let (wait, _) = bench.wait_on(&wanted);
        bench.vacate(by);
        let own = bench.accept(event("own").with_key("x"));
        let news = bench.accept(event("news").with_key("pr"));
        let alias = bench.requested(&Command::Translate { wait, event: news });
        assert_eq!(bench.route(own), (MarkKind::Woke, Some(by.work)));
        bench.claim_and_pin(by.work);
        let control = Control { policy, ..Control::default() };
        let decision = Decision::Update { attach: Vec::new(), control };
        assert_eq!(bench.decide(alias, decision.clone()), (MarkKind::Queued, Some(by.work)));
        assert_eq!(bench.work(by.work).pending, [alias]);

        let failed = bench.running("y");
        bench.accepted(&fail(failed));
        bench.later(300_000);
        let (work, attempt) = (failed.work, failed.attempt);
        let retry = bench.requested(&Command::FireRetry { work, attempt });
        assert_eq!(bench.decide(retry, decision), (MarkKind::Queued, Some(work)));
    }
}

#[test]
fn an_intent_is_of_the_claim_that_was_current() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    bench.later(LEASE.0);
    let (by, _) = bench.recover(by.work);
    let seq = bench.inject("x", "a");
    let row = crate::store::intents::get(&mut bench.tx, seq).expect("a read").expect("a row");
    assert_eq!((row.work, row.attempt, row.epoch), (by.work, AttemptNo(1), by.epoch));
    assert_eq!((row.sends, row.committed_at), (0, bench.now));
    assert_eq!((row.dispatched_at, row.settled_at, row.detail), (None, None, None));
}

/// I16: a schedule drops while its attempt runs, and another route of the same work still queues.
#[test]
fn a_dropped_slot_is_kept_with_its_route_its_reason_and_its_generation() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    bench.reload("second");
    let control = Control { policy: ControlPolicy::Drop, ..Control::default() };
    let slots: Vec<_> =
        (0..3).map(|n| bench.controlled("x", &format!("slot-{n}"), control).0).collect();
    let kept = bench.input("x", "delivery");
    for slot in slots {
        let seen = bench.event_at(slot);
        assert_eq!(seen.mark, Some(MarkKind::Drop));
        assert_eq!(seen.generation, Some(bench.see().generation));
        let row = pages::event(&mut bench.tx, slot).expect("a read").expect("a row");
        assert_eq!(row.route.as_deref(), Some("route"));
        assert!(row.reason.is_some_and(|why| why.contains("attempt 1")));
    }
    assert_eq!(bench.work(by.work).pending, [kept]);
    bench.accepted(&complete(by));
    let next = bench.claim_and_pin(by.work);
    bench.accepted(&complete(next));
    assert_eq!(bench.work(by.work).status, WorkStatus::Completed);
}

/// A wait sees injected input that is pending as it sees queued input. B7 WAKE-02
#[test]
fn an_unproved_injection_wakes_a_wait_that_it_matches() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    let after = bench.last_seq();
    let seq = bench.inject("x", "a");
    let stop = bench.interrupting("x", "b");
    let (_, winner) = bench.wait_on(&wait_command(by, &["x"], after, Some(500)));
    assert_eq!(winner, Some(seq));
    let seen = bench.work(by.work);
    assert_eq!((seen.status, seen.pending), (WorkStatus::Ready, vec![seq, stop]));
    assert_eq!(bench.event_at(seq).mark, Some(MarkKind::Inject));
}

/// POLICY-33: what was withdrawn is neither pending nor consumed, and matches nothing.
#[test]
fn withdrawn_input_is_gone_for_good() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    let after = bench.last_seq();
    let seq = bench.inject_or("x", "a", Some(Fallback::Drop));
    bench.answered(by, seq, crate::domain::SendAnswer::Failed);
    let (_, winner) = bench.wait_on(&wait_command(by, &["x"], after, Some(500)));
    assert_eq!(winner, None);
    let seen = bench.work(by.work);
    assert_eq!((seen.pending, seen.withdrawn), (vec![], vec![seq]));
    assert!(seen.consumed.iter().all(|input| input.event != seq));
}
