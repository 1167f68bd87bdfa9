//! The audit: a finished journal replayed against the law, row by row and Work by Work.
//!
//! `rows` reads a database or an export; `act` is what each row asked for, with `args`, and `answer` what it was answered;
//! `ledger` keeps what the rows say across Works, in the `facts` of each thing; `stage` makes of each row a world of the
//! model that is just large enough for it; `judge` asks the model's step function what the answer had to be and compares.
//! Nothing here looks at the runtime's tables beyond the journal and its seals: what the journal does not say is counted as
//! not judged, never as lawful.
//!
//! A new action begins in `act`, a new table in `facts`; the docs of `judge` and `stage` say where each goes on from there.

mod act;
mod answer;
mod args;
mod facts;
mod judge;
mod ledger;
mod rows;
mod stage;

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use abide::store::StoreError;

/// What an audit that found nothing unlawful covered.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct Report {
    /// Rows read.
    pub rows: usize,
    /// Rows whose answer the law was asked for and gave alike.
    pub replayed: usize,
    /// Rows that stand for answers without a row of their own.
    pub suppressed: usize,
    /// Works that came to exist.
    pub works: usize,
    /// Rows not judged, by reason.
    pub not_judged: BTreeMap<String, usize>,
    /// Works not decided to their end, and why.
    pub undecided: BTreeMap<String, String>,
    /// Seals checked; `None` for an export, which has none.
    pub seals: Option<usize>,
    /// Rows after the last seal.
    pub unsealed: usize,
    /// Shapes of worlds that were made, and are kept for the life of the process.
    pub worlds: usize,
}

impl Report {
    /// Rows not judged, whatever the reason.
    #[must_use]
    pub fn unjudged(&self) -> usize {
        self.not_judged.values().sum()
    }
}

/// The first row that the law does not allow.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Illegal {
    /// The row.
    pub n: i64,
    /// Its action, with its arguments.
    pub action: String,
    /// The Work it concerns, if one.
    pub work: Option<String>,
    /// What the journal says was answered.
    pub said: String,
    /// What the law answers there.
    pub lawful: String,
    /// The last steps of that Work, or of the journal where no Work is concerned, up to this row.
    pub story: Vec<String>,
}

impl std::fmt::Display for Illegal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "row {}: {}", self.n, self.action)?;
        if let Some(work) = &self.work {
            writeln!(f, "  work:            {work}")?;
        }
        writeln!(f, "  the journal says {}", self.said)?;
        writeln!(f, "  the law answers  {}", self.lawful)?;
        writeln!(f, "  up to there:")?;
        for step in &self.story {
            writeln!(f, "    {step}")?;
        }
        Ok(())
    }
}

/// Why an audit did not end well.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// The journal holds a step the law does not allow.
    #[error("{0}")]
    Illegal(Box<Illegal>),
    /// The chain over the rows is broken: they are not the rows that were sealed.
    #[error("the seal of row {n} does not fit the rows it covers: the journal was changed")]
    Chain {
        /// The last row the seal covers.
        n: i64,
    },
    /// The rows are not numbered one by one.
    #[error("row {found} follows row {after}: a row is missing or stands twice")]
    Gap {
        /// The row before.
        after: i64,
        /// The row found.
        found: i64,
    },
    /// The file cannot be read.
    #[error("{path}: {error}")]
    File {
        /// Which.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// The database cannot be read.
    #[error("{path}: {error}")]
    Database {
        /// Which.
        path: PathBuf,
        /// What the store said.
        error: StoreError,
    },
    /// A row cannot be understood.
    #[error("row {n}: {what}")]
    Unreadable {
        /// Which; its line in an export that does not even say its number.
        n: i64,
        /// Why.
        what: String,
    },
    /// The journal does not begin at its beginning.
    #[error("the journal begins with row {n}: an audit needs it from row 1 on")]
    Partial {
        /// The first row.
        n: i64,
    },
}

impl AuditError {
    /// Whether the input was read and is unlawful, rather than unreadable.
    #[must_use]
    pub const fn is_finding(&self) -> bool {
        match self {
            Self::Illegal(_) | Self::Chain { .. } | Self::Gap { .. } => true,
            Self::File { .. }
            | Self::Database { .. }
            | Self::Unreadable { .. }
            | Self::Partial { .. } => false,
        }
    }
}

/// How every database file begins.
const DATABASE: &[u8] = b"SQLite format 3\0";

/// Audits a database or a journal export, whichever the file is.
///
/// # Errors
/// The first step the law does not allow, or why the file cannot be read.
pub fn audit(path: &Path) -> Result<Report, AuditError> {
    let unread = |error| AuditError::File { path: path.to_owned(), error };
    let mut file = std::fs::File::open(path).map_err(unread)?;
    let mut head = Vec::new();
    file.by_ref().take(DATABASE.len() as u64).read_to_end(&mut head).map_err(unread)?;
    if head == DATABASE {
        return audit_database(path);
    }
    audit_export(BufReader::new(io::Cursor::new(head).chain(file)))
}

/// Audits the journal of a database, from one snapshot; the file is not changed.
///
/// # Errors
/// The first step the law does not allow, or why the file cannot be read.
pub fn audit_database(path: &Path) -> Result<Report, AuditError> {
    let mut judge = judge::Judge::new(rows::Ids::Rows);
    let seals = rows::database(path, &mut |row| judge.row(&row))?;
    Ok(judge.report(Some(seals)))
}

/// Audits what `abide journal export` printed.
///
/// # Errors
/// The first step the law does not allow, or the first line that cannot be read.
pub fn audit_export(lines: impl BufRead) -> Result<Report, AuditError> {
    let mut judge = judge::Judge::new(rows::Ids::Names);
    rows::export(lines, &mut |row| judge.row(&row))?;
    Ok(judge.report(None))
}
