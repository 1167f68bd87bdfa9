//! The executors that ship.

mod launch;
mod outcome;
mod segment;
pub mod shell;
