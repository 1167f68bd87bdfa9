//! An export against a database of our own.

use super::*;
use crate::command::{Command, Outcome};
use crate::domain::{
    Actor, AttemptNo, AttemptUid, Authority, BindingPin, CausalLimits, Control, Decision, Duration,
    Epoch, EventUid, Generation, IngressId, Key, Millis, NewEvent, Proposal, ProposedWork,
    RetryPolicy, Seq, TokenHash, WorkUid,
};
use crate::law;

fn event(delivery: &str) -> NewEvent {
    NewEvent {
        uid: EventUid::from_uuid(uuid::Uuid::from_u128(1)),
        id: IngressId { source: "op:me".into(), delivery: delivery.into() },
        event_type: "hello".into(),
        subject: None,
        occurred_at: None,
        scope: "acme".into(),
        key: Some(Key { source: "op:me".into(), external_id: "42".into() }),
        target: None,
        limits: CausalLimits { max_depth: 32 },
        payload: Some("{\"password\":1}".into()),
        suspect_within: None,
    }
}

fn commands() -> Vec<(Actor, Command)> {
    let create = ProposedWork {
        uid: WorkUid::from_uuid(uuid::Uuid::from_u128(7)),
        kind: "review".into(),
        standing: false,
    };
    let proposal = Proposal {
        event: Seq(1),
        resolved: None,
        generation: Generation(0),
        route: Some("all".into()),
        decision: Decision::Work {
            attach: Vec::new(),
            create: Some(create),
            control: Control::default(),
        },
        reopen: None,
    };
    let pin = BindingPin {
        binding: "b".into(),
        generation: Generation(0),
        resumes: false,
        holds_until_pin: true,
        active: None,
        retry: RetryPolicy::default(),
        injects: false,
        interrupts: false,
    };
    let token = TokenHash([3; 32]);
    let claim = Command::Claim {
        work: WorkId(1),
        attempt_uid: AttemptUid::from_uuid(uuid::Uuid::from_u128(9)),
        token,
        lease: Duration(2000),
        pin,
        capacity: Vec::new(),
    };
    let by = |token| Authority { work: WorkId(1), attempt: AttemptNo(1), epoch: Epoch(1), token };
    let holder = Actor::Attempt { work: WorkId(1), attempt: AttemptNo(1), epoch: Epoch(1) };
    vec![
        (Actor::Principal("ops".into()), Command::Accept { event: Box::new(event("1")) }),
        (Actor::Principal("ops".into()), Command::Accept { event: Box::new(event("1")) }),
        (Actor::Loop("router"), Command::CommitRoute { proposal }),
        (Actor::Loop("scheduler"), claim),
        (holder, Command::ClearNeverHanded { by: by(TokenHash([4; 32])) }),
    ]
}

fn exported(since: i64) -> String {
    let store = Store::open_in_memory().expect("a database");
    let mut session = store.session();
    for (n, (actor, command)) in commands().into_iter().enumerate() {
        let now = Millis(1000 + i64::try_from(n).expect("few commands"));
        let outcome = law::apply(&mut session, now, &actor, &command).expect("the machine works");
        assert!(!matches!(outcome, Outcome::Conflict), "{command:?}");
    }
    let mut text = Vec::new();
    let written = write(&mut session, since, &mut |bytes| {
        text.extend_from_slice(bytes);
        Ok(())
    });
    assert!(written.is_ok(), "the export ends");
    String::from_utf8(text).expect("JSON is UTF-8")
}

#[test]
fn a_journal_is_exported_as_a_trace_with_ids_in_the_place_of_rows() {
    let text = exported(0);
    insta::with_settings!({ filters => vec![
        (r#""database":"[^"]+""#, r#""database":"ID""#),
        (r#""digest":-?\d+"#, r#""digest":0"#),
    ]}, { insta::assert_snapshot!(text) });
}

#[test]
fn no_payload_is_exported() {
    assert!(!exported(0).contains("password"));
}

#[test]
fn an_export_can_begin_later_and_still_says_what_it_is_of() {
    let (all, later) = (exported(0), exported(3));
    assert_eq!(all.lines().count(), 6);
    assert_eq!(later.lines().count(), 3);
    assert!(later.starts_with("{\"trace\":1,\"database\":"), "{later}");
    assert!(later.contains("\"n\":4") && !later.contains("\"n\":3"), "{later}");
}
