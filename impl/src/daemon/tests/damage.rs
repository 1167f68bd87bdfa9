//! What is damaged, and what only seems to be something to do, keeps nothing else from getting on.
//! E10 E13 T13

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;

use super::{Bench, Call, soon};
use crate::command::{Command, Outcome};
use crate::daemon::supervise::supervise;
use crate::daemon::{evaluation, recovery, router, scheduler, timers, translator, waker};
use crate::domain::{MarkKind, Seq, WaitId, WorkId, WorkStatus};
use crate::extension::executor::Exit;
use crate::host::Context;
use crate::store::{inputs, pages, subscriptions};

const DONE: Exit = Exit::Completed { status: None, continuation: None };
const LEASE: Duration = Duration::from_secs(30);

/// Good ones beside the damaged one.
const GOOD: i64 = 20;

/// Waits until something is said about a thing of this name.
async fn shown(context: &Context, what: &str) {
    soon(async {
        loop {
            if context.troubles.shown(99).1.iter().any(|trouble| trouble.what == what) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

/// E10
#[tokio::test]
async fn a_timer_of_a_damaged_wait_keeps_no_other_from_firing() {
    let bench = Bench::new().await;
    for n in 0..=GOOD {
        let key = format!("k{n}");
        let by = bench.pinned(&key, "b").await;
        bench.waits(by, &key, Some(5000)).await;
    }
    bench.damage("UPDATE wait SET uid = x'00' WHERE id = 3");
    bench.later(Duration::from_secs(5));
    bench.run(timers::run);
    for work in (1..=GOOD + 1).filter(|work| *work != 3) {
        bench.work_is(work, WorkStatus::Ready).await;
    }
    shown(&bench.context, "wait 3").await;
}

/// E10
#[tokio::test]
async fn a_damaged_attempt_keeps_no_other_from_being_taken_over() {
    let bench = Bench::new().await;
    for n in 0..=GOOD {
        bench.pinned(&format!("k{n}"), "b").await;
    }
    // One that cannot even be read, and one that the law itself stumbles over.
    bench.damage(
        "UPDATE attempt SET phase = 'zzz' WHERE work = 2; UPDATE work SET uid = x'00' WHERE id = 4",
    );
    bench.double.ends(DONE);
    bench.later(LEASE);
    bench.run(recovery::run);
    for work in (1..=GOOD + 1).filter(|work| *work != 2 && *work != 4) {
        bench.work_is(work, WorkStatus::Completed).await;
    }
    shown(&bench.context, "work 2").await;
    shown(&bench.context, "work 4").await;
}

/// E10
#[tokio::test]
async fn a_damaged_work_takes_no_other_works_turn() {
    let bench = Bench::new().await;
    for n in 0..=GOOD {
        let seq = bench.event("t.a", &format!("k{n}"), "{}").await;
        evaluation::route(&bench.context, seq).await;
    }
    // Two of them first in line, and the scope has room for two at once.
    bench.damage(
        "UPDATE work SET attempt_status = 'zzz' WHERE id = 1; \
         UPDATE work SET pending_count = 7 WHERE id = 2",
    );
    bench.double.ends(DONE);
    bench.run(scheduler::run);
    for work in 3..=GOOD + 1 {
        bench.work_is(work, WorkStatus::Completed).await;
    }
    shown(&bench.context, "work 1").await;
    shown(&bench.context, "work 2").await;
}

/// E10
#[tokio::test]
async fn a_damaged_wait_keeps_no_other_from_waking() {
    let bench = Bench::new().await;
    for n in 0..=GOOD {
        let key = format!("k{n}");
        let by = bench.pinned(&key, "b").await;
        bench.waits(by, &key, None).await;
        bench.event("t.b", &key, "{}").await;
    }
    bench.damage("UPDATE wait SET uid = x'00' WHERE id = 1");
    bench.run(waker::run);
    for work in 2..=GOOD + 1 {
        bench.work_is(work, WorkStatus::Ready).await;
    }
    shown(&bench.context, "wait 1").await;
}

/// E10
#[tokio::test]
async fn a_damaged_event_keeps_no_other_from_being_routed() {
    let bench = Bench::new().await;
    let bad = bench.event("t.a", "bad", "{}").await;
    let mut good = Vec::new();
    for n in 0..GOOD {
        good.push(bench.event("t.a", &format!("k{n}"), "{}").await);
    }
    bench.damage(&format!("UPDATE event SET uid = x'00' WHERE seq = {bad}"));
    bench.run(router::run);
    for seq in good {
        bench.until(move |tx| pages::mark(tx, seq).expect("it reads")).await;
    }
    shown(&bench.context, &format!("event {bad}")).await;
}

/// More than one look reads at once.
const MANY: i64 = 260;

/// Nothing starves behind waits that only seem to match: the events on their keys are of other
/// types. WAIT-17
#[tokio::test]
async fn a_match_behind_many_that_only_seem_to_be_one_wakes_at_once() {
    let bench = Bench::new().await;
    for n in 0..MANY {
        let key = format!("k{n}");
        let by = bench.pinned(&key, "b").await;
        bench.waits(by, &key, None).await;
        bench.event("t.other", &key, "{}").await;
    }
    let by = bench.pinned("last", "b").await;
    bench.waits(by, "last", None).await;
    let winner = bench.event("t.b", "last", "{}").await;
    bench.run(waker::run);
    let woken = bench.work_is(by.work.0, WorkStatus::Ready).await;
    assert_eq!((woken.winner, woken.wait), (Some(winner), Some(WaitId(MANY + 1))));
}

/// L10: nothing starves behind attempts that have to be left as they are.
#[tokio::test]
async fn an_attempt_behind_many_of_a_missing_binding_is_taken_over_at_once() {
    let bench = Bench::new().await;
    for n in 0..MANY {
        bench.pinned(&format!("k{n}"), "gone").await;
    }
    let by = bench.pinned("last", "b").await;
    bench.double.ends(DONE);
    bench.later(LEASE);
    bench.run(recovery::run);
    bench.work_is(by.work.0, WorkStatus::Completed).await;
    assert!(bench.context.troubles.of_work(WorkId(1)).is_some());
}

/// E13 OURS-07
#[tokio::test]
async fn an_event_whose_handler_always_fails_is_shown_and_an_operator_drops_it() {
    let bench = Bench::new().await;
    let owner = bench.event("t.a", "one", "{}").await;
    assert_eq!(evaluation::route(&bench.context, owner).await, evaluation::Routed::Done);
    let broken = bench.event("t.a", "one", r#"{"big": "text"}"#).await;
    let behind = bench.event("t.a", "one", "{}").await;
    let other = bench.event("t.a", "two", "{}").await;
    bench.run(router::run);
    bench.until(move |tx| pages::mark(tx, other).expect("it reads")).await;
    shown(&bench.context, &format!("event {broken}")).await;
    // It is tried again and again, and what is behind it waits, visibly.
    let ahead = bench.context.read(move |tx| pages::ahead_of(tx, behind)).await;
    assert_eq!(ahead, Ok(Some(broken)));
    let outcome = bench.commit(Command::Drop { event: broken, reason: "broken".into() }).await;
    assert!(matches!(outcome, Outcome::Accepted(_)), "{outcome:?}");
    let mark = bench.until(move |tx| pages::mark(tx, behind).expect("it reads")).await;
    assert_eq!(mark, (MarkKind::Queued, Some(WorkId(1))));
    let read = bench.context.read(|tx| inputs::of_work(tx, WorkId(1), Seq(0), 9)).await;
    let inputs: Vec<Seq> = read.expect("it reads").iter().map(|input| input.event).collect();
    assert_eq!(inputs, [owner, behind]);
    assert_eq!(bench.context.troubles.of_event(broken), None);
}

/// T13: a loop that breaks each time is reported, and the timers fire all the same.
#[tokio::test]
async fn a_loop_that_breaks_for_ever_is_reported_and_stops_no_other() {
    let bench = Bench::new().await;
    let by = bench.pinned("k", "b").await;
    bench.waits(by, "k", Some(5000)).await;
    let breaks = Arc::new(AtomicU32::new(0));
    let mut tasks = JoinSet::new();
    let counted = Arc::clone(&breaks);
    supervise(&mut tasks, &bench.context, "poisoned", move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        async { panic!("it breaks each time, on purpose") }
    });
    supervise(&mut tasks, &bench.context, timers::NAME, timers::run);
    soon(async {
        while breaks.load(Ordering::SeqCst) < 3 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    bench.later(Duration::from_secs(5));
    bench.work_is(1, WorkStatus::Ready).await;
    let loops = bench.context.health.loops();
    let of = |name: &str| loops.iter().find(|one| one.name == name).expect("it is known");
    assert!(of("poisoned").panics >= 2 && of(timers::NAME).panics == 0, "{loops:?}");
    bench.stop();
    soon(async { while tasks.join_next().await.is_some() {} }).await;
}

/// T01: a wall clock that is set back neither stops a timer nor lengthens a lease.
#[tokio::test]
async fn a_clock_set_back_two_hours_delays_nothing_and_hastens_nothing() {
    let bench = Bench::new().await;
    let waiting = bench.pinned("k", "b").await;
    bench.waits(waiting, "k", Some(10_000)).await;
    let leased = bench.pinned("other", "b").await;
    bench.double.ends(DONE);
    bench.set_back(Duration::from_secs(2 * 60 * 60));
    bench.run(timers::run);
    bench.run(recovery::run);
    bench.elapses(Duration::from_millis(9_999));
    bench.event("t.x", "nobody", "{}").await;
    let early = bench.steps().await;
    assert!(!early.contains(&"fire_timer".to_owned()), "{early:?}");
    bench.elapses(Duration::from_millis(1));
    bench.work_is(waiting.work.0, WorkStatus::Ready).await;
    // The lease is 30 seconds of real time: no more, and no less.
    bench.elapses(LEASE - Duration::from_millis(10_001));
    bench.event("t.x", "nobody", "{}").await;
    assert!(!bench.double.calls().iter().any(|call| matches!(call, Call::Recover(_))));
    bench.elapses(Duration::from_millis(1));
    bench.work_is(leased.work.0, WorkStatus::Completed).await;
}

/// ALIAS-07 E10
#[tokio::test]
async fn a_subscription_that_cannot_be_translated_holds_up_no_other() {
    let bench = Bench::new().await;
    bench.pinned("pr", "b").await;
    for n in 0..3 {
        let key = format!("k{n}");
        let by = bench.pinned(&key, "b").await;
        bench.waits_on(by, &key, None, Some("pr")).await;
    }
    // One has no key to name, and one has no id.
    bench.damage("DELETE FROM wait_key WHERE wait = 1");
    bench.damage("UPDATE subscription SET uid = x'00' WHERE wait = 2");
    bench.run(translator::run);
    bench.run(router::run);
    bench.event("t.b", "pr", "{}").await;
    bench.work_is(4, WorkStatus::Ready).await;
    shown(&bench.context, "wait 1").await;
    shown(&bench.context, "wait 2").await;
}

/// ALIAS-05 ALIAS-07: what was said under the name of a generation before it was one.
#[tokio::test]
async fn what_becomes_a_sources_event_by_a_reopening_comes_first() {
    let bench = Bench::new().await;
    let owner = bench.pinned("pr", "b").await.work;
    let by = bench.pinned("k", "b").await;
    let wait = bench.waits_on(by, "k", None, Some("pr")).await;
    let early = bench.event("t.b", "pr/generation/1", "{}").await;
    let cancel =
        Command::Cancel { work: owner, expect: None, for_good: false, reason: String::new() };
    bench.run(translator::run);
    let beside = bench.pinned("k2", "b").await;
    bench.waits_on(beside, "k2", None, Some("beside")).await;
    bench.event("t.b", "beside", "{}").await;
    // The translator has seen what came so far.
    bench
        .until(|tx| {
            subscriptions::of_wait(tx, WaitId(2))
                .expect("it reads")
                .filter(|found| found.checkpoint > Seq(4))
        })
        .await;
    bench.commit(cancel).await;
    let mint = || type_safe_id::TypeSafeId::from_uuid(uuid::Uuid::now_v7());
    let successor = type_safe_id::TypeSafeId::from_uuid(uuid::Uuid::now_v7());
    let limits = crate::domain::CausalLimits { max_depth: 32 };
    let request = crate::domain::Request { uid: mint(), id: "r".to_owned(), limits };
    bench.commit(Command::Reopen { work: owner, expect: None, request, successor }).await;
    bench.event("t.b", "pr", "{}").await;
    bench.run(router::run);
    let woken = bench.work_is(by.work.0, WorkStatus::Ready).await;
    let winner = woken.winner.expect("an alias");
    let parent = bench.context.read(move |tx| pages::event(tx, winner)).await.expect("it reads");
    assert_eq!(parent.and_then(|row| row.event.parent), Some(early), "{wait}");
}
