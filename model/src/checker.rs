//! The law as a Stateright model: a second, independent exploration, and the machine behind the Explorer.
//!
//! A run that stopped early reports success, so this wrapper sets no limit, always holds one property that cannot be
//! discovered, and is trusted only where its counts equal those of our own explorer. Its counterexamples are not the
//! shortest; ours are.

use std::sync::LazyLock;

use stateright::{Checker, Expectation, Model, Property};

use crate::action::Action;
use crate::graph::Counts;
use crate::law::Law;
use crate::outcome::RouteMark;
use crate::properties::{Moment, on_states};
use crate::state::{Facts, State};
use crate::worlds::{Visit, World, offered, visit};

/// One world under one law, as Stateright sees it.
#[derive(Clone, Copy, Debug)]
pub struct Machine<const W: usize, const E: usize, const T: usize> {
    /// The law.
    pub law: Law,
}

/// A property's name when Stateright knows it always holds and so never stops before the end.
pub const SENTINEL: &str = "the exploration runs to its end";

impl<const W: usize, const E: usize, const T: usize> Machine<W, E, T> {
    /// The transitions out of a state: only what is accepted or changes something, so that both explorers count alike.
    pub fn transitions(&self, state: &State<W, E, T>) -> Vec<Action> {
        offered(self.law.world, state)
            .into_iter()
            .filter(|action| {
                let (outcome, after) = self.law.step(state, *action);
                outcome.accepted() || after != *state
            })
            .collect()
    }
}

impl<const W: usize, const E: usize, const T: usize> Model for Machine<W, E, T> {
    type State = State<W, E, T>;
    type Action = Action;

    fn init_states(&self) -> Vec<Self::State> {
        vec![State::new()]
    }

    fn actions(&self, state: &Self::State, actions: &mut Vec<Self::Action>) {
        actions.extend(self.transitions(state));
    }

    fn next_state(&self, last: &Self::State, action: Self::Action) -> Option<Self::State> {
        Some(self.law.step(last, action).1)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut properties = vec![
            Property::always(SENTINEL, |_, _| true),
            Property::sometimes("some event is routed", |_, state: &State<W, E, T>| {
                state
                    .events()
                    .iter()
                    .any(|event| event.seq > 0 && event.mark != RouteMark::Unrouted)
            }),
            Property::sometimes("some Work ends", |_, state: &State<W, E, T>| {
                state.works().iter().any(|work| work.status.terminal())
            }),
        ];
        for (nth, condition) in (0..JUDGES.len()).zip(conditions::<W, E, T>()) {
            properties.push(Property {
                expectation: Expectation::Always,
                name: JUDGES[nth].0,
                condition,
            });
        }
        properties
    }

    fn format_action(&self, action: &Self::Action) -> String {
        crate::story::sentence(self.law.world, *action)
    }

    fn format_step(&self, last: &Self::State, action: Self::Action) -> Option<String> {
        let (outcome, after) = self.law.step(last, action);
        Some(crate::story::difference(self.law.world, last, outcome, &after))
    }

    fn as_svg(&self, path: stateright::Path<Self::State, Self::Action>) -> Option<String> {
        Some(crate::sequence::svg(self.law, &path.into_actions()))
    }
}

type Judge = (&'static str, fn(&Moment<'_>) -> bool);

/// Stateright takes plain functions without captures, so each property is reached by its place in this table.
static JUDGES: LazyLock<Vec<Judge>> =
    LazyLock::new(|| on_states().map(|(property, holds)| (property.name, holds)).collect());

/// How many properties of states [`conditions`] can hold.
const PLACES: usize = 48;

type Condition<const W: usize, const E: usize, const T: usize> =
    fn(&Machine<W, E, T>, &State<W, E, T>) -> bool;

fn conditions<const W: usize, const E: usize, const T: usize>() -> [Condition<W, E, T>; PLACES] {
    macro_rules! places {
        ($($nth:literal)*) => { [$(nth::<$nth, W, E, T>,)*] };
    }
    assert!(
        JUDGES.len() <= PLACES,
        "a property of states has no place in the checker: raise PLACES"
    );
    places!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
        32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47)
}

fn nth<const NTH: usize, const W: usize, const E: usize, const T: usize>(
    machine: &Machine<W, E, T>,
    state: &State<W, E, T>,
) -> bool {
    JUDGES[NTH].1(&Moment { world: machine.law.world, state })
}

/// What Stateright found in a world.
#[derive(Clone, Debug)]
pub struct Second {
    /// Its counts, comparable with ours.
    pub counts: Counts,
    /// Names of the properties it found violated.
    pub violated: Vec<&'static str>,
    /// Names of the `sometimes` properties it never reached.
    pub unreached: Vec<&'static str>,
}

/// Explores a world with Stateright, to the end.
pub fn second_opinion(law: Law, threads: usize) -> Second {
    visit(law.world, Asking { law, threads })
}

struct Asking {
    law: Law,
    threads: usize,
}

impl Visit for Asking {
    type Out = Second;

    fn visit<const W: usize, const E: usize, const T: usize>(self, _: &'static World) -> Second {
        let machine = Machine::<W, E, T> { law: self.law };
        let checker = machine.checker().threads(self.threads).spawn_bfs().join();
        let discovered = checker.discoveries();
        let with = |expectation: Expectation, found: bool| {
            checker
                .model()
                .properties()
                .into_iter()
                .filter(|property| property.expectation == expectation)
                .map(|property| property.name)
                .filter(|name| discovered.contains_key(name) == found)
                .collect()
        };
        Second {
            counts: Counts {
                states: checker.unique_state_count(),
                // Stateright counts generated states, the first one among them, and depth in states.
                transitions: checker.state_count() - 1,
                depth: checker.max_depth() - 1,
            },
            violated: with(Expectation::Always, true),
            unreached: with(Expectation::Sometimes, false),
        }
    }
}

impl<const W: usize, const E: usize, const T: usize> std::fmt::Debug for State<W, E, T> {
    /// Short on purpose: the Explorer prints it whole for every state.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        crate::story::brief(self, f)
    }
}
