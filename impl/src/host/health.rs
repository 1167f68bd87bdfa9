//! Whether every part of the daemon goes on. A loop says when it looks; one that has not looked for
//! long is stuck, and the daemon is not ready.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A loop looks once a second even if nothing wakes it.
const STUCK: Duration = Duration::from_secs(30);

/// When each loop last looked.
#[derive(Debug, Default)]
pub struct Health {
    ticks: Mutex<BTreeMap<&'static str, Tick>>,
}

#[derive(Debug, Clone, Copy)]
struct Tick {
    at: Instant,
    panics: u32,
}

/// How a loop is.
#[derive(
    Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct LoopHealth {
    /// Its name.
    pub name: String,
    /// How long ago it last looked, in milliseconds.
    pub looked_ms_ago: u64,
    /// It has not looked for so long that it must be stuck.
    pub stuck: bool,
    /// How often it broke and was started again.
    pub panics: u32,
}

impl Health {
    /// Notes that a loop looks now.
    pub fn looks(&self, name: &'static str) {
        self.update(name, |tick| tick.at = Instant::now());
    }

    /// Notes that a loop broke.
    pub fn broke(&self, name: &'static str) {
        self.update(name, |tick| tick.panics += 1);
    }

    /// Every loop that ever looked, by name.
    #[must_use]
    pub fn loops(&self) -> Vec<LoopHealth> {
        let ticks = self.ticks.lock().unwrap_or_else(PoisonError::into_inner);
        let health = |(name, tick): (&&'static str, &Tick)| {
            let ago = tick.at.elapsed();
            LoopHealth {
                name: (*name).to_owned(),
                looked_ms_ago: u64::try_from(ago.as_millis()).unwrap_or(u64::MAX),
                stuck: ago > STUCK,
                panics: tick.panics,
            }
        };
        ticks.iter().map(health).collect()
    }

    fn update(&self, name: &'static str, change: impl FnOnce(&mut Tick)) {
        let mut ticks = self.ticks.lock().unwrap_or_else(PoisonError::into_inner);
        change(ticks.entry(name).or_insert(Tick { at: Instant::now(), panics: 0 }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_that_has_not_looked_for_long_is_stuck() {
        let health = Health::default();
        health.looks("router");
        health.broke("router");
        let now = health.loops();
        assert!(!now[0].stuck && now[0].panics == 1);
        health.update("router", |tick| tick.at = Instant::now() - STUCK * 2);
        assert!(health.loops()[0].stuck);
    }
}
