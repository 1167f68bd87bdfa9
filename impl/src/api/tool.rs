//! The tool door: what a process of an attempt may ask, under the token of its claim alone.
//! [`super::tool_types`] has the words.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use type_safe_id::TypeSafeId;
use uuid::Uuid;

use super::auth::bearer;
use super::problem::{ApiError, settled};
use super::tool_types::{BeatAnswer, InputsAnswer, WaitAnswer, WaitDeadline, WaitKey, WaitRequest};
use crate::command::{Command, Receipt, Refusal};
use crate::domain::{
    Actor, AttemptNo, Authority, Deadline, Duration, Key, Millis, Seq, Token, TokenHash, WaitUid,
};
use crate::host::{Context, Handed, handed};
use crate::store::pages::{self, Holder};
use crate::store::{StoreError, Tx, attempts, inputs, keys, reads};

/// Every address of this door.
pub fn router(context: Arc<Context>) -> Router {
    Router::new()
        .route("/tool/inputs", get(inputs_of))
        .route("/tool/wait", post(wait))
        .route("/tool/beat", post(beat))
        .with_state(context)
}

#[derive(Debug, Deserialize)]
struct InputsQuery {
    attempt: Option<u32>,
}

async fn inputs_of(
    State(context): State<Arc<Context>>,
    Query(query): Query<InputsQuery>,
    headers: HeaderMap,
) -> Result<Json<InputsAnswer>, ApiError> {
    let by = caller(&context, &token(&headers)?).await?;
    let n = query.attempt.map_or(by.attempt, AttemptNo);
    let read = context.read(move |tx| handed(tx, by.work, n)).await?;
    let Handed { trigger, inputs } = read.ok_or_else(|| ApiError::no_attempt(n))?;
    Ok(Json(InputsAnswer { attempt: n, trigger, inputs }))
}

async fn beat(
    State(context): State<Arc<Context>>,
    headers: HeaderMap,
) -> Result<Json<BeatAnswer>, ApiError> {
    let by = caller(&context, &token(&headers)?).await?;
    let lease = context.config.scope.binding.lease;
    let outcome = context.writer.apply(actor(&by), Command::Renew { by, lease }).await?;
    let (receipt, _) = settled(outcome)?;
    let Receipt::Renewed { expires_at, .. } = receipt else { return Err(other(&receipt)) };
    Ok(Json(BeatAnswer { expires_at }))
}

/// Registers a wait; the answer is durable, and the caller's authority is gone with it. WAIT-16
async fn wait(
    State(context): State<Arc<Context>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<(StatusCode, Json<WaitAnswer>), ApiError> {
    let token = token(&headers)?;
    let uid = wait_uid(&token, &headers);
    let by = match caller(&context, &token).await {
        Ok(by) => by,
        // The call before this one may have committed and lost only its answer.
        Err(error) => return registered(&context, uid).await?.ok_or(error),
    };
    let request: WaitRequest = serde_json::from_slice(&body)
        .map_err(|error| ApiError::malformed(format!("the body is no wait: {error}")))?;
    let command = register(&context, by, uid, request).await?;
    let (receipt, _) = settled(context.writer.apply(actor(&by), command).await?)?;
    let Receipt::Waiting { winner, .. } = receipt else { return Err(other(&receipt)) };
    Ok((StatusCode::CREATED, Json(WaitAnswer { wait: uid.to_string(), winner })))
}

async fn register(
    context: &Context,
    by: Authority,
    uid: WaitUid,
    request: WaitRequest,
) -> Result<Command, ApiError> {
    let WaitRequest { keys, types, after, deadline } = request;
    let (owned, observed) =
        context.read(move |tx| Ok((keys::of_work(tx, by.work)?, observed(tx, &by)?))).await?;
    let keys = keys.iter().map(|key| own_key(key, &owned)).collect::<Result<_, _>>()?;
    let deadline = deadline.map(|deadline| match deadline {
        WaitDeadline::TimeoutMs(length) => Deadline::After(Duration(length)),
        WaitDeadline::Until(instant) => Deadline::At(Millis(instant.as_millisecond())),
    });
    let after = after.unwrap_or(observed);
    Ok(Command::RegisterWait { by, uid, keys, types, after, deadline })
}

/// The highest sequence the segment was handed, its trigger included. WAIT-12
fn observed(tx: &mut dyn Tx, by: &Authority) -> Result<Seq, StoreError> {
    let attempt = attempts::referred(tx, by.work, by.attempt)?;
    let batch = inputs::batch(tx, by.work, by.attempt, attempt.batch_epoch)?;
    let others = [Some(attempt.trigger), attempt.woken_by];
    Ok(batch.into_iter().chain(others.into_iter().flatten()).max().unwrap_or_default())
}

/// The key a caller means. What it does not own is left for the law to refuse. WAIT-02
fn own_key(given: &WaitKey, owned: &[Key]) -> Result<Key, ApiError> {
    let (source, external_id) = match given {
        WaitKey::Parts { source: Some(source), external_id } => {
            return Ok(Key { source: source.clone(), external_id: external_id.clone() });
        }
        WaitKey::Parts { source: None, external_id } => ("", external_id.as_str()),
        WaitKey::Text(text) => {
            let whole = |key: &&Key| format!("{}#{}", key.source, key.external_id) == *text;
            if let Some(key) = owned.iter().find(whole) {
                return Ok(key.clone());
            }
            let bare = owned.iter().any(|key| key.external_id == *text);
            if bare { ("", text.as_str()) } else { text.split_once('#').unwrap_or(("", text)) }
        }
    };
    if !source.is_empty() {
        return Ok(Key { source: source.to_owned(), external_id: external_id.to_owned() });
    }
    let mut own = owned.iter().filter(|key| key.external_id == external_id);
    match (own.next(), own.next()) {
        (Some(key), None) => Ok(key.clone()),
        (None, _) => Ok(Key { source: String::new(), external_id: external_id.to_owned() }),
        (Some(_), Some(_)) => {
            let title = format!("the work owns `{external_id}` under several sources");
            Err(ApiError::new(StatusCode::CONFLICT, "ambiguous_key", title)
                .next("write `SOURCE#EXTERNAL-ID`"))
        }
    }
}

/// A wait that a call with this token and key registered, answered as then.
async fn registered(
    context: &Context,
    uid: WaitUid,
) -> Result<Option<(StatusCode, Json<WaitAnswer>)>, ApiError> {
    let wait = context
        .read(move |tx| {
            let id = pages::wait_of(tx, uid)?;
            id.map_or(Ok(None), |id| reads::wait(tx, id))
        })
        .await?;
    Ok(wait.map(|found| {
        let at_once = found.wait.ended_at == Some(found.wait.registered_at);
        let winner = found.wait.winner.filter(|_| at_once);
        (StatusCode::OK, Json(WaitAnswer { wait: uid.to_string(), winner }))
    }))
}

/// One wait for a token and an `Idempotency-Key`, so that a repeat finds what the first call made
/// although its token is not known any more. Without a key every call is the first.
fn wait_uid(token: &TokenHash, headers: &HeaderMap) -> WaitUid {
    let Some(key) = headers.get("idempotency-key") else {
        return TypeSafeId::from_uuid(Uuid::now_v7());
    };
    let hash = Sha256::new().chain_update(token.0).chain_update(key.as_bytes()).finalize();
    let mut bits = [0; 16];
    bits.copy_from_slice(&hash[..16]);
    TypeSafeId::from_uuid(Uuid::new_v8(bits))
}

fn token(headers: &HeaderMap) -> Result<TokenHash, ApiError> {
    let next = "use `abide tool`, or the text of the file `ABIDE_TOKEN_FILE` names";
    let token = bearer(headers).and_then(Token::parse);
    token.map(|token| token.hash()).ok_or(ApiError::unauthenticated(next))
}

/// Whose token this is. One that is not known was replaced, or is about to be. LEASE-13
async fn caller(context: &Context, token: &TokenHash) -> Result<Authority, ApiError> {
    let token = *token;
    match context.read(move |tx| pages::holder(tx, &token)).await? {
        (Some(Holder { work, attempt, epoch }), _) => Ok(Authority { work, attempt, epoch, token }),
        (None, true) => Err(ApiError::recovering()),
        (None, false) => Err(Refusal::StaleAuthority.into()),
    }
}

const fn actor(by: &Authority) -> Actor {
    Actor::Attempt { work: by.work, attempt: by.attempt, epoch: by.epoch }
}

fn other(receipt: &Receipt) -> ApiError {
    tracing::error!(?receipt, "a call was answered with another receipt");
    ApiError::unavailable()
}
