//! What does not get on although nothing forbids it: a route that cannot be evaluated, a process
//! whose end cannot be seen. Shown by `abide why`, lost with the daemon, and found again by trying.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::domain::{Seq, WaitId, WorkId};

/// Why things do not get on, in words for people.
#[derive(Debug, Default)]
pub struct Troubles {
    events: Mutex<HashMap<Seq, String>>,
    works: Mutex<HashMap<WorkId, String>>,
    waits: Mutex<HashMap<WaitId, String>>,
}

/// One thing that does not get on, as health shows it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct Trouble {
    /// Which: `event 7`, `work 3`, `wait 5`, by rows.
    pub what: String,
    /// Why, in words for people.
    pub why: String,
}

impl Troubles {
    /// Notes why an event is not routed.
    pub fn event(&self, seq: Seq, why: impl Into<String>) {
        lock(&self.events).insert(seq, why.into());
    }

    /// Notes why a Work does not get on.
    pub fn work(&self, work: WorkId, why: impl Into<String>) {
        lock(&self.works).insert(work, why.into());
    }

    /// Notes why a wait does not get on.
    pub fn wait(&self, wait: WaitId, why: impl Into<String>) {
        lock(&self.waits).insert(wait, why.into());
    }

    /// The wait got on.
    pub fn clear_wait(&self, wait: WaitId) {
        lock(&self.waits).remove(&wait);
    }

    /// The event got on.
    pub fn clear_event(&self, seq: Seq) {
        lock(&self.events).remove(&seq);
    }

    /// The Work got on.
    pub fn clear_work(&self, work: WorkId) {
        lock(&self.works).remove(&work);
    }

    /// What was noted of the Work is over, unless something else was noted meanwhile.
    pub fn clear_work_of(&self, work: WorkId, why: &str) {
        let mut works = lock(&self.works);
        if works.get(&work).is_some_and(|noted| noted == why) {
            works.remove(&work);
        }
    }

    /// Why an event is not routed, if that is known.
    #[must_use]
    pub fn of_event(&self, seq: Seq) -> Option<String> {
        lock(&self.events).get(&seq).cloned()
    }

    /// Why a Work does not get on, if that is known.
    #[must_use]
    pub fn of_work(&self, work: WorkId) -> Option<String> {
        lock(&self.works).get(&work).cloned()
    }
}

impl Troubles {
    /// How much does not get on, and what of it, in the order of rows; no more than `limit`.
    #[must_use]
    pub fn shown(&self, limit: usize) -> (usize, Vec<Trouble>) {
        let mut all: Vec<(&str, i64, String)> = Vec::new();
        all.extend(lock(&self.events).iter().map(|(id, why)| ("event", id.0, why.clone())));
        all.extend(lock(&self.works).iter().map(|(id, why)| ("work", id.0, why.clone())));
        all.extend(lock(&self.waits).iter().map(|(id, why)| ("wait", id.0, why.clone())));
        all.sort();
        let count = all.len();
        let trouble = |(kind, id, why)| Trouble { what: format!("{kind} {id}"), why };
        (count, all.into_iter().take(limit).map(trouble).collect())
    }
}

fn lock<K>(map: &Mutex<HashMap<K, String>>) -> std::sync::MutexGuard<'_, HashMap<K, String>> {
    // A panic elsewhere cannot leave a map half changed.
    map.lock().unwrap_or_else(PoisonError::into_inner)
}
