//! What operators list beside events, works and waits: timers, holds, refused derived events and
//! configurations.

use type_safe_id::TypeSafeId;

use crate::domain::{
    AttemptNo, EventUid, Generation, Holds, Millis, Seq, WaitId, WaitUid, WorkId, WorkStatus,
    WorkUid,
};

use super::engine::{Row, StoreError, Tx, Value, query_all, query_one};
use super::intents::Intent;
use super::rejections::Derived;
use super::words::word;

/// An armed timer of a wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedTimer {
    /// The row of the wait: where the next page begins.
    pub id: WaitId,
    /// The wait.
    pub wait: WaitUid,
    /// Its work.
    pub work: WorkUid,
    /// When it is due.
    pub fire_at: Millis,
    /// A causal limit refused it once. CAUSE-33
    pub disabled: bool,
}

/// Timers of waits after the row `after`, in order.
///
/// # Errors
/// The machine failed.
pub fn timers(tx: &mut dyn Tx, after: WaitId, limit: u32) -> Result<Vec<ListedTimer>, StoreError> {
    query_all(
        tx,
        "SELECT t.wait, w.uid, k.uid, t.fire_at, t.disabled FROM timer AS t \
         JOIN wait AS w ON w.id = t.wait JOIN work AS k ON k.id = w.work \
         WHERE t.wait > ?1 ORDER BY t.wait LIMIT ?2",
        &[after.into(), limit.into()],
        |row| {
            Ok(ListedTimer {
                id: WaitId(row.int(0)?),
                wait: TypeSafeId::from_uuid(row.uuid(1)?),
                work: TypeSafeId::from_uuid(row.uuid(2)?),
                fire_at: Millis(row.int(3)?),
                disabled: row.int(4)? != 0,
            })
        },
    )
}

/// Works with an idle timer after the row `after`, in order, each with when it is due.
///
/// # Errors
/// The machine failed.
pub fn idle(
    tx: &mut dyn Tx,
    after: WorkId,
    limit: u32,
) -> Result<Vec<(WorkId, WorkUid, Millis)>, StoreError> {
    query_all(
        tx,
        "SELECT id, uid, idle_at FROM work WHERE idle_at IS NOT NULL AND id > ?1 \
         ORDER BY id LIMIT ?2",
        &[after.into(), limit.into()],
        |row| Ok((WorkId(row.int(0)?), TypeSafeId::from_uuid(row.uuid(1)?), Millis(row.int(2)?))),
    )
}

/// An armed retry of a failed attempt. RETRY-19
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedRetry {
    /// The row of its work: where the next page begins.
    pub id: WorkId,
    /// Its work.
    pub work: WorkUid,
    /// The failed attempt.
    pub attempt: AttemptNo,
    /// When it is due.
    pub fire_at: Millis,
    /// A causal limit refused it once. CAUSE-33
    pub disabled: bool,
}

/// Armed retries of works after the row `after`, in order.
///
/// # Errors
/// The machine failed.
pub fn retries(tx: &mut dyn Tx, after: WorkId, limit: u32) -> Result<Vec<ListedRetry>, StoreError> {
    query_all(
        tx,
        "SELECT id, uid, backoff, retry_at, retry_disabled FROM work \
         WHERE retry_disabled IS NOT NULL AND id > ?1 ORDER BY id LIMIT ?2",
        &[after.into(), limit.into()],
        |row| {
            Ok(ListedRetry {
                id: WorkId(row.int(0)?),
                work: TypeSafeId::from_uuid(row.uuid(1)?),
                attempt: AttemptNo(row.small(2)?),
                fire_at: Millis(row.int(3)?),
                disabled: row.int(4)? != 0,
            })
        },
    )
}

/// A work that a hold keeps from starting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedHold {
    /// Its row: where the next page begins.
    pub id: WorkId,
    /// The work.
    pub work: WorkUid,
    /// Where it is.
    pub status: WorkStatus,
    /// Its last attempt; 0 for none yet.
    pub attempts: u32,
    /// What holds it.
    pub holds: Holds,
    /// Why, for people.
    pub reason: Option<String>,
    /// Its kind.
    pub kind: String,
    /// Its scope.
    pub scope: String,
}

/// Held works after the row `after`, in order.
///
/// # Errors
/// The machine failed.
pub fn holds(tx: &mut dyn Tx, after: WorkId, limit: u32) -> Result<Vec<ListedHold>, StoreError> {
    query_all(
        tx,
        "SELECT w.id, w.uid, w.status, w.holds, w.reason, k.text, s.text, \
         COALESCE(w.attempt, 0) FROM work AS w \
         JOIN name AS k ON k.id = w.kind JOIN name AS s ON s.id = w.scope \
         WHERE w.holds <> 0 AND w.id > ?1 ORDER BY w.id LIMIT ?2",
        &[after.into(), limit.into()],
        |row| {
            let bits = u8::try_from(row.int(3)?).ok().and_then(Holds::from_bits);
            Ok(ListedHold {
                id: WorkId(row.int(0)?),
                work: TypeSafeId::from_uuid(row.uuid(1)?),
                status: word(row, 2, "work.status")?,
                holds: bits.ok_or_else(|| StoreError::corrupt("work.holds is no set of holds"))?,
                reason: row.opt_text(4)?.map(str::to_owned),
                kind: row.text(5)?.to_owned(),
                scope: row.text(6)?.to_owned(),
                attempts: row.small(7)?,
            })
        },
    )
}

/// A derived event that a causal limit refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedRejection {
    /// Its row: where the next page begins.
    pub id: i64,
    /// The identity it would have had.
    pub delivery: String,
    /// What it would have been.
    pub kind: Derived,
    /// What would have caused it.
    pub parent: EventUid,
    /// Why it was refused.
    pub reason: String,
    /// The depth it would have had.
    pub depth: u32,
    /// When.
    pub at: Millis,
}

/// Refused derived events after the row `after`, in order.
///
/// # Errors
/// The machine failed.
pub fn rejections(
    tx: &mut dyn Tx,
    after: i64,
    limit: u32,
) -> Result<Vec<ListedRejection>, StoreError> {
    query_all(
        tx,
        "SELECT j.id, j.delivery, j.kind, p.uid, j.reason, j.depth, j.at FROM rejection AS j \
         JOIN event AS p ON p.seq = j.parent WHERE j.id > ?1 ORDER BY j.id LIMIT ?2",
        &[Value::Int(after), limit.into()],
        |row| {
            Ok(ListedRejection {
                id: row.int(0)?,
                delivery: row.text(1)?.to_owned(),
                kind: word(row, 2, "rejection.kind")?,
                parent: TypeSafeId::from_uuid(row.uuid(3)?),
                reason: row.text(4)?.to_owned(),
                depth: row.small(5)?,
                at: Millis(row.int(6)?),
            })
        },
    )
}

/// A configuration, without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedGeneration {
    /// Its number.
    pub n: Generation,
    /// The digest of its text.
    pub digest: String,
    /// When it became current.
    pub created_at: Millis,
}

/// Configurations after the number `after`, in order.
///
/// # Errors
/// The machine failed.
pub fn generations(
    tx: &mut dyn Tx,
    after: Generation,
    limit: u32,
) -> Result<Vec<ListedGeneration>, StoreError> {
    query_all(
        tx,
        "SELECT n, digest, created_at FROM generation WHERE n > ?1 ORDER BY n LIMIT ?2",
        &[after.into(), limit.into()],
        |row: &dyn Row| {
            Ok(ListedGeneration {
                n: Generation(row.int(0)?),
                digest: row.text(1)?.to_owned(),
                created_at: Millis(row.int(2)?),
            })
        },
    )
}

/// What a wait subscribes to, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedSubscription {
    /// The resource's key.
    pub key: crate::domain::Key,
    /// The scope its events are accepted into.
    pub scope: String,
    /// Everything up to here is translated.
    pub checkpoint: Seq,
    /// Its wait is active.
    pub active: bool,
}

/// The subscription of a wait, if it has one.
///
/// # Errors
/// The machine failed.
pub fn subscription(
    tx: &mut dyn Tx,
    wait: WaitId,
) -> Result<Option<ListedSubscription>, StoreError> {
    query_one(
        tx,
        "SELECT ks.text, k.external_id, c.text, u.checkpoint, u.status FROM subscription AS u \
         JOIN key AS k ON k.id = u.key JOIN name AS ks ON ks.id = k.source \
         JOIN name AS c ON c.id = u.scope WHERE u.wait = ?1",
        &[wait.into()],
        |row| {
            let (source, external_id) = (row.text(0)?.to_owned(), row.text(1)?.to_owned());
            Ok(ListedSubscription {
                key: crate::domain::Key { source, external_id },
                scope: row.text(2)?.to_owned(),
                checkpoint: Seq(row.int(3)?),
                active: row.text(4)? == "active",
            })
        },
    )
}

/// The uids of a work's predecessor, successor and parent, as far as it has them. TERM-05 TERM-06
///
/// # Errors
/// The machine failed.
pub fn relatives(tx: &mut dyn Tx, work: WorkId) -> Result<Relatives, StoreError> {
    let found = query_one(
        tx,
        "SELECT p.uid, s.uid, c.uid FROM work AS w LEFT JOIN work AS p ON p.id = w.predecessor \
         LEFT JOIN work AS s ON s.predecessor = w.id LEFT JOIN work AS c ON c.id = w.parent \
         WHERE w.id = ?1",
        &[work.into()],
        |row| {
            let uid = |column| match row.opt_blob(column)? {
                None => Ok(None),
                Some(_) => row.uuid(column).map(|uuid| Some(TypeSafeId::from_uuid(uuid))),
            };
            Ok(Relatives { predecessor: uid(0)?, successor: uid(1)?, parent: uid(2)? })
        },
    )?;
    Ok(found.unwrap_or_default())
}

/// Other works a work stands in relation to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Relatives {
    /// What it succeeds.
    pub predecessor: Option<WorkUid>,
    /// What succeeds it.
    pub successor: Option<WorkUid>,
    /// What it is a child of.
    pub parent: Option<WorkUid>,
}

/// An intent with its event's id at the edge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedIntent {
    /// The intent.
    pub intent: Intent,
    /// Its event.
    pub event: EventUid,
}

/// Intents of a work above the event `after`, in acceptance order.
///
/// # Errors
/// The machine failed.
pub fn intents(
    tx: &mut dyn Tx,
    work: WorkId,
    after: Seq,
    limit: u32,
) -> Result<Vec<ListedIntent>, StoreError> {
    let rows = super::intents::of_work(tx, work, after, limit)?;
    rows.into_iter()
        .map(|intent| {
            let event = super::events::uid(tx, intent.event)?;
            Ok(ListedIntent { intent, event })
        })
        .collect()
}
