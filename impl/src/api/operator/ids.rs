//! What a caller means by an id: the whole of it, or any beginning that only one thing has.

use axum::http::StatusCode;
use serde::Deserialize;

use super::{PAGE, PAGE_MAX};
use crate::api::problem::ApiError;
use crate::command::Refusal;
use crate::domain::{Seq, WorkId};
use crate::store::reads::{self, Found};
use crate::store::{StoreError, Tx};

/// The place in a list, as every list takes it.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub(super) struct Place {
    /// Rows after this one.
    #[serde(default)]
    after: i64,
    limit: Option<u32>,
}

impl Place {
    pub(super) const fn after(self) -> i64 {
        self.after
    }

    pub(super) fn limit(self) -> u32 {
        self.limit.unwrap_or(PAGE).clamp(1, PAGE_MAX)
    }
}

/// What a read found, or why nothing can be shown. A read cannot answer an [`ApiError`] itself: its
/// errors are the machine's.
pub(super) type Sought<T> = Result<Result<T, ApiError>, StoreError>;

/// The event of an id, a beginning of one, or a sequence.
pub(super) fn event(tx: &mut dyn Tx, text: &str) -> Sought<Seq> {
    let found = reads::find_event(tx, text)?;
    Ok(one(found, text, "evt_", Refusal::UnknownEvent))
}

/// The work of an id, or a beginning of one.
pub(super) fn work(tx: &mut dyn Tx, text: &str) -> Sought<WorkId> {
    let found = reads::find_work(tx, text)?;
    Ok(one(found, text, "work_", Refusal::UnknownWork))
}

/// What an id of either kind stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Thing {
    Event(Seq),
    Work(WorkId),
}

/// The event or the work of an id; an attempt and a wait stand for their work.
pub(super) fn thing(tx: &mut dyn Tx, text: &str) -> Sought<Thing> {
    let kind = text.split_once('_').map(|(kind, _)| kind);
    match kind {
        Some("evt") => Ok(event(tx, text)?.map(Thing::Event)),
        Some("work") => Ok(work(tx, text)?.map(Thing::Work)),
        Some("att") => {
            let found = reads::find_attempt(tx, text)?;
            let known = one(found, text, "att_", Refusal::UnknownWork);
            Ok(known.map(|(work, _)| Thing::Work(work)))
        }
        Some("wait") => match one(reads::find_wait(tx, text)?, text, "wait_", Refusal::UnknownWait)
        {
            Ok(wait) => Ok(match crate::store::waits::get(tx, wait)? {
                Some(wait) => Ok(Thing::Work(wait.work)),
                None => Err(Refusal::UnknownWait.into()),
            }),
            Err(error) => Ok(Err(error)),
        },
        Some(_) => Ok(Err(unknown(text))),
        None => bare(tx, text),
    }
}

/// Without a prefix either kind may be meant.
fn bare(tx: &mut dyn Tx, text: &str) -> Sought<Thing> {
    let (event, work) = (reads::find_event(tx, text)?, reads::find_work(tx, text)?);
    Ok(match (event, work) {
        (Found::One(seq), Found::None) => Ok(Thing::Event(seq)),
        (Found::None, Found::One(work)) => Ok(Thing::Work(work)),
        // A number is a sequence, whatever ids begin like it.
        (Found::One(seq), _) if text.parse::<i64>().is_ok() => Ok(Thing::Event(seq)),
        (Found::None, Found::None) => Err(unknown(text)),
        (Found::One(_) | Found::Ambiguous, _) | (Found::None, Found::Ambiguous) => {
            Err(ApiError::ambiguous(text))
        }
    })
}

fn one<T>(found: Found<T>, text: &str, prefix: &str, missing: Refusal) -> Result<T, ApiError> {
    match found {
        Found::One(one) => Ok(one),
        Found::None => Err(missing.into()),
        // The prefix alone is the beginning of every id.
        Found::Ambiguous if text == prefix => Err(missing.into()),
        Found::Ambiguous => Err(ApiError::ambiguous(text)),
    }
}

fn unknown(text: &str) -> ApiError {
    let title = format!("there is no event and no work `{}`", text.escape_debug());
    ApiError::new(StatusCode::NOT_FOUND, "unknown_id", title)
        .next("`abide event list` and `abide work list` show what there is")
}
