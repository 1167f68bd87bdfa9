//! Negative controls of the import map: an offender is planted at every boundary and found.

use super::*;

const MANIFEST: &str = "[workspace.dependencies]\nserde = \"1\"\ntokio = \"1\"\nrusqlite = \"0\"\n\
                        abide = \"0\"\nabide-model = \"0\"\n";

fn file(path: &str, text: &str) -> TextFile {
    TextFile { path: path.to_owned(), text: text.to_owned() }
}

fn found(path: &str, text: &str) -> Vec<String> {
    let files = [file("Cargo.toml", MANIFEST), file(path, text)];
    let trespasses = trespasses(&files).expect("the manifest is TOML");
    trespasses.iter().map(ToString::to_string).collect()
}

/// A source that breaks this ban.
fn offence(ban: Ban) -> String {
    match ban {
        Ban::Crates(crates) => format!("use {}::thing;", crates[0]),
        Ban::CratesBut(_) => "fn f() { tokio::spawn(); }".to_owned(),
        Ban::Modules(modules) => format!("use crate::{}::thing;", modules[0]),
        Ban::ModulesBut(_) => "use crate::console::thing;".to_owned(),
        Ban::Paths(paths) => format!("use {}::thing;", paths[0]),
        Ban::Sql => "const A: &str = \"SELECT 1\";".to_owned(),
        Ban::DollarParameters => "const A: &str = \"SELECT $1\";".to_owned(),
        Ban::Words(words) => format!("const A: &str = \"the {} of it\";", words[0]),
    }
}

#[test]
fn every_boundary_catches_an_offender() {
    for boundary in BOUNDARIES {
        let path = format!("{}/planted.rs", boundary.place);
        let found = found(&path, &offence(boundary.ban));
        let caught = found.iter().any(|finding| finding.contains(boundary.reason));
        assert!(caught, "{boundary:?} lets its offender pass: {found:?}");
    }
}

#[test]
fn an_offender_is_found_however_it_writes_its_path() {
    for source in [
        "use crate::{domain::Seq, writer::{self, Writer}};",
        "use super::super::writer as w;",
        "fn f() { crate::writer::submit(); }",
        "mod inner { use super::super::super::writer::Writer; }",
    ] {
        assert!(!found("impl/src/law/waits.rs", source).is_empty(), "{source}");
    }
    assert!(!found("impl/src/cli/x.rs", "use abide::law::waits;").is_empty());
}

#[test]
fn a_clock_is_found_behind_a_module_or_a_star() {
    for import in ["std::time", "std::time::*", "std::time::{self, Duration}", "std::fs"] {
        let found = found("impl/src/law/x.rs", &format!("use {import};"));
        assert_eq!(found.len(), 1, "{import}");
    }
    assert_eq!(found("impl/src/law/x.rs", "use std::time::Duration; use std::fmt;").len(), 0);
}

#[test]
fn what_a_folder_may_know_is_no_offence() {
    let law = "use std::fmt; use serde::Serialize; use super::timers; use crate::store::waits;\n\
               // SELECT tokio::spawn\nconst A: &str = \"select one of these\";\n\
               #[cfg(test)] mod tests { use rusqlite::Connection; }";
    assert_eq!(found("impl/src/law/waits.rs", law), Vec::<String>::new());
    for tests in ["impl/src/law/waits_tests.rs", "impl/src/law/tests/waits.rs"] {
        assert_eq!(found(tests, "use tokio::x;"), Vec::<String>::new());
    }
    assert_eq!(found("refinement/src/x.rs", "use abide::a; use abide_model::b;").len(), 0);
    let store = "const A: &str = \"SELECT ?1\"; const B: &str = \"costs $5\";";
    assert_eq!(found("impl/src/store/waits.rs", store), Vec::<String>::new());
}

#[test]
fn a_trespass_names_place_and_reason() {
    let found = found("model/src/law/waits.rs", "\nuse std::time::Instant;");
    let expected = "model/src/law/waits.rs:2: `std::time::Instant` in model/src/law: time and \
                    randomness are inputs of an action, never read inside it";
    assert_eq!(found, [expected]);
}

#[test]
fn tracker_words_are_found_in_names_and_texts() {
    for source in ["struct PullRequest;", "fn pull_request() {}", "let a = \"a pull request\";"] {
        assert_eq!(found("impl/src/law/x.rs", source).len(), 1, "{source}");
    }
    for source in ["fn reviewed() {}", "fn pull() {} fn request() {}", "struct Preview;"] {
        assert_eq!(found("impl/src/law/x.rs", source).len(), 0, "{source}");
    }
}

#[test]
fn a_boundary_around_nothing_is_found() {
    let all: Vec<TextFile> = BOUNDARIES
        .iter()
        .map(|boundary| boundary.place)
        .filter(|place| !NOT_BUILT_YET.contains(place))
        .map(|place| file(&format!("{place}/x.rs"), ""))
        .collect();
    assert_eq!(unguarded(&all), []);
    assert!(!unguarded(&[]).is_empty());
    let mut built = all;
    built.push(file("impl/src/law/mod.rs", ""));
    assert_eq!(unguarded(&built).len(), usize::from(NOT_BUILT_YET.contains(&"impl/src/law")));
}
