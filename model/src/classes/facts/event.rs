//! The guard facts of an event: what it is, where it resolves to, and what its handler and route want.

use crate::index::{DeliveryIx, EventIx, WaitIx, WorkIx, below};
use crate::outcome::RouteMark;
use crate::state::{
    Facts, Fallback, Input, IntentKind, IntentStatus, Message, Proposal, WorkStatus,
};
use crate::worlds::{Control, ControlPolicy, Decision, Does, Origin, World};

/// The guard facts of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventFacts {
    /// Accepted already.
    pub accepted: bool,
    /// Its mark.
    pub mark: RouteMark,
    /// Its proposal.
    pub proposal: Proposal,
    /// Which kind of event it is: a delivery, a timeout or a continuation.
    pub origin: u8,
    /// Its target or the owner of its key lies in its own scope, in another one, or there is none.
    pub resolves: u8,
    /// A lower unrouted event resolves to the same Work.
    pub out_of_turn: bool,
    /// It matches the active wait of its Work.
    pub matches: bool,
    /// What its handler decides.
    pub decides: Option<Does>,
    /// The decision would reopen ended Work.
    pub reopens: bool,
    /// The decision has keys to attach: free ones (1), another Work's (2), both (3).
    pub attaches: u8,
    /// The decision names a kind that its Work is not of.
    pub other_kind: bool,
    /// An execution of the Work that owns its key, or that waits for it, published it.
    pub published: bool,
    /// Its resource has a newer generation than its key.
    pub mapped: bool,
    /// Its key names a generation itself.
    pub generation: bool,
    /// It came before with another body, or a body of its sender did: within the window (2) or before it (3).
    pub repeated: u8,
    /// What it derives would be deeper than its root allows.
    pub deepest: bool,
    /// The configuration was replaced before.
    pub reloaded: bool,
    /// An operator dropped it, or it is suspect.
    pub silenced: bool,
    /// It is translated for the wait in question, which selects it (2) or does not (1).
    pub translated: u8,
    /// It is the retry of the attempt whose backoff stands.
    pub retries: bool,
    /// The control its route wants of the running attempt of its Work, which has it (0), or has not, with no fallback (1), to
    /// queue (2) or to drop (3).
    pub policy: Option<(ControlPolicy, u8)>,
    /// What stands in if that control fails.
    pub on_error: Fallback,
    /// Its intent.
    pub intent: IntentKind,
    /// What became of that.
    pub intent_status: IntentStatus,
    /// It was committed for an earlier attempt than the last.
    pub of_another: bool,
    /// Where its message is, if that is known.
    pub message: Message,
    /// It is pending input.
    pub pending: bool,
}

/// What a wait's subscription has to do with a source event.
pub(in crate::classes) fn source_facts(
    world: &World,
    state: &dyn Facts,
    wait: WaitIx,
    source: EventIx,
) -> EventFacts {
    let alias = world.alias_of(wait, source).is_some_and(|alias| state.is_accepted(alias));
    let own = state.about(world, source).publisher == Some(world.wait(wait).work);
    EventFacts {
        translated: u8::from(alias) + 2 * u8::from(state.selects(world, wait, source)),
        published: own,
        ..event_facts(world, state, source)
    }
}

pub(in crate::classes) fn event_facts(world: &World, state: &dyn Facts, ix: EventIx) -> EventFacts {
    let event = state.event(ix);
    let work = state.resolves_to(world, ix);
    let decision = world.decision(ix, state.current().configuration);
    let key = event.key.key().or(world.about(ix).key);
    let lower = |other: EventIx| {
        state.event(other).seq < event.seq
            && state.is_unrouted(other)
            && state.resolves_to(world, other) == work
    };
    let wait = work.and_then(|work| state.active_wait(world, work));
    EventFacts {
        accepted: event.seq > 0,
        mark: event.mark,
        proposal: event.proposal,
        origin: match world.origin(ix) {
            Origin::Delivery(_) => 0,
            Origin::Timeout(_) => 1,
            Origin::Continuation(_) => 2,
            Origin::Alias(..) => 3,
            Origin::Ended(..) => 4,
            Origin::Created(_) => 5,
            Origin::Retry(..) => 6,
        },
        resolves: match (state.speaks_of(world, ix), work) {
            (None, _) => 0,
            (Some(_), Some(_)) => 1,
            (Some(_), None) => 2,
        },
        out_of_turn: work.is_some() && below(world.slots()).map(EventIx).any(lower),
        matches: wait.is_some_and(|wait| state.matches(world, wait, ix)),
        decides: Some(decision.does),
        reopens: work.is_some_and(|work| decision.successor_of(work).is_some()),
        attaches: attaches(world, state, &decision, work),
        other_kind: work.is_some_and(|work| state.work(work).kind != decision.kind)
            && matches!(decision.does, Does::Update | Does::Work),
        published: published(world, state, ix),
        mapped: key.is_some_and(|key| state.last_generation(world, world.resource(key)) != key),
        generation: key.is_some_and(|key| world.resource(key) != key),
        repeated: repeated(world, state, ix),
        deepest: event.depth >= world.depth_max,
        reloaded: state.current().generation > 0,
        silenced: state.silenced(ix),
        translated: 0,
        retries: match (world.origin(ix), work) {
            (Origin::Retry(_, attempt), Some(work)) => state.work(work).backoff == attempt,
            (_, _) => false,
        },
        policy: work.and_then(|work| policy_facts(world, state, work, &decision.control)),
        on_error: match event.intent.kind {
            IntentKind::None => decision.control.on_error,
            IntentKind::Inject | IntentKind::Interrupt => event.intent.on_error,
        },
        intent: event.intent.kind,
        intent_status: event.intent.status,
        of_another: event
            .work
            .work()
            .is_some_and(|work| state.work(work).attempt.number != event.intent.attempt),
        message: event.intent.message,
        pending: event.input == Input::Pending,
    }
}

fn attaches(world: &World, state: &dyn Facts, decision: &Decision, work: Option<WorkIx>) -> u8 {
    let kinds = decision.attaches.iter().map(|key| match state.owner(state.newest(world, *key)) {
        None => 1,
        Some(owner) if Some(owner) == work => 0,
        Some(_) => 2,
    });
    kinds.fold(0, |all, kind| all | kind)
}

fn published(world: &World, state: &dyn Facts, event: EventIx) -> bool {
    state.is_accepted(event) && state.about(world, event).publisher.is_some()
}

fn repeated(world: &World, state: &dyn Facts, event: EventIx) -> u8 {
    let Origin::Delivery(delivery) = world.origin(event) else {
        return 0;
    };
    let def = world.delivery(delivery);
    let others = || {
        below(world.deliveries.len())
            .map(DeliveryIx)
            .filter(|other| *other != delivery && state.is_accepted((*other).into()))
    };
    let same_identity = |other: &DeliveryIx| world.delivery(*other).identity == def.identity;
    let same_body = |other: &DeliveryIx| {
        let sent = world.delivery(*other);
        def.signs.is_some() && sent.signs == def.signs && sent.body == def.body
    };
    let within = |other: DeliveryIx| state.event(other.into()).suspect > 0;
    match others().find(same_identity) {
        Some(original) if world.delivery(original).body != def.body => 1,
        Some(_) => 0,
        None if others().filter(same_body).any(within) => 2,
        None if others().any(|other| same_body(&other)) => 3,
        None => 0,
    }
}

/// What a route wants of a running attempt, and what stands in if it lacks that.
fn policy_facts(
    world: &World,
    state: &dyn Facts,
    work: WorkIx,
    control: &Control,
) -> Option<(ControlPolicy, u8)> {
    let queues = *control == Control::QUEUE;
    if queues || state.work(work).status != WorkStatus::Running {
        return None;
    }
    let lacks = match control.fallback {
        _ if state.supports(world, work, control.policy.needs()) => 0,
        Fallback::None => 1,
        Fallback::Queue => 2,
        Fallback::Drop => 3,
    };
    Some((control.policy, lacks))
}
