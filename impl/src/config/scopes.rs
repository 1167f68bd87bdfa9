//! The `[scope."…"]` sections: capacity, limits, kinds and bindings.

use std::path::Path;

use super::problem::At;
use super::read::Reader;
use super::section::{
    RESERVED, Section, Word, is_empty, is_false, later, never, not_available, suggestion, word,
};
use super::tree::{Entry, Node, Value};
use super::{Binding, Kind, Routes, Scope};
use crate::domain::CausalLimits;

const SCOPE: &[Word] = &[
    word("capacity"),
    word("causal"),
    word("route"),
    word("kind"),
    word("binding"),
    later("read_scopes", is_empty),
    later("budget", is_empty),
    later("ceiling", never),
    later("disable", is_false),
];

const CAUSAL: &[Word] = &[word("max_depth"), later("per_minute", never)];

const KIND: &[Word] = &[
    word("binding"),
    word("retry"),
    later("accepts", never),
    later("standing", is_false),
    later("run_once", is_false),
    later("reopen", is_empty),
    later("close_after", never),
    later("capacity", never),
    later("disable", is_false),
];

const RETRY: &[Word] =
    &[later("attempts", is_one), later("backoff", is_empty), later("exhausted", is_keep)];

const BINDING: &[Word] = &[
    word("executor"),
    word("command"),
    word("capabilities"),
    word("isolation"),
    word("env"),
    word("lease"),
    word("stop_grace"),
    later("tools", is_empty),
    later("timeout", never),
    later("disable", is_false),
];

/// One attempt is what this version makes by itself.
fn is_one(node: &Node) -> bool {
    matches!(node.value, Value::Integer(Some(1)))
}

/// An exhausted Work is held, not failed. RETRY-06
fn is_keep(node: &Node) -> bool {
    matches!(&node.value, Value::Text(text) if text == "keep")
}

impl<'a> Reader<'a> {
    /// Reads the one scope of this version.
    pub(super) fn scopes(&self, root: &Section<'a>) -> Option<(Scope, Routes)> {
        let Some(node) = root.get("scope") else {
            root.missing("scope", "add `[scope.\"NAME\"]` with a kind, a binding and routes");
            return None;
        };
        let mut scopes: Vec<_> = self.named(node, "`scope`").collect();
        scopes.sort_by_key(|(_, entry)| match &entry.node.at {
            At::Text(span) => span.start,
            At::Variable(_) => usize::MAX,
        });
        for (name, entry) in scopes.iter().skip(1) {
            let what = format!("a second scope, `{}`,", name.escape_debug());
            not_available(self.problems, &entry.key, &what, "keep one scope");
        }
        scopes.first().and_then(|(name, entry)| self.scope(name, entry))
    }

    fn scope(&self, name: &str, entry: &'a Entry) -> Option<(Scope, Routes)> {
        self.check_scope_name(name, &entry.key);
        let what = format!("scope `{}`", name.escape_debug());
        let section = Section::open(what, &entry.node, SCOPE, self.problems)?;
        let limits = self.limits(&section);
        let capacity = section.number("capacity", 4, 1, 1024);
        let bindings = self.bindings(&section);
        let kind = self.kind(&section, &bindings);
        let table = self.routes(&section, kind.as_ref().map(|kind| kind.name.as_str()));
        let kind = kind?;
        let binding = bindings
            .into_iter()
            .find_map(|(name, binding)| if name == kind.binding { binding } else { None })?;
        let routes = Routes::new(table.compiled);
        let name = name.to_owned();
        Some((Scope { name, capacity, limits, routes: table.written, kind, binding }, routes))
    }

    fn check_scope_name(&self, name: &str, at: &At) {
        if name.len() > 256 || name.split('/').any(|part| part.trim() != part || part.is_empty()) {
            let message = format!("`{}` cannot be the name of a scope", name.escape_debug());
            let next = "use names of at most 256 bytes, parted by single `/`";
            self.problems.add("bad_name", at, message, next);
        }
    }

    /// Zero, negative and unlimited depths are refused, and so is one above the bound. CAUSE-22
    fn limits(&self, scope: &Section<'a>) -> CausalLimits {
        let section = scope.get("causal").and_then(|node| {
            Section::open(format!("`causal` of {}", scope.what), node, CAUSAL, self.problems)
        });
        let max_depth = section.map_or(32, |section| section.number("max_depth", 32, 1, 1024));
        CausalLimits { max_depth }
    }

    fn kind(&self, scope: &Section<'a>, bindings: &[(&str, Option<Binding>)]) -> Option<Kind> {
        const NEXT: &str = "add `[scope.\"NAME\".kind.KIND]` with `binding = \"…\"`";
        let Some(node) = scope.get("kind") else {
            scope.missing("kind", NEXT);
            return None;
        };
        let mut kinds = self.named(node, "`kind`").map(|(name, entry)| {
            self.check_name(name, &entry.key);
            (entry, self.one_kind(name, entry, bindings))
        });
        let first = kinds.next();
        for (entry, _) in kinds {
            not_available(self.problems, &entry.key, "a second kind", "keep one kind");
        }
        match first {
            Some((_, kind)) => kind,
            None => {
                scope.missing("kind", NEXT);
                None
            }
        }
    }

    fn one_kind(
        &self,
        name: &str,
        entry: &'a Entry,
        bindings: &[(&str, Option<Binding>)],
    ) -> Option<Kind> {
        let what = format!("kind `{}`", name.escape_debug());
        let section = Section::open(what, &entry.node, KIND, self.problems)?;
        if let Some(node) = section.get("retry") {
            Section::open(format!("`retry` of {}", section.what), node, RETRY, self.problems);
        }
        let (binding, at) = section.required("binding", "add `binding = \"NAME\"`")?;
        let known: Vec<&str> = bindings.iter().map(|(name, _)| *name).collect();
        if !known.contains(&binding) {
            let message = format!("there is no binding `{}` here", binding.escape_debug());
            self.problems.add("unresolved_name", at, message, suggestion(binding, &known));
            return None;
        }
        Some(Kind { name: name.to_owned(), binding: binding.to_owned() })
    }

    /// Every binding by name; `None` for one with problems, whose name is known all the same.
    fn bindings(&self, scope: &Section<'a>) -> Vec<(&'a str, Option<Binding>)> {
        let Some(node) = scope.get("binding") else {
            scope.missing("binding", "add `[scope.\"NAME\".binding.BINDING]`");
            return Vec::new();
        };
        let bindings = self.named(node, "`binding`").map(|(name, entry)| {
            self.check_name(name, &entry.key);
            (name.as_str(), self.binding(name, entry))
        });
        bindings.collect()
    }

    fn binding(&self, name: &str, entry: &'a Entry) -> Option<Binding> {
        let what = format!("binding `{}`", name.escape_debug());
        let section = Section::open(what, &entry.node, BINDING, self.problems)?;
        section.required("executor", "add `executor = \"shell\"`");
        section.choice("executor", &["shell"], &["http", "agent", "codex", "acp", "graph"]);
        section.required("isolation", "add `isolation = \"none\"`; gates are then advisory");
        self.isolation(&section);
        let env = section.texts("env").into_iter().map(|(name, _)| name.to_owned()).collect();
        Some(Binding {
            name: name.to_owned(),
            resumes: self.resumes(&section),
            lease: section.duration("lease", "30s", "1s", "1h"),
            stop_grace: section.duration("stop_grace", "10s", "0s", "10m"),
            env,
            command: self.command(&section)?,
        })
    }

    /// What keeps an attempt from the daemon's own files. OURS-27
    fn isolation(&self, section: &Section<'a>) {
        match section.text("isolation") {
            Some((given, at)) if given.starts_with("user:") => {
                not_available(self.problems, at, "`isolation = \"user:…\"`", "use `none`");
            }
            Some(_) => {
                section.choice("isolation", &["none"], &["landlock", "container"]);
            }
            None => {}
        }
    }

    fn resumes(&self, section: &Section<'a>) -> bool {
        let mut resumes = false;
        for (capability, at) in section.texts("capabilities") {
            match capability {
                "resume" => resumes = true,
                "inject" | "interrupt" => {
                    let what = format!("the capability `{capability}`");
                    not_available(self.problems, at, &what, RESERVED);
                }
                other => {
                    let message = format!("there is no capability `{}`", other.escape_debug());
                    let next = suggestion(other, &["resume"]);
                    self.problems.add("unknown_value", at, message, next);
                }
            }
        }
        resumes
    }

    /// The program must be there: an attempt is a bad moment to learn that it is not. POLICY-31
    fn command(&self, section: &Section<'a>) -> Option<Vec<String>> {
        if section.get("command").is_none() {
            section.missing("command", "add `command = [\"./review.sh\"]`");
        }
        let words = section.texts("command");
        let node = section.get("command")?;
        if is_empty(node) {
            let message = format!("`command` of {} names no program", section.what);
            self.problems.add("missing_word", &node.at, message, "add `[\"./review.sh\"]`");
        }
        let (program, at) = words.first()?;
        let mut command: Vec<String> = words.iter().map(|(word, _)| (*word).to_owned()).collect();
        if program.contains('/') {
            let path = self.dir.join(program.trim_start_matches("./"));
            self.check_program(program, &path, at);
            command[0] = path.display().to_string();
        }
        Some(command)
    }

    fn check_program(&self, program: &str, path: &Path, at: &At) {
        use std::os::unix::fs::PermissionsExt;
        let shown = program.escape_debug();
        let (message, next) = match std::fs::metadata(path) {
            Ok(meta) if !meta.is_file() => (format!("`{shown}` is not a file"), "name a program"),
            Ok(meta) if meta.permissions().mode() & 0o111 == 0 => {
                (format!("`{shown}` is not executable"), "make it so with `chmod +x`")
            }
            Ok(_) => return,
            Err(_) => (
                format!("there is no program `{shown}`"),
                "create it, or correct the path, which is relative to this file",
            ),
        };
        self.problems.add("missing_program", at, message, next);
    }
}
