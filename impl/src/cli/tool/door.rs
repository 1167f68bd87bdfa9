//! A client of the tool door. What it says and how it reads answers is in
//! [`crate::api::tool_types`].

use std::path::PathBuf;
use std::time::Duration;
use std::{fs, io};

use hyper::body::Bytes;
use hyper::{Method, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::sleep;

use super::environment;
use crate::api::tool_types::{CONFLICT, Problem, RECOVERING};
use crate::cli::client::{self, Call};
use crate::cli::{Code, Failure};
use crate::domain::Token;

/// Pauses before a call is repeated: long enough for a daemon to be restarted, short enough for a
/// script that asks.
const PAUSES: [Duration; 4] = [
    Duration::from_millis(100),
    Duration::from_millis(300),
    Duration::from_millis(900),
    Duration::from_millis(2700),
];

/// The door of the attempt that runs this process.
#[derive(Debug)]
pub(super) struct Door {
    socket: PathBuf,
    token_file: PathBuf,
}

/// One exchange that gave no result.
enum Trouble {
    /// No answer: the daemon is down, or being restarted.
    Unreachable(io::Error),
    /// An answer, and not the one asked for.
    Problem { problem: Problem, sent: Token },
}

/// What to do about it.
enum Step {
    Repeat,
    Stop(Code),
}

impl Door {
    pub(super) fn of_this_attempt() -> Result<Self, Failure> {
        let socket = environment("ABIDE_SOCKET")?;
        Ok(Self { socket, token_file: environment("ABIDE_TOKEN_FILE")? })
    }

    /// Makes one call. It is repeated under one idempotency key for as long as a restart takes, and
    /// the token file is read each time, because an adoption replaces it.
    pub(super) async fn call<B: Serialize, A: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&B>,
    ) -> Result<A, Failure> {
        let body = body.map(serde_json::to_vec).transpose().map_err(unreadable)?;
        let mut call = Call::new(method, path, body.unwrap_or_default().into());
        call.idempotency_key = Some(uuid::Uuid::now_v7().to_string());
        let mut pauses = PAUSES.iter();
        loop {
            let trouble = match self.exchange(call.clone()).await? {
                Ok(answer) => return serde_json::from_slice(&answer).map_err(unreadable),
                Err(trouble) => trouble,
            };
            match (self.judge(&trouble), pauses.next()) {
                (Step::Repeat, Some(pause)) => sleep(*pause).await,
                (Step::Repeat, None) => return Err(trouble.failure(Code::Later)),
                (Step::Stop(code), _) => return Err(trouble.failure(code)),
            }
        }
    }

    /// The outer error is ours and final; the inner one is the door's.
    async fn exchange(&self, call: Call) -> Result<Result<Bytes, Trouble>, Failure> {
        let sent = self.token()?;
        match client::ask(&self.socket, &sent.reveal(), call).await {
            Ok(answer) if answer.status.is_success() => Ok(Ok(answer.body)),
            Ok(answer) => Ok(Err(Trouble::Problem { problem: client::problem(&answer), sent })),
            Err(error) => Ok(Err(Trouble::Unreachable(error))),
        }
    }

    fn judge(&self, trouble: &Trouble) -> Step {
        match trouble {
            Trouble::Unreachable(_) => Step::Repeat,
            Trouble::Problem { problem, sent } => match problem.code.as_str() {
                // The process may have been adopted since the token was read.
                "stale_authority" if self.token().is_ok_and(|token| token != *sent) => Step::Repeat,
                code => judge(problem.status, code),
            },
        }
    }

    fn token(&self) -> Result<Token, Failure> {
        let text = fs::read_to_string(&self.token_file)
            .map_err(|error| Failure::refused(format!("cannot read ABIDE_TOKEN_FILE: {error}")))?;
        Token::parse(&text).ok_or_else(|| Failure::refused("ABIDE_TOKEN_FILE holds no token"))
    }
}

/// What an answer that is no result means to this process.
fn judge(status: u16, code: &str) -> Step {
    match code {
        "stale_authority" => Step::Stop(Code::Stale),
        // Recovery takes over, and replaces the token if it adopts this process.
        "lease_expired" | RECOVERING => Step::Repeat,
        CONFLICT | "out_of_turn" | "held" | "excluded" | "capacity" => Step::Stop(Code::Later),
        _ if status == StatusCode::SERVICE_UNAVAILABLE => Step::Repeat,
        _ if status == StatusCode::TOO_MANY_REQUESTS => Step::Stop(Code::Later),
        _ => Step::Stop(Code::Refused),
    }
}

impl Trouble {
    fn failure(self, code: Code) -> Failure {
        let message = match self {
            Self::Unreachable(error) => format!("the daemon does not answer: {error}: try later"),
            Self::Problem { problem, .. } => {
                let detail = problem.detail.unwrap_or(problem.title);
                format!("{}: {detail}", problem.code)
            }
        };
        Failure::new(code, message)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "a function of `map_err`")]
fn unreadable(error: serde_json::Error) -> Failure {
    Failure::refused(format!("the door and this tool do not speak the same words: {error}"))
}
