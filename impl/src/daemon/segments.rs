//! One running segment, from the claim to its result: the order of an executor's calls and of the
//! commits between them. Losing the lease ends it at any point, and nothing more is handed over.
//! LEASE-07

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::controls::{Controls, interrupt_ended, interrupt_of, interrupt_told};
use super::lease::{Lease, Lost};
use crate::command::{Command, Outcome, Receipt, Refusal};
use crate::domain::{Ending, RetryHint, StartReason, Token, Verdict, WorkUid};
use crate::extension::executor::{
    Credentials, Exit, LaunchError, Metadata, NotAdoptable, RunRequest, Stopped,
};
use crate::host::{Context, Pinned, Proved};
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
    /// Changes when there may be a control to carry out.
    pub(super) knocks: watch::Receiver<()>,
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
        Ok(Outcome::Accepted(Receipt::Intent { event, .. })) => {
            tracing::info!(%work, %attempt, %event, "attempt interrupted");
        }
        // A process that registered a wait, or whose Work was cancelled, ends without authority.
        Ok(_) | Err(Lost) => tracing::info!(%work, %attempt, "attempt left: its authority is gone"),
    }
}

async fn run_to_end(held: &Held) -> Result<Outcome, Lost> {
    let by = held.lease.by();
    let request = match held.lease.hold(prepare(held)).await? {
        Ok(request) => request,
        Err(why) => return fail(held, why, None, Proved::default()).await,
    };
    // From this commit on the record says that an executor may have it. ADOPT-06
    allowed(&held.lease.commit(Command::ClearNeverHanded { by }).await?)?;
    let metadata = match held.lease.hold(start(held, &request)).await? {
        Ok(metadata) => metadata,
        Err(error) => {
            let why = format!("it could not be launched: {error}");
            return fail(held, why, None, Proved::default()).await;
        }
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

/// How a segment comes to its end under this host.
#[derive(Debug)]
enum End {
    /// By itself.
    Exit(Exit),
    /// Its active time is used up.
    Spent,
    /// An interrupt fenced it.
    Fenced(Outcome),
}

/// Lets a pinned segment proceed, carries out its controls and commits what came of it, unless its
/// active time ends first or an interrupt fences it. WAKE-27 POLICY-20
async fn see_through(held: &Held, metadata: &Metadata) -> Result<Outcome, Lost> {
    let exit = match held.lease.hold(attend(held, metadata)).await?? {
        End::Exit(exit) => exit,
        End::Spent => held.lease.hold(overrun(held, metadata)).await?,
        End::Fenced(outcome) => return Ok(outcome),
    };
    // What it failed by may be what it was told. A result that it has wins. CTRL-09
    if matches!(exit, Exit::Failed { .. } | Exit::Lost { .. })
        && let Some(fenced) = held.lease.hold(interrupt_told(held)).await??
    {
        return Ok(fenced);
    }
    if let Exit::Lost { reason } = &exit {
        held.lease.hold(stop(held, metadata, reason)).await?;
    }
    let by = held.lease.by();
    let proved = held.context.proved(&held.pinned, (by.work, by.attempt), metadata);
    let proved = held.lease.hold(proved).await?;
    match exit {
        Exit::Completed { status, .. } => complete(held, Ending::Completed, status, proved).await,
        Exit::HandedOff { status, .. } => {
            let close_after = held.pinned.close_after;
            complete(held, Ending::Handoff { close_after }, status, proved).await
        }
        Exit::Failed { reason, retry_after, .. } => fail(held, reason, retry_after, proved).await,
        Exit::Lost { reason } => {
            fail(held, format!("its result is lost: {reason}"), None, proved).await
        }
    }
}

/// Until a segment ends. An interrupt that is being told by then is answered first, so that what it
/// stopped is no failure of the attempt. POLICY-20 CTRL-09
async fn attend(held: &Held, metadata: &Metadata) -> Result<End, Lost> {
    let controls = Controls::new(held, metadata);
    let mut interrupts = std::pin::pin!(controls.interrupts());
    let end = tokio::select! {
        biased;
        exit = watch(held, metadata, &controls) => End::Exit(exit),
        () = spent(held) => End::Spent,
        fenced = &mut interrupts => return fenced.map(End::Fenced),
        lost = controls.injects() => match lost? {},
    };
    tokio::select! {
        biased;
        () = controls.told() => Ok(end),
        fenced = interrupts => fenced.map(End::Fenced),
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
async fn watch(held: &Held, metadata: &Metadata, controls: &Controls<'_>) -> Exit {
    while let Err(error) = held.pinned.executor.proceed(metadata).await {
        tracing::warn!(work = %held.uid, %error, "a segment does not proceed yet");
        tokio::select! {
            exit = held.pinned.executor.observe(metadata) => return exit,
            () = sleep(AGAIN) => {}
        }
    }
    controls.begin();
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

async fn complete(
    held: &Held,
    ending: Ending,
    status: Option<String>,
    proved: Proved,
) -> Result<Outcome, Lost> {
    let Proved { proofs, usage } = proved;
    let by = held.lease.by();
    end(held, &Command::Complete { by, ending, status, proofs, usage }).await
}

async fn fail(
    held: &Held,
    reason: String,
    hint: Option<RetryHint>,
    proved: Proved,
) -> Result<Outcome, Lost> {
    let by = held.lease.by();
    tracing::warn!(work = %held.uid, attempt = %by.attempt, reason, "attempt failed");
    let Proved { proofs, usage } = proved;
    end(held, &Command::Fail { by, reason, hint, proofs, usage }).await
}

/// Ends the attempt, or waits until what was accepted meanwhile is routed, and then says the same
/// again: an end of the Work does not pass over its news. An interrupt ends what has to wait for
/// good. DONE-02 RETRY-31
async fn end(held: &Held, ending: &Command) -> Result<Outcome, Lost> {
    let mut bell = held.context.bell();
    loop {
        bell.hears();
        match held.lease.commit(ending.clone()).await? {
            Outcome::Conflict => {
                if let Some(outcome) = after_conflict(held, ending).await? {
                    return Ok(outcome);
                }
                held.lease.hold(bell.rings(None)).await?;
            }
            outcome @ (Outcome::Accepted(_)
            | Outcome::Duplicate(_)
            | Outcome::Deferred(_)
            | Outcome::Refused(_)) => return Ok(outcome),
        }
    }
}

/// What ends an attempt whose ending conflicts, if it is interrupted: its ending all the same, for what
/// stood in the way may have been the event of that interrupt, and be routed now; or else the fence.
/// What is committed first wins. DONE-02 POLICY-20
pub(super) async fn after_conflict(held: &Held, ending: &Command) -> Result<Option<Outcome>, Lost> {
    if held.lease.hold(interrupt_of(held)).await?.is_none() {
        return Ok(None);
    }
    match held.lease.commit(ending.clone()).await? {
        Outcome::Conflict => held.lease.hold(interrupt_ended(held)).await?,
        outcome @ (Outcome::Accepted(_)
        | Outcome::Duplicate(_)
        | Outcome::Deferred(_)
        | Outcome::Refused(_)) => Ok(Some(outcome)),
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
