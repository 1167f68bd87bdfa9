//! Journals with controls of running attempts: lawful ones are judged to the last row, and doctored rows are found.

use abide::command::{Command, Outcome, Receipt};
use abide::domain::{
    Authority, Control, ControlPolicy, Decision, Ending, EventUid, Fallback, Segment, SendAnswer,
    Seq, WaitUid,
};
use abide::law::routing::snapshot;
use abide::store::Engine;

use super::{
    LEASE, Stored, Story, WORK, doctor, duration, event, find, found, key, passes, remove, request,
    rewrite,
};

impl Story {
    /// Accepts an event for the Work, and routes it by this policy.
    fn steers(&mut self, delivery: &str, control: Control) -> ((Seq, EventUid), Outcome) {
        let new = event(delivery);
        let uid = new.uid;
        let accepted = self.does(Command::Accept { event: Box::new(new) });
        let Receipt::Event { seq } = accepted else { panic!("{accepted:?}") };
        let mut session = self.store.session();
        session.begin().expect("a transaction");
        let seen = snapshot(&mut session, seq).expect("it is read").expect("it is unrouted");
        session.rollback().expect("nothing is kept");
        drop(session);
        let create = seen.work.is_none().then(|| seen.fresh("run"));
        let decision = Decision::Work { attach: Vec::new(), create, control };
        let proposal = seen.decide(Some("route"), decision);
        ((seq, uid), self.go(Command::CommitRoute { proposal }))
    }

    fn dispatch(&mut self, by: Authority, event: Seq) -> Outcome {
        self.go(Command::Dispatch { by, event })
    }

    fn settle(&mut self, by: Authority, event: Seq, answer: SendAnswer) -> Outcome {
        self.go(Command::SettleDispatch { by, event, answer, detail: String::new() })
    }

    fn vacate(&mut self, by: Authority) {
        let segment = Segment { attempt: by.attempt, epoch: by.epoch };
        self.does(Command::Vacate { work: WORK, segment });
    }

    fn interrupt(&mut self, id: &str, implemented: bool) -> Outcome {
        let request = request(id);
        self.go(Command::Interrupt { work: WORK, expect: None, request, implemented })
    }
}

const INJECT: Control = Control { policy: ControlPolicy::Inject, fallback: None, on_error: None };
const INTERRUPT: Control = Control { policy: ControlPolicy::Interrupt, ..INJECT };

/// One Work with injections that are proved and not, a wait over one, and interrupts by a route and by a person.
fn story() -> Story {
    let mut on = Story::new();
    on.does(Command::Reload { digest: "one".to_owned(), body: "one".to_owned() });
    let ((first, _), _) = on.steers("first", INJECT);
    // The first attempt can be injected into and not interrupted.
    on.pinned = (true, false);
    let by = on.started();
    let ((steer, took_in), _) = on.steers("steer", INJECT);
    on.dispatch(by, first);
    on.dispatch(by, steer);
    on.dispatch(by, steer);
    on.settle(by, steer, SendAnswer::Failed);
    on.settle(by, steer, SendAnswer::Accepted);
    let ((unsent, never_sent), _) = on.steers("unsent", INJECT);
    on.settle(by, unsent, SendAnswer::Accepted);
    on.steers("quiet", Control { policy: ControlPolicy::Drop, ..INJECT });
    on.steers("soft", Control { fallback: Some(Fallback::Queue), ..INTERRUPT });
    on.interrupt("too-early", true);
    let ((stuck, _), deferred) = on.steers("stuck", INTERRUPT);
    assert!(matches!(deferred, Outcome::Deferred(_)), "{deferred:?}");
    on.does(Command::Drop { event: stuck, reason: "nobody wants it".to_owned() });
    on.does(completes(by, vec![took_in, never_sent]));
    on.settle(by, steer, SendAnswer::NotAccepting);
    // The second takes in what it then waits for, and is woken by the next.
    on.pinned = (true, true);
    let by = on.started();
    on.dispatch(by, unsent);
    let ((seen, known), _) = on.steers("seen", INJECT);
    on.dispatch(by, seen);
    on.does(Command::RegisterWait {
        by,
        uid: WaitUid::new(),
        keys: vec![key()],
        types: Vec::new(),
        after: Seq(0),
        deadline: None,
        source: None,
        read_scopes: Vec::new(),
        proofs: vec![known],
        usage: None,
    });
    on.interrupt("while-waiting", true);
    on.vacate(by);
    on.steers("next", INJECT);
    // Resumed, it is interrupted by a route; the third fails while a person interrupts it.
    let by = on.started();
    let ((halt, _), _) = on.steers("halt", Control { on_error: Some(Fallback::Drop), ..INTERRUPT });
    on.dispatch(by, halt);
    on.settle(by, halt, SendAnswer::Accepted);
    on.vacate(by);
    let by = on.started();
    let ((lost, _), _) = on.steers("lost", Control { on_error: Some(Fallback::Drop), ..INJECT });
    on.dispatch(by, lost);
    on.settle(by, lost, SendAnswer::Failed);
    on.interrupt("unimplemented", false);
    let asked = on.interrupt("stop", true);
    let Outcome::Accepted(Receipt::Event { seq: stop }) = asked else { panic!("{asked:?}") };
    on.interrupt("stop", true);
    on.dispatch(by, stop);
    on.settle(by, stop, SendAnswer::NotAccepting);
    on.later(LEASE / 2);
    let proofs = vec![took_in];
    on.does(Command::Fail { by, reason: "no".to_owned(), hint: None, proofs, usage: None });
    on.settle(by, stop, SendAnswer::Accepted);
    on.later(i64::try_from(duration(LEASE).0).expect("a length"));
    on
}

fn completes(by: Authority, proofs: Vec<EventUid>) -> Command {
    Command::Complete { by, ending: Ending::Completed, status: None, proofs, usage: None }
}

#[test]
fn a_story_of_injections_and_interrupts_is_judged_to_its_last_row() {
    let on = story();
    let report = passes(&on.file);
    assert_eq!((report.works, report.unsealed, report.unjudged()), (1, 0, 0), "{report:?}");
    assert_eq!(report.replayed, report.rows);
    assert_eq!(report.rows, on.commands.len());
    // Each of these is in it once at least, so that doctoring it shows something.
    for (action, outcome) in [
        ("dispatch", "accepted"),
        ("dispatch", "duplicate"),
        ("dispatch", "refused"),
        ("settle_dispatch", "accepted"),
        ("settle_dispatch", "duplicate"),
        ("settle_dispatch", "refused"),
        ("interrupt", "accepted"),
        ("interrupt", "duplicate"),
        ("interrupt", "refused"),
        ("commit_route", "deferred"),
    ] {
        find(&on, action, outcome, 1);
    }
}

/// Which part of a row is changed.
enum Part {
    Args,
    Facts,
}
use Part::{Args, Facts};

/// Rows with one word changed, and the first row that is unlawful then.
#[test]
fn a_row_about_a_control_that_says_something_else_is_found() {
    for (action, outcome, nth, part, from, to) in [
        // What a result names and was never sent stays pending: the Work is not over.
        ("complete", "accepted", 1, Facts, "\"status\":\"ready\"", "\"status\":\"completed\""),
        // An answer that came after the proof leaves it consumed.
        ("settle_dispatch", "duplicate", 1, Facts, "consumed", "not_accepting"),
        ("settle_dispatch", "accepted", 2, Args, "\"accepted\"", "\"not_accepting\""),
        ("settle_dispatch", "accepted", 1, Facts, "dispatched", "fell_back"),
        ("settle_dispatch", "accepted", 3, Facts, "fenced", "dispatched"),
        ("settle_dispatch", "accepted", 4, Facts, "fell_back", "dispatched"),
        ("dispatch", "accepted", 1, Facts, "\"kind\":\"inject\"", "\"kind\":\"interrupt\""),
        ("dispatch", "accepted", 2, Facts, "\"attempt\":2", "\"attempt\":1"),
        ("commit_route", "accepted", 2, Facts, "inject", "queued"),
        ("commit_route", "accepted", 2, Args, "\"policy\":\"inject\"", "\"policy\":\"drop\""),
        ("commit_route", "accepted", 5, Args, "\"fallback\":\"queue\"", "\"fallback\":\"drop\""),
        ("interrupt", "accepted", 1, Args, "\"implemented\":true", "\"implemented\":false"),
        ("interrupt", "refused", 3, Args, "\"implemented\":false", "\"implemented\":true"),
    ] {
        let on = story();
        let row = find(&on, action, outcome, nth);
        let before = match part {
            Args => &row.args,
            Facts => &row.facts,
        };
        assert!(before.contains(from), "{action} {nth} says {before}");
        let after = before.replacen(from, to, 1);
        let changed = match part {
            Args => Stored { args: after, ..row.clone() },
            Facts => Stored { facts: after, ..row.clone() },
        };
        doctor(&on, |tx| rewrite(tx, &changed));
        let found = found(&on);
        assert_eq!(found.n, row.n, "{action} {outcome} {nth}, {from} as {to}: {found}");
    }
}

/// An answer turned into another is found at that very row.
#[test]
fn a_control_that_was_answered_otherwise_is_found() {
    let intent = |event: i64, attempt: u32, kind: &str, status: &str| {
        format!(
            r#"{{"intent":{{"event":{event},"work":1,"attempt":{attempt},"kind":"{kind}","status":"{status}"}}}}"#
        )
    };
    for (action, outcome, nth, says) in [
        // Sent to an attempt that it was not meant for, and sent though nobody had an intent.
        ("dispatch", "refused", 1, intent(1, 1, "inject", "dispatched")),
        ("dispatch", "refused", 2, intent(3, 1, "inject", "dispatched")),
        // Settled though it was never sent, though it was consumed, and though its attempt was over.
        ("settle_dispatch", "refused", 1, intent(3, 1, "inject", "accepted")),
        ("settle_dispatch", "duplicate", 1, intent(2, 1, "inject", "accepted")),
        ("settle_dispatch", "duplicate", 2, intent(13, 3, "interrupt", "fenced")),
        ("interrupt", "refused", 1, r#"{"event":{"seq":6}}"#.to_owned()),
        ("interrupt", "refused", 2, r#"{"event":{"seq":8}}"#.to_owned()),
    ] {
        let on = story();
        let row = find(&on, action, outcome, nth);
        let doctored = Stored { outcome: "accepted".to_owned(), facts: says, ..row.clone() };
        doctor(&on, |tx| rewrite(tx, &doctored));
        let found = found(&on);
        assert_eq!(found.n, row.n, "{action} {outcome} {nth}: {found}");
    }
}

/// What a result proves is missing, so a later row is the first that the law does not allow.
#[test]
fn a_proof_that_is_taken_out_of_a_result_is_found_where_it_mattered() {
    for (action, first) in [("complete", "settle_dispatch"), ("register_wait", "register_wait")] {
        let on = story();
        let row = find(&on, action, "accepted", 1);
        assert!(row.args.contains("proofs"), "{}", row.args);
        let args = row.args.replace("\"proofs\"", "\"unread\"");
        doctor(&on, |tx| rewrite(tx, &Stored { args, ..row.clone() }));
        let found = found(&on);
        assert!(found.n >= row.n && found.action.starts_with(first), "{action}: {found}");
    }
}

#[test]
fn a_control_row_that_is_dropped_is_found_at_the_first_row_that_rests_on_it() {
    for (action, nth, first) in [
        ("dispatch", 1, "dispatch"),
        ("settle_dispatch", 3, "vacate"),
        ("interrupt", 1, "interrupt"),
    ] {
        let on = story();
        let row = find(&on, action, "accepted", nth);
        doctor(&on, |tx| remove(tx, row.n));
        let found = found(&on);
        assert!(found.n >= row.n, "{found}");
        assert!(found.action.starts_with(first), "without {action} {nth}: {found}");
    }
}
