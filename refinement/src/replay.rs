//! A trace file performed again: by the model, which says what the law answers, and by a subject beside it.

use std::fs::File;
use std::io::{self, BufReader, BufWriter};
use std::path::{Path, PathBuf};

use abide_model::law::Law;
use abide_model::outcome::NamedOutcome;
use abide_model::state::State;
use abide_model::trace::{Trace, Unreadable};
use abide_model::worlds::{Visit, World, visit};

use crate::broken::Broken;
use crate::corpus::follow;
use crate::difference::Divergence;
use crate::reference::Reference;
use crate::runs::{Beside, fresh, in_memory};
use crate::runtime::Reopened;

/// Why a trace was not performed to its end.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The file cannot be read or written.
    #[error("{path}: {error}")]
    File {
        /// Which.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// A line is no trace of a world known here.
    #[error("{path}: {error}")]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Where and why.
        error: Unreadable,
    },
    /// The trace was made by a broken law or by a diverging subject, and the law answers otherwise.
    #[error("step {step}: the trace says {written:?}, and the law answers {lawful:?}")]
    Unlawful {
        /// The step, from 1.
        step: usize,
        /// What the file says.
        written: Box<NamedOutcome>,
        /// What the law answers.
        lawful: Box<NamedOutcome>,
    },
    /// The subject parts from the model.
    #[error("the subject parts from the model")]
    Parted(Box<Divergence>),
}

/// Performs a trace and answers how many steps were compared.
///
/// # Errors
/// The file is no trace, the law answers otherwise than it says, or the subject parts from the model.
pub fn replay(file: &Path, beside: Beside, folder: &Path) -> Result<usize, ReplayError> {
    let trace = read(file)?;
    let unreadable = |error| ReplayError::Unreadable { path: file.to_owned(), error };
    let (law, actions) = trace.resolve().map_err(unreadable)?;
    let lawful = Trace::of(Law::of(law.world), &actions);
    // A counterexample of a broken law says what that law answers, which is not what is compared.
    let of_a_mutant = trace.header.mutant.is_some();
    for (at, (written, lawful)) in trace.lines.iter().zip(&lawful.lines).enumerate() {
        if written.outcome != lawful.outcome && !of_a_mutant {
            return Err(ReplayError::Unlawful {
                step: at + 1,
                written: Box::new(written.outcome.clone()),
                lawful: Box::new(lawful.outcome.clone()),
            });
        }
    }
    let steps = actions.len();
    visit(law.world, Replay { actions, beside, folder }).map_err(ReplayError::Parted)?;
    Ok(steps)
}

fn read(file: &Path) -> Result<Trace, ReplayError> {
    let open =
        File::open(file).map_err(|error| ReplayError::File { path: file.to_owned(), error })?;
    Trace::read(BufReader::new(open))
        .map_err(|error| ReplayError::Unreadable { path: file.to_owned(), error })
}

/// Writes what the law says about the steps of a divergence, to be replayed or opened.
///
/// # Errors
/// The file cannot be written.
pub fn write(divergence: &Divergence, file: &Path) -> io::Result<()> {
    let trace = Trace::of(Law::of(divergence.world), &divergence.trace);
    trace.write(BufWriter::new(File::create(file)?))
}

struct Replay<'a> {
    actions: Vec<abide_model::action::Action>,
    beside: Beside,
    folder: &'a Path,
}

impl Visit for Replay<'_> {
    type Out = Result<(), Box<Divergence>>;

    fn visit<const W: usize, const E: usize, const T: usize>(
        self,
        world: &'static World,
    ) -> Self::Out {
        let model = Reference::new(Law::of(world), State::<W, E, T>::new());
        match self.beside {
            Beside::Model => {
                let mut subject = Reference::new(Law::of(world), State::<W, E, T>::new());
                follow(model, &mut subject, &self.actions)
            }
            Beside::Sqlite => {
                let store = in_memory();
                follow(model, &mut fresh(world, &store)?, &self.actions)
            }
            Beside::Broken(fault) => {
                let store = in_memory();
                let mut subject = Broken::new(fresh(world, &store)?, fault);
                follow(model, &mut subject, &self.actions)
            }
            Beside::File => {
                let file = self.folder.join("replay.db");
                let mut subject = Reopened::new(world, file)
                    .map_err(|error| crate::corpus::broke(world, &error))?;
                follow(model, &mut subject, &self.actions)
            }
        }
    }
}
