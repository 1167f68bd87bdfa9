//! Reads: what the loops get to see, prefixes of ids, and chains.

use super::find::uid_range;
use super::{EventFilter, Found, chain, claimable, claimable_scopes, counts, due_timers, excluded};
use super::{due_retries, next_expiry, next_retry, next_timer, running, unrouted, wake_candidates};
use super::{
    event, expired, find_event, find_wait, find_work, list_events, list_waits, list_works,
};
use crate::command::Command;
use crate::domain::{Duration, Millis, Phase, Seq, WaitId, WaitStatus, WorkId, WorkStatus};
use crate::law::testing::{Bench, LEASE, Vary as _, cancel, event as offered, fail, store};
use crate::store::StoreError;
use crate::store::engine::{Engine as _, Listed};

/// Before every row.
const FIRST_WORK: (Millis, WorkId) = (Millis(0), WorkId(0));

fn rows<T>(listed: Result<Vec<Listed<T>>, StoreError>) -> Vec<T> {
    let listed = listed.expect("a read").into_iter();
    listed.map(|listed| listed.row.expect("a sound row")).collect()
}

#[test]
fn loops_see_their_work_and_no_other() {
    let store = store();
    let mut bench = Bench::on(&store);
    let ready = bench.ready("ready");
    let by = bench.running("running");
    let (parked, wait) = bench.parked("parked", Some(500));
    let open = bench.accept(offered("open").with_key("parked"));
    let now = bench.now;
    let tx = &mut bench.tx;

    assert_eq!(unrouted(tx, Seq(0), 9), Ok(vec![open]));
    assert_eq!(claimable_scopes(tx), Ok(vec!["acme".to_owned()]));
    let seen = rows(claimable(tx, "acme", FIRST_WORK, 9));
    assert_eq!(seen.iter().map(|work| work.work).collect::<Vec<_>>(), [ready]);
    assert_eq!((seen[0].kind.as_str(), seen[0].resumes), ("task", false));

    let due_at = now + Duration(500);
    let first = (Millis(0), WaitId(0));
    assert_eq!(next_timer(tx, now), Ok(Some(due_at)));
    assert_eq!(next_timer(tx, due_at), Ok(None));
    assert_eq!(due_timers(tx, now + Duration(499), first, 9), Ok(vec![]));
    assert_eq!(due_timers(tx, due_at, first, 9), Ok(vec![(due_at, wait)]));
    assert_eq!(due_timers(tx, due_at, (due_at, wait), 9), Ok(vec![]));
    assert_eq!(wake_candidates(tx, WaitId(0), 9), Ok(vec![wait]));
    assert_eq!(wake_candidates(tx, wait, 9), Ok(vec![]));

    let seen = running(tx, WorkId(0), 9).expect("a read");
    assert_eq!(seen.len(), 1);
    assert_eq!((seen[0].work, seen[0].phase), (by.work, Phase::Pinned));
    assert_eq!(next_expiry(tx, now), Ok(Some(now + LEASE)));
    assert_eq!(next_expiry(tx, now + LEASE), Ok(None));
    assert_eq!(rows(expired(tx, Millis(now.0 + 999), FIRST_WORK, 9)), vec![]);
    assert_eq!(rows(expired(tx, now + LEASE, FIRST_WORK, 9)), seen);
    assert_eq!(rows(expired(tx, now + LEASE, (now + LEASE, by.work), 9)), vec![]);

    let seen = excluded(tx, WorkId(0), 9).expect("a read");
    assert_eq!((seen[0].work, seen[0].status), (parked.work, WorkStatus::Waiting));
    let seen = counts(tx).expect("a read");
    assert_eq!((seen.ready, seen.running, seen.waiting, seen.unrouted), (1, 1, 1, 1));
}

/// RETRY-19 RETRY-20
#[test]
fn a_retry_is_seen_from_its_instant_on_and_its_work_is_not_offered_before_it_is_routed() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    bench.accepted(&fail(by));
    bench.input("x", "more");
    let due = bench.now + Duration::seconds(300);
    let now = bench.now;
    let tx = &mut bench.tx;
    assert_eq!(next_retry(tx, now), Ok(Some(due)));
    assert_eq!(next_retry(tx, due), Ok(None));
    assert_eq!(due_retries(tx, Millis(due.0 - 1), FIRST_WORK, 9), Ok(vec![]));
    let seen = vec![Listed { at: due.0, id: by.work.0, row: Ok(by.attempt) }];
    assert_eq!(due_retries(tx, due, FIRST_WORK, 9), Ok(seen));
    assert_eq!(due_retries(tx, due, (due, by.work), 9), Ok(vec![]));
    let offered = |bench: &mut Bench<'_>| {
        let scopes = claimable_scopes(&mut bench.tx).expect("a read");
        (scopes.len(), rows(claimable(&mut bench.tx, "acme", FIRST_WORK, 9)).len())
    };
    assert_eq!(offered(&mut bench), (0, 0));
    bench.later(300_000);
    let seq = bench.requested(&Command::FireRetry { work: by.work, attempt: by.attempt });
    assert_eq!(offered(&mut bench), (0, 0));
    assert_eq!(due_retries(&mut bench.tx, due, FIRST_WORK, 9), Ok(vec![]));
    bench.route(seq);
    assert_eq!(offered(&mut bench), (1, 1));
}

/// L10: what needs nothing takes no place in a page, however much of it there is.
#[test]
fn an_expired_attempt_is_found_behind_any_number_of_works_that_need_nothing() {
    let store = store();
    let mut bench = Bench::on(&store);
    for n in 0..300 {
        bench.parked(&format!("parked-{n}"), Some(1_000_000));
        let work = bench.ready(&format!("held-{n}"));
        let reason = String::new();
        bench.accepted(&Command::Hold { work, expect: None, reason });
    }
    let by = bench.running("x");
    bench.later(LEASE.0);
    let seen = rows(expired(&mut bench.tx, bench.now, FIRST_WORK, 1));
    assert_eq!(seen.iter().map(|seen| seen.work).collect::<Vec<_>>(), [by.work]);
    assert_eq!(rows(expired(&mut bench.tx, bench.now, (seen[0].expires_at, by.work), 1)), []);
}

#[test]
fn a_woken_and_vacated_work_is_claimable_for_a_resume() {
    let store = store();
    let mut bench = Bench::on(&store);
    let (by, _) = bench.parked("x", None);
    bench.input_wake("x");
    assert_eq!(claimable(&mut bench.tx, "acme", FIRST_WORK, 9), Ok(vec![]));
    bench.vacate(by);
    let seen = rows(claimable(&mut bench.tx, "acme", FIRST_WORK, 9));
    assert!(seen[0].resumes);
    assert_eq!(seen[0].attempt, Some(by.attempt));
}

#[test]
fn a_cancelled_segment_is_listed_until_its_process_is_gone() {
    let store = store();
    let mut bench = Bench::on(&store);
    let by = bench.running("x");
    bench.accepted(&cancel(by.work));
    let seen = excluded(&mut bench.tx, WorkId(0), 9).expect("a read");
    assert_eq!((seen[0].work, seen[0].status), (by.work, WorkStatus::Cancelled));
    bench.vacate(by);
    assert_eq!(excluded(&mut bench.tx, WorkId(0), 9), Ok(vec![]));
}

#[test]
fn an_accepted_timeout_makes_its_wait_a_candidate() {
    let store = store();
    let mut bench = Bench::on(&store);
    let (_, wait) = bench.parked("x", Some(500));
    bench.later(500);
    assert_eq!(wake_candidates(&mut bench.tx, WaitId(0), 9), Ok(vec![]));
    bench.accepted(&Command::AcceptTimeout { wait });
    assert_eq!(wake_candidates(&mut bench.tx, WaitId(0), 9), Ok(vec![wait]));
}

#[test]
fn any_unique_beginning_of_a_uid_finds_its_row() {
    let store = store();
    let mut bench = Bench::on(&store);
    let work = bench.ready("x");
    let uid = bench.work(work).uid;
    let tx = &mut bench.tx;
    assert_eq!(find_work(tx, &uid), Ok(Found::One(work)));
    assert_eq!(find_work(tx, uid.trim_start_matches("work_")), Ok(Found::One(work)));
    assert_eq!(find_work(tx, &uid[..uid.len() - 9]), Ok(Found::One(work)));
    assert_eq!(find_work(tx, &uid[..6]), Ok(Found::One(work)));
    let seen = event(tx, Seq(1)).expect("a read").expect("an event");
    let uid = seen.event.uid.to_string();
    assert_eq!(find_event(tx, &uid), Ok(Found::One(Seq(1))));
    assert_eq!(find_event(tx, "1"), Ok(Found::One(Seq(1))));
    assert_eq!(find_event(tx, "77"), Ok(Found::None));
    for nothing in ["", "work_", "wait_zzzz", "not an id", "é", &"0".repeat(27)] {
        assert_eq!(find_wait(tx, nothing), Ok(Found::None), "{nothing}");
    }
}

#[test]
fn an_ambiguous_beginning_finds_nothing() {
    let store = store();
    let mut bench = Bench::on(&store);
    bench.ready("x");
    bench.ready("y");
    assert_eq!(find_work(&mut bench.tx, "work_0"), Ok(Found::Ambiguous));
}

#[test]
fn a_beginning_covers_exactly_the_ids_that_begin_so() {
    let all = uid_range("evt", "7zzzzzzzzzzzzzzzzzzzzzzzzz").expect("a whole id");
    assert_eq!(all, ([0xff; 16], [0xff; 16]));
    let (low, high) = uid_range("evt", "evt_0").expect("one digit");
    assert_eq!((low[0], high[0], high[15]), (0, 0x1f, 0xff));
    assert_eq!(uid_range("evt", "8"), None);
    assert_eq!(uid_range("evt", "0l"), None);
}

#[test]
fn lists_go_on_after_a_row_and_filter() {
    let store = store();
    let mut bench = Bench::on(&store);
    let work = bench.ready("x");
    bench.accept(offered("b").with_type("review.done"));
    let (parked, wait) = bench.parked("y", None);
    let tx = &mut bench.tx;
    let mut seqs = |filter: &EventFilter, after, limit| {
        let events = list_events(tx, filter, Seq(after), limit).expect("a read");
        events.iter().map(|listed| listed.event.seq.0).collect::<Vec<_>>()
    };
    let any = EventFilter::default();
    assert_eq!(seqs(&any, 0, 2), [1, 2]);
    assert_eq!(seqs(&any, 2, 2), [3]);
    let reviews =
        EventFilter { event_type: Some("review.done".to_owned()), ..EventFilter::default() };
    assert_eq!(seqs(&reviews, 0, 9), [2]);
    assert_eq!(seqs(&EventFilter { unrouted: true, ..EventFilter::default() }, 0, 9), [2]);
    let of_work = EventFilter { work: Some(work), ..EventFilter::default() };
    assert_eq!(seqs(&of_work, 0, 9), [1]);

    let tx = &mut bench.tx;
    let mut ids = |status, before| {
        let works = list_works(tx, status, before, 9).expect("a read");
        works.iter().map(|listed| listed.work.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(None, None), [parked.work, work]);
    assert_eq!(ids(None, Some(parked.work)), [work]);
    assert_eq!(ids(Some(WorkStatus::Ready), None), [work]);
    assert_eq!(ids(Some(WorkStatus::Failed), None), []);
    let waits = list_waits(&mut bench.tx, Some(WaitStatus::Active), WaitId(0), 9).expect("a read");
    assert_eq!((waits[0].wait.id, waits[0].keys.len(), waits[0].types.len()), (wait, 1, 0));
}

#[test]
fn a_chain_shows_what_caused_an_event_and_what_it_caused() {
    let store = store();
    let mut bench = Bench::on(&store);
    let (_, wait) = bench.parked("x", Some(500));
    bench.later(500);
    bench.accepted(&Command::FireTimer { wait });
    let seen = chain(&mut bench.tx, Seq(2), 9).expect("a read").expect("an event");
    let ancestors: Vec<_> = seen.ancestors.iter().map(|event| event.seq.0).collect();
    let descendants: Vec<_> = seen.descendants.iter().map(|event| event.seq.0).collect();
    assert_eq!((ancestors, descendants), (vec![1], vec![3]));
    assert_eq!(chain(&mut bench.tx, Seq(99), 9), Ok(None));
}

/// E10
#[test]
fn a_damaged_row_is_listed_as_such_and_hides_no_other() {
    let store = store();
    let mut bench = Bench::on(&store);
    let (bad, good) = (bench.running("bad"), bench.running("good"));
    let now = bench.now;
    bench.tx.commit().expect("a commit");
    drop(bench);
    let damage = format!("UPDATE attempt SET phase = 'zzz' WHERE work = {}", bad.work);
    store
        .connection()
        .execute_batch(&format!("PRAGMA ignore_check_constraints = ON; {damage}"))
        .expect("damage");
    let seen = expired(&mut store.session(), now + LEASE, FIRST_WORK, 9).expect("a read");
    assert_eq!(seen.iter().map(|seen| seen.id).collect::<Vec<_>>(), [bad.work.0, good.work.0]);
    assert!(seen[0].row.is_err() && seen[1].row.is_ok());
}
