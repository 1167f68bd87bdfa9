//! Bounded worlds: the only place that knows a bound, a length in ticks or what the surroundings offer.
//!
//! A world is a finite universe (deliveries, keys, Works, waits) and an environment that speaks the truth: it offers a
//! route commit for an unrouted event only with a proposal, the exit of a process only once, and each wait once.
//! Every world exhausts; its counts are pinned in `tests/worlds.rs`.

mod aliases;
mod attempts;
mod catalogue;
mod controls;
mod definition;
mod endings;
mod environment;
mod failing;
mod parts;
mod recovering;
mod routing;
mod waiting;

use crate::action::Kind;
use crate::index::{DeliveryIx, EventIx, WaitIx, WorkIx, below};

pub use catalogue::*;
pub use definition::*;
pub use environment::offered;

/// Milliseconds of one tick, wherever a trace needs instants.
pub const TICK_MS: u64 = 1_000;

impl World {
    /// Event slots: the deliveries, then a timeout and a continuation for each wait, then the aliases of each wait, then
    /// the ends of turns, then the created events of successors, then the retries of failed attempts.
    pub const fn slots(&self) -> usize {
        self.first_retry() + self.retries.len()
    }

    const fn first_retry(&self) -> usize {
        self.first_turn() + self.turns.len() + self.successors.len()
    }

    const fn first_alias(&self) -> usize {
        self.deliveries.len() + 2 * self.waits.len()
    }

    const fn first_turn(&self) -> usize {
        self.aliases_before(self.waits.len())
    }

    const fn aliases_before(&self, wait: usize) -> usize {
        let (mut slot, mut before) = (self.first_alias(), 0);
        while before < wait {
            slot += self.waits[before].aliases();
            before += 1;
        }
        slot
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

    /// The controls that an attempt of a Work supports, as pinned with it. BIND-10
    pub fn controls(&self, work: WorkIx, generation: u8) -> Controls {
        let def = &self.works[work.at()];
        def.reloaded.filter(|_| generation > 0).unwrap_or(def.binding.controls)
    }

    /// What a kind of Work is.
    pub fn kind(&self, kind: u8) -> &WorkKind {
        &self.kinds[usize::from(kind)]
    }

    /// The slot of a wait's timeout event.
    pub fn timeout_of(&self, wait: WaitIx) -> EventIx {
        EventIx(self.first_derived() + 2 * wait.0)
    }

    /// The slot of the event that continues a wait's wake.
    pub fn continuation_of(&self, wait: WaitIx) -> EventIx {
        EventIx(self.first_derived() + 2 * wait.0 + 1)
    }

    /// The slot of the alias that a wait's subscription makes of an event, if the event may ever be of its source.
    pub fn alias_of(&self, wait: WaitIx, source: EventIx) -> Option<EventIx> {
        let nth = self.sources(wait).position(|event| event == source)?;
        Some(slot(self.aliases_before(wait.at()) + nth))
    }

    /// Every event that may ever be of a wait's source.
    pub fn sources(&self, wait: WaitIx) -> impl Iterator<Item = EventIx> {
        let events = self.wait(wait).source.map_or(&[][..], |source| source.events);
        events.iter().map(|event| self.event_of(*event))
    }

    /// The slot of the end of a turn, if it may be published.
    pub fn ended_of(&self, work: WorkIx, attempt: u8) -> Option<EventIx> {
        let nth = self.turns.iter().position(|turn| *turn == (work, attempt))?;
        Some(slot(self.first_turn() + nth))
    }

    /// The slot of the created event of a successor that a route makes.
    pub fn created_of(&self, work: WorkIx) -> Option<EventIx> {
        let nth = self.successors.iter().position(|successor| *successor == work)?;
        Some(slot(self.first_turn() + self.turns.len() + nth))
    }

    /// The slot of the retry of a failed attempt, if its failure may lead to one. RETRY-19
    pub fn retry_of(&self, work: WorkIx, attempt: u8) -> Option<EventIx> {
        let nth = self.retries.iter().position(|retry| *retry == (work, attempt))?;
        Some(slot(self.first_retry() + nth))
    }

    /// What a failure of an attempt leads to, as pinned with it: a configuration is loaded once, so its generation says
    /// which it was. BIND-10
    pub fn policy(&self, kind: u8, generation: u8) -> &Policy {
        let kind = self.kind(kind);
        kind.reloaded.as_ref().filter(|_| generation > 0).unwrap_or(&kind.retry)
    }

    /// The slot of an event that this world's definition names.
    ///
    /// # Panics
    /// If the definition names what it does not have.
    pub fn event_of(&self, event: Of) -> EventIx {
        match event {
            Of::Delivery(delivery) => EventIx(delivery),
            Of::Ended(work, attempt) => {
                self.ended_of(WorkIx(work), attempt).expect("a world lists the turns it names")
            }
            Of::Alias(wait, delivery) => self
                .alias_of(WaitIx(wait), EventIx(delivery))
                .expect("a world lists the sources it names"),
            Of::Retry(work, attempt) => {
                self.retry_of(WorkIx(work), attempt).expect("a world lists the retries it names")
            }
        }
    }

    fn first_derived(&self) -> u8 {
        below(self.deliveries.len()).end
    }

    /// Which event a slot stands for.
    pub fn origin(&self, event: EventIx) -> Origin {
        let at = event.at();
        if at < self.deliveries.len() {
            return Origin::Delivery(DeliveryIx(event.0));
        }
        if at < self.first_alias() {
            let derived = event.0 - self.first_derived();
            let wait = WaitIx(derived / 2);
            return if derived.is_multiple_of(2) {
                Origin::Timeout(wait)
            } else {
                Origin::Continuation(wait)
            };
        }
        match (at - self.first_alias()).checked_sub(self.first_turn() - self.first_alias()) {
            None => self.alias_at(event),
            Some(nth) => match self.turns.get(nth) {
                Some((work, attempt)) => Origin::Ended(*work, *attempt),
                None => self.made_at(nth - self.turns.len()),
            },
        }
    }

    fn made_at(&self, nth: usize) -> Origin {
        match self.successors.get(nth) {
            Some(successor) => Origin::Created(*successor),
            None => {
                let (work, attempt) = self.retries[nth - self.successors.len()];
                Origin::Retry(work, attempt)
            }
        }
    }

    fn alias_at(&self, event: EventIx) -> Origin {
        let waits = below(self.waits.len()).map(WaitIx);
        let mut pairs = waits.flat_map(|wait| self.sources(wait).map(move |source| (wait, source)));
        let (wait, source) =
            pairs.nth(event.at() - self.first_alias()).expect("the slot of an alias is asked for");
        Origin::Alias(wait, source)
    }

    /// Whether an event is core's own: what core derives, and what an action accepts and marks at once.
    pub fn is_cores(&self, event: EventIx) -> bool {
        let Some(delivery) = self.origin(event).delivery() else {
            return true;
        };
        match self.delivery(delivery).asks {
            Some(
                Ask::Reopen(_)
                | Ask::Release(_)
                | Ask::Retry(_)
                | Ask::Interrupt(_)
                | Ask::ReleaseRestore
                | Ask::Create { .. },
            ) => true,
            Some(Ask::Replay(_)) | None => false,
        }
    }

    /// What an event says of itself, before its key is mapped to its newest generation.
    pub fn about(&self, event: EventIx) -> About {
        let nothing = About { key: None, target: None, scope: None, kind: None, publisher: None };
        match self.origin(event) {
            Origin::Delivery(delivery) => {
                let delivery = self.delivery(delivery);
                let scope = Some(delivery.scope);
                match delivery.asks {
                    None => About {
                        key: delivery.key,
                        target: delivery.target,
                        scope,
                        kind: Some(delivery.kind),
                        publisher: None,
                    },
                    // What a replay says is its original's; the other requests resolve to nothing.
                    Some(_) => About { scope, ..nothing },
                }
            }
            Origin::Timeout(wait) => About { target: Some(self.wait(wait).work), ..nothing },
            Origin::Alias(wait, source) => About {
                target: Some(self.wait(wait).work),
                kind: self.about(source).kind,
                ..nothing
            },
            Origin::Ended(work, _) => {
                About { kind: self.turn_type(), publisher: Some(work), ..nothing }
            }
            Origin::Retry(work, _) => About { target: Some(work), ..nothing },
            Origin::Continuation(_) | Origin::Created(_) => nothing,
        }
    }

    /// The type of the ends of turns, if this world names it.
    fn turn_type(&self) -> Option<u8> {
        below(self.types.len()).find(|kind| self.types[usize::from(*kind)] == TURN_ENDED)
    }

    /// What the handler of an event decides under a configuration. Core's own events have no route.
    pub fn decision(&self, event: EventIx, configuration: u8) -> Decision {
        self.origin(event).delivery().map_or(Decision::DECLINES, |delivery| {
            let delivery = self.delivery(delivery);
            let reloaded = delivery.reloaded.filter(|_| configuration > 0);
            reloaded.unwrap_or(delivery.decides)
        })
    }

    /// The next generation of a key. TERM-03
    pub fn next_generation(&self, key: u8) -> Option<u8> {
        self.generations.iter().find(|(known, _)| *known == key).map(|(_, next)| *next)
    }

    /// The key without its generation: what the generations of a key have in common.
    pub fn resource(&self, key: u8) -> u8 {
        let before = self.generations.iter().find(|(_, next)| *next == key);
        before.map_or(key, |(before, _)| self.resource(*before))
    }

    /// The scope and those it lies in, from the inside out.
    pub fn upwards(&self, scope: u8) -> impl Iterator<Item = u8> {
        std::iter::successors(Some(scope), |scope| {
            self.inside.iter().find(|(inner, _)| inner == scope).map(|(_, outer)| *outer)
        })
    }

    /// Whether a scope is another one or lies in it.
    pub fn lies_in(&self, scope: u8, outer: u8) -> bool {
        self.upwards(scope).any(|scope| scope == outer)
    }

    /// Whether a scope may read the events of another. BIND-05
    pub fn may_read(&self, scope: u8, other: u8) -> bool {
        scope == other || self.reads.contains(&(scope, other))
    }

    /// The name of an event.
    pub fn event_name(&self, event: EventIx) -> String {
        match self.origin(event) {
            Origin::Delivery(delivery) => self.delivery(delivery).name.to_string(),
            Origin::Timeout(wait) => format!("timeout/{}", self.wait(wait).name),
            Origin::Continuation(wait) => format!("woken/{}", self.wait(wait).name),
            Origin::Alias(wait, source) => {
                format!("alias/{}/{}", self.wait(wait).name, self.event_name(source))
            }
            Origin::Ended(work, attempt) => format!("ended/{}/{attempt}", self.work_name(work)),
            Origin::Created(work) => format!("created/{}", self.work_name(work)),
            Origin::Retry(work, attempt) => format!("retry/{}/{attempt}", self.work_name(work)),
        }
    }

    /// The name of a Work.
    pub fn work_name(&self, work: WorkIx) -> String {
        self.works[work.at()].name.to_string()
    }

    /// Whether the surroundings offer actions of this kind.
    pub fn offers(&self, kind: Kind) -> bool {
        self.offers.iter().any(|group| group.contains(&kind))
    }
}

fn slot(at: usize) -> EventIx {
    EventIx(u8::try_from(at).expect("a universe has fewer than 255 events"))
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
