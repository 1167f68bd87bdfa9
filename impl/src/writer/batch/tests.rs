//! Batches under failing statements and failing commits. The faults are a wrapper around the real
//! engine; nothing in production code knows of them.

use tokio::sync::{oneshot, watch};
use type_safe_id::TypeSafeId;

use super::{Ask, Serve};
use crate::clock::Clock;
use crate::command::{Command, Outcome, Receipt};
use crate::domain::{Actor, CausalLimits, IngressId, NewEvent, Seq};
use crate::store::engine::{Each, Engine, StoreError, Tx, Value};
use crate::store::{Session, Store, doctor, journal, observe};
use crate::writer::{WriteError, WriterOptions, WriterState};

/// An engine that fails where a test says so.
struct Faulty<'s> {
    inner: Session<'s>,
    /// Fails every statement that is given this text.
    poison: &'static str,
    /// What so many commits from now on fail with.
    commits: Vec<StoreError>,
}

impl Faulty<'_> {
    fn check(&self, values: &[Value<'_>]) -> Result<(), StoreError> {
        if values.contains(&Value::Text(self.poison)) {
            return Err(StoreError::Engine { what: "poisoned".to_owned() });
        }
        Ok(())
    }
}

impl Tx for Faulty<'_> {
    fn execute(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<usize, StoreError> {
        self.inner.execute(sql, values).and_then(|changed| self.check(values).map(|()| changed))
    }

    fn query(
        &mut self,
        sql: &'static str,
        values: &[Value<'_>],
        each: Each<'_>,
    ) -> Result<(), StoreError> {
        self.inner.query(sql, values, each)
    }

    fn savepoint(&mut self) -> Result<(), StoreError> {
        self.inner.savepoint()
    }

    fn rollback_to(&mut self) -> Result<(), StoreError> {
        self.inner.rollback_to()
    }

    fn release(&mut self) -> Result<(), StoreError> {
        self.inner.release()
    }
}

impl Engine for Faulty<'_> {
    fn begin(&mut self) -> Result<(), StoreError> {
        self.inner.begin()
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        match self.commits.pop() {
            Some(error) => Err(error),
            None => self.inner.commit(),
        }
    }

    fn rollback(&mut self) -> Result<(), StoreError> {
        self.inner.rollback()
    }

    fn changed(&self) -> u64 {
        self.inner.changed()
    }
}

type Answer = oneshot::Receiver<Result<Vec<Outcome>, WriteError>>;

fn accept(delivery: &str) -> (Ask, Answer) {
    let event = NewEvent {
        uid: TypeSafeId::new(),
        id: IngressId { source: "ci".to_owned(), delivery: delivery.to_owned() },
        event_type: "build.done".to_owned(),
        subject: None,
        occurred_at: None,
        scope: "acme".to_owned(),
        key: None,
        target: None,
        limits: CausalLimits { max_depth: 32 },
        payload: None,
        suspect_within: None,
    };
    let (answer, answered) = oneshot::channel();
    let command = Command::Accept { event: Box::new(event) };
    (Ask::Commands { commands: vec![(Actor::Loop("test"), command)], answer }, answered)
}

fn serve() -> (Serve, watch::Receiver<WriterState>) {
    let (state, seen) = watch::channel(WriterState::Running);
    let (committed, _) = watch::channel(0);
    let options = WriterOptions::default();
    (Serve { options, clock: Clock::system(), committed, state }, seen)
}

fn outcome(answer: &mut Answer) -> Result<Outcome, WriteError> {
    let mut outcomes = answer.try_recv().expect("an answer")?;
    Ok(outcomes.pop().expect("an outcome"))
}

fn kept(seq: i64) -> Result<Outcome, WriteError> {
    Ok(Outcome::Accepted(Receipt::Event { seq: Seq(seq) }))
}

#[test]
fn one_failing_request_fails_alone() {
    let store = Store::open_in_memory().expect("a database");
    let mut engine = Faulty { inner: store.session(), poison: "poison", commits: Vec::new() };
    let (serve, state) = serve();
    let ((a, mut on_a), (b, mut on_b), (c, mut on_c)) =
        (accept("a"), accept("poison"), accept("c"));
    serve.serve(&mut engine, vec![a, b, c]);
    assert_eq!(outcome(&mut on_a), kept(1));
    let failed = outcome(&mut on_b);
    assert!(matches!(failed, Err(WriteError::Store(StoreError::Engine { .. }))), "{failed:?}");
    assert_eq!(outcome(&mut on_c), kept(2));
    assert_eq!(observe(&mut engine).expect("a read").events.len(), 2);
    assert_eq!(journal::last(&mut engine).expect("a read"), 2);
    // One caller's trouble is no trouble of the store.
    assert_eq!(*state.borrow(), WriterState::Running);
}

#[test]
fn a_failed_commit_answers_everybody_and_leaves_nothing() {
    let store = Store::open_in_memory().expect("a database");
    let full = StoreError::Full { what: "no room".to_owned() };
    let commits = vec![full.clone()];
    let mut engine = Faulty { inner: store.session(), poison: "", commits };
    let (serve, state) = serve();
    let ((a, mut on_a), (b, mut on_b)) = (accept("a"), accept("b"));
    serve.serve(&mut engine, vec![a, b]);
    for answer in [&mut on_a, &mut on_b] {
        assert_eq!(outcome(answer), Err(WriteError::Store(full.clone())));
    }
    assert_eq!(observe(&mut engine).expect("a read").events, []);
    assert_eq!(*state.borrow(), WriterState::Failed(full));

    // Room is made; the same delivery is offered again.
    let (answer, mut probed) = oneshot::channel();
    serve.serve(&mut engine, vec![Ask::Probe { answer }]);
    assert_eq!(probed.try_recv().expect("an answer"), Ok(()));
    assert_eq!(*state.borrow(), WriterState::Running);
    let (a, mut on_a) = accept("a");
    serve.serve(&mut engine, vec![a]);
    assert_eq!(outcome(&mut on_a), kept(1));
}

#[test]
fn the_consecutive_commands_of_one_request_stand_or_fall_together() {
    let store = Store::open_in_memory().expect("a database");
    let mut engine = Faulty { inner: store.session(), poison: "poison", commits: Vec::new() };
    let (serve, _) = serve();
    let (mut both, mut on_both) = accept("a");
    let (second, _) = accept("poison");
    let (Ask::Commands { commands, .. }, Ask::Commands { commands: more, .. }) =
        (&mut both, second)
    else {
        unreachable!("both are commands");
    };
    commands.extend(more);
    serve.serve(&mut engine, vec![both]);
    assert!(on_both.try_recv().expect("an answer").is_err());
    assert_eq!(observe(&mut engine).expect("a read").events, []);
}

#[test]
fn each_batch_is_one_link_of_the_chain() {
    let store = Store::open_in_memory().expect("a database");
    let mut engine = Faulty { inner: store.session(), poison: "", commits: Vec::new() };
    let (serve, _) = serve();
    for batch in [vec!["a", "b", "c"], vec!["d"]] {
        serve.serve(&mut engine, batch.into_iter().map(|name| accept(name).0).collect());
    }
    let seals = journal::seals_since(&mut engine, 0, 9).expect("a read");
    assert_eq!(seals.iter().map(|seal| seal.n).collect::<Vec<_>>(), [3, 4]);
    let again = journal::link(&mut engine, seals[0], Some(4)).expect("a read");
    assert_eq!(again, seals[1]);
}

#[test]
fn a_full_disk_loses_nothing_that_was_answered() {
    let store = Store::open_in_memory().expect("a database");
    let pages: i64 = store
        .connection()
        .pragma_query_value(None, "page_count", |row| row.get(0))
        .expect("the size");
    let limit = |pages: i64| {
        store.connection().pragma_update(None, "max_page_count", pages).expect("a limit");
    };
    limit(pages + 8);
    let mut session = store.session();
    let (serve, state) = serve();
    let mut answered = 0;
    let full = (0..10_000).find_map(|n| {
        let (ask, mut on_ask) = accept(&format!("{n:0>512}"));
        serve.serve(&mut session, vec![ask]);
        let answer = outcome(&mut on_ask);
        answered += i64::from(answer.is_ok());
        answer.err()
    });
    assert!(matches!(full, Some(WriteError::Store(StoreError::Full { .. }))), "{full:?}");
    assert!(matches!(*state.borrow(), WriterState::Failed(StoreError::Full { .. })));
    assert!(answered > 0);
    limit(pages + 100);
    let (ask, mut on_ask) = accept("room");
    serve.serve(&mut session, vec![ask]);
    assert_eq!(outcome(&mut on_ask), kept(answered + 1));
    assert_eq!(*state.borrow(), WriterState::Running);
    assert_eq!(doctor::examine(&mut session), Ok(vec![]));
}
