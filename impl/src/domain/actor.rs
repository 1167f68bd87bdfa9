//! Who acts: every journal row names one. OURS-14

use std::fmt;

use super::{AttemptNo, Epoch, WorkId};

/// The author of a command, as the journal names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Actor {
    /// A person or program with a token of its own: `principal:ops`.
    Principal(String),
    /// An ingress: `ingress:github`.
    Ingress(String),
    /// A process of an attempt: `attempt:WORK/N@EPOCH`, by row ids.
    Attempt {
        /// The Work.
        work: WorkId,
        /// The attempt.
        attempt: AttemptNo,
        /// The claim it acts under.
        epoch: Epoch,
    },
    /// One of the daemon's loops: `loop:router`.
    Loop(&'static str),
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Principal(name) => write!(f, "principal:{name}"),
            Self::Ingress(name) => write!(f, "ingress:{name}"),
            Self::Attempt { work, attempt, epoch } => write!(f, "attempt:{work}/{attempt}@{epoch}"),
            Self::Loop(name) => write!(f, "loop:{name}"),
        }
    }
}
