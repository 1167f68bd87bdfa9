//! Controls of running attempts: sends, what came of them, and interrupts by a person.

use abide_model::action::{self, Commit};
use abide_model::index::{EventIx, WorkIx};

use super::super::args::{By, Dispatch, Operator, SettleDispatch};
use super::super::stage::{Asks, Stage};
use super::{Judge, Skip, Trial};

impl Judge {
    pub(super) fn dispatch(&mut self, now: i64, dispatch: &Dispatch) -> Result<Trial, Skip> {
        let Dispatch { by, event } = dispatch;
        self.sent(now, by, *event, |work, by, event| Commit::Dispatch { work, by, event })
    }

    pub(super) fn settle_dispatch(
        &mut self,
        now: i64,
        settle: &SettleDispatch,
    ) -> Result<Trial, Skip> {
        let SettleDispatch { by, event, answer } = settle;
        let answer = *answer;
        let commit = |work, by, event| Commit::SettleDispatch { work, by, event, answer };
        self.sent(now, by, *event, commit)
    }

    /// A row about what is to reach an attempt, shown by whoever holds it.
    fn sent(
        &mut self,
        now: i64,
        by: &By,
        seq: i64,
        commit: impl Fn(WorkIx, action::Authority, EventIx) -> Commit,
    ) -> Result<Trial, Skip> {
        let (work, shown) = self.shows(by)?;
        let known = self.ledger.event(seq).copied();
        match &known {
            Some(event) => self.is_known(event)?,
            None if self.ledger.inexact => return Err(Skip::Unknown),
            None => {}
        }
        let mut stage = Stage::new(&self.ledger, now);
        let ix = stage.opened(work);
        let at = stage.event(seq);
        let mut trial = self.set(stage, work, commit(ix, shown, EventIx(0)))?;
        trial.commit = commit(ix, shown, trial.set.slot(at));
        self.under(&mut trial, now, by, shown);
        Ok(trial)
    }

    pub(super) fn interrupt(&mut self, now: i64, of: &Operator) -> Result<Trial, Skip> {
        let implemented = of.implemented;
        let asks = |work: WorkIx| Asks::Interrupt(work.0);
        let commit =
            |work, expect, request| Commit::Interrupt { work, expect, request, implemented };
        self.requested(now, of, "core.manual.interrupt", asks, commit)
    }
}
