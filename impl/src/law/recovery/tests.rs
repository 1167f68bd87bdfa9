//! Recovery: who may take over, what is launched again and what is adopted, and exclusion.

use crate::command::{Command, Outcome, Receipt, Refusal};
use crate::domain::{BindingPin, Epoch, Phase, Segment, Seq, Verdict, WorkId, WorkStatus};
use crate::law::testing::{
    Bench, LEASE, cancel, complete, fail, forged, nobody, pin, pin_command, settle, store,
    wait_command,
};

#[test]
fn only_an_expired_running_attempt_is_recovered() {
    let store = store();
    let mut bench = Bench::on(&store);
    let token = bench.token();
    let of = |work| Command::ClaimRecovery { work, token, lease: LEASE };
    bench.refused(&of(WorkId(99)), Refusal::UnknownWork);
    let ready = bench.ready("ready");
    bench.refused(&of(ready), Refusal::NothingToRecover);
    let (parked, _) = bench.parked("parked", None);
    bench.later(LEASE.0);
    bench.refused(&of(parked.work), Refusal::NothingToRecover);
    let by = bench.running("x");
    bench.later(LEASE.0 - 1);
    bench.refused(&of(by.work), Refusal::LeaseLive);
    bench.later(1);
    bench.accepted(&of(by.work));
    bench.refused(&of(by.work), Refusal::LeaseLive);
}

#[test]
fn what_was_never_handed_is_launched_again_under_the_next_epoch() {
    let store = store();
    let mut bench = Bench::on(&store);
    let work = bench.ready("x");
    let old = bench.claim(work);
    bench.later(LEASE.0);
    let (by, relaunch) = bench.recover(work);
    assert!(relaunch);
    assert_eq!((by.attempt, by.epoch), (old.attempt, Epoch(2)));
    let attempt = bench.work(work).attempt.expect("an attempt");
    assert_eq!((attempt.phase, attempt.batch), (Some(Phase::NeverHanded), vec![Seq(1)]));
    assert_eq!(bench.work(work).failures, 0);
    bench.refused(&Command::ClearNeverHanded { by: old }, Refusal::StaleAuthority);
    bench.hand(by);
}

#[test]
fn what_was_handed_is_adopted_unless_its_executor_holds_everything_until_the_pin() {
    for holds_until_pin in [false, true] {
        let store = store();
        let mut bench = Bench::on(&store);
        let work = bench.ready("x");
        let by = bench.claim_pinned_to(work, BindingPin { holds_until_pin, ..pin(true) });
        bench.hand(by);
        bench.later(LEASE.0);
        assert_eq!(bench.recover(work).1, holds_until_pin);
    }
}

#[test]
fn what_is_pinned_or_under_recovery_is_only_adopted() {
    let store = store();
    let mut bench = Bench::on(&store);
    let work = bench.ready("x");
    let by = bench.claim_pinned_to(work, BindingPin { holds_until_pin: true, ..pin(true) });
    bench.hand(by);
    bench.accepted(&pin_command(by));
    for epoch in [2, 3] {
        bench.later(LEASE.0);
        let (by, relaunch) = bench.recover(work);
        assert_eq!((by.epoch, relaunch), (Epoch(epoch), false));
    }
}

#[test]
fn a_recoverer_settles_before_it_may_report() {
    let store = store();
    let mut bench = Bench::on(&store);
    let old = bench.running("x");
    bench.refused(&settle(old, Verdict::Adopted), Refusal::NotRecovering);
    bench.later(LEASE.0);
    let (by, _) = bench.recover(old.work);
    bench.refused(&settle(old, Verdict::Adopted), Refusal::StaleAuthority);
    bench.refused(&Command::ClearNeverHanded { by }, Refusal::NotLaunching);
    bench.refused(&pin_command(by), Refusal::NotLaunching);
    bench.refused(&complete(by), Refusal::NotRunning);
    bench.refused(&fail(by), Refusal::NotRunning);
    bench.accepted(&settle(by, Verdict::Adopted));
    bench.refused(&settle(by, Verdict::Adopted), Refusal::NotRecovering);
    bench.accepted(&complete(by));
}

#[test]
fn what_cannot_be_adopted_fails_and_keeps_its_process_excluded() {
    let store = store();
    let mut bench = Bench::on(&store);
    let old = bench.running("x");
    bench.later(LEASE.0);
    let (by, _) = bench.recover(old.work);
    bench.accepted(&settle(by, Verdict::NotAdoptable));
    let seen = bench.work(by.work);
    assert_eq!((seen.status, seen.failures), (WorkStatus::Ready, 1));
    assert_eq!(seen.backoff, Some(by.attempt));
    assert_eq!(seen.excluded, Some(Segment { attempt: by.attempt, epoch: by.epoch }));
    bench.refused(&complete(by), Refusal::StaleAuthority);
}

#[test]
fn a_mark_is_lifted_by_the_exit_of_its_own_segment_alone() {
    let store = store();
    let mut bench = Bench::on(&store);
    let of = |work, segment| Command::Vacate { work, segment };
    let by = bench.running("x");
    let own = Segment { attempt: by.attempt, epoch: by.epoch };
    bench.refused(&of(WorkId(99), own), Refusal::UnknownWork);
    bench.refused(&of(by.work, own), Refusal::NotExcluded);
    bench.accepted(&cancel(by.work));
    let stale = Segment { epoch: Epoch(9), ..own };
    bench.refused(&of(by.work, stale), Refusal::StaleSegment);
    assert_eq!(bench.accepted(&of(by.work, own)), Receipt::Vacated { work: by.work });
    bench.refused(&of(by.work, own), Refusal::NotExcluded);
}

#[test]
fn cancelling_fences_a_recoverer() {
    let store = store();
    let mut bench = Bench::on(&store);
    let old = bench.running("x");
    bench.later(LEASE.0);
    let (by, _) = bench.recover(old.work);
    bench.accepted(&cancel(by.work));
    bench.refused(&settle(by, Verdict::Adopted), Refusal::StaleAuthority);
    let receipt = Receipt::Cancelled { work: by.work };
    bench.inert(&cancel(by.work), &Outcome::Duplicate(receipt));
}

/// L01: a scan that read before the owner completed, or before another recoverer claimed.
#[test]
fn a_recovery_from_an_old_look_changes_nothing() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    bench.later(LEASE.0);
    let token = bench.token();
    let stale = Command::ClaimRecovery { work: by.work, token, lease: LEASE };
    // Another recoverer was faster, adopts, and completes.
    let (by, _) = bench.recover(by.work);
    bench.refused(&stale, Refusal::LeaseLive);
    bench.accepted(&settle(by, Verdict::Adopted));
    bench.later(LEASE.0 - 1);
    bench.accepted(&Command::Renew { by, lease: LEASE });
    bench.later(1);
    bench.refused(&stale, Refusal::LeaseLive);
    bench.accepted(&complete(by));
    bench.later(10 * LEASE.0);
    bench.refused(&stale, Refusal::NothingToRecover);
}

/// L02: a lease that is renewed is never stolen, however long the attempt runs.
#[test]
fn two_hours_of_renewals_are_one_attempt_one_epoch_and_no_recovery() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    let token = bench.token();
    let recover = Command::ClaimRecovery { work: by.work, token, lease: LEASE };
    for _ in 0..7_200 {
        bench.later(LEASE.0 - 1);
        bench.refused(&recover, Refusal::LeaseLive);
        bench.accepted(&Command::Renew { by, lease: LEASE });
    }
    let attempt = bench.work(by.work).attempt.expect("an attempt");
    assert_eq!((attempt.n, attempt.epoch), (by.attempt, by.epoch));
    bench.accepted(&complete(by));
}

/// L05 LEASE-08: whoever loses the race holds nothing, and its token was never granted.
#[test]
fn the_recoverer_that_lost_the_race_can_do_nothing() {
    let store = store();
    let mut bench = Bench::on(&store);
    let old = bench.running("x");
    bench.later(LEASE.0);
    let (winner, _) = bench.recover(old.work);
    let token = bench.token();
    bench.refused(
        &Command::ClaimRecovery { work: old.work, token, lease: LEASE },
        Refusal::LeaseLive,
    );
    let loser = crate::domain::Authority { token, ..winner };
    bench.refused(&settle(loser, Verdict::Adopted), Refusal::StaleAuthority);
    bench.refused(&settle(old, Verdict::Adopted), Refusal::StaleAuthority);
    bench.accepted(&settle(winner, Verdict::Adopted));
}

/// L16: with and without an executor that holds everything until the pin.
#[test]
fn a_crash_between_launching_and_started_spends_no_failure_and_is_never_stuck() {
    for (handed, holds_until_pin) in [(false, false), (false, true), (true, false), (true, true)] {
        let store = store();
        let mut bench = Bench::on(&store);
        let work = bench.ready("x");
        let old = bench.claim_pinned_to(work, BindingPin { holds_until_pin, ..pin(true) });
        if handed {
            bench.hand(old);
        }
        bench.later(LEASE.0);
        let (by, relaunch) = bench.recover(work);
        assert_eq!(relaunch, !handed || holds_until_pin);
        assert_eq!((by.attempt, bench.work(work).failures), (old.attempt, 0));
        if relaunch {
            bench.hand(by);
            bench.accepted(&pin_command(by));
        } else {
            bench.accepted(&settle(by, Verdict::Adopted));
        }
        bench.refused(&pin_command(old), Refusal::StaleAuthority);
        bench.accepted(&complete(by));
    }
}

/// OURS-19 LEASE-02, decision 12: in every phase; process, attempt and token stay as they are.
#[test]
fn a_detached_attempt_is_recovered_at_once_and_who_held_it_is_told_that_its_lease_is_over() {
    for stage in 0..4 {
        let store = store();
        let mut bench = Bench::on(&store);
        let work = bench.ready("x");
        let mut by = bench.claim(work);
        if stage > 0 {
            bench.hand(by);
        }
        if stage > 1 {
            bench.accepted(&pin_command(by));
        }
        if stage > 2 {
            bench.later(LEASE.0);
            by = bench.recover(work).0;
        }
        let before = bench.work(work);
        let (token, attempt) = (bench.token(), by.attempt);
        let recover = Command::ClaimRecovery { work, token, lease: LEASE };
        bench.refused(&recover, Refusal::LeaseLive);
        let detached = Receipt::Detached { work, attempt };
        assert_eq!(bench.accepted(&Command::Detach { by }), detached);
        let mut after = bench.work(work);
        let open = after.attempt.as_mut().expect("an attempt");
        assert_eq!(open.expires_at, Some(bench.now));
        open.expires_at = before.attempt.as_ref().and_then(|attempt| attempt.expires_at);
        assert_eq!(after, before, "stage {stage}");
        for command in [
            Command::Detach { by },
            Command::Renew { by, lease: LEASE },
            Command::ClearNeverHanded { by },
            pin_command(by),
            complete(by),
            fail(by),
            wait_command(by, &["x"], Seq(0), None),
            settle(by, Verdict::Adopted),
        ] {
            bench.refused(&command, Refusal::LeaseExpired);
        }
        assert!(matches!(bench.accepted(&recover), Receipt::Recovering { .. }));
        bench.refused(&Command::Detach { by }, Refusal::StaleAuthority);
    }
}

/// LEASE-04
#[test]
fn nobody_detaches_what_is_not_theirs() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    for by in [forged(by), nobody(WorkId(9))] {
        bench.refused(&Command::Detach { by }, Refusal::StaleAuthority);
    }
    bench.accepted(&complete(by));
    bench.refused(&Command::Detach { by }, Refusal::StaleAuthority);
}
