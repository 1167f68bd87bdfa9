//! Generations of the configuration and what is pinned to them, active time among it.

use crate::action::{Action, Commit, Env};
use crate::mutants::Mutant;
use crate::outcome::RouteMark;
use crate::properties::attempts::claimed;
use crate::properties::{Holds, Property};
use crate::state::{AttemptStatus, Current, Proposal};

/// The properties of this area.
pub const ALL: &[Property] = &[PINNED, MARKS_NAME, OUTDATES, GENERATION, ACTIVE_TIME];

/// A reload in between does not change what an attempt runs with.
pub const PINNED: Property = Property {
    name: "an attempt is pinned to the generation it was first claimed in",
    rules: &["BIND-10", "BIND-11"],
    caught: &[(Mutant::ReloadUnpins, "configuration"), (Mutant::ResumeRepins, "configuration")],
    holds: Holds::Step(|step| {
        step.before().works().all(|work| {
            let (before, after) = step.attempt(work);
            match before.number == after.number {
                true => before.generation == after.generation,
                false => after.generation == step.before.current().generation,
            }
        })
    }),
};

/// Which configuration decided is part of the decision.
pub const MARKS_NAME: Property = Property {
    name: "a mark names the generation it was made in",
    rules: &["BIND-10", "BIND-12", "BIND-13"],
    caught: &[(Mutant::MarkForgetsGeneration, "configuration")],
    holds: Holds::Step(|step| {
        step.after().accepted().all(|event| {
            let (before, after) = (step.before.event(event), step.after.event(event));
            let unmarked = RouteMark::Unrouted;
            match (before.mark == unmarked, after.mark == unmarked) {
                (_, true) => after.generation == 0,
                (true, false) => after.generation == step.before.current().generation + 1,
                (false, false) => true,
            }
        })
    }),
};

/// A decision under the former configuration is made again.
pub const OUTDATES: Property = Property {
    name: "no proposal outlives its configuration",
    rules: &["BIND-13", "BIND-10", "ROUTE-15"],
    caught: &[(Mutant::ReloadKeepsProposals, "configuration")],
    holds: Holds::Step(|step| match step.committed() {
        Some(Commit::Reload { .. }) => {
            step.after.events().iter().all(|event| event.proposal != Proposal::Fresh)
        }
        Some(_) | None => true,
    }),
};

/// A configuration becomes current once, as the next generation.
pub const GENERATION: Property = Property {
    name: "the generation moves by one, when another configuration is loaded",
    rules: &["BIND-11", "BIND-10"],
    caught: &[(Mutant::ReloadRepeats, "configuration")],
    holds: Holds::Step(|step| {
        let (before, after) = (step.before.current(), step.after.current());
        match step.committed() {
            Some(Commit::Reload { configuration }) => {
                after.generation == before.generation + 1
                    && before.configuration != configuration
                    && after.configuration == configuration
            }
            Some(_) | None => {
                let which = |current: &Current| (current.generation, current.configuration);
                which(before) == which(after)
            }
        }
    }),
};

/// Time parked is free; time used is gone.
pub const ACTIVE_TIME: Property = Property {
    name: "active time is spent while an attempt runs and never comes back",
    rules: &["WAKE-27", "WAKE-28"],
    caught: &[
        (Mutant::ParkedTimeCharged, "configuration"),
        (Mutant::ActiveTimeStands, "configuration"),
        (Mutant::ResumeRestoresTime, "configuration"),
    ],
    holds: Holds::Step(|step| {
        let tick = matches!(step.action, Action::World(Env::Tick));
        step.before().works().all(|work| {
            let (before, after) = step.attempt(work);
            let new = claimed(step) == Some(work) && before.status != AttemptStatus::Parked;
            let spent = match (tick, before.status) {
                (true, AttemptStatus::Running) => before.active.later(),
                (_, _) => before.active,
            };
            new || !after.status.open() || after.active == spent
        })
    }),
};
