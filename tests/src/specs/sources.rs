//! Where the checks come from: the one place that asks the other crates what they have.
//!
//! Integration points. Each function below answers from the crate that owns the fact as soon as
//! that crate publishes it, and is empty until then; nothing else in this module changes.

use std::collections::BTreeSet;

use abide::command::{Deferral, Refusal};

use super::names::names_of;
use super::registry::Cited;
use crate::scenarios;

/// The model's properties and the rules they cite.
#[must_use]
pub fn properties() -> Vec<Cited> {
    let properties = abide_model::registry::registry().properties;
    properties.into_iter().map(|listed| Cited { name: listed.name, rules: listed.rules }).collect()
}

/// The model's mutants; a mutant is about the rules of the properties that catch it.
#[must_use]
pub fn mutants() -> Vec<Cited> {
    let registry = abide_model::registry::registry();
    let rules_of = |mutant: &str| -> Vec<String> {
        let catches = |caught: &abide_model::registry::Caught| caught.mutant == mutant;
        let catching =
            registry.properties.iter().filter(|listed| listed.caught.iter().any(catches));
        catching.flat_map(|listed| listed.rules.iter().cloned()).collect()
    };
    let cited = |mutant: &abide_model::registry::Entry| Cited {
        name: mutant.name.clone(),
        rules: rules_of(&mutant.name),
    };
    registry.mutants.iter().map(cited).collect()
}

/// The model's worlds.
#[must_use]
pub fn worlds() -> BTreeSet<String> {
    abide_model::registry::registry().worlds.into_iter().map(|world| world.name).collect()
}

/// The codes a rule may name as `refusal:CODE`.
#[must_use]
pub fn refusals() -> BTreeSet<String> {
    refusal_lists().into_iter().flat_map(|list| list.codes).collect()
}

/// The shared scenarios that are executed: on every subject, or by a test of their own.
#[must_use]
pub fn scenarios() -> BTreeSet<String> {
    let on_subjects = scenarios::ALL.iter().map(|shared| shared.id);
    let by_test = scenarios::BY_TEST.iter().map(|(id, _)| *id);
    on_subjects.chain(by_test).map(str::to_owned).collect()
}

/// The codes one statement of the law refuses or defers with, in order of precedence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeList {
    /// Which statement.
    pub owner: &'static str,
    /// What of it: refusals or deferrals.
    pub what: &'static str,
    /// The serialized names.
    pub codes: Vec<String>,
}

/// Every list of codes that must agree with the others of its sort.
///
#[must_use]
pub fn refusal_lists() -> Vec<CodeList> {
    vec![
        CodeList { owner: "abide", what: "refusals", codes: names_of::<Refusal>() },
        CodeList { owner: "abide", what: "deferrals", codes: names_of::<Deferral>() },
        CodeList {
            owner: "abide-model",
            what: "refusals",
            codes: names_of::<abide_model::outcome::Refusal>(),
        },
        CodeList {
            owner: "abide-model",
            what: "deferrals",
            codes: names_of::<abide_model::outcome::Deferral>(),
        },
    ]
}
