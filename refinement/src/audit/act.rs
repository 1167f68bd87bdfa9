//! What a row asked for, as the journal writes it. Unknown arguments are ignored: a later journal may say more.

use serde::Deserialize;
use serde_json::Value;

use super::rows::Row;

/// The name of a Work or a wait, whichever way the journal names it.
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

/// What was asked for, one variant an action.
#[derive(Debug, Clone)]
pub(super) enum Act {
    Accept(Accept),
    CommitRoute(CommitRoute),
    Reload { config: String },
    Drop { event: i64 },
    Replay { event: i64, request: String },
    Reopen(Operator),
    CreateWork(CreateWork),
    Hold(Operator),
    Release(Operator),
    Claim(Claim),
    ClearNeverHanded(By),
    Pin(By),
    Complete(By, Ending, bool),
    Fail(By, Option<Hint>),
    FireRetry { work: Id, attempt: u32 },
    Retry(Operator),
    Detach(By),
    Restore { above: u64 },
    ReleaseRestore { request: String, max_depth: Option<u32> },
    RegisterWait(RegisterWait),
    Wake { wait: Id },
    FireTimer { wait: Id },
    AcceptTimeout { wait: Id },
    Translate { wait: Id, event: i64 },
    CloseIdle { work: Id },
    ClaimRecovery { work: Id, lease: i64, expires_at: Option<i64> },
    SettleRecovery(By, Verdict),
    Vacate { work: Id, attempt: u32, epoch: u64 },
    Cancel(Operator),
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

#[derive(Deserialize)]
struct OfEvent {
    event: i64,
    #[serde(default)]
    request: String,
}

#[derive(Deserialize)]
struct OfWait {
    wait: Id,
    #[serde(default)]
    event: i64,
}

#[derive(Deserialize)]
struct OfReload {
    config: String,
}

#[derive(Deserialize)]
struct OfEnding {
    ending: Ending,
    #[serde(default)]
    declares: bool,
}

#[derive(Deserialize)]
struct OfFailure {
    hint: Option<Hint>,
}

#[derive(Deserialize)]
struct OfAttempt {
    work: Id,
    attempt: u32,
}

#[derive(Deserialize)]
struct OfAbove {
    above: u64,
}

#[derive(Deserialize)]
struct OfRestore {
    request: String,
    max_depth: Option<u32>,
}

#[derive(Deserialize)]
struct OfVerdict {
    verdict: Verdict,
}

#[derive(Deserialize)]
struct OfRecovery {
    work: Id,
    lease: i64,
    expires_at: Option<i64>,
}

/// Reads what a row asked for; an action that is not of the alphabet is none.
pub(super) fn act(row: &Row) -> Result<Option<Act>, serde_json::Error> {
    fn read<T: serde::de::DeserializeOwned>(row: &Row) -> Result<T, serde_json::Error> {
        T::deserialize(Value::Object(row.args.clone()))
    }
    Ok(Some(match row.action.as_str() {
        "accept" => Act::Accept(read(row)?),
        "commit_route" => Act::CommitRoute(read(row)?),
        "reload" => Act::Reload { config: read::<OfReload>(row)?.config },
        "drop" => Act::Drop { event: read::<OfEvent>(row)?.event },
        "replay" => {
            let OfEvent { event, request } = read(row)?;
            Act::Replay { event, request }
        }
        "reopen" => Act::Reopen(read(row)?),
        "create_work" => Act::CreateWork(read(row)?),
        "hold" => Act::Hold(read(row)?),
        "release" => Act::Release(read(row)?),
        "claim" => Act::Claim(read(row)?),
        "clear_never_handed" => Act::ClearNeverHanded(read(row)?),
        "pin" => Act::Pin(read(row)?),
        "complete" => {
            let OfEnding { ending, declares } = read(row)?;
            Act::Complete(read(row)?, ending, declares)
        }
        "fail" => Act::Fail(read(row)?, read::<OfFailure>(row)?.hint),
        "fire_retry" => {
            let OfAttempt { work, attempt } = read(row)?;
            Act::FireRetry { work, attempt }
        }
        "retry" => Act::Retry(read(row)?),
        "detach" => Act::Detach(read(row)?),
        "restore" => {
            let OfAbove { above } = read(row)?;
            Act::Restore { above }
        }
        "release_restore" => {
            let OfRestore { request, max_depth } = read(row)?;
            Act::ReleaseRestore { request, max_depth }
        }
        "register_wait" => Act::RegisterWait(read(row)?),
        "wake" => Act::Wake { wait: read::<OfWait>(row)?.wait },
        "fire_timer" => Act::FireTimer { wait: read::<OfWait>(row)?.wait },
        "accept_timeout" => Act::AcceptTimeout { wait: read::<OfWait>(row)?.wait },
        "translate" => {
            let OfWait { wait, event } = read(row)?;
            Act::Translate { wait, event }
        }
        "close_idle" => Act::CloseIdle { work: read::<Operator>(row)?.work },
        "claim_recovery" => {
            let OfRecovery { work, lease, expires_at } = read(row)?;
            Act::ClaimRecovery { work, lease, expires_at }
        }
        "settle_recovery" => Act::SettleRecovery(read(row)?, read::<OfVerdict>(row)?.verdict),
        "vacate" => {
            let By { work, attempt, epoch, .. } = read(row)?;
            Act::Vacate { work, attempt, epoch }
        }
        "cancel" => Act::Cancel(read(row)?),
        _ => return Ok(None),
    }))
}
