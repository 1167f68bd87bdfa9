//! The events that a step accepted, and what became of those that were accepted before.

use abide_model::action::Commit;
use abide_model::index::{EventIx, WaitIx, below};
use abide_model::outcome::RouteMark;
use abide_model::state::{Facts, Input, Intent, IntentKind};

use super::super::super::facts::{Born, Event, Intended, WorkNo};
use super::super::super::ledger::Ledger;
use super::super::super::stage::{self, At, Staged};
use super::super::{Judge, Trial};

impl Judge {
    /// Keeps the events that the step accepted, in order; answers the sequence of each slot.
    pub(super) fn keep_events(&mut self, trial: &mut Trial, after: &Staged) -> Vec<Option<i64>> {
        let mut seqs = vec![None; after.events().len()];
        for (ix, _, seq) in &trial.set.slots {
            seqs[ix.at()] = *seq;
        }
        let mut fresh: Vec<EventIx> = below(trial.set.world.slots())
            .map(EventIx)
            .filter(|ix| after.is_accepted(*ix) && !trial.set.state.is_accepted(*ix))
            .collect();
        fresh.sort_by_key(|ix| after.event(*ix).seq);
        for ix in fresh {
            let at = stage::derived(trial.set.world, ix);
            let kept = self.fresh_event(trial, after, at, &seqs);
            let staged = after.event(ix);
            let named = kept.key.or_else(|| trial.set.key(staged.key.key()));
            let event = Event {
                key: named,
                mark: staged.mark,
                work: staged.work.work().and_then(|work| trial.set.works[work.at()]),
                ..kept
            };
            let seq = self.ledger.accept(event);
            seqs[ix.at()] = Some(seq);
            self.note_derived(trial, at, seq, &seqs);
        }
        seqs
    }

    /// What an event that the step accepted says of itself.
    fn fresh_event(
        &mut self,
        trial: &Trial,
        after: &Staged,
        at: At,
        seqs: &[Option<i64>],
    ) -> Event {
        if let Some((_, event)) = trial.offered.iter().find(|(known, _)| *known == at) {
            return *event;
        }
        let subject = trial.subject;
        let scope = subject.map(|work| self.ledger.works[work.0].scope);
        let scope = scope.unwrap_or_else(|| self.ledger.name(""));
        let left = |ledger: &Ledger, seq: Option<i64>| {
            seq.and_then(|seq| ledger.event(seq)).map_or(0, |event| event.left.saturating_sub(1))
        };
        let wait = |wait: u8| trial.set.waits[usize::from(wait)];
        match at {
            At::Timeout(ix) => {
                let no = wait(ix);
                let cause = no.and_then(|no| self.ledger.waits[no.0].cause);
                let kind = self.ledger.name("core.wait.timeout");
                let left = left(&self.ledger, cause);
                let born = no.map_or(Born::Unknown, Born::Timeout);
                Event { target: subject, ..Event::blank(born, kind, scope, left) }
            }
            At::Continuation(ix) => {
                // Its parent is the winner, which is staged or was accepted just before.
                let no = wait(ix);
                let kind = self.ledger.name("core.wait.woken");
                let winner = after.wait(WaitIx(ix)).winner.event();
                let winner = winner.and_then(|winner| seqs[winner.at()]);
                let left = left(&self.ledger, winner);
                Event::blank(no.map_or(Born::Unknown, Born::Continuation), kind, scope, left)
            }
            At::Alias(_, source) => {
                let source = seqs[usize::from(source)];
                let kind = source.and_then(|seq| self.ledger.event(seq)).map(|event| event.kind);
                let kind = kind.unwrap_or_else(|| self.ledger.name(""));
                let left = left(&self.ledger, source);
                Event { target: subject, ..Event::blank(Born::Alias, kind, scope, left) }
            }
            At::Ended(..) => {
                let cause = subject.and_then(|work| self.ledger.works[work.0].cause);
                let kind = self.ledger.name("core.turn.ended");
                let left = left(&self.ledger, cause);
                Event { publisher: subject, ..Event::blank(Born::Ended, kind, scope, left) }
            }
            At::Retry(..) => {
                let cause = subject.and_then(|work| self.ledger.works[work.0].trigger);
                let kind = self.ledger.name("core.retry.due");
                let left = left(&self.ledger, cause);
                let born = subject.map_or(Born::Unknown, |work| {
                    Born::Retry(work, self.ledger.works[work.0].attempt)
                });
                Event { target: subject, ..Event::blank(born, kind, scope, left) }
            }
            At::Created(_) | At::Delivery(_) => {
                let Commit::CommitRoute { event } = trial.commit else {
                    return Event::blank(Born::Unknown, scope, scope, 0);
                };
                let routed = seqs[event.at()];
                let kind = self.ledger.name("core.work.created");
                Event::blank(Born::Created, kind, scope, left(&self.ledger, routed))
            }
        }
    }

    /// Notes where an event that core derived is to be found.
    fn note_derived(&mut self, trial: &Trial, at: At, seq: i64, seqs: &[Option<i64>]) {
        let wait = |wait: u8| trial.set.waits[usize::from(wait)];
        match at {
            At::Timeout(ix) => {
                if let Some(no) = wait(ix) {
                    self.ledger.waits[no.0].timeout = Some(seq);
                }
            }
            At::Continuation(ix) => {
                if let Some(no) = wait(ix) {
                    self.ledger.waits[no.0].continuation = Some(seq);
                }
            }
            At::Alias(ix, source) => {
                if let (Some(no), Some(source)) = (wait(ix), seqs[usize::from(source)]) {
                    self.ledger.waits[no.0].aliases.insert(source, seq);
                }
            }
            At::Retry(..) => {
                if let Some(work) = trial.subject {
                    let account = &mut self.ledger.works[work.0];
                    account.retries.insert(account.attempt, seq);
                }
            }
            At::Ended(..) | At::Created(_) | At::Delivery(_) => {}
        }
    }

    /// Keeps marks, inputs and intents as the step left them.
    pub(super) fn keep_inputs(&mut self, trial: &Trial, after: &Staged, seqs: &[Option<i64>]) {
        for (at, seq) in seqs.iter().enumerate() {
            let (Some(seq), Ok(ix)) = (*seq, u8::try_from(at)) else { continue };
            let staged = after.event(EventIx(ix));
            if !after.is_accepted(EventIx(ix)) {
                continue;
            }
            let work = staged.work.work().and_then(|work| trial.set.works[work.at()]);
            let Some(event) = self.ledger.event_mut(seq) else { continue };
            if (event.mark, event.work) != (staged.mark, work) {
                (event.mark, event.work) = (staged.mark, work);
                self.ledger.file(seq, staged.mark == RouteMark::Unrouted);
            }
            if let Some(work) = work {
                let pending = &mut self.ledger.works[work.0].pending;
                if staged.input == Input::Pending {
                    pending.insert(seq);
                } else {
                    pending.remove(&seq);
                }
                self.keep_intent(work, seq, &staged.intent);
            }
        }
    }

    /// Keeps an intent as the step left it; one that it committed is of the attempt that now runs.
    fn keep_intent(&mut self, work: WorkNo, seq: i64, staged: &Intent) {
        let Intent { kind, status, on_error, attempt: _, message: _ } = *staged;
        if kind == IntentKind::None {
            return;
        }
        let account = &mut self.ledger.works[work.0];
        if status.open() {
            account.intents.insert(seq);
        } else {
            account.intents.remove(&seq);
        }
        let running = account.attempt;
        let Some(event) = self.ledger.event_mut(seq) else { return };
        let attempt = event.intent.map_or(running, |known| known.attempt);
        event.intent = Some(Intended { kind, status, attempt, on_error });
    }
}
