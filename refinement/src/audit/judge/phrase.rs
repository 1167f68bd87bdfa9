//! The law's answer in the words of a journal.

use abide_model::action::Commit;
use abide_model::index::{EventIx, WorkIx};
use abide_model::outcome::{Outcome, Receipt, Recovery, Start};
use abide_model::state::{Facts, IntentStatus, WorkStatus};
use serde_json::{Value, json};

use super::super::answer::Answer;
use super::super::rows::Ids;
use super::super::stage::Staged;
use super::{Judge, Trial};

/// Claims that one attempt may have in one incarnation. OURS-21
const EPOCHS: u64 = 1_000_000_000;

impl Judge {
    /// The law's answer in the words of a journal.
    pub(super) fn phrase(&self, outcome: &Outcome, trial: &Trial, after: &Staged) -> Answer {
        let mut answer = Answer { code: outcome.code().to_owned(), facts: Vec::new() };
        let (Outcome::Accepted(receipt) | Outcome::Duplicate(receipt)) = outcome else {
            // Only what the journal says of its own lease is compared with a refusal.
            answer.facts.clear();
            return answer;
        };
        let account = trial.subject.map(|work| &self.ledger.works[work.0]);
        let mut fact = |name: &str, value: Value| answer.facts.push((name.to_owned(), value));
        match receipt {
            Receipt::Done => {
                let ended = matches!(
                    trial.commit,
                    Commit::Complete { .. } | Commit::Fail { .. } | Commit::SettleRecovery { .. }
                );
                let status = after.work(WorkIx(0)).status;
                if ended && status != WorkStatus::Running {
                    fact("status", json!(status));
                }
            }
            Receipt::Sequence(rank) => fact("seq", json!(trial.set.seq(*rank))),
            Receipt::Routed { mark, work } => {
                fact("mark", json!(mark));
                match work.map(|work| (work, trial.set.works[work.at()])) {
                    None => fact("work", Value::Null),
                    Some((_, Some(known))) => fact("work", self.id(known)),
                    Some((ix, None)) => {
                        let made = trial.made.as_ref().filter(|made| made.ix == ix);
                        if let (Some(made), Ids::Rows) = (made, self.ids) {
                            let row = made.name.as_ref().and_then(|name| name.parse::<i64>().ok());
                            fact("work", json!(row));
                        }
                    }
                }
            }
            Receipt::Dispatched { kind, .. } => {
                fact("kind", json!(kind));
                self.intent_facts(trial, IntentStatus::Dispatched, &mut fact);
            }
            Receipt::Settled(status) => self.intent_facts(trial, *status, &mut fact),
            Receipt::Claimed { start, .. } => {
                let (attempt, epoch) = account.map_or((0, 0), |account| match start {
                    Start::Resume => (account.attempt, self.epoch_after(account.epoch)),
                    Start::Start | Start::Next => (account.attempt + 1, self.epoch_after(0)),
                });
                fact("attempt", json!(attempt));
                fact("epoch", json!(epoch));
                fact("reason", json!(start));
            }
            Receipt::Recovered(recovery) => {
                let (attempt, epoch) = account
                    .map_or((0, 0), |account| (account.attempt, self.epoch_after(account.epoch)));
                fact("attempt", json!(attempt));
                fact("epoch", json!(epoch));
                fact("relaunch", json!(*recovery == Recovery::Relaunch));
            }
            Receipt::Registered { winner } => {
                fact(
                    "winner",
                    winner.map_or(Value::Null, |winner| self.seq_after(trial, after, winner)),
                );
            }
            Receipt::Woken { winner } => {
                let seq = self.seq_after(trial, after, *winner);
                fact("winner", seq);
            }
        }
        answer.facts.extend(trial.facts.iter().cloned());
        answer
    }

    /// What is said of an intent: whose it is, and what became of it.
    fn intent_facts(
        &self,
        trial: &Trial,
        status: IntentStatus,
        fact: &mut impl FnMut(&str, Value),
    ) {
        fact("status", json!(status));
        let (Commit::Dispatch { event, .. } | Commit::SettleDispatch { event, .. }) = trial.commit
        else {
            return;
        };
        let Some(seq) = trial.set.seq_at(event) else { return };
        fact("event", json!(seq));
        if let Some(intent) = self.ledger.event(seq).and_then(|event| event.intent) {
            fact("attempt", json!(intent.attempt));
            fact("kind", json!(intent.kind));
        }
    }

    pub(super) fn seq_after(&self, trial: &Trial, after: &Staged, event: EventIx) -> Value {
        json!(trial.set.seq(after.event(event).seq))
    }

    /// The epoch of the next claim of an attempt: higher than the last, and of this incarnation. LEASE-10 OURS-21
    pub(super) fn epoch_after(&self, last: u64) -> u64 {
        last.max(self.ledger.restores.saturating_mul(EPOCHS)).saturating_add(1)
    }
}
