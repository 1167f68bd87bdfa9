//! What becomes of an injection over a restart: the loops of a daemon on a database that another has left, with an executor
//! that says of each process what a test sets.

use super::bench::{INJECT, Says};
use super::steering::{DONE, LEASE, attempt, inject, intent, intent_is, pending, run, uid};
use super::{Bench, Call};
use crate::command::{Command, Outcome, Refusal};
use crate::daemon::{dispatcher, recovery, scheduler};
use crate::domain::{
    AttemptNo, AttemptStatus, Authority, Ending, IntentStatus, SendAnswer, Seq, WorkId, WorkStatus,
};
use crate::store::inputs;

/// An attempt that runs, and an event that is to be injected into it; nobody has begun to.
async fn intended() -> (Bench, Authority, Seq) {
    let bench = Bench::steerable(false).await;
    let by = bench.pinned("k", "b").await;
    let seq = bench.steer("k", INJECT).await;
    (bench, by, seq)
}

/// The same, and the daemon was killed when it had said that it sends.
async fn dispatched() -> (Bench, Authority, Seq) {
    let (bench, by, seq) = intended().await;
    let outcome = bench.commit(Command::Dispatch { by, event: seq }).await;
    assert!(matches!(outcome, Outcome::Accepted(_)), "{outcome:?}");
    (bench, by, seq)
}

/// Another daemon, which takes the attempt over once its lease has ended.
async fn taken_over(bench: Bench) -> Bench {
    let bench = bench.reopened().await;
    bench.later(LEASE);
    bench.run(dispatcher::run);
    bench.run(recovery::run);
    bench.run(scheduler::run);
    bench
}

fn settle(by: Authority, event: Seq, answer: SendAnswer) -> Command {
    Command::SettleDispatch { by, event, answer, detail: String::new() }
}

/// `inject_ack/proof_before_dispatch_ack`; INJECT-08 INJECT-17 INJECT-18 INJECT-19 INJECT-20
#[tokio::test]
async fn a_proof_stands_before_an_answer_that_never_came_and_after_another_restart() {
    let (bench, by, seq) = dispatched().await;
    bench.double.says_to_injects(&[], Says::Nothing);
    bench.double.reports(Some(vec![uid(&bench, seq).await]));
    let bench = taken_over(bench).await;
    bench.double.asked(&inject(seq, true)).await;
    let holder = bench.authority(1).await;
    bench.double.ends(DONE);
    bench.work_is(1, WorkStatus::Completed).await;
    assert_eq!(intent(&bench, seq).await.status, IntentStatus::Consumed);
    let bench = bench.reopened().await;
    for answer in [SendAnswer::Accepted, SendAnswer::NotAccepting, SendAnswer::Failed] {
        for by in [by, holder] {
            let late = bench.commit(settle(by, seq, answer)).await;
            assert!(matches!(late, Outcome::Duplicate(_)), "{late:?}");
        }
    }
    let replayed = bench.commit(Command::Dispatch { by: holder, event: seq }).await;
    assert!(matches!(replayed, Outcome::Refused(_)), "{replayed:?}");
    assert_eq!(intent(&bench, seq).await.status, IntentStatus::Consumed);
    let read =
        |tx: &mut dyn crate::store::Tx| inputs::consumed_by(tx, WorkId(1), AttemptNo(1), Seq(0), 9);
    let consumed = bench.context.read(read).await.expect("it reads");
    assert_eq!(consumed.iter().filter(|one| **one == seq).count(), 1, "{consumed:?}");
}

/// `inject_ack/accepted_too_late`; INJECT-01 INJECT-22
#[tokio::test]
async fn what_was_accepted_and_never_taken_in_is_input_of_the_next_attempt_after_a_restart() {
    let (bench, by, seq) = dispatched().await;
    bench.commit(settle(by, seq, SendAnswer::Accepted)).await;
    bench.double.reports(Some(Vec::new()));
    let bench = taken_over(bench).await;
    bench.double.asked(&Call::Observe).await;
    assert_eq!(pending(&bench).await, [seq]);
    bench.double.ends(DONE);
    bench.double.asked(&run(2, 1)).await;
    bench.work_is(1, WorkStatus::Completed).await;
    assert_eq!(bench.double.controls(), [], "what was accepted is not sent again");
    assert_eq!(attempt(&bench, 1).await.status, AttemptStatus::Completed);
    assert_eq!(attempt(&bench, 2).await.trigger, seq);
    assert_eq!(intent(&bench, seq).await.status, IntentStatus::Accepted);
}

/// `inject_ack/completion_before_dispatch`; INJECT-23 INJECT-24
#[tokio::test]
async fn what_was_never_sent_is_not_sent_to_the_next_attempt_by_the_next_daemon() {
    let (bench, by, seq) = intended().await;
    let ending = Ending::Completed;
    let complete = Command::Complete { by, ending, status: None, proofs: vec![], usage: None };
    bench.commit(complete).await;
    let bench = taken_over(bench).await;
    bench.double.asked(&run(2, 1)).await;
    bench.double.asked(&Call::Observe).await;
    assert_eq!(intent(&bench, seq).await.status, IntentStatus::Stale);
    assert_eq!(attempt(&bench, 2).await.trigger, seq);
    let by = bench.authority(1).await;
    let late = bench.commit(Command::Dispatch { by, event: seq }).await;
    assert_eq!(late, Outcome::Refused(Refusal::StaleIntent));
    assert_eq!(bench.double.controls(), []);
}

/// `inject_ack/not_accepting`; INJECT-02 INJECT-04 INJECT-05
#[tokio::test]
async fn what_was_certainly_not_delivered_is_not_sent_again_by_the_next_daemon() {
    let (bench, by, seq) = dispatched().await;
    bench.commit(settle(by, seq, SendAnswer::NotAccepting)).await;
    let bench = taken_over(bench).await;
    bench.double.asked(&Call::Observe).await;
    // What comes later is sent, and this is not.
    let next = bench.steer("k", INJECT).await;
    intent_is(&bench, next, IntentStatus::Accepted).await;
    assert_eq!(bench.double.controls(), [inject(next, false)]);
    assert_eq!(intent(&bench, seq).await.status, IntentStatus::NotAccepting);
    bench.double.reports(Some(vec![uid(&bench, next).await]));
    bench.double.ends(DONE);
    bench.double.asked(&run(2, 1)).await;
    assert_eq!(attempt(&bench, 2).await.trigger, seq);
}

/// `inject_ack/ambiguous_resend`; INJECT-03 INJECT-07 EXEC-04
#[tokio::test]
async fn what_nobody_knows_the_end_of_is_sent_again_by_the_next_daemon_and_consumed_once() {
    let (bench, by, seq) = dispatched().await;
    bench.commit(settle(by, seq, SendAnswer::Failed)).await;
    bench.double.says_to_injects(&[Says::Perhaps], Says::Yes);
    let bench = taken_over(bench).await;
    intent_is(&bench, seq, IntentStatus::Accepted).await;
    assert_eq!(bench.double.controls(), [inject(seq, true), inject(seq, true)]);
    assert_eq!(pending(&bench).await, [seq], "one event, and one input");
    bench.double.reports(Some(vec![uid(&bench, seq).await]));
    bench.double.ends(DONE);
    let work = bench.work_is(1, WorkStatus::Completed).await;
    assert_eq!(work.attempt, Some(AttemptNo(1)), "nothing is left for a second one");
    assert_eq!(intent(&bench, seq).await.status, IntentStatus::Consumed);
}
