//! Timers, holds, refused events, configurations and scopes as text.

use super::Screen;
use super::table::{Fit, Table};
use super::text::{age, printable, short, short_length, until, word, wrapped};
use crate::api::types::{
    BindingRow, ConfigHistory, HoldRow, KindRow, RejectionRow, RestoreRow, RetryRow, RouteRow,
    ScopeRow, TimerRow,
};
use crate::config::length;
use crate::domain::{ControlPolicy, Duration, Exhausted, Hold};

/// A table of timers.
pub(in crate::cli) fn timers(timers: &[TimerRow], screen: Screen) -> String {
    let mut table = Table::new([
        ("DUE", Fit::Whole),
        ("WORK", Fit::Whole),
        ("WAIT", Fit::Whole),
        ("WHAT IT DOES", Fit::Cut),
    ]);
    let work_length = short_length(timers.iter().map(|timer| timer.work.as_str()));
    let wait_length = short_length(timers.iter().filter_map(|timer| timer.wait.as_deref()));
    for timer in timers {
        let what = match (timer.disabled, timer.kind.as_str()) {
            (true, _) => "nothing: a causal limit refused it".to_owned(),
            (false, "idle") => "closes the work, should nothing come".to_owned(),
            (false, "retry") => match timer.attempt {
                Some(n) => format!("retries the work after attempt {n}"),
                None => "retries the work".to_owned(),
            },
            (false, _) => "wakes the work".to_owned(),
        };
        table.row([
            if timer.disabled { "never".to_owned() } else { until(&timer.due, screen.now) },
            short(&timer.work, work_length),
            timer.wait.as_deref().map_or("-".to_owned(), |wait| short(wait, wait_length)),
            what,
        ]);
    }
    table.render(screen)
}

/// What a restore holds: everything.
pub(in crate::cli) fn restored(row: &RestoreRow, screen: Screen) -> String {
    let what = format!(
        "nothing starts: this database was restored from a backup (incarnation {}), and what was done \
         after that may still run",
        row.incarnation
    );
    let next = "next: once it does not, abide hold release --restore";
    format!("{}\n{}", wrapped(&what, "", screen.width), wrapped(next, "  ", screen.width))
}

/// A table of held works, each with its reason under it.
pub(in crate::cli) fn holds(holds: &[HoldRow], screen: Screen) -> String {
    let mut table = Table::new([
        ("WORK", Fit::Whole),
        ("STATUS", Fit::Whole),
        ("HELD BY", Fit::Whole),
        ("KIND", Fit::Cut),
        ("SCOPE", Fit::Cut),
    ]);
    let length = short_length(holds.iter().map(|hold| hold.work.as_str()));
    for hold in holds {
        let by: Vec<String> = hold.holds.iter().map(|hold| word(*hold)).collect();
        let cells = [
            short(&hold.work, length),
            word(hold.status),
            by.join(", "),
            printable(&hold.kind),
            printable(&hold.scope),
        ];
        match &hold.reason {
            Some(reason) => table.row_with(cells, printable(reason)),
            None => table.row(cells),
        }
    }
    let text = table.render(screen);
    let exhausted = |row: &HoldRow| row.holds.contains(&Hold::Exhausted);
    let retry = if holds.iter().any(exhausted) { ", or abide work retry WORK" } else { "" };
    format!("{text}\n  next: abide work release WORK{retry}")
}

/// A table of refused derived events.
pub(in crate::cli) fn rejections(rows: &[RejectionRow], screen: Screen) -> String {
    let mut table = Table::new([
        ("AGE", Fit::Right),
        ("WHAT", Fit::Whole),
        ("DEPTH", Fit::Right),
        ("REASON", Fit::Whole),
        ("CAUSE", Fit::Whole),
    ]);
    let length = short_length(rows.iter().map(|row| row.parent.as_str()));
    for row in rows {
        table.row([
            age(&row.at, screen.now),
            printable(&row.kind),
            row.depth.to_string(),
            printable(&row.reason),
            short(&row.parent, length),
        ]);
    }
    let text = table.render(screen);
    format!("{text}\n  next: abide chain CAUSE")
}

/// Configurations, the newest last, and what was refused.
pub(in crate::cli) fn history(history: &ConfigHistory, screen: Screen) -> String {
    let mut table = Table::new([
        ("#", Fit::Right),
        ("SINCE", Fit::Whole),
        ("AGE", Fit::Right),
        ("DIGEST", Fit::Whole),
        ("", Fit::Whole),
    ]);
    for row in &history.page.items {
        table.row([
            row.generation.to_string(),
            printable(&row.since),
            age(&row.since, screen.now),
            printable(row.digest.get(..12).unwrap_or(&row.digest)),
            if row.current { "current".to_owned() } else { String::new() },
        ]);
    }
    let mut lines = vec![table.render(screen)];
    for refused in &history.refused {
        let at = age(&refused.at, screen.now);
        let by = printable(&refused.by);
        lines.push(format!("refused {at} ago, asked by {by}; the old one stayed:"));
        lines.extend(refused.why.lines().map(|line| format!("  {}", printable(line))));
    }
    lines.join("\n")
}

/// A table of scopes.
pub(in crate::cli) fn scopes(scopes: &[ScopeRow], screen: Screen) -> String {
    let mut table = Table::new([
        ("SCOPE", Fit::Whole),
        ("RUNNING", Fit::Right),
        ("CAPACITY", Fit::Right),
        ("DEPTH", Fit::Right),
        ("ROUTES", Fit::Right),
        ("KINDS", Fit::Cut),
    ]);
    for scope in scopes {
        let kinds: Vec<&str> = scope.kinds.iter().map(|kind| kind.name.as_str()).collect();
        table.row([
            printable(&scope.name),
            scope.running.to_string(),
            scope.capacity.map_or("-".to_owned(), |capacity| capacity.to_string()),
            scope.max_depth.to_string(),
            scope.routes.len().to_string(),
            printable(&kinds.join(", ")),
        ]);
    }
    table.render(screen)
}

/// One scope, as it is effective.
pub(in crate::cli) fn scope(scope: &ScopeRow, screen: Screen) -> String {
    let mut lines = vec![format!("scope {}", printable(&scope.name))];
    let bound = match scope.capacity {
        Some(capacity) => format!("{} of {capacity} attempts at once", scope.running),
        None => format!("{} attempts, as many as the scopes above allow", scope.running),
    };
    lines.push(format!("  running   {bound}"));
    lines.push(format!("  chains    up to {} deep", scope.max_depth));
    let reads = match scope.read_scopes.as_slice() {
        [] => "its own scope alone".to_owned(),
        scopes => printable(&scopes.join(", ")),
    };
    lines.push(format!("  reads     {reads}"));
    lines.push("routes, in the order they are tried".to_owned());
    lines.extend(or_none(scope.routes.iter().map(|row| route(row, &scope.name, screen))));
    lines.push("kinds".to_owned());
    lines.extend(or_none(scope.kinds.iter().map(|one| kind(one, screen))));
    lines.push("bindings".to_owned());
    lines.extend(or_none(scope.bindings.iter().map(|row| binding(row, &scope.name))));
    lines.join("\n")
}

fn or_none(lines: impl Iterator<Item = String>) -> Vec<String> {
    let lines: Vec<String> = lines.collect();
    if lines.is_empty() { vec!["  none".to_owned()] } else { lines }
}

fn from(declared_in: &str, scope: &str) -> String {
    if declared_in == scope { String::new() } else { format!(", from {}", printable(declared_in)) }
}

fn route(route: &RouteRow, scope: &str, screen: Screen) -> String {
    let kind = route.kind.as_deref().map_or(String::new(), |kind| format!(" {}", printable(kind)));
    let on = printable(&route.on.join(", "));
    let mut text = format!(
        "  {}: {on} -> {}{kind}{}",
        printable(&route.name),
        printable(&route.action),
        from(&route.declared_in, scope)
    );
    if let Some(active) = active(route) {
        text = format!("{text}\n{}", wrapped(&active, "    active  ", screen.width));
    }
    let expressions =
        [("when", &route.when), ("key", &route.key), ("attach", &route.attach)].into_iter();
    for (name, expression) in expressions.filter_map(|(name, e)| Some((name, e.as_deref()?))) {
        let line = wrapped(&printable(expression), &format!("    {name:<7} "), screen.width);
        text = format!("{text}\n{line}");
    }
    text
}

/// What its events do to a running attempt; the queue, which every route has without a word, is
/// not said.
fn active(route: &RouteRow) -> Option<String> {
    let policy = route.active.filter(|policy| *policy != ControlPolicy::Queue)?;
    let mut text = word(policy);
    if let Some(fallback) = route.fallback {
        text = format!("{text}, or {} where an attempt cannot", word(fallback));
    }
    if let Some(on_error) = route.on_error {
        text = format!("{text}, and {} on an error", word(on_error));
    }
    Some(text)
}

/// Steps of a policy that are shown.
const STEPS_SHOWN: usize = 8;

fn kind(kind: &KindRow, screen: Screen) -> String {
    let mut text = format!("  {} runs {}", printable(&kind.name), printable(&kind.binding));
    if kind.standing {
        text.push_str(", standing");
    }
    if !kind.reopen.is_empty() {
        text = format!("{text}, reopened by {}", printable(&kind.reopen.join(", ")));
    }
    if let Some(idle) = kind.close_after_ms {
        text = format!("{text}, closed after {} idle", length(Duration(idle)));
    }
    if let Some(policy) = &kind.retry {
        let line = wrapped(&retry(policy), "    retry   ", screen.width);
        text = format!("{text}\n{line}");
    }
    let hints = format!("of at most {}", length(Duration(kind.hint_max_ms)));
    format!("{text}\n    hints   {hints}")
}

/// What the failures of a kind's attempts lead to.
fn retry(policy: &RetryRow) -> String {
    let steps: Vec<String> = policy.backoff_ms.iter().map(|ms| length(Duration(*ms))).collect();
    let shown = match steps.as_slice() {
        [] => "none".to_owned(),
        steps if steps.len() <= STEPS_SHOWN => format!("after {}", steps.join(", ")),
        steps => {
            let more = steps.len() - STEPS_SHOWN;
            format!("after {}, … and {more} more", steps[..STEPS_SHOWN].join(", "))
        }
    };
    let ends = match policy.exhausted {
        Exhausted::Keep => "holds the work",
        Exhausted::Fail => "fails the work for good",
    };
    match policy.attempts {
        1 => format!("{shown}; the first failure {ends}"),
        last => format!("{shown}; failure {last} {ends}"),
    }
}

fn binding(binding: &BindingRow, scope: &str) -> String {
    let can = [
        (binding.injects, ", injects"),
        (binding.interrupts, ", interrupts"),
        (binding.resumes, ", resumes"),
    ];
    let can: String = can.iter().filter(|(can, _)| *can).map(|(_, word)| *word).collect();
    let timeout =
        binding.timeout_ms.map_or(String::new(), |ms| format!(", {} active", length(Duration(ms))));
    format!(
        "  {}: {}{can}{timeout}{}",
        printable(&binding.name),
        printable(&binding.command.join(" ")),
        from(&binding.declared_in, scope)
    )
}

#[cfg(test)]
mod tests {
    use super::super::canned;
    use super::*;

    fn fits(text: &str) -> bool {
        text.lines().all(|line| line.chars().count() <= 80)
    }

    #[test]
    fn timers_say_what_they_will_do() {
        let text = timers(&canned::timers(), canned::screen());
        assert!(fits(&text), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn holds_say_by_whom_and_why() {
        let text = holds(&canned::holds(), canned::screen());
        assert!(fits(&text), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn refused_events_name_their_cause() {
        let text = rejections(&canned::chain().rejections, canned::screen());
        assert!(fits(&text), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn a_history_has_what_was_refused_too() {
        insta::assert_snapshot!(history(&canned::history(), canned::screen()));
    }

    #[test]
    fn a_scope_is_shown_with_what_it_inherits() {
        let all = canned::scopes();
        let text = scopes(&all, canned::screen());
        assert!(fits(&text), "{text}");
        insta::assert_snapshot!(format!("{text}\n\n{}", scope(&all[1], canned::screen())));
    }
}
