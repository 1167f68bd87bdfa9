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

/// Where the lock of a database lies: beside it, so that two state folders cannot share one.
#[must_use]
pub fn beside(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(".lock");
    name.into()
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
            return Err(LockError::Held { path: path.to_owned(), holder: named(&mut file) });
        }
        Err(TryLockError::Error(error)) => return Err(io(error)),
    }
    file.set_len(0).map_err(io)?;
    file.rewind().map_err(io)?;
    writeln!(file, "process {}", std::process::id()).map_err(io)?;
    Ok(FileLock { _file: file })
}

/// Who holds the lock at `path`, as it said itself; `None` if nobody does. What the file says stays
/// as it is.
///
/// # Errors
/// The lock file is there and cannot be used.
pub fn holder(path: &Path) -> Result<Option<String>, LockError> {
    let io = |error| LockError::Io { path: path.to_owned(), error };
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io(error)),
    };
    // Given back at once, when the file is closed.
    match file.try_lock_shared() {
        Ok(()) => Ok(None),
        Err(TryLockError::WouldBlock) => Ok(Some(named(&mut file))),
        Err(TryLockError::Error(error)) => Err(io(error)),
    }
}

fn named(file: &mut File) -> String {
    let mut holder = String::new();
    // What it says is for people; a lock without a readable name is still a lock.
    let _ = file.read_to_string(&mut holder);
    match holder.trim() {
        "" => "another process".to_owned(),
        named => named.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{LockError, holder, lock};

    #[test]
    fn a_look_at_a_lock_leaves_it_and_its_file_as_they_are() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("abide.lock");
        assert_eq!(holder(&path).expect("a look"), None);
        assert!(!path.exists(), "a look makes nothing");
        std::fs::write(&path, "process 7\n").expect("a file");
        assert_eq!(holder(&path).expect("a look"), None, "of one that has ended");
        assert_eq!(std::fs::read(&path).expect("it is there"), b"process 7\n");
        let held = lock(&path).expect("a look holds nothing");
        let us = format!("process {}", std::process::id());
        assert_eq!(holder(&path).expect("a look"), Some(us));
        drop(held);
        assert_eq!(holder(&path).expect("a look"), None);
    }

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
