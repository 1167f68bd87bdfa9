//! What a command says it has taken in of its inbox: a file of lines that its own processes add to.
//!
//! It is written by `abide tool ack`, in the segment's folder and under no lock, so that it needs
//! neither keeper nor daemon and outlives both. EXEC-07 EXEC-11
//!
//! Several processes of a command may add at once: each adds what it has with one write at the end
//! of the file. A write that a full disk cuts leaves a line without its end behind, so each begins
//! with a line break of its own, and no line is joined to what another left. What is no line of this
//! file is passed over.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::events::named;
use super::folder::Folder;
use super::inbox::{self, READ_MAX, each_line};
use crate::domain::EventUid;

/// How much of the file counts: many times what all of a full inbox takes.
const BYTES_MAX: u64 = 8 << 20;

/// One line of `acks.ndjson`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ack {
    /// The Event that was taken in.
    pub event: EventUid,
}

/// Acknowledgements that were not kept.
#[derive(Debug, thiserror::Error)]
pub enum AckError {
    /// The command was never given this Event to read. None of them was kept.
    #[error("{0} is not in the inbox")]
    NotThere(EventUid),
    /// They are not durable, and may be said again.
    #[error("cannot keep the acknowledgement: {0}")]
    Io(#[from] io::Error),
    /// The file holds too much that is no acknowledgement for any more to count.
    #[error("there is no room for the acknowledgement")]
    Full,
}

/// Keeps that these Events were taken in: durable once this answers, all of them or none. What was
/// said before may be said again.
///
/// # Errors
/// See [`AckError`].
pub fn add(folder: &Folder, events: &[EventUid]) -> Result<(), AckError> {
    let there = given(&folder.events())?;
    if let Some(stranger) = events.iter().find(|event| !there.contains(event)) {
        return Err(AckError::NotThere(*stranger));
    }
    let known = read(folder)?;
    let mut lines = Vec::new();
    for event in events.iter().filter(|event| !known.contains(event)) {
        lines.push(b'\n');
        serde_json::to_writer(&mut lines, &Ack { event: *event }).map_err(io::Error::from)?;
    }
    if !lines.is_empty() {
        lines.push(b'\n');
    }
    append(folder, &lines)?;
    let kept = read(folder)?;
    events.iter().all(|event| kept.contains(event)).then_some(()).ok_or(AckError::Full)
}

/// Also with nothing to add: whoever said it before may not have come to the end.
fn append(folder: &Folder, lines: &[u8]) -> io::Result<()> {
    let flags = i32::try_from(OFlags::NOFOLLOW.bits()).map_err(io::Error::other)?;
    let mut file = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .custom_flags(flags)
        .open(folder.acks())?;
    file.write_all(lines)?;
    file.sync_all()?;
    File::open(folder.path())?.sync_all()
}

/// The Events that were acknowledged, whether or not they were ever in the inbox.
///
/// # Errors
/// They cannot be read.
pub fn read(folder: &Folder) -> io::Result<HashSet<EventUid>> {
    let mut acknowledged = HashSet::new();
    each_line(&folder.acks(), BYTES_MAX, |line| {
        if let Ok(Ack { event }) = serde_json::from_slice(line) {
            acknowledged.insert(event);
        }
    })?;
    Ok(acknowledged)
}

/// The Events that the command was given to read and says it has taken in, each once, in the order
/// of the inbox. EXEC-04 EXEC-05
///
/// # Errors
/// They cannot be read.
pub fn consumed(folder: &Folder) -> io::Result<Vec<EventUid>> {
    let mut acknowledged = read(folder)?;
    if acknowledged.is_empty() {
        return Ok(Vec::new());
    }
    let ids = inbox::ids(&folder.inbox())?;
    let events = ids.iter().filter_map(|id| id.parse().ok());
    Ok(events.filter(|event| acknowledged.remove(event)).collect())
}

/// The Events in the file that a command reads.
fn given(path: &Path) -> io::Result<HashSet<EventUid>> {
    let mut given = HashSet::new();
    each_line(path, READ_MAX, |line| given.extend(named(line)))?;
    Ok(given)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keeper::inbox::begin;

    fn uid(n: u128) -> EventUid {
        EventUid::from_uuid(uuid::Uuid::from_u128(n))
    }

    /// A segment whose command was given these to read.
    fn segment(given: &[u128]) -> (tempfile::TempDir, Folder) {
        let root = tempfile::tempdir().expect("a temporary folder");
        let folder = Folder::create(root.path().join("s")).expect("a new folder");
        let mut lines = String::new();
        for n in given {
            let line = serde_json::json!({"abideid": uid(*n).to_string()}).to_string();
            begin(&folder.inbox(), &uid(*n).to_string(), &line).expect("it is written");
            lines = format!("{lines}{line}\n");
        }
        std::fs::write(folder.events(), lines).expect("it is written");
        (root, folder)
    }

    /// EXEC-04 EXEC-05
    #[test]
    fn what_was_read_and_acknowledged_is_consumed_once_in_the_order_of_the_inbox() {
        let (_root, folder) = segment(&[1, 2, 3]);
        assert_eq!(consumed(&folder).expect("readable"), []);
        add(&folder, &[uid(3), uid(3)]).expect("it is kept");
        add(&folder, &[uid(1), uid(3)]).expect("it is kept");
        add(&folder, &[uid(1)]).expect("it is kept already");
        assert_eq!(consumed(&folder).expect("readable"), [uid(1), uid(3)]);
    }

    /// EXEC-07: what nobody was given nobody has taken in.
    #[test]
    fn a_strangers_id_is_refused_and_the_others_with_it() {
        let (_root, folder) = segment(&[1]);
        let refused = add(&folder, &[uid(1), uid(2)]).expect_err("it is not there");
        assert!(matches!(refused, AckError::NotThere(event) if event == uid(2)), "{refused}");
        assert_eq!(consumed(&folder).expect("readable"), []);
        // Kept for the command and not written for it yet, so that it cannot have read it.
        begin(&folder.inbox(), &uid(2).to_string(), "{}").expect("it is written");
        add(&folder, &[uid(2)]).expect_err("it is not there");
        // Whoever writes into the file itself is believed in what was in the inbox, and no further.
        let lines = [1, 9].map(|n| serde_json::to_string(&Ack { event: uid(n) }).expect("plain"));
        std::fs::write(folder.acks(), lines.join("\n") + "\n").expect("it is written");
        assert_eq!(consumed(&folder).expect("readable"), [uid(1)]);
    }

    #[test]
    fn a_torn_or_damaged_file_counts_as_far_as_whole_lines_go() {
        let (_root, folder) = segment(&[1, 2, 3]);
        let ack = |n| serde_json::to_string(&Ack { event: uid(n) }).expect("plain data");
        let whole = format!("\n{}\nno json\n{{\"event\":7}}\n\u{0}\n{}", ack(1), ack(2));
        let mut bytes = whole.into_bytes();
        bytes.extend(b"\xff\xfe");
        std::fs::write(folder.acks(), &bytes).expect("it is written");
        assert_eq!(consumed(&folder).expect("readable"), [uid(1)]);
        // What comes after does not become part of the torn line.
        add(&folder, &[uid(3)]).expect("it is kept");
        assert_eq!(consumed(&folder).expect("readable"), [uid(1), uid(3)]);
        add(&folder, &[uid(2)]).expect("it is kept");
        assert_eq!(consumed(&folder).expect("readable"), [uid(1), uid(2), uid(3)]);
        for cut in 0..bytes.len() {
            std::fs::write(folder.acks(), &bytes[..cut]).expect("it is written");
            assert!(consumed(&folder).expect("readable").len() <= 1);
        }
    }

    #[test]
    fn a_torn_line_of_the_inbox_was_never_given() {
        let (_root, folder) = segment(&[1, 2]);
        let text = std::fs::read_to_string(folder.events()).expect("it is there");
        std::fs::write(folder.events(), text.trim_end()).expect("it is written");
        assert!(matches!(add(&folder, &[uid(2)]), Err(AckError::NotThere(_))));
        std::fs::write(folder.events(), format!("{text}\nno json\n{{}}\n")).expect("it is written");
        add(&folder, &[uid(1), uid(2)]).expect("it is kept");
        let journal = std::fs::read_to_string(folder.inbox()).expect("it is there");
        std::fs::write(folder.inbox(), journal.trim_end()).expect("it is written");
        assert_eq!(consumed(&folder).expect("readable"), [uid(1)]);
    }

    #[test]
    fn several_at_once_lose_nothing() {
        let all: Vec<u128> = (1..=24).collect();
        let (_root, folder) = segment(&all);
        let start = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            for part in all.chunks(3) {
                let (folder, start) = (&folder, &start);
                scope.spawn(move || {
                    start.wait();
                    for n in part {
                        add(folder, &[uid(*n)]).expect("it is kept");
                    }
                });
            }
        });
        let expected: Vec<_> = all.into_iter().map(uid).collect();
        assert_eq!(consumed(&folder).expect("readable"), expected);
    }

    #[test]
    fn what_is_no_file_is_neither_read_nor_written() {
        let (root, folder) = segment(&[1]);
        let elsewhere = root.path().join("elsewhere");
        std::fs::write(&elsewhere, "").expect("it is written");
        std::os::unix::fs::symlink(&elsewhere, folder.acks()).expect("a link");
        assert!(matches!(add(&folder, &[uid(1)]), Err(AckError::Io(_))));
        assert!(consumed(&folder).is_err());
        assert_eq!(std::fs::read(&elsewhere).expect("it is there"), b"");
        std::fs::remove_file(folder.acks()).expect("it is there");
        // More than any inbox could need leaves no room, and nobody is told otherwise.
        let full = File::create(folder.acks()).expect("a file");
        full.set_len(BYTES_MAX).expect("it grows");
        assert!(matches!(add(&folder, &[uid(1)]), Err(AckError::Full)));
        assert_eq!(consumed(&folder).expect("readable"), []);
    }
}
