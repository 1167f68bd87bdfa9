//! What the processes of an attempt printed, as their keepers keep it.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use tokio::task::spawn_blocking;

use super::Context;
use crate::domain::AttemptUid;
use crate::keeper::folder::Folder;

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
fn folders_of(segments: &Path, attempt: &AttemptUid) -> io::Result<Vec<(u32, PathBuf)>> {
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

/// The end of a file as text, and a word on what is left out before it.
fn tail(path: &Path) -> io::Result<String> {
    let mut file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(String::new()),
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
