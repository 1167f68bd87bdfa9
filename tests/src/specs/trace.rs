//! The one trace format: newline-delimited JSON, a header and then one line a step.
//!
//! Counterexamples, scenarios, refinement runs and production journals are all traces. The format
//! belongs to `specs/`; the model and the runtime each read and write it. Actions, outcomes and
//! views are named values here; their own schemas say what they hold.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::files::TextFile;
use super::finding::Finding;

/// The version of the format that this page describes.
pub const TRACE_VERSION: u32 = 1;

/// The first line of a trace: what its names mean.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceHeader {
    /// The version of this format, 1.
    pub trace: u32,
    /// The world that was explored; left out of a journal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub world: Option<String>,
    /// The id of the database whose journal this is; left out of an exploration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database: Option<String>,
    /// The deliveries, keys, works and waits there are, by name.
    pub universe: Map<String, Value>,
    /// Milliseconds of trusted time that one tick stands for.
    pub tick_ms: u64,
    /// The broken law that was explored, if one was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mutant: Option<String>,
    /// The property that the last step breaks, if this is a counterexample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breaks: Option<String>,
}

/// Every further line: one action and what it was answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceStep {
    /// The name of the action.
    pub action: String,
    /// Its arguments, ids by name; left out where it has none.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub args: Map<String, Value>,
    /// The answer; left out for an environment action, which is not answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<TraceOutcome>,
    /// What is observed after it, where it was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<Value>,
}

/// What an action was answered, by the model and by the runtime in the same form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TraceOutcome {
    /// It is true now; the receipt says what.
    Accepted(Value),
    /// It was so already; the receipt says what.
    Duplicate(Value),
    /// Not now; the code of the deferral.
    Deferred(String),
    /// What was read has moved.
    Conflict,
    /// The code of the refusal.
    Refused(String),
}

/// What keeps the traces among `files` from being read; a trace is an `.ndjson` file of `specs/`.
#[must_use]
pub fn unreadable(files: &[TextFile]) -> Vec<Finding> {
    let is_trace =
        |file: &&TextFile| file.path.starts_with("specs/") && file.path.ends_with(".ndjson");
    files.iter().filter(is_trace).flat_map(unreadable_lines).collect()
}

fn unreadable_lines(file: &TextFile) -> Vec<Finding> {
    let mut lines = file.text.lines().enumerate();
    let Some((_, first)) = lines.next() else {
        return vec![Finding::new(&file.path, "is empty")];
    };
    let mut findings: Vec<Finding> =
        header_flaw(first).map(|flaw| Finding::new(&file.path, flaw)).into_iter().collect();
    findings.extend(lines.filter_map(|(at, line)| {
        let cause = serde_json::from_str::<TraceStep>(line).err()?;
        Some(Finding::new(format!("{}:{}", file.path, at + 1), format!("is no step: {cause}")))
    }));
    findings
}

fn header_flaw(line: &str) -> Option<String> {
    let header = match serde_json::from_str::<TraceHeader>(line) {
        Ok(header) => header,
        Err(cause) => return Some(format!("its first line is no header: {cause}")),
    };
    if header.trace != TRACE_VERSION {
        return Some(format!("is of version {}, not {TRACE_VERSION}", header.trace));
    }
    (header.world.is_some() == header.database.is_some())
        .then(|| "names a world and a database, or neither".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = r#"{"trace":1,"world":"waits","universe":{"works":["fix"]},"tick_ms":9}"#;
    const STEP: &str = r#"{"action":"wake","args":{"wait":"w1"},"outcome":{"refused":"not_due"}}"#;

    fn findings(text: &str) -> usize {
        let path = "specs/traces/x.ndjson".to_owned();
        unreadable(&[TextFile { path, text: text.to_owned() }]).len()
    }

    #[test]
    fn a_header_and_steps_are_a_trace() {
        let tick = r#"{"action":"tick","view":{}}"#;
        assert_eq!(findings(&format!("{HEADER}\n{STEP}\n{tick}\n")), 0);
    }

    #[test]
    fn a_line_that_is_no_step_is_found() {
        for line in ["", "{", r#"{"args":{}}"#, HEADER] {
            assert_eq!(findings(&format!("{HEADER}\n{STEP}\n{line}\n{STEP}\n")), 1, "{line}");
        }
    }

    #[test]
    fn a_first_line_that_is_no_header_is_found() {
        assert_eq!(findings(""), 1);
        assert_eq!(findings(STEP), 1);
        assert_eq!(findings(&HEADER.replace(":1,", ":2,")), 1);
        assert_eq!(findings(&HEADER.replace("world", "database")), 0);
        assert_eq!(findings(&HEADER.replace("{\"trace", "{\"database\":\"d\",\"trace")), 1);
    }
}
