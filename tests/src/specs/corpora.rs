//! The trace corpora of `specs/traces/`: for two small worlds, traces through every transition class, refused actions
//! included, with the law's answers. Anyone may replay them against a runtime of theirs.

use std::collections::BTreeMap;

use abide_model::classes::{classes, covering};
use abide_model::graph::explore;
use abide_model::law::Law;
use abide_model::trace::Trace;
use abide_model::worlds::{Visit, World, named, visit};

/// Where they are.
pub const TRACES: &str = "specs/traces";

/// Worlds small enough to keep their corpus in the repository; `abide-model traces` writes any other.
const WORLDS: [&str; 2] = ["acceptance", "targets"];

/// Every trace file, by its path under the root.
#[must_use]
pub fn files() -> BTreeMap<String, String> {
    WORLDS.iter().filter_map(|name| named(name)).flat_map(|world| visit(world, Corpus)).collect()
}

struct Corpus;

impl Visit for Corpus {
    type Out = Vec<(String, String)>;

    fn visit<const W: usize, const E: usize, const T: usize>(
        self,
        world: &'static World,
    ) -> Self::Out {
        let law = Law::of(world);
        let graph = explore::<W, E, T>(law);
        let traces = covering(&graph, &classes(&graph));
        let text = |actions: &Vec<_>| {
            let mut trace = Trace::of(law, actions);
            // Whoever replays a trace observes for himself; the answers are what is compared.
            trace.lines.iter_mut().for_each(|line| line.view = None);
            let mut text = Vec::new();
            trace.write(&mut text).expect("memory takes every write");
            String::from_utf8(text).expect("JSON is UTF-8")
        };
        let path = |nth: usize| format!("{TRACES}/{}-{:02}.ndjson", world.name, nth + 1);
        traces.iter().enumerate().map(|(nth, actions)| (path(nth), text(actions))).collect()
    }
}
