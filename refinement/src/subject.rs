//! The one trait of the harness: whatever can perform the alphabet and be observed can be held to the law.

use abide_model::action::{Commit, Env};
use abide_model::outcome::Outcome;
use abide_model::view::View;

/// Something that performs the alphabet. All of it speaks in indices of one world's universe.
pub trait Subject {
    /// What reports call it.
    fn name(&self) -> String;

    /// Performs one committed step and answers.
    ///
    /// # Errors
    /// The subject broke down, or answered with something the world does not contain.
    fn perform(&mut self, commit: Commit) -> Result<Outcome, SubjectError>;

    /// Lets the surroundings act. Nothing durable may change.
    ///
    /// # Errors
    /// The subject broke down.
    fn surroundings(&mut self, env: Env) -> Result<(), SubjectError>;

    /// Moves time to one millisecond before the next tick, where nothing that is not reached yet may count as reached.
    /// A subject without milliseconds stays where it is.
    ///
    /// # Errors
    /// The subject broke down.
    fn almost_tick(&mut self) -> Result<(), SubjectError>;

    /// Everything the subject shows, in the model's words.
    ///
    /// # Errors
    /// The subject broke down, or shows something the world does not contain.
    fn observe(&mut self) -> Result<View, SubjectError>;

    /// Remembers where it is, on a stack.
    ///
    /// # Errors
    /// The subject cannot go back.
    fn save(&mut self) -> Result<(), SubjectError>;

    /// Goes back to the newest remembered place and forgets it.
    ///
    /// # Errors
    /// The subject broke down, or nothing was remembered.
    fn restore(&mut self) -> Result<(), SubjectError>;
}

/// A subject that is not merely wrong but broken.
#[derive(Debug, thiserror::Error)]
pub enum SubjectError {
    /// The runtime's store failed.
    #[error("the store failed: {0}")]
    Store(#[from] abide::store::StoreError),
    /// An id came back that no step of this world could have made.
    #[error("the runtime shows {thing} {id}, which this world does not contain")]
    Stranger {
        /// What kind of id.
        thing: &'static str,
        /// The id.
        id: String,
    },
    /// The subject cannot do this.
    #[error("{0}")]
    Cannot(String),
}
