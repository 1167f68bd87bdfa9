//! What checks exist, by kind, and which rules each of them cites.

use std::collections::BTreeSet;

use super::files::TextFile;
use super::lints::lints;
use super::rules::Rulebook;
use super::sources;
use super::test_index::{TestIndex, TestSeen};

/// A check that says itself which rules it checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cited {
    /// Its name.
    pub name: String,
    /// The ids of the rules it cites.
    pub rules: Vec<String>,
}

impl Cited {
    /// A check of this name that cites these rules.
    #[must_use]
    pub fn new(name: &str, rules: &[&str]) -> Self {
        Self { name: name.to_owned(), rules: rules.iter().map(|id| (*id).to_owned()).collect() }
    }
}

/// Every check that a rule may name.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    /// Invariants of the model.
    pub properties: Vec<Cited>,
    /// Broken laws that some property must catch.
    pub mutants: Vec<Cited>,
    /// Bounded worlds of the model.
    pub worlds: BTreeSet<String>,
    /// Codes of the refusals and deferrals that both laws answer with.
    pub refusals: BTreeSet<String>,
    /// Ids of the shared scenarios that are executed.
    pub scenarios: BTreeSet<String>,
    /// Test functions.
    pub tests: TestIndex,
    /// Lints that hold.
    pub lints: BTreeSet<String>,
}

impl Registry {
    /// Gathers the checks of the repository that holds `files`.
    ///
    /// # Errors
    /// A sentence, if a manifest is not TOML.
    pub fn gather(files: &[TextFile]) -> Result<Self, String> {
        Ok(Self {
            properties: sources::properties(),
            mutants: sources::mutants(),
            worlds: sources::worlds(),
            refusals: sources::refusals(),
            scenarios: sources::scenarios(),
            tests: TestIndex::of(files),
            lints: lints(files)?,
        })
    }

    /// Why `check`, named by `rule`, is no check; `None` if it is one.
    #[must_use]
    pub fn objection(&self, book: &Rulebook, rule: &str, check: &str) -> Option<String> {
        match check.split_once(':') {
            Some(("scenario", id)) => self.object_to_scenario(book, rule, id),
            Some(_) | None => self.absence(check),
        }
    }

    /// Why there is no such check at all; `None` if there is.
    #[must_use]
    pub fn absence(&self, check: &str) -> Option<String> {
        let Some((kind, name)) = check.split_once(':') else {
            return Some(format!("\"{check}\" is not KIND:NAME"));
        };
        match kind {
            "property" => absent(cited(&self.properties, name).is_some(), check),
            "mutant" => absent(cited(&self.mutants, name).is_some(), check),
            "world" => absent(self.worlds.contains(name), check),
            "refusal" => absent(self.refusals.contains(name), check),
            "lint" => absent(self.lints.contains(name), check),
            "scenario" => absent(self.scenarios.contains(name), check),
            "test" => match self.tests.look_up(name) {
                TestSeen::Running => None,
                TestSeen::Ignored => Some(format!("\"{check}\" is ignored, so it checks nothing")),
                TestSeen::Nowhere => absent(false, check),
            },
            unknown => Some(format!("\"{check}\": there is no kind of check called {unknown}")),
        }
    }

    fn object_to_scenario(&self, book: &Rulebook, rule: &str, id: &str) -> Option<String> {
        let Some(row) = book.scenario(id) else {
            return Some(format!("\"scenario:{id}\" has no row in specs/rules.toml"));
        };
        if !self.scenarios.contains(id) {
            return Some(format!("\"scenario:{id}\" is not executed yet"));
        }
        (!row.covers(rule)).then(|| format!("\"scenario:{id}\" is not about {rule}"))
    }
}

/// The check of this name among `checks`.
#[must_use]
pub fn cited<'a>(checks: &'a [Cited], name: &str) -> Option<&'a Cited> {
    checks.iter().find(|check| check.name == name)
}

fn absent(exists: bool, check: &str) -> Option<String> {
    (!exists).then(|| format!("\"{check}\" does not exist"))
}
