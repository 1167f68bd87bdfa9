//! How a demo is told: numbered steps, what was done, and what that showed.

use std::fmt::Display;
use std::time::Instant;

use super::daemon::STALL;
use crate::cli::show::text::wrapped;
use crate::cli::{Failure, output};

/// Columns a story is told in, at most.
const COLUMNS: u16 = 96;
/// How often something is looked at again while it is not yet so.
const LOOK: std::time::Duration = std::time::Duration::from_millis(15);

/// Tells a story to whoever watches.
#[derive(Debug)]
pub(super) struct Teller {
    begun: Instant,
    steps: u32,
    width: u16,
}

impl Teller {
    pub(super) fn new() -> Self {
        Self { begun: Instant::now(), steps: 0, width: output::width().min(COLUMNS) }
    }

    /// Seconds since the beginning.
    pub(super) fn seconds(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }

    /// Says something that belongs to no step.
    pub(super) fn say(&self, text: &str) -> Result<(), Failure> {
        output::line(&wrapped(text, "", self.width))
    }

    /// Begins a step.
    pub(super) fn step(&mut self, title: &str) -> Result<(), Failure> {
        self.steps += 1;
        let first = format!("{:>2}  {title}", self.steps);
        let time = format!("{:.1}s", self.seconds());
        let gap = usize::from(self.width).saturating_sub(first.chars().count() + time.len());
        output::line(&format!("\n{first}{}{time}", " ".repeat(gap.max(2))))
    }

    /// Says what is done.
    pub(super) fn did(&self, text: &str) -> Result<(), Failure> {
        output::line(&wrapped(text, "    ", self.width))
    }

    /// Says what was shown, or fails loudly if it was not: nothing is claimed that was not seen.
    pub(super) fn showed(
        &self,
        claim: &str,
        is_so: bool,
        found: impl Display,
    ) -> Result<(), Failure> {
        if is_so {
            return output::line(&wrapped(claim, "    ✓ ", self.width));
        }
        output::line(&wrapped(claim, "    ✗ ", self.width))?;
        Err(Failure::refused(format!("step {}: not so: {claim}; found {found}", self.steps)))
    }

    /// Looks until there is something to see.
    pub(super) async fn until<T>(
        &self,
        what: &str,
        mut look: impl AsyncFnMut() -> Result<Option<T>, Failure>,
    ) -> Result<T, Failure> {
        let begun = Instant::now();
        loop {
            if let Some(seen) = look().await? {
                return Ok(seen);
            }
            if begun.elapsed() > STALL {
                let message = format!("step {}: stuck: {what}, not seen", self.steps);
                return Err(Failure::refused(message));
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}
