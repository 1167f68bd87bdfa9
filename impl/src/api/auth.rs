//! Who asks at the operator door: principals and what they may do. API-01
//!
//! The clear text of a token is in the file, or the variable, that its holder reads. The daemon
//! keeps its hash.

use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

use axum::http::{HeaderMap, header};
use sha2::{Digest, Sha256};

use super::problem::ApiError;
use crate::config::{Principal, Right, SecretSource};
use crate::domain::{Token, TokenHash};

/// Principals by the hash of their token. A reload replaces them all at once.
#[derive(Debug, Default)]
pub struct Principals(RwLock<Vec<Known>>);

/// One principal, with the hash of its token.
#[derive(Debug)]
pub(super) struct Known {
    name: String,
    may: Vec<Right>,
    token: TokenHash,
}

/// A token that cannot be read or made.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The variable holds nothing.
    #[error("principal `{principal}`: the environment variable `{variable}` is not set, or empty")]
    Variable {
        /// Whose token.
        principal: String,
        /// The variable.
        variable: String,
    },
    /// The file holds nothing.
    #[error("principal `{principal}`: the file {path} is empty: delete it to have a token made")]
    Empty {
        /// Whose token.
        principal: String,
        /// The file.
        path: PathBuf,
    },
    /// Others can read the file.
    #[error("principal `{principal}`: {path} can be read by others: `chmod 600` it")]
    Open {
        /// Whose token.
        principal: String,
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be read or made.
    #[error("principal `{principal}`: cannot use the file {path}: {error}")]
    File {
        /// Whose token.
        principal: String,
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// Two principals have the same token, so a request could be either's.
    #[error("principals `{first}` and `{second}` have the same token: give each its own")]
    Shared {
        /// One of them.
        first: String,
        /// The other.
        second: String,
    },
}

impl Principals {
    /// Reads every principal's token; a file that is not there is made, mode 0600.
    ///
    /// # Errors
    /// A token cannot be read or made, can be read by others, or is another principal's too.
    pub fn load(configured: &[Principal]) -> Result<Self, TokenError> {
        Self::read(configured).map(|known| Self(RwLock::new(known)))
    }

    /// The same for those of a configuration that is not current yet.
    pub(super) fn read(configured: &[Principal]) -> Result<Vec<Known>, TokenError> {
        let mut all: Vec<Known> = Vec::new();
        for principal in configured {
            let token = hash(token_of(principal)?.trim());
            if let Some(other) = all.iter().find(|known| known.token.matches(&token)) {
                let (first, second) = (other.name.clone(), principal.name.clone());
                return Err(TokenError::Shared { first, second });
            }
            let (name, may) = (principal.name.clone(), principal.may.clone());
            all.push(Known { name, may, token });
        }
        Ok(all)
    }

    /// Whoever is not among these is unknown from here on.
    pub(super) fn replace(&self, known: Vec<Known>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = known;
    }

    /// The principal who asks, if it has this right.
    ///
    /// # Errors
    /// The token is missing or unknown: 401. The right is lacking: 403.
    pub fn check(&self, headers: &HeaderMap, right: Right) -> Result<String, ApiError> {
        let unknown =
            "take the token from the file that `[principal.NAME]` of the configuration names";
        let given = bearer(headers).map(hash).ok_or(ApiError::unauthenticated(unknown))?;
        // Every one is compared, so that the time taken does not tell which came close.
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let found =
            all.iter().filter(|known| known.token.matches(&given)).fold(None, |_, k| Some(k));
        let known = found.ok_or(ApiError::unauthenticated(unknown))?;
        if known.may.contains(&right) {
            Ok(known.name.clone())
        } else {
            Err(ApiError::forbidden(&known.name, word(right)))
        }
    }
}

/// The text of `Authorization: Bearer TEXT`.
#[must_use]
pub fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

/// An operator may choose any text for a token, so it is the text that is hashed.
fn hash(text: &str) -> TokenHash {
    TokenHash(Sha256::digest(text.as_bytes()).into())
}

const fn word(right: Right) -> &'static str {
    match right {
        Right::View => "view",
        Right::Work => "work",
        Right::Consent => "consent",
        Right::Config => "config",
    }
}

fn token_of(principal: &Principal) -> Result<String, TokenError> {
    let name = || principal.name.clone();
    match &principal.token {
        SecretSource::Env(variable) => std::env::var(variable)
            .ok()
            .filter(|text| !text.trim().is_empty())
            .ok_or_else(|| TokenError::Variable { principal: name(), variable: variable.clone() }),
        SecretSource::File(path) => {
            let at = |error| TokenError::File { principal: name(), path: path.clone(), error };
            match make(path) {
                Ok(token) => return Ok(token),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(at(error)),
            }
            if std::fs::metadata(path).map_err(at)?.mode() & 0o077 != 0 {
                return Err(TokenError::Open { principal: name(), path: path.clone() });
            }
            let text = std::fs::read_to_string(path).map_err(at)?;
            if text.trim().is_empty() {
                return Err(TokenError::Empty { principal: name(), path: path.clone() });
            }
            Ok(text)
        }
    }
}

/// Makes a file with a fresh token, readable by its owner from its first moment.
fn make(path: &Path) -> io::Result<String> {
    use std::io::Write as _;

    let mut file =
        std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    // The umask may have taken rights away that its owner needs.
    file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    let token = Token::random().map_err(io::Error::other)?.reveal();
    writeln!(file, "{token}")?;
    file.sync_all()?;
    Ok(token)
}
