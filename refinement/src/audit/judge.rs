//! One row after another: what the law answers, and whether the journal says the same.
//!
//! Here is the way of a row. What it asked for becomes a [`Trial`]: [`actions`] says which for each action, and the files
//! it leads to set its stage, one a concern: [`ingress`], [`routing`], [`segments`], [`intents`], [`waits`]. The law's answer is put in
//! the words of a journal by [`phrase`] and compared. If they are alike, [`keep`] takes what the law left into the ledger; if
//! they are not, [`doubt`] says whether the journal is unlawful or cannot say, and [`story`] tells the row to a person.
//!
//! A new action has a line in [`actions`], a method in the file of its concern (or a file, if its concern is a new table),
//! the facts of its receipt in [`phrase`], and in [`keep`] what its acceptance leaves.

mod actions;
mod doubt;
mod ingress;
mod intents;
mod keep;
mod known;
mod phrase;
mod routing;
mod segments;
mod story;
mod trial;
mod waits;

use std::collections::VecDeque;

use abide_model::action::Action;
use abide_model::law::Law;

use super::act::{self, Act};
use super::answer::Answer;
use super::facts::WorkNo;
use super::ledger::Ledger;
use super::rows::{Ids, Row, SUPPRESSED, Sealed};
use super::{AuditError, Report, stage};

use trial::{Leaves, Made, Pinned, Skip, Trial};

/// An audit as far as it has come.
pub(super) struct Judge {
    ids: Ids,
    ledger: Ledger,
    report: Report,
    last: i64,
    at: i64,
    story: VecDeque<String>,
    /// Works that no row has named yet.
    unnamed: Vec<WorkNo>,
}

impl Judge {
    /// Before the first row.
    pub(super) fn new(ids: Ids) -> Self {
        Self {
            ids,
            ledger: Ledger::default(),
            report: Report::default(),
            last: 0,
            at: i64::MIN,
            story: VecDeque::new(),
            unnamed: Vec::new(),
        }
    }

    /// What was covered.
    pub(super) fn report(mut self, sealed: Option<Sealed>) -> Report {
        self.report.works = self.ledger.works.len();
        self.report.seals = sealed.map(|sealed| sealed.count);
        let until = sealed.map_or(self.last, |sealed| sealed.until);
        self.report.unsealed = usize::try_from(self.last - until).unwrap_or_default();
        self.report.worlds = stage::shapes();
        self.report
    }

    /// Judges the next row.
    pub(super) fn row(&mut self, row: &Row) -> Result<(), AuditError> {
        self.number(row)?;
        self.report.rows += 1;
        if row.action == SUPPRESSED {
            self.report.suppressed += 1;
            return Ok(());
        }
        let unreadable = |what: String| AuditError::Unreadable { n: row.n, what };
        let said = row.outcome.as_ref().and_then(Answer::read);
        let said = said.ok_or_else(|| unreadable("its outcome is none of the alphabet".into()))?;
        let act = act::act(row)
            .map_err(|error| unreadable(format!("arguments of `{}`: {error}", row.action)))?;
        let act =
            act.ok_or_else(|| unreadable(format!("`{}` is no action known here", row.action)))?;
        if row.at < self.at {
            let lawful = format!("an instant not before that of row {}, {}", row.n - 1, self.at);
            return Err(self.illegal(row, None, format!("at={}", row.at), lawful));
        }
        self.at = row.at;
        let trial = match self.trial(row, &act, &said) {
            Ok(trial) => trial,
            Err(skip) => {
                self.skip(row, &act, &said, &skip);
                return Ok(());
            }
        };
        self.decide(row, &act, &said, trial)
    }

    /// Rows are numbered one by one, from the first on.
    fn number(&mut self, row: &Row) -> Result<(), AuditError> {
        if self.last == 0 && row.n > 1 {
            return Err(AuditError::Partial { n: row.n });
        }
        if row.n != self.last + 1 {
            return Err(AuditError::Gap { after: self.last, found: row.n });
        }
        self.last = row.n;
        Ok(())
    }

    fn decide(
        &mut self,
        row: &Row,
        act: &Act,
        said: &Answer,
        trial: Trial,
    ) -> Result<(), AuditError> {
        let (outcome, after) =
            Law::of(trial.set.world).step(&trial.set.state, Action::Commit(trial.commit));
        let lawful = self.phrase(&outcome, &trial, &after);
        if !said.is_as(&lawful) {
            return self.differs(row, act, said, &lawful, &trial);
        }
        match trial.unsure {
            Some(why) => self.not_judged(why),
            None => self.report.replayed += 1,
        }
        let subject = trial.subject;
        let subject = self.absorb(row, said, trial, &after).or(subject);
        self.narrate(subject, row, said);
        Ok(())
    }
}
