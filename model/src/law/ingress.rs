//! Acceptance: what a sender offers becomes a numbered, immutable event, or is refused.

use crate::index::{DeliveryIx, EventIx, below};
use crate::law::Law;
use crate::mutants::Mutant;
use crate::outcome::{Outcome, Receipt, Refusal};
use crate::state::{Event, Facts};
use crate::worlds::Delivery;

/// Keeps a delivery and numbers it; a known identity answers the original. INGRESS-01 to INGRESS-11
pub(super) fn accept(law: &Law, state: &mut impl Facts, delivery: DeliveryIx) -> Outcome {
    // The identity comes before anything the second envelope says. INGRESS-05
    if let Some(original) = known(law, state, delivery)
        && !law.broken(Mutant::DuplicateRenumbers)
    {
        return Outcome::Duplicate(Receipt::Sequence(state.event(original).seq));
    }
    let def = law.world.delivery(delivery);
    if def.core && !law.broken(Mutant::CoreTypeUnchecked) {
        return Refusal::CoreType.into();
    }
    if let Some(refusal) = misdirected(law, state, def) {
        return refusal.into();
    }
    let seq = state.latest() + 1;
    let event = EventIx::from(delivery);
    *state.event_mut(event) = Event { seq, root: event.into(), ..Event::default() };
    Receipt::Sequence(seq).into()
}

fn known(law: &Law, state: &impl Facts, delivery: DeliveryIx) -> Option<EventIx> {
    let identity = law.world.delivery(delivery).identity;
    below(law.world.deliveries.len())
        .map(DeliveryIx)
        .filter(|other| law.world.delivery(*other).identity == identity)
        .map(EventIx::from)
        .find(|event| state.is_accepted(*event))
}

/// Ownership never moves, so what holds of target, key and scope here still holds at routing. INGRESS-10 INGRESS-11
fn misdirected(law: &Law, state: &impl Facts, def: &Delivery) -> Option<Refusal> {
    let owner = def.key.and_then(|key| state.owner(key));
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
    let contradicts = def.key.is_some() && owner != Some(target);
    (contradicts && !law.broken(Mutant::ContradictionUnchecked))
        .then_some(Refusal::ContradictoryTarget)
}
