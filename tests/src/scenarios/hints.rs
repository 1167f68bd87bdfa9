//! Hints of executors: one is a delay in place of the backoff's, or it is nothing. One tick is a minute here.

use abide_model::action::Hint;
use abide_model::view::TimerView;
use abide_model::worlds::{Policy, WorkKind, World};

use super::retries::{FOUR, FOUR_FAILURES, kind, running};
use crate::scenario::Wanted::{Accepted, Code};
use crate::scenario::{
    Scenario, Shared, claim, deliver, fail_hinting, fire_retry, route, start, tick, ticks,
};

/// The longest hint allowed is the one an executor gives that knows of no reset: half an hour.
static NO_RESET: World = World { name: "no-reset", hint: 30, ..FOUR_FAILURES };

/// The longest hint allowed is a reset in five minutes and two more. RETRY-13
static RESET: World = World { name: "reset", hint: 7, ..FOUR_FAILURES };

static ONE_FAILURE: World =
    World { name: "one-failure", kinds: &[kind(Policy { budget: 1, ..FOUR })], ..NO_RESET };

static STANDS: World =
    World { name: "stands", kinds: &[WorkKind { standing: true, ..kind(FOUR) }], ..NO_RESET };

/// What counts as a hint, and what one does.
pub(super) const RETRY_HINT_VALIDATION: Shared = Shared {
    id: "retry_hint_validation",
    rules: &["RETRY-15", "RETRY-16", "RETRY-17", "RETRY-18", "JOB-16", "JOB-27"],
    parts: || {
        vec![
            without_a_known_reset_the_retry_is_due_after_thirty_minutes(),
            with_a_known_reset_the_retry_is_due_two_minutes_after_it(),
            an_invalid_hint_is_as_good_as_none(),
            an_excessive_hint_is_not_cut_down_but_ignored(),
            a_hint_adds_nothing_to_the_budget(),
            standing_work_is_retried_only_at_a_hint(),
        ]
    },
};

fn without_a_known_reset_the_retry_is_due_after_thirty_minutes() -> Scenario {
    let name = "without a known reset the retry is due after thirty minutes";
    Scenario::within(&NO_RESET, name)
        .given(running())
        .step(fail_hinting("fix", Hint::Valid), Accepted)
        .sees("in place of the first step", |seen| {
            seen.backoff("fix") == Some((1, TimerView::Armed(30))) && seen.failures("fix") == 1
        })
        .given(ticks(29))
        .step(fire_retry("fix", 1), Code("not_due"))
        .given([tick()])
        .step(fire_retry("fix", 1), Accepted)
        .given(route("retry/fix/1"))
        .given(start("fix"))
        .step(fail_hinting("fix", Hint::None), Accepted)
        .sees("the next failure is the second all the same", |seen| {
            seen.backoff("fix") == Some((2, TimerView::Armed(10)))
        })
}

fn with_a_known_reset_the_retry_is_due_two_minutes_after_it() -> Scenario {
    Scenario::within(&RESET, "with a known reset the retry is due two minutes after it")
        .given(running())
        .step(fail_hinting("fix", Hint::Valid), Accepted)
        .given(ticks(6))
        .step(fire_retry("fix", 1), Code("not_due"))
        .given([tick()])
        .step(fire_retry("fix", 1), Accepted)
}

fn an_invalid_hint_is_as_good_as_none() -> Scenario {
    Scenario::within(&NO_RESET, "an invalid hint is as good as none")
        .given(running())
        .step(fail_hinting("fix", Hint::Invalid), Accepted)
        .sees("the first step counts", |seen| seen.backoff("fix") == Some((1, TimerView::Armed(5))))
        .step(fire_retry("fix", 1), Code("not_due"))
        .step(claim("fix"), Code("backoff"))
}

fn an_excessive_hint_is_not_cut_down_but_ignored() -> Scenario {
    Scenario::within(&NO_RESET, "an excessive hint is not cut down but ignored")
        .given(running())
        .step(fail_hinting("fix", Hint::Excessive), Accepted)
        .sees("the first step counts", |seen| seen.backoff("fix") == Some((1, TimerView::Armed(5))))
        .step(fire_retry("fix", 1), Code("not_due"))
        .step(claim("fix"), Code("backoff"))
}

fn a_hint_adds_nothing_to_the_budget() -> Scenario {
    Scenario::within(&ONE_FAILURE, "a hint adds nothing to the budget")
        .given(running())
        .step(fail_hinting("fix", Hint::Valid), Accepted)
        .sees("the last failure is the last", |seen| {
            seen.holds("fix") == ["exhausted"] && seen.retries_nothing("fix")
        })
        .given(ticks(30))
        .step(fire_retry("fix", 1), Code("no_retry"))
}

fn standing_work_is_retried_only_at_a_hint() -> Scenario {
    Scenario::within(&STANDS, "standing work is retried only at a hint")
        .given(running())
        .step(fail_hinting("fix", Hint::Excessive), Accepted)
        .sees("without one it waits for its next event", |seen| {
            seen.retries_nothing("fix")
                && seen.failures("fix") == 0
                && seen.status("fix") == "ready"
                && seen.holds("fix").is_empty()
        })
        .given(deliver("more"))
        .given(start("fix"))
        .step(fail_hinting("fix", Hint::Valid), Accepted)
        .sees("with one it is retried, and nothing is counted", |seen| {
            seen.backoff("fix") == Some((2, TimerView::Armed(30))) && seen.failures("fix") == 0
        })
        .given(ticks(30))
        .step(fire_retry("fix", 2), Accepted)
}
