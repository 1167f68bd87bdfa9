//! What the operator door answers, as JSON. The CLI reads exactly these; programs may too.
//!
//! Ids are the prefixed ones; `seq` is an event's place in this database. Instants are RFC 3339 text.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::{
    AttemptStatus, ControlPolicy, Exhausted, Fallback, HintFinding, Hold, IntentKind, IntentStatus,
    MarkKind, Phase, WaitStatus, WorkStatus,
};

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
    /// Why, where a person decided, its route dropped it or a fallback stood in.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    /// The policy that its route asked for, where the attempt lacked that and a fallback stood in.
    /// POLICY-28
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub asked: Option<ControlPolicy>,
    /// Its identity came again with another body. OURS-17
    #[serde(skip_serializing_if = "is_false", default)]
    pub conflicting: bool,
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
    /// How it was to reach a running attempt, if it was.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub intent: Option<IntentRow>,
}

/// How an event was to reach a running attempt. POLICY-11 POLICY-19
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IntentRow {
    /// Sequence of the event.
    pub event: i64,
    /// The event's id.
    pub event_id: String,
    /// The attempt that it acts on, or none. POLICY-23
    pub attempt: u32,
    /// The claim it was committed under.
    pub epoch: u64,
    /// By a message to its process, or by stopping that.
    pub kind: IntentKind,
    /// Where it is.
    pub status: IntentStatus,
    /// What stands in where it fails; absent: it is tried again. POLICY-33
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub on_error: Option<Fallback>,
    /// Sends that are on record, fewer than there were where one was made again and again. POLICY-17
    pub sends: u32,
    /// When it was committed, before anything was sent. POLICY-12
    pub committed_at: String,
    /// When a send was first tried; absent: never.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub dispatched_at: Option<String>,
    /// When it was settled.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub settled_at: Option<String>,
    /// What the executor last said of it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub detail: Option<String>,
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
    /// Why it does not start, if it is held; the first of several.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hold: Option<Hold>,
    /// Every hold that stands.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub holds: Vec<Hold>,
    /// It outlives its attempts, and is cancelled for good or not at all. OURS-10
    #[serde(skip_serializing_if = "is_false", default)]
    pub standing: bool,
    /// The Work it succeeds. TERM-05
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub predecessor: Option<String>,
    /// The Work that succeeds it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub successor: Option<String>,
    /// The Work it is a child of. TERM-06
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub parent: Option<String>,
    /// When it is closed, should nothing come until then.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub idle_until: Option<String>,
    /// The event that closed it. OURS-02
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub closed_by: Option<i64>,
    /// A process of an earlier segment may still run.
    pub excluded: bool,
    /// Failures counted since its last success or manual retry. RETRY-09
    #[serde(skip_serializing_if = "is_zero", default)]
    pub failures: u32,
    /// The retry that it waits for. RETRY-04
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub backoff: Option<BackoffRow>,
    /// Its keys, `source#external-id`.
    pub keys: Vec<String>,
    /// Attempts made.
    pub attempts: u32,
    /// Pending input.
    pub pending: u64,
    /// When it was created.
    pub created_at: String,
}

/// A Work whose running attempt is to be interrupted. That is recorded, and nobody was told yet.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct InterruptRow {
    /// The Work.
    #[serde(flatten)]
    pub work: WorkRow,
    /// The event that asks for it. CTRL-02
    pub event: i64,
}

/// The retry that a Work waits for.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct BackoffRow {
    /// The attempt that failed.
    pub attempt: u32,
    /// When its retry is due; absent once the retry is accepted, and only to be routed. RETRY-19
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub due: Option<String>,
    /// A causal limit refused it, and it fires no more. CAUSE-33
    #[serde(skip_serializing_if = "is_false", default)]
    pub disabled: bool,
}

/// What an executor said of the delay of a retry. RETRY-16
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct HintRow {
    /// Milliseconds it asked for; absent if that could not be read.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub delay_ms: Option<i64>,
    /// What was made of it; only a valid one counts.
    pub finding: HintFinding,
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
    pub epoch: u64,
    /// The binding it is pinned to.
    #[serde(default)]
    pub binding: String,
    /// The configuration that binding is read in. BIND-10
    #[serde(default)]
    pub generation: i64,
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
    /// What its executor said of the delay of a retry, if anything.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hint: Option<HintRow>,
    /// Events can be offered to its process: its pin has it. POLICY-26
    #[serde(skip_serializing_if = "is_false", default)]
    pub injects: bool,
    /// It can be interrupted: its pin has it. CTRL-05
    #[serde(skip_serializing_if = "is_false", default)]
    pub interrupts: bool,
    /// The event that interrupted it, by its id; absent if it ended otherwise. CTRL-09
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub interrupt_event_id: Option<String>,
    /// The sequence of that event.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub interrupted_by: Option<i64>,
    /// What its process says it used: units and decimal amounts.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub usage: Option<serde_json::Value>,
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
    /// What it subscribes to beside its own keys.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub subscription: Option<SubscriptionRow>,
}

/// What a Wait subscribes to. ALIAS-02
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SubscriptionRow {
    /// The external resource, `source#external-id`.
    pub source: String,
    /// The scope its events are accepted into.
    pub scope: String,
    /// Everything of it up to this sequence is translated. ALIAS-07
    pub checkpoint: i64,
    /// Its Wait is active. ALIAS-11
    pub active: bool,
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
    /// What was to reach a running attempt of it, in acceptance order.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub intents: Vec<IntentRow>,
}

/// A derived event that a causal limit refused.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RejectionRow {
    /// The refused delivery's identity.
    pub delivery: String,
    /// What it would have been: `timeout`, `continuation`, `alias`, `turn_ended`, `successor`,
    /// `replay` or `retry`.
    #[serde(default)]
    pub kind: String,
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

/// An armed timer.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct TimerRow {
    /// What it ends: `wait`, `retry` for a backoff, or `idle` for Work that would be closed.
    pub kind: String,
    /// The Work it is of.
    pub work: String,
    /// The Wait it ends, if it ends one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub wait: Option<String>,
    /// The failed attempt it retries, if it retries one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub attempt: Option<u32>,
    /// When it is due.
    pub due: String,
    /// A causal limit refused it once, and it fires no more. CAUSE-33
    pub disabled: bool,
}

/// What keeps everything from starting, by the whole database. OURS-21
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RestoreRow {
    /// It was restored from a backup, and nobody has released it yet.
    pub held: bool,
    /// How often it was restored, from 1.
    pub incarnation: u32,
}

/// A Work that a hold keeps from starting.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct HoldRow {
    /// The Work.
    pub work: String,
    /// Its last attempt; 0 for none yet.
    #[serde(default)]
    pub attempts: u32,
    /// Where it is.
    pub status: WorkStatus,
    /// Every hold that stands.
    pub holds: Vec<Hold>,
    /// Why, for people.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    /// Its kind.
    pub kind: String,
    /// Its scope.
    pub scope: String,
}

/// One configuration that is or was current. BIND-11
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ConfigRow {
    /// Its number.
    pub generation: i64,
    /// It is current now.
    pub current: bool,
    /// SHA-256 of what it says, however it is written.
    pub digest: String,
    /// When it became current.
    pub since: String,
}

/// One configuration with its text.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ConfigDetail {
    /// The row.
    #[serde(flatten)]
    pub config: ConfigRow,
    /// The text as it was read; it names where secrets are and holds none.
    pub text: String,
}

/// A reload that changed nothing, because the file was not valid.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RefusedRow {
    /// When.
    pub at: String,
    /// Who asked.
    pub by: String,
    /// What is wrong, and where.
    pub why: String,
}

/// Every configuration there was, and what was refused since the daemon started.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ConfigHistory {
    /// A page of those that were current, oldest first.
    #[serde(flatten)]
    pub page: Page<ConfigRow>,
    /// The newest refused reloads, oldest first.
    #[serde(default)]
    pub refused: Vec<RefusedRow>,
}

/// Answer to a reload.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ReloadAnswer {
    /// What is current now.
    pub generation: i64,
    /// Whether it was not before.
    pub changed: bool,
    /// What an operator should know of it, one sentence each.
    pub notes: Vec<String>,
}

/// One scope as it is effective now.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ScopeRow {
    /// Its name.
    pub name: String,
    /// Attempts at once in it and below; absent: as many as the scopes above allow.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub capacity: Option<u32>,
    /// Attempts running in it and below.
    pub running: u32,
    /// How deep its chains may be.
    pub max_depth: u32,
    /// Other scopes on whose keys its Work may wait.
    pub read_scopes: Vec<String>,
    /// Its routes in the order they are tried.
    pub routes: Vec<RouteRow>,
    /// Its kinds.
    pub kinds: Vec<KindRow>,
    /// Its bindings.
    pub bindings: Vec<BindingRow>,
}

/// One effective route.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RouteRow {
    /// Its name.
    pub name: String,
    /// The scope that declares it.
    pub declared_in: String,
    /// Type patterns.
    pub on: Vec<String>,
    /// Its condition.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub when: Option<String>,
    /// Its key.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub key: Option<String>,
    /// Further keys it attaches.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub attach: Option<String>,
    /// What it does: `work`, `update`, `drop` or `close`.
    #[serde(rename = "do")]
    pub action: String,
    /// The kind of Work it creates.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub kind: Option<String>,
    /// What becomes of its events while an attempt of their Work runs; absent where it hands none
    /// to an attempt. POLICY-01
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub active: Option<ControlPolicy>,
    /// What stands in where the attempt does not support that. POLICY-27
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fallback: Option<Fallback>,
    /// What stands in where it failed; absent: it is tried again. POLICY-33
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub on_error: Option<Fallback>,
}

/// One effective kind.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct KindRow {
    /// Its name.
    pub name: String,
    /// Its binding.
    pub binding: String,
    /// Its Work outlives its attempts.
    pub standing: bool,
    /// Types that make a successor of its ended Work.
    pub reopen: Vec<String>,
    /// Milliseconds its Work may be idle after a handoff.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub close_after_ms: Option<u64>,
    /// What the failures of its attempts lead to; absent for standing Work, which counts none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub retry: Option<RetryRow>,
    /// Milliseconds that a hint of an executor may ask for at most. RETRY-17
    #[serde(default)]
    pub hint_max_ms: u64,
}

/// An effective retry policy. RETRY-03
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RetryRow {
    /// Failures in total until the budget is used up.
    pub attempts: u32,
    /// Milliseconds from failure 1, 2, … until the next attempt is due; the steps that count.
    pub backoff_ms: Vec<u64>,
    /// What a used up budget does: hold the Work (`keep`), or end it (`fail`).
    pub exhausted: Exhausted,
}

/// One effective binding.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct BindingRow {
    /// Its name.
    pub name: String,
    /// The scope that declares it.
    pub declared_in: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// It continues a parked attempt.
    pub resumes: bool,
    /// Events can be offered to its running process. POLICY-26
    #[serde(default)]
    pub injects: bool,
    /// Its running process can be interrupted. POLICY-26
    #[serde(default)]
    pub interrupts: bool,
    /// Milliseconds of active time an attempt may use.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub timeout_ms: Option<u64>,
}

/// Body of `POST /work/{id}/hold`, `release`, `retry`, `interrupt`, `cancel` and `reopen`; an interrupt
/// takes the guard alone. A word that is not known is refused: a misspelt guard must not become none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ActRequest {
    /// Why, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The number of its last attempt as the caller saw it, 0 for none: another one refuses the
    /// request. OURS-09
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect_attempt: Option<u32>,
    /// Said out loud to cancel standing Work. OURS-10
    #[serde(default, skip_serializing_if = "is_false")]
    pub for_good: bool,
}

/// Body of `POST /drain`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DrainRequest {
    /// Milliseconds after which the daemon claims again; no limit if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Claim again.
    #[serde(default, skip_serializing_if = "is_false")]
    pub cancel: bool,
}

/// How far draining has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DrainRow {
    /// Which daemon answers: one that is started anew has another.
    #[serde(default)]
    pub instance: String,
    /// Nothing more is claimed.
    pub draining: bool,
    /// Attempts that run.
    pub running: u64,
    /// Their Works, or the first of them.
    pub works: Vec<String>,
    /// Milliseconds after which the daemon claims again, if there is a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_ms: Option<u64>,
}

/// Body of `POST /work`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateRequest {
    /// Where; its parent's scope, or the only one there is, if left out. BIND-03
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// What kind of Work.
    pub kind: String,
    /// The key it owns from its start, `source#external-id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The Work it is a child of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Places a child in another scope than its parent's. BIND-04
    #[serde(default, skip_serializing_if = "is_false")]
    pub across: bool,
    /// What it is to work on: `data` of its first input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<serde_json::Value>,
}

/// Body of `POST /events/{id}/drop`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DropRequest {
    /// Why, for people; asked for, because nothing else will tell. OURS-07
    pub reason: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_false(truth: &bool) -> bool {
    !*truth
}
