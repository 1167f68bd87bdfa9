//! The law: one pure, total step, one file an area.
//!
//! A transition reads as guards in order of precedence, then writes, then the receipt. It reads nothing but the state,
//! the action and the constants of the world, and answers every action in every state.

mod aliases;
mod attempts;
mod cancel;
mod causality;
mod holds;
mod ingress;
mod intents;
mod ownership;
mod processes;
mod recovery;
mod restore;
mod retry;
mod routing;
mod timers;
mod waits;

pub use waits::sequence_at;

use crate::action::{Action, Authority, Commit, Env, Expect};
use crate::index::{EventIx, WaitIx, WorkIx, below};
use crate::mutants::Mutant;
use crate::outcome::{Outcome, Refusal, RouteMark};
use crate::state::{
    AttemptStatus, Exclusion, Facts, Flag, Input, Phase, Process, Proposal, Timer, WaitStatus,
    Work, WorkStatus,
};
use crate::worlds::World;

/// The law of one world, whole or with one clause broken.
#[derive(Clone, Copy, Debug)]
pub struct Law {
    /// Universe, lengths and bounds.
    pub world: &'static World,
    /// The broken clause, if any.
    pub mutant: Option<Mutant>,
}

impl Law {
    /// The law as it should be.
    pub fn of(world: &'static World) -> Self {
        Law { world, mutant: None }
    }

    /// The law with one clause broken.
    pub fn breaking(world: &'static World, mutant: Mutant) -> Self {
        Law { world, mutant: Some(mutant) }
    }

    /// Whether this clause is the broken one.
    pub fn broken(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    /// Whether a Work outlives its attempts. JOB-14 JOB-17
    fn stands(&self, state: &impl Facts, work: WorkIx) -> bool {
        self.world.kind(state.work(work).kind).standing
    }

    /// Performs one action.
    pub fn step<S: Facts + Copy>(&self, before: &S, action: Action) -> (Outcome, S) {
        let mut after = *before;
        let outcome = step(self, &mut after, action);
        (outcome, after)
    }
}

/// Performs one action on a state; total, pure, and the only way a state changes.
pub fn step(law: &Law, state: &mut (impl Facts + Copy), action: Action) -> Outcome {
    match action {
        Action::Commit(commit) => {
            let before = *state;
            let outcome = perform(law, state, commit);
            outdate_proposals(law, &before, state);
            outcome
        }
        Action::World(Env::Evaluate { event }) => routing::evaluate(state, event),
        Action::World(Env::Tick) => timers::tick(law, state),
        Action::World(Env::Crash) => routing::crash(law, state),
        Action::World(Env::ProcessExits { work }) => recovery::process_exits(state, work),
        Action::World(Env::Launch { work }) => processes::launch(law, state, work),
        Action::World(Env::Proceed { work }) => processes::proceed(law, state, work),
        Action::World(Env::LetGo { work }) => processes::let_go(state, work),
        Action::World(Env::ProcessEnds { work }) => processes::ends(state, work),
        Action::World(Env::KeeperDies { work }) => processes::keeper_dies(law, state, work),
        Action::World(Env::Deliver { event }) => processes::deliver(law, state, event),
        Action::World(Env::TakeIn { event }) => processes::take_in(state, event),
    }
}

fn perform(law: &Law, state: &mut impl Facts, commit: Commit) -> Outcome {
    match commit {
        Commit::Accept { delivery } => ingress::accept(law, state, delivery),
        Commit::CommitRoute { event } => routing::commit_route(law, state, event),
        Commit::Claim { work } => attempts::claim(law, state, work),
        Commit::ClearNeverHanded { work, by } => attempts::clear_never_handed(law, state, work, by),
        Commit::Pin { work, by } => attempts::pin(law, state, work, by),
        Commit::Renew { work, by } => attempts::renew(law, state, work, by),
        Commit::Complete { work, by, ending, declares, proofs } => {
            attempts::complete(law, state, work, by, (ending, declares), proofs)
        }
        Commit::Fail { work, by, hint, proofs } => {
            attempts::fail(law, state, work, by, hint, proofs)
        }
        Commit::Dispatch { work, by, event } => intents::dispatch(law, state, work, by, event),
        Commit::SettleDispatch { work, by, event, answer } => {
            intents::settle(law, state, work, by, event, answer)
        }
        Commit::Interrupt { work, expect, request, implemented } => {
            intents::interrupt(law, state, work, expect, request, implemented)
        }
        Commit::FireRetry { work, attempt } => retry::fire(law, state, work, attempt),
        Commit::Retry { work, expect, request } => {
            retry::by_hand(law, state, work, expect, request)
        }
        Commit::Detach { work, by } => recovery::detach(law, state, work, by),
        Commit::Restore => restore::restore(law, state),
        Commit::ReleaseRestore { request } => restore::release(law, state, request),
        Commit::RegisterWait { work, by, wait, after, proofs } => {
            waits::register(law, state, work, by, (wait, after), proofs)
        }
        Commit::Wake { wait } => waits::wake(law, state, wait),
        Commit::FireTimer { wait } => timers::fire(law, state, wait),
        Commit::AcceptTimeout { wait } => timers::accept_timeout(law, state, wait),
        Commit::ClaimRecovery { work } => recovery::claim(law, state, work),
        Commit::SettleRecovery { work, by, verdict } => {
            recovery::settle(law, state, work, by, verdict)
        }
        Commit::Vacate { work, segment } => recovery::vacate(law, state, work, segment),
        Commit::Cancel { work, expect, for_good } => {
            cancel::cancel(law, state, work, expect, for_good)
        }
        Commit::Reload { configuration } => routing::reload(law, state, configuration),
        Commit::Drop { event } => routing::drop(law, state, event),
        Commit::Replay { event, request } => ingress::replay(law, state, event, request),
        Commit::Reopen { work, expect, request } => {
            ownership::reopen(law, state, work, expect, request)
        }
        Commit::CreateWork { request } => ownership::create_by_hand(law, state, request),
        Commit::Hold { work, expect } => holds::hold(law, state, work, expect),
        Commit::Release { work, expect, request } => {
            holds::release(law, state, work, expect, request)
        }
        Commit::Translate { wait, source } => aliases::translate(law, state, wait, source),
        Commit::CloseIdle { work } => timers::close_idle(law, state, work),
    }
}

/// Makes stale what was proposed from a Work that has moved since. A Work's revision moves with what a handler can see
/// of it, its status, its keys and the number of its last attempt, and with nothing else. ROUTE-12 ROUTE-15
fn outdate_proposals<S: Facts>(law: &Law, before: &S, state: &mut S) {
    for event in below(law.world.slots()).map(EventIx) {
        if state.event(event).proposal != Proposal::Fresh {
            continue;
        }
        let resolved = state.speaks_of(law.world, event);
        if resolved.is_some_and(|work| visible(before.work(work)) != visible(state.work(work))) {
            state.event_mut(event).proposal = Proposal::Stale;
        }
    }
}

fn visible(work: &Work) -> (WorkStatus, u8, u8) {
    (work.status, work.keys, work.attempt.number)
}

/// The one check of authority: the live epoch of a running attempt, with time left on its lease. It is made before
/// anything else is looked at. LEASE-01 LEASE-12 LEASE-15
fn unauthorised(law: &Law, state: &impl Facts, work: WorkIx, by: Authority) -> Option<Refusal> {
    let attempt = &state.work(work).attempt;
    // An epoch beyond the first that still acts exists under a broken law only.
    let acts = match by {
        Authority::Current => attempt.epochs > 0,
        Authority::Stale => attempt.epochs > 1,
    };
    let forgotten = law.broken(Mutant::ForgetAuthority) && attempt.status == AttemptStatus::Running;
    if !acts && !forgotten {
        return Some(Refusal::StaleAuthority);
    }
    if attempt.lease == 0 && !law.broken(Mutant::ExpiryInclusive) {
        return Some(Refusal::LeaseExpired);
    }
    None
}

/// Whether an operator names Work that is not there, or another attempt than its last. OURS-09
fn misnamed(law: &Law, state: &impl Facts, work: WorkIx, expect: Expect) -> Option<Refusal> {
    if !state.exists(work) {
        return Some(Refusal::UnknownWork);
    }
    match expect {
        Expect::Other if !law.broken(Mutant::ExpectIgnored) => Some(Refusal::StaleTarget),
        Expect::Any | Expect::Last | Expect::Other => None,
    }
}

/// Commits the result of routing an event, under the generation that is current. ROUTE-19 BIND-10 BIND-12
fn mark(law: &Law, state: &mut impl Facts, event: EventIx, mark: RouteMark, work: Option<WorkIx>) {
    let forgets = law.broken(Mutant::MarkForgetsGeneration);
    let generation = if forgets { 1 } else { state.current().generation + 1 };
    let marked = state.event_mut(event);
    marked.mark = mark;
    marked.generation = generation;
    marked.work = work.map_or(marked.work, Into::into);
    marked.proposal = Proposal::None;
}

/// Sets the exclusion mark for the segment that just lost its authority. POLICY-22 ADOPT-22
fn exclude_segment(state: &mut impl Facts, work: WorkIx) {
    state.work_mut(work).excluded = Exclusion::LastSegment;
}

/// Ends the authority of the last attempt, and with it what was to reach its segment. LEASE-06 POLICY-23
fn release(law: &Law, state: &mut impl Facts, work: WorkIx, status: AttemptStatus) {
    intents::expire(law, state, work, status);
    let attempt = &mut state.work_mut(work).attempt;
    attempt.status = status;
    attempt.phase = Phase::None;
    attempt.lease = 0;
    attempt.epochs = 0;
    // A parked attempt keeps what active time it has left, any other needs none. WAKE-27
    if !status.open() {
        attempt.active = Timer::NONE;
    }
    let left = state.work_mut(work);
    left.host = Flag::No;
    // What has ended is cleared away with its attempt; what may still run is somebody's to look after.
    if left.process.ended() {
        left.process = Process::None;
    }
}

/// Makes an event pending input of a Work, once. POLICY-35 WAKE-09
fn enqueue(state: &mut impl Facts, event: EventIx, work: WorkIx) {
    let event = state.event_mut(event);
    event.work = work.into();
    event.input = Input::Pending;
}

/// Whether a wait was ever registered.
fn registered(state: &impl Facts, wait: WaitIx) -> bool {
    state.wait(wait).status != WaitStatus::Unregistered
}
