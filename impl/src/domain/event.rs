//! Events: what comes in, what is kept, and what routing proposed for them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AttemptNo, Control, Duration, EventUid, Generation, Millis, Seq, WorkId, WorkUid};

/// Types that begin like this are core's own and are never taken from outside. CAUSE-07
pub const CORE_PREFIX: &str = "core.";

/// How long a body remembers that it was accepted, where its sender signs bodies only. OURS-17
pub const SUSPECT_WITHIN: Duration = Duration::seconds(72 * 60 * 60);

/// The sender's identity of a delivery: a repeat of the pair answers `Duplicate`. INGRESS-05
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct IngressId {
    /// Names the resource, account included: `github:github.com/1234`. INGRESS-12
    pub source: String,
    /// The sender's id of this delivery.
    pub delivery: String,
}

/// An external identity owned by at most one Work: `(source, external id)`. OWN-01
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct Key {
    /// The namespace, an event source.
    pub source: String,
    /// The identity inside it.
    pub external_id: String,
}

/// Limits pinned with a root and inherited by everything derived from it. CAUSE-23
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CausalLimits {
    /// The deepest a derived Event may be; a root is at 0. CAUSE-15
    pub max_depth: u32,
}

/// An Event as it is offered for acceptance, before it has a sequence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// Its id at the edge, minted by the caller.
    pub uid: EventUid,
    /// The sender's identity of it.
    pub id: IngressId,
    /// What kind of fact it is: `pull_request.opened`.
    pub event_type: String,
    /// CloudEvents `subject`, if the sender gave one.
    pub subject: Option<String>,
    /// When the sender says it happened; never used to decide anything. WAIT-09
    pub occurred_at: Option<Millis>,
    /// The one scope trusted configuration selected. INGRESS-08
    pub scope: String,
    /// At most one key; its source need not be the event's, but is when an ingress made it.
    pub key: Option<Key>,
    /// An explicitly named Work. INGRESS-09
    pub target: Option<WorkId>,
    /// Limits of the root this Event becomes.
    pub limits: CausalLimits,
    /// CloudEvents `data`, as JSON text; `None` where there was none.
    pub payload: Option<String>,
    /// Its sender signs bodies only, so that a known body under a new identity within this time is
    /// suspect; `None` where identities are signed too. OURS-17
    pub suspect_within: Option<Duration>,
}

/// The identity of an Event that an operator's action accepts: a root. Asking twice with one
/// identity changes nothing. CAUSE-01 OURS-23
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The Event's id at the edge, minted by the caller; a repeated request keeps the first.
    pub uid: EventUid,
    /// Unique among all requests; the caller puts the principal's name before what it was given.
    pub id: String,
    /// Limits of the root this Event becomes; a replay keeps those of its original.
    pub limits: CausalLimits,
}

/// The execution that published an Event. Such an Event never resolves to that Work. WAIT-06
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Provenance {
    /// The Work.
    pub work: WorkId,
    /// Its attempt.
    pub attempt: AttemptNo,
}

/// An accepted Event. Nothing changes it any more. INGRESS-03
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Acceptance order.
    pub seq: Seq,
    /// Its id at the edge.
    pub uid: EventUid,
    /// The sender's identity of it.
    pub id: IngressId,
    /// What kind of fact it is.
    pub event_type: String,
    /// CloudEvents `subject`.
    pub subject: Option<String>,
    /// When the sender says it happened.
    pub occurred_at: Option<Millis>,
    /// When it was accepted, in trusted time.
    pub accepted_at: Millis,
    /// The scope trusted configuration selected.
    pub scope: String,
    /// Its key, if it has one.
    pub key: Option<Key>,
    /// The Work it names, if it names one.
    pub target: Option<WorkId>,
    /// The Event that caused it; `None` for a root.
    pub parent: Option<Seq>,
    /// The root of its chain; its own sequence for a root.
    pub root: Seq,
    /// Steps from the root. CAUSE-14
    pub depth: u32,
    /// The execution that published it, if one did.
    pub provenance: Option<Provenance>,
}

/// The committed result of routing one Event. It is written once. ROUTE-19
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum MarkKind {
    /// Pending input of its Work. POLICY-08
    Queued,
    /// Pending input of its Work that is also to reach the running attempt. POLICY-11
    Inject,
    /// It is to stop the running attempt: pending input of its Work, or an operator's request that
    /// is none. POLICY-19 CTRL-04
    Interrupt,
    /// It woke a Wait of its Work. WAKE-08
    Woke,
    /// Nothing wanted it; it is retained. ROUTE-10
    Unmatched,
    /// Its route drops it, at all times or while an attempt runs. OURS-01 POLICY-24
    Drop,
    /// Its route closed its Work. OURS-02
    Close,
    /// It came after its Work had ended. TERM-02
    Terminal,
    /// A person dropped it. OURS-07
    OperatorDrop,
    /// Its body was accepted under another identity shortly before. OURS-17
    ReplaySuspect,
    /// It lifted the holds of its Work; never input. OURS-06
    Release,
    /// A wake's own continuation, marked at birth; never input. WAKE-21
    Continuation,
    /// A retry whose backoff is over, or is another attempt's by now. RETRY-23 RETRY-24
    StaleRetry,
}

/// What an evaluation proposes for one Event; volatile until
/// [`crate::command::Command::CommitRoute`] carries it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// The Event that was evaluated.
    pub event: Seq,
    /// The Work it resolved to, and that Work's revision, as the evaluation saw them. ROUTE-15
    pub resolved: Option<(WorkId, i64)>,
    /// The configuration it was evaluated under. BIND-10
    pub generation: Generation,
    /// The name of the first matching route; `None` if every route declined.
    pub route: Option<String>,
    /// What the handler decided.
    pub decision: Decision,
    /// The successor's id, should the Event resolve to ended Work that this Event is to reopen.
    /// TERM-03
    pub reopen: Option<WorkUid>,
}

/// What a handler decided for one Event. OURS-01 OURS-02
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// No route matched. ROUTE-10
    Decline,
    /// Keep it, and let nothing start from it.
    Drop,
    /// Cancel the Work it resolves to.
    Close,
    /// Input of the Work it resolves to, which is to own these keys too.
    Update {
        /// The keys to attach. OWN-07
        attach: Vec<Key>,
        /// What becomes of it while an attempt of that Work runs. POLICY-01
        control: Control,
    },
    /// The same, or a new Work.
    Work {
        /// The keys to attach. OWN-07
        attach: Vec<Key>,
        /// The Work to create where it resolves to none; `None` for an Event without key whose
        /// route asks for one. ROUTE-24
        create: Option<ProposedWork>,
        /// What becomes of it while an attempt of the Work it resolves to runs. POLICY-01
        control: Control,
    },
}

impl Decision {
    /// What becomes of the Event while an attempt of its Work runs; the default where the decision
    /// makes no input of it. POLICY-01
    #[must_use]
    pub fn control(&self) -> Control {
        match self {
            Self::Decline | Self::Drop | Self::Close => Control::default(),
            Self::Update { control, .. } | Self::Work { control, .. } => *control,
        }
    }
}

/// A Work a decision would create. Its id is derived from the Event, so that evaluating again
/// proposes the same. ROUTE-16
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposedWork {
    /// The derived id.
    pub uid: WorkUid,
    /// The kind, fixed at creation. OURS-03
    pub kind: String,
    /// It outlives its attempts, whatever its kind says later. JOB-14
    pub standing: bool,
}
