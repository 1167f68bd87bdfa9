//! Failing, retrying and giving up; a restored database; and a daemon that stops.

use std::time::Duration;

use super::{Bench, Call, soon};
use crate::command::{Command, Outcome};
use crate::daemon::{
    detach, evaluation, idle, recovery, retries, router, scheduler, timers, vacate,
};
use crate::domain::{
    AttemptNo, Authority, CausalLimits, Ending, Hold, Incarnation, MarkKind, Millis, Request,
    WorkId, WorkStatus,
};
use crate::extension::executor::Exit;
use crate::store::attempts::{self, Attempt};
use crate::store::pages;

const DONE: Exit = Exit::Completed { status: None, continuation: None };
const LEASE: Duration = Duration::from_secs(30);
const MINUTE: Duration = Duration::from_secs(60);

fn failed() -> Exit {
    Exit::Failed {
        reason: "exit status 1".to_owned(),
        status: None,
        continuation: None,
        retry_after: None,
    }
}

fn request(id: &str) -> Request {
    let uid = type_safe_id::TypeSafeId::from_uuid(uuid::Uuid::now_v7());
    Request { uid, id: id.to_owned(), limits: CausalLimits { max_depth: 32 } }
}

/// The first Work, routed.
async fn ready(bench: &Bench) {
    let seq = bench.event("t.a", "k", "{}").await;
    evaluation::route(&bench.context, seq).await;
}

/// Something commits, so that every loop looks again.
async fn ring(bench: &Bench) {
    bench.event("u.nobody", "other", "{}").await;
}

fn runs(bench: &Bench) -> usize {
    let run = |call: &&Call| matches!(call, Call::Run { .. });
    bench.double.calls().iter().filter(run).count()
}

async fn attempt_of(bench: &Bench, by: Authority) -> Attempt {
    let read = bench.context.read(move |tx| attempts::referred(tx, by.work, by.attempt)).await;
    read.expect("it reads")
}

/// RETRY-04 RETRY-19 RETRY-20 L11
#[tokio::test]
async fn a_failed_attempt_is_tried_again_at_its_instant_and_not_before() {
    let bench = Bench::new().await;
    ready(&bench).await;
    bench.double.ends(failed());
    bench.run(router::run);
    bench.run(scheduler::run);
    bench.run(retries::run);
    bench.work_where(1, |work| work.failures == 1).await;
    bench.double.ends(DONE);
    bench.later(5 * MINUTE - Duration::from_millis(1));
    for _ in 0..5 {
        ring(&bench).await;
    }
    assert!(!bench.steps().await.contains(&"fire_retry".to_owned()));
    assert_eq!(runs(&bench), 1);
    bench.later(Duration::from_millis(1));
    ring(&bench).await;
    let work = bench.work_is(1, WorkStatus::Completed).await;
    assert_eq!((work.attempt, work.failures), (Some(AttemptNo(2)), 0));
    assert_eq!(runs(&bench), 2);
    let steps = bench.steps().await;
    assert_eq!(steps.iter().filter(|step| *step == "fire_retry").count(), 1, "{steps:?}");
}

/// T15: what never can be launched is three attempts, not a hot loop.
#[tokio::test]
async fn what_cannot_be_launched_is_tried_three_times_and_then_kept_for_a_person() {
    let bench = Bench::new().await;
    ready(&bench).await;
    bench.double.refuse_launches();
    bench.run(router::run);
    bench.run(scheduler::run);
    bench.run(retries::run);
    for failures in 1..=3 {
        bench.work_where(1, move |work| work.failures == failures).await;
        assert_eq!(runs(&bench), failures as usize);
        bench.later(10 * MINUTE);
        ring(&bench).await;
    }
    let work = bench.work_where(1, |work| work.holds.has(Hold::Exhausted)).await;
    let reason = work.reason.expect("it says why");
    assert!(reason.contains("no such program"), "{reason}");
    bench.later(1000 * MINUTE);
    for _ in 0..5 {
        ring(&bench).await;
    }
    assert_eq!(runs(&bench), 3);
}

/// RETRY-31, reading C19
#[tokio::test]
async fn a_work_does_not_fail_over_an_event_that_is_not_routed_yet() {
    let bench = Bench::new().await;
    ready(&bench).await;
    bench.run(scheduler::run);
    bench.double.asked(&Call::Observe).await;
    bench.damage(r#"UPDATE attempt SET retry = '[1,[],"fail",1000]'"#);
    let second = bench.event("t.a", "k", "{}").await;
    bench.double.ends(failed());
    let seen = |tx: &mut dyn crate::store::Tx| {
        let rows = crate::store::journal::since(tx, 0, 1000).expect("it reads");
        rows.iter().any(|row| row.action == "fail" && row.outcome == "conflict").then_some(())
    };
    bench.until(seen).await;
    evaluation::route(&bench.context, second).await;
    let work = bench.work_is(1, WorkStatus::Failed).await;
    assert_eq!(work.pending_count, 1);
}

/// E10
#[tokio::test]
async fn a_retry_of_a_damaged_work_keeps_no_other_from_firing() {
    let bench = Bench::new().await;
    for key in ["a", "b", "c"] {
        let by = bench.pinned(key, "b").await;
        let outcome = bench
            .commit(Command::Fail {
                by,
                reason: String::new(),
                hint: None,
                proofs: Vec::new(),
                usage: None,
            })
            .await;
        assert!(matches!(outcome, Outcome::Accepted(_)), "{outcome:?}");
    }
    bench.damage("UPDATE work SET uid = x'00' WHERE id = 1");
    bench.later(5 * MINUTE);
    bench.run(retries::run);
    for work in [2, 3] {
        bench.work_where(work, |work| work.backoff.is_some() && work.retry.is_none()).await;
    }
    soon(async {
        while bench.context.troubles.of_work(WorkId(1)).is_none() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// E10: a row that cannot be read, one whose retry the law knows nothing of, and one whose retry is
/// accepted already keep no other from firing, are shown, and are not asked for again and again.
#[tokio::test]
async fn a_retry_that_cannot_be_fired_is_shown_and_left_alone_for_a_while() {
    let bench = Bench::new().await;
    for key in ["a", "b", "c", "d"] {
        let by = bench.pinned(key, "b").await;
        bench
            .commit(Command::Fail {
                by,
                reason: String::new(),
                hint: None,
                proofs: Vec::new(),
                usage: None,
            })
            .await;
    }
    bench.later(5 * MINUTE);
    let (work, attempt) = (WorkId(3), AttemptNo(1));
    bench.commit(Command::FireRetry { work, attempt }).await;
    bench.damage(
        "UPDATE work SET backoff = 5000000000 WHERE id = 1; \
         UPDATE work SET backoff = 7 WHERE id = 2; \
         UPDATE work SET retry_at = 1, retry_disabled = 0 WHERE id = 3",
    );
    bench.context.troubles.work(WorkId(4), "its process is not seen to have exited");
    bench.run(retries::run);
    bench.work_where(4, |work| work.backoff.is_some() && work.retry.is_none()).await;
    for work in 1..=3 {
        soon(async {
            while bench.context.troubles.of_work(WorkId(work)).is_none() {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }
    for _ in 0..5 {
        ring(&bench).await;
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let rows = bench.context.read(|tx| crate::store::journal::since(tx, 0, 1000)).await;
    let idle = |row: &&crate::store::journal::JournalRow| {
        row.action == "fire_retry" && row.outcome != "accepted"
    };
    assert_eq!(rows.expect("it reads").iter().filter(idle).count(), 2);
    // What others say of a work is theirs to take back.
    assert!(bench.context.troubles.of_work(WorkId(4)).is_some());
    bench.damage("UPDATE work SET backoff = NULL, retry_at = NULL, retry_disabled = NULL");
    ring(&bench).await;
    soon(async {
        while bench.context.troubles.shown(9).0 > 1 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert!(bench.context.troubles.of_work(WorkId(4)).is_some());
}

/// OURS-21: nothing is due and nobody is stopped, and none of the loops asks for it in vain.
#[tokio::test]
async fn no_deadline_of_a_restored_database_counts_and_no_process_is_stopped() {
    let bench = Bench::new().await;
    let waiting = bench.pinned("waits", "b").await;
    bench.waits(waiting, "waits", Some(1000)).await;
    let failing = bench.pinned("fails", "b").await;
    bench
        .commit(Command::Fail {
            by: failing,
            reason: String::new(),
            hint: None,
            proofs: Vec::new(),
            usage: None,
        })
        .await;
    let idling = bench.pinned("idles", "b").await;
    let close_after = Some(crate::domain::Duration::seconds(1));
    let ending = Ending::Handoff { close_after };
    bench
        .commit(Command::Complete {
            by: idling,
            ending,
            status: None,
            proofs: Vec::new(),
            usage: None,
        })
        .await;
    let ended = bench.pinned("ends", "b").await;
    let (work, reason) = (ended.work, String::new());
    bench.commit(Command::Cancel { work, expect: None, for_good: false, reason }).await;
    bench.commit(Command::Restore { above: Incarnation(1) }).await;
    bench.later(10 * MINUTE);
    bench.run(timers::run);
    bench.run(retries::run);
    bench.run(idle::run);
    bench.run(vacate::run);
    for _ in 0..5 {
        ring(&bench).await;
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(bench.double.calls(), []);
    let rows = bench.context.read(|tx| crate::store::journal::since(tx, 0, 1000)).await;
    let deferred = |row: &&crate::store::journal::JournalRow| row.outcome == "deferred";
    assert_eq!(rows.expect("it reads").iter().filter(deferred).count(), 0, "it is not even asked");
    bench.commit(Command::ReleaseRestore { request: request("ops/1") }).await;
    bench.work_is(waiting.work.0, WorkStatus::Ready).await;
    bench.work_where(failing.work.0, |work| work.retry.is_none()).await;
    bench.work_is(idling.work.0, WorkStatus::Cancelled).await;
    bench.work_where(ended.work.0, |work| work.marked.is_none()).await;
}

/// LEASE-07 OURS-19: between a stop and the end of its lease a segment is not taken any further.
#[tokio::test]
async fn a_launch_under_way_at_a_stop_is_left_and_its_lease_given_up() {
    let bench = Bench::new().await;
    ready(&bench).await;
    bench.double.hold_launches(true);
    bench.run(scheduler::run);
    bench.double.asked(&Call::Run { number: 1, epoch: 1, inputs: 1 }).await;
    let by = bench.authority(1).await;
    bench.stop();
    soon(bench.context.driven.let_go()).await;
    bench.double.hold_launches(false);
    assert_eq!(bench.context.driven.count(), 0);
    assert_eq!(bench.context.driven.held(), [by]);
    detach(&bench.context, &mut Vec::new()).await;
    assert_eq!(runs(&bench), bench.double.calls().len(), "nothing else was asked");
    let attempt = attempt_of(&bench, by).await;
    assert_eq!(attempt.phase, Some(crate::domain::Phase::Handed));
    assert!(attempt.expires_at <= Some(bench.context.now()));
}

/// L05 LEASE-08: of two recoverers that look at once, one asks the executor.
#[tokio::test]
async fn of_two_recoverers_one_takes_over_and_the_other_calls_nobody() {
    let bench = Bench::new().await;
    bench.pinned("k", "b").await;
    bench.later(LEASE);
    bench.run(recovery::run);
    bench.run(recovery::run);
    bench.double.ends(DONE);
    bench.work_is(1, WorkStatus::Completed).await;
    let recovers = bench.double.calls().into_iter().filter(|call| matches!(call, Call::Recover(_)));
    assert_eq!(recovers.count(), 1);
}

/// S14: it is shown, it is ready, and it starts once it can be written.
#[tokio::test]
async fn a_claim_that_cannot_be_written_leaves_its_work_ready_and_is_shown() {
    let bench = Bench::new().await;
    ready(&bench).await;
    bench.damage("UPDATE work SET pending_count = 7");
    bench.run(scheduler::run);
    soon(async {
        while bench.context.troubles.of_work(WorkId(1)).is_none() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let work = bench.work_is(1, WorkStatus::Ready).await;
    assert_eq!((work.attempt, runs(&bench)), (None, 0));
    bench.damage("UPDATE work SET pending_count = 1");
    bench.double.ends(DONE);
    // Another start, for the first one leaves it alone for a while.
    bench.run(scheduler::run);
    bench.work_is(1, WorkStatus::Completed).await;
}

/// OURS-21
#[tokio::test]
async fn nothing_of_a_restored_database_starts_before_it_is_released() {
    let bench = Bench::new().await;
    bench.pinned("running", "b").await;
    let seq = bench.event("t.a", "ready", "{}").await;
    bench.commit(Command::Restore { above: Incarnation(1) }).await;
    bench.later(10 * LEASE);
    bench.run(router::run);
    bench.run(scheduler::run);
    bench.run(recovery::run);
    // Routing goes on.
    let mark = bench.until(move |tx| pages::mark(tx, seq).expect("it reads")).await;
    assert_eq!(mark, (MarkKind::Queued, Some(WorkId(2))));
    for _ in 0..5 {
        ring(&bench).await;
    }
    assert_eq!(bench.double.calls(), []);
    let rows = bench.context.read(|tx| crate::store::journal::since(tx, 0, 1000)).await;
    let deferred = |row: &&crate::store::journal::JournalRow| row.outcome == "deferred";
    assert_eq!(rows.expect("it reads").iter().filter(deferred).count(), 0, "it is not even asked");
    bench.double.ends(DONE);
    bench.commit(Command::ReleaseRestore { request: request("ops/1") }).await;
    bench.work_is(2, WorkStatus::Completed).await;
    let adopted = bench.work_is(1, WorkStatus::Completed).await;
    assert_eq!(adopted.epoch.map(|epoch| epoch.0), Some(1_000_000_001));
}

/// OURS-19, decision 12
#[tokio::test]
async fn a_daemon_that_stops_gives_up_its_leases_and_touches_no_process() {
    let bench = Bench::new().await;
    for key in ["a", "b"] {
        let seq = bench.event("t.a", key, "{}").await;
        evaluation::route(&bench.context, seq).await;
    }
    bench.run(scheduler::run);
    for number in [1, 2] {
        bench.work_is(number, WorkStatus::Running).await;
    }
    let held = [bench.authority(1).await, bench.authority(2).await];
    for by in held {
        let pinned = move |tx: &mut dyn crate::store::Tx| {
            let attempt = attempts::referred(tx, by.work, by.attempt).expect("it reads");
            attempt.metadata
        };
        bench.until(pinned).await;
    }
    bench.stop();
    let mut given = Vec::new();
    for _ in 0..2 {
        // The second time finds nothing more to give up.
        detach(&bench.context, &mut given).await;
    }
    let now = bench.context.now();
    for by in held {
        let attempt = attempt_of(&bench, by).await;
        assert!(attempt.expires_at <= Some(now));
        assert_eq!((attempt.epoch, attempt.token), (by.epoch, Some(by.token)));
        let late = bench.commit(Command::Complete {
            by,
            ending: Ending::Completed,
            status: None,
            proofs: Vec::new(),
            usage: None,
        });
        let refused = Outcome::Refused(crate::command::Refusal::LeaseExpired);
        assert_eq!(late.await, refused);
    }
    let calls = bench.double.calls();
    let touched = |call: &&Call| matches!(call, Call::Stop | Call::Release(_));
    assert_eq!(calls.iter().find(touched), None, "{calls:?}");
    let rows = bench.context.read(|tx| crate::store::journal::since(tx, 0, 1000)).await;
    let rows = rows.expect("it reads");
    assert_eq!(rows.iter().filter(|row| row.action == "detach").count(), 2);
    // Whatever else it may be asked for, it claims nothing more.
    let third = bench.event("t.a", "c", "{}").await;
    evaluation::route(&bench.context, third).await;
    bench.run(scheduler::run);
    bench.run(recovery::run);
    assert_eq!(bench.work_is(3, WorkStatus::Ready).await.attempt, None);
}

/// OURS-19 OURS-20 LEASE-07: a launch that is under way at a stop hands nothing over.
#[tokio::test]
async fn a_launch_that_a_detach_overtakes_is_let_go_and_launched_again_by_the_next() {
    let bench = Bench::new().await;
    ready(&bench).await;
    bench.double.hold_launches(true);
    bench.run(scheduler::run);
    bench.double.asked(&Call::Run { number: 1, epoch: 1, inputs: 1 }).await;
    detach(&bench.context, &mut Vec::new()).await;
    bench.double.hold_launches(false);
    bench.double.asked(&Call::Release("segment 1-1".to_owned())).await;
    let calls = bench.double.calls();
    assert!(!calls.iter().any(|call| matches!(call, Call::Proceed(_))), "{calls:?}");
    // At once: the next daemon does not wait for the end of a lease.
    bench.double.ends(DONE);
    bench.run(recovery::run);
    let work = bench.work_is(1, WorkStatus::Completed).await;
    assert_eq!((work.attempt, work.failures), (Some(AttemptNo(1)), 0));
    assert!(bench.double.calls().contains(&Call::Run { number: 1, epoch: 2, inputs: 1 }));
}

#[tokio::test]
async fn a_daemon_that_holds_nothing_detaches_nothing() {
    let bench = Bench::new().await;
    bench.claimed().await;
    detach(&bench.context, &mut Vec::new()).await;
    let by = bench.authority(1).await;
    let attempt = attempt_of(&bench, by).await;
    assert!(attempt.expires_at > Some(Millis(bench.context.now().0)), "it is another's");
}

/// OURS-24 RETRY-26: what the failed attempt was handed is shown to the next, and is not its input.
#[tokio::test]
async fn the_next_attempt_is_shown_what_the_failed_one_was_handed_and_is_handed_the_retry() {
    let bench = Bench::new().await;
    let by = bench.claimed().await;
    bench
        .commit(Command::Fail {
            by,
            reason: String::new(),
            hint: None,
            proofs: Vec::new(),
            usage: None,
        })
        .await;
    let (work, expect) = (by.work, Some(by.attempt));
    bench.commit(Command::Retry { work, expect, request: request("ops/1") }).await;
    let by = bench.claim().await;
    let token = crate::domain::Token::from_bytes([1; 32]);
    let asked = crate::host::request(&bench.context, by, token).await;
    let asked = asked.expect("it reads").expect("it is there");
    let types = |events: &[serde_json::Value]| -> Vec<String> {
        events.iter().map(|event| event["type"].as_str().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(
        (asked.number, types(&asked.inputs)),
        (AttemptNo(2), vec!["core.retry.requested".to_owned()])
    );
    let previous = asked.previous.expect("there was one");
    assert_eq!(previous.number, AttemptNo(1));
    assert_eq!(previous.status, crate::domain::AttemptStatus::Failed);
    assert_eq!(previous.trigger.map(|event| event["type"] == "t.a"), Some(true));
    assert_eq!(types(&previous.inputs), ["t.a"]);
    assert_eq!((asked.earlier, asked.earlier_left), (vec![], 0));
    let row = bench.context.read(move |tx| pages::work(tx, work)).await.expect("it reads");
    assert_eq!(row.map(|row| row.work.pending_count), Some(0));
}

/// OURS-24: a retry of a retry is still about what the first attempt was handed.
#[tokio::test]
async fn an_attempt_after_several_failures_is_shown_what_all_of_them_were_handed() {
    let bench = Bench::new().await;
    let by = bench.pinned("k", "b").await;
    let work = by.work;
    let ending = Ending::Handoff { close_after: None };
    bench
        .commit(Command::Complete { by, ending, status: None, proofs: Vec::new(), usage: None })
        .await;
    for event_type in ["t.first", "t.second", "t.third"] {
        let seq = bench.event(event_type, "k", "{}").await;
        evaluation::route(&bench.context, seq).await;
        if event_type != "t.first" {
            bench.commit(Command::Retry { work, expect: None, request: request(event_type) }).await;
        }
        let by = bench.claim().await;
        bench
            .commit(Command::Fail {
                by,
                reason: String::new(),
                hint: None,
                proofs: Vec::new(),
                usage: None,
            })
            .await;
    }
    bench.commit(Command::Retry { work, expect: None, request: request("last") }).await;
    let by = bench.claim().await;
    let token = crate::domain::Token::from_bytes([1; 32]);
    let asked = crate::host::request(&bench.context, by, token).await;
    let asked = asked.expect("it reads").expect("it is there");
    let types = |events: &[serde_json::Value]| -> Vec<String> {
        events.iter().map(|event| event["type"].as_str().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(types(&asked.inputs), ["core.retry.requested"]);
    let previous = asked.previous.as_ref().expect("there was one");
    assert_eq!(types(&previous.inputs), ["t.third", "core.retry.requested"]);
    // Not what the one before them, which did not fail, was handed.
    assert_eq!(types(&asked.earlier), ["t.first", "t.second", "core.retry.requested"]);
    assert_eq!(asked.earlier_left, 0);
    let file = crate::extension::request::RequestFile::from(&asked);
    assert_eq!((file.earlier, file.earlier_left), (asked.earlier, 0));
}
