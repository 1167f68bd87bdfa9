//! What an agent says it used, as the results of its turns say it.
//!
//! `usage` is of the turn that the result ends, so that turns are added up; `total_cost_usd` is of the
//! process so far, so that the highest one stands for all of them. Both are the agent's own word, and
//! what of it is no amount is left out.

use serde_json::Value;

use crate::extension::executor::Usage;

/// The units that turns are counted in, as the protocol names them.
const UNITS: [&str; 4] =
    ["input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];

/// No process costs more.
const USD_MAX: f64 = 1e9;

/// What the turns so far have used.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Used {
    /// By their place in [`UNITS`]; `None` where no turn has said.
    counts: [Option<u64>; UNITS.len()],
    usd: Option<f64>,
}

impl Used {
    /// Takes in what a turn said of itself, and of the whole process so far.
    pub(super) fn turn(&mut self, usage: &Value, usd: &Value) {
        for (unit, count) in UNITS.iter().zip(&mut self.counts) {
            if let Some(more) = usage[*unit].as_u64() {
                *count = Some(count.unwrap_or_default().saturating_add(more));
            }
        }
        if let Some(usd) = usd.as_f64().filter(|usd| (0.0..=USD_MAX).contains(usd)) {
            self.usd = Some(self.usd.map_or(usd, |before| before.max(usd)));
        }
    }

    /// One amount a unit, as decimal text.
    pub(super) fn amounts(&self) -> Vec<Usage> {
        let amount = |unit: &str, amount: String| Usage { unit: unit.to_owned(), amount };
        let counted = UNITS.iter().zip(self.counts);
        let counted = counted.filter_map(|(unit, count)| Some(amount(unit, count?.to_string())));
        // Written out, never with an exponent.
        counted.chain(self.usd.map(|usd| amount("usd", usd.to_string()))).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn amounts(turns: &[(Value, Value)]) -> Vec<(String, String)> {
        let mut used = Used::default();
        for (usage, usd) in turns {
            used.turn(usage, usd);
        }
        used.amounts().into_iter().map(|usage| (usage.unit, usage.amount)).collect()
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        expected.iter().map(|(unit, amount)| ((*unit).to_owned(), (*amount).to_owned())).collect()
    }

    #[test]
    fn tokens_are_of_a_turn_and_costs_of_all_so_far() {
        let first = json!({"input_tokens": 3, "output_tokens": 5, "cache_read_input_tokens": 100});
        let second =
            json!({"input_tokens": 4, "output_tokens": 0, "cache_creation_input_tokens": 7});
        let used = amounts(&[(first, json!(0.01)), (second, json!(0.025)), (json!({}), json!(0))]);
        let expected = [
            ("input_tokens", "7"),
            ("output_tokens", "5"),
            ("cache_creation_input_tokens", "7"),
            ("cache_read_input_tokens", "100"),
            ("usd", "0.025"),
        ];
        assert_eq!(used, pairs(&expected));
    }

    #[test]
    fn what_is_no_amount_is_left_out() {
        assert_eq!(amounts(&[]), []);
        for usage in [json!(null), json!([1]), json!("9"), json!({"input_tokens": -1})] {
            for usd in [json!(null), json!("1"), json!(-0.5), json!(1e300), json!({})] {
                assert_eq!(amounts(&[(usage.clone(), usd)]), [], "{usage}");
            }
        }
        let much = json!({"input_tokens": u64::MAX});
        let used = amounts(&[(much.clone(), json!(0.000_000_1)), (much, json!(0.000_000_1))]);
        assert_eq!(
            used,
            pairs(&[("input_tokens", "18446744073709551615"), ("usd", "0.0000001")]),
            "without an exponent"
        );
    }
}
