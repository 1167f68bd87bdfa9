//! Trusted time, in milliseconds.

use std::fmt;
use std::ops::Add;

number! {
    /// An instant of trusted time: milliseconds since the Unix epoch. Never read from a clock inside a
    /// law.
    Millis(i64)
}

number! {
    /// A length of time in milliseconds; never negative.
    Duration(u64)
}

impl Duration {
    /// A length given in whole seconds.
    #[must_use]
    pub const fn seconds(seconds: u64) -> Self {
        Self(seconds.saturating_mul(1000))
    }

    /// The same length for the standard library.
    #[must_use]
    pub const fn std(self) -> std::time::Duration {
        std::time::Duration::from_millis(self.0)
    }
}

impl Add<Duration> for Millis {
    type Output = Self;

    /// Saturates: a deadline beyond the end of time is the end of time.
    fn add(self, length: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(length.0).unwrap_or(i64::MAX)))
    }
}

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(instant) => instant.fmt(f),
            Err(_) => write!(f, "{} ms", self.0),
        }
    }
}
