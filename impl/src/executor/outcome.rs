//! From what a keeper left behind to an [`Exit`].

use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use crate::api::text::printable;
use crate::api::tool_types::{ResultOutcome, ResultRequest};
use crate::domain::{Millis, RetryHint};
use crate::extension::executor::Exit;
use crate::extension::hint::retry_after;
use crate::keeper::folder::{Ending, Folder, open_file, read_json};

/// How much of standard error a reason carries, in bytes.
const TAIL_MAX: usize = 2048;

/// Shorter values of the environment are words (`C`, `en_US`), not secrets.
const SECRET_MIN: usize = 8;

/// Exit 0 is what the process declared, and completed if it declared nothing; anything else is
/// failed, whatever it declared.
///
/// `passed` are values of ours that the command was given: a reason never shows them.
pub(super) fn exit(folder: &Folder, ending: &Ending, passed: &[String]) -> Exit {
    let declared = match declared(folder) {
        Ok(declared) => declared,
        Err(unreadable) => return unreadable,
    };
    match (ending, declared) {
        (Ending::Exited(0), None) => Exit::Completed { status: None, continuation: None },
        (Ending::Exited(0), Some(result)) => judged(result),
        (ending, declared) => failed(&describe(folder, ending, passed), declared),
    }
}

/// What the process declared, if it did; what cannot be read is no success.
pub(super) fn declared(folder: &Folder) -> Result<Option<ResultRequest>, Exit> {
    read_json(&folder.result())
        .map_err(|error| failed(&format!("its declared result is unreadable: {error}"), None))
}

/// What a declared result comes to.
pub(super) fn judged(result: ResultRequest) -> Exit {
    match result.outcome {
        ResultOutcome::Completed => {
            Exit::Completed { status: result.status, continuation: result.continuation }
        }
        ResultOutcome::Handoff => {
            Exit::HandedOff { status: result.status, continuation: result.continuation }
        }
        ResultOutcome::Failed => {
            let said = result.status.as_deref().unwrap_or("it gave no status");
            failed(&format!("the process declared that it failed: {said}"), Some(result.clone()))
        }
    }
}

/// A failure; what was declared goes along, its hint included if it was one of a failure.
pub(super) fn failed(reason: &str, declared: Option<ResultRequest>) -> Exit {
    let retry_after = declared.as_ref().and_then(hint);
    let (status, continuation) =
        declared.map_or((None, None), |result| (result.status, result.continuation));
    Exit::Failed { reason: printable(reason), status, continuation, retry_after }
}

/// The machine's time: what an instant that a process names is measured from.
pub(super) fn now() -> Millis {
    Millis(jiff::Timestamp::now().as_millisecond())
}

fn hint(declared: &ResultRequest) -> Option<RetryHint> {
    match declared.outcome {
        ResultOutcome::Failed => Some(retry_after(declared.retry_after.as_deref()?, now())),
        ResultOutcome::Completed | ResultOutcome::Handoff => None,
    }
}

/// How a command ended, with the end of what it complained of.
pub(super) fn describe(folder: &Folder, ending: &Ending, passed: &[String]) -> String {
    let what = match ending {
        Ending::NotStarted(why) => return why.clone(),
        Ending::Exited(code) => format!("exit status {code}"),
        Ending::Killed(signal) => format!("killed by signal {signal}"),
        Ending::Unknown(why) => format!("its exit status was lost ({why})"),
    };
    match tail(folder, passed).as_deref() {
        Ok("") => what,
        Ok(text) => format!("{what}: {text}"),
        Err(error) => format!("{what} (its standard error is unreadable: {error})"),
    }
}

/// The end of standard error as valid text.
fn tail(folder: &Folder, passed: &[String]) -> io::Result<String> {
    let secrets = Secrets::new(folder, passed);
    // Of a value that the beginning cuts in two, the rest is shorter than the longest one is.
    let cut = secrets.longest().saturating_sub(1);
    let (bytes, whole) = last_bytes(&folder.stderr(), TAIL_MAX + cut)?;
    let text = secrets.masked(&bytes, if whole { 0 } else { cut });
    let from = text.ceil_char_boundary(text.len().saturating_sub(TAIL_MAX));
    Ok(text[from..].trim().to_owned())
}

/// The beginning of a text that the process gave, fit for a reason.
pub(super) fn head(folder: &Folder, text: &str, passed: &[String]) -> String {
    let text = Secrets::new(folder, passed).masked(text.as_bytes(), 0);
    let to = text.floor_char_boundary(TAIL_MAX);
    text[..to].trim().to_owned()
}

/// What the process may have printed and no reason shows, because a reason is stored and shown: its
/// token, and the secrets of its environment.
#[derive(Debug)]
struct Secrets(Vec<(Vec<u8>, &'static str)>);

impl Secrets {
    fn new(folder: &Folder, passed: &[String]) -> Self {
        let token = folder.read_token().ok().map(|token| (token.reveal().into_bytes(), "[token]"));
        let values = passed.iter().filter(|value| value.len() >= SECRET_MIN);
        let values = values.map(|value| (value.clone().into_bytes(), "[env]"));
        Self(token.into_iter().chain(values).collect())
    }

    fn longest(&self) -> usize {
        self.0.iter().map(|(secret, _)| secret.len()).max().unwrap_or(0)
    }

    /// The text from `cut` on, without any of them; one that begins before is still seen whole.
    fn masked(&self, bytes: &[u8], cut: usize) -> String {
        let (mut shown, mut at) = (Vec::new(), cut.min(bytes.len()));
        for (from, to, label) in self.found(bytes) {
            if to <= at {
                continue;
            }
            shown.extend_from_slice(&bytes[at..from.max(at)]);
            shown.extend_from_slice(label.as_bytes());
            at = to;
        }
        shown.extend_from_slice(&bytes[at..]);
        String::from_utf8_lossy(&shown).into_owned()
    }

    /// Where they are, in order. Those that overlap are one: a value may be part of another, or begin
    /// as one ends.
    fn found(&self, bytes: &[u8]) -> Vec<(usize, usize, &'static str)> {
        let mut all: Vec<_> = self
            .0
            .iter()
            .flat_map(|(secret, label)| {
                let starts = bytes.windows(secret.len()).enumerate();
                let starts = starts.filter(move |(_, window)| window == secret);
                starts.map(move |(from, _)| (from, from + secret.len(), *label))
            })
            .collect();
        all.sort_unstable();
        let mut apart: Vec<(usize, usize, &'static str)> = Vec::new();
        for (from, to, label) in all {
            match apart.last_mut() {
                Some((_, end, _)) if from < *end => *end = to.max(*end),
                Some(_) | None => apart.push((from, to, label)),
            }
        }
        apart
    }
}

/// The last bytes of a file, and whether that is all of it.
fn last_bytes(path: &Path, max: usize) -> io::Result<(Vec<u8>, bool)> {
    let Some(mut file) = open_file(path)? else { return Ok((Vec::new(), true)) };
    let from = file.metadata()?.len().saturating_sub(max as u64);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(max as u64).read_to_end(&mut bytes)?;
    Ok((bytes, from == 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Token;
    use crate::keeper::folder::write_json;

    fn folder(root: &tempfile::TempDir) -> Folder {
        Folder::create(root.path().join("s")).expect("a new folder")
    }

    fn reason(exit: Exit) -> String {
        match exit {
            Exit::Failed { reason, .. } => reason,
            Exit::Completed { .. } | Exit::HandedOff { .. } | Exit::Lost { .. } => {
                panic!("it failed: {exit:?}")
            }
        }
    }

    fn declare(folder: &Folder, outcome: ResultOutcome) {
        let result = ResultRequest {
            outcome,
            status: Some("s".into()),
            continuation: None,
            retry_after: Some("90s".into()),
        };
        write_json(&folder.result(), &result).expect("it is written");
    }

    #[test]
    fn bytes_that_are_no_text_become_a_printable_reason() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let folder = folder(&root);
        std::fs::write(folder.stderr(), b"bad \xff\xfe\x1b[31m\nend\n").expect("written");
        let reason = reason(exit(&folder, &Ending::Exited(1), &[]));
        assert_eq!(reason, "exit status 1: bad \u{fffd}\u{fffd}\\u{1b}[31m\\nend");
    }

    #[test]
    fn a_printed_token_stays_out_of_the_reason_even_where_the_tail_cuts_it() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let folder = folder(&root);
        let token = Token::from_bytes([0xab; 32]);
        folder.write_token(&token).expect("it is written");
        let text = format!("{}{}", token.reveal(), "x".repeat(TAIL_MAX - 10));
        std::fs::write(folder.stderr(), text).expect("written");
        let reason = reason(exit(&folder, &Ending::Killed(9), &[]));
        assert!(!reason.contains("abab"), "{reason}");
    }

    #[test]
    fn a_declared_failure_fails_and_a_bad_exit_fails_what_was_declared_completed() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let folder = folder(&root);
        declare(&folder, ResultOutcome::Failed);
        assert!(reason(exit(&folder, &Ending::Exited(0), &[])).contains("declared"));
        declare(&folder, ResultOutcome::Completed);
        assert_eq!(reason(exit(&folder, &Ending::Exited(3), &[])), "exit status 3");
    }

    #[test]
    fn a_result_that_cannot_be_read_is_no_success() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let folder = folder(&root);
        std::fs::write(folder.result(), b"{").expect("written");
        assert!(reason(exit(&folder, &Ending::Exited(0), &[])).contains("unreadable"));
    }

    #[test]
    fn a_reason_shows_no_value_of_the_environment_that_could_be_a_secret() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let folder = folder(&root);
        std::fs::write(folder.stderr(), "+ curl -H 'key: hunter2hunter2' in C\n").expect("written");
        let passed = ["hunter2hunter2".to_owned(), "C".to_owned()];
        let reason = reason(exit(&folder, &Ending::Exited(1), &passed));
        assert!(reason.contains("key: [env]' in C"), "{reason}");
    }

    /// Masks are shorter than what they stand for, so that what was cut in two moves into sight.
    #[test]
    fn no_part_of_a_long_secret_is_shown_where_the_tail_begins() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let folder = folder(&root);
        let secret: String = (0..100).map(|n| format!("<{n:02}>")).collect();
        let passed = [secret.clone(), secret[..120].to_owned()];
        for after in (0..TAIL_MAX + 2 * secret.len()).step_by(13) {
            let text = format!("{secret}{secret}{}", "x".repeat(after));
            std::fs::write(folder.stderr(), text).expect("written");
            let reason = reason(exit(&folder, &Ending::Exited(1), &passed));
            assert!(!reason.contains('<') && !reason.contains('>'), "{after}: {reason}");
        }
    }

    #[test]
    fn secrets_that_overlap_leave_nothing_of_either() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let folder = folder(&root);
        let passed = ["abcdefgh", "abcdefghij", "ijklmnop"].map(str::to_owned);
        assert_eq!(head(&folder, "1 abcdefghijklmnop 2 abcdefgh", &passed), "1 [env] 2 [env]");
        let repeated = ["aaaaaaaab".to_owned(), "baaaaaaaa".to_owned()];
        assert_eq!(head(&folder, "-aaaaaaaabaaaaaaaa-", &repeated), "-[env]-");
    }

    fn hinted(exit: &Exit) -> Option<RetryHint> {
        match exit {
            Exit::Failed { retry_after, .. } => *retry_after,
            Exit::Completed { .. } | Exit::HandedOff { .. } | Exit::Lost { .. } => {
                panic!("it failed: {exit:?}")
            }
        }
    }

    /// RETRY-13
    #[test]
    fn a_declared_failure_says_when_to_try_again_and_a_declared_success_does_not() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let folder = folder(&root);
        declare(&folder, ResultOutcome::Failed);
        let ninety = Some(RetryHint::Delay(90_000));
        assert_eq!(hinted(&exit(&folder, &Ending::Exited(0), &[])), ninety);
        assert_eq!(hinted(&exit(&folder, &Ending::Exited(3), &[])), ninety);
        declare(&folder, ResultOutcome::Completed);
        assert_eq!(hinted(&exit(&folder, &Ending::Exited(3), &[])), None);
    }
}
