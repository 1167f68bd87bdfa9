//! Routing, claiming, running, waiting and vacating, in the order the contract fixes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;

use super::{Bench, Call, soon};
use crate::command::{Command, Outcome, Receipt};
use crate::daemon::evaluation::{self, Routed};
use crate::daemon::supervise::supervise;
use crate::daemon::{router, scheduler, timers, vacate, waker};
use crate::domain::{Deadline, Duration as Length, MarkKind, Seq, WorkId, WorkStatus};
use crate::extension::executor::Exit;
use crate::store::{inputs, pages};

const DONE: Exit = Exit::Completed { status: None, continuation: None };

/// ROUTE-20 OWN-05
#[tokio::test]
async fn events_of_one_work_are_routed_in_order_and_of_others_beside_it() {
    let bench = Bench::new().await;
    for n in 0..12 {
        bench.event("t.a", if n % 2 == 0 { "even" } else { "odd" }, "{}").await;
    }
    bench.run(router::run);
    let marks = bench
        .until(|tx| {
            let mark = |seq| pages::mark(tx, Seq(seq)).expect("it reads");
            (1..=12).map(mark).collect::<Option<Vec<_>>>()
        })
        .await;
    assert!(marks.iter().all(|(kind, _)| *kind == MarkKind::Queued), "{marks:?}");
    let even = marks[0].1.expect("a work");
    let read = bench.context.read(move |tx| inputs::of_work(tx, even, Seq(0), 100)).await;
    let inputs: Vec<i64> = read.expect("it reads").iter().map(|input| input.event.0).collect();
    assert_eq!(inputs, [1, 3, 5, 7, 9, 11]);
}

/// ROUTE-15
#[tokio::test]
async fn a_decision_made_from_what_has_moved_is_made_again() {
    let bench = Bench::new().await;
    let first = bench.event("t.a", "k", "{}").await;
    assert_eq!(evaluation::route(&bench.context, first).await, Routed::Done);
    let second = bench.event("t.a", "k", "{}").await;
    let stale = crate::evaluation::propose(&bench.context, second).await;
    let stale = stale.expect("it is decided").expect("it is unrouted");
    bench
        .commit(Command::Cancel {
            work: WorkId(1),
            expect: None,
            for_good: false,
            reason: String::new(),
        })
        .await;
    let outcome = bench.commit(Command::CommitRoute { proposal: stale }).await;
    assert_eq!(outcome, Outcome::Conflict);
    assert_eq!(evaluation::route(&bench.context, second).await, Routed::Done);
    let mark = bench.context.read(move |tx| pages::mark(tx, second)).await.expect("it reads");
    assert_eq!(mark, Some((MarkKind::Terminal, Some(WorkId(1)))));
}

/// OWN-12: before a Work owns the key, order binds nobody.
#[tokio::test]
async fn an_event_that_cannot_be_routed_and_belongs_to_no_work_blocks_nobody() {
    let bench = Bench::new().await;
    let broken = bench.event("t.a", "one", r#"{"big": "text"}"#).await;
    let behind = bench.event("t.a", "one", "{}").await;
    bench.run(router::run);
    let mark = bench.until(move |tx| pages::mark(tx, behind).expect("it reads")).await;
    assert_eq!(mark.0, MarkKind::Queued);
    let mark = bench.context.read(move |tx| pages::mark(tx, broken)).await.expect("it reads");
    assert_eq!(mark, None);
    assert!(bench.context.troubles.of_event(broken).is_some());
}

/// ROUTE-19: a wake marks its winner out of turn, and the handler is not called for it again.
#[tokio::test]
async fn an_event_that_has_its_mark_is_evaluated_no_more() {
    let bench = Bench::new().await;
    let event = bench.event("t.a", "k", "{}").await;
    assert_eq!(evaluation::route(&bench.context, event).await, Routed::Done);
    let again = crate::evaluation::propose(&bench.context, event).await;
    assert!(matches!(again, Ok(None)), "{again:?}");
    assert_eq!(evaluation::route(&bench.context, event).await, Routed::Done);
}

/// ROUTE-09
#[tokio::test]
async fn a_route_that_cannot_be_evaluated_blocks_its_own_work_alone() {
    let bench = Bench::new().await;
    let owner = bench.event("t.a", "one", "{}").await;
    assert_eq!(evaluation::route(&bench.context, owner).await, Routed::Done);
    let broken = bench.event("t.a", "one", r#"{"big": "text"}"#).await;
    let behind = bench.event("t.a", "one", "{}").await;
    let other = bench.event("t.a", "two", "{}").await;
    bench.run(router::run);
    bench.until(move |tx| pages::mark(tx, other).expect("it reads")).await;
    for seq in [broken, behind] {
        let mark = bench.context.read(move |tx| pages::mark(tx, seq)).await.expect("it reads");
        assert_eq!(mark, None, "event {seq}");
    }
    soon(async {
        while bench.context.troubles.of_event(broken).is_none() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// LEASE-04 ADOPT-06 ADOPT-09
#[tokio::test]
async fn a_segment_is_claimed_handed_over_pinned_and_only_then_started() {
    let bench = Bench::new().await;
    bench.run(router::run);
    bench.run(scheduler::run);
    bench.event("t.a", "k", "{}").await;
    bench.double.asked(&Call::Observe).await;
    assert_eq!(bench.steps().await, ["reload", "claim", "clear_never_handed", "pin"]);
    bench.double.ends(DONE);
    bench.work_is(1, WorkStatus::Completed).await;
    let calls = bench.double.calls();
    let proceed = Call::Proceed("segment 1-1".to_owned());
    let run = Call::Run { number: 1, epoch: 1, inputs: 1 };
    assert_eq!(calls, [run, proceed, Call::Observe, Call::Report]);
}

/// DONE-02
#[tokio::test]
async fn a_work_does_not_complete_over_an_event_that_is_not_routed_yet() {
    let bench = Bench::new().await;
    let first = bench.event("t.a", "k", "{}").await;
    evaluation::route(&bench.context, first).await;
    bench.run(scheduler::run);
    bench.double.asked(&Call::Observe).await;
    // Nothing routes the second one, so the attempt ends over it and has to wait.
    let second = bench.event("t.a", "k", "{}").await;
    bench.double.ends(DONE);
    let seen = |tx: &mut dyn crate::store::Tx| {
        let rows = crate::store::journal::since(tx, 0, 1000).expect("it reads");
        rows.iter().any(|row| row.action == "complete" && row.outcome == "conflict").then_some(())
    };
    bench.until(seen).await;
    evaluation::route(&bench.context, second).await;
    bench.work_is(1, WorkStatus::Completed).await;
    let runs = bench.double.calls();
    assert!(runs.contains(&Call::Run { number: 2, epoch: 1, inputs: 1 }), "{runs:?}");
}

/// ROUTE-22 POLICY-06
#[tokio::test]
async fn no_more_is_claimed_than_the_scope_has_room_for() {
    let bench = Bench::new().await;
    for key in ["a", "b", "c"] {
        let seq = bench.event("t.a", key, "{}").await;
        evaluation::route(&bench.context, seq).await;
    }
    bench.run(scheduler::run);
    bench.work_is(1, WorkStatus::Running).await;
    bench.work_is(2, WorkStatus::Running).await;
    bench.double.asked(&Call::Observe).await;
    let third = bench.context.read(|tx| pages::work(tx, WorkId(3))).await.expect("it reads");
    assert_eq!(third.map(|row| row.work.status), Some(WorkStatus::Ready));
    bench.double.ends(DONE);
    bench.work_is(3, WorkStatus::Completed).await;
}

/// LEASE-07 CANCEL-05
#[tokio::test]
async fn a_launch_that_loses_its_authority_is_let_go_and_starts_nothing() {
    let bench = Bench::new().await;
    let seq = bench.event("t.a", "k", "{}").await;
    evaluation::route(&bench.context, seq).await;
    bench.double.hold_launches(true);
    bench.run(scheduler::run);
    bench.double.asked(&Call::Run { number: 1, epoch: 1, inputs: 1 }).await;
    bench
        .commit(Command::Cancel {
            work: WorkId(1),
            expect: None,
            for_good: false,
            reason: "no".to_owned(),
        })
        .await;
    bench.double.hold_launches(false);
    bench.double.asked(&Call::Release("segment 1-1".to_owned())).await;
    let calls = bench.double.calls();
    assert!(!calls.iter().any(|call| matches!(call, Call::Proceed(_))), "{calls:?}");
    // Nothing was pinned, and nothing proceeds before the pin: there is nobody to wait for.
    bench.run(vacate::run);
    bench.work_where(1, |work| work.marked.is_none()).await;
}

/// LEASE-05: a launch, and then an observation, that each take longer than the lease.
#[tokio::test]
async fn what_takes_longer_than_a_lease_does_not_lose_it() {
    let bench = Bench::configured(false, &super::CONFIGURATION.replace("30s", "1s")).await;
    // The clock goes slower than the sleeps, so that a busy machine is no unhealthy host.
    let passes = async || {
        for _ in 0..240 {
            tokio::time::sleep(Duration::from_millis(8)).await;
            bench.later(Duration::from_millis(5));
        }
    };
    let seq = bench.event("t.a", "k", "{}").await;
    evaluation::route(&bench.context, seq).await;
    bench.double.hold_launches(true);
    bench.run(scheduler::run);
    bench.run(crate::daemon::recovery::run);
    bench.double.asked(&Call::Run { number: 1, epoch: 1, inputs: 1 }).await;
    passes().await;
    bench.double.hold_launches(false);
    bench.double.asked(&Call::Observe).await;
    passes().await;
    bench.double.ends(DONE);
    let work = bench.work_is(1, WorkStatus::Completed).await;
    assert_eq!(work.epoch.map(|epoch| epoch.0), Some(1));
    assert!(!bench.steps().await.contains(&"claim_recovery".to_owned()));
}

/// Registers a wait as the process of the first attempt would.
async fn wait_of(bench: &Bench, deadline: Option<Deadline>) {
    let uid = type_safe_id::TypeSafeId::from_uuid(uuid::Uuid::now_v7());
    let by = bench.authority(1).await;
    let keys = bench.context.read(|tx| crate::store::keys::of_work(tx, WorkId(1))).await;
    let command = Command::RegisterWait {
        by,
        uid,
        keys: keys.expect("it reads"),
        types: vec!["t.b".to_owned()],
        after: Seq(1),
        deadline,
        source: None,
        read_scopes: Vec::new(),
        proofs: Vec::new(),
        usage: None,
    };
    let outcome = bench.commit(command).await;
    assert!(matches!(outcome, Outcome::Accepted(Receipt::Waiting { .. })), "{outcome:?}");
}

/// POLICY-22 WAKE-19
#[tokio::test]
async fn nothing_starts_over_a_process_that_registered_a_wait_and_has_not_exited() {
    let bench = Bench::new().await;
    bench.run(router::run);
    bench.run(scheduler::run);
    bench.run(vacate::run);
    bench.event("t.a", "k", "{}").await;
    bench.double.asked(&Call::Observe).await;
    wait_of(&bench, None).await;
    bench.event("t.b", "k", "{}").await;
    let woken = bench.work_is(1, WorkStatus::Ready).await;
    assert!(woken.marked.is_some(), "the process of attempt 1 is still there");
    assert!(!bench.steps().await.contains(&"vacate".to_owned()));
    bench.double.ends(DONE);
    bench.work_is(1, WorkStatus::Completed).await;
    let steps = bench.steps().await;
    let at = |name: &str| steps.iter().rposition(|step| step == name).expect("it happened");
    assert!(at("register_wait") < at("vacate") && at("vacate") < at("claim"), "{steps:?}");
    assert!(bench.double.calls().contains(&Call::Run { number: 2, epoch: 1, inputs: 1 }));
}

/// WAKE-16
#[tokio::test]
async fn a_parked_attempt_is_resumed_under_its_own_number() {
    let bench = Bench::with(true).await;
    bench.run(router::run);
    bench.run(scheduler::run);
    bench.run(vacate::run);
    bench.event("t.a", "k", "{}").await;
    bench.double.asked(&Call::Observe).await;
    wait_of(&bench, None).await;
    bench.double.ends(DONE);
    bench.work_where(1, |work| work.marked.is_none()).await;
    bench.event("t.b", "k", "{}").await;
    bench.double.asked(&Call::Resume { epoch: 2 }).await;
    bench.work_is(1, WorkStatus::Completed).await;
}

/// WAKE-04 WAKE-06
#[tokio::test]
async fn a_due_timer_fires_at_its_instant_and_not_before() {
    let bench = Bench::new().await;
    bench.run(router::run);
    bench.run(scheduler::run);
    bench.event("t.a", "k", "{}").await;
    bench.double.asked(&Call::Observe).await;
    wait_of(&bench, Some(Deadline::After(Length(5000)))).await;
    bench.later(Duration::from_millis(4999));
    bench.run(timers::run);
    // A commit rings every bell, so that the loop has looked before the instant.
    bench.event("t.c", "other", "{}").await;
    assert!(!bench.steps().await.contains(&"fire_timer".to_owned()));
    bench.later(Duration::from_millis(1));
    bench.work_is(1, WorkStatus::Ready).await;
    assert!(bench.steps().await.contains(&"fire_timer".to_owned()));
}

/// WAIT-17
#[tokio::test]
async fn a_match_behind_an_event_that_cannot_be_routed_wakes_all_the_same() {
    let bench = Bench::new().await;
    let first = bench.event("t.a", "k", "{}").await;
    evaluation::route(&bench.context, first).await;
    bench.run(scheduler::run);
    bench.double.asked(&Call::Observe).await;
    wait_of(&bench, None).await;
    bench.event("t.a", "k", r#"{"big": "text"}"#).await;
    let matching = bench.event("t.b", "k", "{}").await;
    bench.run(router::run);
    bench.run(waker::run);
    let woken = bench.work_is(1, WorkStatus::Ready).await;
    assert_eq!(woken.winner, Some(matching));
}

#[tokio::test]
async fn a_loop_that_breaks_is_started_again_and_breaks_no_other() {
    let bench = Bench::new().await;
    let starts = Arc::new(AtomicU32::new(0));
    let mut tasks = JoinSet::new();
    let counted = Arc::clone(&starts);
    supervise(&mut tasks, &bench.context, "breaks", move |context| {
        let nth = counted.fetch_add(1, Ordering::SeqCst);
        async move {
            assert!(nth > 0, "the first one breaks, on purpose");
            context.bell().rings(None).await;
        }
    });
    bench.run(router::run);
    soon(async {
        while starts.load(Ordering::SeqCst) < 2 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let health = bench.context.health.loops();
    let broken = health.iter().find(|one| one.name == "breaks").expect("it is known");
    assert_eq!(broken.panics, 1);
    let seq = bench.event("t.a", "k", "{}").await;
    bench.until(move |tx| pages::mark(tx, seq).expect("it reads")).await;
    bench.stop();
    soon(async { while tasks.join_next().await.is_some() {} }).await;
}
