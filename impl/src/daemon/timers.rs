//! Fires due timers at their instant. WAKE-04 WAKE-06

use std::sync::Arc;

use super::looping::{LookError, Next, look};
use crate::command::Command;
use crate::domain::Actor;
use crate::host::Context;
use crate::store::reads;

pub(super) const NAME: &str = "timers";

/// Timers fired in one commit.
const LIMIT: u32 = 256;

pub(super) async fn run(context: Arc<Context>) {
    look(&context, NAME, || pass(&context)).await;
}

async fn pass(context: &Context) -> Result<Next, LookError> {
    let now = context.now();
    let (due, next) = context
        .read(move |tx| Ok((reads::due_timers(tx, now, LIMIT)?, reads::next_timer(tx)?)))
        .await?;
    if due.is_empty() {
        return Ok(Next::after(now, next));
    }
    let fire = |wait| (Actor::Loop(NAME), Command::FireTimer { wait });
    let fired = due.len();
    for outcome in context.writer.apply_all(due.into_iter().map(fire).collect()).await? {
        tracing::debug!(?outcome, "timer");
    }
    Ok(Next::if_full(fired, LIMIT))
}
