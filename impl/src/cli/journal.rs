//! `abide journal`: what was committed, as a trace that other tools read.
//!
//! The format is the one of `specs/`: a header, then one step a line. What a journal knows beyond a
//! step's own arguments stands among them: `n`, `at`, `actor` and `digest`. Works and waits are
//! named by their ids, since row ids mean nothing outside.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::place::Place;
use super::{Code, Failure, Ran, output};
use crate::domain::{WaitId, WorkId};
use crate::store::journal::{self, JournalRow};
use crate::store::{Store, StoreError, Tx, meta, waits, works};

/// Version of the trace format.
const TRACE: u32 = 1;
/// A journal's time is in milliseconds.
const TICK_MS: u64 = 1;
/// Rows read at once.
const ROWS: u32 = 1000;
/// The action of a row that stands for answers that got no row of their own.
const SUPPRESSED: &str = "suppressed";

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Print the journal as a trace: one JSON object a line, from one snapshot
    Export(Export),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  abide journal export > journal.ndjson
  abide journal export --since 1200 | jq -c 'select(.outcome.refused)'

The first line says which database it is of. It needs no running daemon, and changes nothing.")]
struct Export {
    /// Only rows after this one
    #[arg(long, value_name = "N", default_value_t = 0)]
    since: i64,
    #[command(flatten)]
    place: Place,
}

/// The first line of a trace.
#[derive(Debug, Serialize)]
struct Header {
    trace: u32,
    database: String,
    universe: Map<String, Value>,
    tick_ms: u64,
}

/// Every further line.
#[derive(Debug, Serialize)]
struct Step {
    action: String,
    args: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<Value>,
}

/// Why an export ended early.
enum Stop {
    Store(StoreError),
    Output(Failure),
}

pub(super) fn run(args: &Args) -> Ran {
    let Verb::Export(export) = &args.verb;
    let file = export.place.database()?;
    let store = Store::open_reader(&file).map_err(|error| unread(&error))?;
    let mut session = store.session();
    session.begin_snapshot().map_err(|error| unread(&error))?;
    match write(&mut session, export.since, &mut output::bytes) {
        Ok(()) => Ok(Code::Done),
        Err(Stop::Store(error)) => Err(unread(&error)),
        Err(Stop::Output(failure)) => Err(failure),
    }
}

fn unread(error: &StoreError) -> Failure {
    Failure::refused(format!("cannot read the database: {error}: see `abide doctor`"))
}

/// Writes the header and every row after `since`, some rows at a time.
fn write(
    tx: &mut dyn Tx,
    since: i64,
    out: &mut dyn FnMut(&[u8]) -> Result<(), Failure>,
) -> Result<(), Stop> {
    let database = meta::database_id(tx).map_err(Stop::Store)?.to_string();
    let header = Header { trace: TRACE, database, universe: Map::new(), tick_ms: TICK_MS };
    out(line(&header)?.as_bytes()).map_err(Stop::Output)?;
    let mut names = Names::default();
    let mut after = since;
    loop {
        let rows = journal::since(tx, after, ROWS).map_err(Stop::Store)?;
        let Some(last) = rows.last() else { return Ok(()) };
        after = last.n;
        let mut text = String::new();
        for row in &rows {
            text.push_str(&line(&step(row, tx, &mut names).map_err(Stop::Store)?)?);
        }
        out(text.as_bytes()).map_err(Stop::Output)?;
    }
}

fn line(value: &impl Serialize) -> Result<String, Stop> {
    let mut text = serde_json::to_string(value).map_err(|error| {
        Stop::Output(Failure::refused(format!("a row cannot be written: {error}")))
    })?;
    text.push('\n');
    Ok(text)
}

fn step(row: &JournalRow, tx: &mut dyn Tx, names: &mut Names) -> Result<Step, StoreError> {
    let mut args = object(&row.args)?;
    names.name(&mut args, tx)?;
    args.insert("n".to_owned(), json!(row.n));
    args.insert("at".to_owned(), json!(row.at));
    args.insert("actor".to_owned(), json!(names.actor(&row.actor, tx)?));
    if let Some(digest) = row.digest {
        args.insert("digest".to_owned(), json!(digest));
    }
    let outcome = (row.action != SUPPRESSED).then(|| outcome(row, tx, names)).transpose()?;
    Ok(Step { action: row.action.clone(), args, outcome })
}

/// The answer, in the form of [`crate::command::Outcome`].
fn outcome(row: &JournalRow, tx: &mut dyn Tx, names: &mut Names) -> Result<Value, StoreError> {
    let mut detail = parse(&row.facts)?;
    if detail.is_null() {
        return Ok(json!(row.outcome));
    }
    let receipts = detail.as_object_mut().into_iter().flat_map(Map::values_mut);
    for facts in receipts.filter_map(Value::as_object_mut) {
        names.name(facts, tx)?;
    }
    Ok(json!({ row.outcome.as_str(): detail }))
}

fn parse(text: &str) -> Result<Value, StoreError> {
    serde_json::from_str(text)
        .map_err(|error| StoreError::corrupt(format!("journal: a row is no JSON: {error}")))
}

fn object(text: &str) -> Result<Map<String, Value>, StoreError> {
    let Value::Object(object) = parse(text)? else {
        return Err(StoreError::corrupt("journal: the arguments of a row are no object"));
    };
    Ok(object)
}

/// Ids at the edge, by row.
#[derive(Debug, Default)]
struct Names {
    works: HashMap<i64, String>,
    waits: HashMap<i64, String>,
}

impl Names {
    /// Puts ids in the place of row ids.
    fn name(&mut self, of: &mut Map<String, Value>, tx: &mut dyn Tx) -> Result<(), StoreError> {
        for field in ["work", "target"] {
            if let Some(row) = of.get(field).and_then(Value::as_i64) {
                of.insert(field.to_owned(), json!(self.work(row, tx)?));
            }
        }
        if let Some(row) = of.get("wait").and_then(Value::as_i64) {
            of.insert("wait".to_owned(), json!(self.wait(row, tx)?));
        }
        if let Some(Value::Array(resolved)) = of.get_mut("resolved")
            && let Some(row) = resolved.first().and_then(Value::as_i64)
        {
            resolved[0] = json!(self.work(row, tx)?);
        }
        Ok(())
    }

    /// `attempt:ROW/N@EPOCH` with the Work's id in the place of its row.
    fn actor(&mut self, actor: &str, tx: &mut dyn Tx) -> Result<String, StoreError> {
        let row = actor.strip_prefix("attempt:").and_then(|rest| rest.split_once('/'));
        match row.and_then(|(row, rest)| Some((row.parse().ok()?, rest))) {
            Some((row, rest)) => Ok(format!("attempt:{}/{rest}", self.work(row, tx)?)),
            None => Ok(actor.to_owned()),
        }
    }

    fn work(&mut self, row: i64, tx: &mut dyn Tx) -> Result<String, StoreError> {
        if let Some(name) = self.works.get(&row) {
            return Ok(name.clone());
        }
        let found = works::get(tx, WorkId(row))?.map(|work| work.uid.to_string());
        Ok(self.works.entry(row).or_insert(unknown("work", row, found)).clone())
    }

    fn wait(&mut self, row: i64, tx: &mut dyn Tx) -> Result<String, StoreError> {
        if let Some(name) = self.waits.get(&row) {
            return Ok(name.clone());
        }
        let found = waits::get(tx, WaitId(row))?.map(|wait| wait.uid.to_string());
        Ok(self.waits.entry(row).or_insert(unknown("wait", row, found)).clone())
    }
}

/// A caller may have named what never was; the refusal of it is in the journal all the same.
fn unknown(what: &str, row: i64, found: Option<String>) -> String {
    found.unwrap_or_else(|| format!("{what}?{row}"))
}

#[cfg(test)]
mod tests;
