//! `abide scope`: the tree of scopes, each as it is effective.

use super::operator::Operator;
use super::place::Asked;
use super::show::{self, Screen};
use super::{Failure, Ran, block_on, output};
use crate::api::types::ScopeRow;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Every scope, with how much of it is running
    List(List),
    /// One scope with its routes, kinds and bindings, inherited ones included
    Show(Show),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  abide scope list")]
struct List {
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    asked: Asked,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  abide scope show acme/web")]
struct Show {
    /// Its name
    #[arg(value_name = "SCOPE")]
    scope: String,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    asked: Asked,
}

pub(super) fn run(args: &Args) -> Ran {
    match &args.verb {
        Verb::List(list) => {
            let scopes = scopes(&list.asked)?;
            let table = || show::lists::scopes(&scopes, Screen::of_process());
            output::answers(list.json, &scopes, table)
        }
        Verb::Show(show) => {
            let scopes = scopes(&show.asked)?;
            let scope = named(&scopes, &show.scope)?;
            output::answer(show.json, scope, || show::lists::scope(scope, Screen::of_process()))
        }
    }
}

fn scopes(asked: &Asked) -> Result<Vec<ScopeRow>, Failure> {
    let operator = Operator::of(asked)?;
    block_on(operator.all("/scopes"))
}

fn named<'a>(scopes: &'a [ScopeRow], name: &str) -> Result<&'a ScopeRow, Failure> {
    scopes.iter().find(|scope| scope.name == name).ok_or_else(|| {
        let name = show::text::printable(name);
        Failure::refused(format!("there is no scope `{name}`: see `abide scope list`"))
    })
}
