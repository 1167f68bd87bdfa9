//! The executors that ship.

pub mod agent;
mod kept;
mod launch;
mod outcome;
mod segment;
pub mod shell;

pub use kept::{Binding, IMAGE, Place};
