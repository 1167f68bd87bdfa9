//! The folder of a segment: where each file is, and how it is written.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::identity::Identity;
use crate::domain::{Token, TokenHash};

/// No file that is read whole may be larger; a process could fill memory otherwise.
const READ_MAX: u64 = 8 << 20;

/// A segment's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder(PathBuf);

/// `keeper.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeeperFile {
    /// Version of the folder and the protocol.
    pub version: u32,
    /// The keeper.
    pub keeper: Identity,
    /// What its secret hashes to.
    pub secret: TokenHash,
}

/// `process.json`: enough to find the command's processes when their keeper is gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessFile {
    /// The command, which leads its process group.
    pub leader: Identity,
}

/// `exit.json`: the last thing a keeper writes. Nothing of the segment runs any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExitFile {
    /// Version of this file.
    pub version: u32,
    /// Who wrote it.
    pub keeper: Identity,
    /// How the command ended.
    pub ending: Ending,
    /// Something outlasted its grace and was killed.
    pub forced: bool,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// With this status.
    Exited(i32),
    /// By this signal.
    Killed(i32),
    /// It was never started, for this reason.
    NotStarted(String),
    /// It was started and has ended, but the system did not tell how.
    Unknown(String),
}

impl Folder {
    /// Makes the folder; it must not exist, because a segment is launched once.
    ///
    /// # Errors
    /// It exists, or cannot be made.
    pub fn create(path: PathBuf) -> io::Result<Self> {
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }

    /// A folder that exists.
    #[must_use]
    pub const fn at(path: PathBuf) -> Self {
        Self(path)
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Where a file of it is.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// `control.sock`.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.file("control.sock")
    }

    /// `token`.
    #[must_use]
    pub fn token(&self) -> PathBuf {
        self.file("token")
    }

    /// `request.json`.
    #[must_use]
    pub fn request(&self) -> PathBuf {
        self.file("request.json")
    }

    /// `result.json`.
    #[must_use]
    pub fn result(&self) -> PathBuf {
        self.file("result.json")
    }

    /// `stderr.log`.
    #[must_use]
    pub fn stderr(&self) -> PathBuf {
        self.file("stderr.log")
    }

    /// `stdout.log`.
    #[must_use]
    pub fn stdout(&self) -> PathBuf {
        self.file("stdout.log")
    }

    /// `keeper.log`.
    #[must_use]
    pub fn log(&self) -> PathBuf {
        self.file("keeper.log")
    }

    /// Replaces the token whole: a reader sees the old one or the new one. ADOPT-15
    ///
    /// # Errors
    /// It cannot be written; the old one stands.
    pub fn write_token(&self, token: &Token) -> io::Result<()> {
        write_whole(&self.token(), token.reveal().as_bytes())
    }

    /// Writes the keeper's secret.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write_secret(&self, secret: &Token) -> io::Result<()> {
        write_whole(&self.file("secret"), secret.reveal().as_bytes())
    }

    /// The keeper's secret.
    ///
    /// # Errors
    /// It cannot be read, or is none.
    pub fn read_secret(&self) -> io::Result<Token> {
        let text = fs::read_to_string(self.file("secret"))?;
        Token::parse(&text).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no secret"))
    }

    /// Writes `keeper.json`.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write_keeper(&self, file: &KeeperFile) -> io::Result<()> {
        write_json(&self.file("keeper.json"), file)
    }

    /// Writes `process.json`.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write_process(&self, file: &ProcessFile) -> io::Result<()> {
        write_json(&self.file("process.json"), file)
    }

    /// `process.json`; `None` if nothing was started.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read_process(&self) -> io::Result<Option<ProcessFile>> {
        read_json(&self.file("process.json"))
    }

    /// Writes `exit.json`.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write_exit(&self, file: &ExitFile) -> io::Result<()> {
        write_json(&self.file("exit.json"), file)
    }

    /// `exit.json`; `None` if its keeper has not ended, or never will.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read_exit(&self) -> io::Result<Option<ExitFile>> {
        read_json(&self.file("exit.json"))
    }
}

/// Checks that only we can enter the folder: everything in it relies on that.
///
/// # Errors
/// It is not a folder, not ours, or open to others.
pub fn check_private(path: &Path) -> io::Result<()> {
    let stat = rustix::fs::stat(path)?;
    let private = fs::metadata(path)?.is_dir()
        && stat.st_uid == rustix::process::geteuid().as_raw()
        && stat.st_mode & 0o077 == 0;
    if private {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::PermissionDenied, "the folder must be ours and 0700"))
}

/// Writes JSON as [`write_whole`] does.
///
/// # Errors
/// As [`write_whole`].
pub fn write_json<T: Serialize>(path: &Path, value: &T) -> io::Result<()> {
    write_whole(path, &serde_json::to_vec(value)?)
}

/// Replaces a file so that a reader, and a machine that lost power, sees all of the old or all of
/// the new. Mode 0600.
///
/// # Errors
/// It cannot be written; what was there stands.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let invalid = || io::Error::new(io::ErrorKind::InvalidInput, "not a file in a folder");
    let parent = path.parent().ok_or_else(invalid)?;
    let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(invalid)?;
    // Another writer of the same file has a temporary of its own.
    let temporary = parent.join(format!(".{name}.{}", uuid::Uuid::now_v7().simple()));
    let written = write_new(&temporary, bytes).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        drop(fs::remove_file(&temporary));
    }
    written?;
    File::open(parent)?.sync_all()
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.set_permissions(fs::Permissions::from_mode(0o600))?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Reads JSON; `None` if there is no such file.
///
/// # Errors
/// It cannot be read, is too large, or is something else.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> io::Result<Option<T>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    file.take(READ_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > READ_MAX {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "larger than 8 MiB"));
    }
    Ok(Some(serde_json::from_slice(&bytes)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_token_is_whole_private_and_alone() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let folder = Folder::create(root.path().join("s")).expect("a new folder");
        check_private(folder.path()).expect("it is private");
        for bits in [[1; 32], [2; 32]] {
            let token = Token::from_bytes(bits);
            folder.write_token(&token).expect("it is written");
            let text = fs::read_to_string(folder.token()).expect("it is there");
            assert_eq!(Token::parse(&text), Some(token));
        }
        let mode = fs::metadata(folder.token()).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
    }

    #[test]
    fn a_segment_has_its_folder_once() {
        let root = tempfile::tempdir().expect("a temporary folder");
        Folder::create(root.path().join("s")).expect("a new folder");
        let again = Folder::create(root.path().join("s")).expect_err("it exists");
        assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
    }
}
