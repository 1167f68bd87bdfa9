//! What the daemon's loops ask: index lookups, whatever is retained.

use crate::domain::{
    AttemptNo, AttemptStatus, Epoch, EventUid, Fallback, Generation, IntentKind, IntentStatus,
    Millis, Phase, Segment, Seq, WaitId, WorkId, WorkStatus, WorkUid,
};
use crate::store::engine::{Listed, Row, StoreError, Tx, query_all, query_listed, query_one};
use crate::store::names;
use crate::store::words::{Word as _, opt_word, word};

/// Unrouted events above `after`, in acceptance order: the router's work.
///
/// # Errors
/// The machine failed.
pub fn unrouted(tx: &mut dyn Tx, after: Seq, limit: u32) -> Result<Vec<Seq>, StoreError> {
    query_all(
        tx,
        "SELECT event FROM unrouted WHERE event > ?1 ORDER BY event LIMIT ?2",
        &[after.into(), limit.into()],
        |row| Ok(Seq(row.int(0)?)),
    )
}

/// Scopes that have claimable work, by name: the scheduler goes round them. OURS-26
///
/// # Errors
/// The machine failed.
pub fn claimable_scopes(tx: &mut dyn Tx) -> Result<Vec<String>, StoreError> {
    query_all(
        tx,
        "SELECT text FROM name WHERE id IN (SELECT scope FROM work WHERE status = 'ready' AND \
         holds = 0 AND marked_attempt IS NULL AND backoff IS NULL AND (pending_count > 0 OR \
         next_trigger IS NOT NULL)) ORDER BY text",
        &[],
        |row| Ok(row.text(0)?.to_owned()),
    )
}

/// Ready work that something asks to start and nothing holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimable {
    /// Its row.
    pub work: WorkId,
    /// Its id at the edge.
    pub uid: WorkUid,
    /// Its kind, which names its binding.
    pub kind: String,
    /// When it became ready.
    pub since: Millis,
    /// Its last attempt.
    pub attempt: Option<AttemptNo>,
    /// Whether a claim would resume that attempt.
    pub resumes: bool,
}

/// Claimable work of one scope after a given row, the longest ready first. OURS-26
///
/// # Errors
/// The machine failed.
pub fn claimable(
    tx: &mut dyn Tx,
    scope: &str,
    after: (Millis, WorkId),
    limit: u32,
) -> Result<Vec<Listed<Claimable>>, StoreError> {
    let Some(scope) = names::find(tx, scope)? else { return Ok(Vec::new()) };
    query_listed(
        tx,
        "SELECT w.id, w.uid, k.text, w.since, w.attempt, w.attempt_status FROM work AS w \
         JOIN name AS k ON k.id = w.kind \
         WHERE w.scope = ?1 AND w.status = 'ready' AND w.holds = 0 AND w.marked_attempt IS NULL \
         AND w.backoff IS NULL AND (w.pending_count > 0 OR w.next_trigger IS NOT NULL) \
         AND (w.since, w.id) > (?2, ?3) ORDER BY w.since, w.id LIMIT ?4",
        &[scope.into(), after.0.into(), after.1.into(), limit.into()],
        (3, 0),
        |row| {
            let last: Option<AttemptStatus> = opt_word(row, 5, "work.attempt_status")?;
            Ok(Claimable {
                work: WorkId(row.int(0)?),
                uid: WorkUid::from_uuid(row.uuid(1)?),
                kind: row.text(2)?.to_owned(),
                since: Millis(row.int(3)?),
                attempt: row.opt_small(4)?.map(AttemptNo),
                resumes: last == Some(AttemptStatus::Parked),
            })
        },
    )
}

/// Armed timers that are due, after a given one, the earliest first. WAKE-04
///
/// # Errors
/// The machine failed.
pub fn due_timers(
    tx: &mut dyn Tx,
    now: Millis,
    after: (Millis, WaitId),
    limit: u32,
) -> Result<Vec<(Millis, WaitId)>, StoreError> {
    query_all(
        tx,
        "SELECT fire_at, wait FROM timer WHERE disabled = 0 AND fire_at <= ?1 \
         AND (fire_at, wait) > (?2, ?3) ORDER BY fire_at, wait LIMIT ?4",
        &[now.into(), after.0.into(), after.1.into(), limit.into()],
        |row| Ok((Millis(row.int(0)?), WaitId(row.int(1)?))),
    )
}

/// When the next armed timer is due, of those after the instant `after`.
///
/// # Errors
/// The machine failed.
pub fn next_timer(tx: &mut dyn Tx, after: Millis) -> Result<Option<Millis>, StoreError> {
    query_one(
        tx,
        "SELECT min(fire_at) FROM timer WHERE disabled = 0 AND fire_at > ?1",
        &[after.into()],
        |row| Ok(row.opt_int(0)?.map(Millis)),
    )
    .map(Option::flatten)
}

/// Active waits above `after` that an accepted event matches, or seems to: `Wake` decides. What is
/// read are unrouted events and accepted timeouts, never history.
///
/// # Errors
/// The machine failed.
pub fn wake_candidates(
    tx: &mut dyn Tx,
    after: WaitId,
    limit: u32,
) -> Result<Vec<WaitId>, StoreError> {
    query_all(
        tx,
        "SELECT w.id FROM unrouted AS u JOIN key AS k ON k.id = u.key \
         JOIN wait AS w ON w.work = k.work AND w.status = 'active' \
         JOIN wait_key AS wk ON wk.wait = w.id AND wk.key = u.key \
         WHERE u.event > w.after_seq AND (u.target IS NULL OR u.target = w.work) AND w.id > ?1 \
         AND (u.by_work IS NULL OR u.by_work <> w.work) \
         UNION \
         SELECT id FROM wait WHERE status = 'active' AND timeout_event IS NOT NULL AND id > ?1 \
         ORDER BY 1 LIMIT ?2",
        &[after.into(), limit.into()],
        |row| Ok(WaitId(row.int(0)?)),
    )
}

/// A running attempt, and the binding it is pinned to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Running {
    /// Its work.
    pub work: WorkId,
    /// Its number.
    pub attempt: AttemptNo,
    /// Its last claim.
    pub epoch: Epoch,
    /// How far its segment has come.
    pub phase: Phase,
    /// When its lease ends.
    pub expires_at: Millis,
    /// The binding's name.
    pub binding: String,
    /// The configuration that name is read in.
    pub generation: Generation,
}

fn running_row(row: &dyn Row) -> Result<Running, StoreError> {
    Ok(Running {
        work: WorkId(row.int(0)?),
        attempt: AttemptNo(row.small(1)?),
        epoch: Epoch(row.unsigned(2)?),
        phase: word(row, 3, "attempt.phase")?,
        expires_at: Millis(row.int(4)?),
        binding: row.text(5)?.to_owned(),
        generation: Generation(row.int(6)?),
    })
}

/// Running attempts whose lease has ended, after a given one, the longest ended first. LEASE-02
///
/// # Errors
/// The machine failed.
pub fn expired(
    tx: &mut dyn Tx,
    now: Millis,
    after: (Millis, WorkId),
    limit: u32,
) -> Result<Vec<Listed<Running>>, StoreError> {
    query_listed(
        tx,
        "SELECT work, n, epoch, phase, expires_at, binding, generation FROM attempt \
         WHERE status = 'running' AND expires_at <= ?1 AND (expires_at, work) > (?2, ?3) \
         ORDER BY expires_at, work LIMIT ?4",
        &[now.into(), after.0.into(), after.1.into(), limit.into()],
        (4, 0),
        running_row,
    )
}

/// When the next lease ends, of those after the instant `after`.
///
/// # Errors
/// The machine failed.
pub fn next_expiry(tx: &mut dyn Tx, after: Millis) -> Result<Option<Millis>, StoreError> {
    query_one(
        tx,
        "SELECT min(expires_at) FROM attempt WHERE status = 'running' AND expires_at > ?1",
        &[after.into()],
        |row| Ok(row.opt_int(0)?.map(Millis)),
    )
    .map(Option::flatten)
}

/// Running attempts of works above `after`.
///
/// # Errors
/// The machine failed.
pub fn running(tx: &mut dyn Tx, after: WorkId, limit: u32) -> Result<Vec<Running>, StoreError> {
    query_all(
        tx,
        "SELECT a.work, a.n, a.epoch, a.phase, a.expires_at, a.binding, a.generation \
         FROM work AS w JOIN attempt AS a ON a.work = w.id AND a.n = w.attempt \
         WHERE w.status = 'running' AND w.id > ?1 ORDER BY w.id LIMIT ?2",
        &[after.into(), limit.into()],
        running_row,
    )
}

/// A work whose exclusion mark is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Excluded {
    /// The work.
    pub work: WorkId,
    /// The segment whose process may still run.
    pub segment: Segment,
    /// The work's status; of a cancelled work the process is to be stopped. CANCEL-06
    pub status: WorkStatus,
}

/// Works above `after` that carry an exclusion mark. POLICY-22
///
/// # Errors
/// The machine failed.
pub fn excluded(tx: &mut dyn Tx, after: WorkId, limit: u32) -> Result<Vec<Excluded>, StoreError> {
    query_all(
        tx,
        "SELECT id, marked_attempt, marked_epoch, status FROM work \
         WHERE marked_attempt IS NOT NULL AND id > ?1 ORDER BY id LIMIT ?2",
        &[after.into(), limit.into()],
        |row| {
            Ok(Excluded {
                work: WorkId(row.int(0)?),
                segment: Segment {
                    attempt: AttemptNo(row.small(1)?),
                    epoch: Epoch(row.unsigned(2)?),
                },
                status: word(row, 3, "work.status")?,
            })
        },
    )
}

/// Works whose idle timer is due, that no input came for and that nobody holds, the earliest first.
///
/// # Errors
/// The machine failed.
pub fn due_idle(
    tx: &mut dyn Tx,
    now: Millis,
    after: (Millis, WorkId),
    limit: u32,
) -> Result<Vec<(Millis, WorkId)>, StoreError> {
    query_all(
        tx,
        "SELECT idle_at, id FROM work WHERE idle_at IS NOT NULL AND idle_at <= ?1 \
         AND pending_count = 0 AND holds = 0 AND (idle_at, id) > (?2, ?3) ORDER BY idle_at, id LIMIT ?4",
        &[now.into(), after.0.into(), after.1.into(), limit.into()],
        |row| Ok((Millis(row.int(0)?), WorkId(row.int(1)?))),
    )
}

/// When the next idle timer is due, of those after the instant `after`.
///
/// # Errors
/// The machine failed.
pub fn next_idle(tx: &mut dyn Tx, after: Millis) -> Result<Option<Millis>, StoreError> {
    query_one(
        tx,
        "SELECT min(idle_at) FROM work WHERE idle_at IS NOT NULL AND idle_at > ?1",
        &[after.into()],
        |row| Ok(row.opt_int(0)?.map(Millis)),
    )
    .map(Option::flatten)
}

/// Armed retries that are due, after a given one, the earliest first: each names the failed attempt.
/// RETRY-19
///
/// # Errors
/// The machine failed.
pub fn due_retries(
    tx: &mut dyn Tx,
    now: Millis,
    after: (Millis, WorkId),
    limit: u32,
) -> Result<Vec<Listed<AttemptNo>>, StoreError> {
    query_listed(
        tx,
        "SELECT retry_at, id, backoff FROM work WHERE retry_disabled = 0 AND retry_at <= ?1 \
         AND backoff IS NOT NULL AND (retry_at, id) > (?2, ?3) ORDER BY retry_at, id LIMIT ?4",
        &[now.into(), after.0.into(), after.1.into(), limit.into()],
        (0, 1),
        |row| Ok(AttemptNo(row.small(2)?)),
    )
}

/// When the next armed retry is due, of those after the instant `after`.
///
/// # Errors
/// The machine failed.
pub fn next_retry(tx: &mut dyn Tx, after: Millis) -> Result<Option<Millis>, StoreError> {
    query_one(
        tx,
        "SELECT min(retry_at) FROM work WHERE retry_disabled = 0 AND retry_at > ?1",
        &[after.into()],
        |row| Ok(row.opt_int(0)?.map(Millis)),
    )
    .map(Option::flatten)
}

/// Works above `after` whose pinned attempt has something to be sent to it.
///
/// # Errors
/// The machine failed.
pub fn sending(tx: &mut dyn Tx, after: WorkId, limit: u32) -> Result<Vec<WorkId>, StoreError> {
    query_all(
        tx,
        "SELECT DISTINCT i.work FROM intent AS i \
         JOIN attempt AS a ON a.work = i.work AND a.n = i.attempt AND a.phase = 'pinned' \
         WHERE (i.status = 'committed' OR i.status = 'dispatched') AND i.work > ?1 \
         ORDER BY i.work LIMIT ?2",
        &[after.into(), limit.into()],
        |row| Ok(WorkId(row.int(0)?)),
    )
}

/// What is to be sent to the pinned attempt of a work. POLICY-12
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToSend {
    /// The event.
    pub event: Seq,
    /// Its id at the edge: the same at every send. POLICY-17
    pub uid: EventUid,
    /// The attempt it is for.
    pub attempt: AttemptNo,
    /// How.
    pub kind: IntentKind,
    /// `dispatched`: a send was tried before, and nobody knows its end. INJECT-21
    pub status: IntentStatus,
    /// What stands in where it fails. POLICY-33
    pub on_error: Option<Fallback>,
    /// Sends known of.
    pub sends: u32,
}

/// The open intents of a work whose attempt is pinned: interrupts first, else in acceptance order.
///
/// # Errors
/// The machine failed.
pub fn to_send(tx: &mut dyn Tx, work: WorkId, limit: u32) -> Result<Vec<ToSend>, StoreError> {
    // By kind and then together: SQLite would sort what is open of a work anew each time.
    let mut open = open_intents(tx, work, IntentKind::Interrupt, limit)?;
    let left = limit.saturating_sub(u32::try_from(open.len()).unwrap_or(u32::MAX));
    open.extend(open_intents(tx, work, IntentKind::Inject, left)?);
    Ok(open)
}

fn open_intents(
    tx: &mut dyn Tx,
    work: WorkId,
    kind: IntentKind,
    limit: u32,
) -> Result<Vec<ToSend>, StoreError> {
    query_all(
        tx,
        "SELECT i.event, e.uid, i.attempt, i.kind, i.status, i.sends, i.on_error FROM intent AS i \
         JOIN attempt AS a ON a.work = i.work AND a.n = i.attempt AND a.phase = 'pinned' \
         JOIN event AS e ON e.seq = i.event \
         WHERE i.work = ?1 AND (i.status = 'committed' OR i.status = 'dispatched') \
         AND i.kind = ?2 ORDER BY i.event LIMIT ?3",
        &[work.into(), kind.word().into(), limit.into()],
        |row| {
            Ok(ToSend {
                event: Seq(row.int(0)?),
                uid: EventUid::from_uuid(row.uuid(1)?),
                attempt: AttemptNo(row.small(2)?),
                kind: word(row, 3, "intent.kind")?,
                status: word(row, 4, "intent.status")?,
                on_error: opt_word(row, 6, "intent.on_error")?,
                sends: row.small(5)?,
            })
        },
    )
}
