//! Real threads on the public runtime. They meet at barriers; a clock on the wall only tells a stall.

use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Barrier, Mutex};

use abide::command::{Command, Outcome};
use abide::domain::{Seq, WorkId, WorkStatus};
use abide::extension::route::{
    Decision, EventView, RouteAction, RouteError, RouteHandler, WorkView,
};
use abide_tests::daemon::STALL;
use abide_tests::live::{ByKey, Live, Vary, claim, event};

/// A handler that says when it was called and answers when it is let.
struct Blocked {
    called: Mutex<Sender<Seq>>,
    lets: Mutex<Receiver<()>>,
}

impl RouteHandler for Blocked {
    fn identify(&self, event: &EventView) -> Result<Option<String>, RouteError> {
        ByKey.identify(event)
    }

    fn evaluate(&self, event: &EventView, work: Option<&WorkView>) -> Result<Decision, RouteError> {
        let seq = Seq(event.seq.expect("it is accepted"));
        self.called.lock().expect("no thread panicked").send(seq).expect("somebody listens");
        let lets = self.lets.lock().expect("no thread panicked");
        lets.recv_timeout(STALL).expect("it is let");
        ByKey.evaluate(event, work)
    }
}

/// ROUTE-03 ROUTE-20 ROUTE-21
#[test]
fn a_handler_that_is_blocked_on_purpose_holds_up_no_other_work() {
    let live = Live::new();
    let blocked = live.accept(event("blocked").keyed("a"));
    let (called, calls) = mpsc::channel();
    let (let_it, lets) = mpsc::channel();
    let handler = Blocked { called: Mutex::new(called), lets: Mutex::new(lets) };
    std::thread::scope(|scope| {
        let handled = scope.spawn(|| live.route(blocked, &handler));
        assert_eq!(calls.recv_timeout(STALL), Ok(blocked), "its handler is called");

        // While it hangs another event is accepted, routed, started, completed, and read.
        let other = live.ready("b");
        let by = live.start(other);
        assert!(matches!(live.complete(by), Outcome::Accepted(_)));
        assert_eq!(live.work(other).status, WorkStatus::Completed);
        let seen = live.see().events;
        assert_eq!(seen[0].mark, None, "the blocked one is unrouted still");

        let_it.send(()).expect("the handler waits");
        assert!(matches!(handled.join(), Ok(Outcome::Accepted(_))));
    });
    assert!(live.owner("a").is_some(), "and routed once its handler is let");
}

/// OWN-04 ROUTE-15 ROUTE-16
#[test]
fn routes_of_one_key_released_together_end_at_one_work() {
    let live = Live::new();
    for round in 0..20 {
        let name = format!("key-{round}");
        let events: Vec<Seq> =
            (0..8).map(|n| live.accept(event(&format!("{round}-{n}")).keyed(&name))).collect();
        together(&events, |event| {
            live.route(*event, &ByKey);
        });
        let owner = live.owner(&name).expect("the key has an owner");
        assert_eq!(live.work(owner).pending, events, "it has all of them, in order");
        assert_eq!(live.see().works.len(), round + 1, "and nobody else was made");
    }
}

/// INGRESS-01 INGRESS-05
#[test]
fn one_identity_offered_at_once_and_after_a_restart_is_one_event() {
    let mut live = Live::new();
    let offer = |live: &Live| {
        let offered = event("the delivery").keyed("k");
        match live.apply(Command::Accept { event: Box::new(offered) }) {
            Outcome::Accepted(receipt) => (true, receipt),
            Outcome::Duplicate(receipt) => (false, receipt),
            other @ (Outcome::Deferred(_) | Outcome::Conflict | Outcome::Refused(_)) => {
                panic!("an offer was answered {other:?}")
            }
        }
    };
    let answers = together(&[(); 8], |()| offer(&live));
    assert_eq!(answers.iter().filter(|(new, _)| *new).count(), 1, "{answers:?}");
    live = live.reopened();
    let (new, receipt) = offer(&live);
    assert!(!new && answers.iter().all(|(_, one)| *one == receipt), "{answers:?} {receipt:?}");
    assert_eq!(live.see().events.len(), 1);
}

/// LEASE-03
#[test]
fn starts_released_together_leave_one_attempt() {
    let live = Live::new();
    for round in 0..20 {
        let work = live.ready(&format!("key-{round}"));
        let answers = together(&[work; 8], |work| live.apply(claim(*work).0));
        let accepted = answers.iter().filter(|answer| matches!(answer, Outcome::Accepted(_)));
        assert_eq!(accepted.count(), 1, "{answers:?}");
        let refused = answers.iter().filter(|answer| matches!(answer, Outcome::Refused(_)));
        assert_eq!(refused.count(), 7, "{answers:?}");
        assert_eq!(live.work(work).attempt.map(|attempt| attempt.n.0), Some(1));
    }
}

/// Wants a second key beside the event's own.
struct AndAlso(&'static str);

impl RouteHandler for AndAlso {
    fn identify(&self, event: &EventView) -> Result<Option<String>, RouteError> {
        ByKey.identify(event)
    }

    fn evaluate(&self, event: &EventView, work: Option<&WorkView>) -> Result<Decision, RouteError> {
        let round = event.data["round"].as_i64().expect("a round");
        Ok(Decision {
            action: RouteAction::Work,
            attach: vec![format!("{}-{round}", self.0)],
            ..ByKey.evaluate(event, work)?
        })
    }
}

/// OWN-08
#[test]
fn decisions_that_want_each_others_keys_never_deadlock() {
    let live = Arc::new(Live::new());
    for round in 0..50 {
        let wants = |own: &str, other: &'static str| {
            let said = format!(r#"{{"round":{round}}}"#);
            let offered = event(&format!("{own}-{round}")).keyed(&format!("{own}-{round}"));
            (live.accept(offered.saying(&said)), AndAlso(other))
        };
        let decisions = [wants("a", "b"), wants("b", "c"), wants("c", "a")];
        together(&decisions, |(event, handler)| {
            live.route(*event, handler);
        });
        let owners: Vec<Option<WorkId>> =
            ["a", "b", "c"].map(|name| live.owner(&format!("{name}-{round}"))).to_vec();
        let whole = owners.iter().all(|owner| owner.is_some() && *owner == owners[0]);
        let unrouted = live.see().events.iter().filter(|event| event.mark.is_none()).count();
        // Either all three joined one Work, or two Works met and the one that asked too late stays unrouted.
        assert!(whole || unrouted > 0, "round {round}: {owners:?}, {unrouted} unrouted");
        assert!(owners.iter().all(Option::is_some), "round {round}: one of them committed");
        drop_unrouted(&live);
    }
}

/// So that what is left of one round is not mistaken for the next.
fn drop_unrouted(live: &Live) {
    for event in live.see().events.iter().filter(|event| event.mark.is_none()) {
        live.accepted(Command::Drop { event: event.seq, reason: "the round is over".to_owned() });
    }
}

/// Does one thing for each of these at once, from threads that meet at a barrier.
fn together<T: Sync, R: Send>(each: &[T], act: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let barrier = Barrier::new(each.len());
    std::thread::scope(|scope| {
        let threads: Vec<_> = each
            .iter()
            .map(|one| {
                let (barrier, act) = (&barrier, &act);
                scope.spawn(move || {
                    barrier.wait();
                    act(one)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no thread panicked")).collect()
    })
}
