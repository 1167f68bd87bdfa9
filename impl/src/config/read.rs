//! From the tree of a file to its parts: the daemon, its doors and its principals.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::problem::{At, Problems, Source};
use super::section::{
    Section, Word, is_empty, is_false, later, never, not_available, suggestion, word, wrong_type,
};
use super::tree::{Entry, Node, Table, Value};
use super::{
    Daemon, Environment, ExecutorKind, Ingress, Listen, Principal, Right, Scope, SecretSource,
};
use crate::extension::executor::Capabilities;

/// What every reading function is given.
pub(super) struct Reader<'a> {
    pub(super) source: &'a Source,
    /// Relative paths are relative to this folder.
    pub(super) dir: &'a Path,
    pub(super) env: &'a Environment,
    pub(super) problems: &'a Problems,
    /// The text was in force before: what it names outside itself need not be there any more.
    pub(super) past: bool,
    /// Where the hooks door is open already, and stays.
    pub(super) open: Option<SocketAddr>,
    /// What an executor implements. POLICY-26
    pub(super) implements: fn(ExecutorKind) -> Capabilities,
}

/// The parts of a configuration.
pub(super) struct Parts {
    pub(super) daemon: Daemon,
    pub(super) listen: Listen,
    pub(super) principals: Vec<Principal>,
    pub(super) ingresses: Vec<Ingress>,
    pub(super) scopes: BTreeMap<String, Arc<Scope>>,
}

const FILE: &[Word] = &[
    word("daemon"),
    word("listen"),
    word("principal"),
    word("ingress"),
    word("scope"),
    later("schedule", is_empty),
    later("operation", never),
    later("capability", never),
    later("notify", is_empty),
    word("ceiling"),
];

const DAEMON: &[Word] = &[word("state"), word("database"), later("retention", never)];

const LISTEN: &[Word] = &[word("hooks"), later("console", never), word("operator"), word("tool")];

const PRINCIPAL: &[Word] = &[word("token"), word("may"), later("disable", is_false)];

const RIGHTS: &[(&str, Right)] = &[
    ("view", Right::View),
    ("work", Right::Work),
    ("consent", Right::Consent),
    ("config", Right::Config),
];

impl<'a> Reader<'a> {
    /// Reads everything, even after a problem, so that one run shows all of them.
    pub(super) fn read(&self, table: &'a Table) -> Parts {
        let root = Section::root(table, FILE, self.problems);
        let daemon = self.daemon(&root);
        let listen = self.listen(&root, &daemon.state);
        let principals = self.principals(&root);
        let scopes = self.scopes(&root);
        let names: Vec<&str> = scopes.keys().map(String::as_str).collect();
        let ingresses = self.ingresses(&root, &names, listen.hooks);
        Parts { daemon, listen, principals, ingresses, scopes }
    }

    fn daemon(&self, root: &Section<'a>) -> Daemon {
        let section = root
            .get("daemon")
            .and_then(|node| Section::open("`[daemon]`", node, DAEMON, self.problems));
        let text = |name| section.as_ref().and_then(|section| section.text(name));
        let state = self.dir.join(text("state").map_or("state", |(path, _)| path));
        let database = match text("database") {
            Some((url, at)) => self.database(url, at, &state),
            None => state.join("abide.db"),
        };
        Daemon { state, database }
    }

    fn database(&self, url: &str, at: &At, state: &Path) -> PathBuf {
        match url.split_once(':') {
            Some(("sqlite", path)) if !path.is_empty() => state.join(path),
            Some(("postgres" | "postgresql", _)) => {
                not_available(
                    self.problems,
                    at,
                    "a PostgreSQL database",
                    "use \"sqlite:abide.db\"",
                );
                state.to_owned()
            }
            Some(_) | None => {
                let message = "`database` of `[daemon]` is no database address";
                let next = "write \"sqlite:abide.db\"; the file lies in `state`";
                self.problems.add("unknown_value", at, message, next);
                state.to_owned()
            }
        }
    }

    fn listen(&self, root: &Section<'a>, state: &Path) -> Listen {
        let section = root
            .get("listen")
            .and_then(|node| Section::open("`[listen]`", node, LISTEN, self.problems));
        let text = |name| section.as_ref().and_then(|section| section.text(name));
        Listen {
            hooks: text("hooks").and_then(|(address, at)| self.address(address, at)),
            operator: state.join(text("operator").map_or("operator.sock", |(path, _)| path)),
            tool: state.join(text("tool").map_or("tool.sock", |(path, _)| path)),
        }
    }

    fn address(&self, text: &str, at: &At) -> Option<SocketAddr> {
        let address = text.parse().ok();
        if address.is_none() {
            let message = "`hooks` of `[listen]` is not an address and a port";
            let next = "write \"127.0.0.1:7700\"; in IPv6 \"[::1]:7700\"";
            self.problems.add("unknown_value", at, message, next);
        }
        address
    }

    fn principals(&self, root: &Section<'a>) -> Vec<Principal> {
        let Some(node) = root.get("principal") else { return Vec::new() };
        let named = self.named(node, "`principal`");
        named.filter_map(|(name, entry)| self.principal(name, entry)).collect()
    }

    fn principal(&self, name: &str, entry: &'a Entry) -> Option<Principal> {
        self.check_name(name, &entry.key);
        let what = format!("principal `{}`", name.escape_debug());
        let section = Section::open(what, &entry.node, PRINCIPAL, self.problems)?;
        if section.get("token").is_none() {
            section.missing("token", "add `token = { file = \"state/NAME.token\" }`");
        }
        if section.get("may").is_none() {
            section.missing("may", "add `may = [\"view\", \"work\"]`");
        }
        let may = section.texts("may").into_iter();
        let may = may.filter_map(|(right, at)| self.right(right, at)).collect();
        let token = section.get("token")?;
        let what = format!("`token` of {}", section.what);
        let token = SecretSource::read(&what, token, self.dir, self.problems)?;
        Some(Principal { name: name.to_owned(), token, may })
    }

    fn right(&self, given: &str, at: &At) -> Option<Right> {
        let found = RIGHTS.iter().find(|(name, _)| *name == given);
        if found.is_none() {
            let message = format!("there is no right `{}`", given.escape_debug());
            let names: Vec<&str> = RIGHTS.iter().map(|(name, _)| *name).collect();
            self.problems.add("unknown_value", at, message, suggestion(given, &names));
        }
        found.map(|(_, right)| *right)
    }

    /// The entries of a section whose words are names.
    pub(super) fn named(
        &self,
        node: &'a Node,
        what: &str,
    ) -> impl Iterator<Item = (&'a String, &'a Entry)> + use<'a> {
        let table = match &node.value {
            Value::Table(table) => Some(table),
            Value::Text(_)
            | Value::Integer(_)
            | Value::Float(_)
            | Value::Bool(_)
            | Value::Date(_)
            | Value::List(_) => {
                wrong_type(self.problems, &node.at, what, "a table of names");
                None
            }
        };
        table.into_iter().flatten()
    }

    /// The tables of a `[[section]]`.
    pub(super) fn listed(&self, root: &Section<'a>, name: &str) -> &'a [Node] {
        match root.get(name) {
            None => &[],
            Some(Node { value: Value::List(nodes), .. }) => nodes,
            Some(node) => {
                root.mistyped(name, node, &format!("a list of tables, `[[{name}]]`"));
                &[]
            }
        }
    }

    /// A name is short and plain, since it appears in addresses, logs and the journal.
    pub(super) fn check_name(&self, name: &str, at: &At) {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || name.len() > 64 || !name.chars().all(plain) {
            let message = format!("`{}` cannot be a name", name.escape_debug());
            let next = "use 1 to 64 letters, digits, `-`, `_` or `.`";
            self.problems.add("bad_name", at, message, next);
        }
    }
}
