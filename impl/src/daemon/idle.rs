//! Closes Work that nothing came for since its handoff, when its kind says so.

use std::sync::Arc;

use super::each::{Quarantine, apply_each};
use super::looping::{LookError, Next, look};
use crate::command::{Command, Outcome};
use crate::domain::{Millis, WorkId};
use crate::host::Context;
use crate::store::{meta, reads};

pub(super) const NAME: &str = "idle";

/// Works closed in one commit.
const LIMIT: u32 = 256;

pub(super) async fn run(context: Arc<Context>) {
    let failing = Quarantine::default();
    look(&context, NAME, || pass(&context, &failing)).await;
}

async fn pass(context: &Context, failing: &Quarantine<WorkId>) -> Result<Next, LookError> {
    let now = context.now();
    // Nothing is due there, and nothing would get on by asking. OURS-21
    if context.read(meta::restored).await? {
        return Ok(Next::Commit);
    }
    let mut after = (Millis(i64::MIN), WorkId(0));
    loop {
        let due = context.read(move |tx| reads::due_idle(tx, now, after, LIMIT)).await?;
        let (full, last) = (due.len() >= LIMIT as usize, due.last().copied());
        let fresh = due.into_iter().map(|(_, work)| work).filter(|work| !failing.has(work));
        close(context, fresh.collect(), failing).await?;
        match last {
            Some(last) if full => after = last,
            Some(_) | None => break,
        }
    }
    let next = context.read(move |tx| reads::next_idle(tx, now)).await?;
    Ok(Next::after(now, next))
}

async fn close(
    context: &Context,
    due: Vec<WorkId>,
    failing: &Quarantine<WorkId>,
) -> Result<(), LookError> {
    if due.is_empty() {
        return Ok(());
    }
    let commands = due.iter().map(|work| Command::CloseIdle { work: *work }).collect();
    let answers = apply_each(context, NAME, commands).await?;
    for (work, answer) in due.into_iter().zip(answers) {
        match answer {
            Ok(Outcome::Accepted(_)) => {
                context.troubles.clear_work(work);
                tracing::info!(row = %work, "idle work closed");
            }
            // Input is about to come, or it is blocked: either way there is no hurry.
            Ok(outcome) => {
                tracing::debug!(row = %work, ?outcome, "idle work not closed");
                failing.put(work);
            }
            Err(error) => {
                tracing::error!(row = %work, %error, "idle work cannot be closed");
                context.troubles.work(work, error.to_string());
                failing.put(work);
            }
        }
    }
    Ok(())
}
