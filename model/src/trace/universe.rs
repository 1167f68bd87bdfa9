//! The universe of a world as the header of a trace describes it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::index::below;
use crate::state::Fallback;
use crate::worlds::{Ask, ControlPolicy, Controls, Decision, Does, Exhausted, Policy, World};

/// The names a trace may use, and the constants of its world.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Universe {
    /// Scopes with the one each lies in.
    pub scopes: Vec<ScopeCard>,
    /// Keys.
    pub keys: Vec<String>,
    /// Keys that are the next generation of another.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub generations: Vec<GenerationCard>,
    /// Kinds of Work.
    pub kinds: Vec<KindCard>,
    /// Deliveries with what they say.
    pub deliveries: Vec<DeliveryCard>,
    /// Works with their binding.
    pub works: Vec<WorkCard>,
    /// Waits with their subscription.
    pub waits: Vec<WaitCard>,
    /// Ticks a lease lasts.
    pub lease: u8,
    /// Attempts a scope may run, those of the scopes inside it among them.
    pub capacity: usize,
    /// How deep a derived event may be.
    pub depth_max: u8,
    /// Ticks a known body of a sender that signs bodies only is suspect.
    pub suspect_window: u8,
    /// Configurations that may be loaded, the first among them.
    pub configurations: u8,
    /// Ticks that a valid hint asks for.
    #[serde(default)]
    pub hint: u8,
    /// How often the database may be restored.
    #[serde(default)]
    pub restores: u8,
    /// Processes a Work may have at once, where hosts and processes are part of the world.
    #[serde(default)]
    pub processes: u8,
}

/// A scope as a trace describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScopeCard {
    /// Its name.
    pub name: String,
    /// The scope it lies in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inside: Option<String>,
    /// The other scopes whose events it may read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<String>,
}

/// A generation of a key as a trace describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GenerationCard {
    /// The key.
    pub key: String,
    /// Its next generation.
    pub next: String,
}

/// A kind of Work as a trace describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KindCard {
    /// Its name.
    pub name: String,
    /// It outlives its attempts.
    pub standing: bool,
    /// Ticks after a handoff in which an event is to come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub close_after: Option<u8>,
    /// What a failure leads to.
    pub retry: PolicyCard,
    /// What it leads to for attempts claimed once the configuration was replaced, if that differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reloaded: Option<PolicyCard>,
}

/// What failures lead to, as a trace describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyCard {
    /// The failure of that number is not retried of itself.
    pub budget: u8,
    /// Ticks until the retry after failure 1, 2 and so on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<u8>,
    /// What the last failure leads to.
    pub exhausted: Exhausted,
}

/// What a handler decides, as a trace describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DecisionCard {
    /// What becomes of the event.
    pub does: Does,
    /// Keys to attach.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attaches: Vec<String>,
    /// The Work it would make.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposes: Option<String>,
    /// The kind of that Work.
    pub kind: String,
    /// The successors it would make.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reopens: Vec<SuccessorCard>,
    /// What becomes of the event while an attempt runs; to queue it if nothing is said.
    #[serde(default, skip_serializing_if = "queues")]
    pub active: ControlPolicy,
    /// What stands in where the attempt does not support that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<Fallback>,
    /// What stands in where it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_error: Option<Fallback>,
}

fn queues(policy: &ControlPolicy) -> bool {
    *policy == ControlPolicy::Queue
}

/// A successor as a trace describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SuccessorCard {
    /// The Work that has ended.
    pub of: String,
    /// The Work that would succeed it.
    pub successor: String,
}

/// What a request asks for, as a trace describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AskCard {
    /// To replay this event.
    Replay(String),
    /// To reopen this Work.
    Reopen(String),
    /// To release this Work.
    Release(String),
    /// To retry this Work.
    Retry(String),
    /// To interrupt the running attempt of this Work.
    Interrupt(String),
    /// To release the restored database.
    ReleaseRestore,
    /// To make Work by hand.
    Create {
        /// Its parent.
        parent: Option<String>,
        /// Whether it may lie in another scope than its parent.
        authorised: bool,
    },
}

/// A source as a trace describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SourceCard {
    /// Its key.
    pub key: String,
    /// Its scope.
    pub scope: String,
}

/// A delivery as a trace describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeliveryCard {
    /// Its name.
    pub name: String,
    /// Its identity.
    pub identity: String,
    /// Its type.
    pub kind: String,
    /// Its key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The Work it names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Its scope.
    pub scope: String,
    /// What its handler decides.
    pub decides: DecisionCard,
    /// What it decides once the configuration was replaced, if that differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reloaded: Option<DecisionCard>,
    /// Its body, by number.
    pub body: u8,
    /// The number of its sender, if that signs bodies only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signs: Option<u8>,
    /// What it asks for, if it is an operator's request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asks: Option<AskCard>,
}

/// A Work as a trace describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkCard {
    /// Its name.
    pub name: String,
    /// Its binding can resume a parked attempt.
    pub resumes: bool,
    /// Its binding holds every process until the pin.
    pub holds_until_pin: bool,
    /// Ticks its attempts may be active.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<u8>,
    /// The controls its binding has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub controls: Vec<ControlPolicy>,
    /// Those it has for attempts claimed once the configuration was replaced, if they differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reloaded: Option<Vec<ControlPolicy>>,
}

/// A wait as a trace describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitCard {
    /// Its name.
    pub name: String,
    /// The Work that may register it.
    pub work: String,
    /// Its keys.
    pub keys: Vec<String>,
    /// Its types; empty passes any.
    pub types: Vec<String>,
    /// Ticks until its timeout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u8>,
    /// What it subscribes to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceCard>,
}

/// Everything of a world that a trace may name.
pub fn universe(world: &World) -> Universe {
    let key = |ix: &u8| world.keys[usize::from(*ix)].to_string();
    let kind = |ix: &u8| world.types[usize::from(*ix)].to_string();
    Universe {
        scopes: below(world.scopes.len()).map(|scope| scope_card(world, scope)).collect(),
        generations: world
            .generations
            .iter()
            .map(|(old, next)| GenerationCard { key: key(old), next: key(next) })
            .collect(),
        kinds: world
            .kinds
            .iter()
            .map(|kind| KindCard {
                name: kind.name.into(),
                standing: kind.standing,
                close_after: kind.close_after,
                retry: policy_card(&kind.retry),
                reloaded: kind.reloaded.as_ref().map(policy_card),
            })
            .collect(),
        keys: world.keys.iter().map(ToString::to_string).collect(),
        deliveries: world
            .deliveries
            .iter()
            .map(|delivery| DeliveryCard {
                name: delivery.name.into(),
                identity: delivery.identity.into(),
                kind: kind(&delivery.kind),
                key: delivery.key.as_ref().map(key),
                target: delivery.target.map(|work| world.work_name(work)),
                scope: world.scopes[usize::from(delivery.scope)].into(),
                decides: decision_card(world, &delivery.decides),
                reloaded: delivery.reloaded.as_ref().map(|other| decision_card(world, other)),
                body: delivery.body,
                signs: delivery.signs,
                asks: delivery.asks.map(|ask| ask_card(world, ask)),
            })
            .collect(),
        works: world
            .works
            .iter()
            .map(|work| WorkCard {
                name: work.name.into(),
                resumes: work.binding.resumes,
                holds_until_pin: work.binding.holds,
                active: work.binding.active,
                controls: controls(work.binding.controls),
                reloaded: work.reloaded.map(controls),
            })
            .collect(),
        waits: world
            .waits
            .iter()
            .map(|wait| WaitCard {
                name: wait.name.into(),
                work: world.work_name(wait.work),
                keys: wait.keys.iter().map(key).collect(),
                types: wait.types.iter().map(kind).collect(),
                timeout: wait.timeout,
                source: wait.source.map(|source| SourceCard {
                    key: key(&source.key),
                    scope: world.scopes[usize::from(source.scope)].into(),
                }),
            })
            .collect(),
        lease: world.lease,
        capacity: world.capacity,
        depth_max: world.depth_max,
        suspect_window: world.suspect_window,
        configurations: world.configurations,
        hint: world.hint,
        restores: world.restores,
        processes: world.processes,
    }
}

fn controls(controls: Controls) -> Vec<ControlPolicy> {
    let (injects, interrupts) = (controls.injects, controls.interrupts);
    let has = [(injects, ControlPolicy::Inject), (interrupts, ControlPolicy::Interrupt)];
    has.into_iter().filter(|(has, _)| *has).map(|(_, control)| control).collect()
}

fn policy_card(policy: &Policy) -> PolicyCard {
    PolicyCard { budget: policy.budget, steps: policy.steps.to_vec(), exhausted: policy.exhausted }
}

fn scope_card(world: &World, scope: u8) -> ScopeCard {
    let name = |scope: u8| world.scopes[usize::from(scope)].to_string();
    ScopeCard {
        name: name(scope),
        inside: world.upwards(scope).nth(1).map(name),
        reads: below(world.scopes.len())
            .filter(|other| *other != scope && world.may_read(scope, *other))
            .map(name)
            .collect(),
    }
}

fn decision_card(world: &World, decision: &Decision) -> DecisionCard {
    DecisionCard {
        does: decision.does,
        attaches: decision
            .attaches
            .iter()
            .map(|key| world.keys[usize::from(*key)].to_string())
            .collect(),
        proposes: decision.proposes.map(|work| world.work_name(work)),
        kind: world.kind(decision.kind).name.into(),
        reopens: decision
            .reopens
            .iter()
            .map(|(of, successor)| SuccessorCard {
                of: world.work_name(*of),
                successor: world.work_name(*successor),
            })
            .collect(),
        active: decision.control.policy,
        fallback: stands_in(decision.control.fallback),
        on_error: stands_in(decision.control.on_error),
    }
}

fn stands_in(fallback: Fallback) -> Option<Fallback> {
    (fallback != Fallback::None).then_some(fallback)
}

fn ask_card(world: &World, ask: Ask) -> AskCard {
    match ask {
        Ask::Replay(event) => AskCard::Replay(world.event_name(world.event_of(event))),
        Ask::Reopen(work) => AskCard::Reopen(world.work_name(work)),
        Ask::Release(work) => AskCard::Release(world.work_name(work)),
        Ask::Retry(work) => AskCard::Retry(world.work_name(work)),
        Ask::Interrupt(work) => AskCard::Interrupt(world.work_name(work)),
        Ask::ReleaseRestore => AskCard::ReleaseRestore,
        Ask::Create { parent, authorised } => {
            AskCard::Create { parent: parent.map(|work| world.work_name(work)), authorised }
        }
    }
}
