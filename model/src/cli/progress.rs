//! `progress`: from everywhere, rest is reachable.

use abide_model::law::Law;
use abide_model::progress::{Progress, progress};
use abide_model::story;
use serde::Serialize;

use super::{Mistake, Verdict, print_json, say, table};

#[derive(Serialize)]
struct Found {
    world: &'static str,
    states: usize,
    at_rest: usize,
    farthest_from_rest: usize,
    stuck: usize,
    steps_to_stuck: Option<usize>,
}

pub(super) fn run(laws: &[Law], json: bool) -> Result<Verdict, Mistake> {
    let mut found = Vec::new();
    for law in laws {
        eprintln!("looking for stuck states in {} …", law.world.name);
        let Progress { states, at_rest, stuck, way, farthest } = progress(*law);
        if let (Some(way), false) = (&way, json) {
            say(format!("{}\nFrom here nothing leads to rest.\n", story::text(*law, way)));
        }
        found.push(Found {
            world: law.world.name,
            states,
            at_rest,
            farthest_from_rest: farthest,
            stuck,
            steps_to_stuck: way.map(|way| way.len()),
        });
    }
    if json {
        print_json(&found)?;
    } else {
        let mut table = table(&["world", "states", "at rest", "farthest from rest", "stuck"]);
        for one in &found {
            let numbers = [one.states, one.at_rest, one.farthest_from_rest, one.stuck];
            table.add_row(
                std::iter::once(one.world.to_string())
                    .chain(numbers.map(|number| number.to_string())),
            );
        }
        say(table);
        let states: usize = found.iter().map(|one| one.states).sum();
        let stuck: usize = found.iter().map(|one| one.stuck).sum();
        say(format!("total: {} of {states} states lead to rest", states - stuck));
    }
    Ok(Verdict::of(found.iter().all(|one| one.stuck == 0)))
}
