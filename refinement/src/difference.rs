//! What two views disagree about, field by field, and the trace that led there.

use std::fmt::Write as _;

use abide_model::action::Action;
use abide_model::outcome::Outcome;
use abide_model::story;
use abide_model::view::View;
use abide_model::worlds::World;
use serde_json::Value;

/// The first step on which a subject and the model part.
#[derive(Debug)]
pub struct Divergence {
    /// The world.
    pub world: &'static World,
    /// The subject.
    pub subject: String,
    /// The steps that led there, the parting one last.
    pub trace: Vec<Action>,
    /// What differs.
    pub what: Parting,
}

/// What differs after the last step.
#[derive(Debug)]
pub enum Parting {
    /// The answers.
    Outcome {
        /// What the law answers.
        model: Outcome,
        /// What the subject answered.
        subject: Outcome,
    },
    /// The durable truth.
    View {
        /// What the law shows.
        model: Box<View>,
        /// What the subject shows.
        subject: Box<View>,
    },
    /// The subject broke down.
    Failure(String),
}

impl Divergence {
    /// The divergence as a person reads it.
    #[must_use]
    pub fn report(&self) -> String {
        let mut text =
            format!("{} parts from the model in world `{}`\n\n", self.subject, self.world.name);
        for (at, action) in self.trace.iter().enumerate() {
            let marker = if at + 1 == self.trace.len() { "→" } else { " " };
            // Writing to a String cannot fail.
            let _ =
                writeln!(text, "{marker} {:>3}. {}", at + 1, story::sentence(self.world, *action));
        }
        text.push('\n');
        match &self.what {
            Parting::Outcome { model, subject } => {
                let _ = writeln!(text, "the model answers   {}", story::answer(self.world, *model));
                let _ =
                    writeln!(text, "the subject answers {}", story::answer(self.world, *subject));
            }
            Parting::View { model, subject } => {
                for line in differences(model, subject) {
                    let _ = writeln!(text, "  {line}");
                }
            }
            Parting::Failure(reason) => {
                let _ = writeln!(text, "the subject broke down: {reason}");
            }
        }
        text
    }
}

/// The paths at which two views differ, one line each.
#[must_use]
pub fn differences(model: &View, subject: &View) -> Vec<String> {
    let mut lines = Vec::new();
    let (Ok(model), Ok(subject)) = (serde_json::to_value(model), serde_json::to_value(subject))
    else {
        return lines;
    };
    collect("", &model, &subject, &mut lines);
    lines
}

fn collect(path: &str, model: &Value, subject: &Value, lines: &mut Vec<String>) {
    match (model, subject) {
        (Value::Object(left), Value::Object(right)) => {
            for (field, value) in left {
                let other = right.get(field).unwrap_or(&Value::Null);
                collect(&format!("{path}.{field}"), value, other, lines);
            }
        }
        (Value::Array(left), Value::Array(right)) => {
            for at in 0..left.len().max(right.len()) {
                let value = left.get(at).unwrap_or(&Value::Null);
                let other = right.get(at).unwrap_or(&Value::Null);
                collect(&format!("{path}[{at}]"), value, other, lines);
            }
        }
        _ if model != subject => {
            lines
                .push(format!("{} model {model}, subject {subject}", path.trim_start_matches('.')));
        }
        _ => {}
    }
}
