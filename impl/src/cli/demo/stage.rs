//! The folder a demo plays in.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::cli::Failure;
use crate::cli::place::{Asked, Place};
use crate::domain::Token;

const CONFIG: &str = include_str!("demo.toml");
const SCRIPT: &str = include_str!("review.sh");

/// A folder with a configuration, an executor script and a webhook secret.
#[derive(Debug)]
pub(super) struct Stage {
    folder: PathBuf,
    /// Removes the folder, unless it is to be kept.
    temporary: Option<TempDir>,
    /// What the sender and the daemon share.
    pub(super) secret: String,
    /// The `abide` that plays every part.
    pub(super) program: PathBuf,
}

impl Stage {
    /// Sets a folder up: `keep`, which must be empty or not there, or else a temporary one.
    pub(super) fn set(keep: Option<&Path>) -> Result<Self, Failure> {
        let cannot = |error: io::Error| Failure::refused(format!("cannot set the stage: {error}"));
        let (folder, temporary) = match keep {
            Some(folder) => (emptied(folder)?, None),
            None => {
                let made =
                    tempfile::Builder::new().prefix("abide-demo-").tempdir().map_err(cannot)?;
                (made.path().to_owned(), Some(made))
            }
        };
        let secret = Token::random().map_err(io::Error::other).map_err(cannot)?.reveal();
        let program = std::env::current_exe().map_err(cannot)?;
        let stage = Self { folder, temporary, secret, program };
        stage.write().map_err(cannot)?;
        Ok(stage)
    }

    fn write(&self) -> io::Result<()> {
        self.write_file("abide.toml", CONFIG, 0o644)?;
        self.write_file("webhook.secret", &self.secret, 0o600)?;
        let script = SCRIPT
            .replace("@ABIDE@", &quoted(&self.program))
            .replace("@DEMO@", &quoted(&self.folder));
        self.write_file("review.sh", &script, 0o755)
    }

    fn write_file(&self, name: &str, text: &str, mode: u32) -> io::Result<()> {
        let path = self.path(name);
        fs::write(&path, text)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(mode))
    }

    /// A file of the folder.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where the demo's daemon is found.
    pub(super) fn door(&self) -> Asked {
        Asked { place: Place { config: self.path("abide.toml") }, principal: None }
    }

    /// What a script has written, once it has.
    pub(super) fn read(&self, name: &str) -> Option<String> {
        let text = fs::read_to_string(self.path(name)).ok()?;
        text.ends_with('\n').then(|| text.trim_end().to_owned())
    }

    /// Lets the merge of the script end.
    pub(super) fn release(&self) -> io::Result<()> {
        fs::write(self.path("go"), "")
    }

    /// Whether the folder stays when this ends.
    pub(super) fn stays(&self) -> bool {
        self.temporary.is_none()
    }

    /// Leaves the folder where it is, for whoever wants to see what went wrong.
    pub(super) fn leave(&mut self) {
        if let Some(temporary) = self.temporary.take() {
            let _stays = temporary.keep();
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // Whatever ended the demo, its script must not wait for ever.
        let _ = self.release();
    }
}

fn emptied(folder: &Path) -> Result<PathBuf, Failure> {
    let shown = folder.display();
    let cannot = |error: io::Error| Failure::refused(format!("cannot use {shown}: {error}"));
    fs::create_dir_all(folder).map_err(cannot)?;
    if fs::read_dir(folder).map_err(cannot)?.next().is_some() {
        return Err(Failure::refused(format!("{shown} is not empty: name a new folder")));
    }
    // The script is started in another folder.
    fs::canonicalize(folder).map_err(cannot)
}

/// A path as one word of a shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Environment};

    #[test]
    fn the_stage_is_a_configuration_that_a_daemon_would_start_with() {
        let stage = Stage::set(None).expect("a stage");
        let config = Config::load(&stage.path("abide.toml"), &Environment::default());
        assert!(config.is_ok(), "{}", config.expect_err("it is wrong"));
    }

    #[test]
    fn a_folder_with_something_in_it_is_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("mine"), "").expect("a file");
        let failure = Stage::set(Some(folder.path())).expect_err("it is taken");
        assert!(failure.message.contains("not empty"), "{}", failure.message);
    }

    #[test]
    fn a_path_is_one_word_of_a_shell() {
        assert_eq!(quoted(Path::new("/a b/it's")), r"'/a b/it'\''s'");
    }
}
