//! The checkpointer: moves the write-ahead log into the file beside the writer, so that no commit
//! pays for it.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use crate::store::{Store, StoreError};

/// A handle on the thread, which has ended when this is dropped.
pub(super) struct Checkpointer {
    wake: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    every: u64,
    done: AtomicU64,
}

impl Checkpointer {
    /// Starts the thread on a connection of its own; it runs after every `every` changed rows.
    pub(super) fn start(path: &Path, every: u64) -> Result<Self, StoreError> {
        let store = Store::open(path)?;
        // One wake-up waits at most: a second one would ask for what the first will do.
        let (wake, woken) = sync_channel(1);
        let thread = thread::Builder::new()
            .name("abide-checkpoint".to_owned())
            .spawn(move || {
                while woken.recv().is_ok() {
                    if let Err(error) = store.checkpoint() {
                        tracing::warn!(%error, "a checkpoint failed; the next one tries again");
                    }
                }
            })
            .map_err(|e| StoreError::Io { what: format!("no thread for checkpoints: {e}") })?;
        let (wake, thread) = (Some(wake), Some(thread));
        Ok(Self { wake, thread, every: every.max(1), done: AtomicU64::new(0) })
    }

    /// Notes how many rows the writer has changed since it began.
    pub(super) fn note(&self, changed: u64) {
        if changed.saturating_sub(self.done.load(Ordering::Relaxed)) < self.every {
            return;
        }
        self.done.store(changed, Ordering::Relaxed);
        if let Some(wake) = &self.wake {
            // Full means that a wake-up waits already.
            let _ = wake.try_send(());
        }
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.wake = None;
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the checkpointer's thread panicked: see above");
        }
    }
}
