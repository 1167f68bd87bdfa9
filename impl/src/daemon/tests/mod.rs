//! Loops and doors on a real writer, with an executor that does as it is told.

mod bench;
mod doors;
mod loops;
mod recovering;
mod tools;

pub(crate) use bench::{Bench, Call, soon};
