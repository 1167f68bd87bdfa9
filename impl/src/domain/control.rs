//! Control of a running attempt: what a route wants to become of its Events, and what is recorded
//! before anything is sent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What becomes of an Event while an attempt of its Work runs. POLICY-01
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ControlPolicy {
    /// Input of the next attempt. POLICY-08
    #[default]
    Queue,
    /// Offered to the running process. POLICY-11
    Inject,
    /// The running attempt is stopped, and the next one gets it. POLICY-19
    Interrupt,
    /// Never input. POLICY-24
    Drop,
}

/// What stands in for a control that cannot be had. POLICY-32 POLICY-33
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Fallback {
    /// As the policy `queue`.
    Queue,
    /// As the policy `drop`; of a control that failed, the input is withdrawn.
    Drop,
}

/// What a route says of its Events while an attempt of their Work runs. Neither fallback is ever
/// taken for the other. POLICY-32 POLICY-34
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Control {
    /// What is wanted.
    pub policy: ControlPolicy,
    /// What stands in where the attempt does not support it; `None`: nothing does.
    pub fallback: Option<Fallback>,
    /// What stands in where a supported control failed; `None`: it is tried again.
    pub on_error: Option<Fallback>,
}

/// How an Event is to reach a running attempt.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum IntentKind {
    /// By a message to its process. POLICY-11
    Inject,
    /// By stopping it. POLICY-19
    Interrupt,
}

/// Where an intent is: open while `committed` or `dispatched`, settled from any other on.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum IntentStatus {
    /// Recorded with the mark; nobody was called. POLICY-12
    Committed,
    /// A send is being tried, or was and nobody knows its end. INJECT-21
    Dispatched,
    /// Accepted for delivery, which proves no consumption. POLICY-13
    Accepted,
    /// Certainly not delivered. POLICY-15
    NotAccepting,
    /// The attempt was fenced by it. POLICY-20
    Fenced,
    /// It failed, and the route's error fallback stood in. POLICY-33
    FellBack,
    /// A result proved that the process took the Event in. INJECT-08
    Consumed,
    /// The attempt parked or ended first. POLICY-23
    Stale,
}

impl Fallback {
    /// The policy that it stands in with.
    #[must_use]
    pub const fn policy(self) -> ControlPolicy {
        match self {
            Self::Queue => ControlPolicy::Queue,
            Self::Drop => ControlPolicy::Drop,
        }
    }
}

impl IntentStatus {
    /// Whether a send of it may still be tried, or heard of.
    #[must_use]
    pub const fn is_open(self) -> bool {
        match self {
            Self::Committed | Self::Dispatched => true,
            Self::Accepted
            | Self::NotAccepting
            | Self::Fenced
            | Self::FellBack
            | Self::Consumed
            | Self::Stale => false,
        }
    }
}

/// What an executor answered to a send. POLICY-13 POLICY-15
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum SendAnswer {
    /// It was accepted for delivery, or whatever holds the process knows that it is to stop.
    Accepted,
    /// It certainly was not, and never will be.
    NotAccepting,
    /// Nobody can tell.
    Failed,
}
