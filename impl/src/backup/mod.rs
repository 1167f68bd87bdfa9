//! A database written elsewhere while it is used, and one put in the place of another.
//!
//! Both work on whole files and read them through the store; what a restore makes true is said by
//! the law, which the copy is taken through before it takes anybody's place. OURS-21

mod remembered;
mod restore;
mod swap;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::Builder;

use crate::store::StoreError;
use crate::store::copy::{self, Contents};

pub use remembered::remember;
pub use restore::{Origin, RestoreError, Restored, restore};
pub use swap::{SwapError, finish, unfinished};

/// A backup that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// What it holds.
    pub contents: Contents,
    /// How long it is.
    pub bytes: u64,
}

/// Why there is no backup.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// Nothing is written over.
    #[error("{path} exists and is left as it is: name a new file")]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The name has a meaning beside a database.
    #[error("{path} is a name that stands for something else beside a database: choose another")]
    Reserved {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be written there.
    #[error("{path} cannot be written: {error}")]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// The database cannot be read, or what was written is not sound.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Writes one snapshot of a database into a new file of its owner's alone, whether or not a daemon
/// uses the database. There is a whole and checked file, or none.
///
/// # Errors
/// The file exists or cannot be written; the database cannot be read.
pub fn backup(database: &Path, file: &Path) -> Result<Written, BackupError> {
    let unwritable = |error| BackupError::Unwritable { path: file.to_owned(), error };
    if reserved(file) {
        return Err(BackupError::Reserved { path: file.to_owned() });
    }
    if fs::symlink_metadata(file).is_ok() {
        return Err(BackupError::Exists { path: file.to_owned() });
    }
    let target = std::path::absolute(file).map_err(unwritable)?;
    let folder = target.parent().unwrap_or(Path::new("/"));
    sweep(folder);
    let draft = Builder::new().prefix(DRAFT).tempfile_in(folder).map_err(unwritable)?;
    // Whoever sweeps meanwhile sees that it is somebody's.
    draft.as_file().lock().map_err(unwritable)?;
    copy::snapshot(database, draft.path())?;
    let contents = copy::inspect(draft.path())?;
    draft.as_file().sync_all().map_err(unwritable)?;
    let exists = |error: &io::Error| error.kind() == io::ErrorKind::AlreadyExists;
    let kept = draft.persist_noclobber(&target).map_err(|failed| match failed.error {
        error if exists(&error) => BackupError::Exists { path: file.to_owned() },
        error => unwritable(error),
    })?;
    sync_folder(folder).map_err(unwritable)?;
    let bytes = kept.metadata().map_err(unwritable)?.len();
    Ok(Written { contents, bytes })
}

/// How the name of a file begins that is not whole yet.
const DRAFT: &str = ".abide-backup-";

/// Removes what backups have left that were interrupted: nobody holds it any more.
fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let draft = name.to_str().is_some_and(|name| {
            name.strip_prefix(DRAFT)
                .is_some_and(|random| random.bytes().all(|byte| byte.is_ascii_alphanumeric()))
        });
        let file = draft && entry.file_type().is_ok_and(|kind| kind.is_file());
        let path = entry.path();
        if file && File::open(&path).is_ok_and(|file| file.try_lock().is_ok()) {
            // Another time, if not now.
            let _ = fs::remove_file(beside(&path, "-journal"));
            let _ = fs::remove_file(path);
        }
    }
}

/// Whether a file of this name would be taken for something else, beside whatever database.
fn reserved(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let ends = ["-wal", "-shm", "-journal", ".lock", ".incarnation", ".restored", ".restoring"];
    name.starts_with(DRAFT)
        || name.rfind(swap::KEPT).is_some_and(|at| swap::kept_at(&name[at..]).is_some())
        || ends.iter().any(|end| name.ends_with(end))
}

/// Makes the names of a folder durable.
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// A path with something after its last part.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

#[cfg(test)]
mod tests;
