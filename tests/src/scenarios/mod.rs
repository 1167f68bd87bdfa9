//! The shared scenarios, by their exact ids. Each file holds those of one area.

mod aliases;
mod configuration;
mod hints;
mod injections;
mod interrupts;
mod leases;
mod ownership;
mod policies;
mod proofs;
mod retries;
mod routing;
mod storage;
mod timers;
mod waits;

use crate::scenario::Shared;

/// Every shared scenario that this version executes.
pub const ALL: &[Shared] = &[
    routing::CONCURRENT_CORRELATIONS_AND_ATTEMPTS,
    routing::INDEPENDENT_WORK_PROGRESS,
    routing::FIRST_MATCH_REPLAY_AND_DROP_AUDIT,
    ownership::MULTI_KEY_ATTACHMENT_CONFLICT_AND_ORDER,
    ownership::UNCORRELATED_AND_TERMINAL_SUCCESSOR,
    configuration::SCOPE_ROUTE_INHERITANCE,
    policies::UNSUPPORTED_POLICY_EXPLICIT_FALLBACK,
    routing::UNMATCHED_AND_CONTRADICTORY_TARGET,
    waits::WAIT_EVENT_REGISTRATION_ORDERS,
    timers::WAIT_TIMEOUT_ACCEPTANCE_TIE,
    waits::WAIT_CANCEL_ORDERS,
    timers::WAIT_WATERMARK_AND_TIMEOUT_ONLY,
    aliases::DEPENDENCY_SUBSCRIPTION_ALIAS,
    injections::COMPLETION_INJECT_ORDERS,
    leases::LEASE_LOSS_ADOPTION_AND_STALE_RESULT,
    retries::RETRY_BACKOFF_EXHAUSTION_AND_MANUAL_EVENT,
    retries::RETRY_CANCEL_ORDERS,
    hints::RETRY_HINT_VALIDATION,
    storage::STORAGE_SUITE,
    proofs::PROOF_BEFORE_DISPATCH_ACK,
    injections::ACCEPTED_TOO_LATE,
    injections::COMPLETION_BEFORE_DISPATCH,
    injections::NOT_ACCEPTING,
    injections::AMBIGUOUS_RESEND,
    proofs::WAITING_PROOF_AND_SCAN,
    proofs::FAILED_PROOF_AND_RETRY,
    proofs::FOREIGN_PROOF_IGNORED,
    interrupts::INTERRUPT,
];

/// Shared scenarios that are not of the law's actions, by their exact ids, each with the test that carries it out: on
/// the built binary, or on executors. `CheckInjectExecutor` itself is not among them as long as there is no Codex
/// executor for it to pass; it is run on the reference double, the shell and the agent (EXEC-14).
pub const BY_TEST: &[(&str, &str)] = &[
    (
        "TestDaemonSlackSupportConversation",
        "tests/tests/drills/conversation.rs::test_daemon_slack_support_conversation",
    ),
    (
        "CheckInjectExecutor/control_over_claims",
        "impl/src/conformance/tests.rs::an_executor_that_over_claims_is_found",
    ),
    (
        "CheckInjectExecutor/control_accepts_after_result",
        "impl/src/conformance/tests.rs::an_executor_that_accepts_after_its_result_is_found",
    ),
    (
        "CheckInjectExecutor/control_accepts_unheld_execution",
        "impl/src/conformance/tests.rs::an_executor_that_accepts_for_an_execution_it_does_not_hold_is_found",
    ),
    (
        "CheckInjectExecutor/control_loses_proof_on_recovery",
        "impl/src/conformance/tests.rs::an_executor_that_loses_the_proof_on_recovery_is_found",
    ),
    (
        "CheckInjectExecutor/control_never_consumes",
        "impl/src/conformance/tests.rs::an_executor_that_never_consumes_is_found",
    ),
];

/// The shared scenario of that id.
#[must_use]
pub fn named(id: &str) -> Option<&'static Shared> {
    ALL.iter().find(|shared| shared.id == id)
}
