//! The file in which a command reads what comes while it works: one CloudEvent a line.
//!
//! It only grows. A line that has no end yet is not there yet.

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

use super::folder::open_file;
use crate::domain::EventUid;

/// How much is looked at in one go, give or take a line.
const PAGE: u64 = 1 << 20;

/// The longest line that is looked at.
const LINE_MAX: u64 = 8 << 20;

/// What of an Event tells which it is.
#[derive(Debug, Deserialize)]
struct Named {
    abideid: EventUid,
}

/// A reader of the file.
#[derive(Debug)]
pub struct Events {
    path: PathBuf,
    at: u64,
}

impl Events {
    /// From the beginning. The file need not be there yet.
    #[must_use]
    pub const fn of(path: PathBuf) -> Self {
        Self { path, at: 0 }
    }

    /// Events that were not answered before, in order: some of them, and none if there are none.
    /// Lines that are no Event are passed over.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn news(&mut self) -> io::Result<Vec<(EventUid, Value)>> {
        let Some(mut file) = open_file(&self.path)? else { return Ok(Vec::new()) };
        file.seek(SeekFrom::Start(self.at))?;
        let mut lines = BufReader::new(file);
        let (mut news, mut read) = (Vec::new(), 0);
        while read < PAGE || news.is_empty() {
            let mut line = Vec::new();
            let length = lines.by_ref().take(LINE_MAX).read_until(b'\n', &mut line)? as u64;
            if line.last() != Some(&b'\n') {
                break;
            }
            read += length;
            news.extend(event(&line));
        }
        self.at += read;
        Ok(news)
    }
}

fn event(line: &[u8]) -> Option<(EventUid, Value)> {
    Some((named(line)?, serde_json::from_slice(line).ok()?))
}

/// Which Event a line is.
pub(super) fn named(line: &[u8]) -> Option<EventUid> {
    serde_json::from_slice(line).ok().map(|Named { abideid }| abideid)
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::Write as _;

    use super::*;

    fn line(n: u128) -> String {
        let id = EventUid::from_uuid(uuid::Uuid::from_u128(n));
        serde_json::json!({"abideid": id.to_string(), "data": n.to_string()}).to_string()
    }

    #[test]
    fn a_line_is_there_once_its_end_is_and_is_answered_once() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let path = root.path().join("events.ndjson");
        let mut events = Events::of(path.clone());
        let seen = |events: &mut Events| -> Vec<u128> {
            let news = events.news().expect("readable");
            news.iter().map(|(id, _)| id.uuid().as_u128()).collect()
        };
        assert!(seen(&mut events).is_empty(), "it is not there yet");
        let mut file = OpenOptions::new().append(true).create(true).open(&path).expect("a file");
        let mut add = |text: &str| file.write_all(text.as_bytes()).expect("it is written");
        add(&format!("{}\n{}", line(1), &line(2)[..9]));
        assert_eq!(seen(&mut events), [1]);
        assert!(seen(&mut events).is_empty());
        add(&line(2)[9..]);
        assert!(seen(&mut events).is_empty(), "it has no end");
        add(&format!("\nno json\n{{}}\n\n{}\n", line(3)));
        assert_eq!(seen(&mut events), [2, 3]);
        assert!(seen(&mut events).is_empty());
        assert_eq!(seen(&mut Events::of(path)), [1, 2, 3]);
    }

    #[test]
    fn many_are_answered_in_parts_that_leave_nothing_out() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let path = root.path().join("events.ndjson");
        let padding = "x".repeat(1 << 15);
        let lines: String = (0..100).map(|n| format!("{}\n\"{padding}\"\n", line(n))).collect();
        std::fs::write(&path, lines).expect("it is written");
        let (mut events, mut seen, mut parts) = (Events::of(path), Vec::new(), 0);
        loop {
            let news = events.news().expect("readable");
            if news.is_empty() {
                break;
            }
            parts += 1;
            seen.extend(news.iter().map(|(id, _)| id.uuid().as_u128()));
        }
        assert!(parts > 1 && seen == (0..100).collect::<Vec<_>>(), "{parts}: {seen:?}");
    }
}
