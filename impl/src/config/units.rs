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

/// A length in all of its units: `4m 10s`, `1d`, `1s 500ms`.
#[must_use]
pub fn length(length: Duration) -> String {
    const UNITS: [(u64, &str); 5] =
        [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1000, "s"), (1, "ms")];
    let mut left = length.0;
    let mut parts = Vec::new();
    for (millis, unit) in UNITS {
        if left >= millis {
            parts.push(format!("{}{unit}", left / millis));
            left %= millis;
        }
    }
    if parts.is_empty() { "0s".to_owned() } else { parts.join(" ") }
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
