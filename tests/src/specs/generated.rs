//! Every generated file, so that one command writes them all and one test finds the stale ones.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use super::audit::checked_rules;
use super::conformance::{CONFORMANCE, page};
use super::corpora::{self, TRACES};
use super::files::TextFile;
use super::finding::Finding;
use super::ratchet::{RATCHET, tightened};
use super::registry::Registry;
use super::rules::Rulebook;
use super::schemas::{SCHEMA_FILES, SCHEMAS};

/// The command that rewrites every generated file.
pub const COMMAND: &str = "cargo run -p abide-tests --bin regenerate";

/// What every generated file should hold, by its path under the root.
#[must_use]
pub fn generated(
    book: &Rulebook,
    registry: &Registry,
    files: &[TextFile],
) -> BTreeMap<String, String> {
    let ratchet = text_of(files, RATCHET).unwrap_or_default();
    let mut generated = BTreeMap::from([
        (CONFORMANCE.to_owned(), page(book, registry)),
        (RATCHET.to_owned(), tightened(ratchet, &checked_rules(book, registry))),
    ]);
    generated.extend(SCHEMA_FILES.iter().map(|file| (file.path(), file.text())));
    generated.extend(corpora::files());
    generated
}

/// The generated files that are missing, differ or are generated no longer.
#[must_use]
pub fn stale(expected: &BTreeMap<String, String>, files: &[TextFile]) -> Vec<Finding> {
    let differing = expected.iter().filter_map(|(path, text)| match text_of(files, path) {
        Some(found) if found == text => None,
        Some(found) => Some(Finding::new(path, difference(found, text))),
        None => Some(Finding::new(path, format!("is missing: run `{COMMAND}`"))),
    });
    let orphans = orphans(expected, files)
        .map(|path| Finding::new(path, format!("is generated no longer: run `{COMMAND}`")));
    differing.chain(orphans).collect()
}

/// Writes the generated files under `root` that are stale, removes those generated no longer, and
/// answers with the paths of both.
///
/// # Errors
/// If a file or its folder cannot be written.
pub fn write(
    root: &Path,
    expected: &BTreeMap<String, String>,
    files: &[TextFile],
) -> io::Result<Vec<String>> {
    let mut touched = Vec::new();
    for (path, text) in expected {
        if text_of(files, path) != Some(text) {
            let target = root.join(path);
            std::fs::create_dir_all(target.parent().unwrap_or(root))?;
            std::fs::write(target, text)?;
            touched.push(path.clone());
        }
    }
    for path in orphans(expected, files) {
        std::fs::remove_file(root.join(path))?;
        touched.push(path.to_owned());
    }
    Ok(touched)
}

/// The files of the folder that only generated files live in and that nothing generates.
fn orphans<'a>(
    expected: &'a BTreeMap<String, String>,
    files: &'a [TextFile],
) -> impl Iterator<Item = &'a str> {
    let folders = [format!("{SCHEMAS}/"), format!("{TRACES}/")];
    let paths = files.iter().map(|file| file.path.as_str());
    paths.filter(move |path| {
        folders.iter().any(|folder| path.starts_with(folder)) && !expected.contains_key(*path)
    })
}

fn text_of<'a>(files: &'a [TextFile], path: &str) -> Option<&'a str> {
    files.iter().find(|file| file.path == path).map(|file| file.text.as_str())
}

fn difference(found: &str, expected: &str) -> String {
    let same = found.lines().zip(expected.lines()).take_while(|(found, text)| found == text);
    format!("is stale from line {} on: run `{COMMAND}`", same.count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> TextFile {
        TextFile { path: path.to_owned(), text: text.to_owned() }
    }

    fn expected() -> BTreeMap<String, String> {
        generated(&Rulebook::default(), &Registry::default(), &[])
    }

    fn files() -> Vec<TextFile> {
        expected().iter().map(|(path, text)| file(path, text)).collect()
    }

    #[test]
    fn what_was_just_generated_is_not_stale() {
        assert_eq!(stale(&expected(), &files()), []);
    }

    #[test]
    fn a_changed_a_missing_and_a_left_over_file_are_stale() {
        let mut changed = files();
        changed[0].text.push_str("by hand\n");
        let missing = files()[1..].to_vec();
        let mut left_over = files();
        left_over.push(file("specs/schemas/old.json", "{}"));
        for files in [changed, missing, left_over] {
            let found = stale(&expected(), &files);
            assert_eq!(found.len(), 1);
            assert!(found[0].to_string().contains(COMMAND));
        }
    }

    #[test]
    fn writing_makes_them_current_and_touches_nothing_else() {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let root = folder.path();
        std::fs::create_dir_all(root.join(SCHEMAS)).expect("a folder for schemas");
        for path in ["specs/rules.toml", "specs/schemas/old.json"] {
            std::fs::write(root.join(path), "old").expect("a file for the test");
        }
        let before = super::super::files::text_files(root).expect("the folder can be read");
        let touched = write(root, &expected(), &before).expect("the files can be written");
        let after = super::super::files::text_files(root).expect("the folder can be read");
        assert_eq!(touched.len(), expected().len() + 1);
        assert_eq!(stale(&expected(), &after), []);
        assert!(after.contains(&file("specs/rules.toml", "old")));
        assert_eq!(write(root, &expected(), &after).expect("nothing to write").len(), 0);
    }
}
