//! The observation as the model's view: events, keys, Works with their attempts and waits.

use std::collections::BTreeSet;

use abide::domain::{self, Generation, Millis, Seq, WaitId, WorkId};
use abide::store::observe::{
    Observation, SeenActive, SeenAttempt, SeenEvent, SeenInput, SeenTimer, SeenWait, SeenWork,
};
use abide_model::index::{WaitIx, WorkIx};
use abide_model::outcome::RouteMark;
use abide_model::state::Phase;
use abide_model::view::{AttemptView, EventView, KeyView, TimerView, View, WaitView, WorkView};
use abide_model::worlds::World;

use super::words::{
    asked, attempt_status, exclusion, hold, in_ticks, intent, lease, phase, small, wait_status,
    work_status,
};
use crate::binding::Binding;
use crate::commands::{known_event, known_work, mark, rank, stranger};
use crate::names::key_of;
use crate::subject::SubjectError;

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

/// One world, and which row of the runtime is which of its things.
pub(super) struct Names<'a> {
    pub(super) world: &'a World,
    pub(super) binding: &'a Binding,
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

    pub(super) fn wait_ix(&self, id: WaitId) -> Result<WaitIx, SubjectError> {
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
            asked: event.asked.map(asked).transpose()?,
            intent: event.intent.map(intent).transpose()?,
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
            attempt: work
                .attempt
                .as_ref()
                .map(|attempt| self.attempt_view(attempt, &work.consumed))
                .transpose()?,
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

    fn attempt_view(
        &self,
        attempt: &SeenAttempt,
        consumed: &[SeenInput],
    ) -> Result<AttemptView, SubjectError> {
        let active = attempt.active.map(|active| self.active(active)).transpose()?;
        Ok(AttemptView {
            number: small(attempt.n.0, "attempt")?,
            status: attempt_status(attempt.status),
            phase: attempt.phase.map_or(Phase::None, phase),
            generation: self.generation(attempt.generation)?,
            active,
            lease: lease(attempt.expires_at, self.binding.now()),
            trigger: self.event(attempt.trigger)?,
            batch: self.events(taken(attempt, consumed))?,
            interrupted_by: attempt.interrupt_event.map(|seq| self.event(seq)).transpose()?,
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
}

/// What the last segment consumed: what its claim handed over, and what its result proved. INJECT-17
fn taken(attempt: &SeenAttempt, consumed: &[SeenInput]) -> BTreeSet<Seq> {
    let last =
        |input: &&SeenInput| input.attempt == attempt.n && input.epoch >= attempt.batch_epoch;
    let proved = consumed.iter().filter(last).map(|input| input.event);
    attempt.batch.iter().copied().chain(proved).collect()
}
