//! The engine: settings that are really on, statements that stay planned, and SQL that is portable.

use std::path::Path;

use crate::domain::{Millis, Seq, TokenHash, WaitId, WorkId};
use crate::law::testing::steady;
use crate::store::engine::{Engine as _, StoreError, Tx, query_one};
use crate::store::{
    Store, doctor, intents, journal, listed, meta, observe, pages, reads, subscriptions,
};

fn pragma(store: &Store, name: &str) -> String {
    store
        .connection()
        .pragma_query_value(None, name, |row| row.get::<_, rusqlite::types::Value>(0))
        .map(|value| format!("{value:?}"))
        .expect("a pragma")
}

#[test]
fn a_file_is_durable_and_checked() {
    let dir = tempfile::tempdir().expect("a folder");
    let store = Store::open(&dir.path().join("abide.db")).expect("a file");
    assert_eq!(pragma(&store, "journal_mode"), "Text(\"wal\")");
    assert_eq!(pragma(&store, "synchronous"), "Integer(2)");
    assert_eq!(pragma(&store, "foreign_keys"), "Integer(1)");
    let qpsg = rusqlite::config::DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG;
    assert!(store.connection().db_config(qpsg).expect("a setting"));
}

#[test]
fn no_statement_is_planned_again_in_steady_state() {
    let store = Store::open_in_memory().expect("a database");
    let mut session = steady(&store, 40);
    for round in 0..3 {
        let tx = &mut session;
        reads::unrouted(tx, Seq(round), 9).expect("a read");
        let scopes = reads::claimable_scopes(tx).expect("a read");
        for scope in scopes {
            reads::claimable(tx, &scope, (Millis(round), WorkId(0)), 9).expect("a read");
        }
        reads::due_timers(tx, Millis(round), (Millis(0), WaitId(round)), 9).expect("a read");
        reads::next_timer(tx, Millis(round)).expect("a read");
        reads::wake_candidates(tx, WaitId(round), 9).expect("a read");
        reads::expired(tx, Millis(round), (Millis(0), WorkId(round)), 9).expect("a read");
        reads::next_expiry(tx, Millis(round)).expect("a read");
        reads::due_retries(tx, Millis(round), (Millis(0), WorkId(round)), 9).expect("a read");
        reads::next_retry(tx, Millis(round)).expect("a read");
        reads::due_idle(tx, Millis(round), (Millis(0), WorkId(round)), 9).expect("a read");
        reads::next_idle(tx, Millis(round)).expect("a read");
        subscriptions::active(tx, round, 9).expect("a read");
        subscriptions::to_sources_of(tx, Seq(round), Seq(round + 9)).expect("a read");
        if let Some(one) = subscriptions::of_wait(tx, WaitId(round)).expect("a read") {
            subscriptions::lowest_selected(tx, &one, Seq(round)).expect("a read");
        }
        reads::running(tx, WorkId(round), 9).expect("a read");
        reads::excluded(tx, WorkId(round), 9).expect("a read");
        for work in reads::sending(tx, WorkId(round), 9).expect("a read") {
            reads::to_send(tx, work, 9).expect("a read");
        }
        reads::to_send(tx, WorkId(round + 1), 9).expect("a read");
        intents::sent_before(tx, Seq(round)).expect("a read");
        reads::counts(tx).expect("a read");
        observe(tx).expect("a read");
        meta::raise_time_mark(tx, Millis(round)).expect("a write");
        journal::seal(tx).expect("a seal");
        shown(tx, round);
    }
    assert!(session.statements() > 60, "{} statements", session.statements());
    assert_eq!(session.reprepared(), 0);
}

/// What the doors and the command line read, with other values each round.
fn shown(tx: &mut dyn Tx, round: i64) {
    let (seq, work, wait) = (Seq(round + 1), WorkId(round + 1), WaitId(round + 1));
    let mark = (round % 2 == 0).then_some(pages::Marked::Unrouted);
    let filter = pages::EventFilter { mark, ..pages::EventFilter::default() };
    pages::events(tx, &filter, Seq(round), 9).expect("a read");
    pages::event(tx, seq).expect("a read");
    pages::chain(tx, seq, 9).expect("a read");
    pages::rejections(tx, seq, 9).expect("a read");
    pages::works(tx, None, WorkId(round), 9).expect("a read");
    pages::work(tx, work).expect("a read");
    pages::ahead_of(tx, seq).expect("a read");
    listed::intents(tx, work, Seq(round), 9).expect("a read");
    intents::newest_of_work(tx, work, 9).expect("a read");
    intents::open_of(tx, work, 9).expect("a read");
    pages::mark(tx, seq).expect("a read");
    pages::holder(tx, &TokenHash([7; 32])).expect("a read");
    reads::list_events(tx, &reads::EventFilter::default(), Seq(round), 9).expect("a read");
    reads::latest_events(tx, Seq(round + 9), 9).expect("a read");
    reads::list_works(tx, None, Some(work), 9).expect("a read");
    reads::list_waits(tx, None, WaitId(round), 9).expect("a read");
    reads::wait(tx, wait).expect("a read");
    reads::last_attempt(tx, work).expect("a read");
    reads::chain(tx, seq, 9).expect("a read");
    for text in ["work_01", "work_02", "wait_01", "evt_01", "att_01"] {
        reads::find_work(tx, text).expect("a read");
        reads::find_wait(tx, text).expect("a read");
        reads::find_event(tx, text).expect("a read");
        reads::find_attempt(tx, text).expect("a read");
    }
    journal::since(tx, round, 9).expect("a read");
}

#[test]
fn hot_paths_are_index_lookups() {
    let store = Store::open_in_memory().expect("a database");
    steady(&store, 3).commit().expect("a commit");
    let plans = |sql: &str| -> String {
        let mut statement =
            store.connection().prepare(&format!("EXPLAIN QUERY PLAN {sql}")).expect("a plan");
        let nothing = vec![rusqlite::types::Null; statement.parameter_count()];
        let rows = statement
            .query_map(rusqlite::params_from_iter(nothing), |row| row.get::<_, String>(3))
            .expect("its rows");
        rows.map(|row| row.expect("a row")).collect::<Vec<_>>().join("\n")
    };
    for (sql, index) in [
        (
            "SELECT w.id FROM work AS w WHERE w.scope = ?1 AND w.status = 'ready' AND w.holds = 0 \
             AND w.marked_attempt IS NULL AND w.backoff IS NULL AND (w.pending_count > 0 OR w.next_trigger IS NOT \
             NULL) ORDER BY w.since, w.id LIMIT ?2",
            "work_claimable",
        ),
        ("SELECT count(*) FROM work WHERE status = 'running' AND scope = ?1", "work_running"),
        (
            "SELECT fire_at, wait FROM timer WHERE disabled = 0 AND fire_at <= ?1 \
             AND (fire_at, wait) > (?2, ?3) ORDER BY fire_at, wait LIMIT ?4",
            "timer_due",
        ),
        (
            "SELECT work FROM attempt WHERE status = 'running' AND expires_at <= ?1 \
             AND (expires_at, work) > (?2, ?3) ORDER BY expires_at, work LIMIT ?4",
            "attempt_lease",
        ),
        (
            "SELECT idle_at, id FROM work WHERE idle_at IS NOT NULL AND idle_at <= ?1 \
             AND pending_count = 0 AND (idle_at, id) > (?2, ?3) ORDER BY idle_at, id LIMIT ?4",
            "work_idle",
        ),
        (
            "SELECT retry_at, id, backoff FROM work WHERE retry_disabled = 0 AND retry_at <= ?1 \
             AND backoff IS NOT NULL AND (retry_at, id) > (?2, ?3) ORDER BY retry_at, id LIMIT ?4",
            "work_retry",
        ),
        ("SELECT id FROM work WHERE predecessor = ?1", "work_predecessor"),
        ("SELECT id FROM subscription WHERE status = 'active' AND id > ?1", "subscription_active"),
        (
            "SELECT e.seq FROM event AS e WHERE e.key = ?1 AND e.seq > ?2 AND e.scope = ?3 \
             ORDER BY e.seq LIMIT 1",
            "event_key",
        ),
        ("SELECT max(event) FROM signed_body WHERE source = ?1 AND body = ?2", "PRIMARY KEY"),
        ("SELECT id FROM key WHERE base = ?1 ORDER BY generation", "key_base"),
        (
            "SELECT event FROM input WHERE work = ?1 AND attempt = 0 ORDER BY event LIMIT 1",
            "PRIMARY KEY (work=? AND attempt=?)",
        ),
        ("SELECT id FROM wait WHERE work = ?1 AND status = 'active'", "wait_active"),
        ("SELECT min(event) FROM unrouted WHERE target = ?1", "unrouted_target"),
        (
            "SELECT min(u.event) FROM key AS k JOIN unrouted AS u ON u.key = k.id \
             WHERE k.work = ?1",
            "unrouted_key",
        ),
        ("SELECT id FROM work WHERE marked_attempt IS NOT NULL AND id > ?1", "work_marked"),
        (
            "SELECT DISTINCT i.work FROM intent AS i \
             JOIN attempt AS a ON a.work = i.work AND a.n = i.attempt AND a.phase = 'pinned' \
             WHERE (i.status = 'committed' OR i.status = 'dispatched') AND i.work > ?1 \
             ORDER BY i.work LIMIT ?2",
            "intent_open",
        ),
        (
            "SELECT i.event, e.uid FROM intent AS i \
             JOIN attempt AS a ON a.work = i.work AND a.n = i.attempt AND a.phase = 'pinned' \
             JOIN event AS e ON e.seq = i.event \
             WHERE i.work = ?1 AND (i.status = 'committed' OR i.status = 'dispatched') \
             AND i.kind = ?2 ORDER BY i.event LIMIT ?3",
            "intent_open",
        ),
        (
            "UPDATE intent SET status = 'stale', settled_at = ?2 \
             WHERE work = ?1 AND (status = 'committed' OR status = 'dispatched')",
            "intent_open",
        ),
        (
            "SELECT event FROM intent WHERE work = ?1 AND event > ?2 ORDER BY event LIMIT ?3",
            "intent_work",
        ),
        (
            "SELECT p.event FROM input AS p JOIN intent AS i ON i.event = p.event \
             WHERE p.work = ?1 AND p.attempt = ?2 AND p.epoch = ?3 AND p.proved = 0 \
             AND i.kind = 'inject' ORDER BY p.event",
            "PRIMARY KEY (work=? AND attempt=?)",
        ),
        (
            "SELECT e.seq, i.attempt FROM event AS e LEFT JOIN intent AS i \
             ON i.event = e.seq AND i.work = ?1 AND i.kind = 'inject' AND EXISTS (SELECT 1 \
             FROM input AS p WHERE p.work = ?1 AND p.attempt = 0 AND p.event = e.seq) \
             WHERE e.uid = ?2",
            "event_uid",
        ),
    ] {
        let plan = plans(sql);
        assert!(plan.contains(index) && !plan.contains("TEMP B-TREE"), "{sql}\n{plan}");
    }
}

#[test]
fn a_parameter_is_a_number_after_a_question_mark() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store");
    let mut folders = vec![root];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a text");
            files += 1;
            // `$` and a digit: what the engines number differently. `$name` is macro syntax here.
            let numbered =
                text.as_bytes().windows(2).any(|two| two[0] == b'$' && two[1].is_ascii_digit());
            assert!(!numbered, "{} has a `$` parameter", path.display());
        }
    }
    assert!(files > 20, "only {files} files were read");
}

#[test]
fn a_savepoint_undoes_what_came_after_it() {
    let store = Store::open_in_memory().expect("a database");
    let mut session = store.session();
    session.begin().expect("a transaction");
    session.savepoint().expect("a point");
    crate::store::names::intern(&mut session, "outer").expect("a name");
    session.savepoint().expect("a point");
    crate::store::names::intern(&mut session, "inner").expect("a name");
    session.rollback_to().expect("back");
    session.release().expect("released");
    let mut has = |text| crate::store::names::find(&mut session, text).expect("a read").is_some();
    assert!(has("outer") && !has("inner"));
    session.rollback_to().expect("back");
    session.release().expect("released");
    let found = crate::store::names::find(&mut session, "outer").expect("a read");
    assert_eq!(found, None);
}

#[test]
fn damage_is_named_and_not_a_panic() {
    let store = Store::open_in_memory().expect("a database");
    crate::law::testing::populate(&store);
    store
        .connection()
        .execute_batch("PRAGMA ignore_check_constraints = ON; UPDATE work SET status = 'zzz'")
        .expect("damage");
    let mut session = store.session();
    let error = crate::store::works::get(&mut session, WorkId(1)).expect_err("damage");
    let StoreError::Corrupt { what } = &error else { panic!("{error}") };
    assert!(what.contains("work.status") && what.contains("zzz"), "{what}");
    let error = query_one(&mut session, "SELECT 'text'", &[], |row| row.int(0));
    assert!(matches!(error, Err(StoreError::Corrupt { .. })));
    // The report itself survives what it reports on.
    assert!(doctor::examine(&mut session).is_ok_and(|findings| !findings.is_empty()));
}

#[test]
fn without_the_guarantee_statements_are_planned_again() {
    let store = Store::open_in_memory().expect("a database");
    let qpsg = rusqlite::config::DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG;
    store.connection().set_db_config(qpsg, false).expect("a setting");
    assert!(steady(&store, 200).reprepared() > 0);
}

#[test]
fn no_statement_of_a_life_builds_a_table_first() {
    let store = Store::open_in_memory().expect("a database");
    let session = steady(&store, 2);
    let mut builders = Vec::new();
    for held in session.held.values() {
        let sql = held.expanded_sql().expect("its text");
        let mut plan = store.connection().prepare(&format!("EXPLAIN {sql}")).expect("a program");
        let mut steps = plan.query_map([], |row| row.get::<_, String>(1)).expect("its steps");
        let builds = |step: rusqlite::Result<String>| {
            let step = step.expect("a step");
            step == "OpenEphemeral" || step == "OpenAutoindex" || step == "SorterOpen"
        };
        if steps.any(builds) {
            builders.push(sql);
        }
    }
    // A claim moves its batch within the primary key, which takes a list of what to move.
    // Of the input, and of the open intents that an end leaves stale.
    let expected = |sql: &String| {
        sql.starts_with("UPDATE input SET") || sql.starts_with("UPDATE intent SET status = 'stale'")
    };
    assert!(builders.iter().all(expected), "{builders:#?}");
}
