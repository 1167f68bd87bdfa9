//! Class traces on subjects that cannot go back: each starts fresh and is compared step by step. The traces reach every
//! transition class of a world, what the law refuses, defers or has already done included.

use std::ops::AddAssign;

use abide_model::action::Action;
use abide_model::outcome::Outcome;
use abide_model::state::Facts;
use abide_model::view::{View, view};
use abide_model::worlds::World;

use crate::difference::{Divergence, Parting};
use crate::reference::Reference;
use crate::sharing::each;
use crate::subject::{Subject, SubjectError};

/// What a corpus run did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Covered {
    /// Traces followed.
    pub traces: usize,
    /// Steps performed and compared, refused ones among them.
    pub steps: usize,
}

impl AddAssign for Covered {
    fn add_assign(&mut self, other: Self) {
        self.traces += other.traces;
        self.steps += other.steps;
    }
}

/// Follows traces, each on a fresh subject beside a fresh model.
///
/// # Errors
/// The first step on which they part.
pub fn cover<S: Facts + Copy, B: Subject>(
    traces: &[Vec<Action>],
    model: impl Fn() -> Reference<S> + Sync,
    fresh: impl Fn() -> Result<B, SubjectError> + Sync,
) -> Result<Covered, Box<Divergence>> {
    each(traces, |trace| {
        let model = model();
        let mut subject = fresh().map_err(|error| broke(model.world(), &error))?;
        follow(model, &mut subject, trace)?;
        Ok(Covered { traces: 1, steps: trace.len() })
    })
}

/// Follows one trace, comparing outcome and view after every step.
///
/// # Errors
/// The first step on which they part.
pub fn follow<S: Facts + Copy>(
    mut model: Reference<S>,
    subject: &mut dyn Subject,
    trace: &[Action],
) -> Result<(), Box<Divergence>> {
    for (at, action) in trace.iter().enumerate() {
        let wanted = model.step(*action);
        let shows = view(model.world(), model.state());
        let parting = match take(subject, *action) {
            Err(error) => Some(Parting::Failure(error.to_string())),
            Ok((Some(answer), _)) if answer != wanted => {
                Some(Parting::Outcome { model: wanted, subject: answer })
            }
            Ok((_, shown)) => (shows != shown)
                .then(|| Parting::View { model: Box::new(shows), subject: Box::new(shown) }),
        };
        if let Some(what) = parting {
            let (world, subject) = (model.world(), subject.name());
            let trace = trace[..=at].to_vec();
            return Err(Box::new(Divergence { world, subject, trace, what }));
        }
    }
    Ok(())
}

fn take(
    subject: &mut dyn Subject,
    action: Action,
) -> Result<(Option<Outcome>, View), SubjectError> {
    let answer = match action {
        Action::Commit(commit) => Some(subject.perform(commit)?),
        Action::World(env) => {
            subject.surroundings(env)?;
            None
        }
    };
    Ok((answer, subject.observe()?))
}

/// A subject that could not even begin.
#[must_use]
pub fn broke(world: &'static World, error: &SubjectError) -> Box<Divergence> {
    Box::new(Divergence {
        world,
        subject: "a fresh subject".to_owned(),
        trace: Vec::new(),
        what: Parting::Failure(error.to_string()),
    })
}
