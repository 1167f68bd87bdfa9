//! `input`: events pending for, or consumed by, the attempts of a work. A row is added once and
//! moves once: from pending to the claim that consumed it, to the claim whose result proved it, or
//! to what an error fallback withdrew. POLICY-35

use crate::domain::{AttemptNo, Epoch, Segment, Seq, WorkId};

use super::engine::{StoreError, Tx, query_all, query_one};

/// The place of pending input in the column `attempt`.
pub const PENDING: i64 = 0;
/// The place there of input that an error fallback withdrew. POLICY-33
pub const WITHDRAWN: i64 = -1;

/// Adds an event as pending input.
///
/// # Errors
/// The machine failed, or it is pending input of this work already.
pub fn insert(tx: &mut dyn Tx, work: WorkId, event: Seq) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO input (work, attempt, event, epoch, proved) VALUES (?1, 0, ?2, 0, 0)",
        &[work.into(), event.into()],
    )
    .map(drop)
}

/// Whether an event is pending input of this work.
///
/// # Errors
/// The machine failed.
pub fn is_pending(tx: &mut dyn Tx, work: WorkId, event: Seq) -> Result<bool, StoreError> {
    Ok(query_one(
        tx,
        "SELECT 1 FROM input WHERE work = ?1 AND attempt = 0 AND event = ?2",
        &[work.into(), event.into()],
        |_| Ok(()),
    )?
    .is_some())
}

/// The lowest pending input of a work.
///
/// # Errors
/// The machine failed.
pub fn lowest_pending(tx: &mut dyn Tx, work: WorkId) -> Result<Option<Seq>, StoreError> {
    query_one(
        tx,
        "SELECT event FROM input WHERE work = ?1 AND attempt = 0 ORDER BY event LIMIT 1",
        &[work.into()],
        |row| Ok(Seq(row.int(0)?)),
    )
}

/// Hands all pending input of a work to one claim; answers how many events that was. WAKE-26
///
/// # Errors
/// The machine failed.
pub fn consume(
    tx: &mut dyn Tx,
    work: WorkId,
    attempt: AttemptNo,
    epoch: Epoch,
) -> Result<usize, StoreError> {
    tx.execute(
        "UPDATE input SET attempt = ?2, epoch = ?3 WHERE work = ?1 AND attempt = 0",
        &[work.into(), attempt.into(), epoch.into()],
    )
}

/// Hands one pending input to the claim whose result proves its consumption; `false` and no write if
/// it is not pending. INJECT-17
///
/// # Errors
/// The machine failed.
pub fn prove(tx: &mut dyn Tx, work: WorkId, event: Seq, by: Segment) -> Result<bool, StoreError> {
    let changed = tx.execute(
        "UPDATE input SET attempt = ?3, epoch = ?4, proved = 1 \
         WHERE work = ?1 AND attempt = 0 AND event = ?2",
        &[work.into(), event.into(), by.attempt.into(), by.epoch.into()],
    )?;
    Ok(changed == 1)
}

/// Withdraws one pending input; `false` and no write if it is not pending. POLICY-33
///
/// # Errors
/// The machine failed.
pub fn withdraw(tx: &mut dyn Tx, work: WorkId, event: Seq) -> Result<bool, StoreError> {
    let changed = tx.execute(
        "UPDATE input SET attempt = -1 WHERE work = ?1 AND attempt = 0 AND event = ?2",
        &[work.into(), event.into()],
    )?;
    Ok(changed == 1)
}

/// One event as input, and the claim that consumed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Input {
    /// The event.
    pub event: Seq,
    /// The attempt and claim that consumed it; `None` while pending, or if it was withdrawn.
    pub consumed: Option<(AttemptNo, Epoch)>,
    /// A result proved its consumption; no claim handed it over. INJECT-17
    pub proved: bool,
    /// An error fallback withdrew it. POLICY-33
    pub withdrawn: bool,
}

/// Input of a work above `after`, in sequence order.
///
/// # Errors
/// The machine failed.
pub fn of_work(
    tx: &mut dyn Tx,
    work: WorkId,
    after: Seq,
    limit: u32,
) -> Result<Vec<Input>, StoreError> {
    query_all(
        tx,
        "SELECT event, attempt, epoch, proved FROM input WHERE work = ?1 AND event > ?2 \
         ORDER BY event LIMIT ?3",
        &[work.into(), after.into(), limit.into()],
        |row| {
            let (event, withdrawn) = (Seq(row.int(0)?), row.int(1)? == WITHDRAWN);
            let attempt = AttemptNo(if withdrawn { 0 } else { row.small(1)? });
            let consumed = (attempt.0 > 0).then_some((attempt, Epoch(row.unsigned(2)?)));
            Ok(Input { event, consumed, proved: row.int(3)? != 0, withdrawn })
        },
    )
}

/// What the newest attempts of a work consumed, the newest input first.
///
/// # Errors
/// The machine failed.
pub fn newest_consumed(
    tx: &mut dyn Tx,
    work: WorkId,
    limit: u32,
) -> Result<Vec<(AttemptNo, Seq)>, StoreError> {
    query_all(
        tx,
        "SELECT attempt, event FROM input WHERE work = ?1 AND attempt > 0 \
         ORDER BY attempt DESC, event DESC LIMIT ?2",
        &[work.into(), limit.into()],
        |row| Ok((AttemptNo(row.small(0)?), Seq(row.int(1)?))),
    )
}

/// The beginning of a work's pending input, in sequence order.
///
/// # Errors
/// The machine failed.
pub fn pending(tx: &mut dyn Tx, work: WorkId, limit: u32) -> Result<Vec<Seq>, StoreError> {
    consumed_by(tx, work, AttemptNo(0), Seq(0), limit)
}

/// What an attempt consumed above `after`, over all its segments, in sequence order.
///
/// # Errors
/// The machine failed.
pub fn consumed_by(
    tx: &mut dyn Tx,
    work: WorkId,
    attempt: AttemptNo,
    after: Seq,
    limit: u32,
) -> Result<Vec<Seq>, StoreError> {
    query_all(
        tx,
        "SELECT event FROM input WHERE work = ?1 AND attempt = ?2 AND event > ?3 \
         ORDER BY event LIMIT ?4",
        &[work.into(), attempt.into(), after.into(), limit.into()],
        |row| Ok(Seq(row.int(0)?)),
    )
}

/// The beginning of the batch one claim was handed, and how many events it has in all.
///
/// # Errors
/// The machine failed.
pub fn batch_begins(
    tx: &mut dyn Tx,
    work: WorkId,
    attempt: AttemptNo,
    epoch: Epoch,
    limit: u32,
) -> Result<(Vec<Seq>, u32), StoreError> {
    let first = query_all(
        tx,
        "SELECT event FROM input WHERE work = ?1 AND attempt = ?2 AND epoch = ?3 \
         AND proved = 0 ORDER BY event LIMIT ?4",
        &[work.into(), attempt.into(), epoch.into(), limit.into()],
        |row| Ok(Seq(row.int(0)?)),
    )?;
    let count = query_one(
        tx,
        "SELECT count(*) FROM input WHERE work = ?1 AND attempt = ?2 AND epoch = ?3 \
         AND proved = 0",
        &[work.into(), attempt.into(), epoch.into()],
        |row| row.small(0),
    )?;
    Ok((first, count.unwrap_or(0)))
}

/// How many events an attempt consumed, over all its segments.
///
/// # Errors
/// The machine failed.
pub fn count_consumed_by(
    tx: &mut dyn Tx,
    work: WorkId,
    attempt: AttemptNo,
) -> Result<u32, StoreError> {
    let count = query_one(
        tx,
        "SELECT count(*) FROM input WHERE work = ?1 AND attempt = ?2",
        &[work.into(), attempt.into()],
        |row| row.small(0),
    )?;
    Ok(count.unwrap_or(0))
}

/// The beginning of what the attempts above `after` and below `before` consumed, attempt by attempt,
/// and how many events that are in all.
///
/// # Errors
/// The machine failed.
pub fn consumed_between(
    tx: &mut dyn Tx,
    work: WorkId,
    after: AttemptNo,
    before: AttemptNo,
    limit: u32,
) -> Result<(Vec<Seq>, u32), StoreError> {
    let first = query_all(
        tx,
        "SELECT event FROM input WHERE work = ?1 AND attempt > ?2 AND attempt < ?3 \
         ORDER BY attempt, event LIMIT ?4",
        &[work.into(), after.into(), before.into(), limit.into()],
        |row| Ok(Seq(row.int(0)?)),
    )?;
    let count = query_one(
        tx,
        "SELECT count(*) FROM input WHERE work = ?1 AND attempt > ?2 AND attempt < ?3",
        &[work.into(), after.into(), before.into()],
        |row| row.small(0),
    )?;
    Ok((first, count.unwrap_or(0)))
}

/// The batch one claim was handed, in sequence order; what its result proved is not of it. POLICY-09
///
/// # Errors
/// The machine failed.
pub fn batch(
    tx: &mut dyn Tx,
    work: WorkId,
    attempt: AttemptNo,
    epoch: Epoch,
) -> Result<Vec<Seq>, StoreError> {
    query_all(
        tx,
        "SELECT event FROM input WHERE work = ?1 AND attempt = ?2 AND epoch = ?3 AND proved = 0 \
         ORDER BY event",
        &[work.into(), attempt.into(), epoch.into()],
        |row| Ok(Seq(row.int(0)?)),
    )
}
