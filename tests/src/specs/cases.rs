//! `specs/cases.toml`: what has hurt users of systems like this one, and what keeps it from happening here.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Deserialize;

use super::finding::Finding;
use super::registry::Registry;

/// Where the cases live, under the root of the repository.
pub const CASES: &str = "specs/cases.toml";

/// Every case, in the order of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Casebook {
    /// The cases.
    #[serde(rename = "case", default)]
    pub cases: Vec<Case>,
}

/// One thing that went wrong somewhere.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Its name: a family and a number.
    pub id: String,
    /// What happens here instead.
    pub here: String,
    /// What fails if it does not, as `kind:name`.
    #[serde(default)]
    pub checks: Vec<String>,
    /// The capability it needs, if that is not built yet; it has no checks until then.
    #[serde(default)]
    pub needs: Option<String>,
}

impl Casebook {
    /// Reads the cases of the repository at `root`.
    ///
    /// # Errors
    /// A sentence, if the file is missing or is not of this shape.
    pub fn read(root: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(root.join(CASES))
            .map_err(|cause| format!("{CASES} cannot be read: {cause}"))?;
        toml::from_str(&text).map_err(|cause| format!("{CASES}: {cause}"))
    }

    /// What is wrong with it: repeated ids, checks that do not exist, cases that nothing shows.
    #[must_use]
    pub fn flaws(&self, registry: &Registry) -> Vec<Finding> {
        let mut seen = BTreeSet::new();
        let mut flaws = Vec::new();
        for case in &self.cases {
            if !seen.insert(&case.id) {
                flaws.push(Finding::new(&case.id, "is the id of more than one case"));
            }
            flaws.extend(unshown(case));
            let objections = case.checks.iter().filter_map(|check| registry.absence(check));
            flaws.extend(objections.map(|objection| Finding::new(&case.id, objection)));
        }
        flaws
    }

    /// The cases that wait for a capability, as `ID: capability`.
    #[must_use]
    pub fn waiting(&self) -> Vec<String> {
        let needs = |case: &Case| case.needs.as_ref().map(|needs| format!("{}: {needs}", case.id));
        self.cases.iter().filter_map(needs).collect()
    }
}

fn unshown(case: &Case) -> Option<Finding> {
    match (&case.needs, case.checks.is_empty()) {
        (None, true) => Some(Finding::new(&case.id, "is shown by nothing")),
        (Some(_), false) => Some(Finding::new(&case.id, "is shown, and yet waits for something")),
        (None, false) | (Some(_), true) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flaws_of(text: &str) -> usize {
        let book: Casebook = toml::from_str(text).expect("the text has the shape of a casebook");
        let worlds = std::iter::once("waits".to_owned()).collect();
        book.flaws(&Registry { worlds, ..Registry::default() }).len()
    }

    #[test]
    fn a_case_is_shown_by_checks_that_exist_or_waits_for_something() {
        assert_eq!(flaws_of("[[case]]\nid = \"W01\"\nhere = \"h\"\nchecks = [\"world:waits\"]"), 0);
        assert_eq!(flaws_of("[[case]]\nid = \"W01\"\nhere = \"h\"\nneeds = \"schedules\""), 0);
        assert_eq!(flaws_of("[[case]]\nid = \"W01\"\nhere = \"h\""), 1);
        assert_eq!(flaws_of("[[case]]\nid = \"W01\"\nhere = \"h\"\nchecks = [\"world:moon\"]"), 1);
        let both =
            "[[case]]\nid = \"W01\"\nhere = \"h\"\nneeds = \"n\"\nchecks = [\"world:waits\"]";
        assert_eq!(flaws_of(both), 1);
    }

    #[test]
    fn a_case_is_listed_once() {
        let case = "[[case]]\nid = \"W01\"\nhere = \"h\"\nneeds = \"n\"\n";
        assert_eq!(flaws_of(&case.repeat(2)), 1);
    }
}
