//! What a person does to a running daemon and its database, on the built binary: backup, restore,
//! drain, and a disk or a neighbour that does not do as it should.

mod drain;
mod restore;
mod retry;
mod storage;
mod support;
