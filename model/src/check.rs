//! The check: every property in every state and step of a world, or the shortest way to break one.

use std::ops::ControlFlow;

use crate::action::{Action, Kind};
use crate::graph::{Counts, Graph, Sight, explore_while};
use crate::law::Law;
use crate::outcome::{Deferral, Outcome, Refusal};
use crate::properties::{Moment, Property, Step, on_states, on_steps};
use crate::state::{Facts, State};
use crate::worlds::{Visit, World, visit};

/// A property that did not hold, and the shortest way to where it does not.
#[derive(Clone, Debug)]
pub struct Violation {
    /// The law, with the clause that was broken, if any.
    pub law: Law,
    /// The property.
    pub property: &'static Property,
    /// Every action from the first state on; the last one breaks it.
    pub path: Vec<Action>,
}

/// What came of checking one world.
#[derive(Clone, Debug)]
pub struct Checked {
    /// How much was explored: all of the world, if nothing was violated.
    pub counts: Counts,
    /// The first violation in breadth-first order.
    pub violation: Option<Violation>,
}

/// Checks every property in a world.
pub fn check(law: Law) -> Checked {
    visit(law.world, Checking { law, only: None })
}

/// Checks one property in a world, so that no other speaks up first.
pub fn check_only(law: Law, property: &'static Property) -> Checked {
    visit(law.world, Checking { law, only: Some(property) })
}

struct Checking {
    law: Law,
    only: Option<&'static Property>,
}

impl Visit for Checking {
    type Out = Checked;

    fn visit<const W: usize, const E: usize, const T: usize>(self, _: &'static World) -> Checked {
        let (graph, violation) = explore_checked::<W, E, T>(self.law, self.only);
        Checked { counts: graph.counts(), violation }
    }
}

/// Explores and checks at once; on a violation the graph ends there.
pub fn explore_checked<const W: usize, const E: usize, const T: usize>(
    law: Law,
    only: Option<&'static Property>,
) -> (Graph<State<W, E, T>>, Option<Violation>) {
    let judges = Judges::new(law, only);
    let mut broken = None;
    let (graph, stop) = explore_while(law, |sight| {
        broken = match sight {
            Sight::State(state) => judges.state(law.world, state),
            Sight::Step { before, action, outcome, after } => {
                let step = Step { world: law.world, before, action, outcome, after };
                // A property of the state reached may be the one meant to catch this mutant.
                judges.step(&step).map(|found| judges.meant(&step).unwrap_or(found))
            }
        };
        if broken.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let violation = broken.zip(stop).map(|(property, path)| Violation { law, property, path });
    (graph, violation)
}

type StateJudge = (&'static Property, fn(&Moment<'_>) -> bool);
type StepJudge = (&'static Property, fn(&Step<'_>) -> bool);

struct Judges {
    states: Vec<StateJudge>,
    steps: Vec<StepJudge>,
    /// How many of the states' judges are meant to catch the mutant.
    of_states: usize,
}

impl Judges {
    /// The properties meant to catch the mutant at hand come first, so that they are the ones to speak.
    fn new(law: Law, only: Option<&'static Property>) -> Self {
        let meant = |property: &Property| {
            property.caught.iter().any(|(caught, _)| Some(*caught) == law.mutant)
        };
        let wanted = |property: &Property| only.is_none_or(|only| only.name == property.name);
        let mut states: Vec<StateJudge> =
            on_states().filter(|(property, _)| wanted(property)).collect();
        let mut steps: Vec<StepJudge> =
            on_steps().filter(|(property, _)| wanted(property)).collect();
        states.sort_by_key(|(property, _)| !meant(property));
        steps.sort_by_key(|(property, _)| !meant(property));
        let of_states = states.iter().filter(|(property, _)| meant(property)).count();
        Judges { states, steps, of_states }
    }

    /// A property of states that is meant to catch the mutant and does so here.
    fn meant(&self, step: &Step<'_>) -> Option<&'static Property> {
        let moment = Moment { world: step.world, state: step.after };
        self.states[..self.of_states]
            .iter()
            .find(|(_, holds)| !holds(&moment))
            .map(|(property, _)| *property)
    }

    fn state(&self, world: &World, state: &dyn Facts) -> Option<&'static Property> {
        let moment = Moment { world, state };
        self.states.iter().find(|(_, holds)| !holds(&moment)).map(|(property, _)| *property)
    }

    fn step(&self, step: &Step<'_>) -> Option<&'static Property> {
        if self.nothing_to_judge(step) {
            return None;
        }
        self.steps.iter().find(|(_, holds)| !holds(step)).map(|(property, _)| *property)
    }

    /// A step that changes nothing and claims nothing breaks no property, but for a delivery that is known, a causal
    /// refusal without its diagnostic, a conflict with nothing, a key called foreign, or a control that is put off: of
    /// controls and proofs it also matters that they are not refused. Four of five steps are of this kind.
    fn nothing_to_judge(&self, step: &Step<'_>) -> bool {
        let denied = match step.outcome {
            Outcome::Accepted(_)
            | Outcome::Conflict
            | Outcome::Deferred(Deferral::Unsupported)
            | Outcome::Refused(
                Refusal::DepthLimit | Refusal::KeyNotOwned | Refusal::UnknownIntent,
            ) => false,
            Outcome::Duplicate(_) | Outcome::Deferred(_) | Outcome::Refused(_) => true,
        };
        let answered = matches!(
            step.action.kind(),
            Kind::Accept | Kind::Dispatch | Kind::SettleDispatch | Kind::Interrupt
        );
        denied && !answered && !step.changed()
    }
}

/// Judges one step of a law by every property, the state it leads to included.
pub fn judge(law: Law, step: &Step<'_>) -> Option<&'static Property> {
    let judges = Judges::new(law, None);
    match judges.step(step) {
        Some(found) => Some(judges.meant(step).unwrap_or(found)),
        None => judges.state(step.world, step.after),
    }
}
