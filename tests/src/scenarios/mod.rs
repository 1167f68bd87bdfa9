//! The shared scenarios, by their exact ids. Each file holds those of one area.

mod leases;
mod routing;
mod waits;

use crate::scenario::Shared;

/// Every shared scenario that this version executes.
pub const ALL: &[Shared] = &[
    routing::CONCURRENT_CORRELATIONS_AND_ATTEMPTS,
    routing::INDEPENDENT_WORK_PROGRESS,
    routing::UNMATCHED_AND_CONTRADICTORY_TARGET,
    waits::WAIT_EVENT_REGISTRATION_ORDERS,
    waits::WAIT_TIMEOUT_ACCEPTANCE_TIE,
    waits::WAIT_CANCEL_ORDERS,
    waits::WAIT_WATERMARK_AND_TIMEOUT_ONLY,
    leases::LEASE_LOSS_ADOPTION_AND_STALE_RESULT,
];

/// The shared scenario of that id.
#[must_use]
pub fn named(id: &str) -> Option<&'static Shared> {
    ALL.iter().find(|shared| shared.id == id)
}
