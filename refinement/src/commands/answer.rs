//! The runtime's answer in the model's words, receipt by receipt and code by code.

use abide::command::{Deferral, Outcome, Receipt, Refusal};
use abide::domain::{IntentKind, IntentStatus, MarkKind, StartReason};
use abide_model::action::Commit;
use abide_model::outcome as law;
use abide_model::state;

use super::{known_event, known_work, rank, stranger};
use crate::binding::Binding;
use crate::subject::SubjectError;

/// The runtime's answer to an action in the model's words. What a receipt reveals is bound first by
/// [`learn`](super::learn).
///
/// # Errors
/// It names something this world does not contain.
pub fn outcome(
    binding: &Binding,
    commit: Commit,
    outcome: &Outcome,
) -> Result<law::Outcome, SubjectError> {
    Ok(match outcome {
        Outcome::Accepted(given) => law::Outcome::Accepted(receipt(binding, commit, given)?),
        Outcome::Duplicate(given) => law::Outcome::Duplicate(receipt(binding, commit, given)?),
        Outcome::Deferred(reason) => law::Outcome::Deferred(deferral(*reason)),
        Outcome::Conflict => law::Outcome::Conflict,
        Outcome::Refused(reason) => law::Outcome::Refused(refusal(*reason)),
    })
}

fn receipt(
    binding: &Binding,
    commit: Commit,
    receipt: &Receipt,
) -> Result<law::Receipt, SubjectError> {
    Ok(match receipt {
        Receipt::Event { seq } | Receipt::TimeoutAccepted { seq, .. } => {
            law::Receipt::Sequence(rank(*seq)?)
        }
        Receipt::Routed { mark: given, work, .. } => {
            let work = work.map(|id| known_work(binding, id)).transpose()?;
            law::Receipt::Routed { mark: mark(*given), work }
        }
        Receipt::Claimed { attempt, reason, .. } => law::Receipt::Claimed {
            attempt: u8::try_from(attempt.0).map_err(|_| stranger("attempt", attempt))?,
            start: start(*reason),
        },
        Receipt::Recovering { relaunch: true, .. } => {
            law::Receipt::Recovered(law::Recovery::Relaunch)
        }
        Receipt::Recovering { relaunch: false, .. } => {
            law::Receipt::Recovered(law::Recovery::Adopt)
        }
        Receipt::Waiting { winner, .. } => law::Receipt::Registered {
            winner: winner.map(|seq| known_event(binding, seq)).transpose()?,
        },
        Receipt::Woken { winner, .. } => {
            law::Receipt::Woken { winner: known_event(binding, *winner)? }
        }
        Receipt::Intent { event, work, attempt, kind, status } => {
            let of = (known_event(binding, *event)?, known_work(binding, *work)?);
            let attempt = u8::try_from(attempt.0).map_err(|_| stranger("attempt", attempt))?;
            match (commit, intent_status(*status)) {
                (Commit::Dispatch { work, event, .. }, state::IntentStatus::Dispatched)
                    if of == (event, work) =>
                {
                    law::Receipt::Dispatched { attempt, kind: intent_kind(*kind) }
                }
                (Commit::SettleDispatch { work, event, .. }, status) if of == (event, work) => {
                    law::Receipt::Settled(status)
                }
                _ => return Err(stranger("intent", event)),
            }
        }
        Receipt::Reloaded { .. }
        | Receipt::Advanced { .. }
        | Receipt::Renewed { .. }
        | Receipt::Ended { .. }
        | Receipt::Vacated { .. }
        | Receipt::Held { .. }
        | Receipt::Detached { .. }
        | Receipt::Restored { .. }
        | Receipt::Cancelled { .. } => law::Receipt::Done,
    })
}

/// A mark in the model's words.
#[must_use]
pub const fn mark(mark: MarkKind) -> law::RouteMark {
    match mark {
        MarkKind::Queued => law::RouteMark::Queued,
        MarkKind::Inject => law::RouteMark::Inject,
        MarkKind::Interrupt => law::RouteMark::Interrupt,
        MarkKind::Woke => law::RouteMark::Woke,
        MarkKind::Unmatched => law::RouteMark::Unmatched,
        MarkKind::Drop => law::RouteMark::Drop,
        MarkKind::Close => law::RouteMark::Close,
        MarkKind::Terminal => law::RouteMark::Terminal,
        MarkKind::OperatorDrop => law::RouteMark::OperatorDrop,
        MarkKind::ReplaySuspect => law::RouteMark::ReplaySuspect,
        MarkKind::Release => law::RouteMark::Release,
        MarkKind::Continuation => law::RouteMark::Continuation,
        MarkKind::StaleRetry => law::RouteMark::StaleRetry,
    }
}

/// A control in the model's words.
#[must_use]
pub const fn intent_kind(kind: IntentKind) -> state::IntentKind {
    match kind {
        IntentKind::Inject => state::IntentKind::Inject,
        IntentKind::Interrupt => state::IntentKind::Interrupt,
    }
}

/// What became of an intent in the model's words.
#[must_use]
pub const fn intent_status(status: IntentStatus) -> state::IntentStatus {
    match status {
        IntentStatus::Committed => state::IntentStatus::Committed,
        IntentStatus::Dispatched => state::IntentStatus::Dispatched,
        IntentStatus::Accepted => state::IntentStatus::Accepted,
        IntentStatus::NotAccepting => state::IntentStatus::NotAccepting,
        IntentStatus::Fenced => state::IntentStatus::Fenced,
        IntentStatus::FellBack => state::IntentStatus::FellBack,
        IntentStatus::Consumed => state::IntentStatus::Consumed,
        IntentStatus::Stale => state::IntentStatus::Stale,
    }
}

const fn start(reason: StartReason) -> law::Start {
    match reason {
        StartReason::Start => law::Start::Start,
        StartReason::Next => law::Start::Next,
        StartReason::Resume => law::Start::Resume,
    }
}

const fn deferral(reason: Deferral) -> law::Deferral {
    match reason {
        Deferral::OutOfTurn => law::Deferral::OutOfTurn,
        Deferral::Unsupported => law::Deferral::Unsupported,
        Deferral::Restored => law::Deferral::Restored,
        Deferral::Held => law::Deferral::Held,
        Deferral::Backoff => law::Deferral::Backoff,
        Deferral::Excluded => law::Deferral::Excluded,
        Deferral::Capacity => law::Deferral::Capacity,
    }
}

macro_rules! same_names {
    ($value:expr, $($name:ident)*) => {
        match $value { $(Refusal::$name => law::Refusal::$name,)* }
    };
}

const fn refusal(reason: Refusal) -> law::Refusal {
    same_names!(
        reason,
        StaleAuthority LeaseExpired CoreType UnknownEvent UnknownWork UnknownWait UnknownIntent
        StaleTarget WrongScope ContradictoryTarget KeyOwned Terminal NotTerminal HasSuccessor Standing
        AlreadyRouted NotRouted NotHeld NothingToRetry NotIdle AttemptOpen WorkWaiting
        NothingToStart NotLaunching NotHanded NotRunning NotRecovering StaleIntent IntentSettled NotDispatched WaitCannotEnd KeyNotOwned
        ScopeNotReadable WatermarkAhead WaitCancelled NothingToWakeFrom TimerCancelled NoTimer
        FiringDisabled NoRetry SubscriptionEnded NothingToTranslate NotDue MatchAccepted DepthLimit
        LeaseLive NothingToRecover StaleSegment NotExcluded NothingToInterrupt NotInterruptible
    )
}
