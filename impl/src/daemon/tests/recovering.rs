//! Taking over what another holder left, at every point where it can have left it.

use std::time::Duration;

use super::{Bench, Call};
use crate::command::Command;
use crate::daemon::{evaluation, recovery, vacate};
use crate::domain::{Incarnation, Phase, WorkId, WorkStatus};
use crate::extension::executor::Exit;
use crate::store::attempts;

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
    let calls = [Call::Recover(left.clone()), Call::Proceed(left), Call::Observe, Call::Report];
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
    let failed = bench.work_where(1, |work| work.failures == 1).await;
    assert!(failed.marked.is_some());
    assert_eq!(bench.double.calls(), [Call::Recover("left behind".to_owned())]);
    bench.run(vacate::run);
    bench.work_where(1, |work| work.marked.is_none()).await;
    assert_eq!(bench.double.calls().last(), Some(&Call::Stop));
}

/// OURS-21 POLICY-22: what was being launched at the backup may have been pinned after it, so its
/// mark is not lifted by what the database does not know.
#[tokio::test]
async fn what_may_have_started_after_the_backup_is_looked_for_before_its_mark_is_lifted() {
    for handed in [false, true] {
        let bench = Bench::new().await;
        let by = bench.claimed().await;
        if handed {
            bench.commit(Command::ClearNeverHanded { by }).await;
        }
        bench.commit(Command::Restore { above: Incarnation(1) }).await;
        let request = crate::domain::Request {
            uid: type_safe_id::TypeSafeId::from_uuid(uuid::Uuid::now_v7()),
            id: "ops/1".to_owned(),
            limits: crate::domain::CausalLimits { max_depth: 32 },
        };
        bench.commit(Command::ReleaseRestore { request }).await;
        bench.run(recovery::run);
        bench.work_where(1, |work| work.failures == 1 && work.marked.is_some()).await;
        assert_eq!(bench.double.calls(), [], "nothing is launched again");
        bench.run(vacate::run);
        super::soon(async {
            while bench.context.troubles.of_work(WorkId(1)).is_none() {
                tokio::task::yield_now().await;
            }
        })
        .await;
        assert!(bench.work_where(1, |_| true).await.marked.is_some());
        bench.double.finds(&["of another life"]);
        bench.work_where(1, |work| work.marked.is_none()).await;
        let calls = bench.double.calls();
        assert_eq!((calls.first(), calls.last()), (Some(&Call::Find), Some(&Call::Stop)));
        super::soon(async {
            while bench.context.troubles.of_work(WorkId(1)).is_some() {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }
}

/// ADOPT-07: where no life is forgotten, what an executor holds until its pin has not started.
#[tokio::test]
async fn what_was_held_and_never_pinned_is_not_looked_for() {
    let bench = Bench::new().await;
    let by = bench.claimed().await;
    bench.commit(Command::ClearNeverHanded { by }).await;
    let (work, reason) = (by.work, String::new());
    bench.commit(Command::Cancel { work, expect: None, for_good: false, reason }).await;
    bench.run(vacate::run);
    bench.work_where(1, |work| work.marked.is_none()).await;
    assert_eq!(bench.double.calls(), []);
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

/// ADOPT-02 ADOPT-03: whoever recovers has it in the database before it asks the executor, and holds
/// nobody up while the executor thinks.
#[tokio::test]
async fn a_takeover_is_recorded_before_the_executor_is_asked_and_blocks_no_commit() {
    let bench = Bench::new().await;
    pinned(&bench).await;
    bench.later(LEASE);
    bench.double.hold_launches(true);
    bench.run(recovery::run);
    bench.double.asked(&Call::Recover("left behind".to_owned())).await;
    let by = bench.authority(1).await;
    let read = bench.context.read(move |tx| attempts::referred(tx, by.work, by.attempt)).await;
    let attempt = read.expect("it reads");
    assert_eq!((attempt.phase, attempt.epoch.0), (Some(Phase::Recovering), 2));
    for key in ["a", "b", "c"] {
        bench.event("t.a", key, "{}").await;
    }
    bench.double.hold_launches(false);
    bench.double.ends(Exit::Completed { status: None, continuation: None });
    bench.work_is(1, WorkStatus::Completed).await;
}
