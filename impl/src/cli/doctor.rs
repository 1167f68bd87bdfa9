//! `abide doctor`: what can be checked on data at rest. It needs no daemon and repairs nothing.

use std::path::Path;

use super::place::Place;
use super::show::Screen;
use super::show::text::{counted, printable, wrapped};
use super::{Code, Failure, Ran, output};
use crate::store::doctor::{self, Finding, Severity};
use crate::store::reads::{self, Counts};
use crate::store::{Store, StoreError, journal};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  abide doctor || abide doctor --json > findings.ndjson

It reads one snapshot of the database, whether or not a daemon runs on it. It exits 1 if it \
finds damage; what a daemon will deal with by itself is shown as a note.")]
pub(super) struct Args {
    /// Print one JSON object for each finding
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: Place,
}

/// What was looked at, and what was found.
struct Examined {
    counts: Counts,
    rows: i64,
    findings: Vec<Finding>,
}

pub(super) fn run(args: &Args) -> Ran {
    let file = args.place.database()?;
    let examined = examine(&file).map_err(|error| {
        let next = "is it a database of this version of abide?";
        Failure::refused(format!("{} cannot be examined: {error}: {next}", file.display()))
    })?;
    if args.json {
        output::json_lines(&examined.findings)?;
    } else {
        output::line(&said(&file, &examined, Screen::of_process()))?;
    }
    let damaged = examined.findings.iter().any(|found| found.severity == Severity::Damage);
    Ok(if damaged { Code::Refused } else { Code::Done })
}

fn examine(file: &Path) -> Result<Examined, StoreError> {
    let store = Store::open_reader(file)?;
    let mut session = store.session();
    session.begin_snapshot()?;
    Ok(Examined {
        findings: doctor::examine(&mut session)?,
        rows: journal::last(&mut session)?,
        counts: reads::counts(&mut session)?,
    })
}

fn said(file: &Path, examined: &Examined, screen: Screen) -> String {
    let shown = printable(&file.display().to_string());
    let seen = seen(examined);
    if examined.findings.is_empty() {
        return wrapped(&format!("sound: {seen} in {shown}; every check holds"), "", screen.width);
    }
    let found = counted(examined.findings.len(), "finding");
    let mut lines = vec![wrapped(&format!("{found} in {shown} ({seen})"), "", screen.width)];
    lines.extend(examined.findings.iter().map(|finding| shown_finding(finding, screen)));
    lines.join("\n")
}

fn seen(examined: &Examined) -> String {
    let Examined { counts, rows, .. } = examined;
    let count = |count: i64, noun| counted(usize::try_from(count).unwrap_or_default(), noun);
    format!(
        "{}, {}, {}",
        count(counts.events, "event"),
        count(counts.ready + counts.running + counts.waiting, "open work"),
        count(*rows, "journal row")
    )
}

fn shown_finding(finding: &Finding, screen: Screen) -> String {
    let first = match finding.severity {
        Severity::Damage => "damage  ",
        Severity::Info => "note    ",
    };
    let Finding { check, what, remedy, .. } = finding;
    let what = wrapped(&printable(&format!("not so: {check}: {what}")), first, screen.width);
    format!("{what}\n{}", wrapped(&format!("next: {remedy}"), "        ", screen.width))
}

#[cfg(test)]
mod tests {
    use super::super::show::canned;
    use super::*;

    #[test]
    fn a_sound_database_is_said_to_be_sound() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("abide.db");
        drop(Store::open(&file).expect("a database"));
        let examined = examine(&file).expect("it can be read");
        let said = said(Path::new("abide.db"), &examined, canned::screen());
        assert_eq!(
            said,
            "sound: 0 events, 0 open works, 0 journal rows in abide.db; every check holds"
        );
    }

    #[test]
    fn a_finding_is_shown_with_its_remedy() {
        let finding = |severity, what: &str, remedy| Finding {
            severity,
            check: "an event is either unrouted or marked",
            what: what.to_owned(),
            remedy,
        };
        let counts = Counts { events: 7, waiting: 1, ..Counts::default() };
        let findings = vec![
            finding(Severity::Damage, "event 5\u{7}", "restore the last good backup"),
            finding(Severity::Info, "event 6", "start the daemon: it routes the event"),
        ];
        let examined = Examined { counts, rows: 12, findings };
        insta::assert_snapshot!(said(Path::new("abide.db"), &examined, canned::screen()), @r"
        2 findings in abide.db (7 events, 1 open work, 12 journal rows)
        damage  not so: an event is either unrouted or marked: event 5\u{7}
                next: restore the last good backup
        note    not so: an event is either unrouted or marked: event 6
                next: start the daemon: it routes the event
        ");
    }

    #[test]
    fn what_is_no_database_is_not_examined() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("abide.db");
        std::fs::write(&file, "hello").expect("a file");
        assert!(examine(&file).is_err());
    }
}
