//! Negative controls of the audit: each way to be wrong is planted once and found.

use super::super::files::TextFile;
use super::super::test_index::TestIndex;
use super::*;

/// WAIT-01 with these checks, WAIT-02 with none, and two shared scenarios.
fn book(checks: &str) -> Rulebook {
    let rule = |id: &str, checks: &str| {
        format!(
            "[[rule]]\nid = \"{id}\"\nseed = \"b04\"\nsection = \"s\"\nkind = \"safety\"\n\
             text = \"t\"\nmodel = true\nchecks = [{checks}]\n"
        )
    };
    let rows = "[[scenario]]\nid = \"by/rules\"\nrequired = \"r\"\nrules = [\"WAIT-01\"]\n\
                [[scenario]]\nid = \"by_areas\"\nrequired = \"r\"\nareas = [\"WAKE\"]\n";
    let text = rule("WAIT-01", checks) + &rule("WAIT-02", "") + rows;
    Rulebook::parse(&text).expect("the text has the shape of a rulebook")
}

fn registry() -> Registry {
    let source = "#[test] fn runs() {} #[test] #[ignore] fn sleeps() {}".to_owned();
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Registry {
        properties: vec![Cited::new("a wait wakes", &["WAIT-01"])],
        mutants: vec![Cited::new("wake-twice", &["WAIT-01"])],
        worlds: names(&["waits"]),
        refusals: names(&["not_due"]),
        scenarios: names(&["by/rules"]),
        tests: TestIndex::of(&[TextFile { path: "a.rs".to_owned(), text: source }]),
        lints: names(&["unsafe_code"]),
    }
}

fn shown(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(ToString::to_string).collect()
}

const ALL: &str = r#""property:a wait wakes", "mutant:wake-twice", "world:waits",
    "refusal:not_due", "scenario:by/rules", "test:a.rs::runs", "lint:unsafe_code""#;

#[test]
fn checks_of_every_kind_resolve() {
    let (book, registry) = (book(ALL), registry());
    assert_eq!(shown(&unknown_checks(&book, &registry)), Vec::<String>::new());
    assert_eq!(shown(&groundless_checks(&book, &registry)), Vec::<String>::new());
    assert_eq!(shown(&one_sided(&book, &registry)), Vec::<String>::new());
    assert_eq!(standing_checks(&book, &registry, &book.rules[0]).len(), 7);
    assert_eq!(checked_rules(&book, &registry), BTreeSet::from(["WAIT-01".to_owned()]));
}

#[test]
fn a_check_of_any_kind_that_does_not_exist_is_found() {
    for check in [
        "property:a wait sleeps",
        "mutant:wake-thrice",
        "world:moon",
        "refusal:too_late",
        "scenario:nowhere",
        "test:a.rs::missing",
        "test:b.rs::runs",
        "lint:cleverness",
        "theorem:fermat",
        "a wait wakes",
    ] {
        let book = book(&format!("\"{check}\""));
        assert_eq!(unknown_checks(&book, &registry()).len(), 1, "{check}");
        assert!(checked_rules(&book, &registry()).is_empty(), "{check}");
    }
}

#[test]
fn an_ignored_test_is_no_check() {
    assert_eq!(
        shown(&unknown_checks(&book("\"test:a.rs::sleeps\""), &registry())),
        ["WAIT-01: \"test:a.rs::sleeps\" is ignored, so it checks nothing"]
    );
}

#[test]
fn a_scenario_that_is_not_executed_is_no_check() {
    let mut registry = registry();
    registry.scenarios.clear();
    assert_eq!(unknown_checks(&book("\"scenario:by/rules\""), &registry).len(), 1);
}

#[test]
fn a_scenario_about_something_else_is_no_check() {
    let mut registry = registry();
    registry.scenarios.insert("by_areas".to_owned());
    assert_eq!(
        shown(&unknown_checks(&book("\"scenario:by_areas\""), &registry)),
        ["WAIT-01: \"scenario:by_areas\" is not about WAIT-01"]
    );
}

#[test]
fn a_check_named_twice_is_found() {
    let twice = book("\"world:waits\", \"world:waits\"");
    assert_eq!(unknown_checks(&twice, &registry()).len(), 1);
}

#[test]
fn a_check_that_cites_no_rule_is_found() {
    let mut registry = registry();
    registry.properties.push(Cited::new("idle", &[]));
    registry.mutants.push(Cited::new("lost", &["WAIT-77"]));
    registry.mutants.push(Cited::new("wake-twice", &["WAIT-01"]));
    registry.scenarios.insert("unheard_of".to_owned());
    assert_eq!(
        shown(&groundless_checks(&book(ALL), &registry)),
        [
            "property:idle: cites no rule",
            "mutant:lost: cites WAIT-77, which is no rule",
            "mutant:wake-twice: shares its name with another",
            "scenario:unheard_of: has no row in specs/rules.toml",
        ]
    );
}

#[test]
fn an_executed_scenario_that_no_rule_names_is_found() {
    assert_eq!(
        shown(&groundless_checks(&book(""), &registry())),
        ["scenario:by/rules: is executed, but no rule names it"]
    );
}

#[test]
fn a_rule_that_does_not_name_what_is_about_it_is_found() {
    assert_eq!(
        shown(&one_sided(&book(""), &registry())),
        [
            "WAIT-01: add \"property:a wait wakes\", which is about it",
            "WAIT-01: add \"scenario:by/rules\", which is about it",
        ]
    );
}

#[test]
fn a_rule_that_names_what_does_not_cite_it_is_found() {
    let mut registry = registry();
    registry.properties[0].rules = vec!["WAIT-02".to_owned()];
    registry.mutants[0].rules = vec!["WAIT-02".to_owned()];
    assert_eq!(
        shown(&one_sided(&book(ALL), &registry)),
        [
            "WAIT-01: names \"property:a wait wakes\", which does not cite it",
            "WAIT-01: names \"mutant:wake-twice\", which does not cite it",
            "WAIT-02: add \"property:a wait wakes\", which is about it",
        ]
    );
}

#[test]
fn a_rule_that_rests_on_worlds_and_codes_is_found() {
    for bare in [r#""world:waits""#, r#""refusal:not_due""#, r#""world:waits", "refusal:not_due""#]
    {
        assert_eq!(toothless(&book(bare)).len(), 1, "{bare}");
    }
    for sound in ["", ALL, r#""world:waits", "mutant:wake-twice""#, r#""test:a.rs::runs""#] {
        assert_eq!(shown(&toothless(&book(sound))), Vec::<String>::new(), "{sound}");
    }
}
