//! Gives up every lease that this daemon holds, so that the next one need not wait for their ends.
//! OURS-19

use std::time::Duration;

use tokio::time::timeout;

use super::each::apply_each;
use crate::command::{Command, Outcome};
use crate::domain::Authority;
use crate::host::Context;

pub(super) const NAME: &str = "detach";

/// A stop does not wait longer for it: a lease that is not given up ends by itself.
const DETACH_MAX: Duration = Duration::from_secs(2);

/// A task that runs a segment lets go of it at once, unless it waits for an answer of the store.
const LET_GO_MAX: Duration = Duration::from_secs(1);

/// Detaches every attempt that a task of this daemon runs, or ran until the stop, and that is not
/// among those `given` up before, in one commit. No process is told. A stopping daemon first sees that
/// no task does anything under those leases any more. LEASE-07
pub async fn detach(context: &Context, given: &mut Vec<Authority>) {
    if context.stopping() && timeout(LET_GO_MAX, context.driven.let_go()).await.is_err() {
        tracing::warn!("a segment is still being driven as its lease is given up");
    }
    let mut held = context.driven.held();
    held.retain(|by| !given.contains(by));
    if held.is_empty() {
        return;
    }
    let commands = held.iter().map(|by| Command::Detach { by: *by }).collect();
    match timeout(DETACH_MAX, apply_each(context, NAME, commands)).await {
        Ok(Ok(answers)) => {
            let detached =
                |answer: &&Result<Outcome, _>| matches!(answer, Ok(Outcome::Accepted(_)));
            let detached = answers.iter().filter(detached).count();
            tracing::info!(attempts = held.len(), detached, "leases are given up");
        }
        Ok(Err(error)) => tracing::warn!(%error, "no lease could be given up; each ends in time"),
        Err(_) => tracing::warn!("no lease could be given up in time; each ends by itself"),
    }
    given.append(&mut held);
}
