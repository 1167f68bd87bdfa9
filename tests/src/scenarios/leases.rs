//! Leases: authority ends at an exact instant, and what takes over is the same attempt.

use crate::scenario::Wanted::{Accepted, Code};
use crate::scenario::{
    Scenario, Shared, adopted, cancel, claim, claim_recovery, complete, deliver, hand_over, leave,
    not_adoptable, pin, renew, stale_complete, stale_renew, start, tick,
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
        "LEASE-12",
        "ADOPT-01",
        "ADOPT-05",
        "ADOPT-08",
        "ADOPT-20",
        "ADOPT-22",
        "CANCEL-10",
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
