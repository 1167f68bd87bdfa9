//! `worlds` and `rules`: what there is.

use std::collections::BTreeMap;

use abide_model::graph::{Counts, explore};
use abide_model::law::Law;
use abide_model::registry::registry;
use abide_model::worlds::{ALL, Visit, World, visit};
use serde::Serialize;

use super::{Mistake, Verdict, print_json, say, table};

struct Count;

impl Visit for Count {
    type Out = Counts;

    fn visit<const W: usize, const E: usize, const T: usize>(
        self,
        world: &'static World,
    ) -> Counts {
        explore::<W, E, T>(Law::of(world)).counts()
    }
}

#[derive(Serialize)]
struct Listed {
    world: &'static str,
    shows: &'static str,
    #[serde(flatten)]
    counts: Counts,
}

pub(super) fn worlds(json: bool) -> Result<Verdict, Mistake> {
    let listed: Vec<Listed> = ALL
        .iter()
        .map(|world| Listed { world: world.name, shows: world.shows, counts: visit(world, Count) })
        .collect();
    if json {
        print_json(&listed)?;
        return Ok(Verdict::Well);
    }
    let mut table = table(&["world", "states", "transitions", "depth", "shows"]);
    for Listed { world, shows, counts } in listed {
        let Counts { states, transitions, depth } = counts;
        table.add_row([
            world,
            &states.to_string(),
            &transitions.to_string(),
            &depth.to_string(),
            shows,
        ]);
    }
    say(table);
    Ok(Verdict::Well)
}

#[derive(Default, Serialize)]
struct Checks {
    properties: Vec<String>,
    mutants: Vec<String>,
}

pub(super) fn rules(json: bool) -> Result<Verdict, Mistake> {
    let mut rules: BTreeMap<String, Checks> = BTreeMap::new();
    for property in registry().properties {
        for rule in property.rules {
            let checks = rules.entry(rule).or_default();
            checks.properties.push(property.name.clone());
            checks.mutants.extend(property.caught.iter().map(|caught| caught.mutant.clone()));
        }
    }
    for checks in rules.values_mut() {
        checks.mutants.sort();
        checks.mutants.dedup();
    }
    if json {
        print_json(&rules)?;
        return Ok(Verdict::Well);
    }
    let mut table = table(&["rule", "properties", "mutants they catch"]);
    for (rule, checks) in rules {
        table.add_row([rule, checks.properties.join("\n"), checks.mutants.join("\n")]);
    }
    say(table);
    Ok(Verdict::Well)
}
