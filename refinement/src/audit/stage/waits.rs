//! Waits: those that the rows before registered, and the one that the step may register.

use abide_model::index::{Maybe, WaitIx, WorkIx, below};
use abide_model::state::{Flag, Wait};
use abide_model::worlds::World;

use super::super::facts::{KeyNo, NameNo, WaitNo};
use super::set::rank;
use super::shape::WaitShape;
use super::slots::slot;
use super::{At, Stage, TooLarge, WAITS, due};

impl Stage<'_> {
    /// Puts a wait on the stage, with what it was woken by or would time out from.
    pub(in crate::audit) fn wait(&mut self, wait: WaitNo) -> WaitIx {
        if let Some(at) = self.waits.iter().position(|(known, _)| *known == Some(wait)) {
            return WaitIx(u8::try_from(at).unwrap_or_default());
        }
        let fact = &self.ledger.waits[wait.0];
        let work = self.work(fact.work);
        let keys = fact.keys.iter().map(|key| self.key(*key)).collect();
        let types = fact.types.iter().map(|name| self.kind(*name)).collect();
        let source = fact.source.map(|(key, scope)| (self.key(key), self.scope(scope), Vec::new()));
        let shape =
            WaitShape { work: work.0, keys, types, timeout: fact.fire_at.is_some(), source };
        let staged = Wait {
            status: fact.status,
            timer: due(fact.timer, fact.fire_at, self.now),
            subscribed: if fact.subscribed { Flag::Yes } else { Flag::No },
            subscription: fact.subscription,
            ..Wait::default()
        };
        let ix = self.add_wait(Some(wait), shape, staged);
        self.marks.extend([fact.watermark, fact.checkpoint]);
        if let Some(seq) = fact.timeout {
            self.put(At::Timeout(ix.0), seq);
        }
        if let Some(seq) = fact.continuation {
            self.put(At::Continuation(ix.0), seq);
        }
        for seq in [fact.winner, fact.cause].into_iter().flatten() {
            self.event(seq);
        }
        ix
    }

    /// Puts a wait on the stage that may not exist.
    pub(in crate::audit) fn waited(&mut self, wait: Option<WaitNo>) -> WaitIx {
        match wait {
            Some(wait) => self.wait(wait),
            None => self.no_wait(),
        }
    }

    /// A wait that is not registered, with nothing to say of itself.
    pub(in crate::audit) fn no_wait(&mut self) -> WaitIx {
        let work = if self.works.is_empty() { self.no_work() } else { WorkIx(0) };
        let shape = WaitShape {
            work: work.0,
            keys: Vec::new(),
            types: Vec::new(),
            timeout: false,
            source: None,
        };
        self.add_wait(None, shape, Wait::default())
    }

    /// A wait that is to be registered.
    pub(in crate::audit) fn new_wait(
        &mut self,
        work: WorkIx,
        keys: &[KeyNo],
        types: &[NameNo],
        timeout: bool,
        source: Option<(KeyNo, NameNo)>,
    ) -> WaitIx {
        let shape = WaitShape {
            work: work.0,
            keys: keys.iter().map(|key| self.owned(*key)).collect(),
            types: types.iter().map(|name| self.kind(*name)).collect(),
            timeout,
            source: source.map(|(key, scope)| (self.key(key), self.scope(scope), Vec::new())),
        };
        self.add_wait(None, shape, Wait::default())
    }

    /// Says that an event may be of the source of a wait, and answers where its alias stands.
    pub(in crate::audit) fn source(&mut self, wait: WaitIx, event: At) -> At {
        let (Some(shape), At::Delivery(delivery)) = (self.shape.waits.get_mut(wait.at()), event)
        else {
            self.too_large.get_or_insert(TooLarge("a source that is none of a sender's events"));
            return event;
        };
        if let Some((_, _, events)) = &mut shape.source
            && !events.contains(&delivery)
        {
            events.push(delivery);
        }
        At::Alias(wait.0, delivery)
    }

    /// Puts a wait on the stage as it is.
    pub(super) fn add_wait(
        &mut self,
        wait: Option<WaitNo>,
        shape: WaitShape,
        staged: Wait,
    ) -> WaitIx {
        if self.waits.len() >= WAITS {
            self.too_large.get_or_insert(TooLarge("one row concerns more than 3 waits"));
            return WaitIx(0);
        }
        self.shape.waits.push(shape);
        self.waits.push((wait, staged));
        WaitIx(below(self.waits.len()).end - 1)
    }

    /// A wait as the rows before left it, with the slots of what it names.
    pub(super) fn staged_wait(&self, at: u8, world: &World, ranks: &[i64]) -> Wait {
        let (wait, staged) = self.waits[usize::from(at)];
        let Some(wait) = wait else { return staged };
        let fact = &self.ledger.waits[wait.0];
        let event = |seq: Option<i64>| {
            let placed = seq.and_then(|seq| {
                self.placed.iter().find(|placed| !placed.boundary && placed.seq == Some(seq))
            });
            placed.and_then(|placed| slot(world, placed.at)).map_or(Maybe::NONE, Into::into)
        };
        Wait {
            watermark: rank(ranks, fact.watermark),
            checkpoint: rank(ranks, fact.checkpoint),
            winner: event(fact.winner),
            cause: event(fact.cause),
            ..staged
        }
    }
}
