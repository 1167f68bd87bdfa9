//! Subscriptions: news of an external resource reaches a waiting work as aliases that name it, and
//! the resource's key stays where it is. ALIAS-01 ALIAS-05

use crate::command::{Deferral, Outcome, Receipt, Refusal};
use crate::domain::{Millis, Seq, Source, WaitId, derived_uuid};
use crate::store::events::Place;
use crate::store::rejections::Derived;
use crate::store::subscriptions::{self, NewRow, Subscription};
use crate::store::waits::{self, Wait};
use crate::store::words::Word as _;
use crate::store::works::{self, Work};
use crate::store::{StoreError, Tx, events, identities, keys, names, unrouted};

use super::Step;
use super::causality::{Made, Type, accept_derived, identity};
use super::waits::concerning;

/// Installs the subscription of a wait and translates what it selects that is accepted already, so
/// that nothing falls between the two. One alias is enough: it wakes the wait, or a lower match does,
/// and the rest is left to the work's next subscription to the same source. ALIAS-03 ALIAS-07
pub(super) fn install(
    tx: &mut dyn Tx,
    now: Millis,
    work: &Work,
    wait: &Wait,
    source: &Source,
) -> Result<(), StoreError> {
    let key = keys::intern(tx, &source.key)?;
    let (key, scope) = (keys::referred(tx, key)?.base, names::intern(tx, &source.scope)?);
    // An alias is numbered above its source, so the watermark may be above what the source said
    // meanwhile.
    let handed_on = subscriptions::last_checkpoint(tx, work.id, key, scope)?;
    let new = NewRow {
        uid: derived_uuid(now, wait.uid.uuid(), "subscription", 0),
        extension: names::intern(tx, &source.extension)?,
        wait: wait.id,
        work: work.id,
        key,
        scope,
        checkpoint: handed_on.map_or(wait.after, |seq| seq.min(wait.after)),
    };
    subscriptions::insert(tx, &new)?;
    let Some(mut subscription) = subscriptions::of_wait(tx, wait.id)? else {
        return Err(StoreError::corrupt("subscription: a row vanished as it was written"));
    };
    while let Some(seq) =
        subscriptions::lowest_selected(tx, &subscription, subscription.checkpoint)?
    {
        let event = events::referred(tx, seq)?;
        if alias(tx, now, &subscription, wait, work, &event)?.is_some() {
            break;
        }
        subscription.checkpoint = seq;
    }
    Ok(())
}

/// Accepts the alias of one event of the source, in the order of the source. ALIAS-05 ALIAS-06
/// ALIAS-07
pub(super) fn translate(
    tx: &mut dyn Tx,
    now: Millis,
    wait: WaitId,
    event: Seq,
) -> Result<Step, StoreError> {
    let Some(wait) = waits::get(tx, wait)? else { return Ok(Refusal::UnknownWait.into()) };
    let Some(event) = events::place(tx, event)? else { return Ok(Refusal::UnknownEvent.into()) };
    let Some(subscription) = subscriptions::of_wait(tx, wait.id)? else {
        return Ok(Refusal::SubscriptionEnded.into());
    };
    if let Some(seq) = translated(tx, &subscription, event.seq)? {
        return Ok(Outcome::Duplicate(Receipt::Event { seq }).into());
    }
    if !subscription.active {
        return Ok(Refusal::SubscriptionEnded.into());
    }
    let lowest = subscriptions::lowest_selected(tx, &subscription, subscription.checkpoint)?;
    if lowest != Some(event.seq) {
        return Ok(if selects(tx, &subscription, event.seq)? {
            Deferral::OutOfTurn.into()
        } else {
            Refusal::NothingToTranslate.into()
        });
    }
    let work = works::referred(tx, wait.work)?;
    match alias(tx, now, &subscription, &wait, &work, &event)? {
        Some(seq) => Ok(Step::accepted(Receipt::Event { seq }, &work)),
        None => Ok(Step { digest: Some(work.digest()), ..Refusal::DepthLimit.into() }),
    }
}

/// The alias that this subscription made of an event before. ALIAS-06
fn translated(
    tx: &mut dyn Tx,
    subscription: &Subscription,
    event: Seq,
) -> Result<Option<Seq>, StoreError> {
    let id = identity(&delivery(tx, subscription, event)?);
    let hash = identities::hash(tx, &id)?;
    identities::find(tx, hash, &id)
}

/// An alias is known by its subscription and its source event. ALIAS-06
fn delivery(
    tx: &mut dyn Tx,
    subscription: &Subscription,
    event: Seq,
) -> Result<String, StoreError> {
    Ok(format!("{}/{}", subscription.uid, events::uid(tx, event)?))
}

fn selects(tx: &mut dyn Tx, subscription: &Subscription, event: Seq) -> Result<bool, StoreError> {
    if event <= subscription.checkpoint {
        return Ok(false);
    }
    let before = Seq(event.0.saturating_sub(1));
    Ok(subscriptions::lowest_selected(tx, subscription, before)? == Some(event))
}

/// Accepts one alias and moves the checkpoint; `None` if its chain is too long, and the checkpoint
/// moves all the same. It carries no payload but a reference. ALIAS-07 ALIAS-10
fn alias(
    tx: &mut dyn Tx,
    now: Millis,
    subscription: &Subscription,
    wait: &Wait,
    work: &Work,
    source: &Place,
) -> Result<Option<Seq>, StoreError> {
    let Some(key) = waits::first_key(tx, wait.id)? else {
        return Err(StoreError::corrupt(format!("wait {} subscribes and has no key", wait.id)));
    };
    let origin = events::uid(tx, source.seq)?;
    let role = format!("{}/{origin}", Derived::Alias.word());
    let uid = derived_uuid(now, subscription.uid, &role, 0);
    let delivery = delivery(tx, subscription, source.seq)?;
    let made = Made {
        key: Some(key),
        target: Some(work.id),
        wait: Some(wait.id),
        payload: Some(format!(r#"{{"event":"{origin}"}}"#)),
        ..Made::new(uid, delivery, Type::Of(source.event_type), work.scope)
    };
    let accepted = accept_derived(tx, now, Derived::Alias, source.seq, &made, concerning(wait))?;
    if let Some(seq) = accepted {
        unrouted::insert(tx, seq, work.scope, Some(key), Some(work.id), None)?;
    }
    subscriptions::advance(tx, subscription.id, source.seq)?;
    Ok(accepted)
}

#[cfg(test)]
mod tests;
