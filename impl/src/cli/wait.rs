//! `abide wait`: what attempts wait for.

use super::operator::Operator;
use super::place::Asked;
use super::show::{self, Screen};
use super::{Code, Failure, Ran, block_on, output};
use crate::api::types::WaitRow;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// The active waits, each with what it listens for
    List(List),
    /// One wait
    Show(Show),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  abide wait list
  abide wait list --all --json | jq 'select(.status == \"woken\") | .winner'")]
struct List {
    /// Those that have ended, too
    #[arg(long)]
    all: bool,
    /// At most so many, the newest
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    asked: Asked,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  abide wait show wait_01kb3n8x9q")]
struct Show {
    /// Its id, or the beginning of it
    #[arg(value_name = "WAIT")]
    wait: String,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    asked: Asked,
}

pub(super) fn run(args: Args) -> Ran {
    block_on(async {
        match args.verb {
            Verb::List(list) => self::list(list).await,
            Verb::Show(show) => self::show(show).await,
        }
    })
}

async fn list(args: List) -> Ran {
    let list = if args.all { "/waits" } else { "/waits?status=active" };
    let mut waits: Vec<WaitRow> = Operator::of(&args.asked)?.all(list).await?;
    let earlier = waits.len().saturating_sub(args.limit);
    waits.drain(..earlier);
    if args.json {
        output::json_lines(&waits)?;
    } else {
        output::line(&listed(&waits, args.all, Screen::of_process()))?;
        if earlier > 0 {
            output::aside(&format!("the newest {}: more with a higher --limit", waits.len()));
        }
    }
    Ok(Code::Done)
}

fn listed(waits: &[WaitRow], all: bool, screen: Screen) -> String {
    match waits {
        [] if all => "no waits yet: an attempt registers one with `abide tool wait`".to_owned(),
        [] => {
            "no active waits\n  next: abide wait list --all, for those that have ended".to_owned()
        }
        waits => show::wait::table(waits, screen),
    }
}

async fn show(args: Show) -> Ran {
    let waits: Vec<WaitRow> = Operator::of(&args.asked)?.all("/waits").await?;
    let wait = named(&waits, &args.wait)?;
    output::answer(args.json, wait, || show::wait::detail(wait, Screen::of_process()))
}

/// The one wait whose id begins like this.
fn named<'a>(waits: &'a [WaitRow], prefix: &str) -> Result<&'a WaitRow, Failure> {
    let mut found = waits.iter().filter(|wait| wait.id.starts_with(prefix));
    match (found.next(), found.next()) {
        (Some(wait), None) => Ok(wait),
        (Some(wait), Some(_)) if wait.id == prefix => Ok(wait),
        (Some(one), Some(other)) => Err(Failure::refused(format!(
            "`{prefix}` names more than one wait ({}, {}): give more of the id",
            one.id, other.id
        ))),
        (None, _) => Err(Failure::refused(format!(
            "no wait is named `{prefix}`: see `abide wait list --all`"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::show::canned;
    use super::*;

    #[test]
    fn a_prefix_names_one_wait_or_says_why_not() {
        let waits = canned::waits();
        let one = named(&waits, "wait_01kb3n8xa").expect("one wait");
        assert_eq!(one.attempt, 2);
        let many = named(&waits, "wait_").expect_err("three waits");
        assert!(many.message.contains("more than one"), "{}", many.message);
        let none = named(&waits, "wait_9").expect_err("no wait");
        assert!(none.message.contains("abide wait list --all"), "{}", none.message);
    }

    #[test]
    fn an_empty_list_says_what_to_do_next() {
        let none = listed(&[], false, canned::screen());
        assert!(none.contains("--all"), "{none}");
        let none = listed(&[], true, canned::screen());
        assert!(none.contains("abide tool wait"), "{none}");
    }
}
