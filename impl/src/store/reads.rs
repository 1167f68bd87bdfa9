//! What the daemon's loops, the API and the CLI ask of committed state. Every list is bounded and
//! goes on after a given row.

mod find;
mod loops;
mod shown;

pub use find::{Found, find_attempt, find_event, find_wait, find_work};
pub use loops::{
    Claimable, Excluded, Running, ToSend, claimable, claimable_scopes, due_idle, due_retries,
    due_timers, excluded, expired, next_expiry, next_idle, next_retry, next_timer, running,
    sending, to_send, unrouted, wake_candidates,
};
pub use shown::{
    Chain, Counts, EventFilter, ListedEvent, ListedWait, ListedWork, chain, counts, event,
    last_attempt, latest_events, list_events, list_waits, list_works, wait, work,
};

#[cfg(test)]
mod tests;
