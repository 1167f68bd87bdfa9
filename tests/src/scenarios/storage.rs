//! What storage owes beside the other cases: exclusive ownership, order, and fences that hold.

use abide_model::action::Mark;
use abide_model::view::TimerView;

use super::retries::FOUR_FAILURES;
use crate::scenario::Wanted::{Accepted, Code, Duplicate};
use crate::scenario::{
    Scenario, Shared, accept, claim, claim_recovery, commit_route, complete, create_work, deliver,
    detach, drop_event, evaluate, fail, not_adoptable, register, route, stale_complete,
    stale_renew, start, tick,
};

/// Ownership is exclusive, marks follow the order of a Work, and a stale lease is fenced. That a failing callback rolls
/// back is shown on the store itself, in `tests/storage.rs`.
pub(super) const STORAGE_SUITE: Shared = Shared {
    id: "storage_suite",
    rules: &[
        "OWN-01", "OWN-02", "OWN-05", "OWN-07", "LEASE-01", "LEASE-03", "LEASE-04", "LEASE-08",
        "RETRY-02",
    ],
    parts: || {
        vec![
            a_key_has_one_owner_however_it_is_asked_for(),
            no_mark_is_made_out_of_order(),
            a_stale_lease_changes_nothing(),
            what_is_refused_leaves_no_trace(),
            a_failure_is_kept_whole(),
        ]
    },
};

fn a_key_has_one_owner_however_it_is_asked_for() -> Scenario {
    Scenario::in_world("ownership", "a key has one owner however it is asked for")
        .given(deliver("first"))
        .given([accept("third"), evaluate("third")])
        .step(commit_route("third"), Code("key_owned"))
        .step(create_work("by-hand"), Accepted)
        .given([evaluate("third")])
        .step(commit_route("third"), Code("key_owned"))
        .sees("each key is where it was first put", |seen| {
            seen.owner("a") == Some("one")
                && seen.owner("b") == Some("one")
                && seen.owner("c") == Some("three")
        })
}

fn no_mark_is_made_out_of_order() -> Scenario {
    Scenario::in_world("attempts", "no mark is made out of order")
        .given(deliver("fix-it"))
        .given([accept("and-this"), accept("and-that"), evaluate("and-that")])
        .step(commit_route("and-that"), Code("out_of_turn"))
        .step(drop_event("and-that"), Code("out_of_turn"))
        .given(route("and-this"))
        .step(commit_route("and-that"), Accepted)
        .sees("both are input, in order", |seen| {
            seen.pending("fix") == ["fix-it", "and-this", "and-that"]
        })
}

fn a_stale_lease_changes_nothing() -> Scenario {
    Scenario::in_world("attempts", "a stale lease changes nothing")
        .given(deliver("fix-it"))
        .given(start("fix"))
        .given([tick(), tick()])
        .step(complete("fix"), Code("lease_expired"))
        .step(fail("fix"), Code("lease_expired"))
        .step(claim("fix"), Code("attempt_open"))
        .step(claim_recovery("fix"), Accepted)
        .step(stale_renew("fix"), Code("stale_authority"))
        .step(stale_complete("fix"), Code("stale_authority"))
        .sees("the attempt is its recoverer's", |seen| seen.attempt_status("fix") == "running")
        .step(not_adoptable("fix"), Accepted)
}

fn what_is_refused_leaves_no_trace() -> Scenario {
    Scenario::in_world("waits", "what is refused leaves no trace")
        .given(deliver("start"))
        .given(start("fix"))
        .step(register("fix", "foreign", Mark::Latest), Code("key_not_owned"))
        .step(register("fix", "ci", Mark::Beyond), Code("watermark_ahead"))
        .step(accept("start"), Duplicate)
        .sees("the attempt runs, nothing waits and nothing was kept", |seen| {
            seen.status("fix") == "running"
                && seen.wait_status("fix") == "absent"
                && seen.accepted() == 1
        })
        .step(complete("fix"), Accepted)
}

fn a_failure_is_kept_whole() -> Scenario {
    Scenario::within(&FOUR_FAILURES, "a failure is kept whole")
        .given(deliver("start"))
        .given(start("fix"))
        .given([detach("fix")])
        .step(fail("fix"), Code("lease_expired"))
        .sees("nothing is armed for an attempt that runs", |seen| {
            seen.attempt_status("fix") == "running"
                && seen.retries_nothing("fix")
                && seen.failures("fix") == 0
        })
        .step(claim_recovery("fix"), Accepted)
        .step(not_adoptable("fix"), Accepted)
        .sees("one that failed has count, backoff and timer", |seen| {
            seen.failures("fix") == 1
                && seen.backoff("fix") == Some((1, TimerView::Armed(5)))
                && seen.attempt_status("fix") == "failed"
                && seen.status("fix") == "ready"
        })
}
