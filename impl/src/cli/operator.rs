//! A client of the operator door. What it answers is in [`crate::api::types`]; what an answer that
//! is no result means to a person is said here.

use std::io;
use std::path::PathBuf;

use hyper::Method;
use hyper::body::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use super::client::{self, Answer, Call};
use super::place::Asked;
use super::{Code, Failure};
use crate::api::tool_types::{CONFLICT, Problem};
use crate::api::types::Page;

/// Rows asked for at once.
const PAGE: usize = 500;

/// The operator door of one daemon.
#[derive(Debug)]
pub(super) struct Operator {
    socket: PathBuf,
    token: String,
    /// The command that would start the daemon.
    start: String,
}

impl Operator {
    /// The door of the daemon of a configuration.
    pub(super) fn of(asked: &Asked) -> Result<Self, Failure> {
        let doorway = asked.place.doorway(asked.principal.as_deref())?;
        let start = asked.place.start_command();
        let token = doorway.token(&start)?;
        Ok(Self { socket: doorway.socket, token, start })
    }

    /// Reads something.
    pub(super) async fn get<A: DeserializeOwned>(&self, path: &str) -> Result<A, Failure> {
        read(&self.ask(Call::get(path)).await?)
    }

    /// Reads what is answered, whatever its status; `None` if it is of another form.
    pub(super) async fn body<A: DeserializeOwned>(&self, path: &str) -> Result<Option<A>, Failure> {
        let answer = client::ask(&self.socket, &self.token, Call::get(path)).await;
        let answer = answer.map_err(|error| self.unreachable(&error))?;
        Ok(serde_json::from_slice(&answer.body).ok())
    }

    /// Reads something; `None` once nobody listens.
    pub(super) async fn try_get<A: DeserializeOwned>(
        &self,
        path: &str,
    ) -> Result<Option<A>, Failure> {
        match client::ask(&self.socket, &self.token, Call::get(path)).await {
            Ok(answer) if answer.status.is_success() => read(&answer).map(Some),
            Ok(answer) if client::problem(&answer).code == "draining" => Ok(None),
            Ok(answer) => Err(refused(&client::problem(&answer))),
            Err(error) if error.kind() == io::ErrorKind::TimedOut => Err(self.unreachable(&error)),
            Err(_) => Ok(None),
        }
    }

    /// Reads something that is not JSON.
    pub(super) async fn bytes(&self, path: &str) -> Result<Bytes, Failure> {
        Ok(self.ask(Call::get(path)).await?.body)
    }

    /// Does something. It is a call of its own: whatever is asked again by hand is asked anew.
    pub(super) async fn post<B: Serialize, A: DeserializeOwned>(
        &self,
        path: &str,
        body: &B,
    ) -> Result<A, Failure> {
        self.post_as("application/json", path, body).await
    }

    /// The same with a body of another media type that is JSON all the same.
    pub(super) async fn post_as<B: Serialize, A: DeserializeOwned>(
        &self,
        content_type: &'static str,
        path: &str,
        body: &B,
    ) -> Result<A, Failure> {
        let body = serde_json::to_vec(body)
            .map_err(|error| Failure::refused(format!("cannot write the request: {error}")))?;
        let mut call = Call::new(Method::POST, path, body.into());
        call.content_type = content_type;
        call.idempotency_key = Some(Uuid::now_v7().to_string());
        read(&self.ask(call).await?)
    }

    /// The newest rows of a list, oldest first, and whether there are earlier ones.
    pub(super) async fn newest<A: DeserializeOwned>(
        &self,
        list: &str,
        count: usize,
    ) -> Result<(Vec<A>, bool), Failure> {
        let end = self.end(list).await?;
        let after = end.saturating_sub(i64::try_from(count).unwrap_or(i64::MAX)).max(0);
        let mut rows = self.after(list, after, count).await?;
        let earlier = after > 0 || rows.len() > count;
        rows.drain(..rows.len().saturating_sub(count));
        Ok((rows, earlier))
    }

    /// The same of a filtered list, which has to be read from its beginning.
    pub(super) async fn last_of_all<A: DeserializeOwned>(
        &self,
        list: &str,
        count: usize,
    ) -> Result<(Vec<A>, bool), Failure> {
        let mut rows = self.all(list).await?;
        let earlier = rows.len().saturating_sub(count);
        rows.drain(..earlier);
        Ok((rows, earlier > 0))
    }

    /// The cursor behind which a list has nothing more. Lists only go forward, so it is searched
    /// for: by doubling, then by halving.
    async fn end(&self, list: &str) -> Result<i64, Failure> {
        let (mut some, mut none) = (0, 1);
        while self.has_after(list, none).await? {
            (some, none) = (none, none.saturating_mul(2));
        }
        while none - some > 1 {
            let middle = some + (none - some) / 2;
            match self.has_after(list, middle).await? {
                true => some = middle,
                false => none = middle,
            }
        }
        Ok(none)
    }

    async fn has_after(&self, list: &str, cursor: i64) -> Result<bool, Failure> {
        let page: Page<serde_json::Value> = self.page(list, cursor, 1).await?;
        Ok(!page.items.is_empty())
    }

    /// At most so many rows after a cursor.
    pub(super) async fn after<A: DeserializeOwned>(
        &self,
        list: &str,
        cursor: i64,
        count: usize,
    ) -> Result<Vec<A>, Failure> {
        let mut rows = Vec::new();
        let mut next = Some(cursor);
        while let Some(after) = next.filter(|_| rows.len() < count) {
            let page = self.page(list, after, PAGE.min(count - rows.len())).await?;
            rows.extend(page.items);
            next = page.next;
        }
        Ok(rows)
    }

    /// One page of a list, which may be filtered (`/work?status=ready`), after a cursor.
    async fn page<A: DeserializeOwned>(
        &self,
        list: &str,
        after: i64,
        limit: usize,
    ) -> Result<Page<A>, Failure> {
        let first = if list.contains('?') { '&' } else { '?' };
        self.get(&format!("{list}{first}after={after}&limit={limit}")).await
    }

    /// Every row of a list.
    pub(super) async fn all<A: DeserializeOwned>(&self, list: &str) -> Result<Vec<A>, Failure> {
        self.after(list, 0, usize::MAX).await
    }

    async fn ask(&self, call: Call) -> Result<Answer, Failure> {
        let answer = client::ask(&self.socket, &self.token, call).await;
        let answer = answer.map_err(|error| self.unreachable(&error))?;
        if answer.status.is_success() {
            return Ok(answer);
        }
        Err(refused(&client::problem(&answer)))
    }

    fn unreachable(&self, error: &io::Error) -> Failure {
        use io::ErrorKind::{ConnectionRefused, InvalidInput, NotFound, PermissionDenied};

        let (socket, kind) = (self.socket.display(), error.kind());
        if kind == NotFound || kind == ConnectionRefused {
            let start = &self.start;
            Failure::refused(format!(
                "the daemon is not running (nothing listens on {socket}): start it with `{start}`"
            ))
        } else if kind == PermissionDenied {
            let next = "ask as the daemon's own user";
            Failure::refused(format!("{socket} is not yours to open: {next}"))
        } else if kind == InvalidInput {
            Failure::new(Code::Usage, format!("cannot ask: {error}"))
        } else {
            let next = "look at its log, then repeat";
            Failure::new(Code::Later, format!("the daemon did not answer ({error}): {next}"))
        }
    }
}

/// A name in a path: every byte that has a meaning there is encoded.
pub(super) fn segment(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let encoded = text.bytes().map(|byte| match byte {
        plain_byte if plain(plain_byte) => char::from(plain_byte).to_string(),
        other => format!("%{other:02X}"),
    });
    encoded.collect()
}

fn read<A: DeserializeOwned>(answer: &Answer) -> Result<A, Failure> {
    serde_json::from_slice(&answer.body).map_err(|error| {
        let next = "use the `abide` of the same version";
        Failure::refused(format!("the daemon answered in other words ({error}): {next}"))
    })
}

/// What a problem means to whoever asked: its title says what is so, its detail what to do.
fn refused(problem: &Problem) -> Failure {
    let next = problem.detail.as_deref().or_else(|| next(problem));
    let next = next.map_or(String::new(), |next| format!("; next: {next}"));
    Failure::new(code(problem), format!("{}: {}{next}", problem.code, problem.title))
}

fn code(problem: &Problem) -> Code {
    match (problem.code.as_str(), problem.status) {
        (CONFLICT | "out_of_turn" | "held" | "excluded" | "capacity", _) | (_, 429 | 503) => {
            Code::Later
        }
        _ => Code::Refused,
    }
}

/// The next step where the door named none.
fn next(problem: &Problem) -> Option<&'static str> {
    match (problem.code.as_str(), problem.status) {
        ("unknown_work", _) => Some("see `abide work list`"),
        ("unknown_event", _) => Some("see `abide event list`"),
        ("unknown_wait", _) => Some("see `abide wait list --all`"),
        (_, 401) => Some("is -c the file this daemon was started with?"),
        _ if code(problem) == Code::Later => Some("try later"),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
