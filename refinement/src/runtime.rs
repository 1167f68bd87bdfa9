//! The production runtime as a subject: on SQLite in memory with savepoints, and on a file reopened after every step.
//!
//! It begins with the world's first configuration loaded, as a daemon does before it takes a delivery.

mod tampering;

use std::path::PathBuf;
use std::rc::Rc;

use abide::command::{Command, Outcome as Answer, Receipt};
use abide::domain::{Actor, Millis};
use abide::law;
use abide::store::{Engine, Observation, Session, Store, StoreError, Tx, journal, observe};
use abide_model::action::{Commit, Env};
use abide_model::outcome::Outcome;
use abide_model::view::View;
use abide_model::worlds::{TICK_MS, World};

use crate::binding::Binding;
use crate::commands::{command, evaluated, learn, outcome, reload, ticks};
use crate::crash::Crashing;
use crate::observation::{Rows, bind_derived, view};
use crate::subject::{Subject, SubjectError};

/// Everything the harness does is done by this loop of the daemon, as the journal will say.
const HARNESS: Actor = Actor::Loop("harness");

/// The runtime on SQLite in memory. One transaction is open for its whole life; saves are savepoints.
#[derive(Debug)]
pub struct InMemory<'s> {
    world: &'static World,
    session: Session<'s>,
    here: Here,
    saved: Vec<Here>,
}

/// Where a subject is: what the harness knows, and what the store shows if it was looked at since it last changed.
#[derive(Debug, Clone)]
struct Here {
    binding: Binding,
    seen: Option<Rc<Observation>>,
}

impl<'s> InMemory<'s> {
    /// The runtime on an empty store.
    ///
    /// # Errors
    /// The first configuration cannot be loaded.
    pub fn new(world: &'static World, store: &'s Store) -> Result<Self, SubjectError> {
        let mut session = store.session();
        session.begin()?;
        let binding = begin(&mut session, world)?;
        let here = Here { binding, seen: None };
        Ok(Self { world, session, here, saved: Vec::new() })
    }

    /// Commits everything performed so far under one seal, as a batch of the writer does, so that its journal can be read.
    ///
    /// # Errors
    /// The store failed.
    pub fn keep(mut self) -> Result<(), SubjectError> {
        journal::seal(&mut self.session)?;
        self.session.commit()?;
        Ok(())
    }

    /// What the store shows, read once for each state.
    fn seen(&mut self) -> Result<Rc<Observation>, SubjectError> {
        if let Some(seen) = &self.here.seen {
            return Ok(Rc::clone(seen));
        }
        let seen = Rc::new(observe(&mut self.session)?);
        self.here.seen = Some(Rc::clone(&seen));
        Ok(seen)
    }
}

impl Subject for InMemory<'_> {
    fn name(&self) -> String {
        "the runtime on SQLite in memory".to_owned()
    }

    fn perform(&mut self, commit: Commit) -> Result<Outcome, SubjectError> {
        self.here.seen = None;
        let (done, answer) = apply(&mut self.session, self.world, &mut self.here.binding, commit)?;
        let seen = self.seen()?;
        understood(self.world, &mut self.here.binding, &seen, (commit, &done, &answer))
    }

    fn surroundings(&mut self, env: Env) -> Result<(), SubjectError> {
        // Of all surroundings only an evaluation runs code that could change what is stored, and must not.
        if matches!(env, Env::Evaluate { .. }) {
            self.here.seen = None;
        }
        surroundings(&mut self.session, self.world, &mut self.here.binding, env)
    }

    fn almost_tick(&mut self) -> Result<(), SubjectError> {
        almost_tick(&mut self.here.binding);
        Ok(())
    }

    fn observe(&mut self) -> Result<View, SubjectError> {
        let seen = self.seen()?;
        view(self.world, &self.here.binding, &seen)
    }

    fn save(&mut self) -> Result<(), SubjectError> {
        self.session.savepoint()?;
        self.saved.push(self.here.clone());
        Ok(())
    }

    fn restore(&mut self) -> Result<(), SubjectError> {
        let saved = self.saved.pop();
        self.here = saved.ok_or_else(|| SubjectError::Cannot("nothing was saved".to_owned()))?;
        self.session.rollback_to()?;
        self.session.release()?;
        Ok(())
    }
}

/// The runtime on a file that is closed after every commit and opened again.
#[derive(Debug)]
pub struct Reopened {
    world: &'static World,
    file: PathBuf,
    /// Open since the last commit, if it was looked at since.
    store: Option<Store>,
    binding: Binding,
}

impl Reopened {
    /// The runtime on a file that does not exist yet.
    ///
    /// # Errors
    /// The file cannot be made, or the first configuration not loaded.
    pub fn new(world: &'static World, file: PathBuf) -> Result<Self, SubjectError> {
        let store = Store::open(&file)?;
        let mut session = store.session();
        session.begin()?;
        let binding = begin(&mut session, world)?;
        session.commit()?;
        drop(session);
        Ok(Self { world, file, store: None, binding })
    }

    /// Acts in one transaction. Whatever wrote closes the file, whether it is kept or lost.
    fn write<T>(
        &mut self,
        keep: bool,
        act: impl FnOnce(&mut dyn Tx, &'static World, &mut Binding) -> Result<T, SubjectError>,
    ) -> Result<T, SubjectError> {
        let store = self.open()?;
        let mut session = store.session();
        session.begin()?;
        let done = act(&mut session, self.world, &mut self.binding)?;
        if keep {
            session.commit()?;
        }
        Ok(done)
    }

    /// Looks at what is stored, and leaves the file open.
    fn read<T>(
        &mut self,
        look: impl FnOnce(&mut dyn Tx, &'static World, &mut Binding) -> Result<T, SubjectError>,
    ) -> Result<T, SubjectError> {
        let store = self.open()?;
        let mut session = store.session();
        session.begin()?;
        let seen = look(&mut session, self.world, &mut self.binding)?;
        session.rollback()?;
        drop(session);
        self.store = Some(store);
        Ok(seen)
    }

    fn open(&mut self) -> Result<Store, StoreError> {
        self.store.take().map_or_else(|| Store::open(&self.file), Ok)
    }
}

impl Subject for Reopened {
    fn name(&self) -> String {
        "the runtime on a reopened SQLite file".to_owned()
    }

    fn perform(&mut self, commit: Commit) -> Result<Outcome, SubjectError> {
        self.write(true, |tx, world, binding| perform(tx, world, binding, commit))
    }

    fn surroundings(&mut self, env: Env) -> Result<(), SubjectError> {
        self.read(|tx, world, binding| surroundings(tx, world, binding, env))
    }

    fn almost_tick(&mut self) -> Result<(), SubjectError> {
        almost_tick(&mut self.binding);
        Ok(())
    }

    fn observe(&mut self) -> Result<View, SubjectError> {
        self.read(|tx, world, binding| view(world, binding, &observe(tx)?))
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
        self.write(false, |tx, world, binding| perform(tx, world, binding, commit))?;
        self.binding = before;
        Ok(())
    }

    fn reopen(&mut self) -> Result<(), SubjectError> {
        self.store = None;
        Ok(())
    }
}

/// Loads the first configuration of a world, under whatever number the runtime gives it.
fn begin(tx: &mut dyn Tx, world: &World) -> Result<Binding, SubjectError> {
    let mut binding = Binding::of(world);
    let answer = law::apply(tx, binding.now(), &HARNESS, &reload(world, 0))?;
    let Answer::Accepted(Receipt::Reloaded { generation }) = answer else {
        return Err(SubjectError::Cannot(format!(
            "the first configuration was answered {answer:?}"
        )));
    };
    binding.begin(generation);
    Ok(binding)
}

fn perform(
    tx: &mut dyn Tx,
    world: &World,
    binding: &mut Binding,
    commit: Commit,
) -> Result<Outcome, SubjectError> {
    let (done, answer) = apply(tx, world, binding, commit)?;
    understood(world, binding, &observe(tx)?, (commit, &done, &answer))
}

fn apply(
    tx: &mut dyn Tx,
    world: &World,
    binding: &mut Binding,
    commit: Commit,
) -> Result<(Command, Answer), SubjectError> {
    let done = command(world, binding, &mut Rows(tx), commit)?;
    let answer = law::apply(tx, binding.now(), &HARNESS, &done)?;
    Ok((done, answer))
}

/// Binds what the answer reveals and says it in the model's words. Receipts name derived events by sequence; which those
/// are is told by what is stored.
fn understood(
    world: &World,
    binding: &mut Binding,
    seen: &Observation,
    (commit, done, answer): (Commit, &Command, &Answer),
) -> Result<Outcome, SubjectError> {
    learn(world, binding, commit, done, answer);
    bind_derived(world, binding, seen);
    outcome(binding, commit, answer)
}

fn surroundings(
    tx: &mut dyn Tx,
    world: &World,
    binding: &mut Binding,
    env: Env,
) -> Result<(), SubjectError> {
    match env {
        Env::Evaluate { event } => {
            if let Some(snapshot) = law::routing::snapshot(tx, binding.event(event))? {
                let proposal = evaluated(world, binding, event, &snapshot);
                binding.propose(event, proposal);
            }
        }
        Env::Tick => {
            let tick = ticks(1);
            binding.set_now(binding.now() + tick);
        }
        Env::Crash => binding.crash(),
        // Hosts and processes are no facts of the runtime: it learns of them by commands alone.
        Env::ProcessExits { .. }
        | Env::Launch { .. }
        | Env::Proceed { .. }
        | Env::LetGo { .. }
        | Env::ProcessEnds { .. }
        | Env::KeeperDies { .. }
        | Env::Deliver { .. }
        | Env::TakeIn { .. } => {}
    }
    Ok(())
}

fn almost_tick(binding: &mut Binding) {
    let almost = i64::try_from(TICK_MS).unwrap_or(i64::MAX) - 1;
    binding.set_now(Millis(binding.now().0 + almost));
}
