//! Attempts: claims and their guards in order, phases, and how an attempt ends.

use crate::command::{Command, Deferral, Outcome, Receipt, Refusal};
use crate::domain::{
    AttemptNo, AttemptStatus, Duration, Epoch, Hold, Phase, Seq, StartReason, WorkId, WorkStatus,
};
use crate::law::testing::{
    Bench, LEASE, Vary as _, cancel, complete, event, fail, forged, nobody, pin, pin_command, store,
};
use crate::store::{StoreError, Tx as _};

#[test]
fn a_claim_starts_the_first_attempt_with_all_pending_input() {
    let store = store();
    let mut bench = Bench::on(&store);
    let work = bench.ready("x");
    let second = bench.input("x", "b");
    let by = bench.claim(work);
    assert_eq!((by.attempt, by.epoch), (AttemptNo(1), Epoch(1)));
    let seen = bench.work(work);
    assert_eq!((seen.status, &seen.pending), (WorkStatus::Running, &vec![]));
    let attempt = seen.attempt.expect("an attempt");
    assert_eq!(attempt.phase, Some(Phase::NeverHanded));
    assert_eq!((attempt.trigger, attempt.batch), (Seq(1), vec![Seq(1), second]));
    assert_eq!((attempt.reason, attempt.expires_at), (StartReason::Start, Some(bench.now + LEASE)));
}

#[test]
fn claims_are_refused_in_order() {
    let store = store();
    let mut bench = Bench::on(&store);
    let (command, _) = bench.claim_command(WorkId(99));
    bench.refused(&command, Refusal::UnknownWork);

    let ended = bench.ready("ended");
    bench.accepted(&cancel(ended));
    let (command, _) = bench.claim_command(ended);
    bench.refused(&command, Refusal::Terminal);

    let running = bench.running("running").work;
    let (command, _) = bench.claim_command(running);
    bench.refused(&command, Refusal::AttemptOpen);

    let waiting = bench.parked("waiting", None).0.work;
    let (command, _) = bench.claim_command(waiting);
    bench.refused(&command, Refusal::WorkWaiting);
}

#[test]
fn a_hold_is_seen_before_a_mark_and_a_mark_before_capacity() {
    let store = store();
    let mut bench = Bench::on(&store);
    // No hold yet and nothing pending: nothing to start is seen before the hold.
    let by = bench.running("x");
    bench.accepted(&fail(by));
    let (command, _) = bench.claim_command(by.work);
    bench.refused(&command, Refusal::NothingToStart);
    bench.input("x", "b");
    bench.inert(&command, &Outcome::Deferred(Deferral::Held));

    let (by, _) = bench.parked("y", None);
    bench.input_wake("y");
    let (mut command, _) = bench.claim_command(by.work);
    if let Command::Claim { capacity, .. } = &mut command {
        *capacity = 0;
    }
    bench.inert(&command, &Outcome::Deferred(Deferral::Excluded));
    bench.vacate(by);
    bench.inert(&command, &Outcome::Deferred(Deferral::Capacity));
}

#[test]
fn capacity_counts_running_attempts_of_the_scope_alone() {
    let store = store();
    let mut bench = Bench::on(&store);
    let elsewhere = bench.accept(event("e").with_key("e").in_scope("other"));
    let elsewhere = bench.route(elsewhere).1.expect("a work");
    bench.claim(elsewhere);
    let work = bench.ready("x");
    let (mut command, _) = bench.claim_command(work);
    if let Command::Claim { capacity, .. } = &mut command {
        *capacity = 1;
    }
    bench.accepted(&command);
    let next = bench.ready("y");
    let (mut command, _) = bench.claim_command(next);
    if let Command::Claim { capacity, .. } = &mut command {
        *capacity = 1;
    }
    bench.inert(&command, &Outcome::Deferred(Deferral::Capacity));
}

#[test]
fn authority_is_checked_before_anything_else() {
    let store = store();
    let mut bench = Bench::on(&store);
    let work = bench.ready("x");
    for by in [nobody(work), nobody(WorkId(99))] {
        bench.refused(&complete(by), Refusal::StaleAuthority);
    }
    let by = bench.claim(work);
    let wrong_epoch = crate::domain::Authority { epoch: Epoch(2), ..by };
    let wrong_attempt = crate::domain::Authority { attempt: AttemptNo(2), ..by };
    for stale in [forged(by), wrong_epoch, wrong_attempt] {
        for command in [
            Command::ClearNeverHanded { by: stale },
            pin_command(stale),
            Command::Renew { by: stale, lease: LEASE },
            complete(stale),
            fail(stale),
        ] {
            bench.refused(&command, Refusal::StaleAuthority);
        }
    }
}

#[test]
fn a_lease_is_lost_at_its_very_end() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    bench.later(LEASE.0 - 1);
    bench.accepted(&Command::Renew { by, lease: LEASE });
    bench.later(LEASE.0);
    bench.refused(&Command::Renew { by, lease: LEASE }, Refusal::LeaseExpired);
    bench.refused(&complete(by), Refusal::LeaseExpired);
    // A forged claim is stale first, however late it is.
    bench.refused(&complete(forged(by)), Refusal::StaleAuthority);
}

#[test]
fn phases_move_one_by_one_and_repeats_are_inert() {
    let store = store();
    let mut bench = Bench::on(&store);
    let work = bench.ready("x");
    let by = bench.claim(work);
    let done = Receipt::Advanced { work, attempt: by.attempt };
    bench.refused(&pin_command(by), Refusal::NotHanded);
    bench.refused(&complete(by), Refusal::NotRunning);
    bench.hand(by);
    bench.inert(&Command::ClearNeverHanded { by }, &Outcome::Duplicate(done.clone()));
    bench.refused(&complete(by), Refusal::NotRunning);
    bench.accepted(&pin_command(by));
    bench.inert(&pin_command(by), &Outcome::Duplicate(done));
    bench.refused(&Command::ClearNeverHanded { by }, Refusal::NotLaunching);
}

#[test]
fn the_executors_metadata_is_kept_byte_for_byte() {
    let store = store();
    let mut bench = Bench::on(&store);
    let work = bench.ready("x");
    let by = bench.claim(work);
    bench.hand(by);
    let metadata = " {\"pid\": 7}\u{0}\n".to_owned();
    bench.accepted(&Command::Pin { by, metadata: metadata.clone() });
    let row = crate::store::attempts::referred(&mut bench.tx, work, by.attempt).expect("a row");
    assert_eq!(row.metadata, Some(metadata));
}

#[test]
fn completion_ends_the_work_and_its_authority() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    let receipt = bench.accepted(&complete(by));
    let status = WorkStatus::Completed;
    assert_eq!(receipt, Receipt::Ended { work: by.work, attempt: by.attempt, status });
    bench.refused(&complete(by), Refusal::StaleAuthority);
    let attempt = bench.work(by.work).attempt.expect("an attempt");
    assert_eq!((attempt.status, attempt.expires_at), (AttemptStatus::Completed, None));
}

#[test]
fn completion_conflicts_with_an_unrouted_event_of_its_work() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    let unrouted = bench.accept(event("b").with_key("x"));
    bench.inert(&complete(by), &Outcome::Conflict);
    bench.route(unrouted);
    // With input pending the work goes on, so that one more unrouted event blocks nothing.
    bench.accept(event("c").with_target(by.work));
    let status = WorkStatus::Ready;
    let ended = Receipt::Ended { work: by.work, attempt: by.attempt, status };
    assert_eq!(bench.accepted(&complete(by)), ended);
}

#[test]
fn the_next_attempt_takes_the_lowest_pending_input_as_its_trigger() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    let second = bench.input("x", "b");
    bench.accepted(&complete(by));
    let next = bench.claim(by.work);
    assert_eq!((next.attempt, next.epoch), (AttemptNo(2), Epoch(1)));
    let attempt = bench.work(by.work).attempt.expect("an attempt");
    assert_eq!((attempt.trigger, attempt.batch), (second, vec![second]));
    assert_eq!(attempt.reason, StartReason::Next);
}

#[test]
fn failure_holds_the_work_and_keeps_pending_input() {
    let store = store();
    let mut bench = Bench::on(&store);
    let work = bench.ready("x");
    let by = bench.claim(work);
    let pending = bench.input("x", "b");
    bench.accepted(&fail(by));
    let seen = bench.work(work);
    assert_eq!(
        (seen.status, seen.hold, seen.failures),
        (WorkStatus::Ready, Some(Hold::Exhausted), 1)
    );
    assert_eq!(seen.pending, vec![pending]);
    assert_eq!(seen.attempt.expect("an attempt").status, AttemptStatus::Failed);
    bench.refused(&fail(by), Refusal::StaleAuthority);
}

#[test]
fn renewal_extends_from_now() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    bench.later(400);
    let expires_at = bench.now + Duration(5_000);
    let receipt = bench.accepted(&Command::Renew { by, lease: Duration(5_000) });
    assert_eq!(receipt, Receipt::Renewed { work: by.work, expires_at });
}

#[test]
fn a_wait_without_resume_leads_to_the_next_number() {
    let store = store();
    let mut bench = Bench::on(&store);
    let work = bench.ready("x");
    let by = bench.claim_pinned_to(work, pin(false));
    bench.hand(by);
    bench.accepted(&pin_command(by));
    bench.wait_on(&crate::law::testing::wait_command(by, &["x"], Seq(1), None));
    let seen = bench.work(work).attempt.expect("an attempt");
    assert_eq!(seen.status, AttemptStatus::Waiting);
    let winner = bench.input_wake("x");
    bench.vacate(by);
    let next = bench.claim(work);
    assert_eq!((next.attempt, next.epoch), (AttemptNo(2), Epoch(1)));
    let attempt = bench.work(work).attempt.expect("an attempt");
    assert_eq!((attempt.trigger, attempt.reason), (winner, StartReason::Next));
}

#[test]
fn a_resume_keeps_number_and_trigger_and_takes_the_whole_batch() {
    let store = store();
    let mut bench = Bench::on(&store);
    let (by, _) = bench.parked("x", None);
    let winner = bench.input_wake("x");
    let later = bench.input("x", "later");
    bench.vacate(by);
    let resumed = bench.claim(by.work);
    assert_eq!((resumed.attempt, resumed.epoch), (by.attempt, Epoch(2)));
    let attempt = bench.work(by.work).attempt.expect("an attempt");
    assert_eq!((attempt.trigger, attempt.reason), (Seq(1), StartReason::Resume));
    assert_eq!(attempt.batch, vec![winner, later]);
    bench.refused(&complete(by), Refusal::StaleAuthority);
    let row = crate::store::attempts::referred(&mut bench.tx, by.work, by.attempt).expect("a row");
    assert_eq!((row.woken_by, row.parent), (Some(winner), Seq(winner.0 + 1)));
}

#[test]
fn a_claim_notices_that_a_work_and_its_input_disagree() {
    let store = store();
    let mut bench = Bench::on(&store);
    let work = bench.ready("x");
    let (command, _) = bench.claim_command(work);
    bench.tx.execute("UPDATE work SET pending_count = 3", &[]).expect("damage");
    let error = bench.attempt(&command).expect_err("damage");
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
}

#[test]
fn a_running_attempt_without_a_lease_is_damage_and_no_authority() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    bench.tx.execute("UPDATE attempt SET expires_at = NULL", &[]).expect("damage");
    let error = bench.attempt(&complete(by)).expect_err("damage");
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
}
