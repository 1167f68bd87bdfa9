//! The alphabet: everything that can happen, as data.
//!
//! A commit is one short transaction that changes durable truth; an environment action touches volatile facts
//! only and is never performed on a runtime. The type parameters let one definition serve twice: with indices
//! it is the `Copy` action of the explorer, with names ([`NamedAction`]) it is what a trace holds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::index::{DeliveryIx, EventIx, Proofs, WaitIx, WorkIx};

/// One action of the model, by index unless said otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    bound(
        serialize = "D: Serialize, E: Serialize, W: Serialize, T: Serialize, P: Serialize + Default + PartialEq",
        deserialize = "D: Deserialize<'de>, E: Deserialize<'de>, W: Deserialize<'de>, T: Deserialize<'de>, P: Deserialize<'de> + Default"
    )
)]
#[schemars(
    bound = "D: JsonSchema, E: JsonSchema, W: JsonSchema, T: JsonSchema, P: JsonSchema + Serialize + Default + PartialEq"
)]
pub enum Action<D = DeliveryIx, E = EventIx, W = WorkIx, T = WaitIx, P = Proofs> {
    /// A committed step, performed by the model and by a runtime alike.
    Commit(Commit<D, E, W, T, P>),
    /// A step of the surroundings that commits nothing.
    World(Env<E, W>),
}

/// An action whose parts are named, as traces hold it.
pub type NamedAction = Action<String, String, String, String, Vec<String>>;

/// One committed step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(
    tag = "action",
    content = "args",
    rename_all = "snake_case",
    bound(
        serialize = "D: Serialize, E: Serialize, W: Serialize, T: Serialize, P: Serialize + Default + PartialEq",
        deserialize = "D: Deserialize<'de>, E: Deserialize<'de>, W: Deserialize<'de>, T: Deserialize<'de>, P: Deserialize<'de> + Default"
    )
)]
#[schemars(
    bound = "D: JsonSchema, E: JsonSchema, W: JsonSchema, T: JsonSchema, P: JsonSchema + Serialize + Default + PartialEq"
)]
pub enum Commit<D = DeliveryIx, E = EventIx, W = WorkIx, T = WaitIx, P = Proofs> {
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
    /// Ends the attempt; the Work is done, or ready if input is pending, it stands or it is handed off. DONE-01 to
    /// DONE-06, ALIAS-15, JOB-14
    Complete {
        /// The Work whose attempt acts.
        work: W,
        /// The authority it shows.
        by: Authority,
        /// How the turn ends.
        ending: Ending,
        /// Whether it declares a status, which is then published.
        declares: bool,
        /// The injected events that it says were taken in. INJECT-08
        #[serde(default, skip_serializing_if = "says_nothing")]
        proofs: P,
    },
    /// Ends the attempt failed and admits the failure: a backoff with its timer, or what exhaustion leads to. RETRY-01 to
    /// RETRY-09, RETRY-15 to RETRY-18, RETRY-31
    Fail {
        /// The Work whose attempt acts.
        work: W,
        /// The authority it shows.
        by: Authority,
        /// When the executor would try again.
        hint: Hint,
        /// The injected events that it says were taken in. INJECT-08
        #[serde(default, skip_serializing_if = "says_nothing")]
        proofs: P,
    },
    /// Accepts the due retry of a failed attempt, to be routed like any other event; nothing starts. RETRY-19, RETRY-20
    FireRetry {
        /// The Work that failed.
        work: W,
        /// Its failed attempt.
        attempt: u8,
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
        /// The injected events that it says were taken in. INJECT-08
        #[serde(default, skip_serializing_if = "says_nothing")]
        proofs: P,
    },
    /// Records that a control is now sent to the process, before its executor is called. POLICY-12 POLICY-17 INJECT-21
    Dispatch {
        /// The Work whose attempt acts.
        work: W,
        /// The authority it shows.
        by: Authority,
        /// The event whose intent is meant.
        event: E,
    },
    /// Settles an intent by what its executor answered; an interrupt that was accepted fences its attempt. INJECT-01 to
    /// INJECT-07, POLICY-13, POLICY-15, POLICY-20, POLICY-33
    SettleDispatch {
        /// The Work whose attempt acts.
        work: W,
        /// The authority it shows.
        by: Authority,
        /// The event whose intent is meant.
        event: E,
        /// What the executor answered.
        answer: SendAnswer,
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
    /// Ends the Work with everything of it that could still act, in one step. CANCEL-01 to CANCEL-11, OURS-10
    Cancel {
        /// The Work to cancel.
        work: W,
        /// The attempt the operator means.
        expect: Expect,
        /// Standing Work is cancelled for good or not at all.
        for_good: bool,
    },
    /// Makes a validated configuration the current one, as the next generation. BIND-10, BIND-11
    Reload {
        /// Which of the configurations of the world.
        configuration: u8,
    },
    /// Marks an unrouted event as dropped by an operator, in its turn. OURS-07
    Drop {
        /// The event to drop.
        event: E,
    },
    /// Accepts an event caused by one that was routed, to be routed in its stead. OWN-11, OURS-08
    Replay {
        /// The event to replay.
        event: E,
        /// The request, whose slot the new event takes.
        request: D,
    },
    /// Makes a successor of ended Work under the next generation of its key. TERM-03 to TERM-07, OURS-11
    Reopen {
        /// The Work that ended.
        work: W,
        /// The attempt the operator means.
        expect: Expect,
        /// The request, which is the successor's first input.
        request: D,
    },
    /// Makes Work by hand, below a parent or not. BIND-03, BIND-04
    CreateWork {
        /// The request, which is the first input.
        request: D,
    },
    /// Sets the operator's hold; attempt, wait and input stay as they are. OURS-06
    Hold {
        /// The Work to hold.
        work: W,
        /// The attempt the operator means.
        expect: Expect,
    },
    /// Lifts every hold. WAKE-24, OURS-06
    Release {
        /// The Work to release.
        work: W,
        /// The attempt the operator means.
        expect: Expect,
        /// The request, which goes on from a chain that a limit ended.
        request: D,
    },
    /// Tries failed Work again at a person's word: no backoff, nothing counted, and something to start from. RETRY-11,
    /// RETRY-26, RETRY-27
    Retry {
        /// The Work to retry.
        work: W,
        /// The attempt the operator means.
        expect: Expect,
        /// The request, which is input of the next attempt.
        request: D,
    },
    /// A person interrupts the running attempt, by an event that is a control and never input. CTRL-01 to CTRL-07
    Interrupt {
        /// The Work whose attempt is meant.
        work: W,
        /// The attempt the operator means.
        expect: Expect,
        /// The request, which is the control.
        request: D,
        /// The executor of the attempt implements interrupt. CTRL-06
        implemented: bool,
    },
    /// Gives up the lease at this instant, so that the attempt can be recovered at once. LEASE-02, OURS-19
    Detach {
        /// The Work whose attempt acts.
        work: W,
        /// The authority it shows.
        by: Authority,
    },
    /// The database was copied from a backup: every authority granted before is void, and nothing starts. OURS-21
    Restore,
    /// A person says that the other life of a restored database has ended. OURS-21
    ReleaseRestore {
        /// The request.
        request: D,
    },
    /// Turns an event that a subscription selects into its one alias. ALIAS-01 to ALIAS-11
    Translate {
        /// The wait that subscribed.
        wait: T,
        /// The event of the source.
        source: E,
    },
    /// Cancels Work that was handed off and heard nothing since.
    CloseIdle {
        /// The Work to close.
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
    /// The host calls the executor of a segment that was handed over: a process is held, or runs at once. OURS-20
    Launch {
        /// The Work whose host calls.
        work: W,
    },
    /// The host of a pinned segment lets the held process run. OURS-20
    Proceed {
        /// The Work whose host acts.
        work: W,
    },
    /// A held process that was never pinned ends without having run. OURS-20
    LetGo {
        /// The Work whose process it was.
        work: W,
    },
    /// A process runs to its end and leaves its result with its keeper. OURS-19
    ProcessEnds {
        /// The Work whose process it was.
        work: W,
    },
    /// A keeper dies: the result is lost, and the process may run on. ADOPT-19
    KeeperDies {
        /// The Work whose keeper it was.
        work: W,
    },
    /// The message of a dispatched inject intent reaches what holds the process. INJECT-03
    Deliver {
        /// The event sent.
        event: E,
    },
    /// The process takes in what was delivered, and its result will say so. INJECT-08
    TakeIn {
        /// The event taken in.
        event: E,
    },
}

/// A set without members is not written.
fn says_nothing<P: Default + PartialEq>(proofs: &P) -> bool {
    *proofs == P::default()
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

/// When an executor would have failed Work tried again. RETRY-15 to RETRY-17
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Hint {
    /// It does not say.
    None,
    /// After a delay within the pinned bound.
    Valid,
    /// After no delay, a negative or an unreadable one.
    Invalid,
    /// After a delay above the pinned bound.
    Excessive,
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

/// What an executor answered to a control that was sent.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum SendAnswer {
    /// It is delivered, which says nothing of being taken in. INJECT-01
    Accepted,
    /// It is not delivered and never will be. INJECT-02
    NotAccepting,
    /// Nobody knows. INJECT-03
    Failed,
}

impl SendAnswer {
    /// Every answer, in order of declaration.
    pub const ALL: [SendAnswer; 3] =
        [SendAnswer::Accepted, SendAnswer::NotAccepting, SendAnswer::Failed];
}

/// How a turn ends that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The objective is reached: the Work is done if nothing is left.
    Completed,
    /// The turn is over and the Work stays open for its next event.
    Handoff,
}

/// Which attempt an operator means. OURS-09
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Expect {
    /// Whichever there is.
    Any,
    /// The last one of the Work, or none yet.
    Last,
    /// Another than the last one.
    Other,
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
    Reload,
    Drop,
    Replay,
    Reopen,
    CreateWork,
    Hold,
    Release,
    Translate,
    CloseIdle,
    FireRetry,
    Retry,
    Detach,
    Restore,
    ReleaseRestore,
    Dispatch,
    SettleDispatch,
    Interrupt,
    Evaluate,
    Tick,
    Crash,
    ProcessExits,
    Launch,
    Proceed,
    LetGo,
    ProcessEnds,
    KeeperDies,
    Deliver,
    TakeIn,
}

impl Kind {
    /// Every kind, commits first, each group in order of declaration.
    pub const ALL: [Kind; 44] = [
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
        Kind::Reload,
        Kind::Drop,
        Kind::Replay,
        Kind::Reopen,
        Kind::CreateWork,
        Kind::Hold,
        Kind::Release,
        Kind::Translate,
        Kind::CloseIdle,
        Kind::FireRetry,
        Kind::Retry,
        Kind::Detach,
        Kind::Restore,
        Kind::ReleaseRestore,
        Kind::Dispatch,
        Kind::SettleDispatch,
        Kind::Interrupt,
        Kind::Evaluate,
        Kind::Tick,
        Kind::Crash,
        Kind::ProcessExits,
        Kind::Launch,
        Kind::Proceed,
        Kind::LetGo,
        Kind::ProcessEnds,
        Kind::KeeperDies,
        Kind::Deliver,
        Kind::TakeIn,
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
            Kind::Reload => "reload",
            Kind::Drop => "drop",
            Kind::Replay => "replay",
            Kind::Reopen => "reopen",
            Kind::CreateWork => "create_work",
            Kind::Hold => "hold",
            Kind::Release => "release",
            Kind::Translate => "translate",
            Kind::CloseIdle => "close_idle",
            Kind::FireRetry => "fire_retry",
            Kind::Retry => "retry",
            Kind::Detach => "detach",
            Kind::Restore => "restore",
            Kind::ReleaseRestore => "release_restore",
            Kind::Dispatch => "dispatch",
            Kind::SettleDispatch => "settle_dispatch",
            Kind::Interrupt => "interrupt",
            Kind::Evaluate => "evaluate",
            Kind::Tick => "tick",
            Kind::Crash => "crash",
            Kind::ProcessExits => "process_exits",
            Kind::Launch => "launch",
            Kind::Proceed => "proceed",
            Kind::LetGo => "let_go",
            Kind::ProcessEnds => "process_ends",
            Kind::KeeperDies => "keeper_dies",
            Kind::Deliver => "deliver",
            Kind::TakeIn => "take_in",
        }
    }
}

impl<D, E, W, T, P> Action<D, E, W, T, P> {
    /// The kind of this action.
    pub fn kind(&self) -> Kind {
        match self {
            Action::Commit(commit) => commit.kind(),
            Action::World(env) => env.kind(),
        }
    }
}

impl<D, E, W, T, P> Commit<D, E, W, T, P> {
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
            Commit::Reload { .. } => Kind::Reload,
            Commit::Drop { .. } => Kind::Drop,
            Commit::Replay { .. } => Kind::Replay,
            Commit::Reopen { .. } => Kind::Reopen,
            Commit::CreateWork { .. } => Kind::CreateWork,
            Commit::Hold { .. } => Kind::Hold,
            Commit::Release { .. } => Kind::Release,
            Commit::Translate { .. } => Kind::Translate,
            Commit::CloseIdle { .. } => Kind::CloseIdle,
            Commit::FireRetry { .. } => Kind::FireRetry,
            Commit::Retry { .. } => Kind::Retry,
            Commit::Detach { .. } => Kind::Detach,
            Commit::Restore => Kind::Restore,
            Commit::ReleaseRestore { .. } => Kind::ReleaseRestore,
            Commit::Dispatch { .. } => Kind::Dispatch,
            Commit::SettleDispatch { .. } => Kind::SettleDispatch,
            Commit::Interrupt { .. } => Kind::Interrupt,
        }
    }
}

impl<D, E, W: Copy, T, P> Commit<D, E, W, T, P> {
    /// The Work and the authority shown, for the actions of an executor. LEASE-04
    pub fn shown(&self) -> Option<(W, Authority)> {
        match *self {
            Commit::ClearNeverHanded { work, by }
            | Commit::Pin { work, by }
            | Commit::Renew { work, by }
            | Commit::Complete { work, by, .. }
            | Commit::Fail { work, by, .. }
            | Commit::Detach { work, by }
            | Commit::RegisterWait { work, by, .. }
            | Commit::Dispatch { work, by, .. }
            | Commit::SettleDispatch { work, by, .. }
            | Commit::SettleRecovery { work, by, .. } => Some((work, by)),
            Commit::Accept { .. }
            | Commit::CommitRoute { .. }
            | Commit::Claim { .. }
            | Commit::Wake { .. }
            | Commit::FireTimer { .. }
            | Commit::AcceptTimeout { .. }
            | Commit::ClaimRecovery { .. }
            | Commit::Vacate { .. }
            | Commit::Cancel { .. }
            | Commit::Reload { .. }
            | Commit::Drop { .. }
            | Commit::Replay { .. }
            | Commit::Reopen { .. }
            | Commit::CreateWork { .. }
            | Commit::Hold { .. }
            | Commit::Release { .. }
            | Commit::Translate { .. }
            | Commit::CloseIdle { .. }
            | Commit::FireRetry { .. }
            | Commit::Retry { .. }
            | Commit::Interrupt { .. }
            | Commit::Restore
            | Commit::ReleaseRestore { .. } => None,
        }
    }
}

impl<D: Copy, E, W, T, P> Commit<D, E, W, T, P> {
    /// The request that an operator's action accepts as an event. OURS-23
    pub fn request(&self) -> Option<D> {
        match *self {
            Commit::Replay { request, .. }
            | Commit::Reopen { request, .. }
            | Commit::CreateWork { request }
            | Commit::Release { request, .. }
            | Commit::Retry { request, .. }
            | Commit::Interrupt { request, .. }
            | Commit::ReleaseRestore { request } => Some(request),
            Commit::Accept { .. }
            | Commit::CommitRoute { .. }
            | Commit::Claim { .. }
            | Commit::ClearNeverHanded { .. }
            | Commit::Pin { .. }
            | Commit::Renew { .. }
            | Commit::Complete { .. }
            | Commit::Fail { .. }
            | Commit::RegisterWait { .. }
            | Commit::Wake { .. }
            | Commit::FireTimer { .. }
            | Commit::AcceptTimeout { .. }
            | Commit::ClaimRecovery { .. }
            | Commit::SettleRecovery { .. }
            | Commit::Vacate { .. }
            | Commit::Cancel { .. }
            | Commit::Reload { .. }
            | Commit::Drop { .. }
            | Commit::Hold { .. }
            | Commit::Translate { .. }
            | Commit::CloseIdle { .. }
            | Commit::FireRetry { .. }
            | Commit::Detach { .. }
            | Commit::Dispatch { .. }
            | Commit::SettleDispatch { .. }
            | Commit::Restore => None,
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
            Env::Launch { .. } => Kind::Launch,
            Env::Proceed { .. } => Kind::Proceed,
            Env::LetGo { .. } => Kind::LetGo,
            Env::ProcessEnds { .. } => Kind::ProcessEnds,
            Env::KeeperDies { .. } => Kind::KeeperDies,
            Env::Deliver { .. } => Kind::Deliver,
            Env::TakeIn { .. } => Kind::TakeIn,
        }
    }
}

impl<D, E, W, T, P> From<Commit<D, E, W, T, P>> for Action<D, E, W, T, P> {
    fn from(commit: Commit<D, E, W, T, P>) -> Self {
        Action::Commit(commit)
    }
}

impl<D, E, W, T, P> From<Env<E, W>> for Action<D, E, W, T, P> {
    fn from(env: Env<E, W>) -> Self {
        Action::World(env)
    }
}
