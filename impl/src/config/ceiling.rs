//! `[ceiling]`: the most that a scope may grant, whoever writes its section. BIND-08
//!
//! At the top of a file it bounds every scope, inside a scope that one and those below.

use super::problem::{At, Problems};
use super::read::Reader;
use super::section::{Section, Word, is_empty, later, word};

const CEILING: &[Word] =
    &[word("capacity"), word("causal"), word("read_scopes"), later("tools", is_empty)];

const CAUSAL: &[Word] = &[word("max_depth")];

/// The bounds on one scope, the nearest last. An empty list bounds nothing.
#[derive(Debug, Clone, Default)]
pub(super) struct Ceilings(Vec<Ceiling>);

#[derive(Debug, Clone)]
struct Ceiling {
    /// Whose it is, as messages call it.
    what: String,
    capacity: Option<u32>,
    max_depth: Option<u32>,
    read_scopes: Option<Vec<String>>,
}

impl Ceilings {
    /// With the bounds that a section sets besides.
    pub(super) fn under(&self, reader: &Reader<'_>, section: &Section<'_>) -> Self {
        let mut all = self.clone();
        all.0.extend(reader.ceiling(section));
        all
    }

    /// The capacity that the last section to add bounds sets by them, beside what those above do.
    pub(super) fn own_capacity(&self, above: &Self) -> Option<u32> {
        self.0.get(above.0.len())?.capacity
    }

    /// A capacity: refused where it is written, lowered where nothing is.
    pub(super) fn capacity(
        &self,
        given: u32,
        at: Option<&At>,
        what: &str,
        problems: &Problems,
    ) -> u32 {
        self.least("capacity", given, at, what, problems, |ceiling| ceiling.capacity)
    }

    /// A depth of chains, in the same way.
    pub(super) fn max_depth(
        &self,
        given: u32,
        at: Option<&At>,
        what: &str,
        problems: &Problems,
    ) -> u32 {
        self.least("max_depth", given, at, what, problems, |ceiling| ceiling.max_depth)
    }

    fn least(
        &self,
        word: &str,
        given: u32,
        at: Option<&At>,
        what: &str,
        problems: &Problems,
        bound: impl Fn(&Ceiling) -> Option<u32>,
    ) -> u32 {
        let bounds = self.0.iter().filter_map(|one| Some((bound(one)?, &one.what)));
        let Some((least, of)) = bounds.min_by_key(|(least, _)| *least) else { return given };
        if let Some(at) = at.filter(|_| given > least) {
            let message = format!("`{word}` of {what} is above what {of} allows, {least}");
            let next = format!("set it to {least} at most, or raise the ceiling");
            problems.add("above_ceiling", at, message, next);
        }
        given.min(least)
    }

    /// Whether another scope may be granted for reading.
    pub(super) fn allow_reading(&self, scope: &str, at: &At, what: &str, problems: &Problems) {
        let refusing = self.0.iter().find(|ceiling| {
            let allowed = ceiling.read_scopes.as_ref();
            allowed.is_some_and(|list| !list.iter().any(|one| is_within(scope, one)))
        });
        if let Some(Ceiling { what: of, .. }) = refusing {
            let shown = scope.escape_debug();
            let message = format!("`read_scopes` of {what} grants `{shown}`, which {of} does not");
            let next = "leave it out, or add it to `read_scopes` of the ceiling";
            problems.add("above_ceiling", at, message, next);
        }
    }
}

/// A scope itself, or one below it.
pub(super) fn is_within(scope: &str, of: &str) -> bool {
    scope.strip_prefix(of).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl Reader<'_> {
    fn ceiling(&self, owner: &Section<'_>) -> Option<Ceiling> {
        let node = owner.get("ceiling")?;
        let what = match owner.at {
            &At::START => "`[ceiling]`".to_owned(),
            At::Text(_) | At::Variable(_) => format!("`ceiling` of {}", owner.what),
        };
        let section = Section::open(what.clone(), node, CEILING, self.problems)?;
        let causal = section.get("causal").and_then(|node| {
            Section::open(format!("`causal` of {what}"), node, CAUSAL, self.problems)
        });
        let number = |section: &Section<'_>, word, high| {
            section.get(word).map(|_| section.number(word, high, 1, high))
        };
        let texts = || section.texts("read_scopes").into_iter().map(|(text, _)| text.to_owned());
        Some(Ceiling {
            capacity: number(&section, "capacity", super::scopes::CAPACITY_MAX),
            max_depth: causal
                .and_then(|causal| number(&causal, "max_depth", super::scopes::DEPTH_MAX)),
            read_scopes: section.get("read_scopes").map(|_| texts().collect()),
            what,
        })
    }
}
