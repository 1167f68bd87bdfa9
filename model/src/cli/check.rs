//! `check`: every property in every state and step, by two explorers that must agree.

use std::fs::File;
use std::path::{Path, PathBuf};

use abide_model::action::NamedAction;
use abide_model::check::{Checked, Violation, check};
use abide_model::checker::second_opinion;
use abide_model::graph::Counts;
use abide_model::law::Law;
use abide_model::story;
use abide_model::trace::Trace;
use serde::Serialize;

use super::{Mistake, Verdict, print_json, say, table};

pub(super) struct Options {
    pub(super) threads: usize,
    pub(super) out: PathBuf,
    pub(super) json: bool,
}

#[derive(Serialize)]
struct Found {
    world: &'static str,
    #[serde(flatten)]
    counts: Counts,
    /// Absent when the exploration ended at a violation.
    explorers_agree: Option<bool>,
    violation: Option<Told>,
}

#[derive(Serialize)]
struct Told {
    property: &'static str,
    rules: &'static [&'static str],
    steps: usize,
    actions: Vec<NamedAction>,
    trace: PathBuf,
}

pub(super) fn run(laws: &[Law], options: &Options) -> Result<Verdict, Mistake> {
    let mut found = Vec::new();
    for law in laws {
        eprintln!("checking {} …", law.world.name);
        let checked = check(*law);
        if let (Some(violation), false) = (&checked.violation, options.json) {
            say(story::text(violation.law, &violation.path));
        }
        found.push(judge(*law, checked, options)?);
    }
    let well =
        found.iter().all(|one| one.violation.is_none() && one.explorers_agree != Some(false));
    if options.json {
        print_json(&found)?;
    } else {
        print(&found);
    }
    Ok(Verdict::of(well))
}

fn judge(law: Law, checked: Checked, options: &Options) -> Result<Found, Mistake> {
    let Checked { counts, violation } = checked;
    let violation = violation.map(|violation| keep(&violation, &options.out)).transpose()?;
    let explorers_agree = match violation {
        Some(_) => None,
        None => {
            let second = second_opinion(law, options.threads);
            // With more threads Stateright is not level by level, so its depth says nothing.
            let counts = Counts {
                depth: if options.threads > 1 { second.counts.depth } else { counts.depth },
                ..counts
            };
            Some(second.counts == counts && second.violated.is_empty())
        }
    };
    Ok(Found { world: law.world.name, counts, explorers_agree, violation })
}

/// Writes the counterexample as a trace.
fn keep(violation: &Violation, out: &Path) -> Result<Told, Mistake> {
    let Violation { law, property, path } = violation;
    let mutant = law.mutant.map(|mutant| format!("-{}", mutant.name())).unwrap_or_default();
    let file = out.join(format!("counterexample-{}{mutant}.ndjson", law.world.name));
    let mut trace = Trace::of(*law, path);
    trace.header.breaks = Some(property.name.into());
    let written = std::fs::create_dir_all(out)
        .and_then(|()| File::create(&file))
        .and_then(|to| trace.write(to));
    written.map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    Ok(Told {
        property: property.name,
        rules: property.rules,
        steps: path.len(),
        actions: path.iter().map(|action| law.world.name_action(*action)).collect(),
        trace: file,
    })
}

fn print(found: &[Found]) {
    let mut table = table(&["world", "states", "transitions", "depth", "result"]);
    for Found { world, counts, explorers_agree, violation } in found {
        let result = match (violation, explorers_agree) {
            (Some(told), _) => format!("broken in {} steps: {}", told.steps, told.property),
            (None, Some(true) | None) => "holds; both explorers agree".into(),
            (None, Some(false)) => "the two explorers disagree".into(),
        };
        let Counts { states, transitions, depth } = counts;
        table.add_row([
            *world,
            &states.to_string(),
            &transitions.to_string(),
            &depth.to_string(),
            &result,
        ]);
    }
    say(table);
    // A path may be of any length, so it stands outside the table.
    for told in found.iter().filter_map(|one| one.violation.as_ref()) {
        say(format!("counterexample: {}", told.trace.display()));
    }
    let states: usize = found.iter().map(|one| one.counts.states).sum();
    let transitions: usize = found.iter().map(|one| one.counts.transitions).sum();
    say(format!("total: {states} states and {transitions} transitions in {} worlds", found.len()));
}
