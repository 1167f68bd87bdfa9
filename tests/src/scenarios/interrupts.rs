//! Interrupts: an attempt is fenced and nothing else of its Work ends, and what was meant for it reaches no other.

use abide_model::action::{NamedAction, SendAnswer};

use crate::scenario::Wanted::{Accepted, Code, Duplicate};
use crate::scenario::{
    Scenario, Shared, claim, complete, deliver, dispatch, interrupt, interrupt_unimplemented,
    leave, send, settle, start,
};

use super::waits::running;

/// An interrupt and the end of its attempt in both orders, and what a person may interrupt.
pub(super) const INTERRUPT: Shared = Shared {
    id: "interrupt",
    rules: &[
        "CTRL-01",
        "CTRL-02",
        "CTRL-03",
        "CTRL-04",
        "CTRL-05",
        "CTRL-06",
        "CTRL-07",
        "CTRL-08",
        "CTRL-09",
        "POLICY-19",
        "POLICY-20",
        "POLICY-21",
        "POLICY-22",
        "POLICY-23",
    ],
    parts: || {
        vec![
            a_completion_that_commits_first_makes_the_interrupt_stale(),
            an_interrupt_that_commits_first_fences_the_attempt_and_nothing_else(),
            an_interrupt_by_a_person_is_a_control_and_never_input(),
            only_a_running_attempt_is_interrupted(),
            what_is_pinned_decides_whether_an_attempt_can_be_interrupted(),
            an_executor_that_implements_no_interrupt_is_not_asked_for_one(),
            an_interrupt_by_a_person_takes_no_error_fallback(),
        ]
    },
};

/// One attempt runs, and an event was routed that is to end it.
fn halted() -> Vec<NamedAction> {
    running().into_iter().chain(deliver("halt")).collect()
}

fn a_completion_that_commits_first_makes_the_interrupt_stale() -> Scenario {
    Scenario::in_world("interrupt", "a completion that commits first makes the interrupt stale")
        .given(halted())
        .given([dispatch("fix", "halt")])
        .step(complete("fix"), Accepted)
        .step(settle("fix", "halt", SendAnswer::Accepted), Duplicate)
        .sees("the attempt is completed, and its event is input of the next", |seen| {
            seen.attempt_status("fix") == "completed"
                && seen.interrupted_by("fix").is_none()
                && seen.intent("halt") == "interrupt 1 stale"
                && seen.pending("fix") == ["halt"]
        })
        .given(start("fix"))
        .step(dispatch("fix", "halt"), Code("stale_intent"))
        .step(settle("fix", "halt", SendAnswer::Accepted), Duplicate)
        .sees("the next attempt runs on", |seen| {
            seen.attempt("fix") == 2 && seen.attempt_status("fix") == "running"
        })
}

fn an_interrupt_that_commits_first_fences_the_attempt_and_nothing_else() -> Scenario {
    Scenario::in_world(
        "interrupt",
        "an interrupt that commits first fences the attempt and nothing else",
    )
    .given(halted())
    .given(deliver("steer"))
    .given(send("fix", "halt", SendAnswer::Accepted))
    .sees("the attempt is cancelled by that event, and it is no failure", |seen| {
        seen.attempt_status("fix") == "cancelled"
            && seen.interrupted_by("fix") == Some("halt")
            && seen.failures("fix") == 0
            && seen.status("fix") == "ready"
    })
    .sees("all input is left, and what was to be injected is stale", |seen| {
        seen.pending("fix") == ["halt", "steer"] && seen.intent("steer") == "inject 1 stale"
    })
    .step(complete("fix"), Code("stale_authority"))
    .step(claim("fix"), Code("excluded"))
    .given(leave("fix"))
    .step(claim("fix"), Accepted)
    .sees("the next attempt begins once the process is gone", |seen| {
        seen.attempt("fix") == 2
            && seen.batch("fix") == ["halt", "steer"]
            && seen.interrupted_by("fix").is_none()
    })
}

fn an_interrupt_by_a_person_is_a_control_and_never_input() -> Scenario {
    Scenario::in_world("interrupt", "an interrupt by a person is a control and never input")
        .given(running())
        .step(interrupt("fix", "stop"), Accepted)
        .step(interrupt("fix", "stop"), Duplicate)
        .sees("it is on record with its work and pending nowhere", |seen| {
            seen.mark("stop") == "interrupt"
                && seen.intent("stop") == "interrupt 1 committed"
                && seen.pending("fix").is_empty()
        })
        .given(send("fix", "stop", SendAnswer::Accepted))
        .sees("it fenced the attempt as a route's would", |seen| {
            seen.interrupted_by("fix") == Some("stop")
                && seen.intent("stop") == "interrupt 1 fenced"
                && seen.status("fix") == "ready"
        })
        .given(leave("fix"))
        .step(claim("fix"), Code("nothing_to_start"))
}

fn only_a_running_attempt_is_interrupted() -> Scenario {
    Scenario::in_world("interrupt", "only a running attempt is interrupted")
        .step(interrupt("fix", "stop"), Code("unknown_work"))
        .given(deliver("start"))
        .step(interrupt("fix", "stop"), Code("nothing_to_interrupt"))
        .given(start("fix"))
        .step(complete("fix"), Accepted)
        .step(interrupt("fix", "stop"), Code("terminal"))
        .sees("no event is left of it", |seen| seen.accepted() == 1)
}

fn what_is_pinned_decides_whether_an_attempt_can_be_interrupted() -> Scenario {
    Scenario::in_world("completion", "what is pinned decides whether an attempt can be interrupted")
        .given(running())
        .step(interrupt("fix", "stop"), Code("not_interruptible"))
        .sees("no event is left of it", |seen| seen.accepted() == 1)
}

fn an_executor_that_implements_no_interrupt_is_not_asked_for_one() -> Scenario {
    Scenario::in_world("interrupt", "an executor that implements no interrupt is not asked for one")
        .given(running())
        .step(interrupt_unimplemented("fix", "stop"), Code("not_interruptible"))
        .sees("no event is left of it", |seen| seen.accepted() == 1)
}

fn an_interrupt_by_a_person_takes_no_error_fallback() -> Scenario {
    Scenario::in_world("interrupt", "an interrupt by a person takes no error fallback")
        .given(halted())
        .given([interrupt("fix", "stop")])
        .given(send("fix", "halt", SendAnswer::Failed))
        .given(send("fix", "stop", SendAnswer::Failed))
        .sees("the route's fell back, and the person's did not", |seen| {
            seen.intent("halt") == "interrupt 1 fell_back"
                && seen.intent("stop") == "interrupt 1 dispatched"
        })
        .step(dispatch("fix", "stop"), Duplicate)
        .step(settle("fix", "stop", SendAnswer::NotAccepting), Accepted)
        .sees("it is tried until it is known", |seen| {
            seen.intent("stop") == "interrupt 1 dispatched" && seen.pending("fix") == ["halt"]
        })
}
