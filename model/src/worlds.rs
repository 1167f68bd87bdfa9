//! Bounded worlds: the only place that knows a bound, a length in ticks or what the surroundings offer.
//!
//! A world is a finite universe (deliveries, keys, Works, waits) and an environment that speaks the truth: it offers a
//! route commit for an unrouted event only with a proposal, the exit of a process only once, and each wait once.
//! Every world exhausts; its counts are pinned in `tests/worlds.rs`.

mod catalogue;
mod environment;

use crate::action::{Kind, Mark};
use crate::index::{DeliveryIx, EventIx, WaitIx, WorkIx, below};

pub use catalogue::*;
pub use environment::offered;

/// Milliseconds of one tick, wherever a trace needs instants.
pub const TICK_MS: u64 = 1_000;

/// One bounded starting point for the checker.
#[derive(Clone, Copy, Debug)]
pub struct World {
    /// Its name, as commands and traces use it.
    pub name: &'static str,
    /// What it isolates, in a sentence.
    pub shows: &'static str,
    /// Scopes, by index.
    pub scopes: &'static [&'static str],
    /// Keys, by index; at most eight.
    pub keys: &'static [&'static str],
    /// Event types, by index.
    pub types: &'static [&'static str],
    /// What senders may offer.
    pub deliveries: &'static [Delivery],
    /// The Works that may come to exist.
    pub works: &'static [WorkDef],
    /// The waits that may be registered.
    pub waits: &'static [WaitDef],
    /// How long a lease lasts, in ticks.
    pub lease: u8,
    /// How many attempts a scope may run.
    pub capacity: usize,
    /// How deep a derived event may be. CAUSE-15
    pub depth_max: u8,
    /// The kinds of action the surroundings offer.
    pub offers: &'static [Kind],
}

/// One delivery of a sender, with what trusted configuration says of it.
#[derive(Clone, Copy, Debug)]
pub struct Delivery {
    /// Its name.
    pub name: &'static str,
    /// The identity `(source, delivery id)`; two deliveries of one identity are one event. INGRESS-05
    pub identity: &'static str,
    /// Index of its type.
    pub kind: u8,
    /// The type belongs to a core family. CAUSE-07
    pub core: bool,
    /// Index of its key.
    pub key: Option<u8>,
    /// The Work it names.
    pub target: Option<WorkIx>,
    /// The scope trusted configuration selected. INGRESS-08
    pub scope: u8,
    /// Whether some route matches it.
    pub routed: bool,
    /// The Work its handler proposes when its key has no owner; stable over re-evaluation. ROUTE-16
    pub proposes: Option<WorkIx>,
    /// From when on the sender has it.
    pub when: When,
}

/// One Work of the universe.
#[derive(Clone, Copy, Debug)]
pub struct WorkDef {
    /// Its name.
    pub name: &'static str,
    /// What the binding pinned with its attempts can do.
    pub binding: Binding,
}

/// What an executor binding can do.
#[derive(Clone, Copy, Debug)]
pub struct Binding {
    /// Its name.
    pub name: &'static str,
    /// A parked attempt can be resumed. WAKE-16
    pub resumes: bool,
    /// No process of a segment proceeds before the pin. ADOPT-07
    pub holds: bool,
}

/// One wait of the universe.
#[derive(Clone, Copy, Debug)]
pub struct WaitDef {
    /// Its name.
    pub name: &'static str,
    /// The Work whose attempts may register it.
    pub work: WorkIx,
    /// Indices of its keys.
    pub keys: &'static [u8],
    /// Indices of its types; empty passes any. WAIT-03
    pub types: &'static [u8],
    /// Ticks until its timeout.
    pub timeout: Option<u8>,
    /// The watermarks a registration may declare.
    pub after: &'static [Mark],
}

/// From when on an action of the surroundings is possible.
#[derive(Clone, Copy, Debug)]
pub enum When {
    /// From the beginning.
    Always,
    /// Once the Work exists.
    Exists(WorkIx),
    /// Once an attempt of the Work was claimed.
    Started(WorkIx),
    /// Once the wait was registered.
    Registered(WaitIx),
}

/// What an event says of itself: the facts that resolve it.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// Its key.
    pub key: Option<u8>,
    /// The Work it names.
    pub target: Option<WorkIx>,
    /// The scope selected for it; none for derived events, which name their Work.
    pub scope: Option<u8>,
}

/// Which event an event slot stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A delivery of a sender.
    Delivery(DeliveryIx),
    /// The timeout of a wait.
    Timeout(WaitIx),
    /// `core.wait.woken` of a wait.
    Continuation(WaitIx),
}

impl World {
    /// Event slots: the deliveries, then a timeout and a continuation for each wait.
    pub const fn slots(&self) -> usize {
        self.deliveries.len() + 2 * self.waits.len()
    }

    /// One delivery.
    pub fn delivery(&self, delivery: DeliveryIx) -> &Delivery {
        &self.deliveries[delivery.at()]
    }

    /// One wait.
    pub fn wait(&self, wait: WaitIx) -> &WaitDef {
        &self.waits[wait.at()]
    }

    /// The binding that attempts of a Work are pinned under.
    pub fn binding(&self, work: WorkIx) -> &Binding {
        &self.works[work.at()].binding
    }

    /// The slot of a wait's timeout event.
    pub fn timeout_of(&self, wait: WaitIx) -> EventIx {
        EventIx(self.first_derived() + 2 * wait.0)
    }

    /// The slot of the event that continues a wait's wake.
    pub fn continuation_of(&self, wait: WaitIx) -> EventIx {
        EventIx(self.first_derived() + 2 * wait.0 + 1)
    }

    fn first_derived(&self) -> u8 {
        below(self.deliveries.len()).end
    }

    /// Which event a slot stands for.
    pub fn origin(&self, event: EventIx) -> Origin {
        match event.0.checked_sub(self.first_derived()) {
            None => Origin::Delivery(DeliveryIx(event.0)),
            Some(derived) if derived % 2 == 0 => Origin::Timeout(WaitIx(derived / 2)),
            Some(derived) => Origin::Continuation(WaitIx(derived / 2)),
        }
    }

    /// What an event says of itself.
    pub fn about(&self, event: EventIx) -> About {
        match self.origin(event) {
            Origin::Delivery(delivery) => {
                let delivery = self.delivery(delivery);
                About { key: delivery.key, target: delivery.target, scope: Some(delivery.scope) }
            }
            Origin::Timeout(wait) => {
                About { key: None, target: Some(self.wait(wait).work), scope: None }
            }
            Origin::Continuation(_) => About { key: None, target: None, scope: None },
        }
    }

    /// Whether the key and type of an event satisfy a wait. WAIT-03 WAIT-05
    pub fn selects(&self, wait: &WaitDef, event: EventIx) -> bool {
        match self.origin(event) {
            Origin::Delivery(delivery) => {
                let delivery = self.delivery(delivery);
                delivery.key.is_some_and(|key| wait.keys.contains(&key))
                    && (wait.types.is_empty() || wait.types.contains(&delivery.kind))
            }
            Origin::Timeout(_) | Origin::Continuation(_) => false,
        }
    }

    /// Whether some route matches an event. Core's own events have none.
    pub fn routed(&self, event: EventIx) -> bool {
        match self.origin(event) {
            Origin::Delivery(delivery) => self.delivery(delivery).routed,
            Origin::Timeout(_) | Origin::Continuation(_) => false,
        }
    }

    /// The Work an event's handler proposes.
    pub fn proposes(&self, event: EventIx) -> Option<WorkIx> {
        match self.origin(event) {
            Origin::Delivery(delivery) => self.delivery(delivery).proposes,
            Origin::Timeout(_) | Origin::Continuation(_) => None,
        }
    }

    /// The name of an event.
    pub fn event_name(&self, event: EventIx) -> String {
        match self.origin(event) {
            Origin::Delivery(delivery) => self.delivery(delivery).name.to_string(),
            Origin::Timeout(wait) => format!("timeout/{}", self.wait(wait).name),
            Origin::Continuation(wait) => format!("woken/{}", self.wait(wait).name),
        }
    }

    /// The name of a Work.
    pub fn work_name(&self, work: WorkIx) -> String {
        self.works[work.at()].name.to_string()
    }

    /// Whether the surroundings offer actions of this kind.
    pub fn offers(&self, kind: Kind) -> bool {
        self.offers.contains(&kind)
    }
}

/// Code that runs over a world whatever the size of its state.
pub trait Visit {
    /// What it yields.
    type Out;

    /// Runs over one world.
    fn visit<const WORKS: usize, const EVENTS: usize, const WAITS: usize>(
        self,
        world: &'static World,
    ) -> Self::Out;
}

/// The world of that name.
pub fn named(name: &str) -> Option<&'static World> {
    ALL.iter().copied().find(|world| world.name == name)
}
