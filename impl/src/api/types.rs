//! What the operator door answers, as JSON. The CLI reads exactly these; programs may too.
//!
//! Ids are the prefixed ones; `seq` is an event's place in this database. Instants are RFC 3339 text.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::{AttemptStatus, Hold, MarkKind, Phase, WaitStatus, WorkStatus};

/// One page of a list; `next` is the `after` of the following page, absent at the end.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Page<T> {
    /// The rows, in order.
    pub items: Vec<T>,
    /// Ask again with `after` set to this.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub next: Option<i64>,
}

/// Answer to an offered event.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AcceptedEvent {
    /// The kept event's id; the original's for a duplicate.
    pub id: String,
    /// Its sequence.
    pub seq: i64,
    /// Whether this delivery was known already. INGRESS-05
    pub duplicate: bool,
}

/// One event, without its data.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct EventRow {
    /// `evt_…`
    pub id: String,
    /// Acceptance order.
    pub seq: i64,
    /// The sender's namespace.
    pub source: String,
    /// The sender's id of the delivery.
    pub delivery: String,
    /// What kind of fact it is.
    #[serde(rename = "type")]
    pub event_type: String,
    /// Its subject, if the sender gave one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub subject: Option<String>,
    /// The external id of its key, if it has one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub key: Option<String>,
    /// The scope trusted configuration selected.
    pub scope: String,
    /// When it was accepted.
    pub accepted_at: String,
    /// The result of routing it; absent while it is unrouted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mark: Option<MarkKind>,
    /// The Work it is associated with.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub work: Option<String>,
    /// The route that chose it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub route: Option<String>,
    /// The event that caused it; absent for a root.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub parent: Option<String>,
    /// The root of its chain.
    pub root: String,
    /// Steps from the root.
    pub depth: u32,
}

/// One event with its data.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct EventDetail {
    /// The row.
    #[serde(flatten)]
    pub event: EventRow,
    /// CloudEvents `data`.
    pub data: serde_json::Value,
}

/// One Work.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct WorkRow {
    /// `work_…`
    pub id: String,
    /// Its kind, fixed at creation.
    pub kind: String,
    /// Its scope, fixed at creation.
    pub scope: String,
    /// Where it is.
    pub status: WorkStatus,
    /// In one sentence, why it is there and not moving, or what it is doing.
    pub reason: String,
    /// Why it does not start, if it is held.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hold: Option<Hold>,
    /// A process of an earlier segment may still run.
    pub excluded: bool,
    /// Its keys, `source#external-id`.
    pub keys: Vec<String>,
    /// Attempts made.
    pub attempts: u32,
    /// Pending input.
    pub pending: u64,
    /// When it was created.
    pub created_at: String,
}

/// One attempt with what it was handed.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AttemptRow {
    /// `att_…`
    pub id: String,
    /// Its number.
    pub number: u32,
    /// Where it is.
    pub status: AttemptStatus,
    /// How far a running one has come.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub phase: Option<Phase>,
    /// The claim it is, or was last, held under.
    pub epoch: u32,
    /// When its lease ends, while it runs.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub expires_at: Option<String>,
    /// Sequence of the event that triggered it.
    pub trigger: i64,
    /// Sequences of all input it consumed, in order.
    pub inputs: Vec<i64>,
    /// What its executor said at the end, or why it failed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub result: Option<String>,
}

/// One Wait.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct WaitRow {
    /// `wait_…`
    pub id: String,
    /// The waiting Work.
    pub work: String,
    /// The attempt that registered it.
    pub attempt: u32,
    /// Where it is.
    pub status: WaitStatus,
    /// Keys it listens on, `source#external-id`.
    pub keys: Vec<String>,
    /// Types it lets pass; empty means any.
    pub types: Vec<String>,
    /// Matches lie strictly after this sequence.
    pub after: i64,
    /// When it gives up, if its timer is armed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub deadline: Option<String>,
    /// Sequence of the event that woke it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub winner: Option<i64>,
}

/// One Work with everything of it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct WorkDetail {
    /// The row.
    #[serde(flatten)]
    pub work: WorkRow,
    /// Its attempts, oldest first.
    pub history: Vec<AttemptRow>,
    /// Sequences of its pending input, in order.
    pub pending_input: Vec<i64>,
    /// Its waits, oldest first.
    pub waits: Vec<WaitRow>,
}

/// A derived event that a causal limit refused.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RejectionRow {
    /// The refused delivery's identity.
    pub delivery: String,
    /// The event it would have descended from.
    pub parent: String,
    /// `depth_limit`.
    pub reason: String,
    /// The depth it would have had.
    pub depth: u32,
    /// When.
    pub at: String,
}

/// The whole chain an event is part of.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Chain {
    /// Every event of the root, in acceptance order.
    pub events: Vec<EventRow>,
    /// What was refused on it.
    pub rejections: Vec<RejectionRow>,
}

/// Why something is where it is.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Why {
    /// The thing asked about, by its full id.
    pub id: String,
    /// One sentence.
    pub sentence: String,
    /// The command that would move it, if one would.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub next: Option<String>,
}

/// Body of `POST /work/{id}/cancel`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct CancelRequest {
    /// Why, for people.
    #[serde(default)]
    pub reason: String,
}
