//! Words and numbers as a person reads them.

use jiff::Timestamp;

pub(in crate::cli) use crate::api::text::printable;

/// What separates a prefix from the random part of an id.
const SEPARATOR: char = '_';
/// The fewest characters an id is shortened to, after its prefix: all of the time in it.
const SHORT_MIN: usize = 10;
/// All of an id's characters after its prefix.
pub(in crate::cli) const WHOLE: usize = 26;
/// Characters beyond those that tell the ids of one table apart, for those that are not in it.
const SHORT_SPARE: usize = 2;

/// How long ago an instant was: `12s`, `3m`, `5h`, `9d`; as it came if it is no instant.
pub(in crate::cli) fn age(instant: &str, now: Timestamp) -> String {
    match instant.parse::<Timestamp>() {
        Ok(instant) => length(now.as_second().saturating_sub(instant.as_second())),
        Err(_) => printable(instant),
    }
}

/// When an instant will be, or since when it has been over: `in 4m`, `due for 3s`.
pub(in crate::cli) fn until(instant: &str, now: Timestamp) -> String {
    let Ok(instant) = instant.parse::<Timestamp>() else { return printable(instant) };
    match instant.as_second().saturating_sub(now.as_second()) {
        left if left > 0 => format!("in {}", length(left)),
        left => format!("due for {}", length(left.saturating_neg())),
    }
}

fn length(seconds: i64) -> String {
    match seconds.max(0) {
        short @ 0..60 => format!("{short}s"),
        minutes @ 60..3600 => format!("{}m", minutes / 60),
        hours @ 3600..172_800 => format!("{}h", hours / 3600),
        days => format!("{}d", days / 86_400),
    }
}

/// A size in its largest unit: `512 B`, `1.2 MiB`.
pub(in crate::cli) fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match UNITS.into_iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => {
            let tenths = bytes / (unit / 10).max(1);
            format!("{}.{} {name}", tenths / 10, tenths % 10)
        }
        None => format!("{bytes} B"),
    }
}

/// How many characters of the random part tell these ids apart, with a few to spare.
pub(in crate::cli) fn short_length<'a>(ids: impl Iterator<Item = &'a str>) -> usize {
    let mut ids: Vec<&str> = ids.collect();
    ids.sort_unstable();
    ids.dedup();
    let shared = ids.windows(2).map(|pair| shared_after_prefix(pair[0], pair[1]));
    shared.max().map_or(SHORT_MIN, |shared| (shared + 1 + SHORT_SPARE).max(SHORT_MIN))
}

fn shared_after_prefix(one: &str, other: &str) -> usize {
    let random = |id: &str| id.find(SEPARATOR).map_or(0, |at| at + 1);
    if one[..random(one)] != other[..random(other)] {
        return 0;
    }
    let pairs = one[random(one)..].chars().zip(other[random(other)..].chars());
    pairs.take_while(|(one, other)| one == other).count()
}

/// An id cut to so many characters after its prefix; it still names the same thing.
pub(in crate::cli) fn short(id: &str, length: usize) -> String {
    let kept = id.chars().position(|c| c == SEPARATOR).map_or(0, |at| at + 1) + length;
    printable(&id.chars().take(kept).collect::<String>())
}

/// The last characters of a text that is longer, as a name often differs from others at its end.
pub(in crate::cli) fn tail(text: &str, length: usize) -> String {
    let text = printable(text);
    match text.chars().count() {
        count if count <= length => text,
        count => format!("…{}", text.chars().skip(count + 1 - length).collect::<String>()),
    }
}

/// The first characters of a text that is longer.
pub(in crate::cli) fn head(text: &str, length: usize) -> String {
    let text = printable(text);
    match text.chars().count() {
        count if count <= length => text,
        _ => format!("{}…", text.chars().take(length - 1).collect::<String>()),
    }
}

/// A key, `source#external-id`, in its two parts.
pub(in crate::cli) fn key_parts(key: &str) -> (&str, &str) {
    key.split_once('#').unwrap_or(("", key))
}

/// Text in lines of at most `width` columns, the first beginning with `first` and the others
/// indented as far.
pub(in crate::cli) fn wrapped(text: &str, first: &str, width: u16) -> String {
    let room = usize::from(width).saturating_sub(first.chars().count()).max(20);
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is always a line");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= room {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    let indent = format!("\n{}", " ".repeat(first.chars().count()));
    format!("{first}{}", lines.join(&indent))
}

/// `1 event`, `2 events`.
pub(in crate::cli) fn counted(count: usize, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        many => format!("{many} {noun}s"),
    }
}

/// A word that serde knows the name of, as people see it: `not_found` is `not found`.
pub(in crate::cli) fn word(value: impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name.replace('_', " "),
        Ok(_) | Err(_) => "?".to_owned(),
    }
}

/// What a process printed, its lines kept and everything else that moves a cursor escaped.
pub(in crate::cli) fn log(bytes: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes);
    let lines = text.split_inclusive('\n').map(|line| match line.strip_suffix('\n') {
        Some(line) => format!("{}\n", columns(line.trim_end_matches('\r'))),
        None => columns(line),
    });
    lines.collect::<String>().into_bytes()
}

/// A line with its tabs kept.
fn columns(line: &str) -> String {
    line.split('\t').map(printable).collect::<Vec<_>>().join("\t")
}

/// A list of sequences: `1, 2, 5`; `none` when empty.
pub(in crate::cli) fn sequences(list: &[i64]) -> String {
    match list {
        [] => "none".to_owned(),
        some => some.iter().map(i64::to_string).collect::<Vec<_>>().join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Timestamp {
        "2026-03-01T12:00:00Z".parse().expect("an instant")
    }

    #[test]
    fn ages_are_said_in_their_largest_unit() {
        assert_eq!(age("2026-03-01T11:59:58.7Z", now()), "2s");
        assert_eq!(age("2026-03-01T11:57:00Z", now()), "3m");
        assert_eq!(age("2026-03-01T07:00:00Z", now()), "5h");
        assert_eq!(age("2026-02-20T12:00:00Z", now()), "9d");
        assert_eq!(
            age("2026-03-01T12:00:05Z", now()),
            "0s",
            "a clock behind shows no negative age"
        );
        assert_eq!(age("yesterday\u{7}", now()), "yesterday\\u{7}");
    }

    #[test]
    fn a_deadline_is_ahead_or_due() {
        assert_eq!(until("2026-03-01T12:04:10Z", now()), "in 4m");
        assert_eq!(until("2026-03-01T11:59:57Z", now()), "due for 3s");
    }

    #[test]
    fn a_size_is_said_in_its_largest_unit() {
        let said = [0, 1023, 1024, 1_300_000, 3 << 30].map(size);
        assert_eq!(said, ["0 B", "1023 B", "1.0 KiB", "1.2 MiB", "3.0 GiB"]);
    }

    #[test]
    fn shortened_ids_differ_wherever_the_ids_do() {
        let ids = ["work_01kb3n8x9qaaaaaa1", "work_01kb3n8x9qaaaaab2", "evt_01kb3n8x9qaaaaaa1"];
        let length = short_length(ids.into_iter());
        assert_eq!(length, 18, "15 shared, one that differs, two to spare");
        assert_ne!(short(ids[0], length), short(ids[1], length));
        assert_eq!(short(ids[0], SHORT_MIN), "work_01kb3n8x9q");
        assert_eq!(short_length(["work_01kb3n8x9qaaaaaa1"].into_iter()), SHORT_MIN);
    }

    #[test]
    fn a_long_name_keeps_the_end_that_was_asked_for() {
        assert_eq!(tail("github:github.com/7", 8), "…b.com/7");
        assert_eq!(head("pull_request", 6), "pull_…");
        assert_eq!(head("ping", 6), "ping");
    }

    #[test]
    fn nothing_from_outside_moves_the_cursor_or_turns_the_text() {
        assert_eq!(printable("a\u{1b}[2Jb\u{202e}c\td"), "a\\u{1b}[2Jb\\u{202e}c\\td");
    }

    #[test]
    fn a_log_keeps_its_lines() {
        assert_eq!(log(b"one\r\n\x1b[31mtwo\n\tthree"), b"one\n\\u{1b}[31mtwo\n\tthree");
    }

    #[test]
    fn long_sentences_are_wrapped_under_their_first_word() {
        let text = wrapped("waits for the check of the pull request", "  why  ", 27);
        assert_eq!(text, "  why  waits for the check\n       of the pull request");
    }
}
