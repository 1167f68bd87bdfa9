//! One running segment, from the claim to its result: the order of an executor's calls and of the
//! commits between them. Losing the lease ends it at any point, and nothing more is handed over.
//! LEASE-07

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::lease::{Lease, Lost};
use crate::command::{Command, Outcome, Receipt, Refusal};
use crate::domain::{Ending, RetryHint, StartReason, Token, Verdict, WorkUid};
use crate::extension::executor::{
    Credentials, Exit, LaunchError, Metadata, NotAdoptable, RunRequest, Stopped,
};
use crate::host::{Context, Pinned};
use crate::store::attempts;

/// Pause before what should have worked is tried again.
const AGAIN: Duration = Duration::from_secs(1);

/// The reason of an attempt that used up its active time. WAKE-27
const TIMEOUT: &str = "timeout";

/// An executor that knows how a stopped segment ended says so within this time.
const RECORDED_MAX: Duration = Duration::from_secs(3);

/// A takeover that takes longer is given up; the next one begins when the lease has ended.
const RECOVER_MAX: Duration = Duration::from_secs(60);

/// A claimed segment and what runs it.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) context: Arc<Context>,
    pub(super) lease: Lease,
    /// What its attempt is pinned to.
    pub(super) pinned: Pinned,
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
        Err(why) => return fail(held, why, None).await,
    };
    // From this commit on the record says that an executor may have it. ADOPT-06
    allowed(&held.lease.commit(Command::ClearNeverHanded { by }).await?)?;
    let metadata = match held.lease.hold(start(held, &request)).await? {
        Ok(metadata) => metadata,
        Err(error) => return fail(held, format!("it could not be launched: {error}"), None).await,
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
        StartReason::Start | StartReason::Next => held.pinned.executor.run(request).await,
        StartReason::Resume => held.pinned.executor.resume(request).await,
    }
}

/// Saves the metadata, or lets go of what has not proceeded. OURS-20
async fn pin(held: &Held, metadata: &Metadata) -> Result<(), Lost> {
    let command = Command::Pin { by: held.lease.by(), metadata: metadata.0.clone() };
    let pinned = held.lease.commit(command).await.and_then(|outcome| allowed(&outcome));
    if pinned.is_err() {
        held.pinned.executor.release(metadata);
    }
    pinned
}

async fn take_over(held: &Held, metadata: Option<Metadata>) -> Result<Outcome, Lost> {
    let by = held.lease.by();
    let Some(metadata) = metadata else {
        return refuse_adoption(held, "nothing of it was pinned, so nothing can be found").await;
    };
    let credentials = Credentials { epoch: by.epoch, token: held.token.clone() };
    let recovered = timeout(RECOVER_MAX, held.pinned.executor.recover(&metadata, &credentials));
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
    end(held, &Command::SettleRecovery { by, verdict, reason }).await
}

/// Lets a pinned segment proceed and commits what came of it, unless its active time ends first.
/// WAKE-27
async fn see_through(held: &Held, metadata: &Metadata) -> Result<Outcome, Lost> {
    let ended = held.lease.hold(async {
        tokio::select! {
            biased;
            exit = watch(held, metadata) => Some(exit),
            () = spent(held) => None,
        }
    });
    let exit = match ended.await? {
        Some(exit) => exit,
        None => held.lease.hold(overrun(held, metadata)).await?,
    };
    match exit {
        Exit::Completed { status, .. } => complete(held, Ending::Completed, status).await,
        Exit::HandedOff { status, .. } => {
            let close_after = held.pinned.close_after;
            complete(held, Ending::Handoff { close_after }, status).await
        }
        Exit::Failed { reason, retry_after, .. } => fail(held, reason, retry_after).await,
        Exit::Lost { reason } => {
            held.lease.hold(stop(held, metadata, &reason)).await?;
            fail(held, format!("its result is lost: {reason}"), None).await
        }
    }
}

/// What came of a segment that used up its active time: it is stopped, and yet a result that it has
/// is not thrown away. It may have ended in time, while no daemon looked. WAKE-27 ADOPT-18
async fn overrun(held: &Held, metadata: &Metadata) -> Exit {
    let stopped = stop(held, metadata, "its active time is used up").await;
    let recorded = timeout(RECORDED_MAX, held.pinned.executor.observe(metadata)).await.ok();
    match recorded {
        Some(exit @ (Exit::Completed { .. } | Exit::HandedOff { .. })) => exit,
        // Nothing of it ran any more, so this is not how it took the signal.
        Some(exit @ Exit::Failed { .. }) if !stopped.signalled => exit,
        Some(Exit::Failed { .. } | Exit::Lost { .. }) | None => {
            let reason = TIMEOUT.to_owned();
            Exit::Failed { reason, status: None, continuation: None, retry_after: None }
        }
    }
}

/// Resolves at the instant from which the attempt has no active time left; never, if it may use as
/// much as it takes. Trusted time decides, so that a recovery continues it. WAKE-27 WAKE-28
async fn spent(held: &Held) {
    let by = held.lease.by();
    let ends_at = loop {
        let read = held.context.read(move |tx| attempts::referred(tx, by.work, by.attempt)).await;
        match read {
            Ok(attempt) => break attempt.active_left.map(|left| attempt.segment_at + left),
            Err(error) => {
                tracing::warn!(work = %held.uid, %error, "cannot read how long a segment may run");
                sleep(AGAIN).await;
            }
        }
    };
    let Some(ends_at) = ends_at else { return std::future::pending().await };
    loop {
        let left = ends_at.0.saturating_sub(held.context.now().0);
        if left <= 0 {
            return;
        }
        // Short steps: trusted time may be set ahead while this sleeps.
        let left = Duration::from_millis(u64::try_from(left).unwrap_or(u64::MAX));
        sleep(left.min(AGAIN)).await;
    }
}

/// Resolves when the segment has ended. What could not be told to proceed is told again, unless it
/// has ended meanwhile.
async fn watch(held: &Held, metadata: &Metadata) -> Exit {
    while let Err(error) = held.pinned.executor.proceed(metadata).await {
        tracing::warn!(work = %held.uid, %error, "a segment does not proceed yet");
        tokio::select! {
            exit = held.pinned.executor.observe(metadata) => return exit,
            () = sleep(AGAIN) => {}
        }
    }
    held.pinned.executor.observe(metadata).await
}

/// A segment whose holder is gone may still have processes, and the attempt does not end over them:
/// nothing would keep the next one from starting. ADOPT-22
async fn stop(held: &Held, metadata: &Metadata, reason: &str) -> Stopped {
    let grace = held.pinned.binding.stop_grace.std();
    let work = held.lease.by().work;
    let uid = held.uid;
    tracing::warn!(work = %uid, reason, "what is left of a segment is stopped");
    loop {
        match held.pinned.executor.stop(metadata, grace).await {
            Ok(stopped) => {
                held.context.troubles.clear_work(work);
                return stopped;
            }
            Err(error) => {
                held.context.troubles.work(work, format!("its process cannot be stopped: {error}"));
                tracing::warn!(work = %uid, %error, "cannot stop what is left of a segment");
                sleep(AGAIN).await;
            }
        }
    }
}

async fn complete(held: &Held, ending: Ending, status: Option<String>) -> Result<Outcome, Lost> {
    end(held, &Command::Complete { by: held.lease.by(), ending, status }).await
}

async fn fail(held: &Held, reason: String, hint: Option<RetryHint>) -> Result<Outcome, Lost> {
    let by = held.lease.by();
    tracing::warn!(work = %held.uid, attempt = %by.attempt, reason, "attempt failed");
    end(held, &Command::Fail { by, reason, hint }).await
}

/// Ends the attempt, or waits until what was accepted meanwhile is routed, and then says the same
/// again: an end of the Work does not pass over its news. DONE-02 RETRY-31
async fn end(held: &Held, ending: &Command) -> Result<Outcome, Lost> {
    let mut bell = held.context.bell();
    loop {
        bell.hears();
        match held.lease.commit(ending.clone()).await? {
            Outcome::Conflict => {
                held.lease.hold(bell.rings(None)).await?;
            }
            outcome @ (Outcome::Accepted(_)
            | Outcome::Duplicate(_)
            | Outcome::Deferred(_)
            | Outcome::Refused(_)) => return Ok(outcome),
        }
    }
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
