//! The command line: exit codes, machine-readable answers, and traces that are told again.

use std::path::PathBuf;
use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_abide-model"))
        .args(arguments)
        .output()
        .expect("the binary of this package starts")
}

fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn broken_waits(out: &str) -> (Output, String) {
    let folder = folder(out);
    let out = folder.to_str().expect("the test folder has a plain name");
    let output = run(&["check", "--world", "waits", "--mutant", "wake-twice", "--out", out]);
    let trace = folder.join("counterexample-waits-wake-twice.ndjson");
    (output, trace.to_str().expect("the test folder has a plain name").to_string())
}

#[test]
fn a_world_that_holds_exits_0_and_counts_as_pinned() {
    let output = run(&["check", "--world", "targets", "--json"]);
    assert_eq!(output.status.code(), Some(0));
    let found: serde_json::Value =
        serde_json::from_str(&printed(&output)).expect("--json prints JSON");
    assert_eq!(found[0]["states"], 12_575);
    assert_eq!(found[0]["explorers_agree"], true);
}

#[test]
fn a_broken_law_exits_1_with_a_story_that_names_the_property() {
    let (output, _) = broken_waits("story");
    assert_eq!(output.status.code(), Some(1));
    insta::assert_snapshot!(
        printed(&output)
            .lines()
            .filter(|line| !line.contains("counterexample"))
            .collect::<Vec<_>>()
            .join("\n")
    );
}

#[test]
fn a_mistake_in_the_call_exits_2_and_says_what_there_is() {
    let output = run(&["check", "--world", "nowhere"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("wait-no-timers"));
}

#[test]
fn a_counterexample_is_told_again_in_every_format() {
    let (_, trace) = broken_waits("formats");
    let told = |format| printed(&run(&["show", &trace, "--format", format]));
    assert!(told("text").contains("broken: a wait wakes at most once"));
    assert!(told("json").contains("\"breaks\": \"a wait wakes at most once\""));
    assert!(told("mermaid").starts_with("sequenceDiagram"));
    let page = told("html");
    assert!(page.starts_with("<!doctype html>") && page.contains("<svg"));
    assert!(!page.contains("<script") && !page.contains("href="), "the page fetches nothing");
}

#[test]
fn a_record_that_parts_from_the_model_exits_1_with_both_side_by_side() {
    let (_, trace) = broken_waits("parting");
    let text = std::fs::read_to_string(&trace).expect("the trace was just written");
    let honest = text.replacen("\"mutant\":\"wake-twice\",", "", 1);
    std::fs::write(&trace, honest).expect("the test folder is writable");
    let output = run(&["show", &trace, "--format", "html"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(printed(&output).contains("Here the record parts from the model."));
}

#[test]
fn a_corpus_is_the_same_every_time() {
    let write = |name: &str| {
        let out = folder(name);
        let output = run(&[
            "traces",
            "--world",
            "acceptance",
            "--cover",
            "classes",
            "--out",
            out.to_str().expect("plain"),
        ]);
        assert_eq!(output.status.code(), Some(0));
        std::fs::read_to_string(out.join("acceptance/classes-0001.ndjson"))
            .expect("there is a first trace")
    };
    assert_eq!(write("corpus-a"), write("corpus-b"));
}

#[test]
fn help_names_every_command() {
    insta::assert_snapshot!(printed(&run(&["--help"])));
}
