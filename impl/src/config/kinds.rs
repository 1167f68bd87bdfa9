//! The `[scope."…".kind.KIND]` sections.

use globset::GlobMatcher;

use super::Kind;
use super::inherit::{Entry, Own, disables};
use super::problem::At;
use super::read::Reader;
use super::section::{Section, Word, is_false, later, never, word};
use super::tree;

const KIND: &[Word] = &[
    word("binding"),
    word("retry"),
    word("standing"),
    word("reopen"),
    word("close_after"),
    word("disable"),
    later("accepts", never),
    later("run_once", is_false),
    later("capacity", never),
];

/// A kind, and where it names its binding: whether there is one depends on the scope.
#[derive(Debug)]
pub(super) struct Declared {
    pub(super) kind: Kind,
    pub(super) reopen: Vec<GlobMatcher>,
    pub(super) binding_at: At,
    /// The scope that declares it.
    pub(super) scope: String,
}

impl<'a> Reader<'a> {
    /// Reads the kinds a scope has of its own.
    pub(super) fn kinds(&self, scope: &Section<'a>, name: &str) -> Vec<Own<'a, Declared>> {
        let Some(node) = scope.get("kind") else { return Vec::new() };
        let kinds = self.named(node, "`kind`").map(|(kind, entry)| {
            self.check_name(kind, &entry.key);
            Own { name: kind.as_str(), at: &entry.key, entry: self.kind(kind, entry, name) }
        });
        kinds.collect()
    }

    fn kind(&self, name: &str, entry: &'a tree::Entry, scope: &str) -> Entry<Declared> {
        let what = format!("kind `{}`", name.escape_debug());
        let Some(section) = Section::open(what, &entry.node, KIND, self.problems) else {
            return Entry::Broken;
        };
        if disables(&section, self.problems) {
            return Entry::Disabled;
        }
        Entry::of(self.declared_kind(name, &section, scope))
    }

    fn declared_kind(&self, name: &str, section: &Section<'a>, scope: &str) -> Option<Declared> {
        let reopen: Vec<_> =
            section.texts("reopen").into_iter().filter_map(|(t, at)| self.pattern(t, at)).collect();
        let standing = section.truth("standing");
        let close_after = self.close_after(section, standing);
        let retry = self.retry(section, standing);
        let (binding, at) = section.required("binding", "add `binding = \"NAME\"`")?;
        let kind = Kind {
            name: name.to_owned(),
            binding: binding.to_owned(),
            standing,
            reopen: reopen.iter().map(|glob| glob.glob().to_string()).collect(),
            close_after,
            retry,
        };
        Some(Declared { kind, reopen, binding_at: at.clone(), scope: scope.to_owned() })
    }

    /// Standing Work is cancelled by a person or not at all.
    fn close_after(
        &self,
        section: &Section<'a>,
        standing: bool,
    ) -> Option<crate::domain::Duration> {
        let node = section.get("close_after")?;
        if standing {
            let message = format!("{} is standing and says `close_after`", section.what);
            let next = "remove one of them: standing work is idle for as long as nothing comes";
            self.problems.add("contradiction", &node.at, message, next);
        }
        Some(section.duration("close_after", "14d", "1s", "3650d"))
    }
}
