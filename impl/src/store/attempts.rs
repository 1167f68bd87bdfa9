//! `attempt`: numbered tries at a work, each with the lease, pin and metadata of its last claim.

use type_safe_id::TypeSafeId;

use crate::domain::{
    AttemptNo, AttemptStatus, AttemptUid, BindingPin, Duration, Epoch, Exhausted, Generation,
    HintFinding, Millis, Phase, RetryHint, RetryPolicy, Segment, Seq, StartReason, TokenHash,
    WorkId,
};

use super::engine::{Row, StoreError, Tx, Value, execute_one, query_all, query_one};
use super::words::{Word as _, opt_word, word};

/// An attempt row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// Its work.
    pub work: WorkId,
    /// Its number.
    pub n: AttemptNo,
    /// Its id at the edge.
    pub uid: AttemptUid,
    /// Where it is.
    pub status: AttemptStatus,
    /// How far its segment has come; only while running.
    pub phase: Option<Phase>,
    /// Its last claim.
    pub epoch: Epoch,
    /// Hash of the token of that claim; gone with the lease. LEASE-06
    pub token: Option<TokenHash>,
    /// When the lease ends; gone with it.
    pub expires_at: Option<Millis>,
    /// The event it was made for; never changes. WAKE-17
    pub trigger: Seq,
    /// What its segment's own events descend from. WAKE-20
    pub parent: Seq,
    /// The winner that woke its segment, if it follows a wake. WAKE-18
    pub woken_by: Option<Seq>,
    /// The claim that consumed its last batch; a recovery does not change it. WAKE-26
    pub batch_epoch: Epoch,
    /// Why its segment started.
    pub reason: StartReason,
    /// What of its binding it is pinned to.
    pub pin: BindingPin,
    /// Active time left when its segment began; `None`: as much as it takes. WAKE-28
    pub active_left: Option<Duration>,
    /// When its segment began; a recovery continues it. WAKE-27
    pub segment_at: Millis,
    /// What the executor saved with the segment. ADOPT-04
    pub metadata: Option<String>,
    /// When it was first claimed.
    pub started_at: Millis,
    /// When it ended.
    pub ended_at: Option<Millis>,
    /// What its executor said of its end.
    pub result: Option<String>,
    /// What its executor said of the delay of a retry, and what the law made of it. RETRY-16
    pub hint: Option<(RetryHint, HintFinding)>,
    /// The event that interrupted it. CTRL-09
    pub interrupt_event: Option<Seq>,
    /// What its executor says it used so far, as JSON text.
    pub usage: Option<String>,
}

impl Attempt {
    /// The claim of it that is current.
    #[must_use]
    pub const fn segment(&self) -> Segment {
        Segment { attempt: self.n, epoch: self.epoch }
    }

    /// Active time left at an instant of its segment; `None`: as much as it takes. WAKE-27
    #[must_use]
    pub fn active_at(&self, now: Millis) -> Option<Duration> {
        let used = u64::try_from(now.0.saturating_sub(self.segment_at.0)).unwrap_or(0);
        self.active_left.map(|left| Duration(left.0.saturating_sub(used)))
    }

    /// Ends or parks it: lease, token and phase go, and the active time its segment used. LEASE-06
    /// WAKE-28
    pub fn leave(&mut self, status: AttemptStatus, now: Millis) {
        self.active_left = self.active_at(now);
        self.status = status;
        self.phase = None;
        self.token = None;
        self.expires_at = None;
    }
}

/// Columns of an attempt, in the order [`read`] takes them.
macro_rules! select_attempt {
    ($rest:literal) => {
        concat!(
            "SELECT work, n, uid, status, phase, epoch, token, expires_at, trigger_event, parent, \
             woken_by, batch_epoch, start_reason, binding, generation, resumes, holds_until_pin, \
             metadata, started_at, ended_at, result, active, active_left, segment_at, retry, hint, \
             hint_ms, injects, interrupts, interrupt_event, usage FROM attempt ",
            $rest
        )
    };
}

/// One attempt.
///
/// # Errors
/// The machine failed.
pub fn get(tx: &mut dyn Tx, work: WorkId, n: AttemptNo) -> Result<Option<Attempt>, StoreError> {
    query_one(tx, select_attempt!("WHERE work = ?1 AND n = ?2"), &[work.into(), n.into()], read)
}

/// An attempt that its work's row names, and that therefore exists.
///
/// # Errors
/// The machine failed, or the attempt is missing.
pub fn referred(tx: &mut dyn Tx, work: WorkId, n: AttemptNo) -> Result<Attempt, StoreError> {
    get(tx, work, n)?.ok_or_else(|| {
        StoreError::corrupt(format!("attempt {n} of work {work} is named by its work and missing"))
    })
}

/// The attempts of a work after `after`, in order.
///
/// # Errors
/// The machine failed.
pub fn of_work(
    tx: &mut dyn Tx,
    work: WorkId,
    after: AttemptNo,
    limit: u32,
) -> Result<Vec<Attempt>, StoreError> {
    query_all(
        tx,
        select_attempt!("WHERE work = ?1 AND n > ?2 ORDER BY n LIMIT ?3"),
        &[work.into(), after.into(), limit.into()],
        read,
    )
}

/// Creates an attempt.
///
/// # Errors
/// The machine failed, or its number or uid is taken.
pub fn insert(tx: &mut dyn Tx, attempt: &Attempt) -> Result<(), StoreError> {
    let retry = policy_text(&attempt.pin.retry)?;
    tx.execute(
        "INSERT INTO attempt (work, n, uid, status, phase, epoch, token, expires_at, \
         trigger_event, parent, woken_by, batch_epoch, start_reason, binding, generation, resumes, \
         holds_until_pin, metadata, started_at, ended_at, result, active, active_left, segment_at, \
         retry, injects, interrupts) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, \
         ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27)",
        &[
            attempt.work.into(),
            attempt.n.into(),
            (&attempt.uid.uuid()).into(),
            attempt.status.word().into(),
            attempt.phase.map(Phase::word).into(),
            attempt.epoch.into(),
            attempt.token.as_ref().into(),
            attempt.expires_at.into(),
            attempt.trigger.into(),
            attempt.parent.into(),
            attempt.woken_by.into(),
            attempt.batch_epoch.into(),
            attempt.reason.word().into(),
            (&attempt.pin.binding).into(),
            attempt.pin.generation.into(),
            Value::Int(attempt.pin.resumes.into()),
            Value::Int(attempt.pin.holds_until_pin.into()),
            attempt.metadata.as_deref().into(),
            attempt.started_at.into(),
            attempt.ended_at.into(),
            attempt.result.as_deref().into(),
            length(attempt.pin.active),
            length(attempt.active_left),
            attempt.segment_at.into(),
            (&retry).into(),
            Value::Int(attempt.pin.injects.into()),
            Value::Int(attempt.pin.interrupts.into()),
        ],
    )
    .map(drop)
}

fn length(time: Option<Duration>) -> Value<'static> {
    time.map_or(Value::Null, |time| Value::Int(i64::try_from(time.0).unwrap_or(i64::MAX)))
}

fn opt_length(row: &dyn Row, column: usize) -> Result<Option<Duration>, StoreError> {
    let Some(length) = row.opt_int(column)? else { return Ok(None) };
    u64::try_from(length)
        .map(|length| Some(Duration(length)))
        .map_err(|_| StoreError::corrupt(format!("attempt: a length of time is {length} ms")))
}

/// A policy as its column holds it: short, for every attempt has one.
type Written = (u32, Vec<Duration>, Exhausted, Duration);

fn policy_text(policy: &RetryPolicy) -> Result<String, StoreError> {
    let RetryPolicy { attempts, backoff, exhausted, hint_max } = policy;
    serde_json::to_string(&(attempts, backoff, exhausted, hint_max))
        .map_err(|e| StoreError::Engine { what: format!("a retry policy cannot be written: {e}") })
}

fn policy(row: &dyn Row, column: usize) -> Result<RetryPolicy, StoreError> {
    policy_of(row.text(column)?)
}

/// The retry policy that a text in `attempt.retry` says.
///
/// # Errors
/// It is none.
pub fn policy_of(text: &str) -> Result<RetryPolicy, StoreError> {
    let written: Written = serde_json::from_str(text)
        .map_err(|e| StoreError::corrupt(format!("attempt.retry holds no policy: {e}")))?;
    let (attempts, backoff, exhausted, hint_max) = written;
    Ok(RetryPolicy { attempts, backoff, exhausted, hint_max })
}

const fn delay(hint: RetryHint) -> Option<i64> {
    match hint {
        RetryHint::Delay(milliseconds) => Some(milliseconds),
        RetryHint::Unreadable => None,
    }
}

fn hint(row: &dyn Row) -> Result<Option<(RetryHint, HintFinding)>, StoreError> {
    let hint = row.opt_int(26)?.map_or(RetryHint::Unreadable, RetryHint::Delay);
    Ok(opt_word(row, 25, "attempt.hint")?.map(|finding| (hint, finding)))
}

/// The last attempt of a work below `before` that neither failed nor was interrupted; 0 if every one
/// did or was.
///
/// # Errors
/// The machine failed.
pub fn last_with_answer(
    tx: &mut dyn Tx,
    work: WorkId,
    before: AttemptNo,
) -> Result<AttemptNo, StoreError> {
    let found = query_one(
        tx,
        "SELECT n FROM attempt WHERE work = ?1 AND n < ?2 AND status <> 'failed' \
         AND interrupt_event IS NULL ORDER BY n DESC LIMIT 1",
        &[work.into(), before.into()],
        |row| Ok(AttemptNo(row.small(0)?)),
    )?;
    Ok(found.unwrap_or(AttemptNo(0)))
}

/// Ends every lease that stands, voids every token, and notes of what was being launched that it is
/// only to be adopted. OURS-21
///
/// # Errors
/// The machine failed.
pub fn void_leases(tx: &mut dyn Tx, now: Millis) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE attempt SET token = NULL, \
         phase = CASE WHEN phase IN ('never_handed', 'handed') THEN 'recovering' ELSE phase END, \
         expires_at = CASE WHEN expires_at > ?1 THEN ?1 ELSE expires_at END \
         WHERE status = 'running'",
        &[now.into()],
    )
    .map(drop)
}

/// Writes what a law changed of an attempt that was open under `epoch` when it was read. Trigger,
/// uid, number and pin have no place in it: they never change. BIND-10
///
/// # Errors
/// The machine failed, or the row moved inside its own transaction.
pub fn save(tx: &mut dyn Tx, attempt: &Attempt, epoch: Epoch) -> Result<(), StoreError> {
    execute_one(
        tx,
        "UPDATE attempt SET status = ?3, phase = ?4, epoch = ?5, token = ?6, expires_at = ?7, \
         parent = ?8, woken_by = ?9, batch_epoch = ?10, start_reason = ?11, metadata = ?12, \
         ended_at = ?13, result = ?14, active_left = ?15, segment_at = ?16, hint = ?18, \
         hint_ms = ?19, interrupt_event = ?20, usage = ?21 \
         WHERE work = ?1 AND n = ?2 AND epoch = ?17 AND status IN ('running', 'parked')",
        &[
            attempt.work.into(),
            attempt.n.into(),
            attempt.status.word().into(),
            attempt.phase.map(Phase::word).into(),
            attempt.epoch.into(),
            attempt.token.as_ref().into(),
            attempt.expires_at.into(),
            attempt.parent.into(),
            attempt.woken_by.into(),
            attempt.batch_epoch.into(),
            attempt.reason.word().into(),
            attempt.metadata.as_deref().into(),
            attempt.ended_at.into(),
            attempt.result.as_deref().into(),
            length(attempt.active_left),
            attempt.segment_at.into(),
            epoch.into(),
            attempt.hint.map(|(_, finding)| finding.word()).into(),
            attempt.hint.and_then(|(hint, _)| delay(hint)).map(Value::Int).into(),
            attempt.interrupt_event.into(),
            attempt.usage.as_deref().into(),
        ],
        "attempt: an open row moved inside its own transaction",
    )
}

/// Moves the phase of a running attempt, and nothing else.
///
/// # Errors
/// The machine failed, or the attempt is not running in phase `from`.
pub fn set_phase(
    tx: &mut dyn Tx,
    attempt: &Attempt,
    from: Phase,
    to: Phase,
) -> Result<(), StoreError> {
    execute_one(
        tx,
        "UPDATE attempt SET phase = ?4 \
         WHERE work = ?1 AND n = ?2 AND phase = ?3 AND status = 'running'",
        &[attempt.work.into(), attempt.n.into(), from.word().into(), to.word().into()],
        "attempt: a phase moved inside its own transaction",
    )
}

/// Saves the executor's metadata and pins the segment that was handed to it. ADOPT-09
///
/// # Errors
/// The machine failed, or the attempt is not running and handed.
pub fn pin(tx: &mut dyn Tx, attempt: &Attempt, metadata: &str) -> Result<(), StoreError> {
    execute_one(
        tx,
        "UPDATE attempt SET phase = 'pinned', metadata = ?3 \
         WHERE work = ?1 AND n = ?2 AND phase = 'handed' AND status = 'running'",
        &[attempt.work.into(), attempt.n.into(), metadata.into()],
        "attempt: a phase moved inside its own transaction",
    )
}

/// Moves the end of a live lease. LEASE-11 OURS-19
///
/// # Errors
/// The machine failed, or the attempt is not running under this epoch.
pub fn set_expiry(
    tx: &mut dyn Tx,
    attempt: &Attempt,
    expires_at: Millis,
) -> Result<(), StoreError> {
    execute_one(
        tx,
        "UPDATE attempt SET expires_at = ?4 \
         WHERE work = ?1 AND n = ?2 AND epoch = ?3 AND status = 'running'",
        &[attempt.work.into(), attempt.n.into(), attempt.epoch.into(), expires_at.into()],
        "attempt: a lease moved inside its own transaction",
    )
}

/// Reads the columns of `select_attempt!`.
///
/// # Errors
/// The row is damaged.
pub fn read(row: &dyn Row) -> Result<Attempt, StoreError> {
    let work = WorkId(row.int(0)?);
    let n = AttemptNo(row.small(1)?);
    let token = match row.opt_blob(6)? {
        None => None,
        Some(bytes) => Some(TokenHash(bytes.try_into().map_err(|_| {
            StoreError::corrupt(format!("attempt {n} of work {work}: its token is no hash"))
        })?)),
    };
    Ok(Attempt {
        work,
        n,
        uid: TypeSafeId::from_uuid(row.uuid(2)?),
        status: word(row, 3, "attempt.status")?,
        phase: opt_word(row, 4, "attempt.phase")?,
        epoch: Epoch(row.unsigned(5)?),
        token,
        expires_at: row.opt_int(7)?.map(Millis),
        trigger: Seq(row.int(8)?),
        parent: Seq(row.int(9)?),
        woken_by: row.opt_int(10)?.map(Seq),
        batch_epoch: Epoch(row.unsigned(11)?),
        reason: word(row, 12, "attempt.start_reason")?,
        pin: BindingPin {
            binding: row.text(13)?.to_owned(),
            generation: Generation(row.int(14)?),
            resumes: row.int(15)? != 0,
            holds_until_pin: row.int(16)? != 0,
            injects: row.int(27)? != 0,
            interrupts: row.int(28)? != 0,
            active: opt_length(row, 21)?,
            retry: policy(row, 24)?,
        },
        metadata: row.opt_text(17)?.map(str::to_owned),
        started_at: Millis(row.int(18)?),
        ended_at: row.opt_int(19)?.map(Millis),
        result: row.opt_text(20)?.map(str::to_owned),
        hint: hint(row)?,
        interrupt_event: row.opt_int(29)?.map(Seq),
        usage: row.opt_text(30)?.map(str::to_owned),
        active_left: opt_length(row, 22)?,
        segment_at: Millis(row.int(23)?),
    })
}
