//! The writer under real threads, and what is still true after it is gone.

mod races;

use std::path::Path;
use std::sync::{Arc, Barrier};
use std::thread;

use type_safe_id::TypeSafeId;

use super::{WriteError, Writer, WriterOptions};
use crate::clock::Clock;
use crate::command::{Command, Outcome, Receipt, Refusal};
use crate::domain::{
    Actor, BindingPin, CausalLimits, Duration, Generation, IngressId, Key, NewEvent, RetryPolicy,
    Token, WorkId,
};
use crate::law::routing;
use crate::store::{doctor, observe, reads};

const TEST: Actor = Actor::Loop("test");

fn open(dir: &Path) -> Writer {
    Writer::open(&dir.join("abide.db"), Clock::system(), WriterOptions::default())
        .expect("a writer")
}

fn accept(delivery: &str) -> Command {
    let event = NewEvent {
        uid: TypeSafeId::new(),
        id: IngressId { source: "ci".to_owned(), delivery: delivery.to_owned() },
        event_type: "build.done".to_owned(),
        subject: None,
        occurred_at: None,
        scope: "acme".to_owned(),
        key: Some(Key { source: "ci".to_owned(), external_id: "x".to_owned() }),
        target: None,
        limits: CausalLimits { max_depth: 32 },
        payload: Some("{}".to_owned()),
        suspect_within: None,
    };
    Command::Accept { event: Box::new(event) }
}

fn claim(work: WorkId, seed: u8) -> Command {
    let pin = BindingPin {
        binding: "shell".to_owned(),
        generation: Generation(0),
        resumes: true,
        holds_until_pin: true,
        active: None,
        retry: RetryPolicy::default(),
        injects: false,
        interrupts: false,
    };
    let token = Token::from_bytes([seed; 32]).hash();
    let attempt_uid = TypeSafeId::new();
    Command::Claim {
        work,
        attempt_uid,
        token,
        lease: Duration::seconds(60),
        pin,
        capacity: Vec::new(),
    }
}

/// Accepts and routes one event; answers the work it made.
fn made(writer: &Writer) -> WorkId {
    let kept = writer.apply_blocking(TEST, accept("make")).expect("kept");
    let Outcome::Accepted(Receipt::Event { seq }) = kept else { panic!("{kept:?}") };
    let proposal = writer
        .readers()
        .read(|tx| routing::snapshot(tx, seq))
        .expect("a snapshot")
        .expect("an unrouted event")
        .propose(Some("route"), Some("task"));
    let routed = writer.apply_blocking(TEST, Command::CommitRoute { proposal }).expect("routed");
    let Outcome::Accepted(Receipt::Routed { work: Some(work), .. }) = routed else {
        panic!("{routed:?}")
    };
    work
}

/// Runs one command on each of `count` threads at once.
fn at_once(writer: &Writer, count: u8, make: fn(u8) -> Command) -> Vec<Outcome> {
    let barrier = Arc::new(Barrier::new(count.into()));
    let threads: Vec<_> = (0..count)
        .map(|seed| {
            let (writer, barrier) = (writer.clone(), barrier.clone());
            thread::spawn(move || {
                barrier.wait();
                writer.apply_blocking(TEST, make(seed)).expect("an outcome")
            })
        })
        .collect();
    threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
}

#[test]
fn of_many_claims_of_one_work_one_is_accepted() {
    let dir = tempfile::tempdir().expect("a folder");
    let writer = open(dir.path());
    assert_eq!(made(&writer), WorkId(1));
    let outcomes = at_once(&writer, 16, |seed| claim(WorkId(1), seed));
    let won = |outcome: &&Outcome| matches!(outcome, Outcome::Accepted(_));
    assert_eq!(outcomes.iter().filter(won).count(), 1);
    let open = Outcome::Refused(Refusal::AttemptOpen);
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == open).count(), 15);
    writer.shutdown_blocking();
}

#[test]
fn of_many_offers_of_one_identity_one_is_an_event() {
    let dir = tempfile::tempdir().expect("a folder");
    let writer = open(dir.path());
    let outcomes = at_once(&writer, 16, |_| accept("same"));
    let won = |outcome: &&Outcome| matches!(outcome, Outcome::Accepted(_));
    assert_eq!(outcomes.iter().filter(won).count(), 1);
    let seen = writer.readers().read(observe).expect("a read");
    assert_eq!(seen.events.len(), 1);
    writer.shutdown_blocking();
}

#[test]
fn what_was_answered_is_there_after_reopening() {
    let dir = tempfile::tempdir().expect("a folder");
    let writer = open(dir.path());
    let work = made(&writer);
    writer.apply_blocking(TEST, claim(work, 1)).expect("claimed");
    let before = writer.readers().read(observe).expect("a read");
    let now = writer.clock().now();
    writer.shutdown_blocking();
    drop(writer);

    let writer = open(dir.path());
    assert_eq!(writer.readers().read(observe).expect("a read"), before);
    assert!(writer.clock().now() >= now);
    assert_eq!(*writer.committed().borrow(), 3);
    assert_eq!(writer.readers().read(doctor::examine).expect("a report"), []);
    // The identity outlives the run.
    let again = writer.apply_blocking(TEST, accept("make")).expect("an outcome");
    assert!(matches!(again, Outcome::Duplicate(_)));
    writer.shutdown_blocking();
}

#[tokio::test]
async fn everything_queued_before_a_shutdown_is_answered() {
    let dir = tempfile::tempdir().expect("a folder");
    let writer = open(dir.path());
    let asked: Vec<_> = (0..64)
        .map(|n| {
            let writer = writer.clone();
            tokio::spawn(async move { writer.apply(TEST, accept(&n.to_string())).await })
        })
        .collect();
    let mut committed = writer.committed();
    committed.changed().await.expect("a commit");
    writer.shutdown().await;
    let mut kept = 0;
    for answer in asked {
        match answer.await.expect("no panic") {
            Ok(Outcome::Accepted(_)) => kept += 1,
            Ok(other) => panic!("{other:?}"),
            Err(error) => assert_eq!(error, WriteError::Closed),
        }
    }
    assert_eq!(writer.apply(TEST, accept("late")).await, Err(WriteError::Closed));
    let seen = writer.readers().read_async(observe).await.expect("a read");
    assert_eq!(seen.events.len(), kept);
    writer.shutdown().await;
}

#[tokio::test]
async fn consecutive_commands_are_answered_one_by_one() {
    let dir = tempfile::tempdir().expect("a folder");
    let writer = open(dir.path());
    let commands = vec![(TEST, accept("a")), (TEST, accept("a")), (TEST, accept("b"))];
    let outcomes = writer.apply_all(commands).await.expect("outcomes");
    let names: Vec<_> = outcomes.iter().map(Outcome::name).collect();
    assert_eq!(names, ["accepted", "duplicate", "accepted"]);
    writer.shutdown().await;
}

#[tokio::test]
async fn a_configuration_that_is_current_keeps_its_number() {
    let dir = tempfile::tempdir().expect("a folder");
    let writer = open(dir.path());
    let make = |body: &str| writer.make_current("digest".to_owned(), body.to_owned());
    assert_eq!(make("a").await, Ok(Generation(1)));
    assert_eq!(make("a").await, Ok(Generation(1)));
    assert_eq!(make("b").await, Ok(Generation(2)));
    let current = writer
        .readers()
        .read_async(crate::store::generations::current)
        .await
        .expect("a read")
        .expect("a configuration");
    assert_eq!((current.n, current.body.as_str()), (Generation(2), "b"));
    writer.shutdown().await;
}

#[test]
fn readers_see_nothing_that_is_not_committed() {
    let dir = tempfile::tempdir().expect("a folder");
    let writer = open(dir.path());
    writer.apply_blocking(TEST, accept("a")).expect("kept");
    writer
        .readers()
        .read(|tx| {
            let before = reads::counts(tx)?.events;
            writer.apply_blocking(TEST, accept("b")).expect("kept");
            // One snapshot for the whole read, whatever commits beside it.
            assert_eq!((before, reads::counts(tx)?.events), (1, 1));
            Ok(())
        })
        .expect("a read");
    let refused = writer.readers().read(|tx| crate::store::meta::next_seq(tx));
    assert!(refused.is_err(), "a reader wrote");
    writer.shutdown_blocking();
}
