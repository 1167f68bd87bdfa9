//! `abide event`: what came in, and what became of it.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;

use super::operator::{Operator, segment};
use super::place::Asked;
use super::show::{self, Screen};
use super::{Code, Failure, Ran, block_on, output};
use crate::api::types::{AcceptedEvent, DropRequest, EventDetail, EventRow};

/// Pause between two looks at the end of the list.
const LOOK: Duration = Duration::from_millis(200);
/// How long an event may stand unrouted before `tail` shows it as it is.
const PATIENCE: i64 = 2;
/// Events `tail` begins with.
const BEFORE: usize = 10;
/// Events asked for at a look.
const LOOK_MAX: usize = 500;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// The newest events, or those after one
    List(List),
    /// One event with its data
    Show(Show),
    /// Events as they come, each once it is routed
    Tail(Tail),
    /// Accept a routed event once more, as a child of itself
    Replay(Replay),
    /// Mark an event that is not routed yet, so that nothing ever starts from it
    Drop(Drop),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  abide event list
  abide event list --mark unmatched
  abide event list --after 120 --limit 500 --json | jq -r .type | sort | uniq -c")]
struct List {
    /// Those after this sequence, instead of the newest
    #[arg(long, value_name = "SEQ")]
    after: Option<i64>,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    /// Only those of this type
    #[arg(long = "type", value_name = "T")]
    event_type: Option<String>,
    /// Only those on this key, `SOURCE#ID` or `ID`
    #[arg(long, value_name = "K")]
    key: Option<String>,
    /// Only those with this mark: queued, inject, interrupt, woke, unmatched, drop, close, terminal,
    /// operator_drop, replay_suspect, release, continuation, or unrouted
    #[arg(long)]
    mark: Option<String>,
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    asked: Asked,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  abide event show 12
  abide event show evt_01kb3n8x9q --json | jq .data")]
struct Show {
    /// Its sequence, or its id or the beginning of it
    #[arg(value_name = "EVENT")]
    event: String,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    asked: Asked,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  abide event tail
  abide event tail --after 120 --json | jq -c 'select(.mark == \"unmatched\")'")]
struct Tail {
    /// Begin after this sequence, instead of with the last ten
    #[arg(long, value_name = "SEQ")]
    after: Option<i64>,
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    asked: Asked,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  abide event replay 12

It is routed like any other event, under the configuration of now. The original stays as it is.")]
struct Replay {
    /// Its sequence, or its id or the beginning of it
    #[arg(value_name = "EVENT")]
    event: String,
    #[command(flatten)]
    asked: Asked,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  abide event drop 12 --reason 'its payload breaks the route, and it is void'

It is meant for an event that no route can be evaluated for and that holds up its work.")]
struct Drop {
    /// Its sequence, or its id or the beginning of it
    #[arg(value_name = "EVENT")]
    event: String,
    /// Why, for those who look later
    #[arg(long)]
    reason: String,
    #[command(flatten)]
    asked: Asked,
}

pub(super) fn run(args: Args) -> Ran {
    block_on(async {
        match args.verb {
            Verb::List(list) => self::list(list).await,
            Verb::Show(show) => self::show(show).await,
            Verb::Tail(tail) => self::tail(tail).await,
            Verb::Replay(replay) => self::replay(replay).await,
            Verb::Drop(drop) => self::drop(drop).await,
        }
    })
}

async fn list(args: List) -> Ran {
    let operator = Operator::of(&args.asked)?;
    let (list, filtered) = filtered(&args);
    let (events, earlier) = match args.after {
        Some(after) => (operator.after(&list, after, args.limit).await?, false),
        None if filtered => operator.last_of_all(&list, args.limit).await?,
        None => operator.newest(&list, args.limit).await?,
    };
    if args.json {
        output::json_lines(&events)?;
    } else {
        output::line(&listed(&events, args.after, filtered, Screen::of_process()))?;
        if earlier {
            output::aside(&format!(
                "the newest {}: earlier ones with --after SEQ, or a higher --limit",
                events.len()
            ));
        }
    }
    Ok(Code::Done)
}

/// The list asked for, and whether it leaves anything out.
fn filtered(args: &List) -> (String, bool) {
    let filters = [("type", &args.event_type), ("key", &args.key), ("mark", &args.mark)];
    let filters = filters.iter().filter_map(|(name, value)| Some((name, value.as_deref()?)));
    let query: Vec<String> =
        filters.map(|(name, value)| format!("{name}={}", segment(value))).collect();
    match query.as_slice() {
        [] => ("/events".to_owned(), false),
        query => (format!("/events?{}", query.join("&")), true),
    }
}

fn listed(events: &[EventRow], after: Option<i64>, filtered: bool, screen: Screen) -> String {
    match (events, after) {
        ([], Some(after)) => format!("no such events after {after}"),
        ([], None) if filtered => {
            "no such events\n  next: abide event list, for all of them".to_owned()
        }
        ([], None) => "no events yet\n  next: abide emit --source op:me --type hello, \
                       or point a webhook at the hooks door"
            .to_owned(),
        (events, _) => show::event::table(events, screen),
    }
}

async fn show(args: Show) -> Ran {
    let path = format!("/events/{}", segment(&args.event));
    let event: EventDetail = Operator::of(&args.asked)?.get(&path).await?;
    output::answer(args.json, &event, || show::event::detail(&event, Screen::of_process()))
}

async fn replay(args: Replay) -> Ran {
    let path = format!("/events/{}/replay", segment(&args.event));
    let kept: AcceptedEvent = Operator::of(&args.asked)?.post(&path, &json!({})).await?;
    let AcceptedEvent { id, seq, .. } = kept;
    output::line(&format!("kept as event {seq} ({id})\n  next: abide why {seq}"))?;
    Ok(Code::Done)
}

async fn drop(args: Drop) -> Ran {
    let path = format!("/events/{}/drop", segment(&args.event));
    let body = DropRequest { reason: args.reason };
    let event: EventRow = Operator::of(&args.asked)?.post(&path, &body).await?;
    output::line(&format!("event {} is dropped: nothing starts from it", event.seq))?;
    Ok(Code::Done)
}

async fn tail(args: Tail) -> Ran {
    let operator = Operator::of(&args.asked)?;
    let mut after = match args.after {
        Some(after) => after,
        None => {
            let (events, _) = operator.newest::<EventRow>("/events", BEFORE).await?;
            print(&events, args.json)?;
            events.last().map_or(0, |event| event.seq)
        }
    };
    loop {
        let found = operator.after("/events", after, LOOK_MAX).await;
        let mut events: Vec<EventRow> = found.map_err(|failure| resumable(&failure, after))?;
        events.truncate(presentable(&events, Timestamp::now()));
        print(&events, args.json)?;
        after = events.last().map_or(after, |event| event.seq);
        tokio::time::sleep(LOOK).await;
    }
}

/// Whoever was following along can go on where it ended.
fn resumable(failure: &Failure, after: i64) -> Failure {
    let message = format!("{}; then go on with --after {after}", failure.message);
    Failure::new(failure.code, message)
}

/// How many of these can be shown now: order is kept, and a fresh event is given a moment to be
/// routed, so that its line can say what became of it.
fn presentable(events: &[EventRow], now: Timestamp) -> usize {
    let fresh = |event: &EventRow| {
        let accepted: Timestamp = event.accepted_at.parse().unwrap_or(Timestamp::MIN);
        event.mark.is_none() && now.as_second() - accepted.as_second() < PATIENCE
    };
    events.iter().position(fresh).unwrap_or(events.len())
}

fn print(events: &[EventRow], json: bool) -> Result<(), Failure> {
    if json {
        return output::json_lines(events);
    }
    let screen = Screen::of_process();
    events.iter().try_for_each(|event| output::line(&show::event::line(event, screen)))
}

#[cfg(test)]
mod tests {
    use super::show::canned;
    use super::*;

    #[test]
    fn an_empty_list_says_what_to_do_next() {
        insta::assert_snapshot!(listed(&[], None, false, canned::screen()), @r"
        no events yet
          next: abide emit --source op:me --type hello, or point a webhook at the hooks door
        ");
        let none = listed(&[], Some(7), false, canned::screen());
        assert_eq!(none, "no such events after 7");
        let none = listed(&[], None, true, canned::screen());
        assert!(none.contains("next: abide event list"), "{none}");
    }

    #[test]
    fn a_stream_waits_a_moment_for_an_event_to_be_routed() {
        let events = canned::events();
        let at = |instant: &str| instant.parse().expect("an instant");
        assert_eq!(presentable(&events, at("2026-03-01T11:57:01Z")), 6, "the last is unrouted");
        assert_eq!(presentable(&events, at("2026-03-01T11:57:02Z")), 7, "and stays so");
    }
}
