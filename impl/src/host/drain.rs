//! A daemon that is asked to go: it claims nothing more, and ends once nothing runs.
//!
//! It is volatile: a daemon that is started anew does not drain. Whoever asks may bound it, and once
//! that time is over the daemon claims again, so that a forgotten request stops nothing for good.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use uuid::Uuid;

/// Whether the daemon drains.
#[derive(Debug)]
pub struct Drain {
    /// Which daemon it is: another one has another.
    instance: Uuid,
    state: watch::Sender<State>,
    /// The last requests, the newest last: a repeat of one changes nothing.
    seen: Mutex<VecDeque<String>>,
}

/// Requests that are remembered.
const REMEMBERED: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Off,
    On { until: Option<Instant> },
    Done,
}

impl Default for Drain {
    fn default() -> Self {
        let state = watch::Sender::new(State::Off);
        Self { instance: Uuid::now_v7(), state, seen: Mutex::default() }
    }
}

impl State {
    /// Its time is over, whether or not anybody has seen to it yet.
    fn is_over(self) -> bool {
        match self {
            Self::On { until: Some(until) } => until <= Instant::now(),
            Self::On { until: None } | Self::Off | Self::Done => false,
        }
    }
}

impl Drain {
    /// Which daemon it is that drains or does not.
    #[must_use]
    pub const fn instance(&self) -> Uuid {
        self.instance
    }

    /// Claims nothing more, for so long at most; asking again sets the bound anew. A repeat of a
    /// request, known by its identity, changes nothing. OURS-23
    pub fn begin(&self, request: &str, most: Option<Duration>) {
        if self.is_new(request) {
            let until = most.and_then(|most| Instant::now().checked_add(most));
            self.change(|state| (*state != State::Done).then_some(State::On { until }));
        }
    }

    /// Claims again.
    pub fn cancel(&self, request: &str) {
        if self.is_new(request) {
            self.change(|state| matches!(state, State::On { .. }).then_some(State::Off));
        }
    }

    /// Whether nothing more is claimed. Its bound holds by itself: also while nothing can be read or
    /// written, and so nobody looks.
    #[must_use]
    pub fn is_on(&self) -> bool {
        let state = *self.state.borrow();
        match state {
            State::Off => false,
            State::On { .. } => !state.is_over(),
            State::Done => true,
        }
    }

    /// How long it goes on at most; `None` if it is off, or has no bound.
    #[must_use]
    pub fn left(&self) -> Option<Duration> {
        match *self.state.borrow() {
            State::On { until: Some(until) } => {
                Some(until.saturating_duration_since(Instant::now()))
            }
            State::On { until: None } | State::Off | State::Done => None,
        }
    }

    /// Ends it if its time is over, and answers whether it was.
    #[must_use]
    pub fn expires(&self) -> bool {
        self.change(|state| state.is_over().then_some(State::Off))
    }

    /// Nothing runs any more: the daemon may go, unless nobody asks it to.
    #[must_use]
    pub fn finish(&self) -> bool {
        let asked = |state: &State| matches!(state, State::On { .. }) && !state.is_over();
        self.change(|state| asked(state).then_some(State::Done))
    }

    /// Resolves once the daemon may go.
    pub async fn drained(&self) {
        let mut state = self.state.subscribe();
        // The sender is part of what is waited on.
        drop(state.wait_for(|state| *state == State::Done).await);
    }

    fn is_new(&self, request: &str) -> bool {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.iter().any(|one| one == request) {
            return false;
        }
        if seen.len() >= REMEMBERED {
            seen.pop_front();
        }
        seen.push_back(request.to_owned());
        true
    }

    fn change(&self, to: impl FnOnce(&State) -> Option<State>) -> bool {
        self.state.send_if_modified(|state| match to(state) {
            Some(next) => {
                *state = next;
                true
            }
            None => false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ends_by_itself_in_time_and_may_be_asked_again() {
        let drain = Drain::default();
        drain.begin("1", Some(Duration::ZERO));
        assert!(!drain.is_on(), "its time is over, and nobody has to say so");
        assert!(!drain.finish(), "nobody asks it to go any more");
        assert!(drain.expires() && !drain.expires(), "it is said once");
        drain.begin("1", None);
        assert!(!drain.is_on(), "a repeat is no new request");
        drain.begin("2", None);
        assert!(drain.is_on() && !drain.expires() && drain.left().is_none());
        drain.cancel("3");
        assert!(!drain.is_on());
    }

    #[tokio::test]
    async fn once_nothing_runs_it_is_over_for_good() {
        let drain = Drain::default();
        drain.begin("1", Some(Duration::from_secs(60)));
        assert!(drain.left().is_some_and(|left| left > Duration::from_secs(50)));
        assert!(drain.finish());
        drain.cancel("2");
        assert!(drain.is_on(), "it is going already");
        drain.drained().await;
    }
}
