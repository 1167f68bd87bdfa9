//! A configuration file as a tree that knows where every word of it stands.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Error};

use super::Environment;
use super::problem::{At, Problems};

/// A value and its place.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) at: At,
    pub(crate) value: Value,
}

/// What a value is.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Text(String),
    /// `None` beyond 64 bits, which no setting is.
    Integer(Option<i64>),
    Float(String),
    Bool(bool),
    Date(String),
    List(Vec<Node>),
    Table(Table),
}

/// Words and what they are set to.
pub(crate) type Table = BTreeMap<String, Entry>;

/// A word's own place, and its value.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) key: At,
    pub(crate) node: Node,
}

/// Reads TOML; `None` if too little of it is TOML for the rest to mean anything.
pub(crate) fn parse(text: &str, problems: &Problems) -> Option<Table> {
    let (table, mut errors) = DeTable::parse_recoverable(text);
    errors.sort_by_key(start);
    if let Some(first) = errors.first() {
        // Later complaints mostly follow from the first.
        let message = format!("this is not TOML: {}", first.message());
        let next = "correct the TOML here or just before (https://toml.io shows the syntax)";
        problems.add("syntax", &At::Text(start(first)..start(first)), message, next);
    }
    let line =
        |error: &Error| text.get(..start(error)).map_or(0, |head| head.matches('\n').count());
    let one_line = errors.first().map(line) == errors.last().map(line);
    one_line.then(|| table_of(table.get_ref()))
}

/// The words of [`kept`]. No configuration has either.
const CONFIG: &str = "config";
const FOLDER: &str = "folder";

/// What a generation is kept as, and identified by.
pub(crate) fn kept(table: &Table, folder: &Path) -> Json {
    serde_json::json!({ CONFIG: canonical(table), FOLDER: folder.to_str() })
}

/// Reads what [`kept`] wrote, and the folder it is of; nothing of it stands anywhere. Earlier
/// versions kept no folder.
pub(crate) fn parse_kept(text: &str, problems: &Problems) -> (Option<Table>, Option<PathBuf>) {
    let Ok(Json::Object(mut fields)) = serde_json::from_str::<Json>(text) else {
        problems.add("syntax", &At::START, "this is no kept configuration", "load another");
        return (None, None);
    };
    let folder = fields.get(FOLDER).and_then(Json::as_str).map(PathBuf::from);
    match fields.remove(CONFIG) {
        Some(Json::Object(words)) => (Some(table_of_json(words)), folder),
        Some(_) | None => (Some(table_of_json(fields)), None),
    }
}

/// What [`kept`] wrote, as TOML; `None` for anything else.
pub(crate) fn shown(body: &str) -> Option<String> {
    let Json::Object(fields) = serde_json::from_str::<Json>(body).ok()? else { return None };
    let words = toml::to_string_pretty(fields.get(CONFIG)?).ok()?;
    Some(match fields.get(FOLDER).and_then(Json::as_str) {
        Some(folder) => format!("# Paths are relative to {}\n\n{words}", folder.escape_debug()),
        None => words,
    })
}

fn table_of_json(fields: serde_json::Map<String, Json>) -> Table {
    let entry = |json| Entry { key: At::START, node: node_of_json(json) };
    fields.into_iter().map(|(name, json)| (name, entry(json))).collect()
}

fn node_of_json(json: Json) -> Node {
    let value = match json {
        Json::Null => Value::Integer(None),
        Json::Bool(truth) => Value::Bool(truth),
        Json::Number(number) => match number.as_i64() {
            Some(number) => Value::Integer(Some(number)),
            None => Value::Float(number.to_string()),
        },
        Json::String(text) => Value::Text(text),
        Json::Array(items) => Value::List(items.into_iter().map(node_of_json).collect()),
        Json::Object(fields) => Value::Table(table_of_json(fields)),
    };
    Node { at: At::START, value }
}

fn start(error: &Error) -> usize {
    error.span().map_or(0, |span| span.start)
}

/// Lays `ABIDE__SECTION__WORD` variables over the file. They win over it.
pub(crate) fn overlay(table: &mut Table, env: &Environment, problems: &Problems) {
    for (name, value) in env.overlay() {
        let at = At::Variable(name.to_owned());
        let path = name.trim_start_matches(Environment::PREFIX).to_ascii_lowercase();
        let known = OVERLAY.iter().find(|(section, word)| path == format!("{section}__{word}"));
        let Some((section, word)) = known else {
            problems.add("unknown_word", &at, format!("`{name}` sets nothing"), overlay_words());
            continue;
        };
        let entry = Entry { key: at.clone(), node: Node { at, value: Value::Text(value.into()) } };
        let section = table.entry((*section).to_owned()).or_insert_with(|| Entry {
            key: entry.key.clone(),
            node: Node { at: entry.key.clone(), value: Value::Table(Table::new()) },
        });
        if let Value::Table(words) = &mut section.node.value {
            words.insert((*word).to_owned(), entry);
        }
    }
}

/// What the environment can set: places and addresses, nothing that a review should see.
const OVERLAY: &[(&str, &str)] = &[
    ("daemon", "state"),
    ("daemon", "database"),
    ("listen", "hooks"),
    ("listen", "operator"),
    ("listen", "tool"),
];

fn overlay_words() -> String {
    let names = OVERLAY.iter().map(|(section, word)| {
        format!("{}{}__{}", Environment::PREFIX, section.to_uppercase(), word.to_uppercase())
    });
    format!("unset it, or use one of {}", names.collect::<Vec<_>>().join(", "))
}

/// The tree as JSON with its words in order. It holds no secrets, because a file that is accepted
/// holds none.
fn canonical(table: &Table) -> Json {
    Json::Object(table.iter().map(|(key, entry)| (key.clone(), json(&entry.node))).collect())
}

/// A value as JSON.
pub(crate) fn json(node: &Node) -> Json {
    match &node.value {
        Value::Text(text) | Value::Date(text) => Json::String(text.clone()),
        Value::Integer(number) => Json::from(*number),
        Value::Float(text) => text.parse::<f64>().map_or(Json::Null, Json::from),
        Value::Bool(truth) => Json::Bool(*truth),
        Value::List(nodes) => Json::Array(nodes.iter().map(json).collect()),
        Value::Table(table) => canonical(table),
    }
}

fn table_of(table: &DeTable<'_>) -> Table {
    let entries = table.iter().map(|(key, value)| {
        let entry = Entry { key: At::Text(key.span()), node: node_of(value) };
        (key.get_ref().clone().into_owned(), entry)
    });
    entries.collect()
}

fn node_of(value: &Spanned<DeValue<'_>>) -> Node {
    Node { at: At::Text(value.span()), value: value_of(value.get_ref()) }
}

fn value_of(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::Text(text.clone().into_owned()),
        DeValue::Integer(number) => {
            Value::Integer(i64::from_str_radix(number.as_str(), number.radix()).ok())
        }
        DeValue::Float(number) => Value::Float(number.as_str().to_owned()),
        DeValue::Boolean(truth) => Value::Bool(*truth),
        DeValue::Datetime(date) => Value::Date(date.to_string()),
        DeValue::Array(items) => Value::List(items.iter().map(node_of).collect()),
        DeValue::Table(table) => Value::Table(table_of(table)),
    }
}
