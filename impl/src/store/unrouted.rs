//! `unrouted`: accepted events that carry no mark yet, by key and by target.

use crate::domain::{Seq, WorkId};

use super::engine::{StoreError, Tx, Value, query_one};
use super::keys::KeyId;
use super::names::NameId;

/// Queues an event for routing.
///
/// # Errors
/// The machine failed.
pub fn insert(
    tx: &mut dyn Tx,
    event: Seq,
    scope: NameId,
    key: Option<KeyId>,
    target: Option<WorkId>,
    by_work: Option<WorkId>,
) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO unrouted (event, scope, key, target, by_work) VALUES (?1, ?2, ?3, ?4, ?5)",
        &[event.into(), scope.into(), key.into(), target.into(), by_work.into()],
    )
    .map(drop)
}

/// Takes an event out of the queue; `false` if it was not in it.
///
/// # Errors
/// The machine failed.
pub fn remove(tx: &mut dyn Tx, event: Seq) -> Result<bool, StoreError> {
    Ok(tx.execute("DELETE FROM unrouted WHERE event = ?1", &[event.into()])? == 1)
}

/// The lowest unrouted event that names this work, or whose key it owns and whose scope is its
/// own: an owner elsewhere is none of an event's business. What an execution of this work published
/// never resolves to it. OWN-03 OWN-05 OWN-09 WAIT-06
///
/// # Errors
/// The machine failed.
pub fn lowest_of(tx: &mut dyn Tx, work: WorkId, scope: NameId) -> Result<Option<Seq>, StoreError> {
    // Two lookups: a union of them would be built as a table first.
    let mut lowest = |sql: &'static str, values: &[Value<'_>]| {
        query_one(tx, sql, values, |row| Ok(row.opt_int(0)?.map(Seq))).map(Option::flatten)
    };
    let named = lowest(
        "SELECT min(event) FROM unrouted WHERE target = ?1 \
         AND (by_work IS NULL OR by_work <> ?1)",
        &[work.into()],
    )?;
    let owned = lowest(
        "SELECT min(u.event) FROM key AS k JOIN unrouted AS u ON u.key = k.id AND u.scope = ?2 \
         WHERE k.work = ?1 AND (u.by_work IS NULL OR u.by_work <> ?1)",
        &[work.into(), scope.into()],
    )?;
    Ok([named, owned].into_iter().flatten().min())
}
