//! The `[[scope."…".route]]` sections, in the order they are tried. ROUTE-06

use std::ops::Range;
use std::sync::Arc;

use serde_json::Value as Json;

use super::Route;
use super::expression::{self, Expression, Place};
use super::inherit::{Entry, Own, disables};
use super::problem::At;
use super::read::Reader;
use super::routes::Compiled;
use super::section::{Section, Word, is_empty, word};
use super::tree::{Node, json};
use crate::domain::{CORE_PREFIX, Control};
use crate::extension::route::RouteAction;

const ROUTE: &[Word] = &[
    word("name"),
    word("on"),
    word("when"),
    word("key"),
    word("attach"),
    word("do"),
    word("kind"),
    word("active"),
    word("config"),
    word("disable"),
    word("fallback"),
    word("on_error"),
];

/// A route, and where it names what its scope must have.
#[derive(Debug)]
pub(super) struct Declared {
    pub(super) route: Arc<Route>,
    pub(super) compiled: Arc<Compiled>,
    /// Where it names its kind: whether there is one depends on the scope.
    pub(super) kind_at: Option<At>,
    /// Where it names its active policy: whether a binding supports that depends on the scope, too.
    pub(super) active_at: Option<At>,
}

impl<'a> Reader<'a> {
    /// Reads the routes a scope has of its own, in their order.
    pub(super) fn routes(&self, scope: &Section<'a>, name: &str) -> Vec<Own<'a, Declared>> {
        let mut own: Vec<Own<'a, Declared>> = Vec::new();
        for node in self.listed(scope, "route") {
            let Some(route) = self.named_route(node, name) else { continue };
            if own.iter().any(|other| other.name == route.name) {
                let message = format!("{} has two routes named `{}`", scope.what, route.name);
                let next = "rename one: a route is known by its name";
                self.problems.add("duplicate_name", &node.at, message, next);
                continue;
            }
            own.push(route);
        }
        own
    }

    fn named_route(&self, node: &'a Node, scope: &str) -> Option<Own<'a, Declared>> {
        let section = Section::open_listed("route", node, ROUTE, self.problems)?;
        let name = section.required("name", "add `name = \"pull-request\"`");
        if let Some((name, at)) = name {
            self.check_name(name, at);
        }
        let entry = match disables(&section, self.problems) {
            true => Entry::Disabled,
            false => Entry::of(self.route(name.map_or("", |(name, _)| name), &section, scope)),
        };
        let (name, at) = name?;
        Some(Own { name, at, entry })
    }

    fn route(&self, name: &str, section: &Section<'a>, scope: &str) -> Option<Declared> {
        let action = self.decision(section);
        let on = self.patterns(section);
        let when = self.expression(section, "when", Place::When);
        let key = self.expression(section, "key", Place::Key);
        let attach = self.expression(section, "attach", Place::Attach);
        let kind = self.route_kind(section, action);
        let config = section.get("config").map_or(Json::Object(serde_json::Map::new()), json);
        let control = match action {
            Some(RouteAction::Work | RouteAction::Update) | None => self.control(section),
            Some(RouteAction::Drop | RouteAction::Close | RouteAction::Decline) => {
                Control::default()
            }
        };
        let action = action?;
        self.unused(section, action);
        let text = |word| section.text(word).map(|(text, _)| text.to_owned());
        let route = Route {
            name: name.to_owned(),
            declared_in: scope.to_owned(),
            on: on.iter().map(|glob| glob.glob().to_string()).collect(),
            when: text("when"),
            key: text("key"),
            attach: text("attach"),
            action,
            kind: kind.map(|(kind, _)| kind.to_owned()),
            control,
            config: config.clone(),
        };
        let compiled = Compiled {
            name: name.to_owned(),
            action,
            kind: route.kind.clone(),
            control,
            on,
            when,
            key,
            attach,
            config,
        };
        let kind_at = kind.map(|(_, at)| at.clone());
        let active_at = section.place("active").cloned();
        let (route, compiled) = (Arc::new(route), Arc::new(compiled));
        Some(Declared { route, compiled, kind_at, active_at })
    }

    /// What a route does; `None` with a problem. OURS-01 OURS-02
    fn decision(&self, section: &Section<'a>) -> Option<RouteAction> {
        section
            .required("do", "add `do = \"work\"`: find the Work that owns the key, or create it");
        Some(match section.choice("do", &["work", "update", "drop", "close"], &[])? {
            "update" => RouteAction::Update,
            "drop" => RouteAction::Drop,
            "close" => RouteAction::Close,
            _ => RouteAction::Work,
        })
    }

    /// Words that could have no effect are refused, so that nobody counts on one.
    fn unused(&self, section: &Section<'a>, action: RouteAction) {
        let words: &[(&str, &str)] = match action {
            RouteAction::Work | RouteAction::Decline => &[],
            RouteAction::Update => &[("kind", "it never creates work")],
            RouteAction::Drop | RouteAction::Close => &[
                ("kind", "it never creates work"),
                ("attach", "it gives no work a key"),
                ("active", "it hands nothing to an attempt"),
                ("fallback", "it hands nothing to an attempt"),
                ("on_error", "it hands nothing to an attempt"),
            ],
        };
        for (word, why) in words {
            let Some(node) = section.get(word) else { continue };
            let message = format!("{} says `{word}`, and {why}", section.what);
            self.problems.add("contradiction", &node.at, message, "leave it out");
        }
    }

    fn patterns(&self, section: &Section<'a>) -> Vec<globset::GlobMatcher> {
        const NEXT: &str =
            "add `on = [\"pull_request.*\"]`; `[\"*\"]` is every type but core's own";
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

    pub(super) fn pattern(&self, text: &str, at: &At) -> Option<globset::GlobMatcher> {
        if text.starts_with(CORE_PREFIX) {
            let message = format!("`{}` names events of core's own", text.escape_debug());
            let next = "leave it out: they have no route; an attempt may wait on them, though";
            self.problems.add("core_type", at, message, next);
            return None;
        }
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

    /// What a route creates, and where it says so. Whether there is such a kind is seen in each
    /// scope the route is effective in.
    fn route_kind(
        &self,
        section: &Section<'a>,
        action: Option<RouteAction>,
    ) -> Option<(&'a str, &'a At)> {
        match action {
            Some(RouteAction::Work) => {
                section.required("kind", "add `kind = \"NAME\"`: what it creates")
            }
            Some(
                RouteAction::Update | RouteAction::Drop | RouteAction::Close | RouteAction::Decline,
            )
            | None => None,
        }
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
