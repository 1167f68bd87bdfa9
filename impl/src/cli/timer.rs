//! `abide timer`: what the clock will do.

use super::operator::Operator;
use super::place::Asked;
use super::show::{self, Screen};
use super::{Ran, block_on, output};
use crate::api::types::TimerRow;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Every armed timer, the next one first
    List(List),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  abide timer list")]
struct List {
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    asked: Asked,
}

pub(super) fn run(args: &Args) -> Ran {
    let Verb::List(list) = &args.verb;
    let operator = Operator::of(&list.asked)?;
    let mut timers = block_on(async {
        let mut timers: Vec<TimerRow> = operator.all("/timers").await?;
        timers.extend(operator.all::<TimerRow>("/timers/retry").await?);
        timers.extend(operator.all::<TimerRow>("/timers/idle").await?);
        Ok(timers)
    })?;
    // Those that fire no more come last. Instants of one form sort as they are written.
    timers.sort_by(|one, other| (one.disabled, &one.due).cmp(&(other.disabled, &other.due)));
    output::answers(list.json, &timers, || listed(&timers, Screen::of_process()))
}

fn listed(timers: &[TimerRow], screen: Screen) -> String {
    match timers {
        [] => {
            "no timers: no wait has a timeout, no retry is to come, and no work is idle".to_owned()
        }
        timers => show::lists::timers(timers, screen),
    }
}
