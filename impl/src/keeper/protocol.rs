//! What a controller and a keeper say to each other: one JSON object a line, a reply a request.
//!
//! # Versions
//!
//! A keeper lives for as long as its command, through any number of upgrades of the daemon, so both
//! sides speak a range of versions ([`super::OLDEST`] to [`super::VERSION`]) and `hello` settles on
//! the highest that both know. What is added stays harmless to whoever does not know it: unknown
//! fields are ignored, and an unknown request is refused without ending the conversation. OURS-19
//!
//! | version | has |
//! |---|---|
//! | 1 | `hello`, `proceed`, `status`, `credentials`, `stop` |
//! | 2 | `input`, `close_input`, `inbox` in the answer to `status`, `upto` in `hello` |
//! | 3 | `deliver`, `interrupt`, `interrupted` in the answer to `status`, the codes `closed` and `other_line` |

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::folder::{Ending, Progress};
use super::identity::Identity;
use crate::domain::Token;

/// The longest line either side reads. A line of input is at most 1 MiB, of which JSON may make six
/// times as much.
const LINE_MAX: u64 = 8 << 20;

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
    /// The command reads the inbox on its standard input, which stays open; if not, it reads
    /// nothing. Version 2.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub input: bool,
    /// The command reads the inbox in a file of its own, [`super::folder::Folder::events`]; not
    /// looked at where it reads it on its standard input. Version 3.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub events: bool,
}

impl Launch {
    /// The version of a launch: the lowest that can express it, so that a keeper of another build
    /// understands it if it can.
    #[must_use]
    pub const fn version(input: bool, events: bool) -> u32 {
        match (input, events) {
            (_, true) => 3,
            (true, false) => 2,
            (false, false) => 1,
        }
    }
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
        /// The lowest version that the controller speaks. A keeper of version 1 asks for 1 here.
        version: u32,
        /// The highest one; as `version`, if it is not said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        upto: Option<u32>,
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
    /// Keep a line for the command's standard input. Answered once it is durable; it is written in
    /// order, when the command runs and reads. The same id again: nothing. Version 2.
    Input {
        /// Names the line for good.
        id: String,
        /// The line, without its end.
        line: String,
    },
    /// Nothing comes after what is in the inbox: the command reads the end of its input. Again:
    /// nothing. Version 2.
    CloseInput,
    /// As `input`, of a line that the command may be offered while it works: refused as `closed`
    /// once the command has ended, is to end or has declared its result, unless the line is there
    /// already. EXEC-09 Version 3.
    Deliver {
        /// Names the line for good.
        id: String,
        /// The line, without its end.
        line: String,
    },
    /// Remember that the command is to be stopped. Answered once it is durable; it does not stop
    /// anything. Refused as `closed` where no command lives. Again: nothing. Version 3.
    Interrupt,
}

/// What the keeper answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "reply")]
pub enum Reply {
    /// To `hello`.
    Hello {
        /// The version of the protocol that the conversation is in.
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
        /// How far its inbox is; absent where the command has none. Version 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        inbox: Option<Progress>,
        /// It was told that the command is to be stopped. Version 3.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        interrupted: bool,
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
#[serde(rename_all = "snake_case", from = "String")]
pub enum Denial {
    /// `hello` did not come first, or with another secret.
    NotAuthorised,
    /// It speaks another version.
    UnknownVersion,
    /// It does not understand the line.
    UnknownRequest,
    /// It tried and failed.
    Failed,
    /// It cannot be: the command has no inbox, or a closed or full one, or the line does not fit.
    Invalid,
    /// It cannot be any more: the command has ended or is to, or has declared its result. Version 3.
    Closed,
    /// The id names another line, which is there. Version 3.
    OtherLine,
    /// Something that this build does not know.
    Other,
}

impl From<String> for Denial {
    fn from(code: String) -> Self {
        match code.as_str() {
            "not_authorised" => Self::NotAuthorised,
            "unknown_version" => Self::UnknownVersion,
            "unknown_request" => Self::UnknownRequest,
            "failed" => Self::Failed,
            "invalid" => Self::Invalid,
            "closed" => Self::Closed,
            "other_line" => Self::OtherLine,
            _ => Self::Other,
        }
    }
}

/// The highest version in both ranges. OURS-19
#[must_use]
pub fn common((low, high): (u32, u32), (other_low, other_high): (u32, u32)) -> Option<u32> {
    let highest = high.min(other_high);
    (highest >= low.max(other_low)).then_some(highest)
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
    match read_bytes(from).await? {
        Some(line) => Ok(Some(serde_json::from_slice(&line)?)),
        None => Ok(None),
    }
}

/// Reads one line as it is, its end included; `None` at the end of the stream.
///
/// # Errors
/// The line is too long, or is cut off: where the next one begins is not known.
pub(super) async fn read_bytes(
    from: &mut (impl AsyncBufRead + Unpin + Send),
) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    from.take(LINE_MAX).read_until(b'\n', &mut line).await?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.last() != Some(&b'\n') {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a line is cut off or too long"));
    }
    Ok(Some(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_debug_shows_a_secret() {
        let token = Token::from_bytes([0xab; 32]);
        let hello = Request::Hello { version: 1, upto: None, secret: Sealed(token.clone()) };
        let launch = Launch {
            version: 1,
            command: vec!["x".into()],
            dir: "/".into(),
            env: vec![("KEY".into(), "hunter2".into())],
            grace_ms: 1,
            input: false,
            events: false,
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

    #[test]
    fn two_builds_agree_on_the_highest_version_that_both_speak() {
        assert_eq!(common((1, 2), (1, 1)), Some(1));
        assert_eq!(common((1, 2), (1, 2)), Some(2));
        assert_eq!(common((2, 5), (1, 3)), Some(3));
        assert_eq!(common((3, 5), (1, 2)), None);
        assert_eq!(common((1, 2), (3, 5)), None);
    }

    #[test]
    fn what_a_later_build_adds_is_no_error() {
        let refused = r#"{"reply":"refused","code":"tired","detail":"no","until":"noon"}"#;
        let read: Reply = serde_json::from_str(refused).expect("it is a reply");
        assert_eq!(read, Reply::Refused { code: Denial::Other, detail: "no".into() });
        let status = r#"{"reply":"status","state":{"state":"running","pid":7,"cpu":1},"mood":2}"#;
        let read: Reply = serde_json::from_str(status).expect("it is a reply");
        let state = State::Running { pid: 7 };
        assert_eq!(read, Reply::Status { state, inbox: None, interrupted: false });
    }
}
