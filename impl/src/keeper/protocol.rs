//! What a controller and a keeper say to each other: one JSON object a line, a reply a request.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::folder::Ending;
use super::identity::Identity;
use crate::domain::Token;

/// The longest line either side reads.
const LINE_MAX: u64 = 4 << 20;

/// A secret on its way over a private pipe or socket, and nowhere else.
#[derive(Debug, Clone)]
pub struct Sealed(pub Token);

impl Serialize for Sealed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.reveal())
    }
}

impl<'de> Deserialize<'de> for Sealed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        // The text stays out of the message: it may be most of a secret.
        Token::parse(&text).map(Self).ok_or_else(|| D::Error::custom("not a secret"))
    }
}

/// What a launcher writes on the keeper's standard input, as its first line. The pipe stays open
/// until the segment proceeds: its end is how the keeper learns that the launcher is gone. OURS-20
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// Version of this line.
    pub version: u32,
    /// The command and its arguments.
    pub command: Vec<OsString>,
    /// Its working folder.
    pub dir: PathBuf,
    /// Its whole environment. It may hold secrets of the operator's, so it is never in a file.
    pub env: Vec<(OsString, OsString)>,
    /// How long what outlives the command has to end, in milliseconds.
    pub grace_ms: u64,
}

impl fmt::Debug for Launch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.env.iter().map(|(name, _)| name).collect();
        f.debug_struct("Launch")
            .field("command", &self.command)
            .field("dir", &self.dir)
            .field("env", &names)
            .finish_non_exhaustive()
    }
}

/// What the keeper writes on its standard output once it can be controlled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    /// Version of the protocol it speaks.
    pub version: u32,
    /// Who it is.
    pub keeper: Identity,
}

/// What a controller asks.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "request")]
pub enum Request {
    /// First of all: proves the right to ask.
    Hello {
        /// Version of the protocol the controller speaks.
        version: u32,
        /// The keeper's secret.
        secret: Sealed,
    },
    /// The segment is pinned: start the command. Again: nothing.
    Proceed,
    /// Where it is.
    Status,
    /// Replace the token file. ADOPT-15
    Credentials {
        /// The new token.
        token: Sealed,
    },
    /// End everything. A repeat can only shorten the grace.
    Stop {
        /// How long it has, in milliseconds.
        grace_ms: u64,
    },
}

/// What the keeper answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "reply")]
pub enum Reply {
    /// To `hello`.
    Hello {
        /// Version of the protocol it speaks.
        version: u32,
        /// Who it is.
        keeper: Identity,
    },
    /// It is so. To `stop`: it has begun.
    Done,
    /// To `status`.
    Status {
        /// Where it is.
        state: State,
    },
    /// It is not so.
    Refused {
        /// Why.
        code: Denial,
        /// Why, for people.
        detail: String,
    },
}

/// Where a keeper is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum State {
    /// It waits for `proceed`; nothing was started.
    Held,
    /// The command runs.
    Running {
        /// Its id, which is that of its process group.
        pid: i32,
    },
    /// The command has ended, or is to end; what is left of it is being stopped.
    Stopping,
    /// Nothing is left; `exit.json` is about to be written.
    Ended {
        /// How.
        ending: Ending,
    },
}

/// Why a keeper refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Denial {
    /// `hello` did not come first, or with another secret.
    NotAuthorised,
    /// It speaks another version.
    UnknownVersion,
    /// It does not understand the line.
    UnknownRequest,
    /// It tried and failed.
    Failed,
}

/// Writes one line.
///
/// # Errors
/// The other side is gone.
pub async fn write_line<T: Serialize + Sync>(
    to: &mut (impl AsyncWrite + Unpin + Send),
    value: &T,
) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    to.write_all(&line).await?;
    to.flush().await
}

/// Reads one line; `None` at the end of the stream.
///
/// # Errors
/// The line is too long, is cut off, or is something else.
pub async fn read_line<T: DeserializeOwned>(
    from: &mut (impl AsyncBufRead + Unpin + Send),
) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    from.take(LINE_MAX).read_until(b'\n', &mut line).await?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.last() != Some(&b'\n') {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a line is cut off or too long"));
    }
    Ok(Some(serde_json::from_slice(&line)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_debug_shows_a_secret() {
        let token = Token::from_bytes([0xab; 32]);
        let hello = Request::Hello { version: 1, secret: Sealed(token.clone()) };
        let launch = Launch {
            version: 1,
            command: vec!["x".into()],
            dir: "/".into(),
            env: vec![("KEY".into(), "hunter2".into())],
            grace_ms: 1,
        };
        let shown =
            format!("{hello:?} {launch:?} {:?}", Request::Credentials { token: Sealed(token) });
        assert!(!shown.contains("abab") && !shown.contains("hunter2"), "{shown}");
    }

    #[test]
    fn a_bad_secret_is_not_repeated_in_the_error() {
        let line = r#"{"request":"credentials","token":"almost-a-secret"}"#;
        let error = serde_json::from_str::<Request>(line).expect_err("it is no token");
        assert!(!error.to_string().contains("almost"), "{error}");
    }
}
