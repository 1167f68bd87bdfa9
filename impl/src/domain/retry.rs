//! What a failure leads to.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::time::Duration;

/// What a kind of Work makes of the failures of its attempts; pinned with each. RETRY-03 RETRY-07
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryPolicy {
    /// Failures in total until the budget is used up, the first one among them; at least 1.
    pub attempts: u32,
    /// How long after failure 1, 2, … the next attempt is due; at least `attempts - 1` steps.
    pub backoff: Vec<Duration>,
    /// What a used up budget does to the Work.
    pub exhausted: Exhausted,
    /// The longest delay a hint may ask for. RETRY-17
    pub hint_max: Duration,
}

/// What a used up failure budget does. RETRY-31
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Exhausted {
    /// The Work is held until a person retries, releases or cancels it.
    Keep,
    /// The Work is failed, for good.
    Fail,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts: 3,
            backoff: vec![Duration::seconds(5 * 60), Duration::seconds(10 * 60)],
            exhausted: Exhausted::Keep,
            hint_max: Self::HINT_MAX,
        }
    }
}

impl RetryPolicy {
    /// The bound of a hint where nothing else is said: a day. RETRY-17
    pub const HINT_MAX: Duration = Duration::seconds(24 * 60 * 60);
}

/// What the law made of a hint; noted with the attempt. RETRY-16 RETRY-17
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum HintFinding {
    /// It counts, wherever a delay is asked for.
    Valid,
    /// Zero, negative or unreadable; ignored.
    Invalid,
    /// Above the pinned bound; ignored, never cut down to it.
    Excessive,
}

/// What an executor says of the delay of a retry. The law decides whether it is valid, never who
/// reports it. RETRY-14 RETRY-16
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RetryHint {
    /// Milliseconds from the failure; any number, a valid one or not.
    Delay(i64),
    /// There was one, and it could not be read.
    Unreadable,
}
