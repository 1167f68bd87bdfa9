//! The loops of a daemon. They decide *when* something is tried and never *what is allowed*: every one of them could be
//! stopped, run twice or started anew at any point, and only time would be lost. A loop keeps
//! nothing in memory that it cannot read again.
//!
//! | loop | what it does |
//! |---|---|
//! | `router` | evaluates unrouted events in order and commits the result |
//! | `waker` | wakes what matches although no route can do it |
//! | `translator` | makes aliases of what active subscriptions select |
//! | `timers` | fires due timers |
//! | `retries` | fires due retries |
//! | `idle` | closes Work that was idle for as long as its kind allows |
//! | `scheduler` | claims ready Work while there is room, and launches it |
//! | `recovery` | takes over attempts whose lease has ended |
//! | `dispatcher` | tells whoever runs an attempt of its open controls |
//! | `vacate` | sees out processes that have lost their authority |
//! | `drain` | lets the daemon go, if it is asked to, once nothing runs |
//! | `storage` | finds out when a failed store works again |

mod controls;
mod detach;
mod dispatcher;
mod drain;
mod each;
pub(crate) mod evaluation;
mod idle;
mod lease;
mod looping;
mod recovery;
mod retries;
mod router;
mod scheduler;
mod segments;
mod storage;
mod supervise;
#[cfg(test)]
pub(crate) mod tests;
mod timers;
mod translator;
mod vacate;
mod waker;

use std::sync::Arc;

use tokio::task::JoinSet;

use crate::host::Context;

use supervise::supervise;

pub use detach::detach;

/// Starts every loop; each goes on until the daemon stops.
pub fn run_loops(tasks: &mut JoinSet<()>, context: &Arc<Context>) {
    supervise(tasks, context, storage::NAME, storage::run);
    supervise(tasks, context, router::NAME, router::run);
    supervise(tasks, context, waker::NAME, waker::run);
    supervise(tasks, context, translator::NAME, translator::run);
    supervise(tasks, context, timers::NAME, timers::run);
    supervise(tasks, context, retries::NAME, retries::run);
    supervise(tasks, context, idle::NAME, idle::run);
    supervise(tasks, context, recovery::NAME, recovery::run);
    supervise(tasks, context, dispatcher::NAME, dispatcher::run);
    supervise(tasks, context, vacate::NAME, vacate::run);
    supervise(tasks, context, scheduler::NAME, scheduler::run);
    supervise(tasks, context, drain::NAME, drain::run);
}
