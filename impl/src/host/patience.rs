//! How long a host waits for executors, and how soon it asks them again.

use std::time::Duration;

/// What a host allows an executor. What takes longer is ambiguous and asked again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// For an answer to an inject or an interrupt.
    pub control: Duration,
    /// For a report of what a process took in.
    pub report: Duration,
    /// Before a control is sent again that nobody knows the end of; it doubles up to the longest.
    pub again: Duration,
    /// The longest.
    pub again_max: Duration,
    /// Until it looks for controls although nobody told it of one.
    pub sweep: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            control: Duration::from_secs(10),
            report: Duration::from_secs(3),
            again: Duration::from_secs(1),
            again_max: Duration::from_secs(30),
            sweep: Duration::from_secs(30),
        }
    }
}

impl Patience {
    /// How long a send that was made so often waits before it is made again.
    #[must_use]
    pub fn pause(&self, made: u32) -> Duration {
        let doubled = 1_u32.checked_shl(made.saturating_sub(1)).unwrap_or(u32::MAX);
        self.again.saturating_mul(doubled.max(1)).min(self.again_max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// POLICY-17
    #[test]
    fn an_ambiguous_send_is_made_again_at_growing_and_bounded_pauses() {
        let patience = Patience::default();
        let pauses: Vec<_> = (1..=8).map(|made| patience.pause(made).as_secs()).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 30, 30, 30]);
        assert_eq!(patience.pause(u32::MAX), patience.again_max);
    }
}
