//! Statuses as the words that columns hold. An unknown word is damage, never a default.

use super::rejections::Derived;
use crate::domain::{
    AttemptStatus, ControlPolicy, Fallback, HintFinding, Hold, IntentKind, IntentStatus, MarkKind,
    Phase, SendAnswer, StartReason, WaitStatus, WorkStatus,
};

use super::engine::{Row, StoreError};

/// A value that a column holds as one of a few words.
pub trait Word: Sized + Copy + 'static {
    /// Every value with its word.
    const WORDS: &'static [(Self, &'static str)];

    /// The word of this value.
    fn word(self) -> &'static str;
}

/// Reads a word that may be absent; `place` names table and column.
///
/// # Errors
/// The column holds something else.
pub fn opt_word<T: Word>(
    row: &dyn Row,
    column: usize,
    place: &'static str,
) -> Result<Option<T>, StoreError> {
    let Some(text) = row.opt_text(column)? else { return Ok(None) };
    match T::WORDS.iter().find(|(_, word)| *word == text) {
        Some((value, _)) => Ok(Some(*value)),
        None => Err(StoreError::corrupt(format!(
            "{place} holds the unknown word {text:?} (row {:?})",
            row.opt_int(0).ok().flatten()
        ))),
    }
}

/// Reads a word; `place` names table and column.
///
/// # Errors
/// The column holds something else.
pub fn word<T: Word>(row: &dyn Row, column: usize, place: &'static str) -> Result<T, StoreError> {
    opt_word(row, column, place)?
        .ok_or_else(|| StoreError::corrupt(format!("{place} holds NULL where a word is stored")))
}

macro_rules! words {
    ($($type:ident { $($variant:ident = $word:literal),* $(,)? })*) => {$(
        impl Word for $type {
            const WORDS: &'static [(Self, &'static str)] = &[$((Self::$variant, $word)),*];

            fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),*
                }
            }
        }
    )*};
}

words! {
    WorkStatus {
        Ready = "ready", Running = "running", Waiting = "waiting",
        Completed = "completed", Failed = "failed", Cancelled = "cancelled",
    }
    AttemptStatus {
        Running = "running", Parked = "parked", Completed = "completed",
        Waiting = "waiting", Failed = "failed", Cancelled = "cancelled",
    }
    Phase {
        NeverHanded = "never_handed", Handed = "handed",
        Pinned = "pinned", Recovering = "recovering",
    }
    Derived {
        Timeout = "timeout", Continuation = "continuation", Alias = "alias",
        TurnEnded = "turn_ended", Successor = "successor", Replay = "replay", Retry = "retry",
    }
    HintFinding { Valid = "valid", Invalid = "invalid", Excessive = "excessive" }
    StartReason { Start = "start", Next = "next", Resume = "resume" }
    WaitStatus { Active = "active", Woken = "woken", Cancelled = "cancelled" }
    Hold { Exhausted = "exhausted", CausalLimit = "causal_limit", Operator = "operator" }
    ControlPolicy {
        Queue = "queue", Inject = "inject", Interrupt = "interrupt", Drop = "drop",
    }
    Fallback { Queue = "queue", Drop = "drop" }
    IntentKind { Inject = "inject", Interrupt = "interrupt" }
    IntentStatus {
        Committed = "committed", Dispatched = "dispatched", Accepted = "accepted",
        NotAccepting = "not_accepting", Fenced = "fenced", FellBack = "fell_back",
        Consumed = "consumed", Stale = "stale",
    }
    SendAnswer { Accepted = "accepted", NotAccepting = "not_accepting", Failed = "failed" }
    MarkKind {
        Queued = "queued", Inject = "inject", Interrupt = "interrupt", Woke = "woke", Unmatched = "unmatched", Drop = "drop",
        Close = "close", Terminal = "terminal", OperatorDrop = "operator_drop",
        ReplaySuspect = "replay_suspect", Release = "release", Continuation = "continuation",
        StaleRetry = "stale_retry",
    }
}
