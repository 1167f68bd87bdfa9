//! What every loop and every door shares: the configuration, the writer, the executors, and what a
//! person may want to know that is not in the database.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::watch;

use super::bell::Bell;
use super::driven::Driven;
use super::health::Health;
use super::troubles::Troubles;
use crate::clock::Clock;
use crate::command::{Command, Outcome};
use crate::config::Config;
use crate::domain::{Actor, BindingPin, Generation, Millis};
use crate::extension::executor::Executor;
use crate::store::{StoreError, Tx};
use crate::writer::{WriteError, Writer, WriterState};

/// Executors by the name of their binding.
pub type Executors = BTreeMap<String, Arc<dyn Executor>>;

/// One running daemon, as its parts see it.
#[derive(Debug)]
pub struct Context {
    /// What it was told to do.
    pub config: Config,
    /// The number of that configuration. BIND-10
    pub generation: Generation,
    /// The one way to change anything.
    pub writer: Writer,
    /// What runs attempts.
    pub executors: Executors,
    /// The folder of the Works' own folders.
    pub works: PathBuf,
    /// The folder of the segments' folders.
    pub segments: PathBuf,
    /// Whether every part goes on.
    pub health: Health,
    /// Segments that a task of this daemon drives.
    pub driven: Driven,
    /// What does not get on, and why.
    pub troubles: Troubles,
    /// `true` once the daemon stops.
    pub stop: watch::Receiver<bool>,
}

impl Context {
    /// Performs a command as one of the loops.
    ///
    /// # Errors
    /// The writer is stopped, or the store failed.
    pub async fn commit(
        &self,
        name: &'static str,
        command: Command,
    ) -> Result<Outcome, WriteError> {
        self.writer.apply(Actor::Loop(name), command).await
    }

    /// Reads a committed snapshot on a thread that may block.
    ///
    /// # Errors
    /// The machine failed.
    pub async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&mut dyn Tx) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.writer.readers().read_async(read).await
    }

    /// Trusted time.
    #[must_use]
    pub fn now(&self) -> Millis {
        self.clock().now()
    }

    /// The clock of trusted time.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        self.writer.clock()
    }

    /// Whether the daemon is stopping.
    #[must_use]
    pub fn stopping(&self) -> bool {
        *self.stop.borrow()
    }

    /// Whether the last batch could be committed. While it could not, nothing new is begun.
    #[must_use]
    pub fn can_commit(&self) -> bool {
        *self.writer.state().borrow() == WriterState::Running
    }

    /// A bell of its own for a loop.
    #[must_use]
    pub fn bell(&self) -> Bell {
        Bell::new(&self.writer, self.stop.clone())
    }

    /// What a claim is pinned to, and the executor that would run it; `None` where the
    /// configuration has no such binding.
    #[must_use]
    pub fn binding(&self) -> Option<(BindingPin, Arc<dyn Executor>)> {
        let binding = &self.config.scope.binding;
        let executor = self.executors.get(&binding.name)?;
        let can = executor.capabilities();
        let pin = BindingPin {
            binding: binding.name.clone(),
            generation: self.generation,
            resumes: can.resumes,
            holds_until_pin: can.holds_until_pin,
        };
        Some((pin, Arc::clone(executor)))
    }
}
