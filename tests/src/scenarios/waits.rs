//! Waits: no wake is lost, none happens twice, and the lowest sequence wins.

use abide_model::action::{Mark, NamedAction};

use crate::scenario::Wanted::{Accepted, Code, Duplicate};
use crate::scenario::{
    Scenario, Shared, accept, accept_timeout, cancel, claim, commit_route, complete, deliver,
    fire_timer, hand_off_declaring, hold, leave, register, release, route, stale_complete,
    stale_renew, start, tick, wake,
};

/// Both orders of event and registration give one wake.
pub(super) const WAIT_EVENT_REGISTRATION_ORDERS: Shared = Shared {
    id: "wait_event_registration_orders",
    rules: &[
        "WAIT-06", "WAIT-14", "WAIT-15", "WAIT-17", "WAIT-18", "WAIT-19", "WAKE-08", "WAKE-09",
        "WAKE-16", "WAKE-17", "WAKE-19", "WAKE-24", "WAKE-25", "OURS-06",
    ],
    parts: || {
        vec![
            an_event_after_the_registration_wakes_once_and_resumes(),
            an_unrouted_event_after_the_watermark_wakes_at_registration(),
            a_queued_event_after_the_watermark_wakes_at_registration(),
            routing_a_match_wakes_and_is_no_second_input(),
            a_resumed_attempt_is_the_same_one_under_a_higher_epoch(),
            without_resume_the_wake_starts_the_next_attempt(),
            what_the_work_published_itself_wakes_nobody(),
            a_hold_changes_no_wait_and_keeps_the_woken_work_from_starting(),
            a_wake_whose_continuation_is_refused_holds_until_a_release(),
            an_immediate_wake_leaves_the_old_authority_dead(),
        ]
    },
};

/// One attempt of the Work `fix` runs.
pub(super) fn running() -> Vec<NamedAction> {
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

fn a_resumed_attempt_is_the_same_one_under_a_higher_epoch() -> Scenario {
    Scenario::in_world("waits", "a resumed attempt is the same one under a higher epoch")
        .given(running())
        .given([register("fix", "ci", Mark::Latest), accept("green"), wake("ci")])
        .given(leave("fix"))
        .given(start("fix"))
        .step(stale_renew("fix"), Code("stale_authority"))
        .step(stale_complete("fix"), Code("stale_authority"))
        .sees("number and trigger are as they were", |seen| {
            let attempt = seen.work("fix").and_then(|work| work.attempt.as_ref());
            attempt.is_some_and(|attempt| attempt.number == 1 && attempt.trigger == "start")
        })
        .step(complete("fix"), Accepted)
}

fn what_the_work_published_itself_wakes_nobody() -> Scenario {
    Scenario::in_world("wait-races", "what the work published itself wakes nobody")
        .given(running())
        .given(deliver("green"))
        .step(hand_off_declaring("fix"), Accepted)
        .given(start("fix"))
        .sees("the end of its turn is an event of its key", |seen| {
            let ended = seen.event("ended/fix/1");
            ended.is_some_and(|ended| ended.key.as_deref() == Some("ci/1"))
        })
        .step(register("fix", "ci", Mark::Batch), Accepted)
        .step(wake("ci"), Code("nothing_to_wake_from"))
        .given(route("ended/fix/1"))
        .sees("it lies above the watermark and the wait is active", |seen| {
            seen.wait_status("fix") == "active" && seen.mark("ended/fix/1") == "unmatched"
        })
}

fn a_hold_changes_no_wait_and_keeps_the_woken_work_from_starting() -> Scenario {
    Scenario::in_world("composed", "a hold changes no wait and keeps the woken work from starting")
        .given(running())
        .given([register("fix", "ci", Mark::Batch), hold("fix"), accept("green")])
        .step(wake("ci"), Accepted)
        .given(leave("fix"))
        .step(claim("fix"), Code("held"))
        .step(release("fix", "release"), Accepted)
        .step(release("fix", "release"), Duplicate)
        .sees("the release is kept, is no input and names the work", |seen| {
            seen.mark("release") == "release"
                && seen.event("release").and_then(|event| event.work.as_deref()) == Some("fix")
                && seen.pending("fix") == ["green"]
                && seen.holds("fix").is_empty()
        })
        .step(claim("fix"), Accepted)
}

fn a_wake_whose_continuation_is_refused_holds_until_a_release() -> Scenario {
    Scenario::in_world("wait-races", "a wake whose continuation is refused holds until a release")
        .given(running())
        .given([register("fix", "ci", Mark::Latest), accept("green"), wake("ci")])
        .given(leave("fix"))
        .given(start("fix"))
        .given([register("fix", "echo", Mark::Latest), tick()])
        .step(fire_timer("echo"), Accepted)
        .sees("the wake stands, and why the work is held is on record", |seen| {
            seen.wait_status("fix") == "woken"
                && seen.mark("woken/echo") == "absent"
                && seen.holds("fix") == ["causal_limit"]
                && seen.0.rejections.len() == 1
        })
        .given(leave("fix"))
        .step(claim("fix"), Code("held"))
        .given([tick()])
        .step(claim("fix"), Code("held"))
        .step(release("fix", "release"), Accepted)
        .given(start("fix"))
        .step(hand_off_declaring("fix"), Accepted)
        .sees("what it derives goes on from the release", |seen| {
            seen.attempt("fix") == 1 && seen.chain("ended/fix/1") == Some(("release", 1))
        })
}

fn an_immediate_wake_leaves_the_old_authority_dead() -> Scenario {
    Scenario::in_world("waits", "an immediate wake leaves the old authority dead")
        .given(running())
        .given([accept("green")])
        .step(register("fix", "ci", Mark::Batch), Accepted)
        .step(complete("fix"), Code("stale_authority"))
}

/// The Work `fix` waits for a result until the next tick.
pub(super) fn parked() -> Vec<NamedAction> {
    running().into_iter().chain([register("fix", "ci", Mark::Latest)]).collect()
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
            a_cancel_of_held_work_leaves_nothing_to_release(),
            a_timeout_accepted_before_the_cancel_is_only_kept(),
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

fn a_cancel_of_held_work_leaves_nothing_to_release() -> Scenario {
    Scenario::in_world("composed", "a cancel of held work leaves nothing to release")
        .given(running())
        .given([register("fix", "ci", Mark::Batch), hold("fix")])
        .step(cancel("fix"), Accepted)
        .step(release("fix", "release"), Code("terminal"))
        .step(hold("fix"), Code("terminal"))
        .sees("wait and hold are gone with the work", |seen| {
            seen.wait_status("fix") == "cancelled" && seen.holds("fix").is_empty()
        })
}

fn a_timeout_accepted_before_the_cancel_is_only_kept() -> Scenario {
    Scenario::in_world("waits", "a timeout accepted before the cancel is only kept")
        .given(parked())
        .given([tick(), accept_timeout("ci")])
        .step(cancel("fix"), Accepted)
        .step(wake("ci"), Code("wait_cancelled"))
        .given(route("timeout/ci"))
        .sees("it is marked as late and the wait stays cancelled", |seen| {
            seen.mark("timeout/ci") == "terminal" && seen.wait_status("fix") == "cancelled"
        })
}
