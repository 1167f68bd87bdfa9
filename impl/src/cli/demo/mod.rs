//! `abide demo`: the whole story in a folder of its own, with a real daemon, real webhooks and real
//! processes. Every step asserts what it says.

mod acts;
mod cast;
mod daemon;
mod hooks;
mod stage;
mod teller;
mod timeline;

use std::path::PathBuf;

use tokio::signal::unix::{SignalKind, signal};

use self::cast::Cast;
use self::stage::Stage;
use super::{Code, Failure, Ran, block_on, output};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  abide demo
  abide demo --keep abide-demo

It takes less than 20 seconds, needs no network, and stops everything it started. With --keep \
its folder stays, and `abide serve -c DIR/abide.toml` opens it again.")]
pub(super) struct Args {
    /// Play in this folder, which must be new or empty, and leave it there
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

pub(super) fn run(args: &Args) -> Ran {
    let mut stage = Stage::set(args.keep.as_deref())?;
    let told = block_on(async {
        tokio::select! {
            told = tell(&stage) => told,
            () = interrupted() => Err(Failure::refused("interrupted")),
        }
    });
    if let Err(failure) = told {
        if failure.code == Code::Done {
            return Err(failure);
        }
        stage.leave();
        let folder = stage.folder().display();
        let message = format!("{}; everything is left in {folder}", failure.message);
        return Err(Failure::new(failure.code, message));
    }
    Ok(Code::Done)
}

/// Somebody wants this to end: what was started is stopped on the way out.
async fn interrupted() {
    match signal(SignalKind::terminate()) {
        Ok(mut terminated) => tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminated.recv() => {}
        },
        Err(_) => drop(tokio::signal::ctrl_c().await),
    }
}

async fn tell(stage: &Stage) -> Result<(), Failure> {
    let mut cast = Cast::assemble(stage).await?;
    cast.keeps_once().await?;
    cast.keeps_what_nobody_wants().await?;
    let work = cast.routes_and_waits().await?;
    cast.wakes_once(&work).await?;
    let running = cast.runs_when_killed(&work).await?;
    cast.adopts(&work, &running).await?;
    let heard = cast.steers(&work).await?;
    cast.completes(&work, heard).await?;
    let other = cast.cancels().await?;
    let seconds = cast.ends().await?;
    let labels = [(work, "#42".to_owned()), (other, "#43".to_owned())];
    output::line(&timeline::of(stage, &labels).await?)?;
    output::line(&ending(stage, seconds))
}

fn ending(stage: &Stage, seconds: f64) -> String {
    let told = format!("\nAll of it was so, in {seconds:.1} seconds.");
    if !stage.stays() {
        return format!("{told}\n  next: abide init, for a configuration of your own");
    }
    let config = stage.path("abide.toml");
    let config = config.display();
    format!(
        "{told} Look around:\n  abide serve -c {config} &\n  abide event list -c {config}\n  \
         abide work list -c {config}\n  abide journal export -c {config}"
    )
}
