//! The state folder: the database, sockets, tokens and what attempts leave, for one user's eyes.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::keeper::folder::check_private;

/// The folders of a daemon, absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Folders {
    /// The folders of the Works.
    pub(super) works: PathBuf,
    /// The folders of the segments.
    pub(super) segments: PathBuf,
}

/// Makes the state folder, readable by its owner alone, and those in it.
///
/// # Errors
/// It cannot be made, or is another user's.
pub(crate) fn make(state: &Path) -> io::Result<Folders> {
    private(state)?;
    check_private(state)?;
    let state = state.canonicalize()?;
    let folders = Folders { works: state.join("works"), segments: state.join("segments") };
    private(&folders.works)?;
    private(&folders.segments)?;
    Ok(folders)
}

/// One that is there already, open to others, is closed: it is meant to hold tokens.
fn private(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    fs::set_permissions(folder, Permissions::from_mode(0o700))
}
