//! What a step of the law leaves is kept in the ledger.

use abide_model::action::{self, Commit};
use abide_model::index::{EventIx, Maybe, WaitIx, WorkIx, below};
use abide_model::outcome::RouteMark;
use abide_model::state::{
    Exclusion, Facts, Flag, Input, Phase, Timer, WaitStatus, Work, WorkStatus,
};
use serde_json::Value;

use super::super::answer::Answer;
use super::super::ledger::{Account, Born, Event, Ledger, WaitNo, WorkNo};
use super::super::rows::Row;
use super::super::stage::{self, At, Staged};
use super::{Judge, Leaves, Trial, blank};

impl Judge {
    /// Keeps what the step left. Answers the Work it made, if it made one.
    pub(super) fn absorb(
        &mut self,
        row: &Row,
        said: &Answer,
        mut trial: Trial,
        after: &Staged,
    ) -> Option<WorkNo> {
        let made = self.make(&mut trial, after);
        self.register(&mut trial, after);
        let seqs = self.keep_events(&mut trial, after);
        self.keep_inputs(&trial, after, &seqs);
        for at in below(trial.set.works.len()) {
            let Some(work) = trial.set.works[usize::from(at)] else { continue };
            if Some(work) == trial.subject || Some(work) == made {
                self.keep_work(&trial, after, (WorkIx(at), work, Some(work) == made), &seqs);
            }
        }
        for at in below(trial.set.waits.len()) {
            self.keep_wait(&trial, after, WaitIx(at), &seqs);
        }
        if said.accepted() {
            self.leave(row, said, &trial);
        }
        made
    }

    pub(super) fn make(&mut self, trial: &mut Trial, after: &Staged) -> Option<WorkNo> {
        let made = trial.made.take()?;
        if after.work(made.ix).status == WorkStatus::Absent {
            return None;
        }
        let fresh = WorkNo(self.ledger.works.len());
        self.ledger.works.push(Account::new(None, made.scope, made.standing));
        match &made.name {
            Some(name) => self.ledger.name_work(fresh, name),
            None => self.unnamed.push(fresh),
        }
        if let Some((old, next)) = made.succeeds {
            self.ledger.succeed(old, fresh, next);
        }
        trial.set.works[made.ix.at()] = Some(fresh);
        Some(fresh)
    }

    pub(super) fn register(&mut self, trial: &mut Trial, after: &Staged) {
        let Some((ix, fact, name)) = trial.waits.take() else { return };
        if after.wait(ix).status == WaitStatus::Unregistered {
            return;
        }
        let fresh = WaitNo(self.ledger.waits.len());
        if let Some(source) = fact.source {
            self.ledger.works[fact.work.0].subscriptions.insert(source, fresh);
        }
        self.ledger.waits.push(fact);
        self.ledger.name_wait(fresh, &name);
        trial.set.waits[ix.at()] = Some(fresh);
    }

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
    pub(super) fn fresh_event(
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
                Event { target: subject, ..blank(born, kind, scope, left) }
            }
            At::Continuation(ix) => {
                // Its parent is the winner, which is staged or was accepted just before.
                let no = wait(ix);
                let kind = self.ledger.name("core.wait.woken");
                let winner = after.wait(WaitIx(ix)).winner.event();
                let winner = winner.and_then(|winner| seqs[winner.at()]);
                let left = left(&self.ledger, winner);
                blank(no.map_or(Born::Unknown, Born::Continuation), kind, scope, left)
            }
            At::Alias(_, source) => {
                let source = seqs[usize::from(source)];
                let kind = source.and_then(|seq| self.ledger.event(seq)).map(|event| event.kind);
                let kind = kind.unwrap_or_else(|| self.ledger.name(""));
                let left = left(&self.ledger, source);
                Event { target: subject, ..blank(Born::Alias, kind, scope, left) }
            }
            At::Ended(..) => {
                let cause = subject.and_then(|work| self.ledger.works[work.0].cause);
                let kind = self.ledger.name("core.turn.ended");
                let left = left(&self.ledger, cause);
                Event { publisher: subject, ..blank(Born::Ended, kind, scope, left) }
            }
            At::Retry(..) => {
                let cause = subject.and_then(|work| self.ledger.works[work.0].trigger);
                let kind = self.ledger.name("core.retry.due");
                let left = left(&self.ledger, cause);
                let born = subject.map_or(Born::Unknown, |work| {
                    Born::Retry(work, self.ledger.works[work.0].attempt)
                });
                Event { target: subject, ..blank(born, kind, scope, left) }
            }
            At::Created(_) | At::Delivery(_) => {
                let Commit::CommitRoute { event } = trial.commit else {
                    return blank(Born::Unknown, scope, scope, 0);
                };
                let routed = seqs[event.at()];
                let kind = self.ledger.name("core.work.created");
                blank(Born::Created, kind, scope, left(&self.ledger, routed))
            }
        }
    }

    pub(super) fn note_derived(&mut self, trial: &Trial, at: At, seq: i64, seqs: &[Option<i64>]) {
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

    /// Keeps marks and inputs as the step left them.
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
            }
        }
    }

    pub(super) fn keep_work(
        &mut self,
        trial: &Trial,
        after: &Staged,
        (ix, work, made): (WorkIx, WorkNo, bool),
        seqs: &[Option<i64>],
    ) {
        let (before, now) = (*trial.set.state.work(ix), *after.work(ix));
        let seq = |maybe: Maybe| maybe.event().and_then(|event| seqs[event.at()]);
        let wait = |maybe: Maybe| maybe.wait().and_then(|wait| trial.set.waits[wait.at()]);
        for at in below(trial.set.keys.len()) {
            let (key, grew) = (trial.set.keys[usize::from(at)], now.keys & !before.keys);
            if grew & 1 << at != 0 {
                self.ledger.keys[key.0].owner = Some(work);
                self.ledger.works[work.0].keys.push(key);
            }
        }
        let first = trial.set.key(now.first_key.key());
        let (scope, status) = (self.ledger.works[work.0].scope, now.status);
        self.ledger.moved(scope, before.status, status);
        let account = &mut self.ledger.works[work.0];
        account.first_key = account.first_key.or(first);
        account.attempt += u32::from(now.attempt.number > before.attempt.number);
        let sees = |work: &Work| (work.status, work.keys, work.attempt.number);
        let grew = if made { now.keys != 0 } else { sees(&now) != sees(&before) };
        account.revision += i64::from(grew);
        // What is not on the stage is none there, before and after.
        if now.attempt.trigger != before.attempt.trigger {
            account.trigger = seq(now.attempt.trigger);
        }
        if now.attempt.cause != before.attempt.cause {
            account.cause = seq(now.attempt.cause);
        }
        if now.released != before.released {
            account.released = seq(now.released);
        }
        if now.wake != before.wake {
            account.wake = wait(now.wake);
        }
        if now.last_wait != before.last_wait {
            account.last_wait = wait(now.last_wait);
        }
        if now.idle == Timer::NONE {
            account.idle_at = None;
        }
        account.backoff = match (now.backoff, before.backoff) {
            (0, _) => None,
            (now, before) if now == before => account.backoff,
            (_, _) => Some(account.attempt),
        };
        account.marked = match now.excluded {
            Exclusion::None => None,
            Exclusion::LastSegment => Some((account.attempt, account.epoch)),
            Exclusion::EarlierSegment => account.marked,
        };
        account.state = now;
    }

    pub(super) fn keep_wait(
        &mut self,
        trial: &Trial,
        after: &Staged,
        ix: WaitIx,
        seqs: &[Option<i64>],
    ) {
        let Some(no) = trial.set.waits[ix.at()] else { return };
        let now = after.wait(ix);
        let seq = |maybe: Maybe| maybe.event().and_then(|event| seqs[event.at()]);
        let fact = &mut self.ledger.waits[no.0];
        fact.status = now.status;
        fact.winner = seq(now.winner);
        fact.timer = now.timer;
        fact.cause = seq(now.cause);
        fact.subscribed = now.subscribed == Flag::Yes;
        fact.checkpoint = trial.set.seq(now.checkpoint);
        fact.subscription = now.subscription;
    }

    /// The next incarnation: no authority of before holds in it. OURS-21
    pub(super) fn voids(&mut self, now: i64, incarnation: u64) {
        self.ledger.restores = incarnation.saturating_sub(1);
        self.ledger.restore_hold = true;
        for account in &mut self.ledger.works {
            if account.state.status == WorkStatus::Running {
                account.state.attempt.epochs = 0;
                account.expires_at = account.expires_at.min(now);
                // What was launching may have been started in the life that is forgotten.
                if matches!(account.state.attempt.phase, Phase::NeverHanded | Phase::Handed) {
                    account.state.attempt.phase = Phase::Recovering;
                }
            }
        }
    }

    /// What an acceptance leaves that the model counts in ticks or not at all.
    pub(super) fn leave(&mut self, row: &Row, said: &Answer, trial: &Trial) {
        let Leaves { expires_at, idle_at, retry_at, pinned, reloads, incarnation } =
            trial.leaves.clone();
        if let Some(incarnation) = incarnation {
            self.voids(row.at, incarnation);
        }
        if trial.commit.kind() == action::Kind::ReleaseRestore {
            self.ledger.restore_hold = false;
        }
        if reloads {
            self.ledger.generation += 1;
        }
        if let Some(work) = trial.subject {
            let account = &mut self.ledger.works[work.0];
            let resumed = said.name("reason").as_deref() == Some("resume");
            if let Some((resumes, holds, policy)) = pinned.filter(|_| !resumed) {
                (account.resumes, account.holds_until_pin) = (resumes, holds);
                account.policy = policy;
            }
            if let Some(epoch) = said.number("epoch") {
                account.epoch = u64::try_from(epoch).unwrap_or(u64::MAX);
            }
            if account.backoff.is_some() && account.state.retry != Timer::NONE {
                account.retry_at = retry_at.or(account.retry_at);
            }
            if let Some(expires_at) = expires_at {
                account.expires_at = expires_at;
            }
            if account.state.idle != Timer::NONE {
                account.idle_at = idle_at.or(account.idle_at);
            }
        }
        let Some(seq) = said.number("seq") else { return };
        let text = |name: &str| row.args.get(name).and_then(Value::as_str).map(str::to_owned);
        if let Some(request) = text("request") {
            self.ledger.requests.insert(request, seq);
        }
        let (Some(source), Some(delivery)) = (text("source"), text("delivery")) else { return };
        if let Some(body) = text("body") {
            if row.args.contains_key("suspect_within") {
                self.ledger.signed.insert((source.clone(), body.clone()), row.at);
            }
            self.ledger.bodies.insert(seq, body);
        }
        self.ledger.identities.insert((source, delivery), seq);
    }
}
