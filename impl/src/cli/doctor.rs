//! `abide doctor`: what can be checked on data at rest, and how a daemon is that runs on it. It needs
//! no daemon and repairs nothing.

use std::path::Path;

use serde::Deserialize;

use super::operator::Operator;
use super::place::{Asked, Place};
use super::show::Screen;
use super::show::text::{counted, printable, wrapped};
use super::{Code, Failure, Ran, block_on, output};
use crate::config::length;
use crate::domain::Duration;
use crate::host::LoopHealth;
use crate::store::doctor::{self, Finding, Severity};
use crate::store::reads::{self, Counts};
use crate::store::{Store, StoreError, journal};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  abide doctor || abide doctor --json > findings.ndjson

It reads one snapshot of the database, whether or not a daemon runs on it. If one does and can be \
asked, it is asked whether it gets on. It exits 1 if it finds damage, or a daemon that does not; what a \
daemon will deal with by itself is shown as a note.")]
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
    let mut examined = examine(&file).map_err(|error| {
        let next = "is it a database of this version of abide?";
        Failure::refused(format!("{} cannot be examined: {error}: {next}", file.display()))
    })?;
    examined.findings.extend(readiness(&args.place).iter().flat_map(stuck));
    if args.json {
        output::json_lines(&examined.findings)?;
    } else {
        output::line(&said(&file, &examined, Screen::of_process()))?;
    }
    let damaged = examined.findings.iter().any(|found| found.severity == Severity::Damage);
    Ok(if damaged { Code::Refused } else { Code::Done })
}

/// What a daemon says of itself at `/readyz`.
#[derive(Debug, Deserialize)]
struct Readiness {
    storage: String,
    loops: Vec<LoopHealth>,
}

/// `None` if no daemon runs, or it answers nobody who asks here.
fn readiness(place: &Place) -> Option<Readiness> {
    let asked = Asked { place: place.clone(), principal: None };
    let operator = Operator::of(&asked).ok()?;
    block_on(async { operator.body("/readyz").await }).ok().flatten()
}

/// What keeps a daemon from getting on.
fn stuck(readiness: &Readiness) -> Vec<Finding> {
    let finding = |check, what, remedy| Finding { severity: Severity::Damage, check, what, remedy };
    let storage = Some(&readiness.storage).filter(|storage| *storage != "ok").map(|storage| {
        let remedy = "free what keeps the database from being written; it goes on by itself then";
        finding("the daemon can commit", storage.clone(), remedy)
    });
    let loops = readiness.loops.iter().filter(|one| one.stuck).map(|one| {
        let LoopHealth { name, looked_ms_ago, panics, .. } = one;
        let ago = length(Duration::seconds(looked_ms_ago / 1000));
        let what = format!("`{name}` looked last {ago} ago, and broke {panics} times");
        let remedy = "read the daemon's log, then restart it: running attempts go on meanwhile";
        finding("every loop of the daemon looks", what, remedy)
    });
    storage.into_iter().chain(loops).collect()
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

    /// T13
    #[test]
    fn a_loop_that_has_stopped_is_a_finding_with_its_age() {
        let readiness = serde_json::json!({
            "ready": false, "storage": "ok", "stuck": ["timers"],
            "loops": [
                { "name": "router", "looked_ms_ago": 12, "stuck": false, "panics": 0 },
                { "name": "timers", "looked_ms_ago": 95_400, "stuck": true, "panics": 3 },
            ],
        });
        let mut readiness: Readiness = serde_json::from_value(readiness).expect("its form");
        let found = stuck(&readiness);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].severity, Severity::Damage, "it exits 1");
        assert_eq!(found[0].what, "`timers` looked last 1m 35s ago, and broke 3 times");
        readiness.loops.clear();
        assert!(stuck(&readiness).is_empty());
        "no room".clone_into(&mut readiness.storage);
        assert_eq!(stuck(&readiness)[0].check, "the daemon can commit");
    }

    #[test]
    fn what_is_no_database_is_not_examined() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("abide.db");
        std::fs::write(&file, "hello").expect("a file");
        assert!(examine(&file).is_err());
    }
}
