//! What is kept: deliveries, and the requests of operators.

use abide::command::Command;
use abide::domain::{CausalLimits, IngressId, NewEvent, ProposedWork, Request, WorkUid};
use abide_model::index::DeliveryIx;
use abide_model::worlds::{Ask, World};

use super::ticks;
use crate::binding::Binding;
use crate::names::{self, event_uid, key, work_uid};

/// Every delivery has a body, so that bodies can be told apart and known again. OURS-17
pub(super) fn new_event(world: &World, binding: &Binding, ix: DeliveryIx) -> NewEvent {
    let delivery = world.delivery(ix);
    NewEvent {
        uid: event_uid(ix),
        id: IngressId { source: names::source(delivery), delivery: delivery.identity.to_owned() },
        event_type: world.types[usize::from(delivery.kind)].to_owned(),
        subject: None,
        occurred_at: None,
        scope: names::scope(world, delivery.scope),
        key: delivery.key.map(|of| key(world, of)),
        target: delivery.target.map(|work| binding.work(work)),
        limits: limits(world),
        payload: Some(format!(r#"{{"body":{}}}"#, delivery.body)),
        suspect_within: delivery.signs.map(|_| ticks(world.suspect_window)),
    }
}

/// An operator's request under the identity the world gives it.
pub(super) fn request(world: &World, by: DeliveryIx) -> Request {
    let id = world.delivery(by).identity.to_owned();
    Request { uid: event_uid(by), id, limits: limits(world) }
}

/// Work that is made by hand.
pub(super) fn create_work(world: &World, binding: &Binding, by: DeliveryIx) -> Command {
    let delivery = world.delivery(by);
    let (parent, authorised) = match delivery.asks {
        Some(Ask::Create { parent, authorised }) => (parent, authorised),
        Some(
            Ask::Replay(_)
            | Ask::Reopen(_)
            | Ask::Release(_)
            | Ask::Retry(_)
            | Ask::Interrupt(_)
            | Ask::ReleaseRestore,
        )
        | None => (None, false),
    };
    let kind = world.kind(delivery.decides.kind);
    Command::CreateWork {
        request: request(world, by),
        scope: names::scope(world, delivery.scope),
        create: ProposedWork {
            uid: proposed_uid(world, by),
            kind: kind.name.to_owned(),
            standing: kind.standing,
        },
        key: delivery.key.map(|of| key(world, of)),
        parent: parent.map(|work| binding.work(work)),
        authorised,
        data: None,
    }
}

/// The edge id of the Work a request asks for.
pub(super) fn proposed_uid(world: &World, by: DeliveryIx) -> WorkUid {
    world.delivery(by).decides.proposes.map_or_else(WorkUid::new, work_uid)
}

fn limits(world: &World) -> CausalLimits {
    CausalLimits { max_depth: u32::from(world.depth_max) }
}
