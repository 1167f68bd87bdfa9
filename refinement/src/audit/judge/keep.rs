//! What a step of the law leaves is kept in the ledger: [`events`], [`works`] and [`waits`] have a file each, as has
//! any other table that the law changes. Here is their order, and what an acceptance leaves besides.

mod events;
mod waits;
mod works;

use abide_model::action;
use abide_model::index::{WaitIx, WorkIx, below};
use abide_model::state::{Phase, Timer, WorkStatus};
use serde_json::Value;

use super::super::answer::Answer;
use super::super::facts::WorkNo;
use super::super::rows::Row;
use super::super::stage::Staged;
use super::{Judge, Leaves, Pinned, Trial};

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

    /// What an acceptance leaves that the model counts in ticks or not at all.
    fn leave(&mut self, row: &Row, said: &Answer, trial: &Trial) {
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
            if let Some(pinned) = pinned.filter(|_| !resumed) {
                let Pinned { resumes, holds_until_pin, controls, policy } = pinned;
                (account.resumes, account.holds_until_pin) = (resumes, holds_until_pin);
                (account.controls, account.policy) = (controls, policy);
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

    /// The next incarnation: no authority of before holds in it. OURS-21
    fn voids(&mut self, now: i64, incarnation: u64) {
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
}
