//! `why`: one sentence on where something is and, where one helps, the command that moves it.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};

use super::ids::{self, Sought, Thing};
use super::reason::{self, Facts, Reason};
use crate::api::problem::ApiError;
use crate::api::text::printable;
use crate::api::types::Why;
use crate::command::Refusal;
use crate::domain::{MarkKind, Seq, WorkId};
use crate::host::Context;
use crate::store::attempts::Attempt;
use crate::store::pages::{self, EventRow, WorkRow};
use crate::store::reads::{self, ListedWait};
use crate::store::{Tx, timers, unrouted};

pub(super) async fn show(
    State(context): State<Arc<Context>>,
    Path(id): Path<String>,
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
    disabled: bool,
    running: i64,
    unrouted: Option<Seq>,
}

async fn why_work(context: &Context, id: WorkId) -> Result<Why, ApiError> {
    let seen = context.read(move |tx| see(tx, id)).await??;
    let facts = Facts {
        row: &seen.row,
        attempt: seen.attempt.as_ref(),
        wait: seen.wait.as_ref(),
        disabled: seen.disabled,
        running: seen.running,
        capacity: context.config.scope.capacity,
        unrouted: seen.unrouted,
        trouble: context.troubles.of_work(id),
        now: context.now(),
    };
    let Reason { sentence, next } = reason::of_work(&facts);
    Ok(Why { id: seen.row.work.uid.to_string(), sentence, next })
}

fn see(tx: &mut dyn Tx, id: WorkId) -> Sought<Seen> {
    let Some(row) = pages::work(tx, id)? else { return Ok(Err(Refusal::UnknownWork.into())) };
    let wait = row.work.wait;
    let disabled = match wait {
        Some(wait) => timers::get(tx, wait)?.is_some_and(|timer| timer.disabled),
        None => false,
    };
    let wait = wait.map_or(Ok(None), |wait| reads::wait(tx, wait))?;
    Ok(Ok(Seen {
        attempt: reads::last_attempt(tx, id)?,
        wait,
        disabled,
        running: reads::counts(tx)?.running,
        unrouted: unrouted::lowest_of(tx, id, row.work.scope)?,
        row,
    }))
}

async fn why_event(context: &Context, seq: Seq) -> Result<Why, ApiError> {
    let found =
        context.read(move |tx| Ok((pages::event(tx, seq)?, pages::ahead_of(tx, seq)?))).await?;
    let (Some(row), ahead) = found else { return Err(Refusal::UnknownEvent.into()) };
    let trouble = context.troubles.of_event(seq);
    let Reason { sentence, next } = of_event(&row, ahead, trouble.as_deref());
    Ok(Why { id: row.event.uid.to_string(), sentence, next })
}

/// Why an event is where it is.
fn of_event(row: &EventRow, ahead: Option<Seq>, trouble: Option<&str>) -> Reason {
    let seq = row.event.seq;
    let Some(mark) = row.mark else {
        return match (ahead, trouble) {
            (Some(ahead), _) => Reason {
                sentence: format!(
                    "event {seq} is not routed yet: event {ahead} of the same work comes first"
                ),
                next: Some(format!("abide why {ahead}")),
            },
            (None, Some(trouble)) => Reason {
                sentence: format!(
                    "event {seq} is not routed, and is tried again: {}",
                    printable(trouble)
                ),
                next: Some("correct the route in the configuration, then restart".to_owned()),
            },
            (None, None) => Reason {
                sentence: format!("event {seq} is kept and about to be routed"),
                next: Some(format!("abide why {seq}")),
            },
        };
    };
    marked(row, mark)
}

fn marked(row: &EventRow, mark: MarkKind) -> Reason {
    let seq = row.event.seq;
    let work = row.work.map_or_else(|| "a work".to_owned(), |work| work.to_string());
    let by = row.route.as_ref().map_or(String::new(), |route| format!(" by route `{route}`"));
    let ask_work = row.work.map(|work| format!("abide why {work}"));
    match mark {
        MarkKind::Queued => {
            Reason { sentence: format!("event {seq} is input of {work}{by}"), next: ask_work }
        }
        MarkKind::Woke => Reason {
            sentence: format!("event {seq} woke {work} and is its input{by}"),
            next: ask_work,
        },
        MarkKind::Unmatched => Reason {
            sentence: format!(
                "event {seq} is kept, and no route wanted it ({})",
                row.event.event_type
            ),
            next: Some("abide route test FILE".to_owned()),
        },
        MarkKind::Terminal => Reason {
            sentence: format!("event {seq} came after {work} had ended, and changed nothing"),
            next: ask_work,
        },
        MarkKind::Continuation => Reason {
            sentence: format!("event {seq} is core's own note of a wake: it is never input"),
            next: Some(format!("abide chain {seq}")),
        },
    }
}
