//! Keepers, the shell and the agent executor and the toolbelt with real processes of the built binary.
//!
//! Nothing here sleeps to put things in order: tests wait for files, process handles and answers,
//! and a clock only detects a stall.

mod adopt;
mod agent;
mod conformance;
mod daemon;
mod inject;
mod input;
mod interrupt;
mod launch;
mod stop;
mod support;
mod tool;
mod versions;
