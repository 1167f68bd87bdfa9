//! Unix sockets at paths of any length.
//!
//! A socket's address holds 107 bytes of path, and a state folder may lie deeper than that. So
//! the folder is opened and the socket addressed through `/proc/self/fd`, which is always short.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, open};
use tokio::net::{UnixListener, UnixStream};

/// Listens at `path`, which must not exist. Mode 0600; its folder decides who can reach it before
/// that.
///
/// # Errors
/// The folder is not there, or the path is taken.
pub fn listen(path: &Path) -> io::Result<UnixListener> {
    let (_folder, address) = short(path)?;
    let listener = UnixListener::bind(&address)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Connects to the socket at `path`.
///
/// # Errors
/// There is none, or nobody listens.
pub async fn connect(path: &Path) -> io::Result<UnixStream> {
    let (_folder, address) = short(path)?;
    UnixStream::connect(&address).await
}

/// The folder, which must stay open while the address is used, and the address.
fn short(path: &Path) -> io::Result<(OwnedFd, PathBuf)> {
    let no_name = || io::Error::new(io::ErrorKind::InvalidInput, "a socket needs a file name");
    let name = path.file_name().ok_or_else(no_name)?;
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let folder = open(parent, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let address = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd())).join(name);
    Ok((folder, address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_folder_deeper_than_a_socket_address_is_reached() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let deep = folder.path().join("d".repeat(120)).join("e".repeat(120));
        std::fs::create_dir_all(&deep).expect("folders");
        let path = deep.join("control.sock");
        let listener = listen(&path).expect("it listens");
        connect(&path).await.expect("it connects");
        listener.accept().await.expect("it accepts");
        let mode = std::fs::metadata(&path).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
