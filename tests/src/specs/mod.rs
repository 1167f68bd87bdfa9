//! The specification: the rules, what checks them, and what is generated from both.
//!
//! `specs/rules.toml` is written by hand. Everything here reads it and the sources, and says what
//! does not fit; `regenerate` writes what follows from them. What the other crates check is asked
//! for in [`sources`] alone.

pub mod areas;
pub mod audit;
pub mod boundaries;
pub mod cases;
pub mod citations;
pub mod conformance;
pub mod corpora;
pub mod corpus;
pub mod files;
pub mod finding;
pub mod generated;
pub mod hygiene;
pub mod imports;
pub mod lexer;
pub mod links;
pub mod lints;
pub mod names;
pub mod paths;
pub mod ratchet;
pub mod registry;
pub mod rules;
pub mod schemas;
pub mod sources;
pub mod test_index;
pub mod trace;

use files::TextFile;
use registry::Registry;
use rules::Rulebook;

/// The specification of this repository, read once.
#[derive(Debug)]
pub struct Specs {
    /// Where it was read.
    pub root: std::path::PathBuf,
    /// The rules.
    pub book: Rulebook,
    /// The checks that exist.
    pub registry: Registry,
    /// Every text file.
    pub files: Vec<TextFile>,
}

impl Specs {
    /// Reads rules, checks and files of this repository.
    ///
    /// # Errors
    /// A sentence, if something cannot be read.
    pub fn read() -> Result<Self, String> {
        let root = files::root();
        let files = files::text_files(&root).map_err(|cause| {
            format!("the repository at {} cannot be read: {cause}", root.display())
        })?;
        let book = Rulebook::read(&root)?;
        let registry = Registry::gather(&files)?;
        Ok(Self { root, book, registry, files })
    }
}
