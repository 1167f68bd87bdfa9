//! Runtimes broken on purpose: the negative controls of the harness. They wrap a subject and lie in one way each, so
//! that the production code carries no switch for it.

use abide_model::action::{Authority, Commit, Env};
use abide_model::outcome::Outcome;
use abide_model::view::View;

use crate::subject::{Subject, SubjectError};

/// How a runtime is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Answers that it woke a wait, and does not.
    WakeSuppressed,
    /// Takes any authority for the current one.
    AuthorityNotChecked,
}

impl Fault {
    /// Every planted fault.
    pub const ALL: [Self; 2] = [Self::WakeSuppressed, Self::AuthorityNotChecked];

    /// Its name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::WakeSuppressed => "wake-suppressed",
            Self::AuthorityNotChecked => "authority-not-checked",
        }
    }
}

/// A subject with a planted fault.
#[derive(Debug)]
pub struct Broken<S> {
    inner: S,
    fault: Fault,
}

impl<S: Subject> Broken<S> {
    /// Plants a fault.
    pub const fn new(inner: S, fault: Fault) -> Self {
        Self { inner, fault }
    }

    /// What the wrapped subject would have answered, with nothing done.
    fn pretend(&mut self, commit: Commit) -> Result<Outcome, SubjectError> {
        self.inner.save()?;
        let outcome = self.inner.perform(commit);
        self.inner.restore()?;
        outcome
    }
}

impl<S: Subject> Subject for Broken<S> {
    fn name(&self) -> String {
        format!("{} with {}", self.inner.name(), self.fault.name())
    }

    fn perform(&mut self, commit: Commit) -> Result<Outcome, SubjectError> {
        match self.fault {
            Fault::WakeSuppressed if matches!(commit, Commit::Wake { .. }) => self.pretend(commit),
            Fault::WakeSuppressed => self.inner.perform(commit),
            Fault::AuthorityNotChecked => self.inner.perform(with_current_authority(commit)),
        }
    }

    fn surroundings(&mut self, env: Env) -> Result<(), SubjectError> {
        self.inner.surroundings(env)
    }

    fn almost_tick(&mut self) -> Result<(), SubjectError> {
        self.inner.almost_tick()
    }

    fn observe(&mut self) -> Result<View, SubjectError> {
        self.inner.observe()
    }

    fn save(&mut self) -> Result<(), SubjectError> {
        self.inner.save()
    }

    fn restore(&mut self) -> Result<(), SubjectError> {
        self.inner.restore()
    }
}

fn with_current_authority(commit: Commit) -> Commit {
    let by = Authority::Current;
    match commit {
        Commit::ClearNeverHanded { work, .. } => Commit::ClearNeverHanded { work, by },
        Commit::Pin { work, .. } => Commit::Pin { work, by },
        Commit::Renew { work, .. } => Commit::Renew { work, by },
        Commit::Complete { work, .. } => Commit::Complete { work, by },
        Commit::Fail { work, .. } => Commit::Fail { work, by },
        Commit::RegisterWait { work, wait, after, .. } => {
            Commit::RegisterWait { work, by, wait, after }
        }
        Commit::SettleRecovery { work, verdict, .. } => {
            Commit::SettleRecovery { work, by, verdict }
        }
        Commit::Accept { .. }
        | Commit::CommitRoute { .. }
        | Commit::Claim { .. }
        | Commit::Wake { .. }
        | Commit::FireTimer { .. }
        | Commit::AcceptTimeout { .. }
        | Commit::ClaimRecovery { .. }
        | Commit::Vacate { .. }
        | Commit::Cancel { .. } => commit,
    }
}
