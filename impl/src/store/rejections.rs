//! `rejection`: durable diagnostics of derived events that a causal limit refused. REJECT-01

use serde::{Deserialize, Serialize};

use crate::domain::{AttemptNo, Millis, Seq, WaitId, WorkId};

use super::engine::{Row, StoreError, Tx, query_all};
use super::words::{Word, word};

/// What the refused event would have been.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Derived {
    /// The timeout of a wait.
    Timeout,
    /// The continuation of a wake.
    Continuation,
}

impl Word for Derived {
    const WORDS: &'static [(Self, &'static str)] =
        &[(Self::Timeout, "timeout"), (Self::Continuation, "continuation")];

    fn word(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Continuation => "continuation",
        }
    }
}

/// One diagnostic. It shows nothing of a payload. REJECT-03 REJECT-04
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Rejection {
    /// The wait whose timeout or continuation it was.
    pub wait: WaitId,
    /// Which of the two.
    pub kind: Derived,
    /// What would have caused it.
    pub parent: Seq,
    /// The root of that chain.
    pub root: Seq,
    /// The depth it would have had.
    pub depth: u32,
    /// The depth its root allows.
    pub depth_max: u32,
    /// The work concerned.
    pub work: WorkId,
    /// The attempt concerned.
    pub attempt: AttemptNo,
    /// When it was first refused.
    pub at: Millis,
}

/// Writes a diagnostic; repeating one refused attempt adds none. REJECT-02
///
/// # Errors
/// The machine failed.
pub fn insert(tx: &mut dyn Tx, rejection: &Rejection) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO rejection (wait, kind, parent, reason, root, depth, depth_max, work, attempt, \
         at) VALUES (?1, ?2, ?3, 'depth_limit', ?4, ?5, ?6, ?7, ?8, ?9) \
         ON CONFLICT (wait, kind, parent) DO NOTHING",
        &[
            rejection.wait.into(),
            rejection.kind.word().into(),
            rejection.parent.into(),
            rejection.root.into(),
            rejection.depth.into(),
            rejection.depth_max.into(),
            rejection.work.into(),
            rejection.attempt.into(),
            rejection.at.into(),
        ],
    )
    .map(drop)
}

fn read(row: &dyn Row) -> Result<Rejection, StoreError> {
    Ok(Rejection {
        wait: WaitId(row.int(0)?),
        kind: word(row, 1, "rejection.kind")?,
        parent: Seq(row.int(2)?),
        root: Seq(row.int(3)?),
        depth: row.small(4)?,
        depth_max: row.small(5)?,
        work: WorkId(row.int(6)?),
        attempt: AttemptNo(row.small(7)?),
        at: Millis(row.int(8)?),
    })
}

/// The newest diagnostics first.
///
/// # Errors
/// The machine failed.
pub fn list(tx: &mut dyn Tx, limit: u32) -> Result<Vec<Rejection>, StoreError> {
    query_all(
        tx,
        "SELECT wait, kind, parent, root, depth, depth_max, work, attempt, at FROM rejection \
         ORDER BY id DESC LIMIT ?1",
        &[limit.into()],
        read,
    )
}
