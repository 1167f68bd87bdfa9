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

use crate::api::reload::reload;
use crate::config::{Config, Environment};
use crate::daemon;
use crate::domain::Actor;

pub use start::ServeError;

use stop::Asked;

/// How long doors and loops may take to end once the daemon stops.
const STOP_MAX: Duration = Duration::from_secs(5);

/// Serves until it is told to stop. Each door is announced on `out` once it can be used, as a line
/// `NAME ADDRESS`, and after them `ready`.
///
/// `SIGHUP` reads the configuration again. Stopping claims nothing more and leaves running attempts
/// untouched: the next daemon takes them over. OURS-19
///
/// # Errors
/// It cannot start, and then nothing was changed but what starting alone makes: the state folder,
/// the database, the principals' tokens. OURS-22
pub async fn serve(
    config: Config,
    env: Environment,
    out: &mut dyn Write,
) -> Result<(), ServeError> {
    let (stop, stopping) = watch::channel(false);
    let mut signals = stop::Signals::catch().map_err(ServeError::Signals)?;
    let started = start::start(config, env, stopping).await?;
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
    while signals.asked().await == Asked::Reload {
        // A file or a secret may take its time to be read, and a stop is heard meanwhile.
        let (context, principals) = (Arc::clone(&context), Arc::clone(&principals));
        tokio::spawn(async move {
            // What it refuses it has logged, with the place and the remedy.
            drop(reload(&context, &principals, Actor::Loop("sighup"), None).await);
        });
    }
    tracing::info!("stopping: nothing more is claimed, and running attempts are left as they are");
    // Whoever watches is inside this function.
    stop.send_replace(true);
    let ended = async { while tasks.join_next().await.is_some() {} };
    if tokio::time::timeout(STOP_MAX, ended).await.is_err() {
        tracing::warn!("stopped with a loop or a door under way");
    }
    context.writer.shutdown().await;
    Ok(())
}

/// Says where the doors are. That nobody listens is no reason not to serve.
fn announce(out: &mut dyn Write, doors: &[String]) {
    for door in doors {
        drop(writeln!(out, "{door}"));
    }
    drop(writeln!(out, "ready"));
    drop(out.flush());
}
