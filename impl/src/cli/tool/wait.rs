//! `abide tool wait`: gives the attempt up until something happens.

use hyper::Method;
use jiff::{Span, SpanRelativeTo, Timestamp};

use super::door::Door;
use super::environment;
use crate::api::tool_types::{WaitAnswer, WaitDeadline, WaitKey, WaitRequest, WaitSource};
use crate::cli::{Code, Failure, Ran, output};
use crate::domain::Seq;
use crate::extension::request::RequestFile;
use crate::keeper::folder::read_json;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  exec abide tool wait --key 42 --type check_run.completed --timeout 2h
  exec abide tool wait --key 42 --on acme/api:github:github.com/77#9 --timeout 7d

The attempt ends with the call: whatever the process does after it is void.")]
pub(super) struct Args {
    /// A key of this work, `SOURCE#ID` or `ID`; any of several will do
    #[arg(long = "key", value_name = "K")]
    keys: Vec<String>,
    /// An event type; any of several will do, and any at all if none is given
    #[arg(long = "type", value_name = "T")]
    types: Vec<String>,
    /// What else may end it: a resource that is not this work's own, as `SRC#EXT`, or
    /// `SCOPE:SRC#EXT` in another scope that `read_scopes` grants; needs a --key, too
    #[arg(long, value_name = "SOURCE", requires = "keys")]
    on: Option<String>,
    /// Gives up at this time: 2030-01-31T09:00:00Z
    #[arg(long, value_name = "TIME", conflicts_with = "timeout")]
    until: Option<Timestamp>,
    /// Gives up after so long: 90s, 2h30m, 7d
    #[arg(long, value_name = "T", value_parser = milliseconds)]
    timeout: Option<u64>,
    /// The last event already seen; the last of those handed to this process if left out
    #[arg(long, value_name = "SEQ")]
    after: Option<i64>,
}

pub(super) async fn register(args: Args) -> Ran {
    let request = request(args)?;
    let door = Door::of_this_attempt()?;
    let answer: WaitAnswer = door.call(Method::POST, "/tool/wait", Some(&request)).await?;
    output::json(&answer)?;
    Ok(Code::Waiting)
}

fn request(args: Args) -> Result<WaitRequest, Failure> {
    let after = match args.after {
        Some(after) => Some(Seq(after)),
        None => observed()?,
    };
    let deadline = match (args.timeout, args.until) {
        (Some(timeout), _) => Some(WaitDeadline::TimeoutMs(timeout)),
        (None, until) => until.map(WaitDeadline::Until),
    };
    let keys = args.keys.into_iter().map(WaitKey::Text).collect();
    let on = args.on.map(WaitSource::Text);
    Ok(WaitRequest { keys, types: args.types, on, after, deadline })
}

/// What this process was handed is what it has seen: everything after that may wake it. A request
/// file that cannot be read is an error, because waiting from now could lose an event. WAIT-12
fn observed() -> Result<Option<Seq>, Failure> {
    let path = environment("ABIDE_REQUEST")?;
    let failed = |why: String| {
        Failure::refused(format!("cannot tell what was seen already: {why}: give --after"))
    };
    match read_json::<RequestFile>(&path) {
        Ok(Some(file)) => Ok(file.observed()),
        Ok(None) => Err(failed(format!("{} is gone", path.display()))),
        Err(error) => Err(failed(error.to_string())),
    }
}

/// A day is 24 hours here; months and years have no length.
pub(super) fn milliseconds(text: &str) -> Result<u64, String> {
    let span: Span = text.parse().map_err(|error: jiff::Error| error.to_string())?;
    let length =
        span.to_duration(SpanRelativeTo::days_are_24_hours()).map_err(|error| error.to_string())?;
    u64::try_from(length.as_millis()).map_err(|_| "a length of time cannot be negative".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_is_read_as_people_write_it() {
        assert_eq!(milliseconds("90s"), Ok(90_000));
        assert_eq!(milliseconds("2h30m"), Ok(9_000_000));
        assert_eq!(milliseconds("7d"), Ok(7 * 24 * 3_600_000));
        assert!(milliseconds("-1s").is_err());
        assert!(milliseconds("1mo").is_err());
        assert!(milliseconds("5").is_err());
    }

    #[test]
    fn a_source_needs_a_key_under_which_it_arrives() {
        use clap::Parser;

        #[derive(Debug, Parser)]
        struct Line {
            #[command(flatten)]
            args: Args,
        }
        assert!(Line::try_parse_from(["wait", "--on", "s#1"]).is_err());
        let line = Line::try_parse_from(["wait", "--key", "2", "--on", "s#1", "--after", "3"]);
        let request = request(line.expect("it parses").args).expect("it is one");
        assert_eq!(request.on, Some(WaitSource::Text("s#1".into())));
    }
}
