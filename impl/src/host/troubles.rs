//! What does not get on although nothing forbids it: a route that cannot be evaluated, a process
//! whose end cannot be seen. Shown by `abide why`, lost with the daemon, and found again by trying.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::domain::{Seq, WorkId};

/// Why things do not get on, in words for people.
#[derive(Debug, Default)]
pub struct Troubles {
    events: Mutex<HashMap<Seq, String>>,
    works: Mutex<HashMap<WorkId, String>>,
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

    /// The event got on.
    pub fn clear_event(&self, seq: Seq) {
        lock(&self.events).remove(&seq);
    }

    /// The Work got on.
    pub fn clear_work(&self, work: WorkId) {
        lock(&self.works).remove(&work);
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

fn lock<K>(map: &Mutex<HashMap<K, String>>) -> std::sync::MutexGuard<'_, HashMap<K, String>> {
    // A panic elsewhere cannot leave a map half changed.
    map.lock().unwrap_or_else(PoisonError::into_inner)
}
