//! What is left to chance, and how it is had again.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use abide::keeper::identity::Identity;
use abide_tests::drill::{Held, Victim};

use crate::ground::{Failed, Ground, said};

/// A number that the environment says.
pub(crate) fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// `ABIDE_DRILL_SEED`, or the time.
pub(crate) fn seed() -> u64 {
    number("ABIDE_DRILL_SEED").unwrap_or_else(|| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(now.as_nanos() & 0xffff_ffff).unwrap_or_default()
    })
}

/// Some keeper or command that runs, and the folder of its segment.
pub(crate) fn held(
    ground: &Ground,
    victim: Victim,
    random: &mut Random,
) -> Result<Option<(PathBuf, Identity)>, Failed> {
    let mut found = Vec::new();
    for held in Held::all(&ground.path().join("state")).map_err(said)? {
        let process = match victim {
            Victim::Command => held.command().map_err(said)?,
            Victim::Keeper | Victim::Daemon => Some(held.keeper),
        };
        found.extend(process.map(|process| (held.segment, process)));
    }
    if found.is_empty() {
        return Ok(None);
    }
    let nth = random.index(found.len());
    Ok(Some(found.swap_remove(nth)))
}

/// A small generator, so that a seed says everything. Never 0.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) const fn of(seed: u64) -> Self {
        Self(seed | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub(crate) fn index(&mut self, length: usize) -> usize {
        let length = u64::try_from(length).unwrap_or(u64::MAX);
        usize::try_from(self.below(length)).unwrap_or_default()
    }
}
