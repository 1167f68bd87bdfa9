//! Retries: what a failure leads to, how often, and what a person may do about it. One tick is a minute here.

use abide_model::action::{Mark, NamedAction};
use abide_model::index::WorkIx;
use abide_model::view::{RejectionKind, TimerView};
use abide_model::worlds::{
    self, Ask, Decision, Delivery, Does, Exhausted, Policy, When, WorkKind, World,
};

use crate::scenario::Wanted::{Accepted, Code, Conflict, Duplicate};
use crate::scenario::{
    Scenario, Shared, accept, cancel, claim, complete, deliver, evaluate, fail, fire_retry,
    hand_off, hold, leave, register, release, retry, route, start, tick, ticks,
};

const fn sent(name: &'static str, key: u8, proposes: u8) -> Delivery {
    Delivery {
        name,
        identity: name,
        kind: 0,
        core: false,
        key: Some(key),
        target: None,
        scope: 0,
        decides: Decision {
            does: Does::Work,
            proposes: Some(WorkIx(proposes)),
            ..Decision::DECLINES
        },
        reloaded: None,
        body: 0,
        signs: None,
        asks: None,
        when: When::Always,
    }
}

const fn asked(name: &'static str, ask: Ask) -> Delivery {
    let decides = Decision { does: Does::Work, ..Decision::DECLINES };
    Delivery { core: true, key: None, decides, asks: Some(ask), ..sent(name, 0, 0) }
}

/// A budget of four failures, retried after 5, 10 and 15 minutes. RETRY-07
pub(super) const FOUR: Policy =
    Policy { budget: 4, steps: &[5, 10, 15], exhausted: Exhausted::Keep };

/// The kind of a world's Works, with a policy.
pub(super) const fn kind(retry: Policy) -> WorkKind {
    WorkKind { name: "run", standing: false, close_after: None, retry, reloaded: None }
}

/// Two Works that share one place, and a lease that outlives every scenario.
pub(super) static FOUR_FAILURES: World = World {
    name: "four-failures",
    shows: "a budget of four, and a person who retries",
    kinds: &[kind(FOUR)],
    deliveries: &[
        sent("start", 0, 0),
        sent("more", 0, 0),
        sent("ship-it", 1, 1),
        asked("again", Ask::Retry(WorkIx(0))),
        asked("release", Ask::Release(WorkIx(0))),
    ],
    retries: &[(WorkIx(0), 1), (WorkIx(0), 2), (WorkIx(0), 3), (WorkIx(0), 4)],
    lease: 40,
    ..*worlds::ATTEMPTS
};

static NO_DEPTH: World = World { name: "no-depth", depth_max: 0, ..FOUR_FAILURES };

static FAILING: World = World {
    name: "failing",
    kinds: &[kind(Policy { budget: 2, exhausted: Exhausted::Fail, ..FOUR })],
    ..FOUR_FAILURES
};

/// Backoff after backoff, exhaustion that ends nothing, and a person's retry.
pub(super) const RETRY_BACKOFF_EXHAUSTION_AND_MANUAL_EVENT: Shared = Shared {
    id: "retry_backoff_exhaustion_and_manual_event",
    rules: &[
        "RETRY-01", "RETRY-04", "RETRY-05", "RETRY-06", "RETRY-07", "RETRY-09", "RETRY-10",
        "RETRY-11", "RETRY-12", "RETRY-19", "RETRY-20", "RETRY-21", "RETRY-22", "RETRY-24",
        "RETRY-25", "RETRY-26", "RETRY-27", "RETRY-28", "RETRY-29", "RETRY-31", "RETRY-32",
        "OURS-06",
    ],
    parts: || {
        vec![
            three_failures_are_retried_after_longer_and_longer_and_the_fourth_is_not(),
            a_manual_retry_of_exhausted_work_starts_the_next_attempt_and_counts_anew(),
            a_manual_retry_ends_a_backoff_and_its_timer(),
            a_due_retry_is_accepted_once_and_starts_nothing(),
            an_event_in_a_backoff_is_input_and_ends_nothing(),
            the_retry_of_an_earlier_failure_ends_no_later_backoff(),
            a_late_retry_is_no_input_of_what_runs(),
            a_late_retry_wakes_nothing_that_waits(),
            after_a_success_a_failure_is_the_first_again(),
            what_is_to_be_retried_waits_for_a_place(),
            a_persons_hold_outlives_a_manual_retry(),
            a_retry_that_its_chain_does_not_allow_waits_for_a_release(),
            only_where_it_is_configured_exhaustion_ends_the_work(),
        ]
    },
};

/// One attempt of the Work `fix` runs.
pub(super) fn running() -> Vec<NamedAction> {
    deliver("start").into_iter().chain(start("fix")).collect()
}

/// The Work `fix` has failed once.
fn failed() -> Vec<NamedAction> {
    running().into_iter().chain([fail("fix")]).collect()
}

/// So many minutes pass, and the retry of an attempt is accepted.
fn due(minutes: usize, attempt: u8) -> Vec<NamedAction> {
    ticks(minutes).into_iter().chain([fire_retry("fix", attempt)]).collect()
}

/// The retry of an attempt is due, is routed and leads to another failure.
fn fails_again(minutes: usize, attempt: u8) -> Vec<NamedAction> {
    let mut actions = due(minutes, attempt);
    actions.extend(route(&format!("retry/fix/{attempt}")));
    actions.extend(start("fix"));
    actions.push(fail("fix"));
    actions
}

/// The Work `fix` has failed four times.
fn exhausted() -> Vec<NamedAction> {
    let later = [(5, 1), (10, 2), (15, 3)];
    let later = later.into_iter().flat_map(|(minutes, attempt)| fails_again(minutes, attempt));
    failed().into_iter().chain(later).collect()
}

fn three_failures_are_retried_after_longer_and_longer_and_the_fourth_is_not() -> Scenario {
    let name = "three failures are retried after longer and longer, and the fourth is not";
    let mut scenario = Scenario::within(&FOUR_FAILURES, name).given(failed());
    for (attempt, minutes) in [(1_u8, 5_u8), (2, 10), (3, 15)] {
        scenario = scenario
            .sees("it is in the backoff of that attempt", move |seen| {
                seen.backoff("fix") == Some((attempt, TimerView::Armed(minutes)))
                    && seen.failures("fix") == attempt
                    && seen.status("fix") == "ready"
                    && seen.attempt_status("fix") == "failed"
            })
            .step(claim("fix"), Code("backoff"))
            .given(ticks(usize::from(minutes) - 1))
            .step(fire_retry("fix", attempt), Code("not_due"))
            .given(fails_again(1, attempt));
    }
    scenario
        .sees("it is held, has no timer and has not ended", |seen| {
            seen.holds("fix") == ["exhausted"]
                && seen.retries_nothing("fix")
                && seen.status("fix") == "ready"
                && (seen.failures("fix"), seen.attempt("fix")) == (4, 4)
        })
        .given(ticks(30))
        .step(fire_retry("fix", 4), Code("no_retry"))
        .step(claim("fix"), Code("nothing_to_start"))
        .given(deliver("more"))
        .step(claim("fix"), Code("held"))
}

fn a_manual_retry_of_exhausted_work_starts_the_next_attempt_and_counts_anew() -> Scenario {
    let name = "a manual retry of exhausted work starts the next attempt and counts anew";
    Scenario::within(&FOUR_FAILURES, name)
        .given(exhausted())
        .step(retry("fix", "again"), Accepted)
        .step(retry("fix", "again"), Duplicate)
        .sees("nothing is held or counted, and the request is input", |seen| {
            seen.holds("fix").is_empty()
                && (seen.failures("fix"), seen.attempt("fix")) == (0, 4)
                && seen.mark("again") == "queued"
                && seen.pending("fix") == ["again"]
        })
        .given(start("fix"))
        .step(fail("fix"), Accepted)
        .sees("attempt 5 is failure 1", |seen| {
            seen.attempt("fix") == 5
                && seen.failures("fix") == 1
                && seen.backoff("fix") == Some((5, TimerView::Armed(5)))
        })
}

fn a_manual_retry_ends_a_backoff_and_its_timer() -> Scenario {
    Scenario::within(&FOUR_FAILURES, "a manual retry ends a backoff and its timer")
        .given(failed())
        .given([tick()])
        .step(retry("fix", "again"), Accepted)
        .sees("nothing is retried of itself", |seen| {
            seen.retries_nothing("fix") && seen.failures("fix") == 0
        })
        .given(ticks(4))
        .step(fire_retry("fix", 1), Code("no_retry"))
        .step(claim("fix"), Accepted)
        .sees("attempt 2 was started by the request", |seen| {
            seen.attempt("fix") == 2 && seen.batch("fix") == ["again"]
        })
}

fn a_due_retry_is_accepted_once_and_starts_nothing() -> Scenario {
    Scenario::within(&FOUR_FAILURES, "a due retry is accepted once and starts nothing")
        .given(failed())
        .given(ticks(5))
        .step(fire_retry("fix", 1), Accepted)
        .step(fire_retry("fix", 1), Duplicate)
        .sees("it comes of what started the failed attempt, and waits to be routed", |seen| {
            seen.chain("retry/fix/1") == Some(("start", 1))
                && seen.mark("retry/fix/1") == "unrouted"
                && seen.backoff("fix") == Some((1, TimerView::None))
                && seen.attempt("fix") == 1
        })
        .step(claim("fix"), Code("backoff"))
        .given(route("retry/fix/1"))
        .sees("routed, it is input, and nothing runs", |seen| {
            seen.retries_nothing("fix")
                && seen.pending("fix") == ["retry/fix/1"]
                && seen.attempt("fix") == 1
        })
        .step(claim("fix"), Accepted)
        .sees("the next attempt is its own", |seen| {
            seen.attempt("fix") == 2 && seen.batch("fix") == ["retry/fix/1"]
        })
}

fn an_event_in_a_backoff_is_input_and_ends_nothing() -> Scenario {
    Scenario::within(&FOUR_FAILURES, "an event in a backoff is input and ends nothing")
        .given(failed())
        .given([tick()])
        .given(deliver("more"))
        .sees("the retry is due when it was", |seen| {
            seen.backoff("fix") == Some((1, TimerView::Armed(4))) && seen.pending("fix") == ["more"]
        })
        .step(claim("fix"), Code("backoff"))
        .given(due(4, 1))
        .given(route("retry/fix/1"))
        .step(claim("fix"), Accepted)
        .sees("the next attempt is handed both", |seen| {
            seen.batch("fix") == ["more", "retry/fix/1"]
        })
}

fn the_retry_of_an_earlier_failure_ends_no_later_backoff() -> Scenario {
    Scenario::within(&FOUR_FAILURES, "the retry of an earlier failure ends no later backoff")
        .given(failed())
        .given(due(5, 1))
        .given([retry("fix", "again")])
        .given(start("fix"))
        .step(fail("fix"), Accepted)
        .given(route("retry/fix/1"))
        .sees("it is kept and nothing else", |seen| {
            seen.mark("retry/fix/1") == "stale_retry"
                && seen.backoff("fix") == Some((2, TimerView::Armed(5)))
                && seen.pending("fix").is_empty()
        })
        .step(claim("fix"), Code("backoff"))
        .step(fire_retry("fix", 1), Duplicate)
        .step(retry("fix", "again"), Duplicate)
        .sees("nor does asking again", |seen| seen.backoff("fix") == Some((2, TimerView::Armed(5))))
}

fn a_late_retry_is_no_input_of_what_runs() -> Scenario {
    Scenario::within(&FOUR_FAILURES, "a late retry is no input of what runs")
        .given(failed())
        .given(due(5, 1))
        .given([retry("fix", "again")])
        .given(start("fix"))
        .given(route("retry/fix/1"))
        .sees("it is kept, and the attempt was handed the request alone", |seen| {
            seen.mark("retry/fix/1") == "stale_retry"
                && seen.pending("fix").is_empty()
                && seen.batch("fix") == ["again"]
        })
        .step(complete("fix"), Accepted)
        .sees("nothing is left to start from", |seen| seen.status("fix") == "completed")
}

fn a_late_retry_wakes_nothing_that_waits() -> Scenario {
    Scenario::in_world("cancel", "a late retry wakes nothing that waits")
        .given(failed())
        .given(due(1, 1))
        .given([retry("fix", "retry")])
        .given(start("fix"))
        .step(register("fix", "ci", Mark::Batch), Accepted)
        .given(route("retry/fix/1"))
        .sees("the wait is active, and nothing is pending", |seen| {
            seen.mark("retry/fix/1") == "stale_retry"
                && seen.wait_status("fix") == "active"
                && seen.status("fix") == "waiting"
                && seen.pending("fix").is_empty()
        })
}

fn after_a_success_a_failure_is_the_first_again() -> Scenario {
    Scenario::within(&FOUR_FAILURES, "after a success a failure is the first again")
        .given(failed())
        .given(due(5, 1))
        .given(route("retry/fix/1"))
        .given(start("fix"))
        .step(hand_off("fix"), Accepted)
        .sees("nothing is counted", |seen| seen.failures("fix") == 0)
        .given(deliver("more"))
        .given(start("fix"))
        .step(fail("fix"), Accepted)
        .sees("attempt 3 is failure 1", |seen| {
            seen.attempt("fix") == 3
                && seen.failures("fix") == 1
                && seen.backoff("fix") == Some((3, TimerView::Armed(5)))
        })
}

fn what_is_to_be_retried_waits_for_a_place() -> Scenario {
    Scenario::within(&FOUR_FAILURES, "what is to be retried waits for a place")
        .given(failed())
        .given(deliver("ship-it"))
        .given(start("ship"))
        .given(due(5, 1))
        .given(route("retry/fix/1"))
        .step(claim("fix"), Code("capacity"))
        .step(complete("ship"), Accepted)
        .step(claim("fix"), Accepted)
}

fn a_persons_hold_outlives_a_manual_retry() -> Scenario {
    Scenario::within(&FOUR_FAILURES, "a person's hold outlives a manual retry")
        .given(exhausted())
        .given([hold("fix"), retry("fix", "again")])
        .sees("that hold stands alone", |seen| seen.holds("fix") == ["operator"])
        .step(claim("fix"), Code("held"))
        .step(release("fix", "release"), Accepted)
        .step(claim("fix"), Accepted)
}

fn a_retry_that_its_chain_does_not_allow_waits_for_a_release() -> Scenario {
    Scenario::within(&NO_DEPTH, "a retry that its chain does not allow waits for a release")
        .given(failed())
        .given(ticks(5))
        .step(fire_retry("fix", 1), Code("depth_limit"))
        .step(fire_retry("fix", 1), Code("firing_disabled"))
        .sees("why it is held is on record", |seen| {
            seen.holds("fix") == ["causal_limit"]
                && seen.backoff("fix") == Some((1, TimerView::Disabled))
                && seen.mark("retry/fix/1") == "absent"
                && seen
                    .0
                    .rejections
                    .iter()
                    .any(|refused| refused.kind == RejectionKind::Retry && refused.of == "fix/1")
        })
        .step(claim("fix"), Code("backoff"))
        .step(release("fix", "release"), Accepted)
        .sees("the release is what starts the retry", |seen| {
            seen.retries_nothing("fix")
                && seen.mark("release") == "queued"
                && seen.pending("fix") == ["release"]
        })
        .step(claim("fix"), Accepted)
        .sees("as the next attempt", |seen| seen.attempt("fix") == 2)
}

fn only_where_it_is_configured_exhaustion_ends_the_work() -> Scenario {
    Scenario::within(&FAILING, "only where it is configured exhaustion ends the work")
        .given(failed())
        .given(due(5, 1))
        .given(route("retry/fix/1"))
        .given(start("fix"))
        .given([accept("more")])
        .step(fail("fix"), Conflict)
        .given(route("more"))
        .step(fail("fix"), Accepted)
        .sees("it has failed for good, and what came is kept", |seen| {
            seen.status("fix") == "failed"
                && seen.holds("fix").is_empty()
                && seen.retries_nothing("fix")
                && seen.pending("fix") == ["more"]
        })
        .step(retry("fix", "again"), Code("terminal"))
        .step(claim("fix"), Code("terminal"))
        .step(release("fix", "release"), Code("terminal"))
        .given(ticks(10))
        .step(fire_retry("fix", 2), Code("no_retry"))
}

/// A retry and a cancel in both orders.
pub(super) const RETRY_CANCEL_ORDERS: Shared = Shared {
    id: "retry_cancel_orders",
    rules: &[
        "RETRY-23",
        "RETRY-26",
        "RETRY-28",
        "CANCEL-01",
        "CANCEL-02",
        "CANCEL-03",
        "CANCEL-04",
        "CANCEL-05",
        "CANCEL-07",
        "CANCEL-08",
        "CANCEL-09",
        "CANCEL-12",
    ],
    parts: || {
        vec![
            a_retry_accepted_before_the_cancel_is_only_kept(),
            a_retry_routed_before_the_cancel_starts_nothing_any_more(),
            an_attempt_that_a_retry_started_ends_with_the_cancel(),
            a_cancel_before_the_retry_is_due_leaves_nothing_to_fire(),
            a_cancel_of_exhausted_work_leaves_nothing_to_retry(),
        ]
    },
};

fn a_retry_accepted_before_the_cancel_is_only_kept() -> Scenario {
    Scenario::within(&FOUR_FAILURES, "a retry accepted before the cancel is only kept")
        .given(failed())
        .given(due(5, 1))
        .step(cancel("fix"), Accepted)
        .given(route("retry/fix/1"))
        .sees("it is marked as late and gives nothing to start", |seen| {
            seen.mark("retry/fix/1") == "terminal"
                && seen.retries_nothing("fix")
                && seen.pending("fix").is_empty()
                && seen.status("fix") == "cancelled"
        })
        .step(claim("fix"), Code("terminal"))
        .step(fire_retry("fix", 1), Duplicate)
}

fn a_retry_routed_before_the_cancel_starts_nothing_any_more() -> Scenario {
    let name = "a retry routed before the cancel starts nothing any more";
    Scenario::within(&FOUR_FAILURES, name)
        .given(failed())
        .given(due(5, 1))
        .given(route("retry/fix/1"))
        .step(cancel("fix"), Accepted)
        .step(claim("fix"), Code("terminal"))
        .sees("it stays input that nothing is handed", |seen| {
            seen.mark("retry/fix/1") == "queued"
                && seen.pending("fix") == ["retry/fix/1"]
                && seen.attempt("fix") == 1
        })
}

fn an_attempt_that_a_retry_started_ends_with_the_cancel() -> Scenario {
    Scenario::within(&FOUR_FAILURES, "an attempt that a retry started ends with the cancel")
        .given(failed())
        .given(due(5, 1))
        .given(route("retry/fix/1"))
        .given(start("fix"))
        .step(cancel("fix"), Accepted)
        .step(fail("fix"), Code("stale_authority"))
        .step(complete("fix"), Code("stale_authority"))
        .sees("the retry was, and the attempt is cancelled", |seen| {
            seen.mark("retry/fix/1") == "queued"
                && seen.attempt("fix") == 2
                && seen.attempt_status("fix") == "cancelled"
                && seen.retries_nothing("fix")
        })
        .given(leave("fix"))
        .step(complete("fix"), Code("stale_authority"))
        .step(claim("fix"), Code("terminal"))
        .sees("what its process did afterwards changes nothing", |seen| {
            (seen.status("fix"), seen.attempt_status("fix"))
                == ("cancelled".to_owned(), "cancelled".to_owned())
        })
}

fn a_cancel_before_the_retry_is_due_leaves_nothing_to_fire() -> Scenario {
    Scenario::within(&FOUR_FAILURES, "a cancel before the retry is due leaves nothing to fire")
        .given(failed())
        .given(ticks(4))
        .step(cancel("fix"), Accepted)
        .sees("nothing is armed", |seen| seen.retries_nothing("fix"))
        .given([tick()])
        .step(fire_retry("fix", 1), Code("no_retry"))
        .step(claim("fix"), Code("terminal"))
        .sees("and nothing was accepted", |seen| {
            seen.mark("retry/fix/1") == "absent" && seen.attempt("fix") == 1
        })
}

fn a_cancel_of_exhausted_work_leaves_nothing_to_retry() -> Scenario {
    Scenario::within(&FOUR_FAILURES, "a cancel of exhausted work leaves nothing to retry")
        .given(exhausted())
        .step(cancel("fix"), Accepted)
        .step(retry("fix", "again"), Code("terminal"))
        .given([accept("more"), evaluate("more")])
        .sees("no hold is left to lift", |seen| {
            seen.status("fix") == "cancelled" && seen.holds("fix").is_empty()
        })
}
