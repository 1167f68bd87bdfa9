//! The files of the repository, as a fresh clone would have them.

use std::io;
use std::path::{Path, PathBuf};

/// Folders that a build or a run makes and git ignores.
const MADE: &[&str] = &["target", ".git", ".cache"];

/// The root of the repository.
#[must_use]
pub fn root() -> PathBuf {
    let crate_root = Path::new(env!("CARGO_MANIFEST_DIR"));
    crate_root.parent().unwrap_or(crate_root).to_path_buf()
}

/// A text file and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextFile {
    /// Its path under the root, with `/` between the segments.
    pub path: String,
    /// What it holds.
    pub text: String,
}

/// Every text file under `root`, in the order of their paths. Files that are not UTF-8 are left
/// out.
///
/// # Errors
/// If a folder or a file cannot be read.
pub fn text_files(root: &Path) -> io::Result<Vec<TextFile>> {
    let mut paths = Vec::new();
    collect(root, &mut paths)?;
    paths.sort();
    let mut files = Vec::with_capacity(paths.len());
    for path in paths {
        if let Ok(text) = String::from_utf8(std::fs::read(&path)?) {
            files.push(TextFile { path: relative(root, &path), text });
        }
    }
    Ok(files)
}

/// The Rust sources among `files`.
pub fn sources(files: &[TextFile]) -> impl Iterator<Item = &TextFile> {
    files.iter().filter(|file| file.path.ends_with(".rs"))
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let made = entry.file_name().to_str().is_some_and(|name| MADE.contains(&name));
        if kind.is_dir() && !made {
            collect(&entry.path(), paths)?;
        } else if kind.is_file() && !made {
            paths.push(entry.path());
        }
    }
    Ok(())
}

fn relative(root: &Path, path: &Path) -> String {
    let under = path.strip_prefix(root).unwrap_or(path);
    let segments: Vec<String> =
        under.iter().map(|segment| segment.to_string_lossy().into_owned()).collect();
    segments.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_file_is_among_the_files_of_the_repository() {
        let files = text_files(&root()).expect("the repository can be read");
        let this = files.iter().find(|file| file.path == "tests/src/specs/files.rs");
        assert!(this.is_some_and(|file| file.text.contains("fn this_file_is_among")));
        assert!(files.iter().all(|file| !file.path.starts_with("target/")));
    }
}
