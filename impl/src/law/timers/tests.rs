//! Timers: when a timeout may be accepted, what beats it, and the one refusal that writes.

use crate::command::{Command, Outcome, Receipt, Refusal};
use crate::domain::{MarkKind, Seq, WaitId, WaitStatus, WorkStatus};
use crate::law::testing::{Bench, Vary as _, cancel, event, pin_command, store, wait_command};
use crate::store::observe::SeenTimer;

const BOTH: [fn(WaitId) -> Command; 2] =
    [|wait| Command::FireTimer { wait }, |wait| Command::AcceptTimeout { wait }];

#[test]
fn timeouts_are_refused_in_order() {
    for of in BOTH {
        let store = store();
        let mut bench = Bench::on(&store);
        bench.refused(&of(WaitId(99)), Refusal::UnknownWait);
        let (by, wait) = bench.parked("x", Some(500));
        bench.refused(&of(wait), Refusal::NotDue);
        bench.later(499);
        bench.refused(&of(wait), Refusal::NotDue);
        bench.accepted(&cancel(by.work));
        bench.refused(&of(wait), Refusal::TimerCancelled);
        let (_, wait) = bench.parked("y", None);
        bench.refused(&of(wait), Refusal::NoTimer);
    }
}

#[test]
fn a_due_timer_accepts_its_timeout_and_wakes_in_one_step() {
    let store = store();
    let mut bench = Bench::on(&store);
    let (by, wait) = bench.parked("x", Some(500));
    bench.later(500);
    let winner = Seq(2);
    assert_eq!(bench.accepted(&Command::FireTimer { wait }), Receipt::Woken { wait, winner });
    let seen = bench.see();
    let timeout = &seen.events[1];
    assert_eq!((timeout.mark, timeout.work), (Some(MarkKind::Woke), Some(by.work)));
    assert_eq!((timeout.root, timeout.depth, timeout.target), (Seq(1), 1, Some(by.work)));
    // Its continuation goes on from it.
    assert_eq!((seen.events[2].root, seen.events[2].depth), (Seq(1), 2));
    assert_eq!(bench.work(by.work).pending, vec![winner]);
    for of in BOTH {
        let again = Outcome::Duplicate(Receipt::TimeoutAccepted { wait, seq: winner });
        bench.inert(&of(wait), &again);
    }
}

#[test]
fn a_match_accepted_by_the_deadline_beats_the_timeout() {
    let store = store();
    let mut bench = Bench::on(&store);
    let (_, wait) = bench.parked("x", Some(500));
    bench.later(500);
    let winner = bench.accept(event("b").with_key("x"));
    bench.refused(&Command::AcceptTimeout { wait }, Refusal::MatchAccepted);
    assert_eq!(bench.accepted(&Command::FireTimer { wait }), Receipt::Woken { wait, winner });
    bench.refused(&Command::FireTimer { wait }, Refusal::TimerCancelled);
}

#[test]
fn a_timeout_accepted_alone_wins_over_a_later_match() {
    let store = store();
    let mut bench = Bench::on(&store);
    let (by, wait) = bench.parked("x", Some(500));
    bench.later(500);
    let seq = Seq(2);
    let receipt = Receipt::TimeoutAccepted { wait, seq };
    assert_eq!(bench.accepted(&Command::AcceptTimeout { wait }), receipt);
    let seen = bench.work(by.work);
    assert_eq!(seen.status, WorkStatus::Waiting);
    let seen = seen.wait.expect("a wait");
    assert_eq!((seen.status, seen.timer), (WaitStatus::Active, SeenTimer::None));
    bench.accept(event("b").with_key("x"));
    bench.inert(&Command::FireTimer { wait }, &Outcome::Duplicate(receipt));
    let woken = Receipt::Woken { wait, winner: seq };
    assert_eq!(bench.accepted(&Command::Wake { wait }), woken);
}

#[test]
fn a_timeout_accepted_alone_wakes_when_it_is_routed() {
    let store = store();
    let mut bench = Bench::on(&store);
    let (by, wait) = bench.parked("x", Some(500));
    bench.later(500);
    bench.accepted(&Command::AcceptTimeout { wait });
    assert_eq!(bench.route(Seq(2)), (MarkKind::Woke, Some(by.work)));
}

#[test]
fn a_timeout_too_deep_leaves_a_diagnostic_and_a_wait_for_other_matches() {
    for of in BOTH {
        let store = store();
        let mut bench = Bench::on(&store);
        let made = bench.accept(event("make").with_key("x").with_depth(0));
        let work = bench.route(made).1.expect("a work");
        let by = bench.claim(work);
        bench.hand(by);
        bench.accepted(&pin_command(by));
        let (wait, _) = bench.wait_on(&wait_command(by, &["x"], made, Some(500)));
        bench.later(500);
        assert_eq!(bench.apply(&of(wait)), Outcome::Refused(Refusal::DepthLimit));
        let seen = bench.see();
        assert_eq!((seen.rejections.len(), seen.events.len()), (1, 1));
        let seen = bench.work(work).wait.expect("a wait");
        assert_eq!((seen.status, seen.timer), (WaitStatus::Active, SeenTimer::Disabled));
        for of in BOTH {
            bench.refused(&of(wait), Refusal::FiringDisabled);
        }
        bench.input_wake("x");
        assert_eq!(bench.work(work).status, WorkStatus::Ready);
        bench.refused(&of(wait), Refusal::TimerCancelled);
    }
}
