//! `abide hold`: what does not start until somebody says so.

use super::operator::Operator;
use super::place::Asked;
use super::show::{self, Screen};
use super::work::acts;
use super::{Code, Ran, block_on, output};
use crate::api::types::{HoldRow, RestoreRow};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Every work that a hold keeps from starting, with the reason
    List(List),
    /// Lift every hold of a work, or the hold that a restore has set on everything
    Release(Release),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  abide hold release work_01kb3n8x9q
  abide hold release --restore

After `abide restore` nothing starts, because what was done after the backup is not known any more: \
processes of then may still run, and may have reported to nobody. Say --restore once nothing of that \
life runs on; what is ready then starts.")]
struct Release {
    /// Let a restored database go on: nothing of its other life runs any more
    #[arg(long, conflicts_with = "work")]
    restore: bool,
    /// The work, by its id or the beginning of it
    #[arg(value_name = "WORK", required_unless_present = "restore")]
    work: Option<String>,
    /// Refuse if its last attempt is not this one; 0 for none yet
    #[arg(long, value_name = "N", requires = "work")]
    expect_attempt: Option<u32>,
    #[command(flatten)]
    asked: Asked,
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
            Verb::Release(release) => self::release(release).await,
        }
    })
}

async fn release(args: Release) -> Ran {
    let Release { restore: _, work, expect_attempt, asked } = args;
    if let Some(work) = work {
        return acts::release(acts::Release::of(work, expect_attempt, asked)).await;
    }
    let row: RestoreRow =
        Operator::of(&asked)?.post("/holds/restore/release", &serde_json::json!({})).await?;
    output::line(&format!("incarnation {} goes on: what is ready starts", row.incarnation))?;
    Ok(Code::Done)
}

async fn list(list: List) -> Ran {
    let operator = Operator::of(&list.asked)?;
    let restored: RestoreRow = operator.get("/holds/restore").await?;
    let holds: Vec<HoldRow> = operator.all("/holds").await?;
    if list.json {
        if restored.held {
            output::json_lines(&[&restored])?;
        }
        output::json_lines(&holds)?;
    } else {
        output::line(&listed(&restored, &holds, Screen::of_process()))?;
    }
    Ok(Code::Done)
}

fn listed(restored: &RestoreRow, holds: &[HoldRow], screen: Screen) -> String {
    let mut lines = Vec::new();
    if restored.held {
        lines.push(show::lists::restored(restored, screen));
    }
    match holds {
        [] if restored.held => {}
        [] => lines.push("nothing is held".to_owned()),
        holds => lines.push(show::lists::holds(holds, screen)),
    }
    lines.join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::super::show::canned;
    use super::*;

    #[test]
    fn the_hold_of_a_restore_comes_before_those_of_works() {
        let mut restored = RestoreRow { held: true, incarnation: 2 };
        let both = listed(&restored, &canned::holds(), canned::screen());
        let alone = listed(&restored, &[], canned::screen());
        restored.held = false;
        let none = listed(&restored, &[], canned::screen());
        insta::assert_snapshot!(format!("{both}\n---\n{alone}\n---\n{none}"));
    }
}
