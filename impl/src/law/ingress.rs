//! Acceptance: an event offered from outside becomes a numbered, immutable fact.

use crate::command::{Outcome, Receipt, Refusal};
use crate::domain::{CORE_PREFIX, Key, Millis, NewEvent, WorkId};
use crate::store::identities::{self, IdentityHash};
use crate::store::keys::{self, Held, KeyId};
use crate::store::{StoreError, Tx, events, meta, names, payloads, unrouted, works};

use super::Step;
use super::causality::CORE_SOURCE;

/// Keeps an event and numbers it; the same identity answers the original. INGRESS-02 INGRESS-05
pub(super) fn accept(tx: &mut dyn Tx, now: Millis, event: &NewEvent) -> Result<Step, StoreError> {
    let hash = identities::hash(tx, &event.id)?;
    if let Some(seq) = identities::find(tx, hash, &event.id)? {
        return Ok(Outcome::Duplicate(Receipt::Event { seq }).into());
    }
    // A source of core's name would let a sender take the identity of a timeout before it fires.
    if event.event_type.starts_with(CORE_PREFIX) || event.id.source == CORE_SOURCE {
        return Ok(Refusal::CoreType.into());
    }
    let key = match &event.key {
        Some(key) => keys::find(tx, key)?,
        None => None,
    };
    if let Some(refusal) = misaddressed(tx, event, key)? {
        return Ok(refusal.into());
    }
    insert(tx, now, event, hash, key.map(|held| held.id))
}

/// Neither side of a contradiction is preferred. INGRESS-10 INGRESS-11
fn misaddressed(
    tx: &mut dyn Tx,
    event: &NewEvent,
    key: Option<Held>,
) -> Result<Option<Refusal>, StoreError> {
    let owner = key.and_then(|held| held.owner);
    // Looked up and not stored: a refusal writes nothing. A scope never named holds no work.
    let scope = names::find(tx, &event.scope)?;
    if let Some(target) = event.target {
        let Some(work) = works::get(tx, target)? else { return Ok(Some(Refusal::UnknownWork)) };
        if Some(work.scope) != scope {
            return Ok(Some(Refusal::WrongScope));
        }
        let contradicts = event.key.is_some() && owner != Some(target);
        return Ok(contradicts.then_some(Refusal::ContradictoryTarget));
    }
    let Some(owner) = owner else { return Ok(None) };
    let work = works::referred(tx, owner)?;
    Ok((Some(work.scope) != scope).then_some(Refusal::WrongScope))
}

fn insert(
    tx: &mut dyn Tx,
    now: Millis,
    event: &NewEvent,
    hash: IdentityHash,
    known: Option<KeyId>,
) -> Result<Step, StoreError> {
    let key = key_id(tx, event.key.as_ref(), known)?;
    let seq = meta::next_seq(tx)?;
    let scope = names::intern(tx, &event.scope)?;
    let source = names::intern(tx, &event.id.source)?;
    let event_type = names::intern(tx, &event.event_type)?;
    events::insert(
        tx,
        &events::NewRow {
            seq,
            uid: event.uid.uuid(),
            source,
            delivery: &event.id.delivery,
            event_type,
            subject: event.subject.as_deref(),
            occurred_at: event.occurred_at,
            accepted_at: now,
            scope,
            key,
            target: event.target,
            wait: None,
            parent: None,
            root: seq,
            depth: 0,
            depth_max: event.limits.max_depth,
        },
    )?;
    identities::insert(tx, hash, seq)?;
    if let Some(body) = &event.payload {
        payloads::insert(tx, seq, body)?;
    }
    unrouted::insert(tx, seq, scope, key, event.target)?;
    Ok(Outcome::Accepted(Receipt::Event { seq }).into())
}

fn key_id(
    tx: &mut dyn Tx,
    key: Option<&Key>,
    known: Option<KeyId>,
) -> Result<Option<KeyId>, StoreError> {
    match (key, known) {
        (None, _) => Ok(None),
        (Some(_), Some(known)) => Ok(Some(known)),
        (Some(key), None) => keys::insert(tx, key).map(Some),
    }
}

/// The work an event would resolve to: the one it names, or the owner of its key. INGRESS-09
pub(super) fn resolve(
    tx: &mut dyn Tx,
    event: &events::Place,
) -> Result<Option<WorkId>, StoreError> {
    if event.target.is_some() {
        return Ok(event.target);
    }
    match event.key {
        Some(key) => keys::owner(tx, key),
        None => Ok(None),
    }
}

#[cfg(test)]
mod tests;
