//! `subscription`: external resources that waits subscribe to, and how far each is translated.
//! ALIAS-02

use uuid::Uuid;

use crate::domain::{Seq, WaitId, WorkId};

use super::engine::{Row, StoreError, Tx, Value, execute_one, query_all, query_one};
use super::keys::{self, KeyId};
use super::names::NameId;

/// A subscription row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subscription {
    /// Its row.
    pub id: i64,
    /// Its stable id. ALIAS-06
    pub uid: Uuid,
    /// The wait it serves.
    pub wait: WaitId,
    /// The work that depends on the source.
    pub work: WorkId,
    /// The resource, by the base of its key's generations.
    pub key: KeyId,
    /// The scope of its events.
    pub scope: NameId,
    /// Everything it selects up to here is translated.
    pub checkpoint: Seq,
    /// Its wait is active. ALIAS-11
    pub active: bool,
}

/// A subscription about to be installed.
#[derive(Debug, Clone, Copy)]
pub struct NewRow {
    /// Its stable id.
    pub uid: Uuid,
    /// The extension that asks for it.
    pub extension: NameId,
    /// The wait it serves.
    pub wait: WaitId,
    /// The work that depends on the source.
    pub work: WorkId,
    /// The resource, by the base of its key's generations.
    pub key: KeyId,
    /// The scope of its events.
    pub scope: NameId,
    /// Where it begins.
    pub checkpoint: Seq,
}

/// Installs a subscription.
///
/// # Errors
/// The machine failed, or the wait has one.
pub fn insert(tx: &mut dyn Tx, new: &NewRow) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO subscription (uid, extension, wait, work, key, scope, checkpoint, status) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'active')",
        &[
            (&new.uid).into(),
            new.extension.into(),
            new.wait.into(),
            new.work.into(),
            new.key.into(),
            new.scope.into(),
            new.checkpoint.into(),
        ],
    )
    .map(drop)
}

macro_rules! select_subscription {
    ($rest:literal) => {
        concat!(
            "SELECT id, uid, wait, work, key, scope, checkpoint, status FROM subscription ",
            $rest
        )
    };
}

fn read(row: &dyn Row) -> Result<Subscription, StoreError> {
    Ok(Subscription {
        id: row.int(0)?,
        uid: row.uuid(1)?,
        wait: WaitId(row.int(2)?),
        work: WorkId(row.int(3)?),
        key: KeyId(row.int(4)?),
        scope: NameId(row.int(5)?),
        checkpoint: Seq(row.int(6)?),
        active: row.text(7)? == "active",
    })
}

/// The subscription of a wait.
///
/// # Errors
/// The machine failed.
pub fn of_wait(tx: &mut dyn Tx, wait: WaitId) -> Result<Option<Subscription>, StoreError> {
    query_one(tx, select_subscription!("WHERE wait = ?1"), &[wait.into()], read)
}

/// How far the last subscription of a work to this source came; `None` if it never had one.
/// ALIAS-07
///
/// # Errors
/// The machine failed.
pub fn last_checkpoint(
    tx: &mut dyn Tx,
    work: WorkId,
    key: KeyId,
    scope: NameId,
) -> Result<Option<Seq>, StoreError> {
    query_one(
        tx,
        "SELECT checkpoint FROM subscription WHERE work = ?1 AND key = ?2 AND scope = ?3 \
         ORDER BY id DESC LIMIT 1",
        &[work.into(), key.into(), scope.into()],
        |row| Ok(Seq(row.int(0)?)),
    )
}

/// Rows and waits of active subscriptions after the row `after`, in order.
///
/// # Errors
/// The machine failed.
pub fn active(tx: &mut dyn Tx, after: i64, limit: u32) -> Result<Vec<(i64, WaitId)>, StoreError> {
    query_all(
        tx,
        "SELECT id, wait FROM subscription WHERE status = 'active' AND id > ?1 ORDER BY id LIMIT ?2",
        &[after.into(), limit.into()],
        |row| Ok((row.int(0)?, WaitId(row.int(1)?))),
    )
}

/// Waits that subscribe to the source of an event above `from` and up to `to`, whatever of it they
/// select: a lookup for each of these events.
///
/// # Errors
/// The machine failed.
pub fn to_sources_of(tx: &mut dyn Tx, from: Seq, to: Seq) -> Result<Vec<WaitId>, StoreError> {
    query_all(
        tx,
        "SELECT s.wait FROM event AS e CROSS JOIN key AS k ON k.id = e.key \
         CROSS JOIN subscription AS s ON s.key = coalesce(k.base, k.id) AND s.scope = e.scope \
         WHERE e.seq > ?1 AND e.seq <= ?2 AND s.status = 'active' \
         AND (e.derived IS NULL OR e.derived <> 'alias') \
         AND (NOT EXISTS (SELECT 1 FROM wait_type AS any_type WHERE any_type.wait = s.wait) \
          OR EXISTS (SELECT 1 FROM wait_type AS wt WHERE wt.wait = s.wait AND wt.type = e.type))",
        &[from.into(), to.into()],
        |row| Ok(WaitId(row.int(0)?)),
    )
}

/// The lowest event above `after` that a subscription selects: of its resource and scope, of a type
/// its wait lets pass, no alias, not suspect, dropped by nobody, and not published by its own work.
/// ALIAS-05 WAIT-06 OURS-07 OURS-17
///
/// # Errors
/// The machine failed.
pub fn lowest_selected(
    tx: &mut dyn Tx,
    subscription: &Subscription,
    after: Seq,
) -> Result<Option<Seq>, StoreError> {
    let mut lowest = None;
    for key in keys::generations(tx, subscription.key)? {
        // One walk along the index for each generation, ended by its first hit.
        let found = query_one(
            tx,
            "SELECT e.seq FROM event AS e WHERE e.key = ?1 AND e.seq > ?2 AND e.scope = ?3 \
             AND (e.derived IS NULL OR e.derived <> 'alias') \
             AND (e.by_work IS NULL OR e.by_work <> ?4) \
             AND NOT EXISTS (SELECT 1 FROM mark AS m WHERE m.event = e.seq \
              AND (m.kind = 'replay_suspect' OR m.kind = 'operator_drop')) \
             AND (NOT EXISTS (SELECT 1 FROM wait_type AS any_type WHERE any_type.wait = ?5) \
              OR EXISTS (SELECT 1 FROM wait_type AS wt WHERE wt.wait = ?5 AND wt.type = e.type)) \
             ORDER BY e.seq LIMIT 1",
            &[
                key.into(),
                after.into(),
                subscription.scope.into(),
                subscription.work.into(),
                subscription.wait.into(),
            ],
            |row| Ok(Seq(row.int(0)?)),
        )?;
        lowest = [lowest, found].into_iter().flatten().min();
    }
    Ok(lowest)
}

/// Moves the checkpoint of an active subscription. ALIAS-07
///
/// # Errors
/// The machine failed, or the subscription is not active.
pub fn advance(tx: &mut dyn Tx, id: i64, checkpoint: Seq) -> Result<(), StoreError> {
    execute_one(
        tx,
        "UPDATE subscription SET checkpoint = ?2 \
         WHERE id = ?1 AND status = 'active' AND checkpoint < ?2",
        &[Value::Int(id), checkpoint.into()],
        "subscription: a checkpoint moved inside its own transaction",
    )
}

/// Ends the subscription of a wait, should it have one. WAKE-08 ALIAS-11
///
/// # Errors
/// The machine failed.
pub fn end(tx: &mut dyn Tx, wait: WaitId) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE subscription SET status = 'ended' WHERE wait = ?1 AND status = 'active'",
        &[wait.into()],
    )
    .map(drop)
}
