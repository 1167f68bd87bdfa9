//! From what a keeper left behind to an [`Exit`].

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use crate::api::text::printable;
use crate::api::tool_types::{ResultOutcome, ResultRequest};
use crate::extension::executor::Exit;
use crate::keeper::folder::{Ending, Folder, read_json};

/// How much of standard error a reason carries, in bytes.
const TAIL_MAX: usize = 2048;

/// Shorter values of the environment are words (`C`, `en_US`), not secrets.
const SECRET_MIN: usize = 8;

/// A token is 64 digits. So many bytes more are read, so that one cut in two is still seen.
const TOKEN_LEN: usize = 64;

/// Exit 0 is what the process declared, and completed if it declared nothing; anything else is
/// failed, whatever it declared.
///
/// `passed` are values of ours that the command was given: a reason never shows them.
pub(super) fn exit(folder: &Folder, ending: &Ending, passed: &[String]) -> Exit {
    let declared = match read_json::<ResultRequest>(&folder.result()) {
        Ok(declared) => declared,
        Err(error) => return failed(&format!("its declared result is unreadable: {error}"), None),
    };
    match (ending, declared) {
        (Ending::Exited(0), None) => Exit::Completed { status: None, continuation: None },
        (Ending::Exited(0), Some(result)) => judged(result),
        (ending, declared) => failed(&describe(folder, ending, passed), declared),
    }
}

fn judged(result: ResultRequest) -> Exit {
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

fn failed(reason: &str, declared: Option<ResultRequest>) -> Exit {
    let (status, continuation) =
        declared.map_or((None, None), |result| (result.status, result.continuation));
    Exit::Failed { reason: printable(reason), status, continuation }
}

fn describe(folder: &Folder, ending: &Ending, passed: &[String]) -> String {
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

/// The end of standard error as valid text. The process may have printed its token, or a secret of
/// its environment: those stay out, because a reason is stored and shown.
fn tail(folder: &Folder, passed: &[String]) -> io::Result<String> {
    let bytes = last_bytes(&folder.stderr(), TAIL_MAX + TOKEN_LEN)?;
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    if let Ok(token) = std::fs::read_to_string(folder.token()) {
        text = text.replace(token.trim(), "[token]");
    }
    for value in passed.iter().filter(|value| value.len() >= SECRET_MIN) {
        text = text.replace(value.as_str(), "[env]");
    }
    let from = text.ceil_char_boundary(text.len().saturating_sub(TAIL_MAX));
    Ok(text[from..].trim().to_owned())
}

fn last_bytes(path: &Path, max: usize) -> io::Result<Vec<u8>> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let from = file.metadata()?.len().saturating_sub(max as u64);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(max as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
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
        let result = ResultRequest { outcome, status: Some("s".into()), continuation: None };
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
}
