//! A whole run over one world: explore it, put a subject beside it, and say what was compared.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use abide::store::Store;
use abide_model::classes::{classes, covering};
use abide_model::graph::{Counts, explore};
use abide_model::law::Law;
use abide_model::state::State;
use abide_model::worlds::{Visit, World, visit};
use serde::Serialize;

use crate::broken::{Broken, Fault};
use crate::corpus::{Covered, broke, cover};
use crate::crash::{Crashed, crash};
use crate::difference::Divergence;
use crate::lockstep::{Found, Stage, Walked, walk};
use crate::reference::Reference;
use crate::runtime::{InMemory, Reopened};
use crate::subject::Subject;

/// What is put beside the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    /// The runtime on SQLite in memory, over the whole graph.
    Sqlite,
    /// The runtime on a SQLite file that is reopened after every step, over the class traces.
    File,
    /// The model itself, over the whole graph: a check of the harness.
    Model,
    /// The runtime in memory with a planted fault, over the whole graph.
    Broken(Fault),
}

/// What a lockstep run did in one world.
#[derive(Debug, Clone, Serialize)]
pub struct Lockstep {
    /// The world.
    pub world: &'static str,
    /// Its size.
    pub explored: Counts,
    /// What was walked, if the whole graph was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub walked: Option<Walked>,
    /// What was covered, if class traces were followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub covered: Option<Covered>,
}

impl Lockstep {
    /// Transitions performed and compared.
    #[must_use]
    pub fn transitions(&self) -> usize {
        self.walked.map_or(0, |walked| walked.transitions)
            + self.covered.map_or(0, |covered| covered.steps)
    }

    /// Refusals and the like that were tried.
    #[must_use]
    pub fn probes(&self) -> usize {
        self.walked.map_or(0, |walked| walked.probes + walked.instants)
    }
}

/// Runs one world in lockstep with a subject. Files are made in `folder`.
///
/// # Errors
/// The first step on which the subject and the model part.
pub fn lockstep(
    world: &'static World,
    beside: Beside,
    folder: &Path,
) -> Result<Lockstep, Box<Divergence>> {
    visit(world, LockstepRun { beside, folder })
}

/// Crashes along every class trace of one world. Files are made in `folder`.
///
/// # Errors
/// The first crash after which the runtime and the model part.
pub fn crash_points(world: &'static World, folder: &Path) -> Result<Crashed, Box<Divergence>> {
    visit(world, CrashRun { folder })
}

struct LockstepRun<'a> {
    beside: Beside,
    folder: &'a Path,
}

impl Visit for LockstepRun<'_> {
    type Out = Result<Lockstep, Box<Divergence>>;

    fn visit<const W: usize, const E: usize, const T: usize>(
        self,
        world: &'static World,
    ) -> Self::Out {
        let graph = explore::<W, E, T>(Law::of(world));
        let mut run =
            Lockstep { world: world.name, explored: graph.counts(), walked: None, covered: None };
        if self.beside == Beside::File {
            let files = Files::new(world, self.folder);
            let fresh = || Reopened::new(world, files.next());
            run.covered =
                Some(cover(&covering(&graph, &classes(&graph)), model::<W, E, T>(world), fresh)?);
            return Ok(run);
        }
        let probed = classes(&graph).into_iter().map(|found| found.state);
        let stage = OnStage::<W, E, T> { world, beside: self.beside };
        run.walked = Some(walk(&graph, &stage, probed)?);
        Ok(run)
    }
}

/// Fresh subjects that can go back.
struct OnStage<const W: usize, const E: usize, const T: usize> {
    world: &'static World,
    beside: Beside,
}

impl<const W: usize, const E: usize, const T: usize> Stage for OnStage<W, E, T> {
    fn with(&self, act: &mut dyn FnMut(&mut dyn Subject) -> Found) -> Found {
        let (world, store) = (self.world, in_memory());
        match self.beside {
            Beside::Model => act(&mut model::<W, E, T>(world)()),
            Beside::Broken(fault) => act(&mut Broken::new(fresh(world, &store)?, fault)),
            Beside::Sqlite | Beside::File => act(&mut fresh(world, &store)?),
        }
    }
}

/// Makes fresh models of a world.
fn model<const W: usize, const E: usize, const T: usize>(
    world: &'static World,
) -> impl Fn() -> Reference<State<W, E, T>> {
    move || Reference::new(Law::of(world), State::new())
}

struct CrashRun<'a> {
    folder: &'a Path,
}

impl Visit for CrashRun<'_> {
    type Out = Result<Crashed, Box<Divergence>>;

    fn visit<const W: usize, const E: usize, const T: usize>(
        self,
        world: &'static World,
    ) -> Self::Out {
        let graph = explore::<W, E, T>(Law::of(world));
        let files = Files::new(world, self.folder);
        let fresh = || Reopened::new(world, files.next());
        crash(&covering(&graph, &classes(&graph)), model::<W, E, T>(world), fresh)
    }
}

/// An empty store.
pub(crate) fn in_memory() -> Store {
    Store::open_in_memory().expect("a database in memory needs nothing that could be missing")
}

/// The runtime on an empty store.
pub(crate) fn fresh<'s>(
    world: &'static World,
    store: &'s Store,
) -> Result<InMemory<'s>, Box<Divergence>> {
    InMemory::new(world, store).map_err(|error| broke(world, &error))
}

/// A fresh file for each trace.
struct Files<'a> {
    folder: &'a Path,
    world: &'static str,
    made: AtomicUsize,
}

impl<'a> Files<'a> {
    const fn new(world: &'static World, folder: &'a Path) -> Self {
        Self { folder, world: world.name, made: AtomicUsize::new(0) }
    }

    fn next(&self) -> std::path::PathBuf {
        let nth = self.made.fetch_add(1, Ordering::Relaxed);
        self.folder.join(format!("{}-{nth}.db", self.world))
    }
}
