//! The one place that prints.
//!
//! Whoever reads us may stop reading (`| head`): that ends a command quietly, and is no failure.

use std::io::{self, Write};

use serde::Serialize;

use super::{Code, Failure, Ran};
use crate::api::text::printable;

/// The width of what is not shown on a terminal and was not told one by `COLUMNS`.
const WIDTH: u16 = 100;

/// Prints an answer: as JSON if that is asked for, else as the text that it is to a person.
pub(super) fn answer<T: Serialize>(as_json: bool, value: &T, text: impl FnOnce() -> String) -> Ran {
    let printed = if as_json { json(value) } else { line(&text()) };
    printed.map(|()| Code::Done)
}

/// The same of a list.
pub(super) fn answers<T: Serialize>(
    as_json: bool,
    values: &[T],
    text: impl FnOnce() -> String,
) -> Ran {
    let printed = if as_json { json_lines(values) } else { line(&text()) };
    printed.map(|()| Code::Done)
}

/// Prints JSON for a person or a program.
///
/// JSON leaves some control characters as they are; a terminal must not see them.
pub(super) fn json<T: Serialize>(value: &T) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(unshowable)?;
    line(&text.chars().map(escaped).collect::<String>())
}

/// Prints values as JSON, one a line.
pub(super) fn json_lines<T: Serialize>(values: &[T]) -> Result<(), Failure> {
    for value in values {
        let text = serde_json::to_string(value).map_err(unshowable)?;
        line(&text.chars().map(escaped).collect::<String>())?;
    }
    Ok(())
}

/// Prints a value as JSON on one line, after its name.
pub(super) fn named_json<T: Serialize>(name: &str, value: &T) -> Result<(), Failure> {
    let text = serde_json::to_string(value).map_err(unshowable)?;
    line(&format!("{name} {text}").chars().map(escaped).collect::<String>())
}

/// Prints text that was made for a person, and a line break if it has none.
pub(super) fn line(text: &str) -> Result<(), Failure> {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    bytes(format!("{text}{end}").as_bytes())
}

/// Prints bytes as they are.
pub(super) fn bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).map_err(|error| unwritten(&error))
}

/// What an answer that could not be written is to the command.
pub(super) fn unwritten(error: &io::Error) -> Failure {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return Failure::unheard();
    }
    Failure::refused(format!("cannot write the answer: {error}"))
}

/// Prints one line of complaint.
pub(super) fn complain(message: &str) {
    // With nowhere left to complain to, the exit status is all there is.
    let _ = writeln!(io::stderr(), "abide: {}", printable(message));
}

/// Says something beside the answer, where it does not get into a pipe.
pub(super) fn aside(message: &str) {
    let _ = writeln!(io::stderr(), "{message}");
}

/// How wide an answer may be: what `COLUMNS` says, else the terminal, else 100 columns.
pub(super) fn width() -> u16 {
    let told = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let seen = || terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| width.0);
    told.filter(|columns| *columns > 0).or_else(seen).unwrap_or(WIDTH).max(40)
}

fn escaped(character: char) -> String {
    match character {
        '\n' => character.into(),
        control if printable(control.encode_utf8(&mut [0; 4])).len() > control.len_utf8() => {
            format!("\\u{:04x}", u32::from(control))
        }
        other => other.into(),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "a function of `map_err`")]
fn unshowable(error: serde_json::Error) -> Failure {
    Failure::new(Code::Refused, format!("the answer cannot be shown: {error}"))
}
