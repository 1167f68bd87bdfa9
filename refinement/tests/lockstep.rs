//! The harness on worlds small enough for an unoptimised build; `abide-refine` runs it over all of them.

use std::path::Path;

use abide_model::worlds::{World, named};
use abide_refinement::broken::Fault;
use abide_refinement::difference::{Divergence, Parting};
use abide_refinement::replay::{ReplayError, replay, write};
use abide_refinement::runs::{Beside, Lockstep, crash_points, lockstep};

fn world(name: &str) -> &'static World {
    named(name).unwrap_or_else(|| panic!("there is no world `{name}`"))
}

fn run(name: &str, beside: Beside) -> Result<Lockstep, Box<Divergence>> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    lockstep(world(name), beside, folder.path())
}

fn holds(name: &str, beside: Beside) -> Lockstep {
    run(name, beside).unwrap_or_else(|divergence| panic!("{}", divergence.report()))
}

fn parts(name: &str, fault: Fault) -> Box<Divergence> {
    match run(name, Beside::Broken(fault)) {
        Err(divergence) => divergence,
        Ok(_) => panic!("the runtime with {} was not reported in {name}", fault.name()),
    }
}

#[test]
fn every_transition_of_a_routing_world_is_performed_by_the_runtime_as_the_law_says() {
    let run = holds("acceptance", Beside::Sqlite);
    let walked = run.walked.expect("the whole graph is walked");
    assert_eq!(walked.states, run.explored.states);
    assert_eq!(walked.transitions, run.explored.transitions);
    assert!(walked.probes > 0, "nothing forbidden was tried");
}

#[test]
fn every_transition_of_a_world_with_timers_is_performed_and_probed_just_before_each_tick() {
    let run = holds("pauses", Beside::Sqlite);
    let walked = run.walked.expect("the whole graph is walked");
    assert_eq!(walked.transitions, run.explored.transitions);
    assert!(walked.probes > 0 && walked.instants > 0, "{walked:?}");
}

#[test]
fn successors_replays_handoffs_and_standing_work_are_performed_as_the_law_says() {
    for name in ["endings", "standing"] {
        let run = holds(name, Beside::Sqlite);
        assert_eq!(run.transitions(), run.explored.transitions, "{name}");
        assert!(
            run.walked.is_some_and(|walked| walked.probes > 0 && walked.instants > 0),
            "{name}"
        );
    }
}

#[test]
fn subscriptions_identities_and_their_suspects_are_performed_as_the_law_says() {
    for name in ["bursts", "identities"] {
        let run = holds(name, Beside::Sqlite);
        assert_eq!(run.transitions(), run.explored.transitions, "{name}");
        assert!(run.probes() > 0, "{name}");
    }
}

#[test]
fn failures_hints_and_retries_are_performed_as_the_law_says() {
    let run = holds("hints", Beside::Sqlite);
    assert_eq!(run.transitions(), run.explored.transitions);
    assert!(run.walked.is_some_and(|walked| walked.probes > 0 && walked.instants > 0));
}

#[test]
fn injections_answers_and_proofs_are_performed_as_the_law_says() {
    let run = holds("inject", Beside::Sqlite);
    assert_eq!(run.transitions(), run.explored.transitions);
    assert!(run.probes() > run.transitions(), "most of what may be tried is refused");
}

#[test]
fn the_model_beside_itself_never_differs() {
    let run = holds("pauses", Beside::Model);
    assert_eq!(run.transitions(), run.explored.transitions);
}

#[test]
fn class_traces_hold_on_a_file_reopened_after_every_step() {
    let covered = holds("acceptance", Beside::File).covered.expect("class traces are followed");
    assert!(covered.traces > 0 && covered.steps > covered.traces, "{covered:?}");
}

#[test]
fn a_crash_before_a_commit_changes_nothing_and_after_it_loses_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let crashed = crash_points(world("targets"), folder.path())
        .unwrap_or_else(|divergence| panic!("{}", divergence.report()));
    assert_eq!(crashed.before, crashed.after);
    assert!(crashed.before > 0 && crashed.repeated > 0, "{crashed:?}");
}

#[test]
fn a_suppressed_wake_is_reported_at_the_wake_that_did_not_happen() {
    let divergence = parts("pauses", Fault::WakeSuppressed);
    assert!(matches!(divergence.what, Parting::View { .. }), "{}", divergence.report());
    let report = divergence.report();
    assert!(report.contains("wake-suppressed"), "{report}");
    let last =
        report.lines().find(|line| line.starts_with('→')).expect("the parting step is marked");
    assert!(last.contains("wake"), "{report}");
    assert!(report.contains("status model"), "the difference names the field:\n{report}");
}

#[test]
fn an_unchecked_authority_is_reported_at_the_stale_action_that_was_let_through() {
    let divergence = parts("pauses", Fault::AuthorityNotChecked);
    let report = divergence.report();
    assert!(report.contains("stale_authority"), "{report}");
    assert!(report.contains("superseded authority"), "{report}");
}

#[test]
fn a_claim_over_a_hold_is_reported_with_the_hold_that_stood() {
    let divergence = parts("wait-races", Fault::HoldsIgnored);
    let report = divergence.report();
    assert!(report.contains("the model answers   not now, held"), "{report}");
    assert!(report.contains("an operator holds fix"), "{report}");
    let last = report.lines().find(|line| line.starts_with('→')).expect("the step is marked");
    assert!(last.contains("claims fix"), "{report}");
}

#[test]
fn a_checkpoint_that_is_not_noted_is_reported_with_the_sequence_it_forgot() {
    let divergence = parts("aliases", Fault::CheckpointIgnored);
    let report = divergence.report();
    assert!(matches!(divergence.what, Parting::View { .. }), "{report}");
    assert!(report.contains("wait.checkpoint model"), "{report}");
}

#[test]
fn a_claim_in_a_backoff_is_reported_with_the_backoff_that_stood() {
    let report = parts("hints", Fault::BackoffIgnored).report();
    assert!(report.contains("the model answers   not now, backoff"), "{report}");
    let last = report.lines().find(|line| line.starts_with('→')).expect("the step is marked");
    assert!(last.contains("claims watch"), "{report}");
}

#[test]
fn a_hint_that_is_cut_down_is_reported_with_the_timer_it_armed() {
    let divergence = parts("hints", Fault::HintsClamped);
    let report = divergence.report();
    assert!(matches!(divergence.what, Parting::View { .. }), "{report}");
    assert!(report.contains("retry model"), "{report}");
}

#[test]
fn a_proof_of_what_was_never_sent_is_reported_with_the_input_it_consumed() {
    let divergence = parts("inject", Fault::ProofsUnchecked);
    let report = divergence.report();
    assert!(matches!(divergence.what, Parting::View { .. }), "{report}");
    let last = report.lines().find(|line| line.starts_with('→')).expect("the step is marked");
    assert!(last.contains("took in"), "{report}");
    assert!(report.contains("intent.status model"), "{report}");
}

#[test]
fn every_planted_fault_is_reported_somewhere() {
    for fault in Fault::ALL {
        let world = match fault {
            Fault::WakeSuppressed | Fault::AuthorityNotChecked => "pauses",
            Fault::HoldsIgnored => "wait-races",
            Fault::CheckpointIgnored => "aliases",
            Fault::BackoffIgnored | Fault::StaleRetryClears | Fault::HintsClamped => "hints",
            Fault::DetachIgnored => "crash-grain",
            Fault::TokensKeptOverRestore => "restore",
            Fault::ProofsUnchecked | Fault::AcceptanceConsumes | Fault::IntentRetargeted => {
                "inject"
            }
            Fault::InterruptCountsAsFailure | Fault::FenceWithoutMark => "interrupt",
            Fault::FallbackInferred => "fallback",
        };
        let report = parts(world, fault).report();
        assert!(report.contains(fault.name()), "{report}");
    }
}

#[test]
fn the_trace_of_a_divergence_replays_on_the_sound_runtime_and_parts_on_the_broken_one() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let divergence = parts("pauses", Fault::WakeSuppressed);
    let file = folder.path().join("divergence.ndjson");
    write(&divergence, &file).expect("the trace is written");
    for beside in [Beside::Sqlite, Beside::File, Beside::Model] {
        let steps = replay(&file, beside, folder.path()).expect("the law holds");
        assert_eq!(steps, divergence.trace.len());
    }
    let again = replay(&file, Beside::Broken(Fault::WakeSuppressed), folder.path());
    assert!(matches!(again, Err(ReplayError::Parted(_))), "{again:?}");
}

#[test]
fn a_file_that_is_no_trace_is_refused_with_its_line() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("not.ndjson");
    std::fs::write(&file, "{\"trace\": \"nonsense\"}\n").expect("the file is written");
    let refused = replay(&file, Beside::Model, folder.path());
    let Err(error @ ReplayError::Unreadable { .. }) = refused else { panic!("{refused:?}") };
    assert!(error.to_string().contains("not.ndjson"), "{error}");
    let missing = replay(Path::new("no/such/trace"), Beside::Model, folder.path());
    assert!(matches!(missing, Err(ReplayError::File { .. })), "{missing:?}");
}

#[test]
fn the_committed_corpora_replay_on_the_runtime() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../specs/traces");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut traces = 0;
    for entry in std::fs::read_dir(root).expect("the corpora are committed") {
        let file = entry.expect("the folder is readable").path();
        let steps = replay(&file, Beside::Sqlite, folder.path());
        let steps = steps.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        assert!(steps > 0, "{} is empty", file.display());
        traces += 1;
    }
    assert!(traces > 0, "no trace is committed");
}

#[test]
fn a_counterexample_of_a_broken_law_is_performed_and_the_runtime_keeps_the_law() {
    use abide_model::check::check;
    use abide_model::law::Law;
    use abide_model::mutants::Mutant;
    use abide_model::trace::Trace;

    let folder = tempfile::tempdir().expect("a temporary folder");
    let violation = check(Law::breaking(world("pauses"), Mutant::WakeTwice)).violation;
    let violation = violation.expect("the mutant breaks a property here");
    let file = folder.path().join("counterexample.ndjson");
    let out = std::fs::File::create(&file).expect("the file is made");
    Trace::of(violation.law, &violation.path).write(out).expect("the trace is written");
    let steps = replay(&file, Beside::Sqlite, folder.path()).expect("the runtime keeps the law");
    assert_eq!(steps, violation.path.len());
}
