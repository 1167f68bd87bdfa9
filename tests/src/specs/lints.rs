//! Which lints hold: those of the workspace and the entries of each crate's `clippy.toml`.

use std::collections::BTreeSet;

use toml::{Table, Value};

use super::files::TextFile;

/// The keys of a `clippy.toml` that forbid something by its path.
const DISALLOWED: &[&str] = &["disallowed-methods", "disallowed-types", "disallowed-macros"];

/// The lints by the name a rule gives them: `unsafe_code`, or `model/std::time::Instant` for an
/// entry of `model/clippy.toml`.
///
/// # Errors
/// A sentence, if one of the files is not TOML.
pub fn lints(files: &[TextFile]) -> Result<BTreeSet<String>, String> {
    let mut lints = BTreeSet::new();
    for file in files {
        if file.path == "Cargo.toml" {
            lints.extend(workspace_lints(&parse(file)?));
        } else if let Some(folder) = file.path.strip_suffix("/clippy.toml") {
            lints.extend(disallowed(folder, &parse(file)?));
        }
    }
    Ok(lints)
}

fn parse(file: &TextFile) -> Result<Table, String> {
    file.text.parse().map_err(|cause| format!("{}: {cause}", file.path))
}

fn workspace_lints(manifest: &Table) -> Vec<String> {
    let tools = manifest
        .get("workspace")
        .and_then(|workspace| workspace.get("lints"))
        .and_then(Value::as_table);
    let lints = tools.into_iter().flat_map(Table::values).filter_map(Value::as_table);
    lints.flatten().filter(|(_, level)| holds(level)).map(|(name, _)| name.clone()).collect()
}

/// A lint that is allowed holds nothing back.
fn holds(level: &Value) -> bool {
    level.as_str().or_else(|| level.get("level")?.as_str()).is_some_and(|level| level != "allow")
}

fn disallowed(folder: &str, config: &Table) -> Vec<String> {
    let entries = DISALLOWED.iter().filter_map(|key| config.get(*key)?.as_array()).flatten();
    let paths = entries.filter_map(|entry| entry.as_str().or_else(|| entry.get("path")?.as_str()));
    paths.map(|path| format!("{folder}/{path}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let file = TextFile { path: path.to_owned(), text: text.to_owned() };
        lints(&[file]).expect("the text is TOML").into_iter().collect()
    }

    #[test]
    fn workspace_lints_are_found_unless_allowed() {
        let manifest = "[workspace.lints.rust]\nunsafe_code = \"forbid\"\ndead_code = \"allow\"\n\
                        [workspace.lints.clippy]\nall = { level = \"warn\", priority = -1 }";
        assert_eq!(found("Cargo.toml", manifest), ["all", "unsafe_code"]);
        assert_eq!(found("model/Cargo.toml", manifest), Vec::<String>::new());
    }

    #[test]
    fn what_a_crate_disallows_is_found_under_its_folder() {
        let config = "disallowed-types = [\"std::time::Instant\"]\n\
                      disallowed-methods = [{ path = \"std::thread::sleep\", reason = \"r\" }]";
        assert_eq!(
            found("model/clippy.toml", config),
            ["model/std::thread::sleep", "model/std::time::Instant"]
        );
    }
}
