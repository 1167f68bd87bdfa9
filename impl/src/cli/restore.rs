//! `abide restore`: a backup in the place of the database.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::place::Place;
use super::show::Screen;
use super::show::text::{age, printable, wrapped};
use super::{Code, Failure, Ran, output};
use crate::backup::{self, Origin, RestoreError, Restored};
use crate::clock::Clock;
use crate::store::copy::Contents;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  abide restore /var/backups/abide-2026-03-01.db
  abide serve                        # in another terminal
  abide work list
  abide hold release --restore

It refuses while a daemon serves the database, and checks the backup before it touches anything. \
The database that is replaced is kept beside it, and replaced by a backup of itself alone unless \
--other-database is said. Run it as the daemon's own user. What was done after the backup is not known to it \
any more: so whoever runs under the authority of before is refused, and no work starts until you \
have seen to it that nothing of the other life runs on, and have said so.")]
pub(super) struct Args {
    /// What `abide backup` wrote
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Put it in the place of a database that it is no backup of
    #[arg(long)]
    other_database: bool,
    /// Print the answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: Place,
}

/// The answer for programs.
#[derive(Serialize)]
struct Printed<'a> {
    database: &'a Path,
    kept: Option<&'a Path>,
    seq: i64,
    journal_row: i64,
    incarnation: u32,
}

pub(super) fn run(args: &Args) -> Ran {
    let database = args.place.database_path()?;
    let origin = if args.other_database { Origin::Any } else { Origin::Same };
    let restored = backup::restore(&database, &args.file, origin, &Clock::system())
        .map_err(|error| Failure::refused(complaint(&error)))?;
    if args.json {
        let now = &restored.now;
        output::json(&Printed {
            database: &database,
            kept: restored.kept.as_deref(),
            seq: now.seq.0,
            journal_row: now.row,
            incarnation: now.incarnation.0,
        })?;
    } else {
        let start = args.place.start_command();
        output::line(&said(&database, &args.file, &restored, &start, Screen::of_process()))?;
    }
    Ok(Code::Done)
}

/// That nothing has changed is what whoever restores wants to know first.
fn complaint(error: &RestoreError) -> String {
    match error {
        RestoreError::Unfinished { .. } | RestoreError::Later(_) => error.to_string(),
        RestoreError::Held { .. }
        | RestoreError::Lock(_)
        | RestoreError::Unreadable { .. }
        | RestoreError::Foreign { .. }
        | RestoreError::Damaged { .. }
        | RestoreError::Owner { .. }
        | RestoreError::Other { .. }
        | RestoreError::Untrusted { .. }
        | RestoreError::Strange(_)
        | RestoreError::Unwritable { .. }
        | RestoreError::Store(_)
        | RestoreError::Write(_)
        | RestoreError::Answer { .. } => format!("{error}; nothing was changed"),
    }
}

fn said(database: &Path, file: &Path, restored: &Restored, start: &str, screen: Screen) -> String {
    let shown = |path: &Path| printable(&path.display().to_string());
    let Restored { backup, now, replaced, kept } = restored;
    let written = age(&backup.time_mark.to_string(), screen.now);
    let mut lines = vec![
        format!("restored {} into {}", shown(file), shown(database)),
        format!("  {}; last written {written} ago", holds(now)),
    ];
    if let Some(kept) = kept {
        let lost = match replaced {
            Some(replaced) => format!("it {}", holds(replaced)),
            None => "it cannot be read".to_owned(),
        };
        lines.push(format!("  what it replaces is kept as {}: {lost}", shown(kept)));
    }
    lines.push(
        "  all work is held: what was done after the backup is not known to it, and may still run"
            .to_owned(),
    );
    lines.push(format!(
        "  next: `{start}`, see that nothing of before runs on, then `abide hold release --restore`"
    ));
    let wrap = |line: String| match line.strip_prefix("  ") {
        Some(rest) => wrapped(rest, "  ", screen.width),
        None => wrapped(&line, "", screen.width),
    };
    lines.into_iter().map(wrap).collect::<Vec<_>>().join("\n")
}

/// What a database holds, as a person recognises it.
pub(super) fn holds(contents: &Contents) -> String {
    let Contents { seq, row, incarnation, .. } = contents;
    format!("holds events up to {seq} and the journal up to row {row}, incarnation {incarnation}")
}

#[cfg(test)]
mod tests {
    use super::super::show::canned;
    use super::*;

    fn shown(replaced: Option<Contents>, kept: Option<&str>) -> String {
        let kept = kept.map(PathBuf::from);
        let (backup, now) = (canned::contents(1), canned::contents(2));
        let restored = Restored { backup, now, replaced, kept };
        let (database, file) = (Path::new("state/abide.db"), Path::new("b.db"));
        said(database, file, &restored, "abide serve -c abide.toml", canned::screen())
    }

    #[test]
    fn a_restore_says_what_is_so_now_and_what_to_do() {
        let kept = Some("state/abide.db.before-2");
        let all = [(Some(canned::contents(1)), kept), (None, kept), (None, None)];
        let said = all.map(|(replaced, kept)| shown(replaced, kept));
        insta::assert_snapshot!(said.join("\n---\n"));
    }
}
