//! What an executor says of the delay of a retry. Hints are the same whoever gives them: no provider
//! is named here or anywhere behind. RETRY-14

use jiff::{Span, SpanRelativeTo, Timestamp};

use crate::domain::{Millis, RetryHint};

/// How long after a known reset a rate limited attempt is tried again. RETRY-13
const AFTER_RESET: i64 = 2 * 60 * 1000;

/// After how long one is tried again whose reset nobody knows. RETRY-13
const UNKNOWN_RESET: i64 = 30 * 60 * 1000;

/// The hint of an executor that was told that a limit is reached: two minutes past the reset, or
/// half an hour where none is known. A reset that lies so far back that this is over says nothing of
/// the limit that was hit since, so it counts as unknown. RETRY-13 RETRY-14
#[must_use]
pub const fn rate_limited(reset: Option<Millis>, now: Millis) -> RetryHint {
    match reset {
        Some(reset) => {
            let left = reset.0.saturating_add(AFTER_RESET).saturating_sub(now.0);
            RetryHint::Delay(if left > 0 { left } else { UNKNOWN_RESET })
        }
        None => RetryHint::Delay(UNKNOWN_RESET),
    }
}

/// Reads a hint as a process gave it: a duration, or an instant, of which the rest is taken. It is
/// not judged here: a delay may be negative. What is neither is a hint that nobody can read, and
/// never no hint at all. RETRY-16
#[must_use]
pub fn retry_after(text: &str, now: Millis) -> RetryHint {
    let text = text.trim();
    if let Ok(span) = text.parse::<Span>() {
        // A day is 24 hours here; months and years have no length.
        return span
            .to_duration(SpanRelativeTo::days_are_24_hours())
            .ok()
            .and_then(|length| i64::try_from(length.as_millis()).ok())
            .map_or(RetryHint::Unreadable, RetryHint::Delay);
    }
    match text.parse::<Timestamp>() {
        Ok(instant) => RetryHint::Delay(instant.as_millisecond().saturating_sub(now.0)),
        Err(_) => RetryHint::Unreadable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Millis = Millis(1_000_000_000);

    fn at(offset: i64) -> RetryHint {
        rate_limited(Some(Millis(NOW.0 + offset)), NOW)
    }

    /// RETRY-13
    #[test]
    fn a_rate_limit_is_tried_again_two_minutes_past_its_reset() {
        assert_eq!(at(3_600_000), RetryHint::Delay(3_720_000));
        assert_eq!(at(0), RetryHint::Delay(120_000));
        assert_eq!(at(-119_999), RetryHint::Delay(1));
    }

    /// RETRY-13
    #[test]
    fn a_rate_limit_without_a_known_reset_is_tried_again_in_half_an_hour() {
        assert_eq!(rate_limited(None, NOW), RetryHint::Delay(1_800_000));
        assert_eq!(at(-120_000), RetryHint::Delay(1_800_000), "that reset is over");
        assert_eq!(rate_limited(Some(Millis(i64::MIN)), NOW), RetryHint::Delay(1_800_000));
    }

    #[test]
    fn a_reset_at_the_end_of_time_does_not_wrap() {
        let hint = rate_limited(Some(Millis(i64::MAX)), Millis(0));
        assert_eq!(hint, RetryHint::Delay(i64::MAX));
        assert_eq!(rate_limited(Some(Millis(i64::MAX)), Millis(-1)), RetryHint::Delay(i64::MAX));
    }

    const READ_AT: Millis = Millis(1_900_000_000_000);

    #[test]
    fn a_hint_is_a_duration_or_an_instant() {
        let read = |text| retry_after(text, READ_AT);
        assert_eq!(read("90s"), RetryHint::Delay(90_000));
        assert_eq!(read(" 2m "), RetryHint::Delay(120_000));
        assert_eq!(read("1h 30m"), RetryHint::Delay(5_400_000));
        assert_eq!(read("1d"), RetryHint::Delay(86_400_000));
        assert_eq!(read("2030-03-17T17:46:41Z"), RetryHint::Delay(1_000));
        assert_eq!(read("2030-03-17T18:46:40+01:00"), RetryHint::Delay(0));
    }

    /// RETRY-16: what the law rejects must reach it.
    #[test]
    fn what_is_no_delay_is_passed_on_and_what_cannot_be_read_is_said_to_be_so() {
        let read = |text| retry_after(text, READ_AT);
        assert_eq!(read("-5s"), RetryHint::Delay(-5_000));
        assert_eq!(read("0s"), RetryHint::Delay(0));
        assert_eq!(read("2030-03-17T17:46:39Z"), RetryHint::Delay(-1_000));
        for text in ["", "soon", "90", "1mo", "1y", "2030-03-17", "17:46", "\u{7f}", "-", "9e9s"] {
            assert_eq!(read(text), RetryHint::Unreadable, "{text:?}");
        }
    }
}
