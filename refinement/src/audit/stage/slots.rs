//! Where an event stands on a stage, and which slot of the world that is: one [`At`] for each origin of the model.

use abide_model::index::{DeliveryIx, EventIx, WaitIx, WorkIx};
use abide_model::worlds::{Origin, World};

/// Where an event stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::audit) enum At {
    Delivery(u8),
    Timeout(u8),
    Continuation(u8),
    Alias(u8, u8),
    Ended(u8, u8),
    Created(u8),
    Retry(u8, u8),
}

impl At {
    /// The delivery that stands here; the first where none does.
    pub(in crate::audit) fn delivery(self) -> DeliveryIx {
        match self {
            Self::Delivery(delivery) => DeliveryIx(delivery),
            Self::Timeout(_)
            | Self::Continuation(_)
            | Self::Alias(..)
            | Self::Ended(..)
            | Self::Created(_)
            | Self::Retry(..) => DeliveryIx(0),
        }
    }
}

/// The slot of a place, if the world has one.
pub(super) fn slot(world: &World, at: At) -> Option<EventIx> {
    match at {
        At::Delivery(delivery) => Some(EventIx(delivery)),
        At::Timeout(wait) => Some(world.timeout_of(WaitIx(wait))),
        At::Continuation(wait) => Some(world.continuation_of(WaitIx(wait))),
        At::Alias(wait, delivery) => world.alias_of(WaitIx(wait), EventIx(delivery)),
        At::Ended(work, attempt) => world.ended_of(WorkIx(work), attempt),
        At::Created(work) => world.created_of(WorkIx(work)),
        At::Retry(work, attempt) => world.retry_of(WorkIx(work), attempt),
    }
}

/// Which place a slot is, of those that only a step may fill.
pub(in crate::audit) fn derived(world: &World, ix: EventIx) -> At {
    match world.origin(ix) {
        Origin::Delivery(DeliveryIx(delivery)) => At::Delivery(delivery),
        Origin::Timeout(wait) => At::Timeout(wait.0),
        Origin::Continuation(wait) => At::Continuation(wait.0),
        Origin::Alias(wait, source) => At::Alias(wait.0, source.0),
        Origin::Ended(work, attempt) => At::Ended(work.0, attempt),
        Origin::Created(work) => At::Created(work.0),
        Origin::Retry(work, attempt) => At::Retry(work.0, attempt),
    }
}
