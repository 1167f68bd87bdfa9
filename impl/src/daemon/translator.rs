//! Translates what the sources of active subscriptions have to say, in the order of each source.
//! ALIAS-05 ALIAS-07

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::sync::Mutex;

use super::each::{Quarantine, apply_each};
use super::looping::{LookError, Next, look};
use crate::command::{Command, Outcome, Refusal};
use crate::domain::{Seq, WaitId};
use crate::host::Context;
use crate::store::{StoreError, Tx, meta, subscriptions};

pub(super) const NAME: &str = "translator";

/// Subscriptions looked at in one read.
const LIMIT: u32 = 256;

/// New events looked through in one read.
const EVENTS: i64 = 1024;

pub(super) async fn run(context: Arc<Context>) {
    let front = Mutex::default();
    look(&context, NAME, || pass(&context, &front)).await;
}

/// How far this loop has come. It is lost with the loop, and found again from the checkpoints.
#[derive(Debug, Default)]
struct Front {
    /// Whatever waits for events up to here is behind, or has what it selects of them. `None` before
    /// the first look. A registration looks for itself, so that a new subscription has nothing
    /// below. ALIAS-03
    seen: Option<Seq>,
    /// Waits whose source may have said more than is translated. One that cannot be translated stays
    /// here, and holds up no other.
    behind: BTreeSet<WaitId>,
    failing: Quarantine<WaitId>,
}

async fn pass(context: &Context, front: &Mutex<Front>) -> Result<Next, LookError> {
    let mut front = front.lock().await;
    let until = context.read(meta::last_seq).await?;
    match front.seen {
        None => catch_up(context, &mut front.behind).await?,
        Some(seen) => notice(context, seen, until, &mut front.behind).await?,
    }
    front.seen = Some(until);
    let Front { behind, failing, .. } = &mut *front;
    let due: Vec<_> = behind.iter().filter(|wait| !failing.has(wait)).copied().collect();
    for waits in due.chunks(LIMIT as usize) {
        let waits = waits.to_vec();
        let found = context.read(move |tx| untranslated(tx, &waits)).await?;
        for wait in found.done {
            behind.remove(&wait);
            context.troubles.clear_wait(wait);
        }
        for (wait, error) in &found.damaged {
            put_aside(context, *wait, error, failing);
        }
        translate(context, found.next, failing).await?;
    }
    // What was translated rang the bell, and there may be more of the same source.
    Ok(Next::Commit)
}

/// Every active subscription, after a start: what came before is known from its checkpoint alone.
async fn catch_up(context: &Context, behind: &mut BTreeSet<WaitId>) -> Result<(), StoreError> {
    let mut after = 0;
    loop {
        let page = context.read(move |tx| subscriptions::active(tx, after, LIMIT)).await?;
        behind.extend(page.iter().map(|(_, wait)| *wait));
        match page.last() {
            Some((last, _)) if page.len() >= LIMIT as usize => after = *last,
            Some(_) | None => return Ok(()),
        }
    }
}

/// The subscriptions that new events may be news to: a cost of events, and not of waits.
async fn notice(
    context: &Context,
    seen: Seq,
    until: Seq,
    behind: &mut BTreeSet<WaitId>,
) -> Result<(), StoreError> {
    let mut from = seen;
    while from < until {
        let to = Seq(from.0.saturating_add(EVENTS)).min(until);
        let waits = context.read(move |tx| subscriptions::to_sources_of(tx, from, to)).await?;
        behind.extend(waits);
        from = to;
    }
    Ok(())
}

/// What waits have to translate next, and those with nothing to translate.
#[derive(Debug, Default)]
struct Found {
    next: Vec<(WaitId, Seq)>,
    done: Vec<WaitId>,
    damaged: Vec<(WaitId, StoreError)>,
}

fn untranslated(tx: &mut dyn Tx, waits: &[WaitId]) -> Result<Found, StoreError> {
    let mut found = Found::default();
    for wait in waits {
        match next_of(tx, *wait) {
            Ok(Some(seq)) => found.next.push((*wait, seq)),
            Ok(None) => found.done.push(*wait),
            Err(error) if !error.is_storage() => found.damaged.push((*wait, error)),
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

fn next_of(tx: &mut dyn Tx, wait: WaitId) -> Result<Option<Seq>, StoreError> {
    match subscriptions::of_wait(tx, wait)?.filter(|found| found.active) {
        Some(it) => subscriptions::lowest_selected(tx, &it, it.checkpoint),
        None => Ok(None),
    }
}

fn put_aside(context: &Context, wait: WaitId, error: &StoreError, failing: &Quarantine<WaitId>) {
    tracing::error!(%wait, %error, "nothing can be translated for a wait");
    context.troubles.wait(wait, error.to_string());
    failing.put(wait);
}

async fn translate(
    context: &Context,
    found: Vec<(WaitId, Seq)>,
    failing: &Quarantine<WaitId>,
) -> Result<(), LookError> {
    if found.is_empty() {
        return Ok(());
    }
    let translate =
        |(wait, event): &(WaitId, Seq)| Command::Translate { wait: *wait, event: *event };
    let answers = apply_each(context, NAME, found.iter().map(translate).collect()).await?;
    for ((wait, event), answer) in found.into_iter().zip(answers) {
        match answer {
            // Too deep, it is passed over: that is progress, and on record.
            Ok(Outcome::Accepted(_) | Outcome::Refused(Refusal::DepthLimit)) => {
                context.troubles.clear_wait(wait);
            }
            Ok(outcome) => {
                tracing::debug!(%wait, %event, ?outcome, "not translated");
                failing.put(wait);
            }
            Err(error) => put_aside(context, wait, &error, failing),
        }
    }
    Ok(())
}
