//! What a segment's process says it took in and used, as a result says it. EXEC-05 INJECT-08

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde_json::json;
use tokio::time::{sleep, timeout};

use super::context::{Context, Pinned};
use crate::domain::{AttemptNo, EventUid, WorkId};
use crate::extension::executor::{Metadata, Report, Usage};
use crate::store::attempts;

/// How often it is asked for before the result goes without it. What it would have proved is only
/// repeated.
const TRIES: u32 = 3;

/// Pause between two tries.
const AGAIN: Duration = Duration::from_millis(200);

/// What goes with a result.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proved {
    /// Injected Events that the process took in. INJECT-17
    pub proofs: Vec<EventUid>,
    /// What it used, as JSON text of amounts by unit; `None` if it says nothing of that.
    pub usage: Option<String>,
}

impl Proved {
    /// What a report says of a segment, and what the attempt used before it.
    fn of(report: Report, before: Option<&str>) -> Self {
        Self { proofs: report.consumed, usage: total(report.usage, before) }
    }
}

/// What an attempt used in all: what its last segment says, and what the ones before said.
fn total(said: Vec<Usage>, before: Option<&str>) -> Option<String> {
    let before = before.and_then(|text| serde_json::from_str(text).ok());
    let mut amounts: BTreeMap<String, String> = before.unwrap_or_default();
    for Usage { unit, amount } in said {
        let sum = match amounts.get(&unit) {
            Some(earlier) if Decimal::parse(earlier).is_some() => {
                // What is no amount, or out of any reason, takes nothing away.
                sum(earlier, &amount).unwrap_or_else(|| earlier.clone())
            }
            Some(_) | None => amount,
        };
        amounts.insert(unit, sum);
    }
    (!amounts.is_empty()).then(|| json!(amounts).to_string())
}

/// The sum of two amounts in decimal text; `None` if one of them is none, or it is out of any reason.
fn sum(one: &str, other: &str) -> Option<String> {
    let (one, other) = (Decimal::parse(one)?, Decimal::parse(other)?);
    let places = one.places.max(other.places);
    let units = one.at(places)?.checked_add(other.at(places)?)?;
    Some(Decimal { units, places }.to_string())
}

/// A number of `10^-places`.
#[derive(Debug, Clone, Copy)]
struct Decimal {
    units: u128,
    places: u32,
}

impl Decimal {
    fn parse(text: &str) -> Option<Self> {
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let digits = format!("{whole}{part}");
        if whole.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        Some(Self { units: digits.parse().ok()?, places: u32::try_from(part.len()).ok()? })
    }

    fn at(self, places: u32) -> Option<u128> {
        let scale = 10_u128.checked_pow(places.checked_sub(self.places)?)?;
        self.units.checked_mul(scale)
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let places = self.places as usize;
        let digits = format!("{:0>width$}", self.units, width = places + 1);
        let (whole, part) = digits.split_at(digits.len() - places);
        if part.is_empty() { f.write_str(whole) } else { write!(f, "{whole}.{part}") }
    }
}

impl Context {
    /// Asks what the process of a segment took in and used, for the result that is about to be
    /// committed. An executor that does not say costs a repeat of the input and no result.
    pub async fn proved(
        &self,
        pinned: &Pinned,
        attempt: (WorkId, AttemptNo),
        metadata: &Metadata,
    ) -> Proved {
        for n in 1..=TRIES {
            let why = match timeout(self.patience.report, pinned.executor.report(metadata)).await {
                Ok(Ok(report)) => {
                    let before = self.used(attempt).await;
                    return Proved::of(report, before.as_deref());
                }
                Ok(Err(error)) => error.to_string(),
                Err(_) => "no answer in time".to_owned(),
            };
            let (work, no) = attempt;
            tracing::warn!(row = %work, attempt = %no, n, why, "what a segment took in is not known");
            if n < TRIES {
                sleep(AGAIN).await;
            }
        }
        Proved::default()
    }

    /// What the earlier segments of an attempt used.
    async fn used(&self, (work, n): (WorkId, AttemptNo)) -> Option<String> {
        match self.read(move |tx| attempts::referred(tx, work, n)).await {
            Ok(attempt) => attempt.usage,
            Err(error) => {
                tracing::warn!(row = %work, attempt = %n, %error, "what an attempt used before cannot be read");
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(unit: &str, amount: &str) -> Usage {
        Usage { unit: unit.into(), amount: amount.into() }
    }

    #[test]
    fn amounts_are_one_object_by_unit_and_nothing_is_none() {
        let said = vec![used("usd", "0.12"), used("input_tokens", "812")];
        let text = r#"{"input_tokens":"812","usd":"0.12"}"#;
        assert_eq!(total(said, None).as_deref(), Some(text));
        assert_eq!(total(Vec::new(), None), None);
        assert_eq!(total(Vec::new(), Some(text)).as_deref(), Some(text));
    }

    #[test]
    fn what_earlier_segments_used_is_added_exactly() {
        let before = r#"{"input_tokens":"812","usd":"0.95"}"#;
        let said = vec![used("usd", "0.105"), used("output_tokens", "7")];
        let text = r#"{"input_tokens":"812","output_tokens":"7","usd":"1.055"}"#;
        assert_eq!(total(said, Some(before)).as_deref(), Some(text));
    }

    #[test]
    fn what_is_no_amount_is_kept_as_it_is_said() {
        for (one, other) in [("", "1"), ("1", "-1"), (".5", "1"), ("1e9", "1"), ("1.2.3", "1")] {
            assert_eq!(sum(one, other), None, "{one} + {other}");
        }
        assert_eq!(sum(&u128::MAX.to_string(), "1"), None);
        let before = r#"{"usd":"0.95"}"#;
        let told = |amount| total(vec![used("usd", amount)], Some(before));
        assert_eq!(told("a lot").as_deref(), Some(before), "what is none replaces nothing");
        assert_eq!(told(&u128::MAX.to_string()).as_deref(), Some(before));
        let before = r#"{"usd":"much"}"#;
        assert_eq!(total(vec![used("usd", "1")], Some(before)).as_deref(), Some(r#"{"usd":"1"}"#));
        assert_eq!(total(vec![used("usd", "1")], Some("{")).as_deref(), Some(r#"{"usd":"1"}"#));
    }
}
