//! The model as a subject: what every other subject is compared with, and a check of the harness itself.

use abide_model::action::{Action, Commit, Env};
use abide_model::law::Law;
use abide_model::outcome::Outcome;
use abide_model::state::Facts;
use abide_model::view::{View, view};
use abide_model::worlds::World;

use crate::subject::{Subject, SubjectError};

/// The model, one state at a time.
#[derive(Debug)]
pub struct Reference<S> {
    law: Law,
    state: S,
    saved: Vec<S>,
}

impl<S: Facts + Copy> Reference<S> {
    /// The model of a law, in this state.
    pub fn new(law: Law, state: S) -> Self {
        Self { law, state, saved: Vec::new() }
    }

    /// Whose universe it speaks of.
    pub const fn world(&self) -> &'static World {
        self.law.world
    }

    /// Where it is.
    pub const fn state(&self) -> &S {
        &self.state
    }

    /// What an action would answer and lead to, with nothing done.
    pub fn look_ahead(&self, action: Action) -> (Outcome, S) {
        self.law.step(&self.state, action)
    }

    /// Performs any action.
    pub fn step(&mut self, action: Action) -> Outcome {
        let (outcome, after) = self.look_ahead(action);
        self.state = after;
        outcome
    }
}

impl<S: Facts + Copy> Subject for Reference<S> {
    fn name(&self) -> String {
        "model".to_owned()
    }

    fn perform(&mut self, commit: Commit) -> Result<Outcome, SubjectError> {
        Ok(self.step(commit.into()))
    }

    fn surroundings(&mut self, env: Env) -> Result<(), SubjectError> {
        self.step(env.into());
        Ok(())
    }

    fn almost_tick(&mut self) -> Result<(), SubjectError> {
        Ok(())
    }

    fn observe(&mut self) -> Result<View, SubjectError> {
        Ok(view(self.law.world, &self.state))
    }

    fn save(&mut self) -> Result<(), SubjectError> {
        self.saved.push(self.state);
        Ok(())
    }

    fn restore(&mut self) -> Result<(), SubjectError> {
        let saved = self.saved.pop();
        self.state = saved.ok_or_else(|| SubjectError::Cannot("nothing was saved".to_owned()))?;
        Ok(())
    }
}
