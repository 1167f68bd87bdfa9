//! Broken laws by name. A mutant is one clause of one guard or one effect, switched off or turned round.
//!
//! Each has a property meant to catch it and a world where that shows (`properties.rs`, `progress.rs`); a test
//! shows that it does. Without them a property that can never fail would look like one that always holds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! mutants {
    ($($variant:ident = $name:literal, $breaks:literal;)*) => {
        /// The law with one clause broken.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        pub enum Mutant {
            $(#[doc = $breaks] $variant,)*
        }

        impl Mutant {
            /// Every mutant, in the order of the law's areas.
            pub const ALL: &[Mutant] = &[$(Mutant::$variant,)*];

            /// Its name in commands and traces.
            pub fn name(self) -> &'static str {
                match self {
                    $(Mutant::$variant => $name,)*
                }
            }

            /// Which clause it breaks.
            pub fn breaks(self) -> &'static str {
                match self {
                    $(Mutant::$variant => $breaks,)*
                }
            }

            /// The mutant of that name.
            pub fn named(name: &str) -> Option<Mutant> {
                Mutant::ALL.iter().copied().find(|mutant| mutant.name() == name)
            }
        }
    };
}

mutants! {
    DuplicateRenumbers = "duplicate-renumbers", "a known identity is accepted again under a new number";
    CoreTypeUnchecked = "core-type-unchecked", "a sender's core type is accepted";
    ContradictionUnchecked = "contradiction-unchecked", "a key the named Work does not own is accepted with it";
    GenerationUnmapped = "generation-unmapped", "an event of a reopened resource keeps the old key";
    NamedGenerationMapped = "named-generation-mapped", "a key that names its generation is mapped to a newer one";
    ConflictUnmarked = "conflict-unmarked", "another body under a known identity leaves no trace";
    ConflictOverwrites = "conflict-overwrites", "another body under a known identity replaces what it says";
    SuspectStarts = "suspect-starts", "a known body under a new identity is routed like news";
    SuspectForEver = "suspect-for-ever", "a known body stays suspect after its window";
    RequestRepeats = "request-repeats", "a request asked twice is performed twice";
    ReplayUnrouted = "replay-unrouted", "an event without a mark is replayed";
    ReplayOfCore = "replay-of-core", "what core itself accepted is replayed";
    ReplayUnmarks = "replay-unmarks", "a replay takes the mark off its original";
    ReplayIsRoot = "replay-is-root", "a replay starts a chain of its own";
    SequenceReused = "sequence-reused", "a derived event takes the latest number instead of the next";
    StaleProposalCommits = "stale-proposal-commits", "a route commits although what it was evaluated from moved";
    RouteAcrossScopes = "route-across-scopes", "a key's owner in another scope takes the event";
    RouteOutOfOrder = "route-out-of-order", "a route commits ahead of a lower event of the same Work";
    SecondOwner = "second-owner", "an owned key makes a second Work";
    TerminalTakesInput = "terminal-takes-input", "an event of an ended Work is queued on it";
    RouteTwice = "route-twice", "an event that has a mark is routed again";
    MarkForgetsGeneration = "mark-forgets-generation", "a mark names the first generation whatever is current";
    ReloadKeepsProposals = "reload-keeps-proposals", "what was proposed under the former configuration commits";
    ReloadRepeats = "reload-repeats", "loading the current configuration makes a generation";
    ReloadRemarks = "reload-remarks", "a reload moves earlier marks to the new generation";
    ReloadUnpins = "reload-unpins", "a reload moves open attempts to the new generation";
    DropQueues = "drop-queues", "a dropped event becomes input";
    DropOnlyWhileRunning = "drop-only-while-running", "a drop decision needs a running attempt";
    DroppedWakes = "dropped-wakes", "a dropped event wakes a wait registered later";
    UpdateCreates = "update-creates", "an update without an owner makes a Work";
    CloseSparesStanding = "close-spares-standing", "a closing route leaves standing Work open";
    CloseUnrecorded = "close-unrecorded", "a closed Work does not name the event that closed it";
    AttachSteals = "attach-steals", "a key to attach is taken from its owner";
    ListedKeyUnmapped = "listed-key-unmapped", "a key that a wait lists is taken in the generation it names";
    AttachUnmapped = "attach-unmapped", "a key to attach is taken in its first generation";
    AttachForgets = "attach-forgets", "a route attaches none of its keys";
    AttachPartly = "attach-partly", "an aborted attachment leaves its free keys attached";
    KindChanges = "kind-changes", "a later route changes the kind of a Work";
    ReopenUninvited = "reopen-uninvited", "a late event makes a successor that nobody decided on";
    ReopenOpen = "reopen-open", "open Work is reopened";
    SecondSuccessor = "second-successor", "a Work is reopened twice";
    ReopenRevives = "reopen-revives", "reopening makes the old Work ready again";
    ReopenMovesKey = "reopen-moves-key", "the successor takes the old key";
    SuccessorIsChild = "successor-is-child", "a successor names its predecessor as parent";
    CreatedIsNoInput = "created-is-no-input", "what was created or reopened has nothing to start from";
    ParentUnchecked = "parent-unchecked", "a child of no Work is made";
    ChildAnywhere = "child-anywhere", "a child is made in another scope than its parent's without authority";
    CreateOverOwner = "create-over-owner", "a key that is owned is given to Work made by hand";
    DropRemarks = "drop-remarks", "an operator's drop rewrites a mark";
    DropOutOfTurn = "drop-out-of-turn", "an operator's drop overtakes a lower event of the same Work";
    DropOfCore = "drop-of-core", "an operator drops what core itself accepted";
    ExpectIgnored = "expect-ignored", "an operator's action strikes another attempt than the one named";
    HoldEnded = "hold-ended", "ended Work is held";
    HoldStopsTimer = "hold-stops-timer", "a hold takes the timer of a wait away";
    InputLiftsHold = "input-lifts-hold", "queued input lifts the holds of its Work";
    ReleaseUnheld = "release-unheld", "Work that nothing holds is released";
    ReleaseLeavesHold = "release-leaves-hold", "a release lifts the operator's hold only";
    ReleaseIsInput = "release-is-input", "a release is input of its Work";
    ReleaseWithoutParent = "release-without-parent", "a segment after a release goes on from the refused continuation";
    ForgetAuthority = "forget-authority", "a superseded authority is taken for the live one";
    ExpiryInclusive = "expiry-inclusive", "the lease still confers authority at its end";
    ClaimWhileRunning = "claim-while-running", "a claim does not look for a running attempt";
    ClaimOverHold = "claim-over-hold", "a claim does not look at the hold";
    ClaimOverOperator = "claim-over-operator", "a claim looks at core's own holds only";
    ClaimOverExclusion = "claim-over-exclusion", "a claim does not look at the exclusion mark";
    ClaimOverCapacity = "claim-over-capacity", "a claim does not count what the scope runs";
    CapacityOfOwnScope = "capacity-of-own-scope", "a claim does not look at the scopes above";
    CapacityWithoutBelow = "capacity-without-below", "a scope does not count what runs in the scopes below it";
    ClaimLeavesIdleTimer = "claim-leaves-idle-timer", "a claim leaves the idle timer running";
    ClaimTakesTriggerOnly = "claim-takes-trigger-only", "a claim leaves all pending input but its trigger";
    PinBeforeHandOver = "pin-before-hand-over", "a segment that no executor was handed is pinned";
    CompleteOverUnrouted = "complete-over-unrouted", "completion does not look for unrouted events of the Work";
    CompleteDropsPending = "complete-drops-pending", "completion ends the Work over pending input";
    HandoffCompletes = "handoff-completes", "a handoff ends the Work";
    HandoffWithoutIdleTimer = "handoff-without-idle-timer", "a handoff starts no idle timer";
    StandingCompletes = "standing-completes", "a completed attempt ends standing Work";
    StandingIdles = "standing-idles", "standing Work is closed for being idle";
    StandingExhausts = "standing-exhausts", "a failure of standing Work is counted and holds it";
    StandingCancelledLightly = "standing-cancelled-lightly", "standing Work is cancelled without saying for good";
    TurnEndUnpublished = "turn-end-unpublished", "a declared status is not published";
    TurnEndRefusedSilently = "turn-end-refused-silently", "a turn's end that a limit refuses leaves no record";
    TurnEndReturns = "turn-end-returns", "a turn's end is routed to the Work that published it";
    TurnEndBlocks = "turn-end-blocks", "a turn's end keeps its own Work from completing";
    IdleOverInput = "idle-over-input", "Work is closed for being idle over pending input";
    IdleOverHold = "idle-over-hold", "Work is closed for being idle though a person holds it";
    IdleOverUnrouted = "idle-over-unrouted", "Work is closed for being idle over an unrouted event of its own";
    IdleBeforeDue = "idle-before-due", "Work is closed before it was idle long enough";
    FailureDropsPending = "failure-drops-pending", "a failure throws away the pending input";
    FailureUnheld = "failure-unheld", "a failure that uses up the budget leaves no hold";
    FailedLaunchUnmarked = "failed-launch-unmarked", "a launch that failed before its pin sets no exclusion mark, though a process may run";
    FailureWithoutTimer = "failure-without-timer", "a failure that is to be retried arms no timer";
    FailureWithoutBackoff = "failure-without-backoff", "a failure that is to be retried leaves its Work free to start";
    CountFromAttempt = "count-from-attempt", "the number of the attempt is taken for the count of failures";
    PolicyOfTheDay = "policy-of-the-day", "a failure is judged by the current policy instead of the pinned one";
    BackoffFirstStep = "backoff-first-step", "every failure is retried after the first step";
    HintIgnored = "hint-ignored", "a valid hint does not set the delay";
    HintImmediate = "hint-immediate", "an invalid hint leads to a retry at once";
    HintUnbounded = "hint-unbounded", "an excessive hint sets the delay";
    StandingRetries = "standing-retries", "standing Work is retried without a hint";
    SuccessKeepsCount = "success-keeps-count", "a success leaves the failures counted";
    ExhaustionArms = "exhaustion-arms", "the failure that uses up the budget arms a timer";
    ExhaustionFails = "exhaustion-fails", "exhaustion fails Work that is to be kept";
    ExhaustionKeeps = "exhaustion-keeps", "exhaustion keeps Work that is to fail";
    ExhaustionOverUnrouted = "exhaustion-over-unrouted", "Work fails for good over an unrouted event of its own";
    ClaimOverBackoff = "claim-over-backoff", "a claim does not look at the backoff";
    RetryBeforeDue = "retry-before-due", "a retry fires before its deadline";
    RetryNeverFires = "retry-never-fires", "no retry is ever due";
    RetryOfAnother = "retry-of-another", "a retry is accepted for another attempt than the one in backoff";
    RetryIsRoot = "retry-is-root", "a due retry starts a chain of its own";
    FiringLeavesTimer = "firing-leaves-timer", "a retry that fired leaves its timer armed";
    FiringEndsBackoff = "firing-ends-backoff", "a due retry ends the backoff before it is routed";
    FiringClaims = "firing-claims", "a due retry claims the next attempt itself";
    RefusedRetryRefires = "refused-retry-refires", "a retry refused by a causal limit stays armed";
    RefusedRetryUnheld = "refused-retry-unheld", "a refused retry leaves its Work without a hold";
    StandingHeldByRefusal = "standing-held-by-refusal", "a refused retry holds standing Work, which waits for its next event";
    ReleaseLeavesRefusedRetry = "release-leaves-refused-retry", "a release leaves the backoff of a refused retry standing";
    StaleRetryClears = "stale-retry-clears", "a retry ends the backoff of another attempt";
    StaleRetryQueues = "stale-retry-queues", "a retry of an attempt that is past becomes input";
    RetryLeavesBackoff = "retry-leaves-backoff", "a routed retry leaves its backoff standing";
    RetryIsNoInput = "retry-is-no-input", "a routed retry gives the next attempt nothing to start from";
    InputEndsBackoff = "input-ends-backoff", "ordinary input ends a backoff";
    RetryUnfailed = "retry-unfailed", "a person retries Work whose last attempt has not failed";
    DueRevives = "due-revives", "a retry that falls due makes ended Work ready again";
    DueReopens = "due-reopens", "a retry that is routed to ended Work makes its successor";
    RetryRevives = "retry-revives", "a person retries Work that has failed for good";
    ManualKeepsCount = "manual-keeps-count", "a manual retry leaves the failures counted";
    ManualLeavesTimer = "manual-leaves-timer", "a manual retry leaves the old timer armed";
    ManualLeavesBackoff = "manual-leaves-backoff", "a manual retry leaves the backoff standing";
    ManualLeavesHold = "manual-leaves-hold", "a manual retry leaves exhausted Work held";
    ManualLiftsOperator = "manual-lifts-operator", "a manual retry lifts the hold of a person";
    ManualClaims = "manual-claims", "a manual retry claims the next attempt itself";
    WaitCannotEndUnchecked = "wait-cannot-end-unchecked", "a wait with neither key nor timeout is registered";
    ForeignKeyUnchecked = "foreign-key-unchecked", "a wait subscribes to a key its Work does not own";
    AliasWithoutKey = "alias-without-key", "a wait that owns no key subscribes";
    ScopeUnchecked = "scope-unchecked", "a subscription reads a scope that nothing grants";
    SubscriptionScanSkipped = "subscription-scan-skipped", "registration does not translate what is accepted already";
    SubscriptionForgets = "subscription-forgets", "a subscription begins at its watermark though an earlier one had not come so far";
    CatchUpRunsOn = "catch-up-runs-on", "registration goes on translating after an alias that wakes";
    SilencedTranslated = "silenced-translated", "what an operator dropped is translated";
    AliasNeedsRoute = "alias-needs-route", "an alias that wakes nothing is unmatched";
    AliasTwice = "alias-twice", "an event is translated twice for one subscription";
    AliasAttaches = "alias-attaches", "a translation gives the dependent the key of its source";
    AliasOutOfOrder = "alias-out-of-order", "a translation overtakes a lower event of its source";
    AliasResetsDepth = "alias-resets-depth", "an alias starts again at depth 0";
    CheckpointStays = "checkpoint-stays", "a translation leaves the checkpoint where it was";
    CheckpointWithoutAlias = "checkpoint-without-alias", "the checkpoint moves though no alias is accepted";
    RefusedAliasStalls = "refused-alias-stalls", "a refused alias leaves the checkpoint where it was";
    OwnPublicationTranslated = "own-publication-translated", "what the dependent published comes back as an alias";
    OwnPublicationWakes = "own-publication-wakes", "what a Work published wakes its own wait";
    WatermarkUnchecked = "watermark-unchecked", "a watermark above the latest sequence is taken";
    WatermarkRaised = "watermark-raised", "registration raises the watermark to the latest sequence";
    WatermarkIgnored = "watermark-ignored", "a match at or below the watermark wakes";
    SkipRegistrationScan = "skip-registration-scan", "registration does not scan accepted history";
    ScanSkipsQueued = "scan-skips-queued", "the scan looks at unrouted events only";
    ParkKeepsAuthority = "park-keeps-authority", "the registering authority stays valid";
    ParkUnmarked = "park-unmarked", "registration sets no exclusion mark";
    MatchAsContext = "match-as-context", "a match of the active wait is queued without waking it";
    WakeSuppressed = "wake-suppressed", "no scan ever finds a match";
    WakeTwice = "wake-twice", "a woken wait wakes again";
    WakeHighest = "wake-highest", "the highest match wins";
    WakeWithoutInput = "wake-without-input", "the winner does not become input";
    WakeLeavesTimer = "wake-leaves-timer", "a wake leaves the timer armed";
    ResumeNewAttempt = "resume-new-attempt", "a parked attempt is replaced instead of resumed";
    ResumeKeepsEpoch = "resume-keeps-epoch", "a resume leaves the former epoch valid";
    WakeLeavesSubscription = "wake-leaves-subscription", "a wake leaves the subscription standing";
    ResumeRepins = "resume-repins", "a resumed attempt is pinned to the current generation";
    ResumeRestoresTime = "resume-restores-time", "a resumed attempt has its whole active time again";
    ParkedTimeCharged = "parked-time-charged", "time spent parked is charged as active time";
    ActiveTimeStands = "active-time-stands", "running time is not charged";
    ResumeReplacesTrigger = "resume-replaces-trigger", "a resume takes the winner as the attempt's trigger";
    NextForgetsWinner = "next-forgets-winner", "the attempt after a wake starts from its lowest input";
    WakeKeepsCause = "wake-keeps-cause", "a resumed segment goes on from the attempt's old cause";
    TimeoutBeforeDue = "timeout-before-due", "a timer fires before its deadline";
    TimeoutOverMatch = "timeout-over-match", "a timeout is accepted although a match is";
    TimerNeverFires = "timer-never-fires", "no timer is ever due";
    FiringNotDisabled = "firing-not-disabled", "a firing refused by a causal limit stays armed and unrecorded";
    NotDueCancelsTimer = "not-due-cancels-timer", "a firing refused as early cancels the timer";
    RecoverLiveLease = "recover-live-lease", "recovery takes a live lease";
    RecoveryNever = "recovery-never", "no lease is ever over for a recoverer";
    RecoveryNewAttempt = "recovery-new-attempt", "recovery counts a new attempt";
    RecoveryKeepsEpoch = "recovery-keeps-epoch", "recovery leaves the former epoch valid";
    RecoveryWidensBatch = "recovery-widens-batch", "recovery adds the input that came since";
    RelaunchAfterHandOver = "relaunch-after-hand-over", "a segment that may have started something is relaunched";
    NotAdoptableUnmarked = "not-adoptable-unmarked", "a process that cannot be verified is not excluded";
    NotAdoptableUncounted = "not-adoptable-uncounted", "a failure by recovery leads to no backoff";
    RecoveryUnrecorded = "recovery-unrecorded", "a recovery claim leaves a pinned attempt as if it were hosted";
    RecoverParked = "recover-parked", "recovery takes a parked attempt";
    RelaunchPinned = "relaunch-pinned", "a segment that was pinned is relaunched";
    RelaunchCounts = "relaunch-counts", "a relaunch counts as a failure";
    AdoptionNewAttempt = "adoption-new-attempt", "an adopted attempt gets a new number";
    AdoptionLosesResult = "adoption-loses-result", "the result of a process that had ended is lost in its adoption";
    DetachKeepsAuthority = "detach-keeps-authority", "a detached lease still confers authority";
    DetachEndsAttempt = "detach-ends-attempt", "detaching ends the attempt";
    DetachStopsProcess = "detach-stops-process", "detaching stops the process";
    RestoreKeepsTokens = "restore-keeps-tokens", "what was granted before a restore is valid after it";
    RestoreWithoutHold = "restore-without-hold", "a restored database starts and recovers at once";
    RestoreSameIncarnation = "restore-same-incarnation", "a restore makes no new incarnation";
    RestoreEndsAttempts = "restore-ends-attempts", "a restore ends running attempts";
    RestoreRelaunches = "restore-relaunches", "what was launching at the backup is launched again after a restore";
    TimersRunUnderRestore = "timers-run-under-restore", "timers of waits fire under the restore hold";
    RetriesFireUnderRestore = "retries-fire-under-restore", "retries fire under the restore hold";
    IdleUnderRestore = "idle-under-restore", "Work is closed for being idle under the restore hold";
    RecoveryStaysVoid = "recovery-stays-void", "the recovery of what a restore fenced grants nothing";
    RestoreReleasedTwice = "restore-released-twice", "a database that was not restored is released";
    RestoreReleaseIsInput = "restore-release-is-input", "the release of a restored database is input of a Work";
    ClaimOverRestore = "claim-over-restore", "a claim does not look at the restore hold";
    RecoveryOverRestore = "recovery-over-restore", "recovery does not look at the restore hold";
    CrashKillsProcesses = "crash-kills-processes", "the daemon takes its processes with it";
    LaunchBeforeRecord = "launch-before-record", "an executor is called while the record says it was not";
    ProcessBeforePin = "process-before-pin", "a process that is to be held runs at once";
    ProceedBeforePin = "proceed-before-pin", "a held process runs though nothing is pinned";
    VacateAnySegment = "vacate-any-segment", "the exit of another segment lifts the exclusion mark";
    CancelLeavesWait = "cancel-leaves-wait", "cancelling leaves the wait active";
    CancelLeavesTimer = "cancel-leaves-timer", "cancelling leaves the timer armed";
    CancelLeavesSubscription = "cancel-leaves-subscription", "cancelling leaves the subscription standing";
    CancelLeavesIdleTimer = "cancel-leaves-idle-timer", "cancelling leaves the idle timer running";
    CancelLeavesRetryTimer = "cancel-leaves-retry-timer", "cancelling leaves the retry timer armed";
    CancelLeavesBackoff = "cancel-leaves-backoff", "cancelling leaves the backoff standing";
    CancelStopsProcess = "cancel-stops-process", "cancelling takes the process to be over though nobody stopped it";
    CancelLeavesAttempt = "cancel-leaves-attempt", "cancelling leaves a parked attempt parked";
    CancelLeavesAuthority = "cancel-leaves-authority", "cancelling leaves the epoch of a running attempt valid";
    CancelUnmarked = "cancel-unmarked", "cancelling a running attempt sets no exclusion mark";
    CancelRewritesTerminal = "cancel-rewrites-terminal", "cancelling rewrites completed Work";
    DepthUnchecked = "depth-unchecked", "a derived event of any depth is accepted";
    DepthReset = "depth-reset", "a derived event starts again at depth 0";
    RootForgotten = "root-forgotten", "a derived event is its own root";
    RefusedContinuationUnheld = "refused-continuation-unheld", "a refused continuation leaves the Work free to start";
    PolicyOnReady = "policy-on-ready", "the policy of a route applies to ready Work";
    PolicyOnWaiting = "policy-on-waiting", "the policy of a route applies to waiting Work";
    PolicyIgnored = "policy-ignored", "an event of running Work is queued whatever its route says";
    QueueInferred = "queue-inferred", "an event whose control is not supported is queued though nobody said so";
    UnsupportedInEffect = "unsupported-in-effect", "a control is committed for an attempt that does not support it";
    UnsupportedForEver = "unsupported-for-ever", "an event whose control is not supported is not routed after the attempt either";
    ControlsOfTheDay = "controls-of-the-day", "the current configuration says what a running attempt supports";
    FallbackIgnored = "fallback-ignored", "an event whose control is not supported waits though its route has a fallback";
    FallbackOverSupport = "fallback-over-support", "a fallback stands in for a control that is supported";
    FallbackUnrecorded = "fallback-unrecorded", "a mark made by a fallback does not say what was asked for";
    FallbackAlwaysRecorded = "fallback-always-recorded", "a mark says that a fallback stood in though none did";
    ErrorFallbackStandsIn = "error-fallback-stands-in", "the error fallback stands in for a control that is not supported";
    FallbackAnswersFailure = "fallback-answers-failure", "the fallback of an unsupported control answers a failure";
    ErrorFallbackForgotten = "error-fallback-forgotten", "an intent is committed without the error fallback of its route";
    PolicyDropQueues = "policy-drop-queues", "what a policy drops is queued";
    PolicyDropIsInput = "policy-drop-is-input", "what a policy drops is marked so and is input all the same";
    PolicyDropUnassociated = "policy-drop-unassociated", "what a policy drops does not name its Work";
    PolicyDropAttaches = "policy-drop-attaches", "what a policy drops attaches the keys of its decision";
    InjectedIsNoInput = "injected-is-no-input", "what is injected is not pending input";
    InterruptIsNoInput = "interrupt-is-no-input", "what a route interrupts by is not pending input";
    MarkWithoutIntent = "mark-without-intent", "a control is marked and no intent committed";
    IntentOfQueued = "intent-of-queued", "queued input is to reach the attempt";
    IntentForTheNext = "intent-for-the-next", "an intent is committed for the attempt after the running one";
    IntentBornDispatched = "intent-born-dispatched", "an intent is taken to be sent when it is committed";
    IntentRetargeted = "intent-retargeted", "a claim aims stale intents at the new attempt";
    IntentSurvivesPark = "intent-survives-park", "an open intent outlives the parking of its attempt";
    IntentSurvivesEnd = "intent-survives-end", "an open intent outlives the end of its attempt";
    IntentSurvivesFence = "intent-survives-fence", "an open intent outlives an interrupt or a cancellation";
    IntentDiesWithRecovery = "intent-dies-with-recovery", "a recovery makes open intents stale";
    IntentDiesWithCrash = "intent-dies-with-crash", "a crash makes open intents stale";
    IntentDiesWithRestore = "intent-dies-with-restore", "a restore makes open intents stale";
    IntentDiesWithDetach = "intent-dies-with-detach", "a host that detaches makes open intents stale";
    RestoreForgetsSends = "restore-forgets-sends", "a restore takes what was sent not to have been";
    AcceptedGoesStale = "accepted-goes-stale", "what was accepted becomes stale with the end of its attempt";
    StaleLosesInput = "stale-loses-input", "the input of an intent that becomes stale is gone";
    DispatchBeforePin = "dispatch-before-pin", "a control is sent to an attempt that is not pinned";
    DispatchUnrecorded = "dispatch-unrecorded", "a send is permitted and not recorded";
    DispatchConsumes = "dispatch-consumes", "what is sent is taken to be consumed";
    DispatchFences = "dispatch-fences", "an interrupt fences its attempt when it is sent";
    DispatchAcrossWorks = "dispatch-across-works", "whoever holds one Work sends what is to reach another";
    StaleDispatched = "stale-dispatched", "a stale intent is sent";
    SettledResent = "settled-resent", "an intent whose answer is known is sent again";
    ResendRefused = "resend-refused", "a send whose end nobody knows is not made again";
    DispatchedNeverSettles = "dispatched-never-settles", "no answer settles an intent";
    UndispatchedSettles = "undispatched-settles", "an answer settles an intent that was never sent";
    StaleAnswerSettles = "stale-answer-settles", "an answer settles an intent whoever brings it";
    LateAnswerSettles = "late-answer-settles", "a late answer overwrites what is settled";
    LateAnswerRefused = "late-answer-refused", "a late answer is refused if its authority is gone";
    LateAnswerReturnsInput = "late-answer-returns-input", "a late answer makes consumed input pending again";
    AcceptedConsumes = "accepted-consumes", "input is consumed when it is accepted for delivery";
    NotAcceptingWithdraws = "not-accepting-withdraws", "input is gone when it is not accepted";
    NotAcceptingFallsBack = "not-accepting-falls-back", "an injection that is not accepted takes the error fallback";
    NotAcceptingRecorded = "not-accepting-recorded", "an injection that is not accepted is recorded as queued by a fallback";
    AmbiguousIsAccepted = "ambiguous-is-accepted", "a failed injection is taken to be accepted";
    AmbiguousIsNotAccepting = "ambiguous-is-not-accepting", "a failed injection is taken not to be accepted";
    AmbiguousFallsBack = "ambiguous-falls-back", "a failed injection falls back though its route has no error fallback";
    AmbiguousWithdraws = "ambiguous-withdraws", "a failed injection withdraws its input though its route does not say so";
    ErrorFallbackIgnored = "error-fallback-ignored", "a failed control is sent again though its route has an error fallback";
    QueueFallbackWithdraws = "queue-fallback-withdraws", "the error fallback queue withdraws the input";
    DropFallbackKeeps = "drop-fallback-keeps", "the error fallback drop leaves the input pending";
    RefusedInterruptSettles = "refused-interrupt-settles", "an interrupt that failed is not sent again";
    RefusedInterruptFences = "refused-interrupt-fences", "an interrupt that failed fences its attempt";
    InterruptFencesAtOnce = "interrupt-fences-at-once", "an interrupt fences its attempt when it is committed";
    InterruptRecordedAtOnce = "interrupt-recorded-at-once", "an attempt names an interrupt that was only committed";
    ReplacementBeforeFence = "replacement-before-fence", "an attempt that is to be interrupted is replaced while it runs";
    FenceLeavesAttempt = "fence-leaves-attempt", "an accepted interrupt leaves the attempt running";
    FenceFailsAttempt = "fence-fails-attempt", "an accepted interrupt ends the attempt as failed";
    FenceKeepsAuthority = "fence-keeps-authority", "an accepted interrupt leaves the epoch of the attempt valid";
    FenceUnmarked = "fence-unmarked", "an accepted interrupt sets no exclusion mark";
    FenceUnsettled = "fence-unsettled", "an accepted interrupt becomes stale with its attempt";
    FenceUnrecorded = "fence-unrecorded", "a fenced attempt does not name what interrupted it";
    FenceLosesPending = "fence-loses-pending", "a fence takes the pending input away";
    FenceTakesItsEvent = "fence-takes-its-event", "a fence consumes the event that interrupted";
    InterruptTerminal = "interrupt-terminal", "an interrupt cancels the Work";
    InterruptCounts = "interrupt-counts", "an interrupt counts as a failure";
    InterruptBacksOff = "interrupt-backs-off", "an interrupt leads to a backoff";
    InterruptHolds = "interrupt-holds", "an interrupt holds the Work";
    FenceForgetsFailures = "fence-forgets-failures", "an interrupt sets the failures counted back";
    FenceLiftsHold = "fence-lifts-hold", "an interrupt lifts what a person holds";
    FenceSetsIdle = "fence-sets-idle", "an interrupt that leaves no input sets the idle timer";
    CancelRecordsInterrupt = "cancel-records-interrupt", "a cancelled attempt names an interrupt that was on its way";
    CauseOutlivesAttempt = "cause-outlives-attempt", "an attempt names what interrupted the one before it";
    OperatorInterruptIsInput = "operator-interrupt-is-input", "a person's interrupt is pending input";
    OperatorInterruptFallsBack = "operator-interrupt-falls-back", "a person's interrupt has an error fallback";
    OperatorInterruptWithoutIntent = "operator-interrupt-without-intent", "a person's interrupt commits no intent";
    InterruptOfReady = "interrupt-of-ready", "a person interrupts Work without a running attempt";
    InterruptOncePerAttempt = "interrupt-once-per-attempt", "a person may not interrupt while another interrupt is on its way";
    CapabilityUnchecked = "capability-unchecked", "a person interrupts an attempt whose pin lacks it";
    CapabilityOfTheDay = "capability-of-the-day", "the current configuration says whether a person may interrupt an attempt";
    ImplementationUnchecked = "implementation-unchecked", "a person interrupts an attempt whose executor does not implement it";
    RefusedInterruptLeavesEvent = "refused-interrupt-leaves-event", "a person's interrupt that is refused is accepted as an event";
    ProofUndispatched = "proof-undispatched", "a proof of what was never sent counts";
    ProofNotAccepting = "proof-not-accepting", "a proof of what was not accepted counts";
    ProofOfInterrupt = "proof-of-interrupt", "a proof of an interrupt counts";
    ProofWithoutIntent = "proof-without-intent", "a proof of what was only queued counts";
    ProofAcrossWorks = "proof-across-works", "a proof of what was sent to another Work counts";
    ProofOfWithdrawn = "proof-of-withdrawn", "a proof of what was withdrawn counts";
    ProofOfClaimed = "proof-of-claimed", "a proof of what a segment was claimed with counts";
    ProofNeedsAnswer = "proof-needs-answer", "a proof counts only once its send was answered";
    ProofOfFallenBackIgnored = "proof-of-fallen-back-ignored", "a proof of what fell back to queue does not count";
    ProofIgnoredOnCompletion = "proof-ignored-on-completion", "the proofs of a completed result do not count";
    ProofIgnoredOnHandoff = "proof-ignored-on-handoff", "the proofs of a handoff do not count";
    ProofIgnoredOnFailure = "proof-ignored-on-failure", "the proofs of a failed result do not count";
    ProofIgnoredOnWait = "proof-ignored-on-wait", "the proofs of a waiting result do not count";
    ProofLeavesIntent = "proof-leaves-intent", "a proof consumes the input and not the intent";
    ProofLeavesInput = "proof-leaves-input", "a proof consumes the intent and not the input";
    ProofAfterScan = "proof-after-scan", "registration scans before it counts the proofs";
    ProofGrantsAuthority = "proof-grants-authority", "a result that names proofs commits whoever brings it";
    FalseProofRefused = "false-proof-refused", "a result that names what it cannot prove is refused";
    ConflictKeepsProof = "conflict-keeps-proof", "a completion in conflict consumes what it proves";
    AcceptedIsProof = "accepted-is-proof", "a result consumes what was accepted for delivery";
    AcceptedEndsWork = "accepted-ends-work", "a completion takes what was accepted for delivery to be consumed";
    CompletionJudgesFirst = "completion-judges-first", "a completion looks at the pending input before it counts the proofs";
    CompleteOverProofs = "complete-over-proofs", "a completion does not look for unrouted events if its proofs leave nothing pending";
    FailureReturnsInput = "failure-returns-input", "a failure makes pending again what its attempt consumed";
    WakeByConsumed = "wake-by-consumed", "a wait wakes by what its Work consumed";
    DeliveredBeforeSent = "delivered-before-sent", "an executor is called before the dispatch is committed";
    CrashLosesMessages = "crash-loses-messages", "what a process took in is forgotten in a crash";
}
