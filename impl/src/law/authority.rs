//! Authority: the one check that everything an executor asks for passes first. LEASE-04 LEASE-12

use crate::command::Refusal;
use crate::domain::{AttemptStatus, Authority, Millis};
use crate::store::attempts::{self, Attempt};
use crate::store::works::{self, Work};
use crate::store::{StoreError, Tx};

use super::Step;

/// Proof that the caller holds the attempt now; only [`check`] makes one.
pub(super) struct Held {
    /// The work, as it stands.
    pub(super) work: Work,
    /// Its running attempt.
    pub(super) attempt: Attempt,
    /// When the lease it is held under ends.
    pub(super) expires_at: Millis,
    _checked: (),
}

/// Whether `by` holds its attempt at this instant: the last claim of a running attempt, its token,
/// and a lease that has not ended. LEASE-01 LEASE-15
///
/// # Errors
/// The machine failed, or a running attempt has no lease.
pub(super) fn check(
    tx: &mut dyn Tx,
    now: Millis,
    by: &Authority,
) -> Result<Result<Held, Step>, StoreError> {
    let stale = || Ok(Err(Refusal::StaleAuthority.into()));
    let Some(attempt) = attempts::get(tx, by.work, by.attempt)? else { return stale() };
    let Some(token) = attempt.token else { return stale() };
    let current = attempt.status == AttemptStatus::Running && attempt.epoch == by.epoch;
    if !current || !token.matches(&by.token) {
        return stale();
    }
    let Some(expires_at) = attempt.expires_at else {
        return Err(StoreError::corrupt(format!(
            "attempt {} of work {} is running without a lease",
            attempt.n, attempt.work
        )));
    };
    if now >= expires_at {
        return Ok(Err(Step::from(Refusal::LeaseExpired).under(Some(expires_at))));
    }
    let work = works::referred(tx, by.work)?;
    Ok(Ok(Held { work, attempt, expires_at, _checked: () }))
}
