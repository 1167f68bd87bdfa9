//! Runtimes broken on purpose: the negative controls of the harness. They wrap a subject and lie in one way each, so
//! that the production code carries no switch for it.

use abide_model::action::{Authority, Commit, Env, Hint};
use abide_model::index::{EventIx, Proofs, WaitIx, WorkIx};
use abide_model::outcome::{Deferral, Outcome, Receipt, RouteMark};
use abide_model::state::IntentStatus;
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
    /// Consumes whatever pending input a result names.
    ProofsUnchecked,
    /// Takes what was delivered for consumed.
    AcceptanceConsumes,
    /// Sends to the next segment what was to reach an earlier one.
    IntentRetargeted,
    /// Ends an attempt that is interrupted as one that failed.
    InterruptCountsAsFailure,
    /// Fences an attempt and lets the next one start beside its process.
    FenceWithoutMark,
    /// Queues what the attempt does not support, where no route said so.
    FallbackInferred,
}

impl Fault {
    /// Every planted fault.
    pub const ALL: [Self; 15] = [
        Self::WakeSuppressed,
        Self::AuthorityNotChecked,
        Self::HoldsIgnored,
        Self::CheckpointIgnored,
        Self::BackoffIgnored,
        Self::StaleRetryClears,
        Self::HintsClamped,
        Self::DetachIgnored,
        Self::TokensKeptOverRestore,
        Self::ProofsUnchecked,
        Self::AcceptanceConsumes,
        Self::IntentRetargeted,
        Self::InterruptCountsAsFailure,
        Self::FenceWithoutMark,
        Self::FallbackInferred,
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
            Self::ProofsUnchecked => "proofs-unchecked",
            Self::AcceptanceConsumes => "acceptance-consumes",
            Self::IntentRetargeted => "intent-retargeted",
            Self::InterruptCountsAsFailure => "interrupt-counts-as-failure",
            Self::FenceWithoutMark => "fence-without-mark",
            Self::FallbackInferred => "fallback-inferred",
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

    /// Makes of whatever pending input of a Work is named an injection that its attempt accepted.
    ///
    /// # Errors
    /// The subject broke down.
    fn believe(&mut self, work: WorkIx, named: Proofs) -> Result<(), SubjectError>;

    /// Takes one pending input of a Work for consumed by its attempt.
    ///
    /// # Errors
    /// The subject broke down.
    fn consume(&mut self, work: WorkIx, event: EventIx) -> Result<(), SubjectError>;

    /// Commits every stale intent of a Work again, for the attempt that it has now.
    ///
    /// # Errors
    /// The subject broke down.
    fn retarget(&mut self, work: WorkIx) -> Result<(), SubjectError>;

    /// Lets a Work forget that a process of it may still run.
    ///
    /// # Errors
    /// The subject broke down.
    fn forget_exclusion(&mut self, work: WorkIx) -> Result<(), SubjectError>;

    /// Proposes for an event what was proposed before, without what its route says of a running attempt.
    fn propose_to_queue(&mut self, event: EventIx);
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

    /// Counts what a result names as it was named. What is refused stays as it was.
    fn believing(&mut self, result: Commit, named: Proofs) -> Result<Outcome, SubjectError> {
        let Some((work, _)) = result.shown() else { return self.inner.perform(result) };
        if !self.pretend(result)?.accepted() {
            return self.inner.perform(result);
        }
        self.inner.believe(work, named)?;
        self.inner.perform(result)
    }

    /// Settles an intent, and does something else besides if that came to this.
    fn settling(
        &mut self,
        settle: Commit,
        came_to: IntentStatus,
        act: impl FnOnce(&mut S) -> Result<(), SubjectError>,
    ) -> Result<Outcome, SubjectError> {
        let outcome = self.inner.perform(settle)?;
        if outcome == Outcome::Accepted(Receipt::Settled(came_to)) {
            act(&mut self.inner)?;
        }
        Ok(outcome)
    }

    /// Reports a failure where an attempt was interrupted.
    fn fence_by_failing(
        &mut self,
        settle: Commit,
        work: WorkIx,
        by: Authority,
    ) -> Result<Outcome, SubjectError> {
        let outcome = self.pretend(settle)?;
        if outcome != Outcome::Accepted(Receipt::Settled(IntentStatus::Fenced)) {
            return self.inner.perform(settle);
        }
        let (hint, proofs) = (Hint::None, Proofs::NONE);
        self.inner.perform(Commit::Fail { work, by, hint, proofs })?;
        Ok(outcome)
    }

    /// Queues what nobody said was to be queued.
    fn route_anyway(&mut self, route: Commit, event: EventIx) -> Result<Outcome, SubjectError> {
        let outcome = self.inner.perform(route)?;
        if outcome != Outcome::Deferred(Deferral::Unsupported) {
            return Ok(outcome);
        }
        self.inner.propose_to_queue(event);
        self.inner.perform(route)
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
            (Fault::HintsClamped, Commit::Fail { work, by, hint: Hint::Excessive, proofs }) => {
                self.inner.perform(Commit::Fail { work, by, hint: Hint::Valid, proofs })
            }
            (Fault::TokensKeptOverRestore, Commit::Restore) => {
                self.inner.perform_keeping_tokens(commit)
            }
            (
                Fault::ProofsUnchecked,
                Commit::Complete { proofs, .. }
                | Commit::Fail { proofs, .. }
                | Commit::RegisterWait { proofs, .. },
            ) => self.believing(commit, proofs),
            (Fault::AcceptanceConsumes, Commit::SettleDispatch { work, event, .. }) => {
                let consume = |inner: &mut S| inner.consume(work, event);
                self.settling(commit, IntentStatus::Accepted, consume)
            }
            (Fault::IntentRetargeted, Commit::Claim { work }) => {
                let outcome = self.inner.perform(commit)?;
                if outcome.accepted() {
                    self.inner.retarget(work)?;
                }
                Ok(outcome)
            }
            (Fault::InterruptCountsAsFailure, Commit::SettleDispatch { work, by, .. }) => {
                self.fence_by_failing(commit, work, by)
            }
            (Fault::FenceWithoutMark, Commit::SettleDispatch { work, .. }) => {
                let forget = |inner: &mut S| inner.forget_exclusion(work);
                self.settling(commit, IntentStatus::Fenced, forget)
            }
            (Fault::FallbackInferred, Commit::CommitRoute { event }) => {
                self.route_anyway(commit, event)
            }
            (
                Fault::WakeSuppressed
                | Fault::HoldsIgnored
                | Fault::CheckpointIgnored
                | Fault::BackoffIgnored
                | Fault::StaleRetryClears
                | Fault::HintsClamped
                | Fault::DetachIgnored
                | Fault::TokensKeptOverRestore
                | Fault::ProofsUnchecked
                | Fault::AcceptanceConsumes
                | Fault::IntentRetargeted
                | Fault::InterruptCountsAsFailure
                | Fault::FenceWithoutMark
                | Fault::FallbackInferred,
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
        Commit::Complete { work, ending, declares, proofs, .. } => {
            Commit::Complete { work, by, ending, declares, proofs }
        }
        Commit::Fail { work, hint, proofs, .. } => Commit::Fail { work, by, hint, proofs },
        Commit::Detach { work, .. } => Commit::Detach { work, by },
        Commit::RegisterWait { work, wait, after, proofs, .. } => {
            Commit::RegisterWait { work, by, wait, after, proofs }
        }
        Commit::Dispatch { work, event, .. } => Commit::Dispatch { work, by, event },
        Commit::SettleDispatch { work, event, answer, .. } => {
            Commit::SettleDispatch { work, by, event, answer }
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
        | Commit::Interrupt { .. }
        | Commit::Restore
        | Commit::ReleaseRestore { .. } => commit,
    }
}
