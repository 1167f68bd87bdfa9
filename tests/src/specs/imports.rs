//! Holds the sources to the import map of `boundaries.rs`.

use std::collections::BTreeSet;

use toml::{Table, Value};

use super::boundaries::{BOUNDARIES, Ban, Boundary, NOT_BUILT_YET};
use super::files::{TextFile, sources};
use super::finding::Finding;
use super::lexer::{Token, shipped_tokens};
use super::paths::{NamedPath, module_of, paths};

/// The folder of each crate and the name other crates know it by.
const CRATES: &[(&str, &str)] = &[
    ("model", "abide_model"),
    ("impl", "abide"),
    ("refinement", "abide_refinement"),
    ("tests", "abide_tests"),
];

/// Where a source among `files` knows what its folder may not know.
///
/// # Errors
/// A sentence, if the workspace's manifest is missing or not TOML.
pub fn trespasses(files: &[TextFile]) -> Result<Vec<Finding>, String> {
    let crates = crates_of_workspace(files)?;
    let shipped: Vec<&TextFile> = sources(files).filter(|file| ships(file)).collect();
    let of = |boundary: &Boundary| -> Vec<Finding> {
        let inside = shipped.iter().filter(|file| lies_in(&file.path, boundary.place));
        inside.flat_map(|file| trespasses_in(file, boundary, &crates)).collect()
    };
    Ok(BOUNDARIES.iter().flat_map(of).collect())
}

/// Boundaries around places that do not exist and were not announced, or that exist by now.
#[must_use]
pub fn unguarded(files: &[TextFile]) -> Vec<Finding> {
    let places: BTreeSet<&str> = BOUNDARIES.iter().map(|boundary| boundary.place).collect();
    let of = |place: &str| {
        let built = sources(files).any(|file| lies_in(&file.path, place));
        match (built, NOT_BUILT_YET.contains(&place)) {
            (true, true) => Some("is built by now: take it out of NOT_BUILT_YET in boundaries.rs"),
            (false, false) => Some("has a boundary but no source: was it moved?"),
            (true, false) | (false, true) => None,
        }
    };
    places.into_iter().filter_map(|place| Some(Finding::new(place, of(place)?))).collect()
}

/// The crates that sources can name: the workspace's dependencies, its own crates included.
fn crates_of_workspace(files: &[TextFile]) -> Result<BTreeSet<String>, String> {
    let manifest = files.iter().find(|file| file.path == "Cargo.toml");
    let text = manifest.map(|file| file.text.as_str()).ok_or("Cargo.toml is missing")?;
    let table: Table = text.parse().map_err(|cause| format!("Cargo.toml: {cause}"))?;
    let dependencies =
        table.get("workspace").and_then(|w| w.get("dependencies")).and_then(Value::as_table);
    let names = dependencies.into_iter().flat_map(Table::keys);
    Ok(names.map(|name| name.replace('-', "_")).collect())
}

/// Whether a source is more than unit tests in a file or a folder of their own.
fn ships(file: &TextFile) -> bool {
    let under_src = file.path.split_once("/src/").map_or("", |(_, rest)| rest);
    !file.path.ends_with("tests.rs") && !under_src.split('/').any(|folder| folder == "tests")
}

fn lies_in(path: &str, place: &str) -> bool {
    path.strip_prefix(place).is_some_and(|rest| rest.starts_with('/') || rest == ".rs")
}

fn trespasses_in(file: &TextFile, boundary: &Boundary, crates: &BTreeSet<String>) -> Vec<Finding> {
    let tokens = shipped_tokens(&file.text);
    let offences: Vec<(usize, String)> = match boundary.ban {
        Ban::Sql => texts(&tokens, |text| is_sql(text).then(|| "SQL".to_owned())),
        Ban::DollarParameters => texts(&tokens, |text| {
            (is_sql(text) && has_dollar_parameter(text)).then(|| "`$` in SQL".to_owned())
        }),
        Ban::Words(words) => worded(&tokens, words),
        Ban::Crates(_)
        | Ban::CratesBut(_)
        | Ban::Modules(_)
        | Ban::ModulesBut(_)
        | Ban::Paths(_) => pathed(file, &tokens, boundary, crates),
    };
    let finding = |(line, what): (usize, String)| {
        let message = format!("{what} in {}: {}", boundary.place, boundary.reason);
        Finding::new(format!("{}:{line}", file.path), message)
    };
    offences.into_iter().map(finding).collect()
}

fn pathed(
    file: &TextFile,
    tokens: &[Token],
    boundary: &Boundary,
    crates: &BTreeSet<String>,
) -> Vec<(usize, String)> {
    let module = file.path.split_once("/src/").map_or_else(Vec::new, |(_, rest)| module_of(rest));
    let named = paths(tokens, &module).into_iter().map(|path| inside_own_crate(path, file));
    named
        .filter(|path| is_banned(&path.segments, boundary, crates))
        .map(|path| (path.line, format!("`{}`", path.segments.join("::"))))
        .collect()
}

/// A binary names its library as a crate of its own.
fn inside_own_crate(mut path: NamedPath, file: &TextFile) -> NamedPath {
    let own = CRATES.iter().find(|(folder, _)| lies_in(&file.path, folder));
    if own.is_some_and(|(_, name)| path.segments[0] == *name) {
        "crate".clone_into(&mut path.segments[0]);
    }
    path
}

fn is_banned(path: &[String], boundary: &Boundary, crates: &BTreeSet<String>) -> bool {
    let first = path[0].as_str();
    let module = (first == "crate").then(|| path.get(1).map(String::as_str)).flatten();
    match boundary.ban {
        Ban::Crates(banned) => banned.contains(&first),
        Ban::CratesBut(allowed) => crates.contains(first) && !allowed.contains(&first),
        Ban::Modules(banned) => module.is_some_and(|module| banned.contains(&module)),
        Ban::ModulesBut(allowed) => module.is_some_and(|module| {
            !allowed.contains(&module) && !boundary.place.ends_with(&format!("/{module}"))
        }),
        Ban::Paths(banned) => banned.iter().any(|banned| begins_with(path, banned)),
        Ban::Sql | Ban::DollarParameters | Ban::Words(_) => false,
    }
}

/// Whether `path` begins with `banned`, takes it in by `*`, or is the module it lies in, imported
/// to be named short.
fn begins_with(path: &[String], banned: &str) -> bool {
    let banned: Vec<&str> = banned.split("::").collect();
    let as_written = |length: usize| path.iter().zip(&banned[..length]).all(|(a, b)| a == b);
    let (parent, last) = (banned.len() - 1, path.get(banned.len() - 1));
    match last.map(String::as_str) {
        Some("*" | "self") => as_written(parent),
        Some(_) => as_written(banned.len()),
        None => path.len() == parent && parent > 1 && as_written(parent),
    }
}

fn texts(tokens: &[Token], judge: impl Fn(&str) -> Option<String>) -> Vec<(usize, String)> {
    tokens.iter().filter_map(|token| Some((token.line, judge(token.text()?)?))).collect()
}

/// Whether a literal reads as a statement; keywords are written in capitals here.
fn is_sql(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    let begins = |phrase: &[&str]| words.starts_with(phrase);
    begins(&["SELECT"])
        || begins(&["INSERT", "INTO"])
        || begins(&["INSERT", "OR"])
        || begins(&["DELETE", "FROM"])
        || begins(&["REPLACE", "INTO"])
        || begins(&["CREATE"])
        || begins(&["DROP"])
        || begins(&["WITH"])
        || begins(&["PRAGMA"])
        || begins(&["UPDATE"])
}

fn has_dollar_parameter(text: &str) -> bool {
    text.split('$').skip(1).any(|after| after.starts_with(|c: char| c.is_ascii_alphanumeric()))
}

fn worded(tokens: &[Token], banned: &[&str]) -> Vec<(usize, String)> {
    let judge = |token: &Token| {
        let written = token.word().or_else(|| token.text())?;
        let words = format!(" {} ", words_of(written).join(" "));
        let found = banned.iter().find(|word| words.contains(&format!(" {word} ")))?;
        Some((token.line, format!("\"{found}\"")))
    };
    tokens.iter().filter_map(judge).collect()
}

/// The words of `pull_request`, `PullRequest` or `a pull request`, in lower case.
fn words_of(written: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_lower = false;
    for c in written.chars() {
        let ends = !c.is_alphanumeric() || (c.is_uppercase() && after_lower);
        if ends {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
        after_lower = c.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
#[path = "imports_tests.rs"]
mod tests;
