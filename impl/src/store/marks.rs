//! `mark`: the one committed result of routing an event.

use crate::domain::{ControlPolicy, Generation, MarkKind, Millis, Seq, WaitId, WorkId};

use super::engine::{StoreError, Tx, query_one};
use super::words::{Word as _, word};

/// A mark as it is written, once. ROUTE-19
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark<'a> {
    /// The event.
    pub event: Seq,
    /// What became of it.
    pub kind: MarkKind,
    /// The work it is associated with.
    pub work: Option<WorkId>,
    /// The wait it woke or continues.
    pub wait: Option<WaitId>,
    /// The route that decided; `None` where none did.
    pub route: Option<&'a str>,
    /// Why, where a person decided, the route dropped it or a fallback stood in; for people.
    pub reason: Option<&'a str>,
    /// The policy that was asked for, where a fallback stood in. POLICY-28
    pub asked: Option<ControlPolicy>,
    /// The configuration it was decided under.
    pub generation: Generation,
    /// When.
    pub at: Millis,
}

/// Writes a mark.
///
/// # Errors
/// The machine failed, or the event has one.
pub fn insert(tx: &mut dyn Tx, mark: &Mark<'_>) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO mark (event, kind, work, wait, route, generation, at, reason, asked) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        &[
            mark.event.into(),
            mark.kind.word().into(),
            mark.work.into(),
            mark.wait.into(),
            mark.route.into(),
            mark.generation.into(),
            mark.at.into(),
            mark.reason.into(),
            mark.asked.map(ControlPolicy::word).into(),
        ],
    )
    .map(drop)
}

/// What became of an event, and the work it is associated with.
///
/// # Errors
/// The machine failed.
pub fn get(tx: &mut dyn Tx, event: Seq) -> Result<Option<(MarkKind, Option<WorkId>)>, StoreError> {
    query_one(tx, "SELECT event, kind, work FROM mark WHERE event = ?1", &[event.into()], |row| {
        Ok((word(row, 1, "mark.kind")?, row.opt_int(2)?.map(WorkId)))
    })
}
