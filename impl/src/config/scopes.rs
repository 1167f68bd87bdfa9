//! The `[scope."…"]` sections, and what each inherits from those above it.
//!
//! A scope is below another if its name continues that one's after a `/`. Only scopes with a section
//! of their own exist; names between them need none.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::ceiling::Ceilings;
use super::inherit::Slots;
use super::kinds;
use super::problem::At;
use super::read::Reader;
use super::route_table;
use super::section::{Section, Word, is_empty, is_false, later, never, suggestion, word};
use super::tree::Entry;
use super::{Binding, Routes, Scope};
use crate::domain::CausalLimits;

/// The most attempts at once that can be asked for.
pub(super) const CAPACITY_MAX: u32 = 1024;

/// The most a chain may be deep. CAUSE-22
pub(super) const DEPTH_MAX: u32 = 1024;

/// What a scope with none above it allows without a word.
const CAPACITY: u32 = 4;
const DEPTH: u32 = 32;

/// What the sources of keys begin with: `SCOPE:SOURCE#ID` must mean one thing.
const SOURCES: [&str; 4] = ["github", "slack", "schedule", "op"];

const SCOPE: &[Word] = &[
    word("capacity"),
    word("causal"),
    word("read_scopes"),
    word("ceiling"),
    word("route"),
    word("kind"),
    word("binding"),
    later("budget", is_empty),
    later("disable", is_false),
];

const CAUSAL: &[Word] = &[word("max_depth"), later("per_minute", never)];

/// A scope with what it passes on to those below it.
struct Effective {
    scope: Arc<Scope>,
    ceilings: Ceilings,
    routes: Slots<route_table::Declared>,
    kinds: Slots<kinds::Declared>,
    bindings: Slots<Binding>,
}

impl<'a> Reader<'a> {
    /// Reads every scope, those above before those below.
    pub(super) fn scopes(&self, root: &Section<'a>) -> BTreeMap<String, Arc<Scope>> {
        let Some(node) = root.get("scope") else {
            root.missing("scope", "add `[scope.\"NAME\"]` with a kind, a binding and routes");
            return BTreeMap::new();
        };
        let ceilings = Ceilings::default().under(self, root);
        let all: Vec<(&str, &Entry)> =
            self.named(node, "`scope`").map(|(name, entry)| (name.as_str(), entry)).collect();
        let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
        // In the order of names every scope comes after those above it.
        let mut read: BTreeMap<String, Effective> = BTreeMap::new();
        for (name, entry) in all {
            let above = above(name).find_map(|name| read.get(name));
            let effective = self.scope(name, entry, above, &ceilings, &names);
            read.extend(effective.map(|effective| (name.to_owned(), effective)));
        }
        read.into_iter().map(|(name, effective)| (name, effective.scope)).collect()
    }

    fn scope(
        &self,
        name: &str,
        entry: &'a Entry,
        above: Option<&Effective>,
        ceilings: &Ceilings,
        names: &[&str],
    ) -> Option<Effective> {
        self.check_scope_name(name, &entry.key);
        let what = format!("scope `{}`", name.escape_debug());
        let section = Section::open(what, &entry.node, SCOPE, self.problems)?;
        let ceilings = above.map_or(ceilings, |above| &above.ceilings).under(self, &section);
        let (bindings, kinds, routes) = self.inherit(&section, name, above);
        if !names.iter().any(|other| above_each(name, other)) {
            self.ask_for_kinds(&section, kinds.is_empty(), bindings.is_empty());
        }
        self.resolve(name, &bindings, &kinds, &routes);
        self.supported(name, &bindings, &kinds, &routes);
        let reopen = kinds.values().map(|one| (one.kind.name.clone(), one.reopen.clone()));
        let scope = Scope {
            name: name.to_owned(),
            capacity: self.capacity(&section, above, &ceilings),
            limits: self.limits(&section, above, &ceilings),
            read_scopes: self.read_scopes(&section, name, names, &ceilings),
            routes: routes.values().map(|one| Arc::clone(&one.route)).collect(),
            handler: Routes::new(
                routes.values().map(|one| Arc::clone(&one.compiled)).collect(),
                reopen.collect(),
            ),
            kinds: kinds
                .values()
                .map(|one| (one.kind.name.clone(), Arc::new(one.kind.clone())))
                .collect(),
            bindings: bindings.values().map(|one| (one.name.clone(), Arc::clone(one))).collect(),
        };
        Some(Effective { scope: Arc::new(scope), ceilings, routes, kinds, bindings })
    }

    /// What the scope above has, with what this one says laid over it.
    fn inherit(
        &self,
        section: &Section<'a>,
        name: &str,
        above: Option<&Effective>,
    ) -> (Slots<Binding>, Slots<kinds::Declared>, Slots<route_table::Declared>) {
        let (own_bindings, own_kinds) = (self.bindings(section, name), self.kinds(section, name));
        let own_routes = self.routes(section, name);
        let (bindings, kinds, routes) = above
            .map(|above| (above.bindings.clone(), above.kinds.clone(), above.routes.clone()))
            .unwrap_or_default();
        let what = &section.what;
        (
            bindings.under(own_bindings, what, "binding", self.problems),
            kinds.under(own_kinds, what, "kind", self.problems),
            routes.under(own_routes, what, "route", self.problems),
        )
    }

    fn check_scope_name(&self, name: &str, at: &At) {
        let parts = || name.split('/').all(|part| part.trim() == part && !part.is_empty());
        let plain = !name.contains(|c: char| c == ':' || c.is_control());
        if name.len() > 256 || !plain || !parts() || SOURCES.contains(&name) {
            let message = format!("`{}` cannot be the name of a scope", name.escape_debug());
            let next = "use names of at most 256 bytes, parted by single `/`, without `:` and \
                        other than `github`, `slack`, `schedule` and `op`, which begin sources";
            self.problems.add("bad_name", at, message, next);
        }
    }

    /// Only a scope with others below it may leave its kinds to them.
    fn ask_for_kinds(&self, scope: &Section<'a>, no_kinds: bool, no_bindings: bool) {
        if no_bindings {
            scope.missing("binding", "add `[scope.\"NAME\".binding.BINDING]`");
        }
        if no_kinds {
            scope.missing("kind", "add `[scope.\"NAME\".kind.KIND]` with `binding = \"…\"`");
        }
    }

    /// Without a word a scope is bounded by those above it, and by a small number if it has none.
    fn capacity(
        &self,
        section: &Section<'a>,
        above: Option<&Effective>,
        ceilings: &Ceilings,
    ) -> Option<u32> {
        let at = section.get("capacity").map(|node| &node.at);
        if let (None, Some(above)) = (at, above) {
            // Its own ceiling bounds it, and those below, within what is above.
            let own = ceilings.own_capacity(&above.ceilings)?;
            return Some(ceilings.capacity(own, None, &section.what, self.problems));
        }
        let given = section.number("capacity", CAPACITY, 1, CAPACITY_MAX);
        Some(ceilings.capacity(given, at, &section.what, self.problems))
    }

    /// Zero, negative and unlimited depths are refused, and so is one above the bound. CAUSE-22
    fn limits(
        &self,
        scope: &Section<'a>,
        above: Option<&Effective>,
        ceilings: &Ceilings,
    ) -> CausalLimits {
        let inherited = above.map_or(DEPTH, |above| above.scope.limits.max_depth);
        let section = scope.get("causal").and_then(|node| {
            Section::open(format!("`causal` of {}", scope.what), node, CAUSAL, self.problems)
        });
        let at = section.as_ref().and_then(|section| section.get("max_depth"));
        let at = at.map(|node| &node.at);
        let given = section
            .map_or(inherited, |section| section.number("max_depth", inherited, 1, DEPTH_MAX));
        CausalLimits { max_depth: ceilings.max_depth(given, at, &scope.what, self.problems) }
    }

    /// Authority over another scope's keys is said for each scope, and never inherited. BIND-05
    fn read_scopes(
        &self,
        section: &Section<'a>,
        name: &str,
        names: &[&str],
        ceilings: &Ceilings,
    ) -> Vec<String> {
        let granted = section.texts("read_scopes").into_iter().filter(|(scope, at)| {
            let known = names.contains(scope);
            if !known {
                let message = format!("there is no scope `{}`", scope.escape_debug());
                self.problems.add("unresolved_name", at, message, suggestion(scope, names));
            }
            ceilings.allow_reading(scope, at, &section.what, self.problems);
            known && *scope != name
        });
        granted.map(|(scope, _)| scope.to_owned()).collect()
    }

    /// Every kind has a binding here and every route a kind, wherever they were declared. BIND-02
    fn resolve(
        &self,
        scope: &str,
        bindings: &Slots<Binding>,
        kinds: &Slots<kinds::Declared>,
        routes: &Slots<route_table::Declared>,
    ) {
        let unresolved = |at: &At, what: &str, name: &str, declared: &str, known: &[&str]| {
            let here = if declared == scope {
                "here".to_owned()
            } else {
                format!("in scope `{}`, which inherits this", scope.escape_debug())
            };
            let message = format!("there is no {what} `{}` {here}", name.escape_debug());
            self.problems.add("unresolved_name", at, message, suggestion(name, known));
        };
        for one in kinds.values().filter(|one| !bindings.knows(&one.kind.binding)) {
            let known = bindings.names();
            unresolved(&one.binding_at, "binding", &one.kind.binding, &one.scope, &known);
        }
        for one in routes.values() {
            let (Some(kind), Some(at)) = (&one.route.kind, &one.kind_at) else { continue };
            if !kinds.knows(kind) {
                unresolved(at, "kind", kind, &one.route.declared_in, &kinds.names());
            }
        }
    }
}

/// The names above one, the nearest first.
pub(super) fn above(name: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(name.rsplit_once('/'), |(above, _)| above.rsplit_once('/'))
        .map(|(above, _)| above)
}

/// Whether a scope lies above another.
fn above_each(name: &str, other: &str) -> bool {
    other.strip_prefix(name).is_some_and(|rest| rest.starts_with('/'))
}
