//! Acceptance: what a sender offers becomes a numbered, immutable event, or is refused; what an operator asks for becomes
//! one as well.

use crate::index::{DeliveryIx, EventIx, Maybe, below};
use crate::law::{Law, causality, mark};
use crate::mutants::Mutant;
use crate::outcome::{Outcome, Receipt, Refusal, RouteMark};
use crate::state::{Event, Facts, Flag, REPLAY_REJECTED};
use crate::worlds::Delivery;

/// Keeps a delivery and numbers it; a known identity answers the original. INGRESS-01 to INGRESS-11, OURS-17
pub(super) fn accept(law: &Law, state: &mut impl Facts, delivery: DeliveryIx) -> Outcome {
    // The identity comes before anything the second envelope says. INGRESS-05
    if let Some(original) = known(law, state, delivery)
        && !law.broken(Mutant::DuplicateRenumbers)
    {
        note_conflict(law, state, original, delivery);
        return Outcome::Duplicate(Receipt::Sequence(state.event(original).seq));
    }
    let def = law.world.delivery(delivery);
    if def.core && !law.broken(Mutant::CoreTypeUnchecked) {
        return Refusal::CoreType.into();
    }
    let key = newest(law, state, def.key);
    if let Some(refusal) = misdirected(law, state, def, key) {
        return refusal.into();
    }
    let suspect = seen_before(law, state, delivery);
    let seq = accept_root(state, delivery.into(), key);
    if def.signs.is_some() {
        state.event_mut(delivery.into()).suspect = law.world.suspect_window;
    }
    if suspect && !law.broken(Mutant::SuspectStarts) {
        mark(law, state, delivery.into(), RouteMark::ReplaySuspect, None);
    }
    Receipt::Sequence(seq).into()
}

/// An event of its own root, unrouted. CAUSE-01
pub(super) fn accept_root(state: &mut impl Facts, event: EventIx, key: Option<u8>) -> u8 {
    let seq = state.latest() + 1;
    let key = Maybe::of_key(key);
    *state.event_mut(event) = Event { seq, key, root: event.into(), ..Event::default() };
    seq
}

/// The accepted event of a delivery's identity. INGRESS-05
pub(super) fn known(law: &Law, state: &impl Facts, delivery: DeliveryIx) -> Option<EventIx> {
    let identity = law.world.delivery(delivery).identity;
    below(law.world.deliveries.len())
        .map(DeliveryIx)
        .filter(|other| law.world.delivery(*other).identity == identity)
        .map(EventIx::from)
        .find(|event| state.is_accepted(*event))
}

/// A request asked twice answers what it answered. It is looked at first of all. OURS-23 CAUSE-01
pub(super) fn repeated(law: &Law, state: &impl Facts, request: DeliveryIx) -> Option<Outcome> {
    let original = known(law, state, request)?;
    (!law.broken(Mutant::RequestRepeats))
        .then(|| Outcome::Duplicate(Receipt::Sequence(state.event(original).seq)))
}

/// Another body under a known identity is noted with the original, which stays as it is. OURS-17
fn note_conflict(law: &Law, state: &mut impl Facts, original: EventIx, delivery: DeliveryIx) {
    let same = law.world.delivery(DeliveryIx(original.0)).body == law.world.delivery(delivery).body;
    if same || law.broken(Mutant::ConflictUnmarked) {
        return;
    }
    if law.broken(Mutant::ConflictOverwrites) {
        let key = Maybe::of_key(law.world.delivery(delivery).key);
        state.event_mut(original).key = key;
    }
    state.event_mut(original).conflicting = Flag::Yes;
}

/// The key an event is accepted under. TERM-04
fn newest(law: &Law, state: &impl Facts, key: Option<u8>) -> Option<u8> {
    if law.broken(Mutant::GenerationUnmapped) {
        return key;
    }
    if law.broken(Mutant::NamedGenerationMapped) {
        return key.map(|key| state.last_generation(law.world, key));
    }
    key.map(|key| state.newest(law.world, key))
}

/// A sender that signs bodies only proves nothing by sending one again under a new identity. OURS-17
fn seen_before(law: &Law, state: &impl Facts, delivery: DeliveryIx) -> bool {
    let def = law.world.delivery(delivery);
    let same = |other: DeliveryIx| {
        let sent = law.world.delivery(other);
        let event = state.event(other.into());
        let within = event.suspect > 0 || law.broken(Mutant::SuspectForEver);
        sent.signs == def.signs && sent.body == def.body && event.seq > 0 && within
    };
    def.signs.is_some() && below(law.world.deliveries.len()).map(DeliveryIx).any(same)
}

/// Ownership never moves, so what holds of target, key and scope here still holds at routing. INGRESS-10 INGRESS-11
fn misdirected(law: &Law, state: &impl Facts, def: &Delivery, key: Option<u8>) -> Option<Refusal> {
    let owner = key.and_then(|key| state.owner(key));
    let Some(target) = def.target else {
        let abroad = owner.is_some_and(|owner| state.work(owner).scope != def.scope);
        return abroad.then_some(Refusal::WrongScope);
    };
    if !state.exists(target) {
        return Some(Refusal::UnknownWork);
    }
    if state.work(target).scope != def.scope {
        return Some(Refusal::WrongScope);
    }
    // A key that nobody owns contradicts as well: somebody else might own it before the event routes. INGRESS-10
    let contradicts = key.is_some() && owner != Some(target);
    (contradicts && !law.broken(Mutant::ContradictionUnchecked))
        .then_some(Refusal::ContradictoryTarget)
}

/// Accepts a child of an event that has a mark, to be routed like any other; the original stays as it is. OWN-11 OURS-08
pub(super) fn replay(
    law: &Law,
    state: &mut impl Facts,
    event: EventIx,
    request: DeliveryIx,
) -> Outcome {
    if let Some(answer) = repeated(law, state, request) {
        return answer;
    }
    if !state.is_accepted(event) {
        return Refusal::UnknownEvent.into();
    }
    if law.world.is_cores(event) && !law.broken(Mutant::ReplayOfCore) {
        return Refusal::CoreType.into();
    }
    if state.is_unrouted(event) && !law.broken(Mutant::ReplayUnrouted) {
        return Refusal::NotRouted.into();
    }
    // What is sent on is about the resource, whichever generation its original was accepted under. OURS-08 TERM-04
    let resource = state.event(event).key.key().map(|key| law.world.resource(key));
    let key = newest(law, state, resource);
    let again = EventIx::from(request);
    let seq = if law.broken(Mutant::ReplayIsRoot) {
        Some(accept_root(state, again, key))
    } else {
        causality::accept_derived(law, state, again, Some(event))
    };
    let Some(seq) = seq else {
        state.event_mut(event).rejected |= REPLAY_REJECTED;
        return Refusal::DepthLimit.into();
    };
    state.event_mut(again).key = Maybe::of_key(key);
    state.event_mut(again).repeats = event.into();
    if law.broken(Mutant::ReplayUnmarks) {
        state.event_mut(event).mark = RouteMark::Unrouted;
    }
    Receipt::Sequence(seq).into()
}
