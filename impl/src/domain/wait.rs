//! Waits: an attempt's subscription on keys of its Work.

use serde::{Deserialize, Serialize};

use super::{Duration, Millis};

/// Where a Wait is. It leaves `active` once and for all. WAKE-10 WAKE-15
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
pub enum WaitStatus {
    /// May still be woken.
    Active,
    /// Woken by its winner.
    Woken,
    /// Cancelled with its Work.
    Cancelled,
}

/// When a Wait gives up, as its caller said it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deadline {
    /// At an instant of trusted time.
    At(Millis),
    /// So long after the registration commits.
    After(Duration),
}
