//! `abide hold`: what does not start until somebody says so.

use super::operator::Operator;
use super::place::Asked;
use super::show::{self, Screen};
use super::work::acts;
use super::{Code, Ran, block_on, output};
use crate::api::types::HoldRow;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Every work that a hold keeps from starting, with the reason
    List(List),
    /// Lift every hold of a work
    Release(acts::Release),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  abide hold list --json | jq -r .work")]
struct List {
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    asked: Asked,
}

pub(super) fn run(args: Args) -> Ran {
    block_on(async {
        match args.verb {
            Verb::List(list) => self::list(list).await,
            Verb::Release(release) => acts::release(release).await,
        }
    })
}

async fn list(list: List) -> Ran {
    let holds: Vec<HoldRow> = Operator::of(&list.asked)?.all("/holds").await?;
    if list.json {
        output::json_lines(&holds)?;
    } else {
        output::line(&listed(&holds, Screen::of_process()))?;
    }
    Ok(Code::Done)
}

fn listed(holds: &[HoldRow], screen: Screen) -> String {
    match holds {
        [] => "nothing is held".to_owned(),
        holds => show::lists::holds(holds, screen),
    }
}
