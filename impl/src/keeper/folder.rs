//! The folder of a segment: where each file is, and how it is written.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::io::Errno;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::identity::Identity;
use crate::domain::{Token, TokenHash};
use crate::files::write_whole;

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
    /// Version of this file.
    #[serde(default = "first")]
    pub version: u32,
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
    /// How far its inbox came; absent where the command had none. Version 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inbox: Option<Progress>,
}

/// `interrupt.json`: the keeper was told that its command is to be stopped, while it lived. POLICY-19
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterruptFile {
    /// Version of this file.
    pub version: u32,
}

/// The first version of every file.
const fn first() -> u32 {
    super::OLDEST
}

/// How far an inbox is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Progress {
    /// Lines that are kept; each was acknowledged, or was there at the start.
    pub accepted: u64,
    /// Lines of them that were written to the command's standard input, or to its file. That the
    /// command has read them is not said.
    pub written: u64,
    /// No line is accepted any more.
    pub closed: bool,
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

    /// `inbox.ndjson`.
    #[must_use]
    pub fn inbox(&self) -> PathBuf {
        self.file("inbox.ndjson")
    }

    /// `events.ndjson`.
    #[must_use]
    pub fn events(&self) -> PathBuf {
        self.file("events.ndjson")
    }

    /// `acks.ndjson`.
    #[must_use]
    pub fn acks(&self) -> PathBuf {
        self.file("acks.ndjson")
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
        read_token(&self.file("secret"))
    }

    /// The token, as the process finds it.
    ///
    /// # Errors
    /// It cannot be read, or is none.
    pub fn read_token(&self) -> io::Result<Token> {
        read_token(&self.token())
    }

    /// Writes `keeper.json`.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write_keeper(&self, file: &KeeperFile) -> io::Result<()> {
        write_json(&self.file("keeper.json"), file)
    }

    /// `keeper.json`; `None` if no keeper came so far that it could have been told to start anything.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read_keeper(&self) -> io::Result<Option<KeeperFile>> {
        read_json(&self.file("keeper.json"))
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

    /// Writes `interrupt.json`.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write_interrupt(&self, file: &InterruptFile) -> io::Result<()> {
        write_json(&self.file("interrupt.json"), file)
    }

    /// `interrupt.json`; `None` if its keeper was not told.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read_interrupt(&self) -> io::Result<Option<InterruptFile>> {
        read_json(&self.file("interrupt.json"))
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

fn read_token(path: &Path) -> io::Result<Token> {
    let bytes = read_bytes(path)?.ok_or(io::ErrorKind::NotFound)?;
    Token::parse(&String::from_utf8_lossy(&bytes))
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no secret"))
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

/// Reads JSON; `None` if there is no such file.
///
/// # Errors
/// It cannot be read, is too large, or is something else.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> io::Result<Option<T>> {
    match read_bytes(path)? {
        Some(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
        None => Ok(None),
    }
}

fn read_bytes(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let Some(file) = open_file(path)? else { return Ok(None) };
    let mut bytes = Vec::new();
    file.take(READ_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > READ_MAX {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "larger than 8 MiB"));
    }
    Ok(Some(bytes))
}

/// Opens a file to read; `None` if there is none. A process that can write to the folder may have put
/// anything there: what is no file is refused, a link included, and a pipe that nobody writes to is
/// not waited for.
///
/// # Errors
/// It cannot be opened, or is no file, which is [`io::ErrorKind::InvalidData`].
pub fn open_file(path: &Path) -> io::Result<Option<File>> {
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW;
    let flags = i32::try_from(flags.bits()).map_err(io::Error::other)?;
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if is_no_file(&error) => return Err(no_file()),
        Err(error) => return Err(error),
    };
    if file.metadata()?.is_file() { Ok(Some(file)) } else { Err(no_file()) }
}

/// A link is refused as a loop, and a socket as having nobody at its other end.
fn is_no_file(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::LOOP | Errno::NXIO))
}

fn no_file() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "it is no file")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

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

    /// A process may put anything into the folder, and reading it may not wait for that process.
    #[test]
    fn what_is_no_file_is_refused_at_once() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let folder = Folder::create(root.path().join("s")).expect("a new folder");
        for path in [folder.result(), folder.token(), folder.stdout()] {
            let made = std::process::Command::new("mkfifo").arg(path).status();
            assert!(made.expect("it runs").success());
        }
        assert!(read_json::<ProcessFile>(&folder.result()).is_err());
        assert!(folder.read_token().is_err());
        assert!(open_file(&folder.stdout()).is_err());
        assert!(open_file(root.path()).is_err());
        fs::write(root.path().join("real"), "").expect("it is written");
        for to in ["real", "stdout.log", "/dev/zero"] {
            let link = root.path().join("link");
            std::os::unix::fs::symlink(root.path().join(to), &link).expect("a link");
            let refused = open_file(&link).expect_err("a link leads anywhere");
            assert_eq!(refused.kind(), io::ErrorKind::InvalidData);
            fs::remove_file(link).expect("it is there");
        }
        let _socket = std::os::unix::net::UnixListener::bind(root.path().join("socket"));
        let refused = open_file(&root.path().join("socket")).expect_err("it is no file");
        assert_eq!(refused.kind(), io::ErrorKind::InvalidData);
        assert!(open_file(&folder.stderr()).expect("nothing is there").is_none());
    }
}
