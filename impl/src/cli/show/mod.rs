//! Rows as text for people. Nothing here asks a door or prints; everything from outside is escaped.

pub(super) mod chain;
pub(super) mod event;
mod intent;
pub(super) mod lists;
mod table;
pub(super) mod text;
pub(super) mod wait;
pub(super) mod work;

use jiff::Timestamp;

/// What an answer is laid out for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Screen {
    /// Columns there are.
    pub(super) width: u16,
    /// What ages are counted from.
    pub(super) now: Timestamp,
}

impl Screen {
    /// The screen of this process, now.
    pub(super) fn of_process() -> Self {
        Self { width: super::output::width(), now: Timestamp::now() }
    }
}

#[cfg(test)]
pub(super) mod canned;
