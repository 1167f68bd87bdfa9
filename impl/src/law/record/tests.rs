//! The journal: one row an action, nothing secret in it, and a cap on answers without effect.

use crate::command::{Command, Refusal};
use crate::domain::{
    Actor, Control, ControlPolicy, Exhausted, Fallback, Incarnation, Millis, RetryHint, SendAnswer,
    Seq, WorkId,
};
use crate::law::testing::{
    Bench, LEASE, Vary as _, complete, event, fail_with, interrupt, policy, request, settle_send,
    store,
};
use crate::law::{NO_EFFECT_ROWS_PER_MINUTE, apply};
use crate::store::journal::{self, JournalRow};

fn rows(bench: &mut Bench<'_>) -> Vec<JournalRow> {
    journal::since(&mut bench.tx, 0, 1_000).expect("the journal")
}

#[test]
fn every_action_but_a_renewal_writes_one_row() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    bench.accepted(&Command::Renew { by, lease: LEASE });
    bench.accepted(&complete(by));
    let rows = rows(&mut bench);
    let actions: Vec<_> = rows.iter().map(|row| row.action.as_str()).collect();
    assert_eq!(
        actions,
        ["accept", "commit_route", "claim", "clear_never_handed", "pin", "complete"]
    );
    let numbers: Vec<_> = rows.iter().map(|row| row.n).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6]);
}

#[test]
fn a_row_names_who_acted_and_the_lease_it_saw() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    let command = complete(by);
    let (work, attempt, epoch) = (by.work, by.attempt, by.epoch);
    let actor = Actor::Attempt { work, attempt, epoch };
    apply(&mut bench.tx, bench.now, &actor, &command).expect("an answer");
    let row = rows(&mut bench).pop().expect("a row");
    assert_eq!(row.actor, "attempt:1/1@1");
    assert_eq!(
        row.args,
        r#"{"expires_at":11000,"work":1,"attempt":1,"epoch":1,"ending":"completed"}"#
    );
    assert_eq!(row.facts, r#"{"ended":{"work":1,"attempt":1,"status":"completed"}}"#);
    assert!(row.digest.is_some());
}

#[test]
fn no_payload_token_or_secret_reaches_the_journal() {
    let store = store();
    let mut bench = Bench::on(&store);
    let work = bench.ready("x");
    let by = bench.claim(work);
    bench.hand(by);
    bench.accepted(&Command::Pin { by, metadata: "metadata-secret".to_owned() });
    bench.accepted(&Command::Fail {
        by,
        reason: "reason-secret".to_owned(),
        hint: None,
        proofs: Vec::new(),
        usage: None,
    });
    let text = format!("{:?}", rows(&mut bench));
    for secret in ["hunter2", "metadata-secret", "reason-secret", &hex::encode(by.token.0)] {
        assert!(!text.contains(secret), "{secret} is in {text}");
    }
    assert!(text.contains("body"), "the body's digest is missing");
}

#[test]
fn answers_without_effect_are_capped_by_actor_and_minute() {
    let store = store();
    let mut bench = Bench::on(&store);
    let command =
        Command::Cancel { work: WorkId(99), expect: None, for_good: false, reason: String::new() };
    for _ in 0..NO_EFFECT_ROWS_PER_MINUTE + 5 {
        bench.refused(&command, Refusal::UnknownWork);
    }
    assert_eq!(rows(&mut bench).len(), NO_EFFECT_ROWS_PER_MINUTE as usize);
    let other = Actor::Principal("ops".to_owned());
    apply(&mut bench.tx, bench.now, &other, &command).expect("an answer");
    // What had an effect is never suppressed.
    bench.accept(event("a").with_key("x"));
    assert_eq!(rows(&mut bench).len(), NO_EFFECT_ROWS_PER_MINUTE as usize + 2);
    bench.now = Millis(70_000);
    bench.refused(&command, Refusal::UnknownWork);
    let rows = rows(&mut bench);
    let suppressed = &rows[rows.len() - 2];
    assert_eq!(
        (suppressed.action.as_str(), suppressed.actor.as_str()),
        ("suppressed", "loop:test")
    );
    assert_eq!(suppressed.args, r#"{"minute":0,"answers":5}"#);
}

#[test]
fn the_digest_follows_the_work() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    let pinned = rows(&mut bench).pop().and_then(|row| row.digest);
    bench.accepted(&complete(by));
    let completed = rows(&mut bench).pop().and_then(|row| row.digest);
    assert!(pinned.is_some() && completed.is_some());
    assert_ne!(pinned, completed);
}

/// The args and the facts of the last row.
fn last(bench: &mut Bench<'_>) -> (String, String) {
    let row = rows(bench).pop().expect("a row");
    (row.args, row.facts)
}

/// An audit reads no other table: what decided a failure is in the rows. RETRY-01 RETRY-16
#[test]
fn a_failure_and_the_policy_that_decided_it_are_told_by_the_journal_alone() {
    let store = store();
    let mut bench = Bench::on(&store);
    let work = bench.ready("x");
    let by = bench.running_under(work, &policy(2, Exhausted::Fail));
    let claim = rows(&mut bench).into_iter().find(|row| row.action == "claim").expect("a row");
    let pinned =
        r#""retry":{"attempts":2,"backoff":[100,200],"exhausted":"fail","hint_max":10000}"#;
    assert!(claim.args.contains(pinned), "{}", claim.args);
    bench.accepted(&fail_with(by, RetryHint::Delay(-5)));
    let authority = r#""expires_at":11000,"work":1,"attempt":1,"epoch":1"#;
    let (args, facts) = last(&mut bench);
    assert_eq!(args, format!(r#"{{{authority},"hint":{{"delay":-5}}}}"#));
    assert_eq!(facts, r#"{"ended":{"work":1,"attempt":1,"status":"ready"}}"#);
    bench.later(100);
    bench.accepted(&Command::FireRetry { work, attempt: by.attempt });
    let fired = (r#"{"work":1,"attempt":1}"#.to_owned(), r#"{"event":{"seq":2}}"#.to_owned());
    assert_eq!(last(&mut bench), fired);
    let retry = Command::Retry { work, expect: Some(by.attempt), request: request("ops/1") };
    bench.accepted(&retry);
    assert_eq!(last(&mut bench).0, r#"{"work":1,"expect":1,"request":"ops/1","max_depth":32}"#);
    // A policy like any other is not worth its bytes.
    let by = bench.claim(work);
    assert!(!last(&mut bench).0.contains("retry"));
    bench.hand(by);
    bench.accepted(&Command::Fail {
        by,
        reason: String::new(),
        hint: Some(RetryHint::Unreadable),
        proofs: Vec::new(),
        usage: None,
    });
    assert!(last(&mut bench).0.ends_with(r#""hint":"unreadable"}"#));
}

/// LEASE-01 OURS-19: a row says which lease was given up, and which one was found to be over.
#[test]
fn a_refused_or_expired_action_keeps_its_row_and_the_end_of_the_lease_it_met() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    bench.accepted(&Command::Detach { by });
    let authority = r#""work":1,"attempt":1,"epoch":1"#;
    let (args, facts) = last(&mut bench);
    assert_eq!(args, format!(r#"{{"expires_at":11000,{authority}}}"#));
    assert_eq!(facts, r#"{"detached":{"work":1,"attempt":1}}"#);
    bench.refused(&complete(by), Refusal::LeaseExpired);
    let row = rows(&mut bench).pop().expect("a row");
    assert_eq!((row.outcome.as_str(), row.facts.as_str()), ("refused", r#""lease_expired""#));
    assert!(row.args.starts_with(&format!(r#"{{"expires_at":10000,{authority}"#)), "{}", row.args);
}

/// OURS-21
#[test]
fn a_restore_and_its_release_are_in_the_journal() {
    let store = store();
    let mut bench = Bench::on(&store);
    bench.accepted(&Command::Restore { above: Incarnation(3) });
    let restored = (r#"{"above":3}"#.to_owned(), r#"{"restored":{"incarnation":4}}"#.to_owned());
    assert_eq!(last(&mut bench), restored);
    bench.accepted(&Command::ReleaseRestore { request: request("ops/2") });
    assert_eq!(last(&mut bench).0, r#"{"request":"ops/2","max_depth":32}"#);
}

/// An audit reads no other table: what was asked, sent, answered and proved is in the rows, and what
/// anybody said of it is not. POLICY-12 INJECT-08 CTRL-02
#[test]
fn a_control_and_what_came_of_it_are_told_by_the_journal_alone() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    let claim = rows(&mut bench).into_iter().find(|row| row.action == "claim").expect("a row");
    assert!(claim.args.contains(r#""injects":true,"interrupts":true"#), "{}", claim.args);
    let control = Control {
        policy: ControlPolicy::Inject,
        fallback: Some(Fallback::Queue),
        on_error: Some(Fallback::Drop),
    };
    let (seq, _) = bench.controlled("x", "a", control);
    let (args, facts) = last(&mut bench);
    let asked = r#""decision":"update","policy":"inject","fallback":"queue","on_error":"drop"}"#;
    assert!(args.ends_with(asked), "{args}");
    assert_eq!(facts, r#"{"routed":{"event":2,"mark":"inject","work":1}}"#);
    bench.dispatch(by, seq);
    let authority = r#""expires_at":11000,"work":1,"attempt":1,"epoch":1"#;
    let intent = |event: u8, kind: &str, status: &str| {
        format!(
            r#"{{"intent":{{"event":{event},"work":1,"attempt":1,"kind":"{kind}","status":"{status}"}}}}"#
        )
    };
    let sent = (format!(r#"{{{authority},"event":2}}"#), intent(2, "inject", "dispatched"));
    assert_eq!(last(&mut bench), sent);
    bench.accepted(&settle_send(by, seq, SendAnswer::Accepted));
    let answered = format!(r#"{{{authority},"event":2,"answer":"accepted"}}"#);
    assert_eq!(last(&mut bench), (answered, intent(2, "inject", "accepted")));
    bench.accepted(&interrupt(by.work, "ops/3"));
    let interrupt = r#"{"work":1,"request":"ops/3","max_depth":32,"implemented":true}"#.to_owned();
    assert_eq!(last(&mut bench), (interrupt, r#"{"event":{"seq":3}}"#.to_owned()));
    let done = bench.proving(complete(by), &[seq, Seq(1)]);
    bench.accepted(&done);
    let named = r#"{"expires_at":11000,"proofs":[2,1],"work":1,"attempt":1,"epoch":1,"ending":"completed"}"#;
    assert_eq!(last(&mut bench).0, named);
    let text = format!("{:?}", rows(&mut bench));
    assert!(!text.contains("so it said"), "{text}");
    assert!(!rows(&mut bench)[1].args.contains("policy"), "a queue is not worth its bytes");
}
