//! One database in the place of another, so that a crash leaves one of them whole in that place,
//! or the way to it.
//!
//! A restored copy is *ready* once it has its name, `DATABASE.restored`. From then on it is the
//! database: whoever comes next, under the lock, puts the old files away and the new one in their
//! place, as often as it takes. A file of that name is believed only if it is what a restore makes.
//!
//! The old files get their second names before they lose the first, so that at every moment a
//! database that can be opened has its log beside it.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::{beside, remembered, sync_folder};
use crate::domain::Incarnation;
use crate::store::copy::{self, Contents};
use crate::store::{Store, StoreError};

/// What an engine keeps beside a database and needs to make it whole.
const COMPANIONS: [&str; 2] = ["-wal", "-journal"];

/// The length of the smallest page.
const PAGE_LEAST: u64 = 512;

/// Why a ready copy is not in its place.
#[derive(Debug, thiserror::Error)]
pub enum SwapError {
    /// A file cannot be moved; calling again goes on from there.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file is nothing that a restore has made ready for this database, and stays where it is.
    #[error("{path} is no copy that a restore has made ready ({why}): move it away")]
    Strange {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

/// The name of a copy that is ready to take a database's place.
pub(super) fn ready(database: &Path) -> PathBuf {
    beside(database, ".restored")
}

/// Whether a restore was interrupted after its copy was ready.
#[must_use]
pub fn unfinished(database: &Path) -> bool {
    fs::symlink_metadata(ready(database)).is_ok()
}

/// Puts a ready copy in the place of the database, and answers the name that the replaced one has
/// now; `None` where there was nothing to replace. Whoever calls it holds the database's lock.
///
/// # Errors
/// A file cannot be moved, and calling again goes on from there; or the copy is not to be believed,
/// and nothing was moved.
pub fn finish(database: &Path) -> Result<Option<PathBuf>, SwapError> {
    let mut moves = usize::MAX;
    finish_within(database, &mut moves)
}

/// The same with so many moves at most, for those who want to see what a crash between leaves.
pub(super) fn finish_within(
    database: &Path,
    moves: &mut usize,
) -> Result<Option<PathBuf>, SwapError> {
    if !unfinished(database) {
        return Ok(None);
    }
    let ready = ready(database);
    let incarnation = believed(database, &ready)?;
    let folder = database.parent().unwrap_or(Path::new("/"));
    let mut count = || -> io::Result<()> {
        *moves = moves.checked_sub(1).ok_or(io::ErrorKind::Interrupted)?;
        Ok(())
    };
    let kept = place_for(database, incarnation);
    if database.exists() {
        // The log first: who has the second name of the database has that of its log.
        for suffix in COMPANIONS.into_iter().chain([""]) {
            let (old, new) = (beside(database, suffix), beside(&kept, suffix));
            if old.exists() && !new.exists() {
                count()?;
                fs::hard_link(&old, &new)?;
            }
        }
        sync_folder(folder)?;
        count()?;
        fs::remove_file(database)?;
        sync_folder(folder)?;
    }
    // The new one must not find the old one's log. The index is made anew whenever it is needed.
    for suffix in COMPANIONS.into_iter().chain(["-shm"]) {
        let old = beside(database, suffix);
        if old.exists() {
            count()?;
            fs::remove_file(old)?;
        }
    }
    sync_folder(folder)?;
    count()?;
    fs::rename(&ready, database)?;
    sync_folder(folder)?;
    Ok(Some(kept).filter(|kept| kept.exists()))
}

/// The incarnation of a ready copy, if that is one: sound and whole, under the restore hold, and of
/// a life above that of the database and not below any that was given out. OURS-21
fn believed(database: &Path, ready: &Path) -> Result<Incarnation, SwapError> {
    let strange = |why: String| SwapError::Strange { path: ready.to_owned(), why };
    if !fs::symlink_metadata(ready)?.is_file() {
        return Err(strange("it is no file".to_owned()));
    }
    if COMPANIONS.iter().any(|suffix| beside(ready, suffix).exists()) {
        return Err(strange("a log lies beside it".to_owned()));
    }
    let copy = copy::inspect(ready).map_err(|error| match error {
        // It may be readable the next time.
        StoreError::Io { what } | StoreError::Busy { what } | StoreError::Full { what } => {
            SwapError::Io(io::Error::other(what))
        }
        other @ (StoreError::Corrupt { .. }
        | StoreError::Malformed { .. }
        | StoreError::Foreign { .. }
        | StoreError::NewerSchema { .. }
        | StoreError::Schema { .. }
        | StoreError::Constraint { .. }
        | StoreError::Engine { .. }) => strange(other.to_string()),
    })?;
    if !copy.held {
        return Err(strange("the hold of a restore does not stand in it".to_owned()));
    }
    let is = copy.incarnation;
    let last = remembered::read(database)?;
    if is < last {
        return Err(strange(format!(
            "it is of incarnation {is}, and {last} was given out already"
        )));
    }
    match existing(database) {
        Some(old) if old.incarnation >= is => {
            let old = old.incarnation;
            Err(strange(format!("it is of incarnation {is}, and the database of {old} already")))
        }
        Some(_) | None => Ok(is),
    }
}

/// What a database that may be replaced holds; nothing if there is none, or if it cannot be read,
/// which may be why it is replaced.
pub(super) fn existing(database: &Path) -> Option<Contents> {
    // The engine takes a file shorter than a page for a new one, and removes the log beside it.
    if fs::metadata(database).ok()?.len() < PAGE_LEAST {
        return None;
    }
    let store = Store::open_reader(database).ok()?;
    let mut session = store.session();
    session.begin_snapshot().ok()?;
    copy::contents(&mut session).ok()
}

/// Where the replaced files go: named by the incarnation that replaced them, so that the names tell
/// which were used. The same again for whoever goes on after a crash.
fn place_for(database: &Path, incarnation: Incarnation) -> PathBuf {
    let named = |again: u32| match again {
        0 => beside(database, &format!("{KEPT}{incarnation}")),
        n => beside(database, &format!("{KEPT}{incarnation}-{n}")),
    };
    // Free, or begun for this very database.
    let fits = |place: &PathBuf| {
        COMPANIONS.into_iter().chain([""]).all(|suffix| {
            let (old, new) = (beside(database, suffix), beside(place, suffix));
            !new.exists() || same(&old, &new)
        })
    };
    let gone = !database.exists();
    (0..u32::MAX).map(named).find(|place| gone || fits(place)).unwrap_or_else(|| named(0))
}

/// Whether two names are of one file.
fn same(one: &Path, other: &Path) -> bool {
    let of = |path: &Path| fs::metadata(path).map(|meta| (meta.dev(), meta.ino())).ok();
    of(one).is_some() && of(one) == of(other)
}

/// What the name of a replaced database has after its own: `abide.db.before-2`.
pub(super) const KEPT: &str = ".before-";

/// The highest incarnation that the names of replaced databases tell of. Only names that we give
/// count: a number is no incarnation because somebody wrote it into a file's name.
pub(super) fn highest_kept(database: &Path) -> Incarnation {
    let (Some(folder), Some(name)) = (database.parent(), database.file_name()) else {
        return Incarnation(0);
    };
    let Ok(entries) = fs::read_dir(folder) else { return Incarnation(0) };
    let told = entries.filter_map(|entry| {
        let entry = entry.ok()?.file_name();
        kept_at(entry.to_str()?.strip_prefix(name.to_str()?)?)
    });
    told.max().unwrap_or(Incarnation(0))
}

/// The incarnation that a name given by [`place_for`] tells, by what it has after the database's.
pub(super) fn kept_at(suffix: &str) -> Option<Incarnation> {
    let rest = suffix.strip_prefix(KEPT)?;
    let (number, again) = match rest.split_once('-') {
        Some((number, again)) => (number, Some(again)),
        None => (rest, None),
    };
    // As it is written, so that `+7` and `007` are none of ours.
    let plain = |text: &str| text.parse::<u32>().ok().filter(|n| n.to_string() == text);
    let ours = match again {
        Some(again) => plain(again).is_some_and(|n| n > 0),
        None => true,
    };
    plain(number).filter(|_| ours).map(Incarnation)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_name_that_we_give_tells_an_incarnation() {
        for (suffix, told) in [(".before-2", 2), (".before-31-1", 31)] {
            assert_eq!(kept_at(suffix), Some(Incarnation(told)), "{suffix}");
        }
        let others = [
            ".before-",
            ".before-2-wal",
            ".before-07",
            ".before-+7",
            ".before-7.old",
            ".before-7-0",
            ".before-99999999999",
            ".before-2026-03-01",
            "-before-2",
        ];
        for suffix in others {
            assert_eq!(kept_at(suffix), None, "{suffix}");
        }
    }
}
