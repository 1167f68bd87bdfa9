//! The runtime's answer in the model's words, receipt by receipt and code by code.

use abide::command::{Deferral, Outcome, Receipt, Refusal};
use abide::domain::{MarkKind, StartReason};
use abide_model::outcome as law;

use super::{known_event, known_work, rank, stranger};
use crate::binding::Binding;
use crate::subject::SubjectError;

/// The runtime's answer in the model's words. What a receipt reveals is bound first by [`learn`](super::learn).
///
/// # Errors
/// It names something this world does not contain.
pub fn outcome(binding: &Binding, outcome: &Outcome) -> Result<law::Outcome, SubjectError> {
    Ok(match outcome {
        Outcome::Accepted(given) => law::Outcome::Accepted(receipt(binding, given)?),
        Outcome::Duplicate(given) => law::Outcome::Duplicate(receipt(binding, given)?),
        Outcome::Deferred(reason) => law::Outcome::Deferred(deferral(*reason)),
        Outcome::Conflict => law::Outcome::Conflict,
        Outcome::Refused(reason) => law::Outcome::Refused(refusal(*reason)),
    })
}

fn receipt(binding: &Binding, receipt: &Receipt) -> Result<law::Receipt, SubjectError> {
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
        StaleAuthority LeaseExpired CoreType UnknownEvent UnknownWork UnknownWait StaleTarget
        WrongScope ContradictoryTarget KeyOwned Terminal NotTerminal HasSuccessor Standing
        AlreadyRouted NotRouted NotHeld NothingToRetry NotIdle AttemptOpen WorkWaiting
        NothingToStart NotLaunching NotHanded NotRunning NotRecovering WaitCannotEnd KeyNotOwned
        ScopeNotReadable WatermarkAhead WaitCancelled NothingToWakeFrom TimerCancelled NoTimer
        FiringDisabled NoRetry SubscriptionEnded NothingToTranslate NotDue MatchAccepted DepthLimit
        LeaseLive NothingToRecover StaleSegment NotExcluded
    )
}
