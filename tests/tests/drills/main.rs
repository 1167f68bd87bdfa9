//! Drills on the built binary: processes that are killed where it hurts, daemons that are replaced under running
//! attempts, and senders and executors that do what they should not.

mod accounts;
mod chance;
mod controls;
mod conversation;
mod doctored;
mod drilled;
mod ground;
mod heard;
mod messages;
mod points;
mod random;
mod senders;
mod steering;
mod upgrade;
