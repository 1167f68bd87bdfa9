//! Injections: what an executor answers moves no input, and what is not proved is presented again.

use abide_model::action::{Mark, NamedAction, SendAnswer};

use crate::scenario::Wanted::{Accepted, Code, Conflict, Duplicate};
use crate::scenario::{
    Scenario, Shared, accept, adopted, claim, claim_recovery, complete, crash, deliver, dispatch,
    hand_off, leave, register, route, send, settle, stale_settle, start, taking_in, tick,
};

use super::waits::running;

/// Whatever commits first, nothing that was accepted is lost by a completion.
pub(super) const COMPLETION_INJECT_ORDERS: Shared = Shared {
    id: "completion_inject_orders",
    rules: &[
        "DONE-01",
        "DONE-02",
        "DONE-03",
        "DONE-04",
        "DONE-05",
        "DONE-06",
        "DONE-07",
        "POLICY-13",
        "POLICY-14",
        "POLICY-24",
        "POLICY-25",
        "TERM-02",
    ],
    parts: || {
        vec![
            accepted_input_without_a_route_keeps_a_completion_from_ending_the_work(),
            an_intent_that_commits_first_keeps_its_unproved_input_for_the_next_attempt(),
            what_is_proved_is_counted_before_what_is_left_is_judged(),
            a_completion_that_proves_all_that_came_ends_the_work(),
            input_after_the_end_is_only_audited(),
            what_is_dropped_while_the_attempt_runs_holds_up_no_completion(),
        ]
    },
};

fn accepted_input_without_a_route_keeps_a_completion_from_ending_the_work() -> Scenario {
    Scenario::in_world(
        "completion",
        "accepted input without a route keeps a completion from ending the work",
    )
    .given(running())
    .given([accept("steer")])
    .step(complete("fix"), Conflict)
    .sees("nothing has changed", |seen| seen.attempt_status("fix") == "running")
    .given(route("steer"))
    .step(complete("fix"), Accepted)
    .sees("the work is ready for what came", |seen| {
        seen.status("fix") == "ready" && seen.pending("fix") == ["steer"]
    })
}

fn an_intent_that_commits_first_keeps_its_unproved_input_for_the_next_attempt() -> Scenario {
    Scenario::in_world(
        "completion",
        "an intent that commits first keeps its unproved input for the next attempt",
    )
    .given(running())
    .given(deliver("steer"))
    .given(send("fix", "steer", SendAnswer::Accepted))
    .step(complete("fix"), Accepted)
    .sees("an executor that accepted it has proved nothing", |seen| {
        seen.status("fix") == "ready"
            && seen.pending("fix") == ["steer"]
            && seen.intent("steer") == "inject 1 accepted"
    })
    .given(start("fix"))
    .sees("the next attempt begins with it", |seen| {
        seen.attempt("fix") == 2 && seen.batch("fix") == ["steer"]
    })
}

fn what_is_proved_is_counted_before_what_is_left_is_judged() -> Scenario {
    Scenario::in_world("completion", "what is proved is counted before what is left is judged")
        .given(running())
        .given(deliver("steer"))
        .given(deliver("more"))
        .given([dispatch("fix", "steer")])
        .step(taking_in(&["steer"], complete("fix")), Accepted)
        .sees("what was queued is left, and alone", |seen| {
            seen.status("fix") == "ready"
                && seen.pending("fix") == ["more"]
                && seen.consumed("fix", "steer")
        })
}

fn a_completion_that_proves_all_that_came_ends_the_work() -> Scenario {
    Scenario::in_world("completion", "a completion that proves all that came ends the work")
        .given(running())
        .given(deliver("steer"))
        .given([dispatch("fix", "steer")])
        .step(taking_in(&["steer"], complete("fix")), Accepted)
        .sees("nothing is left to do", |seen| {
            seen.status("fix") == "completed"
                && seen.pending("fix").is_empty()
                && seen.intent("steer") == "inject 1 consumed"
        })
}

fn input_after_the_end_is_only_audited() -> Scenario {
    Scenario::in_world("completion", "input after the end is only audited")
        .given(running())
        .step(complete("fix"), Accepted)
        .given(deliver("steer"))
        .sees("it is marked terminal and reaches nobody", |seen| {
            seen.mark("steer") == "terminal"
                && seen.intent("steer") == "none"
                && seen.pending("fix").is_empty()
                && seen.status("fix") == "completed"
        })
}

fn what_is_dropped_while_the_attempt_runs_holds_up_no_completion() -> Scenario {
    Scenario::in_world(
        "completion",
        "what is dropped while the attempt runs holds up no completion",
    )
    .given(running())
    .given(deliver("quiet"))
    .sees("it is dropped with its work", |seen| {
        seen.mark("quiet") == "drop"
            && seen.event("quiet").and_then(|event| event.work.as_deref()) == Some("fix")
            && seen.pending("fix").is_empty()
    })
    .step(complete("fix"), Accepted)
    .sees("the work has ended", |seen| seen.status("fix") == "completed")
}

/// What was accepted and never taken in comes again.
pub(super) const ACCEPTED_TOO_LATE: Shared = Shared {
    id: "inject_ack/accepted_too_late",
    rules: &["INJECT-01", "INJECT-06", "INJECT-22", "POLICY-13", "POLICY-14"],
    parts: || {
        vec![
            what_was_accepted_and_not_taken_in_is_input_of_the_next_attempt(),
            what_was_accepted_and_not_taken_in_wakes_the_turn_that_waits(),
        ]
    },
};

/// One attempt runs, and an event was routed to be injected into it.
fn steered() -> Vec<NamedAction> {
    running().into_iter().chain(deliver("steer")).collect()
}

fn what_was_accepted_and_not_taken_in_is_input_of_the_next_attempt() -> Scenario {
    Scenario::in_world("inject", "what was accepted and not taken in is input of the next attempt")
        .given(steered())
        .given(send("fix", "steer", SendAnswer::Accepted))
        .sees("accepting moved nothing", |seen| seen.pending("fix") == ["steer"])
        .step(complete("fix"), Accepted)
        .given(start("fix"))
        .sees("it is presented again, and its earlier intent is on record", |seen| {
            seen.attempt("fix") == 2
                && seen.batch("fix") == ["steer"]
                && seen.intent("steer") == "inject 1 accepted"
        })
}

fn what_was_accepted_and_not_taken_in_wakes_the_turn_that_waits() -> Scenario {
    Scenario::in_world(
        "steer-and-wait",
        "what was accepted and not taken in wakes the turn that waits",
    )
    .given(running())
    .given(deliver("green"))
    .given(send("fix", "green", SendAnswer::Accepted))
    .step(register("fix", "ci", Mark::Start), Accepted)
    .sees("it woke at once", |seen| {
        seen.winner("fix").as_deref() == Some("green") && seen.pending("fix") == ["green"]
    })
    .given(leave("fix"))
    .step(claim("fix"), Accepted)
    .sees("the same attempt is handed it", |seen| {
        seen.attempt("fix") == 1 && seen.batch("fix") == ["green"]
    })
}

/// An attempt that ends first leaves its intents to nobody.
pub(super) const COMPLETION_BEFORE_DISPATCH: Shared = Shared {
    id: "inject_ack/completion_before_dispatch",
    rules: &["INJECT-23", "INJECT-24", "POLICY-11", "POLICY-12", "POLICY-23"],
    parts: || {
        vec![
            an_intent_that_was_never_sent_is_stale_once_its_attempt_has_ended(),
            an_intent_that_was_never_sent_is_stale_once_its_attempt_has_parked(),
        ]
    },
};

fn an_intent_that_was_never_sent_is_stale_once_its_attempt_has_ended() -> Scenario {
    Scenario::in_world(
        "inject",
        "an intent that was never sent is stale once its attempt has ended",
    )
    .given(steered())
    .step(complete("fix"), Accepted)
    .sees("the input stays", |seen| {
        seen.intent("steer") == "inject 1 stale" && seen.pending("fix") == ["steer"]
    })
    .given(start("fix"))
    .step(dispatch("fix", "steer"), Code("stale_intent"))
    .step(settle("fix", "steer", SendAnswer::Accepted), Duplicate)
    .sees("the next attempt has it as input, and nothing is sent to it", |seen| {
        seen.batch("fix") == ["steer"] && seen.intent("steer") == "inject 1 stale"
    })
}

fn an_intent_that_was_never_sent_is_stale_once_its_attempt_has_parked() -> Scenario {
    Scenario::in_world(
        "steer-and-wait",
        "an intent that was never sent is stale once its attempt has parked",
    )
    .given(running())
    .given(deliver("green"))
    .step(register("fix", "ci", Mark::Latest), Accepted)
    .given(deliver("red"))
    .given(leave("fix"))
    .given(start("fix"))
    .step(dispatch("fix", "green"), Code("stale_intent"))
    .sees("the same attempt goes on, and nothing is sent to it", |seen| {
        seen.attempt("fix") == 1
            && seen.batch("fix") == ["green", "red"]
            && seen.intent("green") == "inject 1 stale"
    })
}

/// A process that takes nothing in any more settles the intent, and the route stays what it was.
pub(super) const NOT_ACCEPTING: Shared = Shared {
    id: "inject_ack/not_accepting",
    rules: &["INJECT-02", "INJECT-04", "INJECT-05", "INJECT-06", "POLICY-15", "POLICY-34"],
    parts: || {
        vec![
            what_is_not_accepted_is_settled_once_and_for_all(),
            what_is_not_accepted_takes_no_error_fallback(),
            what_is_not_accepted_is_presented_by_the_next_wake(),
        ]
    },
};

fn what_is_not_accepted_is_settled_once_and_for_all() -> Scenario {
    Scenario::in_world("inject", "what is not accepted is settled once and for all")
        .given(steered())
        .given(send("fix", "steer", SendAnswer::NotAccepting))
        .step(dispatch("fix", "steer"), Code("intent_settled"))
        .step(settle("fix", "steer", SendAnswer::Accepted), Duplicate)
        .sees("its route stays inject, and the input pending", |seen| {
            seen.intent("steer") == "inject 1 not_accepting"
                && seen.mark("steer") == "inject"
                && seen.asked("steer") == "none"
                && seen.pending("fix") == ["steer"]
        })
        .step(complete("fix"), Accepted)
        .given(start("fix"))
        .sees("the next attempt presents it", |seen| seen.batch("fix") == ["steer"])
}

fn what_is_not_accepted_takes_no_error_fallback() -> Scenario {
    Scenario::in_world("inject", "what is not accepted takes no error fallback")
        .given(running())
        .given(deliver("nudge"))
        .given(send("fix", "nudge", SendAnswer::NotAccepting))
        .sees("it did not fall back", |seen| {
            seen.intent("nudge") == "inject 1 not_accepting" && seen.pending("fix") == ["nudge"]
        })
}

fn what_is_not_accepted_is_presented_by_the_next_wake() -> Scenario {
    Scenario::in_world("steer-and-wait", "what is not accepted is presented by the next wake")
        .given(running())
        .given(deliver("green"))
        .given(send("fix", "green", SendAnswer::NotAccepting))
        .step(taking_in(&["green"], register("fix", "ci", Mark::Start)), Accepted)
        .sees("it is what wakes", |seen| seen.winner("fix").as_deref() == Some("green"))
        .given(leave("fix"))
        .step(claim("fix"), Accepted)
        .sees("and what is handed over", |seen| seen.batch("fix") == ["green"])
}

/// A send whose end nobody knows is made again, as the same send.
pub(super) const AMBIGUOUS_RESEND: Shared = Shared {
    id: "inject_ack/ambiguous_resend",
    rules: &[
        "INJECT-03",
        "INJECT-07",
        "INJECT-10",
        "INJECT-14",
        "INJECT-21",
        "POLICY-17",
        "POLICY-18",
        "POLICY-33",
    ],
    parts: || {
        vec![
            a_send_that_failed_is_made_again_under_the_same_intent(),
            a_send_that_a_crash_cut_off_is_made_again_under_the_same_intent(),
            a_send_outlives_the_host_that_made_it(),
        ]
    },
};

fn a_send_that_failed_is_made_again_under_the_same_intent() -> Scenario {
    Scenario::in_world("inject", "a send that failed is made again under the same intent")
        .given(steered())
        .given(send("fix", "steer", SendAnswer::Failed))
        .sees("nothing is settled", |seen| {
            seen.intent("steer") == "inject 1 dispatched" && seen.pending("fix") == ["steer"]
        })
        .step(dispatch("fix", "steer"), Duplicate)
        .step(settle("fix", "steer", SendAnswer::Accepted), Accepted)
        .step(taking_in(&["steer"], hand_off("fix")), Accepted)
        .sees("one event was consumed, once", |seen| {
            seen.accepted() == 2
                && seen.batch("fix") == ["start", "steer"]
                && seen.pending("fix").is_empty()
        })
}

fn a_send_that_a_crash_cut_off_is_made_again_under_the_same_intent() -> Scenario {
    Scenario::in_world("inject", "a send that a crash cut off is made again under the same intent")
        .given(steered())
        .given([dispatch("fix", "steer"), crash()])
        .step(dispatch("fix", "steer"), Duplicate)
        .step(settle("fix", "steer", SendAnswer::Accepted), Accepted)
}

fn a_send_outlives_the_host_that_made_it() -> Scenario {
    Scenario::in_world("steer-and-retry", "a send outlives the host that made it")
        .given(steered())
        .given([dispatch("fix", "steer"), tick(), claim_recovery("fix"), adopted("fix")])
        .step(stale_settle("fix", "steer", SendAnswer::Accepted), Code("stale_authority"))
        .step(dispatch("fix", "steer"), Duplicate)
        .step(settle("fix", "steer", SendAnswer::Accepted), Accepted)
        .step(stale_settle("fix", "steer", SendAnswer::Failed), Duplicate)
        .step(taking_in(&["steer"], complete("fix")), Accepted)
        .sees("what was taken in before is proved under the later epoch", |seen| {
            seen.intent("steer") == "inject 1 consumed" && seen.status("fix") == "completed"
        })
}
