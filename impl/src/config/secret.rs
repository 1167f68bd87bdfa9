//! Secrets are named in the file and kept elsewhere.

use std::fmt;
use std::path::Path;

use secrecy::{ExposeSecret, SecretString};

use super::problem::{At, Problem, Problems};
use super::section::{Section, word};
use super::tree::Node;
use super::{Environment, SecretSource};

/// A secret that was read at load, and where from. `Debug` shows where from only.
#[derive(Clone)]
pub struct Secret {
    /// Where it is kept.
    pub source: SecretSource,
    value: SecretString,
}

impl Secret {
    /// Wraps a secret that is at hand.
    #[must_use]
    pub fn new(source: SecretSource, value: String) -> Self {
        Self { source, value: value.into() }
    }

    /// The secret itself, for the one computation that needs it.
    #[must_use]
    pub fn expose(&self) -> &str {
        self.value.expose_secret()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret").field("source", &self.source).finish_non_exhaustive()
    }
}

impl fmt::Display for SecretSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env(name) => write!(f, "environment variable `{name}`"),
            Self::File(path) => write!(f, "file `{}`", path.display()),
        }
    }
}

impl SecretSource {
    /// Reads `{ env = "NAME" }` or `{ file = "PATH" }`.
    pub(crate) fn read(what: &str, node: &Node, dir: &Path, problems: &Problems) -> Option<Self> {
        const NEXT: &str = "write { env = \"NAME\" } or { file = \"PATH\" }; \
                            a secret never stands in the file itself";
        if !matches!(node.value, super::tree::Value::Table(_)) {
            let message = format!("{what} is not a place where a secret is kept");
            problems.push(Problem::new("wrong_type", &node.at, message, NEXT).hidden());
            return None;
        }
        let section = Section::open(what, node, &[word("env"), word("file")], problems)?;
        match (section.text("env"), section.text("file")) {
            (Some((name, _)), None) => Some(Self::Env(name.to_owned())),
            (None, Some((path, _))) => Some(Self::File(dir.join(path))),
            (Some(_), Some(_)) | (None, None) => {
                let message = format!("{what} needs exactly one of `env` and `file`");
                problems.add("contradiction", &node.at, message, NEXT);
                None
            }
        }
    }

    /// Fetches the secret; `at` is where the file names it.
    pub(crate) fn fetch(self, at: &At, env: &Environment, problems: &Problems) -> Option<Secret> {
        let found = match &self {
            Self::Env(name) => env.get(name).map(str::to_owned).ok_or("is not set".to_owned()),
            Self::File(path) => read_file(path),
        };
        match found {
            Ok(value) if value.is_empty() => {
                let next = "give it a value: an empty secret protects nothing";
                problems.add("secret_empty", at, format!("the {self} is empty"), next);
                None
            }
            Ok(value) => Some(Secret::new(self, value)),
            Err(wrong) => {
                let next = "provide it where the daemon and `abide check` run, or correct the name";
                problems.add("secret_missing", at, format!("the {self} {wrong}"), next);
                None
            }
        }
    }
}

fn read_file(path: &Path) -> Result<String, String> {
    let bytes = std::fs::read(path).map_err(|error| format!("cannot be read: {error}"))?;
    let text = String::from_utf8(bytes).map_err(|_| "is not UTF-8".to_owned())?;
    Ok(text.trim_end_matches(['\n', '\r']).to_owned())
}
