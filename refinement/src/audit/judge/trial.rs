//! A row put before the law: the shapes that all of the judge shares, and how a trial is set.

use abide_model::action::{Commit, Expect};
use abide_model::index::{WaitIx, WorkIx};
use abide_model::worlds::Controls;
use serde_json::{Value, json};

use super::super::args::{Id, Policy};
use super::super::facts::{Event, KeyNo, NameNo, WaitFact, WorkNo};
use super::super::stage::{At, Set, Stage, TooLarge};
use super::Judge;

/// A row put before the law.
pub(super) struct Trial {
    pub(super) set: Set,
    pub(super) commit: Commit,
    pub(super) subject: Option<WorkNo>,
    /// What becomes of an event that the step may accept.
    pub(super) offered: Vec<(At, Event)>,
    pub(super) made: Option<Made>,
    pub(super) waits: Option<(WaitIx, WaitFact, String)>,
    /// What an acceptance leaves that the model does not keep.
    pub(super) leaves: Leaves,
    /// Facts beside those of the model.
    pub(super) facts: Vec<(String, Value)>,
    pub(super) unsure: Option<&'static str>,
}

/// A Work that the step may make.
pub(super) struct Made {
    pub(super) ix: WorkIx,
    pub(super) name: Option<String>,
    pub(super) scope: NameNo,
    pub(super) standing: bool,
    pub(super) succeeds: Option<(WorkNo, Option<KeyNo>)>,
}

/// What an acceptance leaves that the model counts in ticks or not at all.
#[derive(Debug, Clone, Default)]
pub(super) struct Leaves {
    pub(super) expires_at: Option<i64>,
    pub(super) idle_at: Option<i64>,
    pub(super) retry_at: Option<i64>,
    pub(super) pinned: Option<Pinned>,
    pub(super) reloads: bool,
    pub(super) incarnation: Option<u64>,
}

/// What a claim pins with a fresh attempt.
#[derive(Debug, Clone)]
pub(super) struct Pinned {
    pub(super) resumes: bool,
    pub(super) holds_until_pin: bool,
    pub(super) controls: Controls,
    pub(super) policy: Policy,
}

/// Why a row is not put before the law.
pub(super) enum Skip {
    /// It does not fit.
    TooLarge(Option<WorkNo>, TooLarge),
    /// Its Work is not judged any more.
    Undecided(WorkNo),
    /// What it names was in rows that were not judged.
    Unknown,
}

impl Judge {
    /// A row about one Work, whose answer rests on nothing but that Work.
    pub(super) fn simple(
        &mut self,
        now: i64,
        id: &Id,
        commit: impl FnOnce(WorkIx, Expect) -> Commit,
        expect: Option<u32>,
    ) -> Result<Trial, Skip> {
        let work = self.judged(id)?;
        let mut stage = Stage::new(&self.ledger, now);
        let ix = stage.opened(work);
        let expect = self.expect(work, expect);
        self.set(stage, work, commit(ix, expect))
    }

    /// Which attempt a row expects, of those a Work had.
    pub(super) fn expect(&self, work: Option<WorkNo>, expect: Option<u32>) -> Expect {
        let last = work.map_or(0, |work| self.ledger.works[work.0].attempt);
        match expect {
            None => Expect::Any,
            Some(expected) if expected == last => Expect::Last,
            Some(_) => Expect::Other,
        }
    }

    /// Sets a stage for a commit.
    pub(super) fn set(
        &self,
        stage: Stage<'_>,
        subject: Option<WorkNo>,
        commit: Commit,
    ) -> Result<Trial, Skip> {
        let mut set = stage.set().map_err(|why| Skip::TooLarge(subject, why))?;
        set.refer(&self.ledger);
        Ok(Trial {
            set,
            commit,
            subject,
            offered: Vec::new(),
            made: None,
            waits: None,
            leaves: Leaves::default(),
            facts: Vec::new(),
            unsure: None,
        })
    }
}

impl Trial {
    /// The end of a lease as it has to be: what the row says otherwise is part of the answer that differs.
    pub(super) fn lease(&mut self, lawful: i64, said: Option<i64>) {
        if said.is_some_and(|said| said != lawful) {
            self.facts.push(("expires_at".to_owned(), json!(lawful)));
        }
    }
}
