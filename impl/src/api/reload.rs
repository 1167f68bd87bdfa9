//! Reads the configuration again: validated whole or refused whole. BIND-10 BIND-11
//!
//! A new one is committed first, so that it has its number, and then everything that begins uses it.
//! What runs, and what is parked, stays with the one it was first claimed under.

use std::sync::Arc;

use axum::http::StatusCode;
use tokio::task::spawn_blocking;

use super::auth::Principals;
use super::problem::ApiError;
use crate::command::{Command, Outcome, Receipt};
use crate::config::{Config, ConfigErrors};
use crate::domain::{Actor, Generation};
use crate::host::{Context, Current};
use crate::writer::{Answered, Once, WriteError};

/// What a reload made so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reloaded {
    /// What is current now.
    pub generation: Generation,
    /// Whether it was not before.
    pub changed: bool,
    /// What an operator should know of it, one sentence each.
    pub notes: Vec<String>,
}

/// Why the old configuration stays.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    /// The file is not valid: every problem, located.
    #[error("{0}")]
    Invalid(ConfigErrors),
    /// The request's key was used for another one.
    #[error("the key was used for another request")]
    Reused,
    /// A principal's token cannot be used.
    #[error(transparent)]
    Token(#[from] super::auth::TokenError),
    /// Nothing can be committed.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The law answered something else than a generation.
    #[error("the configuration was not made current: {0}")]
    Answer(String),
}

impl ReloadError {
    /// What is wrong, in one line.
    fn summary(&self) -> String {
        match self {
            Self::Invalid(errors) => errors.summary(),
            Self::Reused | Self::Token(_) | Self::Write(_) | Self::Answer(_) => self.to_string(),
        }
    }
}

impl From<ReloadError> for ApiError {
    fn from(error: ReloadError) -> Self {
        let refused = |what: &str| {
            let title = format!("the configuration is refused, and the old one stays: {what}");
            Self::new(StatusCode::UNPROCESSABLE_ENTITY, "config_refused", title)
                .next("`abide check` shows every problem; then `abide config reload`")
        };
        match error {
            ReloadError::Invalid(errors) => refused(&errors.summary()),
            ReloadError::Reused => Self::key_reused(),
            ReloadError::Token(error) => refused(&error.to_string()),
            ReloadError::Write(error) => error.into(),
            ReloadError::Answer(_) => Self::conflict(),
        }
    }
}

/// Reads the daemon's file again and makes it current. It goes on although nobody waits for its
/// answer: between the commit and what follows it, it must not be left.
///
/// # Errors
/// The old configuration stays current; a refusal of the file is kept for `config history`.
pub async fn reload(
    context: &Arc<Context>,
    principals: &Arc<Principals>,
    actor: Actor,
    once: Option<Once>,
) -> Result<Reloaded, ReloadError> {
    let (context, principals) = (Arc::clone(context), Arc::clone(principals));
    let reload = async move { in_turn(&context, &principals, actor, once).await };
    let broke = |error| Err(ReloadError::Answer(format!("it broke: {error}")));
    tokio::spawn(reload).await.unwrap_or_else(broke)
}

async fn in_turn(
    context: &Arc<Context>,
    principals: &Principals,
    actor: Actor,
    once: Option<Once>,
) -> Result<Reloaded, ReloadError> {
    let _one_at_a_time = context.configs.reloading().await;
    let reloaded = replace(context, principals, actor.clone(), once).await;
    match &reloaded {
        Ok(Reloaded { generation, changed, .. }) => {
            tracing::info!(configuration = %generation, changed, "configuration read");
        }
        Err(ReloadError::Reused) => {}
        Err(error @ (ReloadError::Invalid(_) | ReloadError::Token(_))) => {
            let (by, at) = (actor.to_string(), context.now());
            context.configs.refuse(at, by, error.summary());
            tracing::warn!("the configuration is refused, and the old one stays:\n{error}");
        }
        Err(error @ (ReloadError::Write(_) | ReloadError::Answer(_))) => {
            tracing::error!(%error, "the configuration could not be made current");
        }
    }
    reloaded
}

async fn replace(
    context: &Arc<Context>,
    principals: &Principals,
    actor: Actor,
    once: Option<Once>,
) -> Result<Reloaded, ReloadError> {
    if let Some(before) = recall(context, once.as_ref()).await? {
        return Ok(before);
    }
    let config = load(context).await.map_err(ReloadError::Invalid)?;
    let known = Principals::read(&config.principals)?;
    let command =
        Command::Reload { digest: hex::encode(config.digest()), body: config.body().to_owned() };
    let outcome = match once {
        None => context.writer.apply(actor, command).await?,
        Some(once) => match context.writer.apply_once(once, vec![(actor, command)]).await? {
            Answered::Outcomes(mut outcomes) => outcomes.pop().unwrap_or(Outcome::Conflict),
            Answered::Again(outcomes) => return answered(outcomes),
            Answered::Reused => return Err(ReloadError::Reused),
        },
    };
    let Reloaded { generation, changed, .. } = answered(vec![outcome])?;
    let mut notes = config.notes();
    let config = settled(&context.current(), config, &mut notes);
    principals.replace(known);
    context.configs.replace(generation, config);
    Ok(Reloaded { generation, changed, notes })
}

/// What the same request was answered before. It is asked in turn: another of its kind may have been
/// under way when this one came, and what that one made current may not be any more.
async fn recall(
    context: &Arc<Context>,
    once: Option<&Once>,
) -> Result<Option<Reloaded>, ReloadError> {
    let Some(once) = once.cloned() else { return Ok(None) };
    let now = context.now();
    let found = context.read(move |tx| once.recall(tx, now)).await.map_err(WriteError::Store)?;
    match found {
        None => Ok(None),
        Some(Answered::Outcomes(outcomes) | Answered::Again(outcomes)) => {
            answered(outcomes).map(Some)
        }
        Some(Answered::Reused) => Err(ReloadError::Reused),
    }
}

/// Which generation a reload came to.
fn answered(mut outcomes: Vec<Outcome>) -> Result<Reloaded, ReloadError> {
    let outcome = outcomes.pop().unwrap_or(Outcome::Conflict);
    let (name, changed) = (outcome.name(), matches!(outcome, Outcome::Accepted(_)));
    let (Outcome::Accepted(receipt) | Outcome::Duplicate(receipt)) = outcome else {
        return Err(ReloadError::Answer(name.to_owned()));
    };
    let Receipt::Reloaded { generation } = receipt else {
        return Err(ReloadError::Answer(format!("{receipt:?}")));
    };
    Ok(Reloaded { generation, changed, notes: Vec::new() })
}

/// Compiles expressions and reads secrets from where they are kept, on a thread that may block.
async fn load(context: &Arc<Context>) -> Result<Config, ConfigErrors> {
    let context = Arc::clone(context);
    let (file, env) = context.configs.place();
    let (file, env) = (file.clone(), env.clone());
    let named = file.clone();
    let open = context.current().config.listen.hooks;
    spawn_blocking(move || Config::load_behind(&file, &env, open))
        .await
        .unwrap_or_else(|error| Err(ConfigErrors::broken(&named, &error.to_string())))
}

/// Doors and database stay as they were opened: what the file says of them now is for the next
/// daemon.
fn settled(current: &Current, mut config: Config, notes: &mut Vec<String>) -> Config {
    let old = &current.config;
    if config.listen != old.listen {
        notes.push("`[listen]` has changed: restart the daemon to move its doors".to_owned());
        config.listen = old.listen.clone();
    }
    if config.daemon != old.daemon {
        notes.push("`[daemon]` has changed: restart the daemon to use it".to_owned());
        config.daemon = old.daemon.clone();
    }
    config
}
