//! Wakes what an accepted event matches although no route could do it: the event stands behind one
//! that is not routed yet, or a timeout was accepted by itself. WAIT-17 WAKE-02

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::each::{Quarantine, apply_each};
use super::looping::{LookError, Next, look};
use crate::command::{Command, Outcome};
use crate::domain::WaitId;
use crate::host::Context;
use crate::store::reads;

pub(super) const NAME: &str = "waker";

/// Waits woken in one commit.
const LIMIT: u32 = 256;

/// Routing wakes by itself, and says which route; this loop leaves it the time to.
const PACE: Duration = Duration::from_millis(250);

pub(super) async fn run(context: Arc<Context>) {
    // What only seemed to match, and what is damaged.
    let seeming = Quarantine::default();
    look(&context, NAME, || pass(&context, &seeming)).await;
}

/// Every wait that seems to match, page by page: what only seems to keeps no other waiting.
async fn pass(context: &Context, seeming: &Quarantine<WaitId>) -> Result<Next, LookError> {
    sleep(PACE).await;
    let mut after = WaitId(0);
    loop {
        let found = context.read(move |tx| reads::wake_candidates(tx, after, LIMIT)).await?;
        let Some(last) = found.last().copied() else { return Ok(Next::Commit) };
        let full = found.len() >= LIMIT as usize;
        let fresh = found.into_iter().filter(|wait| !seeming.has(wait)).collect();
        wake(context, fresh, seeming).await?;
        if !full {
            return Ok(Next::Commit);
        }
        after = last;
    }
}

async fn wake(
    context: &Context,
    waits: Vec<WaitId>,
    seeming: &Quarantine<WaitId>,
) -> Result<(), LookError> {
    if waits.is_empty() {
        return Ok(());
    }
    let commands = waits.iter().map(|wait| Command::Wake { wait: *wait }).collect();
    let answers = apply_each(context, NAME, commands).await?;
    for (wait, answer) in waits.into_iter().zip(answers) {
        match answer {
            Ok(Outcome::Refused(refusal)) => {
                tracing::debug!(%wait, %refusal, "not woken");
                seeming.put(wait);
            }
            Ok(_) => context.troubles.clear_wait(wait),
            Err(error) => {
                tracing::error!(%wait, %error, "a wait cannot be woken");
                context.troubles.wait(wait, error.to_string());
                seeming.put(wait);
            }
        }
    }
    Ok(())
}
