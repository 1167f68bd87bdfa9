//! What checks which rule, as a page and as a table for a terminal.

use std::fmt::Write as _;

use super::areas::{AREAS, Area, area_of};
use super::audit::standing_checks;
use super::registry::Registry;
use super::rules::{Rule, Rulebook};

/// Where the generated page is, under the root of the repository.
pub const CONFORMANCE: &str = "specs/conformance.md";

const HEADER: &str = "\
# Conformance

<!-- Written by `cargo run -p abide-tests --bin regenerate`. Edit specs/rules.toml instead. -->

Which rule of [`rules.toml`](rules.toml) is checked by what. A rule is counted as checked when at
least one check it names exists: an invariant of the model (`property`), a broken law that must be
caught (`mutant`), a bounded world (`world`), an answer both laws share (`refusal`), a scenario run
on every subject (`scenario`), a test function (`test`) or a lint (`lint`).
";

/// How many rules of an area are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coverage {
    /// The area.
    pub area: &'static Area,
    /// Its rules.
    pub rules: usize,
    /// Those that something checks.
    pub checked: usize,
}

/// The coverage of every area, in the order of [`AREAS`].
#[must_use]
pub fn coverage(book: &Rulebook, registry: &Registry) -> Vec<Coverage> {
    let of = |area: &'static Area| {
        let rules: Vec<&Rule> = rules_of(book, area).collect();
        let is_checked = |rule: &&&Rule| !standing_checks(book, registry, rule).is_empty();
        Coverage { area, rules: rules.len(), checked: rules.iter().filter(is_checked).count() }
    };
    AREAS.iter().map(of).collect()
}

/// The coverage as lines of text, a total last.
#[must_use]
pub fn table(coverage: &[Coverage]) -> String {
    let mut table = format!("{:<9}{:>7}{:>9}  about\n", "area", "rules", "checked");
    for Coverage { area, rules, checked } in coverage {
        let _ = writeln!(table, "{:<9}{rules:>7}{checked:>9}  {}", area.id, area.about);
    }
    let (rules, checked) = total(coverage);
    let _ = writeln!(table, "{:<9}{rules:>7}{checked:>9}", "total");
    table
}

/// The page `specs/conformance.md`.
#[must_use]
pub fn page(book: &Rulebook, registry: &Registry) -> String {
    let coverage = coverage(book, registry);
    let mut page = HEADER.to_owned();
    write_totals(&mut page, &coverage);
    write_checks(&mut page, book, registry);
    for covered in &coverage {
        write_area(&mut page, book, registry, covered);
    }
    page
}

fn rules_of<'a>(book: &'a Rulebook, area: &'a Area) -> impl Iterator<Item = &'a Rule> {
    book.rules.iter().filter(|rule| area_of(&rule.id) == area.id)
}

fn total(coverage: &[Coverage]) -> (usize, usize) {
    coverage
        .iter()
        .fold((0, 0), |(rules, checked), area| (rules + area.rules, checked + area.checked))
}

fn write_totals(page: &mut String, coverage: &[Coverage]) {
    let (rules, checked) = total(coverage);
    let _ =
        write!(page, "\n## Checked rules by area\n\n**{checked} of {rules} rules are checked.**\n");
    page.push_str("\n| Area | About | Law | Rules | Checked |\n|---|---|---|---:|---:|\n");
    for Coverage { area, rules, checked } in coverage {
        let law = area.law.map_or_else(String::new, |file| format!("`law/{file}.rs`"));
        let _ = writeln!(page, "| {} | {} | {law} | {rules} | {checked} |", area.id, area.about);
    }
}

fn write_checks(page: &mut String, book: &Rulebook, registry: &Registry) {
    let kinds = ["property", "mutant", "world", "refusal", "scenario", "test", "lint"];
    page.push_str("\n## Rules by kind of check\n\n| Kind | Rules that name one |\n|---|---:|\n");
    for kind in kinds {
        let names_one = |rule: &&Rule| {
            standing_checks(book, registry, rule).iter().any(|check| kind_of(check) == kind)
        };
        let _ = writeln!(page, "| {kind} | {} |", book.rules.iter().filter(names_one).count());
    }
}

fn write_area(page: &mut String, book: &Rulebook, registry: &Registry, covered: &Coverage) {
    let Coverage { area, rules, checked } = *covered;
    let _ = write!(page, "\n## {}: {}\n\n{checked} of {rules} checked.\n", area.id, area.about);
    let (with, without): (Vec<&Rule>, Vec<&Rule>) =
        rules_of(book, area).partition(|rule| !standing_checks(book, registry, rule).is_empty());
    if !with.is_empty() {
        page.push_str("\n| Rule | Kind | Checks |\n|---|---|---|\n");
    }
    for rule in with {
        let checks = standing_checks(book, registry, rule).join("`<br>`").replace('|', "\\|");
        let kind = format!("{:?}", rule.kind).to_lowercase();
        let _ = writeln!(page, "| {}{} | {kind} | `{checks}` |", rule.id, amendment(rule));
    }
    if !without.is_empty() {
        let ids: Vec<&str> = without.iter().map(|rule| rule.id.as_str()).collect();
        let _ = write!(page, "\nNot checked yet: {}.\n", ids.join(", "));
    }
}

fn amendment(rule: &Rule) -> String {
    let link = |record: &String| format!(" ([amended](../{record}))");
    rule.amended.as_ref().map_or_else(String::new, link)
}

fn kind_of(check: &str) -> &str {
    check.split_once(':').map_or(check, |(kind, _)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject() -> (Rulebook, Registry) {
        let rule = |id: &str, checks: &str| {
            format!(
                "[[rule]]\nid = \"{id}\"\nseed = \"b04\"\nsection = \"s\"\nkind = \"safety\"\n\
                 text = \"t\"\nmodel = true\nchecks = [{checks}]\n"
            )
        };
        let text = rule("WAIT-01", "\"world:waits\", \"world:moon\"") + &rule("WAIT-02", "");
        let book = Rulebook::parse(&text).expect("the text has the shape of a rulebook");
        let worlds = std::iter::once("waits".to_owned()).collect();
        (book, Registry { worlds, ..Registry::default() })
    }

    #[test]
    fn only_checks_that_exist_count() {
        let (book, registry) = subject();
        let wait = coverage(&book, &registry).into_iter().find(|c| c.area.id == "WAIT");
        assert!(wait.is_some_and(|c| (c.rules, c.checked) == (2, 1)));
    }

    #[test]
    fn the_page_shows_what_checks_a_rule_and_what_nothing_checks() {
        let (book, registry) = subject();
        let page = page(&book, &registry);
        assert!(page.contains("**1 of 2 rules are checked.**"));
        assert!(page.contains("| WAIT-01 | safety | `world:waits` |"));
        assert!(page.contains("Not checked yet: WAIT-02."));
        assert!(!page.contains("moon"));
    }

    #[test]
    fn the_table_ends_with_a_total() {
        let (book, registry) = subject();
        let table = table(&coverage(&book, &registry));
        assert_eq!(table.lines().count(), AREAS.len() + 2);
        assert!(table.ends_with("total          2        1\n"));
    }
}
