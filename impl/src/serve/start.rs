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
use crate::clock::Clock;
use crate::config::{Config, Environment};
use crate::executor::shell::{Binding, Place, Shell};
use crate::host::{Configs, Context, Driven, Executors, Health, Troubles};
use crate::store::StoreError;
use crate::store::lock::{FileLock, LockError, lock};
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
    /// The database cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
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
    /// This program cannot find itself.
    #[error("the path of this program is not known, and keepers are processes of it: {0}")]
    Program(io::Error),
}

impl ServeError {
    /// The name under which a program tells one failure from another.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::State { .. } => "state_folder",
            Self::Lock(LockError::Held { .. }) => "database_held",
            Self::Lock(LockError::Io { .. }) => "lock_file",
            Self::Store(error) | Self::Write(WriteError::Store(error)) => error.code(),
            Self::Write(WriteError::Closed) => "closed",
            Self::Token(_) => "principal_token",
            Self::Door { .. } => "door",
            Self::Signals(_) => "signals",
            Self::Program(_) => "program",
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
    stop: watch::Receiver<bool>,
) -> Result<Started, ServeError> {
    let path = config.daemon.state.clone();
    let folders = state::make(&path).map_err(|error| ServeError::State { path, error })?;
    let lock = lock(&beside(&config.daemon.database))?;
    let writer = open(config.daemon.database.clone()).await?;
    let generation =
        writer.make_current(hex::encode(config.digest()), config.body().to_owned()).await?;
    let principals = Arc::new(Principals::load(&config.principals)?);
    let executors = executors(&folders)?;
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
        stop,
    });
    let doors = doors(&context, &principals).await?;
    Ok(Started { context, doors, principals, lock })
}

/// The lock lies beside the database, so that two state folders cannot share one.
fn beside(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}

async fn open(path: PathBuf) -> Result<Writer, StoreError> {
    let open = move || Writer::open(&path, Clock::system(), WriterOptions::default());
    tokio::task::spawn_blocking(open)
        .await
        .map_err(|error| StoreError::Engine { what: format!("opening broke: {error}") })?
}

fn executors(folders: &state::Folders) -> Result<Executors, ServeError> {
    let program = std::env::current_exe().map_err(ServeError::Program)?;
    let place = Place { program, segments: folders.segments.clone() };
    Ok(Executors::new(move |configured| {
        let binding = Binding {
            command: configured.command.clone(),
            env: configured.env.clone(),
            resumes: configured.resumes,
            grace: configured.stop_grace.std(),
        };
        Arc::new(Shell::new(place.clone(), binding))
    }))
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
