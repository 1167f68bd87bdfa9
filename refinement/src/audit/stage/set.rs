//! Setting a stage: a world of its shape, and the state of all that was put on it.

use std::collections::BTreeSet;

use abide_model::index::{EventIx, Maybe, WaitIx, WorkIx, below};
use abide_model::state::{Event, Facts, Flag};
use abide_model::worlds::World;

use super::super::facts::KeyNo;
use super::places::place;
use super::shape::kept;
use super::slots::slot;
use super::{At, EVENTS, Placed, Set, Stage, Staged, TooLarge};

impl Stage<'_> {
    /// Sets the stage.
    pub(in crate::audit) fn set(mut self) -> Result<Set, TooLarge> {
        self.latest();
        self.strangers();
        if let Some(too_large) = self.too_large {
            return Err(too_large);
        }
        let world = self.world()?;
        let ranks: Vec<i64> = self.marks.iter().copied().filter(|seq| *seq > 0).collect();
        let mut state = Staged::new();
        for at in below(self.works.len()) {
            *state.work_mut(WorkIx(at)) = self.staged_work(at);
        }
        for at in below(self.waits.len()) {
            *state.wait_mut(WaitIx(at)) = self.staged_wait(at, world, &ranks);
        }
        let mut slots = Vec::with_capacity(self.placed.len());
        for placed in &self.placed {
            let Some(ix) = slot(world, placed.at) else {
                return Err(TooLarge("an event has no place on its stage"));
            };
            *state.event_mut(ix) = self.staged_event(placed, ix, &ranks);
            if !placed.boundary {
                slots.push((ix, placed.at, placed.seq));
            }
        }
        state.current_mut().restore_hold =
            if self.ledger.restore_hold { Flag::Yes } else { Flag::No };
        let waits = self.waits.iter().map(|(wait, _)| *wait).collect();
        Ok(Set { world, state, works: self.works, keys: self.keys, waits, slots, ranks })
    }

    /// Works that no row speaks of.
    fn strangers(&mut self) {
        if self.full {
            // One attempt runs beside the Work concerned, and one is as many as may.
            self.no_work();
        }
        if self.works.is_empty() {
            self.no_work();
        }
    }

    /// The world of what is on the stage.
    fn world(&mut self) -> Result<&'static World, TooLarge> {
        self.shape.scopes = self.scopes.len();
        self.shape.keys = self.keys.len();
        self.merge_types();
        self.shape.works = self.bindings();
        let world = kept(&self.shape)?;
        if world.slots() > EVENTS {
            return Err(TooLarge("one row concerns more than 96 events"));
        }
        Ok(world)
    }

    /// Types that no wait lists are all alike, so that fewer shapes are needed.
    fn merge_types(&mut self) {
        let listed: BTreeSet<u8> =
            self.shape.waits.iter().flat_map(|wait| wait.types.iter().copied()).collect();
        for offer in &mut self.shape.deliveries {
            if !listed.contains(&offer.kind) {
                offer.kind = u8::MAX;
            }
        }
    }

    fn staged_event(&self, placed: &Placed, ix: EventIx, ranks: &[i64]) -> Event {
        let key = placed.key.and_then(|key| place(&self.keys, key));
        Event {
            seq: placed.seq.map_or(0, |seq| rank(ranks, seq)),
            key: Maybe::of_key(key),
            work: placed.work.map_or(Maybe::NONE, |work| WorkIx(work).into()),
            root: ix.into(),
            ..placed.staged
        }
    }
}

impl Set {
    /// The slot of a place.
    pub(in crate::audit) fn slot(&self, at: At) -> EventIx {
        slot(self.world, at).unwrap_or(EventIx(0))
    }

    /// The sequence of a rank: one that was given, or one that this step gives.
    pub(in crate::audit) fn seq(&self, rank: u8) -> i64 {
        let at = usize::from(rank);
        match at.checked_sub(self.ranks.len() + 1) {
            Some(beyond) => {
                let latest = self.ranks.last().copied().unwrap_or(0);
                latest + 1 + i64::try_from(beyond).unwrap_or(i64::MAX - latest - 1)
            }
            None => at.checked_sub(1).map_or(0, |at| self.ranks[at]),
        }
    }

    /// The key of a place.
    pub(in crate::audit) fn key(&self, key: Option<u8>) -> Option<KeyNo> {
        self.keys.get(usize::from(key?)).copied()
    }
}

/// The rank of a sequence: how many that count are not above it.
pub(super) fn rank(ranks: &[i64], seq: i64) -> u8 {
    u8::try_from(ranks.partition_point(|known| *known <= seq)).unwrap_or(u8::MAX)
}
