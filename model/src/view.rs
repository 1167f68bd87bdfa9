//! The named view: what is compared after every action, and what a person reads.
//!
//! A runtime is observed as the same structure. Row ids, revisions, payloads, tokens and the journal have no place here.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::index::{EventIx, Maybe, WaitIx, WorkIx, below};
use crate::outcome::RouteMark;
use crate::state::{
    AttemptStatus, CONTINUATION_REJECTED, Event, Exclusion, Facts, Hold, Input, Phase,
    TIMEOUT_REJECTED, Timer, WaitStatus, Work, WorkStatus,
};
use crate::worlds::World;

/// Everything a state shows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct View {
    /// Accepted events in sequence order.
    pub events: Vec<EventView>,
    /// Every key of the universe, in its order.
    pub keys: Vec<KeyView>,
    /// Existing Works, in the order of the universe.
    pub works: Vec<WorkView>,
    /// Rejections recorded, by wait in the order of the universe, a timeout before a continuation.
    pub rejections: Vec<RejectionView>,
}

/// One accepted event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EventView {
    /// Which it is: a delivery's name, `timeout/WAIT` or `woken/WAIT`.
    pub event: String,
    /// The committed result of routing it; `unrouted` if there is none.
    pub mark: RouteMark,
    /// The Work its mark associates it with.
    pub work: Option<String>,
    /// The event its chain started from.
    pub root: String,
    /// Derivations since that root.
    pub depth: u8,
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
    /// Why it does not start.
    pub hold: Hold,
    /// Failures counted against its budget.
    pub failures: u8,
    /// The exclusion mark, and whether it names the last segment.
    pub excluded: Exclusion,
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
    /// Its lease.
    pub lease: LeaseView,
    /// The event that started it.
    pub trigger: String,
    /// Input claimed by its last segment, in acceptance order.
    pub batch: Vec<String>,
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
}

/// The timer of a wait.
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
    /// The wait concerned.
    pub wait: String,
    /// What was refused.
    pub kind: RejectionKind,
}

/// Which derived event of a wait a causal limit refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RejectionKind {
    /// Its timeout.
    Timeout,
    /// The continuation of its wake.
    Continuation,
}

/// The named view of a state.
pub fn view(world: &World, state: &dyn Facts) -> View {
    let mut events: Vec<EventIx> = below(state.events().len())
        .map(EventIx)
        .filter(|event| state.is_accepted(*event))
        .collect();
    events.sort_by_key(|event| state.event(*event).seq);
    View {
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
        rejections: below(state.waits().len())
            .flat_map(|wait| rejections(world, state, WaitIx(wait)))
            .collect(),
    }
}

fn event_view(world: &World, ix: EventIx, event: &Event) -> EventView {
    EventView {
        event: world.event_name(ix),
        mark: event.mark,
        work: event.work.work().map(|work| world.work_name(work)),
        root: named(world, event.root).unwrap_or_default(),
        depth: event.depth,
    }
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
        hold: work.hold,
        failures: work.failures,
        excluded: work.excluded,
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
        lease: lease(state.work(work)),
        trigger: named(world, attempt.trigger).unwrap_or_default(),
        batch: names(world, &state.input(work, Input::Batch)),
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
    }
}

fn timer(timer: Timer) -> TimerView {
    match timer.ticks() {
        Some(ticks) => TimerView::Armed(ticks),
        None if timer == Timer::DISABLED => TimerView::Disabled,
        None => TimerView::None,
    }
}

fn rejections(world: &World, state: &dyn Facts, ix: WaitIx) -> Vec<RejectionView> {
    let bits = state.wait(ix).rejected;
    [
        (TIMEOUT_REJECTED, RejectionKind::Timeout),
        (CONTINUATION_REJECTED, RejectionKind::Continuation),
    ]
    .into_iter()
    .filter(|(bit, _)| bits & bit != 0)
    .map(|(_, kind)| RejectionView { wait: world.wait(ix).name.to_string(), kind })
    .collect()
}

fn names(world: &World, events: &[EventIx]) -> Vec<String> {
    events.iter().map(|event| world.event_name(*event)).collect()
}

fn named(world: &World, event: Maybe) -> Option<String> {
    event.event().map(|event| world.event_name(event))
}
