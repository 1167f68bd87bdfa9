//! Ownership: which work an identity belongs to, and what becomes that work's input. OWN-01

use crate::domain::{Millis, ProposedWork, Seq};
use crate::store::events::Place;
use crate::store::keys::{self, KeyId};
use crate::store::works::{self, NewRow, Work};
use crate::store::{StoreError, Tx, inputs, names};

/// Creates the work that owns an event's key from now on. OWN-04 OURS-03
pub(super) fn create(
    tx: &mut dyn Tx,
    now: Millis,
    event: &Place,
    key: KeyId,
    proposed: &ProposedWork,
) -> Result<Work, StoreError> {
    let kind = names::intern(tx, &proposed.kind)?;
    let new = NewRow { uid: proposed.uid, scope: event.scope, kind, created_by: event.seq, now };
    let work = works::insert(tx, &new)?;
    if !keys::attach(tx, key, work.id)? {
        return Err(StoreError::corrupt(format!(
            "key {} got an owner inside the transaction that found it free",
            key.0
        )));
    }
    Ok(work)
}

/// Adds an event to a work's pending input, in acceptance order and without loss. POLICY-08
/// POLICY-35
pub(super) fn append(tx: &mut dyn Tx, work: &mut Work, event: Seq) -> Result<(), StoreError> {
    inputs::insert(tx, work.id, event)?;
    work.add_pending(event);
    Ok(())
}
