//! Which segments a task of this daemon drives, so that none is driven twice.
//!
//! This saves work and never decides: what may happen to an attempt is decided by its lease, which
//! is in the database.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, watch};

use crate::domain::{AttemptNo, Authority, Epoch, Segment, WorkId};

type Key = (WorkId, Segment, Role);

/// What a task does with a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Role {
    /// Holds its lease and runs it.
    Runs,
    /// Sees it out after its lease is gone.
    Vacates,
}

/// The segments driven now, each with the authority it is run under, if it is.
///
/// Whoever runs one is [knocked](Driven::knock) at when there may be a control to carry out, so that
/// a commit costs one look for all of them. POLICY-12
#[derive(Debug, Clone, Default)]
pub struct Driven(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    now: Mutex<Now>,
    /// Rings when a task gives a segment back.
    given: Notify,
}

#[derive(Debug, Default)]
struct Now {
    /// In the order of Works, so that those of one are found without a look at the others.
    driven: BTreeMap<Key, Driver>,
    /// Let go of because the daemon stops, with leases that stand.
    left: Vec<Authority>,
}

/// The task that drives a segment.
#[derive(Debug)]
struct Driver {
    /// What it runs the segment under, if it does.
    by: Option<Authority>,
    knocks: watch::Sender<()>,
}

/// A task's claim on a segment; given back when it is dropped, a panic included.
#[derive(Debug)]
pub struct Drive {
    driven: Driven,
    key: Key,
    knocks: watch::Receiver<()>,
}

impl Drive {
    /// Changes whenever somebody knocks.
    #[must_use]
    pub fn knocks(&self) -> watch::Receiver<()> {
        self.knocks.clone()
    }
}

impl Driven {
    /// Takes a segment to run it under an authority; `None` if a task has it.
    #[must_use]
    pub fn run(&self, by: Authority) -> Option<Drive> {
        let segment = Segment { attempt: by.attempt, epoch: by.epoch };
        self.take((by.work, segment, Role::Runs), Some(by))
    }

    /// Takes a segment that has lost its authority, to see it out; `None` if a task has it.
    #[must_use]
    pub fn see_out(&self, work: WorkId, segment: Segment) -> Option<Drive> {
        self.take((work, segment, Role::Vacates), None)
    }

    /// The authorities that segments are run under now, or were until the daemon was to stop.
    #[must_use]
    pub fn held(&self) -> Vec<Authority> {
        let now = self.lock();
        let mut held: Vec<_> = now.driven.values().filter_map(|driver| driver.by).collect();
        held.extend(now.left.iter().filter(|by| !now.runs(by)));
        held
    }

    /// Whether a task of this daemon runs a segment under just this authority.
    #[must_use]
    pub fn runs(&self, by: &Authority) -> bool {
        self.lock().runs(by)
    }

    /// Tells whoever runs a segment of this Work that there may be a control to carry out.
    pub fn knock(&self, work: WorkId) {
        let first = Segment { attempt: AttemptNo(0), epoch: Epoch(0) };
        let now = self.lock();
        let from = now.driven.range((work, first, Role::Runs)..);
        for ((_, _, role), driver) in from.take_while(|((of, _, _), _)| *of == work) {
            if *role == Role::Runs {
                driver.knocks.send_replace(());
            }
        }
    }

    /// Notes that whoever runs a segment lets go of it because the daemon stops: its lease stands
    /// and can be given up.
    pub fn leaves(&self, by: Authority) {
        let mut now = self.lock();
        if !now.left.contains(&by) {
            now.left.push(by);
        }
    }

    /// Resolves once no task runs a segment.
    pub async fn let_go(&self) {
        loop {
            let given = self.0.given.notified();
            tokio::pin!(given);
            // From here on no ring is missed.
            given.as_mut().enable();
            if self.lock().driven.values().all(|driver| driver.by.is_none()) {
                return;
            }
            given.await;
        }
    }

    /// How many are driven.
    #[must_use]
    pub fn count(&self) -> usize {
        self.lock().driven.len()
    }

    fn take(&self, key: Key, by: Option<Authority>) -> Option<Drive> {
        let mut now = self.lock();
        if now.driven.contains_key(&key) {
            return None;
        }
        let (sender, knocks) = watch::channel(());
        now.driven.insert(key, Driver { by, knocks: sender });
        Some(Drive { driven: self.clone(), key, knocks })
    }

    fn lock(&self) -> MutexGuard<'_, Now> {
        self.0.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Now {
    fn runs(&self, by: &Authority) -> bool {
        let segment = Segment { attempt: by.attempt, epoch: by.epoch };
        let driver = self.driven.get(&(by.work, segment, Role::Runs));
        driver.is_some_and(|driver| driver.by == Some(*by))
    }
}

impl Drop for Drive {
    fn drop(&mut self) {
        self.driven.lock().driven.remove(&self.key);
        self.driven.0.given.notify_waiters();
    }
}
