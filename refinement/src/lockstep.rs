//! Every transition of a world, performed by a subject beside the model and compared.
//!
//! The walk follows the breadth-first tree of the explored graph: down a tree edge the subject's savepoint is kept; any
//! other transition is performed, compared and taken back. At one state of each transition class everything the law
//! refuses, defers or has already done is tried too, and the instant just before each tick.
//!
//! A savepoint costs the more the more lie below it. So the tree is cut into pieces: the root of a piece is reached on a
//! fresh subject by performing its path again, and pieces are walked side by side.

use std::collections::BTreeSet;
use std::hash::Hash;
use std::ops::AddAssign;

use abide_model::action::{Action, Commit, Env};
use abide_model::graph::{Edge, Graph};
use abide_model::outcome::Outcome;
use abide_model::state::Facts;
use abide_model::view::{View, view};

use crate::difference::{Divergence, Parting};
use crate::sharing::each;
use crate::subject::{Subject, SubjectError};

/// Savepoints that may lie below one another before a piece of the tree is worth a fresh subject.
const DEEP: usize = 6;

/// Transitions below a state that are worth a fresh subject.
const WORTH_IT: usize = 600;

/// What a walk did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Walked {
    /// Reachable states visited.
    pub states: usize,
    /// Transitions performed and compared.
    pub transitions: usize,
    /// Refusals, deferrals, conflicts and duplicates tried, with nothing changed.
    pub probes: usize,
    /// Answers compared one millisecond before a tick.
    pub instants: usize,
}

impl AddAssign for Walked {
    fn add_assign(&mut self, other: Self) {
        self.states += other.states;
        self.transitions += other.transitions;
        self.probes += other.probes;
        self.instants += other.instants;
    }
}

/// What a walk found in one piece.
pub type Found = Result<Walked, Box<Divergence>>;

/// Makes a fresh subject, lets it be walked, and puts it away.
pub trait Stage: Sync {
    /// Hands a fresh subject to `act`, or says why there is none.
    ///
    /// # Errors
    /// What `act` found, or that no subject could be made.
    fn with(&self, act: &mut dyn FnMut(&mut dyn Subject) -> Found) -> Found;
}

/// Walks the whole graph with subjects beside it, and probes at the given states.
///
/// # Errors
/// The first step on which they part.
pub fn walk<S>(graph: &Graph<S>, stage: &dyn Stage, probed: impl IntoIterator<Item = u32>) -> Found
where
    S: Facts + Copy + Eq + Hash + Sync,
{
    let probed = &probed.into_iter().collect();
    let roots = &roots(graph);
    each(roots, |root| {
        stage.with(&mut |subject| {
            Walk { graph, subject, probed, roots, walked: Walked::default() }.piece(*root)
        })
    })
}

/// The states whose subtrees are walked on subjects of their own, in order of discovery, the first state among them.
fn roots<S: Facts + Copy + Eq + Hash>(graph: &Graph<S>) -> Vec<u32> {
    let mut below: Vec<usize> = graph.indices().map(|ix| graph.edges(ix).len()).collect();
    for ix in graph.indices().rev() {
        if let Some((parent, _)) = graph.parent(ix) {
            below[at(parent)] += below[at(ix)];
        }
    }
    let mut begins: Vec<usize> = Vec::with_capacity(below.len());
    let mut roots = Vec::new();
    for ix in graph.indices() {
        let depth = graph.depth(ix);
        let piece = graph.parent(ix).map(|(parent, _)| begins[at(parent)]);
        match piece {
            Some(begun) if depth - begun < DEEP || below[at(ix)] < WORTH_IT => begins.push(begun),
            Some(_) | None => {
                begins.push(depth);
                roots.push(ix);
            }
        }
    }
    roots
}

fn at(ix: u32) -> usize {
    usize::try_from(ix).expect("a state number fits a table index")
}

struct Walk<'a, S> {
    graph: &'a Graph<S>,
    subject: &'a mut dyn Subject,
    probed: &'a BTreeSet<u32>,
    roots: &'a [u32],
    walked: Walked,
}

impl<S: Facts + Copy + Eq + Hash> Walk<'_, S> {
    /// Walks the piece of the tree that begins at a state.
    fn piece(mut self, root: u32) -> Found {
        for action in self.graph.path(root) {
            self.checked(root, action, |subject| match action {
                Action::Commit(commit) => subject.perform(commit).map(drop),
                Action::World(env) => subject.surroundings(env),
            })?;
        }
        self.compare_view(root, None)?;
        self.visit(root)?;
        Ok(self.walked)
    }

    fn visit(&mut self, here: u32) -> Result<(), Box<Divergence>> {
        self.walked.states += 1;
        if self.probed.contains(&here) {
            self.probe(here)?;
        }
        for edge in self.graph.edges(here) {
            self.walked.transitions += 1;
            self.checked(here, edge.action, |subject| subject.save())?;
            self.step(here, edge)?;
            let tree = self.graph.parent(edge.to) == Some((here, edge.action));
            if tree && self.roots.binary_search(&edge.to).is_err() {
                self.visit(edge.to)?;
            }
            self.checked(here, edge.action, |subject| subject.restore())?;
        }
        Ok(())
    }

    fn step(&mut self, here: u32, edge: &Edge) -> Result<(), Box<Divergence>> {
        match edge.action {
            Action::Commit(commit) => {
                let answer = self.checked(here, edge.action, |subject| subject.perform(commit))?;
                self.compare_outcome(here, edge.action, edge.outcome, answer)?;
            }
            Action::World(env) => {
                self.checked(here, edge.action, |subject| subject.surroundings(env))?;
            }
        }
        self.compare_view(edge.to, Some((here, edge.action)))
    }

    /// Tries everything that is no transition here, and everything once more just before the next tick.
    fn probe(&mut self, here: u32) -> Result<(), Box<Divergence>> {
        let before = view(self.graph.law().world, self.graph.state(here));
        for (action, outcome) in self.graph.offers(here) {
            let Action::Commit(commit) = action else { continue };
            if !self.is_transition(here, action) {
                self.walked.probes += 1;
                self.try_commit(here, action, commit, outcome, None, &before)?;
            }
            if self.ticks(here) {
                self.walked.instants += 1;
                self.try_commit(here, action, commit, outcome, Some(Env::Tick), &before)?;
            }
        }
        Ok(())
    }

    fn is_transition(&self, here: u32, action: Action) -> bool {
        self.graph.edges(here).iter().any(|edge| edge.action == action)
    }

    fn ticks(&self, here: u32) -> bool {
        self.is_transition(here, Env::Tick.into())
    }

    /// Performs one commit and takes it back. With `Tick` it is performed one millisecond before that tick, where the
    /// law must still answer as it does now; whatever is refused must change nothing.
    fn try_commit(
        &mut self,
        here: u32,
        action: Action,
        commit: Commit,
        wanted: Outcome,
        just_before: Option<Env>,
        before: &View,
    ) -> Result<(), Box<Divergence>> {
        self.checked(here, action, |subject| subject.save())?;
        if just_before.is_some() {
            self.checked(here, action, |subject| subject.almost_tick())?;
        }
        let answer = self.checked(here, action, |subject| subject.perform(commit))?;
        self.compare_outcome(here, action, wanted, answer)?;
        if just_before.is_none() {
            let shown = self.checked(here, action, |subject| subject.observe())?;
            self.compare(here, Some(action), before, shown)?;
        }
        self.checked(here, action, |subject| subject.restore())
    }

    fn checked<T>(
        &mut self,
        here: u32,
        action: Action,
        act: impl FnOnce(&mut dyn Subject) -> Result<T, SubjectError>,
    ) -> Result<T, Box<Divergence>> {
        act(self.subject).map_err(|error| {
            self.divergence(here, Some(action), Parting::Failure(error.to_string()))
        })
    }

    fn compare_outcome(
        &self,
        here: u32,
        action: Action,
        model: Outcome,
        subject: Outcome,
    ) -> Result<(), Box<Divergence>> {
        if model == subject {
            return Ok(());
        }
        Err(self.divergence(here, Some(action), Parting::Outcome { model, subject }))
    }

    fn compare_view(&mut self, at: u32, by: Option<(u32, Action)>) -> Result<(), Box<Divergence>> {
        let model = view(self.graph.law().world, self.graph.state(at));
        let (here, action) = by.map_or((at, None), |(here, action)| (here, Some(action)));
        let shown = self
            .subject
            .observe()
            .map_err(|error| self.divergence(here, action, Parting::Failure(error.to_string())))?;
        self.compare(here, action, &model, shown)
    }

    fn compare(
        &self,
        here: u32,
        action: Option<Action>,
        model: &View,
        subject: View,
    ) -> Result<(), Box<Divergence>> {
        if *model == subject {
            return Ok(());
        }
        let what = Parting::View { model: Box::new(model.clone()), subject: Box::new(subject) };
        Err(self.divergence(here, action, what))
    }

    fn divergence(&self, here: u32, action: Option<Action>, what: Parting) -> Box<Divergence> {
        let mut trace = self.graph.path(here);
        trace.extend(action);
        Box::new(Divergence {
            world: self.graph.law().world,
            subject: self.subject.name(),
            trace,
            what,
        })
    }
}
