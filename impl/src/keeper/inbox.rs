//! What the command is given to read: a file of lines that is only ever added to.
//!
//! A line is on disk before it is accepted, and an id names one line for good, so that whoever did
//! not hear that it was says it again. Lines are written to the command in order, from the file: what
//! waits takes no memory. OURS-19
//!
//! The command reads them on its standard input, or in a file of its own (`Output`). That file is
//! a copy: it is only ever added to, each line with one write, and one that a full disk cuts is gone
//! on with. So a reader takes what ends in a line break and comes back for the rest.

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

use super::folder::{Progress, open_file};
use super::hold::complain;

/// The longest line.
pub const LINE_MAX: usize = 1 << 20;

/// The longest id.
pub const ID_MAX: usize = 128;

/// What an inbox holds at most, in bytes on disk, give or take a line; and how many lines, which is as
/// many as a result may prove.
const BYTES_MAX: u64 = 64 << 20;
pub(crate) const LINES_MAX: usize = 4096;

/// The longest line of a file that is looked at: a line of an inbox, of which JSON may make six times
/// as much.
const WRITTEN_MAX: u64 = 8 << 20;

/// How much of an inbox, or of a copy of it, is looked at: more than there is.
pub(super) const READ_MAX: u64 = 2 * BYTES_MAX;

/// Pause before what could not be read, or written to the command, is tried again.
const AGAIN: Duration = Duration::from_millis(500);
const AGAIN_MAX: Duration = Duration::from_secs(10);

/// So many kinds of trouble are told.
const TOLD_MAX: usize = 16;

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

    /// What is so of a line whose id is there already; `None` if the id is new.
    pub(super) fn known(&self, id: &str, line: &str) -> Option<Result<(), InboxError>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).known(id, line)
    }

    /// Keeps a line. It is durable once this answers; the same line under the same id changes
    /// nothing.
    ///
    /// # Errors
    /// It is not kept.
    pub fn add(&self, id: &str, line: &str) -> Result<(), InboxError> {
        check(id, line)?;
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept.known(id, line) {
            return known;
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
    pub(super) async fn feed(&self, mut output: Output) -> io::Result<()> {
        let mut changes = self.seen.subscribe();
        let mut trouble = Trouble::default();
        let mut at = 0;
        loop {
            let Ok(end) = changes.wait_for(|seen| at < seen.end).await.map(|seen| seen.end) else {
                return Ok(());
            };
            // Never beyond what is announced: that may be half written, or be taken back.
            let (entry, length) = match self.entry(at, end) {
                Ok(read) => read,
                Err(error) => {
                    sleep(trouble.with("read the command's input", &error)).await;
                    continue;
                }
            };
            match entry {
                Entry::Close => return Ok(()),
                Entry::Line { line, .. } => {
                    output.write_all(format!("{line}\n").as_bytes(), &mut trouble).await?;
                    trouble.is_over();
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

/// Where the command reads.
#[derive(Debug)]
pub(super) enum Output {
    /// On its standard input.
    Pipe(pipe::Sender),
    /// In a file, which nobody else writes to.
    File(File),
}

impl Output {
    /// The file of a command that reads its lines there; it is there from now on.
    pub(super) fn file(path: &Path) -> io::Result<Self> {
        Ok(Self::File(OpenOptions::new().append(true).create(true).mode(0o600).open(path)?))
    }

    /// Writes all of it, however often it takes.
    async fn write_all(&mut self, mut bytes: &[u8], trouble: &mut Trouble) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.write(bytes).await {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Err(error),
                Err(error) => sleep(trouble.with("write the command's input", &error)).await,
            }
        }
        Ok(())
    }

    async fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Pipe(pipe) => pipe.write(bytes).await,
            Self::File(file) => file.write(bytes),
        }
    }
}

/// What goes wrong again and again: each kind is told once, for a command can damage its inbox and
/// would fill a disk with it, and is tried again less and less often.
#[derive(Debug, Default)]
struct Trouble {
    told: Vec<String>,
    pause: Duration,
}

impl Trouble {
    /// How long to wait before it is tried again.
    fn with(&mut self, doing: &str, error: &io::Error) -> Duration {
        if self.is_new(format!("{doing}: {error}")) {
            complain(doing, error);
        }
        self.pause = (self.pause * 2).clamp(AGAIN, AGAIN_MAX);
        self.pause
    }

    fn is_new(&mut self, what: String) -> bool {
        let new = self.told.len() < TOLD_MAX && !self.told.contains(&what);
        if new {
            self.told.push(what);
        }
        new
    }

    const fn is_over(&mut self) {
        self.pause = Duration::ZERO;
    }
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
    fn known(&self, id: &str, line: &str) -> Option<Result<(), InboxError>> {
        let known = self.ids.get(id)?;
        Some(if *known == digest(line) { Ok(()) } else { Err(InboxError::Other) })
    }

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

/// The ids of the lines that an inbox holds, in order. Whoever asks need not be its keeper, which may
/// be gone: a line that is cut off was never accepted, and what is no entry is passed over.
///
/// # Errors
/// It cannot be read.
pub fn ids(path: &Path) -> io::Result<Vec<String>> {
    ids_from(path, &mut 0)
}

/// As [`ids`], from a place on, which is moved to the end of what was read. At most as many as an inbox
/// holds.
pub(crate) fn ids_from(path: &Path, at: &mut u64) -> io::Result<Vec<String>> {
    let mut ids = Vec::new();
    *at = lines_from(path, *at, READ_MAX, |line| {
        if ids.len() < LINES_MAX
            && let Ok(Entry::Line { id, .. }) = serde_json::from_slice(line)
        {
            ids.push(id);
        }
    })?;
    Ok(ids)
}

/// Shows every whole line in the first `max` bytes of a file that others write to, without its end;
/// none if there is no such file. One that is longer than any line of ours is passed over.
///
/// # Errors
/// It cannot be read, or is no file.
pub(super) fn each_line(path: &Path, max: u64, shown: impl FnMut(&[u8])) -> io::Result<()> {
    lines_from(path, 0, max, shown).map(drop)
}

/// From a place on; answers where the last whole line ends.
fn lines_from(path: &Path, mut at: u64, max: u64, mut shown: impl FnMut(&[u8])) -> io::Result<u64> {
    let Some(mut file) = open_file(path)? else { return Ok(at) };
    file.seek(SeekFrom::Start(at))?;
    let mut lines = BufReader::new(file).take(max.saturating_sub(at));
    let mut line = Vec::new();
    // How much of a line was passed over.
    let mut passed = 0;
    loop {
        line.clear();
        let read = lines.by_ref().take(WRITTEN_MAX).read_until(b'\n', &mut line)? as u64;
        match line.strip_suffix(b"\n") {
            Some(whole) => {
                if passed == 0 {
                    shown(whole);
                }
                at += std::mem::take(&mut passed) + read;
            }
            None if read == WRITTEN_MAX => passed += read,
            // It has no end yet. What comes of it now is its rest, and no line.
            None => return Ok(at),
        }
    }
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
        let (fed, ()) = tokio::join!(inbox.feed(Output::Pipe(sender)), read);
        fed.expect("it is fed");
        assert_eq!(inbox.progress(), Progress { accepted: 3, written: 3, closed: true });
    }

    /// EXEC-04: what a command reads in a file is there whole, in order and once.
    #[tokio::test]
    async fn a_file_is_given_each_line_as_it_comes() {
        let (root, path) = place();
        let inbox = Inbox::open(path.clone()).expect("it opens");
        inbox.add("a", "one").expect("it is kept");
        let events = root.path().join("events.ndjson");
        let output = Output::file(&events).expect("it is made");
        assert_eq!(std::fs::read_to_string(&events).expect("it is there"), "");
        let come = async {
            for (id, line) in [("b", "two"), ("a", "one"), ("c", "three")] {
                inbox.add(id, line).expect("it is kept");
                tokio::task::yield_now().await;
            }
            inbox.close().expect("it closes");
        };
        let (fed, ()) = tokio::join!(inbox.feed(output), come);
        fed.expect("it is fed");
        assert_eq!(std::fs::read_to_string(&events).expect("it is there"), "one\ntwo\nthree\n");
        assert_eq!(inbox.progress(), Progress { accepted: 3, written: 3, closed: true });
        assert_eq!(ids(&path).expect("readable"), ["a", "b", "c"]);
    }

    /// Whoever looks after its keeper has gone finds what was accepted, and nothing else.
    #[test]
    fn ids_are_those_of_whole_lines() {
        let (_root, path) = place();
        assert_eq!(ids(&path).expect("nothing is there"), [""; 0]);
        begin(&path, "a", "one").expect("it is written");
        let whole = std::fs::read(&path).expect("it is there");
        let rest =
            b"no json\n{\"entry\":\"close\"}\n{\"entry\":\"line\",\"id\":\"b\",\"line\":\"two\"}\n";
        let torn = [whole.as_slice(), rest, br#"{"entry":"line","id":"c","line":""}"#].concat();
        std::fs::write(&path, torn).expect("it is written");
        assert_eq!(ids(&path).expect("readable"), ["a", "b"]);
    }

    /// A line takes no more memory than a line of ours may, whoever wrote it.
    #[test]
    fn a_line_that_is_longer_than_any_of_ours_is_passed_over() {
        let (_root, path) = place();
        for over in [0, 1] {
            let long = "x".repeat(usize::try_from(WRITTEN_MAX).expect("it fits") - 1 + over);
            std::fs::write(&path, format!("a\n{long}\nb\nc")).expect("it is written");
            let mut lengths = Vec::new();
            let end = lines_from(&path, 0, READ_MAX, |line| lengths.push(line.len()));
            let expected: &[usize] = if over == 0 { &[1, long.len(), 1] } else { &[1, 1] };
            assert_eq!(lengths, expected);
            assert_eq!(end.expect("readable"), long.len() as u64 + 5);
        }
    }

    #[test]
    fn ids_are_read_on_from_where_they_were_read_to() {
        let (_root, path) = place();
        let mut at = 0;
        assert_eq!(ids_from(&path, &mut at).expect("nothing is there"), [""; 0]);
        for id in ["a", "b"] {
            begin(&path, id, "one").expect("it is written");
            assert_eq!(ids_from(&path, &mut at).expect("readable"), [id]);
        }
        assert_eq!(ids_from(&path, &mut at).expect("readable"), [""; 0]);
    }

    #[test]
    fn trouble_is_told_once_and_tried_again_less_often() {
        let mut trouble = Trouble::default();
        assert!(trouble.is_new("a".into()) && trouble.is_new("b".into()));
        assert!(!trouble.is_new("a".into()));
        let error = io::ErrorKind::UnexpectedEof.into();
        let mut pauses = (0..9).map(|_| trouble.with("try", &error)).collect::<Vec<_>>();
        assert_eq!((pauses[0], pauses[1], pauses.pop()), (AGAIN, AGAIN * 2, Some(AGAIN_MAX)));
        trouble.is_over();
        assert_eq!(trouble.with("try", &error), AGAIN);
        let told = (0..1000).filter(|n: &u32| trouble.is_new(n.to_string())).count();
        assert!(told < TOLD_MAX);
    }

    #[test]
    fn a_full_inbox_says_so_and_keeps_what_it_has() {
        let (_root, path) = place();
        let entry = |n| Entry::Line { id: format!("e{n}"), line: "x".into() };
        let lines = (0..LINES_MAX).map(|n| serde_json::to_string(&entry(n)).expect("plain") + "\n");
        std::fs::write(&path, lines.collect::<String>()).expect("it is written");
        let inbox = Inbox::open(path).expect("it opens");
        assert!(matches!(inbox.add("late", "x"), Err(InboxError::Full)));
        inbox.add("e7", "x").expect("it is there already");
        assert_eq!(inbox.progress().accepted, LINES_MAX as u64);
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
                fed = inbox.feed(Output::Pipe(sender)) => panic!("its input was given up: {fed:?}"),
                () = read => {}
            }
        });
        fed.await.expect("a stall");
    }
}
