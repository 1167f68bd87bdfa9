//! Controls of a running attempt: what is called when, what is committed of it, and what is left
//! where the executor does not answer.

use std::time::Duration;

use super::bench::{INJECT, INTERRUPT, QUEUE, Says};
use super::{Bench, CONFIGURATION, Call, soon};
use crate::command::{Command, Outcome, Receipt, Refusal};
use crate::daemon::evaluation;
use crate::daemon::lease::Lease;
use crate::daemon::segments::{Held, after_conflict};
use crate::daemon::{dispatcher, recovery, router, scheduler, vacate};
use crate::domain::{
    AttemptNo, AttemptStatus, Authority, Control, Fallback, IntentStatus, MarkKind, SendAnswer,
    Seq, WorkId, WorkStatus,
};
use crate::extension::executor::Exit;
use crate::store::attempts::Attempt;
use crate::store::intents::{self, Intent};
use crate::store::{attempts, inputs, pages};

pub(super) const DONE: Exit = Exit::Completed { status: None, continuation: None };

pub(super) const LEASE: Duration = Duration::from_secs(30);

const fn or(control: Control, fallback: Fallback) -> Control {
    Control { on_error: Some(fallback), ..control }
}

fn failed() -> Exit {
    let reason = "it was stopped".to_owned();
    Exit::Failed { reason, status: None, continuation: None, retry_after: None }
}

/// A daemon whose executor takes controls, with the loop that tells of them.
async fn steerable() -> Bench {
    let bench = Bench::steerable(false).await;
    bench.run(dispatcher::run);
    bench
}

/// The same, which gives up no call within a test.
async fn patient() -> Bench {
    let mut bench = Bench::steerable(false).await;
    bench.is_patient();
    bench.run(dispatcher::run);
    bench
}

/// The same, which looks for controls when it is told to and at no other time.
async fn unswept() -> Bench {
    let mut bench = Bench::steerable(false).await;
    bench.is_not_swept();
    bench.run(dispatcher::run);
    bench
}

/// The same with an attempt of the first Work that runs.
async fn running() -> Bench {
    let bench = steerable().await;
    bench.run(scheduler::run);
    begin(&bench, "k").await;
    bench.double.asked(&Call::Observe).await;
    bench
}

async fn begin(bench: &Bench, key: &str) {
    let seq = bench.event("t.a", key, "{}").await;
    evaluation::route(&bench.context, seq).await;
}

pub(super) async fn intent(bench: &Bench, seq: Seq) -> Intent {
    let read = bench.context.read(move |tx| intents::get(tx, seq)).await;
    read.expect("it reads").expect("it has one")
}

/// Waits until the intent of an event has this status.
pub(super) async fn intent_is(bench: &Bench, seq: Seq, status: IntentStatus) -> Intent {
    let found = move |tx: &mut dyn crate::store::Tx| {
        let intent = intents::get(tx, seq).expect("it reads")?;
        (intent.status == status).then_some(intent)
    };
    bench.until(found).await
}

pub(super) async fn attempt(bench: &Bench, n: u32) -> Attempt {
    let read = bench.context.read(move |tx| attempts::referred(tx, WorkId(1), AttemptNo(n))).await;
    read.expect("it reads")
}

pub(super) async fn pending(bench: &Bench) -> Vec<Seq> {
    bench.context.read(|tx| inputs::pending(tx, WorkId(1), 100)).await.expect("it reads")
}

pub(super) async fn uid(bench: &Bench, seq: Seq) -> crate::domain::EventUid {
    let read = bench.context.read(move |tx| crate::store::events::get(tx, seq)).await;
    read.expect("it reads").expect("it is kept").uid
}

pub(super) fn inject(event: Seq, repeated: bool) -> Call {
    Call::Inject { event: event.0, repeated }
}

pub(super) fn run(number: u32, inputs: usize) -> Call {
    Call::Run { number, epoch: 1, inputs }
}

/// Where in the calls this one is.
fn at(calls: &[Call], call: &Call) -> usize {
    calls.iter().position(|one| one == call).unwrap_or_else(|| panic!("no {call:?} in {calls:?}"))
}

/// I15, POLICY-11 POLICY-12 INJECT-21 INJECT-35: a commit wakes whoever holds the attempt, which looks
/// by itself only after longer than a stall.
#[tokio::test]
async fn what_is_accepted_reaches_a_running_process_in_order_because_it_was_committed() {
    let bench = unswept().await;
    bench.run(scheduler::run);
    begin(&bench, "k").await;
    bench.double.asked(&Call::Observe).await;
    let mut sent = Vec::new();
    for _ in 0..3 {
        let seq = bench.steer("k", INJECT).await;
        bench.double.asked(&inject(seq, false)).await;
        sent.push(inject(seq, false));
    }
    let last = Seq(4);
    intent_is(&bench, last, IntentStatus::Accepted).await;
    assert_eq!(bench.double.controls(), sent);
    let steps = bench.steps().await;
    let settled = |step: &&String| *step == "dispatch" || *step == "settle_dispatch";
    let order: Vec<_> = steps.iter().filter(settled).collect();
    assert_eq!(order, ["dispatch", "settle_dispatch"].repeat(3).iter().collect::<Vec<_>>());
}

/// I01, POLICY-13 POLICY-14 INJECT-01 DONE-03 DONE-05: what was accepted for delivery is not taken in.
#[tokio::test]
async fn what_the_process_never_says_it_took_in_is_input_of_the_next_attempt() {
    let bench = running().await;
    let seq = bench.steer("k", INJECT).await;
    intent_is(&bench, seq, IntentStatus::Accepted).await;
    assert_eq!(pending(&bench).await, [seq]);
    bench.double.ends(DONE);
    bench.double.asked(&run(2, 1)).await;
    bench.work_is(1, WorkStatus::Completed).await;
    let second = attempt(&bench, 2).await;
    assert_eq!((second.trigger, second.status), (seq, AttemptStatus::Completed));
    assert_eq!(bench.double.controls(), [inject(seq, false)], "it is not injected again");
}

/// POLICY-16: the repeat is visible as one.
#[tokio::test]
async fn what_is_handed_over_again_says_which_attempt_was_sent_it() {
    let bench = running().await;
    bench.double.says_to_injects(&[Says::Yes, Says::No], Says::Yes);
    let (first, second) = (bench.steer("k", INJECT).await, bench.steer("k", INJECT).await);
    let queued = bench.steer("k", QUEUE).await;
    intent_is(&bench, first, IntentStatus::Accepted).await;
    intent_is(&bench, second, IntentStatus::NotAccepting).await;
    bench.double.hold_launches(true);
    bench.double.ends(DONE);
    bench.double.asked(&run(2, 3)).await;
    let by = bench.authority(1).await;
    let token = crate::domain::Token::from_bytes([1; 32]);
    let request = crate::host::request(&bench.context, by, token).await.expect("it reads");
    let request = request.expect("there is such an attempt");
    let said: Vec<_> = request.inputs.iter().map(|input| input["repeated"].clone()).collect();
    let repeated = |status: &str| serde_json::json!({ "attempt": 1, "status": status });
    let (yes, no) = (repeated("accepted"), repeated("not_accepting"));
    assert_eq!(said, [yes.clone(), no, serde_json::Value::Null], "not event {queued}");
    assert_eq!(request.trigger.expect("it has one")["repeated"], yes);
}

/// What an attempt of the first Work that is claimed now would be handed.
async fn handed(bench: &Bench) -> (Authority, crate::extension::executor::RunRequest) {
    let by = bench.claim().await;
    bench.commit(Command::ClearNeverHanded { by }).await;
    bench.commit(Command::Pin { by, metadata: "m".to_owned() }).await;
    let token = crate::domain::Token::from_bytes([1; 32]);
    let request = crate::host::request(&bench.context, by, token).await.expect("it reads");
    (by, request.expect("there is such an attempt"))
}

fn sequences(events: &[serde_json::Value]) -> Vec<String> {
    events.iter().map(|event| event["abideseq"].as_str().expect("it has one").to_owned()).collect()
}

/// OURS-24: an interrupt is not an answer to what its attempt was about.
#[tokio::test]
async fn what_interrupted_and_failed_attempts_were_about_is_shown_to_the_next() {
    let bench = Bench::steerable(false).await;
    begin(&bench, "k").await;
    let (by, _) = handed(&bench).await;
    let seq = bench.steer("k", INTERRUPT).await;
    let fence = async |by: Authority, event| {
        bench.commit(Command::Dispatch { by, event }).await;
        let (answer, detail) = (SendAnswer::Accepted, String::new());
        bench.commit(Command::SettleDispatch { by, event, answer, detail }).await;
        let segment = crate::domain::Segment { attempt: by.attempt, epoch: by.epoch };
        let vacated = bench.commit(Command::Vacate { work: by.work, segment }).await;
        assert!(matches!(vacated, Outcome::Accepted(_)), "{vacated:?}");
    };
    fence(by, seq).await;
    let (by, second) = handed(&bench).await;
    let previous = second.previous.expect("there is one");
    assert_eq!(previous.status, AttemptStatus::Cancelled);
    assert_eq!(sequences(&previous.inputs), ["1"]);
    assert_eq!(sequences(&second.inputs), ["2"]);
    assert_eq!(sequences(&[previous.interrupt_event.expect("it was")]), ["2"]);

    let reason = String::new();
    let fail = Command::Fail { by, reason, hint: None, proofs: vec![], usage: None };
    bench.commit(fail).await;
    let request = crate::domain::Request {
        uid: type_safe_id::TypeSafeId::from_uuid(uuid::Uuid::now_v7()),
        id: "ops/retry".to_owned(),
        limits: crate::domain::CausalLimits { max_depth: 32 },
    };
    bench.commit(Command::Retry { work: by.work, expect: None, request }).await;
    let (by, third) = handed(&bench).await;
    assert_eq!(sequences(&third.earlier), ["1"], "the first was interrupted");
    let seq = bench.steer("k", INTERRUPT).await;
    fence(by, seq).await;
    let (by, fourth) = handed(&bench).await;
    assert_eq!(sequences(&fourth.earlier), ["1", "2"], "the second failed");

    let seq = bench.steer("k", QUEUE).await;
    let ending = crate::domain::Ending::Completed;
    let complete = Command::Complete { by, ending, status: None, proofs: vec![], usage: None };
    bench.commit(complete).await;
    let (_, fifth) = handed(&bench).await;
    assert_eq!((fifth.earlier.len(), fifth.inputs.len()), (0, 1), "only event {seq} is left");
    assert_eq!(fifth.previous.expect("there is one").interrupt_event, None);
}

/// POLICY-17 POLICY-18 POLICY-33 INJECT-03 INJECT-07
#[tokio::test]
async fn what_nobody_knows_the_end_of_is_sent_again_as_the_same() {
    let bench = running().await;
    bench.double.says_to_injects(&[Says::Perhaps, Says::Perhaps], Says::Yes);
    let seq = bench.steer("k", INJECT).await;
    let settled = intent_is(&bench, seq, IntentStatus::Accepted).await;
    assert_eq!(settled.sends, 3);
    let sent = [inject(seq, false), inject(seq, true), inject(seq, true)];
    assert_eq!(bench.double.controls(), sent);
    assert_eq!(pending(&bench).await, [seq], "one event, and one input");
    let work = WorkId(1);
    let all = bench.context.read(move |tx| intents::of_work(tx, work, Seq(0), 9)).await;
    assert_eq!(all.expect("it reads").len(), 1);
    assert_eq!(bench.context.troubles.of_work(work), None, "what was said of it is over");
}

/// POLICY-17: what nobody can tell for days does not fill the journal.
#[tokio::test]
async fn what_is_sent_again_and_again_goes_on_record_ever_more_seldom() {
    let bench = running().await;
    bench.double.says_to_injects(&[Says::Perhaps; 9], Says::Yes);
    let seq = bench.steer("k", INJECT).await;
    let settled = intent_is(&bench, seq, IntentStatus::Accepted).await;
    assert_eq!(bench.double.controls().len(), 10);
    assert!(bench.double.controls()[1..].iter().all(|call| *call == inject(seq, true)));
    assert_eq!(settled.sends, 5, "the first, the second, the fourth and the eighth said nothing");
    let rows = bench.context.read(|tx| crate::store::journal::since(tx, 0, 1000)).await;
    let rows = rows.expect("it reads");
    let count = |action| rows.iter().filter(|row| row.action == action).count();
    // Of the dispatches all but the first are repetitions.
    assert_eq!((count("settle_dispatch"), count("dispatch")), (5, 4), "{rows:?}");
}

/// POLICY-17: a call that is cut off is ambiguous, and what stands behind it waits its turn.
#[tokio::test]
async fn an_inject_that_is_never_answered_is_given_up_and_made_again() {
    let bench = running().await;
    bench.double.says_to_injects(&[Says::Nothing], Says::Yes);
    let (first, second) = (bench.steer("k", INJECT).await, bench.steer("k", INJECT).await);
    intent_is(&bench, second, IntentStatus::Accepted).await;
    let sent = [inject(first, false), inject(first, true), inject(second, false)];
    assert_eq!(bench.double.controls(), sent);
}

/// POLICY-15 INJECT-02 INJECT-04 INJECT-05
#[tokio::test]
async fn what_is_certainly_not_delivered_is_not_sent_again() {
    let bench = running().await;
    bench.double.says_to_injects(&[Says::No], Says::Yes);
    let (refused, next) = (bench.steer("k", INJECT).await, bench.steer("k", INJECT).await);
    intent_is(&bench, next, IntentStatus::Accepted).await;
    let settled = intent(&bench, refused).await;
    assert_eq!(settled.status, IntentStatus::NotAccepting);
    assert_eq!(settled.detail.as_deref(), Some("the double says so"));
    assert_eq!(bench.double.controls(), [inject(refused, false), inject(next, false)]);
    assert_eq!(pending(&bench).await, [refused, next]);
}

/// POLICY-33: one lost connection is not yet an error.
#[tokio::test]
async fn an_error_fallback_stands_in_at_the_third_failure() {
    for (fallback, attempts) in [(Fallback::Queue, 2), (Fallback::Drop, 1)] {
        let bench = running().await;
        bench.double.says_to_injects(&[], Says::Perhaps);
        let seq = bench.steer("k", or(INJECT, fallback)).await;
        intent_is(&bench, seq, IntentStatus::FellBack).await;
        let sent = [inject(seq, false), inject(seq, true), inject(seq, true)];
        assert_eq!(bench.double.controls(), sent);
        bench.double.ends(DONE);
        let work = bench.work_is(1, WorkStatus::Completed).await;
        assert_eq!(work.attempt, Some(AttemptNo(attempts)), "{fallback:?}");
    }
}

/// POLICY-33: before the third one an answer is as good as at once.
#[tokio::test]
async fn an_error_fallback_does_not_stand_in_for_what_comes_late() {
    let bench = running().await;
    bench.double.says_to_injects(&[Says::Perhaps, Says::Nothing], Says::Yes);
    let seq = bench.steer("k", or(INJECT, Fallback::Drop)).await;
    intent_is(&bench, seq, IntentStatus::Accepted).await;
    assert_eq!(pending(&bench).await, [seq]);
}

/// I15, INJECT-08 INJECT-17 INJECT-18 INJECT-19: the process proves it while the executor has not
/// answered.
#[tokio::test]
async fn a_proof_counts_before_the_answer_and_comes_with_the_result() {
    let bench = patient().await;
    bench.run(scheduler::run);
    begin(&bench, "k").await;
    bench.double.asked(&Call::Observe).await;
    bench.double.says_to_injects(&[Says::Nothing], Says::Yes);
    let seq = bench.steer("k", INJECT).await;
    bench.double.asked(&inject(seq, false)).await;
    bench.double.reports(Some(vec![uid(&bench, seq).await]));
    bench.double.ends(DONE);
    let work = bench.work_is(1, WorkStatus::Completed).await;
    assert_eq!(work.attempt, Some(AttemptNo(1)), "nothing is left for a second one");
    assert_eq!(intent(&bench, seq).await.status, IntentStatus::Consumed);
    let first = attempt(&bench, 1).await;
    assert_eq!(first.usage.as_deref(), Some(r#"{"input_tokens":"12"}"#));
}

/// INJECT-29 INJECT-30 INJECT-31: a failure consumes what is proved, and leaves what is not.
#[tokio::test]
async fn a_failure_says_what_its_process_took_in() {
    for exit in [failed(), Exit::Lost { reason: "gone".to_owned() }] {
        let bench = running().await;
        let (first, second) = (bench.steer("k", INJECT).await, bench.steer("k", INJECT).await);
        intent_is(&bench, second, IntentStatus::Accepted).await;
        bench.double.reports(Some(vec![uid(&bench, first).await]));
        bench.double.ends(exit);
        bench.work_where(1, |work| work.failures == 1).await;
        assert_eq!(intent(&bench, first).await.status, IntentStatus::Consumed);
        assert_eq!(pending(&bench).await, [second]);
    }
}

/// INJECT-16: what cannot be proved is repeated, and costs no result.
#[tokio::test]
async fn a_result_goes_without_proof_where_nobody_can_tell() {
    let bench = running().await;
    let seq = bench.steer("k", INJECT).await;
    intent_is(&bench, seq, IntentStatus::Accepted).await;
    bench.double.reports(None);
    bench.double.ends(DONE);
    bench.double.asked(&run(2, 1)).await;
    let reports = bench.double.calls().iter().filter(|call| **call == Call::Report).count();
    assert_eq!(reports, 3, "it is asked for a few times");
    assert_eq!(attempt(&bench, 1).await.status, AttemptStatus::Completed);
}

/// I06, POLICY-08 POLICY-09
#[tokio::test]
async fn what_is_queued_does_not_reach_the_running_process() {
    let bench = running().await;
    let queued = [bench.steer("k", QUEUE).await, bench.steer("k", QUEUE).await];
    begin(&bench, "other").await;
    bench.work_is(2, WorkStatus::Running).await;
    // Anything that would be sent is sent by now: an inject of another Work is.
    let seq = bench.steer("other", INJECT).await;
    bench.double.asked(&inject(seq, false)).await;
    assert_eq!(bench.double.controls(), [inject(seq, false)]);
    bench.double.ends(DONE);
    bench.double.asked(&run(2, 2)).await;
    let work = bench.work_is(1, WorkStatus::Completed).await;
    assert_eq!(work.attempt, Some(AttemptNo(2)));
    let read = bench.context.read(|tx| inputs::consumed_by(tx, WorkId(1), AttemptNo(2), Seq(0), 9));
    assert_eq!(read.await.expect("it reads"), queued);
}

/// I04, POLICY-23 INJECT-23 INJECT-24
#[tokio::test]
async fn what_was_for_an_attempt_that_is_over_is_never_sent_to_the_next() {
    let bench = steerable().await;
    // Nobody holds the first attempt, so that nothing is dispatched.
    let by = bench.pinned("k", "b").await;
    let seq = bench.steer("k", INJECT).await;
    let ending = crate::domain::Ending::Completed;
    let complete = Command::Complete { by, ending, status: None, proofs: vec![], usage: None };
    bench.commit(complete).await;
    assert_eq!(intent(&bench, seq).await.status, IntentStatus::Stale);
    bench.run(scheduler::run);
    bench.double.asked(&run(2, 1)).await;
    bench.double.asked(&Call::Observe).await;
    let by = bench.authority(1).await;
    let late = bench.commit(Command::Dispatch { by, event: seq }).await;
    assert_eq!(late, Outcome::Refused(Refusal::StaleIntent));
    let next = bench.steer("k", INJECT).await;
    bench.double.asked(&inject(next, false)).await;
    assert_eq!(bench.double.controls(), [inject(next, false)]);
    assert_eq!(attempt(&bench, 2).await.trigger, seq);
}

/// I02, POLICY-17 INJECT-10: the host dies between the send and its answer, or after it.
#[tokio::test]
async fn a_send_that_a_crash_cut_off_is_made_again_and_proved_once() {
    for answered in [false, true] {
        let bench = steerable().await;
        let by = bench.pinned("k", "b").await;
        let seq = bench.steer("k", INJECT).await;
        bench.commit(Command::Dispatch { by, event: seq }).await;
        if answered {
            let (answer, detail) = (SendAnswer::Accepted, String::new());
            bench.commit(Command::SettleDispatch { by, event: seq, answer, detail }).await;
        }
        bench.later(LEASE);
        bench.run(recovery::run);
        bench.double.asked(&Call::Observe).await;
        let sent = if answered { vec![] } else { vec![inject(seq, true)] };
        let settled = intent_is(&bench, seq, IntentStatus::Accepted).await;
        assert_eq!((bench.double.controls(), settled.epoch), (sent, by.epoch));
        assert_eq!(pending(&bench).await, [seq], "nothing is taken off before the proof");
        bench.double.reports(Some(vec![uid(&bench, seq).await]));
        bench.double.ends(DONE);
        let work = bench.work_is(1, WorkStatus::Completed).await;
        assert_eq!(work.attempt, Some(AttemptNo(1)));
        assert_eq!(intent(&bench, seq).await.status, IntentStatus::Consumed);
    }
}

/// POLICY-12: nothing is sent to what has not been pinned, and nothing is lost by that.
#[tokio::test]
async fn what_comes_during_the_launch_is_sent_once_the_process_proceeds() {
    let bench = steerable().await;
    bench.double.hold_launches(true);
    bench.run(scheduler::run);
    begin(&bench, "k").await;
    bench.double.asked(&run(1, 1)).await;
    let seq = bench.steer("k", INJECT).await;
    assert_eq!(intent(&bench, seq).await.status, IntentStatus::Committed);
    bench.double.hold_launches(false);
    bench.double.asked(&inject(seq, false)).await;
    let calls = bench.double.calls();
    let proceed = Call::Proceed("segment 1-1".to_owned());
    assert!(at(&calls, &proceed) < at(&calls, &inject(seq, false)), "{calls:?}");
}

/// POLICY-12: one that hangs holds up no other attempt, and no interrupt of its own.
#[tokio::test]
async fn an_executor_that_hangs_holds_up_nobody_else() {
    let bench = patient().await;
    bench.run(scheduler::run);
    bench.run(vacate::run);
    for key in ["k", "other"] {
        begin(&bench, key).await;
    }
    for work in [1, 2] {
        bench.work_where(work, |work| work.attempt.is_some()).await;
    }
    bench.double.says_to_injects(&[Says::Nothing], Says::Yes);
    let hangs = bench.steer("k", INJECT).await;
    bench.double.asked(&inject(hangs, false)).await;
    let other = bench.steer("other", INJECT).await;
    intent_is(&bench, other, IntentStatus::Accepted).await;
    assert_eq!(intent(&bench, hangs).await.status, IntentStatus::Dispatched);
    let stop = bench.steer("k", INTERRUPT).await;
    intent_is(&bench, stop, IntentStatus::Fenced).await;
    assert_eq!(intent(&bench, hangs).await.status, IntentStatus::Stale);
}

/// POLICY-19 to POLICY-22 CTRL-09: told, fenced, then stopped, and only then replaced.
#[tokio::test]
async fn an_interrupted_attempt_is_replaced_once_its_process_is_stopped() {
    let bench = running().await;
    bench.run(vacate::run);
    let kept = bench.steer("k", QUEUE).await;
    let seq = bench.steer("k", INTERRUPT).await;
    bench.double.asked(&run(2, 2)).await;
    let calls = bench.double.calls();
    assert!(at(&calls, &Call::Interrupt) < at(&calls, &Call::Stop), "{calls:?}");
    assert!(at(&calls, &Call::Stop) < at(&calls, &run(2, 2)), "{calls:?}");
    let first = attempt(&bench, 1).await;
    assert_eq!((first.status, first.interrupt_event), (AttemptStatus::Cancelled, Some(seq)));
    assert_eq!(attempt(&bench, 2).await.trigger, kept);
    let work = bench.work_is(1, WorkStatus::Running).await;
    assert_eq!((work.failures, work.attempt), (0, Some(AttemptNo(2))));
}

/// I17, reading B17: what an interrupt stopped is no failure, whoever sees the end first.
#[tokio::test]
async fn a_process_that_ends_while_it_is_told_to_stop_has_not_failed() {
    for exit in [failed(), Exit::Lost { reason: "gone".to_owned() }, DONE] {
        let bench = running().await;
        bench.double.ends_when_interrupted(exit);
        let seq = bench.steer("k", INTERRUPT).await;
        let work = bench.work_is(1, WorkStatus::Ready).await;
        assert_eq!((work.failures, work.attempt), (0, Some(AttemptNo(1))));
        let first = attempt(&bench, 1).await;
        assert_eq!((first.status, first.interrupt_event), (AttemptStatus::Cancelled, Some(seq)));
        let by = Authority { work: WorkId(1), attempt: first.n, epoch: first.epoch, ..old() };
        let ending = crate::domain::Ending::Completed;
        let late = Command::Complete { by, ending, status: None, proofs: vec![], usage: None };
        assert_eq!(bench.commit(late).await, Outcome::Refused(Refusal::StaleAuthority));
    }
}

/// I17, CTRL-09: the same where nobody can tell whether it was told. What it has for a result stands.
#[tokio::test]
async fn a_process_that_ends_after_it_may_have_been_told_to_stop_has_not_failed() {
    for exit in [failed(), Exit::Lost { reason: "gone".to_owned() }] {
        let bench = running().await;
        bench.double.says_to_interrupts(&[], Says::Perhaps);
        bench.double.ends_when_interrupted(exit);
        let seq = bench.steer("k", INTERRUPT).await;
        let work = bench.work_is(1, WorkStatus::Ready).await;
        assert_eq!((work.failures, work.attempt), (0, Some(AttemptNo(1))));
        let first = attempt(&bench, 1).await;
        assert_eq!((first.status, first.interrupt_event), (AttemptStatus::Cancelled, Some(seq)));
        assert_eq!(bench.double.controls(), [Call::Interrupt], "nobody is left to tell");
        assert!(work.marked.is_some(), "its process is seen out");
    }
    let bench = running().await;
    bench.run(vacate::run);
    bench.double.says_to_interrupts(&[], Says::Perhaps);
    bench.double.ends_when_interrupted(DONE);
    let seq = bench.steer("k", INTERRUPT).await;
    bench.double.asked(&run(2, 1)).await;
    assert_eq!(attempt(&bench, 1).await.status, AttemptStatus::Completed);
    assert_eq!(intent(&bench, seq).await.status, IntentStatus::Stale);
}

fn old() -> Authority {
    let token = crate::domain::Token::from_bytes([1; 32]).hash();
    Authority { work: WorkId(1), attempt: AttemptNo(1), epoch: crate::domain::Epoch(1), token }
}

/// I17, reading B17: a result that commits first wins, and the input starts the next attempt.
#[tokio::test]
async fn a_result_that_commits_before_the_fence_stands() {
    let bench = running().await;
    bench.run(vacate::run);
    bench.double.says_to_interrupts(&[], Says::Perhaps);
    let seq = bench.steer("k", INTERRUPT).await;
    bench.double.asked(&Call::Interrupt).await;
    bench.double.ends(DONE);
    bench.double.asked(&run(2, 1)).await;
    bench.work_is(1, WorkStatus::Completed).await;
    let first = attempt(&bench, 1).await;
    assert_eq!((first.status, first.interrupt_event), (AttemptStatus::Completed, None));
    assert_eq!(intent(&bench, seq).await.status, IntentStatus::Stale);
    assert!(!bench.double.calls().contains(&Call::Stop));
}

/// POLICY-17 POLICY-33 CTRL-08: an interrupt without error fallback is told until that is known, a
/// person's as well as a route's.
#[tokio::test]
async fn an_interrupt_that_cannot_be_told_is_told_again() {
    for by_person in [false, true] {
        let bench = running().await;
        let answers = [Says::Perhaps, Says::Nothing, Says::Perhaps, Says::No];
        bench.double.says_to_interrupts(&answers, Says::Yes);
        let seq = if by_person {
            interrupted_by_a_person(&bench).await
        } else {
            bench.steer("k", INTERRUPT).await
        };
        let fenced = intent_is(&bench, seq, IntentStatus::Fenced).await;
        assert_eq!(fenced.sends, 4, "the third is not on record");
        assert_eq!(bench.double.controls(), vec![Call::Interrupt; 5]);
        assert_eq!(attempt(&bench, 1).await.interrupt_event, Some(seq));
    }
}

/// As `abide work interrupt` does.
async fn interrupted_by_a_person(bench: &Bench) -> Seq {
    let request = crate::domain::Request {
        uid: type_safe_id::TypeSafeId::from_uuid(uuid::Uuid::now_v7()),
        id: "ops/1".to_owned(),
        limits: crate::domain::CausalLimits { max_depth: 32 },
    };
    let (work, expect, implemented) = (WorkId(1), None, true);
    let asked = bench.commit(Command::Interrupt { work, expect, request, implemented }).await;
    let Outcome::Accepted(Receipt::Event { seq }) = asked else { panic!("{asked:?}") };
    seq
}

/// POLICY-33: a failed interrupt takes its error fallback, and what waited behind it goes on.
#[tokio::test]
async fn an_interrupt_that_failed_leaves_the_attempt_as_it_is() {
    let bench = running().await;
    bench.double.says_to_interrupts(&[], Says::Perhaps);
    let seq = bench.steer("k", or(INTERRUPT, Fallback::Queue)).await;
    let behind = bench.steer("k", INJECT).await;
    intent_is(&bench, seq, IntentStatus::FellBack).await;
    intent_is(&bench, behind, IntentStatus::Accepted).await;
    let mut calls = vec![Call::Interrupt; 3];
    calls.push(inject(behind, false));
    assert_eq!(bench.double.controls(), calls, "interrupts come first");
    assert_eq!(attempt(&bench, 1).await.status, AttemptStatus::Running);
}

/// I17 over a crash, POLICY-17: told, and nobody knows; whoever adopts tells it again, and takes an end
/// that the first one may have caused for its doing.
#[tokio::test]
async fn an_interrupt_lives_over_a_crash_and_an_adoption() {
    for ended in [false, true] {
        let bench = steerable().await;
        let by = bench.pinned("k", "b").await;
        let seq = bench.steer("k", INTERRUPT).await;
        bench.commit(Command::Dispatch { by, event: seq }).await;
        if ended {
            bench.double.ends(failed());
        }
        bench.later(LEASE);
        bench.run(recovery::run);
        let work = bench.work_is(1, WorkStatus::Ready).await;
        assert_eq!((work.failures, work.attempt), (0, Some(AttemptNo(1))));
        let fenced = intent(&bench, seq).await;
        assert_eq!((fenced.status, fenced.epoch), (IntentStatus::Fenced, by.epoch));
        let told = if ended { vec![] } else { vec![Call::Interrupt] };
        assert_eq!(bench.double.controls(), told, "what has ended is told nothing");
        assert!(work.marked.is_some(), "its process is seen out");
    }
}

/// DONE-02, reading B19: what could only complete its Work over news that cannot be routed can be
/// interrupted, though nothing of it runs.
#[tokio::test]
async fn an_attempt_that_cannot_complete_is_interrupted_by_a_person() {
    let bench = running().await;
    bench.event("t.a", "k", "{}").await;
    bench.double.ends(DONE);
    let conflicts = |tx: &mut dyn crate::store::Tx| {
        let rows = crate::store::journal::since(tx, 0, 1000).expect("it reads");
        rows.iter().any(|row| row.action == "complete" && row.outcome == "conflict").then_some(())
    };
    bench.until(conflicts).await;
    let seq = interrupted_by_a_person(&bench).await;
    bench.work_is(1, WorkStatus::Ready).await;
    assert_eq!(attempt(&bench, 1).await.interrupt_event, Some(seq));
    assert_eq!(bench.double.controls(), [], "there is nobody left to tell");
}

/// What a host of the first Work's attempt works with.
async fn held(bench: &Bench, by: Authority) -> Held {
    let context = std::sync::Arc::clone(&bench.context);
    let pinned = context.pinned(by.work, by.attempt).await.expect("it can be used");
    let read = context.read(move |tx| crate::store::works::referred(tx, by.work)).await;
    let uid = read.expect("it reads").uid;
    let length = crate::domain::Duration::seconds(30);
    let lease = Lease::new(bench.context.clone(), "test", by, length, context.now());
    let token = crate::domain::Token::from_bytes([1; 32]);
    let (_, knocks) = tokio::sync::watch::channel(());
    Held { context, lease, pinned, token, uid, knocks }
}

/// Reading B17: a result in hand is committed once more before an interrupt, which came with the event
/// that stood in its way, fences the attempt.
#[tokio::test]
async fn an_interrupt_that_comes_while_an_attempt_ends_costs_no_result() {
    for blocked in [false, true] {
        let bench = Bench::steerable(false).await;
        let by = bench.pinned("k", "b").await;
        let taken = bench.steer("k", INJECT).await;
        bench.commit(Command::Dispatch { by, event: taken }).await;
        let proofs = vec![uid(&bench, taken).await];
        let ending = crate::domain::Ending::Completed;
        let status = Some("reviewed".to_owned());
        let complete = Command::Complete { by, ending, status, proofs, usage: None };
        let seq = bench.event("t.a", "k", "{}").await;
        assert_eq!(bench.commit(complete.clone()).await, Outcome::Conflict);
        let seq = if blocked {
            // A person's request is no input, and the event stays in the way.
            interrupted_by_a_person(&bench).await
        } else {
            bench.interrupts_with(seq).await;
            seq
        };
        let ended = after_conflict(&held(&bench, by).await, &complete).await.expect("it is held");
        let first = attempt(&bench, 1).await;
        if blocked {
            let fenced = Some(Outcome::Accepted(Receipt::Intent {
                event: seq,
                work: WorkId(1),
                attempt: AttemptNo(1),
                kind: crate::domain::IntentKind::Interrupt,
                status: IntentStatus::Fenced,
            }));
            assert_eq!((ended, first.interrupt_event), (fenced, Some(seq)));
            continue;
        }
        assert!(matches!(ended, Some(Outcome::Accepted(Receipt::Ended { .. }))), "{ended:?}");
        assert_eq!((first.status, first.interrupt_event), (AttemptStatus::Completed, None));
        assert_eq!(intent(&bench, taken).await.status, IntentStatus::Consumed);
        assert_eq!(intent(&bench, seq).await.status, IntentStatus::Stale);
        assert_eq!(pending(&bench).await, [seq], "it starts the next one");
    }
}

/// What is said of sends is over with the process, however long its ending has to wait.
#[tokio::test]
async fn what_was_sent_in_vain_is_no_trouble_once_the_process_has_ended() {
    let bench = running().await;
    bench.double.says_to_injects(&[], Says::Perhaps);
    let seq = bench.steer("k", INJECT).await;
    bench.double.asked(&inject(seq, true)).await;
    bench.event("t.a", "k", "{}").await;
    // Nothing is pending then, so that the news stand in the way.
    bench.double.reports(Some(vec![uid(&bench, seq).await]));
    bench.double.ends(DONE);
    let conflicts = |tx: &mut dyn crate::store::Tx| {
        let rows = crate::store::journal::since(tx, 0, 1000).expect("it reads");
        rows.iter().any(|row| row.action == "complete" && row.outcome == "conflict").then_some(())
    };
    bench.until(conflicts).await;
    assert_eq!(bench.work_is(1, WorkStatus::Running).await.attempt, Some(AttemptNo(1)));
    assert_eq!(bench.context.troubles.of_work(WorkId(1)), None);
}

/// LEASE-07: nothing is called for an attempt whose authority is gone.
#[tokio::test]
async fn a_cancellation_ends_what_was_being_sent() {
    let bench = running().await;
    bench.double.says_to_injects(&[], Says::Perhaps);
    let seq = bench.steer("k", INJECT).await;
    bench.double.asked(&inject(seq, true)).await;
    let (work, reason) = (WorkId(1), String::new());
    bench.commit(Command::Cancel { work, expect: None, for_good: false, reason }).await;
    soon(async {
        while bench.context.driven.count() > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    let sent = bench.double.controls();
    begin(&bench, "other").await;
    bench.work_is(2, WorkStatus::Running).await;
    bench.double.says_to_injects(&[], Says::Yes);
    // Anything that would be sent is sent by now: an inject of another Work is.
    let other = bench.steer("other", INJECT).await;
    bench.double.asked(&inject(other, false)).await;
    let more = bench.double.controls().split_off(sent.len());
    assert_eq!(more, [inject(other, false)]);
    assert_eq!(intent(&bench, seq).await.status, IntentStatus::Stale);
}

/// Under a route that injects, an attempt whose pin cannot.
async fn lacking() -> (Bench, Authority, Seq) {
    let text = CONFIGURATION.replace("do = \"work\"", "do = \"work\"\nactive = \"inject\"");
    let bench = Bench::configured(false, &text).await;
    let by = bench.pinned("k", "b").await;
    bench.double.can(true, true);
    let seq = bench.event("t.a", "k", "{}").await;
    (bench, by, seq)
}

/// Waits until it is noted that an event does not get on, or no more.
async fn noted(bench: &Bench, seq: Seq, noted: bool) {
    soon(async {
        while bench.context.troubles.of_event(seq).is_some() != noted {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

/// POLICY-32, reading B19: queue is not inferred; the event waits, and says why.
#[tokio::test]
async fn what_the_running_attempt_lacks_is_neither_sent_nor_queued() {
    let (bench, _by, seq) = lacking().await;
    let behind = bench.event("t.a", "k", "{}").await;
    bench.run(router::run);
    bench.run(dispatcher::run);
    noted(&bench, seq, true).await;
    let why = bench.context.troubles.of_event(seq).expect("it is noted");
    assert!(why.contains("does not support"), "{why}");
    let other = bench.event("t.a", "other", "{}").await;
    bench.until(move |tx| pages::mark(tx, other).expect("it reads")).await;
    for seq in [seq, behind] {
        let mark = bench.context.read(move |tx| pages::mark(tx, seq)).await.expect("it reads");
        assert_eq!(mark, None, "event {seq}");
    }
    assert_eq!(bench.double.controls(), []);
    let rows = bench.context.read(|tx| crate::store::journal::since(tx, 0, 1000)).await;
    let asked = rows.expect("it reads").into_iter().filter(|row| row.outcome == "deferred");
    assert!(asked.count() <= 3, "it does not spin");
}

/// Reading B19: it is asked again once its attempt is over, or another configuration is current.
#[tokio::test]
async fn what_the_attempt_lacked_is_routed_once_that_is_over() {
    let (bench, by, seq) = lacking().await;
    bench.run(router::run);
    noted(&bench, seq, true).await;
    let ending = crate::domain::Ending::Handoff { close_after: None };
    let handoff = Command::Complete { by, ending, status: None, proofs: vec![], usage: None };
    bench.commit(handoff).await;
    let mark = bench.until(move |tx| pages::mark(tx, seq).expect("it reads")).await;
    assert_eq!(mark, (MarkKind::Queued, Some(by.work)), "no attempt runs that could take it");
    noted(&bench, seq, false).await;
}

/// Reading B19: a reload that gives the route a fallback.
#[tokio::test]
async fn what_the_attempt_lacks_falls_back_once_a_reload_says_so() {
    let (bench, by, seq) = lacking().await;
    bench.run(router::run);
    noted(&bench, seq, true).await;
    let wants = "do = \"work\"\nactive = \"inject\"\nfallback = \"queue\"";
    bench.reload(&CONFIGURATION.replace("do = \"work\"", wants)).await;
    let mark = bench.until(move |tx| pages::mark(tx, seq).expect("it reads")).await;
    assert_eq!(mark, (MarkKind::Queued, Some(by.work)));
    assert_eq!(bench.work_is(1, WorkStatus::Running).await.pending_count, 1);
}

/// POLICY-26: what the binding does not advertise, its executor is not asked for.
#[tokio::test]
async fn an_attempt_is_pinned_to_what_its_binding_advertises_and_its_executor_implements() {
    let none = CONFIGURATION.replace("capabilities = [\"inject\", \"interrupt\"]\n", "");
    let cases = [
        (CONFIGURATION, (true, true), (true, true)),
        (CONFIGURATION, (true, false), (true, false)),
        (CONFIGURATION, (false, true), (false, true)),
        (none.as_str(), (true, true), (false, false)),
    ];
    for (text, (injects, interrupts), pinned) in cases {
        let bench = Bench::configured(false, text).await;
        bench.double.can(injects, interrupts);
        let current = bench.context.current();
        let pin = bench.context.binding(&current, "main", "k").expect("it is configured").pin;
        assert_eq!((pin.injects, pin.interrupts), pinned);
    }
}
