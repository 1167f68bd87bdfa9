//! Leases: authority ends at an exact instant, and what takes over is the same attempt.

use abide_model::view::TimerView;

use super::retries::FOUR_FAILURES;
use crate::scenario::Wanted::{Accepted, Code};
use crate::scenario::{
    Scenario, Shared, adopted, cancel, claim, claim_recovery, complete, crash, deliver, detach,
    fire_retry, hand_over, leave, not_adoptable, pin, renew, route, stale_adopted, stale_complete,
    stale_fail, stale_renew, start, tick, ticks,
};

/// Loss of a lease, adoption under a higher epoch, and results that come too late.
pub(super) const LEASE_LOSS_ADOPTION_AND_STALE_RESULT: Shared = Shared {
    id: "lease_loss_adoption_and_stale_result",
    rules: &[
        "LEASE-01",
        "LEASE-02",
        "LEASE-03",
        "LEASE-08",
        "LEASE-09",
        "LEASE-10",
        "LEASE-11",
        "LEASE-12",
        "ADOPT-01",
        "ADOPT-05",
        "ADOPT-08",
        "ADOPT-16",
        "ADOPT-18",
        "ADOPT-20",
        "ADOPT-21",
        "ADOPT-22",
        "ADOPT-23",
        "RETRY-30",
        "CANCEL-10",
        "OURS-19",
    ],
    parts: || {
        vec![
            at_the_instant_of_expiry_authority_is_gone(),
            a_live_lease_cannot_be_taken(),
            recovery_is_the_same_attempt_and_the_old_result_is_refused(),
            what_cannot_be_verified_fails_under_the_new_epoch(),
            a_launch_that_started_nothing_is_launched_again(),
            after_a_cancel_nothing_is_recovered(),
            a_cancel_fences_the_recoverer(),
            what_is_detached_can_be_recovered_at_once(),
            of_two_recoverers_one_holds_the_attempt(),
            a_crash_during_recovery_costs_an_epoch_and_nothing_else(),
            a_result_found_by_recovery_counts_under_its_epoch(),
            what_cannot_be_adopted_is_retried_like_any_failure(),
        ]
    },
};

fn at_the_instant_of_expiry_authority_is_gone() -> Scenario {
    Scenario::in_world("attempts", "at the instant of expiry authority is gone")
        .given(deliver("fix-it"))
        .given(start("fix"))
        .given([tick()])
        .step(renew("fix"), Accepted)
        .given([tick(), tick()])
        .step(renew("fix"), Code("lease_expired"))
        .step(complete("fix"), Code("lease_expired"))
        .step(claim("fix"), Code("attempt_open"))
}

fn a_live_lease_cannot_be_taken() -> Scenario {
    Scenario::in_world("attempts", "a live lease cannot be taken")
        .given(deliver("fix-it"))
        .step(claim_recovery("fix"), Code("nothing_to_recover"))
        .given(start("fix"))
        .given([tick()])
        .step(claim_recovery("fix"), Code("lease_live"))
        .given([tick()])
        .step(claim_recovery("fix"), Accepted)
        .step(claim_recovery("fix"), Code("lease_live"))
}

fn recovery_is_the_same_attempt_and_the_old_result_is_refused() -> Scenario {
    Scenario::in_world("attempts", "recovery is the same attempt, and the old result is refused")
        .given(deliver("fix-it"))
        .given(start("fix"))
        .given([tick(), tick(), claim_recovery("fix")])
        .step(stale_complete("fix"), Code("stale_authority"))
        .step(stale_renew("fix"), Code("stale_authority"))
        .step(complete("fix"), Code("not_running"))
        .step(adopted("fix"), Accepted)
        .sees("it is attempt 1 with the batch it had", |seen| {
            seen.attempt("fix") == 1 && seen.batch("fix") == ["fix-it"]
        })
        .step(stale_complete("fix"), Code("stale_authority"))
        .step(complete("fix"), Accepted)
        .sees("the work is completed once", |seen| seen.status("fix") == "completed")
}

fn what_cannot_be_verified_fails_under_the_new_epoch() -> Scenario {
    Scenario::in_world("attempts", "what cannot be verified fails under the new epoch")
        .given(deliver("fix-it"))
        .given([claim("fix"), hand_over("fix")])
        .given([tick(), tick()])
        .step(claim_recovery("fix"), Accepted)
        .step(not_adoptable("fix"), Accepted)
        .given(deliver("and-this"))
        .step(claim("fix"), Code("held"))
        .sees("it failed, and its process is not known to have stopped", |seen| {
            let excluded = seen.work("fix").map(|work| work.excluded);
            seen.attempt_status("fix") == "failed"
                && excluded == Some(abide_model::state::Exclusion::LastSegment)
        })
        .given(leave("fix"))
        .step(claim("fix"), Code("held"))
}

fn a_launch_that_started_nothing_is_launched_again() -> Scenario {
    Scenario::in_world("attempts", "a launch that started nothing is launched again")
        .given(deliver("ship-it"))
        .given([claim("ship"), hand_over("ship")])
        .given([tick(), tick()])
        .step(pin("ship"), Code("lease_expired"))
        .step(claim_recovery("ship"), Accepted)
        .step(adopted("ship"), Code("not_recovering"))
        .given([hand_over("ship"), pin("ship")])
        .step(complete("ship"), Accepted)
        .sees("no failure was counted", |seen| {
            seen.attempt("ship") == 1 && seen.work("ship").is_some_and(|work| work.failures == 0)
        })
}

fn after_a_cancel_nothing_is_recovered() -> Scenario {
    Scenario::in_world("attempts", "after a cancel nothing is recovered")
        .given(deliver("fix-it"))
        .given(start("fix"))
        .step(cancel("fix"), Accepted)
        .step(complete("fix"), Code("stale_authority"))
        .given([tick(), tick()])
        .step(claim_recovery("fix"), Code("nothing_to_recover"))
}

fn a_cancel_fences_the_recoverer() -> Scenario {
    Scenario::in_world("attempts", "a cancel fences the recoverer")
        .given(deliver("fix-it"))
        .given(start("fix"))
        .given([tick(), tick(), claim_recovery("fix")])
        .step(cancel("fix"), Accepted)
        .step(adopted("fix"), Code("stale_authority"))
        .sees("the work stays cancelled", |seen| seen.status("fix") == "cancelled")
}

fn what_is_detached_can_be_recovered_at_once() -> Scenario {
    Scenario::in_world("attempts", "what is detached can be recovered at once")
        .given(deliver("fix-it"))
        .given(start("fix"))
        .step(claim_recovery("fix"), Code("lease_live"))
        .step(detach("fix"), Accepted)
        .step(detach("fix"), Code("lease_expired"))
        .step(complete("fix"), Code("lease_expired"))
        .step(renew("fix"), Code("lease_expired"))
        .step(claim("fix"), Code("attempt_open"))
        .sees("the attempt runs on", |seen| {
            (seen.status("fix"), seen.attempt_status("fix"))
                == ("running".to_owned(), "running".to_owned())
        })
        .step(claim_recovery("fix"), Accepted)
        .step(stale_complete("fix"), Code("stale_authority"))
        .step(adopted("fix"), Accepted)
        .step(complete("fix"), Accepted)
        .sees("it was attempt 1 all along", |seen| {
            seen.attempt("fix") == 1 && seen.status("fix") == "completed"
        })
}

fn of_two_recoverers_one_holds_the_attempt() -> Scenario {
    Scenario::in_world("attempts", "of two recoverers one holds the attempt")
        .given(deliver("fix-it"))
        .given(start("fix"))
        .given(ticks(2))
        .step(claim_recovery("fix"), Accepted)
        .step(claim_recovery("fix"), Code("lease_live"))
        .given(ticks(2))
        .step(claim_recovery("fix"), Accepted)
        .step(stale_adopted("fix"), Code("stale_authority"))
        .step(stale_fail("fix"), Code("stale_authority"))
        .sees("the attempt is as the second one took it", |seen| {
            seen.attempt_status("fix") == "running" && seen.failures("fix") == 0
        })
        .step(adopted("fix"), Accepted)
}

fn a_crash_during_recovery_costs_an_epoch_and_nothing_else() -> Scenario {
    Scenario::in_world("attempts", "a crash during recovery costs an epoch and nothing else")
        .given(deliver("fix-it"))
        .given(start("fix"))
        .given(ticks(2))
        .step(claim_recovery("fix"), Accepted)
        .given([crash()])
        .step(claim_recovery("fix"), Code("lease_live"))
        .given(ticks(2))
        .step(adopted("fix"), Code("lease_expired"))
        .step(claim("fix"), Code("attempt_open"))
        .step(claim_recovery("fix"), Accepted)
        .given([crash(), tick(), tick()])
        .step(claim_recovery("fix"), Accepted)
        .sees("it is still to be adopted, with the batch it had", |seen| {
            seen.attempt("fix") == 1
                && seen.batch("fix") == ["fix-it"]
                && seen.failures("fix") == 0
                && seen.retries_nothing("fix")
        })
        .step(adopted("fix"), Accepted)
        .step(complete("fix"), Accepted)
}

fn a_result_found_by_recovery_counts_under_its_epoch() -> Scenario {
    Scenario::in_world("attempts", "a result found by recovery counts under its epoch")
        .given(deliver("fix-it"))
        .given(start("fix"))
        .given(ticks(2))
        .step(complete("fix"), Code("lease_expired"))
        .given([claim_recovery("fix")])
        .step(complete("fix"), Code("not_running"))
        .step(adopted("fix"), Accepted)
        .given([tick()])
        .step(complete("fix"), Accepted)
        .step(complete("fix"), Code("stale_authority"))
        .sees("the work is completed by its first attempt", |seen| {
            seen.attempt("fix") == 1 && seen.status("fix") == "completed"
        })
}

fn what_cannot_be_adopted_is_retried_like_any_failure() -> Scenario {
    Scenario::within(&FOUR_FAILURES, "what cannot be adopted is retried like any failure")
        .given(deliver("start"))
        .given(start("fix"))
        .given([detach("fix"), claim_recovery("fix")])
        .step(not_adoptable("fix"), Accepted)
        .sees("it is failure 1 and in backoff, and its process may run", |seen| {
            seen.failures("fix") == 1
                && seen.backoff("fix") == Some((1, TimerView::Armed(5)))
                && seen.attempt_status("fix") == "failed"
        })
        .given(ticks(5))
        .step(fire_retry("fix", 1), Accepted)
        .given(route("retry/fix/1"))
        .step(claim("fix"), Code("excluded"))
        .given(leave("fix"))
        .step(claim("fix"), Accepted)
        .sees("the next attempt started once it was seen to have gone", |seen| {
            seen.attempt("fix") == 2
        })
}
