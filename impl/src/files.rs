//! Files that are replaced whole.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

/// Replaces a file so that a reader, and a machine that lost power, sees all of the old or all of
/// the new. Mode 0600.
///
/// # Errors
/// It cannot be written; what was there stands.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let invalid = || io::Error::new(io::ErrorKind::InvalidInput, "not a file in a folder");
    let parent = path.parent().ok_or_else(invalid)?;
    let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(invalid)?;
    // Another writer of the same file has a temporary of its own.
    let temporary = parent.join(format!(".{name}.{}", uuid::Uuid::now_v7().simple()));
    let written = write_new(&temporary, bytes).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        drop(fs::remove_file(&temporary));
    }
    written?;
    File::open(parent)?.sync_all()
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.set_permissions(fs::Permissions::from_mode(0o600))?;
    file.write_all(bytes)?;
    file.sync_all()
}
