//! `wait`, `wait_key` and `wait_type`: what attempts wait for, and which accepted event is the
//! lowest that fits. Rows stay after the wake. WAKE-11

use type_safe_id::TypeSafeId;

use crate::domain::{AttemptNo, Epoch, Millis, Seq, WaitId, WaitStatus, WaitUid, WorkId};

use super::engine::{Row, StoreError, Tx, query_all, query_one};
use super::keys::KeyId;
use super::names::NameId;
use super::words::word;

/// A wait row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// Its row.
    pub id: WaitId,
    /// Its id at the edge.
    pub uid: WaitUid,
    /// The work that waits.
    pub work: WorkId,
    /// The attempt that registered it.
    pub attempt: AttemptNo,
    /// Under this claim.
    pub epoch: Epoch,
    /// Where it is.
    pub status: WaitStatus,
    /// The watermark, as it was given. WAIT-12
    pub after: Seq,
    /// What its timeout descends from. TIMER-01
    pub parent: Seq,
    /// When it gives up; `None` without a timeout. Stays after the timer is gone. TIMER-07
    pub fire_at: Option<Millis>,
    /// Its accepted timeout. TIMER-06
    pub timeout: Option<Seq>,
    /// What woke it.
    pub winner: Option<Seq>,
    /// When it was registered.
    pub registered_at: Millis,
    /// When it left `active`.
    pub ended_at: Option<Millis>,
}

/// A wait about to be registered.
#[derive(Debug, Clone, Copy)]
pub struct NewRow<'a> {
    /// Its id at the edge.
    pub uid: WaitUid,
    /// The work that waits.
    pub work: WorkId,
    /// The attempt that registers it.
    pub attempt: AttemptNo,
    /// Under this claim.
    pub epoch: Epoch,
    /// The watermark.
    pub after: Seq,
    /// What its timeout will descend from.
    pub parent: Seq,
    /// When it gives up.
    pub fire_at: Option<Millis>,
    /// Trusted time.
    pub now: Millis,
    /// Its keys.
    pub keys: &'a [KeyId],
    /// Its types; empty means any.
    pub types: &'a [NameId],
}

/// Registers an active wait with its keys and types.
///
/// # Errors
/// The machine failed, or the uid is taken.
pub fn insert(tx: &mut dyn Tx, new: &NewRow<'_>) -> Result<WaitId, StoreError> {
    tx.execute(
        "INSERT INTO wait (uid, work, attempt, epoch, status, after_seq, parent, fire_at, \
         registered_at) VALUES (?1, ?2, ?3, ?4, 'active', ?5, ?6, ?7, ?8)",
        &[
            (&new.uid.uuid()).into(),
            new.work.into(),
            new.attempt.into(),
            new.epoch.into(),
            new.after.into(),
            new.parent.into(),
            new.fire_at.into(),
            new.now.into(),
        ],
    )?;
    let id =
        query_one(tx, "SELECT id FROM wait WHERE uid = ?1", &[(&new.uid.uuid()).into()], |row| {
            Ok(WaitId(row.int(0)?))
        })?
        .ok_or_else(|| StoreError::corrupt("wait: a row vanished as it was written"))?;
    for (n, key) in (0i64..).zip(new.keys) {
        tx.execute(
            "INSERT INTO wait_key (wait, key, n) VALUES (?1, ?2, ?3) \
             ON CONFLICT (wait, key) DO NOTHING",
            &[id.into(), (*key).into(), n.into()],
        )?;
    }
    for name in new.types {
        tx.execute(
            "INSERT INTO wait_type (wait, type) VALUES (?1, ?2) \
             ON CONFLICT (wait, type) DO NOTHING",
            &[id.into(), (*name).into()],
        )?;
    }
    Ok(id)
}

/// Columns of a wait, in the order [`read`] takes them.
macro_rules! select_wait {
    ($rest:literal) => {
        concat!(
            "SELECT id, uid, work, attempt, epoch, status, after_seq, parent, fire_at, \
             timeout_event, winner, registered_at, ended_at FROM wait ",
            $rest
        )
    };
}
pub(crate) use select_wait;

/// One wait.
///
/// # Errors
/// The machine failed.
pub fn get(tx: &mut dyn Tx, id: WaitId) -> Result<Option<Wait>, StoreError> {
    query_one(tx, select_wait!("WHERE id = ?1"), &[id.into()], read)
}

/// The active wait of a work.
///
/// # Errors
/// The machine failed.
pub fn active_of(tx: &mut dyn Tx, work: WorkId) -> Result<Option<Wait>, StoreError> {
    query_one(tx, select_wait!("WHERE work = ?1 AND status = 'active'"), &[work.into()], read)
}

/// The newest waits of a work, in order.
///
/// # Errors
/// The machine failed.
pub fn newest_of_work(tx: &mut dyn Tx, work: WorkId, limit: u32) -> Result<Vec<Wait>, StoreError> {
    let mut newest = query_all(
        tx,
        select_wait!("WHERE work = ?1 ORDER BY id DESC LIMIT ?2"),
        &[work.into(), limit.into()],
        read,
    )?;
    newest.reverse();
    Ok(newest)
}

/// The lowest accepted event that fits an active wait: unrouted and of its work's scope, or queued
/// on its work and still pending; or its own accepted timeout. What its work published itself never
/// fits. WAIT-04 WAIT-05 WAIT-06 WAIT-15 WAKE-02 OWN-03
///
/// # Errors
/// The machine failed.
pub fn lowest_match(tx: &mut dyn Tx, wait: &Wait) -> Result<Option<Seq>, StoreError> {
    // Two branches, each an index lookup: nothing here grows with retained history.
    let unrouted = query_one(
        tx,
        "SELECT min(u.event) FROM wait_key AS wk JOIN unrouted AS u ON u.key = wk.key \
         JOIN event AS e ON e.seq = u.event \
         WHERE wk.wait = ?1 AND u.event > ?2 AND (u.target IS NULL OR u.target = ?3) \
         AND (u.by_work IS NULL OR u.by_work <> ?3) \
         AND e.scope = (SELECT w.scope FROM work AS w WHERE w.id = ?3) \
         AND (NOT EXISTS (SELECT 1 FROM wait_type AS any_type WHERE any_type.wait = ?1) \
              OR EXISTS (SELECT 1 FROM wait_type AS wt WHERE wt.wait = ?1 AND wt.type = e.type))",
        &[wait.id.into(), wait.after.into(), wait.work.into()],
        |row| Ok(row.opt_int(0)?.map(Seq)),
    )?
    .flatten();
    let pending = query_one(
        tx,
        "SELECT min(i.event) FROM input AS i JOIN event AS e ON e.seq = i.event \
         JOIN wait_key AS wk ON wk.wait = ?1 AND wk.key = e.key \
         WHERE i.work = ?3 AND i.attempt = 0 AND i.event > ?2 \
         AND (NOT EXISTS (SELECT 1 FROM wait_type AS any_type WHERE any_type.wait = ?1) \
              OR EXISTS (SELECT 1 FROM wait_type AS wt WHERE wt.wait = ?1 AND wt.type = e.type))",
        &[wait.id.into(), wait.after.into(), wait.work.into()],
        |row| Ok(row.opt_int(0)?.map(Seq)),
    )?
    .flatten();
    Ok([unrouted, pending, wait.timeout].into_iter().flatten().min())
}

/// The first of a wait's keys, as they were listed; `None` without keys. ALIAS-05
///
/// # Errors
/// The machine failed.
pub fn first_key(tx: &mut dyn Tx, wait: WaitId) -> Result<Option<KeyId>, StoreError> {
    // Sorted here: SQLite would build a table for the few rows.
    let keys =
        query_all(tx, "SELECT n, key FROM wait_key WHERE wait = ?1", &[wait.into()], |row| {
            Ok((row.int(0)?, KeyId(row.int(1)?)))
        })?;
    Ok(keys.into_iter().min_by_key(|(n, _)| *n).map(|(_, key)| key))
}

/// Whether an event's key and type are among a wait's; sequence and target are the caller's to see.
///
/// # Errors
/// The machine failed.
pub fn fits(
    tx: &mut dyn Tx,
    wait: WaitId,
    key: KeyId,
    event_type: NameId,
) -> Result<bool, StoreError> {
    Ok(query_one(
        tx,
        "SELECT 1 FROM wait_key AS wk WHERE wk.wait = ?1 AND wk.key = ?2 \
         AND (NOT EXISTS (SELECT 1 FROM wait_type AS any_type WHERE any_type.wait = ?1) \
              OR EXISTS (SELECT 1 FROM wait_type AS wt WHERE wt.wait = ?1 AND wt.type = ?3))",
        &[wait.into(), key.into(), event_type.into()],
        |_| Ok(()),
    )?
    .is_some())
}

/// Moves one wait from active to woken; `false` and no write if it was not active. WAKE-10
///
/// # Errors
/// The machine failed.
pub fn mark_woken(
    tx: &mut dyn Tx,
    wait: WaitId,
    winner: Seq,
    now: Millis,
) -> Result<bool, StoreError> {
    let changed = tx.execute(
        "UPDATE wait SET status = 'woken', winner = ?2, ended_at = ?3 \
         WHERE id = ?1 AND status = 'active'",
        &[wait.into(), winner.into(), now.into()],
    )?;
    Ok(changed == 1)
}

/// Moves one wait from active to cancelled; `false` and no write if it was not active. WAKE-15
///
/// # Errors
/// The machine failed.
pub fn mark_cancelled(tx: &mut dyn Tx, wait: WaitId, now: Millis) -> Result<bool, StoreError> {
    let changed = tx.execute(
        "UPDATE wait SET status = 'cancelled', ended_at = ?2 WHERE id = ?1 AND status = 'active'",
        &[wait.into(), now.into()],
    )?;
    Ok(changed == 1)
}

/// Notes the accepted timeout of a wait that has none; `false` and no write if it has. TIMER-02
///
/// # Errors
/// The machine failed.
pub fn set_timeout(tx: &mut dyn Tx, wait: WaitId, event: Seq) -> Result<bool, StoreError> {
    let changed = tx.execute(
        "UPDATE wait SET timeout_event = ?2 \
         WHERE id = ?1 AND status = 'active' AND timeout_event IS NULL",
        &[wait.into(), event.into()],
    )?;
    Ok(changed == 1)
}

/// Reads the columns of `select_wait!`.
///
/// # Errors
/// The row is damaged.
pub fn read(row: &dyn Row) -> Result<Wait, StoreError> {
    Ok(Wait {
        id: WaitId(row.int(0)?),
        uid: TypeSafeId::from_uuid(row.uuid(1)?),
        work: WorkId(row.int(2)?),
        attempt: AttemptNo(row.small(3)?),
        epoch: Epoch(row.unsigned(4)?),
        status: word(row, 5, "wait.status")?,
        after: Seq(row.int(6)?),
        parent: Seq(row.int(7)?),
        fire_at: row.opt_int(8)?.map(Millis),
        timeout: row.opt_int(9)?.map(Seq),
        winner: row.opt_int(10)?.map(Seq),
        registered_at: Millis(row.int(11)?),
        ended_at: row.opt_int(12)?.map(Millis),
    })
}
