//! Our own explorer: breadth first, exact, with every edge kept.
//!
//! The visited set compares whole states, so no fingerprint can collide. Parents are those of a breadth-first tree, so
//! every path is a shortest one. A transition is a state and an offered action that is accepted or changes the state;
//! what the law refuses, defers or has already done is no edge, and is probed at class representatives (`classes.rs`).

use std::hash::{Hash, Hasher};
use std::ops::ControlFlow;

use crate::action::Action;
use crate::law::Law;
use crate::outcome::Outcome;
use crate::state::{Facts, State};
use crate::worlds::offered;

/// One transition out of a state.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    /// What was done.
    pub action: Action,
    /// What the law answered.
    pub outcome: Outcome,
    /// The state it leads to.
    pub to: u32,
}

/// The reachable states of one world under one law, with every transition between them.
#[derive(Debug)]
pub struct Graph<S> {
    law: Law,
    states: Vec<S>,
    parents: Vec<Option<(u32, Action)>>,
    depths: Vec<u16>,
    edges: Vec<Edge>,
    /// Edges of state `i` are `edges[rows[i]..rows[i + 1]]`.
    rows: Vec<u32>,
}

/// The sizes of an explored world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    /// Reachable states, the first included.
    pub states: usize,
    /// Transitions between them.
    pub transitions: usize,
    /// Actions on the longest shortest path.
    pub depth: usize,
}

/// What an exploration comes across: each state once, each offered step from it once.
pub enum Sight<'a, S> {
    /// A state seen for the first time.
    State(&'a S),
    /// An action offered in a state, refused ones included.
    Step {
        /// The state before it.
        before: &'a S,
        /// What was done.
        action: Action,
        /// What the law answered.
        outcome: Outcome,
        /// The state after it.
        after: &'a S,
    },
}

/// Where an exploration was ended, as the shortest way there.
pub type Stop = Vec<Action>;

/// Explores a world to exhaustion.
pub fn explore<const W: usize, const E: usize, const T: usize>(law: Law) -> Graph<State<W, E, T>> {
    explore_while(law, |_| ControlFlow::Continue(())).0
}

/// Explores a world until it is exhausted or `look` has seen enough; what ends it is nearest to the first state.
pub fn explore_while<const W: usize, const E: usize, const T: usize>(
    law: Law,
    mut look: impl FnMut(Sight<'_, State<W, E, T>>) -> ControlFlow<()>,
) -> (Graph<State<W, E, T>>, Option<Stop>) {
    let mut graph = Graph::new(law, State::new());
    let mut seen = Seen::new();
    seen.insert(&graph.states, 0);
    if look(Sight::State(&graph.states[0])).is_break() {
        return (graph, Some(Vec::new()));
    }
    let mut next = 0;
    while next < graph.states.len() {
        if let ControlFlow::Break(last) = graph.expand(next, &mut seen, &mut look) {
            let mut stop = graph.path(index(next));
            stop.push(last);
            return (graph, Some(stop));
        }
        next += 1;
    }
    (graph, None)
}

impl<S: Facts + Copy + Eq + Hash> Graph<S> {
    fn new(law: Law, first: S) -> Self {
        Graph {
            law,
            states: vec![first],
            parents: vec![None],
            depths: vec![0],
            edges: Vec::new(),
            rows: vec![0],
        }
    }

    fn expand(
        &mut self,
        from: usize,
        seen: &mut Seen,
        look: &mut impl FnMut(Sight<'_, S>) -> ControlFlow<()>,
    ) -> ControlFlow<Action> {
        let before = self.states[from];
        for action in offered(self.law.world, &before) {
            let (outcome, after) = self.law.step(&before, action);
            let mut enough = look(Sight::Step { before: &before, action, outcome, after: &after });
            if outcome.accepted() || after != before {
                let known = self.states.len();
                let to = self.visit(from, action, after, seen);
                self.edges.push(Edge { action, outcome, to });
                if enough.is_continue() && self.states.len() > known {
                    enough = look(Sight::State(&after));
                }
            }
            if enough.is_break() {
                return ControlFlow::Break(action);
            }
        }
        self.rows.push(index(self.edges.len()));
        ControlFlow::Continue(())
    }

    fn visit(&mut self, from: usize, action: Action, state: S, seen: &mut Seen) -> u32 {
        let fresh = index(self.states.len());
        self.states.push(state);
        let found = seen.insert(&self.states, fresh);
        if found == fresh {
            self.parents.push(Some((index(from), action)));
            self.depths.push(self.depths[from] + 1);
        } else {
            self.states.pop();
        }
        found
    }
}

impl<S: Facts> Graph<S> {
    /// The law explored.
    pub fn law(&self) -> Law {
        self.law
    }

    /// Every state, in order of discovery: depth never falls.
    pub fn states(&self) -> &[S] {
        &self.states
    }

    /// One state.
    pub fn state(&self, ix: u32) -> &S {
        &self.states[at(ix)]
    }

    /// The state and action that first led here; `None` for the first state. The tree they span is breadth first.
    pub fn parent(&self, ix: u32) -> Option<(u32, Action)> {
        self.parents[at(ix)]
    }

    /// Actions from the first state to this one.
    pub fn depth(&self, ix: u32) -> usize {
        usize::from(self.depths[at(ix)])
    }

    /// The transitions out of a state, in the order the surroundings offer them.
    pub fn edges(&self, ix: u32) -> &[Edge] {
        &self.edges[at(self.rows[at(ix)])..at(self.rows[at(ix) + 1])]
    }

    /// The numbers of all states.
    pub fn indices(&self) -> std::ops::Range<u32> {
        0..index(self.states.len())
    }

    /// Every action offered in a state with its outcome: transitions, refusals and duplicates alike.
    pub fn offers(&self, ix: u32) -> Vec<(Action, Outcome)>
    where
        S: Copy,
    {
        let state = self.state(ix);
        offered(self.law.world, state)
            .into_iter()
            .map(|action| (action, self.law.step(state, action).0))
            .collect()
    }

    /// The shortest way from the first state to this one.
    pub fn path(&self, ix: u32) -> Vec<Action> {
        let mut path = Vec::with_capacity(self.depth(ix));
        let mut here = ix;
        while let Some((parent, action)) = self.parent(here) {
            path.push(action);
            here = parent;
        }
        path.reverse();
        path
    }

    /// The sizes of this graph.
    pub fn counts(&self) -> Counts {
        Counts {
            states: self.states.len(),
            transitions: self.edges.len(),
            depth: self.depths.last().copied().map_or(0, usize::from),
        }
    }
}

/// An open-addressed table of state numbers, compared by the states themselves.
struct Seen {
    slots: Vec<u32>,
    used: usize,
}

const EMPTY: u32 = u32::MAX;

impl Seen {
    fn new() -> Self {
        Seen { slots: vec![EMPTY; 1 << 12], used: 0 }
    }

    /// The number under which this state is already known, or its own after keeping it.
    fn insert<S: Eq + Hash>(&mut self, states: &[S], ix: u32) -> u32 {
        if self.used * 2 >= self.slots.len() {
            self.grow(states);
        }
        let mut slot = self.first_slot(&states[at(ix)]);
        loop {
            match self.slots[slot] {
                EMPTY => break,
                known if states[at(known)] == states[at(ix)] => return known,
                _ => slot = (slot + 1) % self.slots.len(),
            }
        }
        self.slots[slot] = ix;
        self.used += 1;
        ix
    }

    fn grow<S: Hash>(&mut self, states: &[S]) {
        let old = std::mem::take(&mut self.slots);
        self.slots = vec![EMPTY; old.len() * 4];
        for ix in old.into_iter().filter(|ix| *ix != EMPTY) {
            let mut slot = self.first_slot(&states[at(ix)]);
            while self.slots[slot] != EMPTY {
                slot = (slot + 1) % self.slots.len();
            }
            self.slots[slot] = ix;
        }
    }

    /// The table's size is a power of two, so the low bits of the hash pick the slot.
    fn first_slot<S: Hash>(&self, state: &S) -> usize {
        let mut mix = Mix(0);
        state.hash(&mut mix);
        let low = mix.finish() & (self.slots.len() as u64 - 1);
        usize::try_from(low).expect("a slot number fits the table it points into")
    }
}

/// A small multiplicative hash: it only spreads states over the table, equality decides.
struct Mix(u64);

impl Hasher for Mix {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.0 = (self.0.rotate_left(29) ^ u64::from_le_bytes(word))
                .wrapping_mul(0x9E37_79B9_7F4A_7C15);
        }
    }

    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}

fn index(len: usize) -> u32 {
    u32::try_from(len).expect("a world has fewer than four thousand million states and transitions")
}

fn at(ix: u32) -> usize {
    usize::try_from(ix).expect("a state number fits a table index")
}
