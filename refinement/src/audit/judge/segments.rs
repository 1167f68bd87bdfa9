//! Attempts: claims, what is done under authority, recoveries and retries.

use abide_model::action::{self, Commit};
use abide_model::index::{Proofs, WorkIx};
use abide_model::state::Facts;
use abide_model::worlds::Controls;

use super::super::answer::Answer;
use super::super::args::{self, By, Claim, Complete, Fail, Id};
use super::super::facts::WorkNo;
use super::super::stage::{self, Stage};
use super::{Judge, Leaves, Pinned, Skip, Trial};

impl Judge {
    pub(super) fn claim(&mut self, now: i64, claim: &Claim) -> Result<Trial, Skip> {
        let work = self.judged(&claim.work)?;
        let mut stage = Stage::new(&self.ledger, now);
        let ix = stage.opened(work);
        if let Some(wait) = work.and_then(|work| self.ledger.works[work.0].wake) {
            stage.wait(wait);
        }
        let full = |scope: &args::Capacity| self.ledger.running_below(&scope.scope) >= scope.limit;
        if claim.capacity.iter().any(full) {
            stage.is_full();
        }
        let mut trial = self.set(stage, work, Commit::Claim { work: ix })?;
        trial.leaves = Leaves {
            expires_at: Some(now.saturating_add(claim.lease)),
            pinned: Some(Pinned {
                resumes: claim.resumes,
                holds_until_pin: claim.holds_until_pin,
                controls: Controls { injects: claim.injects, interrupts: claim.interrupts },
                policy: claim.retry.clone(),
            }),
            ..Leaves::default()
        };
        trial.lease(now.saturating_add(claim.lease), claim.expires_at);
        Ok(trial)
    }

    /// A row under authority. Renewals write no rows, so the row says under which end of its lease it acted.
    pub(super) fn by(
        &mut self,
        now: i64,
        by: &By,
        commit: impl FnOnce(WorkIx, action::Authority) -> Commit,
    ) -> Result<Trial, Skip> {
        let (work, shown) = self.shows(by)?;
        let mut stage = Stage::new(&self.ledger, now);
        let ix = stage.opened(work);
        let mut trial = self.set(stage, work, commit(ix, shown))?;
        self.under(&mut trial, now, by, shown);
        Ok(trial)
    }

    /// Which authority a row shows.
    pub(super) fn shows(&mut self, by: &By) -> Result<(Option<WorkNo>, action::Authority), Skip> {
        let work = self.judged(&by.work)?;
        let current = work.is_some_and(|work| {
            let account = &self.ledger.works[work.0];
            (account.attempt, account.epoch) == (by.attempt, by.epoch)
        });
        let shown = if current { action::Authority::Current } else { action::Authority::Stale };
        Ok((work, shown))
    }

    /// The lease that a row says it acted under. It only ever moves on. LEASE-11
    pub(super) fn under(&self, trial: &mut Trial, now: i64, by: &By, shown: action::Authority) {
        let (Some(work), Some(expires_at)) = (trial.subject, by.expires_at) else { return };
        let known = self.ledger.works[work.0].expires_at;
        if shown == action::Authority::Current {
            trial.lease(expires_at.max(known), Some(expires_at));
            let until = expires_at.max(known);
            trial.set.state.work_mut(WorkIx(0)).attempt.lease = u8::from(now < until);
            trial.leaves.expires_at = Some(expires_at);
        }
    }

    pub(super) fn fail(&mut self, now: i64, fail: &Fail) -> Result<Trial, Skip> {
        let Fail { by, hint, proofs } = fail;
        let (work, shown) = self.shows(by)?;
        let most = work.map_or(0, |work| self.ledger.works[work.0].policy.hint_max);
        let (hint, asked) = match *hint {
            None => (action::Hint::None, None),
            Some(args::Hint::Unreadable) => (action::Hint::Invalid, None),
            Some(args::Hint::Delay(delay)) if delay < 1 => (action::Hint::Invalid, None),
            Some(args::Hint::Delay(delay)) if delay > most => (action::Hint::Excessive, None),
            Some(args::Hint::Delay(delay)) => (action::Hint::Valid, Some(delay)),
        };
        let mut stage = Stage::new(&self.ledger, now);
        let (ix, named) = stage.reported(work, proofs);
        let commit = |proofs| Commit::Fail { work: ix, by: shown, hint, proofs };
        let mut trial = self.set(stage, work, commit(Proofs::NONE))?;
        trial.commit = commit(trial.set.proofs(&named));
        self.under(&mut trial, now, by, shown);
        trial.leaves.retry_at = self.retry_at(now, work, asked);
        Ok(trial)
    }

    /// When the retry of a failure that is admitted now is due: the step of its count, or what a valid hint asks for.
    /// RETRY-04 RETRY-05 RETRY-15
    pub(super) fn retry_at(
        &self,
        now: i64,
        work: Option<WorkNo>,
        asked: Option<i64>,
    ) -> Option<i64> {
        let account = &self.ledger.works[work?.0];
        let step = account.policy.backoff.get(usize::from(account.state.failures)).copied();
        asked.or(step).map(|delay| now.saturating_add(delay))
    }

    pub(super) fn fire_retry(&mut self, now: i64, id: &Id, attempt: u32) -> Result<Trial, Skip> {
        let work = self.judged(id)?;
        let known = work.and_then(|work| self.ledger.works[work.0].retries.get(&attempt).copied());
        let mut stage = Stage::new(&self.ledger, now);
        let ix = stage.opened(work);
        stage.retry(ix, attempt, known);
        let attempt = stage::number(attempt);
        self.set(stage, work, Commit::FireRetry { work: ix, attempt })
    }

    pub(super) fn complete(&mut self, now: i64, complete: &Complete) -> Result<Trial, Skip> {
        let Complete { by, ending, declares, proofs } = complete;
        let declares = *declares;
        let (work, shown) = self.shows(by)?;
        let mut stage = Stage::new(&self.ledger, now);
        let (ix, named) = stage.reported(work, proofs);
        let (ending, close_after) = match *ending {
            args::Ending::Completed => (action::Ending::Completed, None),
            args::Ending::Handoff { close_after } => (action::Ending::Handoff, close_after),
        };
        if close_after.is_some() {
            stage.closes_after();
        }
        let number = work.map_or(0, |work| self.ledger.works[work.0].attempt);
        if declares {
            stage.turn(ix, stage::number(number));
        }
        let commit = |proofs| Commit::Complete { work: ix, by: shown, ending, declares, proofs };
        let mut trial = self.set(stage, work, commit(Proofs::NONE))?;
        trial.commit = commit(trial.set.proofs(&named));
        trial.leaves.idle_at = close_after.map(|length| now.saturating_add(length));
        let idle_at = trial.leaves.idle_at;
        self.under(&mut trial, now, by, shown);
        trial.leaves.idle_at = idle_at;
        Ok(trial)
    }

    pub(super) fn claim_recovery(
        &mut self,
        now: i64,
        id: &Id,
        (length, expires_at): (i64, Option<i64>),
        said: &Answer,
    ) -> Result<Trial, Skip> {
        let mut trial = self.simple(now, id, |work, _| Commit::ClaimRecovery { work }, None)?;
        let known = trial.subject.map_or(0, |work| self.ledger.works[work.0].expires_at);
        if said.code == "lease_live" && now >= known {
            trial.set.state.work_mut(WorkIx(0)).attempt.lease = 1;
            trial.unsure = Some("a lease that is live by a renewal, which writes no row");
        }
        let until = now.saturating_add(length);
        trial.leaves.expires_at = said.accepted().then_some(until);
        trial.lease(until, expires_at);
        Ok(trial)
    }

    pub(super) fn settle_recovery(
        &mut self,
        now: i64,
        by: &By,
        verdict: args::Verdict,
    ) -> Result<Trial, Skip> {
        let verdict = match verdict {
            args::Verdict::Adopted => action::Verdict::Adopted,
            args::Verdict::NotAdoptable => action::Verdict::NotAdoptable,
        };
        let mut trial =
            self.by(now, by, |work, by| Commit::SettleRecovery { work, by, verdict })?;
        trial.leaves.retry_at = self.retry_at(now, trial.subject, None);
        Ok(trial)
    }

    pub(super) fn detach(&mut self, now: i64, by: &By) -> Result<Trial, Skip> {
        let mut trial = self.by(now, by, |work, by| Commit::Detach { work, by })?;
        // The lease is over at this instant. LEASE-02
        trial.leaves.expires_at = Some(now);
        Ok(trial)
    }

    pub(super) fn vacate(&mut self, now: i64, id: &Id, segment: (u32, u64)) -> Result<Trial, Skip> {
        let work = self.judged(id)?;
        let marked = work.and_then(|work| self.ledger.works[work.0].marked);
        let segment = match marked == Some(segment) {
            true => action::Authority::Current,
            false => action::Authority::Stale,
        };
        self.simple(now, id, |work, _| Commit::Vacate { work, segment }, None)
    }
}
