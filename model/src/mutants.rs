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
    SequenceReused = "sequence-reused", "a derived event takes the latest number instead of the next";
    StaleProposalCommits = "stale-proposal-commits", "a route commits although what it was evaluated from moved";
    RouteAcrossScopes = "route-across-scopes", "a key's owner in another scope takes the event";
    RouteOutOfOrder = "route-out-of-order", "a route commits ahead of a lower event of the same Work";
    SecondOwner = "second-owner", "an owned key makes a second Work";
    TerminalTakesInput = "terminal-takes-input", "an event of an ended Work is queued on it";
    RouteTwice = "route-twice", "an event that has a mark is routed again";
    ForgetAuthority = "forget-authority", "a superseded authority is taken for the live one";
    ExpiryInclusive = "expiry-inclusive", "the lease still confers authority at its end";
    ClaimWhileRunning = "claim-while-running", "a claim does not look for a running attempt";
    ClaimOverHold = "claim-over-hold", "a claim does not look at the hold";
    ClaimOverExclusion = "claim-over-exclusion", "a claim does not look at the exclusion mark";
    ClaimOverCapacity = "claim-over-capacity", "a claim does not count what the scope runs";
    ClaimTakesTriggerOnly = "claim-takes-trigger-only", "a claim leaves all pending input but its trigger";
    PinBeforeHandOver = "pin-before-hand-over", "a segment that no executor was handed is pinned";
    CompleteOverUnrouted = "complete-over-unrouted", "completion does not look for unrouted events of the Work";
    CompleteDropsPending = "complete-drops-pending", "completion ends the Work over pending input";
    FailureDropsPending = "failure-drops-pending", "a failure throws away the pending input";
    FailureUnheld = "failure-unheld", "a failure that uses up the budget leaves no hold";
    WaitCannotEndUnchecked = "wait-cannot-end-unchecked", "a wait with neither key nor timeout is registered";
    ForeignKeyUnchecked = "foreign-key-unchecked", "a wait subscribes to a key its Work does not own";
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
    VacateAnySegment = "vacate-any-segment", "the exit of another segment lifts the exclusion mark";
    CancelLeavesWait = "cancel-leaves-wait", "cancelling leaves the wait active";
    CancelLeavesTimer = "cancel-leaves-timer", "cancelling leaves the timer armed";
    CancelLeavesAttempt = "cancel-leaves-attempt", "cancelling leaves a parked attempt parked";
    CancelLeavesAuthority = "cancel-leaves-authority", "cancelling leaves the epoch of a running attempt valid";
    CancelUnmarked = "cancel-unmarked", "cancelling a running attempt sets no exclusion mark";
    CancelRewritesTerminal = "cancel-rewrites-terminal", "cancelling rewrites completed Work";
    DepthUnchecked = "depth-unchecked", "a derived event of any depth is accepted";
    DepthReset = "depth-reset", "a derived event starts again at depth 0";
    RootForgotten = "root-forgotten", "a derived event is its own root";
    RefusedContinuationUnheld = "refused-continuation-unheld", "a refused continuation leaves the Work free to start";
}
