//! What the parts of a running daemon share: loops and doors know this and not one another.
//!
//! Nothing here decides anything. It names the configuration, the writer and the executors, what
//! drives which segment, how the loops are, and what does not get on and why.

mod bell;
mod configs;
mod context;
mod drain;
mod driven;
mod executors;
mod health;
mod output;
mod patience;
mod proved;
mod request;
mod troubles;

pub use bell::Bell;
pub use configs::{Configs, Current, RefusedReload};
pub use context::{Context, Pinned};
pub use drain::Drain;
pub use driven::{Drive, Driven};
pub use executors::Executors;
pub use health::{Health, LoopHealth};
pub use patience::Patience;
pub use proved::Proved;
pub use request::{HANDED_MAX, Handed, handed, injection, request};
pub use troubles::{Trouble, Troubles};
