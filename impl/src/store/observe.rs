//! What is compared after every action: one fixed set of ordered reads of the whole state. For
//! checks on small states; nothing in the daemon calls it.

use serde::Serialize;

use crate::domain::{
    AttemptNo, AttemptStatus, Epoch, Hold, Key, MarkKind, Millis, Phase, Segment, Seq, StartReason,
    WaitId, WaitStatus, WorkId, WorkStatus,
};

use super::engine::{StoreError, Tx, query_all, query_one};
use super::rejections::Derived;
use super::words::{opt_word, word};

/// The whole observed state, by row ids and sequences.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Observation {
    /// In sequence order.
    pub events: Vec<SeenEvent>,
    /// Owned keys, in the order they were first named.
    pub keys: Vec<SeenKey>,
    /// In the order they were created.
    pub works: Vec<SeenWork>,
    /// In the order they were recorded.
    pub rejections: Vec<SeenRejection>,
}

/// One event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SeenEvent {
    /// Its sequence.
    pub seq: Seq,
    /// The source of its identity; `core` for derived ones.
    pub source: String,
    /// The delivery of its identity.
    pub delivery: String,
    /// Its type; `core.wait.timeout` and `core.wait.woken` are core's.
    pub event_type: String,
    /// The work it names.
    pub target: Option<WorkId>,
    /// The wait whose timeout or continuation it is.
    pub wait: Option<WaitId>,
    /// Its mark; `None` while unrouted.
    pub mark: Option<MarkKind>,
    /// The work its mark associates it with.
    pub work: Option<WorkId>,
    /// The root of its chain.
    pub root: Seq,
    /// Steps from the root.
    pub depth: u32,
}

/// One owned key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SeenKey {
    /// The key.
    pub key: Key,
    /// Its owner.
    pub owner: WorkId,
}

/// One work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SeenWork {
    /// Its row.
    pub work: WorkId,
    /// Its id at the edge.
    pub uid: String,
    /// Where it is.
    pub status: WorkStatus,
    /// Why it does not start.
    pub hold: Option<Hold>,
    /// Failures counted.
    pub failures: u32,
    /// The segment whose process may still run.
    pub excluded: Option<Segment>,
    /// Whether that is the last segment of its last attempt.
    pub excluded_is_last: bool,
    /// Its last attempt.
    pub attempt: Option<SeenAttempt>,
    /// Pending input, in sequence order.
    pub pending: Vec<Seq>,
    /// Consumed input: claim by claim, each batch in sequence order.
    pub consumed: Vec<SeenInput>,
    /// Its last wait.
    pub wait: Option<SeenWait>,
}

/// The last attempt of a work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SeenAttempt {
    /// Its number.
    pub n: AttemptNo,
    /// Where it is.
    pub status: AttemptStatus,
    /// How far its segment has come; only while running.
    pub phase: Option<Phase>,
    /// Its last claim.
    pub epoch: Epoch,
    /// Why its segment started.
    pub reason: StartReason,
    /// When its lease ends; `None` without one. Live while the instant is later than now.
    pub expires_at: Option<Millis>,
    /// What it was made for.
    pub trigger: Seq,
    /// What its last segment consumed, in sequence order.
    pub batch: Vec<Seq>,
}

/// One consumed input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SeenInput {
    /// The event.
    pub event: Seq,
    /// The attempt that consumed it.
    pub attempt: AttemptNo,
    /// The claim that consumed it.
    pub epoch: Epoch,
}

/// The last wait of a work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SeenWait {
    /// Its row.
    pub wait: WaitId,
    /// Where it is.
    pub status: WaitStatus,
    /// Its watermark.
    pub after: Seq,
    /// What woke it.
    pub winner: Option<Seq>,
    /// Its accepted timeout.
    pub timeout: Option<Seq>,
    /// Its timer.
    pub timer: SeenTimer,
}

/// The timer of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SeenTimer {
    /// There never was one, or it fired or was cancelled.
    None,
    /// Armed for this instant.
    Armed(Millis),
    /// A causal limit refused its firing.
    Disabled,
}

/// One diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SeenRejection {
    /// The wait concerned.
    pub wait: WaitId,
    /// What was refused.
    pub kind: Derived,
}

/// Reads the whole observed state.
///
/// # Errors
/// The machine failed, or a row is damaged.
pub fn observe(tx: &mut dyn Tx) -> Result<Observation, StoreError> {
    Ok(Observation {
        events: events(tx)?,
        keys: keys(tx)?,
        works: works(tx)?,
        rejections: rejections(tx)?,
    })
}

fn events(tx: &mut dyn Tx) -> Result<Vec<SeenEvent>, StoreError> {
    query_all(
        tx,
        "SELECT e.seq, s.text, e.delivery, t.text, e.target, e.wait, m.kind, m.work, e.root, \
         e.depth FROM event AS e \
         JOIN name AS s ON s.id = e.source \
         JOIN name AS t ON t.id = e.type \
         LEFT JOIN mark AS m ON m.event = e.seq ORDER BY e.seq",
        &[],
        |row| {
            Ok(SeenEvent {
                seq: Seq(row.int(0)?),
                source: row.text(1)?.to_owned(),
                delivery: row.text(2)?.to_owned(),
                event_type: row.text(3)?.to_owned(),
                target: row.opt_int(4)?.map(WorkId),
                wait: row.opt_int(5)?.map(WaitId),
                mark: opt_word(row, 6, "mark.kind")?,
                work: row.opt_int(7)?.map(WorkId),
                root: Seq(row.int(8)?),
                depth: row.small(9)?,
            })
        },
    )
}

fn keys(tx: &mut dyn Tx) -> Result<Vec<SeenKey>, StoreError> {
    query_all(
        tx,
        "SELECT s.text, k.external_id, k.work FROM key AS k JOIN name AS s ON s.id = k.source \
         WHERE k.work IS NOT NULL ORDER BY k.id",
        &[],
        |row| {
            let key = Key { source: row.text(0)?.to_owned(), external_id: row.text(1)?.to_owned() };
            Ok(SeenKey { key, owner: WorkId(row.int(2)?) })
        },
    )
}

fn works(tx: &mut dyn Tx) -> Result<Vec<SeenWork>, StoreError> {
    let rows = query_all(tx, super::works::select_work!("ORDER BY id"), &[], super::works::read)?;
    rows.iter().map(|row| work(tx, row)).collect()
}

fn work(tx: &mut dyn Tx, row: &super::works::Work) -> Result<SeenWork, StoreError> {
    let last = row.attempt.zip(row.epoch);
    let last = last.map(|(attempt, epoch)| Segment { attempt, epoch });
    Ok(SeenWork {
        work: row.id,
        uid: row.uid.to_string(),
        status: row.status,
        hold: row.hold,
        failures: row.failures,
        excluded: row.marked,
        excluded_is_last: row.marked.is_some() && row.marked == last,
        attempt: row.attempt.map(|n| attempt(tx, row.id, n)).transpose()?,
        pending: query_all(
            tx,
            "SELECT event FROM input WHERE work = ?1 AND attempt = 0 ORDER BY event",
            &[row.id.into()],
            |row| Ok(Seq(row.int(0)?)),
        )?,
        consumed: consumed(tx, row.id)?,
        wait: row.wait.map(|id| wait(tx, id)).transpose()?,
    })
}

fn attempt(tx: &mut dyn Tx, work: WorkId, n: AttemptNo) -> Result<SeenAttempt, StoreError> {
    let row = super::attempts::referred(tx, work, n)?;
    Ok(SeenAttempt {
        n,
        status: row.status,
        phase: row.phase,
        epoch: row.epoch,
        reason: row.reason,
        expires_at: row.expires_at,
        trigger: row.trigger,
        batch: super::inputs::batch(tx, work, n, row.batch_epoch)?,
    })
}

fn consumed(tx: &mut dyn Tx, work: WorkId) -> Result<Vec<SeenInput>, StoreError> {
    query_all(
        tx,
        "SELECT event, attempt, epoch FROM input WHERE work = ?1 AND attempt > 0 \
         ORDER BY attempt, epoch, event",
        &[work.into()],
        |row| {
            Ok(SeenInput {
                event: Seq(row.int(0)?),
                attempt: AttemptNo(row.small(1)?),
                epoch: Epoch(row.small(2)?),
            })
        },
    )
}

fn wait(tx: &mut dyn Tx, id: WaitId) -> Result<SeenWait, StoreError> {
    let row = super::waits::get(tx, id)?.ok_or_else(|| {
        StoreError::corrupt(format!("wait {id} is named by its work and missing"))
    })?;
    let timer = query_one(
        tx,
        "SELECT fire_at, disabled FROM timer WHERE wait = ?1",
        &[id.into()],
        |row| {
            let disabled = row.int(1)? != 0;
            Ok(if disabled { SeenTimer::Disabled } else { SeenTimer::Armed(Millis(row.int(0)?)) })
        },
    )?;
    Ok(SeenWait {
        wait: id,
        status: row.status,
        after: row.after,
        winner: row.winner,
        timeout: row.timeout,
        timer: timer.unwrap_or(SeenTimer::None),
    })
}

fn rejections(tx: &mut dyn Tx) -> Result<Vec<SeenRejection>, StoreError> {
    query_all(tx, "SELECT id, wait, kind FROM rejection ORDER BY id", &[], |row| {
        Ok(SeenRejection { wait: WaitId(row.int(1)?), kind: word(row, 2, "rejection.kind")? })
    })
}
