//! An outcome as a class tells it from others.

use crate::outcome::{Outcome, Receipt, Recovery, RouteMark, Start};
use crate::worlds::{Origin, World};

/// An outcome without its numbers and names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Answer {
    /// The outcome's code.
    pub code: &'static str,
    /// What kind of receipt came with it.
    pub receipt: u8,
}

pub(in crate::classes) fn answer(world: &World, outcome: Outcome) -> Answer {
    let receipt = match outcome {
        Outcome::Accepted(receipt) | Outcome::Duplicate(receipt) => receipt_kind(world, receipt),
        Outcome::Deferred(_) | Outcome::Conflict | Outcome::Refused(_) => 0,
    };
    Answer { code: outcome.code(), receipt }
}

fn receipt_kind(world: &World, receipt: Receipt) -> u8 {
    let by_timeout = |event| u8::from(matches!(world.origin(event), Origin::Timeout(_)));
    match receipt {
        Receipt::Done => 0,
        Receipt::Sequence(_) => 1,
        Receipt::Routed { mark: RouteMark::Unrouted, .. } => 2,
        Receipt::Routed { mark: RouteMark::Queued, .. } => 3,
        Receipt::Routed { mark: RouteMark::Woke, .. } => 4,
        Receipt::Routed { mark: RouteMark::Unmatched, .. } => 5,
        Receipt::Routed { mark: RouteMark::Terminal, .. } => 6,
        Receipt::Routed { mark: RouteMark::Continuation, .. } => 7,
        Receipt::Claimed { start: Start::Start, .. } => 8,
        Receipt::Claimed { start: Start::Next, .. } => 9,
        Receipt::Claimed { start: Start::Resume, .. } => 10,
        Receipt::Recovered(Recovery::Relaunch) => 11,
        Receipt::Recovered(Recovery::Adopt) => 12,
        Receipt::Registered { winner: None } => 13,
        Receipt::Registered { winner: Some(_) } => 14,
        Receipt::Woken { winner } => 15 + by_timeout(winner),
        Receipt::Routed { mark: RouteMark::Drop, .. } => 17,
        Receipt::Routed { mark: RouteMark::Close, .. } => 18,
        Receipt::Routed { mark: RouteMark::OperatorDrop, .. } => 19,
        Receipt::Routed { mark: RouteMark::ReplaySuspect, .. } => 20,
        Receipt::Routed { mark: RouteMark::Release, .. } => 21,
        Receipt::Routed { mark: RouteMark::StaleRetry, .. } => 22,
        Receipt::Routed { mark: RouteMark::Inject, .. } => 23,
        Receipt::Routed { mark: RouteMark::Interrupt, .. } => 24,
        Receipt::Dispatched { kind, .. } => 25 + kind as u8,
        Receipt::Settled(status) => 28 + status as u8,
    }
}
