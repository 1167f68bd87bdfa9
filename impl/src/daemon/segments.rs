//! One running segment, from the claim to its result: the order of an executor's calls and of the
//! commits between them. Losing the lease ends it at any point, and nothing more is handed over.
//! LEASE-07

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::lease::{Lease, Lost};
use crate::command::{Command, Outcome, Receipt, Refusal};
use crate::domain::{StartReason, Token, Verdict, WorkUid};
use crate::extension::executor::{
    Credentials, Executor, Exit, LaunchError, Metadata, NotAdoptable, RunRequest,
};
use crate::host::Context;

/// Pause before what should have worked is tried again.
const AGAIN: Duration = Duration::from_secs(1);

/// A takeover that takes longer is given up; the next one begins when the lease has ended.
const RECOVER_MAX: Duration = Duration::from_secs(60);

/// A claimed segment and what runs it.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) context: Arc<Context>,
    pub(super) lease: Lease,
    pub(super) executor: Arc<dyn Executor>,
    pub(super) token: Token,
    /// The Work, as people know it.
    pub(super) uid: WorkUid,
}

/// A segment that nothing was started of: launches it and sees it to its end.
pub(super) async fn launch(held: Held) {
    let ended = run_to_end(&held).await;
    finish(&held, &ended);
}

/// A segment that was started under an earlier claim: takes it over and sees it to its end.
/// ADOPT-13 ADOPT-17
pub(super) async fn adopt(held: Held, metadata: Option<String>) {
    let ended = take_over(&held, metadata.map(Metadata)).await;
    finish(&held, &ended);
}

fn finish(held: &Held, ended: &Result<Outcome, Lost>) {
    let by = held.lease.by();
    let (work, attempt) = (held.uid, by.attempt);
    held.context.troubles.clear_work(by.work);
    match ended {
        Ok(Outcome::Accepted(Receipt::Ended { status, .. })) => {
            tracing::info!(%work, %attempt, work_is = ?status, "attempt ended");
        }
        // A process that registered a wait, or whose Work was cancelled, ends without authority.
        Ok(_) | Err(Lost) => tracing::info!(%work, %attempt, "attempt left: its authority is gone"),
    }
}

async fn run_to_end(held: &Held) -> Result<Outcome, Lost> {
    let by = held.lease.by();
    let request = match held.lease.hold(prepare(held)).await? {
        Ok(request) => request,
        Err(why) => return fail(held, why).await,
    };
    // From this commit on the record says that an executor may have it. ADOPT-06
    allowed(&held.lease.commit(Command::ClearNeverHanded { by }).await?)?;
    let metadata = match held.lease.hold(start(held, &request)).await? {
        Ok(metadata) => metadata,
        Err(error) => return fail(held, format!("it could not be launched: {error}")).await,
    };
    pin(held, &metadata).await?;
    see_through(held, &metadata).await
}

/// Reads what the segment is handed. The store may be out of reach for a moment; a row that is
/// missing stays missing.
async fn prepare(held: &Held) -> Result<RunRequest, String> {
    let by = held.lease.by();
    loop {
        match crate::host::request(&held.context, by, held.token.clone()).await {
            Ok(Some(request)) => return Ok(request),
            Ok(None) => return Err("its attempt cannot be found".to_owned()),
            Err(error) => {
                tracing::warn!(work = %held.uid, %error, "cannot read what a segment is handed");
                sleep(AGAIN).await;
            }
        }
    }
}

async fn start(held: &Held, request: &RunRequest) -> Result<Metadata, LaunchError> {
    match request.reason {
        StartReason::Start | StartReason::Next => held.executor.run(request).await,
        StartReason::Resume => held.executor.resume(request).await,
    }
}

/// Saves the metadata, or lets go of what has not proceeded. OURS-20
async fn pin(held: &Held, metadata: &Metadata) -> Result<(), Lost> {
    let command = Command::Pin { by: held.lease.by(), metadata: metadata.0.clone() };
    let pinned = held.lease.commit(command).await.and_then(|outcome| allowed(&outcome));
    if pinned.is_err() {
        held.executor.release(metadata);
    }
    pinned
}

async fn take_over(held: &Held, metadata: Option<Metadata>) -> Result<Outcome, Lost> {
    let by = held.lease.by();
    let Some(metadata) = metadata else {
        return refuse_adoption(held, "nothing of it was pinned, so nothing can be found").await;
    };
    let credentials = Credentials { epoch: by.epoch, token: held.token.clone() };
    let recovered =
        tokio::time::timeout(RECOVER_MAX, held.executor.recover(&metadata, &credentials));
    match held.lease.hold(recovered).await? {
        Ok(Ok(())) => {}
        Ok(Err(NotAdoptable { reason })) => return refuse_adoption(held, &reason).await,
        Err(_) => {
            tracing::warn!(work = %held.uid, "a takeover did not end in time; it is tried again");
            return Err(Lost);
        }
    }
    let command = Command::SettleRecovery { by, verdict: Verdict::Adopted, reason: String::new() };
    allowed(&held.lease.commit(command).await?)?;
    see_through(held, &metadata).await
}

/// Ends the attempt under the recoverer's own claim; its process is seen out elsewhere. ADOPT-20
/// ADOPT-22
async fn refuse_adoption(held: &Held, reason: &str) -> Result<Outcome, Lost> {
    let by = held.lease.by();
    let reason = format!("its process could not be taken over: {reason}");
    tracing::warn!(work = %held.uid, attempt = %by.attempt, reason, "not adoptable");
    let verdict = Verdict::NotAdoptable;
    held.lease.commit(Command::SettleRecovery { by, verdict, reason }).await
}

/// Lets a pinned segment proceed and commits what came of it.
async fn see_through(held: &Held, metadata: &Metadata) -> Result<Outcome, Lost> {
    match held.lease.hold(watch(held, metadata)).await? {
        Exit::Completed { status, .. } => complete(held, status).await,
        Exit::Failed { reason, .. } => fail(held, reason).await,
        Exit::Lost { reason } => {
            held.lease.hold(stop(held, metadata, &reason)).await?;
            fail(held, format!("its result is lost: {reason}")).await
        }
    }
}

/// Resolves when the segment has ended. What could not be told to proceed is told again, unless it
/// has ended meanwhile.
async fn watch(held: &Held, metadata: &Metadata) -> Exit {
    while let Err(error) = held.executor.proceed(metadata).await {
        tracing::warn!(work = %held.uid, %error, "a segment does not proceed yet");
        tokio::select! {
            exit = held.executor.observe(metadata) => return exit,
            () = sleep(AGAIN) => {}
        }
    }
    held.executor.observe(metadata).await
}

/// A segment whose holder is gone may still have processes, and the attempt does not end over them:
/// nothing would keep the next one from starting. ADOPT-22
async fn stop(held: &Held, metadata: &Metadata, reason: &str) {
    let grace = held.context.config.scope.binding.stop_grace.std();
    let work = held.lease.by().work;
    let uid = held.uid;
    tracing::warn!(work = %uid, reason, "the holder of a process is gone; what it left is stopped");
    while let Err(error) = held.executor.stop(metadata, grace).await {
        held.context.troubles.work(work, format!("its process cannot be stopped: {error}"));
        tracing::warn!(work = %uid, %error, "cannot stop what is left of a segment");
        sleep(AGAIN).await;
    }
    held.context.troubles.clear_work(work);
}

/// Completes, or waits until what was accepted meanwhile is routed. DONE-02
async fn complete(held: &Held, status: Option<String>) -> Result<Outcome, Lost> {
    let mut bell = held.context.bell();
    loop {
        bell.hears();
        let command = Command::Complete { by: held.lease.by(), status: status.clone() };
        match held.lease.commit(command).await? {
            Outcome::Conflict => {
                held.lease.hold(bell.rings(None)).await?;
                if held.context.stopping() {
                    return Err(Lost);
                }
            }
            outcome @ (Outcome::Accepted(_)
            | Outcome::Duplicate(_)
            | Outcome::Deferred(_)
            | Outcome::Refused(_)) => return Ok(outcome),
        }
    }
}

async fn fail(held: &Held, reason: String) -> Result<Outcome, Lost> {
    let by = held.lease.by();
    tracing::warn!(work = %held.uid, attempt = %by.attempt, reason, "attempt failed");
    held.lease.commit(Command::Fail { by, reason }).await
}

/// A step under authority either is true now or means that the authority is gone.
fn allowed(outcome: &Outcome) -> Result<(), Lost> {
    match outcome {
        Outcome::Accepted(_) | Outcome::Duplicate(_) => Ok(()),
        Outcome::Refused(Refusal::StaleAuthority | Refusal::LeaseExpired) => Err(Lost),
        Outcome::Deferred(_) | Outcome::Conflict | Outcome::Refused(_) => {
            tracing::error!(?outcome, "a step under authority was answered out of turn");
            Err(Lost)
        }
    }
}
