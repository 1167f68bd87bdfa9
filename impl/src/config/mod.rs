//! Configuration: a TOML file, read once into an immutable [`Config`] or refused with every problem
//! located.
//!
//! A configuration that was accepted can be used: its names resolve, its expressions compile and
//! its secrets are at hand. It is the unit that attempts and decisions are pinned to, as a
//! generation, by its digest. BIND-10 BIND-11

mod expression;
mod ingresses;
mod model;
mod notes;
mod pool;
mod problem;
mod read;
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
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};

pub use expression::EXPRESSION_MAX;
pub use model::{
    Binding, Daemon, Ingress, IngressKind, Kind, Listen, Principal, Right, Route, Scope, ScopeRule,
    SecretSource,
};
pub use problem::{ConfigErrors, Problem};
pub use routes::{KEY_MAX, Routes};
pub use secret::Secret;
pub use units::{duration, size};
pub use values::LIST_MAX;

use problem::{At, Problems, Source};

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
    /// The one scope of this version.
    pub scope: Scope,
    /// The scope's routes, compiled.
    pub routes: Routes,
    canonical: String,
    digest: [u8; 32],
}

impl Config {
    /// Reads and validates a file.
    ///
    /// # Errors
    /// Everything that is wrong with it, located.
    pub fn load(file: &Path, env: &Environment) -> Result<Self, ConfigErrors> {
        match std::fs::read(file).map(String::from_utf8) {
            Ok(Ok(text)) => Self::parse(text, file, env),
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
        let source = Arc::new(Source { name: file.display().to_string(), text });
        let problems = Problems::default();
        let Some(mut table) = tree::parse(&source.text, &problems) else {
            return Err(ConfigErrors::new(source, problems.into_sorted()));
        };
        tree::overlay(&mut table, env, &problems);
        let reader = read::Reader { source: &source, dir: parent(file), env, problems: &problems };
        let parts = reader.read(&table);
        let problems = problems.into_sorted();
        match parts {
            Some(parts) if problems.is_empty() => Ok(Self::assemble(file, parts, &table)),
            Some(_) | None => Err(ConfigErrors::new(source, problems)),
        }
    }

    fn assemble(file: &Path, parts: read::Parts, table: &tree::Table) -> Self {
        let canonical = tree::canonical(table).to_string();
        let digest = Sha256::digest(canonical.as_bytes()).into();
        Self {
            file: file.to_owned(),
            daemon: parts.daemon,
            listen: parts.listen,
            principals: parts.principals,
            ingresses: parts.ingresses,
            scope: parts.scope,
            routes: parts.routes,
            canonical,
            digest,
        }
    }

    /// The configuration as JSON with its words in order, the environment's overrides applied. It
    /// names where secrets are kept and holds none. BIND-12
    #[must_use]
    pub fn canonical_json(&self) -> &str {
        &self.canonical
    }

    /// SHA-256 of [`Config::canonical_json`]: equal digests are one generation.
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
