//! What the command reads on its standard input: a file of lines that is only ever added to.
//!
//! A line is on disk before it is acknowledged, and an id names one line for good, so that whoever
//! did not hear the acknowledgement says it again. Lines are written to the command in order, from
//! the file: what waits takes no memory. OURS-19

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe;
use tokio::sync::watch;
use tokio::time::sleep;

use super::folder::Progress;
use super::hold::complain;

/// The longest line.
pub const LINE_MAX: usize = 1 << 20;

/// The longest id.
pub const ID_MAX: usize = 128;

/// What an inbox holds at most, in bytes on disk, give or take a line; and how many lines.
const BYTES_MAX: u64 = 64 << 20;
const LINES_MAX: usize = 10_000;

/// Pause before what could not be read, or written to the command, is tried again.
const AGAIN: Duration = Duration::from_millis(500);

/// One line of `inbox.ndjson`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "entry")]
pub enum Entry {
    /// A line for the command.
    Line {
        /// Names it for good.
        id: String,
        /// The line, without its end.
        line: String,
    },
    /// Nothing comes after this.
    Close,
}

/// A line that was not kept.
#[derive(Debug, thiserror::Error)]
pub enum InboxError {
    /// The inbox was closed.
    #[error("the input is closed")]
    Closed,
    /// There is no more room.
    #[error("the inbox is full")]
    Full,
    /// It is no id, or no line.
    #[error("{0}")]
    Unfit(&'static str),
    /// The id names another line.
    #[error("the id names another line")]
    Other,
    /// It could not be made durable, and is not kept.
    #[error("cannot keep the line: {0}")]
    Io(#[from] io::Error),
}

/// The inbox of a segment.
#[derive(Debug)]
pub struct Inbox {
    /// Read where it is needed; it has no position of its own.
    file: File,
    kept: Mutex<Kept>,
    seen: watch::Sender<Seen>,
}

/// How far it is, and how much of the file that is.
#[derive(Debug, Clone, Copy)]
struct Seen {
    progress: Progress,
    end: u64,
}

/// What is in the file.
#[derive(Debug)]
struct Kept {
    file: File,
    /// Where the next line goes.
    end: u64,
    ids: HashMap<String, [u8; 32]>,
    closed: bool,
}

impl Inbox {
    /// Opens the inbox at `path`, with what is in it.
    ///
    /// # Errors
    /// It cannot be read or written, or holds something else.
    pub fn open(path: PathBuf) -> io::Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)?;
        let reader = file.try_clone()?;
        let mut kept = Kept { file, end: 0, ids: HashMap::new(), closed: false };
        kept.load()?;
        let progress =
            Progress { accepted: kept.ids.len() as u64, written: 0, closed: kept.closed };
        let seen = watch::channel(Seen { progress, end: kept.end }).0;
        Ok(Self { file: reader, kept: Mutex::new(kept), seen })
    }

    /// Keeps a line. It is durable once this answers; the same line under the same id changes
    /// nothing.
    ///
    /// # Errors
    /// It is not kept.
    pub fn add(&self, id: &str, line: &str) -> Result<(), InboxError> {
        check(id, line)?;
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept.ids.get(id) {
            return if *known == digest(line) { Ok(()) } else { Err(InboxError::Other) };
        }
        if kept.closed {
            return Err(InboxError::Closed);
        }
        if kept.ids.len() >= LINES_MAX || kept.end >= BYTES_MAX {
            return Err(InboxError::Full);
        }
        kept.append(&Entry::Line { id: id.to_owned(), line: line.to_owned() })?;
        kept.ids.insert(id.to_owned(), digest(line));
        self.seen.send_modify(|seen| {
            seen.progress.accepted += 1;
            seen.end = kept.end;
        });
        Ok(())
    }

    /// Ends the input; a repeat changes nothing.
    ///
    /// # Errors
    /// It is not durable, and the input stays open.
    pub fn close(&self) -> Result<(), InboxError> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if !kept.closed {
            kept.append(&Entry::Close)?;
            kept.closed = true;
            self.seen.send_modify(|seen| {
                seen.progress.closed = true;
                seen.end = kept.end;
            });
        }
        Ok(())
    }

    /// How far it is.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.seen.borrow().progress
    }

    /// Writes every line to the command, in order and as fast as it reads, and then its end. What the
    /// machine cannot do now is tried again: the lines were promised.
    ///
    /// # Errors
    /// The command has closed its input.
    pub(super) async fn feed(&self, mut input: pipe::Sender) -> io::Result<()> {
        let mut changes = self.seen.subscribe();
        let mut at = 0;
        loop {
            let Ok(end) = changes.wait_for(|seen| at < seen.end).await.map(|seen| seen.end) else {
                return Ok(());
            };
            // Never beyond what is announced: that may be half written, or be taken back.
            let (entry, length) = match self.entry(at, end) {
                Ok(read) => read,
                Err(error) => {
                    complain("read the command's input", &error);
                    sleep(AGAIN).await;
                    continue;
                }
            };
            match entry {
                Entry::Close => return Ok(()),
                Entry::Line { line, .. } => {
                    write(&mut input, format!("{line}\n").as_bytes()).await?;
                    self.seen.send_modify(|seen| seen.progress.written += 1);
                }
            }
            at += length;
        }
    }

    /// The entry that begins there.
    fn entry(&self, at: u64, end: u64) -> io::Result<(Entry, u64)> {
        let from = At { file: &self.file, at };
        let entry = next(&mut BufReader::new(from.take(end - at)))?;
        entry.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

/// Writes all of it, however often it takes.
async fn write(input: &mut pipe::Sender, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match input.write(bytes).await {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Err(error),
            Err(error) => {
                complain("write the command's input", &error);
                sleep(AGAIN).await;
            }
        }
    }
    Ok(())
}

/// A file from a place on.
#[derive(Debug)]
struct At<'a> {
    file: &'a File,
    at: u64,
}

impl Read for At<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(bytes, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Kept {
    /// Reads what is there. A line without its end was never acknowledged; it is cut off.
    fn load(&mut self) -> io::Result<()> {
        let mut lines = BufReader::new(self.file.try_clone()?);
        while let Some((entry, length)) = next(&mut lines)? {
            self.end += length;
            match entry {
                Entry::Line { id, line } => drop(self.ids.insert(id, digest(&line))),
                Entry::Close => self.closed = true,
            }
        }
        self.file.set_len(self.end)
    }

    /// Adds an entry, whole and durable or not at all.
    fn append(&mut self, entry: &Entry) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(entry)?;
        bytes.push(b'\n');
        // At its own place each time: what a failed write left behind is written over.
        self.file.seek(SeekFrom::Start(self.end))?;
        let written = self.file.write_all(&bytes).and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            drop(self.file.set_len(self.end));
            return Err(error);
        }
        self.end += bytes.len() as u64;
        Ok(())
    }
}

/// Writes an inbox that begins with this line, for a keeper that is about to be launched.
///
/// # Errors
/// It cannot be written.
pub fn begin(path: &Path, id: &str, line: &str) -> io::Result<()> {
    check(id, line).map_err(io::Error::other)?;
    let inbox = Inbox::open(path.to_owned())?;
    inbox.add(id, line).map_err(io::Error::other)
}

/// The next whole entry and its length; `None` at the end, or where one is cut off.
fn next(lines: &mut impl BufRead) -> io::Result<Option<(Entry, u64)>> {
    let mut line = Vec::new();
    lines.read_until(b'\n', &mut line)?;
    if line.last() != Some(&b'\n') {
        return Ok(None);
    }
    Ok(Some((serde_json::from_slice(&line)?, line.len() as u64)))
}

fn check(id: &str, line: &str) -> Result<(), InboxError> {
    if id.is_empty() || id.len() > ID_MAX {
        return Err(InboxError::Unfit("an id has 1 to 128 bytes"));
    }
    if line.len() > LINE_MAX {
        return Err(InboxError::Unfit("a line has at most 1 MiB"));
    }
    if line.contains('\n') {
        return Err(InboxError::Unfit("a line ends where it ends"));
    }
    Ok(())
}

fn digest(line: &str) -> [u8; 32] {
    Sha256::digest(line.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> (tempfile::TempDir, PathBuf) {
        let root = tempfile::tempdir().expect("a temporary folder");
        let path = root.path().join("inbox.ndjson");
        (root, path)
    }

    /// OURS-19
    #[test]
    fn a_repeated_id_is_kept_once_and_names_one_line_for_good() {
        let (_root, path) = place();
        let inbox = Inbox::open(path.clone()).expect("it opens");
        inbox.add("a", "one").expect("it is kept");
        inbox.add("a", "one").expect("it is kept already");
        assert!(matches!(inbox.add("a", "two"), Err(InboxError::Other)));
        assert_eq!(inbox.progress().accepted, 1);

        let again = Inbox::open(path).expect("it opens");
        again.add("a", "one").expect("it is kept already");
        again.close().expect("it closes");
        again.close().expect("it is closed already");
        again.add("a", "one").expect("what was kept is kept, closed or not");
        assert!(matches!(again.add("b", "late"), Err(InboxError::Closed)));
        assert_eq!(again.progress(), Progress { accepted: 1, written: 0, closed: true });
    }

    #[test]
    fn a_line_that_was_cut_off_was_never_kept() {
        let (_root, path) = place();
        begin(&path, "a", "one").expect("it is written");
        let whole = std::fs::read(&path).expect("it is there");
        let torn = [whole.as_slice(), br#"{"entry":"line","id":"b","#].concat();
        std::fs::write(&path, torn).expect("it is written");
        let inbox = Inbox::open(path.clone()).expect("it opens");
        assert_eq!(inbox.progress().accepted, 1);
        inbox.add("b", "two").expect("it is kept");
        assert_eq!(Inbox::open(path).expect("it opens").progress().accepted, 2);
    }

    #[test]
    fn what_is_no_line_is_refused() {
        let (_root, path) = place();
        let inbox = Inbox::open(path).expect("it opens");
        let long = "x".repeat(LINE_MAX + 1);
        for (id, line) in [("", "x"), ("a", "x\ny"), ("a", long.as_str()), (long.as_str(), "x")] {
            assert!(matches!(inbox.add(id, line), Err(InboxError::Unfit(_))));
        }
        assert_eq!(inbox.progress().accepted, 0);
    }

    #[tokio::test]
    async fn lines_are_written_in_order_with_what_was_there_before_first() {
        let (_root, path) = place();
        begin(&path, "a", "one").expect("it is written");
        let inbox = Inbox::open(path).expect("it opens");
        let (sender, receiver) = pipe::pipe().expect("a pipe");
        let read = async {
            let mut lines = tokio::io::AsyncBufReadExt::lines(tokio::io::BufReader::new(receiver));
            assert_eq!(lines.next_line().await.expect("readable").as_deref(), Some("one"));
            inbox.add("b", "two").expect("it is kept");
            assert_eq!(lines.next_line().await.expect("readable").as_deref(), Some("two"));
            inbox.add("c", "three").expect("it is kept");
            inbox.close().expect("it closes");
            assert_eq!(lines.next_line().await.expect("readable").as_deref(), Some("three"));
            assert_eq!(lines.next_line().await.expect("readable"), None);
        };
        let (fed, ()) = tokio::join!(inbox.feed(sender), read);
        fed.expect("it is fed");
        assert_eq!(inbox.progress(), Progress { accepted: 3, written: 3, closed: true });
    }

    /// A line was promised when it was kept, and the command's input is not given up for a read that
    /// fails.
    #[tokio::test]
    async fn what_cannot_be_read_now_is_written_later() {
        let (_root, path) = place();
        let inbox = Inbox::open(path.clone()).expect("it opens");
        inbox.add("a", "one").expect("it is kept");
        let whole = std::fs::read(&path).expect("it is there");
        let file = OpenOptions::new().write(true).open(&path).expect("it opens");
        file.set_len(5).expect("it is cut");
        let (sender, receiver) = pipe::pipe().expect("a pipe");
        let read = async {
            let mut lines = tokio::io::AsyncBufReadExt::lines(tokio::io::BufReader::new(receiver));
            tokio::select! {
                biased;
                line = lines.next_line() => panic!("it cannot be read: {line:?}"),
                () = sleep(AGAIN / 5) => {}
            }
            file.write_all_at(&whole, 0).expect("it is written");
            assert_eq!(lines.next_line().await.expect("readable").as_deref(), Some("one"));
        };
        let fed = tokio::time::timeout(Duration::from_secs(60), async {
            tokio::select! {
                fed = inbox.feed(sender) => panic!("its input was given up: {fed:?}"),
                () = read => {}
            }
        });
        fed.await.expect("a stall");
    }
}
