//! `mutants`: every broken law is caught by the property meant to catch it.

use abide_model::check::check_only;
use abide_model::law::Law;
use abide_model::mutants::Mutant;
use abide_model::progress::{CAUGHT, progress};
use abide_model::properties::{Property, all};
use abide_model::registry::PROGRESS;
use abide_model::worlds::named;
use serde::Serialize;

use super::{Mistake, Verdict, print_json, say, table};

#[derive(Serialize)]
struct Caught {
    mutant: &'static str,
    breaks: &'static str,
    property: &'static str,
    world: &'static str,
    /// Actions of the shortest counterexample; absent if the mutant goes unnoticed.
    steps: Option<usize>,
}

pub(super) fn run(json: bool) -> Result<Verdict, Mistake> {
    let mut caught = Vec::new();
    for mutant in Mutant::ALL.iter().copied() {
        eprintln!("breaking {} …", mutant.name());
        caught.extend(by_properties(mutant)?);
        caught.extend(by_progress(mutant)?);
    }
    let well = caught.iter().all(|one| one.steps.is_some());
    if json {
        print_json(&caught)?;
    } else {
        print(&caught);
    }
    Ok(Verdict::of(well))
}

fn by_properties(mutant: Mutant) -> Result<Vec<Caught>, Mistake> {
    let meant = all().flat_map(|property| {
        property.caught.iter().map(move |(caught, world)| (property, *caught, *world))
    });
    meant
        .filter(|(_, caught, _)| *caught == mutant)
        .map(|(property, _, world)| by_property(mutant, property, world))
        .collect()
}

fn by_property(
    mutant: Mutant,
    property: &'static Property,
    world: &'static str,
) -> Result<Caught, Mistake> {
    let law = Law::breaking(super::world(world)?, mutant);
    let steps = check_only(law, property).violation.map(|violation| violation.path.len());
    Ok(Caught {
        mutant: mutant.name(),
        breaks: mutant.breaks(),
        property: property.name,
        world,
        steps,
    })
}

fn by_progress(mutant: Mutant) -> Result<Option<Caught>, Mistake> {
    let Some((_, world)) = CAUGHT.iter().find(|(caught, _)| *caught == mutant) else {
        return Ok(None);
    };
    let Some(known) = named(world) else {
        return Err(format!("progress names a world `{world}` that does not exist"));
    };
    let steps = progress(Law::breaking(known, mutant)).way.map(|way| way.len());
    Ok(Some(Caught {
        mutant: mutant.name(),
        breaks: mutant.breaks(),
        property: PROGRESS,
        world,
        steps,
    }))
}

fn print(caught: &[Caught]) {
    let mut table = table(&["mutant", "breaks", "caught by", "world", "steps"]);
    for one in caught {
        let steps = one.steps.map_or("unnoticed".to_string(), |steps| steps.to_string());
        table.add_row([one.mutant, one.breaks, one.property, one.world, &steps]);
    }
    say(table);
    let noticed = caught.iter().filter(|one| one.steps.is_some()).count();
    say(format!(
        "total: {} mutants, {noticed} of {} catches by the property meant for them",
        Mutant::ALL.len(),
        caught.len(),
    ));
}
