//! Proofs: what a result says was taken in counts with it, or costs it nothing.

use type_safe_id::TypeSafeId;

use crate::command::{Command, Outcome, Receipt, Refusal};
use crate::domain::{
    AttemptNo, AttemptStatus, Authority, Duration, Ending, EventUid, Exhausted, Fallback,
    IntentKind, IntentStatus, SendAnswer, Seq, Verdict, WorkStatus,
};
use crate::law::intents::PROOFS_MAX;
use crate::law::testing::{
    Bench, LEASE, Vary as _, complete, event, fail, forged, policy, settle, store, wait_command,
};
use crate::store::{attempts, intents, journal};

use super::cells::sent_or;

/// Sends an injection and hears this of it; `None`: nothing yet.
fn sent(bench: &mut Bench<'_>, by: Authority, delivery: &str, answer: Option<SendAnswer>) -> Seq {
    let seq = bench.inject("x", delivery);
    bench.dispatch(by, seq);
    if let Some(answer) = answer {
        bench.accepted(&super::settle_send(by, seq, answer));
    }
    seq
}

fn consumed(bench: &mut Bench<'_>, by: Authority) -> Vec<Seq> {
    let seen = bench.work(by.work).consumed;
    let of = |input: &&crate::store::observe::SeenInput| input.attempt == by.attempt;
    seen.iter().filter(of).map(|input| input.event).collect()
}

/// INJECT-11 to INJECT-15: a proof needs a tried send that did not certainly fail, of this attempt,
/// of an event that is still pending. INJECT-16: nothing else costs the result anything.
#[test]
fn a_proof_counts_by_what_is_known_of_its_send() {
    use {IntentStatus as S, SendAnswer as A};
    let (queue, drop) = (Some(Fallback::Queue), Some(Fallback::Drop));
    // Kind, error fallback, whether it was sent and what was heard: does a proof count?
    let cells = [
        (IntentKind::Inject, None, None, S::Committed, false),
        (IntentKind::Inject, None, Some(None), S::Dispatched, true),
        (IntentKind::Inject, None, Some(Some(A::Accepted)), S::Accepted, true),
        (IntentKind::Inject, None, Some(Some(A::NotAccepting)), S::NotAccepting, false),
        (IntentKind::Inject, None, Some(Some(A::Failed)), S::Dispatched, true),
        (IntentKind::Inject, queue, Some(Some(A::Failed)), S::FellBack, true),
        (IntentKind::Inject, drop, Some(Some(A::Failed)), S::FellBack, false),
        (IntentKind::Interrupt, None, Some(None), S::Dispatched, false),
        (IntentKind::Interrupt, queue, Some(Some(A::Failed)), S::FellBack, false),
    ];
    for (kind, on_error, send, status, counts) in cells {
        let cell = format!("{kind:?} {on_error:?} {send:?}");
        let store = store();
        let mut bench = Bench::on(&store);
        let by = bench.running("x");
        let seq = sent_or(&mut bench, "x", kind, on_error);
        if let Some(answer) = send {
            bench.dispatch(by, seq);
            if let Some(answer) = answer {
                bench.accepted(&super::settle_send(by, seq, answer));
            }
        }
        assert_eq!(bench.intent(seq), status, "{cell}");
        let pending = bench.work(by.work).pending.contains(&seq);
        let done = bench.proving(complete(by), &[seq]);
        let receipt = bench.accepted(&done);
        let left = pending && !counts;
        let ended = if left { WorkStatus::Ready } else { WorkStatus::Completed };
        let (work, attempt) = (by.work, by.attempt);
        assert_eq!(receipt, Receipt::Ended { work, attempt, status: ended }, "{cell}");
        let after = match counts {
            true => S::Consumed,
            false if status.is_open() => S::Stale,
            false => status,
        };
        assert_eq!(bench.intent(seq), after, "{cell}");
        assert_eq!(consumed(&mut bench, by).contains(&seq), counts, "{cell}");
        assert_eq!(bench.work(work).pending.contains(&seq), left, "{cell}");
    }
}

/// INJECT-08 INJECT-16: whatever a result names, it commits as if that had not been there.
#[test]
fn what_proves_nothing_is_as_if_it_had_not_been_named() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    let trigger = bench.work(by.work).attempt.expect("an attempt").trigger;
    let other = bench.running("y");
    let foreign = bench.inject("y", "foreign");
    bench.dispatch(other, foreign);
    let queued = bench.input("x", "queued");
    let unrouted = bench.accept(event("unrouted").with_key("z"));
    let named = [trigger, foreign, queued, unrouted];
    let mut done = bench.proving(complete(by), &named);
    let Command::Complete { proofs, .. } = &mut done else { panic!("{done:?}") };
    proofs.push(TypeSafeId::from_uuid(uuid::Uuid::from_u128(7)));
    bench.accepted(&done);
    let seen = bench.work(by.work);
    assert_eq!((seen.status, seen.pending), (WorkStatus::Ready, vec![queued]));
    assert_eq!(consumed(&mut bench, by), [trigger]);
    assert_eq!(bench.intent(foreign), IntentStatus::Dispatched);
    assert_eq!(bench.work(other.work).pending, [foreign]);
    // An audit is told what was named, as far as there is such an event.
    let row = journal::since(&mut bench.tx, 0, 99).expect("the journal").pop().expect("a row");
    let [a, b, c, d] = named;
    assert!(row.args.contains(&format!(r#""proofs":[{a},{b},{c},{d}]"#)), "{}", row.args);
}

/// INJECT-14: nothing is consumed twice.
#[test]
fn an_event_that_is_named_twice_counts_once() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    let seq = sent(&mut bench, by, "a", None);
    let done = bench.proving(complete(by), &[seq, seq]);
    bench.accepted(&done);
    let seen = bench.work(by.work);
    assert_eq!((seen.status, seen.pending), (WorkStatus::Completed, vec![]));
    assert_eq!(consumed(&mut bench, by).iter().filter(|event| **event == seq).count(), 1);
}

/// A list beyond the bound is cut, and only repeats input.
#[test]
fn a_list_of_proofs_is_cut_and_never_an_error() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    let seq = sent(&mut bench, by, "a", None);
    let uid = bench.uid(seq);
    let strangers = |n: usize| -> Vec<EventUid> {
        (0..n)
            .map(|n| TypeSafeId::from_uuid(uuid::Uuid::from_u128(n as u128 + 1)))
            .chain([uid])
            .collect()
    };
    let (ending, status, usage) = (Ending::Handoff { close_after: None }, None, None);
    let proofs = strangers(PROOFS_MAX);
    bench.accepted(&Command::Complete {
        by,
        ending,
        status: status.clone(),
        proofs,
        usage: usage.clone(),
    });
    assert_eq!(bench.work(by.work).pending, [seq]);
    let by = bench.claim_and_pin(by.work);
    let seq = bench.inject("x", "b");
    bench.dispatch(by, seq);
    let uid = bench.uid(seq);
    let mut proofs = strangers(PROOFS_MAX - 1);
    proofs.pop();
    proofs.push(uid);
    bench.accepted(&Command::Complete { by, ending, status, proofs, usage });
    assert!(bench.work(by.work).pending.is_empty());
}

/// INJECT-09 INJECT-29 INJECT-30 INJECT-31: a failure consumes what it proved and leaves the rest.
#[test]
fn a_failure_consumes_what_its_proofs_name_and_leaves_the_rest_to_the_retry() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    let taken = sent(&mut bench, by, "taken", Some(SendAnswer::Accepted));
    let lost = sent(&mut bench, by, "lost", Some(SendAnswer::Accepted));
    let failed = bench.proving(fail(by), &[taken]);
    bench.accepted(&failed);
    let seen = bench.work(by.work);
    assert_eq!((seen.pending, seen.failures), (vec![lost], 1));
    assert_eq!(seen.backoff, Some(AttemptNo(1)));
    bench.later(300_000);
    let retry = bench.retried(by);
    bench.claim_and_pin(by.work);
    assert_eq!(bench.work(by.work).attempt.expect("an attempt").batch, [lost, retry]);
}

/// INJECT-25 to INJECT-28: proofs are counted before the scan.
#[test]
fn a_wait_is_not_woken_by_what_its_result_proved() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    let after = bench.last_seq();
    let taken = sent(&mut bench, by, "taken", None);
    let wanted = wait_command(by, &["x"], after, Some(500));
    let wanted = bench.proving(wanted, &[taken]);
    let (_, winner) = bench.wait_on(&wanted);
    assert_eq!(winner, None);
    assert_eq!(bench.intent(taken), IntentStatus::Consumed);
    let seen = bench.work(by.work);
    assert_eq!((seen.status, seen.pending), (WorkStatus::Waiting, vec![]));
    bench.vacate(by);
    let news = bench.input_wake("x");
    let again = bench.claim_and_pin(by.work);
    let last = bench.work(by.work).attempt.expect("an attempt");
    assert_eq!((again.attempt, last.batch), (by.attempt, vec![news]));
    // The next match alone wins where two came and one is proved.
    let after = bench.last_seq();
    let first = sent(&mut bench, again, "first", None);
    let second = sent(&mut bench, again, "second", None);
    let wanted = wait_command(again, &["x"], after, Some(500));
    let wanted = bench.proving(wanted, &[first]);
    let (_, winner) = bench.wait_on(&wanted);
    assert_eq!(winner, Some(second));
    assert_eq!(bench.work(by.work).pending, [second]);
}

/// INJECT-10: what was sent under an earlier claim counts in a result under a later one.
#[test]
fn a_proof_outlives_the_claim_its_intent_was_committed_under() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    let seq = sent(&mut bench, by, "a", Some(SendAnswer::Accepted));
    bench.later(LEASE.0);
    let (by, _) = bench.recover(by.work);
    bench.accepted(&settle(by, Verdict::Adopted));
    let done = bench.proving(complete(by), &[seq]);
    bench.accepted(&done);
    let seen = bench.work(by.work);
    assert_eq!(seen.status, WorkStatus::Completed);
    let input = seen.consumed.iter().find(|input| input.event == seq).expect("it is consumed");
    assert_eq!((input.attempt, input.epoch), (by.attempt, by.epoch));
}

/// The batch of a segment is what its claim handed over. POLICY-09 WAKE-26
#[test]
fn what_was_proved_is_no_part_of_the_batch() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    let seq = sent(&mut bench, by, "a", None);
    let batch = bench.work(by.work).attempt.expect("an attempt").batch;
    let done = bench.proving(complete(by), &[seq]);
    bench.accepted(&done);
    let last = bench.work(by.work).attempt.expect("an attempt");
    assert_eq!(last.batch, batch);
    assert_eq!(consumed(&mut bench, by), [batch[0], seq]);
}

/// INJECT-09: a result that is refused or conflicts takes nothing in.
#[test]
fn a_result_that_does_not_commit_takes_nothing_in() {
    let store = store();
    let mut bench = Bench::on(&store);
    let work = bench.ready("x");
    let by = bench.running_under(work, &policy(1, Exhausted::Fail));
    let seq = sent(&mut bench, by, "a", None);
    let after = bench.last_seq();
    let results = |bench: &mut Bench<'_>, by: Authority, after| {
        [complete(by), fail(by), wait_command(by, &["x"], after, None)]
            .map(|command| bench.proving(command, &[seq]))
    };
    for command in results(&mut bench, forged(by), after) {
        bench.refused(&command, Refusal::StaleAuthority);
    }
    let ahead = results(&mut bench, by, Seq(after.0 + 1));
    bench.refused(&ahead[2], Refusal::WatermarkAhead);
    // Nothing is pending but what they prove, and something is not routed yet.
    bench.accept(event("news").with_key("x"));
    for command in &results(&mut bench, by, after)[..2] {
        bench.inert(command, &Outcome::Conflict);
    }
    bench.later(LEASE.0);
    let (by, _) = bench.recover(work);
    for command in results(&mut bench, by, after) {
        bench.refused(&command, Refusal::NotRunning);
    }
    assert_eq!(bench.intent(seq), IntentStatus::Dispatched);
}

/// DONE-07: pending input is judged once the proofs are counted.
#[test]
fn an_ending_looks_at_what_the_proofs_leave() {
    let ends = |ending, proved: bool| {
        let store = store();
        let mut bench = Bench::on(&store);
        let by = bench.running("x");
        let seq = sent(&mut bench, by, "a", None);
        let (status, proofs, usage) = (None, Vec::new(), None);
        let command = Command::Complete { by, ending, status, proofs, usage };
        let named: &[Seq] = if proved { &[seq] } else { &[] };
        let command = bench.proving(command, named);
        bench.accepted(&command);
        let seen = bench.work(by.work);
        assert_eq!(seen.attempt.expect("an attempt").status, AttemptStatus::Completed);
        (seen.status, seen.idle_at.is_some())
    };
    let handoff = Ending::Handoff { close_after: Some(Duration(9)) };
    assert_eq!(ends(Ending::Completed, true), (WorkStatus::Completed, false));
    assert_eq!(ends(Ending::Completed, false), (WorkStatus::Ready, false));
    assert_eq!(ends(handoff, true), (WorkStatus::Ready, true));
    assert_eq!(ends(handoff, false), (WorkStatus::Ready, false));
}

/// What an attempt used is kept as it was said last; nothing looks at it.
#[test]
fn usage_is_kept_with_the_attempt() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    let after = bench.last_seq();
    let mut wanted = wait_command(by, &["x"], after, Some(500));
    let Command::RegisterWait { usage, .. } = &mut wanted else { panic!("{wanted:?}") };
    *usage = Some(r#"{"usd":"0.1"}"#.to_owned());
    bench.wait_on(&wanted);
    bench.vacate(by);
    bench.input_wake("x");
    let by = bench.claim_and_pin(by.work);
    let mut used = |n| attempts::referred(&mut bench.tx, by.work, AttemptNo(n)).expect("it").usage;
    assert_eq!(used(1).as_deref(), Some(r#"{"usd":"0.1"}"#));
    bench.accepted(&fail(by));
    let used = attempts::referred(&mut bench.tx, by.work, by.attempt).expect("it").usage;
    assert_eq!(used.as_deref(), Some(r#"{"usd":"0.1"}"#));
    let row = journal::since(&mut bench.tx, 0, 99).expect("the journal");
    assert!(row.iter().all(|row| !row.args.contains("usd")), "{row:?}");
}

/// POLICY-16: what an earlier segment may have seen is shown with what became of it.
#[test]
fn a_claim_is_told_which_of_its_input_may_have_been_seen() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    let accepted = sent(&mut bench, by, "accepted", Some(SendAnswer::Accepted));
    let refused = sent(&mut bench, by, "refused", Some(SendAnswer::NotAccepting));
    let lost = sent(&mut bench, by, "lost", None);
    let taken = sent(&mut bench, by, "taken", None);
    let never = bench.inject("x", "never");
    let stop = bench.interrupting("x", "stop");
    bench.dispatch(by, stop);
    let failed = bench.proving(fail(by), &[taken]);
    bench.accepted(&failed);
    bench.later(300_000);
    bench.retried(by);
    bench.claim_and_pin(by.work);
    let batch = bench.work(by.work).attempt.expect("an attempt").batch;
    assert!(batch.contains(&never) && batch.contains(&stop));
    let mut before = |event| intents::sent_before(&mut bench.tx, event).expect("a read");
    let told: Vec<_> = batch.iter().filter_map(|event| Some((*event, before(*event)?))).collect();
    let first = |status| (AttemptNo(1), status);
    let expected = [
        (accepted, first(IntentStatus::Accepted)),
        (refused, first(IntentStatus::NotAccepting)),
        (lost, first(IntentStatus::Stale)),
    ];
    assert_eq!(told, expected);
    assert_eq!(before(taken), None, "a result proved it");
}
