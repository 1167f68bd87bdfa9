//! The alphabet: everything that can happen, as data.
//!
//! A commit is one short transaction that changes durable truth; an environment action touches volatile facts
//! only and is never performed on a runtime. The type parameters let one definition serve twice: with indices
//! it is the `Copy` action of the explorer, with names ([`NamedAction`]) it is what a trace holds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::index::{DeliveryIx, EventIx, WaitIx, WorkIx};

/// One action of the model, by index unless said otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Action<D = DeliveryIx, E = EventIx, W = WorkIx, T = WaitIx> {
    /// A committed step, performed by the model and by a runtime alike.
    Commit(Commit<D, E, W, T>),
    /// A step of the surroundings that commits nothing.
    World(Env<E, W>),
}

/// An action whose parts are named, as traces hold it.
pub type NamedAction = Action<String, String, String, String>;

/// One committed step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "action", content = "args", rename_all = "snake_case")]
pub enum Commit<D = DeliveryIx, E = EventIx, W = WorkIx, T = WaitIx> {
    /// Keeps an event and numbers it; a known identity answers the original. INGRESS-01 to INGRESS-11
    Accept {
        /// What the sender offers.
        delivery: D,
    },
    /// Applies the proposal evaluated for an event, in the order of its Work. ROUTE-15 to ROUTE-19, OWN-05
    CommitRoute {
        /// The event to route.
        event: E,
    },
    /// Starts or resumes an attempt under a fresh lease, with all pending input. LEASE-10, POLICY-05 to POLICY-09
    Claim {
        /// The Work to start.
        work: W,
    },
    /// Withdraws the record that no executor was handed the segment, before handing it over. ADOPT-06
    ClearNeverHanded {
        /// The Work whose attempt acts.
        work: W,
        /// The authority it shows.
        by: Authority,
    },
    /// Saves the executor's metadata with the segment; from here on recovery only adopts. ADOPT-04, ADOPT-09
    Pin {
        /// The Work whose attempt acts.
        work: W,
        /// The authority it shows.
        by: Authority,
    },
    /// Extends the lease of the live epoch. LEASE-11
    Renew {
        /// The Work whose attempt acts.
        work: W,
        /// The authority it shows.
        by: Authority,
    },
    /// Ends the attempt completed; the Work is done, or ready if input is pending. DONE-01 to DONE-06
    Complete {
        /// The Work whose attempt acts.
        work: W,
        /// The authority it shows.
        by: Authority,
    },
    /// Ends the attempt failed and holds the Work, its budget being one failure. RETRY-06
    Fail {
        /// The Work whose attempt acts.
        work: W,
        /// The authority it shows.
        by: Authority,
    },
    /// Parks or ends the attempt, registers the wait and scans accepted history, in one step. WAIT-12 to WAIT-19
    RegisterWait {
        /// The Work whose attempt acts.
        work: W,
        /// The authority it shows.
        by: Authority,
        /// The wait to register.
        wait: T,
        /// The watermark it declares.
        after: Mark,
    },
    /// Wakes an active wait by its lowest matching event, once. WAKE-01 to WAKE-11
    Wake {
        /// The wait to wake.
        wait: T,
    },
    /// Accepts the due timeout and wakes by it, or wakes by a match accepted earlier. WAKE-04 to WAKE-06
    FireTimer {
        /// The wait whose timer is due.
        wait: T,
    },
    /// Accepts the due timeout alone, ahead of the wake. WAKE-03
    AcceptTimeout {
        /// The wait whose timer is due.
        wait: T,
    },
    /// Takes over an attempt whose lease is over, under the next epoch. LEASE-02, LEASE-08, ADOPT-01 to ADOPT-12
    ClaimRecovery {
        /// The Work to recover.
        work: W,
    },
    /// Ends a recovery: the process was adopted, or cannot be. ADOPT-14 to ADOPT-22
    SettleRecovery {
        /// The Work whose attempt acts.
        work: W,
        /// The authority it shows.
        by: Authority,
        /// What the executor found.
        verdict: Verdict,
    },
    /// Lifts the exclusion mark once the process of the marked segment is seen to have ended. POLICY-22
    Vacate {
        /// The Work whose mark is meant.
        work: W,
        /// The segment whose process ended.
        segment: Authority,
    },
    /// Ends the Work with everything of it that could still act, in one step. CANCEL-01 to CANCEL-11
    Cancel {
        /// The Work to cancel.
        work: W,
    },
}

/// A step of the surroundings: volatile facts only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "action", content = "args", rename_all = "snake_case")]
pub enum Env<E = EventIx, W = WorkIx> {
    /// Reads an unrouted event and the Work it resolves to, and keeps a proposal. ROUTE-12, ROUTE-14
    Evaluate {
        /// The event to evaluate.
        event: E,
    },
    /// Time moves to the next tick. LEASE-01, WAKE-04
    Tick,
    /// The daemon stops and starts: proposals are lost, durable truth is not.
    Crash,
    /// The process of the marked segment ends.
    ProcessExits {
        /// The Work whose process it was.
        work: W,
    },
}

/// Which authority an actor shows for a Work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Authority {
    /// The last one granted for that Work, live or not.
    Current,
    /// The one granted before it; where there is none, one that was never granted.
    Stale,
}

/// Which watermark a registration declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// Zero: nothing was observed.
    Start,
    /// The highest sequence in the batch that the segment claimed.
    Batch,
    /// The latest accepted sequence.
    Latest,
    /// One above the latest accepted sequence.
    Beyond,
}

/// What an executor found when asked to adopt a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Verified to be the process of this attempt, and given the new credentials.
    Adopted,
    /// Unknown, dead or not verifiable.
    NotAdoptable,
}

/// The kind of an action, without its arguments.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each kind is documented at its action")]
pub enum Kind {
    Accept,
    CommitRoute,
    Claim,
    ClearNeverHanded,
    Pin,
    Renew,
    Complete,
    Fail,
    RegisterWait,
    Wake,
    FireTimer,
    AcceptTimeout,
    ClaimRecovery,
    SettleRecovery,
    Vacate,
    Cancel,
    Evaluate,
    Tick,
    Crash,
    ProcessExits,
}

impl Kind {
    /// Every kind, commits first, each group in order of declaration.
    pub const ALL: [Kind; 20] = [
        Kind::Accept,
        Kind::CommitRoute,
        Kind::Claim,
        Kind::ClearNeverHanded,
        Kind::Pin,
        Kind::Renew,
        Kind::Complete,
        Kind::Fail,
        Kind::RegisterWait,
        Kind::Wake,
        Kind::FireTimer,
        Kind::AcceptTimeout,
        Kind::ClaimRecovery,
        Kind::SettleRecovery,
        Kind::Vacate,
        Kind::Cancel,
        Kind::Evaluate,
        Kind::Tick,
        Kind::Crash,
        Kind::ProcessExits,
    ];

    /// The serialized name.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Accept => "accept",
            Kind::CommitRoute => "commit_route",
            Kind::Claim => "claim",
            Kind::ClearNeverHanded => "clear_never_handed",
            Kind::Pin => "pin",
            Kind::Renew => "renew",
            Kind::Complete => "complete",
            Kind::Fail => "fail",
            Kind::RegisterWait => "register_wait",
            Kind::Wake => "wake",
            Kind::FireTimer => "fire_timer",
            Kind::AcceptTimeout => "accept_timeout",
            Kind::ClaimRecovery => "claim_recovery",
            Kind::SettleRecovery => "settle_recovery",
            Kind::Vacate => "vacate",
            Kind::Cancel => "cancel",
            Kind::Evaluate => "evaluate",
            Kind::Tick => "tick",
            Kind::Crash => "crash",
            Kind::ProcessExits => "process_exits",
        }
    }
}

impl<D, E, W, T> Action<D, E, W, T> {
    /// The kind of this action.
    pub fn kind(&self) -> Kind {
        match self {
            Action::Commit(commit) => commit.kind(),
            Action::World(env) => env.kind(),
        }
    }
}

impl<D, E, W, T> Commit<D, E, W, T> {
    /// The kind of this commit.
    pub fn kind(&self) -> Kind {
        match self {
            Commit::Accept { .. } => Kind::Accept,
            Commit::CommitRoute { .. } => Kind::CommitRoute,
            Commit::Claim { .. } => Kind::Claim,
            Commit::ClearNeverHanded { .. } => Kind::ClearNeverHanded,
            Commit::Pin { .. } => Kind::Pin,
            Commit::Renew { .. } => Kind::Renew,
            Commit::Complete { .. } => Kind::Complete,
            Commit::Fail { .. } => Kind::Fail,
            Commit::RegisterWait { .. } => Kind::RegisterWait,
            Commit::Wake { .. } => Kind::Wake,
            Commit::FireTimer { .. } => Kind::FireTimer,
            Commit::AcceptTimeout { .. } => Kind::AcceptTimeout,
            Commit::ClaimRecovery { .. } => Kind::ClaimRecovery,
            Commit::SettleRecovery { .. } => Kind::SettleRecovery,
            Commit::Vacate { .. } => Kind::Vacate,
            Commit::Cancel { .. } => Kind::Cancel,
        }
    }
}

impl<D, E, W: Copy, T> Commit<D, E, W, T> {
    /// The Work and the authority shown, for the actions of an executor. LEASE-04
    pub fn shown(&self) -> Option<(W, Authority)> {
        match *self {
            Commit::ClearNeverHanded { work, by }
            | Commit::Pin { work, by }
            | Commit::Renew { work, by }
            | Commit::Complete { work, by }
            | Commit::Fail { work, by }
            | Commit::RegisterWait { work, by, .. }
            | Commit::SettleRecovery { work, by, .. } => Some((work, by)),
            Commit::Accept { .. }
            | Commit::CommitRoute { .. }
            | Commit::Claim { .. }
            | Commit::Wake { .. }
            | Commit::FireTimer { .. }
            | Commit::AcceptTimeout { .. }
            | Commit::ClaimRecovery { .. }
            | Commit::Vacate { .. }
            | Commit::Cancel { .. } => None,
        }
    }
}

impl<E, W> Env<E, W> {
    /// The kind of this step of the surroundings.
    pub fn kind(&self) -> Kind {
        match self {
            Env::Evaluate { .. } => Kind::Evaluate,
            Env::Tick => Kind::Tick,
            Env::Crash => Kind::Crash,
            Env::ProcessExits { .. } => Kind::ProcessExits,
        }
    }
}

impl<D, E, W, T> From<Commit<D, E, W, T>> for Action<D, E, W, T> {
    fn from(commit: Commit<D, E, W, T>) -> Self {
        Action::Commit(commit)
    }
}

impl<D, E, W, T> From<Env<E, W>> for Action<D, E, W, T> {
    fn from(env: Env<E, W>) -> Self {
        Action::World(env)
    }
}
