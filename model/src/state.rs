//! The abstract state: small byte arrays, no maps, nothing the law does not compare.
//!
//! Epochs, revisions and instants never appear as numbers. An attempt knows how many of its epochs still act (one or
//! none), a proposal is fresh or stale, a deadline is the ticks that remain. So epochs, recoveries and crashes need no
//! bound. Sequences are ranks in the acceptance order, which is what they are anyway.
//!
//! This file says what is so; it decides nothing. `law/` decides.

mod bytes;
mod facts;

use bytemuck::NoUninit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::index::Maybe;
use crate::outcome::RouteMark;

pub use bytes::{Holds, Timer};
pub use facts::Facts;

/// All durable and volatile facts of one world. `EVENTS` is room for the deliveries and every event the law may derive;
/// what a world has no use for stays as it is in the first state.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct State<const WORKS: usize, const EVENTS: usize, const WAITS: usize> {
    current: Current,
    works: [Work; WORKS],
    events: [Event; EVENTS],
    waits: [Wait; WAITS],
}

/// What is current for the whole daemon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, NoUninit)]
#[repr(C)]
pub struct Current {
    /// How often the configuration was replaced. BIND-10
    pub generation: u8,
    /// Which configuration of the world that is.
    pub configuration: u8,
    /// How often the database was restored. OURS-21
    pub restores: u8,
    /// It was restored, and nobody has said yet that its other life has ended. OURS-21
    pub restore_hold: Flag,
}

/// One Work with its last attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, NoUninit)]
#[repr(C)]
pub struct Work {
    /// Where its lifecycle stands.
    pub status: WorkStatus,
    /// The keys it owns, one bit each; bits are only ever added. OWN-06
    pub keys: u8,
    /// The first key it ever owned, which a successor goes on from. TERM-03
    pub first_key: Maybe,
    /// The scope it was created in.
    pub scope: u8,
    /// Its kind, fixed when it was created. OURS-03
    pub kind: u8,
    /// Why it is not started although it is ready.
    pub holds: Holds,
    /// Failures counted against its budget. RETRY-09
    pub failures: u8,
    /// Whose process may still run. POLICY-22
    pub excluded: Exclusion,
    /// The process of the marked segment has ended; the surroundings know, the law does not yet.
    pub exited: Flag,
    /// The woken wait that the next claim continues. WAKE-18, WAKE-19
    pub wake: Maybe,
    /// The release that the next claim goes on from: a causal limit had ended the chain. WAKE-24
    pub released: Maybe,
    /// The wait it registered last.
    pub last_wait: Maybe,
    /// The Work it succeeds. TERM-05
    pub predecessor: Maybe,
    /// The Work it is a child of. TERM-06
    pub parent: Maybe,
    /// The event by which a route closed it. OURS-02
    pub closed_by: Maybe,
    /// How long it may still be idle after a handoff.
    pub idle: Timer,
    /// The failed attempt whose retry it waits for; 0 for none. RETRY-04 RETRY-20
    pub backoff: u8,
    /// When the retry of that attempt is due, until its event is accepted. RETRY-01
    pub retry: Timer,
    /// Somebody hosts the running attempt. Of hosts and processes only a world with the crash grain knows. OURS-19
    pub host: Flag,
    /// The process of its last segment. OURS-20
    pub process: Process,
    /// Held processes of earlier segments, which were never pinned.
    pub left_held: u8,
    /// Running processes of earlier segments: the law must keep this at none while another may run.
    pub left_running: u8,
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
    /// The generation its binding was pinned in. BIND-10
    pub generation: u8,
    /// Active time it has left while it is open, if its binding bounds it. WAKE-27, WAKE-28
    pub active: Timer,
    /// The event whose interrupt fenced it. CTRL-09
    pub interrupted_by: Maybe,
}

/// One event slot; not accepted while `seq` is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, NoUninit)]
#[repr(C)]
pub struct Event {
    /// Its place in the acceptance order, from 1. INGRESS-02
    pub seq: u8,
    /// What routing committed.
    pub mark: RouteMark,
    /// The generation its mark was made in, from 1; 0 while it has none. BIND-12
    pub generation: u8,
    /// Its key, in the generation that was the newest when it was accepted. TERM-04
    pub key: Maybe,
    /// The event it repeats, if an operator replayed one. OURS-08
    pub repeats: Maybe,
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
    /// Its identity came again with another body. OURS-17
    pub conflicting: Flag,
    /// Ticks during which its body under another identity is suspect; 0 for most senders. OURS-17
    pub suspect: u8,
    /// What was refused by a causal limit on its account. REJECT-01
    pub rejected: u8,
    /// The policy that its route asked for, where a fallback stood in for it. POLICY-28
    pub asked: IntentKind,
    /// How it is to reach the attempt that ran when it was routed. POLICY-11 POLICY-19
    pub intent: Intent,
}

/// The intent of an event: that it is to reach a running attempt of the Work it is associated with. Its epoch has no place
/// here: a recovery leaves it as it is, and any other end of its segment makes it stale.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, NoUninit)]
#[repr(C)]
pub struct Intent {
    /// Which control it is; none for most events.
    pub kind: IntentKind,
    /// What became of it.
    pub status: IntentStatus,
    /// The attempt it was committed for, and no other. POLICY-23
    pub attempt: u8,
    /// What stands in if the control fails. POLICY-33
    pub on_error: Fallback,
    /// How far the message came. Only a world with the crash grain knows.
    pub message: Message,
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
    /// Whether its subscription stands. ALIAS-11
    pub subscribed: Flag,
    /// The last source event translated. The next subscription of the Work to the source goes on from it. ALIAS-02
    pub checkpoint: u8,
    /// Which subscription of its Work it is, from 1; 0 if it has none.
    pub subscription: u8,
    /// How often it woke: the law must keep this at one. WAKE-10
    pub wakes: u8,
    /// What was refused by a causal limit: bit 0 the timeout, bit 1 the continuation. REJECT-01
    pub rejected: u8,
}

/// Bit of [`Wait::rejected`] for a refused timeout.
pub const TIMEOUT_REJECTED: u8 = 1;
/// Bit of [`Wait::rejected`] for a refused continuation.
pub const CONTINUATION_REJECTED: u8 = 2;

/// Bit of [`Event::rejected`]: the event of this slot itself was refused, an alias, a turn's end or a retry.
pub const ITSELF_REJECTED: u8 = 1;
/// Bit of [`Event::rejected`]: a replay of this event was refused.
pub const REPLAY_REJECTED: u8 = 2;
/// Bit of [`Event::rejected`]: the successor that routing this event would have made was refused.
pub const SUCCESSOR_REJECTED: u8 = 4;

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
    /// One reason why a ready Work does not start.
    Hold { Exhausted, CausalLimit, Operator }
    /// The exclusion mark: which segment it names.
    Exclusion { None, LastSegment, EarlierSegment }
    /// Lifecycle of an attempt.
    AttemptStatus { None, Running, Parked, Completed, Waiting, Failed, Cancelled }
    /// Phase of a running attempt.
    Phase { None, NeverHanded, Handed, Pinned, Recovering }
    /// What became of the process of a segment: held back until the pin; running; its result is with the keeper; running
    /// on without its keeper; over without a result that anybody knows.
    Process { None, Held, Running, Finished, Unkept, Lost }
    /// Lifecycle of a wait.
    WaitStatus { Unregistered, Active, Woken, Cancelled }
    /// Whether an event is input: consumed by the last segment, which claimed it or whose result proved it, or by an earlier
    /// one, or withdrawn by an error fallback.
    Input { No, Pending, Batch, Consumed, Withdrawn }
    /// A control of a running attempt.
    IntentKind { None, Inject, Interrupt }
    /// What became of an intent.
    IntentStatus { None, Committed, Dispatched, Accepted, NotAccepting, Fenced, FellBack, Consumed, Stale }
    /// What stands in for a control that an attempt does not support, or that failed.
    Fallback { None, Queue, Drop }
    /// Where the message of an inject intent is: not delivered, with what holds the process, or taken in by it.
    Message { None, Delivered, TakenIn }
    /// What became of a handler's proposal.
    Proposal { None, Fresh, Stale }
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

impl Process {
    /// Whether the command itself runs, kept or not.
    pub fn runs(self) -> bool {
        match self {
            Process::Running | Process::Unkept => true,
            Process::None | Process::Held | Process::Finished | Process::Lost => false,
        }
    }

    /// Whether it is over, with or without a result.
    pub fn ended(self) -> bool {
        match self {
            Process::Finished | Process::Lost => true,
            Process::None | Process::Held | Process::Running | Process::Unkept => false,
        }
    }

    /// Whether an executor can verify and adopt it: it runs, is held or has a result. ADOPT-14 ADOPT-19
    pub fn adoptable(self) -> bool {
        match self {
            Process::Held | Process::Running | Process::Finished => true,
            Process::None | Process::Unkept | Process::Lost => false,
        }
    }
}

impl IntentStatus {
    /// Committed or dispatched: its answer is not known. POLICY-23
    pub fn open(self) -> bool {
        match self {
            IntentStatus::Committed | IntentStatus::Dispatched => true,
            IntentStatus::None
            | IntentStatus::Accepted
            | IntentStatus::NotAccepting
            | IntentStatus::Fenced
            | IntentStatus::FellBack
            | IntentStatus::Consumed
            | IntentStatus::Stale => false,
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

impl<const WORKS: usize, const EVENTS: usize, const WAITS: usize> State<WORKS, EVENTS, WAITS> {
    /// Nothing accepted yet.
    pub fn new() -> Self {
        State {
            current: Current::default(),
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
    fn current(&self) -> &Current {
        &self.current
    }

    fn current_mut(&mut self) -> &mut Current {
        &mut self.current
    }

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
        hasher.write(bytemuck::bytes_of(&self.current));
        hasher.write(bytemuck::cast_slice(&self.works));
        hasher.write(bytemuck::cast_slice(&self.events));
        hasher.write(bytemuck::cast_slice(&self.waits));
    }
}
