//! Attempts: numbered tries at a Work, each held under one lease at a time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AttemptNo, Duration, Epoch, Generation, RetryPolicy, TokenHash, WorkId};

/// Where an attempt is. At most one attempt of a Work is running or parked. POLICY-05
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum AttemptStatus {
    /// Claimed; whether its lease is live is a question of time.
    Running,
    /// Waits without a lease and will be resumed under the same number. WAKE-16
    Parked,
    /// Ended with its work done.
    Completed,
    /// Ended by waiting; the wake starts the next number. WAKE-19
    Waiting,
    /// Ended by failing.
    Failed,
    /// Ended by cancellation.
    Cancelled,
}

/// How far the current segment of a running attempt has come.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Claimed; no executor was handed it. ADOPT-05
    NeverHanded,
    /// An executor was, or is about to be, handed it; nothing is pinned. ADOPT-06
    Handed,
    /// The executor's metadata is saved with it; a process may run. ADOPT-09
    Pinned,
    /// A recoverer holds it and has not yet said whether it could be adopted. ADOPT-02
    Recovering,
}

/// The right to act for an attempt, as its holder presents it. Checked in one place. LEASE-04
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Authority {
    /// The Work whose attempt it is.
    pub work: WorkId,
    /// The attempt's number.
    pub attempt: AttemptNo,
    /// The claim it comes from.
    pub epoch: Epoch,
    /// Proof of that claim.
    pub token: TokenHash,
}

/// One claim of one attempt: what an exclusion mark and a keeper's folder are named by.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct Segment {
    /// The attempt's number.
    pub attempt: AttemptNo,
    /// The claim.
    pub epoch: Epoch,
}

/// What of its binding an attempt is pinned to at its first claim, for as long as it lasts. BIND-10
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BindingPin {
    /// The binding's name.
    pub binding: String,
    /// The configuration it was read from.
    pub generation: Generation,
    /// Its executor can continue a parked attempt.
    pub resumes: bool,
    /// Its executor lets no process proceed before the pin. ADOPT-05
    pub holds_until_pin: bool,
    /// Its binding advertises inject, and its executor implemented it then. POLICY-26
    pub injects: bool,
    /// The same of interrupt. POLICY-26
    pub interrupts: bool,
    /// Active time its segments may use together; `None`: as much as they take. WAKE-27
    pub active: Option<Duration>,
    /// What its failure leads to. RETRY-03
    pub retry: RetryPolicy,
}

/// How many attempts may run at once in a scope and below. POLICY-06
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScopeLimit {
    /// The scope.
    pub scope: String,
    /// How many.
    pub limit: u32,
}

/// How an attempt that did its work leaves the Work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// Done with it. DONE-06
    Completed,
    /// Open for its next input. JOB-21
    Handoff {
        /// Idle for so long, it is closed; `None`: never.
        close_after: Option<Duration>,
    },
}

/// Why a segment starts; `ABIDE_REASON` of the process.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum StartReason {
    /// The Work's first attempt.
    Start,
    /// A further attempt.
    Next,
    /// The same attempt after its wake.
    Resume,
}

/// What an executor's `recover` found.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The process, or its finished handle, is this attempt's and holds the new credentials.
    /// ADOPT-14 ADOPT-15
    Adopted,
    /// Unknown, dead or unverifiable. ADOPT-19
    NotAdoptable,
}
