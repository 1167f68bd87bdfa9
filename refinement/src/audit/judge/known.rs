//! What a row names, as the ledger knows it: whether it is there, and whether it is judged.

use serde_json::Value;

use super::super::args::Id;
use super::super::facts::{Born, Event, WaitNo, WorkNo};
use super::super::rows::Ids;
use super::{Judge, Skip};

impl Judge {
    /// The Work of an id. One that no row has named yet is known by the first row that does.
    pub(super) fn work(&mut self, id: &Id) -> Option<WorkNo> {
        let name = id.to_string();
        if let Some(known) = self.ledger.work_of(&name) {
            return Some(known);
        }
        if !name.starts_with("work_") {
            return None;
        }
        match self.unnamed.as_slice() {
            [] => None,
            [only] => {
                let only = *only;
                self.unnamed.clear();
                self.ledger.name_work(only, &name);
                Some(only)
            }
            [_, _, ..] => {
                for work in self.unnamed.clone() {
                    self.give_up(work, "no row says which of several Works it is");
                }
                None
            }
        }
    }

    /// A Work that is judged; `None` if there is none of that id.
    pub(super) fn judged(&mut self, id: &Id) -> Result<Option<WorkNo>, Skip> {
        let Some(work) = self.work(id) else {
            return if self.unnamed.is_empty() { Ok(None) } else { Err(Skip::Unknown) };
        };
        self.decided(work).map(Some)
    }

    /// A Work, unless it is undecided.
    pub(super) fn decided(&self, work: WorkNo) -> Result<WorkNo, Skip> {
        match self.ledger.works[work.0].undecided {
            None => Ok(work),
            Some(_) => Err(Skip::Undecided(work)),
        }
    }

    /// A wait whose Work is judged; `None` if there is none of that id.
    pub(super) fn wait(&mut self, id: &Id) -> Result<Option<WaitNo>, Skip> {
        let Some(wait) = self.ledger.wait_of(&id.to_string()) else {
            return if self.ledger.inexact { Err(Skip::Unknown) } else { Ok(None) };
        };
        self.decided(self.ledger.waits[wait.0].work)?;
        Ok(Some(wait))
    }

    /// An event that no row which was judged accepted cannot be put before the law.
    pub(super) fn is_known(&self, event: &Event) -> Result<(), Skip> {
        if event.born == Born::Unknown { Err(Skip::Unknown) } else { Ok(()) }
    }

    /// How a journal names a Work.
    pub(super) fn id(&self, work: WorkNo) -> Value {
        let name = self.ledger.works[work.0].name.clone();
        match (self.ids, name) {
            (Ids::Rows, Some(name)) => name.parse::<i64>().map_or(Value::Null, Value::from),
            (Ids::Names, Some(name)) => Value::from(name),
            (Ids::Rows | Ids::Names, None) => Value::Null,
        }
    }

    /// What a Work that is made next will be called.
    pub(super) fn next_name(&self, said: Option<String>) -> Option<String> {
        match self.ids {
            Ids::Rows => Some((self.ledger.works.len() + 1).to_string()),
            Ids::Names => said,
        }
    }
}
