//! What no receipt names: events that core derives, and Works that no routed event made.

use abide::domain::MarkKind;
use abide::store::observe::{Observation, SeenEvent};
use abide::store::rejections::Derived;
use abide_model::index::{EventIx, WorkIx};
use abide_model::worlds::{Ask, Origin, World};

use crate::binding::Binding;

/// Binds what the store shows and no receipt names: events that core derives, and Works that no routed event made.
pub fn bind_derived(world: &World, binding: &mut Binding, seen: &Observation) {
    for event in &seen.events {
        if binding.event_of(event.seq).is_none()
            && let Some(slot) = derived_slot(world, binding, seen, event)
        {
            binding.bind_event(slot, event.seq);
        }
        if let (Some(MADE), Some(id)) = (event.mark, event.work)
            && binding.work_of(id).is_none()
            && let Some(work) = binding.event_of(event.seq).and_then(|slot| made_by(world, slot))
        {
            binding.bind_work(work, id);
        }
    }
}

/// The mark of the event that Work was created by.
const MADE: MarkKind = MarkKind::Queued;

/// The slot of an event that core derived, told by what it is about. A replay is bound by its receipt.
fn derived_slot(
    world: &World,
    binding: &Binding,
    seen: &Observation,
    event: &SeenEvent,
) -> Option<EventIx> {
    let wait = || event.wait.and_then(|id| binding.wait_of(id));
    let cause = || event.parent.and_then(|seq| binding.event_of(seq));
    match event.derived? {
        Derived::Timeout => Some(world.timeout_of(wait()?)),
        Derived::Continuation => Some(world.continuation_of(wait()?)),
        Derived::Alias => world.alias_of(wait()?, cause()?),
        Derived::TurnEnded => {
            let by = event.provenance?;
            world.ended_of(binding.work_of(by.work)?, u8::try_from(by.attempt.0).ok()?)
        }
        Derived::Retry => {
            let work = binding.work_of(event.target?)?;
            world.retry_of(work, u8::try_from(event.failed?.0).ok()?)
        }
        // Which Work it makes was decided by the event that came too late, under what is current as it is made.
        Derived::Successor => {
            let made = seen.works.iter().find(|work| Some(work.work) == event.work)?;
            let decision = world.decision(cause()?, binding.configuration());
            world.created_of(decision.successor_of(binding.work_of(made.predecessor?)?)?)
        }
        Derived::Replay => None,
    }
}

/// The Work that is made with this event as its first input, if one is.
fn made_by(world: &World, event: EventIx) -> Option<WorkIx> {
    match world.origin(event) {
        Origin::Created(work) => Some(work),
        Origin::Delivery(delivery) => {
            let delivery = world.delivery(delivery);
            match delivery.asks? {
                Ask::Create { .. } | Ask::Reopen(_) => delivery.decides.proposes,
                Ask::Replay(_)
                | Ask::Release(_)
                | Ask::Retry(_)
                | Ask::Interrupt(_)
                | Ask::ReleaseRestore => None,
            }
        }
        Origin::Timeout(_)
        | Origin::Continuation(_)
        | Origin::Alias(..)
        | Origin::Ended(..)
        | Origin::Retry(..) => None,
    }
}
