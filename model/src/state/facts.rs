//! What a state says, for every size of state: the tables, and what follows from them.

use crate::index::{EventIx, Maybe, WaitIx, WorkIx, below};
use crate::outcome::RouteMark;
use crate::state::{
    AttemptStatus, Current, Event, Flag, Input, Intent, IntentKind, Wait, WaitStatus, Work,
    WorkStatus,
};
use crate::worlds::{About, Origin, Source, WaitDef, World};

/// The sizes of a state may differ from world to world; law and properties see its tables only.
pub trait Facts {
    /// What is current for the whole daemon.
    fn current(&self) -> &Current;
    /// The same, to be changed.
    fn current_mut(&mut self) -> &mut Current;
    /// The Works, by index.
    fn works(&self) -> &[Work];
    /// The events, by index.
    fn events(&self) -> &[Event];
    /// The waits, by index.
    fn waits(&self) -> &[Wait];
    /// The Works, to be changed.
    fn works_mut(&mut self) -> &mut [Work];
    /// The events, to be changed.
    fn events_mut(&mut self) -> &mut [Event];
    /// The waits, to be changed.
    fn waits_mut(&mut self) -> &mut [Wait];

    /// One Work.
    fn work(&self, work: WorkIx) -> &Work {
        &self.works()[work.at()]
    }

    /// One event.
    fn event(&self, event: EventIx) -> &Event {
        &self.events()[event.at()]
    }

    /// One wait.
    fn wait(&self, wait: WaitIx) -> &Wait {
        &self.waits()[wait.at()]
    }

    /// One Work, to be changed.
    fn work_mut(&mut self, work: WorkIx) -> &mut Work {
        &mut self.works_mut()[work.at()]
    }

    /// One event, to be changed.
    fn event_mut(&mut self, event: EventIx) -> &mut Event {
        &mut self.events_mut()[event.at()]
    }

    /// One wait, to be changed.
    fn wait_mut(&mut self, wait: WaitIx) -> &mut Wait {
        &mut self.waits_mut()[wait.at()]
    }

    /// Whether the Work exists.
    fn exists(&self, work: WorkIx) -> bool {
        self.work(work).status != WorkStatus::Absent
    }

    /// Whether the event is accepted.
    fn is_accepted(&self, event: EventIx) -> bool {
        self.event(event).seq > 0
    }

    /// Whether the event is accepted and carries no mark.
    fn is_unrouted(&self, event: EventIx) -> bool {
        self.is_accepted(event) && self.event(event).mark == RouteMark::Unrouted
    }

    /// The latest sequence given, 0 before the first. INGRESS-02
    fn latest(&self) -> u8 {
        self.events().iter().map(|event| event.seq).max().unwrap_or(0)
    }

    /// The owner of a key. OWN-01
    fn owner(&self, key: u8) -> Option<WorkIx> {
        let owner = self.works().iter().position(|work| work.keys & (1 << key) != 0)?;
        below(self.works().len()).nth(owner).map(WorkIx)
    }

    /// What an event says of itself. A replay repeats its original; core's own events say little. OURS-08
    fn about(&self, world: &World, event: EventIx) -> About {
        match self.event(event).repeats.event() {
            Some(original) => About {
                key: self.key_of(world, event),
                publisher: None,
                ..self.about(world, original)
            },
            None => About { key: self.key_of(world, event), ..world.about(event) },
        }
    }

    /// The key of an event: as accepted, or as it would be now. TERM-04
    fn key_of(&self, world: &World, event: EventIx) -> Option<u8> {
        if self.is_accepted(event) {
            return self.event(event).key.key();
        }
        world.about(event).key.map(|key| self.newest(world, key))
    }

    /// The generation that a key stands for: the newest, unless it names its generation itself. TERM-04
    fn newest(&self, world: &World, key: u8) -> u8 {
        if world.resource(key) == key { self.last_generation(world, key) } else { key }
    }

    /// The newest generation of a key's resource: each successor took over the first key of its predecessor. TERM-04
    fn last_generation(&self, world: &World, key: u8) -> u8 {
        let successor = self.owner(key).and_then(|owner| {
            let passed_on = self.work(owner).first_key == Maybe::of_key(Some(key));
            self.successor(owner).filter(|_| passed_on)
        });
        match (successor, world.next_generation(key)) {
            (Some(_), Some(next)) => self.last_generation(world, next),
            (Some(_), None) | (None, _) => key,
        }
    }

    /// The Work that succeeds this one. TERM-03
    fn successor(&self, work: WorkIx) -> Option<WorkIx> {
        below(self.works().len())
            .map(WorkIx)
            .find(|other| self.work(*other).predecessor == work.into())
    }

    /// The Work an event speaks of by its target or by its key, whatever its scope. What an execution of the Work
    /// published is no news to it. ROUTE-23 WAIT-06
    fn speaks_of(&self, world: &World, event: EventIx) -> Option<WorkIx> {
        let about = self.about(world, event);
        let work = about.target.or_else(|| about.key.and_then(|key| self.owner(key)));
        work.filter(|work| about.publisher != Some(*work))
    }

    /// The Work an event resolves to. An owner in another scope is none of its business. OWN-03
    fn resolves_to(&self, world: &World, event: EventIx) -> Option<WorkIx> {
        let work = self.speaks_of(world, event)?;
        let scope = self.scope_of(world, event);
        scope.is_none_or(|scope| scope == self.work(work).scope).then_some(work)
    }

    /// The scope of an event: selected by trusted configuration, or that of the Work whose turn ended; none for what
    /// names its Work. INGRESS-08
    fn scope_of(&self, world: &World, event: EventIx) -> Option<u8> {
        let about = self.about(world, event);
        about.scope.or_else(|| match world.origin(self.original(event)) {
            Origin::Ended(work, _) => Some(self.work(work).scope),
            Origin::Delivery(_)
            | Origin::Timeout(_)
            | Origin::Continuation(_)
            | Origin::Alias(..)
            | Origin::Created(_)
            | Origin::Retry(..) => None,
        })
    }

    /// The event that a replay repeats in the end; any other event itself. OURS-08
    fn original(&self, event: EventIx) -> EventIx {
        self.event(event).repeats.event().map_or(event, |original| self.original(original))
    }

    /// Whether key and type of an event satisfy a wait. WAIT-03 WAIT-05
    fn satisfies(&self, world: &World, def: &WaitDef, event: EventIx) -> bool {
        let about = self.about(world, event);
        let listed = |key| def.keys.iter().any(|listed| self.newest(world, *listed) == key);
        about.key.is_some_and(listed) && def.passes(about.kind)
    }

    /// Whether an event waits to be served: unrouted, or input that nobody claimed. WAIT-15
    fn unserved(&self, event: EventIx) -> bool {
        match self.event(event).mark {
            RouteMark::Unrouted => self.is_accepted(event),
            RouteMark::Queued | RouteMark::Inject | RouteMark::Interrupt => {
                self.event(event).input == Input::Pending
            }
            RouteMark::Woke
            | RouteMark::Unmatched
            | RouteMark::Drop
            | RouteMark::Close
            | RouteMark::Terminal
            | RouteMark::OperatorDrop
            | RouteMark::ReplaySuspect
            | RouteMark::Release
            | RouteMark::Continuation
            | RouteMark::StaleRetry => false,
        }
    }

    /// Whether an accepted event can wake a wait. WAIT-03 WAIT-04 WAIT-05 WAIT-08 WAIT-15 TIMER-06
    fn matches(&self, world: &World, wait: WaitIx, event: EventIx) -> bool {
        self.matches_above(world, wait, event, self.wait(wait).watermark)
    }

    /// The same against a watermark of the caller's choice.
    fn matches_above(&self, world: &World, wait: WaitIx, event: EventIx, watermark: u8) -> bool {
        if event == world.timeout_of(wait) {
            return self.unserved(event);
        }
        let def = world.wait(wait);
        self.unserved(event)
            && self.event(event).seq > watermark
            && self.satisfies(world, def, event)
            && self.resolves_to(world, event) == Some(def.work)
    }

    /// Whether a standing subscription selects an event. How the event was routed does not matter. ALIAS-02 ALIAS-05
    /// ALIAS-11 WAIT-07
    fn selects(&self, world: &World, wait: WaitIx, event: EventIx) -> bool {
        let stands = self.wait(wait).subscribed == Flag::Yes;
        if !stands || self.event(event).seq <= self.wait(wait).checkpoint {
            return false;
        }
        let def = world.wait(wait);
        let about = self.about(world, event);
        let alias = matches!(world.origin(event), Origin::Alias(..));
        about.publisher != Some(def.work)
            && !alias
            && !self.silenced(event)
            && self.of_source(world, wait, event)
    }

    /// Whether nothing may ever come of an event: an operator dropped it, or it is suspect. OURS-07 OURS-17
    fn silenced(&self, event: EventIx) -> bool {
        matches!(self.event(event).mark, RouteMark::OperatorDrop | RouteMark::ReplaySuspect)
    }

    /// Whether an event is of the source a wait names: its key in any generation, its scope, its types. ALIAS-02
    fn of_source(&self, world: &World, wait: WaitIx, event: EventIx) -> bool {
        let def = world.wait(wait);
        let about = self.about(world, event);
        let same_key = |key: u8, source: &Source| world.resource(key) == world.resource(source.key);
        def.source.is_some_and(|source| {
            about.key.is_some_and(|key| same_key(key, &source))
                && self.scope_of(world, event) == Some(source.scope)
                && def.passes(about.kind)
        })
    }

    /// The last subscription of the same Work to the same source, before this one. ALIAS-02
    fn subscribed_before(&self, world: &World, wait: WaitIx) -> Option<WaitIx> {
        let source = world.wait(wait).source?;
        let same = |other: &WaitIx| {
            let def = world.wait(*other);
            def.work == world.wait(wait).work
                && def.source.is_some_and(|known| {
                    let resource = world.resource(known.key) == world.resource(source.key);
                    resource && known.scope == source.scope
                })
        };
        below(world.waits.len())
            .map(WaitIx)
            .filter(|other| *other != wait && self.wait(*other).subscription > 0)
            .filter(same)
            .max_by_key(|other| self.wait(*other).subscription)
    }

    /// What a subscription selects, in acceptance order. ALIAS-03
    fn selected(&self, world: &World, wait: WaitIx) -> Vec<EventIx> {
        let mut selected: Vec<EventIx> = below(self.events().len())
            .map(EventIx)
            .filter(|event| self.selects(world, wait, *event))
            .collect();
        selected.sort_by_key(|event| self.event(*event).seq);
        selected
    }

    /// The unserved matches of a wait, in acceptance order. WAKE-02
    fn matched(&self, world: &World, wait: WaitIx) -> Vec<EventIx> {
        let mut matched: Vec<EventIx> = below(self.events().len())
            .map(EventIx)
            .filter(|event| self.matches(world, wait, *event))
            .collect();
        matched.sort_by_key(|event| self.event(*event).seq);
        matched
    }

    /// The active wait of a Work. WAIT-10
    fn active_wait(&self, world: &World, work: WorkIx) -> Option<WaitIx> {
        below(self.waits().len()).map(WaitIx).find(|wait| {
            self.wait(*wait).status == WaitStatus::Active && world.wait(*wait).work == work
        })
    }

    /// Whether some accepted, unrouted event resolves to the Work. DONE-02
    fn owed_a_route(&self, world: &World, work: WorkIx) -> bool {
        below(self.events().len())
            .map(EventIx)
            .any(|event| self.is_unrouted(event) && self.resolves_to(world, event) == Some(work))
    }

    /// The input of a Work in one standing, in acceptance order. POLICY-09
    fn input(&self, work: WorkIx, standing: Input) -> Vec<EventIx> {
        let mut input: Vec<EventIx> = below(self.events().len())
            .map(EventIx)
            .filter(|event| self.is_input(*event, work, standing))
            .collect();
        input.sort_by_key(|event| self.event(*event).seq);
        input
    }

    /// Whether an event is input of a Work in one standing.
    fn is_input(&self, event: EventIx, work: WorkIx, standing: Input) -> bool {
        let event = self.event(event);
        event.input == standing && event.work == work.into()
    }

    /// Whether a Work has pending input. POLICY-35
    fn has_pending(&self, work: WorkIx) -> bool {
        below(self.events().len()).any(|event| self.is_input(EventIx(event), work, Input::Pending))
    }

    /// Whether the running attempt of a Work supports a control: the pin it was claimed with has it. BIND-10 CTRL-05
    fn supports(&self, world: &World, work: WorkIx, kind: IntentKind) -> bool {
        let controls = world.controls(work, self.work(work).attempt.generation);
        match kind {
            IntentKind::None => true,
            IntentKind::Inject => controls.injects,
            IntentKind::Interrupt => controls.interrupts,
        }
    }

    /// The intent of an event for a Work, if it has one. INJECT-11
    fn intent(&self, work: WorkIx, event: EventIx) -> Option<&Intent> {
        let event = self.event(event);
        let known = event.intent.kind != IntentKind::None && event.work == work.into();
        known.then_some(&event.intent)
    }

    /// The open intents for a Work: those of its running attempt. POLICY-23
    fn open_intents(&self, work: WorkIx) -> Vec<EventIx> {
        let open =
            |event: &EventIx| self.intent(work, *event).is_some_and(|intent| intent.status.open());
        below(self.events().len()).map(EventIx).filter(open).collect()
    }

    /// Attempts running in a scope and below. POLICY-06
    fn running_in(&self, world: &World, scope: u8) -> usize {
        self.works()
            .iter()
            .filter(|work| work.attempt.status == AttemptStatus::Running)
            .filter(|work| world.lies_in(work.scope, scope))
            .count()
    }

    /// Whether a scope or one above it runs as many attempts as it may. POLICY-06 ROUTE-22
    fn full(&self, world: &World, scope: u8) -> bool {
        world.upwards(scope).any(|scope| self.running_in(world, scope) >= world.capacity)
    }
}
