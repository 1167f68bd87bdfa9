//! What is compared after every action: one fixed set of ordered reads of the whole state. For
//! checks on small states; nothing in the daemon calls it.

use serde::Serialize;

use crate::domain::{
    AttemptNo, AttemptStatus, ControlPolicy, Duration, Epoch, Fallback, Generation, Hold,
    Incarnation, IntentKind, IntentStatus, Key, MarkKind, Millis, Phase, Provenance, Segment, Seq,
    StartReason, WaitId, WaitStatus, WorkId, WorkStatus,
};

use super::engine::{Row, StoreError, Tx, query_all};
use super::rejections::Derived;
use super::timers::Timer;
use super::words::{opt_word, word};

/// The whole observed state, by row ids and sequences.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Observation {
    /// The current configuration.
    pub generation: Generation,
    /// How often the database was restored, counted from 1.
    pub incarnation: Incarnation,
    /// Whether the restore hold stands.
    pub restored: bool,
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
    /// Its key.
    pub key: Option<Key>,
    /// The wait whose timeout, continuation or alias it is.
    pub wait: Option<WaitId>,
    /// The failed attempt whose retry it is.
    pub failed: Option<AttemptNo>,
    /// What core derived it as, if it did.
    pub derived: Option<Derived>,
    /// What caused it.
    pub parent: Option<Seq>,
    /// The execution that published it.
    pub provenance: Option<Provenance>,
    /// Its identity came again with another body.
    pub conflicting: bool,
    /// Its mark; `None` while unrouted.
    pub mark: Option<MarkKind>,
    /// The configuration its mark was made under.
    pub generation: Option<Generation>,
    /// The policy that was asked for, where a fallback stood in.
    pub asked: Option<ControlPolicy>,
    /// How it is to reach a running attempt, and how far that came.
    pub intent: Option<SeenIntent>,
    /// The work its mark associates it with.
    pub work: Option<WorkId>,
    /// The root of its chain.
    pub root: Seq,
    /// Steps from the root.
    pub depth: u32,
}

/// The intent of one event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SeenIntent {
    /// How it is to reach the attempt.
    pub kind: IntentKind,
    /// The attempt it was committed for.
    pub attempt: AttemptNo,
    /// Where it is.
    pub status: IntentStatus,
    /// What stands in where it fails.
    pub on_error: Option<Fallback>,
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
    /// Its kind.
    pub kind: String,
    /// It outlives its attempts.
    pub standing: bool,
    /// The work it succeeds.
    pub predecessor: Option<WorkId>,
    /// The work it is a child of.
    pub parent: Option<WorkId>,
    /// The event that closed it.
    pub closed_by: Option<Seq>,
    /// When it is closed, should it still be idle then.
    pub idle_at: Option<Millis>,
    /// Why it does not start.
    pub holds: Vec<Hold>,
    /// Failures counted.
    pub failures: u32,
    /// The failed attempt whose retry it waits for.
    pub backoff: Option<AttemptNo>,
    /// The timer of that retry.
    pub retry: SeenTimer,
    /// The segment whose process may still run.
    pub excluded: Option<Segment>,
    /// Whether that is the last segment of its last attempt.
    pub excluded_is_last: bool,
    /// Its last attempt.
    pub attempt: Option<SeenAttempt>,
    /// Pending input, in sequence order.
    pub pending: Vec<Seq>,
    /// Input that an error fallback withdrew, in sequence order.
    pub withdrawn: Vec<Seq>,
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
    /// The configuration it is pinned to.
    pub generation: Generation,
    /// The active time it has left; `None` once it ended, or if it may use as much as it takes.
    pub active: Option<SeenActive>,
    /// What it was made for.
    pub trigger: Seq,
    /// The claim that handed over its batch; a recovery goes on with the batch of the claim before.
    pub batch_epoch: Epoch,
    /// What its last segment was claimed with, in sequence order.
    pub batch: Vec<Seq>,
    /// The event that interrupted it.
    pub interrupt_event: Option<Seq>,
}

/// The active time of an open attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SeenActive {
    /// What was left when its last segment began or it parked.
    pub left: Duration,
    /// It runs since then; `None` while parked.
    pub since: Option<Millis>,
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
    /// How far its subscription is translated; `None` without an active one.
    pub checkpoint: Option<Seq>,
}

/// A timer of a wait, or of a retry.
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

impl SeenTimer {
    fn of(timer: Option<Timer>) -> Self {
        match timer {
            None => Self::None,
            Some(Timer { disabled: true, .. }) => Self::Disabled,
            Some(Timer { disabled: false, fire_at }) => Self::Armed(fire_at),
        }
    }
}

/// One diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SeenRejection {
    /// What was refused.
    pub kind: Derived,
    /// What would have caused it.
    pub parent: Seq,
    /// The wait concerned, if one is.
    pub wait: Option<WaitId>,
    /// The work concerned, if one is.
    pub work: Option<WorkId>,
    /// The attempt concerned, if one is.
    pub attempt: Option<AttemptNo>,
}

/// Reads the whole observed state.
///
/// # Errors
/// The machine failed, or a row is damaged.
pub fn observe(tx: &mut dyn Tx) -> Result<Observation, StoreError> {
    Ok(Observation {
        generation: super::generations::current_no(tx)?,
        incarnation: super::meta::incarnation(tx)?,
        restored: super::meta::restored(tx)?,
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
         e.depth, ks.text, k.external_id, e.derived, e.parent, e.by_work, e.by_attempt, c.event, \
         m.generation, e.failed, m.asked, i.kind, i.attempt, i.status, i.on_error FROM event AS e \
         JOIN name AS s ON s.id = e.source \
         JOIN name AS t ON t.id = e.type \
         LEFT JOIN key AS k ON k.id = e.key \
         LEFT JOIN name AS ks ON ks.id = k.source \
         LEFT JOIN conflict AS c ON c.event = e.seq \
         LEFT JOIN mark AS m ON m.event = e.seq \
         LEFT JOIN intent AS i ON i.event = e.seq ORDER BY e.seq",
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
                key: row.opt_text(10)?.zip(row.opt_text(11)?).map(|(source, id)| Key {
                    source: source.to_owned(),
                    external_id: id.to_owned(),
                }),
                derived: opt_word(row, 12, "event.derived")?,
                parent: row.opt_int(13)?.map(Seq),
                provenance: row.opt_int(14)?.zip(row.opt_small(15)?).map(|(work, attempt)| {
                    Provenance { work: WorkId(work), attempt: AttemptNo(attempt) }
                }),
                conflicting: row.opt_int(16)?.is_some(),
                generation: row.opt_int(17)?.map(Generation),
                failed: row.opt_small(18)?.map(AttemptNo),
                asked: opt_word(row, 19, "mark.asked")?,
                intent: intent(row)?,
            })
        },
    )
}

fn intent(row: &dyn Row) -> Result<Option<SeenIntent>, StoreError> {
    let Some(kind) = opt_word(row, 20, "intent.kind")? else { return Ok(None) };
    let attempt = AttemptNo(row.small(21)?);
    let status = word(row, 22, "intent.status")?;
    let on_error = opt_word(row, 23, "intent.on_error")?;
    Ok(Some(SeenIntent { kind, attempt, status, on_error }))
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
        kind: super::names::text(tx, row.kind)?,
        standing: row.standing,
        predecessor: row.predecessor,
        parent: row.parent,
        closed_by: row.closed_by,
        idle_at: row.idle_at,
        holds: row.holds.iter().collect(),
        failures: row.failures,
        backoff: row.backoff,
        retry: SeenTimer::of(row.retry),
        excluded: row.marked,
        excluded_is_last: row.marked.is_some() && row.marked == last,
        attempt: row.attempt.map(|n| attempt(tx, row.id, n)).transpose()?,
        pending: input(tx, row.id, super::inputs::PENDING)?,
        withdrawn: input(tx, row.id, super::inputs::WITHDRAWN)?,
        consumed: consumed(tx, row.id)?,
        wait: row.wait.map(|id| wait(tx, id)).transpose()?,
    })
}

fn attempt(tx: &mut dyn Tx, work: WorkId, n: AttemptNo) -> Result<SeenAttempt, StoreError> {
    let row = super::attempts::referred(tx, work, n)?;
    let since = match row.status {
        AttemptStatus::Running => Some(Some(row.segment_at)),
        AttemptStatus::Parked => Some(None),
        AttemptStatus::Completed
        | AttemptStatus::Waiting
        | AttemptStatus::Failed
        | AttemptStatus::Cancelled => None,
    };
    let active = row.active_left.zip(since).map(|(left, since)| SeenActive { left, since });
    Ok(SeenAttempt {
        generation: row.pin.generation,
        active,
        n,
        status: row.status,
        phase: row.phase,
        epoch: row.epoch,
        reason: row.reason,
        expires_at: row.expires_at,
        trigger: row.trigger,
        batch_epoch: row.batch_epoch,
        batch: super::inputs::batch(tx, work, n, row.batch_epoch)?,
        interrupt_event: row.interrupt_event,
    })
}

/// Input that no attempt has: pending or withdrawn.
fn input(tx: &mut dyn Tx, work: WorkId, place: i64) -> Result<Vec<Seq>, StoreError> {
    query_all(
        tx,
        "SELECT event FROM input WHERE work = ?1 AND attempt = ?2 ORDER BY event",
        &[work.into(), place.into()],
        |row| Ok(Seq(row.int(0)?)),
    )
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
                epoch: Epoch(row.unsigned(2)?),
            })
        },
    )
}

fn wait(tx: &mut dyn Tx, id: WaitId) -> Result<SeenWait, StoreError> {
    let row = super::waits::get(tx, id)?.ok_or_else(|| {
        StoreError::corrupt(format!("wait {id} is named by its work and missing"))
    })?;
    Ok(SeenWait {
        wait: id,
        status: row.status,
        after: row.after,
        winner: row.winner,
        timeout: row.timeout,
        timer: SeenTimer::of(super::timers::get(tx, id)?),
        checkpoint: super::subscriptions::of_wait(tx, id)?
            .filter(|subscription| subscription.active)
            .map(|subscription| subscription.checkpoint),
    })
}

fn rejections(tx: &mut dyn Tx) -> Result<Vec<SeenRejection>, StoreError> {
    query_all(
        tx,
        "SELECT id, kind, parent, wait, work, attempt FROM rejection ORDER BY id",
        &[],
        |row| {
            Ok(SeenRejection {
                kind: word(row, 1, "rejection.kind")?,
                parent: Seq(row.int(2)?),
                wait: row.opt_int(3)?.map(WaitId),
                work: row.opt_int(4)?.map(WorkId),
                attempt: row.opt_small(5)?.map(AttemptNo),
            })
        },
    )
}
