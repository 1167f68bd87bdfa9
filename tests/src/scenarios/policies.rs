//! Policies of routes: what becomes of an event while an attempt runs, and what stands in where that cannot be had.

use abide_model::action::{NamedAction, SendAnswer};

use crate::scenario::Wanted::{Accepted, Code, Conflict, Duplicate};
use crate::scenario::{
    Scenario, Shared, accept, commit_route, complete, deliver, dispatch, evaluate, hand_off,
    reload, route, send, settle, start,
};

use super::waits::running;

/// An attempt lacks what a route wants: the fallback is followed and recorded, and without one nothing is inferred.
pub(super) const UNSUPPORTED_POLICY_EXPLICIT_FALLBACK: Shared = Shared {
    id: "unsupported_policy_explicit_fallback",
    rules: &[
        "POLICY-01",
        "POLICY-04",
        "POLICY-27",
        "POLICY-28",
        "POLICY-32",
        "POLICY-33",
        "POLICY-34",
        "BIND-10",
        "DONE-02",
    ],
    parts: || {
        vec![
            without_a_fallback_an_unsupported_control_waits_for_the_end_of_the_attempt(),
            a_fallback_stands_in_and_what_was_asked_is_recorded(),
            a_reload_changes_nothing_about_what_a_running_attempt_supports(),
            an_attempt_that_supports_a_control_needs_no_fallback(),
            an_error_fallback_stands_in_where_a_supported_control_failed(),
            on_work_that_does_not_run_the_policy_has_no_say(),
        ]
    },
};

/// One attempt runs that was claimed when its binding had every control.
fn steered() -> Vec<NamedAction> {
    std::iter::once(reload(1)).chain(running()).collect()
}

fn without_a_fallback_an_unsupported_control_waits_for_the_end_of_the_attempt() -> Scenario {
    Scenario::in_world(
        "fallback",
        "without a fallback an unsupported control waits for the end of the attempt",
    )
    .given(running())
    .given([reload(1), accept("steer"), evaluate("steer")])
    .step(commit_route("steer"), Code("unsupported"))
    .sees("it is unrouted, and nothing was inferred", |seen| {
        seen.mark("steer") == "unrouted" && seen.intent("steer") == "none"
    })
    .step(complete("fix"), Conflict)
    .step(hand_off("fix"), Accepted)
    .given(route("steer"))
    .sees("once the attempt is over it is input like any other", |seen| {
        seen.mark("steer") == "queued" && seen.pending("fix") == ["steer"]
    })
}

fn a_fallback_stands_in_and_what_was_asked_is_recorded() -> Scenario {
    Scenario::in_world("fallback", "a fallback stands in, and what was asked is recorded")
        .given(running())
        .given(deliver("halt"))
        .given(deliver("hush"))
        .sees(
            "one is queued and the other dropped, each instead of what its route asked for",
            |seen| {
                (seen.mark("halt"), seen.asked("halt"))
                    == ("queued".to_owned(), "interrupt".to_owned())
                    && (seen.mark("hush"), seen.asked("hush"))
                        == ("drop".to_owned(), "inject".to_owned())
            },
        )
        .sees("no intent is committed, and only the queued one is input", |seen| {
            seen.intent("halt") == "none"
                && seen.intent("hush") == "none"
                && seen.pending("fix") == ["halt"]
        })
}

fn a_reload_changes_nothing_about_what_a_running_attempt_supports() -> Scenario {
    Scenario::in_world("fallback", "a reload changes nothing about what a running attempt supports")
        .given(running())
        .given([reload(1)])
        .given(deliver("halt"))
        .sees("the pin decides", |seen| {
            seen.mark("halt") == "queued" && seen.asked("halt") == "interrupt"
        })
}

fn an_attempt_that_supports_a_control_needs_no_fallback() -> Scenario {
    Scenario::in_world("fallback", "an attempt that supports a control needs no fallback")
        .given(steered())
        .given(deliver("halt"))
        .given(deliver("hush"))
        .sees("both are controls of the running attempt, and input", |seen| {
            seen.intent("halt") == "interrupt 1 committed"
                && seen.intent("hush") == "inject 1 committed"
                && seen.pending("fix") == ["halt", "hush"]
        })
        .sees("nothing stood in", |seen| {
            seen.asked("halt") == "none" && seen.asked("hush") == "none"
        })
}

fn an_error_fallback_stands_in_where_a_supported_control_failed() -> Scenario {
    Scenario::in_world("fallback", "an error fallback stands in where a supported control failed")
        .given(steered())
        .given(deliver("halt"))
        .given(deliver("hush"))
        .given(send("fix", "halt", SendAnswer::NotAccepting))
        .given([dispatch("fix", "hush")])
        .step(settle("fix", "hush", SendAnswer::Failed), Accepted)
        .sees("each fell back to what its route said of errors", |seen| {
            seen.intent("halt") == "interrupt 1 fell_back"
                && seen.intent("hush") == "inject 1 fell_back"
        })
        .sees("the dropped one is withdrawn and the queued one pending", |seen| {
            seen.pending("fix") == ["hush"] && !seen.consumed("fix", "halt")
        })
        .sees("their marks are as they were", |seen| {
            seen.mark("halt") == "interrupt" && seen.asked("halt") == "none"
        })
}

fn on_work_that_does_not_run_the_policy_has_no_say() -> Scenario {
    Scenario::in_world("fallback", "on work that does not run the policy has no say")
        .given(deliver("start"))
        .given(deliver("halt"))
        .given(deliver("hush"))
        .sees("everything is queued, and no fallback was needed", |seen| {
            seen.pending("fix") == ["start", "halt", "hush"]
                && seen.mark("hush") == "queued"
                && seen.asked("hush") == "none"
                && seen.intent("hush") == "none"
        })
}

/// What is dropped because an attempt runs is not dropped for its time only. POLICY-24 POLICY-25
pub(super) fn what_a_policy_dropped_stays_dropped_once_the_attempt_is_over() -> Scenario {
    Scenario::in_world("completion", "what a policy dropped stays dropped once the attempt is over")
        .given(running())
        .given(deliver("quiet"))
        .given(deliver("more"))
        .step(complete("fix"), Accepted)
        .step(commit_route("quiet"), Duplicate)
        .given(start("fix"))
        .sees("it is on record beside its work and was handed to nobody", |seen| {
            let quiet = seen.event("quiet");
            seen.mark("quiet") == "drop"
                && quiet.is_some_and(|event| event.generation == Some(0))
                && quiet.and_then(|event| event.work.as_deref()) == Some("fix")
                && seen.batch("fix") == ["more"]
        })
}
