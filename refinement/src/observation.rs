//! What the runtime shows, in the model's words: rows and sequences become the names of one world.

use abide::domain::{self, Millis, Seq, WaitId, WorkId};
use abide::store::observe::{
    Observation, SeenAttempt, SeenEvent, SeenRejection, SeenTimer, SeenWait, SeenWork,
};
use abide::store::rejections::Derived;
use abide_model::index::{WaitIx, WorkIx};
use abide_model::outcome::RouteMark;
use abide_model::state::{AttemptStatus, Exclusion, Hold, Phase, WaitStatus, WorkStatus};
use abide_model::view::{
    AttemptView, EventView, KeyView, LeaseView, RejectionKind, RejectionView, TimerView, View,
    WaitView, WorkView,
};
use abide_model::worlds::{TICK_MS, World};

use crate::binding::Binding;
use crate::commands::{SOURCE, Watermarks, known_event, known_work, mark, rank, stranger};
use crate::subject::SubjectError;

/// Binds the timeouts and continuations that the store shows, which no receipt names.
pub fn bind_derived(world: &World, binding: &mut Binding, seen: &Observation) {
    for event in &seen.events {
        let Some(wait) = event.wait.and_then(|id| binding.wait_of(id)) else { continue };
        match event.event_type.as_str() {
            "core.wait.timeout" => binding.bind_event(world.timeout_of(wait), event.seq),
            "core.wait.woken" => binding.bind_event(world.continuation_of(wait), event.seq),
            _ => {}
        }
    }
}

/// The observation as the model's view.
///
/// # Errors
/// The runtime shows something the world does not contain.
pub fn view(world: &World, binding: &Binding, seen: &Observation) -> Result<View, SubjectError> {
    let names = Names { world, binding };
    let mut works: Vec<(WorkIx, &SeenWork)> = seen
        .works
        .iter()
        .map(|work| Ok((known_work(binding, work.work)?, work)))
        .collect::<Result<_, SubjectError>>()?;
    works.sort_by_key(|(ix, _)| *ix);
    Ok(View {
        events: seen
            .events
            .iter()
            .map(|event| names.event_view(event))
            .collect::<Result<_, _>>()?,
        keys: names.keys(seen)?,
        works: works
            .into_iter()
            .map(|(_, work)| names.work_view(work))
            .collect::<Result<_, _>>()?,
        rejections: names.rejections(&seen.rejections)?,
    })
}

struct Names<'a> {
    world: &'a World,
    binding: &'a Binding,
}

impl Names<'_> {
    fn event(&self, seq: Seq) -> Result<String, SubjectError> {
        Ok(self.world.event_name(known_event(self.binding, seq)?))
    }

    fn events(
        &self,
        sequences: impl IntoIterator<Item = Seq>,
    ) -> Result<Vec<String>, SubjectError> {
        sequences.into_iter().map(|seq| self.event(seq)).collect()
    }

    fn work(&self, id: WorkId) -> Result<String, SubjectError> {
        Ok(self.world.work_name(known_work(self.binding, id)?))
    }

    fn wait_ix(&self, id: WaitId) -> Result<WaitIx, SubjectError> {
        self.binding.wait_of(id).ok_or_else(|| stranger("wait", &id))
    }

    fn event_view(&self, event: &SeenEvent) -> Result<EventView, SubjectError> {
        Ok(EventView {
            event: self.event(event.seq)?,
            mark: event.mark.map_or(RouteMark::Unrouted, mark),
            work: event.work.map(|id| self.work(id)).transpose()?,
            root: self.event(event.root)?,
            depth: small(event.depth, "depth")?,
        })
    }

    /// Every key of the universe; a key outside it is a stranger.
    fn keys(&self, seen: &Observation) -> Result<Vec<KeyView>, SubjectError> {
        let known = |name: &str| self.world.keys.contains(&name);
        if let Some(other) = seen
            .keys
            .iter()
            .find(|owned| owned.key.source != SOURCE || !known(&owned.key.external_id))
        {
            return Err(stranger("key", &other.key.external_id));
        }
        let owner = |key: &str| seen.keys.iter().find(|owned| owned.key.external_id == key);
        self.world
            .keys
            .iter()
            .map(|key| {
                let owner = owner(key).map(|owned| self.work(owned.owner)).transpose()?;
                Ok(KeyView { key: (*key).to_owned(), owner })
            })
            .collect()
    }

    fn work_view(&self, work: &SeenWork) -> Result<WorkView, SubjectError> {
        let mut consumed: Vec<Seq> = work.consumed.iter().map(|input| input.event).collect();
        consumed.sort_unstable();
        Ok(WorkView {
            work: self.work(work.work)?,
            status: work_status(work.status),
            hold: work.hold.map_or(Hold::None, hold),
            failures: small(work.failures, "failures")?,
            excluded: exclusion(work),
            attempt: work.attempt.as_ref().map(|attempt| self.attempt_view(attempt)).transpose()?,
            pending: self.events(work.pending.iter().copied())?,
            consumed: self.events(consumed)?,
            wait: work.wait.as_ref().map(|wait| self.wait_view(wait)).transpose()?,
        })
    }

    fn attempt_view(&self, attempt: &SeenAttempt) -> Result<AttemptView, SubjectError> {
        Ok(AttemptView {
            number: small(attempt.n.0, "attempt")?,
            status: attempt_status(attempt.status),
            phase: attempt.phase.map_or(Phase::None, phase),
            lease: lease(attempt.expires_at, self.binding.now()),
            trigger: self.event(attempt.trigger)?,
            batch: self.events(attempt.batch.iter().copied())?,
        })
    }

    fn wait_view(&self, wait: &SeenWait) -> Result<WaitView, SubjectError> {
        Ok(WaitView {
            wait: self.world.wait(self.wait_ix(wait.wait)?).name.to_owned(),
            status: wait_status(wait.status),
            watermark: rank(wait.after)?,
            winner: wait.winner.map(|seq| self.event(seq)).transpose()?,
            timer: timer(wait.timer, self.binding.now())?,
        })
    }

    fn rejections(&self, seen: &[SeenRejection]) -> Result<Vec<RejectionView>, SubjectError> {
        let mut found: Vec<(WaitIx, bool)> = seen
            .iter()
            .map(|row| Ok((self.wait_ix(row.wait)?, row.kind == Derived::Continuation)))
            .collect::<Result<_, SubjectError>>()?;
        found.sort_unstable();
        let view = |(wait, continuation): (WaitIx, bool)| RejectionView {
            wait: self.world.wait(wait).name.to_owned(),
            kind: if continuation { RejectionKind::Continuation } else { RejectionKind::Timeout },
        };
        Ok(found.into_iter().map(view).collect())
    }
}

fn small(number: u32, thing: &'static str) -> Result<u8, SubjectError> {
    u8::try_from(number).map_err(|_| stranger(thing, &number))
}

fn exclusion(work: &SeenWork) -> Exclusion {
    match (work.excluded, work.excluded_is_last) {
        (None, _) => Exclusion::None,
        (Some(_), true) => Exclusion::LastSegment,
        (Some(_), false) => Exclusion::EarlierSegment,
    }
}

fn lease(expires_at: Option<Millis>, now: Millis) -> LeaseView {
    match expires_at {
        None => LeaseView::None,
        Some(end) if now >= end => LeaseView::Expired,
        Some(_) => LeaseView::Live,
    }
}

/// Ticks left, rounded up, so that an instant between two ticks is not taken for the later one.
fn timer(timer: SeenTimer, now: Millis) -> Result<TimerView, SubjectError> {
    Ok(match timer {
        SeenTimer::None => TimerView::None,
        SeenTimer::Disabled => TimerView::Disabled,
        SeenTimer::Armed(at) => {
            let left = u64::try_from(at.0 - now.0).unwrap_or(0).div_ceil(TICK_MS);
            TimerView::Armed(u8::try_from(left).map_err(|_| stranger("instant", &at))?)
        }
    })
}

const fn work_status(status: domain::WorkStatus) -> WorkStatus {
    match status {
        domain::WorkStatus::Ready => WorkStatus::Ready,
        domain::WorkStatus::Running => WorkStatus::Running,
        domain::WorkStatus::Waiting => WorkStatus::Waiting,
        domain::WorkStatus::Completed => WorkStatus::Completed,
        domain::WorkStatus::Failed => WorkStatus::Failed,
        domain::WorkStatus::Cancelled => WorkStatus::Cancelled,
    }
}

const fn hold(hold: domain::Hold) -> Hold {
    match hold {
        domain::Hold::Exhausted => Hold::Exhausted,
        domain::Hold::CausalLimit => Hold::CausalLimit,
    }
}

const fn attempt_status(status: domain::AttemptStatus) -> AttemptStatus {
    match status {
        domain::AttemptStatus::Running => AttemptStatus::Running,
        domain::AttemptStatus::Parked => AttemptStatus::Parked,
        domain::AttemptStatus::Completed => AttemptStatus::Completed,
        domain::AttemptStatus::Waiting => AttemptStatus::Waiting,
        domain::AttemptStatus::Failed => AttemptStatus::Failed,
        domain::AttemptStatus::Cancelled => AttemptStatus::Cancelled,
    }
}

const fn phase(phase: domain::Phase) -> Phase {
    match phase {
        domain::Phase::NeverHanded => Phase::NeverHanded,
        domain::Phase::Handed => Phase::Handed,
        domain::Phase::Pinned => Phase::Pinned,
        domain::Phase::Recovering => Phase::Recovering,
    }
}

const fn wait_status(status: domain::WaitStatus) -> WaitStatus {
    match status {
        domain::WaitStatus::Active => WaitStatus::Active,
        domain::WaitStatus::Woken => WaitStatus::Woken,
        domain::WaitStatus::Cancelled => WaitStatus::Cancelled,
    }
}

/// The sequence up to which a Work's last segment was handed input, and the latest accepted one.
#[must_use]
pub fn watermarks(seen: &Observation, work: WorkId) -> Watermarks {
    let attempt =
        seen.works.iter().find(|row| row.work == work).and_then(|row| row.attempt.as_ref());
    let batch = attempt.and_then(|attempt| attempt.batch.last().copied()).unwrap_or(Seq(0));
    let latest = seen.events.last().map_or(Seq(0), |event| event.seq);
    Watermarks { batch, latest }
}
