//! One daemon a file: a lock that lasts as long as its holder's process. OURS-22

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

/// The right to serve a database. The system takes it back when the process ends, however it ends.
#[derive(Debug)]
pub struct FileLock {
    _file: File,
}

/// Why the right was not given.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another daemon serves this database.
    #[error("{path} is held by {holder}: stop that daemon first, or give this one its own state")]
    Held {
        /// The lock file.
        path: PathBuf,
        /// Who holds it, as it said itself.
        holder: String,
    },
    /// The lock file cannot be made or read.
    #[error("the lock file {path} cannot be used: {error}")]
    Io {
        /// The lock file.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
}

/// Takes the lock at `path`, makes the file if it is absent, and writes who holds it. OURS-22
///
/// # Errors
/// Another process holds it, which the error names; or the file cannot be used.
pub fn lock(path: &Path) -> Result<FileLock, LockError> {
    let io = |error| LockError::Io { path: path.to_owned(), error };
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .map_err(io)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            // What it says is for people; a lock without a readable name is still a lock.
            let _ = file.read_to_string(&mut holder);
            let holder = match holder.trim() {
                "" => "another process".to_owned(),
                named => named.to_owned(),
            };
            return Err(LockError::Held { path: path.to_owned(), holder });
        }
        Err(TryLockError::Error(error)) => return Err(io(error)),
    }
    file.set_len(0).map_err(io)?;
    file.rewind().map_err(io)?;
    writeln!(file, "process {}", std::process::id()).map_err(io)?;
    Ok(FileLock { _file: file })
}

#[cfg(test)]
mod tests {
    use super::{LockError, lock};

    #[test]
    fn a_second_holder_is_refused_and_told_the_first() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("abide.lock");
        let first = lock(&path).expect("a free lock");
        let refused = lock(&path).expect_err("a held lock");
        let LockError::Held { holder, .. } = refused else { panic!("{refused}") };
        assert_eq!(holder, format!("process {}", std::process::id()));
        drop(first);
        lock(&path).expect("a lock given back");
    }
}
