//! Waits as text.

use super::Screen;
use super::table::{Fit, Table};
use super::text::{printable, short, short_length, until, word, wrapped};
use crate::api::types::{SubscriptionRow, WaitRow};
use crate::domain::WaitStatus;

/// A table of waits, oldest first, each with what it listens for under it.
pub(in crate::cli) fn table(waits: &[WaitRow], screen: Screen) -> String {
    let mut table = Table::new([
        ("WAIT", Fit::Whole),
        ("WORK", Fit::Whole),
        ("ATTEMPT", Fit::Right),
        ("STATUS", Fit::Whole),
        ("TIMEOUT", Fit::Whole),
    ]);
    let wait_length = short_length(waits.iter().map(|wait| wait.id.as_str()));
    let work_length = short_length(waits.iter().map(|wait| wait.work.as_str()));
    for wait in waits {
        let cells = [
            short(&wait.id, wait_length),
            short(&wait.work, work_length),
            wait.attempt.to_string(),
            word(wait.status),
            wait.deadline.as_deref().map_or("-".to_owned(), |end| until(end, screen.now)),
        ];
        table.row_with(cells, reason(wait));
    }
    table.render(screen)
}

/// One wait.
pub(in crate::cli) fn detail(wait: &WaitRow, screen: Screen) -> String {
    let mut lines = vec![format!("wait {}", printable(&wait.id))];
    let reason = reason(wait);
    lines.push(wrapped(&format!("{}: {reason}", word(wait.status)), "  status    ", screen.width));
    lines.push(format!("  work      {}, attempt {}", printable(&wait.work), wait.attempt));
    for (nth, key) in wait.keys.iter().enumerate() {
        lines.push(format!("  {:<9} {}", if nth == 0 { "keys" } else { "" }, printable(key)));
    }
    lines.push(format!("  types     {}", types(wait)));
    if let Some(source) = &wait.subscription {
        let what = format!("{} in scope {}", source.source, source.scope);
        lines.push(format!("  on        {}", printable(&what)));
        let ended = if source.active { "" } else { ", and no further" };
        lines.push(format!("  seen      up to event {}{ended}", source.checkpoint));
    }
    lines.push(format!("  after     event {}", wait.after));
    if let Some(deadline) = &wait.deadline {
        let from_now = until(deadline, screen.now);
        lines.push(format!("  deadline  {} ({from_now})", printable(deadline)));
    }
    lines.join("\n")
}

/// Why a wait is where it is, in one sentence.
pub(super) fn reason(wait: &WaitRow) -> String {
    match (wait.status, wait.winner) {
        (WaitStatus::Active, _) => active(wait),
        (WaitStatus::Woken, Some(winner)) => format!("woken by event {winner}"),
        (WaitStatus::Woken, None) => "woken".to_owned(),
        (WaitStatus::Cancelled, _) => "cancelled with its work".to_owned(),
    }
}

fn active(wait: &WaitRow) -> String {
    let on = |source: &SubscriptionRow| format!(", or for {}", printable(&source.source));
    let source = wait.subscription.as_ref().map_or(String::new(), on);
    let timeout = wait.deadline.as_ref().map_or("", |_| ", or for its timeout");
    match wait.keys.as_slice() {
        [] => "waits for its timeout alone".to_owned(),
        keys => {
            let keys: Vec<String> = keys.iter().map(|key| printable(key)).collect();
            let keys = keys.join(" or ");
            let (types, after) = (types(wait), wait.after);
            format!("waits for {types} on {keys}{source} after event {after}{timeout}")
        }
    }
}

fn types(wait: &WaitRow) -> String {
    match wait.types.as_slice() {
        [] => "any event".to_owned(),
        types => printable(&types.join(" or ")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::canned;
    use super::*;

    #[test]
    fn a_table_of_waits_says_what_each_listens_for() {
        let text = table(&canned::waits(), canned::screen());
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn a_wait_is_shown_with_its_keys_and_deadline() {
        insta::assert_snapshot!(detail(&canned::waits()[1], canned::screen()));
    }

    #[test]
    fn a_wait_on_a_resource_says_which_and_how_far_it_was_seen() {
        let mut wait = canned::waits().remove(1);
        wait.subscription = Some(SubscriptionRow {
            source: "github:github.com/77#9".to_owned(),
            scope: "acme/api\u{1b}".to_owned(),
            checkpoint: 12,
            active: true,
        });
        insta::assert_snapshot!(detail(&wait, canned::screen()));
    }
}
