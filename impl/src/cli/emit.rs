//! `abide emit`: offers an event of one's own.

use std::io::Read;

use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::operator::Operator;
use super::place::Asked;
use super::{Code, Failure, Ran, block_on, output};
use crate::api::types::AcceptedEvent;

const EXAMPLE: &str = "\
Examples:
  abide emit --source op:me --type deploy.asked --key web --data '{\"version\": 7}'
  abide emit --source op:nightly --type report.due --id 2026-03-01 --data @report.json
  date | jq -R . | abide emit --source op:clock --type tick --data -

The source and the id together are the event's identity. Sending the same two again is safe: \
the event is kept once, and the answer says that it is a duplicate.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(super) struct Args {
    /// Who says it: a name of the resource or of yourself, as `op:NAME`
    #[arg(long, value_name = "SRC")]
    source: String,
    /// What kind of fact it is, as `deploy.asked`
    #[arg(long = "type", value_name = "T")]
    event_type: String,
    /// Its id at its source; one is made, and shown, if left out
    #[arg(long)]
    id: Option<String>,
    /// The external id of what it is about; one Work at most owns each
    #[arg(long, value_name = "EXT")]
    key: Option<String>,
    /// The scope it belongs to, if the configuration has more than one
    #[arg(long)]
    scope: Option<String>,
    /// The Work it is for
    #[arg(long, value_name = "WORK")]
    work: Option<String>,
    /// What it says: JSON, @FILE, or - for standard input
    #[arg(long, value_name = "JSON|@FILE|-")]
    data: Option<String>,
    /// Print the answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    asked: Asked,
}

/// The answer, with the id that a repeat needs.
#[derive(serde::Serialize)]
struct Printed<'a> {
    #[serde(flatten)]
    kept: &'a AcceptedEvent,
    delivery: &'a str,
}

pub(super) fn run(args: &Args) -> Ran {
    let given = args.id.is_some();
    let id = args.id.clone().unwrap_or_else(|| Uuid::now_v7().to_string());
    let data = args.data.as_deref().map(data).transpose()?;
    let event = event(args, &id, data);
    let operator = Operator::of(&args.asked)?;
    // It has a key of its own, so that an id that was used before is answered as the duplicate it is.
    let kept: AcceptedEvent = block_on(async {
        operator.post_as("application/cloudevents+json", "/events", &event).await
    })
    .map_err(|failure| with_id(failure, &id, given))?;
    output::answer(args.json, &Printed { kept: &kept, delivery: &id }, || said(&kept, &id, given))
}

/// A lost answer leaves open whether the event was kept; the same id again settles it.
fn with_id(failure: Failure, id: &str, given: bool) -> Failure {
    if given || failure.code != Code::Later {
        return failure;
    }
    Failure::new(failure.code, format!("{}; repeat it with --id {id}", failure.message))
}

fn said(kept: &AcceptedEvent, id: &str, given: bool) -> String {
    let AcceptedEvent { id: event, seq, duplicate } = kept;
    let id = if given { String::new() } else { format!("\n  its id: {id}") };
    if *duplicate {
        return format!("duplicate of event {seq} ({event}): nothing changed{id}");
    }
    format!("kept as event {seq} ({event}){id}\n  next: abide why {seq}")
}

fn event(args: &Args, id: &str, data: Option<Value>) -> Value {
    let mut event = Map::new();
    let mut set = |name: &str, value: Option<&String>| {
        if let Some(value) = value {
            event.insert(name.to_owned(), json!(value));
        }
    };
    set("specversion", Some(&"1.0".to_owned()));
    set("id", Some(&id.to_owned()));
    set("source", Some(&args.source));
    set("type", Some(&args.event_type));
    set("abidekey", args.key.as_ref());
    set("abidescope", args.scope.as_ref());
    set("abidework", args.work.as_ref());
    if let Some(data) = data {
        event.insert("datacontenttype".to_owned(), json!("application/json"));
        event.insert("data".to_owned(), data);
    }
    event.into()
}

/// Reads what `--data` names. It is checked here, so that the error can name the place.
pub(super) fn data(argument: &str) -> Result<Value, Failure> {
    let (what, text) = match argument.strip_prefix('@') {
        _ if argument == "-" => ("standard input", read_input()?),
        Some(file) => (file, read_file(file)?),
        None => ("--data", argument.to_owned()),
    };
    serde_json::from_str(&text).map_err(|error| {
        let next = "text is JSON only in quotes: --data '\"text\"'";
        Failure::new(Code::Usage, format!("{what} is not JSON ({error}): {next}"))
    })
}

fn read_file(file: &str) -> Result<String, Failure> {
    std::fs::read_to_string(file)
        .map_err(|error| Failure::new(Code::Usage, format!("cannot read {file}: {error}")))
}

fn read_input() -> Result<String, Failure> {
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .map_err(|error| Failure::new(Code::Usage, format!("cannot read the input: {error}")))?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn parse(line: &[&str]) -> Args {
        let line = ["emit", "--source", "op:me", "--type", "t"].iter().chain(line);
        Line::try_parse_from(line).expect("it parses").args
    }

    #[test]
    fn an_event_says_only_what_was_given() {
        let plain = event(&parse(&[]), "1", None);
        assert_eq!(
            plain,
            json!({ "specversion": "1.0", "id": "1", "source": "op:me", "type": "t" })
        );
        let full = parse(&["--key", "42", "--scope", "acme", "--work", "work_1"]);
        let full = event(&full, "1", Some(json!({ "a": 1 })));
        assert_eq!(full["abidekey"], "42");
        assert_eq!(full["abidescope"], "acme");
        assert_eq!(full["abidework"], "work_1");
        assert_eq!(full["data"]["a"], 1);
    }

    #[test]
    fn data_comes_from_the_line_or_a_file() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("data.json");
        std::fs::write(&file, "{\"a\": 1}").expect("a file");
        assert_eq!(data("[1]").expect("JSON"), json!([1]));
        assert_eq!(data(&format!("@{}", file.display())).expect("JSON"), json!({ "a": 1 }));
        let failure = data("hello").expect_err("no JSON");
        assert_eq!(failure.code, Code::Usage);
        assert!(failure.message.contains("--data '\"text\"'"), "{}", failure.message);
        assert!(data("@/nowhere/x").is_err());
    }

    #[test]
    fn a_made_id_is_shown_and_a_duplicate_said() {
        let mut kept = AcceptedEvent { id: "evt_1".into(), seq: 7, duplicate: false };
        assert_eq!(
            said(&kept, "x1", false),
            "kept as event 7 (evt_1)\n  its id: x1\n  next: abide why 7"
        );
        kept.duplicate = true;
        assert_eq!(said(&kept, "x1", true), "duplicate of event 7 (evt_1): nothing changed");
    }

    #[test]
    fn a_lost_answer_names_the_id_to_repeat_with() {
        let lost = with_id(Failure::new(Code::Later, "lost"), "x1", false);
        assert_eq!(lost.message, "lost; repeat it with --id x1");
    }
}
