//! Durations and sizes as people write them.

use crate::domain::Duration;

/// Reads `30s`, `5m`, `1h`, `14d` or `250ms`.
///
/// # Errors
/// Says what is wrong, to follow the name of what was read.
pub fn duration(text: &str) -> Result<Duration, &'static str> {
    const WRONG: &str = "is not a duration such as \"30s\", \"5m\", \"1h\" or \"14d\"";
    let (number, unit) = split(text).ok_or(WRONG)?;
    let millis = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(WRONG),
    };
    number.checked_mul(millis).map(Duration).ok_or("is longer than can be counted")
}

/// Reads `512B`, `64KiB`, `25MiB` or `1GiB`, in bytes.
///
/// # Errors
/// Says what is wrong, to follow the name of what was read.
pub fn size(text: &str) -> Result<u64, &'static str> {
    const WRONG: &str = "is not a size such as \"512B\", \"64KiB\" or \"25MiB\"";
    let (number, unit) = split(text).ok_or(WRONG)?;
    let bytes: u64 = match unit {
        "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return Err(WRONG),
    };
    number.checked_mul(bytes).ok_or("is larger than can be counted")
}

fn split(text: &str) -> Option<(u64, &str)> {
    let unit = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(unit);
    Some((number.parse().ok()?, unit))
}
