//! What a person may do to a Work: hold, release, retry, cancel, reopen and create it. What is allowed is
//! the law's to say.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};
use serde::de::DeserializeOwned;
use type_safe_id::TypeSafeId;
use uuid::Uuid;

use super::lists::restore_row;
use super::once::Acting;
use super::{ids, rows};
use crate::api::accept;
use crate::api::extract::Named;
use crate::api::problem::{ApiError, settled};
use crate::api::types::{ActRequest, CreateRequest, RestoreRow, WorkRow};
use crate::command::{Command, Outcome, Receipt, Refusal};
use crate::config::{KEY_MAX, Scope};
use crate::domain::{AttemptNo, CausalLimits, Key, ProposedWork, Request, Seq, WorkId, WorkUid};
use crate::host::{Context, Current};
use crate::ingress::IngressError;
use crate::store::pages;

type Answer = Result<Json<WorkRow>, ApiError>;

/// Lets no attempt of a Work start; holding it again changes nothing. OURS-06
pub(super) async fn hold(
    State(context): State<Arc<Context>>,
    Extension(acting): Extension<Acting>,
    Named(id): Named,
    body: Bytes,
) -> Answer {
    let command = async {
        let (work, request) = read(&context, id, &body).await?;
        let (expect, reason) = (expect(&request), acting.says(&request.reason)?);
        Ok(Command::Hold { work, expect, reason })
    };
    let outcome = acting.perform_one(&context, command).await?;
    answer(&context, outcome).await
}

/// Lifts every hold of a Work. WAKE-24 OURS-06
pub(super) async fn release(
    State(context): State<Arc<Context>>,
    Extension(acting): Extension<Acting>,
    Named(id): Named,
    body: Bytes,
) -> Answer {
    let command = async {
        let (work, request) = read(&context, id, &body).await?;
        let expect = expect(&request);
        let request = self::request(&context, &acting, work).await?;
        Ok(Command::Release { work, expect, request })
    };
    let outcome = acting.perform_one(&context, command).await?;
    answer(&context, outcome).await
}

/// Lets the next attempt of failed Work start at once, its failures counted anew. RETRY-26 RETRY-27
pub(super) async fn retry(
    State(context): State<Arc<Context>>,
    Extension(acting): Extension<Acting>,
    Named(id): Named,
    body: Bytes,
) -> Answer {
    let command = async {
        let (work, request) = read(&context, id, &body).await?;
        let expect = expect(&request);
        let request = self::request(&context, &acting, work).await?;
        Ok(Command::Retry { work, expect, request })
    };
    let outcome = acting.perform_one(&context, command).await?;
    answer(&context, outcome).await
}

/// Lifts the restore hold: nothing of the database's other life runs on. OURS-21
pub(super) async fn release_restore(
    State(context): State<Arc<Context>>,
    Extension(acting): Extension<Acting>,
    _body: Bytes,
) -> Result<Json<RestoreRow>, ApiError> {
    let command = async {
        // It is about no scope, and nothing descends from it.
        let limits = CausalLimits { max_depth: 32 };
        let request = Request { uid: accept::mint(), id: acting.request_id(), limits };
        Ok(Command::ReleaseRestore { request })
    };
    settled(acting.perform_one(&context, command).await?)?;
    Ok(Json(restore_row(&context).await?))
}

/// Cancels a Work for good; cancelling it again changes nothing. CANCEL-01 OURS-10
pub(super) async fn cancel(
    State(context): State<Arc<Context>>,
    Extension(acting): Extension<Acting>,
    Named(id): Named,
    body: Bytes,
) -> Answer {
    let command = async {
        let (work, request) = read(&context, id, &body).await?;
        let expect = expect(&request);
        let reason = acting.says(&request.reason)?;
        Ok(Command::Cancel { work, expect, for_good: request.for_good, reason })
    };
    let outcome = acting.perform_one(&context, command).await?;
    answer(&context, outcome).await
}

/// Makes a successor of ended Work, and answers it. OURS-11
pub(super) async fn reopen(
    State(context): State<Arc<Context>>,
    Extension(acting): Extension<Acting>,
    Named(id): Named,
    body: Bytes,
) -> Result<(StatusCode, Json<WorkRow>), ApiError> {
    let command = async {
        let (work, request) = read(&context, id, &body).await?;
        let expect = expect(&request);
        let request = self::request(&context, &acting, work).await?;
        Ok(Command::Reopen { work, expect, request, successor: fresh() })
    };
    let outcome = acting.perform_one(&context, command).await?;
    Ok((made(&outcome), answer(&context, outcome).await?))
}

/// Creates a Work that no event asked for. BIND-03 BIND-04
pub(super) async fn create(
    State(context): State<Arc<Context>>,
    Extension(acting): Extension<Acting>,
    body: Bytes,
) -> Result<(StatusCode, Json<WorkRow>), ApiError> {
    let command = async {
        let request: CreateRequest = parse(&body, "no work to create")?;
        creation(&context, &acting, request).await
    };
    let outcome = acting.perform_one(&context, command).await?;
    Ok((made(&outcome), answer(&context, outcome).await?))
}

async fn creation(
    context: &Arc<Context>,
    acting: &Acting,
    request: CreateRequest,
) -> Result<Command, ApiError> {
    let CreateRequest { scope, kind, key, parent, across, data } = request;
    let parent = match parent {
        Some(id) => Some(context.read(move |tx| ids::work(tx, &id)).await??),
        None => None,
    };
    let scope = match (scope, parent) {
        (Some(scope), _) => Some(scope),
        (None, Some(parent)) => Some(work_row(context, parent).await?.scope),
        (None, None) => None,
    };
    let current = context.current();
    let scope = configured(&current, scope.as_deref())?;
    let Some(found) = scope.kinds.get(&kind) else {
        let (kind, scope) = (kind.escape_debug(), &scope.name);
        let title = format!("there is no kind `{kind}` in scope `{scope}`");
        return Err(ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "unknown_kind", title)
            .next("`abide scope show` lists the kinds of a scope"));
    };
    Ok(Command::CreateWork {
        request: Request { uid: accept::mint(), id: acting.request_id(), limits: scope.limits },
        scope: scope.name.clone(),
        create: ProposedWork { uid: fresh(), kind, standing: found.standing },
        key: key.as_deref().map(self::key).transpose()?,
        parent,
        authorised: across,
        data: data.map(|data| data.to_string()),
    })
}

/// The scope that is named, or else the only one there is.
fn configured<'a>(current: &'a Current, name: Option<&str>) -> Result<&'a Scope, ApiError> {
    let found = match name {
        Some(name) => current.config.scope(name).ok_or_else(|| {
            let resource = name.escape_debug().to_string();
            ApiError::from(IngressError::UnknownScope { resource })
        }),
        None => current.config.only_scope().ok_or_else(ApiError::scope_needed),
    };
    found.map(AsRef::as_ref)
}

/// A key as people write it.
fn key(text: &str) -> Result<Key, ApiError> {
    let parted = text.split_once('#').filter(|(source, id)| {
        let fits = |part: &str| (1..=KEY_MAX).contains(&part.len());
        fits(source) && fits(id) && !text.contains(char::is_control)
    });
    let Some((source, external_id)) = parted else {
        let title = format!("`{}` is no key", text.escape_debug());
        return Err(ApiError::malformed(title).next("write `SOURCE#EXTERNAL-ID`"));
    };
    Ok(Key { source: source.to_owned(), external_id: external_id.to_owned() })
}

fn fresh() -> WorkUid {
    TypeSafeId::from_uuid(Uuid::now_v7())
}

fn expect(request: &ActRequest) -> Option<AttemptNo> {
    request.expect_attempt.map(AttemptNo)
}

/// The identity of the event that an action on a Work accepts; limits are those of its scope.
async fn request(
    context: &Arc<Context>,
    acting: &Acting,
    work: WorkId,
) -> Result<Request, ApiError> {
    let scope = work_row(context, work).await?.scope;
    Ok(Request { uid: accept::mint(), id: acting.request_id(), limits: limits(context, &scope) })
}

/// A scope that is not configured any more gets what one without a word would.
pub(super) fn limits(context: &Context, scope: &str) -> CausalLimits {
    let current = context.current();
    current.config.scope(scope).map_or(CausalLimits { max_depth: 32 }, |scope| scope.limits)
}

/// Which Work, and what is asked of it.
async fn read(
    context: &Arc<Context>,
    id: String,
    body: &Bytes,
) -> Result<(WorkId, ActRequest), ApiError> {
    let request = match body.is_empty() {
        true => ActRequest::default(),
        false => parse(body, "no request to act on a work")?,
    };
    let work = context.read(move |tx| ids::work(tx, &id)).await??;
    Ok((work, request))
}

/// A body that is JSON of a known form.
pub(super) fn parse<T: DeserializeOwned>(body: &Bytes, what: &str) -> Result<T, ApiError> {
    serde_json::from_slice(body).map_err(|error| {
        ApiError::malformed(format!("the body is {what}: {error}"))
            .next("`docs/operator.md` has the words of every body")
    })
}

/// 201 for what is new, 200 for what was made before.
const fn made(outcome: &Outcome) -> StatusCode {
    match outcome {
        Outcome::Duplicate(_) => StatusCode::OK,
        Outcome::Accepted(_) | Outcome::Refused(_) | Outcome::Deferred(_) | Outcome::Conflict => {
            StatusCode::CREATED
        }
    }
}

/// The Work that was acted on, or that was made.
async fn answer(context: &Arc<Context>, outcome: Outcome) -> Answer {
    let (receipt, _) = settled(outcome)?;
    let work = if let Receipt::Held { work } | Receipt::Cancelled { work } = receipt {
        work
    } else if let Receipt::Event { seq } = receipt {
        marked(context, seq).await?
    } else {
        tracing::error!(?receipt, "an action was answered with another receipt");
        return Err(ApiError::unavailable());
    };
    let row = work_row(context, work).await?;
    Ok(Json(rows::work(context, &row)))
}

/// The Work that the event of a request is associated with.
async fn marked(context: &Arc<Context>, seq: Seq) -> Result<WorkId, ApiError> {
    let mark = context.read(move |tx| pages::mark(tx, seq)).await?;
    mark.and_then(|(_, work)| work).ok_or_else(|| {
        tracing::error!(%seq, "the event of a request is associated with no work");
        ApiError::unavailable()
    })
}

async fn work_row(context: &Arc<Context>, work: WorkId) -> Result<pages::WorkRow, ApiError> {
    let row = context.read(move |tx| pages::work(tx, work)).await?;
    Ok(row.ok_or(Refusal::UnknownWork)?)
}
