//! The `[[scope."…".route]]` sections, in the order they are tried. ROUTE-06

use std::ops::Range;

use serde_json::Value as Json;

use super::Route;
use super::expression::{self, Expression, Place};
use super::problem::At;
use super::read::Reader;
use super::routes::Compiled;
use super::section::{Section, Word, is_empty, is_false, later, never, suggestion, word};
use super::tree::{Node, json};

const ROUTE: &[Word] = &[
    word("name"),
    word("on"),
    word("when"),
    word("key"),
    word("do"),
    word("kind"),
    word("active"),
    word("config"),
    later("fallback", never),
    later("on_error", never),
    later("disable", is_false),
];

/// The routes of a scope, as written and as compiled; both in evaluation order.
#[derive(Default)]
pub(super) struct RouteTable {
    pub(super) written: Vec<Route>,
    pub(super) compiled: Vec<Compiled>,
}

impl<'a> Reader<'a> {
    /// Reads every route; `kind` is the one kind there is, if it could be read.
    pub(super) fn routes(&self, scope: &Section<'a>, kind: Option<&str>) -> RouteTable {
        let mut table = RouteTable::default();
        for node in self.listed(scope, "route") {
            let Some((route, compiled)) = self.route(node, kind) else { continue };
            if table.written.iter().any(|other| other.name == route.name) {
                let message = format!("{} has two routes named `{}`", scope.what, route.name);
                let next = "rename one: a route is known by its name";
                self.problems.add("duplicate_name", &node.at, message, next);
            }
            table.written.push(route);
            table.compiled.push(compiled);
        }
        table
    }

    fn route(&self, node: &'a Node, kind: Option<&str>) -> Option<(Route, Compiled)> {
        let section = Section::open_listed("route", node, ROUTE, self.problems)?;
        let name = section.required("name", "add `name = \"pull-request\"`");
        if let Some((name, at)) = name {
            self.check_name(name, at);
        }
        self.decision(&section);
        self.active(&section);
        let on = self.patterns(&section);
        let when = self.expression(&section, "when", Place::When);
        let key = self.expression(&section, "key", Place::Key);
        let kind = self.route_kind(&section, kind);
        let config = section.get("config").map_or(Json::Object(serde_json::Map::new()), json);
        let route = Route {
            name: name?.0.to_owned(),
            on: on.iter().map(|glob| glob.glob().to_string()).collect(),
            when: section.text("when").map(|(text, _)| text.to_owned()),
            key: section.text("key").map(|(text, _)| text.to_owned()),
            kind: kind?,
            config: config.clone(),
        };
        let (name, kind) = (route.name.clone(), route.kind.clone());
        Some((route, Compiled { name, kind, on, when, key, config }))
    }

    fn decision(&self, section: &Section<'a>) {
        section
            .required("do", "add `do = \"work\"`: find the Work that owns the key, or create it");
        section.choice("do", &["work"], &["update", "drop", "close"]);
    }

    /// Only the queue is here yet; `coalesce` never will be. POLICY-29
    fn active(&self, section: &Section<'a>) {
        match section.text("active") {
            Some(("coalesce", at)) => {
                let message = "there is no policy `coalesce`: the queue already does it, since \
                               one attempt is handed everything that is pending";
                self.problems.add("coalesce", at, message, "write `active = \"queue\"`");
            }
            Some(_) => {
                section.choice("active", &["queue"], &["inject", "interrupt", "drop"]);
            }
            None => {}
        }
    }

    fn patterns(&self, section: &Section<'a>) -> Vec<globset::GlobMatcher> {
        const NEXT: &str = "add `on = [\"pull_request.*\"]`; `[\"*\"]` is every type";
        let patterns = section.texts("on");
        match section.get("on") {
            None => section.missing("on", NEXT),
            Some(node) if is_empty(node) => {
                let message = format!("`on` of {} is empty: it could never match", section.what);
                self.problems.add("missing_word", &node.at, message, NEXT);
            }
            Some(_) => {}
        }
        patterns.into_iter().filter_map(|(text, at)| self.pattern(text, at)).collect()
    }

    fn pattern(&self, text: &str, at: &At) -> Option<globset::GlobMatcher> {
        let glob = match text.len() {
            1..=256 => globset::Glob::new(text).map_err(|error| error.kind().to_string()),
            _ => Err("it must have 1 to 256 bytes".to_owned()),
        };
        match glob {
            Ok(glob) => Some(glob.compile_matcher()),
            Err(wrong) => {
                let message = format!("`{}` is not a pattern: {wrong}", text.escape_debug());
                let next = "write a type, or a part of one with `*`: \"pull_request.*\"";
                self.problems.add("bad_pattern", at, message, next);
                None
            }
        }
    }

    fn route_kind(&self, section: &Section<'a>, known: Option<&str>) -> Option<String> {
        let (kind, at) = section.required("kind", "add `kind = \"NAME\"`: what it creates")?;
        // Without a readable kind there is a problem already, and nothing to compare with.
        let known = known?;
        if kind != known {
            let message = format!("there is no kind `{}` here", kind.escape_debug());
            self.problems.add("unresolved_name", at, message, suggestion(kind, &[known]));
        }
        Some(kind.to_owned())
    }

    /// Compiles an expression and places its faults inside the file. OURS-05
    fn expression(&self, section: &Section<'a>, name: &str, place: Place) -> Option<Expression> {
        let (text, at) = section.text(name)?;
        match expression::compile(text, place) {
            Ok(expression) => Some(expression),
            Err(faults) => {
                for fault in faults {
                    let at = self.inside(at, text, fault.at);
                    let message = format!("`{name}` of {}: {}", section.what, fault.message);
                    self.problems.add("expression", &at, message, fault.next);
                }
                None
            }
        }
    }

    /// The place of a character of an expression; its start, where escapes hide it.
    fn inside(&self, at: &At, text: &str, character: usize) -> At {
        let At::Text(span) = at else { return at.clone() };
        let written = self.source.text.get(span.clone()).unwrap_or_default();
        let Some(start) = written.find(text) else { return at.clone() };
        let skipped: usize = text.chars().take(character).map(char::len_utf8).sum();
        let offset = span.start + start + skipped;
        At::Text(Range { start: offset, end: offset })
    }
}
