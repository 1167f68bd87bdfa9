//! Scenarios, conformance suites, drills and end-to-end tests of Abide, and what they share.

pub mod corpus;
pub mod daemon;
pub mod drill;
pub mod http;
pub mod live;
pub mod scenario;
pub mod scenarios;
pub mod specs;
