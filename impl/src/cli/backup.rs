//! `abide backup`: one snapshot of the database in a file of its own.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::place::Place;
use super::show::Screen;
use super::show::text::{printable, size, wrapped};
use super::{Code, Failure, Ran, output};
use crate::backup::{self, Written};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  abide backup /var/backups/abide-$(date +%F).db
  abide backup before-upgrade.db

It may run while the daemon does, and holds nothing up. The file is one consistent snapshot, was \
read back and found sound, is readable by its owner alone, and needs nothing beside it. It holds \
what the database holds, the payloads of events included; sockets, tokens of principals and what \
attempts have printed lie in the state folder and are not part of it.")]
pub(super) struct Args {
    /// The file to write; one that exists is left as it is
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Print the answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: Place,
}

/// The answer for programs.
#[derive(Serialize)]
struct Printed<'a> {
    file: &'a Path,
    bytes: u64,
    seq: i64,
    journal_row: i64,
    incarnation: u32,
}

pub(super) fn run(args: &Args) -> Ran {
    let database = args.place.database()?;
    let written = backup::backup(&database, &args.file)
        .map_err(|error| Failure::refused(error.to_string()))?;
    if args.json {
        let contents = &written.contents;
        output::json(&Printed {
            file: &args.file,
            bytes: written.bytes,
            seq: contents.seq.0,
            journal_row: contents.row,
            incarnation: contents.incarnation.0,
        })?;
    } else {
        output::line(&said(&database, &args.file, &written, Screen::of_process()))?;
    }
    Ok(Code::Done)
}

fn said(database: &Path, file: &Path, written: &Written, screen: Screen) -> String {
    let shown = |path: &Path| printable(&path.display().to_string());
    let (database, file) = (shown(database), shown(file));
    let first = format!("wrote {file} ({}), one sound snapshot of {database}", size(written.bytes));
    let holds = super::restore::holds(&written.contents);
    let next = format!("next: with the daemon stopped, `abide restore {file}` goes back to it");
    let lines = [
        wrapped(&first, "", screen.width),
        wrapped(&holds, "  ", screen.width),
        wrapped(&next, "  ", screen.width),
    ];
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::super::show::canned;
    use super::*;

    #[test]
    fn a_backup_says_what_it_holds() {
        let written = Written { contents: canned::contents(1), bytes: 1_300_000 };
        insta::assert_snapshot!(said(
            Path::new("state/abide.db"),
            Path::new("b.db"),
            &written,
            canned::screen()
        ));
    }
}
