//! The controller's side: reaches a keeper and makes sure it is the right one.

use std::io;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::BufReader;
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::folder::{Folder, Progress};
use super::identity::Identity;
use super::protocol::{Denial, Reply, Request, Sealed, State, read_line, write_line};

use super::{OLDEST, VERSION, socket};
use crate::domain::{Token, TokenHash};

/// A keeper does nothing that takes time before it answers; one that takes longer is stuck.
const ANSWER_MAX: Duration = Duration::from_secs(10);

/// A keeper as its launcher recorded it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeeperRef {
    /// Who it is.
    pub keeper: Identity,
    /// What its secret hashes to.
    pub secret: TokenHash,
}

/// Why a keeper could not be reached or used.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody answers, or what answers makes no sense.
    #[error("the keeper cannot be reached: {0}")]
    Io(#[from] io::Error),
    /// It is of an earlier version, and does not know what it would be asked.
    #[error("the keeper speaks version {version} of the protocol, and that has no `{what}`")]
    Older {
        /// The version of the conversation.
        version: u32,
        /// What it does not know.
        what: &'static str,
    },
    /// It is not the one that was recorded. ADOPT-19
    #[error("not the recorded keeper: {0}")]
    Unverified(&'static str),
    /// It refuses.
    #[error("the keeper refuses ({code:?}): {detail}")]
    Refused {
        /// Why.
        code: Denial,
        /// Why, for people.
        detail: String,
    },
}

/// A connection to a verified keeper.
#[derive(Debug)]
pub struct Controller {
    stream: BufReader<UnixStream>,
    version: u32,
}

impl Controller {
    /// Connects to the keeper of this folder and verifies that it is the recorded one: it runs
    /// under that identity, it is the process that listens, its secret is the recorded one, and it
    /// says so itself. ADOPT-14
    ///
    /// # Errors
    /// It cannot be reached, or one of these does not hold.
    pub async fn open(folder: &Folder, keeper: &KeeperRef) -> Result<Self, ClientError> {
        if !keeper.keeper.is_alive()? {
            return Err(ClientError::Unverified("no process of its boot, id and start time runs"));
        }
        let files = folder.clone();
        let secret = tokio::task::spawn_blocking(move || files.read_secret()).await;
        let secret = secret.map_err(io::Error::other)??;
        if !secret.hash().matches(&keeper.secret) {
            return Err(ClientError::Unverified("its secret is another one"));
        }
        let stream = within(socket::connect(&folder.socket())).await?;
        if stream.peer_cred()?.pid() != Some(keeper.keeper.pid) {
            return Err(ClientError::Unverified("another process listens on its socket"));
        }
        let mut controller = Self { stream: BufReader::new(stream), version: OLDEST };
        controller.hello(&keeper.keeper, secret).await?;
        Ok(controller)
    }

    async fn hello(&mut self, keeper: &Identity, secret: Token) -> Result<(), ClientError> {
        let hello = Request::Hello { version: OLDEST, upto: Some(VERSION), secret: Sealed(secret) };
        match self.ask(&hello).await? {
            Reply::Hello { keeper: said, .. } if said != *keeper => {
                Err(ClientError::Unverified("it says it is another one"))
            }
            Reply::Hello { version, .. } if (OLDEST..=VERSION).contains(&version) => {
                self.version = version;
                Ok(())
            }
            Reply::Hello { .. } | Reply::Done | Reply::Status { .. } | Reply::Refused { .. } => {
                Err(nonsense())
            }
        }
    }

    /// The version of the protocol that this conversation is in.
    #[must_use]
    pub const fn version(&self) -> u32 {
        self.version
    }

    /// Starts the command; nothing if it was started.
    ///
    /// # Errors
    /// The keeper went away.
    pub async fn proceed(&mut self) -> Result<(), ClientError> {
        self.order(&Request::Proceed).await
    }

    /// Replaces the token file before it answers. ADOPT-15
    ///
    /// # Errors
    /// The old token stands.
    pub async fn replace_token(&mut self, token: Token) -> Result<(), ClientError> {
        self.order(&Request::Credentials { token: Sealed(token) }).await
    }

    /// Begins to end everything; the keeper itself ends once nothing is left.
    ///
    /// # Errors
    /// The keeper went away.
    pub async fn stop(&mut self, grace: Duration) -> Result<(), ClientError> {
        let grace_ms = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
        self.order(&Request::Stop { grace_ms }).await
    }

    /// Adds a line to the command's standard input; durable, once this answers. A repeat of an id
    /// changes nothing.
    ///
    /// # Errors
    /// The keeper went away, or keeps no input: it is of version 1, its command has no inbox, the
    /// inbox is closed or full, or the id names another line.
    pub async fn input(&mut self, id: &str, line: &str) -> Result<(), ClientError> {
        self.order(&Request::Input { id: id.to_owned(), line: line.to_owned() }).await
    }

    /// Lets the command read the end of its input, once it has read what is there.
    ///
    /// # Errors
    /// The keeper went away, or keeps no input.
    pub async fn close_input(&mut self) -> Result<(), ClientError> {
        self.order(&Request::CloseInput).await
    }

    /// Offers the command a line while it works; durable, once this answers. A repeat of an id
    /// changes nothing.
    ///
    /// # Errors
    /// The keeper went away, or takes no line: see [`Denial`]. A keeper before version 3 is not asked.
    pub async fn deliver(&mut self, id: &str, line: &str) -> Result<(), ClientError> {
        self.since(3, "deliver")?;
        self.order(&Request::Deliver { id: id.to_owned(), line: line.to_owned() }).await
    }

    /// Has the keeper remember that the command is to be stopped; durable, once this answers.
    ///
    /// # Errors
    /// The keeper went away, or holds no command any more. A keeper before version 3 is not asked.
    pub async fn interrupt(&mut self) -> Result<(), ClientError> {
        self.since(3, "interrupt")?;
        self.order(&Request::Interrupt).await
    }

    /// Whether the keeper was told that the command is to be stopped.
    ///
    /// # Errors
    /// The keeper went away.
    pub async fn interrupted(&mut self) -> Result<bool, ClientError> {
        match self.ask(&Request::Status).await? {
            Reply::Status { interrupted, .. } => Ok(interrupted),
            Reply::Hello { .. } | Reply::Done | Reply::Refused { .. } => Err(nonsense()),
        }
    }

    const fn since(&self, version: u32, what: &'static str) -> Result<(), ClientError> {
        if self.version < version {
            return Err(ClientError::Older { version: self.version, what });
        }
        Ok(())
    }

    /// Where the keeper is.
    ///
    /// # Errors
    /// The keeper went away.
    pub async fn status(&mut self) -> Result<State, ClientError> {
        Ok(self.seen().await?.0)
    }

    /// How far the command's inbox is; `None` if it has none.
    ///
    /// # Errors
    /// The keeper went away.
    pub async fn inbox(&mut self) -> Result<Option<Progress>, ClientError> {
        Ok(self.seen().await?.1)
    }

    async fn seen(&mut self) -> Result<(State, Option<Progress>), ClientError> {
        match self.ask(&Request::Status).await? {
            Reply::Status { state, inbox, .. } => Ok((state, inbox)),
            Reply::Hello { .. } | Reply::Done | Reply::Refused { .. } => Err(nonsense()),
        }
    }

    async fn order(&mut self, request: &Request) -> Result<(), ClientError> {
        match self.ask(request).await? {
            Reply::Done => Ok(()),
            Reply::Hello { .. } | Reply::Status { .. } | Reply::Refused { .. } => Err(nonsense()),
        }
    }

    async fn ask(&mut self, request: &Request) -> Result<Reply, ClientError> {
        within(write_line(self.stream.get_mut(), request)).await?;
        let reply = within(read_line(&mut self.stream)).await?;
        match reply.ok_or(io::Error::from(io::ErrorKind::UnexpectedEof))? {
            Reply::Refused { code, detail } => Err(ClientError::Refused { code, detail }),
            reply @ (Reply::Hello { .. } | Reply::Done | Reply::Status { .. }) => Ok(reply),
        }
    }
}

async fn within<T>(answer: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    timeout(ANSWER_MAX, answer).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
}

fn nonsense() -> ClientError {
    io::Error::new(io::ErrorKind::InvalidData, "an answer to another question").into()
}
