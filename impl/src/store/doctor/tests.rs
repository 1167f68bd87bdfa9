//! Damage of every kind, and the check that is meant for it.

use super::{Finding, Severity, examine};
use crate::command::Command;
use crate::domain::{Actor, Millis};
use crate::law::apply;
use crate::store::{Engine as _, Store, journal};

fn examined(store: &Store) -> Vec<Finding> {
    examine(&mut store.session()).expect("a report")
}

/// One work with a parked attempt, sealed.
fn healthy() -> Store {
    let store = Store::open_in_memory().expect("a database");
    crate::law::testing::populate(&store);
    let mut session = store.session();
    session.begin().expect("a transaction");
    journal::seal(&mut session).expect("a seal");
    session.commit().expect("a commit");
    drop(session);
    store
}

/// Works with intents at rest and an open one, sealed.
fn controlled() -> Store {
    let store = Store::open_in_memory().expect("a database");
    crate::law::testing::populate_controls(&store);
    let mut session = store.session();
    session.begin().expect("a transaction");
    journal::seal(&mut session).expect("a seal");
    session.commit().expect("a commit");
    drop(session);
    store
}

/// Breaks a healthy database and answers which checks noticed.
fn broken(sql: &str) -> Vec<&'static str> {
    broken_in(&healthy(), sql)
}

fn broken_in(store: &Store, sql: &str) -> Vec<&'static str> {
    let conn = store.connection();
    conn.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON;")
        .expect("no guards");
    conn.execute_batch(sql).expect("damage");
    let mut checks: Vec<_> = examined(store).iter().map(|found| found.check).collect();
    checks.dedup();
    checks
}

#[test]
fn a_healthy_database_has_no_findings() {
    assert_eq!(examined(&healthy()), []);
}

#[test]
fn damage_is_found_by_the_check_meant_for_it() {
    for (sql, check) in [
        ("UPDATE attempt SET token = x'00'", "exactly the running attempts hold a lease"),
        ("UPDATE attempt SET epoch = 7", "a work's summary is that of its last attempt"),
        ("UPDATE work SET attempt = 2", "attempts are numbered without gaps"),
        ("UPDATE work SET winner = 1", "a work's summary is that of its last wait"),
        ("UPDATE work SET status = 'running'", "a work runs exactly while its attempt does"),
        ("UPDATE work SET status = 'ready'", "a work waits exactly while its wait is active"),
        ("UPDATE work SET status = 'cancelled'", "an ended work has nothing open"),
        ("UPDATE wait SET fire_at = 5", "a timer belongs to an active wait that has not fired"),
        (
            "DELETE FROM timer",
            "an active wait with a timeout has its timer or its accepted timeout",
        ),
        (
            "UPDATE wait SET status = 'woken'",
            "a woken wait names a winner that is input of its work",
        ),
        ("DELETE FROM mark", "an event is either unrouted or marked"),
        ("DELETE FROM input", "a queued or waking event is input of its work"),
        (
            "INSERT INTO input SELECT work, 9, event, 9, 0 FROM input",
            "an event is input of one work, once",
        ),
        ("UPDATE mark SET kind = 'drop'", "what is kept inert is no input"),
        ("UPDATE mark SET kind = 'close'", "a closed work names the event that closed it"),
        ("UPDATE mark SET generation = 9", "a mark's generation was current"),
        (
            "UPDATE event SET by_work = 1, by_attempt = 1",
            "no work is handed what its own execution published",
        ),
        ("UPDATE key SET generation = 2", "a key's newest generation is the highest"),
        (
            "UPDATE work SET predecessor = 1",
            "a successor follows an ended work of its scope and kind",
        ),
        ("UPDATE work SET first_key = NULL", "a work owns its first key"),
        ("UPDATE work SET idle_at = 5", "only idle work has an idle timer"),
        (
            "INSERT INTO subscription SELECT 1, uid, 1, id, work, 1, 1, 0, 'ended' FROM wait",
            "a subscription is active exactly while its wait is",
        ),
        (
            "UPDATE event SET derived = 'alias'",
            "an alias descends from what its subscription has passed",
        ),
        ("UPDATE attempt SET active = 5", "active time left is within what the pin allows"),
        ("UPDATE event SET depth = 3", "root and depth follow from the parent"),
        ("UPDATE work SET pending_count = 4", "pending counts are those of the input"),
        ("UPDATE work SET pending_xor = 4", "pending counts are those of the input"),
        ("UPDATE counter SET seq = 9", "sequences are dense and counted"),
        ("UPDATE identity SET hash = 1", "every event is found by its identity"),
        ("UPDATE journal SET actor = 'mallory' WHERE n = 2", "the journal's chain holds"),
        ("DELETE FROM journal WHERE n = 2", "the journal's chain holds"),
        ("DELETE FROM seal", "the journal's chain holds"),
        (
            "UPDATE attempt SET status = 'running', phase = 'pinned', expires_at = 9",
            "a running attempt has a token exactly in the incarnation it was granted in",
        ),
        (
            "UPDATE attempt SET epoch = 1000000001 WHERE status = 'parked'",
            "no epoch is of an incarnation to come",
        ),
        ("UPDATE counter SET restored = 1", "only a restored database is under the restore hold"),
        ("UPDATE work SET backoff = 1", "only ready work whose last attempt failed is in backoff"),
        ("UPDATE work SET retry_disabled = 0", "a retry timer belongs to a backoff"),
        ("UPDATE work SET backoff = 1", "a backoff has its timer or its unrouted retry, not both"),
        ("UPDATE event SET failed = 1", "a retry names a failed attempt of its work, once"),
        ("UPDATE event SET derived = 'retry'", "a retry names a failed attempt of its work, once"),
        ("UPDATE work SET failures = 2", "failures are counted on work that has failed"),
        ("UPDATE work SET holds = 1", "an exhausted work is ready after a failure"),
        ("UPDATE attempt SET hint = 'valid'", "only a failure has a hint"),
        (
            "UPDATE work SET retry_disabled = 1, holds = 5",
            "a disabled retry timer is a person's to end",
        ),
        (
            "UPDATE work SET status = 'ready', attempt_status = 'failed'; \
             UPDATE attempt SET status = 'failed', ended_at = 5",
            "something follows a failure",
        ),
        ("UPDATE work SET marked_attempt = 9", "a mark names a segment that there was"),
        ("UPDATE work SET marked_epoch = 9", "a mark names a segment that there was"),
        ("UPDATE attempt SET retry = '[]'", "a pinned retry policy can be read"),
        ("UPDATE attempt SET retry = '[3,[1]]'", "a pinned retry policy can be read"),
        ("UPDATE event SET scope = 99", "the file is sound"),
    ] {
        assert!(broken(sql).contains(&check), "{sql}: {:?}", broken(sql));
    }
}

#[test]
fn a_healthy_database_with_intents_has_no_findings() {
    assert_eq!(examined(&controlled()), []);
}

#[test]
fn damage_of_intents_is_found_by_the_check_meant_for_it() {
    for (sql, check) in [
        (
            "UPDATE intent SET attempt = 9 WHERE status = 'dispatched'",
            "an open intent is for the running attempt of its work",
        ),
        (
            "UPDATE intent SET epoch = 9 WHERE status = 'dispatched'",
            "an open intent is for the running attempt of its work",
        ),
        (
            "UPDATE intent SET status = 'committed' WHERE status = 'stale'",
            "an open intent is for the running attempt of its work",
        ),
        ("UPDATE work SET open_intents = 3", "a work counts its open intents"),
        (
            "UPDATE intent SET status = 'accepted' WHERE status = 'dispatched'",
            "a work counts its open intents",
        ),
        (
            "UPDATE mark SET kind = 'queued' WHERE kind = 'inject'",
            "an intent is of an event that its mark says it of",
        ),
        (
            "UPDATE intent SET kind = 'interrupt'",
            "an intent is of an event that its mark says it of",
        ),
        (
            "DELETE FROM intent WHERE status = 'stale'",
            "an intent is of an event that its mark says it of",
        ),
        (
            "DELETE FROM mark WHERE kind = 'inject'",
            "an intent is of an event that its mark says it of",
        ),
        ("UPDATE attempt SET injects = 0", "an intent is for an attempt that supports it"),
        ("UPDATE attempt SET interrupts = 0", "an intent is for an attempt that supports it"),
        (
            "UPDATE intent SET sends = 0 WHERE status = 'accepted' OR status = 'consumed'",
            "an intent was tried exactly if its status says so",
        ),
        (
            "UPDATE intent SET settled_at = NULL",
            "an intent was tried exactly if its status says so",
        ),
        (
            "UPDATE intent SET dispatched_at = NULL",
            "an intent was tried exactly if its status says so",
        ),
        (
            "UPDATE attempt SET interrupt_event = NULL",
            "a fenced intent is what interrupted its attempt",
        ),
        (
            "UPDATE attempt SET interrupt_event = 1 WHERE interrupt_event IS NULL",
            "a fenced intent is what interrupted its attempt",
        ),
        ("UPDATE input SET proved = 0", "an input is proved exactly if its intent is consumed"),
        ("UPDATE input SET proved = 1", "an input is proved exactly if its intent is consumed"),
        (
            "UPDATE intent SET status = 'accepted' WHERE status = 'consumed'",
            "an input is proved exactly if its intent is consumed",
        ),
        (
            "UPDATE input SET attempt = 0 WHERE attempt = -1",
            "an input is withdrawn exactly if its error fallback was to drop it",
        ),
        (
            "UPDATE intent SET on_error = 'queue'",
            "an input is withdrawn exactly if its error fallback was to drop it",
        ),
        (
            "UPDATE input SET attempt = -1 WHERE attempt = 0",
            "an input is withdrawn exactly if its error fallback was to drop it",
        ),
        ("UPDATE mark SET reason = NULL", "a fallback and its reason are recorded"),
        (
            "UPDATE mark SET asked = 'inject' WHERE kind = 'inject'",
            "a fallback and its reason are recorded",
        ),
        (
            "DELETE FROM input WHERE event IN (SELECT event FROM mark WHERE kind = 'inject')",
            "a queued or waking event is input of its work",
        ),
        (
            "INSERT INTO input SELECT work, 0, event, 0, 0 FROM mark WHERE kind = 'interrupt'",
            "what is kept inert is no input",
        ),
    ] {
        let noticed = broken_in(&controlled(), sql);
        assert!(noticed.contains(&check), "{sql}: {noticed:?}");
    }
}

#[test]
fn a_match_nobody_woke_from_is_information() {
    let store = healthy();
    let mut session = store.session();
    session.begin().expect("a transaction");
    let event = Box::new(crate::law::testing::matching());
    let actor = Actor::Loop("test");
    apply(&mut session, Millis(20_000), &actor, &Command::Accept { event }).expect("kept");
    journal::seal(&mut session).expect("a seal");
    session.commit().expect("a commit");
    let findings = examined(&store);
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].severity, Severity::Info);
}
