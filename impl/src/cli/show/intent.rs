//! What was to reach a running attempt, as text.

use super::Screen;
use super::table::{Fit, Table};
use super::text::{printable, word};
use crate::api::types::IntentRow;

/// One intent on one line, for its event.
pub(super) fn line(intent: &IntentRow) -> String {
    let sends = match intent.sends {
        0 => String::new(),
        1 => ", sent once".to_owned(),
        2 => ", sent twice".to_owned(),
        sends => format!(", sent at least {sends} times"),
    };
    let (kind, status) = (word(intent.kind), word(intent.status));
    let line = format!("{kind}, attempt {}: {status}{sends}", intent.attempt);
    match rest(intent) {
        Some(rest) => format!("{line}; {rest}"),
        None => line,
    }
}

/// Those of one work.
pub(super) fn table(intents: &[IntentRow], screen: Screen) -> String {
    let mut table = Table::new([
        ("  EVENT", Fit::Right),
        ("KIND", Fit::Whole),
        ("ATTEMPT", Fit::Right),
        ("STATUS", Fit::Whole),
        ("SENDS", Fit::Right),
    ]);
    for intent in intents {
        let cells = [
            intent.event.to_string(),
            word(intent.kind),
            intent.attempt.to_string(),
            word(intent.status),
            intent.sends.to_string(),
        ];
        match rest(intent) {
            Some(rest) => table.row_with(cells, rest),
            None => table.row(cells),
        }
    }
    table.render(screen)
}

/// What its executor last said, and what stands in where it fails.
fn rest(intent: &IntentRow) -> Option<String> {
    let on_error = intent.on_error.map(|fallback| format!("should it fail: {}", word(fallback)));
    let parts: Vec<String> =
        intent.detail.as_deref().map(printable).into_iter().chain(on_error).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}
