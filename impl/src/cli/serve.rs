//! `abide serve`: the daemon.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::time::Duration;

use tracing_subscriber::EnvFilter;

use super::{Code, Failure, Ran};
use crate::config::{Config, Environment};
use crate::points::Points;
use crate::serve;

/// Tasks that hold attempts end with the runtime, whose processes go on under their keepers.
const LINGER: Duration = Duration::from_secs(1);

/// Run the daemon; it prints its doors when they are open, and `ready`
///
/// SIGHUP reads the configuration again; a refused one is logged, and the old one stays. SIGTERM and
/// SIGINT stop it within seconds and leave running attempts to the next daemon. What it
/// does is logged on standard error: `ABIDE_LOG=debug` shows more.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The configuration file
    #[arg(
        short,
        long,
        value_name = "FILE",
        env = "ABIDE_CONFIG",
        hide_env_values = true,
        default_value = "abide.toml"
    )]
    config: PathBuf,
}

pub(super) fn run(args: &Args, points: Points) -> Ran {
    log();
    // Processes start in folders of their own, so that every path they are given is absolute.
    let file = std::path::absolute(&args.config)
        .map_err(|error| Failure::refused(format!("{}: {error}", args.config.display())))?;
    let env = Environment::of_process();
    let config = match Config::load(&file, &env) {
        Ok(config) => config,
        Err(errors) => {
            // Nothing is to be done about a standard error that cannot be written to.
            drop(write!(io::stderr(), "{errors}"));
            return Ok(Code::Refused);
        }
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::refused(format!("cannot start: {error}")))?;
    let served = runtime.block_on(serve::serve(config, env, points, &mut io::stdout()));
    runtime.shutdown_timeout(LINGER);
    served
        .map(|()| Code::Done)
        .map_err(|error| Failure::refused(format!("{}: {error}", error.code())))
}

/// Logs to standard error, where standard output is for the doors.
fn log() {
    let filter = EnvFilter::try_from_env("ABIDE_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    let logging = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        .with_target(false);
    // Somebody else's subscriber is as good.
    drop(logging.try_init());
}
