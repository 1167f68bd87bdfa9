//! `abide work`: the objectives, where each is and why.

pub(super) mod acts;

use serde_json::Value;

use super::operator::{Operator, segment};
use super::place::Asked;
use super::show::{self, Screen};
use super::{Code, Ran, block_on, output};
use crate::api::types::{WorkDetail, WorkRow};
use crate::domain::WorkStatus;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// The newest works, each with the reason of its status
    List(List),
    /// One work with its attempts, input and waits
    Show(Show),
    /// What the last attempt of a work has printed
    Logs(Logs),
    /// Make a work that no event asked for
    Create(acts::Create),
    /// Let no attempt of a work start until it is released
    Hold(acts::Hold),
    /// Lift every hold of a work
    Release(acts::Release),
    /// Let the next attempt of a failed work start at once, its failures counted anew
    Retry(acts::Retry),
    /// Stop the running attempt of a work, which then is ready with all pending input
    Interrupt(acts::Interrupt),
    /// Cancel a work for good: its attempt is stopped, its wait wakes nobody
    Cancel(acts::Cancel),
    /// Make a successor of a work that has ended
    Reopen(acts::Reopen),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  abide work list
  abide work list --status ready --status waiting
  abide work list --open --json | jq -r .id")]
struct List {
    /// Only those in this status; may be repeated
    #[arg(long, value_name = "STATUS", value_parser = status)]
    status: Vec<WorkStatus>,
    /// Only those that have not ended
    #[arg(long, conflicts_with = "status")]
    open: bool,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    asked: Asked,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  abide work show work_01kb3n8x9q")]
struct Show {
    /// Its id, or the beginning of it
    #[arg(value_name = "WORK")]
    work: String,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    asked: Asked,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  abide work logs work_01kb3n8x9q | less
  abide work logs work_01kb3n8x9q --attempt 1")]
struct Logs {
    /// Its id, or the beginning of it
    #[arg(value_name = "WORK")]
    work: String,
    /// Which attempt; the last if left out
    #[arg(long, value_name = "N")]
    attempt: Option<u32>,
    #[command(flatten)]
    asked: Asked,
}

pub(super) fn run(args: Args) -> Ran {
    block_on(async {
        match args.verb {
            Verb::List(list) => self::list(list).await,
            Verb::Show(show) => self::show(show).await,
            Verb::Logs(logs) => self::logs(logs).await,
            Verb::Create(create) => acts::create(create).await,
            Verb::Hold(hold) => acts::hold(hold).await,
            Verb::Release(release) => acts::release(release).await,
            Verb::Retry(retry) => acts::retry(retry).await,
            Verb::Interrupt(interrupt) => acts::interrupt(interrupt).await,
            Verb::Cancel(cancel) => acts::cancel(cancel).await,
            Verb::Reopen(reopen) => acts::reopen(reopen).await,
        }
    })
}

/// A status as the interface names it.
fn status(text: &str) -> Result<WorkStatus, String> {
    serde_json::from_value(Value::from(text)).map_err(|_| {
        "a status is ready, running, waiting, completed, failed or cancelled".to_owned()
    })
}

async fn list(args: List) -> Ran {
    let operator = Operator::of(&args.asked)?;
    let (works, earlier) = if args.open || !args.status.is_empty() {
        let mut works: Vec<WorkRow> = operator.all("/work").await?;
        works.retain(|work| wanted(&args, work.status));
        let earlier = works.len() > args.limit;
        works.drain(..works.len().saturating_sub(args.limit));
        (works, earlier)
    } else {
        operator.newest("/work", args.limit).await?
    };
    if args.json {
        output::json_lines(&works)?;
    } else {
        let filtered = args.open || !args.status.is_empty();
        output::line(&listed(&works, filtered, Screen::of_process()))?;
        if earlier {
            output::aside(&format!("the newest {}: more with a higher --limit", works.len()));
        }
    }
    Ok(Code::Done)
}

fn wanted(args: &List, status: WorkStatus) -> bool {
    if args.open { !status.is_terminal() } else { args.status.contains(&status) }
}

fn listed(works: &[WorkRow], filtered: bool, screen: Screen) -> String {
    match works {
        [] if filtered => "no such works\n  next: abide work list, for all of them".to_owned(),
        [] => "no works yet: one begins when a route takes an event\n  \
               next: abide event list, for what came in and why nothing took it"
            .to_owned(),
        works => show::work::table(works, screen),
    }
}

async fn show(args: Show) -> Ran {
    let path = format!("/work/{}", segment(&args.work));
    let work: WorkDetail = Operator::of(&args.asked)?.get(&path).await?;
    output::answer(args.json, &work, || show::work::detail(&work, Screen::of_process()))
}

async fn logs(args: Logs) -> Ran {
    let attempt = args.attempt.map_or(String::new(), |attempt| format!("?attempt={attempt}"));
    let path = format!("/work/{}/logs{attempt}", segment(&args.work));
    let logs = Operator::of(&args.asked)?.bytes(&path).await?;
    if logs.is_empty() {
        output::aside("nothing printed yet");
    }
    output::bytes(&show::text::log(&logs))?;
    Ok(Code::Done)
}

#[cfg(test)]
mod tests {
    use super::show::canned;
    use super::*;

    #[test]
    fn a_status_is_named_as_everywhere() {
        assert_eq!(status("waiting"), Ok(WorkStatus::Waiting));
        assert!(status("asleep").is_err());
    }

    #[test]
    fn an_empty_list_says_what_to_do_next() {
        let none = listed(&[], false, canned::screen());
        assert!(none.contains("next: abide event list"), "{none}");
        let none = listed(&[], true, canned::screen());
        assert!(none.contains("next: abide work list"), "{none}");
    }
}
