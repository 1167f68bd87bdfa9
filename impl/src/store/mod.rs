//! Typed rows over one database: SQL and no rules.
//!
//! One table a file, named like it. A function here states in SQL what it expects of a row and
//! answers whether it was so; what that means is for [`crate::law`] to say.

pub mod attempts;
pub mod bodies;
pub mod conflicts;
pub mod copy;
pub mod doctor;
pub mod engine;
pub mod events;
pub mod generations;
pub mod idempotency;
pub mod identities;
pub mod inputs;
pub mod intents;
pub mod journal;
pub mod keys;
pub mod listed;
pub mod lock;
pub mod marks;
pub mod meta;
pub mod migrate;
pub mod names;
pub mod observe;
pub mod pages;
pub mod payloads;
pub mod readers;
pub mod reads;
pub mod rejections;
pub mod sqlite;
pub mod subscriptions;
pub mod timers;
pub mod unrouted;
pub mod waits;
pub mod words;
pub mod works;

pub use engine::{Engine, Row, StoreError, Tx, Value};
pub use observe::{Observation, observe};
pub use readers::Readers;
pub use sqlite::{Session, Store};
