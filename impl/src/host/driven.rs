//! Which segments a task of this daemon drives, so that none is driven twice.
//!
//! This saves work and never decides: what may happen to an attempt is decided by its lease, which
//! is in the database.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use crate::domain::{Segment, WorkId};

type Key = (WorkId, Segment, Role);

/// What a task does with a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Holds its lease and runs it.
    Runs,
    /// Sees it out after its lease is gone.
    Vacates,
}

/// The segments driven now.
#[derive(Debug, Clone, Default)]
pub struct Driven(Arc<Mutex<HashSet<Key>>>);

/// A task's claim on a segment; given back when it is dropped, a panic included.
#[derive(Debug)]
pub struct Drive {
    driven: Driven,
    key: Key,
}

impl Driven {
    /// Takes a segment; `None` if a task has it.
    #[must_use]
    pub fn take(&self, work: WorkId, segment: Segment, role: Role) -> Option<Drive> {
        let key = (work, segment, role);
        let taken = self.lock().insert(key);
        taken.then(|| Drive { driven: self.clone(), key })
    }

    /// How many are driven.
    #[must_use]
    pub fn count(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashSet<Key>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Drive {
    fn drop(&mut self) {
        self.driven.lock().remove(&self.key);
    }
}
