//! Sees out the processes of segments that have lost their authority: no attempt of their Work
//! starts before they are seen to have exited. POLICY-22 ADOPT-22 CANCEL-06

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::looping::{LookError, Next, look};
use crate::command::Command;
use crate::domain::{AttemptStatus, WorkId, WorkStatus, WorkUid};
use crate::extension::executor::{Executor, Exit, Metadata};
use crate::host::{Context, Pinned};
use crate::points::Point;
use crate::store::attempts::{self, Attempt};
use crate::store::reads::{self, Excluded};
use crate::store::{StoreError, meta, works};

pub(super) const NAME: &str = "vacate";

/// Works looked at in one read.
const LIMIT: u32 = 256;

/// Pause before a process is asked again; it doubles up to the longest.
const AGAIN: Duration = Duration::from_secs(1);
const AGAIN_MAX: Duration = Duration::from_secs(30);

/// Beyond its grace, how long a stop may take before it is begun anew.
const STOP_MAX: Duration = Duration::from_secs(60);

pub(super) async fn run(context: Arc<Context>) {
    look(&context, NAME, || pass(&context)).await;
}

async fn pass(context: &Arc<Context>) -> Result<Next, LookError> {
    // Whoever else has this database may have these processes, and be at work with them. OURS-21
    if context.read(meta::restored).await? {
        return Ok(Next::Commit);
    }
    let mut after = WorkId(0);
    loop {
        let page = context.read(move |tx| reads::excluded(tx, after, LIMIT)).await?;
        for excluded in &page {
            let Excluded { work, segment, .. } = *excluded;
            let Some(drive) = context.driven.see_out(work, segment) else { continue };
            let (context, excluded) = (Arc::clone(context), *excluded);
            tokio::spawn(async move {
                see_out(&context, excluded).await;
                drop(drive);
            });
        }
        match page.last() {
            Some(last) if page.len() >= LIMIT as usize => after = last.work,
            Some(_) | None => return Ok(Next::Commit),
        }
    }
}

/// What is read of a marked segment.
#[derive(Debug)]
struct Left {
    uid: WorkUid,
    attempt: Attempt,
    /// The attempt may have had a life that the database knows nothing of.
    restored: bool,
}

/// Until the process is seen to have exited, then lifts the mark.
async fn see_out(context: &Arc<Context>, excluded: Excluded) {
    let Excluded { work, segment, .. } = excluded;
    let mut pause = AGAIN;
    while let Err(why) = exited(context, excluded).await {
        tracing::warn!(row = %work, why, "a process is not seen to have exited");
        context.troubles.work(work, why);
        sleep(pause).await;
        pause = (pause * 2).min(AGAIN_MAX);
    }
    while let Err(error) = context.commit(NAME, Command::Vacate { work, segment }).await {
        tracing::warn!(row = %work, %error, "an exclusion mark could not be lifted");
        sleep(AGAIN).await;
    }
    context.troubles.clear_work(work);
}

/// Resolves once nothing of the segment runs; an error says why that cannot be seen.
async fn exited(context: &Arc<Context>, excluded: Excluded) -> Result<(), String> {
    let Excluded { work, segment, .. } = excluded;
    let left = context.read(move |tx| {
        let uid = works::referred(tx, work)?.uid;
        let attempt = attempts::referred(tx, work, segment.attempt)?;
        let restored = attempt.batch_epoch <= meta::incarnation(tx)?.floor();
        Ok(Left { uid, attempt, restored })
    });
    let Left { uid, attempt, restored } = left.await.map_err(|error| error.to_string())?;
    let Pinned { binding, executor, .. } = context.pinned(work, segment.attempt).await?;
    let grace = binding.stop_grace.std();
    let Some(metadata) = attempt.metadata.clone().map(Metadata) else {
        if attempt.pin.holds_until_pin && !restored {
            // Nothing to look at, and nothing to look for. ADOPT-07
            return Ok(());
        }
        return stop_found(context, &executor, &attempt, grace).await;
    };
    if !may_leave_by_itself(&attempt)
        || !leaves(context, &executor, &metadata, grace, work, uid).await
    {
        stop(context, &executor, &metadata, grace).await?;
    }
    tracing::info!(work = %uid, attempt = %segment.attempt, "its process has exited");
    Ok(())
}

/// Without metadata something may run all the same: because it was handed over and not held, or
/// because it was pinned after the backup that the database comes from. What the executor finds of
/// the attempt is ended; what it cannot look for is not seen to have exited. POLICY-22 OURS-21
async fn stop_found(
    context: &Context,
    executor: &Arc<dyn Executor>,
    attempt: &Attempt,
    grace: Duration,
) -> Result<(), String> {
    let found = executor.find(attempt.uid).await.map_err(|error| error.to_string())?;
    for metadata in &found {
        stop(context, executor, metadata, grace).await?;
    }
    tracing::info!(attempt = %attempt.uid, found = found.len(), "nothing of it runs");
    Ok(())
}

/// A process that registered a wait is about to exit. Any other has no business any more.
const fn may_leave_by_itself(attempt: &Attempt) -> bool {
    match attempt.status {
        AttemptStatus::Waiting | AttemptStatus::Parked => true,
        AttemptStatus::Running
        | AttemptStatus::Completed
        | AttemptStatus::Failed
        | AttemptStatus::Cancelled => false,
    }
}

/// Whether the process is seen to leave by itself in the time it has, or until its Work is
/// cancelled.
async fn leaves(
    context: &Context,
    executor: &Arc<dyn Executor>,
    metadata: &Metadata,
    grace: Duration,
    work: WorkId,
    uid: WorkUid,
) -> bool {
    tokio::select! {
        exit = executor.observe(metadata) => match exit {
            Exit::Completed { .. } | Exit::HandedOff { .. } | Exit::Failed { .. } => true,
            // Its holder is gone: that alone does not show that its processes are.
            Exit::Lost { .. } => false,
        },
        () = sleep(grace) => {
            tracing::warn!(work = %uid, "a process goes on after its wait was registered; it is stopped");
            false
        }
        () = cancelled(context, work) => false,
    }
}

async fn cancelled(context: &Context, work: WorkId) {
    let mut bell = context.bell();
    loop {
        bell.hears();
        let status = context.read(move |tx| status(tx, work)).await;
        if matches!(status, Ok(Some(WorkStatus::Cancelled))) {
            return;
        }
        if !bell.rings(None).await {
            std::future::pending::<()>().await;
        }
    }
}

fn status(tx: &mut dyn crate::store::Tx, work: WorkId) -> Result<Option<WorkStatus>, StoreError> {
    Ok(works::get(tx, work)?.map(|work| work.status))
}

async fn stop(
    context: &Context,
    executor: &Arc<dyn Executor>,
    metadata: &Metadata,
    grace: Duration,
) -> Result<(), String> {
    context.points.pass(Point::Stopping);
    match timeout(grace + STOP_MAX, executor.stop(metadata, grace)).await {
        Ok(Ok(stopped)) => {
            tracing::debug!(?stopped, "nothing of the segment runs");
            Ok(())
        }
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("its process does not end, killed or not".to_owned()),
    }
}
