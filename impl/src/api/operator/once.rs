//! `Idempotency-Key`: a request that is sent again is answered as it was the first time. OURS-23

use std::future::Future;
use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::Caller;
use crate::api::accept;
use crate::api::limits::OPERATOR;
use crate::api::problem::ApiError;
use crate::command::{Command, Outcome};
use crate::domain::{self, Actor, CausalLimits};
use crate::host::Context;
use crate::writer::{Answered, Once};

/// The header.
const HEADER: &str = "idempotency-key";

/// The longest key, in bytes.
const KEY_MAX: usize = 256;

/// The longest reason, in bytes.
const REASON_MAX: usize = 1024;

/// Limits of an event that is about no configured scope.
pub(super) const LIMITS: CausalLimits = CausalLimits { max_depth: 32 };

/// A request that acts: who asks, and what a repeat of it is known by.
#[derive(Debug, Clone)]
pub(super) struct Acting {
    caller: Caller,
    /// `None` without the header: every such request is the first.
    once: Option<Once>,
}

/// Reads the key and hashes what the request says, so that a handler only needs to act.
pub(super) async fn note(request: Request, next: Next) -> Response {
    match noted(request).await {
        Ok(request) => next.run(request).await,
        Err(error) => error.into_response(),
    }
}

async fn noted(request: Request) -> Result<Request, ApiError> {
    if request.method() != Method::POST {
        return Ok(request);
    }
    let Some(caller) = request.extensions().get::<Caller>().cloned() else {
        tracing::error!("a request acts before it is known who asks");
        return Err(ApiError::unavailable());
    };
    let key = key(request.headers())?;
    let (mut parts, body) = request.into_parts();
    let too_large = |_| ApiError::too_large(OPERATOR.body as u64);
    let body = to_bytes(body, OPERATOR.body).await.map_err(too_large)?;
    let once = key.map(|key| {
        let path = parts.uri.path();
        let mut hash = Sha256::new().chain_update(path).chain_update([0]);
        // In the binary mode of CloudEvents the headers say what is offered.
        let said = parts.headers.iter().filter(|(name, _)| name.as_str().starts_with("ce-"));
        for (name, value) in said {
            hash = hash.chain_update(name.as_str()).chain_update([0]);
            hash = hash.chain_update(value.as_bytes()).chain_update([0]);
        }
        let request = hash.chain_update([1]).chain_update(&body).finalize().into();
        Once { principal: caller.0.clone(), key, request }
    });
    parts.extensions.insert(Acting { caller, once });
    Ok(Request::from_parts(parts, Body::from(body)))
}

fn key(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let Some(value) = headers.get(HEADER) else { return Ok(None) };
    let key = value.to_str().unwrap_or_default().trim();
    if key.is_empty() || key.len() > KEY_MAX {
        let title = format!("`Idempotency-Key` must have 1 to {KEY_MAX} visible characters");
        return Err(ApiError::malformed(title).next("send a fresh UUID for each new request"));
    }
    Ok(Some(key.to_owned()))
}

impl Acting {
    /// Who asks.
    pub(super) fn actor(&self) -> Actor {
        self.caller.actor()
    }

    /// A reason as it is kept, with who gives it: `ops: the window is closed`. It is repeated in
    /// every list, so that it must be short.
    ///
    /// # Errors
    /// It is not.
    pub(super) fn says(&self, reason: &str) -> Result<String, ApiError> {
        if reason.len() > REASON_MAX {
            let title = format!("the reason is longer than {REASON_MAX} bytes");
            return Err(ApiError::malformed(title).next("say it in a sentence, and link to more"));
        }
        Ok(match reason.trim() {
            "" => self.caller.0.clone(),
            reason => format!("{}: {reason}", self.caller.0),
        })
    }

    /// What a repeat of this request is known by, if it can be.
    pub(super) fn once(&self) -> Option<Once> {
        self.once.clone()
    }

    /// The identity of an event this request accepts: with a key a repeat has the same, for ever.
    /// What is asked, and of whom, is part of it, since the key alone may come to be used again.
    pub(super) fn request_id(&self) -> String {
        let own = || Uuid::now_v7().to_string();
        let said = |once: &Once| format!("{}/{}", once.key, hex::encode(once.request));
        format!("{}/{}", self.caller.0, self.once.as_ref().map_or_else(own, said))
    }

    /// The same, whole: an event of these limits.
    pub(super) fn request(&self, limits: CausalLimits) -> domain::Request {
        domain::Request { uid: accept::mint(), id: self.request_id(), limits }
    }

    /// Performs what `prepare` makes of the request; a repeat is answered without preparing anything,
    /// since what it was prepared from may be gone.
    ///
    /// # Errors
    /// The key was used for another request; it could not be prepared; nothing can be committed.
    pub(super) async fn perform(
        &self,
        context: &Arc<Context>,
        prepare: impl Future<Output = Result<Vec<Command>, ApiError>>,
    ) -> Result<Vec<Outcome>, ApiError> {
        if let Some(outcomes) = self.before(context).await? {
            return Ok(outcomes);
        }
        let commands = prepare.await?;
        let actor = self.actor();
        let commands = commands.into_iter().map(|command| (actor.clone(), command)).collect();
        match &self.once {
            None => Ok(context.writer.apply_all(commands).await?),
            Some(once) => outcomes(context.writer.apply_once(once.clone(), commands).await?),
        }
    }

    /// The same of one command.
    ///
    /// # Errors
    /// As [`perform`](Self::perform).
    pub(super) async fn perform_one(
        &self,
        context: &Arc<Context>,
        prepare: impl Future<Output = Result<Command, ApiError>>,
    ) -> Result<Outcome, ApiError> {
        let prepare = async { prepare.await.map(|command| vec![command]) };
        let outcome = self.perform(context, prepare).await?.pop();
        outcome.ok_or_else(|| {
            tracing::error!("a command was answered with no outcome");
            ApiError::unavailable()
        })
    }

    /// What this request was answered before.
    async fn before(&self, context: &Arc<Context>) -> Result<Option<Vec<Outcome>>, ApiError> {
        let Some(once) = self.once.clone() else { return Ok(None) };
        let now = context.now();
        let found = context.read(move |tx| once.recall(tx, now)).await?;
        found.map(outcomes).transpose()
    }
}

fn outcomes(answered: Answered) -> Result<Vec<Outcome>, ApiError> {
    match answered {
        Answered::Outcomes(outcomes) => Ok(outcomes),
        Answered::Again(outcomes) => Ok(outcomes.into_iter().map(repeated).collect()),
        Answered::Reused => Err(ApiError::key_reused()),
    }
}

/// What was new the first time is not new any more.
fn repeated(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Accepted(receipt) => Outcome::Duplicate(receipt),
        Outcome::Duplicate(_) | Outcome::Refused(_) | Outcome::Deferred(_) | Outcome::Conflict => {
            outcome
        }
    }
}
