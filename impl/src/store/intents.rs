//! `intent`: what is to reach a running attempt, recorded before anything is sent. A row is written
//! with the mark of its event, moves a few times and is never removed. POLICY-12

use crate::domain::{
    AttemptNo, Epoch, EventUid, Fallback, IntentKind, IntentStatus, Millis, Seq, WorkId,
};

use super::engine::{Row, StoreError, Tx, execute_one, query_all, query_one};
use super::words::{Word as _, opt_word, word};

/// An intent row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    /// Its event.
    pub event: Seq,
    /// The work whose attempt it is for.
    pub work: WorkId,
    /// That attempt.
    pub attempt: AttemptNo,
    /// The claim it was committed under; it lives over a recovery. INJECT-10
    pub epoch: Epoch,
    /// How it is to reach that attempt.
    pub kind: IntentKind,
    /// Where it is.
    pub status: IntentStatus,
    /// What stands in where it fails. POLICY-33
    pub on_error: Option<Fallback>,
    /// Sends known of: the first, and one more after each answer that says nothing and is on record.
    pub sends: u32,
    /// When it was committed.
    pub committed_at: Millis,
    /// When a send was first tried; `None`: never. INJECT-12
    pub dispatched_at: Option<Millis>,
    /// When its end was known.
    pub settled_at: Option<Millis>,
    /// What the executor last said of it, for people.
    pub detail: Option<String>,
}

/// An intent about to be committed, with its event's mark.
#[derive(Debug, Clone, Copy)]
pub struct NewRow {
    /// Its event.
    pub event: Seq,
    /// The work whose attempt it is for.
    pub work: WorkId,
    /// That attempt.
    pub attempt: AttemptNo,
    /// The claim it is committed under.
    pub epoch: Epoch,
    /// How it is to reach that attempt.
    pub kind: IntentKind,
    /// What stands in where it fails.
    pub on_error: Option<Fallback>,
    /// When.
    pub now: Millis,
}

/// Columns of an intent, in the order [`read`] takes them.
macro_rules! select_intent {
    ($rest:literal) => {
        concat!(
            "SELECT event, work, attempt, epoch, kind, status, on_error, sends, committed_at, \
             dispatched_at, settled_at, detail FROM intent ",
            $rest
        )
    };
}

/// Commits an intent. POLICY-12
///
/// # Errors
/// The machine failed, or the event has one.
pub fn insert(tx: &mut dyn Tx, new: &NewRow) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO intent (event, work, attempt, epoch, kind, status, on_error, sends, \
         committed_at) VALUES (?1, ?2, ?3, ?4, ?5, 'committed', ?6, 0, ?7)",
        &[
            new.event.into(),
            new.work.into(),
            new.attempt.into(),
            new.epoch.into(),
            new.kind.word().into(),
            new.on_error.map(Fallback::word).into(),
            new.now.into(),
        ],
    )
    .map(drop)
}

/// The intent of an event, if there is one.
///
/// # Errors
/// The machine failed.
pub fn get(tx: &mut dyn Tx, event: Seq) -> Result<Option<Intent>, StoreError> {
    query_one(tx, select_intent!("WHERE event = ?1"), &[event.into()], read)
}

/// The intent that a work has for an event.
///
/// # Errors
/// The machine failed.
pub fn of(tx: &mut dyn Tx, work: WorkId, event: Seq) -> Result<Option<Intent>, StoreError> {
    Ok(get(tx, event)?.filter(|intent| intent.work == work))
}

/// Notes that a send of a committed intent is now tried. POLICY-12
///
/// # Errors
/// The machine failed, or the row moved inside its own transaction.
pub fn dispatch(tx: &mut dyn Tx, event: Seq, now: Millis) -> Result<(), StoreError> {
    execute_one(
        tx,
        "UPDATE intent SET status = 'dispatched', sends = 1, dispatched_at = ?2 \
         WHERE event = ?1 AND status = 'committed'",
        &[event.into(), now.into()],
        "intent: a row moved inside its own transaction",
    )
}

/// Notes that nobody knows what came of a send, so that there will be another. INJECT-03
///
/// # Errors
/// The machine failed, or the row moved inside its own transaction.
pub fn send_again(tx: &mut dyn Tx, event: Seq, detail: &str) -> Result<(), StoreError> {
    execute_one(
        tx,
        "UPDATE intent SET sends = sends + 1, detail = ?2 \
         WHERE event = ?1 AND status = 'dispatched'",
        &[event.into(), detail.into()],
        "intent: a row moved inside its own transaction",
    )
}

/// Settles a dispatched intent.
///
/// # Errors
/// The machine failed, or the row moved inside its own transaction.
pub fn settle(
    tx: &mut dyn Tx,
    event: Seq,
    status: IntentStatus,
    now: Millis,
    detail: &str,
) -> Result<(), StoreError> {
    execute_one(
        tx,
        "UPDATE intent SET status = ?2, settled_at = ?3, detail = ?4 \
         WHERE event = ?1 AND status = 'dispatched'",
        &[event.into(), status.word().into(), now.into(), detail.into()],
        "intent: a row moved inside its own transaction",
    )
}

/// Notes that a result proved the consumption of an injected event. INJECT-17
///
/// # Errors
/// The machine failed, or the row moved inside its own transaction.
pub fn consume(tx: &mut dyn Tx, event: Seq, now: Millis) -> Result<(), StoreError> {
    execute_one(
        tx,
        "UPDATE intent SET status = 'consumed', settled_at = ?2 WHERE event = ?1 \
         AND kind = 'inject' \
         AND (status = 'dispatched' OR status = 'accepted' OR status = 'fell_back')",
        &[event.into(), now.into()],
        "intent: a row moved inside its own transaction",
    )
}

/// Makes the open intents of a work stale; answers how many there were. POLICY-23
///
/// # Errors
/// The machine failed.
pub fn make_stale(tx: &mut dyn Tx, work: WorkId, now: Millis) -> Result<usize, StoreError> {
    tx.execute(
        "UPDATE intent SET status = 'stale', settled_at = ?2 \
         WHERE work = ?1 AND (status = 'committed' OR status = 'dispatched')",
        &[work.into(), now.into()],
    )
}

/// An event that a result names as proved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Named {
    /// The event.
    pub event: Seq,
    /// Its inject intent, if the work has one for it and it is pending input of the work.
    pub pending: Option<(AttemptNo, IntentStatus)>,
}

/// What a work knows of an event that a result names; `None` if there is no such event.
///
/// # Errors
/// The machine failed.
pub fn named(tx: &mut dyn Tx, work: WorkId, uid: EventUid) -> Result<Option<Named>, StoreError> {
    query_one(
        tx,
        "SELECT e.seq, i.attempt, i.status FROM event AS e LEFT JOIN intent AS i \
         ON i.event = e.seq AND i.work = ?1 AND i.kind = 'inject' AND EXISTS (SELECT 1 \
         FROM input AS p WHERE p.work = ?1 AND p.attempt = 0 AND p.event = e.seq) \
         WHERE e.uid = ?2",
        &[work.into(), (&uid.uuid()).into()],
        |row| {
            let event = Seq(row.int(0)?);
            let Some(attempt) = row.opt_small(1)? else {
                return Ok(Named { event, pending: None });
            };
            let status = word(row, 2, "intent.status")?;
            Ok(Named { event, pending: Some((AttemptNo(attempt), status)) })
        },
    )
}

/// The intents of a work above the event `after`, in acceptance order.
///
/// # Errors
/// The machine failed.
pub fn of_work(
    tx: &mut dyn Tx,
    work: WorkId,
    after: Seq,
    limit: u32,
) -> Result<Vec<Intent>, StoreError> {
    query_all(
        tx,
        select_intent!("WHERE work = ?1 AND event > ?2 ORDER BY event LIMIT ?3"),
        &[work.into(), after.into(), limit.into()],
        read,
    )
}

/// The newest intents of a work, in acceptance order.
///
/// # Errors
/// The machine failed.
pub fn newest_of_work(
    tx: &mut dyn Tx,
    work: WorkId,
    limit: u32,
) -> Result<Vec<Intent>, StoreError> {
    let mut newest = query_all(
        tx,
        select_intent!("WHERE work = ?1 ORDER BY event DESC LIMIT ?2"),
        &[work.into(), limit.into()],
        read,
    )?;
    newest.reverse();
    Ok(newest)
}

/// The open intents of a work, which are those of its running attempt, in acceptance order.
///
/// # Errors
/// The machine failed.
pub fn open_of(tx: &mut dyn Tx, work: WorkId, limit: u32) -> Result<Vec<Intent>, StoreError> {
    query_all(
        tx,
        select_intent!(
            "WHERE work = ?1 AND (status = 'committed' OR status = 'dispatched') \
             ORDER BY event LIMIT ?2"
        ),
        &[work.into(), limit.into()],
        read,
    )
}

/// Of the open intents of a work the one that matters most: what stops the attempt, else what came
/// first.
///
/// # Errors
/// The machine failed.
pub fn foremost(tx: &mut dyn Tx, work: WorkId) -> Result<Option<Intent>, StoreError> {
    for kind in [IntentKind::Interrupt, IntentKind::Inject] {
        let found = query_one(
            tx,
            select_intent!(
                "WHERE work = ?1 AND (status = 'committed' OR status = 'dispatched') \
                 AND kind = ?2 ORDER BY event LIMIT 1"
            ),
            &[work.into(), kind.word().into()],
            read,
        )?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// The attempt that an event was sent to, and what became of that, unless a result proved that it was
/// taken in: whoever is handed the event may see it once more. POLICY-16
///
/// # Errors
/// The machine failed.
pub fn sent_before(
    tx: &mut dyn Tx,
    event: Seq,
) -> Result<Option<(AttemptNo, IntentStatus)>, StoreError> {
    query_one(
        tx,
        "SELECT attempt, status FROM intent WHERE event = ?1 AND kind = 'inject' \
         AND dispatched_at IS NOT NULL AND status <> 'consumed'",
        &[event.into()],
        |row| Ok((AttemptNo(row.small(0)?), word(row, 1, "intent.status")?)),
    )
}

/// Reads the columns of `select_intent!`.
///
/// # Errors
/// The row is damaged.
pub fn read(row: &dyn Row) -> Result<Intent, StoreError> {
    Ok(Intent {
        event: Seq(row.int(0)?),
        work: WorkId(row.int(1)?),
        attempt: AttemptNo(row.small(2)?),
        epoch: Epoch(row.unsigned(3)?),
        kind: word(row, 4, "intent.kind")?,
        status: word(row, 5, "intent.status")?,
        on_error: opt_word(row, 6, "intent.on_error")?,
        sends: row.small(7)?,
        committed_at: Millis(row.int(8)?),
        dispatched_at: row.opt_int(9)?.map(Millis),
        settled_at: row.opt_int(10)?.map(Millis),
        detail: row.opt_text(11)?.map(str::to_owned),
    })
}
