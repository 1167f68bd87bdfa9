//! `show`: a trace, told.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use abide_model::page;
use abide_model::sequence;
use abide_model::story;
use abide_model::trace::Trace;
use clap::ValueEnum;
use serde::Serialize;

use super::{Mistake, Verdict, print_json, say};

/// How a trace is told.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Format {
    /// A story, step by step.
    Text,
    /// The told steps as JSON.
    Json,
    /// A Mermaid sequence diagram.
    Mermaid,
    /// A self-contained page, model and record side by side where they part.
    Html,
}

#[derive(Serialize)]
struct Step {
    step: usize,
    says: String,
    answer: String,
    recorded_as_answered: bool,
    changes: Vec<String>,
    breaks: Option<&'static str>,
}

pub(super) fn read(file: &Path) -> Result<Trace, Mistake> {
    let opened =
        File::open(file).map_err(|error| format!("cannot open {}: {error}", file.display()))?;
    Trace::read(BufReader::new(opened)).map_err(|error| format!("{}: {error}", file.display()))
}

pub(super) fn run(file: &Path, format: Format) -> Result<Verdict, Mistake> {
    let trace = read(file)?;
    let (law, actions) = trace.resolve().map_err(|error| format!("{}: {error}", file.display()))?;
    let told = story::tell(law, &actions);
    let steps: Vec<Step> = (1..)
        .zip(told.iter().zip(&trace.lines))
        .map(|(step, (told, line))| Step {
            step,
            says: told.sentence.clone(),
            answer: told.answer.clone(),
            recorded_as_answered: law.world.name_outcome(told.outcome) == line.outcome
                && line.view.as_ref().is_none_or(|view| *view == told.view),
            changes: told.changes.clone(),
            breaks: told.broke.map(|property| property.name),
        })
        .collect();
    match format {
        Format::Text => {
            say(story::text(law, &actions));
            for step in steps.iter().filter(|step| !step.recorded_as_answered) {
                say(format!("step {} is recorded otherwise than the model answers", step.step));
            }
        }
        Format::Json => print_json(&steps)?,
        Format::Mermaid => say(sequence::mermaid(law, &actions)),
        Format::Html => say(page::html(&trace).map_err(|error| error.to_string())?),
    }
    Ok(Verdict::of(steps.iter().all(|step| step.breaks.is_none() && step.recorded_as_answered)))
}
