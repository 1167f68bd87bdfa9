//! Where the daemon of a configuration is found: its socket, and a token that opens it.
//!
//! Only the few words that say so are read. Whoever asks a daemon something need not hold its
//! secrets, nor have a configuration that the next start would accept.

use std::io;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::Failure;
use crate::backup;

/// The configuration whose daemon is asked.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct Place {
    /// The daemon's configuration
    #[arg(
        short,
        long,
        value_name = "FILE",
        env = "ABIDE_CONFIG",
        hide_env_values = true,
        default_value = "abide.toml"
    )]
    pub(super) config: PathBuf,
}

/// Whose daemon is asked, and as whom.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct Asked {
    #[command(flatten)]
    pub(super) place: Place,
    /// Ask as this principal; left out, as the one with the most rights whose token can be read
    #[arg(long = "as", value_name = "PRINCIPAL", env = "ABIDE_AS", hide_env_values = true)]
    pub(super) principal: Option<String>,
}

/// The operator door, as the configuration describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Doorway {
    /// Its socket.
    pub(super) socket: PathBuf,
    /// Files that may hold a principal's token, in the order they are tried.
    pub(super) tokens: Vec<PathBuf>,
}

impl Place {
    /// Finds the operator door, and what opens it to this principal, or to any.
    pub(super) fn doorway(&self, principal: Option<&str>) -> Result<Doorway, Failure> {
        let table = self.table()?;
        let set = |section: &str, word: &str| set(&table, section, word, &environment);
        let found = doorway(&table, self.folder(), principal, set);
        match principal.filter(|_| found.tokens.is_empty()) {
            Some(name) => Err(Failure::refused(format!(
                "{} gives `{name}` no token in a file: name another with --as",
                self.config.display()
            ))),
            None => Ok(found),
        }
    }

    /// Finds the database file, for those who look into it without a daemon.
    pub(super) fn database(&self) -> Result<PathBuf, Failure> {
        let file = self.database_path()?;
        let start = self.start_command();
        if backup::unfinished(&file) {
            let file = file.display();
            return Err(Failure::refused(format!(
                "a restore of {file} was interrupted: `{start}` finishes it, and so does another \
                 `abide restore`"
            )));
        }
        if !file.exists() {
            let file = file.display();
            return Err(Failure::refused(format!("there is no {file} yet: `{start}` makes it")));
        }
        Ok(file)
    }

    /// Where the database file is, or would be.
    pub(super) fn database_path(&self) -> Result<PathBuf, Failure> {
        let table = self.table()?;
        let set = |word: &str| set(&table, "daemon", word, &environment);
        let state = self.folder().join(set("state").as_deref().unwrap_or("state"));
        let address = set("database").unwrap_or_else(|| "sqlite:abide.db".to_owned());
        let Some(file) = address.strip_prefix("sqlite:") else {
            let config = self.config.display();
            return Err(Failure::refused(format!(
                "this version reads SQLite files only: see `database` in {config}"
            )));
        };
        Ok(state.join(file))
    }

    fn folder(&self) -> &Path {
        self.config.parent().unwrap_or(Path::new(""))
    }

    fn table(&self) -> Result<Table, Failure> {
        let text =
            std::fs::read_to_string(&self.config).map_err(|error| self.unreadable(&error))?;
        text.parse().map_err(|error: toml::de::Error| {
            let file = self.config.display();
            let said = error.message();
            Failure::refused(format!("{file} is not TOML ({said}): see `abide check -c {file}`"))
        })
    }

    /// The command that starts the daemon.
    pub(super) fn start_command(&self) -> String {
        format!("abide serve -c {}", self.config.display())
    }

    fn unreadable(&self, error: &io::Error) -> Failure {
        let file = self.config.display();
        let next = if error.kind() == io::ErrorKind::NotFound {
            "name it with -c FILE, or write one with `abide init`"
        } else {
            "name another with -c FILE"
        };
        Failure::refused(format!("cannot read {file}: {error}: {next}"))
    }
}

fn doorway(
    table: &Table,
    folder: &Path,
    asked: Option<&str>,
    set: impl Fn(&str, &str) -> Option<String>,
) -> Doorway {
    let state = folder.join(set("daemon", "state").as_deref().unwrap_or("state"));
    let socket = state.join(set("listen", "operator").as_deref().unwrap_or("operator.sock"));
    let principals = table.get("principal").and_then(Value::as_table).into_iter().flatten();
    let mut principals: Vec<&Value> = principals
        .filter(|(name, _)| asked.is_none_or(|asked| asked == name.as_str()))
        .map(|(_, principal)| principal)
        .collect();
    principals.sort_by_key(|principal| std::cmp::Reverse(rights(principal)));
    let files = principals.into_iter().filter_map(token_file);
    Doorway { socket, tokens: files.map(|file| folder.join(file)).collect() }
}

fn rights(principal: &Value) -> usize {
    principal.get("may").and_then(Value::as_array).map_or(0, Vec::len)
}

fn token_file(principal: &Value) -> Option<&str> {
    principal.get("token")?.get("file")?.as_str()
}

/// What a word is set to: by the environment, else by the file.
fn set(
    table: &Table,
    section: &str,
    word: &str,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Option<String> {
    let name = format!("ABIDE__{}__{}", section.to_uppercase(), word.to_uppercase());
    let in_file = || Some(table.get(section)?.get(word)?.as_str()?.to_owned());
    environment(&name).or_else(in_file)
}

fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

impl Doorway {
    /// The first token that can be read. One in an environment variable is the daemon's own.
    pub(super) fn token(&self, start: &str) -> Result<String, Failure> {
        let mut refused = None;
        for file in &self.tokens {
            match std::fs::read_to_string(file) {
                Ok(token) => return Ok(token.trim().to_owned()),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => refused = Some((file, error)),
            }
        }
        Err(Failure::refused(match (refused, self.tokens.first()) {
            (Some((file, error)), _) => {
                let file = file.display();
                format!("cannot read the token {file}: {error}: ask as the daemon's own user")
            }
            (None, Some(file)) => {
                let file = file.display();
                format!("there is no token {file} yet: the first `{start}` makes it")
            }
            (None, None) => {
                "no principal keeps its token in a file: add `token = { file = \"…\" }` to one"
                    .to_owned()
            }
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
        [daemon]
        state = "var"
        [listen]
        operator = "op.sock"
        [principal.ci]
        token = { env = "CI_TOKEN" }
        [principal.eye]
        token = { file = "eye.token" }
        may = ["view"]
        [principal.ops]
        token = { file = "ops.token" }
        may = ["view", "work"]
    "#;

    fn doorway_of(asked: Option<&str>, environment: &dyn Fn(&str) -> Option<String>) -> Doorway {
        let table: Table = FILE.parse().expect("TOML");
        let folder = Path::new("/etc/abide");
        doorway(&table, folder, asked, |section, word| set(&table, section, word, environment))
    }

    #[test]
    fn paths_are_relative_to_the_file_and_its_state() {
        let found = doorway_of(None, &|_| None);
        assert_eq!(found.socket, Path::new("/etc/abide/var/op.sock"));
        assert_eq!(found.tokens[0], Path::new("/etc/abide/ops.token"));
    }

    #[test]
    fn the_token_with_the_most_rights_is_tried_first_and_the_one_asked_for_alone() {
        let found = doorway_of(None, &|_| None);
        let tokens = ["/etc/abide/ops.token", "/etc/abide/eye.token"].map(PathBuf::from);
        assert_eq!(found.tokens, tokens);
        assert_eq!(doorway_of(Some("eye"), &|_| None).tokens, tokens[1..]);
        assert!(doorway_of(Some("ci"), &|_| None).tokens.is_empty(), "it is in no file");
    }

    #[test]
    fn the_environment_wins_over_the_file() {
        let state = |name: &str| (name == "ABIDE__DAEMON__STATE").then(|| "/run/abide".to_owned());
        let found = doorway_of(None, &state);
        assert_eq!(found.socket, Path::new("/run/abide/op.sock"));
    }

    #[test]
    fn a_missing_configuration_says_how_to_get_one() {
        let place = Place { config: "/nowhere/abide.toml".into() };
        let failure = place.doorway(None).expect_err("there is none");
        assert!(failure.message.contains("abide init"), "{}", failure.message);
    }

    #[test]
    fn a_missing_token_says_what_makes_it() {
        let doorway = Doorway { socket: "s".into(), tokens: vec!["/nowhere/ops.token".into()] };
        let failure = doorway.token("abide serve -c a.toml").expect_err("there is none");
        assert!(failure.message.contains("abide serve -c a.toml"), "{}", failure.message);
    }
}
