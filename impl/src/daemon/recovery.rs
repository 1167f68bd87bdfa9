//! Takes over running attempts whose lease has ended: this daemon's or another's. LEASE-08 ADOPT-01

use std::sync::Arc;

use super::each::{Quarantine, apply_each};
use super::lease::Lease;
use super::looping::{LookError, Next, look};
use super::segments::{self, Held};
use crate::command::{Command, Outcome, Receipt};
use crate::domain::{Authority, Millis, Token, WorkId, WorkUid};
use crate::host::{Context, Pinned};
use crate::store::engine::Listed;
use crate::store::reads::{self, Running};
use crate::store::{StoreError, attempts, meta, works};

pub(super) const NAME: &str = "recovery";

/// Attempts taken over in one commit.
const LIMIT: u32 = 256;

pub(super) async fn run(context: Arc<Context>) {
    let failing = Quarantine::default();
    look(&context, NAME, || pass(&context, &failing)).await;
}

/// Every attempt whose lease has ended, page by page: one that has to be left as it is keeps no
/// other waiting.
async fn pass(context: &Arc<Context>, failing: &Quarantine<WorkId>) -> Result<Next, LookError> {
    let now = context.now();
    // Whoever else has this database may have these attempts too. OURS-21
    if context.read(meta::restored).await? {
        return Ok(Next::Commit);
    }
    let mut after = (Millis(i64::MIN), WorkId(0));
    loop {
        let expired = context.read(move |tx| reads::expired(tx, now, after, LIMIT)).await?;
        let last = expired.last().map(|last| (Millis(last.at), WorkId(last.id)));
        let full = expired.len() >= LIMIT as usize;
        take_over(context, expired, failing).await?;
        match last {
            Some(last) if full => after = last,
            Some(_) | None => break,
        }
    }
    let next = context.read(move |tx| reads::next_expiry(tx, now)).await?;
    Ok(Next::after(now, next))
}

async fn take_over(
    context: &Arc<Context>,
    expired: Vec<Listed<Running>>,
    failing: &Quarantine<WorkId>,
) -> Result<(), LookError> {
    let mut claims = Vec::with_capacity(expired.len());
    for Listed { id, row, .. } in expired {
        if failing.has(&WorkId(id)) {
            continue;
        }
        match row {
            Ok(running) => {
                if let Some(pinned) = runnable(context, &running).await {
                    claims.push((running, pinned, Token::random()?));
                }
            }
            Err(error) => damaged(context, failing, WorkId(id), &error),
        }
    }
    // What a stopping daemon has given up it does not take back. OURS-19
    if claims.is_empty() || context.stopping() {
        return Ok(());
    }
    let sent = context.now();
    let commands =
        claims.iter().map(|(running, pinned, token)| claim(running, pinned, token)).collect();
    let answers = apply_each(context, NAME, commands).await?;
    for ((running, pinned, token), answer) in claims.into_iter().zip(answers) {
        let taken = match answer {
            Ok(outcome) => take(context, &running, pinned, token, sent, &outcome).await,
            Err(error) => Err(error),
        };
        if let Err(error) = taken {
            damaged(context, failing, running.work, &error);
        }
    }
    Ok(())
}

/// What cannot be read or taken over is left, shown, and tried again.
fn damaged(context: &Context, failing: &Quarantine<WorkId>, work: WorkId, error: &StoreError) {
    tracing::error!(row = %work, %error, "an expired attempt cannot be taken over");
    context.troubles.work(work, error.to_string());
    failing.put(work);
}

/// An attempt whose binding is missing here is left as it is: nothing of it fails. It goes on when
/// the binding is back.
async fn runnable(context: &Arc<Context>, running: &Running) -> Option<Pinned> {
    match context.pinned(running.work, running.attempt).await {
        Ok(pinned) => Some(pinned),
        Err(why) => {
            context.troubles.work(running.work, why);
            None
        }
    }
}

fn claim(running: &Running, pinned: &Pinned, token: &Token) -> Command {
    let lease = pinned.binding.lease;
    Command::ClaimRecovery { work: running.work, token: token.hash(), lease }
}

/// Drives what was taken over. Losing the race to another recoverer starts nothing. LEASE-08
async fn take(
    context: &Arc<Context>,
    running: &Running,
    pinned: Pinned,
    token: Token,
    sent: Millis,
    outcome: &Outcome,
) -> Result<(), StoreError> {
    let work = running.work;
    let Outcome::Accepted(Receipt::Recovering { attempt, epoch, relaunch, .. }) = *outcome else {
        tracing::debug!(%work, ?outcome, "not taken over");
        return Ok(());
    };
    let by = Authority { work, attempt, epoch, token: token.hash() };
    let Some(drive) = context.driven.run(by) else { return Ok(()) };
    let (uid, metadata) = saved(context, &by).await?;
    let lease = Lease::new(Arc::clone(context), NAME, by, pinned.binding.lease, sent);
    let knocks = drive.knocks();
    let held = Held { context: Arc::clone(context), lease, pinned, token, uid, knocks };
    tracing::info!(work = %uid, %attempt, claim = %epoch, relaunch, "attempt taken over");
    tokio::spawn(async move {
        if relaunch {
            segments::launch(held).await;
        } else {
            segments::adopt(held, metadata).await;
        }
        drop(drive);
    });
    Ok(())
}

/// The Work's id, and what the executor saved with the segment, byte for byte. ADOPT-04
async fn saved(context: &Context, by: &Authority) -> Result<(WorkUid, Option<String>), StoreError> {
    let (work, n) = (by.work, by.attempt);
    context
        .read(move |tx| {
            let uid = works::referred(tx, work)?.uid;
            Ok((uid, attempts::referred(tx, work, n)?.metadata))
        })
        .await
}
