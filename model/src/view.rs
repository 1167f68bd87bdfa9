//! The named view: what is compared after every action, and what a person reads.
//!
//! A runtime is observed as the same structure. Row ids, revisions, payloads, tokens and the journal have no place here.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::index::{EventIx, Maybe, WaitIx, WorkIx, below};
use crate::outcome::RouteMark;
use crate::state::{
    AttemptStatus, CONTINUATION_REJECTED, Event, Exclusion, Facts, Fallback, Flag, Hold,
    ITSELF_REJECTED, Input, Intent, IntentKind, IntentStatus, Phase, REPLAY_REJECTED,
    SUCCESSOR_REJECTED, TIMEOUT_REJECTED, Timer, WaitStatus, Work, WorkStatus,
};
use crate::worlds::{Origin, World};

/// Everything a state shows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct View {
    /// The current generation of the configuration, 0 for the first.
    pub generation: u8,
    /// The incarnation of the database, 1 until it is restored from a backup.
    pub incarnation: u8,
    /// It was restored, and nobody has said yet that its other life has ended.
    pub restore_hold: bool,
    /// Accepted events in sequence order.
    pub events: Vec<EventView>,
    /// Every key of the universe, in its order.
    pub keys: Vec<KeyView>,
    /// Existing Works, in the order of the universe.
    pub works: Vec<WorkView>,
    /// Rejections recorded, in the order of their kinds and then of the universe.
    pub rejections: Vec<RejectionView>,
}

/// One accepted event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EventView {
    /// Which it is: a delivery's name, `timeout/WAIT`, `woken/WAIT`, `alias/WAIT/EVENT`, `ended/WORK/ATTEMPT`,
    /// `created/WORK` or `retry/WORK/ATTEMPT`.
    pub event: String,
    /// Its key, in the generation it was accepted under.
    pub key: Option<String>,
    /// The committed result of routing it; `unrouted` if there is none.
    pub mark: RouteMark,
    /// The generation its mark was made under.
    pub generation: Option<u8>,
    /// The Work its mark associates it with.
    pub work: Option<String>,
    /// The event its chain started from.
    pub root: String,
    /// Derivations since that root.
    pub depth: u8,
    /// Its identity came again with another body.
    pub conflicting: bool,
    /// The policy that its route asked for, where a fallback stood in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<IntentKind>,
    /// How it is to reach an attempt, or was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<IntentView>,
}

/// The intent of an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IntentView {
    /// Which control it is.
    pub kind: IntentKind,
    /// The attempt it was committed for.
    pub attempt: u8,
    /// What became of it.
    pub status: IntentStatus,
    /// What stands in if the control fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_error: Option<Fallback>,
}

/// One key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeyView {
    /// The key.
    pub key: String,
    /// The Work that owns it.
    pub owner: Option<String>,
}

/// One Work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkView {
    /// Which it is.
    pub work: String,
    /// Where its lifecycle stands.
    pub status: WorkStatus,
    /// Its kind.
    pub kind: String,
    /// Why it does not start, in order of declaration.
    pub holds: Vec<Hold>,
    /// Failures counted against its budget.
    pub failures: u8,
    /// The exclusion mark, and whether it names the last segment.
    pub excluded: Exclusion,
    /// Its idle timer.
    pub idle: TimerView,
    /// The failed attempt whose retry it waits for.
    pub backoff: Option<u8>,
    /// When that retry is due.
    pub retry: TimerView,
    /// The Work it succeeds.
    pub predecessor: Option<String>,
    /// The Work it is a child of.
    pub parent: Option<String>,
    /// The event by which a route closed it.
    pub closed_by: Option<String>,
    /// Its last attempt.
    pub attempt: Option<AttemptView>,
    /// Pending input in acceptance order.
    pub pending: Vec<String>,
    /// Consumed input in acceptance order, the last batch included.
    pub consumed: Vec<String>,
    /// Its last wait.
    pub wait: Option<WaitView>,
}

/// The last attempt of a Work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttemptView {
    /// Its number, from 1.
    pub number: u8,
    /// Where it stands.
    pub status: AttemptStatus,
    /// Phase of a running attempt; `none` for any other.
    pub phase: Phase,
    /// The generation its binding was pinned in.
    pub generation: u8,
    /// Active time it has left while it is open, in ticks, if its binding bounds it.
    pub active: Option<u8>,
    /// Its lease.
    pub lease: LeaseView,
    /// The event that started it.
    pub trigger: String,
    /// Input consumed by its last segment, which claimed it or whose result proved it, in acceptance order.
    pub batch: Vec<String>,
    /// The event whose interrupt fenced it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupted_by: Option<String>,
}

/// What is left of a lease.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum LeaseView {
    /// Released, or the attempt does not run.
    None,
    /// `now < expires_at`.
    Live,
    /// `now >= expires_at`.
    Expired,
}

/// The last wait of a Work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitView {
    /// Which it is.
    pub wait: String,
    /// Where it stands.
    pub status: WaitStatus,
    /// Matches lie strictly above it.
    pub watermark: u8,
    /// The event that woke it.
    pub winner: Option<String>,
    /// Its timer.
    pub timer: TimerView,
    /// The last source event translated, while its subscription stands.
    pub checkpoint: Option<u8>,
}

/// The timer of a wait, of idleness or of a retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TimerView {
    /// Never armed, fired or cancelled.
    None,
    /// A causal limit refused its firing.
    Disabled,
    /// Armed, due in so many ticks; 0 = due.
    Armed(u8),
}

/// One recorded rejection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RejectionView {
    /// What was refused.
    pub kind: RejectionKind,
    /// For what: the wait of a timeout or a continuation, `WAIT/EVENT` for an alias, `WORK/ATTEMPT` for a turn's end or a
    /// retry, the routed event for a successor, the original for a replay.
    pub of: String,
}

/// Which derived event a causal limit refused.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum RejectionKind {
    /// Its timeout.
    Timeout,
    /// The continuation of its wake.
    Continuation,
    /// An alias.
    Alias,
    /// The end of a turn.
    TurnEnd,
    /// The successor of ended Work.
    Successor,
    /// A replay.
    Replay,
    /// The retry of a failed attempt.
    Retry,
}

/// The named view of a state.
pub fn view(world: &World, state: &dyn Facts) -> View {
    let mut events: Vec<EventIx> = below(state.events().len())
        .map(EventIx)
        .filter(|event| state.is_accepted(*event))
        .collect();
    events.sort_by_key(|event| state.event(*event).seq);
    View {
        generation: state.current().generation,
        incarnation: state.current().restores + 1,
        restore_hold: state.current().restore_hold == Flag::Yes,
        events: events
            .into_iter()
            .map(|event| event_view(world, event, state.event(event)))
            .collect(),
        keys: below(world.keys.len()).map(|key| key_view(world, state, key)).collect(),
        works: below(state.works().len())
            .map(WorkIx)
            .filter(|work| state.exists(*work))
            .map(|work| work_view(world, state, work))
            .collect(),
        rejections: rejections(world, state),
    }
}

fn event_view(world: &World, ix: EventIx, event: &Event) -> EventView {
    EventView {
        event: world.event_name(ix),
        key: event.key.key().map(|key| world.keys[usize::from(key)].to_string()),
        mark: event.mark,
        generation: event.generation.checked_sub(1),
        work: event.work.work().map(|work| world.work_name(work)),
        root: named(world, event.root).unwrap_or_default(),
        depth: event.depth,
        conflicting: event.conflicting == Flag::Yes,
        asked: (event.asked != IntentKind::None).then_some(event.asked),
        intent: intent_view(&event.intent),
    }
}

fn intent_view(intent: &Intent) -> Option<IntentView> {
    let Intent { kind, attempt, status, on_error, message: _ } = *intent;
    let on_error = (on_error != Fallback::None).then_some(on_error);
    (kind != IntentKind::None).then_some(IntentView { kind, attempt, status, on_error })
}

fn key_view(world: &World, state: &dyn Facts, key: u8) -> KeyView {
    KeyView {
        key: world.keys[usize::from(key)].to_string(),
        owner: state.owner(key).map(|work| world.work_name(work)),
    }
}

fn work_view(world: &World, state: &dyn Facts, ix: WorkIx) -> WorkView {
    let work = state.work(ix);
    let mut consumed = state.input(ix, Input::Consumed);
    consumed.extend(state.input(ix, Input::Batch));
    consumed.sort_by_key(|event| state.event(*event).seq);
    WorkView {
        work: world.work_name(ix),
        status: work.status,
        kind: world.kind(work.kind).name.into(),
        holds: work.holds.reasons().collect(),
        failures: work.failures,
        excluded: work.excluded,
        idle: timer(work.idle),
        backoff: (work.backoff > 0).then_some(work.backoff),
        retry: timer(work.retry),
        predecessor: work.predecessor.work().map(|work| world.work_name(work)),
        parent: work.parent.work().map(|work| world.work_name(work)),
        closed_by: named(world, work.closed_by),
        attempt: (work.attempt.number > 0).then(|| attempt_view(world, state, ix)),
        pending: names(world, &state.input(ix, Input::Pending)),
        consumed: names(world, &consumed),
        wait: work.last_wait.wait().map(|wait| wait_view(world, state, wait)),
    }
}

fn attempt_view(world: &World, state: &dyn Facts, work: WorkIx) -> AttemptView {
    let attempt = &state.work(work).attempt;
    AttemptView {
        number: attempt.number,
        status: attempt.status,
        phase: attempt.phase,
        generation: attempt.generation,
        active: attempt.active.ticks(),
        lease: lease(state.work(work)),
        trigger: named(world, attempt.trigger).unwrap_or_default(),
        batch: names(world, &state.input(work, Input::Batch)),
        interrupted_by: named(world, attempt.interrupted_by),
    }
}

/// What is left of the lease of a Work's last attempt.
pub fn lease(work: &Work) -> LeaseView {
    match (work.attempt.status, work.attempt.lease) {
        (AttemptStatus::Running, 0) => LeaseView::Expired,
        (AttemptStatus::Running, _) => LeaseView::Live,
        (
            AttemptStatus::None
            | AttemptStatus::Parked
            | AttemptStatus::Completed
            | AttemptStatus::Waiting
            | AttemptStatus::Failed
            | AttemptStatus::Cancelled,
            _,
        ) => LeaseView::None,
    }
}

fn wait_view(world: &World, state: &dyn Facts, ix: WaitIx) -> WaitView {
    let wait = state.wait(ix);
    WaitView {
        wait: world.wait(ix).name.to_string(),
        status: wait.status,
        watermark: wait.watermark,
        winner: named(world, wait.winner),
        timer: timer(wait.timer),
        checkpoint: (wait.subscribed == Flag::Yes).then_some(wait.checkpoint),
    }
}

fn timer(timer: Timer) -> TimerView {
    match timer.ticks() {
        Some(ticks) => TimerView::Armed(ticks),
        None if timer == Timer::DISABLED => TimerView::Disabled,
        None => TimerView::None,
    }
}

fn rejections(world: &World, state: &dyn Facts) -> Vec<RejectionView> {
    let of_waits = below(world.waits.len()).map(WaitIx).flat_map(|wait| {
        let (bits, name) = (state.wait(wait).rejected, world.wait(wait).name);
        [
            (bits & TIMEOUT_REJECTED, RejectionKind::Timeout),
            (bits & CONTINUATION_REJECTED, RejectionKind::Continuation),
        ]
        .map(|(bit, kind)| (bit, kind, name.to_string()))
    });
    let of_events = below(world.slots()).map(EventIx).flat_map(|event| {
        let (bits, name) = (state.event(event).rejected, world.event_name(event));
        let (kind, of) = match world.origin(event) {
            Origin::Ended(work, attempt) => {
                (RejectionKind::TurnEnd, format!("{}/{attempt}", world.work_name(work)))
            }
            Origin::Alias(wait, source) => {
                let (wait, source) = (world.wait(wait).name, world.event_name(source));
                (RejectionKind::Alias, format!("{wait}/{source}"))
            }
            Origin::Retry(work, attempt) => {
                (RejectionKind::Retry, format!("{}/{attempt}", world.work_name(work)))
            }
            Origin::Delivery(_)
            | Origin::Timeout(_)
            | Origin::Continuation(_)
            | Origin::Created(_) => (RejectionKind::Alias, name.clone()),
        };
        [
            (bits & ITSELF_REJECTED, kind, of),
            (bits & SUCCESSOR_REJECTED, RejectionKind::Successor, name.clone()),
            (bits & REPLAY_REJECTED, RejectionKind::Replay, name),
        ]
    });
    let mut recorded: Vec<RejectionView> = of_waits
        .chain(of_events)
        .filter(|(bit, _, _)| *bit != 0)
        .map(|(_, kind, of)| RejectionView { kind, of })
        .collect();
    recorded.sort_by_key(|rejection| rejection.kind);
    recorded
}

fn names(world: &World, events: &[EventIx]) -> Vec<String> {
    events.iter().map(|event| world.event_name(*event)).collect()
}

fn named(world: &World, event: Maybe) -> Option<String> {
    event.event().map(|event| world.event_name(event))
}
