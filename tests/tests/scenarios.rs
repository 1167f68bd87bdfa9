//! Every shared scenario, by its exact name, on every subject; and the subjects that must fail.

use abide::store::Store;
use abide_model::law::Law;
use abide_model::mutants::Mutant;
use abide_model::state::State;
use abide_model::worlds::{Visit, World, visit};
use abide_refinement::broken::{Broken, Fault};
use abide_refinement::reference::Reference;
use abide_refinement::runtime::{InMemory, Reopened};
use abide_tests::scenario::{Scenario, Shared};
use abide_tests::scenarios::{self, named};

/// The id of a scenario that is no name of Rust stands beside the name of its test.
macro_rules! id {
    ($name:ident) => {
        stringify!($name)
    };
    ($name:ident $id:literal) => {
        $id
    };
}

macro_rules! shared {
    ($($name:ident $(= $id:literal)?;)*) => {$(
        #[test]
        fn $name() {
            on_every_subject(id!($name $($id)?));
        }
    )*

        /// A scenario without a test of its name would pass unseen.
        #[test]
        fn every_shared_scenario_has_a_test_of_its_name() {
            let tested = [$(id!($name $($id)?),)*];
            for shared in scenarios::ALL {
                assert!(tested.contains(&shared.id), "{} is run by no test", shared.id);
            }
        }
    };
}

shared! {
    concurrent_correlations_and_attempts;
    independent_work_progress;
    first_match_replay_and_drop_audit;
    multi_key_attachment_conflict_and_order;
    uncorrelated_and_terminal_successor;
    scope_route_inheritance;
    unsupported_policy_explicit_fallback;
    unmatched_and_contradictory_target;
    wait_event_registration_orders;
    wait_timeout_acceptance_tie;
    wait_cancel_orders;
    wait_watermark_and_timeout_only;
    dependency_subscription_alias;
    completion_inject_orders;
    lease_loss_adoption_and_stale_result;
    retry_backoff_exhaustion_and_manual_event;
    retry_cancel_orders;
    retry_hint_validation;
    storage_suite;
    inject_ack_proof_before_dispatch_ack = "inject_ack/proof_before_dispatch_ack";
    inject_ack_accepted_too_late = "inject_ack/accepted_too_late";
    inject_ack_completion_before_dispatch = "inject_ack/completion_before_dispatch";
    inject_ack_not_accepting = "inject_ack/not_accepting";
    inject_ack_ambiguous_resend = "inject_ack/ambiguous_resend";
    inject_ack_waiting_proof_and_scan = "inject_ack/waiting_proof_and_scan";
    inject_ack_failed_proof_and_retry = "inject_ack/failed_proof_and_retry";
    inject_ack_foreign_proof_ignored = "inject_ack/foreign_proof_ignored";
    interrupt;
}

fn on_every_subject(id: &str) {
    let shared = named(id).unwrap_or_else(|| panic!("there is no shared scenario `{id}`"));
    let mut failures = Vec::new();
    for part in (shared.parts)() {
        failures.extend(on_the_model(&part, None).err());
        failures.extend(in_memory(&part, None).err());
        failures.extend(reopened(&part).err());
    }
    assert!(failures.is_empty(), "{id}\n\n{}", failures.join("\n\n"));
}

struct OnTheModel<'a>(&'a Scenario, Option<Mutant>);

impl Visit for OnTheModel<'_> {
    type Out = Result<(), String>;

    fn visit<const W: usize, const E: usize, const T: usize>(
        self,
        world: &'static World,
    ) -> Self::Out {
        let law = Law { world, mutant: self.1 };
        self.0.run(&mut Reference::new(law, State::<W, E, T>::new()))
    }
}

fn on_the_model(scenario: &Scenario, mutant: Option<Mutant>) -> Result<(), String> {
    visit(scenario.world, OnTheModel(scenario, mutant))
}

fn in_memory(scenario: &Scenario, fault: Option<Fault>) -> Result<(), String> {
    let store = Store::open_in_memory().expect("a database in memory");
    let runtime = InMemory::new(scenario.world, &store).map_err(|error| error.to_string())?;
    match fault {
        None => scenario.run(&mut { runtime }),
        Some(fault) => scenario.run(&mut Broken::new(runtime, fault)),
    }
}

fn reopened(scenario: &Scenario) -> Result<(), String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("abide.db");
    let mut runtime = Reopened::new(scenario.world, file).map_err(|error| error.to_string())?;
    scenario.run(&mut runtime)
}

/// The parts of a scenario that a fault breaks, with what they report.
fn broken_by(fault: Fault, shared: &Shared) -> Vec<String> {
    (shared.parts)().iter().filter_map(|part| in_memory(part, Some(fault)).err()).collect()
}

#[test]
fn control_driver_suppresses_wake() {
    let shared = named("wait_event_registration_orders").expect("it is listed");
    let reports = broken_by(Fault::WakeSuppressed, shared);
    assert!(!reports.is_empty(), "a driver that suppresses wakes passed");
    assert!(
        reports.iter().any(|report| report.contains("wake-suppressed") && report.contains("wake")),
        "the report names neither the driver nor the wake:\n{}",
        reports.join("\n\n"),
    );
}

#[test]
fn control_driver_checks_no_authority() {
    let shared = named("lease_loss_adoption_and_stale_result").expect("it is listed");
    let reports = broken_by(Fault::AuthorityNotChecked, shared);
    assert!(
        reports.iter().any(|report| report.contains("stale_authority")),
        "a driver that checks no authority passed, or its report does not say so:\n{}",
        reports.join("\n\n"),
    );
}

#[test]
fn control_driver_ignores_holds() {
    for id in ["independent_work_progress", "wait_event_registration_orders"] {
        let reports = broken_by(Fault::HoldsIgnored, named(id).expect("it is listed"));
        assert!(
            reports.iter().any(|report| report.contains("held")),
            "a driver that ignores holds passed {id}, or its report does not say so:\n{}",
            reports.join("\n\n"),
        );
    }
}

#[test]
fn control_driver_forgets_what_it_translated() {
    let shared = named("dependency_subscription_alias").expect("it is listed");
    let reports = broken_by(Fault::CheckpointIgnored, shared);
    assert!(!reports.is_empty(), "a driver that keeps no checkpoint passed");
}

/// A fault, the scenario that looks there, and what its report must say.
const RETRIES: &[(Fault, &str, &str)] = &[
    (Fault::BackoffIgnored, "retry_backoff_exhaustion_and_manual_event", "backoff"),
    (Fault::StaleRetryClears, "retry_backoff_exhaustion_and_manual_event", "stale_retry"),
    (Fault::HintsClamped, "retry_hint_validation", "the first step counts"),
    (Fault::DetachIgnored, "lease_loss_adoption_and_stale_result", "lease_expired"),
    (Fault::AuthorityNotChecked, "lease_loss_adoption_and_stale_result", "stale_authority"),
    (Fault::HoldsIgnored, "retry_backoff_exhaustion_and_manual_event", "held"),
];

/// The same of controls of running attempts.
const CONTROLS: &[(Fault, &str, &str)] = &[
    (Fault::ProofsUnchecked, "inject_ack/foreign_proof_ignored", "the input is left"),
    (Fault::AcceptanceConsumes, "inject_ack/accepted_too_late", "accepting moved nothing"),
    (Fault::IntentRetargeted, "inject_ack/completion_before_dispatch", "stale_intent"),
    (Fault::InterruptCountsAsFailure, "interrupt", "it is no failure"),
    (Fault::FenceWithoutMark, "interrupt", "excluded"),
    (Fault::FallbackInferred, "unsupported_policy_explicit_fallback", "unsupported"),
];

#[test]
fn control_drivers_that_retry_too_early_or_detach_in_name_only() {
    are_reported(RETRIES);
}

#[test]
fn control_drivers_that_consume_retarget_or_fence_as_they_like() {
    are_reported(CONTROLS);
}

fn are_reported(faults: &[(Fault, &str, &str)]) {
    for (fault, id, says) in faults {
        let reports = broken_by(*fault, named(id).expect("it is listed"));
        assert!(
            reports.iter().any(|report| report.contains(fault.name()) && report.contains(says)),
            "the driver with {} passed {id}, or its report does not say `{says}`:\n{}",
            fault.name(),
            reports.join("\n\n"),
        );
    }
}

/// Parts that no broken law of the model fails, because none breaks what they show. A new part is not among them unless
/// somebody puts it there.
const NO_MUTANT: &[&str] = &[
    "another key is routed and started while a handler is blocked",
    "a waiting work holds up no other",
    "keys attach all together",
    "what has a mark is no input of a later owner",
    "an event without key or decision is bound to no work",
    "inherited routes come first and new names follow",
    "a key beside a target that is its own agrees",
    "a target in another scope is refused",
];

/// A part that no broken law fails would show little.
#[test]
fn every_part_fails_under_some_broken_law() {
    let mut idle = Vec::new();
    for part in scenarios::ALL.iter().flat_map(|shared| (shared.parts)()) {
        let failed = |mutant: &Mutant| on_the_model(&part, Some(*mutant)).is_err();
        if !Mutant::ALL.iter().any(failed) && !NO_MUTANT.contains(&part.name) {
            idle.push(part.name);
        }
    }
    assert!(idle.is_empty(), "parts that nothing fails:\n{}", idle.join("\n"));
}
