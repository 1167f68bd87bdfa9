//! The tool door: what a process of an attempt may ask, under the token of its claim alone.
//! [`super::tool_types`] has the words.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use type_safe_id::TypeSafeId;
use uuid::Uuid;

use super::auth::bearer;
use super::problem::{ApiError, settled};
use super::tool_types::{
    BeatAnswer, InputsAnswer, WaitAnswer, WaitDeadline, WaitKey, WaitRequest, WaitSource,
};
use crate::api::extract::Asked;
use crate::command::{Command, Outcome, Receipt, Refusal};
use crate::config::KEY_MAX;
use crate::domain::{
    Actor, AttemptNo, Authority, Deadline, Duration, Key, Millis, Seq, Source, Token, TokenHash,
    WaitUid,
};
use crate::extension::executor::Metadata;
use crate::host::{Context, Handed, Proved, handed};
use crate::store::pages::{self, Holder};
use crate::store::{StoreError, Tx, attempts, inputs, keys, names, reads, works};

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
    /// Input after this event.
    #[serde(default)]
    after: i64,
    limit: Option<u32>,
}

/// Inputs of a page without `limit`, and at most.
const PAGE: u32 = 100;
const PAGE_MAX: u32 = 1000;

async fn inputs_of(
    State(context): State<Arc<Context>>,
    Asked(query): Asked<InputsQuery>,
    headers: HeaderMap,
) -> Result<Json<InputsAnswer>, ApiError> {
    let by = caller(&context, &token(&headers)?).await?;
    let n = query.attempt.map_or(by.attempt, AttemptNo);
    let (after, limit) = (Seq(query.after), query.limit.unwrap_or(PAGE).clamp(1, PAGE_MAX));
    let read = context.read(move |tx| handed(tx, by.work, n, after, limit)).await?;
    let Handed { trigger, inputs, next } = read.ok_or_else(|| ApiError::no_attempt(n))?;
    Ok(Json(InputsAnswer { attempt: n, trigger, inputs, next }))
}

async fn beat(
    State(context): State<Arc<Context>>,
    headers: HeaderMap,
) -> Result<Json<BeatAnswer>, ApiError> {
    let by = caller(&context, &token(&headers)?).await?;
    if !context.driven.runs(&by) {
        return unrenewed(&context, by).await;
    }
    let pinned = context.pinned(by.work, by.attempt).await;
    let lease = pinned.map_err(|why| ApiError::unconfigured(&why))?.binding.lease;
    let outcome = applied(&context, &by, Command::Renew { by, lease }).await?;
    let (receipt, _) = settled(outcome)?;
    let Receipt::Renewed { expires_at, .. } = receipt else { return Err(other(&receipt)) };
    Ok(Json(BeatAnswer { expires_at }))
}

/// What a process hears whose segment nobody hosts here: whose lease ends, for a host that is gone
/// is replaced. A process that could keep it up by itself would keep every recoverer away. LEASE-08
async fn unrenewed(context: &Context, by: Authority) -> Result<Json<BeatAnswer>, ApiError> {
    let read = context.read(move |tx| attempts::referred(tx, by.work, by.attempt)).await?;
    match read.expires_at.filter(|_| read.epoch == by.epoch && read.token == Some(by.token)) {
        None => Err(Refusal::StaleAuthority.into()),
        Some(expires_at) if expires_at <= context.now() => Err(Refusal::LeaseExpired.into()),
        Some(expires_at) => Ok(Json(BeatAnswer { expires_at })),
    }
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
    let outcome = applied(&context, &by, command).await?;
    // Whoever speaks runs, so that its attempt is pinned, or its takeover is about to be settled: it
    // has its new token already. ADOPT-15
    if outcome == Outcome::Refused(Refusal::NotRunning) {
        return Err(ApiError::recovering());
    }
    let (receipt, _) = settled(outcome)?;
    let Receipt::Waiting { winner, .. } = receipt else { return Err(other(&receipt)) };
    Ok((StatusCode::CREATED, Json(WaitAnswer { wait: uid.to_string(), winner })))
}

async fn register(
    context: &Arc<Context>,
    by: Authority,
    uid: WaitUid,
    request: WaitRequest,
) -> Result<Command, ApiError> {
    let WaitRequest { keys, types, on, after, deadline } = request;
    let (owned, observed) =
        context.read(move |tx| Ok((keys::of_work(tx, by.work)?, observed(tx, &by)?))).await?;
    let keys = keys.iter().map(|key| own_key(key, &owned)).collect::<Result<_, _>>()?;
    let deadline = deadline.map(|deadline| match deadline {
        WaitDeadline::TimeoutMs(length) => Deadline::After(Duration(length)),
        WaitDeadline::Until(instant) => Deadline::At(Millis(instant.as_millisecond())),
    });
    let after = after.unwrap_or(observed);
    let (source, read_scopes) = match on {
        Some(on) => {
            let (source, read_scopes) = subscribed(context, &by, on).await?;
            (Some(source), read_scopes)
        }
        None => (None, Vec::new()),
    };
    let Proved { proofs, usage } = proved(context, &by).await?;
    Ok(Command::RegisterWait {
        by,
        uid,
        keys,
        types,
        after,
        deadline,
        source,
        read_scopes,
        proofs,
        usage,
    })
}

/// What the caller's process took in and used, of its executor. A wait goes without it where the
/// executor or its configuration is not to be had: then input is only repeated. INJECT-25
async fn proved(context: &Arc<Context>, by: &Authority) -> Result<Proved, ApiError> {
    let (work, n) = (by.work, by.attempt);
    let read = context.read(move |tx| Ok(attempts::referred(tx, work, n)?.metadata));
    let Some(metadata) = read.await? else { return Ok(Proved::default()) };
    match context.pinned(work, n).await {
        Ok(pinned) => Ok(context.proved(&pinned, (work, n), &Metadata(metadata)).await),
        Err(why) => {
            tracing::warn!(row = %work, why, "a wait goes without what its process took in");
            Ok(Proved::default())
        }
    }
}

/// What a caller subscribes to, and the scopes it may read, as the attempt is pinned. BIND-05
async fn subscribed(
    context: &Arc<Context>,
    by: &Authority,
    on: WaitSource,
) -> Result<(Source, Vec<String>), ApiError> {
    let (work, n) = (by.work, by.attempt);
    let read = context.read(move |tx| {
        let scope = works::referred(tx, work)?.scope;
        let generation = attempts::referred(tx, work, n)?.pin.generation;
        Ok((names::text(tx, scope)?, generation))
    });
    let (own, generation) = read.await?;
    let config = context.config_of(generation).await;
    let config = config.map_err(|why| ApiError::unconfigured(&why))?;
    let (key, scope) = match on {
        WaitSource::Parts { source, external_id, scope } => (Key { source, external_id }, scope),
        WaitSource::Text(text) => {
            let known = |name: &str| config.scope(name).is_some();
            source_of(&text, known)?
        }
    };
    let key = fitting(key)?;
    let read_scopes = config.scope(&own).map(|scope| scope.read_scopes.clone());
    let source = Source { extension: "tool".to_owned(), key, scope: scope.unwrap_or(own) };
    Ok((source, read_scopes.unwrap_or_default()))
}

/// A key as any event could have it. A wait on another would never be woken.
fn fitting(key: Key) -> Result<Key, ApiError> {
    let fits = |part: &str| (1..=KEY_MAX).contains(&part.len()) && !part.contains(char::is_control);
    if fits(&key.source) && fits(&key.external_id) {
        return Ok(key);
    }
    let title = format!("each part of a source has 1 to {KEY_MAX} bytes, none of them controls");
    Err(ApiError::malformed(title).next("write `SOURCE#ID`, or `SCOPE:SOURCE#ID`"))
}

/// `[SCOPE:]SOURCE#ID`. A source has colons of its own, so only a scope that exists is one; what looks
/// like a scope and is none would be waited on for ever.
fn source_of(text: &str, known: impl Fn(&str) -> bool) -> Result<(Key, Option<String>), ApiError> {
    let no_source = |why: &str| {
        let title = format!("`{}` is no source to wait on: {why}", text.escape_debug());
        ApiError::malformed(title).next("write `SOURCE#ID`, or `SCOPE:SOURCE#ID`")
    };
    let named = text.split_once(':').filter(|(scope, _)| known(scope));
    let (scope, rest) = named.map_or((None, text), |(scope, rest)| (Some(scope), rest));
    let (source, id) = rest.split_once('#').ok_or_else(|| no_source("it has no `#`"))?;
    if source.is_empty() || id.is_empty() {
        return Err(no_source("one side of its `#` is empty"));
    }
    let first = source.split_once(':').map_or("", |(first, _)| first);
    if scope.is_none() && first.contains('/') {
        return Err(no_source(&format!("there is no scope `{}`", first.escape_debug())));
    }
    let key = Key { source: source.to_owned(), external_id: id.to_owned() };
    Ok((key, scope.map(str::to_owned)))
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

/// What a caller asked for. Where its token was replaced since it was looked up, it is answered as one that comes
/// now: a takeover that is about to replace the token is no end of the attempt. LEASE-13 ADOPT-15
pub(crate) async fn applied(
    context: &Context,
    by: &Authority,
    command: Command,
) -> Result<Outcome, ApiError> {
    let outcome = context.writer.apply(actor(by), command).await?;
    if outcome == Outcome::Refused(Refusal::StaleAuthority) {
        caller(context, &by.token).await?;
    }
    Ok(outcome)
}

const fn actor(by: &Authority) -> Actor {
    Actor::Attempt { work: by.work, attempt: by.attempt, epoch: by.epoch }
}

fn other(receipt: &Receipt) -> ApiError {
    tracing::error!(?receipt, "a call was answered with another receipt");
    ApiError::unavailable()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_in_parts_is_one_that_an_event_could_have() {
        let long = "x".repeat(1025);
        for (source, id) in [("", "1"), ("x:y", ""), ("x\u{1b}", "1"), ("x:y", long.as_str())] {
            let key = Key { source: source.to_owned(), external_id: id.to_owned() };
            assert_eq!(fitting(key).expect_err("it is refused").code(), "malformed");
        }
        let key = Key { source: "x:y".to_owned(), external_id: "1".to_owned() };
        assert_eq!(fitting(key.clone()), Ok(key));
    }

    #[test]
    fn only_a_scope_that_exists_is_taken_for_one() {
        let known = |name: &str| name == "acme/api";
        let key =
            |source: &str, id: &str| Key { source: source.to_owned(), external_id: id.to_owned() };
        let own = Ok((key("github:h/1", "7"), None));
        assert_eq!(source_of("github:h/1#7", known), own);
        let other = Ok((key("github:h/1", "7#x"), Some("acme/api".to_owned())));
        assert_eq!(source_of("acme/api:github:h/1#7#x", known), other);
        for wrong in ["", "github:h/1", "#7", "github:h/1#", "acme/api:#7", "acme/apy:x#7"] {
            let refused = source_of(wrong, known).expect_err("it is refused");
            assert_eq!(refused.code(), "malformed", "{wrong}");
        }
    }
}
