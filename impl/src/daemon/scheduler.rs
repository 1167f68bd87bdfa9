//! Claims ready Work while its scope has room, the longest ready first. OURS-26 ROUTE-22

use std::sync::Arc;

use type_safe_id::TypeSafeId;
use uuid::Uuid;

use super::lease::Lease;
use super::looping::{LookError, Next, look};
use super::segments::{self, Held};
use crate::command::{Command, Outcome, Receipt};
use crate::domain::{Actor, AttemptUid, Authority, BindingPin, Millis, Segment, Token, WorkId};
use crate::extension::executor::Executor;
use crate::host::Context;
use crate::host::Role;
use crate::store::reads::{self, Claimable};

pub(super) const NAME: &str = "scheduler";

/// Works looked at in one look, besides those there is room for: so many of a kind that is not
/// configured any more hide nothing behind them.
const SPARE: u32 = 1024;

pub(super) async fn run(context: Arc<Context>) {
    look(&context, NAME, || pass(&context)).await;
}

async fn pass(context: &Arc<Context>) -> Result<Next, LookError> {
    let Some((pin, executor)) = context.binding() else { return Ok(Next::Commit) };
    let works = claimable(context).await?;
    let mut claims = Vec::with_capacity(works.len());
    for work in works {
        claims.push((work, Token::random()?));
    }
    if claims.is_empty() {
        return Ok(Next::Commit);
    }
    let sent = context.now();
    let commands =
        claims.iter().map(|(work, token)| claim(context, work.work, token, &pin)).collect();
    let outcomes = context.writer.apply_all(commands).await?;
    for ((work, token), outcome) in claims.into_iter().zip(outcomes) {
        start(context, &executor, token, sent, &work, &outcome);
    }
    Ok(Next::Commit)
}

/// The Works to claim now: as many as the scope has room for.
async fn claimable(context: &Arc<Context>) -> Result<Vec<Claimable>, LookError> {
    let (scope, capacity) = (context.config.scope.name.clone(), context.config.scope.capacity);
    let (found, running) = context
        .read(move |tx| {
            let running = reads::counts(tx)?.running;
            Ok((reads::claimable(tx, &scope, capacity.saturating_add(SPARE))?, running))
        })
        .await?;
    let room = usize::try_from(i64::from(capacity) - running).unwrap_or(0);
    Ok(found.into_iter().filter(|work| configured(context, work)).take(room).collect())
}

/// A kind that is not configured any more has no binding to run under. The Work stays as it is.
fn configured(context: &Context, work: &Claimable) -> bool {
    let kind = &context.config.scope.kind.name;
    if work.kind == *kind {
        return true;
    }
    let why = format!("its kind `{}` is not in the configuration: restore it", work.kind);
    context.troubles.work(work.work, why);
    false
}

fn claim(context: &Context, work: WorkId, token: &Token, pin: &BindingPin) -> (Actor, Command) {
    let attempt_uid: AttemptUid = TypeSafeId::from_uuid(Uuid::now_v7());
    let command = Command::Claim {
        work,
        attempt_uid,
        token: token.hash(),
        lease: context.config.scope.binding.lease,
        pin: pin.clone(),
        capacity: context.config.scope.capacity,
    };
    (Actor::Loop(NAME), command)
}

/// Drives what was claimed; anything else than a claim is looked at again with the next commit.
fn start(
    context: &Arc<Context>,
    executor: &Arc<dyn Executor>,
    token: Token,
    sent: Millis,
    claimed: &Claimable,
    outcome: &Outcome,
) {
    let Claimable { work, uid, .. } = *claimed;
    let Outcome::Accepted(Receipt::Claimed { attempt, epoch, .. }) = *outcome else {
        tracing::debug!(work = %uid, ?outcome, "not claimed");
        return;
    };
    let segment = Segment { attempt, epoch };
    let Some(drive) = context.driven.take(work, segment, Role::Runs) else { return };
    let by = Authority { work, attempt, epoch, token: token.hash() };
    let length = context.config.scope.binding.lease;
    let held = Held {
        context: Arc::clone(context),
        lease: Lease::new(Arc::clone(context), NAME, by, length, sent),
        executor: Arc::clone(executor),
        token,
        uid,
    };
    tracing::info!(work = %uid, %attempt, claim = %epoch, "attempt claimed");
    tokio::spawn(async move {
        segments::launch(held).await;
        drop(drive);
    });
}
