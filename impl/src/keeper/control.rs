//! The keeper's side of its control socket: checks who asks, answers what needs no decision, and
//! passes on the rest as orders.

use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::io::BufReader;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{mpsc, watch};

use super::folder::{Folder, InterruptFile};
use super::hold::has_exited;
use super::identity::Identity;
use super::inbox::{Inbox, InboxError};
use super::protocol::{Denial, Reply, Request, State, common, read_bytes, write_line};
use super::{OLDEST, VERSION};
use crate::domain::{Token, TokenHash};
use crate::points::{Point, Points};

/// What only the keeper's own course can do.
#[derive(Debug, Clone, Copy)]
pub(super) enum Order {
    /// Start the command.
    Proceed,
    /// End everything.
    Stop {
        /// How long it has.
        grace: Duration,
    },
}

/// What every connection shares.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) keeper: Identity,
    pub(super) secret: TokenHash,
    pub(super) folder: Folder,
    pub(super) state: watch::Receiver<State>,
    pub(super) orders: mpsc::Sender<Order>,
    /// What the command reads; `None` if it reads nothing.
    pub(super) inbox: Option<Arc<Inbox>>,
    /// Why nothing more is delivered, once that was seen: what was said to be so for good stays so,
    /// also where a declared result is taken back. EXEC-02 EXEC-09
    pub(super) over: OnceLock<&'static str>,
    pub(super) points: Points,
}

/// Serves connections until the process ends.
pub(super) async fn serve(listener: UnixListener, shared: Arc<Shared>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let shared = Arc::clone(&shared);
                // A connection that breaks off concerns nobody but its own end.
                tokio::spawn(async move { drop(converse(stream, &shared).await) });
            }
            // Out of descriptors, most likely: the held process matters more than a controller.
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

async fn converse(stream: UnixStream, shared: &Shared) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut authorised = false;
    loop {
        let Some(line) = read_bytes(&mut stream).await? else { return Ok(()) };
        let reply = match serde_json::from_slice(&line) {
            Ok(request) => shared.answer(request, &mut authorised).await,
            // Perhaps one of a later version. The line is not repeated: it may hold a secret.
            Err(_) => refused(Denial::UnknownRequest, "not a request of this protocol"),
        };
        write_line(stream.get_mut(), &reply).await?;
        // Whoever does not know the secret gets one answer a connection.
        if !authorised {
            return Ok(());
        }
    }
}

impl Shared {
    async fn answer(&self, request: Request, authorised: &mut bool) -> Reply {
        match request {
            Request::Hello { version, upto, secret } => {
                let reply = self.hello((version, upto.unwrap_or(version)), &secret.0);
                *authorised = matches!(reply, Reply::Hello { .. });
                reply
            }
            Request::Proceed
            | Request::Status
            | Request::Credentials { .. }
            | Request::Stop { .. }
            | Request::Input { .. }
            | Request::CloseInput
            | Request::Deliver { .. }
            | Request::Interrupt
                if !*authorised =>
            {
                refused(Denial::NotAuthorised, "hello comes first")
            }
            Request::Proceed => self.proceed().await,
            Request::Status => Reply::Status {
                state: self.state.borrow().clone(),
                inbox: self.inbox.as_ref().map(|inbox| inbox.progress()),
                // Whoever cannot be told says it again.
                interrupted: matches!(self.folder.read_interrupt(), Ok(Some(_))),
            },
            Request::Credentials { token } => self.replace(&token.0),
            Request::Stop { grace_ms } => {
                self.order(Order::Stop { grace: Duration::from_millis(grace_ms) }).await
            }
            Request::Input { id, line } => self.keep(|inbox| inbox.add(&id, &line)),
            Request::CloseInput => self.keep(Inbox::close),
            Request::Deliver { id, line } => self.deliver(&id, &line),
            Request::Interrupt => self.interrupt(),
        }
    }

    /// What is there is there, however late it is asked for. EXEC-09
    fn deliver(&self, id: &str, line: &str) -> Reply {
        let known = self.inbox.as_ref().and_then(|inbox| inbox.known(id, line));
        let reply = match (known, self.over()) {
            (Some(known), _) => self.keep(|_| known),
            (None, Some(why)) if self.inbox.is_some() => refused(Denial::Closed, why),
            (None, Some(_) | None) => self.keep(|inbox| inbox.add(id, line)),
        };
        if reply == Reply::Done {
            self.points.pass(Point::Delivered);
        }
        reply
    }

    /// Why nothing more is taken for the command; `None` as long as it works.
    fn over(&self) -> Option<&'static str> {
        let declared = || self.folder.result().symlink_metadata().is_ok();
        let declared = || declared().then_some("the command has declared its result");
        let why = self.over.get().copied().or_else(|| self.gone()).or_else(declared)?;
        Some(*self.over.get_or_init(|| why))
    }

    /// Why no command is there; `None` as long as one runs, or may still be started.
    fn gone(&self) -> Option<&'static str> {
        match *self.state.borrow() {
            State::Held => None,
            // It may be a moment before its end is acted upon.
            State::Running { pid } => has_exited(pid).then_some("the command has ended"),
            State::Stopping | State::Ended { .. } => Some("the command has ended, or is to end"),
        }
    }

    /// The record alone: who stops the command, and when, is for whoever asked to say. POLICY-19
    fn interrupt(&self) -> Reply {
        if let Some(why) = self.gone() {
            return refused(Denial::Closed, why);
        }
        match self.folder.write_interrupt(&InterruptFile { version: VERSION }) {
            Ok(()) => {
                self.points.pass(Point::Interrupted);
                Reply::Done
            }
            Err(error) => refused(Denial::Failed, &format!("cannot remember it: {error}")),
        }
    }

    /// Acknowledged once it is durable.
    fn keep(&self, change: impl FnOnce(&Inbox) -> Result<(), InboxError>) -> Reply {
        let Some(inbox) = &self.inbox else {
            return refused(Denial::Invalid, "the command was launched to read no input");
        };
        match change(inbox) {
            Ok(()) => Reply::Done,
            Err(error) => refused(denial(&error), &error.to_string()),
        }
    }

    fn hello(&self, theirs: (u32, u32), secret: &Token) -> Reply {
        if !secret.hash().matches(&self.secret) {
            return refused(Denial::NotAuthorised, "another keeper's secret");
        }
        let Some(version) = common((OLDEST, VERSION), theirs) else {
            let detail = format!("this keeper speaks {OLDEST} to {VERSION}");
            return refused(Denial::UnknownVersion, &detail);
        };
        Reply::Hello { version, keeper: self.keeper.clone() }
    }

    async fn proceed(&self) -> Reply {
        let mut state = self.state.clone();
        if *state.borrow() == State::Held {
            self.order(Order::Proceed).await;
        }
        // Answered once it is so, for better or worse: `exit.json` tells which.
        drop(state.wait_for(|state| *state != State::Held).await);
        Reply::Done
    }

    /// ADOPT-15: whole or not at all, and before the answer.
    fn replace(&self, token: &Token) -> Reply {
        match self.folder.write_token(token) {
            Ok(()) => {
                self.points.pass(Point::Replaced);
                Reply::Done
            }
            Err(error) => refused(Denial::Failed, &format!("cannot replace the token: {error}")),
        }
    }

    async fn order(&self, order: Order) -> Reply {
        match self.orders.send(order).await {
            // Nobody takes orders any more: the keeper is about to end, and that is all an order
            // could still ask for.
            Ok(()) | Err(_) => Reply::Done,
        }
    }
}

const fn denial(error: &InboxError) -> Denial {
    match error {
        InboxError::Io(_) => Denial::Failed,
        InboxError::Closed | InboxError::Full | InboxError::Unfit(_) => Denial::Invalid,
        InboxError::Other => Denial::OtherLine,
    }
}

fn refused(code: Denial, detail: &str) -> Reply {
    Reply::Refused { code, detail: detail.to_owned() }
}
