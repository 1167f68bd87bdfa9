//! `retry` of a kind: what the failures of its attempts lead to. RETRY-03 RETRY-07 RETRY-31

use super::problem::At;
use super::read::Reader;
use super::section::{Section, Word, word};
use super::tree::{Node, Value};
use super::units;
use crate::domain::{Duration, Exhausted, RetryPolicy};

const RETRY: &[Word] = &[word("attempts"), word("backoff"), word("exhausted"), word("hint_max")];

/// The most failures a budget may have. It bounds the steps, too: a policy is kept with each attempt.
const ATTEMPTS_MAX: u32 = 1000;

/// The steps of whoever names none. RETRY-04 RETRY-05 RETRY-07
const STEPS: [Duration; 3] =
    [Duration::seconds(5 * 60), Duration::seconds(10 * 60), Duration::seconds(15 * 60)];

/// Bounds of a step and of `hint_max`. No step is so short that a failing program runs hot.
const LEAST: &str = "1s";
const MOST: &str = "365d";

impl<'a> Reader<'a> {
    /// The policy of a kind; what it leaves out has a default, and so has all of it.
    pub(super) fn retry(&self, kind: &Section<'a>, standing: bool) -> RetryPolicy {
        let policy = RetryPolicy::default();
        let Some(node) = kind.get("retry") else { return policy };
        let what = format!("`retry` of {}", kind.what);
        let Some(section) = Section::open(what, node, RETRY, self.problems) else { return policy };
        if standing {
            self.refuse_a_budget(&section);
        }
        let attempts = section.number("attempts", policy.attempts, 1, ATTEMPTS_MAX);
        RetryPolicy {
            attempts,
            backoff: self.steps(&section, attempts),
            exhausted: match section.choice("exhausted", &["keep", "fail"], &[]) {
                Some("fail") => Exhausted::Fail,
                Some(_) | None => Exhausted::Keep,
            },
            hint_max: section.duration("hint_max", "24h", LEAST, MOST),
        }
    }

    /// Standing Work counts no failures; only a hint delays its next attempt. JOB-16 JOB-27
    fn refuse_a_budget(&self, section: &Section<'a>) {
        if let Some((word, at)) = section.other_than(&["hint_max"]) {
            let message = format!("{}, which is standing, says `{word}`", section.what);
            let next = "leave it out: standing work counts no failures and is never exhausted; \
                        `hint_max` alone has an effect";
            self.problems.add("contradiction", at, message, next);
        }
    }

    /// How long after failure 1, 2, … the next attempt is due: one step less than failures, since
    /// the last failure is followed by none.
    fn steps(&self, section: &Section<'a>, attempts: u32) -> Vec<Duration> {
        let needed = (attempts as usize).saturating_sub(1);
        let (steps, given, at) = match section.get("backoff") {
            Some(node) => (self.given_steps(section), listed(node), Some(&node.at)),
            None => {
                let steps: Vec<Duration> = STEPS.iter().copied().take(needed).collect();
                let given = Some(steps.len());
                (steps, given, section.place("attempts"))
            }
        };
        // What is no list at all was said to be none.
        if let (Some(given), Some(at)) = (given, at) {
            self.count_steps(section, attempts, given, at);
        }
        steps
    }

    fn given_steps(&self, section: &Section<'a>) -> Vec<Duration> {
        let texts = section.texts("backoff").into_iter();
        texts.map(|(text, at)| self.step(section, text, at)).collect()
    }

    /// A step that is not valid counts as one all the same, so that one mistake is one problem.
    fn step(&self, section: &Section<'a>, text: &str, at: &At) -> Duration {
        let bound = |text| units::duration(text).unwrap_or_default();
        let shown = text.escape_debug();
        let message = match units::duration(text) {
            Ok(step) if (bound(LEAST)..=bound(MOST)).contains(&step) => return step,
            Ok(_) => format!("step \"{shown}\" of `backoff` of {} is out of bounds", section.what),
            Err(wrong) => format!("step \"{shown}\" of `backoff` of {} {wrong}", section.what),
        };
        let next = format!("set every step between \"{LEAST}\" and \"{MOST}\"");
        self.problems.add("out_of_bounds", at, message, next);
        bound(LEAST)
    }

    fn count_steps(&self, section: &Section<'a>, attempts: u32, given: usize, at: &At) {
        let needed = attempts - 1;
        if given > ATTEMPTS_MAX as usize {
            let message = format!("`backoff` of {} has {given} steps", section.what);
            let next = format!("write at most {ATTEMPTS_MAX}; only the first {needed} are used");
            self.problems.add("out_of_bounds", at, message, next);
        }
        if given >= needed as usize {
            return;
        }
        let whose = if section.get("backoff").is_some() { "" } else { "the default " };
        let steps = if given == 1 { "step" } else { "steps" };
        let message = format!(
            "{} has `attempts` = {attempts}, which needs {needed} steps, and {whose}`backoff` has \
             {given} {steps}",
            section.what
        );
        let next = format!(
            "write one step for each failure but the last, as `backoff = [\"5m\", \"10m\", …]`, or \
             lower `attempts` to {}",
            given + 1
        );
        self.problems.add("too_few_steps", at, message, next);
    }
}

/// How long a list is, of whatever it is.
fn listed(node: &Node) -> Option<usize> {
    match &node.value {
        Value::List(items) => Some(items.len()),
        Value::Text(_)
        | Value::Integer(_)
        | Value::Float(_)
        | Value::Bool(_)
        | Value::Date(_)
        | Value::Table(_) => None,
    }
}
