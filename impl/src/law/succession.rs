//! Succession: ended work is never revived; a successor owns the next generation of its first key.
//! TERM-03 TERM-05 TERM-07

use crate::command::{Receipt, Refusal};
use crate::domain::{AttemptNo, Key, Millis, Request, Seq, WorkId, WorkUid, derived_uuid};
use crate::store::events::Place;
use crate::store::keys::{self, KeyId};
use crate::store::rejections::Derived;
use crate::store::works::{self, NewRow, Work};
use crate::store::{StoreError, Tx, events};

use super::causality::{Concerns, Made, Type, accept_derived};
use super::{Step, ownership, requests};

/// The type of the event that work is created by, where no routed event is. TERM-05
pub(super) const CREATED: &str = "core.work.created";

/// Makes a successor because an operator asked for it. OURS-11
pub(super) fn reopen(
    tx: &mut dyn Tx,
    now: Millis,
    work: WorkId,
    expect: Option<AttemptNo>,
    request: &Request,
    successor: WorkUid,
) -> Result<Step, StoreError> {
    let hash = match requests::fresh(tx, request)? {
        Ok(hash) => hash,
        Err(answer) => return Ok(answer),
    };
    let old = match requests::target(tx, work, expect)? {
        Ok(work) => work,
        Err(answer) => return Ok(answer),
    };
    if !old.status.is_terminal() {
        return Ok(Refusal::NotTerminal.into());
    }
    if works::successor(tx, old.id)?.is_some() {
        return Ok(Refusal::HasSuccessor.into());
    }
    let Ok(next) = next_key(tx, &old)? else { return Ok(Refusal::KeyOwned.into()) };
    let payload = payload(&old, successor);
    let seq = requests::accept(tx, now, request, hash, CREATED, old.scope, payload)?;
    let new = succeed(tx, now, &old, successor, next, seq)?;
    Ok(Step::accepted(Receipt::Event { seq }, &new))
}

/// Makes a successor because an event that came too late asks for it, if nothing succeeds the work
/// yet. Where its chain does not allow it, or its key is taken, the event stays late and nothing
/// more. TERM-03 TERM-08
pub(super) fn reopen_by_route(
    tx: &mut dyn Tx,
    now: Millis,
    old: &Work,
    event: &Place,
    successor: WorkUid,
) -> Result<(), StoreError> {
    if works::successor(tx, old.id)?.is_some() {
        return Ok(());
    }
    let Ok(next) = next_key(tx, old)? else { return Ok(()) };
    let cause = events::uid(tx, event.seq)?;
    let uid = derived_uuid(now, cause.uuid(), CREATED, 0);
    let delivery = format!("{cause}/{CREATED}");
    let made = Made::new(uid, delivery, Type::Core(CREATED), old.scope);
    let made = Made { payload: Some(payload(old, successor)), ..made };
    let concerns = Concerns { work: Some(old.id), ..Concerns::default() };
    let created = accept_derived(tx, now, Derived::Successor, event.seq, &made, concerns)?;
    if let Some(seq) = created {
        succeed(tx, now, old, successor, next, seq)?;
    }
    Ok(())
}

/// Core treats it as opaque. TERM-05
fn payload(old: &Work, successor: WorkUid) -> String {
    format!(r#"{{"predecessor":"{}","successor":"{successor}"}}"#, old.uid)
}

/// The key a successor will own.
struct NextKey {
    base: KeyId,
    generation: u32,
    key: Key,
}

/// Somebody owns the key a successor would.
struct Taken;

/// The next generation of the first key a work ever owned; `None` if it owned none. TERM-03
fn next_key(tx: &mut dyn Tx, old: &Work) -> Result<Result<Option<NextKey>, Taken>, StoreError> {
    let Some(first) = old.first_key else { return Ok(Ok(None)) };
    let base = keys::referred(tx, first)?.base;
    let newest = keys::referred(tx, base)?.newest;
    let generation = keys::referred(tx, newest)?.generation.saturating_add(1);
    let Key { source, external_id } = keys::text(tx, base)?;
    let key = Key { source, external_id: format!("{external_id}/generation/{generation}") };
    // It may have been named, and even owned, before it became a generation. TERM-07
    let taken = keys::find(tx, &key)?.is_some_and(|held| held.owner.is_some());
    Ok(if taken { Err(Taken) } else { Ok(Some(NextKey { base, generation, key })) })
}

/// The old work is not touched; its keys stay its own. TERM-07 TERM-01
fn succeed(
    tx: &mut dyn Tx,
    now: Millis,
    old: &Work,
    uid: WorkUid,
    next: Option<NextKey>,
    created_by: Seq,
) -> Result<Work, StoreError> {
    let new = NewRow {
        uid,
        scope: old.scope,
        kind: old.kind,
        standing: old.standing,
        predecessor: Some(old.id),
        // Child-of only, never succession. TERM-06
        parent: None,
        created_by,
        now,
    };
    let mut work = works::insert(tx, &new)?;
    if let Some(NextKey { base, generation, key }) = next {
        let key = keys::intern(tx, &key)?;
        keys::succeed(tx, base, key, generation)?;
        ownership::attach_free(tx, &mut work, key)?;
    }
    ownership::first_input(tx, now, &mut work, created_by)?;
    Ok(work)
}

#[cfg(test)]
mod tests;
