//! What a world is made of: its universe, its lengths and what its surroundings offer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::action::{Ending, Expect, Hint, Kind, Mark, SendAnswer};
use crate::index::{DeliveryIx, EventIx, Proofs, WaitIx, WorkIx};
use crate::state::{Fallback, IntentKind};

/// One bounded starting point for the checker.
#[derive(Clone, Copy, Debug)]
pub struct World {
    /// Its name, as commands and traces use it.
    pub name: &'static str,
    /// What it isolates, in a sentence.
    pub shows: &'static str,
    /// Scopes, by index.
    pub scopes: &'static [&'static str],
    /// Which scope lies in which, child before parent; a scope that is not listed lies in none.
    pub inside: &'static [(u8, u8)],
    /// Which scope may read events of which other. BIND-05
    pub reads: &'static [(u8, u8)],
    /// Keys, by index; at most eight.
    pub keys: &'static [&'static str],
    /// Which key is the next generation of which. TERM-03
    pub generations: &'static [(u8, u8)],
    /// Event types, by index.
    pub types: &'static [&'static str],
    /// Kinds of Work, by index.
    pub kinds: &'static [WorkKind],
    /// What senders may offer.
    pub deliveries: &'static [Delivery],
    /// The Works that may come to exist.
    pub works: &'static [WorkDef],
    /// The waits that may be registered.
    pub waits: &'static [WaitDef],
    /// The attempts that may publish how their turn ended.
    pub turns: &'static [(WorkIx, u8)],
    /// The failures that may lead to a retry event: a Work and an attempt of it. RETRY-19
    pub retries: &'static [(WorkIx, u8)],
    /// The Works that a route may make as successors. TERM-03
    pub successors: &'static [WorkIx],
    /// The Works that an operator acts on.
    pub operated: &'static [WorkIx],
    /// How long a lease lasts, in ticks.
    pub lease: u8,
    /// How many attempts a scope may run, those of the scopes inside it among them. POLICY-06
    pub capacity: usize,
    /// How deep a derived event may be. CAUSE-15
    pub depth_max: u8,
    /// How long a known body of a sender that signs bodies only is suspect, in ticks. OURS-17
    pub suspect_window: u8,
    /// How many configurations there are to be loaded, the first among them. BIND-11
    pub configurations: u8,
    /// The hints that executors give.
    pub hints: &'static [Hint],
    /// How long a valid hint is, in ticks. RETRY-15
    pub hint: u8,
    /// How often the database may be restored from a backup. OURS-21
    pub restores: u8,
    /// How many processes a Work may have at once where the host and its executor are part of the world, which has the
    /// crash grain then; 0 where they are not. OURS-19 OURS-20
    pub processes: u8,
    /// The kinds of action the surroundings offer, in groups.
    pub offers: &'static [&'static [Kind]],
    /// How a turn may end, and whether it declares a status.
    pub endings: &'static [(Ending, bool)],
    /// Which attempts an operator may mean. OURS-09
    pub expects: &'static [Expect],
    /// What executors answer to a control.
    pub answers: &'static [SendAnswer],
    /// What results may say their process took in, true or not; where processes are known they say what is so.
    pub proofs: &'static [Proofs],
}

/// A kind of Work, which is fixed when the Work is made. OURS-03
#[derive(Clone, Copy, Debug)]
pub struct WorkKind {
    /// Its name.
    pub name: &'static str,
    /// It outlives its attempts. JOB-14
    pub standing: bool,
    /// Ticks after a handoff in which an event is to come, or it is cancelled.
    pub close_after: Option<u8>,
    /// What a failure leads to.
    pub retry: Policy,
    /// What it leads to for attempts claimed under any configuration but the first, if that differs. BIND-10
    pub reloaded: Option<Policy>,
}

/// What failures lead to; pinned with the attempt that fails. RETRY-03 to RETRY-09 RETRY-31
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// The failure of that number is the last: it is not retried of itself.
    pub budget: u8,
    /// Ticks until the retry after failure 1, 2 and so on; at least one for each failure but the last.
    pub steps: &'static [u8],
    /// What the last failure leads to.
    pub exhausted: Exhausted,
}

/// What becomes of Work whose failures used up the budget.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Exhausted {
    /// It stays open and is held. RETRY-06
    Keep,
    /// It is failed for good. RETRY-31 RETRY-32
    Fail,
}

/// One delivery of a sender, with what trusted configuration says of it.
#[derive(Clone, Copy, Debug)]
pub struct Delivery {
    /// Its name.
    pub name: &'static str,
    /// The identity `(source, delivery id)`; two deliveries of one identity are one event. INGRESS-05
    pub identity: &'static str,
    /// Index of its type.
    pub kind: u8,
    /// The type belongs to a core family. CAUSE-07
    pub core: bool,
    /// Index of its key.
    pub key: Option<u8>,
    /// The Work it names.
    pub target: Option<WorkIx>,
    /// The scope trusted configuration selected. INGRESS-08
    pub scope: u8,
    /// What its handler decides; stable over re-evaluation. ROUTE-16
    pub decides: Decision,
    /// What it decides under any configuration but the first, if that differs. BIND-13
    pub reloaded: Option<Decision>,
    /// Its body; two deliveries of one identity and different bodies conflict. OURS-17
    pub body: u8,
    /// The sender, if it signs bodies only. OURS-17
    pub signs: Option<u8>,
    /// The operator's action whose request it is, if it is no sender's.
    pub asks: Option<Ask>,
    /// From when on the sender has it.
    pub when: When,
}

/// A handler's decision. ROUTE-08
#[derive(Clone, Copy, Debug)]
pub struct Decision {
    /// What becomes of the event.
    pub does: Does,
    /// Keys to attach to its Work. OWN-07
    pub attaches: &'static [u8],
    /// The Work it would make. ROUTE-16
    pub proposes: Option<WorkIx>,
    /// The kind of that Work. OURS-03
    pub kind: u8,
    /// The successor it would make of each Work that the event may come to after its end. TERM-03
    pub reopens: &'static [(WorkIx, WorkIx)],
    /// What becomes of the event while an attempt of its Work runs. POLICY-01
    pub control: Control,
}

/// What a route says of a running attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control {
    /// Its policy. POLICY-01
    pub policy: ControlPolicy,
    /// What stands in where the attempt does not support the policy. POLICY-27
    pub fallback: Fallback,
    /// What stands in where a supported control failed. POLICY-33
    pub on_error: Fallback,
}

/// What a route wants of a running attempt. POLICY-01
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ControlPolicy {
    /// The event waits for the next attempt. POLICY-08
    #[default]
    Queue,
    /// It is to reach the attempt. POLICY-11
    Inject,
    /// It is to end the attempt. POLICY-19
    Interrupt,
    /// Nothing is to come of it. POLICY-24
    Drop,
}

impl ControlPolicy {
    /// The control that an attempt must support for it.
    pub fn needs(self) -> IntentKind {
        match self {
            ControlPolicy::Queue | ControlPolicy::Drop => IntentKind::None,
            ControlPolicy::Inject => IntentKind::Inject,
            ControlPolicy::Interrupt => IntentKind::Interrupt,
        }
    }
}

impl Control {
    /// What most routes say.
    pub const QUEUE: Control = Control {
        policy: ControlPolicy::Queue,
        fallback: Fallback::None,
        on_error: Fallback::None,
    };
}

/// What a decision does with its event.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Does {
    /// No route matched. ROUTE-10
    Decline,
    /// Nothing is to come of it. ROUTE-08
    Drop,
    /// Its Work is cancelled for good. OURS-02
    Close,
    /// It is input of its Work, if there is one. OURS-01
    Update,
    /// It is input of its Work, which is made if need be. OURS-01
    Work,
}

/// Whose request a delivery is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// To replay an event. OURS-08
    Replay(Of),
    /// To reopen a Work. OURS-11
    Reopen(WorkIx),
    /// To release a Work. OURS-06
    Release(WorkIx),
    /// To retry a Work. RETRY-26 RETRY-27
    Retry(WorkIx),
    /// To interrupt the running attempt of a Work. CTRL-01
    Interrupt(WorkIx),
    /// To release a restored database. OURS-21
    ReleaseRestore,
    /// To make a Work by hand. BIND-03 BIND-04
    Create {
        /// The parent it names.
        parent: Option<WorkIx>,
        /// Whether it may lie in another scope than its parent.
        authorised: bool,
    },
}

/// An event as a world's definition names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// A delivery.
    Delivery(u8),
    /// The end of a turn: a Work and an attempt of it.
    Ended(u8, u8),
    /// The alias of a delivery for a wait.
    Alias(u8, u8),
    /// The retry of a Work's failed attempt.
    Retry(u8, u8),
}

/// One Work of the universe.
#[derive(Clone, Copy, Debug)]
pub struct WorkDef {
    /// Its name.
    pub name: &'static str,
    /// What the binding pinned with its attempts can do.
    pub binding: Binding,
    /// The controls that it has for attempts claimed under any configuration but the first, if those differ. BIND-10
    pub reloaded: Option<Controls>,
}

/// The controls that a binding advertised and its executor implemented. POLICY-26
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Controls {
    /// An event can reach a running attempt.
    pub injects: bool,
    /// A running attempt can be interrupted.
    pub interrupts: bool,
}

impl Controls {
    /// No control.
    pub const NONE: Controls = Controls { injects: false, interrupts: false };
    /// Every control.
    pub const BOTH: Controls = Controls { injects: true, interrupts: true };
}

/// What an executor binding can do.
#[derive(Clone, Copy, Debug)]
pub struct Binding {
    /// Its name.
    pub name: &'static str,
    /// A parked attempt can be resumed. WAKE-16
    pub resumes: bool,
    /// No process of a segment proceeds before the pin. ADOPT-07
    pub holds: bool,
    /// How long its attempts may be active, in ticks. WAKE-27
    pub active: Option<u8>,
    /// The controls it has.
    pub controls: Controls,
}

/// One wait of the universe.
#[derive(Clone, Copy, Debug)]
pub struct WaitDef {
    /// Its name.
    pub name: &'static str,
    /// The Work whose attempts may register it.
    pub work: WorkIx,
    /// Indices of its keys.
    pub keys: &'static [u8],
    /// Indices of its types; empty passes any. WAIT-03
    pub types: &'static [u8],
    /// Ticks until its timeout.
    pub timeout: Option<u8>,
    /// What it subscribes to beyond the Work's own keys. ALIAS-02
    pub source: Option<Source>,
    /// The watermarks a registration may declare.
    pub after: &'static [Mark],
}

/// What a wait subscribes to: events of one key in one scope.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// Index of the key; its generations are the same source.
    pub key: u8,
    /// Its scope.
    pub scope: u8,
    /// Every event of the universe that may ever be of this source.
    pub events: &'static [Of],
}

impl Policy {
    /// Whether the failure of this number is the last: the budget is used up, or no step is given for it. RETRY-06
    pub fn uses_up(&self, count: u8) -> bool {
        count >= self.budget || usize::from(count) > self.steps.len()
    }
}

impl WaitDef {
    /// Whether its types let an event of this type pass. WAIT-03
    pub fn passes(&self, kind: Option<u8>) -> bool {
        self.types.is_empty() || kind.is_some_and(|kind| self.types.contains(&kind))
    }

    pub(super) const fn aliases(&self) -> usize {
        match self.source {
            Some(source) => source.events.len(),
            None => 0,
        }
    }
}

/// From when on an action of the surroundings is possible.
#[derive(Clone, Copy, Debug)]
pub enum When {
    /// From the beginning.
    Always,
    /// Once the Work exists.
    Exists(WorkIx),
    /// Once an attempt of the Work was claimed.
    Started(WorkIx),
    /// Once the wait was registered.
    Registered(WaitIx),
    /// Once the Work has ended.
    Ended(WorkIx),
    /// Once the attempt of that number was claimed.
    Attempt(WorkIx, u8),
    /// Once the delivery was accepted.
    Accepted(DeliveryIx),
}

/// What an event says of itself: the facts that resolve it.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// Its key.
    pub key: Option<u8>,
    /// The Work it names.
    pub target: Option<WorkIx>,
    /// The scope selected for it; none for derived events, which name their Work.
    pub scope: Option<u8>,
    /// Index of its type, if senders or waits may know it.
    pub kind: Option<u8>,
    /// The Work whose execution published it. WAIT-06
    pub publisher: Option<WorkIx>,
}

/// Which event an event slot stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A delivery of a sender.
    Delivery(DeliveryIx),
    /// The timeout of a wait.
    Timeout(WaitIx),
    /// `core.wait.woken` of a wait.
    Continuation(WaitIx),
    /// The alias of a source event for a wait. ALIAS-05
    Alias(WaitIx, EventIx),
    /// `core.turn.ended` of an attempt. ALIAS-15
    Ended(WorkIx, u8),
    /// `core.work.created` of a successor that a route made. TERM-05
    Created(WorkIx),
    /// `core.retry.due` of a failed attempt. RETRY-19
    Retry(WorkIx, u8),
}

impl Origin {
    /// The delivery, if it is one.
    pub fn delivery(self) -> Option<DeliveryIx> {
        match self {
            Origin::Delivery(delivery) => Some(delivery),
            Origin::Timeout(_)
            | Origin::Continuation(_)
            | Origin::Alias(..)
            | Origin::Ended(..)
            | Origin::Created(_)
            | Origin::Retry(..) => None,
        }
    }

    /// The wait and the source, if it is an alias.
    pub fn alias(self) -> Option<(WaitIx, EventIx)> {
        match self {
            Origin::Alias(wait, source) => Some((wait, source)),
            Origin::Delivery(_)
            | Origin::Timeout(_)
            | Origin::Continuation(_)
            | Origin::Ended(..)
            | Origin::Created(_)
            | Origin::Retry(..) => None,
        }
    }
}

/// The type of the event that says how a turn ended.
pub const TURN_ENDED: &str = "core.turn.ended";

impl Decision {
    /// No route matched. ROUTE-10
    pub const DECLINES: Decision = Decision {
        does: Does::Decline,
        attaches: &[],
        proposes: None,
        kind: 0,
        reopens: &[],
        control: Control::QUEUE,
    };

    /// The successor it would make of a Work that ended. TERM-03
    pub fn successor_of(&self, old: WorkIx) -> Option<WorkIx> {
        self.reopens.iter().find(|(known, _)| *known == old).map(|(_, successor)| *successor)
    }
}
