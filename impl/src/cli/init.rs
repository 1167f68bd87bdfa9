//! `abide init`: a configuration and an executor that work as they are.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use crate::domain::Token;

/// Write a commented abide.toml and a sample executor script that work as they are
#[derive(Debug, Args)]
pub struct Init {
    /// Where to write them
    #[arg(value_name = "DIR", default_value = ".")]
    pub dir: PathBuf,
}

const CONFIG: &str = include_str!("init/abide.toml");
const SCRIPT: &str = include_str!("init/review.sh");

/// A file `init` writes.
struct Planned {
    name: &'static str,
    text: String,
    mode: u32,
}

impl Init {
    /// Writes the files and says what to do next; refuses, and writes nothing, if one exists.
    ///
    /// # Errors
    /// A stream could not be written to.
    pub fn run(self, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<ExitCode> {
        let Ok(secret) = Token::random() else {
            writeln!(err, "error: the system has no randomness for a webhook secret: try again")?;
            return Ok(ExitCode::FAILURE);
        };
        let files = plan(&secret);
        if let Some(file) = files.iter().find(|file| exists(&self.dir.join(file.name))) {
            let path = self.dir.join(file.name);
            let next = "move it away, or name another folder: `abide init DIR`";
            writeln!(err, "error: `{}` exists and is left as it is: {next}", path.display())?;
            return Ok(ExitCode::FAILURE);
        }
        for file in &files {
            if let Err(error) = write(&self.dir, file) {
                let path = self.dir.join(file.name);
                writeln!(err, "error: `{}` cannot be written: {error}", path.display())?;
                return Ok(ExitCode::FAILURE);
            }
        }
        self.next(&files, out)?;
        Ok(ExitCode::SUCCESS)
    }

    fn next(&self, files: &[Planned], out: &mut dyn Write) -> io::Result<()> {
        for file in files {
            writeln!(out, "wrote {}", self.dir.join(file.name).display())?;
        }
        let config = self.dir.join("abide.toml");
        let config = config.display();
        writeln!(out, "next: `abide check -c {config}`, then `abide serve -c {config}`")?;
        writeln!(
            out,
            "      on GitHub, add a webhook for /hooks/github, content type application/json,"
        )?;
        writeln!(out, "      with the secret in {}", self.dir.join(SECRET).display())
    }
}

const SECRET: &str = "state/github.secret";

fn plan(secret: &Token) -> [Planned; 3] {
    [
        Planned { name: "abide.toml", text: CONFIG.to_owned(), mode: 0o644 },
        Planned { name: "review.sh", text: SCRIPT.to_owned(), mode: 0o755 },
        Planned { name: SECRET, text: format!("{}\n", secret.reveal()), mode: 0o600 },
    ]
}

/// A dangling link counts: writing through it would surprise.
fn exists(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// Creates the file anew; whoever came first keeps it.
fn write(dir: &Path, file: &Planned) -> io::Result<()> {
    let path = dir.join(file.name);
    fs::create_dir_all(dir)?;
    if let Some(parent) = path.parent().filter(|parent| !exists(parent)) {
        fs::DirBuilder::new().mode(0o700).create(parent)?;
    }
    let mut options = OpenOptions::new();
    let mut created = options.write(true).create_new(true).mode(file.mode).open(&path)?;
    created.write_all(file.text.as_bytes())
}
