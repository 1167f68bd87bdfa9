//! Fires due timers at their instant. WAKE-04 WAKE-06

use std::sync::Arc;

use super::each::{Quarantine, apply_each};
use super::looping::{LookError, Next, look};
use crate::command::Command;
use crate::domain::{Millis, WaitId};
use crate::host::Context;
use crate::store::{meta, reads};

pub(super) const NAME: &str = "timers";

/// Timers fired in one commit.
const LIMIT: u32 = 256;

pub(super) async fn run(context: Arc<Context>) {
    let failing = Quarantine::default();
    look(&context, NAME, || pass(&context, &failing)).await;
}

/// Every timer that is due, page by page: one that cannot fire keeps no later one waiting.
async fn pass(context: &Context, failing: &Quarantine<WaitId>) -> Result<Next, LookError> {
    let now = context.now();
    // Nothing is due there, and nothing would get on by asking. OURS-21
    if context.read(meta::restored).await? {
        return Ok(Next::Commit);
    }
    let mut after = (Millis(i64::MIN), WaitId(0));
    loop {
        let due = context.read(move |tx| reads::due_timers(tx, now, after, LIMIT)).await?;
        let (full, last) = (due.len() >= LIMIT as usize, due.last().copied());
        let fresh = due.into_iter().map(|(_, wait)| wait).filter(|wait| !failing.has(wait));
        fire(context, fresh.collect(), failing).await?;
        match last {
            Some(last) if full => after = last,
            Some(_) | None => break,
        }
    }
    let next = context.read(move |tx| reads::next_timer(tx, now)).await?;
    Ok(Next::after(now, next))
}

async fn fire(
    context: &Context,
    due: Vec<WaitId>,
    failing: &Quarantine<WaitId>,
) -> Result<(), LookError> {
    if due.is_empty() {
        return Ok(());
    }
    let commands = due.iter().map(|wait| Command::FireTimer { wait: *wait }).collect();
    let answers = apply_each(context, NAME, commands).await?;
    for (wait, answer) in due.into_iter().zip(answers) {
        match answer {
            Ok(outcome) => {
                tracing::debug!(%wait, ?outcome, "timer");
                context.troubles.clear_wait(wait);
            }
            Err(error) => {
                tracing::error!(%wait, %error, "a timer cannot fire");
                context.troubles.wait(wait, error.to_string());
                failing.put(wait);
            }
        }
    }
    Ok(())
}
