//! Traces: newline-delimited JSON, a header and then one step a line, with names for everything.
//!
//! The model, the harness and a runtime's journal all speak this form. A trace says what was done and what was answered;
//! the view after a step is optional.

mod universe;

use std::io::{BufRead, Write};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::action::{Action, Kind, NamedAction};
use crate::law::Law;
use crate::mutants::Mutant;
use crate::outcome::{NamedOutcome, Outcome};
use crate::state::State;
use crate::view::{View, view};
use crate::worlds::{TICK_MS, Visit, World, named, visit};

pub use universe::*;

/// The version of the form.
pub const VERSION: u32 = 1;

/// The first line of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Header {
    /// Version of the form, 1.
    pub trace: u32,
    /// The world it happened in.
    pub world: String,
    /// Everything that may be named.
    pub universe: Universe,
    /// Milliseconds of one tick.
    pub tick_ms: u64,
    /// The broken clause, if the law had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mutant: Option<Mutant>,
    /// The property that its last step breaks, if it is a counterexample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breaks: Option<String>,
}

/// One line after the header.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Line {
    /// What was done.
    #[serde(flatten)]
    pub action: NamedAction,
    /// What was answered.
    pub outcome: NamedOutcome,
    /// What could be seen afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<View>,
}

/// A whole trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Its first line.
    pub header: Header,
    /// The others.
    pub lines: Vec<Line>,
}

/// Why a trace cannot be read.
#[derive(Debug)]
pub struct Unreadable {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub why: String,
}

impl std::fmt::Display for Unreadable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: {}", self.line, self.why)
    }
}

impl std::error::Error for Unreadable {}

impl Trace {
    /// What the law answers to these actions, with the view after each.
    pub fn of(law: Law, actions: &[Action]) -> Trace {
        visit(law.world, Recording { law, actions })
    }

    /// Reads a trace.
    ///
    /// # Errors
    /// If a line is no JSON of this form, or the version is another one.
    pub fn read(input: impl BufRead) -> Result<Trace, Unreadable> {
        let mut lines = (1..).zip(input.lines()).map(|(line, text)| {
            text.map(|text| (line, text))
                .map_err(|error| Unreadable { line, why: error.to_string() })
        });
        let (_, first) = lines
            .next()
            .ok_or_else(|| Unreadable { line: 1, why: "the trace is empty".into() })??;
        let header: Header = parse(1, &first)?;
        if header.trace != VERSION {
            let why = format!("this is version {} of the form, not {VERSION}", header.trace);
            return Err(Unreadable { line: 1, why });
        }
        let steps =
            lines.filter(|line| line.as_ref().map_or(true, |(_, text)| !text.trim().is_empty()));
        let lines = steps
            .map(|line| line.and_then(|(line, text)| parse(line, &text)))
            .collect::<Result<_, _>>()?;
        Ok(Trace { header, lines })
    }

    /// Writes it, one JSON object a line.
    ///
    /// # Errors
    /// If writing fails.
    pub fn write(&self, mut output: impl Write) -> std::io::Result<()> {
        serde_json::to_writer(&mut output, &self.header)?;
        output.write_all(b"\n")?;
        for line in &self.lines {
            serde_json::to_writer(&mut output, line)?;
            output.write_all(b"\n")?;
        }
        Ok(())
    }

    /// The law it was recorded under and its actions by index.
    ///
    /// # Errors
    /// If its world is unknown here, or a line names something that the world does not have.
    pub fn resolve(&self) -> Result<(Law, Vec<Action>), Unreadable> {
        let Some(world) = named(&self.header.world) else {
            let why = format!("there is no world `{}` here", self.header.world);
            return Err(Unreadable { line: 1, why });
        };
        let law = Law { world, mutant: self.header.mutant };
        let actions = (2..).zip(&self.lines).map(|(line, step)| {
            world
                .find_action(step.action.clone())
                .map_err(|error| Unreadable { line, why: error.to_string() })
        });
        Ok((law, actions.collect::<Result<_, _>>()?))
    }
}

fn parse<T: serde::de::DeserializeOwned>(line: usize, text: &str) -> Result<T, Unreadable> {
    serde_json::from_str(text).map_err(|error| Unreadable { line, why: explain(text, &error) })
}

/// A step that does not parse most often names an action that there is not, or gives it other arguments.
fn explain(text: &str, error: &serde_json::Error) -> String {
    let step: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
    match step["action"].as_str() {
        Some(name) if Kind::ALL.iter().all(|kind| kind.name() != name) => {
            format!("there is no action `{name}`")
        }
        Some(name) => {
            format!("the arguments or the outcome of `{name}` do not have its form: {error}")
        }
        None => error.to_string(),
    }
}

struct Recording<'a> {
    law: Law,
    actions: &'a [Action],
}

impl Visit for Recording<'_> {
    type Out = Trace;

    fn visit<const W: usize, const E: usize, const T: usize>(self, world: &'static World) -> Trace {
        let mut state = State::<W, E, T>::new();
        let mut lines = Vec::with_capacity(self.actions.len());
        for action in self.actions {
            let (outcome, after) = self.law.step(&state, *action);
            state = after;
            lines.push(line(world, *action, outcome, view(world, &state)));
        }
        Trace { header: header(self.law), lines }
    }
}

fn line(world: &World, action: Action, outcome: Outcome, seen: View) -> Line {
    Line {
        action: world.name_action(action),
        outcome: world.name_outcome(outcome),
        view: Some(seen),
    }
}

/// The header of a trace under this law.
pub fn header(law: Law) -> Header {
    Header {
        trace: VERSION,
        world: law.world.name.into(),
        universe: universe(law.world),
        tick_ms: TICK_MS,
        mutant: law.mutant,
        breaks: None,
    }
}
