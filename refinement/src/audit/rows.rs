//! The rows of a journal, read from a database under its seals or from an export, in one form.

use std::io::BufRead;
use std::path::Path;

use abide::store::journal::{self, JournalRow, Seal};
use abide::store::{Store, StoreError, Tx};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::AuditError;

/// Rows read at once.
const BATCH: u32 = 1_000;
/// Version of the trace format.
const TRACE: u64 = 1;

/// How rows name Works and waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ids {
    /// By the row, as the database does: dense, in the order of making.
    Rows,
    /// By the id at the edge, as an export does.
    Names,
}

/// One row of the journal.
#[derive(Debug, Clone)]
pub(super) struct Row {
    /// Its number.
    pub(super) n: i64,
    /// Trusted time.
    pub(super) at: i64,
    /// What was asked.
    pub(super) action: String,
    /// With which arguments.
    pub(super) args: Map<String, Value>,
    /// What was answered, in the form of an export; none for a row of suppressed answers.
    pub(super) outcome: Option<Value>,
}

/// What is done with each row.
pub(super) type Each<'f> = &'f mut dyn FnMut(Row) -> Result<(), AuditError>;

/// What the seals of a database cover.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sealed {
    /// How many there are.
    pub(super) count: usize,
    /// The last row covered.
    pub(super) until: i64,
}

/// Reads every row of a database from one snapshot, and then its seals.
pub(super) fn database(path: &Path, each: Each<'_>) -> Result<Sealed, AuditError> {
    let failed = |error| AuditError::Database { path: path.to_owned(), error };
    let store = Store::open_reader(path).map_err(failed)?;
    let mut session = store.session();
    session.begin_snapshot().map_err(failed)?;
    let mut after = 0;
    loop {
        let rows = journal::since(&mut session, after, BATCH).map_err(failed)?;
        let Some(last) = rows.last() else { break };
        after = last.n;
        for row in rows {
            each(stored(row)?)?;
        }
    }
    seals(&mut session, path)
}

/// The chain is followed link by link: whoever changed a row and not the chain is found whatever the law says.
fn seals(tx: &mut dyn Tx, path: &Path) -> Result<Sealed, AuditError> {
    let failed = |error: StoreError| AuditError::Database { path: path.to_owned(), error };
    let (mut before, mut count) = (Seal::START, 0);
    loop {
        let links = journal::seals_since(tx, before.n, BATCH).map_err(failed)?;
        if links.is_empty() {
            return Ok(Sealed { count, until: before.n });
        }
        for seal in links {
            let link = journal::link(tx, before, Some(seal.n)).map_err(failed)?;
            if link != seal {
                return Err(AuditError::Chain { n: seal.n });
            }
            (before, count) = (seal, count + 1);
        }
    }
}

fn stored(row: JournalRow) -> Result<Row, AuditError> {
    let unreadable = |what: &str| AuditError::Unreadable { n: row.n, what: what.to_owned() };
    let Ok(Value::Object(args)) = serde_json::from_str(&row.args) else {
        return Err(unreadable("its arguments are no JSON object"));
    };
    let Ok(facts) = serde_json::from_str::<Value>(&row.facts) else {
        return Err(unreadable("its facts are no JSON"));
    };
    let outcome = match (row.action == SUPPRESSED, facts) {
        (true, _) => None,
        (false, Value::Null) => Some(Value::String(row.outcome)),
        (false, facts) => Some(Value::Object(Map::from_iter([(row.outcome, facts)]))),
    };
    Ok(Row { n: row.n, at: row.at.0, action: row.action, args, outcome })
}

/// The action of a row that stands for answers that got no row of their own.
pub(super) const SUPPRESSED: &str = "suppressed";

/// The first line of an export.
#[derive(Deserialize)]
struct Header {
    trace: u64,
    database: String,
}

/// Every further line.
#[derive(Deserialize)]
struct Step {
    action: String,
    args: Map<String, Value>,
    outcome: Option<Value>,
}

/// Reads every row of an export.
pub(super) fn export(lines: impl BufRead, each: Each<'_>) -> Result<(), AuditError> {
    let mut line = 0;
    let mut header = false;
    for text in lines.split(b'\n') {
        line += 1;
        let unreadable = |what: String| AuditError::Unreadable { n: line, what };
        let text = text.map_err(|error| unreadable(format!("line {line}: {error}")))?;
        let broken = |error| unreadable(format!("line {line} is no step of a journal: {error}"));
        if !header {
            let head: Header = serde_json::from_slice(&text).map_err(|error| {
                unreadable(format!("line {line} is no header of a journal export: {error}"))
            })?;
            if head.trace != TRACE || head.database.is_empty() {
                return Err(unreadable(format!("trace format {} is not known here", head.trace)));
            }
            header = true;
            continue;
        }
        if text.is_empty() {
            continue;
        }
        let step: Step = serde_json::from_slice(&text).map_err(broken)?;
        let number = |name: &str| step.args.get(name).and_then(Value::as_i64);
        let (Some(n), Some(at)) = (number("n"), number("at")) else {
            return Err(unreadable(format!("line {line} has no `n` or no `at`")));
        };
        each(Row { n, at, action: step.action, args: step.args, outcome: step.outcome })?;
    }
    match header {
        true => Ok(()),
        false => Err(AuditError::Unreadable { n: 1, what: "the file is empty".to_owned() }),
    }
}
