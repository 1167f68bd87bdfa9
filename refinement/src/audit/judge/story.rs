//! What is told to a person: the rows of a Work up to the one that the law does not allow.

use super::super::answer::Answer;
use super::super::facts::{WorkNo, tell};
use super::super::rows::Row;
use super::super::{AuditError, Illegal};
use super::Judge;

/// Characters of a row's arguments that are told.
const TOLD: usize = 240;

impl Judge {
    /// A row that the law does not allow.
    pub(super) fn illegal(
        &self,
        row: &Row,
        work: Option<WorkNo>,
        said: String,
        lawful: String,
    ) -> AuditError {
        let mut story =
            work.map_or_else(|| self.story.clone(), |work| self.ledger.works[work.0].story.clone());
        tell(&mut story, format!("{}. {} => {said}", row.n, sentence(row)));
        AuditError::Illegal(Box::new(Illegal {
            n: row.n,
            action: sentence(row),
            work: work.map(|work| self.called(work)),
            said,
            lawful,
            story: story.into(),
        }))
    }

    /// What a Work is called.
    pub(super) fn called(&self, work: WorkNo) -> String {
        let name = self.ledger.works[work.0].name.clone();
        name.unwrap_or_else(|| format!("the {}. work made, which no row names", work.0 + 1))
    }

    /// Tells one more row.
    pub(super) fn narrate(&mut self, work: Option<WorkNo>, row: &Row, said: &Answer) {
        let step = format!("{}. {} => {said}", row.n, sentence(row));
        if let Some(work) = work {
            self.ledger.works[work.0].tell(step.clone());
        }
        tell(&mut self.story, step);
    }
}

/// A row as a person reads it: its action and what it was asked with.
fn sentence(row: &Row) -> String {
    let mut text = row.action.clone();
    for (name, value) in &row.args {
        if !matches!(name.as_str(), "n" | "at" | "actor" | "digest") {
            text.push_str(&format!(" {name}={value}"));
        }
        if text.len() > TOLD {
            let end = (0..=TOLD).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            text.truncate(end);
            text.push('…');
            break;
        }
    }
    format!("{text} at={}", row.at)
}
