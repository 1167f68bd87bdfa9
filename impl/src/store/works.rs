//! `work`: the durable objectives. A row also holds a summary of its attempt, wait and input, so
//! that a digest of it needs no other read.

use std::hash::Hasher as _;

use siphasher::sip::SipHasher13;
use type_safe_id::TypeSafeId;

use crate::domain::{
    AttemptNo, AttemptStatus, Epoch, Hold, Holds, Millis, Segment, Seq, WaitId, WaitStatus, WorkId,
    WorkStatus, WorkUid,
};

use super::engine::{Row, StoreError, Tx, Value, execute_one, query_all, query_one};
use super::keys::KeyId;
use super::names::NameId;
use super::timers::Timer;
use super::words::{Word as _, opt_word, word};

/// A work row. The law changes the public fields and [`save`]s them in one write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    /// Its row.
    pub id: WorkId,
    /// Its id at the edge.
    pub uid: WorkUid,
    /// The scope it was created in.
    pub scope: NameId,
    /// Its kind, fixed at creation. OURS-03
    pub kind: NameId,
    /// It outlives its attempts; fixed at creation. JOB-14
    pub standing: bool,
    /// The work it succeeds. TERM-05
    pub predecessor: Option<WorkId>,
    /// The work it is a child of. TERM-06
    pub parent: Option<WorkId>,
    /// The first key it ever owned. TERM-03
    pub first_key: Option<KeyId>,
    /// When its status last changed.
    pub since: Millis,
    /// Where it is in its lifecycle.
    pub status: WorkStatus,
    /// Counts what a route handler can see of it. ROUTE-15
    pub revision: i64,
    /// Number of its last attempt.
    pub attempt: Option<AttemptNo>,
    /// Status of its last attempt.
    pub attempt_status: Option<AttemptStatus>,
    /// The last claim of its last attempt.
    pub epoch: Option<Epoch>,
    /// Its last wait.
    pub wait: Option<WaitId>,
    /// Status of its last wait.
    pub wait_status: Option<WaitStatus>,
    /// Winner of its last wait.
    pub winner: Option<Seq>,
    /// How many inputs are pending.
    pub pending_count: u32,
    /// XOR of their sequences.
    pub pending_xor: i64,
    /// Intents that may still be sent, or heard of; only while an attempt runs.
    pub open_intents: u32,
    /// Why it does not start.
    pub holds: Holds,
    /// Failures counted so far.
    pub failures: u32,
    /// Root of the segment's causal parent.
    pub root: Option<Seq>,
    /// Depth of the segment's causal parent.
    pub depth: Option<u32>,
    /// The winner of a wake that no claim has followed yet. WAKE-19
    pub next_trigger: Option<Seq>,
    /// That wake's continuation, or the release that let it go on without one. WAKE-21 WAKE-24
    pub next_parent: Option<Seq>,
    /// The segment whose process may still run. POLICY-22
    pub marked: Option<Segment>,
    /// When it is closed, should it still be idle then.
    pub idle_at: Option<Millis>,
    /// The failed attempt whose retry it waits for. RETRY-20
    pub backoff: Option<AttemptNo>,
    /// When that retry is due; gone once its event is accepted. RETRY-19
    pub retry: Option<Timer>,
    /// The event that closed it. OURS-02
    pub closed_by: Option<Seq>,
    /// What a person was last told about why it is so.
    pub reason: Option<String>,
    seen: (WorkStatus, Option<AttemptNo>),
    grew: bool,
}

impl Work {
    /// Notes one more pending input.
    pub const fn add_pending(&mut self, event: Seq) {
        self.pending_count = self.pending_count.saturating_add(1);
        self.pending_xor ^= event.0;
    }

    /// Notes one more key: a handler can see it. OWN-06
    pub fn owns(&mut self, key: KeyId) {
        self.first_key.get_or_insert(key);
        self.grew = true;
    }

    /// Notes that one of several is pending no more.
    pub const fn take_pending(&mut self, event: Seq) {
        self.pending_count = self.pending_count.saturating_sub(1);
        self.pending_xor ^= event.0;
    }

    /// Notes that none is pending any more.
    pub const fn clear_pending(&mut self) {
        self.pending_count = 0;
        self.pending_xor = 0;
    }

    /// Notes that no retry is waited for any more.
    pub const fn end_backoff(&mut self) {
        self.backoff = None;
        self.retry = None;
    }

    /// Notes the status of the last attempt.
    pub const fn attempt_is(&mut self, n: AttemptNo, epoch: Epoch, status: AttemptStatus) {
        self.attempt = Some(n);
        self.epoch = Some(epoch);
        self.attempt_status = Some(status);
    }

    /// Notes the last wait.
    pub const fn wait_is(&mut self, wait: WaitId, status: WaitStatus, winner: Option<Seq>) {
        self.wait = Some(wait);
        self.wait_status = Some(status);
        self.winner = winner;
    }

    /// The hash of this summary that a journal row carries. The key is fixed: the hash shows drift,
    /// the chain shows tampering.
    #[must_use]
    pub fn digest(&self) -> i64 {
        let mut hasher = SipHasher13::new_with_keys(0, 0);
        let mut number = |value: Option<i64>| {
            hasher.write_u8(u8::from(value.is_some()));
            hasher.write_i64(value.unwrap_or(0));
        };
        number(Some(self.id.0));
        number(Some(self.revision));
        number(self.attempt.map(|n| n.0.into()));
        number(self.epoch.map(|epoch| epoch.0.cast_signed()));
        number(self.wait.map(|wait| wait.0));
        number(self.winner.map(|winner| winner.0));
        number(Some(self.pending_count.into()));
        number(Some(self.pending_xor));
        number(Some(self.failures.into()));
        number(self.root.map(|root| root.0));
        number(self.depth.map(Into::into));
        number(self.marked.map(|segment| segment.attempt.0.into()));
        number(self.marked.map(|segment| segment.epoch.0.cast_signed()));
        number(self.backoff.map(|n| n.0.into()));
        number(Some(self.open_intents.into()));
        let mut text = |value: Option<&str>| {
            hasher.write(value.unwrap_or("-").as_bytes());
            hasher.write_u8(0);
        };
        text(Some(self.status.word()));
        text(self.attempt_status.map(AttemptStatus::word));
        text(self.wait_status.map(WaitStatus::word));
        let mut hold = |hold: Hold| text(self.holds.has(hold).then(|| hold.word()));
        hold(Hold::Exhausted);
        hold(Hold::CausalLimit);
        hold(Hold::Operator);
        text(Some(if self.idle_at.is_some() { "idle" } else { "busy" }));
        text(self.retry.map(|timer| if timer.disabled { "disabled" } else { "armed" }));
        hasher.finish().cast_signed()
    }
}

/// Columns of a work, in the order [`read`] takes them.
macro_rules! select_work {
    ($rest:literal) => {
        concat!(
            "SELECT id, uid, scope, kind, since, status, revision, attempt, attempt_status, epoch, \
             wait, wait_status, winner, pending_count, pending_xor, holds, failures, root, depth, \
             next_trigger, next_parent, marked_attempt, marked_epoch, reason, standing, \
             predecessor, parent, first_key, idle_at, closed_by, backoff, retry_at, \
             retry_disabled, open_intents FROM work ",
            $rest
        )
    };
}
pub(crate) use select_work;

/// A work about to be created: ready, with nothing pending yet.
#[derive(Debug, Clone, Copy)]
pub struct NewRow {
    /// Its id at the edge.
    pub uid: WorkUid,
    /// Its scope.
    pub scope: NameId,
    /// Its kind.
    pub kind: NameId,
    /// It outlives its attempts.
    pub standing: bool,
    /// The work it succeeds.
    pub predecessor: Option<WorkId>,
    /// The work it is a child of.
    pub parent: Option<WorkId>,
    /// The event that created it.
    pub created_by: Seq,
    /// When.
    pub now: Millis,
}

/// Creates a ready work.
///
/// # Errors
/// The machine failed, or the uid is taken.
pub fn insert(tx: &mut dyn Tx, new: &NewRow) -> Result<Work, StoreError> {
    tx.execute(
        "INSERT INTO work (uid, scope, kind, created_by, created_at, since, status, revision, \
         pending_count, pending_xor, open_intents, holds, failures, standing, predecessor, parent) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?5, 'ready', 1, 0, 0, 0, 0, 0, ?6, ?7, ?8)",
        &[
            (&new.uid.uuid()).into(),
            new.scope.into(),
            new.kind.into(),
            new.created_by.into(),
            new.now.into(),
            Value::Int(new.standing.into()),
            new.predecessor.into(),
            new.parent.into(),
        ],
    )?;
    query_one(tx, select_work!("WHERE uid = ?1"), &[(&new.uid.uuid()).into()], read)?
        .ok_or_else(|| StoreError::corrupt("work: a row vanished as it was written"))
}

/// One work.
///
/// # Errors
/// The machine failed.
pub fn get(tx: &mut dyn Tx, id: WorkId) -> Result<Option<Work>, StoreError> {
    query_one(tx, select_work!("WHERE id = ?1"), &[id.into()], read)
}

/// A work that a row refers to, and that therefore exists.
///
/// # Errors
/// The machine failed, or the work is missing.
pub fn referred(tx: &mut dyn Tx, id: WorkId) -> Result<Work, StoreError> {
    get(tx, id)?.ok_or_else(|| StoreError::corrupt(format!("work {id} is referred to and missing")))
}

/// Writes what the law changed. The revision grows if a handler could see the difference, and the
/// row must still be the one that was read.
///
/// # Errors
/// The machine failed, or the row moved inside its own transaction.
pub fn save(tx: &mut dyn Tx, work: &mut Work, now: Millis) -> Result<(), StoreError> {
    let read_revision = work.revision;
    if work.status != work.seen.0 {
        work.since = now;
    }
    if work.grew || (work.status, work.attempt) != work.seen {
        work.revision += 1;
        work.seen = (work.status, work.attempt);
        work.grew = false;
    }
    execute_one(
        tx,
        "UPDATE work SET since = ?2, status = ?3, revision = ?4, attempt = ?5, \
         attempt_status = ?6, epoch = ?7, wait = ?8, wait_status = ?9, winner = ?10, \
         pending_count = ?11, pending_xor = ?12, holds = ?13, failures = ?14, root = ?15, \
         depth = ?16, next_trigger = ?17, next_parent = ?18, marked_attempt = ?19, \
         marked_epoch = ?20, reason = ?21, first_key = ?23, idle_at = ?24, closed_by = ?25, \
         backoff = ?26, retry_at = ?27, retry_disabled = ?28, open_intents = ?29 \
         WHERE id = ?1 AND revision = ?22",
        &[
            work.id.into(),
            work.since.into(),
            work.status.word().into(),
            work.revision.into(),
            work.attempt.into(),
            work.attempt_status.map(AttemptStatus::word).into(),
            work.epoch.into(),
            work.wait.into(),
            work.wait_status.map(WaitStatus::word).into(),
            work.winner.into(),
            work.pending_count.into(),
            work.pending_xor.into(),
            Value::Int(work.holds.bits().into()),
            work.failures.into(),
            work.root.into(),
            work.depth.into(),
            work.next_trigger.into(),
            work.next_parent.into(),
            work.marked.map(|segment| segment.attempt).into(),
            work.marked.map(|segment| segment.epoch).into(),
            work.reason.as_deref().into(),
            Value::Int(read_revision),
            work.first_key.into(),
            work.idle_at.into(),
            work.closed_by.into(),
            work.backoff.into(),
            work.retry.map(|timer| timer.fire_at).into(),
            work.retry.map(|timer| Value::Int(timer.disabled.into())).into(),
            work.open_intents.into(),
        ],
        "work: a row moved inside its own transaction",
    )
}

/// Works whose attempt runs, in every scope.
///
/// # Errors
/// The machine failed.
pub fn running(tx: &mut dyn Tx) -> Result<u64, StoreError> {
    let count = query_one(tx, "SELECT count(*) FROM work WHERE status = 'running'", &[], |row| {
        row.unsigned(0)
    })?;
    Ok(count.unwrap_or(0))
}

/// The ids of the first of them.
///
/// # Errors
/// The machine failed.
pub fn running_uids(tx: &mut dyn Tx, limit: u32) -> Result<Vec<WorkUid>, StoreError> {
    query_all(
        tx,
        "SELECT uid FROM work WHERE status = 'running' ORDER BY scope, id LIMIT ?1",
        &[limit.into()],
        |row| Ok(TypeSafeId::from_uuid(row.uuid(0)?)),
    )
}

/// Attempts that are running in the scope of this name and below. POLICY-06
///
/// # Errors
/// The machine failed.
pub fn running_below(tx: &mut dyn Tx, scope: &str) -> Result<u32, StoreError> {
    let mut count = |sql: &'static str, values: &[Value<'_>]| {
        query_one(tx, sql, values, |row| row.small(0)).map(|count| count.unwrap_or(0))
    };
    let here = count(
        "SELECT count(*) FROM name AS s JOIN work AS w ON w.scope = s.id AND w.status = 'running' \
         WHERE s.text = ?1",
        &[scope.into()],
    )?;
    // `0` follows `/` in every order of bytes: names below begin between the two.
    let (from, to) = (format!("{scope}/"), format!("{scope}0"));
    let below = count(
        "SELECT count(*) FROM name AS s JOIN work AS w ON w.scope = s.id AND w.status = 'running' \
         WHERE s.text >= ?1 AND s.text < ?2",
        &[(&from).into(), (&to).into()],
    )?;
    Ok(here.saturating_add(below))
}

/// The work that succeeds this one. TERM-03
///
/// # Errors
/// The machine failed.
pub fn successor(tx: &mut dyn Tx, work: WorkId) -> Result<Option<WorkId>, StoreError> {
    query_one(tx, "SELECT id FROM work WHERE predecessor = ?1", &[work.into()], |row| {
        Ok(WorkId(row.int(0)?))
    })
}

/// Reads the columns of `select_work!`.
///
/// # Errors
/// The row is damaged.
pub fn read(row: &dyn Row) -> Result<Work, StoreError> {
    let status = word(row, 5, "work.status")?;
    let attempt = row.opt_small(7)?.map(AttemptNo);
    let marked = match (row.opt_small(21)?, row.opt_unsigned(22)?) {
        (Some(attempt), Some(epoch)) => {
            Some(Segment { attempt: AttemptNo(attempt), epoch: Epoch(epoch) })
        }
        (None, None) => None,
        (Some(_), None) | (None, Some(_)) => {
            return Err(StoreError::corrupt(format!("work {}: half a mark", row.int(0)?)));
        }
    };
    Ok(Work {
        id: WorkId(row.int(0)?),
        uid: TypeSafeId::from_uuid(row.uuid(1)?),
        scope: NameId(row.int(2)?),
        kind: NameId(row.int(3)?),
        since: Millis(row.int(4)?),
        status,
        revision: row.int(6)?,
        attempt,
        attempt_status: opt_word(row, 8, "work.attempt_status")?,
        epoch: row.opt_unsigned(9)?.map(Epoch),
        wait: row.opt_int(10)?.map(WaitId),
        wait_status: opt_word(row, 11, "work.wait_status")?,
        winner: row.opt_int(12)?.map(Seq),
        pending_count: row.small(13)?,
        pending_xor: row.int(14)?,
        holds: holds(row.int(15)?)?,
        failures: row.small(16)?,
        root: row.opt_int(17)?.map(Seq),
        depth: row.opt_small(18)?,
        next_trigger: row.opt_int(19)?.map(Seq),
        next_parent: row.opt_int(20)?.map(Seq),
        marked,
        reason: row.opt_text(23)?.map(str::to_owned),
        standing: row.int(24)? != 0,
        predecessor: row.opt_int(25)?.map(WorkId),
        parent: row.opt_int(26)?.map(WorkId),
        first_key: row.opt_int(27)?.map(KeyId),
        idle_at: row.opt_int(28)?.map(Millis),
        closed_by: row.opt_int(29)?.map(Seq),
        backoff: row.opt_small(30)?.map(AttemptNo),
        retry: retry(row)?,
        open_intents: row.small(33)?,
        seen: (status, attempt),
        grew: false,
    })
}

fn retry(row: &dyn Row) -> Result<Option<Timer>, StoreError> {
    match (row.opt_int(31)?, row.opt_int(32)?) {
        (Some(at), Some(disabled)) => {
            Ok(Some(Timer { fire_at: Millis(at), disabled: disabled != 0 }))
        }
        (None, None) => Ok(None),
        (Some(_), None) | (None, Some(_)) => {
            Err(StoreError::corrupt(format!("work {}: half a retry timer", row.int(0)?)))
        }
    }
}

fn holds(bits: i64) -> Result<Holds, StoreError> {
    u8::try_from(bits)
        .ok()
        .and_then(Holds::from_bits)
        .ok_or_else(|| StoreError::corrupt(format!("work.holds is {bits}: no set of holds")))
}
