//! Trusted time: it never goes back and never stops. OURS-16
//!
//! An anchor plus monotonic elapsed time, anchored anew, upwards only, when the wall clock is
//! ahead. After a restart it starts at the larger of the wall clock and the mark the last run made
//! durable.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::domain::Millis;

/// A difference between wall clock and trusted time beyond this is told to the operator.
const STEP_MS: i64 = 5_000;

/// What a clock reads; tests bring their own.
pub trait TimeSource: Send + Sync {
    /// The wall clock, which may jump either way.
    fn wall(&self) -> Millis;

    /// Time since some fixed moment, which never goes back.
    fn elapsed(&self) -> std::time::Duration;
}

/// The clocks of the operating system.
#[derive(Debug)]
struct System {
    start: Instant,
}

impl TimeSource for System {
    fn wall(&self) -> Millis {
        Millis(jiff::Timestamp::now().as_millisecond())
    }

    fn elapsed(&self) -> std::time::Duration {
        self.start.elapsed()
    }
}

/// Trusted time; clones show the same.
#[derive(Clone)]
pub struct Clock {
    source: Arc<dyn TimeSource>,
    state: Arc<Mutex<State>>,
}

struct State {
    anchor: Millis,
    anchored_at: std::time::Duration,
    /// How far trusted time was ahead of the wall clock when that was last told.
    told_ahead: i64,
    steps: u64,
}

impl Clock {
    /// Trusted time over the operating system's clocks.
    #[must_use]
    pub fn system() -> Self {
        Self::new(Arc::new(System { start: Instant::now() }))
    }

    /// Trusted time over other clocks, beginning at their wall clock.
    #[must_use]
    pub fn new(source: Arc<dyn TimeSource>) -> Self {
        let state =
            State { anchor: source.wall(), anchored_at: source.elapsed(), told_ahead: 0, steps: 0 };
        Self { source, state: Arc::new(Mutex::new(state)) }
    }

    /// Starts no earlier than a mark that an earlier run made durable.
    pub fn raise_to(&self, mark: Millis) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let elapsed = self.source.elapsed();
        if mark > state.at(elapsed) {
            state.anchor = mark;
            state.anchored_at = elapsed;
        }
    }

    /// The instant it is now.
    #[must_use]
    pub fn now(&self) -> Millis {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let elapsed = self.source.elapsed();
        let wall = self.source.wall();
        let trusted = state.at(elapsed);
        if wall > trusted {
            state.note_forward(wall.0.saturating_sub(trusted.0));
            state.anchor = wall;
            state.anchored_at = elapsed;
            return wall;
        }
        state.note_behind(trusted.0.saturating_sub(wall.0));
        trusted
    }

    /// How many steps of the wall clock, of more than five seconds either way, were told.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).steps
    }
}

impl State {
    fn at(&self, elapsed: std::time::Duration) -> Millis {
        let run = elapsed.saturating_sub(self.anchored_at).as_millis();
        Millis(self.anchor.0.saturating_add(i64::try_from(run).unwrap_or(i64::MAX)))
    }

    fn note_forward(&mut self, by: i64) {
        self.told_ahead = 0;
        if by > STEP_MS {
            self.steps += 1;
            tracing::warn!(
                step_ms = by,
                "the wall clock stepped forward: leases and timers see the step at once"
            );
        }
    }

    fn note_behind(&mut self, ahead: i64) {
        if ahead.saturating_sub(self.told_ahead).abs() <= STEP_MS {
            return;
        }
        self.told_ahead = ahead;
        self.steps += 1;
        tracing::warn!(
            ahead_ms = ahead,
            "the wall clock is behind trusted time, which runs on until it has caught up"
        );
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clock").field("now", &self.now()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
    use std::time::Duration;

    use super::{Clock, TimeSource};
    use crate::domain::Millis;

    #[derive(Default)]
    struct Hands {
        wall: AtomicI64,
        elapsed: AtomicU64,
    }

    impl Hands {
        fn set(&self, wall: i64, elapsed: u64) {
            self.wall.store(wall, Ordering::SeqCst);
            self.elapsed.store(elapsed, Ordering::SeqCst);
        }
    }

    impl TimeSource for Hands {
        fn wall(&self) -> Millis {
            Millis(self.wall.load(Ordering::SeqCst))
        }

        fn elapsed(&self) -> Duration {
            Duration::from_millis(self.elapsed.load(Ordering::SeqCst))
        }
    }

    fn clock(wall: i64) -> (Arc<Hands>, Clock) {
        let hands = Arc::new(Hands::default());
        hands.set(wall, 0);
        (hands.clone(), Clock::new(hands))
    }

    #[test]
    fn a_wall_clock_that_jumps_back_neither_stops_nor_turns_time() {
        let (hands, clock) = clock(1_000_000);
        hands.set(900_000, 10);
        assert_eq!(clock.now(), Millis(1_000_010));
        hands.set(900_020, 30);
        assert_eq!(clock.now(), Millis(1_000_030));
        assert_eq!(clock.steps(), 1);
    }

    #[test]
    fn a_wall_clock_ahead_raises_time_for_good() {
        let (hands, clock) = clock(1_000_000);
        hands.set(1_100_000, 10);
        assert_eq!(clock.now(), Millis(1_100_000));
        hands.set(1_000_000, 20);
        assert_eq!(clock.now(), Millis(1_100_010));
        assert_eq!(clock.steps(), 2);
    }

    #[test]
    fn small_differences_are_not_told() {
        let (hands, clock) = clock(1_000_000);
        hands.set(1_000_900, 10);
        assert_eq!(clock.now(), Millis(1_000_900));
        hands.set(999_000, 20);
        assert_eq!(clock.now(), Millis(1_000_910));
        assert_eq!(clock.steps(), 0);
    }

    #[test]
    fn a_restart_runs_on_from_the_durable_mark() {
        let (hands, clock) = clock(500);
        clock.raise_to(Millis(2_000));
        assert_eq!(clock.now(), Millis(2_000));
        hands.set(600, 100);
        assert_eq!(clock.now(), Millis(2_100));
        clock.raise_to(Millis(50));
        assert_eq!(clock.now(), Millis(2_100));
    }
}
