//! What must hold: invariants on states and on steps, each citing its rules and the mutants it must catch.
//!
//! A property judges by the facts alone and never asks the law, so a broken law cannot talk it round. Step properties
//! cost no state: they are checked on the edges of our own explorer.

pub mod aliases;
pub mod attempts;
pub mod causality;
pub mod configuration;
pub mod controls;
pub mod decisions;
pub mod ends;
pub mod holds;
pub mod intents;
pub mod interrupts;
pub mod lapses;
pub mod ownership;
pub mod processes;
pub mod proofs;
pub mod retry;
pub mod routing;
pub mod turns;
pub mod waits;

use crate::action::{Action, Commit};
use crate::index::{EventIx, WaitIx, WorkIx, below};
use crate::mutants::Mutant;
use crate::outcome::Outcome;
use crate::state::{Attempt, AttemptStatus, Facts, Wait, Work};
use crate::worlds::World;

/// One invariant.
#[derive(Clone, Copy, Debug)]
pub struct Property {
    /// A sentence that is true while it holds.
    pub name: &'static str,
    /// The rules it stands for.
    pub rules: &'static [&'static str],
    /// The mutants it must catch, each with the world where that shows.
    pub caught: &'static [(Mutant, &'static str)],
    /// How it is judged.
    pub holds: Holds,
}

/// How a property is judged.
#[derive(Clone, Copy, Debug)]
pub enum Holds {
    /// In every state.
    State(fn(&Moment<'_>) -> bool),
    /// In every step, refused ones included.
    Step(fn(&Step<'_>) -> bool),
}

/// One state of a world.
#[derive(Clone, Copy)]
pub struct Moment<'a> {
    /// Its world.
    pub world: &'a World,
    /// Its facts.
    pub state: &'a dyn Facts,
}

/// One action and what it did.
#[derive(Clone, Copy)]
pub struct Step<'a> {
    /// Its world.
    pub world: &'a World,
    /// The facts before it.
    pub before: &'a dyn Facts,
    /// What was done.
    pub action: Action,
    /// What the law answered.
    pub outcome: Outcome,
    /// The facts after it.
    pub after: &'a dyn Facts,
}

/// Every property, by area.
pub fn all() -> impl Iterator<Item = &'static Property> {
    [
        routing::ALL,
        decisions::ALL,
        ownership::ALL,
        attempts::ALL,
        configuration::ALL,
        holds::ALL,
        waits::ALL,
        aliases::ALL,
        causality::ALL,
        turns::ALL,
        ends::ALL,
        retry::ALL,
        lapses::ALL,
        processes::ALL,
        controls::ALL,
        intents::ALL,
        interrupts::ALL,
        proofs::ALL,
    ]
    .into_iter()
    .flatten()
}

/// The property of that name.
pub fn named(name: &str) -> Option<&'static Property> {
    all().find(|property| property.name == name)
}

/// The properties judged in every state.
pub fn on_states() -> impl Iterator<Item = (&'static Property, fn(&Moment<'_>) -> bool)> {
    all().filter_map(|property| match property.holds {
        Holds::State(holds) => Some((property, holds)),
        Holds::Step(_) => None,
    })
}

/// The properties judged in every step.
pub fn on_steps() -> impl Iterator<Item = (&'static Property, fn(&Step<'_>) -> bool)> {
    all().filter_map(|property| match property.holds {
        Holds::State(_) => None,
        Holds::Step(holds) => Some((property, holds)),
    })
}

impl Moment<'_> {
    fn works(&self) -> impl Iterator<Item = WorkIx> + use<> {
        below(self.world.works.len()).map(WorkIx)
    }

    fn existing(&self) -> impl Iterator<Item = WorkIx> {
        self.works().filter(|work| self.state.exists(*work))
    }

    fn events(&self) -> impl Iterator<Item = EventIx> + use<> {
        below(self.world.slots()).map(EventIx)
    }

    fn accepted(&self) -> impl Iterator<Item = EventIx> {
        self.events().filter(|event| self.state.is_accepted(*event))
    }

    fn waits(&self) -> impl Iterator<Item = WaitIx> + use<> {
        below(self.world.waits.len()).map(WaitIx)
    }
}

impl<'a> Step<'a> {
    fn before(&self) -> Moment<'a> {
        Moment { world: self.world, state: self.before }
    }

    fn after(&self) -> Moment<'a> {
        Moment { world: self.world, state: self.after }
    }

    fn accepted(&self) -> bool {
        self.outcome.accepted()
    }

    /// The action, if it is a commit that was accepted.
    fn committed(&self) -> Option<Commit> {
        match self.action {
            Action::Commit(commit) if self.accepted() => Some(commit),
            Action::Commit(_) | Action::World(_) => None,
        }
    }

    /// Whether any fact changed.
    pub fn changed(&self) -> bool {
        self.before.current() != self.after.current()
            || self.before.works() != self.after.works()
            || self.before.events() != self.after.events()
            || self.before.waits() != self.after.waits()
    }

    /// A Work before and after.
    fn work(&self, work: WorkIx) -> (&'a Work, &'a Work) {
        (self.before.work(work), self.after.work(work))
    }

    /// The last attempt of a Work before and after.
    fn attempt(&self, work: WorkIx) -> (&'a Attempt, &'a Attempt) {
        (&self.before.work(work).attempt, &self.after.work(work).attempt)
    }

    /// A wait before and after.
    fn wait(&self, wait: WaitIx) -> (&'a Wait, &'a Wait) {
        (self.before.wait(wait), self.after.wait(wait))
    }

    /// Whether a Work stands: it outlives its attempts. JOB-14
    fn stands(&self, work: WorkIx) -> bool {
        self.world.kind(self.before.work(work).kind).standing
    }

    /// Whether this step ended the last attempt of a Work as failed.
    fn fails(&self, work: WorkIx) -> bool {
        let (before, after) = self.attempt(work);
        before.status != AttemptStatus::Failed && after.status == AttemptStatus::Failed
    }

    /// The Works whose last attempt this step ended as failed.
    fn failed(&self) -> impl Iterator<Item = WorkIx> {
        self.before().works().filter(|work| self.fails(*work))
    }

    /// Events this step accepted.
    fn newly_accepted(&self) -> impl Iterator<Item = EventIx> {
        self.after()
            .events()
            .filter(|event| !self.before.is_accepted(*event) && self.after.is_accepted(*event))
    }
}
