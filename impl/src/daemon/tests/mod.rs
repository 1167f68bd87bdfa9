//! Loops and doors on a real writer, with an executor that does as it is told.

mod bench;
mod damage;
mod doors;
mod loops;
mod recovering;
mod reopened;
mod retrying;
mod steering;
mod tools;
mod wider;

pub(crate) use bench::{Bench, CONFIGURATION, Call, soon};
