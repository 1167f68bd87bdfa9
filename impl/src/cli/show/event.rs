//! Events as text.

use serde_json::Value;

use super::table::{Fit, Table};
use super::text::{WHOLE, age, head, printable, short, short_length, tail, word};
use super::{Screen, intent};
use crate::api::types::{EventDetail, EventRow};
use crate::domain::MarkKind;

/// The longest key that is shown whole in a table.
const KEY_MAX: usize = 12;
/// Columns a table of events needs beside the source.
const BESIDE_SOURCE: u16 = 68;
/// Columns from which a line of a stream has room for the source.
const WIDE: u16 = 110;

/// A table of events, oldest first.
pub(in crate::cli) fn table(events: &[EventRow], screen: Screen) -> String {
    let mut table = Table::new([
        ("SEQ", Fit::Right),
        ("AGE", Fit::Right),
        ("TYPE", Fit::Cut),
        ("KEY", Fit::Whole),
        ("SOURCE", Fit::Whole),
        ("RESULT", Fit::Whole),
    ]);
    let source = usize::from(screen.width.saturating_sub(BESIDE_SOURCE).max(6));
    let length = short_length(events.iter().filter_map(|event| event.work.as_deref()));
    for event in events {
        table.row([
            event.seq.to_string(),
            age(&event.accepted_at, screen.now),
            printable(&event.event_type),
            event.key.as_deref().map_or("-".to_owned(), |key| head(key, KEY_MAX)),
            tail(&event.source, source),
            result(event, length),
        ]);
    }
    table.render(screen)
}

/// One event on one line, for a stream of them.
pub(in crate::cli) fn line(event: &EventRow, screen: Screen) -> String {
    let time = event.accepted_at.get(11..19).unwrap_or(&event.accepted_at);
    let key = event.key.as_deref().map_or(String::new(), |key| head(key, KEY_MAX));
    let result = result(event, short_length(event.work.as_deref().into_iter()));
    let source = if screen.width < WIDE { String::new() } else { printable(&event.source) };
    let event_type = printable(&event.event_type);
    let line = format!(
        "{:>5}  {}  {event_type:<26}  {key:<6}  {result:<27}  {source}",
        event.seq,
        printable(time)
    );
    line.trim_end().to_owned()
}

/// One event with its data.
pub(in crate::cli) fn detail(detail: &EventDetail, screen: Screen) -> String {
    let event = &detail.event;
    let mut lines = vec![format!("event {}: {}", event.seq, printable(&event.event_type))];
    let mut field = |name: &str, value: String| lines.push(format!("  {name:<9} {value}"));
    field("id", printable(&event.id));
    field("source", printable(&event.source));
    field("delivery", printable(&event.delivery));
    if let Some(subject) = &event.subject {
        field("subject", printable(subject));
    }
    field("key", event.key.as_deref().map_or("none".to_owned(), printable));
    field("scope", printable(&event.scope));
    let accepted = printable(&event.accepted_at);
    field("accepted", format!("{accepted} ({} ago)", age(&event.accepted_at, screen.now)));
    field("result", result(event, WHOLE));
    if let Some(reason) = &event.reason {
        field("reason", printable(reason));
    }
    if let Some(asked) = event.asked {
        field("asked", format!("{}, which its attempt lacked: a fallback stood in", word(asked)));
    }
    if let Some(intent) = &detail.intent {
        field("intent", intent::line(intent));
    }
    if event.conflicting {
        field("conflict", "its identity came again with another body, not kept".to_owned());
    }
    if let Some(route) = &event.route {
        field("route", printable(route));
    }
    match &event.parent {
        None => field("chain", "the root of its own".to_owned()),
        Some(parent) => {
            field("chain", format!("depth {} under {}", event.depth, printable(&event.root)));
            field("cause", printable(parent));
        }
    }
    lines.push("data".to_owned());
    lines.push(data(&detail.data));
    lines.join("\n")
}

/// What routing made of an event, and why.
pub(super) fn result(event: &EventRow, length: usize) -> String {
    let work = event.work.as_deref().map_or("a work".to_owned(), |work| short(work, length));
    match event.mark {
        None => "not routed yet".to_owned(),
        Some(MarkKind::Queued) => format!("queued on {work}"),
        Some(MarkKind::Inject) => format!("inject into {work}"),
        Some(MarkKind::Interrupt) => format!("interrupt of {work}"),
        Some(MarkKind::Woke) => format!("woke {work}"),
        Some(MarkKind::Unmatched) => "unmatched: no route took it".to_owned(),
        Some(MarkKind::Terminal) => format!("too late for {work}"),
        Some(MarkKind::Drop) => "dropped by its route".to_owned(),
        Some(MarkKind::OperatorDrop) => "dropped by a person".to_owned(),
        Some(MarkKind::Close) => format!("closed {work}"),
        Some(MarkKind::ReplaySuspect) => "suspect: its body was seen before".to_owned(),
        Some(MarkKind::Release) => format!("released {work}"),
        Some(MarkKind::StaleRetry) => format!("retry that {work} no longer waits for"),
        Some(MarkKind::Continuation) => "note of a wake".to_owned(),
    }
}

fn data(data: &Value) -> String {
    if data.is_null() {
        return "  none".to_owned();
    }
    let text = serde_json::to_string_pretty(data).unwrap_or_default();
    let lines = text.lines().map(|line| format!("  {}", printable(line)));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::super::canned;
    use super::*;

    #[test]
    fn a_table_of_events_fits_eighty_columns() {
        let text = table(&canned::events(), canned::screen());
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn an_event_is_shown_with_its_chain_and_data() {
        let woke =
            EventDetail { event: canned::events().remove(4), data: canned::data(), intent: None };
        insta::assert_snapshot!(detail(&woke, canned::screen()));
    }

    #[test]
    fn an_event_for_a_running_attempt_says_what_came_of_it() {
        let mut event = canned::events().remove(0);
        event.mark = Some(MarkKind::Inject);
        let intent = canned::intents().remove(0);
        let told = EventDetail { event, data: Value::Null, intent: Some(intent) };
        let mut fallen = canned::events().remove(0);
        fallen.asked = Some(crate::domain::ControlPolicy::Interrupt);
        let fallen = EventDetail { event: fallen, data: Value::Null, intent: None };
        let said = [told, fallen].map(|event| detail(&event, canned::screen()));
        insta::assert_snapshot!(said.join("\n"));
    }

    #[test]
    fn a_stream_of_events_has_one_line_for_each() {
        let lines: Vec<String> =
            canned::events().iter().map(|event| line(event, canned::screen())).collect();
        insta::assert_snapshot!(lines.join("\n"));
    }
}
