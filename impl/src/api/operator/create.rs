//! Creating a Work that no event asked for.

use std::sync::Arc;

use axum::Extension;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;

use super::acts::{self, Made};
use super::once::Acting;
use super::{body, ids};
use crate::api::problem::ApiError;
use crate::api::types::CreateRequest;
use crate::command::Command;
use crate::config::{KEY_MAX, Scope};
use crate::domain::{Key, ProposedWork};
use crate::host::{Context, Current};
use crate::ingress::IngressError;

/// Creates a Work that no event asked for. BIND-03 BIND-04
pub(super) async fn create(
    State(context): State<Arc<Context>>,
    Extension(acting): Extension<Acting>,
    body: Bytes,
) -> Made {
    let command = async {
        let request: CreateRequest = body::parse(&body, "no work to create")?;
        creation(&context, &acting, request).await
    };
    let outcome = acting.perform_one(&context, command).await?;
    acts::made(&context, outcome).await
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
        (None, Some(parent)) => Some(acts::row(context, parent).await?.scope),
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
        request: acting.request(scope.limits),
        scope: scope.name.clone(),
        create: ProposedWork { uid: acts::fresh(), kind, standing: found.standing },
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
