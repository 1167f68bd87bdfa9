//! Real webhook payloads, fetched by CI and never committed.
//!
//! `ABIDE_CORPUS` names the folder of the npm package `@octokit/webhooks-examples`. Where it is
//! unset, tests that need it say so and do nothing, unless `ABIDE_CI` is set: then they fail.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::PathBuf;

/// The folder with the payloads, or `None` where it was not fetched and nobody insists on it.
///
/// # Panics
/// In CI, if there is no such folder.
#[must_use]
pub fn folder(test: &str) -> Option<PathBuf> {
    let insists = std::env::var_os("ABIDE_CI").is_some();
    match found(std::env::var_os("ABIDE_CORPUS")) {
        Ok(folder) => Some(folder),
        Err(why) if insists => panic!("{test} needs the corpus of webhook payloads: {why}"),
        Err(why) => {
            // Past the capture of the test runner: a test that did not run must be seen.
            let _ = writeln!(
                std::io::stderr().lock(),
                "NOT RUN: {test} needs the corpus of webhook payloads: {why}. `.ci/run` fetches it."
            );
            None
        }
    }
}

fn found(variable: Option<OsString>) -> Result<PathBuf, String> {
    let folder = PathBuf::from(variable.ok_or("ABIDE_CORPUS is not set")?);
    if folder.join("api.github.com/index.json").is_file() {
        Ok(folder)
    } else {
        Err(format!("{} holds no api.github.com/index.json", folder.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_payloads_is_no_corpus() {
        assert!(found(None).is_err());
        assert!(found(Some(OsString::from("/nowhere"))).is_err());
    }

    #[test]
    fn a_folder_with_payloads_is_a_corpus() {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let host = folder.path().join("api.github.com");
        std::fs::create_dir(&host).expect("a folder for the host");
        std::fs::write(host.join("index.json"), "[]").expect("a file for the test");
        assert_eq!(found(Some(folder.path().into())), Ok(folder.path().to_path_buf()));
    }
}
