//! Ownership: which work an identity belongs to, and what becomes that work's input. OWN-01

use crate::command::{Receipt, Refusal};
use crate::domain::{Key, MarkKind, Millis, ProposedWork, Request, Seq, WorkId};
use crate::store::events::Place;
use crate::store::keys::{self, KeyId};
use crate::store::marks::{self, Mark};
use crate::store::works::{self, NewRow, Work};
use crate::store::{StoreError, Tx, generations, inputs, names};

use super::succession::CREATED;
use super::{Step, requests};

/// What a request to create work asks for.
pub(super) struct Wanted<'a> {
    pub(super) scope: &'a str,
    pub(super) create: &'a ProposedWork,
    pub(super) key: Option<&'a Key>,
    pub(super) parent: Option<WorkId>,
    pub(super) authorised: bool,
    pub(super) data: Option<&'a str>,
}

/// Creates work that no event asked for. BIND-03 BIND-04
pub(super) fn create_work(
    tx: &mut dyn Tx,
    now: Millis,
    request: &Request,
    wanted: &Wanted<'_>,
) -> Result<Step, StoreError> {
    let hash = match requests::fresh(tx, request)? {
        Ok(hash) => hash,
        Err(answer) => return Ok(answer),
    };
    let mut parent = None;
    if let Some(id) = wanted.parent {
        let Some(work) = works::get(tx, id)? else { return Ok(Refusal::UnknownWork.into()) };
        // A scope never named is none of its parent's. BIND-04
        if !wanted.authorised && names::find(tx, wanted.scope)? != Some(work.scope) {
            return Ok(Refusal::WrongScope.into());
        }
        parent = Some(work);
    }
    if owned_by_another(tx, wanted.key, None)? {
        return Ok(Refusal::KeyOwned.into());
    }
    let scope = names::intern(tx, wanted.scope)?;
    let payload = payload(wanted, parent.as_ref());
    let seq = requests::accept(tx, now, request, hash, CREATED, scope, payload)?;
    let new = NewRow {
        uid: wanted.create.uid,
        scope,
        kind: names::intern(tx, &wanted.create.kind)?,
        standing: wanted.create.standing,
        predecessor: None,
        parent: wanted.parent,
        created_by: seq,
        now,
    };
    let mut work = works::insert(tx, &new)?;
    attach(tx, &mut work, wanted.key)?;
    first_input(tx, now, &mut work, seq)?;
    Ok(Step::accepted(Receipt::Event { seq }, &work))
}

fn payload(wanted: &Wanted<'_>, parent: Option<&Work>) -> String {
    let parent = parent.map(|work| format!(r#","parent":"{}""#, work.uid)).unwrap_or_default();
    let data = wanted.data.map(|data| format!(r#","data":{data}"#)).unwrap_or_default();
    format!(r#"{{"work":"{}"{parent}{data}}}"#, wanted.create.uid)
}

/// Creates the work that an event asks for, which owns the event's key from now on, if it has one.
/// OWN-04 OURS-03
pub(super) fn create(
    tx: &mut dyn Tx,
    now: Millis,
    event: &Place,
    proposed: &ProposedWork,
) -> Result<Work, StoreError> {
    let new = NewRow {
        uid: proposed.uid,
        scope: event.scope,
        kind: names::intern(tx, &proposed.kind)?,
        standing: proposed.standing,
        predecessor: None,
        parent: None,
        created_by: event.seq,
        now,
    };
    let mut work = works::insert(tx, &new)?;
    if let Some(key) = event.key {
        attach_free(tx, &mut work, key)?;
    }
    Ok(work)
}

/// Whether any of these keys, each in its newest generation, belongs to another work than this one.
/// OWN-07 TERM-04
pub(super) fn owned_by_another<'a>(
    tx: &mut dyn Tx,
    keys: impl IntoIterator<Item = &'a Key>,
    work: Option<WorkId>,
) -> Result<bool, StoreError> {
    for key in keys {
        let owner = keys::newest(tx, key)?.and_then(|held| held.owner);
        if owner.is_some() && owner != work {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Gives keys that nobody else owns to a work, each in its newest generation; those it owns stay its
/// own. OWN-06 TERM-04
pub(super) fn attach<'a>(
    tx: &mut dyn Tx,
    work: &mut Work,
    keys: impl IntoIterator<Item = &'a Key>,
) -> Result<(), StoreError> {
    for key in keys {
        let (id, owner) = match keys::newest(tx, key)? {
            Some(held) => (held.id, held.owner),
            None => (keys::insert(tx, key)?, None),
        };
        if owner != Some(work.id) {
            attach_free(tx, work, id)?;
        }
    }
    Ok(())
}

/// Gives a key that nobody owns to a work; the caller saves the work.
pub(super) fn attach_free(tx: &mut dyn Tx, work: &mut Work, key: KeyId) -> Result<(), StoreError> {
    if !keys::attach(tx, key, work.id)? {
        return Err(StoreError::corrupt(format!(
            "key {} got an owner inside the transaction that found it free",
            key.0
        )));
    }
    work.owns(key);
    Ok(())
}

/// Adds an event to a work's pending input, in acceptance order and without loss.
/// POLICY-08 POLICY-35
pub(super) fn append(tx: &mut dyn Tx, work: &mut Work, event: Seq) -> Result<(), StoreError> {
    inputs::insert(tx, work.id, event)?;
    work.add_pending(event);
    Ok(())
}

/// Makes the event that a work was created by its first input, and saves the work. TERM-05
pub(super) fn first_input(
    tx: &mut dyn Tx,
    now: Millis,
    work: &mut Work,
    event: Seq,
) -> Result<(), StoreError> {
    append(tx, work, event)?;
    let (kind, generation) = (MarkKind::Queued, generations::current_no(tx)?);
    let (work_id, at) = (Some(work.id), now);
    marks::insert(
        tx,
        &Mark {
            event,
            kind,
            work: work_id,
            wait: None,
            route: None,
            reason: None,
            asked: None,
            generation,
            at,
        },
    )?;
    works::save(tx, work, now)
}

#[cfg(test)]
mod tests;
