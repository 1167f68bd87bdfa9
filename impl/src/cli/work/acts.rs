//! What a person may do to a Work.

use serde_json::Value;

use crate::api::types::{ActRequest, CreateRequest, HoldRow, InterruptRow, WorkRow};
use crate::cli::emit::data;
use crate::cli::operator::{Operator, segment};
use crate::cli::place::Asked;
use crate::cli::show::text::printable;
use crate::cli::{Code, Failure, Ran, output};

/// Which Work, and how it was when it was looked at.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Target {
    /// Its id, or the beginning of it
    #[arg(value_name = "WORK")]
    work: String,
    /// Refuse if its last attempt is not this one; 0 for none yet
    #[arg(long, value_name = "N")]
    expect_attempt: Option<u32>,
    #[command(flatten)]
    asked: Asked,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  abide work hold work_01kb3n8x9q --reason 'the deploy window is closed'
  abide work hold work_01kb3n8x9q --expect-attempt 2

A running attempt goes on and a wait may still wake; no new attempt starts until `abide work \
release`.")]
pub(super) struct Hold {
    /// Why, for those who look later
    #[arg(long, default_value = "", hide_default_value = true)]
    reason: String,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  abide work release work_01kb3n8x9q

Every hold is lifted, also one that a failure or a causal limit set; what is pending then starts. \
Failures go on being counted: `abide work retry` begins the count anew.")]
pub(in crate::cli) struct Release {
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  abide work retry work_01kb3n8x9q
  abide work retry work_01kb3n8x9q --expect-attempt 3
  abide work retry --exhausted --kind review --dry-run

Only a work whose last attempt failed is retried. It no longer waits for its backoff, the hold of a \
used up budget is lifted, and its failures count from 1 again; what a person holds stays held. The \
failed attempt stays as it is: the next one has the next number.")]
pub(super) struct Retry {
    /// Its id, or the beginning of it
    #[arg(value_name = "WORK", required_unless_present = "exhausted")]
    work: Option<String>,
    /// Refuse if its last attempt is not this one; 0 for none yet
    #[arg(long, value_name = "N", requires = "work")]
    expect_attempt: Option<u32>,
    /// Retry every work whose budget is used up
    #[arg(long, conflicts_with = "work")]
    exhausted: bool,
    /// Of those, only this kind
    #[arg(long, value_name = "K", requires = "exhausted")]
    kind: Option<String>,
    /// Of those, only this scope
    #[arg(long, value_name = "S", requires = "exhausted")]
    scope: Option<String>,
    /// Only say which they are
    #[arg(long, requires = "exhausted")]
    dry_run: bool,
    #[command(flatten)]
    asked: Asked,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  abide work interrupt work_01kb3n8x9q
  abide work interrupt work_01kb3n8x9q --expect-attempt 2

Exit status 0 says that the interrupt is recorded; `abide why WORK` says how far it is.

Its process is stopped, and no failure is counted. With input that is pending the next attempt starts \
once the process has exited, and gets all pending input; without, the work rests until an event comes. \
What the interrupted attempt was started with is shown to the next one in `previous` and `earlier`, and \
is not input again. Only an attempt whose \
binding has the capability `interrupt`, and had it when the attempt was started, can be interrupted.")]
pub(super) struct Interrupt {
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  abide work cancel work_01kb3n8x9q --reason 'superseded by #43'
  abide work cancel work_01kb3n8x9q --for-good

What has come in for it stays readable; what still comes in is kept and starts nothing.")]
pub(super) struct Cancel {
    /// Why, for those who look later
    #[arg(long, default_value = "", hide_default_value = true)]
    reason: String,
    /// Cancel standing work, too, which nothing else ends
    #[arg(long)]
    for_good: bool,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  abide work reopen work_01kb3n8x9q

The ended work stays as it is. A new one succeeds it and gets what still comes in for its key.")]
pub(super) struct Reopen {
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  abide work create --kind triage --data '{\"ask\": \"what broke?\"}'
  abide work create --scope acme/web --kind review --key github:github.com/1296269#42
  abide work create --kind fix --parent work_01kb3n8x9q")]
pub(super) struct Create {
    /// Its scope; its parent's, or the only one there is, if left out
    #[arg(long, value_name = "S")]
    scope: Option<String>,
    /// Its kind, as the scope configures it
    #[arg(long, value_name = "K")]
    kind: String,
    /// The key it owns from its start
    #[arg(long, value_name = "SRC#EXT")]
    key: Option<String>,
    /// The work it is a child of
    #[arg(long, value_name = "WORK")]
    parent: Option<String>,
    /// Place the child in another scope than its parent's
    #[arg(long, requires = "parent", requires = "scope")]
    across: bool,
    /// What it is to work on: JSON, @FILE, or - for standard input
    #[arg(long, value_name = "JSON|@FILE|-")]
    data: Option<String>,
    #[command(flatten)]
    asked: Asked,
}

impl Release {
    /// Of a Work that another command names.
    pub(in crate::cli) const fn of(
        work: String,
        expect_attempt: Option<u32>,
        asked: Asked,
    ) -> Self {
        Self { target: Target { work, expect_attempt, asked } }
    }
}

pub(super) async fn hold(Hold { reason, target }: Hold) -> Ran {
    act("hold", target, ActRequest { reason, ..ActRequest::default() }).await
}

pub(in crate::cli) async fn release(Release { target }: Release) -> Ran {
    act("release", target, ActRequest::default()).await
}

pub(super) async fn retry(args: Retry) -> Ran {
    let Retry { work, expect_attempt, exhausted: _, kind, scope, dry_run, asked } = args;
    if let Some(work) = work {
        let target = Target { work, expect_attempt, asked };
        return act("retry", target, ActRequest::default()).await;
    }
    let operator = Operator::of(&asked)?;
    let held: Vec<HoldRow> = operator.all("/holds").await?;
    let is = |wanted: &Option<String>, is: &str| wanted.as_deref().is_none_or(|it| it == is);
    let wanted = |row: &&HoldRow| {
        let exhausted = row.holds.contains(&crate::domain::Hold::Exhausted);
        exhausted && is(&kind, &row.kind) && is(&scope, &row.scope)
    };
    let wanted: Vec<&HoldRow> = held.iter().filter(wanted).collect();
    if wanted.is_empty() {
        output::line("no such work: none is held because its budget is used up")?;
    }
    let mut code = Code::Done;
    for row in wanted {
        if dry_run {
            let why = row.reason.as_deref().unwrap_or("it failed");
            output::line(&printable(&format!("{}: would be retried; {why}", row.work)))?;
            continue;
        }
        match post(&operator, "retry", &row.work, &as_listed(row)).await {
            Ok(row) => _ = say(&row)?,
            // One that has moved meanwhile keeps no other from being retried.
            Err(failure) => {
                output::complain(&format!("{}: {}", row.work, failure.message));
                code = failure.code;
            }
        }
    }
    Ok(code)
}

/// What is asked of a Work that a list has shown: about the attempt that it had then.
fn as_listed(row: &HoldRow) -> ActRequest {
    ActRequest { expect_attempt: Some(row.attempts), ..ActRequest::default() }
}

pub(super) async fn interrupt(Interrupt { target }: Interrupt) -> Ran {
    let Target { work, expect_attempt, asked } = target;
    let request = ActRequest { expect_attempt, ..ActRequest::default() };
    let path = format!("/work/{}/interrupt", segment(&work));
    let row: InterruptRow = Operator::of(&asked)?.post(&path, &request).await?;
    output::line(&printable(&interrupting(&row)))?;
    Ok(Code::Done)
}

/// What is recorded, and where to see what comes of it.
fn interrupting(InterruptRow { work, event }: &InterruptRow) -> String {
    let WorkRow { id, reason, .. } = work;
    format!(
        "{id}: {reason}; event {event} is to interrupt it, and `abide why {id}` says how far it is"
    )
}

pub(super) async fn cancel(Cancel { reason, for_good, target }: Cancel) -> Ran {
    act("cancel", target, ActRequest { reason, for_good, ..ActRequest::default() }).await
}

pub(super) async fn reopen(Reopen { target }: Reopen) -> Ran {
    act("reopen", target, ActRequest::default()).await
}

/// Asks it of the Work, as that was when it was looked at.
async fn act(verb: &str, target: Target, request: ActRequest) -> Ran {
    let Target { work, expect_attempt, asked } = target;
    let request = ActRequest { expect_attempt, ..request };
    say(&post(&Operator::of(&asked)?, verb, &work, &request).await?)
}

async fn post(
    operator: &Operator,
    verb: &str,
    work: &str,
    request: &ActRequest,
) -> Result<WorkRow, Failure> {
    operator.post(&format!("/work/{}/{verb}", segment(work)), request).await
}

pub(super) async fn create(args: Create) -> Ran {
    let Create { scope, kind, key, parent, across, data: given, asked } = args;
    let data: Option<Value> = given.as_deref().map(data).transpose()?;
    let body = CreateRequest { scope, kind, key, parent, across, data };
    say(&Operator::of(&asked)?.post("/work", &body).await?)
}

fn say(WorkRow { id, reason, .. }: &WorkRow) -> Ran {
    output::line(&printable(&format!("{id}: {reason}")))?;
    Ok(Code::Done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::show::canned;

    #[test]
    fn whatever_is_done_in_bulk_is_done_to_what_was_listed() {
        let rows = canned::holds();
        let asked: Vec<_> = rows.iter().map(|row| as_listed(row).expect_attempt).collect();
        assert_eq!(asked, [Some(2), Some(3)]);
    }
}
