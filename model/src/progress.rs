//! Progress: from every reachable state rest is reachable, with nobody's help.
//!
//! The way to rest uses internal actions only: no new delivery, no operator, no crash, and no choice of an executor that
//! would paper over a fault (failing, giving up an adoption, registering a further wait). Nothing here is a bound, so a
//! state with no way to rest is a fault of the law and never of the world.

use crate::action::{Action, Commit, Ending, Env, Kind, Verdict};
use crate::graph::Graph;
use crate::index::{EventIx, WaitIx, WorkIx, below};
use crate::law::Law;
use crate::mutants::Mutant;
use crate::state::{
    Exclusion, Facts, Fallback, Flag, Hold, Input, Phase, Process, State, Timer, WaitStatus,
    WorkStatus,
};
use crate::worlds::{Does, Visit, World, visit};

/// The liveness mutants, each with a world where progress catches it.
pub const CAUGHT: &[(Mutant, &str)] = &[
    (Mutant::WakeSuppressed, "wait-no-timers"),
    (Mutant::TimerNeverFires, "pauses"),
    (Mutant::NotDueCancelsTimer, "pauses"),
    (Mutant::RecoveryNever, "attempts"),
    (Mutant::AttachUnmapped, "terminal"),
    (Mutant::RetryNeverFires, "retry"),
    (Mutant::DispatchedNeverSettles, "pinned-controls"),
    (Mutant::UnsupportedForEver, "pinned-controls"),
];

/// The rules progress stands for.
pub const RULES: &[&str] = &[
    "WAIT-17",
    "WAKE-06",
    "LEASE-02",
    "ADOPT-23",
    "ROUTE-20",
    "ROUTE-22",
    "DONE-02",
    "DONE-03",
    "TERM-04",
    "RETRY-19",
    "RETRY-21",
    "ADOPT-18",
    "POLICY-04",
    "POLICY-32",
    "POLICY-33",
    "INJECT-07",
];

/// What came of looking for stuck states in one world.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Reachable states.
    pub states: usize,
    /// States at rest.
    pub at_rest: usize,
    /// States from which no way leads to rest.
    pub stuck: usize,
    /// The shortest way to one of them.
    pub way: Option<Vec<Action>>,
    /// The longest of all shortest ways to rest.
    pub farthest: usize,
}

/// Looks for stuck states in a world.
pub fn progress(law: Law) -> Progress {
    visit(law.world, Looking { law })
}

struct Looking {
    law: Law,
}

impl Visit for Looking {
    type Out = Progress;

    fn visit<const W: usize, const E: usize, const T: usize>(
        self,
        world: &'static World,
    ) -> Progress {
        let graph: Graph<State<W, E, T>> = crate::graph::explore(self.law);
        let backwards = Backwards::of(&graph);
        let resting: Vec<u32> =
            graph.indices().filter(|ix| at_rest(world, graph.state(*ix))).collect();
        let distance = backwards.distances(&resting);
        let stuck = || graph.indices().filter(|ix| distance[slot(*ix)] == UNREACHED);
        Progress {
            states: graph.states().len(),
            at_rest: resting.len(),
            stuck: stuck().count(),
            way: stuck().next().map(|ix| graph.path(ix)),
            farthest: distance
                .iter()
                .copied()
                .filter(|steps| *steps != UNREACHED)
                .max()
                .map_or(0, slot),
        }
    }
}

/// Whether an action happens of itself, once its time comes. Where processes are known, so is what cannot be adopted and
/// what has ended without a result: there failing is no choice.
fn internal(world: &World, state: &dyn Facts, action: &Action) -> bool {
    let known = world.processes > 0;
    match action {
        Action::Commit(Commit::SettleRecovery { verdict: Verdict::NotAdoptable, .. }) if known => {
            true
        }
        Action::Commit(Commit::Fail { work, .. }) if known => {
            state.work(*work).process == Process::Lost
        }
        // Where nobody knows of processes, no result has to say that its process took something in.
        Action::Commit(Commit::Complete { proofs, .. }) if !known && !proofs.is_empty() => false,
        Action::Commit(commit) => match commit {
            Commit::CommitRoute { .. }
            | Commit::Claim { .. }
            | Commit::ClearNeverHanded { .. }
            | Commit::Pin { .. }
            | Commit::Complete { ending: Ending::Completed, .. }
            | Commit::Wake { .. }
            | Commit::FireTimer { .. }
            | Commit::AcceptTimeout { .. }
            | Commit::ClaimRecovery { .. }
            | Commit::SettleRecovery { verdict: Verdict::Adopted, .. }
            | Commit::Translate { .. }
            | Commit::CloseIdle { .. }
            | Commit::FireRetry { .. }
            | Commit::Dispatch { .. }
            | Commit::SettleDispatch { .. }
            | Commit::Vacate { .. } => true,
            Commit::Accept { .. }
            | Commit::Renew { .. }
            | Commit::Fail { .. }
            | Commit::Complete { ending: Ending::Handoff, .. }
            | Commit::RegisterWait { .. }
            | Commit::SettleRecovery { verdict: Verdict::NotAdoptable, .. }
            | Commit::Cancel { .. }
            | Commit::Reload { .. }
            | Commit::Drop { .. }
            | Commit::Replay { .. }
            | Commit::Reopen { .. }
            | Commit::CreateWork { .. }
            | Commit::Hold { .. }
            | Commit::Release { .. }
            | Commit::Retry { .. }
            | Commit::Interrupt { .. }
            | Commit::Detach { .. }
            | Commit::Restore
            | Commit::ReleaseRestore { .. } => false,
        },
        Action::World(
            Env::Evaluate { .. }
            | Env::Tick
            | Env::ProcessExits { .. }
            | Env::Launch { .. }
            | Env::Proceed { .. }
            | Env::LetGo { .. }
            | Env::ProcessEnds { .. }
            | Env::Deliver { .. }
            | Env::TakeIn { .. },
        ) => true,
        Action::World(Env::Crash | Env::KeeperDies { .. }) => false,
    }
}

/// Rest: nothing is left to be done but by a sender or a person, and why is on record.
pub fn at_rest(world: &World, state: &dyn Facts) -> bool {
    let events =
        below(world.slots()).map(EventIx).all(|event| routed_or_diagnosed(world, state, event));
    let works = below(world.works.len()).map(WorkIx).all(|work| work_rests(world, state, work));
    events && works
}

/// An event whose key went to another scope, or whose decision claims a key of another Work, stays unrouted, which its
/// diagnosis says; so does what comes behind it. OWN-07
fn routed_or_diagnosed(world: &World, state: &dyn Facts, event: EventIx) -> bool {
    if !state.is_unrouted(event) {
        return true;
    }
    let work = state.resolves_to(world, event);
    let astray = state.speaks_of(world, event).is_some() && work.is_none();
    let behind = |lower: EventIx| {
        state.event(lower).seq < state.event(event).seq
            && state.is_unrouted(lower)
            && state.resolves_to(world, lower) == work
            && routed_or_diagnosed(world, state, lower)
    };
    astray
        || claims_foreign_key(world, state, event)
        || waits_for_the_end(world, state, event)
        || (work.is_some() && below(world.slots()).map(EventIx).any(behind))
}

/// An event that a running attempt lacks the control for, and whose route has no fallback, stays unrouted until the attempt
/// ends, which its diagnosis says. POLICY-32
fn waits_for_the_end(world: &World, state: &dyn Facts, event: EventIx) -> bool {
    let decision = world.decision(event, state.current().configuration);
    let wanted = matches!(decision.does, Does::Update | Does::Work);
    let Some(work) = state.resolves_to(world, event) else {
        return false;
    };
    state.work(work).status == WorkStatus::Running
        && wanted
        && !state.supports(world, work, decision.control.policy.needs())
        && decision.control.fallback == Fallback::None
}

/// An attempt that could only end by ending its Work runs on while such an event has to wait for that: somebody has to act.
/// DONE-02 POLICY-32
fn runs_on(world: &World, state: &dyn Facts, ix: WorkIx) -> bool {
    let work = state.work(ix);
    let waits = |event: EventIx| {
        state.is_unrouted(event)
            && state.resolves_to(world, event) == Some(ix)
            && waits_for_the_end(world, state, event)
    };
    work.attempt.phase == Phase::Pinned
        && !world.kind(work.kind).standing
        && !state.has_pending(ix)
        && state.open_intents(ix).is_empty()
        && below(world.slots()).map(EventIx).any(waits)
}

fn claims_foreign_key(world: &World, state: &dyn Facts, event: EventIx) -> bool {
    let work = state.resolves_to(world, event);
    let foreign = |key: &u8| {
        let owner = state.owner(state.newest(world, *key));
        owner.is_some_and(|owner| Some(owner) != work)
    };
    world.decision(event, state.current().configuration).attaches.iter().any(foreign)
}

fn work_rests(world: &World, state: &dyn Facts, ix: WorkIx) -> bool {
    let work = state.work(ix);
    // Nothing is left of processes, kept or held.
    let settled = work.excluded == Exclusion::None && work.left_held + work.left_running == 0;
    let restored = state.current().restore_hold == Flag::Yes;
    let status = match work.status {
        // What a restore fenced is not recovered before a person says so, which the restore hold has on record. OURS-21
        WorkStatus::Running => (restored && work.attempt.epochs == 0) || runs_on(world, state, ix),
        // Its retry comes of itself, unless a limit refused it and the Work is held for that, or a restore stopped the
        // clock.
        WorkStatus::Ready if work.backoff > 0 => {
            let refused = work.retry == Timer::DISABLED && work.holds.has(Hold::CausalLimit);
            refused || (restored && work.retry.ticks().is_some())
        }
        // Ready Work that does not start is held for a reason, or was handed off or stands with nothing to do. A world
        // that only routes starts nothing.
        WorkStatus::Ready => {
            let held = !work.holds.is_empty() || restored;
            held || !world.offers(Kind::Claim) || idles(world, state, ix)
        }
        WorkStatus::Waiting => {
            state.active_wait(world, ix).is_some_and(|wait| wait_rests(world, state, wait))
        }
        WorkStatus::Completed => state.input(ix, Input::Pending).is_empty(),
        WorkStatus::Absent | WorkStatus::Failed | WorkStatus::Cancelled => true,
    };
    settled && status
}

/// Work without input that is not meant to end, and whose idle timer, if it has one, somebody would have to look at.
fn idles(world: &World, state: &dyn Facts, ix: WorkIx) -> bool {
    let work = state.work(ix);
    let watched = work.idle != Timer::NONE && world.offers(Kind::CloseIdle);
    !state.has_pending(ix) && work.wake.wait().is_none() && !watched
}

/// An active wait rests while no match is accepted, no timer runs, and somebody outside can still end it; a timer
/// that a causal limit disabled has its rejection on record.
fn wait_rests(world: &World, state: &dyn Facts, ix: WaitIx) -> bool {
    let wait = state.wait(ix);
    // A restore stops the clock until a person says that it may go on. OURS-21
    let stopped = state.current().restore_hold == Flag::Yes && wait.timer.ticks().is_some();
    let reachable = !world.wait(ix).keys.is_empty() || wait.timer == Timer::DISABLED || stopped;
    let was_refused = world.wait(ix).timeout.is_none() || wait.timer == Timer::DISABLED || stopped;
    wait.status == WaitStatus::Active
        && state.matched(world, ix).is_empty()
        && state.selected(world, ix).is_empty()
        && reachable
        && was_refused
}

const UNREACHED: u32 = u32::MAX;

/// The internal transitions, turned round.
struct Backwards {
    rows: Vec<u32>,
    from: Vec<u32>,
}

impl Backwards {
    fn of<S: Facts>(graph: &Graph<S>) -> Self {
        let mut rows = vec![0_u32; graph.states().len() + 1];
        let edges = || {
            graph.indices().flat_map(|ix| {
                graph
                    .edges(ix)
                    .iter()
                    .filter(move |edge| internal(graph.law().world, graph.state(ix), &edge.action))
                    .map(move |edge| (ix, edge.to))
            })
        };
        for (_, to) in edges() {
            rows[slot(to) + 1] += 1;
        }
        for ix in 1..rows.len() {
            rows[ix] += rows[ix - 1];
        }
        let mut next = rows.clone();
        let mut from = vec![0; slot(rows[rows.len() - 1])];
        for (source, to) in edges() {
            from[slot(next[slot(to)])] = source;
            next[slot(to)] += 1;
        }
        Backwards { rows, from }
    }

    /// Steps from each state to the nearest goal.
    fn distances(&self, goals: &[u32]) -> Vec<u32> {
        let mut distance = vec![UNREACHED; self.rows.len() - 1];
        for goal in goals {
            distance[slot(*goal)] = 0;
        }
        let mut queue = goals.to_vec();
        let mut next = 0;
        while let Some(here) = queue.get(next).copied() {
            next += 1;
            for from in &self.from[slot(self.rows[slot(here)])..slot(self.rows[slot(here) + 1])] {
                if distance[slot(*from)] == UNREACHED {
                    distance[slot(*from)] = distance[slot(here)] + 1;
                    queue.push(*from);
                }
            }
        }
        distance
    }
}

fn slot(ix: u32) -> usize {
    usize::try_from(ix).expect("a state number fits a table index")
}
