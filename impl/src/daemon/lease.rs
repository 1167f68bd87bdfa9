//! A held lease: kept up while something is done under it, and lost for good the moment it cannot
//! be. LEASE-04 LEASE-05

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration as StdDuration;

use tokio::time::{sleep, timeout};

use crate::command::{Command, Outcome, Receipt, Refusal};
use crate::domain::{Authority, Duration, Millis};
use crate::host::Context;
use crate::writer::WriteError;

/// Pause before a renewal that the store could not take is tried again.
const AGAIN: StdDuration = StdDuration::from_millis(100);

/// The right to act for a segment, as this daemon knows it.
#[derive(Debug)]
pub(super) struct Lease {
    context: Arc<Context>,
    name: &'static str,
    by: Authority,
    length: Duration,
    /// No later than the lease really ends.
    expires_at: AtomicI64,
}

/// The lease is gone: whatever was done under it is to be abandoned at once. LEASE-07
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lost;

impl Lease {
    /// A lease that was granted by a claim sent at `sent`.
    pub(super) fn new(
        context: Arc<Context>,
        name: &'static str,
        by: Authority,
        length: Duration,
        sent: Millis,
    ) -> Self {
        let expires_at = AtomicI64::new((sent + length).0);
        Self { context, name, by, length, expires_at }
    }

    pub(super) const fn by(&self) -> Authority {
        self.by
    }

    /// Does something under the lease. It is dropped where it stands if the lease is lost or the
    /// daemon stops; what is ready at that moment still counts, so that nobody's result is thrown away
    /// unseen. Once the daemon stops nothing is begun. LEASE-07 OURS-19
    pub(super) async fn hold<T>(&self, work: impl Future<Output = T>) -> Result<T, Lost> {
        if self.context.stopping() {
            return Err(self.leave());
        }
        tokio::select! {
            biased;
            held = self.keep_for(work) => held,
            () = self.context.stops() => Err(self.leave()),
        }
    }

    /// The same of what a stop does not cut short.
    async fn keep_for<T>(&self, work: impl Future<Output = T>) -> Result<T, Lost> {
        tokio::select! {
            biased;
            done = work => Ok(done),
            lost = self.keep() => Err(lost),
        }
    }

    /// The lease stands and nobody acts under it any more: it can be given up.
    fn leave(&self) -> Lost {
        self.context.driven.leaves(self.by);
        Lost
    }

    /// Performs a command under the lease, again and again while the store cannot take it.
    ///
    /// A command whose answer was lost is repeated, and the law answers the repeat. A stop waits for
    /// the answer: what is done next depends on whether it is true.
    pub(super) async fn commit(&self, command: Command) -> Result<Outcome, Lost> {
        self.keep_for(self.perform(command)).await
    }

    /// The same of a part of what is [held](Self::hold), which keeps the lease up already.
    pub(super) async fn perform(&self, command: Command) -> Outcome {
        loop {
            match self.context.commit(self.name, command.clone()).await {
                Ok(outcome) => return outcome,
                Err(WriteError::Closed) => stopped().await,
                Err(error) => {
                    tracing::warn!(command = command.name(), %error, "not committed");
                    sleep(AGAIN).await;
                }
            }
        }
    }

    /// Renews at a third of the lease until it is lost. LEASE-11
    async fn keep(&self) -> Lost {
        loop {
            let left = self.left();
            sleep(left.saturating_sub(self.length.std() * 2 / 3)).await;
            let Some(left) = Some(self.left()).filter(|left| !left.is_zero()) else { return Lost };
            let renew = Command::Renew { by: self.by, lease: self.length };
            match timeout(left, self.context.commit(self.name, renew)).await {
                Ok(Ok(Outcome::Accepted(Receipt::Renewed { expires_at, .. }))) => {
                    self.expires_at.store(expires_at.0, Ordering::Relaxed);
                }
                Ok(Ok(outcome)) => {
                    report(self.by, &outcome);
                    return Lost;
                }
                Ok(Err(WriteError::Closed)) => stopped().await,
                Ok(Err(error)) => {
                    tracing::warn!(row = %self.by.work, %error, "a lease could not be renewed");
                    sleep(AGAIN.min(self.left())).await;
                }
                Err(_) => return Lost,
            }
        }
    }

    /// How long the lease lasts at least. At its end it is lost. LEASE-01
    fn left(&self) -> StdDuration {
        let left = self.expires_at.load(Ordering::Relaxed).saturating_sub(self.context.now().0);
        StdDuration::from_millis(u64::try_from(left).unwrap_or(0))
    }
}

/// The daemon stops: what is under way is left as it is, for the next daemon to take over. OURS-19
async fn stopped() {
    std::future::pending::<()>().await;
}

/// A wait or a cancellation takes authority away as a matter of course; an ended lease does not.
fn report(by: Authority, outcome: &Outcome) {
    if *outcome == Outcome::Refused(Refusal::StaleAuthority) {
        tracing::debug!(row = %by.work, attempt = %by.attempt, "the authority was replaced");
    } else {
        tracing::warn!(row = %by.work, attempt = %by.attempt, ?outcome, "a lease is lost");
    }
}
