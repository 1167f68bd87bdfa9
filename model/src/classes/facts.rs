//! The facts that tell one class from another.

use crate::action::Kind;
use crate::index::{EventIx, WaitIx, WorkIx, below};
use crate::outcome::{Outcome, Receipt, Recovery, RouteMark, Start};
use crate::state::{
    AttemptStatus, Exclusion, Facts, Hold, Input, Phase, Proposal, Timer, WaitStatus, WorkStatus,
};
use crate::view::{LeaseView, lease};
use crate::worlds::{Origin, World};

/// The guard facts of a Work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkFacts {
    /// Its status.
    pub status: WorkStatus,
    /// Its hold.
    pub hold: Hold,
    /// Its exclusion mark.
    pub excluded: Exclusion,
    /// Status of its last attempt.
    pub attempt: AttemptStatus,
    /// Phase of its last attempt.
    pub phase: Phase,
    /// Its lease, if the action needs one.
    pub lease: Option<LeaseView>,
    /// A wake is recorded for the next claim.
    pub woken: bool,
    /// The winner of that wake is not its lowest pending input, so that a wrong trigger shows.
    pub winner_later: bool,
    /// Pending inputs: none, one, or two for more.
    pub pending: u8,
    /// An unrouted event resolves to it.
    pub owed: bool,
    /// Its scope runs as many attempts as it may.
    pub full: bool,
}

/// The guard facts of a wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WaitFacts {
    /// Its status.
    pub status: WaitStatus,
    /// Its timer.
    pub timer: TimerFacts,
    /// Events that match it: none, one, or two for more.
    pub matches: u8,
    /// The lowest match by number is the first by slot as well, so that a wrong tie-break shows.
    pub lowest_is_first: bool,
    /// Its own timeout is accepted.
    pub timed_out: bool,
    /// What would win is as deep as its root allows, so the continuation would be refused.
    pub at_limit: bool,
}

/// The guard facts of a timer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimerFacts {
    /// None, or gone.
    #[default]
    None,
    /// Disabled by a causal limit.
    Disabled,
    /// Armed, not due.
    Armed,
    /// Armed and due.
    Due,
}

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
    /// A route matches it.
    pub routed: bool,
}

/// An outcome without its numbers and names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Answer {
    /// The outcome's code.
    pub code: &'static str,
    /// What kind of receipt came with it.
    pub receipt: u8,
}

/// The facts of a Work that a guard or an effect of this kind of action looks at; the rest is forgotten.
pub(super) fn guards_on_work(kind: Kind, facts: WorkFacts) -> WorkFacts {
    let WorkFacts {
        status,
        hold,
        excluded,
        attempt,
        phase,
        lease,
        woken,
        winner_later,
        pending,
        owed,
        full,
    } = facts;
    let blank = WorkFacts::default();
    let held = WorkFacts { attempt, phase, lease, ..blank };
    match kind {
        Kind::CommitRoute => WorkFacts { status, ..blank },
        Kind::Claim => WorkFacts {
            status,
            hold,
            excluded,
            attempt,
            woken,
            winner_later,
            pending,
            full,
            ..blank
        },
        Kind::ClearNeverHanded | Kind::Pin | Kind::Renew | Kind::SettleRecovery => held,
        Kind::Complete => WorkFacts { pending, owed, ..held },
        Kind::Fail | Kind::ClaimRecovery | Kind::RegisterWait => WorkFacts { pending, ..held },
        Kind::Vacate | Kind::ProcessExits => WorkFacts { status, excluded, ..blank },
        Kind::Cancel => {
            WorkFacts { status, hold, excluded, attempt, phase, woken, pending, ..blank }
        }
        Kind::Wake | Kind::FireTimer | Kind::AcceptTimeout => {
            WorkFacts { status, attempt, ..blank }
        }
        Kind::Accept | Kind::Evaluate | Kind::Tick | Kind::Crash => blank,
    }
}

/// Acceptance and evaluation do not look at what routing would do.
pub(super) fn guards_on_event(kind: Kind, facts: EventFacts) -> EventFacts {
    let EventFacts { accepted, proposal, resolves, .. } = facts;
    match kind {
        Kind::Accept => EventFacts { accepted, resolves, ..EventFacts::default() },
        Kind::Evaluate => EventFacts { proposal, resolves, ..EventFacts::default() },
        Kind::CommitRoute => facts,
        Kind::Claim
        | Kind::ClearNeverHanded
        | Kind::Pin
        | Kind::Renew
        | Kind::Complete
        | Kind::Fail
        | Kind::RegisterWait
        | Kind::Wake
        | Kind::FireTimer
        | Kind::AcceptTimeout
        | Kind::ClaimRecovery
        | Kind::SettleRecovery
        | Kind::Vacate
        | Kind::Cancel
        | Kind::Tick
        | Kind::Crash
        | Kind::ProcessExits => EventFacts::default(),
    }
}

pub(super) fn work_facts(world: &World, state: &dyn Facts, ix: WorkIx) -> WorkFacts {
    let work = state.work(ix);
    let winner = work.wake.wait().and_then(|wait| state.wait(wait).winner.event());
    WorkFacts {
        status: work.status,
        hold: work.hold,
        excluded: work.excluded,
        attempt: work.attempt.status,
        phase: work.attempt.phase,
        lease: Some(lease(work)),
        woken: work.wake.wait().is_some(),
        winner_later: winner.is_some()
            && state.input(ix, Input::Pending).first().copied() != winner,
        pending: few(state.input(ix, Input::Pending).len()),
        owed: state.owed_a_route(world, ix),
        full: state.running_in(work.scope) >= world.capacity,
    }
}

fn few(count: usize) -> u8 {
    match count {
        0 => 0,
        1 => 1,
        _ => 2,
    }
}

pub(super) fn wait_facts(world: &World, state: &dyn Facts, ix: WaitIx) -> WaitFacts {
    let wait = state.wait(ix);
    let matched = state.matched(world, ix);
    WaitFacts {
        status: wait.status,
        timer: match wait.timer.ticks() {
            Some(0) => TimerFacts::Due,
            Some(_) => TimerFacts::Armed,
            None if wait.timer == Timer::DISABLED => TimerFacts::Disabled,
            None => TimerFacts::None,
        },
        matches: few(matched.len()),
        lowest_is_first: matched.first() == matched.iter().min(),
        timed_out: state.is_accepted(world.timeout_of(ix)),
        at_limit: matched
            .first()
            .is_some_and(|winner| state.event(*winner).depth >= world.depth_max),
    }
}

pub(super) fn event_facts(world: &World, state: &dyn Facts, ix: EventIx) -> EventFacts {
    let event = state.event(ix);
    let work = state.resolves_to(world, ix);
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
        },
        resolves: match (state.speaks_of(world, ix), work) {
            (None, _) => 0,
            (Some(_), Some(_)) => 1,
            (Some(_), None) => 2,
        },
        out_of_turn: work.is_some() && below(world.slots()).map(EventIx).any(lower),
        matches: wait.is_some_and(|wait| state.matches(world, wait, ix)),
        routed: world.routed(ix),
    }
}

pub(super) fn answer(world: &World, outcome: Outcome) -> Answer {
    let receipt = match outcome {
        Outcome::Accepted(receipt) | Outcome::Duplicate(receipt) => receipt_kind(world, receipt),
        Outcome::Deferred(_) | Outcome::Conflict | Outcome::Refused(_) => 0,
    };
    Answer { code: outcome.code(), receipt }
}

fn receipt_kind(world: &World, receipt: Receipt) -> u8 {
    let by_timeout = |event| u8::from(matches!(world.origin(event), Origin::Timeout(_)));
    match receipt {
        Receipt::Done => 0,
        Receipt::Sequence(_) => 1,
        Receipt::Routed { mark: RouteMark::Unrouted, .. } => 2,
        Receipt::Routed { mark: RouteMark::Queued, .. } => 3,
        Receipt::Routed { mark: RouteMark::Woke, .. } => 4,
        Receipt::Routed { mark: RouteMark::Unmatched, .. } => 5,
        Receipt::Routed { mark: RouteMark::Terminal, .. } => 6,
        Receipt::Routed { mark: RouteMark::Continuation, .. } => 7,
        Receipt::Claimed { start: Start::Start, .. } => 8,
        Receipt::Claimed { start: Start::Next, .. } => 9,
        Receipt::Claimed { start: Start::Resume, .. } => 10,
        Receipt::Recovered(Recovery::Relaunch) => 11,
        Receipt::Recovered(Recovery::Adopt) => 12,
        Receipt::Registered { winner: None } => 13,
        Receipt::Registered { winner: Some(_) } => 14,
        Receipt::Woken { winner } => 15 + by_timeout(winner),
    }
}
