//! Crash points: along traces through every transition class, the subject crashes before and after every commit.
//!
//! Before the commit nothing may have changed. After it, before the answer, everything must be there, and an actor that
//! heard nothing and repeats its action must be answered as the law answers the repetition, with nothing changed that
//! the law does not change.

use std::ops::AddAssign;

use abide_model::action::{Action, Commit};
use abide_model::outcome::Outcome;
use abide_model::state::Facts;
use abide_model::view::view;

use crate::corpus::broke;
use crate::difference::{Divergence, Parting};
use crate::reference::Reference;
use crate::sharing::each;
use crate::subject::{Subject, SubjectError};

/// A subject that can lose a commit and be opened again.
pub trait Crashing: Subject {
    /// Performs one step and crashes before its commit is durable; then the subject is open again.
    ///
    /// # Errors
    /// The subject broke down.
    fn perform_and_lose(&mut self, commit: Commit) -> Result<(), SubjectError>;

    /// Crashes between two commits; then the subject is open again.
    ///
    /// # Errors
    /// The subject broke down.
    fn reopen(&mut self) -> Result<(), SubjectError>;
}

/// What was tried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Crashed {
    /// Traces followed.
    pub traces: usize,
    /// Crashes before a commit.
    pub before: usize,
    /// Crashes after a commit, before its answer.
    pub after: usize,
    /// Actions repeated by an actor that heard nothing.
    pub repeated: usize,
}

impl AddAssign for Crashed {
    fn add_assign(&mut self, other: Self) {
        self.traces += other.traces;
        self.before += other.before;
        self.after += other.after;
        self.repeated += other.repeated;
    }
}

/// Crashes along traces, each on a fresh subject beside a fresh model.
///
/// # Errors
/// The first crash after which subject and model part.
pub fn crash<S, C>(
    traces: &[Vec<Action>],
    model: impl Fn() -> Reference<S> + Sync,
    fresh: impl Fn() -> Result<C, SubjectError> + Sync,
) -> Result<Crashed, Box<Divergence>>
where
    S: Facts + Copy + Eq,
    C: Crashing,
{
    each(traces, |trace| {
        let model = model();
        let subject = fresh().map_err(|error| broke(model.world(), &error))?;
        let crashed = Crashed { traces: 1, ..Crashed::default() };
        let mut run = Run { model, subject, done: Vec::new(), crashed };
        for action in trace {
            run.step(*action)?;
        }
        Ok(run.crashed)
    })
}

struct Run<S, C> {
    model: Reference<S>,
    subject: C,
    done: Vec<Action>,
    crashed: Crashed,
}

impl<S: Facts + Copy + Eq, C: Crashing> Run<S, C> {
    fn step(&mut self, action: Action) -> Result<(), Box<Divergence>> {
        self.done.push(action);
        match action {
            Action::Commit(commit) => self.crash_around(commit),
            Action::World(env) => {
                self.model.step(action);
                self.checked(|subject| subject.surroundings(env))?;
                self.compare()
            }
        }
    }

    fn crash_around(&mut self, commit: Commit) -> Result<(), Box<Divergence>> {
        self.checked(|subject| subject.perform_and_lose(commit))?;
        self.crashed.before += 1;
        self.compare()?;

        let wanted = self.model.step(commit.into());
        let answer = self.checked(|subject| subject.perform(commit))?;
        self.compare_outcome(wanted, answer)?;
        self.checked(Crashing::reopen)?;
        self.crashed.after += 1;
        self.compare()?;
        self.repeat(commit)
    }

    /// Repeats what was not answered. Where the law would let the repetition change something, as a second wait of the
    /// same attempt number never could, it is a step of its own and left to the walk.
    fn repeat(&mut self, commit: Commit) -> Result<(), Box<Divergence>> {
        let (wanted, after) = self.model.look_ahead(commit.into());
        if after != *self.model.state() {
            return Ok(());
        }
        self.crashed.repeated += 1;
        let answer = self.checked(|subject| subject.perform(commit))?;
        self.compare_outcome(wanted, answer)?;
        self.compare()
    }

    fn checked<T>(
        &mut self,
        act: impl FnOnce(&mut C) -> Result<T, SubjectError>,
    ) -> Result<T, Box<Divergence>> {
        act(&mut self.subject).map_err(|error| self.parted(Parting::Failure(error.to_string())))
    }

    fn compare_outcome(&self, model: Outcome, subject: Outcome) -> Result<(), Box<Divergence>> {
        if model == subject {
            return Ok(());
        }
        Err(self.parted(Parting::Outcome { model, subject }))
    }

    fn compare(&mut self) -> Result<(), Box<Divergence>> {
        let model = view(self.model.world(), self.model.state());
        let shown = self.checked(|subject| subject.observe())?;
        if model == shown {
            return Ok(());
        }
        Err(self.parted(Parting::View { model: Box::new(model), subject: Box::new(shown) }))
    }

    fn parted(&self, what: Parting) -> Box<Divergence> {
        let (world, subject) = (self.model.world(), self.subject.name());
        Box::new(Divergence { world, subject, trace: self.done.clone(), what })
    }
}
