//! `abide chain`: what came of an event, and what it came from.

use super::operator::{Operator, segment};
use super::place::Asked;
use super::show::{self, Screen};
use super::{Ran, block_on, output};
use crate::api::types::Chain;

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  abide chain 12")]
pub(super) struct Args {
    /// Any event of the chain: its sequence, or its id or the beginning of it
    #[arg(value_name = "EVENT")]
    event: String,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    asked: Asked,
}

pub(super) fn run(args: &Args) -> Ran {
    let operator = Operator::of(&args.asked)?;
    let path = format!("/events/{}/chain", segment(&args.event));
    let chain: Chain = block_on(operator.get(&path))?;
    output::answer(args.json, &chain, || show::chain::tree(&chain, Screen::of_process()))
}
