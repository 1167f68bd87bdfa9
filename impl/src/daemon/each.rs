//! Commands of one look: together where they can be, and else each by itself, so that one damaged
//! row keeps no other back.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::command::{Command, Outcome};
use crate::domain::Actor;
use crate::host::Context;
use crate::store::StoreError;
use crate::writer::WriteError;

/// Performs commands in one transaction. Should that fail over one of them, each is performed alone
/// and answered by its own outcome or its own error.
///
/// # Errors
/// The writer is stopped, or storage fails: then none would fare better.
pub(super) async fn apply_each(
    context: &Context,
    name: &'static str,
    commands: Vec<Command>,
) -> Result<Vec<Result<Outcome, StoreError>>, WriteError> {
    let together = commands.iter().map(|command| (Actor::Loop(name), command.clone())).collect();
    match context.writer.apply_all(together).await {
        Ok(outcomes) => return Ok(outcomes.into_iter().map(Ok).collect()),
        Err(WriteError::Store(error)) if !error.is_storage() => {
            tracing::warn!(r#loop = name, %error, "a look failed: one command at a time");
        }
        Err(error) => return Err(error),
    }
    let mut answers = Vec::with_capacity(commands.len());
    for command in commands {
        answers.push(match context.commit(name, command).await {
            Ok(outcome) => Ok(outcome),
            Err(WriteError::Store(error)) if !error.is_storage() => Err(error),
            Err(error) => return Err(error),
        });
    }
    Ok(answers)
}

/// What failed, or only seemed to be something to do, is looked at again after so long.
const LATER: Duration = Duration::from_secs(10);

/// What a loop leaves alone for a while, so that trying it in vain costs the others nothing. It is
/// lost with the loop, and found again by trying.
#[derive(Debug)]
pub(super) struct Quarantine<K>(Mutex<HashMap<K, Instant>>);

impl<K> Default for Quarantine<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash> Quarantine<K> {
    /// Leaves something alone from now on.
    pub(super) fn put(&self, what: K) {
        self.lock().insert(what, Instant::now() + LATER);
    }

    /// Whether something is left alone yet.
    pub(super) fn has(&self, what: &K) -> bool {
        self.has_at(what, Instant::now())
    }

    fn has_at(&self, what: &K, now: Instant) -> bool {
        let mut held = self.lock();
        match held.get(what) {
            None => false,
            Some(until) if *until > now => true,
            Some(_) => {
                held.remove(what);
                false
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<K, Instant>> {
        // A panic elsewhere cannot leave a map half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::{Duration, Instant, LATER, Quarantine};

    #[test]
    fn what_failed_is_tried_again_after_a_while() {
        let failing = Quarantine::default();
        failing.put(7);
        let now = Instant::now();
        assert!(failing.has(&7) && !failing.has(&8));
        assert!(failing.has_at(&7, now + LATER - Duration::from_secs(1)));
        assert!(!failing.has_at(&7, now + LATER));
        assert!(!failing.has(&7), "it is forgotten");
    }
}
