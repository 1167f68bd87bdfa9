//! Saturation: the next larger bound of a world shows no case of the law that the world does not show itself.
//!
//! A case is a transition class (`classes.rs`). That none is new is no proof that none would be at any bound; it says that
//! the bound was not chosen one too small.

use std::collections::BTreeSet;

use crate::classes::{Class, classes};
use crate::graph::{Counts, explore};
use crate::law::Law;
use crate::worlds::{Visit, World, larger, visit};

/// A world beside its next larger bound.
#[derive(Clone, Debug)]
pub struct Saturation {
    /// The world.
    pub world: &'static World,
    /// Its size.
    pub counts: Counts,
    /// Its transition classes.
    pub classes: usize,
    /// Size of the larger world.
    pub larger_counts: Counts,
    /// Transition classes of the larger world.
    pub larger_classes: usize,
    /// Those that only the larger world has.
    pub only_larger: Vec<Class>,
}

/// Explores a world and its next larger bound; `None` if the world is itself a larger one.
pub fn saturation(world: &'static World) -> Option<Saturation> {
    let (counts, small) = visit(world, Shown);
    let (larger_counts, large) = visit(larger(world)?, Shown);
    Some(Saturation {
        world,
        counts,
        classes: small.len(),
        larger_counts,
        larger_classes: large.len(),
        only_larger: large.difference(&small).copied().collect(),
    })
}

struct Shown;

impl Visit for Shown {
    type Out = (Counts, BTreeSet<Class>);

    fn visit<const W: usize, const E: usize, const T: usize>(
        self,
        world: &'static World,
    ) -> Self::Out {
        let graph = explore::<W, E, T>(Law::of(world));
        let shown = classes(&graph).into_iter().filter(|found| found.transition);
        (graph.counts(), shown.map(|found| found.class).collect())
    }
}
