//! What every loop and every door shares: the configuration, the writer, the executors, and what a
//! person may want to know that is not in the database.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::spawn_blocking;

use super::bell::Bell;
use super::configs::{Configs, Current};
use super::drain::Drain;
use super::driven::Driven;
use super::executors::Executors;
use super::health::Health;
use super::patience::Patience;
use super::troubles::Troubles;
use crate::clock::Clock;
use crate::command::{Command, Outcome};
use crate::config::{Binding, Config};
use crate::domain::{Actor, AttemptNo, BindingPin, Duration, Generation, Millis, WorkId};
use crate::extension::executor::Executor;
use crate::points::Points;
use crate::store::{StoreError, Tx, attempts, generations, names, works};
use crate::writer::{WriteError, Writer, WriterState};

/// One running daemon, as its parts see it.
#[derive(Debug)]
pub struct Context {
    /// What it was told to do, now and before. BIND-10
    pub configs: Configs,
    /// The one way to change anything.
    pub writer: Writer,
    /// What runs attempts, by binding.
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
    /// Whether it is asked to go once nothing runs.
    pub drain: Drain,
    /// How long it waits for executors.
    pub patience: Patience,
    /// Who is told where it is.
    pub points: Points,
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

    /// Resolves when the daemon stops.
    pub async fn stops(&self) {
        // Without whoever would say so, nothing goes on either.
        let _ = self.stop.clone().wait_for(|stop| *stop).await;
    }

    /// Whether the last batch could be committed. While it could not, nothing new is begun.
    #[must_use]
    pub fn can_commit(&self) -> bool {
        *self.writer.state().borrow() == WriterState::Running
    }

    /// Whether the file turned out to be damaged: the daemon says so once, when it stops, and its
    /// parts need not.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        let read = self.writer.readers().damage().borrow().is_some();
        read || matches!(&*self.writer.state().borrow(), WriterState::Failed(e) if e.is_damage())
    }

    /// A bell of its own for a loop.
    #[must_use]
    pub fn bell(&self) -> Bell {
        Bell::new(&self.writer, self.stop.clone())
    }

    /// The configuration that is current. A decision takes it once, and is made by it alone.
    #[must_use]
    pub fn current(&self) -> Arc<Current> {
        self.configs.current()
    }

    /// The configuration of a generation: what is pinned to it goes on under it. BIND-10
    ///
    /// # Errors
    /// Why it cannot be used, for people.
    pub async fn config_of(
        self: &Arc<Self>,
        generation: Generation,
    ) -> Result<Arc<Config>, String> {
        if let Some(config) = self.configs.known(generation) {
            return Ok(config);
        }
        let found = self.read(move |tx| generations::get(tx, generation)).await;
        let found = found.map_err(|error| error.to_string())?;
        let kept = found.ok_or_else(|| format!("there is no configuration {generation}"))?;
        let context = Arc::clone(self);
        // Its expressions are compiled, on a thread that has the time.
        spawn_blocking(move || context.configs.read(generation, kept.body))
            .await
            .unwrap_or_else(|error| Err(format!("a configuration could not be read: {error}")))
    }

    /// What a new attempt of a Work of this scope and kind is pinned to, and what would run it;
    /// `None` if the configuration has no such scope, kind or binding.
    #[must_use]
    pub fn binding(&self, current: &Current, scope: &str, kind: &str) -> Option<Pinned> {
        let scope = current.config.scope(scope)?;
        let binding = Arc::clone(scope.binding_of(kind)?);
        let kind = scope.kinds.get(kind)?;
        let (close_after, retry) = (kind.close_after, kind.retry.clone());
        let executor = self.executors.of(current.generation, &binding);
        let can = executor.capabilities();
        let pin = BindingPin {
            binding: binding.name.clone(),
            generation: current.generation,
            resumes: can.resumes,
            holds_until_pin: can.holds_until_pin,
            active: binding.timeout,
            retry,
            injects: binding.injects && can.injects,
            interrupts: binding.interrupts && can.interrupts,
        };
        Some(Pinned { pin, binding, executor, close_after })
    }

    /// What an attempt is pinned to, under the generation it was first claimed with. BIND-10
    ///
    /// # Errors
    /// Why it cannot be used, for people.
    pub async fn pinned(self: &Arc<Self>, work: WorkId, n: AttemptNo) -> Result<Pinned, String> {
        let found = self.read(move |tx| {
            let row = works::referred(tx, work)?;
            let (scope, kind) = (names::text(tx, row.scope)?, names::text(tx, row.kind)?);
            Ok((scope, kind, attempts::referred(tx, work, n)?.pin))
        });
        let (name, kind, pin) = found.await.map_err(|error| error.to_string())?;
        let config = self.config_of(pin.generation).await?;
        let scope = config.scope(&name);
        let binding =
            scope.and_then(|scope| scope.bindings.get(&pin.binding)).ok_or_else(|| {
                let BindingPin { binding, generation, .. } = &pin;
                format!("its binding `{binding}` is not in configuration {generation} of `{name}`")
            })?;
        let close_after = scope.and_then(|scope| scope.kinds.get(&kind)?.close_after);
        let executor = self.executors.of(pin.generation, binding);
        Ok(Pinned { pin, binding: Arc::clone(binding), executor, close_after })
    }
}

/// A binding of one generation, and what runs attempts under it.
#[derive(Debug, Clone)]
pub struct Pinned {
    /// What an attempt is pinned to.
    pub pin: BindingPin,
    /// What is configured.
    pub binding: Arc<Binding>,
    /// What runs it.
    pub executor: Arc<dyn Executor>,
    /// How long its Work may be idle after a handoff, by its kind.
    pub close_after: Option<Duration>,
}
