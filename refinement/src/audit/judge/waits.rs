//! Waits: registrations, wakes, timers and subscriptions.

use abide_model::action::{Commit, Mark};
use abide_model::index::{EventIx, Proofs, WaitIx};
use abide_model::outcome::RouteMark;
use abide_model::state::{Timer, WaitStatus};

use super::super::answer::Answer;
use super::super::args::{Deadline, Id, RegisterWait};
use super::super::facts::{Born, Event, KeyNo, NameNo, WaitFact, WaitNo, WorkNo};
use super::super::rows::Ids;
use super::super::stage::{At, Stage, TooLarge};
use super::{Judge, Skip, Trial};

/// Events of a source that are staged for one row.
const SOURCES: usize = 16;

impl Judge {
    pub(super) fn register_wait(
        &mut self,
        now: i64,
        register: &RegisterWait,
        said: &Answer,
    ) -> Result<Trial, Skip> {
        let (work, shown) = self.shows(&register.by)?;
        let keys: Vec<KeyNo> = register.keys.iter().map(|key| self.ledger.newest(key)).collect();
        let types: Vec<NameNo> = register.types.iter().map(|text| self.ledger.name(text)).collect();
        let source = register.source.as_ref().map(|source| {
            let key = self.ledger.key(&source.key);
            (self.ledger.keys[key.0].base, self.ledger.name(&source.scope))
        });
        let granted: Vec<NameNo> =
            register.read_scopes.iter().map(|scope| self.ledger.name(scope)).collect();
        let latest = self.ledger.latest();
        let mut stage = Stage::new(&self.ledger, now);
        let (ix, named) = stage.reported(work, &register.proofs);
        let before = source.zip(work).and_then(|(source, work)| {
            self.ledger.works[work.0].subscriptions.get(&source).copied()
        });
        if let Some(before) = before {
            stage.wait(before);
        }
        let wait = stage.new_wait(ix, &keys, &types, register.deadline.is_some(), source);
        if let (Some(source), Some(work)) = (source, work) {
            let scope = self.ledger.works[work.0].scope;
            for other in granted {
                stage.grant(scope, other);
            }
            let reached = before.map_or(register.after, |wait| {
                self.ledger.waits[wait.0].checkpoint.min(register.after)
            });
            if !self.stage_sources(&mut stage, wait, (work, source, &types), reached) {
                let why = TooLarge("more than 16 events of a source are to be looked at");
                return Err(Skip::TooLarge(Some(work), why));
            }
        }
        let after = match register.after {
            after if after <= 0 => Mark::Start,
            after if after == latest => Mark::Latest,
            after if after > latest => Mark::Beyond,
            after => {
                stage.boundary(after);
                Mark::Batch
            }
        };
        let commit = |proofs| Commit::RegisterWait { work: ix, by: shown, wait, after, proofs };
        let mut trial = self.set(stage, work, commit(Proofs::NONE))?;
        trial.commit = commit(trial.set.proofs(&named));
        self.under(&mut trial, now, &register.by, shown);
        if let Some(work) = work {
            let fact = WaitFact {
                work,
                keys,
                types,
                source,
                status: WaitStatus::Active,
                watermark: register.after,
                winner: None,
                fire_at: register.deadline.map(|deadline| match deadline {
                    Deadline::At(at) => at,
                    Deadline::After(length) => now.saturating_add(length),
                }),
                timer: Timer::NONE,
                cause: None,
                subscribed: false,
                checkpoint: 0,
                subscription: 0,
                timeout: None,
                continuation: None,
                aliases: Default::default(),
            };
            let name = match self.ids {
                Ids::Rows => said.name("wait").unwrap_or_default(),
                Ids::Names => register.wait.clone(),
            };
            trial.waits = Some((wait, fact, name));
        }
        Ok(trial)
    }

    /// Stages what a subscription may select above a sequence, until one alias of it can be accepted; whether that did.
    pub(super) fn stage_sources(
        &self,
        stage: &mut Stage<'_>,
        wait: WaitIx,
        (work, (base, scope), types): (WorkNo, (KeyNo, NameNo), &[NameNo]),
        above: i64,
    ) -> bool {
        let events = &self.ledger.keys[base.0].events;
        let mut staged = 0;
        for seq in &events[events.partition_point(|seq| *seq <= above)..] {
            let Some(event) = self.ledger.event(*seq) else { continue };
            let silent = matches!(event.mark, RouteMark::OperatorDrop | RouteMark::ReplaySuspect);
            let passes = types.is_empty() || types.contains(&event.kind);
            if event.born == Born::Alias || event.publisher == Some(work) || event.scope != scope {
                continue;
            }
            if let Some(key) = event.key.filter(|key| *key != base) {
                stage.generation(base, key);
            }
            let at = stage.event(*seq);
            stage.source(wait, at);
            staged += 1;
            if passes && !silent && event.left > 0 {
                return true;
            }
            if staged == SOURCES {
                return false;
            }
        }
        true
    }

    pub(super) fn of_wait(
        &mut self,
        now: i64,
        id: &Id,
        commit: impl FnOnce(WaitIx) -> Commit,
    ) -> Result<Trial, Skip> {
        let wait = self.wait(id)?;
        let work = wait.map(|wait| self.ledger.waits[wait.0].work);
        let mut stage = Stage::new(&self.ledger, now);
        if let Some(work) = work {
            stage.open(work);
        }
        let ix = stage.waited(wait);
        self.set(stage, work, commit(ix))
    }

    pub(super) fn translate(&mut self, now: i64, id: &Id, seq: i64) -> Result<Trial, Skip> {
        let wait = self.wait(id)?;
        let event = self.ledger.event(seq).copied();
        match &event {
            Some(event) => self.is_known(event)?,
            None if self.ledger.inexact => return Err(Skip::Unknown),
            None => {}
        }
        let work = wait.map(|wait| self.ledger.waits[wait.0].work);
        let mut stage = Stage::new(&self.ledger, now);
        if let Some(work) = work {
            stage.open(work);
        }
        let ix = stage.waited(wait);
        let source;
        if let (Some(no), Some(work)) = (wait, work) {
            let fact = &self.ledger.waits[no.0];
            let of = fact.source;
            if let Some(of) = of
                && !self.stage_sources(&mut stage, ix, (work, of, &fact.types), fact.checkpoint)
            {
                let why = TooLarge("more than 16 events of a source are to be looked at");
                return Err(Skip::TooLarge(Some(work), why));
            }
            source = self.stage_source(&mut stage, ix, no, seq, event);
        } else if event.is_some() {
            source = stage.event(seq);
        } else {
            source = stage.offer(stage.blank());
        }
        let commit = Commit::Translate { wait: ix, source: EventIx(0) };
        let mut trial = self.set(stage, work, commit)?;
        trial.commit = Commit::Translate { wait: ix, source: trial.set.slot(source) };
        Ok(trial)
    }

    /// The event that a translation names, as one of the source or as none.
    pub(super) fn stage_source(
        &self,
        stage: &mut Stage<'_>,
        ix: WaitIx,
        wait: WaitNo,
        seq: i64,
        event: Option<Event>,
    ) -> At {
        let Some(event) = event else { return stage.offer(stage.blank()) };
        let fact = &self.ledger.waits[wait.0];
        let base = event.key.map(|key| self.ledger.keys[key.0].base);
        let own = event.publisher == Some(fact.work) || event.born == Born::Alias;
        // What the subscription can never select is staged as nothing it could.
        if own || fact.source != base.map(|base| (base, event.scope)) {
            return stage.mute(seq);
        }
        if let (Some(base), Some(key)) = (base, event.key.filter(|key| base != Some(*key))) {
            stage.generation(base, key);
        }
        let at = stage.event(seq);
        let alias = stage.source(ix, at);
        if let Some(made) = fact.aliases.get(&seq) {
            stage.replace(alias, *made);
        }
        at
    }
}
