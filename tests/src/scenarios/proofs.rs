//! Proofs: what a result says its process took in is consumed with that result, and nothing else is.

use abide_model::action::{Mark, SendAnswer};

use crate::scenario::Wanted::{Accepted, Code, Duplicate};
use crate::scenario::{
    Scenario, Shared, accept, complete, deliver, dispatch, fail, fire_retry, hand_off, leave,
    register, route, send, settle, stale_complete, stale_renew, start, taking_in, tick, wake,
};

use super::waits::running;

/// A result overtakes the answer to the send that it proves.
pub(super) const PROOF_BEFORE_DISPATCH_ACK: Shared = Shared {
    id: "inject_ack/proof_before_dispatch_ack",
    rules: &["INJECT-08", "INJECT-09", "INJECT-17", "INJECT-18", "INJECT-19", "INJECT-20"],
    parts: || {
        vec![
            a_result_proves_a_send_whose_answer_is_not_in_yet(),
            whatever_a_late_answer_says_what_was_consumed_stays_so(),
            a_proof_that_comes_again_consumes_nothing_twice(),
        ]
    },
};

fn a_result_proves_a_send_whose_answer_is_not_in_yet() -> Scenario {
    Scenario::in_world("inject", "a result proves a send whose answer is not in yet")
        .given(running())
        .given(deliver("steer"))
        .given([dispatch("fix", "steer")])
        .step(taking_in(&["steer"], complete("fix")), Accepted)
        .sees("it is consumed with the result", |seen| {
            seen.intent("steer") == "inject 1 consumed"
                && seen.consumed("fix", "steer")
                && seen.status("fix") == "completed"
        })
        .step(settle("fix", "steer", SendAnswer::Accepted), Duplicate)
        .step(dispatch("fix", "steer"), Code("stale_authority"))
}

fn whatever_a_late_answer_says_what_was_consumed_stays_so() -> Scenario {
    let mut scenario =
        Scenario::in_world("inject", "whatever a late answer says, what was consumed stays so")
            .given(running())
            .given(deliver("nudge"))
            .given([dispatch("fix", "nudge")])
            .step(taking_in(&["nudge"], hand_off("fix")), Accepted);
    for answer in SendAnswer::ALL {
        scenario = scenario.step(settle("fix", "nudge", answer), Duplicate);
    }
    scenario.sees("it is consumed", |seen| {
        seen.intent("nudge") == "inject 1 consumed" && seen.consumed("fix", "nudge")
    })
}

fn a_proof_that_comes_again_consumes_nothing_twice() -> Scenario {
    Scenario::in_world("inject", "a proof that comes again consumes nothing twice")
        .given(running())
        .given(deliver("steer"))
        .given(deliver("nudge"))
        .given([dispatch("fix", "steer")])
        .step(taking_in(&["steer"], complete("fix")), Accepted)
        .given(start("fix"))
        .step(dispatch("fix", "steer"), Code("stale_intent"))
        .step(taking_in(&["steer"], complete("fix")), Accepted)
        .sees("it is consumed by the attempt that took it in", |seen| {
            seen.batch("fix") == ["nudge"]
                && seen.consumed("fix", "steer")
                && seen.intent("steer") == "inject 1 consumed"
                && seen.status("fix") == "completed"
        })
}

/// What a turn took in before it waited neither wakes it nor is handed to it again.
pub(super) const WAITING_PROOF_AND_SCAN: Shared = Shared {
    id: "inject_ack/waiting_proof_and_scan",
    rules: &[
        "INJECT-25",
        "INJECT-26",
        "INJECT-27",
        "INJECT-28",
        "INJECT-32",
        "INJECT-33",
        "INJECT-34",
    ],
    parts: || {
        vec![
            a_turn_that_took_a_match_in_parks_and_is_woken_by_the_next_one_alone(),
            a_turn_that_ends_waiting_is_followed_by_the_winner_and_what_came_since(),
        ]
    },
};

fn a_turn_that_took_a_match_in_parks_and_is_woken_by_the_next_one_alone() -> Scenario {
    Scenario::in_world(
        "steer-and-wait",
        "a turn that took a match in parks and is woken by the next one alone",
    )
    .given(running())
    .given(deliver("green"))
    .given([dispatch("fix", "green")])
    .step(taking_in(&["green"], register("fix", "ci", Mark::Start)), Accepted)
    .sees("it lies above the watermark, and the wait is active", |seen| {
        seen.wait_status("fix") == "active" && seen.attempt_status("fix") == "parked"
    })
    .step(wake("ci"), Code("nothing_to_wake_from"))
    .given([accept("red")])
    .step(wake("ci"), Accepted)
    .sees("the next message is the winner and the only input", |seen| {
        seen.winner("fix").as_deref() == Some("red") && seen.pending("fix") == ["red"]
    })
    .given(leave("fix"))
    .given(start("fix"))
    .sees("the same attempt is handed nothing else", |seen| {
        seen.attempt("fix") == 1 && seen.batch("fix") == ["red"]
    })
    .step(stale_renew("fix"), Code("stale_authority"))
    .step(stale_complete("fix"), Code("stale_authority"))
}

fn a_turn_that_ends_waiting_is_followed_by_the_winner_and_what_came_since() -> Scenario {
    Scenario::in_world(
        "steer-and-end",
        "a turn that ends waiting is followed by the winner and what came since",
    )
    .given(running())
    .given(deliver("green"))
    .given([dispatch("fix", "green")])
    .step(taking_in(&["green"], register("fix", "ci", Mark::Start)), Accepted)
    .sees("the attempt has ended and the wait is active", |seen| {
        seen.wait_status("fix") == "active"
            && seen.attempt_status("fix") == "waiting"
            && seen.intent("green") == "inject 1 consumed"
    })
    .step(wake("ci"), Code("nothing_to_wake_from"))
    .given(deliver("chatter"))
    .given([accept("red")])
    .step(wake("ci"), Accepted)
    .sees("what was taken in is no winner", |seen| {
        seen.winner("fix").as_deref() == Some("red") && seen.pending("fix") == ["chatter", "red"]
    })
    .given(leave("fix"))
    .given(start("fix"))
    .sees("the next attempt is triggered by the winner and handed all that came since", |seen| {
        seen.attempt("fix") == 2
            && seen.trigger("fix") == Some("red")
            && seen.batch("fix") == ["chatter", "red"]
    })
    .step(stale_complete("fix"), Code("stale_authority"))
}

/// A failure consumes what it proves, and only the rest is tried again.
pub(super) const FAILED_PROOF_AND_RETRY: Shared = Shared {
    id: "inject_ack/failed_proof_and_retry",
    rules: &["INJECT-29", "INJECT-30", "INJECT-31", "RETRY-24"],
    parts: || vec![the_retry_is_handed_what_was_not_proved_and_nothing_again()],
};

fn the_retry_is_handed_what_was_not_proved_and_nothing_again() -> Scenario {
    Scenario::in_world(
        "steer-and-retry",
        "the retry is handed what was not proved and nothing again",
    )
    .given(running())
    .given(deliver("steer"))
    .given(deliver("nudge"))
    .given(send("fix", "steer", SendAnswer::Accepted))
    .given(send("fix", "nudge", SendAnswer::Accepted))
    .step(taking_in(&["steer"], fail("fix")), Accepted)
    .sees("one is consumed and the other pending", |seen| {
        seen.consumed("fix", "steer") && seen.pending("fix") == ["nudge"]
    })
    .given([tick(), fire_retry("fix", 1)])
    .given(route("retry/fix/1"))
    .given(start("fix"))
    .sees("what the failed attempt had is not handed over again", |seen| {
        seen.attempt("fix") == 2 && seen.batch("fix") == ["nudge", "retry/fix/1"]
    })
}

/// What a result names without right is as if it had not been named.
pub(super) const FOREIGN_PROOF_IGNORED: Shared = Shared {
    id: "inject_ack/foreign_proof_ignored",
    rules: &[
        "INJECT-08",
        "INJECT-11",
        "INJECT-12",
        "INJECT-13",
        "INJECT-14",
        "INJECT-15",
        "INJECT-16",
    ],
    parts: || {
        vec![
            input_without_an_intent_is_proved_by_nobody(),
            what_was_never_sent_is_proved_by_nobody(),
            what_was_not_accepted_is_proved_by_nobody(),
            what_was_consumed_is_proved_by_nobody(),
            what_is_no_longer_pending_is_proved_by_nobody(),
        ]
    },
};

fn input_without_an_intent_is_proved_by_nobody() -> Scenario {
    Scenario::in_world("completion", "input without an intent is proved by nobody")
        .given(running())
        .given(deliver("more"))
        .step(taking_in(&["more", "start"], complete("fix")), Accepted)
        .sees("the result stands, and the input is left", |seen| {
            seen.attempt_status("fix") == "completed"
                && seen.status("fix") == "ready"
                && seen.pending("fix") == ["more"]
        })
}

fn what_was_never_sent_is_proved_by_nobody() -> Scenario {
    Scenario::in_world("inject", "what was never sent is proved by nobody")
        .given(running())
        .given(deliver("steer"))
        .step(taking_in(&["steer"], complete("fix")), Accepted)
        .sees("the result stands, and the input is left", |seen| {
            seen.attempt_status("fix") == "completed"
                && seen.pending("fix") == ["steer"]
                && seen.intent("steer") == "inject 1 stale"
        })
}

fn what_was_not_accepted_is_proved_by_nobody() -> Scenario {
    Scenario::in_world("inject", "what was not accepted is proved by nobody")
        .given(running())
        .given(deliver("steer"))
        .given(send("fix", "steer", SendAnswer::NotAccepting))
        .step(taking_in(&["steer"], hand_off("fix")), Accepted)
        .sees("the result stands, and the input is left", |seen| {
            seen.attempt_status("fix") == "completed"
                && seen.pending("fix") == ["steer"]
                && seen.intent("steer") == "inject 1 not_accepting"
        })
}

fn what_was_consumed_is_proved_by_nobody() -> Scenario {
    Scenario::in_world("steer-and-wait", "what was consumed is proved by nobody")
        .given(running())
        .given(deliver("green"))
        .given([dispatch("fix", "green")])
        .step(taking_in(&["green"], register("fix", "ci", Mark::Start)), Accepted)
        .given([accept("red"), wake("ci")])
        .given(leave("fix"))
        .given(start("fix"))
        .step(taking_in(&["green"], complete("fix")), Accepted)
        .sees("it is of the segment that took it in", |seen| {
            seen.batch("fix") == ["red"]
                && seen.consumed("fix", "green")
                && seen.intent("green") == "inject 1 consumed"
        })
}

fn what_is_no_longer_pending_is_proved_by_nobody() -> Scenario {
    Scenario::in_world("steer-and-retry", "what is no longer pending is proved by nobody")
        .given(running())
        .given(deliver("nudge"))
        .given(send("fix", "nudge", SendAnswer::Failed))
        .sees("its route's error fallback withdrew it", |seen| {
            seen.intent("nudge") == "inject 1 fell_back" && seen.pending("fix").is_empty()
        })
        .step(taking_in(&["nudge"], complete("fix")), Accepted)
        .sees("the result stands, and it was never consumed", |seen| {
            seen.status("fix") == "completed"
                && !seen.consumed("fix", "nudge")
                && seen.intent("nudge") == "inject 1 fell_back"
        })
}
