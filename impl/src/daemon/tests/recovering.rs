//! Taking over what another holder left, at every point where it can have left it.

use std::time::Duration;

use super::{Bench, Call};
use crate::command::Command;
use crate::daemon::{evaluation, recovery, vacate};
use crate::domain::{Hold, WorkId, WorkStatus};
use crate::extension::executor::Exit;

const LEASE: Duration = Duration::from_secs(30);

async fn pinned(bench: &Bench) {
    let by = bench.claimed().await;
    bench.commit(Command::ClearNeverHanded { by }).await;
    bench.commit(Command::Pin { by, metadata: "left behind".to_owned() }).await;
}

/// LEASE-09
#[tokio::test]
async fn a_live_lease_is_not_taken_over() {
    let bench = Bench::new().await;
    pinned(&bench).await;
    bench.later(LEASE - Duration::from_millis(1));
    bench.run(recovery::run);
    bench.event("t.c", "other", "{}").await;
    bench.later(Duration::from_millis(1));
    bench.double.asked(&Call::Recover("left behind".to_owned())).await;
}

/// ADOPT-05 ADOPT-10 ADOPT-11
#[tokio::test]
async fn what_was_never_handed_over_is_launched_again_as_itself() {
    for handed in [false, true] {
        let bench = Bench::new().await;
        let by = bench.claimed().await;
        if handed {
            bench.commit(Command::ClearNeverHanded { by }).await;
        }
        bench.later(LEASE);
        bench.run(recovery::run);
        bench.double.ends(Exit::Completed { status: None, continuation: None });
        let work = bench.work_is(1, WorkStatus::Completed).await;
        assert_eq!((work.attempt.map(|n| n.0), work.failures), (Some(1), 0));
        let calls = bench.double.calls();
        assert_eq!(calls[0], Call::Run { number: 1, epoch: 2, inputs: 1 }, "{calls:?}");
        assert!(!calls.iter().any(|call| matches!(call, Call::Recover(_))));
    }
}

/// ADOPT-01 ADOPT-04 ADOPT-13 ADOPT-17 ADOPT-18
#[tokio::test]
async fn what_was_pinned_is_adopted_and_its_result_committed_once() {
    let bench = Bench::new().await;
    pinned(&bench).await;
    bench.later(LEASE);
    bench.run(recovery::run);
    bench.double.ends(Exit::Completed { status: None, continuation: None });
    let work = bench.work_is(1, WorkStatus::Completed).await;
    assert_eq!(work.epoch.map(|epoch| epoch.0), Some(2));
    let left = "left behind".to_owned();
    let calls = [Call::Recover(left.clone()), Call::Proceed(left), Call::Observe];
    assert_eq!(bench.double.calls(), calls);
}

/// ADOPT-19 ADOPT-20 ADOPT-22
#[tokio::test]
async fn what_cannot_be_adopted_fails_and_is_stopped_before_anything_else_starts() {
    let bench = Bench::new().await;
    pinned(&bench).await;
    bench.double.forget();
    bench.later(LEASE);
    bench.run(recovery::run);
    let failed = bench.work_where(1, |work| work.holds.has(Hold::Exhausted)).await;
    assert!(failed.marked.is_some());
    assert_eq!(bench.double.calls(), [Call::Recover("left behind".to_owned())]);
    bench.run(vacate::run);
    bench.work_where(1, |work| work.marked.is_none()).await;
    assert_eq!(bench.double.calls().last(), Some(&Call::Stop));
}

/// CANCEL-06
#[tokio::test]
async fn the_process_of_a_cancelled_work_is_stopped() {
    let bench = Bench::new().await;
    pinned(&bench).await;
    bench
        .commit(Command::Cancel {
            work: WorkId(1),
            expect: None,
            for_good: false,
            reason: "no".to_owned(),
        })
        .await;
    bench.run(vacate::run);
    bench.work_where(1, |work| work.marked.is_none()).await;
    assert_eq!(bench.double.calls(), [Call::Stop]);
}

/// A binding that is missing costs nothing: the attempt goes on when it is back.
#[tokio::test]
async fn an_attempt_of_a_binding_that_is_not_configured_is_left_as_it_is() {
    let bench = Bench::new().await;
    let seq = bench.event("t.a", "k", "{}").await;
    evaluation::route(&bench.context, seq).await;
    bench.claim_under("gone").await;
    bench.later(LEASE);
    bench.run(recovery::run);
    super::soon(async {
        while bench.context.troubles.of_work(WorkId(1)).is_none() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let work = bench.work_is(1, WorkStatus::Running).await;
    assert_eq!((work.failures, bench.double.calls().len()), (0, 0));
}
