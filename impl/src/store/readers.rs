//! A small pool of connections that read snapshots. A read holds one for as long as its closure
//! runs, so closures are bounded and never stream to anyone.

use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use tokio::sync::watch;

use super::engine::{Engine as _, StoreError, Tx};
use super::sqlite::Store;

/// A handle on the pool; clones share it.
#[derive(Debug, Clone)]
pub struct Readers {
    pool: Arc<Pool>,
}

#[derive(Debug)]
struct Pool {
    idle: Mutex<Vec<Store>>,
    returned: Condvar,
    damage: watch::Sender<Option<StoreError>>,
}

impl Readers {
    /// Opens so many connections on an existing file; at least one.
    ///
    /// # Errors
    /// The file cannot be opened or is none of ours.
    pub fn open(path: &Path, connections: usize) -> Result<Self, StoreError> {
        let idle =
            (0..connections.max(1)).map(|_| Store::open_reader(path)).collect::<Result<_, _>>()?;
        let (idle, returned) = (Mutex::new(idle), Condvar::new());
        Ok(Self { pool: Arc::new(Pool { idle, returned, damage: watch::Sender::new(None) }) })
    }

    /// Runs a read on one snapshot, on this thread; waits while every connection is in use.
    ///
    /// # Errors
    /// The machine failed, or the read did.
    pub fn read<T>(
        &self,
        read: impl FnOnce(&mut dyn Tx) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let borrowed = self.borrow();
        let Some(store) = &borrowed.store else {
            return Err(StoreError::Engine { what: "a reader lost its connection".to_owned() });
        };
        let mut session = store.session();
        let answer = session.begin_snapshot().and_then(|()| read(&mut session));
        if let Err(error) = &answer {
            self.note(error);
        }
        session.rollback()?;
        answer
    }

    /// The first damage of the file that a read has met, and a wake-up when one does.
    #[must_use]
    pub fn damage(&self) -> watch::Receiver<Option<StoreError>> {
        self.pool.damage.subscribe()
    }

    fn note(&self, error: &StoreError) {
        if error.is_damage() {
            self.pool.damage.send_if_modified(|found| {
                let first = found.is_none();
                found.get_or_insert_with(|| error.clone());
                first
            });
        }
    }

    /// The same on a thread that may block, for asynchronous callers.
    ///
    /// # Errors
    /// As [`read`](Self::read); and the read panicked.
    pub async fn read_async<T: Send + 'static>(
        &self,
        read: impl FnOnce(&mut dyn Tx) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let readers = self.clone();
        tokio::task::spawn_blocking(move || readers.read(read))
            .await
            .map_err(|e| StoreError::Engine { what: format!("a read did not finish: {e}") })?
    }

    fn borrow(&self) -> Borrowed<'_> {
        let mut idle = self.pool.idle.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(store) = idle.pop() {
                return Borrowed { store: Some(store), pool: &self.pool };
            }
            idle = self.pool.returned.wait(idle).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Gives its connection back however the read ends.
struct Borrowed<'p> {
    store: Option<Store>,
    pool: &'p Pool,
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        if let Some(store) = self.store.take() {
            self.pool.idle.lock().unwrap_or_else(PoisonError::into_inner).push(store);
            self.pool.returned.notify_one();
        }
    }
}
