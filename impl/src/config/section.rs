//! Reads one section of the file against the words it may hold.
//!
//! Every word of the contract is known here. One whose feature this version does not have is
//! refused at its place, unless it says what this version does anyway; any other word is refused
//! with a suggestion. Nothing is ignored.

use super::problem::{At, Problems};
use super::tree::{Entry, Node, Table, Value};
use super::units;
use crate::domain::Duration;

/// A word of a section.
pub(crate) struct Word {
    name: &'static str,
    /// `None`: this version has it.
    later: Option<fn(&Node) -> bool>,
}

/// A word this version understands.
pub(crate) const fn word(name: &'static str) -> Word {
    Word { name, later: None }
}

/// A word of a later version, which may already say what is so without it.
pub(crate) const fn later(name: &'static str, neutral: fn(&Node) -> bool) -> Word {
    Word { name, later: Some(neutral) }
}

/// Nothing is neutral.
pub(crate) fn never(_: &Node) -> bool {
    false
}

/// `false` changes nothing.
pub(crate) fn is_false(node: &Node) -> bool {
    matches!(node.value, Value::Bool(false))
}

/// An empty list changes nothing.
pub(crate) fn is_empty(node: &Node) -> bool {
    matches!(&node.value, Value::List(nodes) if nodes.is_empty())
}

/// A table of the file with a name people know it by.
pub(crate) struct Section<'a> {
    /// `binding `reviewer``, as messages call it.
    pub(crate) what: String,
    /// Where it begins.
    pub(crate) at: &'a At,
    table: &'a Table,
    problems: &'a Problems,
}

impl<'a> Section<'a> {
    /// Opens a table and refuses the words it may not hold; `None` if it is no table.
    pub(crate) fn open(
        what: impl Into<String>,
        node: &'a Node,
        words: &[Word],
        problems: &'a Problems,
    ) -> Option<Self> {
        let what = what.into();
        let Value::Table(table) = &node.value else {
            wrong_type(problems, &node.at, &what, "a table");
            return None;
        };
        let section = Self { what, at: &node.at, table, problems };
        section.refuse_strangers(words);
        Some(section)
    }

    /// Opens a table of a list, which is known by its `name`.
    pub(crate) fn open_listed(
        kind: &str,
        node: &'a Node,
        words: &[Word],
        problems: &'a Problems,
    ) -> Option<Self> {
        let name = match &node.value {
            Value::Table(table) => table.get("name").map(|entry| &entry.node.value),
            Value::Text(_)
            | Value::Integer(_)
            | Value::Float(_)
            | Value::Bool(_)
            | Value::Date(_)
            | Value::List(_) => None,
        };
        let what = match name {
            Some(Value::Text(name)) => format!("{kind} `{}`", name.escape_debug()),
            Some(_) | None => format!("this {kind}"),
        };
        Self::open(what, node, words, problems)
    }

    /// The whole file as a section.
    pub(crate) fn root(table: &'a Table, words: &[Word], problems: &'a Problems) -> Self {
        let section = Self { what: "the file".into(), at: &At::START, table, problems };
        section.refuse_strangers(words);
        section
    }

    fn refuse_strangers(&self, words: &[Word]) {
        for (name, entry) in self.table {
            match words.iter().find(|word| word.name == name) {
                None => self.refuse_unknown(name, entry, words),
                Some(Word { later: Some(neutral), .. }) if !neutral(&entry.node) => {
                    let what = format!("`{name}` of {}", self.what);
                    not_available(self.problems, &entry.key, &what, RESERVED);
                }
                Some(_) => {}
            }
        }
    }

    fn refuse_unknown(&self, name: &str, entry: &Entry, words: &[Word]) {
        let names: Vec<&str> = words.iter().map(|word| word.name).collect();
        let message = format!("{} has no word `{}`", self.what, name.escape_debug());
        self.problems.add("unknown_word", &entry.key, message, suggestion(name, &names));
    }

    /// A word's value, if it is set.
    pub(crate) fn get(&self, name: &str) -> Option<&'a Node> {
        self.table.get(name).map(|entry| &entry.node)
    }

    /// Where a word's value stands, if it is set.
    pub(crate) fn place(&self, name: &str) -> Option<&'a At> {
        self.get(name).map(|node| &node.at)
    }

    /// The first word that is set and is none of these.
    pub(crate) fn other_than(&self, words: &[&str]) -> Option<(&'a str, &'a At)> {
        let mut others = self.table.iter().filter(|(name, _)| !words.contains(&name.as_str()));
        others.next().map(|(name, entry)| (name.as_str(), &entry.key))
    }

    /// Says that a word is missing, with what to add.
    pub(crate) fn missing(&self, name: &str, next: impl Into<String>) {
        let message = format!("{} has no `{name}`", self.what);
        self.problems.add("missing_word", self.at, message, next);
    }

    /// A text; absent or of another type is `None`, the latter with a problem.
    pub(crate) fn text(&self, name: &str) -> Option<(&'a str, &'a At)> {
        let node = self.get(name)?;
        let Value::Text(text) = &node.value else {
            self.mistyped(name, node, "a text in quotes");
            return None;
        };
        Some((text, &node.at))
    }

    /// A text that must be there.
    pub(crate) fn required(&self, name: &str, next: &str) -> Option<(&'a str, &'a At)> {
        if self.get(name).is_none() {
            self.missing(name, next);
        }
        self.text(name)
    }

    /// A list of texts; absent is empty.
    pub(crate) fn texts(&self, name: &str) -> Vec<(&'a str, &'a At)> {
        let Some(node) = self.get(name) else { return Vec::new() };
        let Value::List(nodes) = &node.value else {
            self.mistyped(name, node, "a list of texts");
            return Vec::new();
        };
        let texts = nodes.iter().filter_map(|item| match &item.value {
            Value::Text(text) => Some((text.as_str(), &item.at)),
            Value::Integer(_)
            | Value::Float(_)
            | Value::Bool(_)
            | Value::Date(_)
            | Value::List(_)
            | Value::Table(_) => {
                self.mistyped(name, item, "a list of texts");
                None
            }
        });
        texts.collect()
    }

    /// A truth; absent is `false`.
    pub(crate) fn truth(&self, name: &str) -> bool {
        let Some(node) = self.get(name) else { return false };
        let Value::Bool(truth) = node.value else {
            self.mistyped(name, node, "`true` or `false`");
            return false;
        };
        truth
    }

    /// A whole number within bounds; absent or wrong is the default.
    pub(crate) fn number(&self, name: &str, default: u32, low: u32, high: u32) -> u32 {
        let Some(node) = self.get(name) else { return default };
        let Value::Integer(number) = node.value else {
            self.mistyped(name, node, "a whole number");
            return default;
        };
        match number.and_then(|number| u32::try_from(number).ok()) {
            Some(number) if (low..=high).contains(&number) => number,
            Some(_) | None => {
                let message = format!("`{name}` of {} is out of bounds", self.what);
                let next = format!("set it between {low} and {high}");
                self.problems.add("out_of_bounds", &node.at, message, next);
                default
            }
        }
    }

    /// A duration within bounds; absent or wrong is the default.
    pub(crate) fn duration(&self, name: &str, default: &str, low: &str, high: &str) -> Duration {
        self.measured(name, default, (low, high), units::duration)
    }

    /// A size in bytes within bounds; absent or wrong is the default.
    pub(crate) fn size(&self, name: &str, default: &str, low: &str, high: &str) -> u64 {
        self.measured(name, default, (low, high), units::size)
    }

    fn measured<T: PartialOrd + Default>(
        &self,
        name: &str,
        default: &str,
        (low, high): (&str, &str),
        parse: fn(&str) -> Result<T, &'static str>,
    ) -> T {
        let constant = |text| parse(text).unwrap_or_default();
        let Some((text, at)) = self.text(name) else { return constant(default) };
        let message = match parse(text) {
            Ok(value) if value >= constant(low) && value <= constant(high) => return value,
            Ok(_) => format!("`{name}` of {} is out of bounds", self.what),
            Err(wrong) => format!("`{name}` of {} {wrong}", self.what),
        };
        let next = format!("set it between \"{low}\" and \"{high}\"; \"{default}\" is the default");
        self.problems.add("out_of_bounds", at, message, next);
        constant(default)
    }

    /// One of some words; a known word of a later version is said to be one. Absent is `None`.
    pub(crate) fn choice(&self, name: &str, ready: &[&str], later: &[&str]) -> Option<&'a str> {
        let (given, at) = self.text(name)?;
        if ready.contains(&given) {
            return Some(given);
        }
        if later.contains(&given) {
            let what = format!("`{name} = \"{given}\"`");
            not_available(self.problems, at, &what, &format!("use `{}`", ready.join("` or `")));
            return None;
        }
        let message = format!("`{name}` of {} cannot be `{}`", self.what, given.escape_debug());
        self.problems.add("unknown_value", at, message, suggestion(given, ready));
        None
    }

    /// Says that a word has a value of another type.
    pub(crate) fn mistyped(&self, name: &str, node: &Node, wanted: &str) {
        wrong_type(self.problems, &node.at, &format!("`{name}` of {}", self.what), wanted);
    }
}

/// Says that something is of another type than its place asks for.
pub(crate) fn wrong_type(problems: &Problems, at: &At, what: &str, wanted: &str) {
    let message = format!("{what} is not {wanted}");
    problems.add("wrong_type", at, message, format!("write {wanted} here"));
}

/// What to do about a word of a later version.
pub(crate) const RESERVED: &str = "leave it out; the word is reserved";

/// Says that something belongs to a later version.
pub(crate) fn not_available(problems: &Problems, at: &At, what: &str, next: &str) {
    let message = format!("{what} is not available in this version");
    problems.add("not_available", at, message, next);
}

/// The most words a suggestion lists.
const LISTED_MAX: usize = 12;

/// What to write instead of an unknown word.
pub(crate) fn suggestion(given: &str, known: &[&str]) -> String {
    // Of two that are as near, the one that begins the same is meant.
    let other_start = |word: &str| word.chars().next() != given.chars().next();
    let near = known.iter().map(|word| (distance(given, word), other_start(word), word)).min();
    match near {
        Some((far, _, word)) if far <= 1 + word.len() / 4 => format!("did you mean `{word}`?"),
        Some(_) if known.len() > LISTED_MAX => {
            format!("use one of `{}`, …", known[..LISTED_MAX].join("`, `"))
        }
        Some(_) => format!("use one of `{}`", known.join("`, `")),
        None => "leave it out".to_owned(),
    }
}

/// How many letters differ (Levenshtein).
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.chars().take(64).enumerate() {
        let mut left = i + 1;
        let mut diagonal = i;
        for (j, b) in other.iter().enumerate() {
            let above = row[j + 1];
            let change = diagonal + usize::from(a != *b);
            row[j] = left;
            left = change.min(above + 1).min(left + 1);
            diagonal = above;
        }
        row[other.len()] = left;
    }
    row[other.len()]
}
