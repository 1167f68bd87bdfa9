//! The arguments of actions, as the journal writes them. Unknown ones are ignored: a later journal may say more.

use abide_model::action::SendAnswer;
use abide_model::state::Fallback;
use abide_model::worlds::ControlPolicy;
use serde::Deserialize;

#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize)]
#[serde(untagged)]
pub(super) enum Id {
    /// By its row.
    Row(i64),
    /// By its id at the edge.
    Name(String),
}

impl std::fmt::Display for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Row(row) => row.fmt(f),
            Self::Name(name) => name.fmt(f),
        }
    }
}

/// An external identity.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize)]
pub(super) struct Key {
    pub(super) source: String,
    pub(super) external_id: String,
}

/// A delivery that was offered.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Accept {
    pub(super) source: String,
    pub(super) delivery: String,
    #[serde(rename = "type")]
    pub(super) event_type: String,
    pub(super) scope: String,
    pub(super) key: Option<Key>,
    pub(super) target: Option<Id>,
    pub(super) max_depth: u32,
    pub(super) body: Option<String>,
    pub(super) suspect_within: Option<i64>,
}

/// A proposal that was committed.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct CommitRoute {
    pub(super) event: i64,
    pub(super) resolved: Option<(Id, i64)>,
    pub(super) generation: i64,
    pub(super) decision: Decision,
    #[serde(default)]
    pub(super) attach: Vec<Key>,
    pub(super) create: Option<String>,
    #[serde(default)]
    pub(super) standing: bool,
    #[serde(default)]
    pub(super) reopen: bool,
    pub(super) successor: Option<String>,
    #[serde(default)]
    pub(super) policy: ControlPolicy,
    pub(super) fallback: Option<Fallback>,
    pub(super) on_error: Option<Fallback>,
}

/// What a handler decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Decision {
    Decline,
    Drop,
    Close,
    Update,
    Work,
}

/// What an operator asked of a Work.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Operator {
    pub(super) work: Id,
    pub(super) expect: Option<u32>,
    #[serde(default)]
    pub(super) request: String,
    #[serde(default)]
    pub(super) for_good: bool,
    pub(super) max_depth: Option<u32>,
    pub(super) successor: Option<String>,
    #[serde(default)]
    pub(super) implemented: bool,
}

/// Work to be made by hand.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct CreateWork {
    pub(super) request: String,
    pub(super) scope: String,
    pub(super) standing: bool,
    pub(super) key: Option<Key>,
    pub(super) parent: Option<Id>,
    pub(super) authorised: bool,
    pub(super) max_depth: u32,
    pub(super) work: Option<String>,
}

/// A claim with what it pins.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Claim {
    pub(super) work: Id,
    pub(super) lease: i64,
    pub(super) expires_at: Option<i64>,
    pub(super) resumes: bool,
    pub(super) holds_until_pin: bool,
    #[serde(default)]
    pub(super) injects: bool,
    #[serde(default)]
    pub(super) interrupts: bool,
    #[serde(default)]
    pub(super) retry: Policy,
    #[serde(default)]
    pub(super) capacity: Vec<Capacity>,
}

/// What failures lead to, as it was pinned. RETRY-03
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Policy {
    pub(super) attempts: u32,
    pub(super) backoff: Vec<i64>,
    pub(super) exhausted: Exhausted,
    pub(super) hint_max: i64,
}

/// What a used up budget does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Exhausted {
    Keep,
    Fail,
}

/// What holds where a claim says nothing else. RETRY-04
impl Default for Policy {
    fn default() -> Self {
        const MINUTE: i64 = 60_000;
        Self {
            attempts: 3,
            backoff: vec![5 * MINUTE, 10 * MINUTE],
            exhausted: Exhausted::Keep,
            hint_max: 24 * 60 * MINUTE,
        }
    }
}

impl Policy {
    /// Failures until the budget is used up. A policy without a step for a count has no budget for it either. RETRY-06
    pub(super) fn budget(&self) -> u32 {
        let steps = u32::try_from(self.backoff.len()).unwrap_or(u32::MAX);
        self.attempts.min(steps.saturating_add(1))
    }
}

/// What an executor said of the delay of a retry. RETRY-16
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Hint {
    Delay(i64),
    Unreadable,
}

/// How many attempts a scope may run.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Capacity {
    pub(super) scope: String,
    pub(super) limit: u32,
}

/// An authority that was shown, and the end of the lease it was seen under.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct By {
    pub(super) work: Id,
    pub(super) attempt: u32,
    pub(super) epoch: u64,
    pub(super) expires_at: Option<i64>,
}

/// A turn that ended and did not fail.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Complete {
    #[serde(flatten)]
    pub(super) by: By,
    pub(super) ending: Ending,
    #[serde(default)]
    pub(super) declares: bool,
    #[serde(default)]
    pub(super) proofs: Vec<i64>,
}

/// A turn that failed.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Fail {
    #[serde(flatten)]
    pub(super) by: By,
    pub(super) hint: Option<Hint>,
    #[serde(default)]
    pub(super) proofs: Vec<i64>,
}

/// A control that is sent.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Dispatch {
    #[serde(flatten)]
    pub(super) by: By,
    pub(super) event: i64,
}

/// A control that was sent, and what came of it.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct SettleDispatch {
    #[serde(flatten)]
    pub(super) by: By,
    pub(super) event: i64,
    pub(super) answer: SendAnswer,
}

/// How a turn ended that did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Ending {
    Completed,
    Handoff { close_after: Option<i64> },
}

/// What a recovery found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verdict {
    Adopted,
    NotAdoptable,
}

/// A wait as it was asked for.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct RegisterWait {
    #[serde(flatten)]
    pub(super) by: By,
    pub(super) wait: String,
    pub(super) keys: Vec<Key>,
    pub(super) types: Vec<String>,
    pub(super) after: i64,
    pub(super) deadline: Option<Deadline>,
    pub(super) source: Option<Source>,
    #[serde(default)]
    pub(super) read_scopes: Vec<String>,
    #[serde(default)]
    pub(super) proofs: Vec<i64>,
}

/// When a wait gives up.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Deadline {
    At(i64),
    After(i64),
}

/// What a wait subscribes to.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Source {
    pub(super) key: Key,
    pub(super) scope: String,
}
