//! Works: the durable objectives.

use serde::{Deserialize, Serialize};

/// Where a Work is in its one lifecycle.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum WorkStatus {
    /// May be claimed, unless held or excluded.
    Ready,
    /// An attempt of it is running.
    Running,
    /// Its last attempt waits.
    Waiting,
    /// Ended by its own completion.
    Completed,
    /// Ended by failure.
    Failed,
    /// Ended by cancellation.
    Cancelled,
}

impl WorkStatus {
    /// Terminal Work never changes again. TERM-01
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        match self {
            Self::Completed | Self::Failed | Self::Cancelled => true,
            Self::Ready | Self::Running | Self::Waiting => false,
        }
    }
}

/// Why a ready Work does not start until a person says so.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Hold {
    /// A failure used up the failure budget. RETRY-06
    Exhausted,
    /// A causal limit refused the continuation of a wake. WAKE-24
    CausalLimit,
}
