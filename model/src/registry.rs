//! What this crate offers as checks, by name: for the conformance table, which is generated elsewhere.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::action::Kind;
use crate::mutants::Mutant;
use crate::outcome::{Deferral, Refusal};
use crate::{progress, properties, worlds};

/// The name under which progress is listed among the properties.
pub const PROGRESS: &str = "rest is reachable from every state";

/// Every check by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Registry {
    /// Properties, progress among them.
    pub properties: Vec<PropertyEntry>,
    /// Broken laws.
    pub mutants: Vec<Entry>,
    /// Bounded worlds.
    pub worlds: Vec<Entry>,
    /// Codes of refusals.
    pub refusals: Vec<Entry>,
    /// Codes of deferrals.
    pub deferrals: Vec<Entry>,
    /// Kinds of action.
    pub actions: Vec<String>,
}

/// A name and what it means.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Entry {
    /// The name.
    pub name: String,
    /// What it means.
    pub says: String,
}

/// A property.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PropertyEntry {
    /// Its name, a sentence.
    pub name: String,
    /// The rules it stands for.
    pub rules: Vec<String>,
    /// The mutants it catches.
    pub caught: Vec<Caught>,
}

/// A mutant and the world where it shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Caught {
    /// The mutant.
    pub mutant: String,
    /// The world.
    pub world: String,
}

/// Lists every check.
pub fn registry() -> Registry {
    Registry {
        properties: listed_properties(),
        mutants: Mutant::ALL.iter().map(|mutant| entry(mutant.name(), mutant.breaks())).collect(),
        worlds: worlds::ALL.iter().map(|world| entry(world.name, world.shows)).collect(),
        refusals: Refusal::ALL
            .iter()
            .map(|refusal| entry(refusal.code(), refusal.says()))
            .collect(),
        deferrals: Deferral::ALL
            .iter()
            .map(|deferral| entry(deferral.code(), deferral.says()))
            .collect(),
        actions: Kind::ALL.iter().map(|kind| kind.name().into()).collect(),
    }
}

fn listed_properties() -> Vec<PropertyEntry> {
    let progress = property(PROGRESS, progress::RULES, progress::CAUGHT);
    properties::all()
        .map(|listed| property(listed.name, listed.rules, listed.caught))
        .chain([progress])
        .collect()
}

fn property(name: &str, rules: &[&str], caught: &[(Mutant, &str)]) -> PropertyEntry {
    PropertyEntry {
        name: name.into(),
        rules: rules.iter().map(ToString::to_string).collect(),
        caught: caught
            .iter()
            .map(|(mutant, world)| Caught {
                mutant: mutant.name().into(),
                world: world.to_string(),
            })
            .collect(),
    }
}

fn entry(name: &str, says: &str) -> Entry {
    Entry { name: name.into(), says: says.into() }
}
