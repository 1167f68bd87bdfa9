//! Works as text. A status never stands without its reason.

use super::table::{Fit, Table};
use super::text::{
    age, key_parts, printable, sequences, short, short_length, until, word, wrapped,
};
use super::{Screen, intent, wait};
use crate::api::types::{AttemptRow, WorkDetail, WorkRow};
use crate::config::length;
use crate::domain::{Duration, HintFinding};

/// A table of works, oldest first, each with its reason under it.
pub(in crate::cli) fn table(works: &[WorkRow], screen: Screen) -> String {
    let mut table = Table::new([
        ("WORK", Fit::Whole),
        ("STATUS", Fit::Whole),
        ("AGE", Fit::Right),
        ("ATTEMPTS", Fit::Right),
        ("PENDING", Fit::Right),
        ("KIND", Fit::Cut),
        ("KEY", Fit::Cut),
        ("SOURCE", Fit::Cut),
    ]);
    let length = short_length(works.iter().map(|work| work.id.as_str()));
    for work in works {
        let (key, source) = key(&work.keys);
        let cells = [
            short(&work.id, length),
            status(work),
            age(&work.created_at, screen.now),
            work.attempts.to_string(),
            work.pending.to_string(),
            printable(&work.kind),
            key,
            source,
        ];
        table.row_with(cells, printable(&work.reason));
    }
    table.render(screen)
}

/// One work with everything of it.
pub(in crate::cli) fn detail(detail: &WorkDetail, screen: Screen) -> String {
    let work = &detail.work;
    let mut lines = vec![format!("work {}", printable(&work.id))];
    let said = format!("{}: {}", status(work), printable(&work.reason));
    lines.push(wrapped(&said, "  status    ", screen.width));
    let mut field = |name: &str, value: String| lines.push(format!("  {name:<9} {value}"));
    field("kind", format!("{} in scope {}", printable(&work.kind), printable(&work.scope)));
    for (nth, key) in work.keys.iter().enumerate() {
        field(if nth == 0 { "keys" } else { "" }, printable(key));
    }
    let relations =
        [("follows", &work.predecessor), ("followed", &work.successor), ("parent", &work.parent)];
    for (name, id) in relations {
        if let Some(id) = id {
            field(name, printable(id));
        }
    }
    if let Some(at) = &work.idle_until {
        field("idle", format!("closed {} should nothing come", until(at, screen.now)));
    }
    if let Some(due) = retry(work, screen) {
        field("retry", due);
    }
    let created = printable(&work.created_at);
    field("created", format!("{created} ({} ago)", age(&work.created_at, screen.now)));
    field("pending", pending(&detail.pending_input));
    lines.push("attempts".to_owned());
    lines.push(attempts(&detail.history, screen));
    if !detail.intents.is_empty() {
        lines.push("told to running attempts".to_owned());
        lines.push(intent::table(&detail.intents, screen));
    }
    lines.push("waits".to_owned());
    lines.push(waits(detail, screen));
    lines.join("\n")
}

/// When the next attempt comes by itself, and after how many failures.
fn retry(work: &WorkRow, screen: Screen) -> Option<String> {
    let counted = match work.failures {
        0 => String::new(),
        1 => ", 1 failure counted".to_owned(),
        many => format!(", {many} failures counted"),
    };
    let Some(backoff) = &work.backoff else {
        return (work.failures > 0).then(|| format!("none is due{counted}"));
    };
    let n = backoff.attempt;
    Some(match &backoff.due {
        Some(_) if backoff.disabled => {
            format!("of attempt {n}: refused by a causal limit{counted}")
        }
        Some(due) => format!("of attempt {n} {}{counted}", until(due, screen.now)),
        None => format!("of attempt {n} is accepted, and not routed yet{counted}"),
    })
}

fn status(work: &WorkRow) -> String {
    let standing = if work.standing { ", standing" } else { "" };
    let held = if work.hold.is_some() { ", held" } else { "" };
    format!("{}{standing}{held}", word(work.status))
}

/// The external id of the first key with how many more there are, and that key's source.
fn key(keys: &[String]) -> (String, String) {
    let Some(first) = keys.first() else { return ("-".to_owned(), "-".to_owned()) };
    let (source, external_id) = key_parts(first);
    let more = match keys.len() {
        1 => String::new(),
        some => format!(" +{}", some - 1),
    };
    (printable(&format!("{external_id}{more}")), printable(source))
}

fn pending(sequences_of: &[i64]) -> String {
    match sequences_of {
        [] => "no input".to_owned(),
        some => format!("input from events {}", sequences(some)),
    }
}

fn attempts(history: &[AttemptRow], screen: Screen) -> String {
    if history.is_empty() {
        return "  none yet".to_owned();
    }
    let mut table = Table::new([
        ("  #", Fit::Right),
        ("STATUS", Fit::Whole),
        ("EPOCH", Fit::Right),
        ("TRIGGER", Fit::Right),
        ("INPUT", Fit::Cut),
    ]);
    for attempt in history {
        let cells = [
            attempt.number.to_string(),
            progress(attempt, screen),
            attempt.epoch.to_string(),
            attempt.trigger.to_string(),
            sequences(&attempt.inputs),
        ];
        match said(attempt) {
            Some(said) => table.row_with(cells, said),
            None => table.row(cells),
        }
    }
    table.render(screen)
}

/// What an attempt said at its end, and what was made of the delay it asked for.
fn said(attempt: &AttemptRow) -> Option<String> {
    let hint = attempt.hint.as_ref().map(|hint| {
        let asked = match hint.delay_ms.map(u64::try_from) {
            Some(Ok(delay)) => format!("asked for a retry in {}", length(Duration(delay))),
            Some(Err(_)) | None => "asked for a retry after a delay that makes no sense".to_owned(),
        };
        match hint.finding {
            HintFinding::Valid => asked,
            HintFinding::Invalid => format!("{asked}: ignored"),
            HintFinding::Excessive => format!("{asked}: longer than allowed, ignored"),
        }
    });
    let result = attempt.result.as_deref().map(printable);
    let interrupted = attempt.interrupted_by.map(|seq| format!("interrupted by event {seq}"));
    let used = attempt.usage.as_ref().and_then(used);
    let parts: Vec<String> =
        interrupted.into_iter().chain(result).chain(hint).chain(used).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// What an attempt used: `used 0.12 usd, 812 output_tokens`.
fn used(usage: &serde_json::Value) -> Option<String> {
    let amounts = usage.as_object()?.iter().map(|(unit, amount)| {
        let amount = amount.as_str().map_or_else(|| amount.to_string(), str::to_owned);
        printable(&format!("{amount} {unit}"))
    });
    let amounts: Vec<String> = amounts.collect();
    (!amounts.is_empty()).then(|| format!("used {}", amounts.join(", ")))
}

/// How far an attempt has come; of a running one, when its lease ends.
fn progress(attempt: &AttemptRow, screen: Screen) -> String {
    let status = word(attempt.status);
    match (attempt.phase, &attempt.expires_at) {
        (Some(phase), Some(end)) => {
            format!("{status}, {} (lease {})", word(phase), until(end, screen.now))
        }
        (Some(phase), None) => format!("{status}, {}", word(phase)),
        (None, _) => status,
    }
}

fn waits(detail: &WorkDetail, screen: Screen) -> String {
    if detail.waits.is_empty() {
        return "  none".to_owned();
    }
    let said = detail.waits.iter().map(|row| {
        let reason = wrapped(&wait::reason(row), "     ", screen.width);
        format!("  {} of attempt {}\n{reason}", printable(&row.id), row.attempt)
    });
    said.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::super::canned;
    use super::*;

    #[test]
    fn a_table_of_works_gives_each_status_its_reason() {
        let text = table(&canned::works(), canned::screen());
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn a_work_is_shown_with_its_attempts_and_waits() {
        insta::assert_snapshot!(detail(&canned::work(), canned::screen()));
    }

    #[test]
    fn a_work_is_shown_with_its_holds_relations_and_what_it_is_open_to() {
        let mut work = canned::work();
        work.work.standing = true;
        work.work.hold = Some(crate::domain::Hold::Operator);
        work.work.predecessor = Some("work_01kb3n8x9rf8vta3g5w2m6r2aa".to_owned());
        work.work.parent = Some("work_01kb3n8x9rf8vta3g5w2m6r2ab".to_owned());
        work.work.idle_until = Some("2026-03-03T12:00:00Z".to_owned());
        let text = detail(&work, canned::screen());
        let head: Vec<&str> = text.lines().take(11).collect();
        insta::assert_snapshot!(head.join("\n"));
    }

    #[test]
    fn a_failed_work_says_when_it_is_retried_and_what_came_of_a_hint() {
        use crate::api::types::{BackoffRow, HintRow};

        let mut work = canned::work();
        let due = Some("2026-03-01T12:04:10Z".to_owned());
        work.work.failures = 2;
        work.work.backoff = Some(BackoffRow { attempt: 2, due, disabled: false });
        let hint = |delay_ms, finding| Some(HintRow { delay_ms, finding });
        work.history[0].hint = hint(Some(120_000), HintFinding::Valid);
        work.history[1].hint = hint(Some(99_000_000_000), HintFinding::Excessive);
        let mut said = detail(&work, canned::screen());
        for (due, disabled) in [(None, false), (Some("x".to_owned()), true)] {
            work.work.backoff = Some(BackoffRow { attempt: 2, due, disabled });
            said.push_str(&format!("\n{}", retry(&work.work, canned::screen()).expect("one")));
        }
        work.work.backoff = None;
        said.push_str(&format!("\n{}", retry(&work.work, canned::screen()).expect("one")));
        insta::assert_snapshot!(said);
    }

    #[test]
    fn a_work_says_what_its_attempts_were_told_interrupted_by_and_used() {
        let mut work = canned::work();
        work.intents = canned::intents();
        work.history[0].interrupted_by = Some(9);
        work.history[0].usage = Some(serde_json::json!({ "usd": "0.12", "turns": 3 }));
        let text = detail(&work, canned::screen());
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn a_work_that_has_not_started_says_so() {
        let mut work = canned::work();
        work.history.clear();
        work.waits.clear();
        insta::assert_snapshot!(detail(&work, canned::screen()));
    }
}
