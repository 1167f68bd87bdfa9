//! From a configuration to a daemon that only needs to be let go: in an order in which a failure
//! leaves nothing half begun.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::Router;
use tokio::sync::watch;

use super::state;
use crate::api::auth::{Principals, TokenError};
use crate::api::door::Door;
use crate::api::{hooks, limits, operator, tool};
use crate::backup;
use crate::clock::Clock;
use crate::config::{Config, Environment, ExecutorKind};
use crate::executor::agent::Agent;
use crate::executor::shell::Shell;
use crate::executor::{Binding, IMAGE, Place};
use crate::extension::executor::Executor;
use crate::host::{Configs, Context, Drain, Driven, Executors, Health, Patience, Troubles};
use crate::points::Points;
use crate::store::lock::{FileLock, LockError, beside, lock};
use crate::store::{StoreError, meta};
use crate::writer::{WriteError, Writer, WriterOptions};

/// Why a daemon cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The state folder cannot be used.
    #[error("the state folder {path} cannot be used: {error}")]
    State {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// Another daemon serves the database. OURS-22
    #[error(transparent)]
    Lock(#[from] LockError),
    /// An interrupted restore cannot be finished.
    #[error("the restored {path} cannot be put in its place: {error}")]
    Restore {
        /// The database.
        path: PathBuf,
        /// What was said.
        error: backup::SwapError,
    },
    /// The database cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file was found damaged while it was served, so that nothing more is written.
    #[error(
        "{path} is damaged, so the daemon has stopped writing and ended ({found}). Keep the file, and \
         `abide restore FILE` the last good backup: it puts the damaged file aside"
    )]
    Damaged {
        /// The database.
        path: PathBuf,
        /// What was found, and where.
        found: String,
    },
    /// The configuration could not be recorded.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A principal's token cannot be used.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// A door cannot be opened.
    #[error("the {door} door cannot be opened at {address}: {error}")]
    Door {
        /// Which.
        door: &'static str,
        /// Where.
        address: String,
        /// What the system said.
        error: io::Error,
    },
    /// Signals cannot be caught, so that nothing could stop it in order.
    #[error("signals cannot be caught: {0}")]
    Signals(io::Error),
}

impl ServeError {
    /// The name under which a program tells one failure from another.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::State { .. } => "state_folder",
            Self::Lock(LockError::Held { .. }) => "database_held",
            Self::Lock(LockError::Io { .. }) => "lock_file",
            Self::Restore { .. } => "restore",
            Self::Damaged { .. } => "damaged_file",
            Self::Store(error) | Self::Write(WriteError::Store(error)) => error.code(),
            Self::Write(WriteError::Closed) => "closed",
            Self::Token(_) => "principal_token",
            Self::Door { .. } => "door",
            Self::Signals(_) => "signals",
        }
    }
}

/// A daemon whose doors are bound and whose loops are not running yet.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) context: Arc<Context>,
    pub(super) doors: Vec<(Door, Router)>,
    pub(super) principals: Arc<Principals>,
    /// Held for as long as the daemon serves.
    pub(super) lock: FileLock,
}

pub(super) async fn start(
    config: Config,
    env: Environment,
    points: Points,
    stop: watch::Receiver<bool>,
) -> Result<Started, ServeError> {
    let path = config.daemon.state.clone();
    let folders = state::make(&path).map_err(|error| ServeError::State { path, error })?;
    let lock = lock(&beside(&config.daemon.database))?;
    finish_restore(&config.daemon.database)?;
    let writer = open(config.daemon.database.clone(), points).await?;
    remember(&writer, config.daemon.database.clone()).await;
    let generation =
        writer.make_current(hex::encode(config.digest()), config.body().to_owned()).await?;
    let principals = Arc::new(Principals::load(&config.principals)?);
    let executors = executors(&folders);
    for note in config.notes() {
        tracing::warn!("{note}");
    }
    let context = Arc::new(Context {
        configs: Configs::new(generation, config, env),
        writer,
        executors,
        works: folders.works,
        segments: folders.segments,
        health: Health::default(),
        driven: Driven::default(),
        troubles: Troubles::default(),
        drain: Drain::default(),
        patience: Patience::default(),
        points,
        stop,
    });
    let doors = doors(&context, &principals).await?;
    Ok(Started { context, doors, principals, lock })
}

/// A restore that was interrupted after its copy was ready has restored all the same. OURS-21
fn finish_restore(database: &Path) -> Result<(), ServeError> {
    if backup::unfinished(database) {
        let unfinished = |error| ServeError::Restore { path: database.to_owned(), error };
        let kept = backup::finish(database).map_err(unfinished)?;
        tracing::warn!(?kept, "a restore was interrupted and is finished now");
    }
    Ok(())
}

/// Keeps the incarnation where it outlives the database. Without it the daemon serves as well: it is
/// a later restore that looks there. OURS-21
async fn remember(writer: &Writer, database: PathBuf) {
    let written = writer.readers().read_async(move |tx| {
        let incarnation = meta::incarnation(tx)?;
        Ok(backup::remember(&database, incarnation))
    });
    match written.await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(%error, "the incarnation cannot be remembered"),
        Err(error) => tracing::warn!(%error, "the incarnation cannot be read"),
    }
}

async fn open(path: PathBuf, points: Points) -> Result<Writer, StoreError> {
    let options = WriterOptions { points, ..WriterOptions::default() };
    let open = move || Writer::open(&path, Clock::system(), options);
    tokio::task::spawn_blocking(open)
        .await
        .map_err(|error| StoreError::Engine { what: format!("opening broke: {error}") })?
}

/// Keepers are processes of this very program, whatever becomes of its file. OURS-19
fn executors(folders: &state::Folders) -> Executors {
    let place = Place { program: IMAGE.into(), segments: folders.segments.clone() };
    Executors::new(move |configured| {
        let binding = Binding {
            command: configured.command.clone(),
            env: configured.env.clone(),
            resumes: configured.resumes,
            injects: configured.injects,
            interrupts: configured.interrupts,
            grace: configured.stop_grace.std(),
        };
        let place = place.clone();
        let executor: Arc<dyn Executor> = match configured.executor {
            ExecutorKind::Shell => Arc::new(Shell::new(place, binding)),
            ExecutorKind::Agent => Arc::new(Agent::new(place, binding, configured.prompt.clone())),
        };
        executor
    })
}

/// Binds every door. Nobody is answered before the door is served.
async fn doors(
    context: &Arc<Context>,
    principals: &Arc<Principals>,
) -> Result<Vec<(Door, Router)>, ServeError> {
    let current = context.current();
    let listen = &current.config.listen;
    let mut doors = Vec::new();
    if let Some(address) = listen.hooks {
        let door = Door::tcp("hooks", address, limits::HOOKS).await;
        let door = door.map_err(|error| closed("hooks", address.to_string(), error))?;
        doors.push((door, hooks::router(Arc::clone(context))));
    }
    let unix = |name, path: &Path, limits| {
        Door::unix(name, path, limits)
            .map_err(|error| closed(name, path.display().to_string(), error))
    };
    let operators = unix("operator", &listen.operator, limits::OPERATOR)?;
    doors.push((operators, operator::router(Arc::clone(context), principals)));
    let tool = unix("tool", &listen.tool, limits::TOOL)?;
    doors.push((tool, tool::router(Arc::clone(context))));
    Ok(doors)
}

fn closed(door: &'static str, address: String, error: io::Error) -> ServeError {
    ServeError::Door { door, address, error }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::{SMALL, valid};
    use crate::domain::Generation;
    use crate::extension::executor::Capabilities;

    /// What a configuration is judged by is what the executors themselves say. POLICY-26 POLICY-31
    #[test]
    fn an_executor_can_do_what_its_binding_advertises_and_advertised_is_what_it_implements() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let place = |name: &str| folder.path().join(name);
        let folders = state::Folders { works: place("works"), segments: place("segments") };
        for executor in [ExecutorKind::Shell, ExecutorKind::Agent] {
            let all = ["inject", "interrupt", "resume"];
            for some in 0..8_usize {
                let has = |n: usize| some >> n & 1 == 1;
                let advertised: Vec<&str> = (0..3).filter(|n| has(*n)).map(|n| all[n]).collect();
                let text = SMALL
                    .replace("\"shell\"", &format!("\"{}\"", executor.name()))
                    .replace("isolation", &format!("capabilities = {advertised:?}\nisolation"));
                let config = valid(&text);
                let binding = config.scopes["main"].binding_of("review").expect("it has one");
                let can = executors(&folders).of(Generation(1), binding).capabilities();
                let holds_until_pin = can.holds_until_pin;
                let (injects, interrupts, resumes) = (has(0), has(1), has(2));
                let wanted = Capabilities { resumes, holds_until_pin, injects, interrupts };
                assert_eq!(can, wanted, "{text}");
                if advertised.len() == all.len() {
                    assert_eq!(can, executor.implements());
                }
            }
        }
    }
}
