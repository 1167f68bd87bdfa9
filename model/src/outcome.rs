//! What the law answers: a receipt, a deferral, a conflict or a refusal.
//!
//! Codes are the serialized names and are shared with the runtime's; the harness compares code and indices.

use bytemuck::NoUninit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::index::{EventIx, WorkIx};
use crate::state::{IntentKind, IntentStatus};

/// The answer to one action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome<E = EventIx, W = WorkIx> {
    /// The action is now true.
    Accepted(Receipt<E, W>),
    /// The same identity was already so; nothing changed.
    Duplicate(Receipt<E, W>),
    /// Not now; nothing changed; ask again as you are.
    Deferred(Deferral),
    /// What you read has moved; nothing changed; read again.
    Conflict,
    /// The premise is gone or was never there.
    Refused(Refusal),
}

/// An outcome whose parts are named, as traces hold it.
pub type NamedOutcome = Outcome<String, String>;

/// What became, or already was, true.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Receipt<E = EventIx, W = WorkIx> {
    /// The action took effect and has nothing to add.
    Done,
    /// An event was accepted under this number.
    Sequence(u8),
    /// An event was routed.
    Routed {
        /// Its mark.
        mark: RouteMark,
        /// The Work it is associated with, if any.
        work: Option<W>,
    },
    /// An attempt was claimed, under an epoch above every earlier one of it.
    Claimed {
        /// Its number within the Work.
        attempt: u8,
        /// How it goes on.
        start: Start,
    },
    /// An attempt was taken over, under an epoch above every earlier one of it.
    Recovered(Recovery),
    /// A wait was registered, and woken at once if it names a winner.
    Registered {
        /// The event that woke it at once.
        winner: Option<E>,
    },
    /// A wait is woken.
    Woken {
        /// The event that woke it.
        winner: E,
    },
    /// A control is now sent, and its executor may be called.
    Dispatched {
        /// The attempt it is sent to.
        attempt: u8,
        /// Which control it is.
        kind: IntentKind,
    },
    /// What became of the intent.
    Settled(IntentStatus),
}

/// The committed result of routing one event.
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
    NoUninit,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum RouteMark {
    /// Accepted, and no route committed yet (or not accepted at all).
    #[default]
    Unrouted,
    /// Input of a Work.
    Queued,
    /// Input of a Work that is to reach its running attempt. POLICY-11
    Inject,
    /// Input that is to end the running attempt of its Work, or the control by which a person does. POLICY-19 CTRL-04
    Interrupt,
    /// Woke a wait before any route committed.
    Woke,
    /// No route wanted it.
    Unmatched,
    /// A route dropped it, whatever its Work was doing. ROUTE-08
    Drop,
    /// A route closed its Work by it. OURS-02
    Close,
    /// Came to a Work that had ended.
    Terminal,
    /// An operator dropped it. OURS-07
    OperatorDrop,
    /// A body seen before under another identity; starts nothing until it is replayed. OURS-17
    ReplaySuspect,
    /// Lifted the holds of a Work, or of a restored database, and resolves to nothing; marked at birth. OURS-06, OURS-21
    Release,
    /// Continues a wake and resolves to nothing; marked at birth. WAKE-21
    Continuation,
    /// A retry of an attempt whose backoff does not stand any more; it changes nothing. RETRY-22
    StaleRetry,
}

/// How a claimed attempt goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// Attempt 1.
    Start,
    /// A further attempt.
    Next,
    /// The parked attempt again, under the next epoch.
    Resume,
}

/// How a recovered attempt goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Recovery {
    /// It had provably started nothing and is launched again. ADOPT-05
    Relaunch,
    /// Its process is to be adopted. ADOPT-08
    Adopt,
}

macro_rules! codes {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $code:literal, $says:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum $name {
            $($(#[$vdoc])* #[doc = $says] $variant,)*
        }

        impl $name {
            /// Every one, in order of declaration.
            pub const ALL: &[$name] = &[$($name::$variant,)*];

            /// The serialized name, shared with the runtime.
            pub fn code(self) -> &'static str {
                match self {
                    $($name::$variant => $code,)*
                }
            }

            /// What is so, as a clause.
            pub fn says(self) -> &'static str {
                match self {
                    $($name::$variant => $says,)*
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}: {}", self.code(), self.says())
            }
        }
    };
}

codes! {
    /// Why an action can never succeed as it stands. Order of declaration is precedence inside an action.
    Refusal {
        /// LEASE-12
        StaleAuthority = "stale_authority", "the attempt is not held under this epoch and token";
        /// LEASE-01
        LeaseExpired = "lease_expired", "the lease of this epoch has reached its end";
        /// CAUSE-07
        CoreType = "core_type", "the type belongs to a core family and the sender is not core";
        /// INGRESS-03
        UnknownEvent = "unknown_event", "no such event is accepted";
        /// INGRESS-09
        UnknownWork = "unknown_work", "no such Work exists";
        /// WAIT-01
        UnknownWait = "unknown_wait", "no such wait is registered";
        /// INJECT-11
        UnknownIntent = "unknown_intent", "the Work has no intent for that event";
        /// OURS-09
        StaleTarget = "stale_target", "the operator named another attempt than the Work's last";
        /// INGRESS-11 OWN-03
        WrongScope = "wrong_scope", "the Work lies in another scope than trusted configuration selected";
        /// INGRESS-10
        ContradictoryTarget = "contradictory_target", "the key is not the named Work's own";
        /// OWN-07
        KeyOwned = "key_owned", "a key that is to be attached belongs to another Work";
        /// TERM-01
        Terminal = "terminal", "the Work has ended";
        /// OURS-11
        NotTerminal = "not_terminal", "the Work has not ended, so nothing succeeds it";
        /// TERM-03
        HasSuccessor = "has_successor", "the Work was reopened already";
        /// OURS-10
        Standing = "standing", "standing Work is cancelled for good or not at all";
        /// OURS-07
        AlreadyRouted = "already_routed", "the event has a mark";
        /// OURS-08
        NotRouted = "not_routed", "the event has no mark yet, so there is nothing to replay";
        /// OURS-06
        NotHeld = "not_held", "no hold stands";
        /// RETRY-26 RETRY-27
        NothingToRetry = "nothing_to_retry", "the last attempt did not fail, or the Work has gone on since";
        /// `close_after`
        NotIdle = "not_idle", "the Work has no idle timer, or input came";
        /// POLICY-05 LEASE-03
        AttemptOpen = "attempt_open", "an attempt of the Work is running";
        /// WAKE-07
        WorkWaiting = "work_waiting", "the Work waits, and only a wake makes it ready";
        /// POLICY-04
        NothingToStart = "nothing_to_start", "the Work has neither pending input nor a wake";
        /// ADOPT-09
        NotLaunching = "not_launching", "the attempt is past launching";
        /// ADOPT-06
        NotHanded = "not_handed", "no executor was handed the segment yet";
        /// ADOPT-16
        NotRunning = "not_running", "the attempt is not in the phase that may do this";
        /// ADOPT-14
        NotRecovering = "not_recovering", "the attempt is not being recovered";
        /// POLICY-23 INJECT-24
        StaleIntent = "stale_intent", "the attempt, or the segment, that the intent was committed for is over";
        /// INJECT-02 INJECT-20
        IntentSettled = "intent_settled", "the answer to it is known, and it is not sent again";
        /// INJECT-21
        NotDispatched = "not_dispatched", "no send of it was ever tried, so there is no answer";
        /// OURS-18
        WaitCannotEnd = "wait_cannot_end", "the wait has neither key, timeout nor source";
        /// WAIT-02
        KeyNotOwned = "key_not_owned", "the wait names a key that its Work does not own, or subscribes and names none";
        /// BIND-05 ALIAS-09
        ScopeNotReadable = "scope_not_readable", "the source lies in a scope that nothing grants";
        /// WAIT-13
        WatermarkAhead = "watermark_ahead", "the watermark is above the latest accepted sequence";
        /// WAKE-13
        WaitCancelled = "wait_cancelled", "the wait was cancelled and can no longer wake";
        /// WAKE-07
        NothingToWakeFrom = "nothing_to_wake_from", "no accepted event matches the wait";
        /// WAKE-05
        TimerCancelled = "timer_cancelled", "the wait ended without its timeout being accepted";
        /// WAKE-07
        NoTimer = "no_timer", "the wait was registered without a timeout";
        /// CAUSE-33
        FiringDisabled = "firing_disabled", "a causal limit refused this firing once";
        /// RETRY-19 RETRY-28
        NoRetry = "no_retry", "no retry timer stands for that failed attempt";
        /// ALIAS-11
        SubscriptionEnded = "subscription_ended", "the wait has no subscription, or ended and with it its subscription";
        /// ALIAS-02 ALIAS-05
        NothingToTranslate = "nothing_to_translate", "the subscription does not select the event";
        /// WAKE-04
        NotDue = "not_due", "the deadline is not reached";
        /// WAKE-05
        MatchAccepted = "match_accepted", "a matching event is accepted, so the timeout may not be";
        /// CAUSE-15 CAUSE-32
        DepthLimit = "depth_limit", "the derived event would be deeper than its root allows";
        /// LEASE-09
        LeaseLive = "lease_live", "the lease is live and cannot be taken";
        /// ADOPT-12
        NothingToRecover = "nothing_to_recover", "no attempt of the Work is running";
        /// POLICY-22
        StaleSegment = "stale_segment", "the exit is of another segment than the one marked";
        /// POLICY-22
        NotExcluded = "not_excluded", "no exclusion mark is set";
        /// CTRL-07
        NothingToInterrupt = "nothing_to_interrupt", "no attempt of the Work is running";
        /// CTRL-05 CTRL-06
        NotInterruptible = "not_interruptible", "the running attempt does not support interrupt, or its executor does not implement it";
    }
}

codes! {
    /// Why an action cannot be now, though it may be later without anybody reading again.
    Deferral {
        /// OWN-05
        OutOfTurn = "out_of_turn", "a lower unrouted event resolves to the same Work";
        /// POLICY-32
        Unsupported = "unsupported", "the running attempt does not support the policy, and the route has no fallback";
        /// OURS-21
        Restored = "restored", "the database was restored, and nobody has said that its other life has ended";
        /// HOLD-01 RETRY-06 WAKE-24
        Held = "held", "the Work is held";
        /// RETRY-04 RETRY-20
        Backoff = "backoff", "the Work failed, and its retry is not due or not routed yet";
        /// POLICY-22 ADOPT-22
        Excluded = "excluded", "a process of an earlier segment may still run";
        /// POLICY-06
        Capacity = "capacity", "the scope runs as many attempts as it may";
    }
}

impl<E, W> From<Refusal> for Outcome<E, W> {
    fn from(refusal: Refusal) -> Self {
        Outcome::Refused(refusal)
    }
}

impl<E, W> From<Deferral> for Outcome<E, W> {
    fn from(deferral: Deferral) -> Self {
        Outcome::Deferred(deferral)
    }
}

impl<E, W> From<Receipt<E, W>> for Outcome<E, W> {
    fn from(receipt: Receipt<E, W>) -> Self {
        Outcome::Accepted(receipt)
    }
}

impl<E, W> Outcome<E, W> {
    /// Whether the action became true.
    pub fn accepted(&self) -> bool {
        matches!(self, Outcome::Accepted(_))
    }

    /// The code that tells this outcome from others of its action: `accepted`, `duplicate`, `conflict`, or the code
    /// of the deferral or refusal.
    pub fn code(&self) -> &'static str {
        match self {
            Outcome::Accepted(_) => "accepted",
            Outcome::Duplicate(_) => "duplicate",
            Outcome::Conflict => "conflict",
            Outcome::Deferred(deferral) => deferral.code(),
            Outcome::Refused(refusal) => refusal.code(),
        }
    }
}
