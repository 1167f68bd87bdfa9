//! `abide tool inbox` and `abide tool ack`: what comes while a command works, and that it was taken
//! in. Both are about files of the segment's folder, so that they need no daemon.

use std::io;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::environment;
use super::wait::milliseconds;
use crate::cli::{Code, Failure, Ran, output};
use crate::domain::EventUid;
use crate::keeper::acks::{self, AckError};
use crate::keeper::events::Events;
use crate::keeper::folder::Folder;

/// Pause between two looks at the inbox.
const LOOK: Duration = Duration::from_millis(100);

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  abide tool inbox --wait 2m | while read -r id event; do
      printf '%s\\n' \"$event\" >> heard.ndjson
      abide tool ack \"$id\" </dev/null || exit 75
  done

What is not acknowledged is handed to the next attempt.")]
pub(super) struct Inbox {
    /// Go on with what comes, until nothing has come for so long: 90s, 2m. If left out, only what is
    /// there now
    #[arg(long, value_name = "T", value_parser = milliseconds)]
    wait: Option<u64>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  abide tool ack evt_01kb3n8x9qf5v8h2m4c6w7y0za

It needs no daemon, and may be said again. With an id that is not in the inbox, none is acknowledged.")]
pub(super) struct Ack {
    /// The events: the ids that `abide tool inbox` prints, `abideid` in the events
    #[arg(value_name = "EVENT", required = true)]
    events: Vec<String>,
}

/// Where the inbox is, and the folder that it is in.
fn place() -> Result<(PathBuf, Folder), Failure> {
    let path = environment("ABIDE_INBOX").map_err(|_| {
        let next = "only a command of a `shell` binding has an inbox";
        Failure::new(Code::Usage, format!("ABIDE_INBOX is not set: {next}"))
    })?;
    let folder = path.parent().map(PathBuf::from).unwrap_or_default();
    Ok((path, Folder::at(folder)))
}

/// Prints each event once. What is acknowledged meanwhile is not printed.
pub(super) fn print(args: &Inbox) -> Ran {
    let (path, folder) = place()?;
    let mut events = Events::of(path);
    let wait = Duration::from_millis(args.wait.unwrap_or(0));
    let mut heard = Instant::now();
    loop {
        let news = events.news().map_err(|error| unreadable(&error))?;
        if !news.is_empty() {
            let taken_in = acks::read(&folder).map_err(|error| unreadable(&error))?;
            for (id, event) in news.iter().filter(|(id, _)| !taken_in.contains(id)) {
                output::named_json(&id.to_string(), event)?;
            }
            heard = Instant::now();
            continue;
        }
        let left = wait.saturating_sub(heard.elapsed());
        if left.is_zero() {
            return Ok(Code::Done);
        }
        sleep(left.min(LOOK));
    }
}

fn unreadable(error: &io::Error) -> Failure {
    Failure::refused(format!("cannot read the inbox: {error}"))
}

/// Says it in the folder. Whether it counts is decided when the result of the attempt is committed.
pub(super) fn acknowledge(args: &Ack) -> Ran {
    let (_, folder) = place()?;
    let ids: Result<Vec<EventUid>, Failure> = args.events.iter().map(|text| id(text)).collect();
    match acks::add(&folder, &ids?) {
        Ok(()) => Ok(Code::Done),
        Err(AckError::NotThere(event)) => Err(stranger(&event.to_string())),
        Err(AckError::Io(error)) if is_no_file(&error) => {
            let next = "leave the files in the folder of ABIDE_INBOX as they are";
            Err(Failure::refused(format!("cannot keep the acknowledgement: {error}: {next}")))
        }
        Err(error @ AckError::Io(_)) => {
            Err(Failure::new(Code::Later, format!("{error}: try later")))
        }
        Err(error @ AckError::Full) => Err(Failure::refused(error.to_string())),
    }
}

/// Something else is where a file should be, which no waiting changes.
fn is_no_file(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::IsADirectory)
}

fn id(text: &str) -> Result<EventUid, Failure> {
    text.parse().map_err(|_| stranger(text))
}

fn stranger(event: &str) -> Failure {
    let next = "acknowledge ids that `abide tool inbox` prints";
    Failure::refused(format!("`{event}` is not in the inbox of this command: {next}"))
}
