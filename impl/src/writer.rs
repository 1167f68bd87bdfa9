//! The one writer: a thread that runs commands in batches, commits once a batch, and only then
//! answers. INGRESS-01 ROUTE-21
//!
//! A batch that fails midway is rolled back and run again command by command, so that one caller's
//! trouble is not another's. A failed commit answers every caller of its batch with the error.

mod batch;
mod checkpoint;
mod once;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use tokio::sync::{mpsc, oneshot, watch};

use crate::clock::Clock;
use crate::command::{Command, Outcome, Receipt};
use crate::domain::{Actor, Generation};
use crate::points::Points;
use crate::store::{Readers, Store, StoreError, journal, meta};

use batch::{Ask, Serve};
use checkpoint::Checkpointer;

pub use once::{Answered, Once, REMEMBERED};

/// Numbers of a writer; the defaults fit one machine and one disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriterOptions {
    /// Requests that may wait in the queue before callers do.
    pub queue: usize,
    /// Requests that one transaction takes at most.
    pub batch: usize,
    /// How long a batch gathers more, if the last one held more than one request.
    pub gather: std::time::Duration,
    /// Connections for reading.
    pub readers: usize,
    /// Changed rows after which the checkpointer runs; one is about a page of write-ahead log.
    pub checkpoint_rows: u64,
    /// Who is told of each commit, before and after.
    pub points: Points,
}

impl Default for WriterOptions {
    fn default() -> Self {
        Self {
            queue: 1024,
            batch: 512,
            gather: std::time::Duration::from_micros(100),
            readers: 4,
            // 4096 pages of 4 KiB: 16 MiB.
            checkpoint_rows: 4096,
            points: Points::UNHEARD,
        }
    }
}

/// Why a command got no outcome.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// The writer is stopped, or stopping.
    #[error("the daemon is stopping: ask again when it is back")]
    Closed,
    /// The store failed; nothing of the command is true.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Whether commands can be committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriterState {
    /// The last batch was committed.
    Running,
    /// Storage failed: stop claiming and answer callers that they must come back. The next batch
    /// that commits, or a [`Writer::probe`], ends this.
    Failed(StoreError),
}

/// A handle on the writer; clones share it.
#[derive(Debug, Clone)]
pub struct Writer {
    queue: mpsc::Sender<Ask>,
    committed: watch::Receiver<i64>,
    state: watch::Receiver<WriterState>,
    readers: Readers,
    clock: Clock,
    thread: Arc<Mutex<Option<JoinHandle<()>>>>,
}

impl Writer {
    /// Opens the database, migrates it, lets the clock start no earlier than its mark, and starts
    /// the thread.
    ///
    /// # Errors
    /// The database cannot be opened, or the system gives no thread.
    pub fn open(path: &Path, clock: Clock, options: WriterOptions) -> Result<Self, StoreError> {
        let store = Store::open(path)?;
        let last = {
            let mut session = store.session();
            clock.raise_to(meta::time_mark(&mut session)?);
            journal::last(&mut session)?
        };
        let readers = Readers::open(path, options.readers)?;
        let checkpointer = Checkpointer::start(path, options.checkpoint_rows)?;
        // Should the checkpointer ever fall behind, commits checkpoint by themselves at 64 MiB.
        store.set_autocheckpoint(16_384)?;
        let (queue, asks) = mpsc::channel(options.queue.max(1));
        let (committed_tx, committed) = watch::channel(last);
        let (state_tx, state) = watch::channel(WriterState::Running);
        let serve =
            Serve { options, clock: clock.clone(), committed: committed_tx, state: state_tx };
        let thread = thread::Builder::new()
            .name("abide-writer".to_owned())
            .spawn(move || {
                let mut session = store.session();
                serve.run(&mut session, asks, &mut |changed| checkpointer.note(changed));
            })
            .map_err(|e| StoreError::Io { what: format!("no thread for the writer: {e}") })?;
        let thread = Arc::new(Mutex::new(Some(thread)));
        Ok(Self { queue, committed, state, readers, clock, thread })
    }

    /// Performs a command; the answer comes after its commit is durable. INGRESS-01
    ///
    /// # Errors
    /// The writer is stopped, or the store failed; then nothing of the command is true.
    pub async fn apply(&self, actor: Actor, command: Command) -> Result<Outcome, WriteError> {
        single(self.apply_all(vec![(actor, command)]).await?)
    }

    /// Performs commands as consecutive actions of one transaction: each is answered and journalled
    /// by itself, and all of them commit or none.
    ///
    /// # Errors
    /// As [`apply`](Self::apply).
    pub async fn apply_all(
        &self,
        commands: Vec<(Actor, Command)>,
    ) -> Result<Vec<Outcome>, WriteError> {
        let (answer, answered) = oneshot::channel();
        self.send(Ask::Commands { commands, answer }, answered).await
    }

    /// The same for a request that may be sent again: a repeat is answered as the first was, and
    /// changes nothing. OURS-23
    ///
    /// # Errors
    /// As [`apply`](Self::apply).
    pub async fn apply_once(
        &self,
        once: Once,
        commands: Vec<(Actor, Command)>,
    ) -> Result<Answered, WriteError> {
        let (answer, answered) = oneshot::channel();
        self.send(Ask::Once { once, commands, answer }, answered).await
    }

    /// The same for a thread outside any asynchronous runtime.
    ///
    /// # Errors
    /// As [`apply`](Self::apply).
    ///
    /// # Panics
    /// Called from within an asynchronous runtime.
    pub fn apply_blocking(&self, actor: Actor, command: Command) -> Result<Outcome, WriteError> {
        let (answer, answered) = oneshot::channel();
        let commands = vec![(actor, command)];
        self.queue
            .blocking_send(Ask::Commands { commands, answer })
            .map_err(|_| WriteError::Closed)?;
        single(answered.blocking_recv().map_err(|_| WriteError::Closed)??)
    }

    /// Makes a configuration current; one that is current already keeps its number. BIND-10
    ///
    /// # Errors
    /// As [`apply`](Self::apply).
    pub async fn make_current(
        &self,
        digest: String,
        body: String,
    ) -> Result<Generation, WriteError> {
        match self.apply(Actor::Loop("reload"), Command::Reload { digest, body }).await? {
            Outcome::Accepted(Receipt::Reloaded { generation })
            | Outcome::Duplicate(Receipt::Reloaded { generation }) => Ok(generation),
            other @ (Outcome::Accepted(_)
            | Outcome::Duplicate(_)
            | Outcome::Deferred(_)
            | Outcome::Conflict
            | Outcome::Refused(_)) => {
                let what = format!("a reload was answered {other:?}");
                Err(StoreError::Engine { what }.into())
            }
        }
    }

    /// Commits nothing but the mark of time: shows whether storage works, and ends a failed state
    /// if it does.
    ///
    /// # Errors
    /// As [`apply`](Self::apply).
    pub async fn probe(&self) -> Result<(), WriteError> {
        let (answer, answered) = oneshot::channel();
        self.send(Ask::Probe { answer }, answered).await
    }

    async fn send<T>(
        &self,
        ask: Ask,
        answered: oneshot::Receiver<Result<T, WriteError>>,
    ) -> Result<T, WriteError> {
        self.queue.send(ask).await.map_err(|_| WriteError::Closed)?;
        answered.await.map_err(|_| WriteError::Closed)?
    }

    /// The number of the last committed journal row, and a wake-up whenever it grows.
    #[must_use]
    pub fn committed(&self) -> watch::Receiver<i64> {
        self.committed.clone()
    }

    /// Whether commands can be committed, and a wake-up whenever that changes.
    #[must_use]
    pub fn state(&self) -> watch::Receiver<WriterState> {
        self.state.clone()
    }

    /// Connections that read committed snapshots.
    #[must_use]
    pub const fn readers(&self) -> &Readers {
        &self.readers
    }

    /// The clock every command's instant is taken from.
    #[must_use]
    pub const fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Takes no more requests, answers those that wait, and ends the thread. Again is no fault.
    pub async fn shutdown(&self) {
        // A closed queue means that it is ending already; the join below waits for it.
        let _ = self.queue.send(Ask::Stop).await;
        let writer = self.clone();
        if let Err(error) = tokio::task::spawn_blocking(move || writer.join()).await {
            tracing::error!(%error, "the writer could not be waited for");
        }
    }

    /// The same for a thread outside any asynchronous runtime.
    ///
    /// # Panics
    /// Called from within an asynchronous runtime.
    pub fn shutdown_blocking(&self) {
        let _ = self.queue.blocking_send(Ask::Stop);
        self.join();
    }

    fn join(&self) {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the writer's thread panicked: see above; nothing uncommitted is true");
        }
    }
}

fn single(outcomes: Vec<Outcome>) -> Result<Outcome, WriteError> {
    outcomes.into_iter().next().ok_or_else(|| {
        StoreError::Engine { what: "a command was given no outcome".to_owned() }.into()
    })
}

#[cfg(test)]
mod tests;
