//! Intents: each guard in its order, each effect, and what becomes of them when the attempt ends.

mod cells;
mod proofs;

use crate::command::{Command, Outcome, Receipt, Refusal};
use crate::domain::{
    AttemptNo, AttemptStatus, Authority, BindingPin, Control, Decision, Duration, Ending, Fallback,
    Hold, Incarnation, IntentKind, IntentStatus, MarkKind, SendAnswer, Seq, Verdict, WorkId,
    WorkStatus,
};
use crate::law::testing::{
    Bench, LEASE, Vary as _, cancel, complete, dispatch, event, fail, forged, interrupt, nobody,
    pin, request, settle, settle_send, store, wait_command,
};
use crate::store::engine::{Each, StoreError, Tx, Value};
use crate::store::{intents, reads};

const ANSWERS: [SendAnswer; 3] =
    [SendAnswer::Accepted, SendAnswer::NotAccepting, SendAnswer::Failed];

fn duplicate(bench: &mut Bench<'_>, work: WorkId, event: Seq) -> Outcome {
    let seen = bench.event_at(event).intent.expect("an intent");
    let (attempt, kind, status) = (seen.attempt, seen.kind, seen.status);
    Outcome::Duplicate(Receipt::Intent { event, work, attempt, kind, status })
}

/// LEASE-04: before anything else is looked at.
#[test]
fn a_dispatch_is_refused_without_authority_first() {
    let store = store();
    let mut bench = Bench::on(&store);
    bench.refused(&dispatch(nobody(WorkId(1)), Seq(9)), Refusal::StaleAuthority);
    let by = bench.running("x");
    let seq = bench.inject("x", "a");
    bench.refused(&dispatch(forged(by), seq), Refusal::StaleAuthority);
    bench.refused(&dispatch(forged(by), Seq(99)), Refusal::StaleAuthority);
    bench.later(LEASE.0);
    bench.refused(&dispatch(by, seq), Refusal::LeaseExpired);
    bench.refused(&dispatch(by, Seq(99)), Refusal::LeaseExpired);
}

#[test]
fn only_an_intent_of_the_work_itself_is_dispatched() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    bench.running("y");
    let queued = bench.input("x", "queued");
    let elsewhere = bench.inject("y", "elsewhere");
    for unknown in [Seq(99), queued, elsewhere] {
        bench.refused(&dispatch(by, unknown), Refusal::UnknownIntent);
    }
}

/// POLICY-23 INJECT-24: whatever became of it, it is not this attempt's.
#[test]
fn an_intent_of_another_attempt_or_of_an_ended_segment_is_stale() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    let accepted = bench.inject("x", "accepted");
    bench.answered(by, accepted, SendAnswer::Accepted);
    let open = bench.inject("x", "open");
    bench.dispatch(by, open);
    bench.accepted(&complete(by));
    let next = bench.claim_and_pin(by.work);
    assert_eq!(next.attempt, AttemptNo(2));
    bench.refused(&dispatch(next, accepted), Refusal::StaleIntent);
    bench.refused(&dispatch(next, open), Refusal::StaleIntent);
    // The same attempt again, in another segment.
    let (parked, _) = bench.parked("y", Some(500));
    bench.vacate(parked);
    bench.input_wake("y");
    let resumed = bench.claim_and_pin(parked.work);
    let sent = bench.inject("y", "sent");
    bench.dispatch(resumed, sent);
    let after = bench.last_seq();
    bench.wait_on(&wait_command(resumed, &["y"], after, Some(500)));
    bench.vacate(resumed);
    let news = bench.accept(event("wakes").with_key("y"));
    bench.route(news);
    let again = bench.claim_and_pin(resumed.work);
    assert_eq!(again.attempt, resumed.attempt);
    bench.refused(&dispatch(again, sent), Refusal::StaleIntent);
}

/// INJECT-02 INJECT-20: in whatever phase the attempt is.
#[test]
fn a_settled_intent_is_not_sent_again() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    let settled: Vec<_> = [
        ("a", None, SendAnswer::Accepted, IntentStatus::Accepted),
        ("b", None, SendAnswer::NotAccepting, IntentStatus::NotAccepting),
        ("c", Some(Fallback::Queue), SendAnswer::Failed, IntentStatus::FellBack),
        ("d", Some(Fallback::Drop), SendAnswer::Failed, IntentStatus::FellBack),
    ]
    .into_iter()
    .map(|(delivery, on_error, answer, status)| {
        let seq = bench.inject_or("x", delivery, on_error);
        assert_eq!(bench.answered(by, seq, answer), status);
        seq
    })
    .collect();
    for seq in &settled {
        bench.refused(&dispatch(by, *seq), Refusal::IntentSettled);
    }
    bench.later(LEASE.0);
    let (by, _) = bench.recover(by.work);
    for seq in settled {
        bench.refused(&dispatch(by, seq), Refusal::IntentSettled);
    }
}

/// A consumed intent of the same attempt is settled too. INJECT-20
#[test]
fn a_consumed_intent_is_not_sent_again_after_a_resume() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    let seq = bench.inject("x", "a");
    bench.answered(by, seq, SendAnswer::Accepted);
    let after = bench.last_seq();
    let wanted = wait_command(by, &["x"], after, Some(500));
    let wanted = bench.proving(wanted, &[seq]);
    bench.wait_on(&wanted);
    bench.vacate(by);
    bench.input_wake("x");
    let again = bench.claim_and_pin(by.work);
    assert_eq!(bench.intent(seq), IntentStatus::Consumed);
    bench.refused(&dispatch(again, seq), Refusal::IntentSettled);
}

/// POLICY-12: there is nothing to send to, and what was sent is not sent again from there.
#[test]
fn nothing_is_dispatched_to_an_attempt_that_is_not_pinned() {
    let store = store();
    let mut bench = Bench::on(&store);
    let work = bench.ready("x");
    let by = bench.claim(work);
    let seq = bench.inject("x", "a");
    bench.refused(&dispatch(by, seq), Refusal::NotRunning);
    bench.hand(by);
    bench.refused(&dispatch(by, seq), Refusal::NotRunning);
    bench.accepted(&crate::law::testing::pin_command(by));
    bench.dispatch(by, seq);
    bench.later(LEASE.0);
    let (by, _) = bench.recover(work);
    bench.refused(&dispatch(by, seq), Refusal::NotRunning);
    bench.accepted(&settle(by, Verdict::Adopted));
    let answer = duplicate(&mut bench, work, seq);
    bench.inert(&dispatch(by, seq), &answer);
}

/// POLICY-12 POLICY-17 INJECT-21: the same intent and the same event, as often as it takes.
#[test]
fn a_send_that_nobody_heard_of_may_be_repeated() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    let seq = bench.inject("x", "a");
    assert_eq!(bench.intent(seq), IntentStatus::Committed);
    let receipt = bench.accepted(&dispatch(by, seq));
    let (work, attempt, kind) = (by.work, by.attempt, IntentKind::Inject);
    let status = IntentStatus::Dispatched;
    assert_eq!(receipt, Receipt::Intent { event: seq, work, attempt, kind, status });
    for _ in 0..2 {
        bench.inert(&dispatch(by, seq), &Outcome::Duplicate(receipt.clone()));
    }
    assert_eq!(bench.work(work).pending, [seq]);
}

/// The work is asked first, then the intent, then who asks. INJECT-19 INJECT-20
#[test]
fn an_answer_is_looked_at_in_order() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    let queued = bench.input("x", "queued");
    let answer = |by, event| settle_send(by, event, SendAnswer::Accepted);
    bench.refused(&answer(nobody(WorkId(99)), Seq(99)), Refusal::UnknownIntent);
    bench.refused(&answer(forged(by), queued), Refusal::UnknownIntent);
    let seq = bench.inject("x", "a");
    bench.refused(&answer(forged(by), seq), Refusal::StaleAuthority);
    bench.refused(&answer(by, seq), Refusal::NotDispatched);
    bench.dispatch(by, seq);
    bench.refused(&answer(forged(by), seq), Refusal::StaleAuthority);
    bench.later(LEASE.0);
    bench.refused(&answer(by, seq), Refusal::LeaseExpired);
    let (recovering, _) = bench.recover(by.work);
    bench.refused(&answer(by, seq), Refusal::StaleAuthority);
    bench.refused(&answer(recovering, seq), Refusal::NotRunning);
    let never = bench.inject("x", "never");
    bench.refused(&answer(recovering, never), Refusal::NotDispatched);
    bench.accepted(&settle(recovering, Verdict::Adopted));
    bench.accepted(&answer(recovering, seq));
    // Known now, and nobody's authority matters any more.
    for late in ANSWERS {
        let duplicate = duplicate(&mut bench, by.work, seq);
        for whoever in [recovering, by, forged(by), nobody(by.work)] {
            bench.inert(&settle_send(whoever, seq, late), &duplicate);
        }
    }
}

/// INJECT-19: a late answer to what is stale or consumed changes nothing.
#[test]
fn an_answer_after_the_end_of_its_attempt_changes_nothing() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    let consumed = bench.inject("x", "consumed");
    bench.dispatch(by, consumed);
    let stale = bench.inject("x", "stale");
    bench.dispatch(by, stale);
    let done = bench.proving(complete(by), &[consumed]);
    bench.accepted(&done);
    assert_eq!(bench.intent(consumed), IntentStatus::Consumed);
    assert_eq!(bench.intent(stale), IntentStatus::Stale);
    for seq in [consumed, stale] {
        let duplicate = duplicate(&mut bench, by.work, seq);
        for answer in ANSWERS {
            bench.inert(&settle_send(by, seq, answer), &duplicate);
        }
    }
}

/// What a send leads to: by its kind, its error fallback and its answer. INJECT-01 to INJECT-07
/// POLICY-13 POLICY-15 POLICY-20 POLICY-33
#[test]
fn every_answer_leads_to_what_the_page_says() {
    use {IntentStatus as S, SendAnswer as A};
    let (queue, drop) = (Some(Fallback::Queue), Some(Fallback::Drop));
    // Kind, error fallback, answer: status, input still pending, attempt fenced.
    let cells = [
        (IntentKind::Inject, None, A::Accepted, S::Accepted, true, false),
        (IntentKind::Inject, queue, A::Accepted, S::Accepted, true, false),
        (IntentKind::Inject, drop, A::Accepted, S::Accepted, true, false),
        (IntentKind::Inject, None, A::NotAccepting, S::NotAccepting, true, false),
        (IntentKind::Inject, queue, A::NotAccepting, S::NotAccepting, true, false),
        (IntentKind::Inject, drop, A::NotAccepting, S::NotAccepting, true, false),
        (IntentKind::Inject, None, A::Failed, S::Dispatched, true, false),
        (IntentKind::Inject, queue, A::Failed, S::FellBack, true, false),
        (IntentKind::Inject, drop, A::Failed, S::FellBack, false, false),
        (IntentKind::Interrupt, None, A::Accepted, S::Fenced, true, true),
        (IntentKind::Interrupt, queue, A::Accepted, S::Fenced, true, true),
        (IntentKind::Interrupt, drop, A::Accepted, S::Fenced, true, true),
        (IntentKind::Interrupt, None, A::NotAccepting, S::Dispatched, true, false),
        (IntentKind::Interrupt, queue, A::NotAccepting, S::FellBack, true, false),
        (IntentKind::Interrupt, drop, A::NotAccepting, S::FellBack, false, false),
        (IntentKind::Interrupt, None, A::Failed, S::Dispatched, true, false),
        (IntentKind::Interrupt, queue, A::Failed, S::FellBack, true, false),
        (IntentKind::Interrupt, drop, A::Failed, S::FellBack, false, false),
    ];
    for (kind, on_error, answer, status, pending, fenced) in cells {
        let cell = format!("{kind:?} {on_error:?} {answer:?}");
        let store = store();
        let mut bench = Bench::on(&store);
        let by = bench.running("x");
        let other = bench.input("x", "other");
        let seq = cells::sent_or(&mut bench, "x", kind, on_error);
        let mark = bench.event_at(seq).mark;
        assert_eq!(bench.answered(by, seq, answer), status, "{cell}");
        let seen = bench.work(by.work);
        let event = bench.event_at(seq);
        assert_eq!((event.intent.expect("an intent").status, event.mark), (status, mark), "{cell}");
        let rest = if pending { vec![other, seq] } else { vec![other] };
        let withdrawn = if pending { vec![] } else { vec![seq] };
        assert_eq!((seen.pending, seen.withdrawn), (rest, withdrawn), "{cell}");
        let last = seen.attempt.expect("an attempt");
        let (work, attempt) = match fenced {
            true => (WorkStatus::Ready, AttemptStatus::Cancelled),
            false => (WorkStatus::Running, AttemptStatus::Running),
        };
        assert_eq!((seen.status, last.status), (work, attempt), "{cell}");
        assert_eq!(last.interrupt_event, fenced.then_some(seq), "{cell}");
    }
}

/// INJECT-03 INJECT-07: no send count is lost, and what was said is kept for people.
#[test]
fn a_send_that_failed_is_sent_again_under_the_same_intent() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    let seq = bench.inject("x", "a");
    assert_eq!(bench.answered(by, seq, SendAnswer::Failed), IntentStatus::Dispatched);
    bench.accepted(&settle_send(by, seq, SendAnswer::Failed));
    let row = intents::get(&mut bench.tx, seq).expect("a read").expect("an intent");
    assert_eq!((row.sends, row.detail.as_deref()), (3, Some("so it said")));
    assert_eq!((row.dispatched_at, row.settled_at), (Some(bench.now), None));
    bench.accepted(&settle_send(by, seq, SendAnswer::Accepted));
    let row = intents::get(&mut bench.tx, seq).expect("a read").expect("an intent");
    assert_eq!((row.sends, row.settled_at), (3, Some(bench.now)));
}

/// Fails once, so that the work counts a failure and its next attempt runs.
fn failed_once(bench: &mut Bench<'_>, name: &str) -> Authority {
    let by = bench.running(name);
    bench.accepted(&fail(by));
    bench.later(300_000);
    bench.retried(by);
    bench.claim_and_pin(by.work)
}

/// POLICY-20 POLICY-21 POLICY-22 CTRL-09: the attempt ends and its cause is named; no failure is
/// counted, and nothing else of the work changes.
#[test]
fn an_accepted_interrupt_fences_the_attempt_and_nothing_else() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = failed_once(&mut bench, "x");
    let reason = "look".to_owned();
    bench.accepted(&Command::Hold { work: by.work, expect: None, reason });
    let queued = bench.input("x", "queued");
    let sent = bench.inject("x", "sent");
    bench.answered(by, sent, SendAnswer::Accepted);
    let open = bench.inject("x", "open");
    bench.dispatch(by, open);
    let seq = bench.interrupting("x", "stop");
    let later = bench.interrupting("x", "stop as well");
    let before = bench.work(by.work);
    assert_eq!(bench.answered(by, seq, SendAnswer::Accepted), IntentStatus::Fenced);
    let seen = bench.work(by.work);
    let last = seen.attempt.clone().expect("an attempt");
    assert_eq!(last.status, AttemptStatus::Cancelled);
    assert_eq!((last.phase, last.expires_at), (None, None));
    assert_eq!(last.interrupt_event, Some(seq));
    assert!(seen.excluded_is_last);
    assert_eq!(seen.status, WorkStatus::Ready);
    assert_eq!(seen.pending, [queued, sent, open, seq, later]);
    assert_eq!((seen.failures, seen.backoff), (1, None));
    assert_eq!((seen.failures, seen.holds.clone()), (before.failures, vec![Hold::Operator]));
    assert_eq!(seen.consumed, before.consumed);
    // Whatever else was open is stale, the second interrupt too; what is known stays known.
    let expected = [IntentStatus::Accepted, IntentStatus::Stale, IntentStatus::Stale];
    assert_eq!([sent, open, later].map(|seq| bench.intent(seq)), expected);
    bench.refused(&complete(by), Refusal::StaleAuthority);
    bench.refused(&fail(by), Refusal::StaleAuthority);
}

/// I17 POLICY-22: the next attempt starts once the process is seen to have stopped, with everything.
#[test]
fn the_next_attempt_follows_the_stopped_process_and_gets_all_input() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    let queued = bench.input("x", "queued");
    let seq = bench.interrupting("x", "stop");
    bench.answered(by, seq, SendAnswer::Accepted);
    let (claim, _) = bench.claim_command(by.work);
    bench.inert(&claim, &Outcome::Deferred(crate::command::Deferral::Excluded));
    bench.vacate(by);
    let next = bench.claim_and_pin(by.work);
    let seen = bench.work(by.work);
    let last = seen.attempt.expect("an attempt");
    assert_eq!((next.attempt, last.batch), (AttemptNo(2), vec![queued, seq]));
    assert_eq!((last.trigger, last.interrupt_event), (queued, None));
    assert!(seen.pending.is_empty());
}

/// I17: a result that commits before the fence wins. POLICY-23
#[test]
fn a_result_before_the_fence_leaves_the_interrupt_stale() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    let seq = bench.interrupting("x", "stop");
    bench.dispatch(by, seq);
    bench.accepted(&complete(by));
    let duplicate = {
        assert_eq!(bench.intent(seq), IntentStatus::Stale);
        duplicate(&mut bench, by.work, seq)
    };
    bench.inert(&settle_send(by, seq, SendAnswer::Accepted), &duplicate);
    let seen = bench.work(by.work);
    assert_eq!((seen.status, seen.pending), (WorkStatus::Ready, vec![seq]));
    let last = seen.attempt.expect("an attempt");
    assert_eq!((last.status, last.interrupt_event), (AttemptStatus::Completed, None));
}

/// Every way an attempt parks or ends. POLICY-23 INJECT-23
#[test]
fn what_is_open_is_stale_whatever_ends_the_attempt() {
    type Ends = fn(&mut Bench<'_>, Authority);
    let completes: Ends = |bench, by| {
        bench.accepted(&complete(by));
    };
    let fails: Ends = |bench, by| {
        bench.accepted(&fail(by));
    };
    let is_cancelled: Ends = |bench, by| {
        bench.accepted(&cancel(by.work));
    };
    let handoff: Ends = |bench, by| {
        let ending = Ending::Handoff { close_after: Some(Duration(9)) };
        let (proofs, usage) = (Vec::new(), None);
        bench.accepted(&Command::Complete { by, ending, status: None, proofs, usage });
    };
    let close: Ends = |bench, _| {
        let seq = bench.accept(event("close").with_key("x"));
        bench.decide(seq, Decision::Close);
    };
    let wait: Ends = |bench, by| {
        let after = bench.last_seq();
        bench.wait_on(&wait_command(by, &["x"], after, Some(500)));
    };
    let not_adoptable: Ends = |bench, by| {
        bench.later(LEASE.0);
        let (by, _) = bench.recover(by.work);
        bench.accepted(&settle(by, Verdict::NotAdoptable));
    };
    let fence: Ends = |bench, by| {
        let seq = bench.requested(&interrupt(by.work, "stop"));
        bench.answered(by, seq, SendAnswer::Accepted);
    };
    let ways: [(&str, Ends, bool); 8] = [
        ("completed", completes, true),
        ("handed off", handoff, true),
        ("failed", fails, true),
        ("cancelled", is_cancelled, true),
        ("closed", close, true),
        ("parked", wait, true),
        ("ended waiting", wait, false),
        ("not adoptable", not_adoptable, true),
    ];
    for (way, ends, resumes) in ways.into_iter().chain([("fenced", fence, true)]) {
        let store = store();
        let mut bench = Bench::on(&store);
        let work = bench.ready("x");
        let by = bench.claim_pinned_to(work, pin(resumes));
        bench.hand(by);
        bench.accepted(&crate::law::testing::pin_command(by));
        let settled = bench.inject("x", "settled");
        bench.answered(by, settled, SendAnswer::NotAccepting);
        let tried = bench.inject("x", "tried");
        bench.dispatch(by, tried);
        let never = bench.inject("x", "never");
        let stop = bench.interrupting("x", "stop it");
        ends(&mut bench, by);
        let stale = [tried, never, stop].map(|seq| bench.intent(seq));
        assert_eq!(stale, [IntentStatus::Stale; 3], "{way}");
        assert_eq!(bench.intent(settled), IntentStatus::NotAccepting, "{way}");
        let seen = bench.work(work);
        assert!(seen.pending.starts_with(&[settled, tried, never, stop]), "{way}");
        assert_eq!(reads::sending(&mut bench.tx, WorkId(0), 9), Ok(vec![]), "{way}");
    }
}

/// B16: neither a recovery nor a restore nor a drain touches an intent. POLICY-23 OURS-19 OURS-21
#[test]
fn intents_live_over_recovery_detach_and_restore() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    let tried = bench.inject("x", "tried");
    bench.dispatch(by, tried);
    let never = bench.inject("x", "never");
    let as_they_were = |bench: &mut Bench<'_>| {
        let seen = [tried, never].map(|seq| bench.intent(seq));
        assert_eq!(seen, [IntentStatus::Dispatched, IntentStatus::Committed]);
    };
    bench.accepted(&Command::Detach { by });
    as_they_were(&mut bench);
    let (by, _) = bench.recover(by.work);
    as_they_were(&mut bench);
    bench.accepted(&settle(by, Verdict::Adopted));
    as_they_were(&mut bench);
    bench.accepted(&Command::Restore { above: Incarnation(0) });
    as_they_were(&mut bench);
    bench.accepted(&Command::ReleaseRestore { request: request("ok") });
    let (by, _) = bench.recover(by.work);
    bench.accepted(&settle(by, Verdict::Adopted));
    as_they_were(&mut bench);
    assert_eq!(bench.answered(by, never, SendAnswer::Accepted), IntentStatus::Accepted);
}

/// CTRL-01 to CTRL-07 OURS-09 OURS-23
#[test]
fn an_operators_interrupt_is_refused_in_order() {
    let store = store();
    let mut bench = Bench::on(&store);
    let asks = |work, expect: Option<u32>, implemented| Command::Interrupt {
        work,
        expect: expect.map(AttemptNo),
        request: request("again"),
        implemented,
    };
    bench.refused(&asks(WorkId(99), Some(7), false), Refusal::UnknownWork);
    let ended = bench.running("ended");
    bench.accepted(&complete(ended));
    bench.refused(&asks(ended.work, Some(7), false), Refusal::StaleTarget);
    bench.refused(&asks(ended.work, Some(1), false), Refusal::Terminal);
    let ready = bench.ready("ready");
    bench.refused(&asks(ready, Some(0), false), Refusal::NothingToInterrupt);
    let (parked, _) = bench.parked("parked", Some(500));
    bench.refused(&asks(parked.work, Some(1), false), Refusal::NothingToInterrupt);
    let lacking = bench.ready("lacking");
    bench.claim_pinned_to(lacking, BindingPin { interrupts: false, ..pin(true) });
    bench.refused(&asks(lacking, Some(1), true), Refusal::NotInterruptible);
    let by = bench.running("x");
    bench.refused(&asks(by.work, Some(1), false), Refusal::NotInterruptible);
    bench.refused(&asks(by.work, Some(2), true), Refusal::StaleTarget);
    let seq = bench.requested(&asks(by.work, Some(1), true));
    // The identity answers before anything else is looked at.
    let duplicate = Outcome::Duplicate(Receipt::Event { seq });
    for again in [asks(by.work, Some(1), true), asks(WorkId(99), None, false)] {
        bench.inert(&again, &duplicate);
    }
}

/// CTRL-02 CTRL-04 CTRL-08: it is no input, matches nothing and resolves to nothing.
#[test]
fn an_operators_interrupt_is_an_intent_and_no_input() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    let seq = bench.requested(&interrupt(by.work, "stop"));
    let event = bench.event_at(seq);
    assert_eq!(event.event_type, "core.manual.interrupt");
    assert_eq!((event.mark, event.work), (Some(MarkKind::Interrupt), Some(by.work)));
    assert_eq!((event.key, event.target, event.depth), (None, None, 0));
    let intent = event.intent.expect("an intent");
    assert_eq!((intent.kind, intent.attempt), (IntentKind::Interrupt, by.attempt));
    assert_eq!((intent.status, intent.on_error), (IntentStatus::Committed, None));
    let seen = bench.work(by.work);
    assert_eq!((seen.status, seen.pending), (WorkStatus::Running, vec![]));
    let replay = Command::Replay { event: seq, request: request("replay") };
    bench.refused(&replay, Refusal::CoreType);
    // It is tried until it is known.
    assert_eq!(bench.answered(by, seq, SendAnswer::NotAccepting), IntentStatus::Dispatched);
    bench.accepted(&settle_send(by, seq, SendAnswer::Accepted));
    let seen = bench.work(by.work);
    let last = seen.attempt.expect("an attempt");
    assert_eq!((seen.status, last.interrupt_event), (WorkStatus::Ready, Some(seq)));
    bench.vacate(by);
    let (claim, _) = bench.claim_command(by.work);
    bench.refused(&claim, Refusal::NothingToStart);
}

/// CTRL-02 CTRL-03: in whatever phase; it is sent once there is something to send to.
#[test]
fn an_operators_interrupt_of_a_launching_attempt_waits_for_its_pin() {
    let store = store();
    let mut bench = Bench::on(&store);
    let work = bench.ready("x");
    let by = bench.claim(work);
    let seq = bench.requested(&interrupt(work, "stop"));
    bench.refused(&dispatch(by, seq), Refusal::NotRunning);
    assert_eq!(reads::sending(&mut bench.tx, WorkId(0), 9), Ok(vec![]));
    bench.hand(by);
    bench.accepted(&crate::law::testing::pin_command(by));
    assert_eq!(reads::sending(&mut bench.tx, WorkId(0), 9), Ok(vec![work]));
    assert_eq!(bench.answered(by, seq, SendAnswer::Accepted), IntentStatus::Fenced);
}

/// POLICY-19: what stops the attempt goes before what would be told it.
#[test]
fn interrupts_are_sent_first_and_the_rest_in_acceptance_order() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    let first = bench.inject("x", "first");
    bench.dispatch(by, first);
    let second = bench.inject("x", "second");
    let settled = bench.inject("x", "settled");
    bench.answered(by, settled, SendAnswer::Accepted);
    let stop = bench.interrupting("x", "stop");
    let other = bench.running("y");
    let elsewhere = bench.inject("y", "elsewhere");
    let mut sends = |work, limit| -> Vec<_> {
        let rows = reads::to_send(&mut bench.tx, work, limit).expect("a read");
        rows.into_iter().map(|row| (row.event, row.status)).collect()
    };
    let (tried, never) = (IntentStatus::Dispatched, IntentStatus::Committed);
    assert_eq!(sends(by.work, 9), [(stop, never), (first, tried), (second, never)]);
    assert_eq!(sends(by.work, 2), [(stop, never), (first, tried)]);
    assert_eq!(sends(other.work, 9), [(elsewhere, never)]);
    let works = reads::sending(&mut bench.tx, WorkId(0), 9);
    assert_eq!(works, Ok(vec![by.work, other.work]));
    assert_eq!(reads::sending(&mut bench.tx, by.work, 9), Ok(vec![other.work]));
    bench.later(LEASE.0);
    bench.recover(by.work);
    assert_eq!(reads::sending(&mut bench.tx, WorkId(0), 9), Ok(vec![other.work]));
}

/// A transaction that notes what it is asked to run.
struct Noting<'a> {
    inner: &'a mut dyn Tx,
    ran: Vec<&'static str>,
}

impl Tx for Noting<'_> {
    fn execute(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<usize, StoreError> {
        self.ran.push(sql);
        self.inner.execute(sql, values)
    }

    fn query(
        &mut self,
        sql: &'static str,
        values: &[Value<'_>],
        each: Each<'_>,
    ) -> Result<(), StoreError> {
        self.ran.push(sql);
        self.inner.query(sql, values, each)
    }

    fn savepoint(&mut self) -> Result<(), StoreError> {
        self.inner.savepoint()
    }

    fn rollback_to(&mut self) -> Result<(), StoreError> {
        self.inner.rollback_to()
    }

    fn release(&mut self) -> Result<(), StoreError> {
        self.inner.release()
    }
}

fn ran(bench: &mut Bench<'_>, command: &Command) -> Vec<&'static str> {
    let mut noting = Noting { inner: &mut bench.tx, ran: Vec::new() };
    let actor = crate::domain::Actor::Loop("test");
    let outcome = crate::law::apply(&mut noting, bench.now, &actor, command).expect("it works");
    assert!(matches!(outcome, Outcome::Accepted(_)), "{}: {outcome:?}", command.name());
    noting.ran
}

/// Whoever uses no control pays for none.
#[test]
fn without_intents_no_statement_asks_for_any() {
    let store = store();
    let mut bench = Bench::on(&store);
    let names = ["a", "b", "c", "d", "e"];
    let held = names.map(|name| bench.running(name));
    let [done, failed, waits, cancelled, _] = held;
    let after = bench.last_seq();
    let seq = bench.accept(event("queued").with_key("e"));
    let decision = Decision::Update { attach: Vec::new(), control: Control::default() };
    let proposal = bench.proposal(seq, decision);
    let commands = [
        complete(done),
        fail(failed),
        wait_command(waits, &["c"], after, Some(500)),
        cancel(cancelled.work),
        Command::CommitRoute { proposal },
    ];
    for command in &commands {
        let ran = ran(&mut bench, command);
        let asks = |sql: &&&str| sql.contains(" intent ") || sql.contains("intent AS");
        assert_eq!(ran.iter().find(asks), None, "{}", command.name());
        let routes = command.name() == "commit_route";
        let attempts = ran.iter().filter(|sql| sql.contains("FROM attempt ")).count();
        assert!(!routes || attempts == 0, "a queue looks at no attempt");
    }
    // The note-taker sees them where they are.
    let by = bench.running("f");
    let seq = bench.inject("f", "f1");
    let ran = ran(&mut bench, &dispatch(by, seq));
    assert!(ran.iter().any(|sql| sql.contains(" intent ")));
}
