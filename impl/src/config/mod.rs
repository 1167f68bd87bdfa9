//! Configuration: a TOML file, read once into an immutable [`Config`] or refused with every problem
//! located.
//!
//! A configuration that was accepted can be used: its names resolve, its expressions compile and
//! its secrets are at hand. It is the unit that attempts and decisions are pinned to, as a
//! generation, by its digest. BIND-10 BIND-11

mod bindings;
mod ceiling;
mod controls;
mod expression;
mod ingresses;
mod inherit;
mod kinds;
mod model;
mod notes;
mod pool;
mod problem;
mod read;
mod retry;
mod route_table;
mod routes;
mod scopes;
mod secret;
mod section;
mod shape;
#[cfg(test)]
pub(crate) mod tests;
mod tree;
mod units;
mod values;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};

pub use expression::EXPRESSION_MAX;
pub use model::{
    Binding, Daemon, ExecutorKind, Ingress, IngressKind, Kind, Listen, Principal, Right, Route,
    Scope, ScopeRule, SecretSource,
};
pub use problem::{ConfigErrors, Problem};
pub use routes::{ATTACH_MAX, KEY_MAX, Routes};
pub use secret::Secret;
pub use units::{duration, length, size};
pub use values::LIST_MAX;

use problem::{At, Problems, Source};

use crate::extension::executor::Capabilities;

/// A validated configuration. It never changes; a reload makes another. BIND-11
#[derive(Debug, Clone)]
pub struct Config {
    /// The file it was read from.
    pub file: PathBuf,
    /// Where the daemon keeps what it knows.
    pub daemon: Daemon,
    /// The doors.
    pub listen: Listen,
    /// Who may use the operator door.
    pub principals: Vec<Principal>,
    /// The ways in.
    pub ingresses: Vec<Ingress>,
    /// Every scope by its name.
    pub scopes: BTreeMap<String, Arc<Scope>>,
    body: String,
    digest: [u8; 32],
}

impl Config {
    /// Reads and validates a file.
    ///
    /// # Errors
    /// Everything that is wrong with it, located.
    pub fn load(file: &Path, env: &Environment) -> Result<Self, ConfigErrors> {
        Self::load_behind(file, env, None)
    }

    /// Reads and validates a file while the hooks door is open at `open`: it stays there whatever the
    /// file says, and who can reach it is judged by both.
    ///
    /// # Errors
    /// Everything that is wrong with it, located.
    pub fn load_behind(
        file: &Path,
        env: &Environment,
        open: Option<SocketAddr>,
    ) -> Result<Self, ConfigErrors> {
        match std::fs::read(file).map(String::from_utf8) {
            Ok(Ok(text)) => {
                Self::read(text, file, env, Judged { past: false, open, ..Judged::default() })
            }
            Ok(Err(_)) => Err(unreadable(file, "is not UTF-8", "save it as UTF-8")),
            Err(error) => {
                let next = "name another with -c, or write one with `abide init`";
                Err(unreadable(file, &format!("cannot be read: {error}"), next))
            }
        }
    }

    /// Validates a text as if it stood in `file`, which need not exist.
    ///
    /// # Errors
    /// Everything that is wrong with it, located.
    pub fn parse(text: String, file: &Path, env: &Environment) -> Result<Self, ConfigErrors> {
        Self::read(text, file, env, Judged::default())
    }

    /// Validates a text as if executors implemented this.
    #[cfg(test)]
    fn parse_where(
        text: String,
        file: &Path,
        env: &Environment,
        implements: fn(ExecutorKind) -> Capabilities,
    ) -> Result<Self, ConfigErrors> {
        Self::read(text, file, env, Judged { implements, ..Judged::default() })
    }

    /// Reads the body of a generation, which was validated when it became one, so that what is pinned
    /// to it can go on, in the folder it was read in and under the overrides of then. What it names outside itself need not be there any more: no secret is fetched and
    /// no program looked for. BIND-10 BIND-11
    ///
    /// # Errors
    /// This version does not understand it any more.
    pub fn of_generation(
        body: String,
        file: &Path,
        env: &Environment,
    ) -> Result<Self, ConfigErrors> {
        Self::read(body, file, env, Judged { past: true, ..Judged::default() })
    }

    fn read(
        text: String,
        file: &Path,
        env: &Environment,
        Judged { past, open, implements }: Judged,
    ) -> Result<Self, ConfigErrors> {
        let source = Arc::new(Source { name: file.display().to_string(), text });
        let problems = Problems::default();
        // A body is JSON, which no TOML begins like; earlier versions kept the text of the file.
        let kept = past && source.text.starts_with('{');
        let (table, folder) = match kept {
            true => tree::parse_kept(&source.text, &problems),
            false => (tree::parse(&source.text, &problems), None),
        };
        let Some(mut table) = table else {
            return Err(ConfigErrors::new(source, problems.into_sorted()));
        };
        if !kept {
            tree::overlay(&mut table, env, &problems);
        }
        let dir = &folder.unwrap_or_else(|| absolute(parent(file)));
        let reader =
            read::Reader { source: &source, dir, env, problems: &problems, past, open, implements };
        let parts = reader.read(&table);
        let problems = problems.into_sorted();
        if !problems.is_empty() {
            return Err(ConfigErrors::new(source, problems));
        }
        let body = tree::kept(&table, dir).to_string();
        Ok(Self::assemble(file, parts, body))
    }

    fn assemble(file: &Path, parts: read::Parts, body: String) -> Self {
        let digest = Sha256::digest(body.as_bytes()).into();
        Self {
            file: file.to_owned(),
            daemon: parts.daemon,
            listen: parts.listen,
            principals: parts.principals,
            ingresses: parts.ingresses,
            scopes: parts.scopes,
            body,
            digest,
        }
    }

    /// A scope by its name; `None` if no section makes it one.
    #[must_use]
    pub fn scope(&self, name: &str) -> Option<&Arc<Scope>> {
        self.scopes.get(name)
    }

    /// The scope that is meant where none is named: the only one there is.
    #[must_use]
    pub fn only_scope(&self) -> Option<&Arc<Scope>> {
        let mut scopes = self.scopes.values();
        scopes.next().filter(|_| scopes.next().is_none())
    }

    /// The scope itself and those above it that bound how many attempts run at once, the farthest
    /// first, each with its number. POLICY-06
    #[must_use]
    pub fn capacities(&self, name: &str) -> Vec<(String, u32)> {
        let all = std::iter::once(name).chain(scopes::above(name));
        let mut bounds: Vec<(String, u32)> = all
            .filter_map(|name| Some((name.to_owned(), self.scopes.get(name)?.capacity?)))
            .collect();
        bounds.reverse();
        bounds
    }

    /// What a generation is kept as: JSON with its words in order, the environment's overrides
    /// applied, and the folder that its paths are relative to. It has no comments, and it names where
    /// secrets are kept and holds none. BIND-12
    #[must_use]
    pub fn body(&self) -> &str {
        &self.body
    }

    /// SHA-256 of [`Config::body`]: equal digests are one generation.
    #[must_use]
    pub const fn digest(&self) -> [u8; 32] {
        self.digest
    }

    /// What an operator should know of it although it is valid, one sentence each. OURS-27
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        notes::of(self)
    }
}

/// By what a text is judged beside itself.
#[derive(Debug, Clone, Copy)]
struct Judged {
    /// It was in force before.
    past: bool,
    /// Where the hooks door is open already.
    open: Option<SocketAddr>,
    /// What an executor implements. POLICY-26
    implements: fn(ExecutorKind) -> Capabilities,
}

impl Default for Judged {
    fn default() -> Self {
        Self { past: false, open: None, implements: ExecutorKind::implements }
    }
}

/// The body of a generation as people read it: TOML again, without the comments it once had.
#[must_use]
pub fn shown(body: &str) -> String {
    tree::shown(body).unwrap_or_else(|| body.to_owned())
}

/// Without a working folder there is nothing that a path could be relative to.
fn absolute(folder: &Path) -> PathBuf {
    std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned())
}

fn parent(file: &Path) -> &Path {
    match file.parent() {
        Some(dir) if dir != Path::new("") => dir,
        Some(_) | None => Path::new("."),
    }
}

fn unreadable(file: &Path, wrong: &str, next: &str) -> ConfigErrors {
    let source = Source { name: file.display().to_string(), text: String::new() };
    let problem = Problem::new("unreadable", &At::START, format!("the file {wrong}"), next);
    ConfigErrors::new(Arc::new(source), vec![problem])
}

/// The environment a configuration is read in, as a value, so that reading reads nothing else.
/// It has no `Debug`, since it may hold secrets.
#[derive(Clone, Default)]
pub struct Environment(BTreeMap<String, String>);

impl Environment {
    /// Variables that begin like this override the file.
    pub const PREFIX: &str = "ABIDE__";

    /// The variables of this process; one that is not UTF-8 is as good as absent.
    #[must_use]
    pub fn of_process() -> Self {
        let variables = std::env::vars_os();
        let text =
            variables.filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)));
        Self(text.collect())
    }

    /// These variables and no others.
    #[must_use]
    pub fn of<const N: usize>(variables: [(&str, &str); N]) -> Self {
        Self(variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into())
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    fn overlay(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        all.filter(|(name, _)| name.starts_with(Self::PREFIX))
    }
}
