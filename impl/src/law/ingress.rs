//! Acceptance: an event offered from outside becomes a numbered, immutable fact.

use sha2::{Digest as _, Sha256};

use crate::command::{Outcome, Receipt, Refusal};
use crate::domain::{CORE_PREFIX, Key, MarkKind, Millis, NewEvent, Request, Seq, WorkId};
use crate::store::events::BodyDigest;
use crate::store::identities::{self, IdentityHash};
use crate::store::keys::{self, Held, KeyId};
use crate::store::marks::{self, Mark};
use crate::store::names::{self, NameId};
use crate::store::rejections::Derived;
use crate::store::{
    StoreError, Tx, bodies, conflicts, events, generations, meta, payloads, unrouted, works,
};

use super::causality::{CORE_SOURCE, Concerns, Made, Type, accept_derived};
use super::{Step, requests};

/// Keeps an event and numbers it; the same identity answers the original. INGRESS-02 INGRESS-05
pub(super) fn accept(tx: &mut dyn Tx, now: Millis, event: &NewEvent) -> Result<Step, StoreError> {
    // A source of core's name would let a sender take the identity of a timeout before it fires, and
    // ask which requests were made.
    if event.id.source == CORE_SOURCE {
        return Ok(Refusal::CoreType.into());
    }
    let hash = identities::hash(tx, &event.id)?;
    if let Some(seq) = identities::find(tx, hash, &event.id)? {
        return again(tx, now, event, seq);
    }
    if event.event_type.starts_with(CORE_PREFIX) {
        return Ok(Refusal::CoreType.into());
    }
    let key = match &event.key {
        Some(key) => keys::newest(tx, key)?,
        None => None,
    };
    if let Some(refusal) = misaddressed(tx, event, key)? {
        return Ok(refusal.into());
    }
    insert(tx, now, event, hash, key.map(|held| held.id))
}

/// The original is the answer, whatever the second envelope says; another body marks it. OURS-17
fn again(tx: &mut dyn Tx, now: Millis, event: &NewEvent, seq: Seq) -> Result<Step, StoreError> {
    let wrote = events::body(tx, seq)? != body(event) && conflicts::mark(tx, seq, now)?;
    Ok(Step { wrote, ..Outcome::Duplicate(Receipt::Event { seq }).into() })
}

/// Half a hash tells bodies apart.
fn body(event: &NewEvent) -> Option<BodyDigest> {
    event.payload.as_ref().map(|body| {
        let mut half = BodyDigest::default();
        half.copy_from_slice(&Sha256::digest(body)[..16]);
        half
    })
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
    let body = body(event);
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
            failed: None,
            parent: None,
            root: seq,
            depth: 0,
            depth_max: event.limits.max_depth,
            derived: None,
            body: body.as_ref(),
            provenance: None,
        },
    )?;
    identities::insert(tx, hash, seq)?;
    if let Some(body) = &event.payload {
        payloads::insert(tx, seq, body)?;
    }
    if suspect(tx, now, event, source, body, seq)? {
        let (kind, generation) = (MarkKind::ReplaySuspect, generations::current_no(tx)?);
        let (work, wait, route, reason) = (None, None, None, None);
        let mark =
            Mark { event: seq, kind, work, wait, route, reason, asked: None, generation, at: now };
        marks::insert(tx, &mark)?;
    } else {
        unrouted::insert(tx, seq, scope, key, event.target, None)?;
    }
    Ok(Outcome::Accepted(Receipt::Event { seq }).into())
}

/// Whether a body that alone was signed came shortly before under another identity; remembers it
/// either way. OURS-17
fn suspect(
    tx: &mut dyn Tx,
    now: Millis,
    event: &NewEvent,
    source: NameId,
    body: Option<BodyDigest>,
    seq: Seq,
) -> Result<bool, StoreError> {
    let (Some(window), Some(body)) = (event.suspect_within, body) else { return Ok(false) };
    let last = bodies::last_accepted(tx, source, &body)?;
    bodies::insert(tx, source, &body, seq)?;
    Ok(last.is_some_and(|last| now < last + window))
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

/// The work an event would resolve to: the one it names, or the owner of its key. What an execution
/// published never resolves to its own work. INGRESS-09 WAIT-06
///
/// # Errors
/// The machine failed.
pub fn resolve(tx: &mut dyn Tx, event: &events::Place) -> Result<Option<WorkId>, StoreError> {
    let work = match (event.target, event.key) {
        (Some(target), _) => Some(target),
        (None, Some(key)) => keys::owner(tx, key)?,
        (None, None) => None,
    };
    Ok(work.filter(|work| Some(*work) != event.by_work))
}

/// Accepts a routed event once more, as a child of the original, which stays as it is. OWN-11
/// OURS-08
pub(super) fn replay(
    tx: &mut dyn Tx,
    now: Millis,
    event: Seq,
    request: &Request,
) -> Result<Step, StoreError> {
    if let Err(answer) = requests::fresh(tx, request)? {
        return Ok(answer);
    }
    let Some(original) = events::place(tx, event)? else { return Ok(Refusal::UnknownEvent.into()) };
    // It would be news without provenance: a work's own end would wake that very work. WAIT-06
    if of_core(tx, &original)? {
        return Ok(Refusal::CoreType.into());
    }
    if marks::get(tx, event)?.is_none() {
        return Ok(Refusal::NotRouted.into());
    }
    let key = match original.key {
        Some(key) => {
            let base = keys::referred(tx, key)?.base;
            Some(keys::referred(tx, base)?.newest)
        }
        None => None,
    };
    let (uid, delivery) = (request.uid.uuid(), requests::delivery(request));
    let made = Made {
        key,
        target: original.target,
        payload: payloads::get(tx, event)?,
        ..Made::new(uid, delivery, Type::Of(original.event_type), original.scope)
    };
    let concerns = Concerns { work: original.target, ..Concerns::default() };
    let Some(seq) = accept_derived(tx, now, Derived::Replay, event, &made, concerns)? else {
        return Ok(Refusal::DepthLimit.into());
    };
    unrouted::insert(tx, seq, original.scope, key, original.target, None)?;
    Ok(Outcome::Accepted(Receipt::Event { seq }).into())
}

/// Whether core made an event itself, to say what it did. A replay says again what its sender did.
fn of_core(tx: &mut dyn Tx, event: &events::Place) -> Result<bool, StoreError> {
    match event.derived {
        Some(
            Derived::Timeout
            | Derived::Continuation
            | Derived::Alias
            | Derived::TurnEnded
            | Derived::Successor
            | Derived::Retry,
        ) => Ok(true),
        Some(Derived::Replay) => Ok(false),
        None => Ok(names::text(tx, event.event_type)?.starts_with(CORE_PREFIX)),
    }
}

#[cfg(test)]
mod tests;
