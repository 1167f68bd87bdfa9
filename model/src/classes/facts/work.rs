//! The guard facts of a Work.

use crate::index::{EventIx, WorkIx};
use crate::state::{
    AttemptStatus, Exclusion, Facts, Flag, Holds, Input, IntentKind, Phase, Process, WorkStatus,
};
use crate::view::{LeaseView, lease};
use crate::worlds::{Exhausted, World};

use super::few;
use super::timer::{TimerFacts, timer_facts};

/// The guard facts of a Work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkFacts {
    /// Its status.
    pub status: WorkStatus,
    /// Its holds.
    pub holds: Holds,
    /// It outlives its attempts.
    pub stands: bool,
    /// Its idle timer.
    pub idle: TimerFacts,
    /// It was reopened.
    pub succeeded: bool,
    /// It owns a key, which a successor would go on from.
    pub keyed: bool,
    /// The next segment goes on from a release.
    pub released: bool,
    /// Its last attempt is pinned to an earlier generation than the current one.
    pub outdated: bool,
    /// Its last attempt has used some of its active time.
    pub worn: bool,
    /// The end of its turn would be as deep as its root allows, or deeper.
    pub at_limit: bool,
    /// Failures counted: none, one, or two for more.
    pub failures: u8,
    /// Another failure would be the last of its budget: kept (1) or failed for good (2).
    pub last: u8,
    /// The number of its attempt is another than that of its next failure.
    pub renumbered: bool,
    /// It is in backoff.
    pub backoff: bool,
    /// Its retry timer.
    pub retry: TimerFacts,
    /// The database was restored, and the hold stands.
    pub restored: bool,
    /// Its authority was voided by a restore.
    pub voided: bool,
    /// Its executor holds a process until the pin, where processes are known.
    pub holding: bool,
    /// It is handed to an executor that holds nothing back.
    pub launched: bool,
    /// Its process, where that is known.
    pub process: Process,
    /// A held process of an earlier segment is left.
    pub left: bool,
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
    /// Its scope, or one above it, runs as many attempts as it may.
    pub full: bool,
    /// Its own scope alone, without what lies in it or above it, would have room.
    pub full_elsewhere: bool,
    /// An intent for its running attempt is open.
    pub intents: bool,
    /// Its attempt supports interrupt.
    pub interruptible: bool,
    /// The current configuration would say otherwise.
    pub repinned: bool,
}

pub(in crate::classes) fn work_facts(world: &World, state: &dyn Facts, ix: WorkIx) -> WorkFacts {
    let work = state.work(ix);
    let winner = work.wake.wait().and_then(|wait| state.wait(wait).winner.event());
    let runs = |other: &&crate::state::Work| {
        other.attempt.status == AttemptStatus::Running && other.scope == work.scope
    };
    let whole = world.binding(ix).active;
    let deep = |event: EventIx| state.event(event).depth >= world.depth_max;
    let interruptible = state.supports(world, ix, IntentKind::Interrupt);
    WorkFacts {
        status: work.status,
        holds: work.holds,
        stands: world.kind(work.kind).standing,
        idle: timer_facts(work.idle),
        succeeded: state.successor(ix).is_some(),
        keyed: work.first_key.key().is_some(),
        released: work.released.event().is_some(),
        outdated: work.attempt.status.open()
            && work.attempt.generation != state.current().generation,
        worn: work.attempt.status.open() && work.attempt.active.ticks() != whole,
        at_limit: !world.turns.is_empty() && work.attempt.cause.event().is_some_and(deep),
        failures: few(usize::from(work.failures)),
        last: last(world, state, ix),
        renumbered: work.attempt.number != work.failures.saturating_add(1),
        backoff: work.backoff > 0,
        retry: timer_facts(work.retry),
        restored: state.current().restore_hold == Flag::Yes,
        voided: work.attempt.status == AttemptStatus::Running && work.attempt.epochs == 0,
        holding: world.processes > 0 && world.binding(ix).holds,
        launched: work.attempt.phase == Phase::Handed && !world.binding(ix).holds,
        process: work.process,
        left: work.left_held > 0,
        excluded: work.excluded,
        attempt: work.attempt.status,
        phase: work.attempt.phase,
        lease: Some(lease(work)),
        woken: work.wake.wait().is_some(),
        winner_later: winner.is_some()
            && state.input(ix, Input::Pending).first().copied() != winner,
        pending: few(state.input(ix, Input::Pending).len()),
        owed: state.owed_a_route(world, ix),
        full: state.full(world, work.scope),
        full_elsewhere: state.full(world, work.scope)
            && state.works().iter().filter(runs).count() < world.capacity,
        intents: !state.open_intents(ix).is_empty(),
        interruptible,
        repinned: world.controls(ix, state.current().generation).interrupts != interruptible,
    }
}

/// What another failure of the running attempt would use up.
fn last(world: &World, state: &dyn Facts, ix: WorkIx) -> u8 {
    let work = state.work(ix);
    let policy = world.policy(work.kind, work.attempt.generation);
    if !policy.uses_up(work.failures.saturating_add(1)) || world.kind(work.kind).standing {
        return 0;
    }
    match policy.exhausted {
        Exhausted::Keep => 1,
        Exhausted::Fail => 2,
    }
}
