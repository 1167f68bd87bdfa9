//! Timers and watermarks: whichever was accepted first wins, and what was seen before wakes nobody.

use abide_model::action::Mark;

use super::waits::{parked, running};
use crate::scenario::Wanted::{Accepted, Code, Duplicate};
use crate::scenario::{
    Scenario, Shared, accept, accept_timeout, claim, commit_route, complete, deliver, evaluate,
    fire_timer, hold, leave, register, route, start, tick, wake,
};

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
            a_timeout_accepted_alone_wakes_when_it_is_routed(),
            a_hold_stops_no_timer(),
        ]
    },
};

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

fn a_timeout_accepted_alone_wakes_when_it_is_routed() -> Scenario {
    Scenario::in_world("waits", "a timeout accepted alone wakes when it is routed")
        .given(parked())
        .given([tick(), accept_timeout("ci"), accept("green")])
        .given(route("timeout/ci"))
        .sees("it won, and nothing fires again", |seen| {
            seen.mark("timeout/ci") == "woke"
                && seen.winner("fix").as_deref() == Some("timeout/ci")
                && seen.pending("fix") == ["timeout/ci"]
        })
        .step(fire_timer("ci"), Duplicate)
}

fn a_hold_stops_no_timer() -> Scenario {
    Scenario::in_world("composed", "a hold stops no timer")
        .given(running())
        .given([register("fix", "ci", Mark::Batch), hold("fix")])
        .step(fire_timer("ci"), Code("not_due"))
        .given([tick()])
        .step(fire_timer("ci"), Accepted)
        .given(leave("fix"))
        .step(claim("fix"), Code("held"))
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
            a_wait_that_timed_out_matches_nothing_any_more(),
            what_an_attempt_consumed_does_not_end_its_next_wait(),
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

fn a_wait_that_timed_out_matches_nothing_any_more() -> Scenario {
    Scenario::in_world("pauses", "a wait that timed out matches nothing any more")
        .given(running())
        .given([register("fix", "pause", Mark::Latest), tick(), tick()])
        .step(fire_timer("pause"), Accepted)
        .given(leave("fix"))
        .given(start("fix"))
        .step(register("fix", "ci", Mark::Latest), Accepted)
        .given(deliver("green"))
        .step(wake("pause"), Duplicate)
        .sees("the event went to the wait that stands", |seen| {
            seen.mark("green") == "woke" && seen.winner("fix").as_deref() == Some("green")
        })
}

fn what_an_attempt_consumed_does_not_end_its_next_wait() -> Scenario {
    Scenario::in_world("depth", "what an attempt consumed does not end its next wait")
        .given(running())
        .given([register("fix", "ci", Mark::Latest), accept("green"), wake("ci")])
        .given(leave("fix"))
        .given(start("fix"))
        .step(register("fix", "again", Mark::Start), Accepted)
        .step(wake("again"), Code("nothing_to_wake_from"))
        .sees("the answer to the first is not given again", |seen| {
            seen.wait_status("fix") == "active" && seen.status("fix") == "waiting"
        })
        .given([accept("red")])
        .step(wake("again"), Accepted)
        .sees("a new one is", |seen| seen.winner("fix").as_deref() == Some("red"))
}
