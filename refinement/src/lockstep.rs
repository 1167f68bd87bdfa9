//! Every transition of a world, performed by a subject beside the model and compared.
//!
//! The walk follows the breadth-first tree of the explored graph: down a tree edge the subject's savepoint is kept; any
//! other transition is performed, compared and taken back. At one state of each transition class everything the law
//! refuses, defers or has already done is tried too, and the instant just before each tick.

use std::collections::BTreeSet;

use abide_model::action::{Action, Commit, Env};
use abide_model::graph::{Edge, Graph};
use abide_model::outcome::Outcome;
use abide_model::state::Facts;
use abide_model::view::{View, view};

use crate::difference::{Divergence, Parting};
use crate::subject::{Subject, SubjectError};

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

/// Walks the whole graph with a subject beside it, and probes at the given states.
///
/// # Errors
/// The first step on which they part.
pub fn walk<S, B: Subject>(
    graph: &Graph<S>,
    subject: &mut B,
    probed: impl IntoIterator<Item = u32>,
) -> Result<Walked, Box<Divergence>>
where
    S: Facts + Copy + Eq + std::hash::Hash,
{
    let probed = probed.into_iter().collect();
    let mut walk = Walk { graph, subject, probed, walked: Walked::default() };
    walk.compare_view(0, None)?;
    walk.visit(0)?;
    Ok(walk.walked)
}

struct Walk<'a, S, B> {
    graph: &'a Graph<S>,
    subject: &'a mut B,
    probed: BTreeSet<u32>,
    walked: Walked,
}

impl<S: Facts + Copy + Eq + std::hash::Hash, B: Subject> Walk<'_, S, B> {
    fn visit(&mut self, here: u32) -> Result<(), Box<Divergence>> {
        self.walked.states += 1;
        if self.probed.contains(&here) {
            self.probe(here)?;
        }
        for edge in self.graph.edges(here) {
            self.walked.transitions += 1;
            self.checked(here, edge.action, Subject::save)?;
            self.step(here, edge)?;
            if self.graph.parent(edge.to) == Some((here, edge.action)) {
                self.visit(edge.to)?;
            }
            self.checked(here, edge.action, Subject::restore)?;
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
        self.checked(here, action, Subject::save)?;
        if just_before.is_some() {
            self.checked(here, action, Subject::almost_tick)?;
        }
        let answer = self.checked(here, action, |subject| subject.perform(commit))?;
        self.compare_outcome(here, action, wanted, answer)?;
        if just_before.is_none() {
            let shown = self.checked(here, action, Subject::observe)?;
            self.compare(here, Some(action), before, shown)?;
        }
        self.checked(here, action, Subject::restore)
    }

    fn checked<T>(
        &mut self,
        here: u32,
        action: Action,
        act: impl FnOnce(&mut B) -> Result<T, SubjectError>,
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
