//! A whole daemon: doors, loops and the writer, from the first lock to the last commit. The one
//! place that knows them all.

mod start;
pub(crate) mod state;
mod stop;

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::api::auth::Principals;
use crate::api::reload::reload;
use crate::config::{Config, Environment};
use crate::daemon;
use crate::domain::Actor;
use crate::host::Context;
use crate::points::Points;
use crate::store::{StoreError, copy};
use crate::writer::WriterState;

pub use start::ServeError;

use stop::Asked;

/// How long doors and loops may take to end once the daemon stops.
const STOP_MAX: Duration = Duration::from_secs(5);

/// How long the look at a damaged file may take.
const CHECK_MAX: Duration = Duration::from_secs(10);

/// Serves until it is told to stop. Each door is announced on `out` once it can be used, as a line
/// `NAME ADDRESS`, and after them `ready`.
///
/// `SIGHUP` reads the configuration again. A file that turns out to be damaged ends it. Stopping claims nothing more and leaves running attempts
/// untouched: the next daemon takes them over. OURS-19
///
/// # Errors
/// It cannot start, and then nothing was changed but what starting alone makes: the state folder,
/// the database, the principals' tokens. OURS-22
pub async fn serve(
    config: Config,
    env: Environment,
    points: Points,
    out: &mut dyn Write,
) -> Result<(), ServeError> {
    let (stop, stopping) = watch::channel(false);
    let mut signals = stop::Signals::catch().map_err(ServeError::Signals)?;
    let started = start::start(config, env, points, stopping).await?;
    let (context, principals, _lock) = (started.context, started.principals, started.lock);
    let mut tasks = JoinSet::new();
    daemon::run_loops(&mut tasks, &context);
    let mut announced = Vec::new();
    for (door, router) in started.doors {
        announced.push(format!("{} {}", door.name, door.address));
        tasks.spawn(door.serve(router, context.stop.clone()));
    }
    announce(out, &announced);
    let (version, current) = (env!("CARGO_PKG_VERSION"), context.current());
    let database = current.config.daemon.database.display();
    tracing::info!(version, %database, configuration = %current.generation, "serving");
    let ends = goes_on(&context, &principals, &mut signals).await;
    tracing::info!("stopping: nothing more is claimed, and running attempts are left as they are");
    // Whoever watches is inside this function.
    stop.send_replace(true);
    let mut detached = Vec::new();
    if ends.is_ok() {
        daemon::detach(&context, &mut detached).await;
    }
    let ended = async { while tasks.join_next().await.is_some() {} };
    if tokio::time::timeout(STOP_MAX, ended).await.is_err() {
        tracing::warn!("stopped with a loop or a door under way");
    }
    // What a loop had claimed just before.
    if ends.is_ok() {
        daemon::detach(&context, &mut detached).await;
    }
    context.writer.shutdown().await;
    ends
}

/// Reads the configuration again as often as it is asked to, until the daemon is to end: it is told
/// to, it is drained, or its file turns out to be damaged.
async fn goes_on(
    context: &Arc<Context>,
    principals: &Arc<Principals>,
    signals: &mut stop::Signals,
) -> Result<(), ServeError> {
    loop {
        tokio::select! {
            asked = signals.asked() => match asked {
                Asked::Stop => return Ok(()),
                Asked::Reload => again(context, principals),
            },
            () = context.drain.drained() => return Ok(()),
            error = damage(context) => return Err(damaged(context, &error).await),
        }
    }
}

/// A file or a secret may take its time to be read, and a stop is heard meanwhile.
fn again(context: &Arc<Context>, principals: &Arc<Principals>) {
    let (context, principals) = (Arc::clone(context), Arc::clone(principals));
    tokio::spawn(async move {
        // What it refuses it has logged, with the place and the remedy.
        drop(reload(&context, &principals, Actor::Loop("sighup"), None).await);
    });
}

/// Resolves once a read or a write has met a page that the engine cannot make sense of.
async fn damage(context: &Context) -> StoreError {
    let mut writes = context.writer.state();
    let mut reads = context.writer.readers().damage();
    let written = async {
        let broken = |state: &WriterState| match state {
            WriterState::Failed(error) => error.is_damage(),
            WriterState::Running => false,
        };
        match writes.wait_for(broken).await.map(|state| state.clone()) {
            Ok(WriterState::Failed(error)) => error,
            // Without a writer the daemon is ending already.
            Ok(WriterState::Running) | Err(_) => std::future::pending().await,
        }
    };
    let read = async {
        match reads.wait_for(Option::is_some).await.map(|found| found.clone()) {
            Ok(Some(error)) => error,
            Ok(None) | Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        error = written => error,
        error = read => error,
    }
}

/// What is said of a damaged file, once: what met the damage, and what a look at the whole file says.
async fn damaged(context: &Context, error: &StoreError) -> ServeError {
    let path = context.current().config.daemon.database.clone();
    let file = path.clone();
    let look = tokio::task::spawn_blocking(move || copy::quick_check(&file));
    let whole = match tokio::time::timeout(CHECK_MAX, look).await {
        Ok(Ok(said)) => said,
        Ok(Err(_)) | Err(_) => "the check did not end".to_owned(),
    };
    let found = match error {
        StoreError::Malformed { what } => format!("{what}; quick_check: {whole}"),
        other @ (StoreError::Corrupt { .. }
        | StoreError::NewerSchema { .. }
        | StoreError::Schema { .. }
        | StoreError::Foreign { .. }
        | StoreError::Busy { .. }
        | StoreError::Full { .. }
        | StoreError::Io { .. }
        | StoreError::Constraint { .. }
        | StoreError::Engine { .. }) => other.to_string(),
    };
    ServeError::Damaged { path, found }
}

/// Says where the doors are. That nobody listens is no reason not to serve.
fn announce(out: &mut dyn Write, doors: &[String]) {
    for door in doors {
        drop(writeln!(out, "{door}"));
    }
    drop(writeln!(out, "ready"));
    drop(out.flush());
}
