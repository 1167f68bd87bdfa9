//! The agent's session, by the name that the agent gave it: a file in the Work's folder, so that it
//! outlives segments and daemons. The agent works in that folder, so what is read back is looked at
//! before it becomes an argument.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::keeper::folder::{read_json, write_json};

/// The longest name of a session.
const ID_MAX: usize = 128;

#[derive(Debug, Serialize, Deserialize)]
struct Session {
    version: u32,
    session: String,
    /// The segment that was told to go on with it, could not begin and failed, if nothing has begun
    /// since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    doubted_by: Option<String>,
}

fn file(work: &Path) -> PathBuf {
    work.join(".abide-session.json")
}

/// The session of a Work; `None` if there is none that can be used, which then begins anew.
pub(super) fn read(work: &Path) -> Option<String> {
    kept(work).map(|kept| kept.session)
}

fn kept(work: &Path) -> Option<Session> {
    match read_json::<Session>(&file(work)) {
        Ok(kept) => kept.filter(|kept| is_plain(&kept.session)),
        Err(error) => {
            tracing::warn!(%error, "an agent's session is unreadable, so it begins a new one");
            None
        }
    }
}

/// Keeps the session, which has begun, so that nothing speaks against it.
pub(super) fn write(work: &Path, id: &str) -> io::Result<()> {
    if kept(work).is_some_and(|kept| kept.session == id && kept.doubted_by.is_none()) {
        return Ok(());
    }
    let session = Session { version: 1, session: id.to_owned(), doubted_by: None };
    write_json(&file(work), &session)
}

/// A segment could not go on with this session. The first time that may have been for any reason; if
/// the next one cannot either, the session is forgotten. The same segment counts once.
pub(super) fn doubt(work: &Path, id: &str, segment: &str) -> io::Result<()> {
    let Some(kept) = kept(work).filter(|kept| kept.session == id) else { return Ok(()) };
    match kept.doubted_by.as_deref() {
        Some(before) if before == segment => Ok(()),
        Some(_) => {
            tracing::warn!("an agent does not know its session any more; the next one is new");
            std::fs::remove_file(file(work))
        }
        None => {
            let doubted = Session { doubted_by: Some(segment.to_owned()), ..kept };
            write_json(&file(work), &doubted)
        }
    }
}

/// Nothing that could be taken for an option or a path.
pub(super) fn is_plain(id: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let begins_well = id.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric);
    begins_well && id.len() <= ID_MAX && id.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_kept_until_two_segments_in_a_row_cannot_go_on_with_it() {
        let work = tempfile::tempdir().expect("a temporary folder");
        let work = work.path();
        let kept = || read(work).is_some();
        let doubt = |id, segment| doubt(work, id, segment).expect("it is looked at");
        assert!(!kept());
        doubt("s1", "att-1");
        write(work, "s1").expect("it is written");
        doubt("another", "att-1");
        doubt("another", "att-2");
        assert!(kept(), "it is another one");
        doubt("s1", "att-1");
        doubt("s1", "att-1");
        assert!(kept(), "one segment counts once, however often it is judged");
        write(work, "s1").expect("it is written");
        doubt("s1", "att-2");
        assert!(kept(), "it has begun in between");
        doubt("s1", "att-3");
        assert!(!kept());
    }

    #[test]
    fn what_could_be_an_option_or_is_no_session_is_not_used() {
        let work = tempfile::tempdir().expect("a temporary folder");
        for id in ["--dangerously", "", "a b", "../x", "a\n", &"x".repeat(129)] {
            let text = serde_json::json!({"version": 1, "session": id}).to_string();
            std::fs::write(file(work.path()), text).expect("it is written");
            assert_eq!(read(work.path()), None, "{id:?}");
        }
        std::fs::write(file(work.path()), "no json").expect("it is written");
        assert_eq!(read(work.path()), None);
    }
}
