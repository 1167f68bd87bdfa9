//! The `[[ingress]]` sections.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use super::read::Reader;
use super::section::{Section, Word, later, never, suggestion, word};
use super::tree::{Node, Value};
use super::{Ingress, IngressKind, ScopeRule, Secret, SecretSource};

const INGRESS: &[Word] = &[
    word("name"),
    word("kind"),
    word("scope"),
    word("scopes"),
    word("secrets"),
    word("unsigned"),
    word("self"),
    word("max"),
    later("catch_up", never),
];

/// The largest body any ingress takes: GitHub's own limit.
const MAX: &str = "25MiB";

/// Whether a door can be reached from another machine.
fn is_public(door: Option<SocketAddr>) -> bool {
    door.is_some_and(|address| !address.ip().is_loopback())
}

impl<'a> Reader<'a> {
    /// Reads every ingress; `scopes` are those that could be read.
    pub(super) fn ingresses(
        &self,
        root: &Section<'a>,
        scopes: &[&str],
        hooks: Option<SocketAddr>,
    ) -> Vec<Ingress> {
        let mut all: Vec<Ingress> = Vec::new();
        for node in self.listed(root, "ingress") {
            let Some(ingress) = self.ingress(node, scopes, hooks) else { continue };
            if all.iter().any(|other| other.name == ingress.name) {
                let message = format!("there are two ingresses named `{}`", ingress.name);
                let next = "rename one: the name is its address, `/hooks/NAME`";
                self.problems.add("duplicate_name", &node.at, message, next);
            }
            all.push(ingress);
        }
        all
    }

    fn ingress(
        &self,
        node: &'a Node,
        scopes: &[&str],
        hooks: Option<SocketAddr>,
    ) -> Option<Ingress> {
        let section = Section::open_listed("ingress", node, INGRESS, self.problems)?;
        let name = section.required("name", "add `name = \"github\"`");
        if let Some((name, at)) = name {
            self.check_name(name, at);
        }
        let kind = self.ingress_kind(&section);
        let rule = self.scope_rule(&section, scopes);
        let secrets = self.secrets(&section, hooks);
        let self_accounts = section.texts("self").into_iter();
        let self_accounts = self_accounts.map(|(account, _)| account.to_owned()).collect();
        let usual = if kind == Some(IngressKind::Github) { MAX } else { "1MiB" };
        let max = section.size("max", usual, "1KiB", MAX);
        let (name, kind, scope) = (name?.0.to_owned(), kind?, rule?);
        Some(Ingress { name, kind, scope, secrets, self_accounts, max })
    }

    fn ingress_kind(&self, section: &Section<'a>) -> Option<IngressKind> {
        section.required("kind", "add `kind = \"github\"` or `kind = \"http\"`")?;
        match section.choice("kind", &["github", "http"], &["slack"])? {
            "github" => Some(IngressKind::Github),
            _ => Some(IngressKind::Http),
        }
    }

    /// Exactly one of `scope` and `scopes`. INGRESS-08
    fn scope_rule(&self, section: &Section<'a>, known: &[&str]) -> Option<ScopeRule> {
        match (section.get("scope"), section.get("scopes")) {
            (Some(_), None) => {
                let (name, at) = section.text("scope")?;
                self.known_scope(name, at, known);
                Some(ScopeRule::One(name.to_owned()))
            }
            (None, Some(node)) => Some(ScopeRule::ByResource(self.scope_map(node, known))),
            (Some(node), Some(_)) => {
                let message = format!("{} has both `scope` and `scopes`", section.what);
                let next = "keep `scope` for one target, or `scopes` to choose by repository";
                self.problems.add("contradiction", &node.at, message, next);
                None
            }
            (None, None) => {
                section.missing("scope", "add `scope = \"NAME\"`, or `scopes` by repository");
                None
            }
        }
    }

    fn scope_map(&self, node: &'a Node, known: &[&str]) -> BTreeMap<String, String> {
        let mut map = BTreeMap::new();
        for (resource, entry) in self.named(node, "`scopes`") {
            let Value::Text(scope) = &entry.node.value else {
                let message = format!("the scope of `{}` is not a text", resource.escape_debug());
                let next = "write the name of a scope in quotes";
                self.problems.add("wrong_type", &entry.node.at, message, next);
                continue;
            };
            self.known_scope(scope, &entry.node.at, known);
            map.insert(resource.clone(), scope.clone());
        }
        map
    }

    fn known_scope(&self, name: &str, at: &super::At, known: &[&str]) {
        // Without a readable scope there is a problem already, and nothing to compare with.
        if !known.is_empty() && !known.contains(&name) {
            let message = format!("there is no scope `{}`", name.escape_debug());
            self.problems.add("unresolved_name", at, message, suggestion(name, known));
        }
    }

    /// An ingress verifies signatures, unless it says that it does not and only this machine can
    /// reach it.
    fn secrets(&self, section: &Section<'a>, hooks: Option<SocketAddr>) -> Vec<Secret> {
        let unsigned = section.truth("unsigned");
        let secrets = self.secret_list(section);
        let listed = section.get("secrets").is_some();
        let contradiction = |message: String, next: &str| {
            let at = section.get("unsigned").map_or(section.at, |node| &node.at);
            self.problems.add("contradiction", at, message, next);
        };
        let what = &section.what;
        match (unsigned, listed) {
            (true, true) => contradiction(
                format!("{what} has secrets and says it is unsigned"),
                "remove one of `unsigned` and `secrets`",
            ),
            (true, false) if is_public(hooks) => contradiction(
                format!("{what} is unsigned, and `hooks` is not on loopback"),
                "give it `secrets`, or let `hooks` listen on 127.0.0.1",
            ),
            (true, false) if is_public(self.open) => contradiction(
                format!("{what} is unsigned, and until a restart `hooks` is not on loopback"),
                "give it `secrets`, or restart the daemon instead of reloading",
            ),
            (true, false) | (false, true) => {}
            (false, false) => {
                section.missing("secrets", "add `secrets = [{ env = \"NAME\" }]`");
            }
        }
        secrets
    }

    fn secret_list(&self, section: &Section<'a>) -> Vec<Secret> {
        let Some(node) = section.get("secrets") else { return Vec::new() };
        let what = format!("`secrets` of {}", section.what);
        let Value::List(nodes) = &node.value else {
            let next = "write [{ env = \"NAME\" }] or [{ file = \"PATH\" }]";
            let message = format!("{what} is not a list of places");
            let problem = super::Problem::new("wrong_type", &node.at, message, next);
            self.problems.push(problem.hidden());
            return Vec::new();
        };
        if nodes.is_empty() {
            let next = "name at least one secret, or say `unsigned = true` on loopback";
            self.problems.add("secret_missing", &node.at, format!("{what} is empty"), next);
        }
        let fetched = nodes.iter().filter_map(|node| {
            let source = SecretSource::read(&what, node, self.dir, self.problems)?;
            if self.past {
                return Some(Secret::new(source, String::new()));
            }
            source.fetch(&node.at, self.env, self.problems)
        });
        fetched.collect()
    }
}
