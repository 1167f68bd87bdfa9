//! The law holds in every world, and every property can fail: each mutant is caught by the property meant to.

use abide_model::check::{check, check_only};
use abide_model::law::Law;
use abide_model::mutants::Mutant;
use abide_model::progress::{CAUGHT, progress};
use abide_model::properties::all;
use abide_model::worlds::{ALL, named};

#[test]
fn the_law_breaks_no_property_in_any_world() {
    for world in ALL {
        let checked = check(Law::of(world));
        let broken = checked.violation.map(|violation| (violation.property.name, violation.path));
        assert!(broken.is_none(), "{}: {broken:?}", world.name);
    }
}

#[test]
fn every_property_catches_its_mutants() {
    let missed: Vec<String> = all()
        .flat_map(|property| property.caught.iter().map(move |caught| (property, *caught)))
        .filter(|(property, (mutant, world))| {
            let world = named(world).expect("a property names worlds that exist");
            check_only(Law::breaking(world, *mutant), property).violation.is_none()
        })
        .map(|(property, (mutant, world))| {
            format!("`{}` misses {} in {world}", property.name, mutant.name())
        })
        .collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn every_mutant_has_a_check_that_catches_it() {
    let claimed = |mutant: &Mutant| {
        all().any(|property| property.caught.iter().any(|(caught, _)| caught == mutant))
            || CAUGHT.iter().any(|(caught, _)| caught == mutant)
    };
    let free: Vec<&str> =
        Mutant::ALL.iter().filter(|mutant| !claimed(mutant)).map(|mutant| mutant.name()).collect();
    assert!(free.is_empty(), "{free:?}");
}

#[test]
fn every_property_has_a_mutant_and_a_name_of_its_own() {
    let mut names: Vec<&str> = all().map(|property| property.name).collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    let toothless: Vec<&str> =
        all().filter(|p| p.caught.is_empty() || p.rules.is_empty()).map(|p| p.name).collect();
    assert!(toothless.is_empty(), "{toothless:?}");
}

#[test]
fn rest_is_reachable_from_everywhere() {
    for world in ALL {
        let found = progress(Law::of(world));
        assert_eq!(found.stuck, 0, "{}: {:?}", world.name, found.way);
        assert!(found.at_rest > 0, "{} never rests", world.name);
    }
}

#[test]
fn progress_catches_its_mutants() {
    for (mutant, world) in CAUGHT {
        let world = named(world).expect("progress names worlds that exist");
        assert!(
            progress(Law::breaking(world, *mutant)).stuck > 0,
            "{} goes unnoticed",
            mutant.name()
        );
    }
}
