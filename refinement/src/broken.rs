//! Runtimes broken on purpose: the negative controls of the harness. They wrap a subject and lie in one way each, so
//! that the production code carries no switch for it.

use abide_model::action::{Authority, Commit, Env};
use abide_model::index::{WaitIx, WorkIx};
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
    /// Starts what a hold keeps from starting.
    HoldsIgnored,
    /// Translates, and does not note how far it has come.
    CheckpointIgnored,
}

impl Fault {
    /// Every planted fault.
    pub const ALL: [Self; 4] = [
        Self::WakeSuppressed,
        Self::AuthorityNotChecked,
        Self::HoldsIgnored,
        Self::CheckpointIgnored,
    ];

    /// Its name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::WakeSuppressed => "wake-suppressed",
            Self::AuthorityNotChecked => "authority-not-checked",
            Self::HoldsIgnored => "holds-ignored",
            Self::CheckpointIgnored => "checkpoint-ignored",
        }
    }
}

/// A subject whose stored facts the harness can reach behind its back.
pub trait Tampered: Subject {
    /// Lets a Work forget why it does not start.
    ///
    /// # Errors
    /// The subject broke down.
    fn forget_holds(&mut self, work: WorkIx) -> Result<(), SubjectError>;

    /// Lets the subscription of a wait forget how far it has translated.
    ///
    /// # Errors
    /// The subject broke down.
    fn forget_checkpoint(&mut self, wait: WaitIx) -> Result<(), SubjectError>;
}

/// A subject with a planted fault.
#[derive(Debug)]
pub struct Broken<S> {
    inner: S,
    fault: Fault,
}

impl<S: Tampered> Broken<S> {
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

    /// Claims over a hold. Where something else is in the way the hold stays, so that nothing but the claim is wrong.
    fn claim_anyway(&mut self, claim: Commit, work: WorkIx) -> Result<Outcome, SubjectError> {
        self.inner.save()?;
        self.inner.forget_holds(work)?;
        let outcome = self.inner.perform(claim);
        self.inner.restore()?;
        if outcome?.accepted() {
            self.inner.forget_holds(work)?;
        }
        self.inner.perform(claim)
    }
}

impl<S: Tampered> Subject for Broken<S> {
    fn name(&self) -> String {
        format!("{} with {}", self.inner.name(), self.fault.name())
    }

    fn perform(&mut self, commit: Commit) -> Result<Outcome, SubjectError> {
        match (self.fault, commit) {
            (Fault::WakeSuppressed, Commit::Wake { .. }) => self.pretend(commit),
            (Fault::AuthorityNotChecked, _) => self.inner.perform(with_current_authority(commit)),
            (Fault::HoldsIgnored, Commit::Claim { work }) => self.claim_anyway(commit, work),
            (
                Fault::CheckpointIgnored,
                Commit::Translate { wait, .. } | Commit::RegisterWait { wait, .. },
            ) => {
                let outcome = self.inner.perform(commit)?;
                self.inner.forget_checkpoint(wait)?;
                Ok(outcome)
            }
            (Fault::WakeSuppressed | Fault::HoldsIgnored | Fault::CheckpointIgnored, _) => {
                self.inner.perform(commit)
            }
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
        Commit::Complete { work, ending, declares, .. } => {
            Commit::Complete { work, by, ending, declares }
        }
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
        | Commit::Cancel { .. }
        | Commit::Reload { .. }
        | Commit::Drop { .. }
        | Commit::Replay { .. }
        | Commit::Reopen { .. }
        | Commit::CreateWork { .. }
        | Commit::Hold { .. }
        | Commit::Release { .. }
        | Commit::Translate { .. }
        | Commit::CloseIdle { .. } => commit,
    }
}
