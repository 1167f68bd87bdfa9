//! What a handler of the world decides about an event, and the proposal that says so.

use abide::domain::{Decision, Key, Proposal, ProposedWork};
use abide::law::routing::Snapshot;
use abide_model::index::EventIx;
use abide_model::worlds::{self, Does, World};

use super::intents::control;
use crate::binding::Binding;
use crate::names::{key, work_uid};

/// What an evaluation proposes that read this: the decision of the world's handler under what is current. A Work is
/// proposed only where the event resolves to none. ROUTE-08 ROUTE-16
#[must_use]
pub fn evaluated(
    world: &World,
    binding: &Binding,
    event: EventIx,
    snapshot: &Snapshot,
) -> Proposal {
    let of = world.decision(event, binding.configuration());
    let route = (of.does != Does::Decline).then_some("route");
    let resolved = snapshot.work.as_ref().and_then(|work| binding.work_of(work.id));
    let reopen = resolved.and_then(|work| of.successor_of(work)).map(work_uid);
    Proposal { reopen, ..snapshot.decide(route, decision(world, of, snapshot)) }
}

fn decision(world: &World, of: worlds::Decision, snapshot: &Snapshot) -> Decision {
    let attach: Vec<Key> = of.attaches.iter().map(|of| key(world, *of)).collect();
    match of.does {
        Does::Decline => Decision::Decline,
        Does::Drop => Decision::Drop,
        Does::Close => Decision::Close,
        Does::Update => Decision::Update { attach, control: control(of.control) },
        Does::Work => {
            let kind = world.kind(of.kind);
            let create = of
                .proposes
                .filter(|_| snapshot.work.is_none())
                .map(|_| ProposedWork { standing: kind.standing, ..snapshot.fresh(kind.name) });
            Decision::Work { attach, create, control: control(of.control) }
        }
    }
}

/// What was evaluated; for an event nobody evaluated, a proposal the answer does not look at.
pub(super) fn proposal(binding: &Binding, event: EventIx) -> Proposal {
    binding.proposal(event).cloned().unwrap_or(Proposal {
        event: binding.event(event),
        resolved: None,
        generation: binding.generation(),
        route: None,
        decision: Decision::Decline,
        reopen: None,
    })
}
