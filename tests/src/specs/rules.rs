//! `specs/rules.toml` as data, and what must hold of it before anything is resolved.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Deserialize;

use super::areas::{area, area_of};
use super::finding::Finding;

/// Where the rules live, under the root of the repository.
pub const RULES: &str = "specs/rules.toml";

/// Every rule and every shared scenario.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rulebook {
    /// The rules, in the order of the file.
    #[serde(rename = "rule", default)]
    pub rules: Vec<Rule>,
    /// The shared scenarios, in the order of the file.
    #[serde(rename = "scenario", default)]
    pub scenarios: Vec<ScenarioRow>,
}

/// One testable statement.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Its name, for ever.
    pub id: String,
    /// The source it comes from.
    pub seed: Seed,
    /// The place in that source.
    pub section: String,
    /// What sort of statement it is.
    pub kind: RuleKind,
    /// The statement.
    pub text: String,
    /// Whether an abstract state machine can express it.
    pub model: bool,
    /// What fails when it is broken, as `kind:name`.
    #[serde(default)]
    pub checks: Vec<String>,
    /// The decision record that changed what it says here.
    #[serde(default)]
    pub amended: Option<String>,
}

/// A source of rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Seed {
    /// Routing, waits and recovery.
    B04,
    /// Stasis and return.
    Stasis,
    /// Our own.
    Design,
}

/// A sort of rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleKind {
    /// Something bad never holds.
    Safety,
    /// An action and what it makes true.
    Transition,
    /// An action that is answered with a reason and changes nothing.
    Refusal,
    /// What survives a crash.
    Durability,
    /// What happens in the end.
    Liveness,
    /// What a configuration means.
    Config,
    /// What a contract or a surface is.
    Interface,
    /// What a release must be able to show.
    Evidence,
}

/// One scenario that every subject runs, under the exact name its source gives it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScenarioRow {
    /// The name; some contain `/`.
    pub id: String,
    /// What must be shown.
    pub required: String,
    /// The areas it is about, where the source names no rules.
    #[serde(default)]
    pub areas: Vec<String>,
    /// The rules it is about.
    #[serde(default)]
    pub rules: Vec<String>,
}

impl ScenarioRow {
    /// Whether a rule may name this scenario as its check.
    #[must_use]
    pub fn covers(&self, rule: &str) -> bool {
        self.rules.iter().any(|id| id == rule) || self.areas.iter().any(|id| id == area_of(rule))
    }
}

impl Rulebook {
    /// Reads the rules of the repository at `root`.
    ///
    /// # Errors
    /// A sentence, if the file is missing or is not of this shape.
    pub fn read(root: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(root.join(RULES))
            .map_err(|cause| format!("{RULES} cannot be read: {cause}"))?;
        Self::parse(&text)
    }

    /// Reads rules from text.
    ///
    /// # Errors
    /// A sentence with line and column, if the text is not of this shape.
    pub fn parse(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|cause| format!("{RULES}: {cause}"))
    }

    /// The rule of this id.
    #[must_use]
    pub fn rule(&self, id: &str) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.id == id)
    }

    /// The scenario row of this id.
    #[must_use]
    pub fn scenario(&self, id: &str) -> Option<&ScenarioRow> {
        self.scenarios.iter().find(|row| row.id == id)
    }

    /// What is wrong with the file by itself: repeated or malformed ids, scenarios about nothing
    /// or about rules that do not exist, amendments without their record.
    #[must_use]
    pub fn flaws(&self, root: &Path) -> Vec<Finding> {
        let mut flaws = repeated("rule", self.rules.iter().map(|rule| rule.id.as_str()));
        flaws.extend(repeated("scenario", self.scenarios.iter().map(|row| row.id.as_str())));
        flaws.extend(self.rules.iter().filter_map(malformed_id));
        flaws.extend(self.rules.iter().filter_map(|rule| missing_record(rule, root)));
        flaws.extend(self.scenarios.iter().flat_map(|row| self.groundless(row)));
        flaws
    }

    fn groundless(&self, row: &ScenarioRow) -> Vec<Finding> {
        let unknown_rules =
            row.rules.iter().filter(|id| self.rule(id).is_none()).map(|id| ("rule", id));
        let unknown_areas = row.areas.iter().filter(|id| area(id).is_none()).map(|id| ("area", id));
        let mut flaws: Vec<Finding> = unknown_rules
            .chain(unknown_areas)
            .map(|(what, id)| Finding::new(&row.id, format!("is about the unknown {what} {id}")))
            .collect();
        if row.rules.is_empty() && row.areas.is_empty() {
            flaws.push(Finding::new(&row.id, "is about no rule and no area"));
        }
        flaws
    }
}

fn repeated<'a>(what: &str, ids: impl Iterator<Item = &'a str>) -> Vec<Finding> {
    let mut seen = BTreeSet::new();
    ids.filter(|id| !seen.insert(*id))
        .map(|id| Finding::new(id, format!("is the id of more than one {what}")))
        .collect()
}

fn malformed_id(rule: &Rule) -> Option<Finding> {
    let (prefix, number) = rule.id.rsplit_once('-').unwrap_or((&rule.id, ""));
    let numbered = number.len() == 2 && number.bytes().all(|byte| byte.is_ascii_digit());
    (area(prefix).is_none() || !numbered)
        .then(|| Finding::new(&rule.id, "is not AREA-NN with an area of tests/src/specs/areas.rs"))
}

fn missing_record(rule: &Rule, root: &Path) -> Option<Finding> {
    let record = rule.amended.as_deref()?;
    let filed = record.starts_with("docs/decisions/") && root.join(record).is_file();
    (!filed).then(|| {
        Finding::new(
            &rule.id,
            format!("is amended by {record}, which is no file of docs/decisions"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: &str = r#"
        [[rule]]
        id = "WAIT-01"
        seed = "b04"
        section = "Waits"
        kind = "safety"
        text = "Something holds."
        model = true
    "#;

    fn flaws_of(text: &str) -> Vec<String> {
        let book = Rulebook::parse(text).expect("the text has the shape of a rulebook");
        book.flaws(Path::new("/nowhere")).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_sound_rulebook_has_no_flaw() {
        assert_eq!(flaws_of(RULE), Vec::<String>::new());
    }

    #[test]
    fn a_repeated_id_is_a_flaw() {
        assert_eq!(flaws_of(&RULE.repeat(2)), ["WAIT-01: is the id of more than one rule"]);
    }

    #[test]
    fn an_id_outside_the_areas_is_a_flaw() {
        assert_eq!(flaws_of(&RULE.replace("WAIT-01", "MOOD-01")).len(), 1);
        assert_eq!(flaws_of(&RULE.replace("WAIT-01", "WAIT-1")).len(), 1);
    }

    #[test]
    fn an_amendment_needs_its_record() {
        let amended = format!("{RULE}\namended = \"docs/decisions/9999-nothing.md\"");
        assert_eq!(flaws_of(&amended).len(), 1);
    }

    #[test]
    fn a_scenario_is_about_something_that_exists() {
        let nothing = format!("{RULE}[[scenario]]\nid = \"s\"\nrequired = \"r\"");
        assert_eq!(flaws_of(&nothing), ["s: is about no rule and no area"]);
        assert_eq!(flaws_of(&format!("{nothing}\nrules = [\"WAIT-99\"]")).len(), 1);
        assert_eq!(flaws_of(&format!("{nothing}\nareas = [\"WAIT\"]")).len(), 0);
    }

    #[test]
    fn an_unknown_field_or_kind_is_not_a_rulebook() {
        assert!(Rulebook::parse(&format!("{RULE}\ncheks = []")).is_err());
        assert!(Rulebook::parse(&RULE.replace("safety", "safe")).is_err());
    }
}
