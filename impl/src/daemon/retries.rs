//! Fires the due retries of failed attempts at their instant. RETRY-19

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::each::{Quarantine, apply_each};
use super::looping::{LookError, Next, look};
use crate::command::{Command, Outcome, Refusal};
use crate::domain::{AttemptNo, Millis, WorkId};
use crate::host::Context;
use crate::store::engine::Listed;
use crate::store::{meta, reads};

pub(super) const NAME: &str = "retries";

/// Retries fired in one commit.
const LIMIT: u32 = 256;

/// Works whose retry could not be fired.
#[derive(Debug, Default)]
struct Failing {
    left_alone: Quarantine<WorkId>,
    /// What was said of them, as long as their retries are due.
    said: Mutex<HashMap<WorkId, String>>,
}

impl Failing {
    /// Leaves a retry alone for a while, and shows why.
    fn put(&self, context: &Context, work: WorkId, why: String) {
        tracing::error!(row = %work, why, "a retry cannot fire");
        context.troubles.work(work, why.clone());
        self.said().insert(work, why);
        self.left_alone.put(work);
    }

    /// Takes back what was said of works whose retry is not due any more, and of no others.
    fn forget_all_but(&self, context: &Context, due: &HashSet<WorkId>) {
        self.said().retain(|work, why| {
            let stays = due.contains(work);
            if !stays {
                context.troubles.clear_work_of(*work, why);
            }
            stays
        });
    }

    fn said(&self) -> MutexGuard<'_, HashMap<WorkId, String>> {
        // A panic elsewhere cannot leave a map half changed.
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) async fn run(context: Arc<Context>) {
    let failing = Failing::default();
    look(&context, NAME, || pass(&context, &failing)).await;
}

/// Every retry that is due, page by page: one that cannot fire keeps no later one waiting.
async fn pass(context: &Context, failing: &Failing) -> Result<Next, LookError> {
    let now = context.now();
    // Nothing is due there, and nothing would get on by asking. OURS-21
    if context.read(meta::restored).await? {
        return Ok(Next::Commit);
    }
    let mut after = (Millis(i64::MIN), WorkId(0));
    let mut due = HashSet::new();
    loop {
        let page = context.read(move |tx| reads::due_retries(tx, now, after, LIMIT)).await?;
        let last = page.last().map(|last| (Millis(last.at), WorkId(last.id)));
        let full = page.len() >= LIMIT as usize;
        due.extend(page.iter().map(|listed| WorkId(listed.id)));
        fire(context, page, failing).await?;
        match last {
            Some(last) if full => after = last,
            Some(_) | None => break,
        }
    }
    failing.forget_all_but(context, &due);
    let next = context.read(move |tx| reads::next_retry(tx, now)).await?;
    Ok(Next::after(now, next))
}

async fn fire(
    context: &Context,
    page: Vec<Listed<AttemptNo>>,
    failing: &Failing,
) -> Result<(), LookError> {
    let mut due = Vec::with_capacity(page.len());
    for Listed { id, row, .. } in page {
        let work = WorkId(id);
        if failing.left_alone.has(&work) {
            continue;
        }
        match row {
            Ok(failed) => due.push((work, failed)),
            Err(error) => failing.put(context, work, error.to_string()),
        }
    }
    if due.is_empty() {
        return Ok(());
    }
    let commands = due
        .iter()
        .map(|(work, failed)| Command::FireRetry { work: *work, attempt: *failed })
        .collect();
    let answers = apply_each(context, NAME, commands).await?;
    for ((work, failed), answer) in due.into_iter().zip(answers) {
        match answer {
            Ok(
                outcome @ (Outcome::Accepted(_)
                | Outcome::Deferred(_)
                | Outcome::Refused(
                    Refusal::NotDue | Refusal::FiringDisabled | Refusal::DepthLimit,
                )),
            ) => tracing::debug!(row = %work, attempt = %failed, ?outcome, "retry"),
            // A person may just have ended the backoff: then it is not due when it is looked at next.
            Ok(outcome @ (Outcome::Duplicate(_) | Outcome::Conflict | Outcome::Refused(_))) => {
                let why = format!("its retry is due and cannot be fired: {outcome:?}");
                failing.put(context, work, why);
            }
            Err(error) => failing.put(context, work, error.to_string()),
        }
    }
    Ok(())
}
