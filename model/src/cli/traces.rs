//! `traces`: a corpus that anybody can replay, the same on every machine.

use std::fs::File;
use std::path::Path;

use abide_model::action::Action;
use abide_model::classes::{classes, covering};
use abide_model::graph::explore;
use abide_model::law::Law;
use abide_model::trace::Trace;
use abide_model::worlds::{Visit, World, visit};
use clap::ValueEnum;

use super::{Mistake, Verdict, say};

/// What a corpus covers.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Cover {
    /// Every transition class, refusals included.
    Classes,
}

struct Covering;

impl Visit for Covering {
    type Out = Vec<Vec<Action>>;

    fn visit<const W: usize, const E: usize, const T: usize>(
        self,
        world: &'static World,
    ) -> Self::Out {
        let graph = explore::<W, E, T>(Law::of(world));
        covering(&graph, &classes(&graph))
    }
}

pub(super) fn run(worlds: &[&'static World], cover: Cover, out: &Path) -> Result<Verdict, Mistake> {
    let Cover::Classes = cover;
    for world in worlds {
        let folder = out.join(world.name);
        let traces = visit(world, Covering);
        std::fs::create_dir_all(&folder)
            .map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        for (nth, actions) in (1..).zip(&traces) {
            let file = folder.join(format!("classes-{nth:04}.ndjson"));
            let written = File::create(&file).and_then(|to| {
                Trace::of(Law::of(world), actions).write(std::io::BufWriter::new(to))
            });
            written.map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        }
        let steps: usize = traces.iter().map(Vec::len).sum();
        say(format!(
            "{}: {} traces, {steps} steps in {}",
            world.name,
            traces.len(),
            folder.display()
        ));
    }
    Ok(Verdict::Well)
}
