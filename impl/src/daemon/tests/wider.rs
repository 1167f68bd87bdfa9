//! Translating, closing, handing off, running out of time, and going on under an older
//! configuration.

use std::time::Duration;

use super::{Bench, CONFIGURATION, Call};
use crate::command::{Command, Outcome, Receipt};
use crate::daemon::evaluation::{self, Routed};
use crate::daemon::{idle, recovery, router, scheduler, translator, vacate};
use crate::domain::{Ending, MarkKind, WorkId, WorkStatus};
use crate::extension::executor::Exit;
use crate::store::words::Word as _;
use crate::store::{attempts, journal, keys, pages, works};

const LEASE: Duration = Duration::from_secs(30);

/// ALIAS-05 ALIAS-07
#[tokio::test]
async fn news_of_a_subscribed_source_wakes_the_work_that_waits_for_it() {
    let bench = Bench::new().await;
    let owner = bench.pinned("pr", "b").await;
    let by = bench.pinned("k", "b").await;
    bench.waits_on(by, "k", None, Some("pr")).await;
    bench.run(translator::run);
    bench.run(router::run);
    let other = bench.event("t.other", "pr", "{}").await;
    let news = bench.event("t.b", "pr", "{}").await;
    let woken = bench.work_is(by.work.0, WorkStatus::Ready).await;
    let winner = woken.winner.expect("an alias");
    let parent = bench.context.read(move |tx| pages::event(tx, winner)).await.expect("it reads");
    assert_eq!(parent.and_then(|row| row.event.parent), Some(news));
    // The source's events are input of their own work.
    for seq in [other, news] {
        let mark = bench.until(move |tx| pages::mark(tx, seq).expect("it reads")).await;
        assert_eq!(mark, (MarkKind::Queued, Some(owner.work)));
    }
}

/// WAIT-17 POLICY-03: an alias has no route, whatever its type; it was made for its Work.
#[tokio::test]
async fn an_alias_that_wakes_nothing_is_input_of_the_work_it_names() {
    let bench = Bench::new().await;
    bench.pinned("pr", "b").await;
    let by = bench.pinned("k", "b").await;
    let wait = bench.waits_on(by, "k", None, Some("pr")).await;
    let (first, second) =
        (bench.event("t.b", "pr", "{}").await, bench.event("t.b", "pr", "{}").await);
    for event in [first, second] {
        bench.commit(Command::Translate { wait, event }).await;
    }
    bench.run(router::run);
    bench.work_is(by.work.0, WorkStatus::Ready).await;
    let marks = bench
        .until(|tx| {
            let mut alias = |seq| pages::mark(tx, crate::domain::Seq(seq)).expect("it reads");
            Some((alias(5)?, alias(6)?))
        })
        .await;
    assert_eq!(marks, ((MarkKind::Woke, Some(by.work)), (MarkKind::Queued, Some(by.work))));
}

#[tokio::test]
async fn idle_work_is_closed_at_its_instant() {
    let bench = Bench::new().await;
    let by = bench.pinned("k", "b").await;
    let close_after = Some(crate::domain::Duration(5000));
    let handoff = Command::Complete {
        by,
        ending: Ending::Handoff { close_after },
        status: None,
        proofs: Vec::new(),
        usage: None,
    };
    bench.commit(handoff).await;
    bench.later(Duration::from_millis(4999));
    bench.run(idle::run);
    bench.event("t.x", "nobody", "{}").await;
    assert!(!bench.steps().await.contains(&"close_idle".to_owned()));
    bench.later(Duration::from_millis(1));
    bench.work_is(1, WorkStatus::Cancelled).await;
}

/// JOB-21
#[tokio::test]
async fn a_segment_that_hands_off_leaves_its_work_open_for_the_next_input() {
    let bench = Bench::new().await;
    bench.run(router::run);
    bench.run(scheduler::run);
    bench.event("t.a", "k", "{}").await;
    bench.double.asked(&Call::Observe).await;
    bench.double.ends(Exit::HandedOff { status: None, continuation: None });
    bench
        .work_where(1, |work| {
            work.attempt_status.is_some_and(|status| status.word() == "completed")
        })
        .await;
    bench.event("t.a", "k", "{}").await;
    bench.double.asked(&Call::Run { number: 2, epoch: 1, inputs: 1 }).await;
}

/// WAKE-27
#[tokio::test]
async fn an_attempt_whose_active_time_is_used_up_is_stopped_and_fails() {
    let bench = Bench::new().await;
    let seq = bench.event("t.a", "k", "{}").await;
    evaluation::route(&bench.context, seq).await;
    let by = bench.claim_as(WorkId(1), "b", Some(31_000)).await;
    bench.commit(Command::ClearNeverHanded { by }).await;
    bench.commit(Command::Pin { by, metadata: "left behind".to_owned() }).await;
    // A recovery continues the segment, and its time.
    bench.later(LEASE);
    bench.run(recovery::run);
    bench.double.asked(&Call::Observe).await;
    assert!(!bench.double.calls().contains(&Call::Stop));
    bench.later(Duration::from_secs(1));
    bench.work_is(1, WorkStatus::Ready).await;
    let attempt = bench.context.read(move |tx| attempts::referred(tx, by.work, by.attempt)).await;
    assert_eq!(attempt.expect("it reads").result.as_deref(), Some("timeout"));
    assert!(bench.double.calls().contains(&Call::Stop), "{:?}", bench.double.calls());
}

/// BIND-10: the configuration has another kind and another binding by now.
#[tokio::test]
async fn a_parked_attempt_goes_on_under_the_configuration_it_is_pinned_to() {
    let bench = Bench::with(true).await;
    bench.run(router::run);
    bench.run(scheduler::run);
    bench.run(vacate::run);
    bench.event("t.a", "k", "{}").await;
    bench.double.asked(&Call::Observe).await;
    let by = bench.authority(1).await;
    bench.waits(by, "k", None).await;
    bench.double.ends(Exit::Completed { status: None, continuation: None });
    bench.work_where(1, |work| work.marked.is_none()).await;

    let text = CONFIGURATION
        .replace("kind = \"k\"", "kind = \"other\"")
        .replace("kind.k]", "kind.other]")
        .replace("binding = \"b\"", "binding = \"new\"")
        .replace("binding.b]", "binding.new]");
    bench.reload(&text).await;

    bench.event("t.b", "k", "{}").await;
    bench.double.asked(&Call::Resume { epoch: 2 }).await;
    bench.work_is(1, WorkStatus::Completed).await;
    let attempt = bench.context.read(move |tx| attempts::referred(tx, by.work, by.attempt)).await;
    let pin = attempt.expect("it reads").pin;
    assert_eq!((pin.binding.as_str(), pin.generation.0), ("b", 1));
}

/// OURS-06
#[tokio::test]
async fn a_held_work_is_not_claimed_until_it_is_released() {
    let bench = Bench::new().await;
    let seq = bench.event("t.a", "k", "{}").await;
    evaluation::route(&bench.context, seq).await;
    let work = WorkId(1);
    bench.commit(Command::Hold { work, expect: None, reason: "not yet".to_owned() }).await;
    bench.run(scheduler::run);
    let other = bench.event("t.a", "other", "{}").await;
    evaluation::route(&bench.context, other).await;
    bench.work_is(2, WorkStatus::Running).await;
    let held = bench.context.read(move |tx| works::referred(tx, work)).await.expect("it reads");
    assert_eq!(held.status, WorkStatus::Ready);
    let request = crate::law::testing::request("r");
    let outcome = bench.commit(Command::Release { work, expect: None, request }).await;
    assert!(matches!(outcome, Outcome::Accepted(_)), "{outcome:?}");
    bench.work_is(1, WorkStatus::Running).await;
}

/// WAKE-27 ADOPT-18
#[tokio::test]
async fn a_result_that_was_there_before_the_time_was_up_is_committed_all_the_same() {
    let failed = || Exit::Failed {
        reason: "status 3".into(),
        status: None,
        continuation: None,
        retry_after: None,
    };
    let done = || Exit::Completed { status: None, continuation: None };
    for (exit, status, result) in
        [(done(), "completed", None), (failed(), "failed", Some("status 3"))]
    {
        let bench = Bench::new().await;
        let seq = bench.event("t.a", "k", "{}").await;
        evaluation::route(&bench.context, seq).await;
        let by = bench.claim_as(WorkId(1), "b", Some(31_000)).await;
        bench.commit(Command::ClearNeverHanded { by }).await;
        bench.commit(Command::Pin { by, metadata: "left behind".to_owned() }).await;
        bench.double.has_ended(exit);
        // No daemon looked for an hour.
        bench.later(Duration::from_secs(3600));
        bench.run(recovery::run);
        let ended = bench.until(move |tx| {
            let attempt = attempts::referred(tx, by.work, by.attempt).expect("it reads");
            attempt.ended_at.map(|_| attempt)
        });
        let ended = ended.await;
        assert_eq!((ended.status.word(), ended.result.as_deref()), (status, result));
    }
}

/// JOB-14
#[tokio::test]
async fn a_routed_work_is_standing_if_its_kind_says_so() {
    let kind = "[scope.main.kind.k]\n";
    let text = CONFIGURATION.replace(kind, &format!("{kind}standing = true\n"));
    for (text, standing) in [(CONFIGURATION, false), (text.as_str(), true)] {
        let bench = Bench::configured(false, text).await;
        let seq = bench.event("t.a", "k", "{}").await;
        evaluation::route(&bench.context, seq).await;
        let work = bench.context.read(|tx| works::referred(tx, WorkId(1))).await;
        assert_eq!(work.expect("it reads").standing, standing);
    }
}

/// OURS-08 OURS-12 OWN-06: its identity is the request's, and all else the sender's.
#[tokio::test]
async fn a_replay_is_routed_as_what_its_sender_said() {
    let when = r#"when = '!has(event.data.big) || event.data.big > 1'"#;
    let by_source = r#"when = 'event.source == "x:y"'
attach = '["also"]'"#;
    let bench = Bench::configured(false, &CONFIGURATION.replace(when, by_source)).await;
    let original = bench.event("t.a", "k", "{}").await;
    bench.commit(Command::Drop { event: original, reason: String::new() }).await;
    let mut last = original;
    for id in ["one", "two"] {
        let uid = type_safe_id::TypeSafeId::from_uuid(uuid::Uuid::now_v7());
        let limits = crate::domain::CausalLimits { max_depth: 32 };
        let request = crate::domain::Request { uid, id: id.to_owned(), limits };
        let replayed = bench.commit(Command::Replay { event: last, request }).await;
        let Outcome::Accepted(Receipt::Event { seq }) = replayed else { panic!("{replayed:?}") };
        assert_eq!(evaluation::route(&bench.context, seq).await, Routed::Done);
        let mark = bench.context.read(move |tx| pages::mark(tx, seq)).await.expect("it reads");
        assert_eq!(mark, Some((MarkKind::Queued, Some(WorkId(1)))));
        last = seq;
    }
    let keys = bench.context.read(|tx| keys::of_work(tx, WorkId(1))).await.expect("it reads");
    let keys: Vec<_> = keys.iter().map(|key| (&*key.source, &*key.external_id)).collect();
    assert_eq!(keys, [("x:y", "k"), ("x:y", "also")]);
}

/// A work that nothing started for long may have gathered any number of large events.
#[tokio::test]
async fn a_request_hands_over_no_more_than_fits_in_memory() {
    let bench = Bench::new().await;
    let large = format!(r#"{{"text":"{}"}}"#, "x".repeat(5 << 20));
    for _ in 0..3 {
        let seq = bench.event("t.a", "k", &large).await;
        evaluation::route(&bench.context, seq).await;
    }
    bench.run(scheduler::run);
    bench.double.asked(&Call::Run { number: 1, epoch: 1, inputs: 2 }).await;
}

#[tokio::test]
async fn idle_work_that_cannot_be_closed_yet_is_left_alone_for_a_while() {
    let bench = Bench::new().await;
    let by = bench.pinned("k", "b").await;
    let close_after = Some(crate::domain::Duration(5000));
    bench
        .commit(Command::Complete {
            by,
            ending: Ending::Handoff { close_after },
            status: None,
            proofs: Vec::new(),
            usage: None,
        })
        .await;
    // Nobody routes it, so that it may yet be input.
    bench.event("t.a", "k", "{}").await;
    bench.later(Duration::from_millis(5000));
    bench.run(idle::run);
    for _ in 0..10 {
        bench.event("t.x", "nobody", "{}").await;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let rows = bench.context.read(|tx| journal::since(tx, 0, 1000)).await.expect("it reads");
    assert_eq!(rows.iter().filter(|row| row.action == "close_idle").count(), 1);
}
