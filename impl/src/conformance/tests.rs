//! The suite over the reference, sound and broken.

use std::time::Duration;

use super::reference::{Flaw, Reference};
use super::{Check, ConformanceReport, Limits, Verdict, check_inject_executor};

/// Short: what a broken one does not do would be waited for in vain.
fn broken(flaw: Flaw) -> ConformanceReport {
    let limits = Limits { patience: Duration::from_secs(2), grace: Duration::ZERO };
    check_inject_executor(&Reference { flaw: Some(flaw), limits })
}

/// That one finding and no other.
fn finds_only(flaw: Flaw, check: Check) {
    let report = broken(flaw);
    let found: Vec<_> = report.findings().into_iter().map(|finding| finding.check).collect();
    assert_eq!(found, [check], "{flaw:?}\n{report}");
}

/// EXEC-14
#[test]
fn the_reference_double_passes_every_check() {
    let report = check_inject_executor(&Reference::default());
    for check in Check::ALL {
        assert_eq!(report.verdict(check), Verdict::Passed, "{report}");
    }
}

/// EXEC-15
#[test]
fn an_executor_that_over_claims_is_found() {
    finds_only(Flaw::OverClaims, Check::ClaimsOnlyWhatWasTakenIn);
}

/// EXEC-15
#[test]
fn an_executor_that_accepts_after_its_result_is_found() {
    finds_only(Flaw::AcceptsAfterResult, Check::RefusesAfterTheEnd);
}

/// EXEC-15
#[test]
fn an_executor_that_accepts_for_an_execution_it_does_not_hold_is_found() {
    finds_only(Flaw::AcceptsUnheld, Check::RefusesWhatItDoesNotHold);
}

/// EXEC-15
#[test]
fn an_executor_that_loses_the_proof_on_recovery_is_found() {
    finds_only(Flaw::LosesProofOnRecovery, Check::ProofSurvivesRecovery);
}

/// EXEC-15
#[test]
fn an_executor_that_never_consumes_is_found() {
    finds_only(Flaw::NeverConsumes, Check::ConsumesWhatItAccepts);
    finds_only(Flaw::NeverDelivers, Check::ConsumesWhatItAccepts);
}

/// EXEC-03
#[test]
fn an_executor_that_is_sure_of_what_nobody_can_tell_is_found() {
    finds_only(Flaw::DeniesTheUnheard, Check::SaysWhenItCannotTell);
    finds_only(Flaw::AcceptsTheUnheard, Check::SaysWhenItCannotTell);
    finds_only(Flaw::DeniesTheRepeated, Check::DeniesOnlyWhatWasNotDelivered);
    finds_only(Flaw::VagueAfterEnd, Check::IsCertainAfterTheEnd);
}

/// EXEC-04
#[test]
fn an_executor_that_reports_twice_is_found() {
    finds_only(Flaw::ReportsTwice, Check::ReportsOnce);
    finds_only(Flaw::ReportsAgain, Check::ReportsOnce);
    finds_only(Flaw::ForgetsWhatItSaid, Check::ReportIsFinal);
}

#[test]
fn every_other_check_finds_the_executor_that_does_not_pass_it() {
    finds_only(Flaw::HidesInject, Check::AdvertisesInject);
    finds_only(Flaw::RefusesWhileRunning, Check::AcceptsWhileRunning);
    finds_only(Flaw::LosesProofOfFailure, Check::ProofSurvivesFailure);
    finds_only(Flaw::DropsAfterRecovery, Check::ConsumesAfterRecovery);
    finds_only(Flaw::KeepsSecretOnRecovery, Check::ReplacesCredentialsOnRecovery);
    finds_only(Flaw::KeepsSecretOnResume, Check::ReplacesCredentialsOnResume);
    finds_only(Flaw::CannotInterrupt, Check::TellsOfAnInterrupt);
    finds_only(Flaw::InterruptsNothing, Check::ClaimsNoInterruptItCannotMake);
    finds_only(Flaw::LeavesRunning, Check::StopEnds);
}

#[test]
fn a_report_says_what_was_expected_what_was_seen_and_what_could_not_be_judged() {
    let report = broken(Flaw::NeverConsumes).to_string();
    let failed = "FAIL  consumes_what_it_accepts (EXEC-12)\n    expected: an Event accepted early";
    assert!(report.contains(failed), "{report}");
    assert!(report.contains("\n    seen: evt_"), "{report}");
    let idle = "-     proof_survives_recovery (EXEC-11): not judged: nothing shows it while \
                consumes_what_it_accepts fails";
    assert!(report.contains(idle), "{report}");
    assert!(report.ends_with("1 check failed"), "{report}");
}

/// Whoever calls it may be on a runtime of his own.
#[tokio::test]
async fn it_can_be_called_from_anywhere() {
    let called = tokio::task::spawn_blocking(|| check_inject_executor(&Reference::default()));
    assert!(called.await.expect("it does not panic").passed());
    assert!(check_inject_executor(&Reference::default()).passed());
}

#[test]
fn names_of_checks_are_apart_and_every_check_stands_for_rules() {
    let mut names: Vec<_> = Check::ALL.into_iter().map(Check::name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Check::ALL.len());
    assert!(Check::ALL.into_iter().all(|check| !check.rules().is_empty()));
}

/// The guide lists every check, in the order of a report.
#[test]
fn the_guide_has_every_check() {
    let guide = include_str!("../../../docs/executors.md");
    let listed: Vec<_> = guide
        .lines()
        .skip_while(|line| !line.starts_with("| Check |"))
        .skip(2)
        .map_while(|line| line.strip_prefix("| `")?.split('`').next())
        .collect();
    assert_eq!(listed, Check::ALL.map(Check::name));
}
