//! Waits: no wake is lost, none happens twice, and the lowest sequence wins.

use abide_model::action::{Mark, NamedAction};

use crate::scenario::Wanted::{Accepted, Code, Duplicate};
use crate::scenario::{
    Scenario, Shared, accept, accept_timeout, cancel, claim, commit_route, complete, deliver,
    evaluate, fire_timer, leave, register, start, tick, wake,
};

/// Both orders of event and registration give one wake.
pub(super) const WAIT_EVENT_REGISTRATION_ORDERS: Shared = Shared {
    id: "wait_event_registration_orders",
    rules: &[
        "WAIT-14", "WAIT-15", "WAIT-17", "WAIT-18", "WAIT-19", "WAKE-08", "WAKE-09", "WAKE-16",
    ],
    parts: || {
        vec![
            an_event_after_the_registration_wakes_once_and_resumes(),
            an_unrouted_event_after_the_watermark_wakes_at_registration(),
            a_queued_event_after_the_watermark_wakes_at_registration(),
            routing_a_match_wakes_and_is_no_second_input(),
            without_resume_the_wake_starts_the_next_attempt(),
            an_immediate_wake_leaves_the_old_authority_dead(),
        ]
    },
};

/// One attempt of the Work `fix` runs.
fn running() -> Vec<NamedAction> {
    deliver("start").into_iter().chain(start("fix")).collect()
}

fn an_event_after_the_registration_wakes_once_and_resumes() -> Scenario {
    Scenario::in_world("waits", "an event after the registration wakes once and resumes")
        .given(running())
        .step(register("fix", "ci", Mark::Latest), Accepted)
        .step(wake("ci"), Code("nothing_to_wake_from"))
        .given([accept("green")])
        .step(wake("ci"), Accepted)
        .step(wake("ci"), Duplicate)
        .sees("the winner is pending once", |seen| {
            seen.winner("fix").as_deref() == Some("green") && seen.pending("fix") == ["green"]
        })
        .step(claim("fix"), Code("excluded"))
        .given(leave("fix"))
        .step(claim("fix"), Accepted)
        .sees("the same attempt goes on with the winner", |seen| {
            seen.attempt("fix") == 1 && seen.batch("fix") == ["green"]
        })
}

fn an_unrouted_event_after_the_watermark_wakes_at_registration() -> Scenario {
    Scenario::in_world("waits", "an unrouted event after the watermark wakes at registration")
        .given(running())
        .given([accept("green")])
        .step(register("fix", "ci", Mark::Batch), Accepted)
        .sees("it woke in the registering transaction", |seen| {
            seen.wait_status("fix") == "woken"
                && seen.mark("green") == "woke"
                && seen.status("fix") == "ready"
        })
        .step(commit_route("green"), Duplicate)
}

fn a_queued_event_after_the_watermark_wakes_at_registration() -> Scenario {
    Scenario::in_world("waits", "a queued event after the watermark wakes at registration")
        .given(running())
        .given(deliver("green"))
        .given(deliver("red"))
        .step(register("fix", "ci", Mark::Batch), Accepted)
        .sees("the lowest sequence won, and both are pending once", |seen| {
            seen.winner("fix").as_deref() == Some("green")
                && seen.pending("fix") == ["green", "red"]
        })
        .step(wake("ci"), Duplicate)
}

fn routing_a_match_wakes_and_is_no_second_input() -> Scenario {
    Scenario::in_world("waits", "routing a match wakes, and it is no second input")
        .given(running())
        .step(register("fix", "ci", Mark::Latest), Accepted)
        .given(deliver("green"))
        .sees("the route commit woke the wait", |seen| {
            seen.mark("green") == "woke"
                && seen.wait_status("fix") == "woken"
                && seen.pending("fix") == ["green"]
        })
        .step(wake("ci"), Duplicate)
}

fn without_resume_the_wake_starts_the_next_attempt() -> Scenario {
    Scenario::in_world("waits-next-attempt", "without resume the wake starts the next attempt")
        .given(running())
        .step(register("fix", "ci", Mark::Latest), Accepted)
        .sees("the attempt has ended as waiting", |seen| seen.attempt_status("fix") == "waiting")
        .given([accept("green")])
        .step(wake("ci"), Accepted)
        .given(leave("fix"))
        .step(claim("fix"), Accepted)
        .sees("the next attempt is triggered by the winner", |seen| {
            let work = seen.work("fix").and_then(|work| work.attempt.as_ref());
            work.is_some_and(|attempt| attempt.number == 2 && attempt.trigger == "green")
        })
}

fn an_immediate_wake_leaves_the_old_authority_dead() -> Scenario {
    Scenario::in_world("waits", "an immediate wake leaves the old authority dead")
        .given(running())
        .given([accept("green")])
        .step(register("fix", "ci", Mark::Batch), Accepted)
        .step(complete("fix"), Code("stale_authority"))
}

/// At the deadline whichever was accepted first wins.
pub(super) const WAIT_TIMEOUT_ACCEPTANCE_TIE: Shared = Shared {
    id: "wait_timeout_acceptance_tie",
    rules: &["WAKE-02", "WAKE-03", "WAKE-04", "WAKE-05", "WAKE-06", "TIMER-02", "TIMER-06"],
    parts: || {
        vec![
            a_match_accepted_at_the_deadline_beats_the_timeout(),
            a_timeout_accepted_first_beats_a_later_match(),
            an_accepted_timeout_is_recognised_after_its_timer_is_gone(),
            a_timer_does_not_fire_before_its_instant(),
        ]
    },
};

/// The Work `fix` waits for a result until the next tick.
fn parked() -> Vec<NamedAction> {
    running().into_iter().chain([register("fix", "ci", Mark::Latest)]).collect()
}

fn a_match_accepted_at_the_deadline_beats_the_timeout() -> Scenario {
    Scenario::in_world("waits", "a match accepted at the deadline beats the timeout")
        .given(parked())
        .given([tick(), accept("green")])
        .step(accept_timeout("ci"), Code("match_accepted"))
        .step(fire_timer("ci"), Accepted)
        .sees("the match won and no timeout was accepted", |seen| {
            seen.winner("fix").as_deref() == Some("green") && seen.mark("timeout/ci") == "absent"
        })
        .step(fire_timer("ci"), Code("timer_cancelled"))
}

fn a_timeout_accepted_first_beats_a_later_match() -> Scenario {
    Scenario::in_world("waits", "a timeout accepted first beats a later match")
        .given(parked())
        .given([tick(), accept_timeout("ci"), accept("green")])
        .step(wake("ci"), Accepted)
        .sees("the timeout won", |seen| seen.winner("fix").as_deref() == Some("timeout/ci"))
        .given([evaluate("green")])
        .step(commit_route("green"), Accepted)
        .sees("the match is ordinary input", |seen| {
            seen.mark("green") == "queued" && seen.pending("fix") == ["timeout/ci", "green"]
        })
}

fn an_accepted_timeout_is_recognised_after_its_timer_is_gone() -> Scenario {
    Scenario::in_world("waits", "an accepted timeout is recognised after its timer is gone")
        .given(parked())
        .given([tick(), accept_timeout("ci")])
        .step(fire_timer("ci"), Duplicate)
        .step(accept_timeout("ci"), Duplicate)
        .sees("it is accepted once and the wait is active", |seen| {
            seen.wait_status("fix") == "active" && seen.mark("timeout/ci") == "unrouted"
        })
        .step(wake("ci"), Accepted)
        .step(fire_timer("ci"), Duplicate)
}

fn a_timer_does_not_fire_before_its_instant() -> Scenario {
    Scenario::in_world("waits", "a timer does not fire before its instant")
        .given(parked())
        .step(fire_timer("ci"), Code("not_due"))
        .step(accept_timeout("ci"), Code("not_due"))
        .given([tick()])
        .step(fire_timer("ci"), Accepted)
}

/// Cancel and wake in both orders; neither rewrites the other.
pub(super) const WAIT_CANCEL_ORDERS: Shared = Shared {
    id: "wait_cancel_orders",
    rules: &["WAKE-12", "WAKE-13", "WAKE-14", "WAKE-15", "CANCEL-01", "CANCEL-02", "CANCEL-04"],
    parts: || {
        vec![
            a_match_after_the_cancel_is_only_kept(),
            a_cancel_after_the_wake_keeps_it_and_ends_the_work(),
            a_cancel_fences_the_resumed_attempt(),
        ]
    },
};

fn a_match_after_the_cancel_is_only_kept() -> Scenario {
    Scenario::in_world("waits", "a match after the cancel is only kept")
        .given(parked())
        .step(cancel("fix"), Accepted)
        .given(deliver("green"))
        .step(wake("ci"), Code("wait_cancelled"))
        .given([tick()])
        .step(fire_timer("ci"), Code("timer_cancelled"))
        .step(cancel("fix"), Duplicate)
        .sees("the match is marked as late and starts nothing", |seen| {
            seen.mark("green") == "terminal"
                && seen.wait_status("fix") == "cancelled"
                && seen.status("fix") == "cancelled"
                && seen.pending("fix").is_empty()
        })
}

fn a_cancel_after_the_wake_keeps_it_and_ends_the_work() -> Scenario {
    Scenario::in_world("waits", "a cancel after the wake keeps it and ends the work")
        .given(parked())
        .given([accept("green"), wake("ci")])
        .step(cancel("fix"), Accepted)
        .given(leave("fix"))
        .step(claim("fix"), Code("terminal"))
        .step(wake("ci"), Duplicate)
        .sees("the wait stays woken by its winner", |seen| {
            seen.wait_status("fix") == "woken"
                && seen.winner("fix").as_deref() == Some("green")
                && seen.attempt_status("fix") == "cancelled"
        })
}

fn a_cancel_fences_the_resumed_attempt() -> Scenario {
    Scenario::in_world("waits", "a cancel fences the resumed attempt")
        .given(parked())
        .given([accept("green"), wake("ci")])
        .given(leave("fix"))
        .given(start("fix"))
        .step(cancel("fix"), Accepted)
        .step(complete("fix"), Code("stale_authority"))
}

/// At or below the watermark nothing wakes, and a timeout alone may.
pub(super) const WAIT_WATERMARK_AND_TIMEOUT_ONLY: Shared = Shared {
    id: "wait_watermark_and_timeout_only",
    rules: &["WAIT-04", "WAIT-12", "WAIT-13", "WAKE-06", "WAKE-10", "TIMER-05"],
    parts: || {
        vec![
            an_event_at_the_watermark_never_wakes(),
            a_wait_for_its_timeout_alone_is_woken_by_it_once(),
            a_watermark_ahead_of_history_is_refused(),
        ]
    },
};

fn an_event_at_the_watermark_never_wakes() -> Scenario {
    Scenario::in_world("waits", "an event at the watermark never wakes")
        .given(running())
        .given(deliver("green"))
        .step(register("fix", "ci", Mark::Latest), Accepted)
        .step(wake("ci"), Code("nothing_to_wake_from"))
        .given([tick()])
        .step(fire_timer("ci"), Accepted)
        .sees("the timeout woke it, and the event is its input", |seen| {
            seen.winner("fix").as_deref() == Some("timeout/ci")
                && seen.pending("fix") == ["green", "timeout/ci"]
        })
}

fn a_wait_for_its_timeout_alone_is_woken_by_it_once() -> Scenario {
    Scenario::in_world("pauses", "a wait for its timeout alone is woken by it once")
        .given(running())
        .step(register("fix", "pause", Mark::Latest), Accepted)
        .given(deliver("green"))
        .step(wake("pause"), Code("nothing_to_wake_from"))
        .sees("an event with the work's key is only context", |seen| {
            seen.status("fix") == "waiting" && seen.mark("green") == "queued"
        })
        .given([tick(), tick()])
        .step(fire_timer("pause"), Accepted)
        .step(fire_timer("pause"), Duplicate)
        .step(wake("pause"), Duplicate)
        .sees("it was woken by its timeout", |seen| {
            seen.winner("fix").as_deref() == Some("timeout/pause")
        })
}

fn a_watermark_ahead_of_history_is_refused() -> Scenario {
    Scenario::in_world("waits", "a watermark ahead of history is refused")
        .given(running())
        .step(register("fix", "ci", Mark::Beyond), Code("watermark_ahead"))
        .step(register("fix", "endless", Mark::Latest), Code("wait_cannot_end"))
        .step(register("fix", "foreign", Mark::Latest), Code("key_not_owned"))
        .sees("the attempt still runs", |seen| seen.attempt_status("fix") == "running")
        .step(complete("fix"), Accepted)
}
