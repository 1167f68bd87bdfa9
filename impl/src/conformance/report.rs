//! What the suite checks, and what it found.

use std::collections::BTreeMap;
use std::fmt;

/// One thing that is asked of an executor. Its [name](Check::name) stays what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Check {
    /// POLICY-26
    AdvertisesInject,
    /// OURS-20 ADOPT-13
    Runs,
    /// EXEC-01
    AcceptsWhileRunning,
    /// EXEC-12
    ConsumesWhatItAccepts,
    /// EXEC-05
    ClaimsOnlyWhatWasTakenIn,
    /// EXEC-04 POLICY-18
    ReportsOnce,
    /// EXEC-04 EXEC-11
    ReportIsFinal,
    /// EXEC-02 EXEC-09
    RefusesAfterTheEnd,
    /// EXEC-02
    IsCertainAfterTheEnd,
    /// EXEC-02 EXEC-10
    RefusesWhatItDoesNotHold,
    /// EXEC-02 EXEC-03
    DeniesOnlyWhatWasNotDelivered,
    /// EXEC-03
    SaysWhenItCannotTell,
    /// EXEC-05 INJECT-29
    ProofSurvivesFailure,
    /// EXEC-11
    ProofSurvivesRecovery,
    /// EXEC-12
    ConsumesAfterRecovery,
    /// ADOPT-15
    ReplacesCredentialsOnRecovery,
    /// EXEC-13
    ReplacesCredentialsOnResume,
    /// POLICY-19
    TellsOfAnInterrupt,
    /// POLICY-19 POLICY-26
    ClaimsNoInterruptItCannotMake,
    /// CANCEL-06
    StopEnds,
}

/// What a check is called, which rules it stands for, and what it expects.
struct Said(&'static str, &'static [&'static str], &'static str);

impl Check {
    /// Every check, in the order of a report.
    pub const ALL: [Self; 20] = [
        Self::AdvertisesInject,
        Self::Runs,
        Self::AcceptsWhileRunning,
        Self::ConsumesWhatItAccepts,
        Self::ClaimsOnlyWhatWasTakenIn,
        Self::ReportsOnce,
        Self::ReportIsFinal,
        Self::RefusesAfterTheEnd,
        Self::IsCertainAfterTheEnd,
        Self::RefusesWhatItDoesNotHold,
        Self::DeniesOnlyWhatWasNotDelivered,
        Self::SaysWhenItCannotTell,
        Self::ProofSurvivesFailure,
        Self::ProofSurvivesRecovery,
        Self::ConsumesAfterRecovery,
        Self::ReplacesCredentialsOnRecovery,
        Self::ReplacesCredentialsOnResume,
        Self::TellsOfAnInterrupt,
        Self::ClaimsNoInterruptItCannotMake,
        Self::StopEnds,
    ];

    /// Its stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.said().0
    }

    /// The rules that it stands for.
    #[must_use]
    pub const fn rules(self) -> &'static [&'static str] {
        self.said().1
    }

    /// What is asked of the executor.
    #[must_use]
    pub const fn expected(self) -> &'static str {
        self.said().2
    }

    const fn said(self) -> Said {
        match self {
            Self::AdvertisesInject => Said(
                "advertises_inject",
                &["POLICY-26"],
                "an executor that is to be injected into says that it implements inject",
            ),
            Self::Runs => Said(
                "runs",
                &["OURS-20", "ADOPT-13"],
                "a segment is prepared, proceeds, is taken over, and its end is seen",
            ),
            Self::AcceptsWhileRunning => Said(
                "accepts_while_running",
                &["EXEC-01"],
                "an Event offered to a running process that reads is accepted for delivery",
            ),
            Self::ConsumesWhatItAccepts => Said(
                "consumes_what_it_accepts",
                &["EXEC-12"],
                "an Event accepted early enough by a process that cooperates is in the final report",
            ),
            Self::ClaimsOnlyWhatWasTakenIn => Said(
                "claims_only_what_was_taken_in",
                &["EXEC-05"],
                "a report names only Events that were offered and that the process took in",
            ),
            Self::ReportsOnce => Said(
                "reports_once",
                &["EXEC-04", "POLICY-18"],
                "an Event is reported at most once over the attempt, however often it was offered",
            ),
            Self::ReportIsFinal => Said(
                "report_is_final",
                &["EXEC-04", "EXEC-11"],
                "once the segment has ended its report stays as it is",
            ),
            Self::RefusesAfterTheEnd => Said(
                "refuses_after_the_end",
                &["EXEC-02", "EXEC-09"],
                "nothing is accepted for a process that has given its result or has finished",
            ),
            Self::IsCertainAfterTheEnd => Said(
                "is_certain_after_the_end",
                &["EXEC-02"],
                "an Event offered first after the end is answered with certainty: not accepting",
            ),
            Self::RefusesWhatItDoesNotHold => Said(
                "refuses_what_it_does_not_hold",
                &["EXEC-02", "EXEC-10"],
                "an instance that neither started nor recovered a segment is not accepting for it",
            ),
            Self::DeniesOnlyWhatWasNotDelivered => Said(
                "denies_only_what_was_not_delivered",
                &["EXEC-02", "EXEC-03"],
                "not accepting is said only of an Event that the process never takes in",
            ),
            Self::SaysWhenItCannotTell => Said(
                "says_when_it_cannot_tell",
                &["EXEC-03"],
                "a send whose answer was lost is neither accepted nor not accepting: nobody can tell",
            ),
            Self::ProofSurvivesFailure => Said(
                "proof_survives_failure",
                &["EXEC-05", "INJECT-29"],
                "what a process took in before it failed is in the final report",
            ),
            Self::ProofSurvivesRecovery => Said(
                "proof_survives_recovery",
                &["EXEC-11"],
                "what a process took in is reported by whichever instance recovers it, once it runs or \
                 once it has ended",
            ),
            Self::ConsumesAfterRecovery => Said(
                "consumes_after_recovery",
                &["EXEC-12"],
                "an Event that is accepted for a recovered process that cooperates is in the final report",
            ),
            Self::ReplacesCredentialsOnRecovery => Said(
                "replaces_credentials_on_recovery",
                &["ADOPT-15"],
                "a recovered segment has its new secret in place of the old one before recover answers",
            ),
            Self::ReplacesCredentialsOnResume => Said(
                "replaces_credentials_on_resume",
                &["EXEC-13"],
                "a resumed segment has its new secret before resume answers",
            ),
            Self::TellsOfAnInterrupt => Said(
                "tells_of_an_interrupt",
                &["POLICY-19"],
                "what holds a running process is told of an interrupt, as often as it is asked",
            ),
            Self::ClaimsNoInterruptItCannotMake => Said(
                "claims_no_interrupt_it_cannot_make",
                &["POLICY-19", "POLICY-26"],
                "an interrupt that is not implemented, or of a segment that is unknown, is an error",
            ),
            Self::StopEnds => Said(
                "stop_ends",
                &["CANCEL-06"],
                "once stop answers no process of the segment runs, and its end can be observed",
            ),
        }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name(), self.rules().join(" "))
    }
}

/// A check that an executor does not pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Which.
    pub check: Check,
    /// What the suite saw.
    pub seen: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { check, seen } = self;
        write!(f, "{check}\n    expected: {}\n    seen: {seen}", check.expected())
    }
}

/// What came of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It holds in every case that looks at it.
    Passed,
    /// It does not; what was seen first.
    Failed(String),
    /// Nothing could be said, for this reason.
    NotJudged(String),
}

/// What the suite found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConformanceReport {
    verdicts: BTreeMap<Check, Verdict>,
}

impl ConformanceReport {
    pub(super) const fn new(verdicts: BTreeMap<Check, Verdict>) -> Self {
        Self { verdicts }
    }

    /// The executor keeps the contract as far as it could be judged.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.findings().is_empty()
    }

    /// What it does not keep of it.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let failed = |check| match self.verdict(check) {
            Verdict::Failed(seen) => Some(Finding { check, seen }),
            Verdict::Passed | Verdict::NotJudged(_) => None,
        };
        Check::ALL.into_iter().filter_map(failed).collect()
    }

    /// What came of one check.
    #[must_use]
    pub fn verdict(&self, check: Check) -> Verdict {
        let none = || Verdict::NotJudged("no case came so far".to_owned());
        self.verdicts.get(&check).cloned().unwrap_or_else(none)
    }
}

impl fmt::Display for ConformanceReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for check in Check::ALL {
            match self.verdict(check) {
                Verdict::Passed => writeln!(f, "pass  {check}")?,
                Verdict::NotJudged(why) => writeln!(f, "-     {check}: not judged: {why}")?,
                Verdict::Failed(seen) => writeln!(f, "FAIL  {}", Finding { check, seen })?,
            }
        }
        let failed = self.findings().len();
        match failed {
            0 => write!(f, "the executor keeps the contract of inject"),
            1 => write!(f, "1 check failed"),
            _ => write!(f, "{failed} checks failed"),
        }
    }
}
