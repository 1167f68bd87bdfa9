//! Rules against checks: what a rule names must exist, and what exists must be about a rule.

use std::collections::BTreeSet;

use super::finding::Finding;
use super::registry::{Cited, Registry, cited};
use super::rules::{Rule, Rulebook};

/// The checks of `rule` that exist.
#[must_use]
pub fn standing_checks<'a>(book: &Rulebook, registry: &Registry, rule: &'a Rule) -> Vec<&'a str> {
    let standing = |check: &&String| registry.objection(book, &rule.id, check).is_none();
    rule.checks.iter().filter(standing).map(String::as_str).collect()
}

/// The ids of the rules that something checks.
#[must_use]
pub fn checked_rules(book: &Rulebook, registry: &Registry) -> BTreeSet<String> {
    let checked =
        book.rules.iter().filter(|rule| !standing_checks(book, registry, rule).is_empty());
    checked.map(|rule| rule.id.clone()).collect()
}

/// Checks that a rule names and that do not exist, and checks it names twice.
#[must_use]
pub fn unknown_checks(book: &Rulebook, registry: &Registry) -> Vec<Finding> {
    book.rules.iter().flat_map(|rule| unknown_checks_of(book, registry, rule)).collect()
}

/// Checks that are about no rule, or about one that does not exist, or that share their name.
#[must_use]
pub fn groundless_checks(book: &Rulebook, registry: &Registry) -> Vec<Finding> {
    let mut findings = groundless(book, "property", &registry.properties);
    findings.extend(groundless(book, "mutant", &registry.mutants));
    findings.extend(registry.scenarios.iter().filter_map(|id| groundless_scenario(book, id)));
    findings
}

/// Citations that stand on one side only: a property or a scenario is about a rule that does not
/// name it, or a rule names a property or mutant that does not cite it.
#[must_use]
pub fn one_sided(book: &Rulebook, registry: &Registry) -> Vec<Finding> {
    let mut findings = Vec::new();
    for rule in &book.rules {
        findings.extend(unanswered(rule, "property", &registry.properties));
        findings.extend(unanswered(rule, "mutant", &registry.mutants));
        findings.extend(unnamed_properties(rule, &registry.properties));
        findings.extend(unnamed_scenarios(book, registry, rule));
    }
    findings
}

/// Rules of the model that rest on worlds and codes alone: those exist whatever the law does, so nothing fails with the rule.
#[must_use]
pub fn toothless(book: &Rulebook) -> Vec<Finding> {
    let message = "names only worlds and codes, which exist whatever the law does; \
                   name the property, mutant, scenario or test that fails with the rule";
    let bare = |check: &String| check.starts_with("world:") || check.starts_with("refusal:");
    let resting = |rule: &&Rule| !rule.checks.is_empty() && rule.checks.iter().all(bare);
    let of_the_model = book.rules.iter().filter(|rule| rule.model);
    of_the_model.filter(resting).map(|rule| Finding::new(&rule.id, message)).collect()
}

fn unknown_checks_of(book: &Rulebook, registry: &Registry, rule: &Rule) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (at, check) in rule.checks.iter().enumerate() {
        if rule.checks[..at].contains(check) {
            findings.push(Finding::new(&rule.id, format!("names \"{check}\" twice")));
        } else if let Some(objection) = registry.objection(book, &rule.id, check) {
            findings.push(Finding::new(&rule.id, objection));
        }
    }
    findings
}

fn groundless(book: &Rulebook, kind: &str, checks: &[Cited]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (at, check) in checks.iter().enumerate() {
        let place = format!("{kind}:{}", check.name);
        if check.rules.is_empty() {
            findings.push(Finding::new(&place, "cites no rule"));
        }
        for id in check.rules.iter().filter(|id| book.rule(id).is_none()) {
            findings.push(Finding::new(&place, format!("cites {id}, which is no rule")));
        }
        if cited(&checks[..at], &check.name).is_some() {
            findings.push(Finding::new(&place, "shares its name with another"));
        }
    }
    findings
}

fn groundless_scenario(book: &Rulebook, id: &str) -> Option<Finding> {
    let place = format!("scenario:{id}");
    if book.scenario(id).is_none() {
        return Some(Finding::new(place, "has no row in specs/rules.toml"));
    }
    let named = book.rules.iter().any(|rule| rule.checks.contains(&place));
    (!named).then(|| Finding::new(place, "is executed, but no rule names it"))
}

fn unanswered(rule: &Rule, kind: &str, checks: &[Cited]) -> Vec<Finding> {
    let names = rule.checks.iter().filter_map(|check| check.strip_prefix(kind)?.strip_prefix(':'));
    let silent = names
        .filter_map(|name| cited(checks, name))
        .filter(|check| !check.rules.contains(&rule.id));
    silent
        .map(|check| {
            let message = format!("names \"{kind}:{}\", which does not cite it", check.name);
            Finding::new(&rule.id, message)
        })
        .collect()
}

fn unnamed_properties(rule: &Rule, properties: &[Cited]) -> Vec<Finding> {
    let about = properties.iter().filter(|property| property.rules.contains(&rule.id));
    about.filter_map(|property| add_unless_named(rule, "property", &property.name)).collect()
}

fn unnamed_scenarios(book: &Rulebook, registry: &Registry, rule: &Rule) -> Vec<Finding> {
    let executed = book.scenarios.iter().filter(|row| registry.scenarios.contains(&row.id));
    let about = executed.filter(|row| row.rules.contains(&rule.id));
    about.filter_map(|row| add_unless_named(rule, "scenario", &row.id)).collect()
}

fn add_unless_named(rule: &Rule, kind: &str, name: &str) -> Option<Finding> {
    let check = format!("{kind}:{name}");
    (!rule.checks.contains(&check))
        .then(|| Finding::new(&rule.id, format!("add \"{check}\", which is about it")))
}

#[cfg(test)]
#[path = "audit_tests.rs"]
mod tests;
