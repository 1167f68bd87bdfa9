//! Wakes what an accepted event matches although no route could do it: the event stands behind one
//! that is not routed yet, or a timeout was accepted by itself. WAIT-17 WAKE-02

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::looping::{LookError, Next, look};
use crate::command::{Command, Outcome};
use crate::domain::{Actor, WaitId};
use crate::host::Context;
use crate::store::reads;

pub(super) const NAME: &str = "waker";

/// Waits woken in one commit.
const LIMIT: u32 = 256;

/// Routing wakes by itself, and says which route; this loop leaves it the time to.
const PACE: Duration = Duration::from_millis(250);

/// What only seemed to match is looked at again after so long.
const LATER: Duration = Duration::from_secs(10);

pub(super) async fn run(context: Arc<Context>) {
    let seeming = Arc::new(tokio::sync::Mutex::new(HashMap::new()));
    look(&context, NAME, || pass(&context, &seeming)).await;
}

type Seeming = tokio::sync::Mutex<HashMap<WaitId, Instant>>;

async fn pass(context: &Context, seeming: &Seeming) -> Result<Next, LookError> {
    sleep(PACE).await;
    let found = context.read(|tx| reads::wake_candidates(tx, WaitId(0), LIMIT)).await?;
    let mut seeming = seeming.lock().await;
    let now = Instant::now();
    seeming.retain(|_, until| *until > now);
    let fresh: Vec<WaitId> = found.into_iter().filter(|wait| !seeming.contains_key(wait)).collect();
    if fresh.is_empty() {
        return Ok(Next::Commit);
    }
    let wake = |wait: &WaitId| (Actor::Loop(NAME), Command::Wake { wait: *wait });
    let outcomes = context.writer.apply_all(fresh.iter().map(wake).collect()).await?;
    for (wait, outcome) in fresh.into_iter().zip(outcomes) {
        if let Outcome::Refused(refusal) = outcome {
            tracing::debug!(%wait, %refusal, "not woken");
            seeming.insert(wait, now + LATER);
        }
    }
    Ok(Next::Commit)
}
