//! Whether an executor keeps the contract of inject: a suite that anybody can run over his own.
//!
//! [`check_inject_executor`] takes an executor through the calls that a host makes, with processes
//! that do what the suite asks of them, and says what it found: each [`Check`] has a stable name, the
//! rules that it stands for, and a sentence of what was expected. EXEC-14
//!
//! Who writes an executor gives the suite a [`Subject`]: it prepares a [`Stage`], which is fresh ground
//! for one attempt and a process of one [`Conduct`]. A script of a dozen lines is enough for that;
//! `docs/executors.md` shows how the shipped executors do it, and [`mod@reference`] is an executor and its
//! process in memory, the smallest that passes.
//!
//! ```
//! use abide::conformance::{check_inject_executor, reference::Reference};
//!
//! let report = check_inject_executor(&Reference::default());
//! assert!(report.passed(), "{report}");
//! ```
//!
//! The suite asserts nothing about time. It waits for what has to come, for as long as the subject's
//! [`Limits`] say, and what does not come by then is a finding.

mod cases;
mod host;
pub mod reference;
mod report;

use std::sync::Arc;
use std::time::Duration;

use crate::domain::{EventUid, Token};
use crate::extension::executor::{Executor, Metadata, RunRequest};

pub use report::{Check, ConformanceReport, Finding, Verdict};

/// What the suite is run over: an executor, with processes that do what they are asked to.
pub trait Subject: Sync {
    /// Fresh ground for one attempt, whose processes are of this conduct.
    fn stage(&self, conduct: Conduct) -> Box<dyn Stage>;

    /// How long the suite waits.
    fn limits(&self) -> Limits {
        Limits::default()
    }
}

/// The ground of one attempt. Whatever outlives a host is here; it goes when this is dropped.
pub trait Stage {
    /// A new instance of the executor over this ground, as a host has that has just started.
    fn executor(&self) -> Arc<dyn Executor>;

    /// What the attempt's first segment is asked. The suite changes epoch, token and reason for the
    /// segments that follow.
    fn request(&self) -> RunRequest;

    /// Gives the processes their cue, also those that start later. See [`Conduct`].
    fn cue(&self);

    /// What the processes themselves have taken in so far, as they know it and not as the executor
    /// says: what the executor's claims are held against.
    fn taken_in(&self) -> Vec<EventUid>;

    /// A process of this stage runs.
    fn runs(&self) -> bool;

    /// The secret that the process of a segment finds, where the executor leaves it one; `None` if it
    /// leaves none, and then nothing is asked of it.
    fn token(&self, segment: &Metadata) -> Option<Token>;

    /// Sees to it that the next Event offered is delivered and nobody hears so. `false`: that cannot be
    /// done here, and what an executor says then is not judged.
    fn lose_next_answer(&self) -> bool {
        false
    }
}

/// What a process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conduct {
    /// Takes in what reaches it as soon as it can, and says so in the executor's way. At its cue it
    /// gives its result and leaves.
    Cooperates,
    /// Takes in nothing. At its cue it gives its result and leaves.
    Ignores,
    /// Takes in what reaches it like one that cooperates. At its cue it leaves as one that crashed,
    /// without a result.
    Crashes,
    /// Takes in nothing and heeds no cue: it runs until it is stopped.
    Stays,
}

/// How long the suite waits for what has to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// For an answer, an end, or an Event to be taken in. Generous: it is used up only where something
    /// is wrong.
    pub patience: Duration,
    /// What a process that is stopped is given to end by itself.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { patience: Duration::from_secs(60), grace: Duration::from_secs(5) }
    }
}

/// Runs every check over a subject. It blocks until it is done, on a thread of its own with runtimes of
/// its own, so that it can be called from anywhere; each host that it plays has one of them, and loses
/// it when it dies. EXEC-14 EXEC-15
///
/// # Panics
/// As the subject or its executor does.
pub fn check_inject_executor(subject: &(impl Subject + ?Sized)) -> ConformanceReport {
    std::thread::scope(|scope| {
        let checked = scope.spawn(|| cases::run(subject));
        checked.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

#[cfg(test)]
mod tests;

/// The guide's example is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/executors.md")]
struct Guide;
