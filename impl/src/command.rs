//! The alphabet: every committed step, and what it answers.
//!
//! A command is data. Time is the argument of [`crate::law::apply`]; ids, tokens and limits are
//! fields. The page
//! `docs/alphabet.md` says for each command which guard answers first and what becomes true.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::{
    AttemptNo, AttemptUid, Authority, BindingPin, Deadline, Duration, Ending, Epoch, EventUid,
    Generation, Incarnation, IntentKind, IntentStatus, Key, MarkKind, NewEvent, Proposal,
    ProposedWork, Request, RetryHint, ScopeLimit, Segment, SendAnswer, Seq, Source, StartReason,
    TokenHash, Verdict, WaitId, WaitUid, WorkId, WorkUid,
};

/// One committed step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Keeps an Event and numbers it; the same ingress id answers the original. INGRESS-02
    /// INGRESS-05
    Accept {
        /// The Event offered.
        event: Box<NewEvent>,
    },
    /// Applies what an evaluation proposed, if what it read still stands. ROUTE-15 ROUTE-17
    CommitRoute {
        /// The evaluation's result.
        proposal: Proposal,
    },
    /// Makes a validated configuration current. BIND-10 BIND-11
    Reload {
        /// The digest of its text.
        digest: String,
        /// Its text, with secrets named and not spelled out.
        body: String,
    },
    /// Marks an unrouted Event so that it can never be input. OURS-07
    Drop {
        /// The Event.
        event: Seq,
        /// Why, for people.
        reason: String,
    },
    /// Accepts a routed Event once more, as a child of the original. OWN-11 OURS-08
    Replay {
        /// The original.
        event: Seq,
        /// The identity of the new Event.
        request: Request,
    },
    /// Makes a successor of ended Work, which owns the next generation of its first key. TERM-03
    /// OURS-11
    Reopen {
        /// The ended Work.
        work: WorkId,
        /// Its last attempt as the operator saw it; 0 for none. OURS-09
        expect: Option<AttemptNo>,
        /// The identity of the `core.work.created` Event.
        request: Request,
        /// The id of the successor; a repeated request keeps the first.
        successor: WorkUid,
    },
    /// Creates Work that no Event asked for. BIND-03 BIND-04
    CreateWork {
        /// The identity of the `core.work.created` Event.
        request: Request,
        /// The scope it is created in.
        scope: String,
        /// Its id, kind and what the kind fixes for good.
        create: ProposedWork,
        /// The key it owns, if any.
        key: Option<Key>,
        /// The Work it is a child of, if any. TERM-06
        parent: Option<WorkId>,
        /// The caller may place a child in another scope than its parent's. BIND-04
        authorised: bool,
        /// What it is to work on, as JSON text: `data` of the `core.work.created` Event.
        data: Option<String>,
    },
    /// Lets no attempt of the Work start until somebody releases it. OURS-06
    Hold {
        /// The Work.
        work: WorkId,
        /// Its last attempt as the operator saw it; 0 for none. OURS-09
        expect: Option<AttemptNo>,
        /// Why, for people.
        reason: String,
    },
    /// Lifts every hold of the Work. WAKE-24 OURS-06
    Release {
        /// The Work.
        work: WorkId,
        /// Its last attempt as the operator saw it; 0 for none. OURS-09
        expect: Option<AttemptNo>,
        /// The identity of the `core.work.released` Event.
        request: Request,
    },
    /// Ends the backoff of Work whose last attempt failed, begins its count of failures anew, and is
    /// itself the input that the next attempt starts from. RETRY-26 RETRY-27
    Retry {
        /// The Work.
        work: WorkId,
        /// Its last attempt as the operator saw it; 0 for none. OURS-09
        expect: Option<AttemptNo>,
        /// The identity of the `core.retry.requested` Event.
        request: Request,
    },
    /// Starts or resumes the one attempt of ready Work and hands it all pending input. LEASE-10
    /// WAKE-25
    Claim {
        /// The Work.
        work: WorkId,
        /// The id a new attempt would get; unused on a resume.
        attempt_uid: AttemptUid,
        /// Hash of the fresh token.
        token: TokenHash,
        /// How long the lease lasts from now.
        lease: Duration,
        /// What of its binding a new attempt is pinned to; a resumed one keeps its own. BIND-10
        pin: BindingPin,
        /// Running attempts allowed at once in the Work's scope and below, and in each scope above
        /// and below that one. POLICY-06
        capacity: Vec<ScopeLimit>,
    },
    /// Withdraws the record that no executor was handed this segment. ADOPT-06
    ClearNeverHanded {
        /// The holder.
        by: Authority,
    },
    /// Saves the executor's metadata with the segment. ADOPT-04 ADOPT-09
    Pin {
        /// The holder.
        by: Authority,
        /// Opaque to everything but the executor.
        metadata: String,
    },
    /// Extends a live lease. LEASE-11
    Renew {
        /// The holder.
        by: Authority,
        /// How long it lasts from now.
        lease: Duration,
    },
    /// Says that a send of an intent is now tried; the executor is called after it. POLICY-12
    /// INJECT-21
    Dispatch {
        /// The holder.
        by: Authority,
        /// The intent's Event.
        event: Seq,
    },
    /// Commits what the executor answered to a send. INJECT-01 POLICY-20
    SettleDispatch {
        /// The holder.
        by: Authority,
        /// The intent's Event.
        event: Seq,
        /// The answer.
        answer: SendAnswer,
        /// What the executor said of it, for people.
        detail: String,
    },
    /// Asks for the running attempt to be stopped; the request is no input. CTRL-01
    Interrupt {
        /// The Work.
        work: WorkId,
        /// Its last attempt as the operator saw it; 0 for none. OURS-09
        expect: Option<AttemptNo>,
        /// The identity of the `core.manual.interrupt` Event.
        request: Request,
        /// The executor of the attempt's binding implements interrupt now. CTRL-06
        implemented: bool,
    },
    /// Ends the attempt with its work done, and publishes the status it declares. DONE-02 DONE-03
    /// ALIAS-15
    Complete {
        /// The holder.
        by: Authority,
        /// Whether the Work is done with it.
        ending: Ending,
        /// What the executor says of its result, if anything; never interpreted.
        status: Option<String>,
        /// Injected Events whose consumption the executor reports; what proves nothing is ignored.
        /// INJECT-08 INJECT-11
        proofs: Vec<EventUid>,
        /// What the attempt has used so far, as JSON text; recorded and never looked at.
        usage: Option<String>,
    },
    /// Ends the attempt as failed, and admits the failure under the pinned policy. RETRY-01
    Fail {
        /// The holder.
        by: Authority,
        /// Why, for people.
        reason: String,
        /// What the executor says of the delay of a retry, if anything; only a valid one counts.
        /// RETRY-14 RETRY-16
        hint: Option<RetryHint>,
        /// Injected Events whose consumption the executor reports; what proves nothing is ignored.
        /// INJECT-08 INJECT-11
        proofs: Vec<EventUid>,
        /// What the attempt has used so far, as JSON text; recorded and never looked at.
        usage: Option<String>,
    },
    /// Accepts the due retry Event of a failed attempt; nothing is claimed by it. RETRY-19 RETRY-20
    FireRetry {
        /// The Work.
        work: WorkId,
        /// The failed attempt whose backoff it is.
        attempt: AttemptNo,
    },
    /// Parks or ends the attempt, registers the Wait and scans accepted history after the
    /// watermark. WAIT-16 WAIT-17
    RegisterWait {
        /// The holder.
        by: Authority,
        /// The Wait's id at the edge.
        uid: WaitUid,
        /// Keys of the Work; any of them will do. An alias of `source` carries the first. WAIT-05
        /// ALIAS-05
        keys: Vec<Key>,
        /// Types; empty means any. WAIT-03
        types: Vec<String>,
        /// The last sequence the execution has observed. WAIT-12
        after: Seq,
        /// When it gives up, if ever.
        deadline: Option<Deadline>,
        /// An external resource whose Events are translated for this Work while it waits. ALIAS-03
        source: Option<Source>,
        /// Scopes beside the Work's own that the source may lie in. BIND-05
        read_scopes: Vec<String>,
        /// Injected Events whose consumption the executor reports; what proves nothing is ignored.
        /// INJECT-08 INJECT-11
        proofs: Vec<EventUid>,
        /// What the attempt has used so far, as JSON text; recorded and never looked at.
        usage: Option<String>,
    },
    /// Wakes an active Wait with its lowest match. WAKE-02 WAKE-08
    Wake {
        /// The Wait.
        wait: WaitId,
    },
    /// Accepts the due timeout of a Wait and wakes it, jointly. WAKE-06
    FireTimer {
        /// The Wait.
        wait: WaitId,
    },
    /// Accepts the due timeout of a Wait and leaves the wake to another commit. WAKE-03
    AcceptTimeout {
        /// The Wait.
        wait: WaitId,
    },
    /// Accepts one alias of an Event that the wait's subscription selects, and moves its checkpoint.
    /// ALIAS-05 ALIAS-07
    Translate {
        /// The Wait.
        wait: WaitId,
        /// The Event of the source.
        event: Seq,
    },
    /// Cancels Work whose idle timer is due.
    CloseIdle {
        /// The Work.
        work: WorkId,
    },
    /// Takes over a running attempt whose lease has ended. LEASE-08 ADOPT-01
    ClaimRecovery {
        /// The Work.
        work: WorkId,
        /// Hash of the fresh token.
        token: TokenHash,
        /// How long the lease lasts from now.
        lease: Duration,
    },
    /// Commits what the executor's `recover` found. ADOPT-18 ADOPT-20
    SettleRecovery {
        /// The recoverer.
        by: Authority,
        /// Its finding.
        verdict: Verdict,
        /// Why it could not be adopted, for people; empty when it was.
        reason: String,
    },
    /// Gives the lease up at this instant, and leaves everything else as it is. OURS-19
    Detach {
        /// The holder.
        by: Authority,
    },
    /// Makes a database that was copied from a backup one of its own: the next incarnation, under
    /// the restore hold. OURS-21
    Restore {
        /// The highest incarnation that is known of any copy of this database.
        above: Incarnation,
    },
    /// Lifts the restore hold: the other life of the database has ended. OURS-21
    ReleaseRestore {
        /// The identity of the `core.restore.released` Event.
        request: Request,
    },
    /// Lifts the exclusion mark of a segment whose process was seen to exit. POLICY-22
    Vacate {
        /// The Work.
        work: WorkId,
        /// The segment that exited.
        segment: Segment,
    },
    /// Cancels Work. CANCEL-01
    Cancel {
        /// The Work.
        work: WorkId,
        /// Its last attempt as the operator saw it; 0 for none. OURS-09
        expect: Option<AttemptNo>,
        /// Said out loud, for standing Work is cancelled so or not at all. OURS-10
        for_good: bool,
        /// Why, for people.
        reason: String,
    },
}

impl Command {
    /// The name the journal and the documentation know it by.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Accept { .. } => "accept",
            Self::CommitRoute { .. } => "commit_route",
            Self::Reload { .. } => "reload",
            Self::Drop { .. } => "drop",
            Self::Replay { .. } => "replay",
            Self::Reopen { .. } => "reopen",
            Self::CreateWork { .. } => "create_work",
            Self::Hold { .. } => "hold",
            Self::Release { .. } => "release",
            Self::Retry { .. } => "retry",
            Self::Claim { .. } => "claim",
            Self::ClearNeverHanded { .. } => "clear_never_handed",
            Self::Pin { .. } => "pin",
            Self::Renew { .. } => "renew",
            Self::Dispatch { .. } => "dispatch",
            Self::SettleDispatch { .. } => "settle_dispatch",
            Self::Interrupt { .. } => "interrupt",
            Self::Complete { .. } => "complete",
            Self::Fail { .. } => "fail",
            Self::FireRetry { .. } => "fire_retry",
            Self::RegisterWait { .. } => "register_wait",
            Self::Wake { .. } => "wake",
            Self::FireTimer { .. } => "fire_timer",
            Self::AcceptTimeout { .. } => "accept_timeout",
            Self::Translate { .. } => "translate",
            Self::CloseIdle { .. } => "close_idle",
            Self::ClaimRecovery { .. } => "claim_recovery",
            Self::SettleRecovery { .. } => "settle_recovery",
            Self::Detach { .. } => "detach",
            Self::Restore { .. } => "restore",
            Self::ReleaseRestore { .. } => "release_restore",
            Self::Vacate { .. } => "vacate",
            Self::Cancel { .. } => "cancel",
        }
    }
}

impl Outcome {
    /// The name of the answer's kind.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Accepted(_) => "accepted",
            Self::Duplicate(_) => "duplicate",
            Self::Deferred(_) => "deferred",
            Self::Conflict => "conflict",
            Self::Refused(_) => "refused",
        }
    }
}

impl From<Refusal> for Outcome {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Deferral> for Outcome {
    fn from(deferral: Deferral) -> Self {
        Self::Deferred(deferral)
    }
}

/// An answer of the law. It may commit: only the machine's failures roll back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The command is now true.
    Accepted(Receipt),
    /// The same identity was already so; nothing changed.
    Duplicate(Receipt),
    /// Not now; nothing changed; ask again as you are.
    Deferred(Deferral),
    /// What was read has moved; read again. ROUTE-15 DONE-02
    Conflict,
    /// The premise is gone, or was never there.
    Refused(Refusal),
}

/// What a command made true.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Receipt {
    /// The configuration is current under this number.
    Reloaded {
        /// Its number.
        generation: Generation,
    },
    /// The Event is kept under this sequence; of a request, the Event that the request became.
    Event {
        /// Its sequence.
        seq: Seq,
    },
    /// The Event has this mark.
    Routed {
        /// The Event.
        event: Seq,
        /// Its mark.
        mark: MarkKind,
        /// The Work it is associated with, if any.
        work: Option<WorkId>,
    },
    /// The attempt is held under this epoch.
    Claimed {
        /// The Work.
        work: WorkId,
        /// The attempt.
        attempt: AttemptNo,
        /// The claim.
        epoch: Epoch,
        /// Why the segment starts.
        reason: StartReason,
    },
    /// The phase of the attempt's segment moved.
    Advanced {
        /// The Work.
        work: WorkId,
        /// The attempt.
        attempt: AttemptNo,
    },
    /// The lease ends at this instant.
    Renewed {
        /// The Work.
        work: WorkId,
        /// Milliseconds of trusted time.
        expires_at: crate::domain::Millis,
    },
    /// The intent of an Event has this status.
    Intent {
        /// The Event.
        event: Seq,
        /// The Work.
        work: WorkId,
        /// The attempt it was committed for.
        attempt: AttemptNo,
        /// How it is to reach that attempt.
        kind: IntentKind,
        /// Where it is.
        status: IntentStatus,
    },
    /// The attempt ended and left its Work so.
    Ended {
        /// The Work.
        work: WorkId,
        /// The attempt.
        attempt: AttemptNo,
        /// The Work's status now.
        status: crate::domain::WorkStatus,
    },
    /// The Wait is registered; `winner` woke it in the same transaction, if any did.
    Waiting {
        /// The Wait.
        wait: WaitId,
        /// The Event that woke it at once.
        winner: Option<Seq>,
    },
    /// The Wait is woken by this Event.
    Woken {
        /// The Wait.
        wait: WaitId,
        /// The winner.
        winner: Seq,
    },
    /// The timeout is accepted and the Wait still active.
    TimeoutAccepted {
        /// The Wait.
        wait: WaitId,
        /// The timeout Event.
        seq: Seq,
    },
    /// The attempt is held by its recoverer.
    Recovering {
        /// The Work.
        work: WorkId,
        /// The attempt.
        attempt: AttemptNo,
        /// The recoverer's claim.
        epoch: Epoch,
        /// `true`: nothing was started, launch again; `false`: adopt. ADOPT-05 ADOPT-08
        relaunch: bool,
    },
    /// The lease on the attempt is over, by its holder's own word.
    Detached {
        /// The Work.
        work: WorkId,
        /// The attempt.
        attempt: AttemptNo,
    },
    /// The database is of this incarnation, under the restore hold.
    Restored {
        /// Its incarnation.
        incarnation: Incarnation,
    },
    /// No process of an earlier segment runs any more.
    Vacated {
        /// The Work.
        work: WorkId,
    },
    /// An operator holds the Work.
    Held {
        /// The Work.
        work: WorkId,
    },
    /// The Work is cancelled.
    Cancelled {
        /// The Work.
        work: WorkId,
    },
}

/// Why not now.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
    thiserror::Error,
)]
#[serde(rename_all = "snake_case")]
pub enum Deferral {
    /// Route effects on one Work commit in acceptance order. OWN-05
    #[error("an earlier event of this work is not routed yet")]
    OutOfTurn,
    /// Nothing is inferred where a route says nothing; the attempt ends some time. POLICY-32
    #[error(
        "the running attempt does not support what the event's route wants, and the route has no fallback"
    )]
    Unsupported,
    /// Nothing starts until a person says that the database's other life has ended. OURS-21
    #[error("the database was restored from a backup, and nobody has released it yet")]
    Restored,
    /// A hold stands until a person lifts it. WAKE-24
    #[error("the work is held")]
    Held,
    /// The next attempt waits for its retry. RETRY-20
    #[error("the last attempt failed, and its retry is not routed yet")]
    Backoff,
    /// A process of an earlier segment may still run. POLICY-22
    #[error("the process of an earlier segment has not been seen to exit")]
    Excluded,
    /// The scope runs as many attempts as it may. POLICY-06
    #[error("the scope has no free capacity")]
    Capacity,
}

/// What is so, and so the command is not. The serialized name is the API's `code`; declaration
/// order is precedence.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
    thiserror::Error,
)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// Checked before anything else is looked at. LEASE-04 LEASE-12
    #[error(
        "the attempt is not held under this epoch and token: stop this process, its result is void"
    )]
    StaleAuthority,
    /// `now == expires_at` is already late. LEASE-01
    #[error("the lease on this attempt has ended: leave it to recovery")]
    LeaseExpired,
    /// Core's families are core's to emit. CAUSE-07
    #[error("types that begin with `core.` are core's own: choose another type")]
    CoreType,
    /// Nothing was accepted under this id.
    #[error("there is no such event")]
    UnknownEvent,
    /// No Work has this id.
    #[error("there is no such work")]
    UnknownWork,
    /// No Wait has this id.
    #[error("there is no such wait")]
    UnknownWait,
    /// Nothing of this Event is to be sent to an attempt of this Work.
    #[error("the work has no intent for that event")]
    UnknownIntent,
    /// What the operator looked at is not what it would act on. OURS-09
    #[error("another attempt than the one you named is the work's last: look again")]
    StaleTarget,
    /// Neither side is silently preferred. INGRESS-11 OWN-03
    #[error("the work, or the owner of the key, is in another scope than the one asked for")]
    WrongScope,
    /// A key beside a target must be that target's own. INGRESS-10
    #[error("the event names a work and a key that is not that work's: name one of them")]
    ContradictoryTarget,
    /// Ownership never moves. OWN-07 OWN-02
    #[error("a key that was to be attached belongs to another work")]
    KeyOwned,
    /// Terminal Work never changes again. TERM-01
    #[error("the work has ended: nothing changes it any more")]
    Terminal,
    /// Only ended Work has a successor. TERM-03
    #[error("the work has not ended: send it an event instead")]
    NotTerminal,
    /// One Work succeeds another, and no second one. TERM-03
    #[error("the work was reopened already: act on its successor")]
    HasSuccessor,
    /// Standing Work outlives its attempts. OURS-10 JOB-17
    #[error("standing work is cancelled for good or not at all: say so")]
    Standing,
    /// A mark is written once. ROUTE-19
    #[error("the event is routed already: only a replay starts something from it again")]
    AlreadyRouted,
    /// An Event that will be routed needs no replay. OWN-11
    #[error("the event is not routed yet: it will be, and needs no replay")]
    NotRouted,
    /// Nothing to lift.
    #[error("the work is not held")]
    NotHeld,
    /// Only a failure that nothing followed can be retried. RETRY-26
    #[error("the work's last attempt did not fail, or the work has gone on since")]
    NothingToRetry,
    /// Input came, or nothing ever set its idle timer.
    #[error("the work is not idle after a handoff")]
    NotIdle,
    /// One attempt at a time. POLICY-05
    #[error("an attempt of this work is running")]
    AttemptOpen,
    /// Only a wake makes waiting Work ready. WAKE-07
    #[error("the work is waiting: only a wake makes it ready")]
    WorkWaiting,
    /// Nothing asks for another attempt. OURS-28
    #[error("the work has no pending input: nothing asks for another attempt")]
    NothingToStart,
    /// The segment is past launching, or in recovery.
    #[error("the attempt is not launching")]
    NotLaunching,
    /// The never-handed record is withdrawn before the executor is called. ADOPT-06
    #[error("the segment is still recorded as never handed to an executor")]
    NotHanded,
    /// Nothing is pinned, so nothing ran that could say this. OURS-20
    #[error("the attempt has no pinned segment that could report this")]
    NotRunning,
    /// Only a recovery claim is settled.
    #[error("the attempt is not under recovery")]
    NotRecovering,
    /// An intent is never carried over to another attempt. POLICY-23 INJECT-24
    #[error("the attempt that this was to be sent to is over: do not send it")]
    StaleIntent,
    /// What is known is not asked again. INJECT-19
    #[error("the answer to this send is known: do not send it again")]
    IntentSettled,
    /// An answer to what nobody sent. POLICY-12
    #[error("no send of this was ever recorded, so there is no answer to it")]
    NotDispatched,
    /// Nothing could end it. OURS-18
    #[error("a wait needs a key, a source or a timeout: nothing could end this one")]
    WaitCannotEnd,
    /// A Wait subscribes to keys of its own Work; an alias of its source carries one. WAIT-02 ALIAS-05
    #[error("a wait names only keys its own work owns, and at least one if it names a source")]
    KeyNotOwned,
    /// Reading across scopes is granted, never assumed. BIND-05 ALIAS-09
    #[error("the source lies in another scope, and this scope's `read_scopes` does not name it")]
    ScopeNotReadable,
    /// Nobody has observed what is not accepted. WAIT-13
    #[error("the watermark is above the latest accepted event")]
    WatermarkAhead,
    /// Cancelled is final. WAKE-13 WAKE-15
    #[error("the wait was cancelled: it can no longer wake")]
    WaitCancelled,
    /// A clock alone wakes nothing. WAKE-07
    #[error("no accepted event matches the wait")]
    NothingToWakeFrom,
    /// The Wait ended otherwise. WAKE-08 WAKE-12
    #[error("the wait ended without its timeout: the timer is cancelled")]
    TimerCancelled,
    /// The Wait has no timeout.
    #[error("the wait was registered without a timeout")]
    NoTimer,
    /// Not attempted again. CAUSE-33
    #[error("a causal limit refused this firing: it is disabled")]
    FiringDisabled,
    /// The backoff is over, or it is that of another attempt. RETRY-22
    #[error("no retry of that failed attempt is due to come")]
    NoRetry,
    /// A subscription lives as long as its Wait is active. ALIAS-11
    #[error("the wait has no subscription, or has ended and with it its subscription")]
    SubscriptionEnded,
    /// Not of the source, translated before, or of the dependent's own making. ALIAS-05 WAIT-06
    #[error("the subscription does not select this event")]
    NothingToTranslate,
    /// Due at `now == fire_at`, not before. WAKE-04
    #[error("the timer is not due yet")]
    NotDue,
    /// An accepted match beats a timeout nobody accepted. WAKE-05
    #[error("a matching event is accepted already: wake from it")]
    MatchAccepted,
    /// The diagnostic commits, the Event does not. CAUSE-15 REJECT-11
    #[error("the derived event would be deeper than its root allows")]
    DepthLimit,
    /// A live lease cannot be stolen. LEASE-09
    #[error("the lease on this attempt is live")]
    LeaseLive,
    /// Parked and ended attempts are not recovered. ADOPT-12
    #[error("no attempt of this work is running")]
    NothingToRecover,
    /// Another segment holds the mark.
    #[error("the exit reported is not that of the marked segment")]
    StaleSegment,
    /// Nothing to lift.
    #[error("no exclusion mark is set on this work")]
    NotExcluded,
    /// Only a running attempt can be interrupted. CTRL-07
    #[error("no attempt of this work is running: there is nothing to interrupt")]
    NothingToInterrupt,
    /// The pin fixes what an attempt supports, and its executor must still have it. CTRL-05 CTRL-06
    #[error(
        "the running attempt's binding does not support interrupt: cancel the work, or let it end"
    )]
    NotInterruptible,
}
