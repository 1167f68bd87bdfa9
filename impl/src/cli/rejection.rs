//! `abide rejection`: derived events that a causal limit refused.

use super::operator::Operator;
use super::place::Asked;
use super::show::{self, Screen};
use super::{Code, Ran, block_on, output};
use crate::api::types::RejectionRow;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// The newest of them, each with what would have caused it
    List(List),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  abide rejection list")]
struct List {
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    asked: Asked,
}

pub(super) fn run(args: &Args) -> Ran {
    let Verb::List(list) = &args.verb;
    let operator = Operator::of(&list.asked)?;
    let (rows, earlier): (Vec<RejectionRow>, bool) =
        block_on(operator.newest("/rejections", list.limit))?;
    if list.json {
        output::json_lines(&rows)?;
        return Ok(Code::Done);
    }
    output::line(&listed(&rows, Screen::of_process()))?;
    if earlier {
        output::aside(&format!("the newest {}: more with a higher --limit", rows.len()));
    }
    Ok(Code::Done)
}

fn listed(rows: &[RejectionRow], screen: Screen) -> String {
    match rows {
        [] => "nothing was refused: no chain is as deep as its root allows".to_owned(),
        rows => show::lists::rejections(rows, screen),
    }
}
