//! Bursts for Work that runs: nothing of one is lost, merged or started twice.

use abide::command::{Command, Outcome, Receipt, Refusal};
use abide::domain::{
    AttemptNo, CausalLimits, EventUid, ProposedWork, Request, Seq, WorkId, WorkStatus, WorkUid,
};
use abide_tests::live::{ByKey, Live, SCOPE, Vary, claim, event, key};

/// Accepts and routes so many events for a key, each with something else to say.
fn burst(live: &Live, name: &str, count: usize) -> Vec<Seq> {
    let offer = |nth| event(&format!("{name}-{nth}")).keyed(name).saying(&says(nth));
    let accepted: Vec<Seq> = (0..count).map(|nth| live.accept(offer(nth))).collect();
    for seq in &accepted {
        assert!(matches!(live.route(*seq, &ByKey), Outcome::Accepted(_)));
    }
    accepted
}

fn says(nth: usize) -> String {
    format!(r#"{{"nth":{nth}}}"#)
}

/// Whether there is nothing left that an attempt would start from.
fn rests(live: &Live, work: WorkId) -> bool {
    let answer = live.apply(claim(work).0);
    answer == Refusal::NothingToStart.into() || answer == Refusal::Terminal.into()
}

/// POLICY-08 POLICY-09 POLICY-35
#[test]
fn of_eight_pushes_during_a_run_the_next_gets_all_seven_others_and_is_one() {
    let live = Live::new();
    let first = live.accept(event("push-0").keyed("k"));
    live.route(first, &ByKey);
    let work = live.owner("k").expect("a work was made");
    let by = live.start(work);
    let others = burst(&live, "k", 7);
    assert!(matches!(live.apply(claim(work).0), Outcome::Refused(Refusal::AttemptOpen)));
    assert!(matches!(live.complete(by), Outcome::Accepted(_)));
    let by = live.start(work);
    let seen = live.work(work);
    let attempt = seen.attempt.expect("the second attempt");
    assert_eq!((attempt.n, attempt.trigger), (AttemptNo(2), others[0]));
    assert_eq!(attempt.batch, others, "in acceptance order, and none is merged or replaced");
    let history: Vec<Seq> = seen.consumed.iter().map(|input| input.event).collect();
    assert_eq!(history[1..], others);
    assert!(matches!(live.complete(by), Outcome::Accepted(_)));
    assert_eq!(live.work(work).status, WorkStatus::Completed);
    assert!(rests(&live, work), "one run for seven pushes");
}

/// POLICY-35 POLICY-36
#[test]
fn events_of_one_key_that_differ_all_reach_an_attempt_with_what_they_say() {
    let live = Live::new();
    let burst = burst(&live, "k", 6);
    let work = live.owner("k").expect("a work was made");
    live.start(work);
    let batch = live.work(work).attempt.expect("an attempt").batch;
    assert_eq!(batch, burst);
    let said: Vec<Option<String>> = batch.iter().map(|seq| live.payload(*seq)).collect();
    let sent: Vec<Option<String>> = (0..6).map(|nth| Some(says(nth))).collect();
    assert_eq!(said, sent);
}

/// POLICY-05 POLICY-09
#[test]
fn fifty_triggers_during_a_run_of_standing_work_start_one_more() {
    let live = Live::new();
    let limits = CausalLimits { max_depth: 32 };
    let made = live.accepted(Command::CreateWork {
        request: Request { uid: EventUid::new(), id: "job".to_owned(), limits },
        scope: SCOPE.to_owned(),
        create: ProposedWork { uid: WorkUid::new(), kind: "job".to_owned(), standing: true },
        key: Some(key("job")),
        parent: None,
        authorised: false,
        data: None,
    });
    assert!(matches!(made, Receipt::Event { .. }), "{made:?}");
    let work = live.owner("job").expect("it is made");
    let by = live.start(work);
    let triggers = burst(&live, "job", 50);
    assert!(matches!(live.complete(by), Outcome::Accepted(_)));
    let by = live.start(work);
    let attempt = live.work(work).attempt.expect("the second run");
    assert_eq!((attempt.n, attempt.batch), (AttemptNo(2), triggers));
    assert!(matches!(live.complete(by), Outcome::Accepted(_)));
    assert!(rests(&live, work), "no third run follows");
    assert_eq!(live.work(work).status, WorkStatus::Ready, "and it stands");
}
