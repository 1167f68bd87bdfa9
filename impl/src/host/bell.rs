//! When a loop looks again: after a commit, when something is due, or after a while in any case.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::clock::Clock;
use crate::domain::Millis;
use crate::writer::Writer;

/// A loop that nothing wakes looks all the same: what it should have heard of is late by this much
/// at most.
const SAFETY: Duration = Duration::from_secs(1);

/// Commits come faster than a loop needs to look: it looks at the first and then has a breath.
const BREATH: Duration = Duration::from_millis(4);

/// Wakes one loop.
#[derive(Debug)]
pub struct Bell {
    committed: watch::Receiver<i64>,
    stop: watch::Receiver<bool>,
    clock: Clock,
    last: Instant,
}

impl Bell {
    pub(super) fn new(writer: &Writer, stop: watch::Receiver<bool>) -> Self {
        let committed = writer.committed();
        Self { committed, stop, clock: writer.clock().clone(), last: Instant::now() }
    }

    /// Waits until there may be something to do; `false` once the daemon stops. What was committed
    /// before the caller read is not rung for: mark it with [`Bell::hears`] before reading.
    pub async fn rings(&mut self, due: Option<Millis>) -> bool {
        let due = due.map(|due| self.instant_of(due));
        self.rings_by(due).await
    }

    /// As [`Bell::rings`], for what is due by the runtime's own clock.
    pub async fn rings_by(&mut self, due: Option<Instant>) -> bool {
        let until = Instant::now() + SAFETY;
        let until = due.map_or(until, |due| until.min(due));
        let earliest = self.last + BREATH;
        let rung = async {
            tokio::select! {
                changed = self.committed.changed() => {
                    // Without a writer only the stop is left to come.
                    if changed.is_err() { sleep_until(until).await }
                    sleep_until(earliest.min(until)).await;
                }
                () = sleep_until(until) => {}
            }
        };
        let goes_on = tokio::select! {
            () = rung => true,
            _ = self.stop.wait_for(|stop| *stop) => false,
        };
        self.last = Instant::now();
        goes_on && !*self.stop.borrow()
    }

    /// Takes note of everything committed so far: the caller is about to read it.
    pub fn hears(&mut self) {
        self.committed.mark_unchanged();
    }

    /// Where an instant of trusted time lies on the runtime's clock. It is rounded up, so that what
    /// is due then is due when the loop looks. WAKE-04
    fn instant_of(&self, due: Millis) -> Instant {
        let wait = due.0.saturating_sub(self.clock.now().0);
        Instant::now() + Duration::from_millis(u64::try_from(wait).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::daemon::tests::Bench;

    /// S16
    #[tokio::test]
    async fn a_loop_that_nothing_wakes_looks_within_a_second() {
        let bench = Bench::new().await;
        let mut bell = bench.context.bell();
        bell.hears();
        let rung = tokio::time::timeout(SAFETY * 20, bell.rings(None)).await;
        assert_eq!(rung, Ok(true), "nothing was committed, and it looks all the same");
    }
}
