//! Every error of every door: an RFC 9457 problem whose `code` is the name of a refusal, a
//! deferral, an ingress error or one of the codes named here.
//!
//! A title says what is so; a detail says what to do about it. Neither repeats a token, a signature
//! or a payload.

use std::borrow::Cow;
use std::time::Duration;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::api::tool_types::{self, Problem};
use crate::command::{Deferral, Outcome, Receipt, Refusal};
use crate::ingress::IngressError;
use crate::store::StoreError;
use crate::writer::WriteError;

/// How soon a caller should come back when the daemon has no better idea.
const SOON: Duration = Duration::from_secs(1);

/// An error on its way out of a door.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiError {
    status: StatusCode,
    code: Cow<'static, str>,
    title: String,
    detail: Option<String>,
    retry_after: Option<Duration>,
}

impl ApiError {
    /// An error with a code of its own.
    #[must_use]
    pub fn new(status: StatusCode, code: &'static str, title: impl Into<String>) -> Self {
        Self { status, code: code.into(), title: title.into(), detail: None, retry_after: None }
    }

    /// Adds the next step.
    #[must_use]
    pub fn next(self, detail: impl Into<String>) -> Self {
        Self { detail: Some(detail.into()), ..self }
    }

    /// Asks the caller to come back after so long, in whole seconds and at least one.
    #[must_use]
    pub const fn retry_after(mut self, after: Duration) -> Self {
        self.retry_after = Some(after);
        self
    }

    /// There is no such attempt of a Work.
    #[must_use]
    pub fn no_attempt(n: crate::domain::AttemptNo) -> Self {
        let title = format!("this work has no attempt {n}");
        Self::new(StatusCode::NOT_FOUND, "unknown_attempt", title)
            .next("leave the number out for the last one; `abide work show` lists them")
    }

    /// Says which of several things was wrong.
    #[must_use]
    pub fn of_item(self, n: usize) -> Self {
        let title = format!("item {n} of the batch: {}", self.title);
        let next = self.detail.as_deref().unwrap_or("correct it");
        let detail = format!("{next}; the other items that are in order were kept");
        Self { title, ..self }.next(detail)
    }

    /// The stable name of what went wrong.
    #[must_use]
    pub fn code(&self) -> &str {
        &self.code
    }

    /// The HTTP status it is answered with.
    #[must_use]
    pub const fn status(&self) -> StatusCode {
        self.status
    }

    /// No credential, or none that is known. API-01
    #[must_use]
    pub fn unauthenticated(detail: &'static str) -> Self {
        let title =
            "this door needs `Authorization: Bearer TOKEN`, and the token given is not known";
        Self::new(StatusCode::UNAUTHORIZED, "unauthenticated", title).next(detail)
    }

    /// The principal lacks a right.
    #[must_use]
    pub fn forbidden(principal: &str, right: &str) -> Self {
        let title = format!("principal `{principal}` may not do this");
        let next = format!("add \"{right}\" to `may` of `[principal.{principal}]`, then reload");
        Self::new(StatusCode::FORBIDDEN, "forbidden", title).next(next)
    }

    /// No such address.
    #[must_use]
    pub fn no_route() -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", "there is nothing at this address")
            .next("check the path, and which door you are at")
    }

    /// The address exists and does not take this method.
    #[must_use]
    pub fn no_method() -> Self {
        let title = "this address does not take this method";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", title)
    }

    /// A parameter or body that cannot be understood.
    #[must_use]
    pub fn malformed(title: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "malformed", title)
    }

    /// What the attempt is pinned to cannot be used here.
    #[must_use]
    pub fn unconfigured(why: &str) -> Self {
        tracing::error!(why, "an attempt's own configuration cannot be used");
        let title = "the configuration of this attempt cannot be used at the moment";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "unconfigured", title)
            .next("the operator finds the cause in the daemon's log")
            .retry_after(SOON * 5)
    }

    /// There are several scopes, and none was named.
    #[must_use]
    pub fn scope_needed() -> Self {
        let title = "there is more than one scope, and the request names none";
        Self::new(StatusCode::BAD_REQUEST, "scope_needed", title).next(
            "name it: `--scope NAME`, or `abidescope` of the event; `abide scope list` has them",
        )
    }

    /// A key that was used before, with something else.
    #[must_use]
    pub fn key_reused() -> Self {
        let title = "this `Idempotency-Key` was used for another request";
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "idempotency_key_reused", title)
            .next("send a fresh key with a new request, or the first request unchanged")
    }

    /// Text that names several things.
    #[must_use]
    pub fn ambiguous(text: &str) -> Self {
        let title = format!("`{}` is the beginning of more than one id", text.escape_debug());
        Self::new(StatusCode::CONFLICT, "ambiguous_id", title).next("give more of the id")
    }

    /// A body larger than this door takes.
    #[must_use]
    pub fn too_large(max: u64) -> Self {
        let title = format!("the body is larger than {max} bytes");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "payload_too_large", title).next("send less")
    }

    /// A body that arrives too slowly.
    #[must_use]
    pub fn too_slow() -> Self {
        let title = "the request took too long to arrive";
        Self::new(StatusCode::REQUEST_TIMEOUT, "request_timeout", title)
            .next("send it again, faster: nothing of it was kept")
    }

    /// The answer was not ready in time: the request may or may not take effect.
    #[must_use]
    pub fn no_answer() -> Self {
        let title = "there was no answer in time, so it is not known whether this took effect";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "timeout", title)
            .next("send the same request again: an event that was kept is answered as a duplicate")
            .retry_after(SOON)
    }

    /// More at once than this door takes.
    #[must_use]
    pub fn full() -> Self {
        let title = "this door has as much to do as it takes at once";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "full", title)
            .next("send the same request again: nothing of it was kept")
            .retry_after(SOON)
    }

    /// The daemon is stopping.
    #[must_use]
    pub fn draining() -> Self {
        let title = "this daemon is stopping";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "draining", title)
            .next("send the same request again: the next daemon answers it")
            .retry_after(SOON)
    }

    /// Nothing can be committed, or read, at the moment; the operator's log says why.
    #[must_use]
    pub fn unavailable() -> Self {
        let title = "the database cannot be used at the moment";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", title)
            .next("send the same request again later; the operator finds the cause in the daemon's log")
            .retry_after(SOON * 5)
    }

    /// The attempt is being adopted; its next token is on its way. ADOPT-16
    #[must_use]
    pub fn recovering() -> Self {
        let title = "the attempt is being taken over, and its credentials are about to be replaced";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, tool_types::RECOVERING, title)
            .next("read the token file again, then repeat the call")
            .retry_after(SOON)
    }

    /// What was read has moved. ROUTE-15 DONE-02
    #[must_use]
    pub fn conflict() -> Self {
        let title = "what this was decided from has changed meanwhile";
        Self::new(StatusCode::CONFLICT, tool_types::CONFLICT, title)
            .next("read again, then repeat it if it still makes sense")
            .retry_after(SOON)
    }
}

/// The receipt of an outcome, and whether it was so already.
///
/// # Errors
/// The law's answer was a deferral, a conflict or a refusal.
pub fn settled(outcome: Outcome) -> Result<(Receipt, bool), ApiError> {
    match outcome {
        Outcome::Accepted(receipt) => Ok((receipt, false)),
        Outcome::Duplicate(receipt) => Ok((receipt, true)),
        Outcome::Deferred(deferral) => Err(deferral.into()),
        Outcome::Conflict => Err(ApiError::conflict()),
        Outcome::Refused(refusal) => Err(refusal.into()),
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let problem = Problem {
            status: self.status.as_u16(),
            code: self.code.into_owned(),
            title: self.title,
            detail: self.detail,
        };
        let mut response = (self.status, Json(problem)).into_response();
        let headers = response.headers_mut();
        let kind = HeaderValue::from_static("application/problem+json");
        headers.insert(header::CONTENT_TYPE, kind);
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(after) = self.retry_after {
            headers.insert(header::RETRY_AFTER, after.as_secs().max(1).into());
        }
        response
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        let (status, next) = refusal_edge(refusal);
        let code = code_of(&refusal);
        let error = Self { code: code.into(), ..Self::new(status, "", refusal.to_string()) };
        error.next(next)
    }
}

impl From<Deferral> for ApiError {
    fn from(deferral: Deferral) -> Self {
        let next = match deferral {
            Deferral::OutOfTurn => "nothing: it is routed by itself once the earlier one is",
            Deferral::Unsupported => {
                "nothing: it is routed once the attempt ends; a `fallback` of its route ends the wait"
            }
            Deferral::Restored => {
                "see that nothing of its other life runs on, then `abide hold release --restore`"
            }
            Deferral::Backoff => {
                "nothing: it starts by itself; `abide work retry` starts it at once"
            }
            Deferral::Held => "`abide why` on the work says what would lift the hold",
            Deferral::Excluded => "nothing: it goes on by itself once that process has exited",
            Deferral::Capacity => {
                "nothing: it starts by itself; `capacity` of the scope is the limit"
            }
        };
        let code = code_of(&deferral);
        let error =
            Self { code: code.into(), ..Self::new(StatusCode::CONFLICT, "", deferral.to_string()) };
        error.next(next).retry_after(SOON)
    }
}

impl From<IngressError> for ApiError {
    fn from(error: IngressError) -> Self {
        let status = error.status();
        let mut problem = Self::new(status, error.code(), error.to_string());
        if status == StatusCode::SERVICE_UNAVAILABLE {
            problem.retry_after = Some(SOON * 30);
        }
        problem
    }
}

impl From<WriteError> for ApiError {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Closed => Self::draining(),
            WriteError::Store(error) => error.into(),
        }
    }
}

impl From<StoreError> for ApiError {
    /// What the machine said is for the operator's log and not for a caller.
    fn from(error: StoreError) -> Self {
        tracing::error!(%error, "a request found the database unusable");
        Self::unavailable()
    }
}

/// The serialized name, which is the alphabet's own.
fn code_of<T: serde::Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        Ok(_) | Err(_) => unreachable!("a refusal without fields is written as its name"),
    }
}

/// How a refusal looks from outside: its HTTP status and the next step.
const fn refusal_edge(refusal: Refusal) -> (StatusCode, &'static str) {
    match refusal {
        Refusal::StaleAuthority => (
            StatusCode::CONFLICT,
            "end this process: another claim, a wait or a cancellation has replaced its authority",
        ),
        Refusal::LeaseExpired => (
            StatusCode::CONFLICT,
            "read the token file again after a moment: recovery either adopts this process or ends it",
        ),
        Refusal::CoreType => (StatusCode::CONFLICT, "send it under a type of your own"),
        Refusal::UnknownEvent => (StatusCode::NOT_FOUND, "`abide event list` shows what there is"),
        Refusal::UnknownWork => (StatusCode::NOT_FOUND, "`abide work list` shows what there is"),
        Refusal::UnknownWait => (StatusCode::NOT_FOUND, "`abide wait list` shows what there is"),
        Refusal::UnknownIntent => {
            (StatusCode::NOT_FOUND, "`abide work show` lists what is to be sent to its attempt")
        }
        Refusal::StaleIntent | Refusal::IntentSettled | Refusal::NotDispatched => {
            (StatusCode::CONFLICT, "`abide work show` tells what became of it")
        }
        Refusal::WrongScope => (
            StatusCode::UNPROCESSABLE_ENTITY,
            "name a work, or a key, of the scope this sender is configured for",
        ),
        Refusal::ContradictoryTarget => {
            (StatusCode::UNPROCESSABLE_ENTITY, "leave out the key, or name the work that owns it")
        }
        Refusal::Terminal => (
            StatusCode::CONFLICT,
            "`abide work show` tells how it ended; `abide work reopen` goes on",
        ),
        Refusal::StaleTarget => (
            StatusCode::CONFLICT,
            "look again with `abide work show`, then repeat it with the number of that attempt",
        ),
        Refusal::KeyOwned => (
            StatusCode::CONFLICT,
            "`abide event list --key` shows whose it is; leave the key out, or act on that work",
        ),
        Refusal::NotTerminal => {
            (StatusCode::CONFLICT, "send it an event, or `abide work cancel` it first")
        }
        Refusal::HasSuccessor => {
            (StatusCode::CONFLICT, "`abide work show` names the successor: act on that one")
        }
        Refusal::Standing => (
            StatusCode::CONFLICT,
            "`interrupt` ends only what it is doing now; say `--for-good` to \
             end the work itself",
        ),
        Refusal::AlreadyRouted => {
            (StatusCode::CONFLICT, "`abide event replay` starts something from it again")
        }
        Refusal::NotRouted => (
            StatusCode::CONFLICT,
            "`abide why` on the event says what it waits for; `abide event drop` gives it up",
        ),
        Refusal::NotHeld => (StatusCode::CONFLICT, "nothing: `abide why` says where the work is"),
        Refusal::NothingToRetry => (
            StatusCode::CONFLICT,
            "`abide why` on the work says what it waits for; only a failure is retried",
        ),
        Refusal::NoRetry => {
            (StatusCode::CONFLICT, "nothing: `abide work show` tells whether a retry is due")
        }
        Refusal::NotIdle => (StatusCode::CONFLICT, "nothing: it is closed once it is idle"),
        Refusal::ScopeNotReadable => (
            StatusCode::FORBIDDEN,
            "add that scope to `read_scopes` of this one, then `abide config reload`",
        ),
        Refusal::SubscriptionEnded | Refusal::NothingToTranslate => {
            (StatusCode::CONFLICT, "nothing: `abide wait show` tells what it subscribes to")
        }
        Refusal::AttemptOpen => {
            (StatusCode::CONFLICT, "wait until the attempt has ended, or cancel the work")
        }
        Refusal::WorkWaiting => {
            (StatusCode::CONFLICT, "`abide why` on the work says what it waits for")
        }
        Refusal::NothingToStart => (StatusCode::CONFLICT, "send it an event: `abide emit --work`"),
        Refusal::NotLaunching | Refusal::NotHanded | Refusal::NotRecovering => {
            (StatusCode::CONFLICT, "`abide work show` tells which phase the attempt is in")
        }
        Refusal::NotRunning => (
            StatusCode::CONFLICT,
            "`abide work show` tells which phase the attempt is in; repeat the call once it runs",
        ),
        Refusal::WaitCannotEnd => {
            (StatusCode::CONFLICT, "add `--key`, `--timeout`, or `--on` with a key")
        }
        Refusal::KeyNotOwned => (
            StatusCode::CONFLICT,
            "name one of the work's own keys, as `abide work show` lists them; `--on` needs one, too",
        ),
        Refusal::WatermarkAhead => {
            (StatusCode::CONFLICT, "give the sequence of an event you were handed")
        }
        Refusal::WaitCancelled => (StatusCode::CONFLICT, "nothing: its work was cancelled"),
        Refusal::NothingToWakeFrom => (StatusCode::CONFLICT, "send an event that the wait matches"),
        Refusal::NoTimer => (StatusCode::CONFLICT, "only an event on one of its keys wakes it"),
        Refusal::TimerCancelled => (StatusCode::CONFLICT, "nothing: the wait has its winner"),
        Refusal::FiringDisabled => (
            StatusCode::CONFLICT,
            "only an event on one of its keys wakes it; `abide chain` shows the limit that was met",
        ),
        Refusal::NotDue => (StatusCode::CONFLICT, "nothing: it fires by itself when it is due"),
        Refusal::MatchAccepted => (StatusCode::CONFLICT, "nothing: it wakes by itself"),
        Refusal::DepthLimit => (
            StatusCode::CONFLICT,
            "`abide chain` shows the chain; `max_depth` of the scope is the limit of new roots",
        ),
        Refusal::LeaseLive => (StatusCode::CONFLICT, "nothing: its holder is alive"),
        Refusal::NothingToRecover => {
            (StatusCode::CONFLICT, "`abide why` on the work says where it is")
        }
        Refusal::NothingToInterrupt => {
            (StatusCode::CONFLICT, "`abide why` on the work says where it is")
        }
        Refusal::NotInterruptible => (
            StatusCode::CONFLICT,
            "let the attempt end, or cancel the work; `capabilities` of its binding is for the next one",
        ),
        Refusal::StaleSegment | Refusal::NotExcluded => {
            (StatusCode::CONFLICT, "`abide why` on the work says what it is excluded by")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REFUSALS: [Refusal; 51] = [
        Refusal::StaleAuthority,
        Refusal::LeaseExpired,
        Refusal::CoreType,
        Refusal::UnknownEvent,
        Refusal::UnknownWork,
        Refusal::UnknownWait,
        Refusal::UnknownIntent,
        Refusal::StaleTarget,
        Refusal::WrongScope,
        Refusal::ContradictoryTarget,
        Refusal::KeyOwned,
        Refusal::Terminal,
        Refusal::NotTerminal,
        Refusal::HasSuccessor,
        Refusal::Standing,
        Refusal::AlreadyRouted,
        Refusal::NotRouted,
        Refusal::NotHeld,
        Refusal::NothingToRetry,
        Refusal::NotIdle,
        Refusal::AttemptOpen,
        Refusal::WorkWaiting,
        Refusal::NothingToStart,
        Refusal::NotLaunching,
        Refusal::NotHanded,
        Refusal::NotRunning,
        Refusal::NotRecovering,
        Refusal::StaleIntent,
        Refusal::IntentSettled,
        Refusal::NotDispatched,
        Refusal::WaitCannotEnd,
        Refusal::KeyNotOwned,
        Refusal::ScopeNotReadable,
        Refusal::WatermarkAhead,
        Refusal::WaitCancelled,
        Refusal::NothingToWakeFrom,
        Refusal::NoTimer,
        Refusal::TimerCancelled,
        Refusal::FiringDisabled,
        Refusal::NoRetry,
        Refusal::SubscriptionEnded,
        Refusal::NothingToTranslate,
        Refusal::NotDue,
        Refusal::MatchAccepted,
        Refusal::DepthLimit,
        Refusal::LeaseLive,
        Refusal::NothingToRecover,
        Refusal::StaleSegment,
        Refusal::NotExcluded,
        Refusal::NothingToInterrupt,
        Refusal::NotInterruptible,
    ];

    #[test]
    fn every_refusal_is_a_problem_under_its_own_name_with_a_next_step() {
        let shown: Vec<String> = REFUSALS
            .map(|refusal| {
                let ApiError { status, code, title, detail, .. } = refusal.into();
                let next = detail.expect("a next step");
                assert!(!title.contains('\n') && !next.contains('\n'));
                format!("{} {code}\n    {title}\n    next: {next}", status.as_u16())
            })
            .into();
        insta::assert_snapshot!(shown.join("\n"));
    }

    #[test]
    fn a_deferral_and_a_conflict_ask_for_another_try() {
        let deferrals = [
            Deferral::OutOfTurn,
            Deferral::Unsupported,
            Deferral::Restored,
            Deferral::Held,
            Deferral::Backoff,
            Deferral::Excluded,
            Deferral::Capacity,
        ];
        let again = deferrals.map(ApiError::from).into_iter().chain([ApiError::conflict()]);
        for error in again {
            let code = error.code().to_owned();
            let response = error.into_response();
            assert_eq!(response.status(), StatusCode::CONFLICT, "{code}");
            assert!(response.headers().contains_key(header::RETRY_AFTER), "{code}");
        }
    }

    #[test]
    fn an_accepted_and_a_repeated_command_are_told_apart_and_others_are_errors() {
        let receipt = Receipt::Event { seq: crate::domain::Seq(1) };
        assert_eq!(settled(Outcome::Accepted(receipt.clone())), Ok((receipt.clone(), false)));
        assert_eq!(settled(Outcome::Duplicate(receipt.clone())), Ok((receipt, true)));
        let code = |outcome| settled(outcome).expect_err("it is an error").code().to_owned();
        assert_eq!(code(Outcome::Conflict), "conflict");
        assert_eq!(code(Outcome::Deferred(Deferral::OutOfTurn)), "out_of_turn");
        assert_eq!(code(Outcome::Refused(Refusal::Terminal)), "terminal");
    }

    #[test]
    fn a_failed_store_says_nothing_of_itself_to_a_caller() {
        let error = ApiError::from(StoreError::Full { what: "/secret/place".to_owned() });
        assert_eq!((error.status().as_u16(), error.code()), (503, "unavailable"));
        assert!(!format!("{error:?}").contains("secret"));
    }
}
