//! `abide tool …`: the toolbelt, for a process that an attempt runs.

mod door;
mod inbox;
mod wait;

use std::path::{Path, PathBuf};

use clap::{Subcommand, ValueEnum};
use hyper::Method;

use self::door::Door;
use super::{Code, Failure, Ran, block_on, output};
use crate::api::text::printable;
use crate::api::tool_types::{BeatAnswer, InputsAnswer, ResultOutcome, ResultRequest};
use crate::domain::{Millis, RetryHint};
use crate::extension::hint::retry_after;
use crate::keeper::folder::write_json;

/// The longest result that is kept, as JSON.
const RESULT_MAX: usize = 1 << 20;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    call: Call,
}

#[derive(Debug, Subcommand)]
enum Call {
    /// Print what an attempt was handed, as JSON
    #[command(after_help = "Example:\n  abide tool inputs | jq -r '.inputs[].data.comment.body'")]
    Inputs {
        /// Another attempt of the same work; this one if left out
        #[arg(long, value_name = "N")]
        attempt: Option<u32>,
        /// Only what came after this event
        #[arg(long, value_name = "SEQ")]
        after: Option<i64>,
        /// At most so many, with `next` to ask --after; all of them if left out
        #[arg(long, value_name = "N")]
        limit: Option<u32>,
    },
    /// Print the events that came while this command works and that it has not acknowledged, each
    /// as its id, a space and the event as JSON
    Inbox(inbox::Inbox),
    /// Say that these events were taken in: the work is not handed them again
    Ack(inbox::Ack),
    /// Declare what came of the work; it counts once this process has exited, and the last counts
    Result(ResultArgs),
    /// Register a wait and give the attempt up: exit then, at once (exit status 4)
    Wait(wait::Args),
    /// Extend the lease
    #[command(after_help = "Example:\n  abide tool beat || exit $?")]
    Beat,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  abide tool result completed --status 'merged #42'
  abide tool result failed --status 'rate limited' --retry-after 45m")]
struct ResultArgs {
    /// Whether the work was done
    outcome: Outcome,
    /// A word on the result; never interpreted, and told to whoever waits on this work
    #[arg(long)]
    status: Option<String>,
    /// Reserved
    #[arg(long, value_name = "TEXT", hide = true)]
    continuation: Option<String>,
    /// With `failed`: try again after so long (90s, 2h30m) or at this time (2030-01-31T09:00:00Z),
    /// in place of the work's own backoff
    #[arg(long, value_name = "T")]
    retry_after: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Outcome {
    /// Done
    Completed,
    /// Done for now: the work stays open for its next input
    Handoff,
    /// Not done
    Failed,
}

pub(super) fn run(args: Args) -> Ran {
    match args.call {
        Call::Inputs { attempt, after, limit } => block_on(inputs(attempt, after, limit)),
        Call::Inbox(args) => inbox::print(&args),
        Call::Ack(args) => inbox::acknowledge(&args),
        Call::Result(result) => declare(result),
        Call::Wait(wait) => block_on(wait::register(wait)),
        Call::Beat => block_on(beat()),
    }
}

/// Prints one page, or every one as a whole.
async fn inputs(attempt: Option<u32>, after: Option<i64>, limit: Option<u32>) -> Ran {
    let door = Door::of_this_attempt()?;
    let mut answer = page(&door, attempt, after, limit).await?;
    while let Some(next) = answer.next.filter(|_| limit.is_none()) {
        let more = page(&door, attempt, Some(next.0), None).await?;
        answer.inputs.extend(more.inputs);
        answer.next = more.next;
    }
    output::json(&answer)?;
    Ok(Code::Done)
}

async fn page(
    door: &Door,
    attempt: Option<u32>,
    after: Option<i64>,
    limit: Option<u32>,
) -> Result<InputsAnswer, Failure> {
    let asked = [
        attempt.map(|n| format!("attempt={n}")),
        after.map(|seq| format!("after={seq}")),
        limit.map(|n| format!("limit={n}")),
    ];
    let asked: Vec<String> = asked.into_iter().flatten().collect();
    let path = match asked.as_slice() {
        [] => "/tool/inputs".to_owned(),
        asked => format!("/tool/inputs?{}", asked.join("&")),
    };
    door.call(Method::GET, &path, None::<&()>).await
}

async fn beat() -> Ran {
    let door = Door::of_this_attempt()?;
    let _: BeatAnswer = door.call(Method::POST, "/tool/beat", None::<&()>).await?;
    Ok(Code::Done)
}

/// Writes the result into the keeper's folder, where the daemon finds it when this process has
/// exited. It asks nobody: whether it counts is decided when it is committed.
fn declare(args: ResultArgs) -> Ran {
    if args.continuation.is_some() {
        return Err(reserved("--continuation", "keep it in a file in ABIDE_DIR, which stays"));
    }
    let outcome = match args.outcome {
        Outcome::Completed => ResultOutcome::Completed,
        Outcome::Failed => ResultOutcome::Failed,
        Outcome::Handoff => ResultOutcome::Handoff,
    };
    if let Some(text) = &args.retry_after {
        check_hint(outcome, text)?;
    }
    let ResultArgs { status, retry_after, .. } = args;
    let result = ResultRequest { outcome, status, continuation: None, retry_after };
    write_result(&environment("ABIDE_TOKEN_FILE")?, &result)?;
    Ok(Code::Done)
}

/// A hint that cannot be read is declared all the same: a process that ends well because its result
/// was refused would be taken for one that did its work. RETRY-16
fn check_hint(outcome: ResultOutcome, text: &str) -> Result<(), Failure> {
    match outcome {
        ResultOutcome::Completed | ResultOutcome::Handoff => {
            let next = "leave it out, or declare `failed`";
            let message = format!("`--retry-after` says when a failure is tried again: {next}");
            return Err(Failure::new(Code::Usage, message));
        }
        ResultOutcome::Failed => {}
    }
    if retry_after(text, Millis(0)) == RetryHint::Unreadable {
        eprintln!(
            "abide: `--retry-after {}` is no duration and no time: the work's own backoff decides",
            printable(text)
        );
    }
    Ok(())
}

fn write_result(token_file: &Path, result: &ResultRequest) -> Result<(), Failure> {
    let folder = token_file.parent().unwrap_or(Path::new("."));
    if !folder.join("keeper.json").exists() {
        return Err(Failure::refused("no keeper holds this process: exit with a status instead"));
    }
    let length = serde_json::to_vec(result).map_or(usize::MAX, |bytes| bytes.len());
    if length > RESULT_MAX {
        let next = "keep it in ABIDE_DIR and name the file";
        return Err(Failure::refused(format!("the result is larger than {RESULT_MAX}: {next}")));
    }
    write_json(&folder.join("result.json"), result)
        .map_err(|error| Failure::refused(format!("cannot keep the result: {error}")))
}

fn reserved(word: &str, next: &str) -> Failure {
    Failure::refused(format!("`{word}` is reserved and does nothing in this version: {next}"))
}

/// A path that every process of an attempt has in its environment.
fn environment(name: &str) -> Result<PathBuf, Failure> {
    std::env::var_os(name).map(PathBuf::from).ok_or_else(|| {
        let next = "run `abide tool` from a command that abide started";
        Failure::new(Code::Usage, format!("{name} is not set: {next}"))
    })
}
