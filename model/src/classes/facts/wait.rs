//! The guard facts of a wait.

use crate::index::WaitIx;
use crate::state::{Facts, Flag, WaitStatus};
use crate::worlds::World;

use super::few;
use super::timer::{TimerFacts, timer_facts};

/// The guard facts of a wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WaitFacts {
    /// Its status.
    pub status: WaitStatus,
    /// Its timer.
    pub timer: TimerFacts,
    /// Events that match it: none, one, or two for more.
    pub matches: u8,
    /// The lowest match by number is the first by slot as well, so that a wrong tie-break shows.
    pub lowest_is_first: bool,
    /// Its own timeout is accepted.
    pub timed_out: bool,
    /// What would win is as deep as its root allows, so the continuation would be refused.
    pub at_limit: bool,
    /// Its subscription stands.
    pub subscribed: bool,
    /// Events that it would translate: none, one, or two for more.
    pub selected: u8,
    /// Another subscription of the Work to the same source had not come as far as the latest event.
    pub resumes_source: bool,
}

pub(in crate::classes) fn wait_facts(world: &World, state: &dyn Facts, ix: WaitIx) -> WaitFacts {
    let wait = state.wait(ix);
    let matched = state.matched(world, ix);
    WaitFacts {
        status: wait.status,
        timer: timer_facts(wait.timer),
        matches: few(matched.len()),
        lowest_is_first: matched.first() == matched.iter().min(),
        timed_out: state.is_accepted(world.timeout_of(ix)),
        at_limit: matched
            .first()
            .is_some_and(|winner| state.event(*winner).depth >= world.depth_max),
        subscribed: wait.subscribed == Flag::Yes,
        selected: few(state.selected(world, ix).len()),
        resumes_source: state
            .subscribed_before(world, ix)
            .is_some_and(|before| state.wait(before).checkpoint < state.latest()),
    }
}
