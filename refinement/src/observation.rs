//! What the runtime shows, in the model's words: rows and sequences become the names of one world.

use abide::domain::{self, Generation, Millis, Seq, WaitId, WorkId};
use abide::store::observe::{
    Observation, SeenActive, SeenAttempt, SeenEvent, SeenRejection, SeenTimer, SeenWait, SeenWork,
};
use abide::store::rejections::Derived;
use abide::store::{Tx, attempts, inputs, meta, names, works};
use abide_model::index::{EventIx, WaitIx, WorkIx};
use abide_model::outcome::RouteMark;
use abide_model::state::{AttemptStatus, Exclusion, Hold, Phase, WaitStatus, WorkStatus};
use abide_model::view::{
    AttemptView, EventView, KeyView, LeaseView, RejectionKind, RejectionView, TimerView, View,
    WaitView, WorkView,
};
use abide_model::worlds::{Ask, Origin, TICK_MS, World};

use crate::binding::Binding;
use crate::commands::{known_event, known_work, mark, rank, stranger};
use crate::names::key_of;
use crate::subject::SubjectError;

/// What an actor of the daemon reads before it acts.
pub struct Rows<'t>(pub &'t mut dyn Tx);

impl Rows<'_> {
    /// The path of the scope a Work was created in; none if there is no such Work.
    ///
    /// # Errors
    /// The store failed.
    pub fn scope(&mut self, work: WorkId) -> Result<Option<String>, SubjectError> {
        let Some(work) = works::get(self.0, work)? else { return Ok(None) };
        Ok(Some(names::text(self.0, work.scope)?))
    }

    /// The kind a Work was created as; none if there is no such Work.
    ///
    /// # Errors
    /// The store failed.
    pub fn kind(&mut self, work: WorkId) -> Result<Option<String>, SubjectError> {
        let Some(work) = works::get(self.0, work)? else { return Ok(None) };
        Ok(Some(names::text(self.0, work.kind)?))
    }

    /// The highest sequence of the batch that a Work's last segment claimed; 0 without one.
    ///
    /// # Errors
    /// The store failed.
    pub fn batch_end(&mut self, work: WorkId) -> Result<Seq, SubjectError> {
        let last = works::get(self.0, work)?.and_then(|row| row.attempt);
        let Some(n) = last else { return Ok(Seq(0)) };
        let epoch = attempts::referred(self.0, work, n)?.batch_epoch;
        Ok(inputs::batch(self.0, work, n, epoch)?.last().copied().unwrap_or(Seq(0)))
    }

    /// The latest accepted sequence.
    ///
    /// # Errors
    /// The store failed.
    pub fn latest(&mut self) -> Result<Seq, SubjectError> {
        Ok(meta::last_seq(self.0)?)
    }
}

/// Binds what the store shows and no receipt names: events that core derives, and Works that no routed event made.
pub fn bind_derived(world: &World, binding: &mut Binding, seen: &Observation) {
    for event in &seen.events {
        if binding.event_of(event.seq).is_none()
            && let Some(slot) = derived_slot(world, binding, seen, event)
        {
            binding.bind_event(slot, event.seq);
        }
        if let (Some(MADE), Some(id)) = (event.mark, event.work)
            && binding.work_of(id).is_none()
            && let Some(work) = binding.event_of(event.seq).and_then(|slot| made_by(world, slot))
        {
            binding.bind_work(work, id);
        }
    }
}

/// The mark of the event that Work was created by.
const MADE: domain::MarkKind = domain::MarkKind::Queued;

/// The slot of an event that core derived, told by what it is about. A replay is bound by its receipt.
fn derived_slot(
    world: &World,
    binding: &Binding,
    seen: &Observation,
    event: &SeenEvent,
) -> Option<EventIx> {
    let wait = || event.wait.and_then(|id| binding.wait_of(id));
    let cause = || event.parent.and_then(|seq| binding.event_of(seq));
    match event.derived? {
        Derived::Timeout => Some(world.timeout_of(wait()?)),
        Derived::Continuation => Some(world.continuation_of(wait()?)),
        Derived::Alias => world.alias_of(wait()?, cause()?),
        Derived::TurnEnded => {
            let by = event.provenance?;
            world.ended_of(binding.work_of(by.work)?, u8::try_from(by.attempt.0).ok()?)
        }
        Derived::Retry => {
            let work = binding.work_of(event.target?)?;
            world.retry_of(work, u8::try_from(event.failed?.0).ok()?)
        }
        // Which Work it makes was decided by the event that came too late, under what is current as it is made.
        Derived::Successor => {
            let made = seen.works.iter().find(|work| Some(work.work) == event.work)?;
            let decision = world.decision(cause()?, binding.configuration());
            world.created_of(decision.successor_of(binding.work_of(made.predecessor?)?)?)
        }
        Derived::Replay => None,
    }
}

/// The Work that is made with this event as its first input, if one is.
fn made_by(world: &World, event: EventIx) -> Option<WorkIx> {
    match world.origin(event) {
        Origin::Created(work) => Some(work),
        Origin::Delivery(delivery) => {
            let delivery = world.delivery(delivery);
            match delivery.asks? {
                Ask::Create { .. } | Ask::Reopen(_) => delivery.decides.proposes,
                Ask::Replay(_) | Ask::Release(_) | Ask::Retry(_) | Ask::ReleaseRestore => None,
            }
        }
        Origin::Timeout(_)
        | Origin::Continuation(_)
        | Origin::Alias(..)
        | Origin::Ended(..)
        | Origin::Retry(..) => None,
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
        generation: names.generation(seen.generation)?,
        incarnation: small(seen.incarnation.0, "incarnation")?,
        restore_hold: seen.restored,
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
    /// Generations are counted from the one the world begins with.
    fn generation(&self, generation: Generation) -> Result<u8, SubjectError> {
        self.binding.reloads(generation).ok_or_else(|| stranger("generation", &generation))
    }

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

    fn key(&self, key: &domain::Key) -> Result<&'static str, SubjectError> {
        key_of(self.world, key).ok_or_else(|| stranger("key", &key.external_id))
    }

    fn event_view(&self, event: &SeenEvent) -> Result<EventView, SubjectError> {
        Ok(EventView {
            event: self.event(event.seq)?,
            key: event.key.as_ref().map(|key| self.key(key)).transpose()?.map(str::to_owned),
            mark: event.mark.map_or(RouteMark::Unrouted, mark),
            generation: event.generation.map(|given| self.generation(given)).transpose()?,
            work: event.work.map(|id| self.work(id)).transpose()?,
            root: self.event(event.root)?,
            depth: small(event.depth, "depth")?,
            conflicting: event.conflicting,
        })
    }

    /// Every key of the universe; a key outside it is a stranger.
    fn keys(&self, seen: &Observation) -> Result<Vec<KeyView>, SubjectError> {
        let owned: Vec<(&str, WorkId)> = seen
            .keys
            .iter()
            .map(|owned| Ok((self.key(&owned.key)?, owned.owner)))
            .collect::<Result<_, SubjectError>>()?;
        let owner = |key: &str| owned.iter().find(|(known, _)| *known == key);
        self.world
            .keys
            .iter()
            .map(|key| {
                let owner = owner(key).map(|(_, id)| self.work(*id)).transpose()?;
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
            kind: self.kind(work)?,
            holds: work.holds.iter().copied().map(hold).collect(),
            failures: small(work.failures, "failures")?,
            excluded: exclusion(work),
            idle: self.armed(work.idle_at)?,
            backoff: work.backoff.map(|failed| small(failed.0, "attempt")).transpose()?,
            retry: self.timer(work.retry)?,
            predecessor: work.predecessor.map(|id| self.work(id)).transpose()?,
            parent: work.parent.map(|id| self.work(id)).transpose()?,
            closed_by: work.closed_by.map(|seq| self.event(seq)).transpose()?,
            attempt: work.attempt.as_ref().map(|attempt| self.attempt_view(attempt)).transpose()?,
            pending: self.events(work.pending.iter().copied())?,
            consumed: self.events(consumed)?,
            wait: work.wait.as_ref().map(|wait| self.wait_view(wait)).transpose()?,
        })
    }

    /// A kind is a name and what it fixed when the Work was made, which must still be so. OURS-03
    fn kind(&self, work: &SeenWork) -> Result<String, SubjectError> {
        let known = self.world.kinds.iter().find(|kind| kind.name == work.kind);
        match known {
            Some(kind) if kind.standing == work.standing => Ok(work.kind.clone()),
            Some(_) | None => Err(stranger("kind", &work.kind)),
        }
    }

    fn attempt_view(&self, attempt: &SeenAttempt) -> Result<AttemptView, SubjectError> {
        let active = attempt.active.map(|active| self.active(active)).transpose()?;
        Ok(AttemptView {
            number: small(attempt.n.0, "attempt")?,
            status: attempt_status(attempt.status),
            phase: attempt.phase.map_or(Phase::None, phase),
            generation: self.generation(attempt.generation)?,
            active,
            lease: lease(attempt.expires_at, self.binding.now()),
            trigger: self.event(attempt.trigger)?,
            batch: self.events(attempt.batch.iter().copied())?,
        })
    }

    /// What is left now: a running segment uses it up.
    fn active(&self, active: SeenActive) -> Result<u8, SubjectError> {
        let used = active.since.map_or(0, |since| self.binding.now().0.saturating_sub(since.0));
        let left = active.left.0.saturating_sub(u64::try_from(used).unwrap_or(0));
        in_ticks(left, "active time")
    }

    fn wait_view(&self, wait: &SeenWait) -> Result<WaitView, SubjectError> {
        Ok(WaitView {
            wait: self.world.wait(self.wait_ix(wait.wait)?).name.to_owned(),
            status: wait_status(wait.status),
            watermark: rank(wait.after)?,
            winner: wait.winner.map(|seq| self.event(seq)).transpose()?,
            timer: self.timer(wait.timer)?,
            checkpoint: wait.checkpoint.map(rank).transpose()?,
        })
    }

    fn timer(&self, timer: SeenTimer) -> Result<TimerView, SubjectError> {
        match timer {
            SeenTimer::None => Ok(TimerView::None),
            SeenTimer::Disabled => Ok(TimerView::Disabled),
            SeenTimer::Armed(at) => self.armed(Some(at)),
        }
    }

    /// Ticks left, rounded up, so that an instant between two ticks is not taken for the later one.
    fn armed(&self, at: Option<Millis>) -> Result<TimerView, SubjectError> {
        let Some(at) = at else { return Ok(TimerView::None) };
        let left = u64::try_from(at.0 - self.binding.now().0).unwrap_or(0);
        Ok(TimerView::Armed(in_ticks(left, "instant")?))
    }

    /// One line for what was refused, in the model's order. An original whose replay was asked for under two identities
    /// was refused twice and is one line.
    fn rejections(&self, seen: &[SeenRejection]) -> Result<Vec<RejectionView>, SubjectError> {
        let mut found: Vec<(RejectionKind, u8, String)> =
            seen.iter().map(|row| self.rejection(row)).collect::<Result<_, _>>()?;
        found.sort_unstable();
        found.dedup_by(|one, other| one == other && one.0 == RejectionKind::Replay);
        Ok(found.into_iter().map(|(kind, _, of)| RejectionView { kind, of }).collect())
    }

    fn rejection(&self, row: &SeenRejection) -> Result<(RejectionKind, u8, String), SubjectError> {
        let wait = || self.wait_ix(row.wait.ok_or_else(|| stranger("rejection", &row.parent))?);
        let about = |slot: Option<EventIx>, kind, of| match slot {
            Some(slot) => Ok((kind, slot.0, of)),
            None => Err(stranger("rejection", &row.parent)),
        };
        match row.kind {
            Derived::Timeout | Derived::Continuation => {
                let wait = wait()?;
                let kind = match row.kind == Derived::Timeout {
                    true => RejectionKind::Timeout,
                    false => RejectionKind::Continuation,
                };
                Ok((kind, wait.0, self.world.wait(wait).name.to_owned()))
            }
            Derived::Alias => {
                let (wait, source) = (wait()?, known_event(self.binding, row.parent)?);
                let of =
                    format!("{}/{}", self.world.wait(wait).name, self.world.event_name(source));
                about(self.world.alias_of(wait, source), RejectionKind::Alias, of)
            }
            Derived::TurnEnded | Derived::Retry => {
                let (Some(work), Some(attempt)) = (row.work, row.attempt) else {
                    return Err(stranger("rejection", &row.parent));
                };
                let work = known_work(self.binding, work)?;
                let attempt = small(attempt.0, "attempt")?;
                let of = format!("{}/{attempt}", self.world.work_name(work));
                let (slot, kind) = match row.kind == Derived::TurnEnded {
                    true => (self.world.ended_of(work, attempt), RejectionKind::TurnEnd),
                    false => (self.world.retry_of(work, attempt), RejectionKind::Retry),
                };
                about(slot, kind, of)
            }
            Derived::Successor | Derived::Replay => {
                let kind = match row.kind == Derived::Successor {
                    true => RejectionKind::Successor,
                    false => RejectionKind::Replay,
                };
                let of = known_event(self.binding, row.parent)?;
                about(Some(of), kind, self.world.event_name(of))
            }
        }
    }
}

fn small(number: u32, thing: &'static str) -> Result<u8, SubjectError> {
    u8::try_from(number).map_err(|_| stranger(thing, &number))
}

fn in_ticks(length: u64, thing: &'static str) -> Result<u8, SubjectError> {
    u8::try_from(length.div_ceil(TICK_MS)).map_err(|_| stranger(thing, &length))
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
        domain::Hold::Operator => Hold::Operator,
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
