//! Runtimes broken on purpose: the negative controls of the harness. They wrap a subject and lie in one way each, so
//! that the production code carries no switch for it.

use abide_model::action::{Authority, Commit, Env, Hint};
use abide_model::index::{WaitIx, WorkIx};
use abide_model::outcome::{Outcome, Receipt, RouteMark};
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
    /// Starts what waits for its retry.
    BackoffIgnored,
    /// Lets the retry of an earlier failure end the backoff of a later one.
    StaleRetryClears,
    /// Cuts an excessive hint down to the bound.
    HintsClamped,
    /// Answers that it gave up a lease, and does not.
    DetachIgnored,
    /// Lets the tokens of a backup live on in what is restored from it.
    TokensKeptOverRestore,
}

impl Fault {
    /// Every planted fault.
    pub const ALL: [Self; 9] = [
        Self::WakeSuppressed,
        Self::AuthorityNotChecked,
        Self::HoldsIgnored,
        Self::CheckpointIgnored,
        Self::BackoffIgnored,
        Self::StaleRetryClears,
        Self::HintsClamped,
        Self::DetachIgnored,
        Self::TokensKeptOverRestore,
    ];

    /// Its name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::WakeSuppressed => "wake-suppressed",
            Self::AuthorityNotChecked => "authority-not-checked",
            Self::HoldsIgnored => "holds-ignored",
            Self::CheckpointIgnored => "checkpoint-ignored",
            Self::BackoffIgnored => "backoff-ignored",
            Self::StaleRetryClears => "stale-retry-clears",
            Self::HintsClamped => "hints-clamped",
            Self::DetachIgnored => "detach-ignored",
            Self::TokensKeptOverRestore => "tokens-kept-over-restore",
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

    /// Lets a Work forget that it waits for its retry.
    ///
    /// # Errors
    /// The subject broke down.
    fn forget_backoff(&mut self, work: WorkIx) -> Result<(), SubjectError>;

    /// Performs a commit, and gives every attempt the token back that it had before.
    ///
    /// # Errors
    /// The subject broke down.
    fn perform_keeping_tokens(&mut self, commit: Commit) -> Result<Outcome, SubjectError>;
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

    /// Claims over what keeps a Work from starting. Where something else is in the way too it stays, so that nothing but
    /// the claim is wrong.
    fn claim_anyway(
        &mut self,
        claim: Commit,
        forget: impl Fn(&mut S) -> Result<(), SubjectError>,
    ) -> Result<Outcome, SubjectError> {
        self.inner.save()?;
        forget(&mut self.inner)?;
        let outcome = self.inner.perform(claim);
        self.inner.restore()?;
        if outcome?.accepted() {
            forget(&mut self.inner)?;
        }
        self.inner.perform(claim)
    }

    /// Takes a retry of an earlier failure for one of the last.
    fn route_and_clear(&mut self, route: Commit) -> Result<Outcome, SubjectError> {
        let outcome = self.inner.perform(route)?;
        if let Outcome::Accepted(Receipt::Routed { mark: RouteMark::StaleRetry, work }) = outcome
            && let Some(work) = work
        {
            self.inner.forget_backoff(work)?;
        }
        Ok(outcome)
    }
}

impl<S: Tampered> Subject for Broken<S> {
    fn name(&self) -> String {
        format!("{} with {}", self.inner.name(), self.fault.name())
    }

    fn perform(&mut self, commit: Commit) -> Result<Outcome, SubjectError> {
        match (self.fault, commit) {
            (Fault::WakeSuppressed, Commit::Wake { .. })
            | (Fault::DetachIgnored, Commit::Detach { .. }) => self.pretend(commit),
            (Fault::AuthorityNotChecked, _) => self.inner.perform(with_current_authority(commit)),
            (Fault::HoldsIgnored, Commit::Claim { work }) => {
                self.claim_anyway(commit, |inner| inner.forget_holds(work))
            }
            (Fault::BackoffIgnored, Commit::Claim { work }) => {
                self.claim_anyway(commit, |inner| inner.forget_backoff(work))
            }
            (
                Fault::CheckpointIgnored,
                Commit::Translate { wait, .. } | Commit::RegisterWait { wait, .. },
            ) => {
                let outcome = self.inner.perform(commit)?;
                self.inner.forget_checkpoint(wait)?;
                Ok(outcome)
            }
            (Fault::StaleRetryClears, Commit::CommitRoute { .. }) => self.route_and_clear(commit),
            (Fault::HintsClamped, Commit::Fail { work, by, hint: Hint::Excessive }) => {
                self.inner.perform(Commit::Fail { work, by, hint: Hint::Valid })
            }
            (Fault::TokensKeptOverRestore, Commit::Restore) => {
                self.inner.perform_keeping_tokens(commit)
            }
            (
                Fault::WakeSuppressed
                | Fault::HoldsIgnored
                | Fault::CheckpointIgnored
                | Fault::BackoffIgnored
                | Fault::StaleRetryClears
                | Fault::HintsClamped
                | Fault::DetachIgnored
                | Fault::TokensKeptOverRestore,
                _,
            ) => self.inner.perform(commit),
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
        Commit::Fail { work, hint, .. } => Commit::Fail { work, by, hint },
        Commit::Detach { work, .. } => Commit::Detach { work, by },
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
        | Commit::CloseIdle { .. }
        | Commit::FireRetry { .. }
        | Commit::Retry { .. }
        | Commit::Restore
        | Commit::ReleaseRestore { .. } => commit,
    }
}
