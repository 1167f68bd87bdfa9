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
//! | `inbox.ndjson` | launcher, then keeper | [`inbox::Entry`] a line: what the command is given to read, accepted once it is here |
//! | `events.ndjson` | keeper | `ABIDE_INBOX`: the lines of the inbox, for a command that reads them in a file |
//! | `acks.ndjson` | `abide tool ack` | [`acks::Ack`] a line: which of them the command has taken in |
//! | `interrupt.json` | keeper | [`folder::InterruptFile`]: it was told that the command is to be stopped |
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
//! # Input
//!
//! A command that is launched to read input has its standard input held open, or a file that grows.
//! A controller adds lines; each is durable before it is accepted, has an id, so that a daemon that
//! does not know whether it was heard says it again, and is written in order, as fast as the command
//! reads. Which were accepted is in the folder, and how many were written is in `exit.json`. OURS-19
//!
//! That a line was accepted or written is no word on whether the command took it in: only the command
//! says that. One that reads a file says it with `abide tool ack`, which writes into the folder and
//! needs neither keeper nor daemon, so that it outlives both. EXEC-05 EXEC-07 EXEC-11
//!
//! # Versions
//!
//! Files carry the version of the build that wrote them, and [`protocol`] says how two builds
//! agree. A daemon reads whatever a keeper of any version from [`OLDEST`] on leaves. The keeper is
//! started from the daemon's own image, not from whatever lies at its path by then, so that a
//! replaced or deleted program changes nothing for a daemon that still runs.
//!
//! # Ending
//!
//! When the command has exited, or the keeper is told to stop, everything below the keeper is
//! asked to end (`SIGTERM`), then forced (`SIGKILL`): the command's process group, and whatever
//! left that group. The keeper is the reaper of its descendants, so nothing escapes by losing its
//! parent. Only when no child is left is `exit.json` written.

pub mod acks;
pub mod client;
mod control;
pub mod events;
pub mod folder;
mod hold;
pub mod identity;
pub mod inbox;
pub mod orphans;
pub mod processes;
pub mod protocol;
pub mod socket;

pub use hold::{KeeperError, keep};

/// The highest version of the folder's files and of the protocol that this build knows.
pub const VERSION: u32 = 3;

/// The lowest one. It stays what it is for as long as a keeper of that version may live.
pub const OLDEST: u32 = 1;
