//! Takes over running attempts whose lease has ended: this daemon's or another's. LEASE-08 ADOPT-01

use std::sync::Arc;

use super::lease::Lease;
use super::looping::{LookError, Next, look};
use super::segments::{self, Held};
use crate::command::{Command, Outcome, Receipt};
use crate::domain::{Actor, Authority, Millis, Segment, Token, WorkUid};
use crate::host::Context;
use crate::host::Role;
use crate::store::reads::{self, Running};
use crate::store::{StoreError, attempts, works};

pub(super) const NAME: &str = "recovery";

/// Attempts taken over in one commit.
const LIMIT: u32 = 256;

pub(super) async fn run(context: Arc<Context>) {
    look(&context, NAME, || pass(&context)).await;
}

async fn pass(context: &Arc<Context>) -> Result<Next, LookError> {
    let now = context.now();
    let (expired, next) = context
        .read(move |tx| Ok((reads::expired(tx, now, LIMIT)?, reads::next_expiry(tx)?)))
        .await?;
    let mut claims = Vec::with_capacity(expired.len());
    for running in expired.into_iter().filter(|running| runnable(context, running)) {
        claims.push((running, Token::random()?));
    }
    if claims.is_empty() {
        return Ok(Next::after(now, next));
    }
    let sent = context.now();
    let commands = claims.iter().map(|(running, token)| claim(context, running, token)).collect();
    let outcomes = context.writer.apply_all(commands).await?;
    for ((running, token), outcome) in claims.into_iter().zip(outcomes) {
        take(context, &running, token, sent, &outcome).await?;
    }
    Ok(Next::Commit)
}

/// An attempt whose binding is missing here is left as it is: nothing of it fails. It goes on when
/// the binding is back.
fn runnable(context: &Context, running: &Running) -> bool {
    if context.executors.contains_key(&running.binding) {
        return true;
    }
    let why = format!("its binding `{}` is not in the configuration: restore it", running.binding);
    context.troubles.work(running.work, why);
    false
}

fn claim(context: &Context, running: &Running, token: &Token) -> (Actor, Command) {
    let lease = context.config.scope.binding.lease;
    let command = Command::ClaimRecovery { work: running.work, token: token.hash(), lease };
    (Actor::Loop(NAME), command)
}

/// Drives what was taken over. Losing the race to another recoverer starts nothing. LEASE-08
async fn take(
    context: &Arc<Context>,
    running: &Running,
    token: Token,
    sent: Millis,
    outcome: &Outcome,
) -> Result<(), StoreError> {
    let work = running.work;
    let Outcome::Accepted(Receipt::Recovering { attempt, epoch, relaunch, .. }) = *outcome else {
        tracing::debug!(%work, ?outcome, "not taken over");
        return Ok(());
    };
    let Some(executor) = context.executors.get(&running.binding) else { return Ok(()) };
    let Some(drive) = context.driven.take(work, Segment { attempt, epoch }, Role::Runs) else {
        return Ok(());
    };
    let by = Authority { work, attempt, epoch, token: token.hash() };
    let (uid, metadata) = pinned(context, &by).await?;
    let length = context.config.scope.binding.lease;
    let held = Held {
        context: Arc::clone(context),
        lease: Lease::new(Arc::clone(context), NAME, by, length, sent),
        executor: Arc::clone(executor),
        token,
        uid,
    };
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
async fn pinned(
    context: &Context,
    by: &Authority,
) -> Result<(WorkUid, Option<String>), StoreError> {
    let (work, n) = (by.work, by.attempt);
    context
        .read(move |tx| {
            let uid = works::referred(tx, work)?.uid;
            Ok((uid, attempts::referred(tx, work, n)?.metadata))
        })
        .await
}
