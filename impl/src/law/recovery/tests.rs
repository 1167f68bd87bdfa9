//! Recovery: who may take over, what is launched again and what is adopted, and exclusion.

use crate::command::{Command, Outcome, Receipt, Refusal};
use crate::domain::{BindingPin, Epoch, Hold, Phase, Segment, Seq, Verdict, WorkId, WorkStatus};
use crate::law::testing::{Bench, LEASE, cancel, complete, fail, pin, pin_command, settle, store};

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
    assert_eq!(
        (seen.status, seen.holds, seen.failures),
        (WorkStatus::Ready, vec![Hold::Exhausted], 1)
    );
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
