//! The abstract state: small byte arrays, no maps, nothing the law does not compare.
//!
//! Epochs, revisions and instants never appear as numbers. An attempt knows how many of its epochs still act (one or
//! none), a proposal is fresh or stale, a deadline is the ticks that remain. So epochs, recoveries and crashes need no
//! bound. Sequences are ranks in the acceptance order, which is what they are anyway.
//!
//! This file says what is so; it decides nothing. `law/` decides.

use bytemuck::NoUninit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::index::{EventIx, Maybe, WaitIx, WorkIx, below};
use crate::outcome::RouteMark;
use crate::worlds::World;

/// All durable and volatile facts of one world. `EVENTS` counts the deliveries and two derived events a wait.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct State<const WORKS: usize, const EVENTS: usize, const WAITS: usize> {
    works: [Work; WORKS],
    events: [Event; EVENTS],
    waits: [Wait; WAITS],
}

/// One Work with its last attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, NoUninit)]
#[repr(C)]
pub struct Work {
    /// Where its lifecycle stands.
    pub status: WorkStatus,
    /// The keys it owns, one bit each; bits are only ever added. OWN-06
    pub keys: u8,
    /// The scope it was created in.
    pub scope: u8,
    /// Why it is not started although it is ready.
    pub hold: Hold,
    /// Failures counted against its budget. RETRY-09
    pub failures: u8,
    /// Whose process may still run. POLICY-22
    pub excluded: Exclusion,
    /// The process of the marked segment has ended; the surroundings know, the law does not yet.
    pub exited: Flag,
    /// The woken wait that the next claim continues. WAKE-18, WAKE-19
    pub wake: Maybe,
    /// The wait it registered last.
    pub last_wait: Maybe,
    /// Its last attempt.
    pub attempt: Attempt,
}

/// The last attempt of a Work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, NoUninit)]
#[repr(C)]
pub struct Attempt {
    /// Its number, from 1; 0 when there is none. RETRY-12
    pub number: u8,
    /// Where it stands.
    pub status: AttemptStatus,
    /// How far a running attempt has come.
    pub phase: Phase,
    /// Ticks its lease still lasts while it runs; 0 = reached. LEASE-01
    pub lease: u8,
    /// How many of its epochs still act: one while it runs, else none. LEASE-08
    pub epochs: u8,
    /// The event that started it; never replaced. WAKE-17
    pub trigger: Maybe,
    /// What derived events of this segment descend from. CAUSE-12, CAUSE-13
    pub cause: Maybe,
}

/// One event slot; not accepted while `seq` is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, NoUninit)]
#[repr(C)]
pub struct Event {
    /// Its place in the acceptance order, from 1. INGRESS-02
    pub seq: u8,
    /// What routing committed.
    pub mark: RouteMark,
    /// The Work it is associated with.
    pub work: Maybe,
    /// The event its chain started from; itself for a root.
    pub root: Maybe,
    /// Derivations since that root. CAUSE-14
    pub depth: u8,
    /// Whether it is input, and of which segment.
    pub input: Input,
    /// What a handler proposed for it, which is volatile.
    pub proposal: Proposal,
}

/// One wait slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, NoUninit)]
#[repr(C)]
pub struct Wait {
    /// Where it stands.
    pub status: WaitStatus,
    /// Matches lie strictly above it. WAIT-04, WAIT-12
    pub watermark: u8,
    /// The event that woke it.
    pub winner: Maybe,
    /// Its timer.
    pub timer: Timer,
    /// What the timeout would descend from, while the timer is armed. TIMER-01
    pub cause: Maybe,
    /// How often it woke: the law must keep this at one. WAKE-10
    pub wakes: u8,
    /// What was refused by a causal limit: bit 0 the timeout, bit 1 the continuation. REJECT-01
    pub rejected: u8,
}

/// Bit of [`Wait::rejected`] for a refused timeout.
pub const TIMEOUT_REJECTED: u8 = 1;
/// Bit of [`Wait::rejected`] for a refused continuation.
pub const CONTINUATION_REJECTED: u8 = 2;

macro_rules! statuses {
    ($($(#[$doc:meta])* $name:ident { $first:ident $(, $rest:ident)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, NoUninit)]
        #[derive(Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        #[repr(u8)]
        #[expect(missing_docs, reason = "docs/alphabet.md describes each status")]
        pub enum $name { #[default] $first $(, $rest)* }
    )*};
}

statuses! {
    /// A bit with a name.
    Flag { No, Yes }
    /// Lifecycle of a Work.
    WorkStatus { Absent, Ready, Running, Waiting, Completed, Failed, Cancelled }
    /// Why a ready Work does not start.
    Hold { None, Exhausted, CausalLimit }
    /// The exclusion mark: which segment it names.
    Exclusion { None, LastSegment, EarlierSegment }
    /// Lifecycle of an attempt.
    AttemptStatus { None, Running, Parked, Completed, Waiting, Failed, Cancelled }
    /// Phase of a running attempt.
    Phase { None, NeverHanded, Handed, Pinned, Recovering }
    /// Lifecycle of a wait.
    WaitStatus { Unregistered, Active, Woken, Cancelled }
    /// Whether an event is input: claimed by the last segment, or by an earlier one.
    Input { No, Pending, Batch, Consumed }
    /// What became of a handler's proposal.
    Proposal { None, Fresh, Stale }
}

/// The timer of a wait in one byte: none or gone, disabled, or armed with the ticks that remain.
#[derive(Clone, Copy, Default, PartialEq, Eq, NoUninit)]
#[repr(transparent)]
pub struct Timer(u8);

impl Timer {
    /// Never armed, fired or cancelled.
    pub const NONE: Timer = Timer(0);
    /// A causal limit refused the firing once. CAUSE-33
    pub const DISABLED: Timer = Timer(1);

    /// Armed, due in so many ticks.
    pub fn due_in(ticks: u8) -> Self {
        Timer(ticks + 2)
    }

    /// Ticks until it is due, if it is armed; 0 = due. WAKE-04
    pub fn ticks(self) -> Option<u8> {
        self.0.checked_sub(2)
    }

    /// The same timer one tick later.
    #[must_use]
    pub fn later(self) -> Self {
        match self.ticks() {
            Some(ticks) => Timer::due_in(ticks.saturating_sub(1)),
            None => self,
        }
    }
}

impl std::fmt::Debug for Timer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (*self, self.ticks()) {
            (Timer::NONE, _) => f.write_str("-"),
            (Timer::DISABLED, _) => f.write_str("disabled"),
            (_, Some(ticks)) => write!(f, "{ticks}t"),
            (_, None) => f.write_str("?"),
        }
    }
}

impl WorkStatus {
    /// Completed, failed or cancelled. TERM-01
    pub fn terminal(self) -> bool {
        match self {
            WorkStatus::Completed | WorkStatus::Failed | WorkStatus::Cancelled => true,
            WorkStatus::Absent | WorkStatus::Ready | WorkStatus::Running | WorkStatus::Waiting => {
                false
            }
        }
    }
}

impl AttemptStatus {
    /// Running or parked. POLICY-05
    pub fn open(self) -> bool {
        match self {
            AttemptStatus::Running | AttemptStatus::Parked => true,
            AttemptStatus::None
            | AttemptStatus::Completed
            | AttemptStatus::Waiting
            | AttemptStatus::Failed
            | AttemptStatus::Cancelled => false,
        }
    }
}

/// The sizes of a state may differ from world to world; law and properties see its tables only.
pub trait Facts {
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

    /// The Work an event speaks of by its target or by its key, whatever its scope. ROUTE-23
    fn speaks_of(&self, world: &World, event: EventIx) -> Option<WorkIx> {
        let about = world.about(event);
        about.target.or_else(|| about.key.and_then(|key| self.owner(key)))
    }

    /// The Work an event resolves to. An owner in another scope is none of its business. OWN-03
    fn resolves_to(&self, world: &World, event: EventIx) -> Option<WorkIx> {
        let about = world.about(event);
        let work = self.speaks_of(world, event)?;
        let same_scope = about.scope.is_none_or(|scope| scope == self.work(work).scope);
        same_scope.then_some(work)
    }

    /// Whether an accepted event can wake a wait. WAIT-03 WAIT-04 WAIT-05 WAIT-08 WAIT-15 TIMER-06
    fn matches(&self, world: &World, wait: WaitIx, event: EventIx) -> bool {
        self.matches_above(world, wait, event, self.wait(wait).watermark)
    }

    /// The same against a watermark of the caller's choice.
    fn matches_above(&self, world: &World, wait: WaitIx, event: EventIx, watermark: u8) -> bool {
        let unserved = match self.event(event).mark {
            RouteMark::Unrouted => self.is_accepted(event),
            RouteMark::Queued => self.event(event).input == Input::Pending,
            RouteMark::Woke
            | RouteMark::Unmatched
            | RouteMark::Terminal
            | RouteMark::Continuation => false,
        };
        if event == world.timeout_of(wait) {
            return unserved;
        }
        let def = world.wait(wait);
        unserved
            && self.event(event).seq > watermark
            && self.resolves_to(world, event) == Some(def.work)
            && world.selects(def, event)
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

    /// Attempts running in a scope. POLICY-06
    fn running_in(&self, scope: u8) -> usize {
        self.works()
            .iter()
            .filter(|work| work.scope == scope && work.attempt.status == AttemptStatus::Running)
            .count()
    }
}

impl<const WORKS: usize, const EVENTS: usize, const WAITS: usize> State<WORKS, EVENTS, WAITS> {
    /// Nothing accepted yet.
    pub fn new() -> Self {
        State {
            works: [Work::default(); WORKS],
            events: [Event::default(); EVENTS],
            waits: [Wait::default(); WAITS],
        }
    }
}

impl<const WORKS: usize, const EVENTS: usize, const WAITS: usize> Default
    for State<WORKS, EVENTS, WAITS>
{
    fn default() -> Self {
        Self::new()
    }
}

impl<const WORKS: usize, const EVENTS: usize, const WAITS: usize> Facts
    for State<WORKS, EVENTS, WAITS>
{
    fn works(&self) -> &[Work] {
        &self.works
    }

    fn events(&self) -> &[Event] {
        &self.events
    }

    fn waits(&self) -> &[Wait] {
        &self.waits
    }

    fn works_mut(&mut self) -> &mut [Work] {
        &mut self.works
    }

    fn events_mut(&mut self) -> &mut [Event] {
        &mut self.events
    }

    fn waits_mut(&mut self) -> &mut [Wait] {
        &mut self.waits
    }
}

/// One write a table: every table is plain bytes without padding.
impl<const WORKS: usize, const EVENTS: usize, const WAITS: usize> std::hash::Hash
    for State<WORKS, EVENTS, WAITS>
{
    fn hash<H: std::hash::Hasher>(&self, hasher: &mut H) {
        hasher.write(bytemuck::cast_slice(&self.works));
        hasher.write(bytemuck::cast_slice(&self.events));
        hasher.write(bytemuck::cast_slice(&self.waits));
    }
}
