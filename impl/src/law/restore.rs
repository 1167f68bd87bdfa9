//! Restore: a database that comes from a backup starts another life, and nothing of it starts until
//! a person says that its other life has ended. OURS-21

use crate::command::{Outcome, Receipt, Refusal};
use crate::domain::{Incarnation, MarkKind, Millis, Request};
use crate::store::marks::{self, Mark};
use crate::store::{StoreError, Tx, attempts, generations, meta, names};

use super::causality::CORE_SOURCE;
use super::{Step, requests};

/// Begins an incarnation above this one and above all that are known of elsewhere: no epoch of it was
/// given out before, and no authority of before holds in it. Attempts stay open, for their processes
/// may still be found; none is launched again, for nobody knows what became of it after the backup.
/// OURS-21 ADOPT-08
pub(super) fn restore(
    tx: &mut dyn Tx,
    now: Millis,
    above: Incarnation,
) -> Result<Step, StoreError> {
    let last = meta::incarnation(tx)?.max(above);
    let Some(next) = last.0.checked_add(1) else {
        return Err(StoreError::corrupt("counter: no incarnation is left"));
    };
    let incarnation = Incarnation(next);
    meta::incarnate(tx, incarnation)?;
    attempts::void_leases(tx, now)?;
    Ok(Outcome::Accepted(Receipt::Restored { incarnation }).into())
}

/// Lets attempts be claimed and recovered again. OURS-21
pub(super) fn release_restore(
    tx: &mut dyn Tx,
    now: Millis,
    request: &Request,
) -> Result<Step, StoreError> {
    let hash = match requests::fresh(tx, request)? {
        Ok(hash) => hash,
        Err(answer) => return Ok(answer),
    };
    if !meta::restored(tx)? {
        return Ok(Refusal::NotHeld.into());
    }
    // It is about the database and no scope of it.
    let scope = names::intern(tx, CORE_SOURCE)?;
    let incarnation = meta::incarnation(tx)?;
    let payload = format!(r#"{{"incarnation":{incarnation}}}"#);
    let seq = requests::accept(tx, now, request, hash, "core.restore.released", scope, payload)?;
    let (kind, generation) = (MarkKind::Release, generations::current_no(tx)?);
    let (work, wait, route, reason) = (None, None, None, None);
    marks::insert(
        tx,
        &Mark { event: seq, kind, work, wait, route, reason, asked: None, generation, at: now },
    )?;
    meta::release(tx)?;
    Ok(Outcome::Accepted(Receipt::Event { seq }).into())
}

#[cfg(test)]
mod tests;
