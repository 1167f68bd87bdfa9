//! The keeper: a small process that holds one segment's process, so that the daemon may be
//! stopped, killed or upgraded under it. OURS-19
//!
//! It starts the command only when it is told to [`proceed`](protocol::Request::Proceed), which the
//! daemon does once the segment is pinned; if it is let go before that it ends without having
//! started anything. OURS-20 If its daemon dies between pin and start, the next one finds it waiting
//! and goes on. After that it needs nobody: it has a session of its own, the command writes into
//! files, and the exit status goes into a file.
//!
//! # The folder of a segment
//!
//! Mode 0700, named by attempt and epoch. Every file that is replaced is replaced whole.
//!
//! | file | written by | content |
//! |---|---|---|
//! | `keeper.json` | keeper, once | [`folder::KeeperFile`]: version, identity, hash of the secret |
//! | `secret` | keeper, once | what a controller presents; 0600 |
//! | `control.sock` | keeper | the [protocol]; gone when it ends |
//! | `token` | launcher, keeper | the attempt's token, `ABIDE_TOKEN_FILE`; 0600, replaced at adoption |
//! | `request.json` | launcher | `ABIDE_REQUEST` |
//! | `process.json` | keeper, at the start | [`folder::ProcessFile`]: group and start time of the command |
//! | `stdout.log`, `stderr.log` | the command | its bytes as they are |
//! | `result.json` | `abide tool result` | what the process declared |
//! | `exit.json` | keeper, last | [`folder::ExitFile`]: how it ended; nothing of it runs any more |
//! | `keeper.log` | keeper | its own complaints |
//!
//! # Identity
//!
//! A process id proves nothing. A keeper is recognised by boot id, process id and start time, as
//! its daemon recorded them, by being the process that listens on its socket, and by accepting the
//! secret whose hash was recorded. A process of another boot, id or start time is never signalled;
//! one of the recorded identity that cannot be talked to is asked to end, and never adopted. LEASE-15
//!
//! # Ending
//!
//! When the command has exited, or the keeper is told to stop, everything below the keeper is
//! asked to end (`SIGTERM`), then forced (`SIGKILL`): the command's process group, and whatever
//! left that group. The keeper is the reaper of its descendants, so nothing escapes by losing its
//! parent. Only when no child is left is `exit.json` written.

pub mod client;
mod control;
pub mod folder;
mod hold;
pub mod identity;
pub mod orphans;
pub mod processes;
pub mod protocol;
pub mod socket;

pub use hold::{KeeperError, keep};

/// Version of the folder's files and of the protocol.
pub const VERSION: u32 = 1;
