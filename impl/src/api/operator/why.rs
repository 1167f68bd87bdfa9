//! `why`: one sentence on where something is and, where one helps, the command that moves it.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;

use super::controls::{self, Lacking, Since};
use super::ids::{self, Sought, Thing};
use super::reason::{self, Facts, Full, Pause, Reason};
use crate::api::extract::Named;
use crate::api::problem::ApiError;
use crate::api::text::printable;
use crate::api::types::Why;
use crate::command::Refusal;
use crate::domain::{MarkKind, Seq, WorkId, WorkStatus, WorkUid};
use crate::host::{Context, Current};
use crate::store::attempts::Attempt;
use crate::store::intents::Intent;
use crate::store::listed::{self, ListedSubscription, Relatives};
use crate::store::pages::{self, EventRow, WorkRow};
use crate::store::reads::{self, ListedWait};
use crate::store::{StoreError, Tx, intents, meta, timers, unrouted, works};

pub(super) async fn show(
    State(context): State<Arc<Context>>,
    Named(id): Named,
) -> Result<Json<Why>, ApiError> {
    let why = match context.read(move |tx| ids::thing(tx, &id)).await?? {
        Thing::Event(seq) => why_event(&context, seq).await?,
        Thing::Work(work) => why_work(&context, work).await?,
    };
    Ok(Json(why))
}

/// What is read of a Work, of one snapshot.
struct Seen {
    row: WorkRow,
    attempt: Option<Attempt>,
    wait: Option<ListedWait>,
    source: Option<ListedSubscription>,
    disabled: bool,
    full: Option<Full>,
    unrouted: Option<Seq>,
    relatives: Relatives,
    restored: bool,
    /// What its running attempt is about to be told.
    control: Option<Intent>,
}

async fn why_work(context: &Arc<Context>, id: WorkId) -> Result<Why, ApiError> {
    let current = context.current();
    let seen = context.read(move |tx| see(tx, id, &current)).await??;
    let holds_up = holds_up(context, &seen).await;
    let facts = Facts {
        row: &seen.row,
        attempt: seen.attempt.as_ref(),
        wait: seen.wait.as_ref(),
        source: seen.source.as_ref(),
        control: seen.control.as_ref(),
        holds_up: holds_up.as_ref(),
        disabled: seen.disabled,
        full: seen.full,
        unrouted: seen.unrouted,
        relatives: seen.relatives,
        restored: seen.restored,
        pause: pause(context),
        trouble: context.troubles.of_work(id),
        now: context.now(),
    };
    let Reason { sentence, next } = reason::of_work(&facts);
    Ok(Why { id: seen.row.work.uid.to_string(), sentence, next })
}

/// What of a running Work waits for the end of its attempt, and holds that up. DONE-02
async fn holds_up(context: &Arc<Context>, seen: &Seen) -> Option<Reason> {
    let seq = seen.unrouted.filter(|_| seen.row.work.status == WorkStatus::Running)?;
    controls::lacking(context, seq).await.map(|lacking| controls::unsupported(seq, &lacking))
}

/// Why nothing at all starts at present.
fn pause(context: &Context) -> Option<Pause> {
    if !context.can_commit() {
        Some(Pause::Storage)
    } else if context.stopping() {
        Some(Pause::Stopping)
    } else {
        context.drain.is_on().then_some(Pause::Draining)
    }
}

fn see(tx: &mut dyn Tx, id: WorkId, current: &Current) -> Sought<Seen> {
    let Some(row) = pages::work(tx, id)? else { return Ok(Err(Refusal::UnknownWork.into())) };
    let (wait, source, disabled) = match row.work.wait {
        Some(wait) => (
            reads::wait(tx, wait)?,
            listed::subscription(tx, wait)?,
            timers::get(tx, wait)?.is_some_and(|timer| timer.disabled),
        ),
        None => (None, None, false),
    };
    Ok(Ok(Seen {
        attempt: reads::last_attempt(tx, id)?,
        wait,
        source,
        disabled,
        full: full(tx, &row.scope, current)?,
        unrouted: unrouted::lowest_of(tx, id, row.work.scope)?,
        relatives: listed::relatives(tx, id)?,
        restored: meta::restored(tx)?,
        control: intents::foremost(tx, id)?,
        row,
    }))
}

/// The nearest scope that runs as many attempts as it may. POLICY-06
fn full(tx: &mut dyn Tx, scope: &str, current: &Current) -> Result<Option<Full>, StoreError> {
    for (scope, limit) in current.config.capacities(scope).into_iter().rev() {
        let running = works::running_below(tx, &scope)?;
        if running >= limit {
            return Ok(Some(Full { scope, running, limit }));
        }
    }
    Ok(None)
}

/// What is read of an event beside its row.
#[derive(Default)]
struct Around {
    /// What of the same Work comes first.
    ahead: Option<Seq>,
    /// The successor of the Work that it came too late for.
    successor: Option<WorkUid>,
    /// How it was to reach a running attempt.
    intent: Option<Intent>,
    /// What has come of that attempt, and of the event, since.
    since: Since,
    /// What its attempt lacks.
    lacking: Option<Lacking>,
}

async fn why_event(context: &Arc<Context>, seq: Seq) -> Result<Why, ApiError> {
    let found = context.read(move |tx| {
        let successor = match pages::mark(tx, seq)? {
            Some((MarkKind::Terminal, Some(work))) => listed::relatives(tx, work)?.successor,
            Some(_) | None => None,
        };
        let ahead = pages::ahead_of(tx, seq)?;
        let intent = intents::get(tx, seq)?;
        let since = intent.as_ref().map(|intent| controls::since(tx, intent)).transpose()?;
        let since = since.unwrap_or_default();
        Ok((pages::event(tx, seq)?, Around { ahead, successor, intent, since, lacking: None }))
    });
    let (Some(row), mut around) = found.await? else {
        return Err(Refusal::UnknownEvent.into());
    };
    if row.mark.is_none() && around.ahead.is_none() {
        around.lacking = controls::lacking(context, seq).await;
    }
    let trouble = context.troubles.of_event(seq);
    let Reason { sentence, next } = of_event(&row, &around, trouble.as_deref());
    Ok(Why { id: row.event.uid.to_string(), sentence, next })
}

/// Why an event is where it is.
fn of_event(row: &EventRow, around: &Around, trouble: Option<&str>) -> Reason {
    let Reason { mut sentence, next } = match (row.mark, &around.lacking) {
        (None, Some(lacking)) => controls::unsupported(row.event.seq, lacking),
        (None, None) => unrouted(row.event.seq, around.ahead, trouble),
        (Some(mark), _) => marked(row, mark, around),
    };
    let reason = row.reason.as_deref().map(printable).unwrap_or_default();
    if row.asked.is_some() {
        sentence = format!("{sentence}; {reason}, so the `fallback` of its route stood in");
    } else if row.mark == Some(MarkKind::Drop) && !reason.is_empty() {
        sentence = format!("{sentence}; {reason}");
    }
    if let Some(original) = row.parent.filter(|_| is_replay(row)) {
        sentence = format!("{sentence}; it is a replay of {original}");
    }
    if row.conflicting {
        let again = "its identity came again with another body, which was not kept";
        sentence = format!("{sentence}; {again}");
    }
    Reason { sentence, next }
}

/// A request is core's own, and of those only a replay has a cause.
fn is_replay(row: &EventRow) -> bool {
    row.event.id.source == "core" && row.event.id.delivery.starts_with("request/")
}

fn unrouted(seq: Seq, ahead: Option<Seq>, trouble: Option<&str>) -> Reason {
    match (ahead, trouble) {
        (Some(ahead), _) => Reason {
            sentence: format!(
                "event {seq} is not routed yet: event {ahead} of the same work comes first"
            ),
            next: Some(format!("abide why {ahead}")),
        },
        (None, Some(trouble)) => Reason {
            sentence: format!(
                "event {seq} is not routed, and is tried again: {}; correct that and reload, or drop \
                 the event",
                printable(trouble)
            ),
            next: Some(format!("abide event drop {seq} --reason WHY")),
        },
        (None, None) => Reason {
            sentence: format!("event {seq} is kept and about to be routed"),
            next: Some(format!("abide why {seq}")),
        },
    }
}

fn marked(row: &EventRow, mark: MarkKind, around: &Around) -> Reason {
    let seq = row.event.seq;
    let work = row.work.map_or_else(|| "a work".to_owned(), |work| work.to_string());
    let by = row.route.as_ref().map_or(String::new(), |route| format!(" by route `{route}`"));
    let ask_work = row.work.map(|work| format!("abide why {work}"));
    let (sentence, next) = match mark {
        MarkKind::Queued => (format!("event {seq} is input of {work}{by}"), ask_work),
        // Each has an intent, which says more than the mark; a person's has no route.
        MarkKind::Inject | MarkKind::Interrupt => {
            let told =
                |intent| controls::told(intent, around.since, &work, &by, row.route.is_none());
            let plain = || format!("event {seq} is for the running attempt of {work}{by}");
            (around.intent.as_ref().map_or_else(plain, told), ask_work)
        }
        MarkKind::Woke => (format!("event {seq} woke {work} and is its input{by}"), ask_work),
        MarkKind::Unmatched => (
            format!("event {seq} is kept, and no route wanted it ({})", row.event.event_type),
            Some("abide route test FILE".to_owned()),
        ),
        MarkKind::Terminal => match around.successor {
            Some(successor) => (
                format!(
                    "event {seq} came after {work} had ended, which was reopened as {successor}"
                ),
                Some(format!("abide why {successor}")),
            ),
            None => {
                (format!("event {seq} came after {work} had ended, and changed nothing"), ask_work)
            }
        },
        MarkKind::Drop => (
            format!("event {seq} is dropped{by}: it is kept, and nothing starts from it"),
            Some("abide route test FILE".to_owned()),
        ),
        MarkKind::OperatorDrop => {
            let who = row.reason.as_deref().filter(|reason| !reason.is_empty());
            let who = who.map_or_else(|| "a person".to_owned(), printable);
            (
                format!("event {seq} was dropped by {who}; nothing starts from it"),
                Some(format!("abide event replay {seq}")),
            )
        }
        MarkKind::Close => (format!("event {seq} closed {work}{by}"), ask_work),
        MarkKind::ReplaySuspect => (
            format!(
                "event {seq} has the body of an earlier delivery under another id: it is suspect, \
                 and starts nothing until it is replayed"
            ),
            Some(format!("abide event replay {seq}")),
        ),
        MarkKind::Release if row.work.is_none() => (
            format!("event {seq} let the restored database go on: it is never input"),
            Some("abide hold list".to_owned()),
        ),
        MarkKind::Release => {
            (format!("event {seq} lifted the holds of {work}: it is never input"), ask_work)
        }
        MarkKind::StaleRetry => (
            format!(
                "event {seq} is the retry of an attempt that {work} does not wait for any more: \
                 it changes nothing"
            ),
            ask_work,
        ),
        MarkKind::Continuation => (
            format!("event {seq} is core's own note of a wake: it is never input"),
            Some(format!("abide chain {seq}")),
        ),
    };
    Reason { sentence, next }
}
