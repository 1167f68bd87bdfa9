//! The small numbers that things of the ledger have on a stage, each given when it is first asked for.

use abide_model::index::{WorkIx, below};

use super::super::facts::{KeyNo, NameNo, WorkNo};
use super::{EVENTS, KEYS, Stage, TooLarge, WORKS};

impl Stage<'_> {
    /// The place of a Work.
    pub(in crate::audit) fn work(&mut self, work: WorkNo) -> WorkIx {
        self.scope(self.ledger.works[work.0].scope);
        WorkIx(Self::local(
            &mut self.works,
            Some(work),
            WORKS,
            &mut self.too_large,
            "one row concerns more Works than a stage holds",
        ))
    }

    /// The place of a Work that is not there yet, or never will be.
    pub(in crate::audit) fn no_work(&mut self) -> WorkIx {
        self.works.push(None);
        if self.works.len() > WORKS {
            self.too_large
                .get_or_insert(TooLarge("one row concerns more Works than a stage holds"));
            return WorkIx(0);
        }
        WorkIx(below(self.works.len()).end - 1)
    }

    /// The place of a key.
    pub(in crate::audit) fn key(&mut self, key: KeyNo) -> u8 {
        Self::local(
            &mut self.keys,
            key,
            KEYS,
            &mut self.too_large,
            "more than 8 keys matter at once",
        )
    }

    /// Puts the owner of a key on the stage, if it has one.
    pub(in crate::audit) fn owned(&mut self, key: KeyNo) -> u8 {
        if let Some(owner) = self.ledger.keys[key.0].owner {
            self.work(owner);
        }
        self.key(key)
    }

    /// The place of a type.
    pub(super) fn kind(&mut self, name: NameNo) -> u8 {
        Self::local(
            &mut self.types,
            name,
            EVENTS,
            &mut self.too_large,
            "more than 96 types matter at once",
        )
    }

    /// The place of a scope.
    pub(in crate::audit) fn scope(&mut self, name: NameNo) -> u8 {
        Self::local(
            &mut self.scopes,
            name,
            EVENTS,
            &mut self.too_large,
            "more than 96 scopes matter at once",
        )
    }

    /// Says that one key is the next generation of another.
    pub(in crate::audit) fn generation(&mut self, key: KeyNo, next: KeyNo) {
        let pair = (self.key(key), self.key(next));
        if !self.shape.generations.contains(&pair) {
            self.shape.generations.push(pair);
        }
    }

    /// Grants one scope to read another.
    pub(in crate::audit) fn grant(&mut self, reader: NameNo, other: NameNo) {
        let pair = (self.scope(reader), self.scope(other));
        self.shape.reads.push(pair);
    }

    /// The place of a thing in the list of its sort, at whose end it is put if it is not there.
    fn local<T: PartialEq + Copy>(
        list: &mut Vec<T>,
        wanted: T,
        most: usize,
        too_large: &mut Option<TooLarge>,
        why: &'static str,
    ) -> u8 {
        let at = list.iter().position(|known| *known == wanted).unwrap_or_else(|| {
            list.push(wanted);
            list.len() - 1
        });
        if at >= most {
            too_large.get_or_insert(TooLarge(why));
            return 0;
        }
        u8::try_from(at).unwrap_or_default()
    }
}

/// The place that a key has, if it has one.
pub(super) fn place(keys: &[KeyNo], key: KeyNo) -> Option<u8> {
    keys.iter().position(|known| *known == key).and_then(|at| u8::try_from(at).ok())
}
