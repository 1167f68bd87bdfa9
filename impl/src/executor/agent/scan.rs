//! The output of a segment's agent, looked at once, whoever asks: who watches it, who offers it
//! something and who reports share one reading, and each goes on where the last one was.
//!
//! An agent may say gigabytes, and whoever asks may give up before it is all read. So it is read step
//! by step: what a step has seen is kept, one step at most goes on when nobody waits for it any more,
//! and memory does not grow with what is read. A reading that was forgotten begins again.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex as Plain, PoisonError};

use tokio::sync::{Mutex, OwnedMutexGuard};

use super::stream::{Seen, Stream};
use crate::domain::EventUid;
use crate::executor::kept::apart;
use crate::keeper::folder::Folder;
use crate::keeper::inbox;

/// Read in one look by who watches. Whoever writes faster than that is not run after.
const LOOK_MAX: u64 = 64 << 20;

/// Readings that are remembered before those that nobody is at are forgotten.
const SCANS: usize = 128;

/// The readings of an executor, by the names of their segments.
#[derive(Debug, Default)]
pub(super) struct Scans(Plain<HashMap<String, Scan>>);

impl Scans {
    /// The reading of a segment, which begins if there is none.
    pub(super) fn of(&self, segment: &str, folder: &Folder) -> Scan {
        // A panic elsewhere cannot leave the map half changed.
        let mut scans = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(scan) = scans.get(segment) {
            return scan.clone();
        }
        if scans.len() >= SCANS {
            scans.retain(|_, scan| Arc::strong_count(&scan.0) > 1);
        }
        let scan = Scan::of(folder);
        scans.insert(segment.to_owned(), scan.clone());
        scan
    }

    pub(super) fn forget(&self, segment: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(segment);
    }
}

/// One reading.
#[derive(Debug, Clone)]
pub(super) struct Scan(Arc<Mutex<Output>>);

impl Scan {
    fn of(folder: &Folder) -> Self {
        let given = Given::of(folder.inbox());
        let output = Output { stream: Stream::of(folder.stdout()), given, settled: 0 };
        Self(Arc::new(Mutex::new(output)))
    }

    /// Reads on, and answers what has been seen and how much of the output that is, unless that is
    /// what is `known`.
    ///
    /// # Errors
    /// It cannot be read.
    pub(super) async fn look(&self, known: u64) -> io::Result<Option<(u64, Seen)>> {
        let output = self.reach(LOOK_MAX).await?;
        let at = output.stream.at();
        Ok((at != known).then(|| (at, output.stream.seen.clone())))
    }

    /// What has been seen once all is read that is there now; a line without an end has ended, too.
    ///
    /// # Errors
    /// It cannot be read. What was read so far is not read again.
    pub(super) async fn all(&self) -> io::Result<Seen> {
        let output = self.reach(u64::MAX).await?;
        apart(move || Ok(output.stream.so_far())).await
    }

    /// The Events that the agent was given, in order.
    ///
    /// # Errors
    /// The inbox cannot be read.
    pub(super) async fn given(&self) -> io::Result<Vec<EventUid>> {
        let mut output = Arc::clone(&self.0).lock_owned().await;
        apart(move || {
            output.given.read()?;
            Ok(output.given.events.clone())
        })
        .await
    }

    /// Reads on to where the output ends now, or as far as `max` goes.
    async fn reach(&self, max: u64) -> io::Result<OwnedMutexGuard<Output>> {
        let mut goal = None;
        loop {
            let mut output = Arc::clone(&self.0).lock_owned().await;
            let read = apart(move || {
                let end = output.step()?;
                Ok((output, end))
            });
            let (output, end) = read.await?;
            let at = output.stream.at();
            let goal = *goal.get_or_insert(end.min(at.saturating_add(max)));
            // It may have been cut since.
            if at >= goal.min(end) {
                return Ok(output);
            }
        }
    }
}

/// What is read of a segment.
#[derive(Debug)]
struct Output {
    stream: Stream,
    given: Given,
    /// So many echoes are known to be of what the agent was given.
    settled: usize,
}

impl Output {
    /// Reads a step on; answers where the output ends. Echoes of what is not in the inbox by then are
    /// dropped: a message is there before the agent can read it. EXEC-05 EXEC-06
    fn step(&mut self) -> io::Result<u64> {
        let end = self.stream.step()?;
        // An inbox that cannot be read is for who reports to tell.
        if self.stream.seen.echoes.len() > self.settled && self.given.read().is_ok() {
            let given = &self.given.known;
            self.stream.seen.echoes.retain(|id| given.contains(&EventUid::from_uuid(*id)));
            self.settled = self.stream.seen.echoes.len();
        }
        Ok(end)
    }
}

/// The inbox, as far as it is read.
#[derive(Debug)]
struct Given {
    path: PathBuf,
    at: u64,
    events: Vec<EventUid>,
    known: HashSet<EventUid>,
}

impl Given {
    fn of(path: PathBuf) -> Self {
        Self { path, at: 0, events: Vec::new(), known: HashSet::new() }
    }

    fn read(&mut self) -> io::Result<()> {
        let ids = inbox::ids_from(&self.path, &mut self.at)?;
        for event in ids.iter().filter_map(|id| id.parse().ok()) {
            if self.events.len() < inbox::LINES_MAX && self.known.insert(event) {
                self.events.push(event);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;

    use super::*;

    fn uid(n: u128) -> EventUid {
        EventUid::from_uuid(uuid::Uuid::from_u128(n))
    }

    fn echo(n: u128) -> String {
        serde_json::json!({"type": "user", "uuid": uid(n).uuid(), "isReplay": true}).to_string()
    }

    fn append(path: PathBuf, text: &str) {
        let file = fs::OpenOptions::new().append(true).create(true).open(path);
        file.expect("a file").write_all(text.as_bytes()).expect("it is written");
    }

    fn place() -> (tempfile::TempDir, Folder) {
        let root = tempfile::tempdir().expect("a temporary folder");
        let folder = Folder::create(root.path().join("s")).expect("a new folder");
        (root, folder)
    }

    fn given(folder: &Folder, n: u128) {
        inbox::begin(&folder.inbox(), &uid(n).to_string(), "{}").expect("it is written");
    }

    /// What an agent makes up takes no memory, and what it was given is found among it.
    #[tokio::test]
    async fn echoes_of_what_was_never_given_are_not_kept() {
        let (_root, folder) = place();
        given(&folder, 1);
        let made_up: Vec<String> = (100..30_000).map(echo).collect();
        let said = [made_up.join("\n"), echo(1), made_up.join("\n")].join("\n");
        fs::write(folder.stdout(), said + "\n").expect("it is written");
        let scan = Scan::of(&folder);
        let seen = scan.all().await.expect("it is readable");
        assert_eq!(Vec::from_iter(seen.echoes), [uid(1).uuid()]);
        given(&folder, 2);
        append(folder.stdout(), &(echo(2) + "\n"));
        let seen = scan.all().await.expect("it is readable");
        assert_eq!(Vec::from_iter(seen.echoes), [1, 2].map(|n| uid(n).uuid()));
        assert_eq!(scan.given().await.expect("it is readable"), [uid(1), uid(2)]);
    }

    /// Whoever reports while the agent is in the midst of a line takes nothing away from it.
    #[tokio::test]
    async fn a_line_that_has_no_end_yet_is_seen_and_is_seen_whole_later() {
        let (_root, folder) = place();
        given(&folder, 1);
        let whole = echo(1);
        let (begin, rest) = whole.split_at(20);
        append(folder.stdout(), begin);
        let scan = Scan::of(&folder);
        let seen = scan.all().await.expect("it is readable");
        assert_eq!((seen.echoes.len(), seen.skipped), (0, 1));
        append(folder.stdout(), rest);
        let seen = scan.all().await.expect("it is readable");
        assert_eq!((seen.echoes.len(), seen.skipped), (1, 0));
        append(folder.stdout(), "\n");
        let (at, seen) = scan.look(0).await.expect("it is readable").expect("it has more");
        assert_eq!((seen.echoes.len(), seen.skipped), (1, 0));
        assert!(scan.look(at).await.expect("it is readable").is_none());
    }

    /// What was cut meanwhile does not keep anybody.
    #[tokio::test]
    async fn output_that_was_cut_is_at_its_end() {
        let (_root, folder) = place();
        fs::write(folder.stdout(), echo(1).repeat(9) + "\n").expect("it is written");
        let scan = Scan::of(&folder);
        scan.all().await.expect("it is readable");
        fs::write(folder.stdout(), "").expect("it is cut");
        assert_eq!(scan.all().await.expect("it is readable").skipped, 1);
    }

    /// A reading that nobody is at may be forgotten; the others are not begun anew.
    #[test]
    fn a_reading_is_shared_and_one_that_nobody_is_at_is_forgotten_in_time() {
        let (_root, folder) = place();
        let scans = Scans::default();
        let held = scans.of("held", &folder);
        for n in 0..2 * SCANS {
            drop(scans.of(&n.to_string(), &folder));
        }
        assert!(scans.0.lock().expect("no test panics inside").len() <= SCANS);
        assert!(Arc::ptr_eq(&held.0, &scans.of("held", &folder).0));
        scans.forget("held");
        assert!(!Arc::ptr_eq(&held.0, &scans.of("held", &folder).0));
    }
}
