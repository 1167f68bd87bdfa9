//! The `[scope."…".binding.BINDING]` sections.

use std::path::{Path, PathBuf};

use super::inherit::{Entry, Own, disables};
use super::problem::At;
use super::read::Reader;
use super::section::{Section, Word, is_empty, later, not_available, suggestion, word};
use super::tree;
use super::{Binding, ExecutorKind};
use crate::extension::executor::Capabilities;

const BINDING: &[Word] = &[
    word("executor"),
    word("command"),
    word("prompt"),
    word("capabilities"),
    word("isolation"),
    word("env"),
    word("timeout"),
    word("lease"),
    word("stop_grace"),
    word("disable"),
    later("tools", is_empty),
];

impl<'a> Reader<'a> {
    /// Reads the bindings a scope has of its own.
    pub(super) fn bindings(&self, scope: &Section<'a>, name: &str) -> Vec<Own<'a, Binding>> {
        let Some(node) = scope.get("binding") else { return Vec::new() };
        let bindings = self.named(node, "`binding`").map(|(binding, entry)| {
            self.check_name(binding, &entry.key);
            let read = self.binding(binding, entry, name);
            Own { name: binding.as_str(), at: &entry.key, entry: read }
        });
        bindings.collect()
    }

    fn binding(&self, name: &str, entry: &'a tree::Entry, scope: &str) -> Entry<Binding> {
        let what = format!("binding `{}`", name.escape_debug());
        let Some(section) = Section::open(what, &entry.node, BINDING, self.problems) else {
            return Entry::Broken;
        };
        if disables(&section, self.problems) {
            return Entry::Disabled;
        }
        Entry::of(self.declared_binding(name, &section, scope))
    }

    fn declared_binding(&self, name: &str, section: &Section<'a>, scope: &str) -> Option<Binding> {
        let executor = self.executor(section);
        section.required("isolation", "add `isolation = \"none\"`; gates are then advisory");
        self.isolation(section);
        let env = section.texts("env").into_iter().map(|(name, _)| name.to_owned()).collect();
        let timeout =
            section.get("timeout").map(|_| section.duration("timeout", "1h", "1s", "365d"));
        let advertised = self.capabilities(section, executor);
        Some(Binding {
            name: name.to_owned(),
            declared_in: scope.to_owned(),
            resumes: advertised.resumes,
            injects: advertised.injects,
            interrupts: advertised.interrupts,
            timeout,
            lease: section.duration("lease", "30s", "1s", "1h"),
            stop_grace: section.duration("stop_grace", "10s", "0s", "10m"),
            env,
            executor,
            prompt: self.prompt(section, executor),
            command: self.command(section)?,
        })
    }

    /// What runs it; a wrong word is a problem, and read as any other.
    fn executor(&self, section: &Section<'a>) -> ExecutorKind {
        section.required("executor", "add `executor = \"shell\"`, or `\"agent\"`");
        match section.choice("executor", &["shell", "agent"], &["http", "codex", "acp", "graph"]) {
            Some("agent") => ExecutorKind::Agent,
            Some(_) | None => ExecutorKind::Shell,
        }
    }

    /// The operator's words for an agent. They are read for each turn, so the file may change.
    fn prompt(&self, section: &Section<'a>, executor: ExecutorKind) -> Option<PathBuf> {
        let (given, at) = section.text("prompt")?;
        match executor {
            ExecutorKind::Agent => {}
            ExecutorKind::Shell => {
                let message = format!("`prompt` of {} has nobody to tell it to", section.what);
                let next = "leave it out, or set `executor = \"agent\"`";
                self.problems.add("contradiction", at, message, next);
            }
        }
        let path = self.dir.join(given.trim_start_matches("./"));
        if !self.past && !path.is_file() {
            let message = format!("there is no file `{}`", given.escape_debug());
            let next = "create it, or correct the path, which is relative to this file";
            self.problems.add("missing_file", at, message, next);
        }
        Some(path)
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

    /// What it advertises. What its executor does not implement is refused here, and not when an
    /// event asks for it. POLICY-26 POLICY-31
    fn capabilities(&self, section: &Section<'a>, executor: ExecutorKind) -> Capabilities {
        let can = (self.implements)(executor);
        let mut advertised = Capabilities::default();
        for (capability, at) in section.texts("capabilities") {
            let (advertises, implemented) = match capability {
                "inject" => (&mut advertised.injects, can.injects),
                "interrupt" => (&mut advertised.interrupts, can.interrupts),
                "resume" => (&mut advertised.resumes, can.resumes),
                other => {
                    let message = format!("there is no capability `{}`", other.escape_debug());
                    let next = suggestion(other, &["inject", "interrupt", "resume"]);
                    self.problems.add("unknown_value", at, message, next);
                    continue;
                }
            };
            *advertises = true;
            if !implemented {
                let message = format!(
                    "{} advertises `{capability}`, which its executor `{}` does not implement",
                    section.what,
                    executor.name()
                );
                let next = "leave it out, or name an executor that implements it";
                self.problems.add("not_implemented", at, message, next);
            }
        }
        advertised
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
            if !self.past {
                self.check_program(program, &path, at);
            }
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
