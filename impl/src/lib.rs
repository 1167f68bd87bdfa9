//! Abide: a durable coordinator for agent and automation work.
//!
//! The law lives in [`law`], one file an area, over typed rows of [`store`]; [`command`] is its
//! alphabet. Everything else
//! carries commands to it or rows from it.

pub mod api;
pub mod backup;
pub mod cli;
pub mod clock;
pub mod command;
pub mod config;
pub mod conformance;
pub mod daemon;
pub mod domain;
pub(crate) mod evaluation;
pub mod executor;
pub mod extension;
pub mod files;
pub mod host;
pub mod ingress;
pub mod keeper;
pub mod law;
pub mod points;
pub mod serve;
pub mod store;
pub mod writer;
