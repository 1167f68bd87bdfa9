//! What the processes of an attempt printed, as their keepers keep it.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use tokio::task::spawn_blocking;

use super::Context;
use crate::domain::AttemptUid;
use crate::keeper::folder::{Folder, open_file};

/// The most that is shown of one stream of one segment: its end.
const TAIL_MAX: u64 = 1 << 20;

impl Context {
    /// Standard output and standard error of every segment of an attempt, as text.
    ///
    /// # Errors
    /// A file that is there cannot be read.
    pub async fn output_of(&self, attempt: AttemptUid) -> io::Result<String> {
        let segments = self.segments.clone();
        let read = spawn_blocking(move || collect(&segments, &attempt)).await;
        read.map_err(io::Error::other).and_then(|read| read)
    }
}

/// Standard output and standard error of every segment of an attempt, as text.
fn collect(segments: &Path, attempt: &AttemptUid) -> io::Result<String> {
    let folders = folders_of(segments, attempt)?;
    let several = folders.len() > 1;
    let mut shown = String::new();
    for (epoch, path) in folders {
        let folder = Folder::at(path);
        let (out, err) = (tail(&folder.stdout())?, tail(&folder.stderr())?);
        if several && !(out.is_empty() && err.is_empty()) {
            push(&mut shown, &format!("--- segment of claim {epoch} ---\n"));
        }
        push(&mut shown, &out);
        if !err.is_empty() {
            if !out.is_empty() {
                push(&mut shown, "--- standard error ---\n");
            }
            push(&mut shown, &err);
        }
    }
    Ok(shown)
}

/// The folders of an attempt's segments, which are named by it and their epoch, in order.
fn folders_of(segments: &Path, attempt: &AttemptUid) -> io::Result<Vec<(u64, PathBuf)>> {
    let prefix = format!("{attempt}-");
    let mut found = Vec::new();
    let entries = match std::fs::read_dir(segments) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let epoch = name.to_str().and_then(|name| name.strip_prefix(&prefix)?.parse().ok());
        if let Some(epoch) = epoch {
            found.push((epoch, entry.path()));
        }
    }
    found.sort();
    Ok(found)
}

/// The end of a file as text, and a word on what is left out before it. What the attempt has put in
/// its place is not looked at.
fn tail(path: &Path) -> io::Result<String> {
    let mut file = match open_file(path) {
        Ok(Some(file)) => file,
        Ok(None) => return Ok(String::new()),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            return Ok("[the attempt has replaced what it printed]\n".to_owned());
        }
        Err(error) => return Err(error),
    };
    let from = file.metadata()?.len().saturating_sub(TAIL_MAX);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(TAIL_MAX).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    Ok(if from == 0 { text.into_owned() } else { format!("[{from} bytes before this]\n{text}") })
}

/// What follows begins on a line of its own.
fn push(shown: &mut String, text: &str) {
    if !shown.is_empty() && !shown.ends_with('\n') {
        shown.push('\n');
    }
    shown.push_str(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_attempt_put_in_place_of_its_output_is_neither_waited_for_nor_followed() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let attempt = AttemptUid::new();
        let folder = |epoch: u64| {
            let folder = Folder::create(root.path().join(format!("{attempt}-{epoch}")));
            folder.expect("a new folder")
        };
        let (first, second) = (folder(1), folder(9_000_000_001));
        let secret = root.path().join("secret");
        std::fs::write(&secret, "hunter2").expect("it is written");
        std::os::unix::fs::symlink(secret, first.stderr()).expect("a link");
        let made = std::process::Command::new("mkfifo").arg(first.stdout()).status();
        assert!(made.expect("it runs").success());
        std::fs::write(second.stdout(), "done\n").expect("it is written");
        let shown = collect(root.path(), &attempt).expect("it is shown");
        assert_eq!(
            shown,
            "--- segment of claim 1 ---\n\
             [the attempt has replaced what it printed]\n\
             --- standard error ---\n\
             [the attempt has replaced what it printed]\n\
             --- segment of claim 9000000001 ---\n\
             done\n"
        );
    }
}
