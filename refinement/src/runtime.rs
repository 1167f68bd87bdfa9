//! The production runtime as a subject: on SQLite in memory with savepoints, and on a file reopened after every step.

use std::path::{Path, PathBuf};

use abide::command::Command;
use abide::domain::{Actor, Millis};
use abide::law;
use abide::store::{Engine, Session, Store, StoreError, Tx, observe};
use abide_model::action::{Commit, Env};
use abide_model::outcome::Outcome;
use abide_model::view::View;
use abide_model::worlds::{TICK_MS, World};

use crate::binding::Binding;
use crate::commands::{command, learn, outcome, ticks};
use crate::crash::Crashing;
use crate::observation::{bind_derived, view, watermarks};
use crate::subject::{Subject, SubjectError};

/// Everything the harness does is done by this loop of the daemon, as the journal will say.
const HARNESS: Actor = Actor::Loop("harness");

/// The runtime on SQLite in memory. One transaction is open for its whole life; saves are savepoints.
#[derive(Debug)]
pub struct InMemory<'s> {
    world: &'static World,
    session: Session<'s>,
    begun: bool,
    binding: Binding,
    saved: Vec<Binding>,
}

impl<'s> InMemory<'s> {
    /// The runtime on an empty store.
    #[must_use]
    pub fn new(world: &'static World, store: &'s Store) -> Self {
        let session = store.session();
        Self { world, session, begun: false, binding: Binding::of(world), saved: Vec::new() }
    }

    fn session(&mut self) -> Result<&mut Session<'s>, StoreError> {
        if !self.begun {
            self.session.begin()?;
            self.begun = true;
        }
        Ok(&mut self.session)
    }
}

impl Subject for InMemory<'_> {
    fn name(&self) -> String {
        "the runtime on SQLite in memory".to_owned()
    }

    fn perform(&mut self, commit: Commit) -> Result<Outcome, SubjectError> {
        self.session()?;
        perform(&mut self.session, self.world, &mut self.binding, commit)
    }

    fn surroundings(&mut self, env: Env) -> Result<(), SubjectError> {
        self.session()?;
        surroundings(&mut self.session, self.world, &mut self.binding, env)
    }

    fn almost_tick(&mut self) -> Result<(), SubjectError> {
        almost_tick(&mut self.binding);
        Ok(())
    }

    fn observe(&mut self) -> Result<View, SubjectError> {
        self.session()?;
        show(&mut self.session, self.world, &mut self.binding)
    }

    fn save(&mut self) -> Result<(), SubjectError> {
        self.session()?.savepoint()?;
        self.saved.push(self.binding.clone());
        Ok(())
    }

    fn restore(&mut self) -> Result<(), SubjectError> {
        let saved = self.saved.pop();
        self.binding = saved.ok_or_else(|| SubjectError::Cannot("nothing was saved".to_owned()))?;
        self.session.rollback_to()?;
        self.session.release()?;
        Ok(())
    }
}

/// The runtime on a file that is closed and opened again after every step.
#[derive(Debug)]
pub struct Reopened {
    world: &'static World,
    file: PathBuf,
    binding: Binding,
}

impl Reopened {
    /// The runtime on a file that does not exist yet.
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn new(world: &'static World, file: PathBuf) -> Result<Self, SubjectError> {
        Store::open(&file)?;
        Ok(Self { world, file, binding: Binding::of(world) })
    }

    fn within<T>(
        &mut self,
        keep: bool,
        act: impl FnOnce(&mut dyn Tx, &'static World, &mut Binding) -> Result<T, SubjectError>,
    ) -> Result<T, SubjectError> {
        let store = open(&self.file)?;
        let mut session = store.session();
        session.begin()?;
        let done = act(&mut session, self.world, &mut self.binding)?;
        if keep {
            session.commit()?;
        }
        Ok(done)
    }
}

fn open(file: &Path) -> Result<Store, StoreError> {
    Store::open(file)
}

impl Subject for Reopened {
    fn name(&self) -> String {
        "the runtime on a reopened SQLite file".to_owned()
    }

    fn perform(&mut self, commit: Commit) -> Result<Outcome, SubjectError> {
        self.within(true, |tx, world, binding| perform(tx, world, binding, commit))
    }

    fn surroundings(&mut self, env: Env) -> Result<(), SubjectError> {
        self.within(false, |tx, world, binding| surroundings(tx, world, binding, env))
    }

    fn almost_tick(&mut self) -> Result<(), SubjectError> {
        almost_tick(&mut self.binding);
        Ok(())
    }

    fn observe(&mut self) -> Result<View, SubjectError> {
        self.within(false, show)
    }

    fn save(&mut self) -> Result<(), SubjectError> {
        Err(SubjectError::Cannot("a reopened file cannot go back".to_owned()))
    }

    fn restore(&mut self) -> Result<(), SubjectError> {
        Err(SubjectError::Cannot("a reopened file cannot go back".to_owned()))
    }
}

impl Crashing for Reopened {
    fn perform_and_lose(&mut self, commit: Commit) -> Result<(), SubjectError> {
        let before = self.binding.clone();
        self.within(false, |tx, world, binding| perform(tx, world, binding, commit))?;
        self.binding = before;
        Ok(())
    }

    fn reopen(&mut self) -> Result<(), SubjectError> {
        open(&self.file)?;
        Ok(())
    }
}

fn perform(
    tx: &mut dyn Tx,
    world: &World,
    binding: &mut Binding,
    commit: Commit,
) -> Result<Outcome, SubjectError> {
    let done = prepared(tx, world, binding, commit)?;
    let answer = law::apply(tx, binding.now(), &HARNESS, &done)?;
    learn(world, binding, commit, &done, &answer);
    // Receipts name derived events by sequence; which those are is told by what is stored.
    bind_derived(world, binding, &observe(tx)?);
    outcome(binding, &answer)
}

fn prepared(
    tx: &mut dyn Tx,
    world: &World,
    binding: &mut Binding,
    commit: Commit,
) -> Result<Command, SubjectError> {
    let looked_up = binding.clone();
    command(world, binding, commit, |work| Ok(watermarks(&observe(tx)?, looked_up.work(work))))
}

fn surroundings(
    tx: &mut dyn Tx,
    world: &World,
    binding: &mut Binding,
    env: Env,
) -> Result<(), SubjectError> {
    match env {
        Env::Evaluate { event } => {
            let snapshot = law::routing::snapshot(tx, binding.event(event))?;
            let routed = world.routed(event);
            if let Some(snapshot) = snapshot {
                let (route, kind) =
                    if routed { (Some("route"), Some("kind")) } else { (None, None) };
                binding.propose(event, snapshot.propose(route, kind));
            }
        }
        Env::Tick => {
            let tick = ticks(1);
            binding.set_now(binding.now() + tick);
        }
        Env::Crash => binding.crash(),
        Env::ProcessExits { .. } => {}
    }
    Ok(())
}

fn almost_tick(binding: &mut Binding) {
    let almost = i64::try_from(TICK_MS).unwrap_or(i64::MAX) - 1;
    binding.set_now(Millis(binding.now().0 + almost));
}

fn show(
    tx: &mut dyn Tx,
    world: &'static World,
    binding: &mut Binding,
) -> Result<View, SubjectError> {
    let seen = observe(tx)?;
    bind_derived(world, binding, &seen);
    view(world, binding, &seen)
}
