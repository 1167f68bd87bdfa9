//! What storage owes beside the shared cases, on the store itself.

use abide::command::{Command, Outcome};
use abide::domain::{Actor, Millis};
use abide::law;
use abide::store::{Engine as _, Observation, Store, StoreError, Tx, observe};
use abide_tests::live::{Vary, event};

const TEST: Actor = Actor::Loop("test");
const NOW: Millis = Millis(1_700_000_000_000);

fn see(store: &Store) -> Observation {
    let mut session = store.session();
    session.begin().expect("a transaction");
    let seen = observe(&mut session).expect("an observation");
    session.rollback().expect("it ends");
    seen
}

fn accept(tx: &mut dyn Tx, delivery: &str) -> Outcome {
    let event = Box::new(event(delivery).keyed("k"));
    law::apply(tx, NOW, &TEST, &Command::Accept { event }).expect("the store works")
}

/// Runs a callback in a transaction that commits only if it succeeds.
fn within(
    store: &Store,
    act: impl FnOnce(&mut dyn Tx) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut session = store.session();
    session.begin()?;
    match act(&mut session) {
        Ok(()) => session.commit(),
        Err(error) => {
            session.rollback()?;
            Err(error)
        }
    }
}

/// A callback that fails leaves nothing of what it did, and the next one starts from there.
#[test]
fn a_failing_callback_rolls_back() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("abide.db");
    let store = Store::open(&file).expect("a store");
    within(&store, |tx| {
        assert!(matches!(accept(tx, "kept"), Outcome::Accepted(_)));
        Ok(())
    })
    .expect("it commits");
    let before = see(&store);
    let failed = within(&store, |tx| {
        assert!(matches!(accept(tx, "lost"), Outcome::Accepted(_)));
        assert!(matches!(accept(tx, "lost too"), Outcome::Accepted(_)));
        Err(StoreError::corrupt("the callback fails"))
    });
    assert!(failed.is_err());
    assert_eq!(see(&store), before);

    // A panic is a failure too: the connection that held the transaction goes with it.
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _ = within(&store, |tx| {
            accept(tx, "lost as well");
            panic!("the callback breaks")
        });
    }));
    assert!(panicked.is_err());
    drop(store);
    let store = Store::open(&file).expect("the store again");
    assert_eq!(see(&store), before);
    within(&store, |tx| {
        assert!(matches!(accept(tx, "lost"), Outcome::Accepted(_)), "it was never accepted");
        Ok(())
    })
    .expect("it commits");
}
