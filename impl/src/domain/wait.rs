//! Waits: an attempt's subscription on keys of its Work.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Duration, Key, Millis};

/// Where a Wait is. It leaves `active` once and for all. WAKE-10 WAKE-15
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
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

/// An external resource that a Wait subscribes to. Its key stays with its own owner. ALIAS-01
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The extension that asks; its subscriptions are its own. ALIAS-02
    pub extension: String,
    /// The resource's key; all its generations are meant.
    pub key: Key,
    /// The scope its Events are accepted into.
    pub scope: String,
}
