//! `saturation`: each world beside its next larger bound.

use abide_model::graph::Counts;
use abide_model::saturation::saturation;
use abide_model::worlds::World;
use serde::Serialize;

use super::{Mistake, Verdict, print_json, say, table};

#[derive(Serialize)]
struct Compared {
    world: &'static str,
    #[serde(flatten)]
    counts: Counts,
    classes: usize,
    larger: Counts,
    larger_classes: usize,
    /// Transition classes that only the larger world has.
    only_larger: Vec<String>,
}

pub(super) fn run(worlds: &[&'static World], json: bool) -> Result<Verdict, Mistake> {
    let mut compared = Vec::new();
    for world in worlds {
        eprintln!("comparing {} …", world.name);
        let Some(found) = saturation(world) else {
            return Err(format!("`{}` is the larger bound of another world", world.name));
        };
        compared.push(Compared {
            world: world.name,
            counts: found.counts,
            classes: found.classes,
            larger: found.larger_counts,
            larger_classes: found.larger_classes,
            only_larger: found.only_larger.iter().map(|class| format!("{class:?}")).collect(),
        });
    }
    if json {
        print_json(&compared)?;
    } else {
        print(&compared);
    }
    Ok(Verdict::Well)
}

fn print(compared: &[Compared]) {
    let mut rows = table(&["world", "states", "classes", "larger", "classes", "only there"]);
    for Compared { world, counts, classes, larger, larger_classes, only_larger } in compared {
        rows.add_row([
            *world,
            &counts.states.to_string(),
            &classes.to_string(),
            &larger.states.to_string(),
            &larger_classes.to_string(),
            &only_larger.len().to_string(),
        ]);
    }
    say(rows);
    for Compared { world, only_larger, .. } in compared {
        for class in only_larger {
            say(format!("only larger than {world}: {class}"));
        }
    }
    let classes: usize = compared.iter().map(|one| one.classes).sum();
    let new: usize = compared.iter().map(|one| one.only_larger.len()).sum();
    say(format!(
        "total: {classes} transition classes in {} worlds, {new} that only a larger bound shows",
        compared.len()
    ));
}
