//! The law of Abide as a state machine.
//!
//! One pure, total `step` over an alphabet of committed actions ([`action`]); bounded worlds to explore it in
//! ([`worlds`]); what must hold everywhere ([`properties`]) and the broken laws that prove each check can fail
//! ([`mutants`]). It knows nothing of SQL, of async or of the runtime; `docs/alphabet.md` is what the two share.
//!
//! Code that walks a world is generic over the sizes of its state and reached by name:
//!
//! ```
//! use abide_model::graph::explore;
//! use abide_model::law::Law;
//! use abide_model::view::view;
//! use abide_model::worlds::{TARGETS, Visit, World, visit};
//!
//! struct Walk;
//!
//! impl Visit for Walk {
//!     type Out = usize;
//!
//!     fn visit<const W: usize, const E: usize, const T: usize>(self, world: &'static World) -> usize {
//!         let graph = explore::<W, E, T>(Law::of(world));
//!         for ix in graph.indices() {
//!             // `parent` spans the breadth-first tree; `edges` are the transitions; `offers` adds what is refused.
//!             let _seen = view(world, graph.state(ix));
//!             let _from = graph.parent(ix);
//!             for edge in graph.edges(ix) {
//!                 let _ = (edge.action, edge.outcome, edge.to);
//!             }
//!         }
//!         graph.counts().states
//!     }
//! }
//!
//! assert_eq!(visit(TARGETS, Walk), 12_575);
//! ```

pub mod action;
pub mod check;
pub mod checker;
pub mod classes;
pub mod graph;
pub mod index;
pub mod law;
pub mod mutants;
mod names;
pub mod outcome;
pub mod page;
pub mod progress;
pub mod properties;
pub mod registry;
pub mod saturation;
pub mod sequence;
pub mod state;
pub mod story;
pub mod trace;
pub mod view;
pub mod worlds;

pub use names::UnknownName;
