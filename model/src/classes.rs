//! Transition classes: an action's kind, the guard facts the rules speak of, and the outcome.
//!
//! Two steps of one class are one case to the law. A class is represented by the first step found that shows it, so
//! by one of the shallowest. Refusals, deferrals and duplicates are classes as well: probing each at its representative
//! is what shows a weakened guard. A mutant that survives a corpus of classes is a fact missing here.

mod facts;

use std::collections::BTreeMap;

use crate::action::{
    Action, Authority, Commit, Ending, Env, Expect, Hint, Kind, Mark, SendAnswer, Verdict,
};
use crate::graph::Graph;
use crate::index::{DeliveryIx, EventIx, Proofs, WaitIx, WorkIx};
use crate::law::Law;
use crate::outcome::{Outcome, Refusal, RouteMark};
use crate::state::{
    AttemptStatus, Facts, Flag, IntentKind, IntentStatus, Message, Phase, Proposal, State,
};
use crate::worlds::{Ask, World};

pub use facts::{Answer, EventFacts, TimerFacts, WaitFacts, WorkFacts};
use facts::{
    answer, event_facts, guards_on_event, guards_on_work, proof_facts, seen_of_event, seen_of_work,
    source_facts, wait_facts, work_facts,
};

/// One case of the law.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Class {
    /// The kind of action.
    pub kind: Kind,
    /// The authority it shows, the watermark it declares, the verdict it brings: one number for the arguments.
    pub arguments: u8,
    /// The Work it speaks of.
    pub work: Option<WorkFacts>,
    /// The wait it speaks of.
    pub wait: Option<WaitFacts>,
    /// The event it speaks of.
    pub event: Option<EventFacts>,
    /// What its result says was taken in: which kinds of proof are among it.
    pub proofs: u16,
    /// What was answered.
    pub answer: Answer,
}

/// A class with the first step that shows it.
#[derive(Clone, Copy, Debug)]
pub struct Representative {
    /// The class.
    pub class: Class,
    /// The state before the step.
    pub state: u32,
    /// The action.
    pub action: Action,
    /// What the law answers.
    pub outcome: Outcome,
    /// Whether it is a transition; if not, it is a probe.
    pub transition: bool,
}

/// Every class of a world with its representative, in order of class.
pub fn classes<const W: usize, const E: usize, const T: usize>(
    graph: &Graph<State<W, E, T>>,
) -> Vec<Representative> {
    let world = graph.law().world;
    let mut found: BTreeMap<Class, Representative> = BTreeMap::new();
    for ix in graph.indices() {
        let state = graph.state(ix);
        for (action, outcome) in graph.offers(ix) {
            let class = class_of(world, state, action, outcome);
            found.entry(class).or_insert_with(|| {
                let changed = graph.law().step(state, action).1 != *state;
                let transition = outcome.accepted() || changed;
                Representative { class, state: ix, action, outcome, transition }
            });
        }
    }
    found.into_values().collect()
}

/// Traces that together show every class of a world, deterministic and few: the deepest representative first, and at
/// the end of each trace every refusal that its state can still show.
pub fn covering<const W: usize, const E: usize, const T: usize>(
    graph: &Graph<State<W, E, T>>,
    found: &[Representative],
) -> Vec<Vec<Action>> {
    let mut missing: BTreeMap<Class, Representative> =
        found.iter().map(|representative| (representative.class, *representative)).collect();
    let mut deepest: Vec<Representative> = missing.values().copied().collect();
    deepest.sort_by_key(|found| (std::cmp::Reverse(graph.depth(found.state)), found.class));
    let mut traces = Vec::new();
    for wanted in deepest {
        if missing.contains_key(&wanted.class) {
            traces.push(trace_through(graph, wanted, &mut missing));
        }
    }
    traces
}

fn trace_through<const W: usize, const E: usize, const T: usize>(
    graph: &Graph<State<W, E, T>>,
    wanted: Representative,
    missing: &mut BTreeMap<Class, Representative>,
) -> Vec<Action> {
    let law = graph.law();
    let mut state = State::<W, E, T>::new();
    let mut trace = Vec::new();
    for action in graph.path(wanted.state).into_iter().chain([wanted.action]) {
        trace.extend(probes(law, &state, missing));
        let (outcome, after) = law.step(&state, action);
        if missing.remove(&class_of(law.world, &state, action, outcome)).is_some() || after != state
        {
            trace.push(action);
        }
        state = after;
    }
    trace
}

/// What this state refuses and no trace has shown yet.
fn probes<const W: usize, const E: usize, const T: usize>(
    law: Law,
    state: &State<W, E, T>,
    missing: &mut BTreeMap<Class, Representative>,
) -> Vec<Action> {
    crate::worlds::offered(law.world, state)
        .into_iter()
        .filter(|action| {
            let (outcome, after) = law.step(state, *action);
            after == *state
                && missing.remove(&class_of(law.world, state, *action, outcome)).is_some()
        })
        .collect()
}

/// The class of a step.
pub fn class_of(world: &World, state: &dyn Facts, action: Action, outcome: Outcome) -> Class {
    let about = match outcome {
        // Authority is looked at before anything else, so nothing else tells such refusals apart.
        Outcome::Refused(Refusal::StaleAuthority | Refusal::LeaseExpired) => {
            authority_only(world, state, action)
        }
        Outcome::Accepted(_)
        | Outcome::Duplicate(_)
        | Outcome::Deferred(_)
        | Outcome::Conflict
        | Outcome::Refused(_) => subject(world, state, action),
    };
    let kind = action.kind();
    let proofs = about.proofs.map_or(0, |(work, named)| match outcome {
        Outcome::Accepted(_) | Outcome::Conflict => proof_facts(state, work, named),
        Outcome::Refused(Refusal::StaleAuthority) => NAMED * u16::from(!named.is_empty()),
        // What any other refused result names has no say.
        Outcome::Refused(_) | Outcome::Duplicate(_) | Outcome::Deferred(_) => 0,
    });
    Class {
        kind,
        arguments: about.arguments,
        work: about.work.map(|work| {
            let facts = guards_on_work(kind, work_facts(world, state, work));
            seen_of_work(kind, outcome, proofs, facts)
        }),
        wait: about.wait.map(|wait| wait_facts(world, state, wait)),
        event: about.event.map(|event| {
            let facts = match about.wait {
                Some(wait) if kind == Kind::Translate => source_facts(world, state, wait, event),
                Some(_) | None => event_facts(world, state, event),
            };
            seen_of_event(outcome, guards_on_event(kind, facts))
        }),
        proofs,
        answer: answer(world, outcome),
    }
}

/// A result without authority names something, whatever that is.
const NAMED: u16 = 1 << 15;

#[derive(Default)]
struct Subject {
    arguments: u8,
    work: Option<WorkIx>,
    wait: Option<WaitIx>,
    event: Option<EventIx>,
    proofs: Option<(WorkIx, Proofs)>,
}

fn authority_only(world: &World, state: &dyn Facts, action: Action) -> Subject {
    match action {
        Action::Commit(commit) => {
            let (work, by) = commit.shown().unzip();
            Subject {
                arguments: by.map_or(0, authority),
                work,
                proofs: named(commit),
                ..Subject::default()
            }
        }
        Action::World(_) => subject(world, state, action),
    }
}

/// What a result names as taken in.
fn named(commit: Commit) -> Option<(WorkIx, Proofs)> {
    if let Commit::Complete { work, proofs, .. }
    | Commit::Fail { work, proofs, .. }
    | Commit::RegisterWait { work, proofs, .. } = commit
    {
        Some((work, proofs))
    } else {
        None
    }
}

/// What an action speaks of: its Work, its wait, its event, as far as a guard looks at them.
fn subject(world: &World, state: &dyn Facts, action: Action) -> Subject {
    let of_work = |work, by: Option<Authority>| Subject {
        arguments: by.map_or(0, authority),
        work: Some(work),
        ..Subject::default()
    };
    let of_event = |event| {
        let work = state.speaks_of(world, event);
        let wait = work.and_then(|work| state.active_wait(world, work));
        Subject { work, wait, event: Some(event), ..Subject::default() }
    };
    let of_wait = |wait| Subject {
        work: Some(world.wait(wait).work),
        wait: Some(wait),
        ..Subject::default()
    };
    match action {
        Action::Commit(commit) => match commit {
            Commit::Accept { delivery } => Subject {
                event: Some(delivery.into()),
                arguments: u8::from(world.delivery(delivery).target.is_some())
                    + 2 * u8::from(world.delivery(delivery).key.is_some())
                    + 4 * u8::from(world.delivery(delivery).core),
                ..Subject::default()
            },
            Commit::CommitRoute { event } => of_event(event),
            Commit::Claim { work } | Commit::ClaimRecovery { work } => of_work(work, None),
            Commit::Cancel { work, expect: meant, for_good } => Subject {
                wait: state.active_wait(world, work),
                arguments: expect(meant) + 4 * u8::from(for_good),
                ..of_work(work, None)
            },
            Commit::Complete { work, by, ending, declares, proofs: _ } => Subject {
                arguments: authority(by)
                    + 2 * u8::from(ending == Ending::Handoff)
                    + 4 * u8::from(declares),
                proofs: named(commit),
                ..of_work(work, None)
            },
            Commit::Reload { configuration } => {
                Subject { arguments: reload(state, configuration), ..Subject::default() }
            }
            Commit::Drop { event } => Subject { event: Some(event), ..Subject::default() },
            Commit::Replay { event, request } => Subject {
                arguments: asked(state, request),
                event: Some(event),
                ..Subject::default()
            },
            Commit::Reopen { work, expect: meant, request }
            | Commit::Retry { work, expect: meant, request }
            | Commit::Release { work, expect: meant, request } => Subject {
                arguments: expect(meant) + 4 * asked(state, request),
                ..of_work(work, None)
            },
            Commit::CreateWork { request } => creation(world, state, request),
            Commit::Hold { work, expect: meant } => Subject {
                wait: state.active_wait(world, work),
                arguments: expect(meant),
                ..of_work(work, None)
            },
            Commit::Translate { wait, source } => Subject { event: Some(source), ..of_wait(wait) },
            Commit::CloseIdle { work } => of_work(work, None),
            Commit::ClearNeverHanded { work, by }
            | Commit::Pin { work, by }
            | Commit::Renew { work, by }
            | Commit::Detach { work, by }
            | Commit::Vacate { work, segment: by } => of_work(work, Some(by)),
            Commit::Fail { work, by, hint: given, proofs: _ } => Subject {
                arguments: authority(by) + 2 * hint(given),
                proofs: named(commit),
                ..of_work(work, None)
            },
            Commit::Dispatch { work, by, event } => Subject {
                arguments: authority(by) + 8 * u8::from(foreign(state, work, event)),
                event: own(state, work, event),
                ..of_work(work, None)
            },
            Commit::SettleDispatch { work, by, event, answer } => Subject {
                arguments: authority(by)
                    + 2 * answered(answer)
                    + 8 * u8::from(foreign(state, work, event)),
                event: own(state, work, event),
                ..of_work(work, None)
            },
            Commit::Interrupt { work, expect: meant, request, implemented } => Subject {
                arguments: expect(meant) + 4 * asked(state, request) + 8 * u8::from(implemented),
                ..of_work(work, None)
            },
            Commit::FireRetry { work, attempt } => Subject {
                arguments: u8::from(state.work(work).backoff == attempt)
                    + 2 * u8::from(accepted_retry(world, state, work, attempt))
                    + 4 * u8::from(at_depth(world, state, work)),
                ..of_work(work, None)
            },
            Commit::Restore => Subject {
                arguments: restored(state)
                    + 2 * u8::from(running(state))
                    + 4 * u8::from(launching(state))
                    + 8 * u8::from(trying(state)),
                ..Subject::default()
            },
            Commit::ReleaseRestore { request } => Subject {
                arguments: asked(state, request) + 2 * restored(state),
                ..Subject::default()
            },
            Commit::RegisterWait { work, by, wait, after, proofs: _ } => Subject {
                arguments: authority(by) + 2 * mark(after) + 8 * wait.0,
                work: Some(work),
                wait: Some(wait),
                event: None,
                proofs: named(commit),
            },
            Commit::SettleRecovery { work, by, verdict } => Subject {
                arguments: authority(by) + 2 * u8::from(verdict == Verdict::Adopted),
                ..of_work(work, None)
            },
            Commit::Wake { wait } | Commit::FireTimer { wait } | Commit::AcceptTimeout { wait } => {
                of_wait(wait)
            }
        },
        Action::World(Env::Evaluate { event }) => {
            Subject { event: Some(event), ..Subject::default() }
        }
        Action::World(
            Env::ProcessExits { work }
            | Env::Launch { work }
            | Env::Proceed { work }
            | Env::LetGo { work }
            | Env::ProcessEnds { work }
            | Env::KeeperDies { work },
        ) => of_work(work, None),
        Action::World(Env::Deliver { event } | Env::TakeIn { event }) => Subject {
            work: state.event(event).work.work(),
            event: Some(event),
            ..Subject::default()
        },
        Action::World(Env::Tick) => Subject { arguments: spending(state), ..Subject::default() },
        Action::World(Env::Crash) => Subject {
            arguments: hosting(state) + 64 * u8::from(sending(state)) + 128 * u8::from(sent(state)),
            ..Subject::default()
        },
    }
}

/// Whose active time is at stake as time passes: a parked attempt's (1), a running one's (2).
fn spending(state: &dyn Facts) -> u8 {
    let left = |status: AttemptStatus| {
        state.works().iter().any(|work| {
            work.attempt.status == status
                && work.attempt.active.ticks().is_some_and(|left| left > 0)
        })
    };
    u8::from(left(AttemptStatus::Parked)) + 2 * u8::from(left(AttemptStatus::Running))
}

/// Which processes a crash must leave alone: those it takes the host from, by what they are.
fn hosting(state: &dyn Facts) -> u8 {
    let hosted = state.works().iter().filter(|work| work.host == Flag::Yes);
    hosted.map(|work| 1 << work.process as u8).fold(0, |all, one| all | one)
}

/// An intent is open, which a crash must leave so.
fn sending(state: &dyn Facts) -> bool {
    state.events().iter().any(|event| event.intent.status.open())
}

/// A send is under way, which a restore must not forget.
fn trying(state: &dyn Facts) -> bool {
    state.events().iter().any(|event| event.intent.status == IntentStatus::Dispatched)
}

/// A keeper or its process has a message, which a crash must leave where it is.
fn sent(state: &dyn Facts) -> bool {
    state.events().iter().any(|event| event.intent.message != Message::None)
}

/// The event whose intent a Work has, if it has one.
fn own(state: &dyn Facts, work: WorkIx, event: EventIx) -> Option<EventIx> {
    state.intent(work, event).map(|_| event)
}

/// It is to reach another Work.
fn foreign(state: &dyn Facts, work: WorkIx, event: EventIx) -> bool {
    let sent = state.event(event);
    sent.intent.kind != IntentKind::None && sent.work != work.into()
}

fn answered(answer: SendAnswer) -> u8 {
    match answer {
        SendAnswer::Accepted => 0,
        SendAnswer::NotAccepting => 1,
        SendAnswer::Failed => 2,
    }
}

fn accepted_retry(world: &World, state: &dyn Facts, work: WorkIx, attempt: u8) -> bool {
    world.retry_of(work, attempt).is_some_and(|due| state.is_accepted(due))
}

/// Whether a retry would be deeper than the root of what failed allows.
fn at_depth(world: &World, state: &dyn Facts, work: WorkIx) -> bool {
    let trigger = state.work(work).attempt.trigger.event();
    trigger.is_some_and(|trigger| state.event(trigger).depth >= world.depth_max)
}

fn restored(state: &dyn Facts) -> u8 {
    u8::from(state.current().restore_hold == Flag::Yes)
}

fn running(state: &dyn Facts) -> bool {
    state.works().iter().any(|work| work.attempt.status == AttemptStatus::Running)
}

fn launching(state: &dyn Facts) -> bool {
    let launches = |phase: Phase| matches!(phase, Phase::NeverHanded | Phase::Handed);
    state.works().iter().any(|work| launches(work.attempt.phase))
}

fn hint(given: Hint) -> u8 {
    match given {
        Hint::None => 0,
        Hint::Valid => 1,
        Hint::Invalid => 2,
        Hint::Excessive => 3,
    }
}

fn asked(state: &dyn Facts, request: DeliveryIx) -> u8 {
    u8::from(state.is_accepted(request.into()))
}

/// A reload is told from others by what it must leave alone: proposals, marks, open attempts.
fn reload(state: &dyn Facts, configuration: u8) -> u8 {
    let proposed = state.events().iter().any(|event| event.proposal == Proposal::Fresh);
    let marked = state.events().iter().any(|event| event.mark != RouteMark::Unrouted);
    let open = state.works().iter().any(|work| work.attempt.status.open());
    u8::from(configuration == state.current().configuration)
        + 2 * u8::from(proposed)
        + 4 * u8::from(marked)
        + 8 * u8::from(open)
}

fn creation(world: &World, state: &dyn Facts, request: DeliveryIx) -> Subject {
    let def = world.delivery(request);
    let (parent, authorised) = match def.asks {
        Some(Ask::Create { parent, authorised }) => (parent, authorised),
        Some(
            Ask::Replay(_)
            | Ask::Reopen(_)
            | Ask::Release(_)
            | Ask::Retry(_)
            | Ask::Interrupt(_)
            | Ask::ReleaseRestore,
        )
        | None => (None, false),
    };
    let abroad = parent.is_some_and(|parent| state.work(parent).scope != def.scope);
    let owned = def.key.is_some_and(|key| state.owner(key).is_some());
    Subject {
        arguments: asked(state, request)
            + 2 * u8::from(authorised)
            + 4 * u8::from(abroad)
            + 8 * u8::from(owned),
        work: parent,
        ..Subject::default()
    }
}

fn expect(meant: Expect) -> u8 {
    match meant {
        Expect::Any => 0,
        Expect::Last => 1,
        Expect::Other => 2,
    }
}

fn authority(by: Authority) -> u8 {
    match by {
        Authority::Current => 0,
        Authority::Stale => 1,
    }
}

fn mark(after: Mark) -> u8 {
    match after {
        Mark::Start => 0,
        Mark::Batch => 1,
        Mark::Latest => 2,
        Mark::Beyond => 3,
    }
}
