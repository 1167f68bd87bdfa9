//! `rejection`: durable diagnostics of derived events that a causal limit refused. REJECT-01

use serde::{Deserialize, Serialize};

use crate::domain::{AttemptNo, Millis, Seq, WaitId, WorkId};

use super::engine::{Row, StoreError, Tx, query_all};
use super::words::{Word as _, word};

/// What the refused event would have been.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Derived {
    /// The timeout of a wait.
    Timeout,
    /// The continuation of a wake.
    Continuation,
    /// The alias of a source's event.
    Alias,
    /// The end of a turn, as its execution declared it.
    TurnEnded,
    /// The creation of a successor by a route.
    Successor,
    /// An operator's replay.
    Replay,
    /// The due retry of a failed attempt.
    Retry,
}

/// One diagnostic. It shows nothing of a payload. REJECT-03 REJECT-04
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rejection {
    /// The identity the event would have had. REJECT-02
    pub delivery: String,
    /// What it would have been.
    pub kind: Derived,
    /// What would have caused it.
    pub parent: Seq,
    /// The root of that chain.
    pub root: Seq,
    /// The depth it would have had.
    pub depth: u32,
    /// The depth its root allows.
    pub depth_max: u32,
    /// The wait concerned, if one is.
    pub wait: Option<WaitId>,
    /// The work concerned, if one is.
    pub work: Option<WorkId>,
    /// The attempt concerned, if one is.
    pub attempt: Option<AttemptNo>,
    /// When it was first refused.
    pub at: Millis,
}

/// Writes a diagnostic; repeating one refused attempt adds none. REJECT-02
///
/// # Errors
/// The machine failed.
pub fn insert(tx: &mut dyn Tx, rejection: &Rejection) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO rejection (delivery, kind, parent, reason, root, depth, depth_max, wait, work, \
         attempt, at) VALUES (?1, ?2, ?3, 'depth_limit', ?4, ?5, ?6, ?7, ?8, ?9, ?10) \
         ON CONFLICT (delivery, parent) DO NOTHING",
        &[
            (&rejection.delivery).into(),
            rejection.kind.word().into(),
            rejection.parent.into(),
            rejection.root.into(),
            rejection.depth.into(),
            rejection.depth_max.into(),
            rejection.wait.into(),
            rejection.work.into(),
            rejection.attempt.into(),
            rejection.at.into(),
        ],
    )
    .map(drop)
}

fn read(row: &dyn Row) -> Result<Rejection, StoreError> {
    Ok(Rejection {
        delivery: row.text(0)?.to_owned(),
        kind: word(row, 1, "rejection.kind")?,
        parent: Seq(row.int(2)?),
        root: Seq(row.int(3)?),
        depth: row.small(4)?,
        depth_max: row.small(5)?,
        wait: row.opt_int(6)?.map(WaitId),
        work: row.opt_int(7)?.map(WorkId),
        attempt: row.opt_small(8)?.map(AttemptNo),
        at: Millis(row.int(9)?),
    })
}

/// The newest diagnostics first.
///
/// # Errors
/// The machine failed.
pub fn list(tx: &mut dyn Tx, limit: u32) -> Result<Vec<Rejection>, StoreError> {
    query_all(
        tx,
        "SELECT delivery, kind, parent, root, depth, depth_max, wait, work, attempt, at \
         FROM rejection ORDER BY id DESC LIMIT ?1",
        &[limit.into()],
        read,
    )
}
