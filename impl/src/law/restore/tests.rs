//! Restore: whose authority ends with it, which epochs follow, and what starts nothing until a
//! person says so.

use crate::command::{Command, Deferral, Outcome, Receipt, Refusal};
use crate::domain::{
    AttemptNo, BindingPin, Duration, Ending, Epoch, Incarnation, MarkKind, Phase, Segment, Verdict,
    WorkStatus,
};
use crate::law::testing::{
    Bench, LEASE, Vary as _, cancel, complete, event, fail, pin, pin_command, request, settle,
    store, wait_command,
};

fn release(id: &str) -> Command {
    Command::ReleaseRestore { request: request(id) }
}

fn restored(bench: &mut Bench<'_>) -> Incarnation {
    restored_above(bench, Incarnation(1))
}

fn restored_above(bench: &mut Bench<'_>, above: Incarnation) -> Incarnation {
    match bench.accepted(&Command::Restore { above }) {
        Receipt::Restored { incarnation } => incarnation,
        other @ (Receipt::Reloaded { .. }
        | Receipt::Event { .. }
        | Receipt::Routed { .. }
        | Receipt::Claimed { .. }
        | Receipt::Advanced { .. }
        | Receipt::Renewed { .. }
        | Receipt::Intent { .. }
        | Receipt::Ended { .. }
        | Receipt::Waiting { .. }
        | Receipt::Woken { .. }
        | Receipt::TimeoutAccepted { .. }
        | Receipt::Recovering { .. }
        | Receipt::Detached { .. }
        | Receipt::Vacated { .. }
        | Receipt::Held { .. }
        | Receipt::Cancelled { .. }) => panic!("{other:?}"),
    }
}

/// OURS-21 LEASE-15: in every phase, and before anything else is looked at.
#[test]
fn every_authority_of_before_is_stale_and_its_attempt_stays() {
    let store = store();
    let mut bench = Bench::on(&store);
    let launching = bench.ready("launching");
    let launching = bench.claim(launching);
    let pinned = bench.running("pinned");
    let recovering = bench.running("recovering");
    bench.later(LEASE.0 - 1);
    bench.accepted(&Command::Renew { by: pinned, lease: LEASE });
    bench.later(1);
    let (recovering, _) = bench.recover(recovering.work);
    let before = bench.see();
    assert_eq!(restored(&mut bench), Incarnation(2));
    let seen = bench.see();
    assert_eq!((seen.incarnation, seen.restored), (Incarnation(2), true));
    assert_eq!((seen.events, seen.keys), (before.events, before.keys));
    for (work, was) in seen.works.iter().zip(&before.works) {
        let (now, was) = (work.attempt.as_ref().expect("one"), was.attempt.as_ref().expect("one"));
        assert_eq!((now.n, now.epoch), (was.n, was.epoch));
        let launching = matches!(was.phase, Some(Phase::NeverHanded | Phase::Handed));
        assert_eq!(now.phase, if launching { Some(Phase::Recovering) } else { was.phase });
        assert!(now.expires_at <= Some(bench.now), "its lease is over");
        assert_eq!(work.status, WorkStatus::Running);
    }
    for by in [launching, pinned, recovering] {
        for command in [
            Command::ClearNeverHanded { by },
            pin_command(by),
            Command::Renew { by, lease: LEASE },
            complete(by),
            fail(by),
            settle(by, Verdict::Adopted),
            Command::Detach { by },
            wait_command(by, &[], bench.last_seq(), Some(1)),
        ] {
            bench.refused(&command, Refusal::StaleAuthority);
        }
    }
}

/// OURS-21: nothing is claimed and nothing recovered; everything else goes on.
#[test]
fn nothing_starts_until_a_person_says_so() {
    let store = store();
    let mut bench = Bench::on(&store);
    let running = bench.running("running");
    let ready = bench.ready("ready");
    let (parked, wait) = bench.parked("parked", Some(500));
    restored(&mut bench);
    let (claim, token) = bench.claim_command(ready);
    bench.inert(&claim, &Outcome::Deferred(Deferral::Restored));
    let recover = Command::ClaimRecovery { work: running.work, token, lease: LEASE };
    bench.inert(&recover, &Outcome::Deferred(Deferral::Restored));
    // Events are accepted and routed, and wake; people cancel.
    bench.input("ready", "more");
    bench.input_wake("parked");
    let woken = Command::FireTimer { wait };
    bench.refused(&woken, Refusal::TimerCancelled);
    bench.vacate(parked);
    let (resume, _) = bench.claim_command(parked.work);
    bench.inert(&resume, &Outcome::Deferred(Deferral::Restored));
    let other = bench.ready("other");
    bench.accepted(&cancel(other));
    let seq = bench.requested(&release("r"));
    let seen = bench.event_at(seq);
    assert_eq!(seen.event_type, "core.restore.released");
    assert_eq!((seen.mark, seen.work), (Some(MarkKind::Release), None));
    assert_eq!((seen.depth, seen.key, seen.target), (0, None, None));
    for command in [claim, recover, resume] {
        bench.accepted(&command);
    }
}

/// OURS-21: what was sent after the backup may be sent again first. Whatever else would be said of
/// a deadline comes before that.
#[test]
fn no_deadline_counts_until_a_person_says_so() {
    let store = store();
    let mut bench = Bench::on(&store);
    let (_, wait) = bench.parked("parked", Some(500));
    let failed = bench.running("failed");
    bench.accepted(&fail(failed));
    let idle = bench.running("idle");
    let ending = Ending::Handoff { close_after: Some(Duration(500)) };
    bench.accepted(&Command::Complete {
        by: idle,
        ending,
        status: None,
        proofs: Vec::new(),
        usage: None,
    });
    restored(&mut bench);
    let (work, attempt) = (failed.work, failed.attempt);
    let due = [
        Command::FireTimer { wait },
        Command::AcceptTimeout { wait },
        Command::FireRetry { work, attempt },
        Command::CloseIdle { work: idle.work },
    ];
    for _ in 0..2 {
        for command in &due {
            bench.inert(command, &Outcome::Deferred(Deferral::Restored));
        }
        bench.later(300_000);
    }
    let none = Command::FireRetry { work, attempt: AttemptNo(2) };
    bench.refused(&none, Refusal::NoRetry);
    bench.refused(&Command::CloseIdle { work }, Refusal::NotIdle);
    bench.requested(&release("r"));
    for command in [&due[0], &due[2], &due[3]] {
        bench.accepted(command);
    }
}

/// OURS-21: a registration wakes at once, whatever stands.
#[test]
fn the_restore_hold_comes_after_the_end_of_a_wait() {
    let store = store();
    let mut bench = Bench::on(&store);
    let (_, wait) = bench.parked("x", Some(500));
    bench.later(500);
    bench.accepted(&Command::FireTimer { wait });
    restored(&mut bench);
    let again = bench.apply(&Command::FireTimer { wait });
    assert!(matches!(again, Outcome::Duplicate(_)), "{again:?}");
}

/// OURS-21 OURS-23
#[test]
fn the_hold_is_lifted_once_and_a_repeat_lifts_no_later_one() {
    let store = store();
    let mut bench = Bench::on(&store);
    bench.refused(&release("r"), Refusal::NotHeld);
    restored(&mut bench);
    let seq = bench.requested(&release("r"));
    assert!(!bench.see().restored);
    bench.refused(&release("another"), Refusal::NotHeld);
    assert_eq!(restored(&mut bench), Incarnation(3));
    bench.inert(&release("r"), &Outcome::Duplicate(Receipt::Event { seq }));
    assert!(bench.see().restored);
    bench.requested(&release("again"));
}

/// Two restores without a release between them: the hold of the last stands.
#[test]
fn a_restored_database_may_be_restored_again() {
    let store = store();
    let mut bench = Bench::on(&store);
    for incarnation in [2, 3, 4, 5, 6, 7] {
        assert_eq!(restored(&mut bench), Incarnation(incarnation));
    }
    bench.requested(&release("r"));
    let by = bench.running("x");
    assert_eq!(by.epoch, Epoch(6_000_000_001));
    bench.accepted(&complete(by));
}

/// Decision 11: other copies of the database may have had lives that this one does not know.
#[test]
fn an_incarnation_is_above_all_that_are_known_of_in_one_step() {
    let store = store();
    let mut bench = Bench::on(&store);
    assert_eq!(restored_above(&mut bench, Incarnation(7)), Incarnation(8));
    assert_eq!(restored_above(&mut bench, Incarnation(7)), Incarnation(9));
    assert_eq!(restored_above(&mut bench, Incarnation(0)), Incarnation(10));
    let last = Command::Restore { above: Incarnation(u32::MAX) };
    bench.attempt(&last).expect_err("there is none above");
    bench.requested(&release("r"));
    assert_eq!(bench.running("x").epoch, Epoch(9_000_000_001));
}

/// Decision 11: no epoch of one incarnation is one of another, whichever way an attempt goes on.
#[test]
fn claims_of_an_incarnation_have_epochs_of_their_own() {
    let store = store();
    let mut bench = Bench::on(&store);
    let old = bench.running("x");
    let (parked, _) = bench.parked("parked", None);
    bench.vacate(parked);
    restored(&mut bench);
    bench.requested(&release("r"));
    // A recovery, which adopts what was pinned. ADOPT-13
    let (by, relaunch) = bench.recover(old.work);
    assert_eq!((by.attempt, by.epoch, relaunch), (old.attempt, Epoch(1_000_000_001), false));
    bench.accepted(&settle(by, Verdict::Adopted));
    bench.later(LEASE.0);
    assert_eq!(bench.recover(old.work).0.epoch, Epoch(1_000_000_002));
    // A resume.
    bench.input_wake("parked");
    assert_eq!(bench.claim(parked.work).epoch, Epoch(1_000_000_001));
    // A new attempt.
    let fresh = bench.running("fresh");
    assert_eq!(fresh.epoch, Epoch(1_000_000_001));
    bench.accepted(&cancel(fresh.work));
    assert_eq!(bench.work(fresh.work).excluded.map(|segment| segment.epoch), Some(fresh.epoch));
}

/// OURS-21 ADOPT-08: it may have been handed over and pinned in a life that the backup does not know.
#[test]
fn what_was_being_launched_before_a_restore_is_only_adopted_after_it() {
    for handed in [false, true] {
        let store = store();
        let mut bench = Bench::on(&store);
        let work = bench.ready("x");
        let holds = BindingPin { holds_until_pin: true, ..pin(true) };
        let by = bench.claim_pinned_to(work, holds);
        if handed {
            bench.hand(by);
        }
        restored(&mut bench);
        bench.requested(&release("r"));
        let (by, relaunch) = bench.recover(work);
        assert!(!relaunch);
        let attempt = bench.work(work).attempt.expect("an attempt");
        assert_eq!((attempt.phase, attempt.epoch), (Some(Phase::Recovering), by.epoch));
        bench.accepted(&settle(by, Verdict::NotAdoptable));
        let segment = Segment { attempt: by.attempt, epoch: by.epoch };
        assert_eq!(bench.work(work).excluded, Some(segment));
    }
}

/// OURS-21 CANCEL-06: the same of one that is cancelled instead.
#[test]
fn what_was_being_launched_before_a_restore_may_run_when_it_is_cancelled() {
    let store = store();
    let mut bench = Bench::on(&store);
    let work = bench.ready("x");
    bench.claim(work);
    restored(&mut bench);
    bench.accepted(&cancel(work));
    assert!(bench.work(work).excluded.is_some());
}

/// The order of what a recovery is refused for.
#[test]
fn a_recovery_is_refused_before_it_is_put_off() {
    let store = store();
    let mut bench = Bench::on(&store);
    let ready = bench.ready("ready");
    let (parked, _) = bench.parked("x", None);
    restored(&mut bench);
    let token = bench.token();
    for work in [ready, parked.work] {
        let recover = Command::ClaimRecovery { work, token, lease: LEASE };
        bench.refused(&recover, Refusal::NothingToRecover);
    }
    bench.accept(event("b").with_key("ready"));
}
