//! The wait that a step registered, and each that it changed.

use abide_model::index::{Maybe, WaitIx};
use abide_model::state::{Facts, Flag, WaitStatus};

use super::super::super::facts::WaitNo;
use super::super::super::stage::Staged;
use super::super::{Judge, Trial};

impl Judge {
    /// Keeps the wait that the step registered, if it registered one.
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

    /// Keeps a wait as the step left it.
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
}
