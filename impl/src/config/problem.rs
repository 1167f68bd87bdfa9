//! Problems of a configuration: located, with a cause and a remedy, several at once.

use std::cell::RefCell;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Where something stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum At {
    /// Bytes of the file.
    Text(Range<usize>),
    /// A variable of the environment that overrides the file.
    Variable(String),
}

impl At {
    /// The start of the file: where a word is missed that has no better place.
    pub(crate) const START: Self = Self::Text(0..0);

    fn offset(&self) -> usize {
        match self {
            Self::Text(span) => span.start,
            Self::Variable(_) => usize::MAX,
        }
    }
}

/// One thing that is wrong with a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The stable name of the kind of problem: `unknown_word`, `not_available`, …
    pub code: &'static str,
    /// The cause: what is so.
    pub message: String,
    /// The remedy: what to do next.
    pub next: String,
    at: At,
    /// The line may show a secret, so it is not shown.
    hidden: bool,
}

impl Problem {
    pub(crate) fn new(
        code: &'static str,
        at: &At,
        message: impl Into<String>,
        next: impl Into<String>,
    ) -> Self {
        Self { code, message: message.into(), next: next.into(), at: at.clone(), hidden: false }
    }

    /// The same problem, without showing its line.
    pub(crate) fn hidden(mut self) -> Self {
        self.hidden = true;
        self
    }
}

/// Collects problems while a configuration is read, so that one reading shows them all.
#[derive(Debug, Default)]
pub(crate) struct Problems(RefCell<Vec<Problem>>);

impl Problems {
    pub(crate) fn push(&self, problem: Problem) {
        self.0.borrow_mut().push(problem);
    }

    pub(crate) fn add(
        &self,
        code: &'static str,
        at: &At,
        message: impl Into<String>,
        next: impl Into<String>,
    ) {
        self.push(Problem::new(code, at, message, next));
    }

    /// The problems in the order of the file, each once.
    pub(crate) fn into_sorted(self) -> Vec<Problem> {
        let mut all = self.0.into_inner();
        all.sort_by_key(|problem| problem.at.offset());
        all.dedup();
        all
    }
}

/// The text problems are located in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Source {
    /// The file's name, as its reader gave it.
    pub(crate) name: String,
    /// What it holds.
    pub(crate) text: String,
}

/// Everything that is wrong with a configuration. `Display` is what a person is shown: for each
/// problem its cause, its place and the remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigErrors {
    source: Arc<Source>,
    problems: Vec<Problem>,
}

impl ConfigErrors {
    pub(crate) fn new(source: Arc<Source>, problems: Vec<Problem>) -> Self {
        Self { source, problems }
    }

    /// The reading itself broke.
    pub(crate) fn broken(file: &std::path::Path, what: &str) -> Self {
        let source = Source { name: file.display().to_string(), text: String::new() };
        let message = format!("the file could not be read to its end: {what}");
        let problem = Problem::new("unreadable", &At::START, message, "try again");
        Self::new(Arc::new(source), vec![problem])
    }

    /// The problems, in the order of the file.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// One line about them: how many, and where the first is.
    #[must_use]
    pub fn summary(&self) -> String {
        let Some(first) = self.problems.first() else { return String::new() };
        let place = match (&first.at, self.position(first)) {
            (At::Text(_), Some((line, column))) => format!("{}:{line}:{column}", self.source.name),
            (At::Text(_), None) => self.source.name.clone(),
            (At::Variable(name), _) => format!("environment:{name}"),
        };
        let message: String = first.message.chars().take(SUMMARY_MAX).flat_map(visible).collect();
        match self.problems.len() {
            1 => format!("{message} ({place})"),
            n => format!("{n} problems, the first: {message} ({place})"),
        }
    }

    /// Line and column of a problem, counted from 1 in characters; `None` if it is not in the file.
    #[must_use]
    pub fn position(&self, problem: &Problem) -> Option<(usize, usize)> {
        match &problem.at {
            At::Text(span) => Some(position(&self.source.text, span.start)),
            At::Variable(_) => None,
        }
    }

    fn place(&self, problem: &Problem) -> String {
        match &problem.at {
            At::Variable(name) => format!("environment:{name}"),
            At::Text(span) => {
                let (line, column) = position(&self.source.text, span.start);
                let place = format!("{}:{line}:{column}", self.source.name);
                match self.snippet(problem, line) {
                    Some(snippet) => format!("{place}   {snippet}"),
                    None => place,
                }
            }
        }
    }

    fn snippet(&self, problem: &Problem, line: usize) -> Option<String> {
        let text = self.source.text.lines().nth(line.checked_sub(1)?)?.trim();
        if problem.hidden || text.is_empty() {
            return None;
        }
        Some(shown(text, REVEALING.contains(&problem.code)))
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, problem) in self.problems.iter().enumerate() {
            if n > 0 {
                writeln!(f)?;
            }
            writeln!(f, "error: {}", problem.message)?;
            writeln!(f, "  {}", self.place(problem))?;
            writeln!(f, "  next: {}", problem.next)?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigErrors {}

/// For front ends that render diagnostics themselves. The file's text is not part of it: a line of
/// it may hold a secret that was written in the wrong place.
impl miette::Diagnostic for ConfigErrors {
    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn miette::Diagnostic> + 'a>> {
        Some(Box::new(self.problems.iter().map(|problem| problem as &dyn miette::Diagnostic)))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Problem {}

impl miette::Diagnostic for Problem {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.code))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(&self.next))
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = miette::LabeledSpan> + '_>> {
        match &self.at {
            At::Text(span) => {
                let label = miette::LabeledSpan::underline(span.clone());
                Some(Box::new(std::iter::once(label)))
            }
            At::Variable(_) => None,
        }
    }
}

/// Line and column of a byte offset, counted from 1; the column in characters.
fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = before.matches('\n').count() + 1;
    (line, before[line_start..].chars().count() + 1)
}

/// The longest line of a file that is shown, in characters.
const SHOWN_MAX: usize = 96;

/// The longest message in a summary, in characters.
const SUMMARY_MAX: usize = 400;

/// Problems of lines that are not understood, so that anything may stand there.
const REVEALING: [&str; 3] = ["syntax", "unknown_word", "wrong_type"];

/// Words beside which a secret is written.
const SECRETIVE: [&str; 6] = ["secret", "token", "password", "passwd", "api_key", "credential"];

/// A line as it is shown: cut, escaped, and without what may be a secret written in place.
fn shown(line: &str, revealing: bool) -> String {
    let words = line.to_ascii_lowercase();
    let secret = revealing || SECRETIVE.iter().any(|word| words.contains(word));
    let heading = line.starts_with("[[")
        || line.strip_prefix('[').is_some_and(|rest| rest.starts_with(char::is_alphabetic));
    let line = match line.split_once('=') {
        Some((key, _)) if secret => format!("{}= …", key),
        None if secret && !heading => "…".to_owned(),
        Some(_) | None => line.to_owned(),
    };
    let mut text: String = line.chars().take(SHOWN_MAX).flat_map(visible).collect();
    if line.chars().count() > SHOWN_MAX {
        text.push('…');
    }
    text
}

fn visible(c: char) -> Box<dyn Iterator<Item = char>> {
    if c.is_control() { Box::new(c.escape_default()) } else { Box::new(std::iter::once(c)) }
}
