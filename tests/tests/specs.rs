//! The specification holds together: rules and their checks, generated files, the import map.

use std::io::Write as _;

use abide_tests::scenarios::BY_TEST;
use abide_tests::specs::finding::assert_none;
use abide_tests::specs::names::{ALPHABET, disagreements};
use abide_tests::specs::ratchet::{RATCHET, slips};
use abide_tests::specs::{
    Specs, audit, cases, citations, conformance, corpus, generated, hygiene, imports, links,
    sources, trace,
};

fn specs() -> Specs {
    Specs::read().expect("the repository can be read")
}

fn text(specs: &Specs, path: &str) -> String {
    specs.files.iter().find(|file| file.path == path).map(|f| f.text.clone()).unwrap_or_default()
}

/// Prints checked rules by area when it passes.
#[test]
fn rules_and_checks_agree() {
    let specs = specs();
    let (book, registry) = (&specs.book, &specs.registry);
    assert_none("specs/rules.toml is not sound", &book.flaws(&specs.root));
    assert_none("rules name checks that do not exist", &audit::unknown_checks(book, registry));
    assert_none("checks are about no rule", &audit::groundless_checks(book, registry));
    assert_none("rules and checks name one another", &audit::one_sided(book, registry));
    assert_none("rules rest on what cannot fail", &audit::toothless(book));
    let checked = audit::checked_rules(book, registry);
    let slips = slips(&text(&specs, RATCHET), book, &checked);
    assert_none("the ratchet slips", &slips);
    let table = conformance::table(&conformance::coverage(book, registry));
    // Past the capture of the test runner: the table is the point of a passing run.
    let _ = write!(std::io::stdout().lock(), "\nchecked rules by area\n{table}");
}

/// The numbers only change when a rule is added on purpose.
#[test]
fn every_rule_and_every_shared_scenario_is_listed() {
    let specs = specs();
    assert_eq!((specs.book.rules.len(), specs.book.scenarios.len()), (624, 86));
}

/// What is shown on the built binary or on executors has a row and a test, as what is shown on every subject has.
#[test]
fn every_scenario_with_a_test_of_its_own_is_carried_out_by_it() {
    let specs = specs();
    for (id, test) in BY_TEST {
        assert!(specs.book.scenario(id).is_some(), "{id} has no row");
        let check = format!("test:{test}");
        assert_eq!(specs.registry.absence(&check), None, "{id}");
    }
}

/// ALIAS-12: passing it says that ownership and deduplication hold, and nothing of any provider.
#[test]
fn the_shared_alias_case_is_evidence_for_no_adapter() {
    let case = "scenario:dependency_subscription_alias";
    let of_adapters = ["ALIAS-04", "ALIAS-13", "ALIAS-14", "ALIAS-15", "WAIT-11", "WAIT-20"];
    let book = specs().book;
    for id in of_adapters {
        let rule = book.rule(id).unwrap_or_else(|| panic!("there is no rule {id}"));
        assert!(!rule.checks.iter().any(|check| check == case), "{id} rests on {case}");
    }
}

/// What hurts users of such systems is kept from happening by checks that exist.
#[test]
fn every_case_is_shown_or_says_what_it_waits_for() {
    let specs = specs();
    let book = cases::Casebook::read(&specs.root).expect("the cases can be read");
    assert_none("specs/cases.toml is not sound", &book.flaws(&specs.registry));
    let _ = writeln!(std::io::stdout().lock(), "\ncases not built: {:?}", book.waiting());
}

#[test]
fn generated_files_are_current() {
    let specs = specs();
    let expected = generated::generated(&specs.book, &specs.registry, &specs.files);
    assert_none("generated files are stale", &generated::stale(&expected, &specs.files));
}

#[test]
fn every_statement_of_the_law_refuses_with_the_same_names() {
    let specs = specs();
    let lists = sources::refusal_lists();
    assert!(lists.iter().all(|list| !list.codes.is_empty()), "a list of codes is empty");
    assert_none("codes differ", &disagreements(&lists, &text(&specs, ALPHABET)));
}

#[test]
fn no_folder_knows_what_it_should_not() {
    let specs = specs();
    let trespasses = imports::trespasses(&specs.files).expect("the manifest can be read");
    assert_none("the import map is broken", &trespasses);
    assert_none("boundaries guard nothing", &imports::unguarded(&specs.files));
}

#[test]
fn every_rule_that_is_cited_exists() {
    let specs = specs();
    let unknown = citations::unknown_citations(&specs.files, &specs.book);
    assert_none("unknown rules are cited", &unknown);
}

#[test]
fn no_file_says_what_no_file_should() {
    assert_none("forbidden words", &hygiene::forbidden(&specs().files));
}

#[test]
fn every_link_leads_somewhere() {
    assert_none("dead links", &links::dead_links(&specs().files));
}

#[test]
fn every_trace_can_be_read() {
    assert_none("traces cannot be read", &trace::unreadable(&specs().files));
}

/// What CI runs as the tests is what the page tells a newcomer to run.
#[test]
fn ci_runs_the_test_command_of_the_readme() {
    let specs = specs();
    let readme = text(&specs, "README.md");
    let commands = readme.lines().filter(|line| line.trim_start().starts_with("cargo test"));
    assert_eq!(commands.collect::<Vec<_>>(), ["cargo test --workspace"]);
    assert!(text(&specs, ".ci/run").contains("grep -m1 '^cargo test' README.md"));
}

#[test]
fn the_corpus_holds_payloads_of_many_kinds() {
    let Some(folder) = corpus::folder("the_corpus_holds_payloads_of_many_kinds") else { return };
    let index = std::fs::read_to_string(folder.join("api.github.com/index.json"))
        .expect("the corpus can be read");
    let kinds: Vec<serde_json::Value> = serde_json::from_str(&index).expect("the index is JSON");
    assert!(kinds.len() >= 50, "the corpus holds {} kinds of event", kinds.len());
}
