//! The guard facts of a timer, of a Work's or a wait's.

use crate::state::Timer;

/// The guard facts of a timer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimerFacts {
    /// None, or gone.
    #[default]
    None,
    /// Disabled by a causal limit.
    Disabled,
    /// Armed, not due.
    Armed,
    /// Armed and due.
    Due,
}

pub(super) fn timer_facts(timer: Timer) -> TimerFacts {
    match timer.ticks() {
        Some(0) => TimerFacts::Due,
        Some(_) => TimerFacts::Armed,
        None if timer == Timer::DISABLED => TimerFacts::Disabled,
        None => TimerFacts::None,
    }
}
