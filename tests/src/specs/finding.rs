//! What a check has to say: where, and what is wrong there.

use std::fmt;

/// One thing that does not fit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    place: String,
    message: String,
}

impl Finding {
    /// Says `message` of `place`, a file, a rule or a check.
    #[must_use]
    pub fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { place: place.into(), message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.place, self.message)
    }
}

/// Fails the test that calls it with every finding on a line of its own.
///
/// # Panics
/// If there is any finding.
#[track_caller]
pub fn assert_none(what: &str, findings: &[Finding]) {
    let lines: Vec<String> = findings.iter().map(|finding| format!("  {finding}")).collect();
    assert!(findings.is_empty(), "{what}:\n{}", lines.join("\n"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "two things:\n  a: is odd\n  b: is even")]
    fn every_finding_is_shown() {
        assert_none("two things", &[Finding::new("a", "is odd"), Finding::new("b", "is even")]);
    }
}
