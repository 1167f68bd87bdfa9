//! `restore`: checks a backup, takes a copy of it through the law, and puts that in the place of a
//! database. Until the copy is ready nothing but that copy is written.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::swap::SwapError;
use super::{beside, remembered, swap, sync_folder};
use crate::clock::Clock;
use crate::command::{Command, Outcome};
use crate::domain::{Actor, Incarnation};
use crate::store::copy::{self, Contents};
use crate::store::doctor::{self, Finding, Severity};
use crate::store::lock::{self, FileLock, LockError};
use crate::store::{Store, StoreError};
use crate::writer::{WriteError, Writer, WriterOptions};

/// What every SQLite file begins with.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// The part of a file's header that is looked at, and where it says which schema is inside.
const HEAD: usize = 64;
const VERSION: std::ops::Range<usize> = 60..64;

/// More restores than anybody makes: an incarnation so far above that of the backup was not given
/// out by a restore, and is not counted on from.
const RESTORES: u32 = 10_000;

/// Of which databases a backup is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Of the one it replaces alone, as far as that can be read.
    Same,
    /// Of any: somebody has said so.
    Any,
}

/// What a restore did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// What the backup held.
    pub backup: Contents,
    /// What the database holds now.
    pub now: Contents,
    /// What the replaced database held, as far as it could be read.
    pub replaced: Option<Contents>,
    /// Where the replaced database is; `None` if there was none.
    pub kept: Option<PathBuf>,
}

/// Why nothing was restored. The database is as it was, but for [`RestoreError::Unfinished`] and
/// [`RestoreError::Later`].
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// Somebody serves the database.
    #[error("{holder} serves {database}: stop it first, with SIGTERM or `abide drain`")]
    Held {
        /// Who, as it said itself.
        holder: String,
        /// What it serves.
        database: PathBuf,
    },
    /// The lock cannot be taken.
    #[error(transparent)]
    Lock(LockError),
    /// The backup is no file that can be read.
    #[error("the backup {path} cannot be read: {error}")]
    Unreadable {
        /// The backup.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// The backup is something else.
    #[error("{path} is no backup of an abide database: {why}")]
    Foreign {
        /// The backup.
        path: PathBuf,
        /// What it is.
        why: String,
    },
    /// The backup is one of ours, and not sound.
    #[error("the backup {path} is damaged, so it is not restored: {what}")]
    Damaged {
        /// The backup.
        path: PathBuf,
        /// What was found.
        what: String,
    },
    /// A file cannot be written or moved.
    #[error("{path} cannot be written: {error}")]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// The folder is another user's, who could not read what is written there.
    #[error("{folder} belongs to user {owner}, and so must what is restored: run it as that user")]
    Owner {
        /// The folder of the database.
        folder: PathBuf,
        /// Its owner.
        owner: u32,
    },
    /// The backup is of another database than the one it would replace.
    #[error(
        "{path} is a backup of database {of}, and {database} is database {is}: say --other-database \
         to replace it all the same"
    )]
    Other {
        /// The backup.
        path: PathBuf,
        /// Of which it is.
        of: uuid::Uuid,
        /// The database.
        database: PathBuf,
        /// Which that is.
        is: uuid::Uuid,
    },
    /// An incarnation is told that no restore has given out.
    #[error(
        "{path} tells of incarnation {told}, which no number of restores reaches from {from}: move it \
         away"
    )]
    Untrusted {
        /// The file that tells it.
        path: PathBuf,
        /// What it tells.
        told: Incarnation,
        /// That of the backup.
        from: Incarnation,
    },
    /// What lies where a ready copy would is none.
    #[error(transparent)]
    Strange(SwapError),
    /// The copy is ready, and cannot be moved to its place yet.
    #[error(
        "the restored copy is ready and takes the place of {path} with the next `abide serve` or \
         `abide restore`: it could not be moved yet ({error})"
    )]
    Unfinished {
        /// The database.
        path: PathBuf,
        /// What was said.
        error: SwapError,
    },
    /// An earlier restore, which had been cut off, was finished; and then this one failed.
    #[error(
        "an earlier restore had been cut off and was finished now; this one was not begun: {0}"
    )]
    Later(Box<RestoreError>),
    /// The copy could not be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The copy could not be taken through the law.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The law did not restore what it was given.
    #[error("the copy was not restored: {answer}")]
    Answer {
        /// What it answered.
        answer: String,
    },
}

/// Puts what a backup holds in the place of a database that nobody serves. The replaced database is
/// kept beside it. Nothing starts in the restored one until a person releases it. OURS-21
///
/// # Errors
/// Why not; what that leaves is said by [`RestoreError`].
pub fn restore(
    database: &Path,
    backup: &Path,
    origin: Origin,
    clock: &Clock,
) -> Result<Restored, RestoreError> {
    let database = &std::path::absolute(database).map_err(unwritable(database))?;
    check_file(backup, database)?;
    let folder = database.parent().unwrap_or(Path::new("/"));
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(unwritable(folder))?;
    let owner = fs::metadata(folder).map_err(unwritable(folder))?.uid();
    check_owner(folder, owner, rustix::process::geteuid().as_raw())?;
    let _lock = hold(database)?;
    if !swap::unfinished(database) {
        return restore_held(database, backup, origin, clock);
    }
    swap::finish(database).map_err(|error| unfinished(database, error))?;
    restore_held(database, backup, origin, clock).map_err(|error| {
        // A copy of this one is ready, and that is all there is to say.
        let ready = matches!(error, RestoreError::Unfinished { .. });
        if ready { error } else { RestoreError::Later(Box::new(error)) }
    })
}

/// The same, once nobody else can change anything.
fn restore_held(
    database: &Path,
    backup: &Path,
    origin: Origin,
    clock: &Clock,
) -> Result<Restored, RestoreError> {
    let draft = Draft::of(backup, database)?;
    let held = draft.check(backup)?;
    let replaced = swap::existing(database);
    if let Some(replaced) = &replaced {
        if replaced.id != held.id && origin == Origin::Same {
            let (path, database) = (backup.to_owned(), database.to_owned());
            return Err(RestoreError::Other { path, of: held.id, database, is: replaced.id });
        }
        // Trusted time of one life goes on in the next. OURS-16
        clock.raise_to(replaced.time_mark);
    }
    let last = last_given(database, held.incarnation, replaced.as_ref())?;
    raise(&draft.0, last, clock)?;
    let now = draft.settle()?;
    let told = remembered::place(database);
    remembered::remember(database, now.incarnation).map_err(unwritable(&told))?;
    let ready = swap::ready(database);
    fs::rename(&draft.0, &ready).map_err(unwritable(&ready))?;
    let kept = sync_folder(database.parent().unwrap_or(Path::new("/")))
        .map_err(SwapError::Io)
        .and_then(|()| swap::finish(database))
        .map_err(|error| RestoreError::Unfinished { path: database.to_owned(), error })?;
    Ok(Restored { backup: held, now, replaced, kept })
}

/// A copy that was ready before anything of this restore was begun.
fn unfinished(database: &Path, error: SwapError) -> RestoreError {
    match error {
        SwapError::Io(_) => RestoreError::Unfinished { path: database.to_owned(), error },
        SwapError::Strange { .. } => RestoreError::Strange(error),
    }
}

fn unwritable(path: &Path) -> impl FnOnce(io::Error) -> RestoreError {
    let path = path.to_owned();
    move |error| RestoreError::Unwritable { path, error }
}

/// Root may write everywhere, and what it writes is root's: the daemon could not open it.
pub(super) fn check_owner(folder: &Path, owner: u32, user: u32) -> Result<(), RestoreError> {
    if owner == user {
        return Ok(());
    }
    Err(RestoreError::Owner { folder: folder.to_owned(), owner })
}

/// The highest incarnation that was given out, by everything that tells of one. What tells of it is
/// a file that anybody may have put there, so that it is believed within bounds only. OURS-21
fn last_given(
    database: &Path,
    backup: Incarnation,
    replaced: Option<&Contents>,
) -> Result<Incarnation, RestoreError> {
    let place = remembered::place(database);
    let remembered = remembered::read(database).map_err(unwritable(&place))?;
    let kept = swap::highest_kept(database);
    let told = [
        (database.to_owned(), replaced.map_or(backup, |found| found.incarnation)),
        (beside(database, &format!("{}{kept}", swap::KEPT)), kept),
        (place, remembered),
    ];
    let mut last = backup;
    for (path, told) in told {
        if told.0.saturating_sub(backup.0) > RESTORES {
            return Err(RestoreError::Untrusted { path, told, from: backup });
        }
        last = last.max(told);
    }
    Ok(last)
}

fn hold(database: &Path) -> Result<FileLock, RestoreError> {
    lock::lock(&lock::beside(database)).map_err(|error| match error {
        LockError::Held { holder, .. } => {
            RestoreError::Held { holder, database: database.to_owned() }
        }
        other @ LockError::Io { .. } => RestoreError::Lock(other),
    })
}

/// Looks at a backup without opening it as a database, which would write beside it.
fn check_file(backup: &Path, database: &Path) -> Result<(), RestoreError> {
    let unreadable = |error| RestoreError::Unreadable { path: backup.to_owned(), error };
    let foreign =
        |why: &str| RestoreError::Foreign { path: backup.to_owned(), why: why.to_owned() };
    let meta = fs::metadata(backup).map_err(unreadable)?;
    if !meta.is_file() {
        return Err(foreign("it is no file"));
    }
    let same = |other: fs::Metadata| (other.dev(), other.ino()) == (meta.dev(), meta.ino());
    if fs::metadata(database).is_ok_and(same) {
        return Err(foreign("it is the database that it would replace"));
    }
    if fs::metadata(beside(backup, "-wal")).is_ok_and(|log| log.len() > 0) {
        let why = "it has a write-ahead log beside it, so it is a database in use or a part of one: \
                   make a backup of it with `abide backup`";
        return Err(foreign(why));
    }
    let mut head = Vec::with_capacity(HEAD);
    File::open(backup)
        .and_then(|file| file.take(HEAD as u64).read_to_end(&mut head))
        .map_err(unreadable)?;
    match head.get(VERSION) {
        None => Err(foreign("it is too short to be a database")),
        Some(_) if !head.starts_with(MAGIC) => Err(foreign("it is no SQLite file")),
        // One that was never filled: it would become an empty database of ours.
        Some([0, 0, 0, 0]) => Err(foreign("it has no schema of abide in it")),
        Some(_) => Ok(()),
    }
}

/// Takes the copy through the law, to a later incarnation than all before. OURS-21
fn raise(draft: &Path, last: Incarnation, clock: &Clock) -> Result<(), RestoreError> {
    let options = WriterOptions { readers: 1, ..WriterOptions::default() };
    let writer = Writer::open(draft, clock.clone(), options)?;
    let answer = writer.apply_blocking(Actor::Loop("restore"), Command::Restore { above: last });
    writer.shutdown_blocking();
    match answer? {
        Outcome::Accepted(_) => Ok(()),
        other @ (Outcome::Duplicate(_)
        | Outcome::Deferred(_)
        | Outcome::Conflict
        | Outcome::Refused(_)) => Err(RestoreError::Answer { answer: format!("{other:?}") }),
    }
}

/// A copy beside the database that nobody else knows of; gone unless it becomes ready.
struct Draft(PathBuf);

impl Draft {
    fn of(backup: &Path, database: &Path) -> Result<Self, RestoreError> {
        let draft = Self(beside(database, ".restoring"));
        // Left by a restore that was killed; the lock says that it is nobody's.
        draft.remove();
        let path = draft.0.clone();
        let unwritable = |error| RestoreError::Unwritable { path, error };
        // Its owner's alone from its first byte on.
        let mut new = OpenOptions::new();
        new.write(true).create_new(true).mode(0o600);
        let mut from = File::open(backup)
            .map_err(|error| RestoreError::Unreadable { path: backup.to_owned(), error })?;
        new.open(&draft.0).and_then(|mut to| io::copy(&mut from, &mut to)).map_err(unwritable)?;
        Ok(draft)
    }

    /// What it holds, if it is sound: every page, and every invariant that data at rest shows.
    fn check(&self, backup: &Path) -> Result<Contents, RestoreError> {
        let path = || backup.to_owned();
        let damaged = |what: String| RestoreError::Damaged { path: path(), what };
        let sorted = |error: StoreError| match error {
            StoreError::Foreign { .. } => {
                RestoreError::Foreign { path: path(), why: "another program made it".to_owned() }
            }
            StoreError::NewerSchema { found, known, .. } => RestoreError::Foreign {
                path: path(),
                why: format!("a later version made it (schema {found}, this one knows {known})"),
            },
            StoreError::Malformed { what } | StoreError::Schema { what, .. } => damaged(what),
            StoreError::Corrupt { what } => damaged(what.into_owned()),
            other @ (StoreError::Busy { .. }
            | StoreError::Full { .. }
            | StoreError::Io { .. }
            | StoreError::Constraint { .. }
            | StoreError::Engine { .. }) => other.into(),
        };
        copy::sound(&self.0).map_err(sorted)?;
        let store = Store::open(&self.0).map_err(sorted)?;
        let mut session = store.session();
        session.begin_snapshot()?;
        let findings = doctor::examine(&mut session).map_err(sorted)?;
        let damage = |found: &&Finding| found.severity == Severity::Damage;
        match findings.iter().find(damage) {
            Some(Finding { check, what, .. }) => Err(damaged(format!("not so: {check}: {what}"))),
            None => copy::contents(&mut session).map_err(sorted),
        }
    }

    /// Makes it one durable file, and reads every page of it once more.
    fn settle(&self) -> Result<Contents, RestoreError> {
        copy::settle(&self.0)?;
        let contents = copy::inspect(&self.0)?;
        let path = self.0.clone();
        File::open(&self.0)
            .and_then(|file| file.sync_all())
            .map_err(|error| RestoreError::Unwritable { path, error })?;
        Ok(contents)
    }

    fn remove(&self) {
        for suffix in ["", "-wal", "-shm", "-journal"] {
            // Not there is what is wanted; what cannot be removed shows when it is written.
            let _ = fs::remove_file(beside(&self.0, suffix));
        }
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        self.remove();
    }
}
