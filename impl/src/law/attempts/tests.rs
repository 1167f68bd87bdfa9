//! Attempts: claims and their guards in order, phases, and how an attempt ends.

use crate::command::{Command, Deferral, Outcome, Receipt, Refusal};
use crate::domain::{
    AttemptNo, AttemptStatus, AttemptUid, Authority, BindingPin, Duration, Ending, Epoch,
    Exhausted, Generation, MarkKind, Phase, Provenance, Segment, Seq, StartReason, Verdict, WorkId,
    WorkStatus,
};
use crate::law::testing::{
    Bench, LEASE, Vary as _, cancel, complete, event, fail, forged, limit, nobody, pin,
    pin_command, policy, settle, store, wait_command,
};
use crate::store::attempts::{self, Attempt};
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
    let work = bench.ready("x");
    let by = bench.running_under(work, &policy(1, Exhausted::Keep));
    bench.accepted(&fail(by));
    let (command, _) = bench.claim_command(by.work);
    bench.refused(&command, Refusal::NothingToStart);
    bench.input("x", "b");
    bench.inert(&command, &Outcome::Deferred(Deferral::Held));

    let (by, _) = bench.parked("y", None);
    bench.input_wake("y");
    let (mut command, _) = bench.claim_command(by.work);
    if let Command::Claim { capacity, .. } = &mut command {
        *capacity = limit("acme", 0);
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
        *capacity = limit("acme", 1);
    }
    bench.accepted(&command);
    let next = bench.ready("y");
    let (mut command, _) = bench.claim_command(next);
    if let Command::Claim { capacity, .. } = &mut command {
        *capacity = limit("acme", 1);
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
    let wrong_epoch = Authority { epoch: Epoch(2), ..by };
    let wrong_attempt = Authority { attempt: AttemptNo(2), ..by };
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
    let row = attempts::referred(&mut bench.tx, work, by.attempt).expect("a row");
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

/// What could not even be launched is a failure like any other. OURS-20 T15
#[test]
fn an_attempt_fails_in_any_phase_but_recovery() {
    for stage in 0..3 {
        let store = store();
        let mut bench = Bench::on(&store);
        let work = bench.ready("x");
        let by = bench.claim(work);
        if stage > 0 {
            bench.hand(by);
        }
        if stage > 1 {
            bench.accepted(&pin_command(by));
        }
        bench.accepted(&fail(by));
        let seen = bench.work(work);
        assert_eq!((seen.status, seen.failures), (WorkStatus::Ready, 1), "stage {stage}");
        assert_eq!(seen.attempt.expect("an attempt").status, AttemptStatus::Failed);
        bench.refused(&fail(by), Refusal::StaleAuthority);
    }
}

/// L04: one millisecond before its end a lease is whole, at its end it is nothing, for whoever has
/// its token.
#[test]
fn at_the_end_of_a_lease_every_report_is_refused_and_just_before_it_none() {
    let reports: [fn(Authority, Seq) -> Command; 6] = [
        |by, _| Command::Renew { by, lease: LEASE },
        |by, _| complete(by),
        |by, _| fail(by),
        |by, _| Command::Detach { by },
        |by, after| wait_command(by, &["x"], after, None),
        |by, _| handoff(by, None),
    ];
    for report in reports {
        for early in [true, false] {
            let store = store();
            let mut bench = Bench::on(&store);
            let by = bench.running("x");
            let after = bench.last_seq();
            bench.later(LEASE.0 - u64::from(early));
            let command = report(by, after);
            if early {
                bench.accepted(&command);
            } else {
                bench.refused(&command, Refusal::LeaseExpired);
                bench.later(1);
                bench.refused(&command, Refusal::LeaseExpired);
            }
        }
    }
}

/// L20: the holder says it again, and nothing of its lease is lost by that.
#[test]
fn a_renewal_whose_answer_was_lost_is_renewed_again() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    bench.later(400);
    let expires_at = bench.now + LEASE;
    let renewed = Receipt::Renewed { work: by.work, expires_at };
    assert_eq!(bench.accepted(&Command::Renew { by, lease: LEASE }), renewed);
    assert_eq!(bench.accepted(&Command::Renew { by, lease: LEASE }), renewed);
    bench.later(LEASE.0 - 1);
    bench.accepted(&complete(by));
}

/// L18: what runs is what the database says runs, whoever is there to run it.
#[test]
fn an_attempt_without_a_live_lease_takes_up_its_capacity_all_the_same() {
    let store = store();
    let mut bench = Bench::on(&store);
    let first = bench.running("a");
    bench.running("b");
    let work = bench.ready("c");
    bench.accepted(&Command::Detach { by: first });
    bench.later(10 * LEASE.0);
    let (mut claim, _) = bench.claim_command(work);
    if let Command::Claim { capacity, .. } = &mut claim {
        *capacity = limit("acme", 2);
    }
    bench.inert(&claim, &Outcome::Deferred(Deferral::Capacity));
    let (by, _) = bench.recover(first.work);
    bench.inert(&claim, &Outcome::Deferred(Deferral::Capacity));
    bench.accepted(&settle(by, Verdict::Adopted));
    bench.accepted(&complete(by));
    bench.accepted(&claim);
}

/// C10: an attempt ends once over a backlog, and the next one takes it whole.
#[test]
fn an_attempt_completes_over_a_backlog_and_the_next_takes_all_of_it() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    let backlog: Vec<_> = (0..100).map(|n| bench.input("x", &format!("event-{n}"))).collect();
    bench.accept(event("one more").with_key("x"));
    bench.accepted(&complete(by));
    bench.refused(&complete(by), Refusal::StaleAuthority);
    let next = bench.claim(by.work);
    let attempt = bench.work(by.work).attempt.expect("an attempt");
    assert_eq!((next.attempt, attempt.batch), (AttemptNo(2), backlog));
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
    bench.wait_on(&wait_command(by, &["x"], Seq(1), None));
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
    let row = attempts::referred(&mut bench.tx, by.work, by.attempt).expect("a row");
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

fn handoff(by: Authority, close_after: Option<u64>) -> Command {
    let close_after = close_after.map(Duration);
    Command::Complete {
        by,
        ending: Ending::Handoff { close_after },
        status: None,
        proofs: Vec::new(),
        usage: None,
    }
}

fn declared(by: Authority) -> Command {
    Command::Complete {
        by,
        ending: Ending::Completed,
        status: Some("review".to_owned()),
        proofs: Vec::new(),
        usage: None,
    }
}

fn close_idle(work: WorkId) -> Command {
    Command::CloseIdle { work }
}

/// DONE-06 JOB-21
#[test]
fn a_handoff_leaves_the_work_ready_and_idle_until_its_next_input() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    bench.accepted(&handoff(by, Some(500)));
    let seen = bench.work(by.work);
    assert_eq!((seen.status, seen.idle_at), (WorkStatus::Ready, Some(bench.now + Duration(500))));
    let (claim, _) = bench.claim_command(by.work);
    bench.refused(&claim, Refusal::NothingToStart);
    bench.input("x", "b");
    bench.later(500);
    bench.refused(&close_idle(by.work), Refusal::NotIdle);
    bench.accepted(&claim);
    assert_eq!(bench.work(by.work).idle_at, None);
}

#[test]
fn a_handoff_over_pending_input_is_not_idle() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    bench.input("x", "b");
    bench.accepted(&handoff(by, Some(500)));
    assert_eq!(bench.work(by.work).idle_at, None);
}

/// A handoff does not end the work, so nothing unrouted stands against it. DONE-02
#[test]
fn a_handoff_does_not_wait_for_what_is_unrouted() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    bench.accept(event("b").with_key("x"));
    bench.inert(&complete(by), &Outcome::Conflict);
    bench.accepted(&handoff(by, Some(500)));
    // But closing it does.
    bench.later(500);
    bench.inert(&close_idle(by.work), &Outcome::Conflict);
}

#[test]
fn idle_work_is_closed_at_its_time_and_not_before() {
    let store = store();
    let mut bench = Bench::on(&store);
    bench.refused(&close_idle(WorkId(9)), Refusal::UnknownWork);
    let by = bench.running("x");
    bench.refused(&close_idle(by.work), Refusal::NotIdle);
    bench.accepted(&handoff(by, Some(500)));
    bench.later(499);
    bench.refused(&close_idle(by.work), Refusal::NotDue);
    bench.later(1);
    let work = by.work;
    assert_eq!(bench.accepted(&close_idle(work)), Receipt::Cancelled { work });
    bench.refused(&close_idle(by.work), Refusal::Terminal);
}

/// JOB-14 JOB-16 JOB-27 OURS-10
#[test]
fn standing_work_outlives_its_attempts() {
    let store = store();
    let mut bench = Bench::on(&store);
    let work = bench.standing("x");
    let by = bench.claim_and_pin(work);
    bench.accepted(&complete(by));
    assert_eq!(bench.work(work).status, WorkStatus::Ready);
    bench.input("x", "b");
    let by = bench.claim_and_pin(work);
    bench.accepted(&fail(by));
    let seen = bench.work(work);
    assert_eq!((seen.status, seen.holds, seen.failures), (WorkStatus::Ready, vec![], 0));
    bench.input("x", "c");
    let by = bench.claim_and_pin(work);
    bench.accepted(&handoff(by, Some(500)));
    assert_eq!(bench.work(work).idle_at, None);
    bench.refused(&cancel(work), Refusal::Standing);
}

/// ALIAS-15 WAIT-06 DONE-02, reading B14
#[test]
fn a_declared_status_is_published_and_never_comes_back_to_its_own_work() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    let pending = bench.input("x", "b");
    bench.accepted(&declared(by));
    let seq = bench.last_seq();
    let seen = bench.event_at(seq);
    assert_eq!((seen.event_type.as_str(), seen.parent), ("core.turn.ended", Some(Seq(1))));
    assert_eq!(seen.key.map(|key| key.external_id).as_deref(), Some("x"));
    let (work, attempt) = (by.work, by.attempt);
    assert_eq!(seen.provenance, Some(Provenance { work, attempt }));
    // It stands in nobody's way: the work completes over it.
    let by = bench.claim_and_pin(by.work);
    bench.accepted(&complete(by));
    assert_eq!(bench.work(by.work).status, WorkStatus::Completed);
    assert_eq!(bench.route(seq), (MarkKind::Unmatched, None));
    assert!(bench.work(by.work).consumed.iter().any(|input| input.event == pending));
}

/// WAIT-06
#[test]
fn a_turns_end_wakes_nobody_of_its_own_work() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    bench.input("x", "b");
    bench.accepted(&declared(by));
    let by = bench.claim_and_pin(by.work);
    let (_, winner) = bench.wait_on(&wait_command(by, &["x"], Seq(0), None));
    assert_eq!(winner, None);
}

/// REJECT-01
#[test]
fn a_turns_end_too_deep_leaves_a_diagnostic_and_the_ending_stands() {
    let store = store();
    let mut bench = Bench::on(&store);
    let seq = bench.accept(event("a").with_key("x").with_depth(0));
    let work = bench.route(seq).1.expect("a work");
    let by = bench.claim_and_pin(work);
    bench.accepted(&declared(by));
    let seen = bench.see();
    assert_eq!((seen.events.len(), seen.rejections.len()), (1, 1));
    assert_eq!(bench.work(work).status, WorkStatus::Completed);
}

/// BIND-10 WAKE-27 WAKE-28
#[test]
fn a_resumed_attempt_keeps_its_first_pin_and_the_active_time_it_had_left() {
    let store = store();
    let mut bench = Bench::on(&store);
    let work = bench.ready("x");
    let to = BindingPin { generation: Generation(1), active: Some(Duration(900)), ..pin(true) };
    let by = bench.claim_pinned_to(work, to);
    bench.hand(by);
    bench.accepted(&pin_command(by));
    bench.later(300);
    let after = bench.last_seq();
    bench.wait_on(&wait_command(by, &["x"], after, None));
    let active = |bench: &mut Bench<'_>| {
        bench.work(work).attempt.expect("an attempt").active.map(|active| active.left.0)
    };
    assert_eq!(active(&mut bench), Some(600));
    // Waiting costs nothing, however long.
    bench.later(1_000_000);
    bench.vacate(by);
    bench.input_wake("x");
    let newer = BindingPin { generation: Generation(2), active: Some(Duration(9)), ..pin(false) };
    let resumed = bench.claim_pinned_to(work, newer);
    let seen = bench.work(work).attempt.expect("an attempt");
    assert_eq!((seen.generation, seen.n), (Generation(1), by.attempt));
    assert_eq!(active(&mut bench), Some(600));
    // A recovery goes on with the same segment's time.
    bench.later(LEASE.0);
    bench.recover(resumed.work);
    let attempt = attempts::referred(&mut bench.tx, work, by.attempt);
    let attempt = attempt.expect("an attempt");
    assert_eq!(attempt.active_at(bench.now), Some(Duration(0)));
}

/// POLICY-06
#[test]
fn a_scope_above_counts_what_runs_below_it() {
    let store = store();
    let mut bench = Bench::on(&store);
    let below = bench.accept(event("a").with_key("a").in_scope("acme/web"));
    let below = bench.route(below).1.expect("a work");
    let beside = bench.accept(event("b").with_key("b").in_scope("acme0"));
    let beside = bench.route(beside).1.expect("a work");
    bench.claim(below);
    bench.claim(beside);
    let work = bench.ready("x");
    let (mut command, _) = bench.claim_command(work);
    if let Command::Claim { capacity, .. } = &mut command {
        *capacity = [limit("acme/api", 1), limit("acme", 1)].concat();
    }
    bench.inert(&command, &Outcome::Deferred(Deferral::Capacity));
    if let Command::Claim { capacity, .. } = &mut command {
        *capacity = [limit("acme/api", 1), limit("acme", 2)].concat();
    }
    bench.accepted(&command);
}

/// POLICY-07: storage keeps one open attempt a work; that capacity and backoff forbid one it cannot say.
#[test]
fn the_store_refuses_a_second_open_attempt_and_judges_nothing_else() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    let running = attempts::referred(&mut bench.tx, by.work, by.attempt).expect("an attempt");
    let uid = AttemptUid::from_uuid(uuid::Uuid::from_u128(7));
    let second = Attempt { n: AttemptNo(2), uid, ..running };
    assert!(attempts::insert(&mut bench.tx, &second).is_err(), "one attempt of it is open");
    bench.accepted(&fail(by));
    let (claim, _) = bench.claim_command(by.work);
    bench.inert(&claim, &Outcome::Deferred(Deferral::Backoff));
    attempts::insert(&mut bench.tx, &second).expect("nothing of storage looks at the backoff");
}

/// POLICY-22: an executor that holds nothing back may have started what it was handed.
#[test]
fn a_launch_that_fails_excludes_its_segment_unless_its_executor_holds_processes() {
    for (handed, holds_until_pin) in [(false, false), (false, true), (true, false), (true, true)] {
        let store = store();
        let mut bench = Bench::on(&store);
        let work = bench.ready("x");
        let by = bench.claim_pinned_to(work, BindingPin { holds_until_pin, ..pin(true) });
        if handed {
            bench.hand(by);
        }
        bench.accepted(&fail(by));
        let segment = Segment { attempt: by.attempt, epoch: by.epoch };
        let excluded = (handed && !holds_until_pin).then_some(segment);
        assert_eq!(bench.work(work).excluded, excluded);
    }
}
