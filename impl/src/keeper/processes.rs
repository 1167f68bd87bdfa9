//! Processes that are not our children: signalled and awaited by handle, never by number.

use std::collections::HashSet;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::{Instant, timeout_at};

use super::identity::{Identity, Stat, boot_id};
use crate::extension::executor::Stopped;

/// A process that cannot turn into another one.
#[derive(Debug)]
pub struct Handle(AsyncFd<OwnedFd>);

impl Handle {
    /// A handle on the process that has this id and this start time; `None` if there is none.
    ///
    /// # Errors
    /// The system gives no handle. Needs a tokio runtime.
    pub fn open(pid: i32, start_time: u64) -> io::Result<Option<Self>> {
        let Some(id) = Pid::from_raw(pid) else { return Ok(None) };
        let fd = match pidfd_open(id, PidfdFlags::empty()) {
            Ok(fd) => fd,
            Err(Errno::SRCH) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        // The id may have been someone else's when the handle was made: look again.
        match Stat::read(pid)? {
            Some(stat) if stat.start_time == start_time => Ok(Some(Self(watched(fd)?))),
            _ => Ok(None),
        }
    }

    /// A handle on the process of this identity, if it is of this boot and still there.
    ///
    /// # Errors
    /// As [`Handle::open`].
    pub fn of(identity: &Identity) -> io::Result<Option<Self>> {
        if boot_id()? != identity.boot_id {
            return Ok(None);
        }
        Self::open(identity.pid, identity.start_time)
    }

    /// Sends a signal. A process that has ended needs none; one that is no longer of our user
    /// cannot be given one, and then only its own end is waited for.
    ///
    /// # Errors
    /// The system does not send it.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        match pidfd_send_signal(self.0.get_ref(), signal) {
            Ok(()) | Err(Errno::SRCH | Errno::PERM) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Resolves when the process has ended.
    ///
    /// # Errors
    /// The handle cannot be watched.
    pub async fn ended(&self) -> io::Result<()> {
        self.0.readable().await.map(drop)
    }
}

/// Registers a handle with the runtime.
#[expect(
    deprecated,
    reason = "its successor is unsafe because of types that may swap their descriptor; an `OwnedFd` \
              that nobody else holds cannot"
)]
fn watched(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(fd, Interest::READABLE)
}

/// Ends everything that `find` finds: asks each once, then, from `deadline` on, forces. Returns
/// when `find` finds nothing. What is started meanwhile is found by looking again.
///
/// # Errors
/// `find` fails, or the system gives no handle.
pub async fn stop_all(
    mut find: impl FnMut() -> io::Result<Vec<Stat>>,
    deadline: Instant,
) -> io::Result<Stopped> {
    let mut asked = HashSet::new();
    let mut stopped = Stopped { signalled: false, forced: false };
    loop {
        let found = find()?;
        if found.is_empty() {
            return Ok(stopped);
        }
        stopped.signalled = true;
        stopped.forced |= Instant::now() >= deadline;
        let handles = signal_each(&found, &mut asked, stopped.forced)?;
        if stopped.forced {
            all_ended(&handles).await?;
        } else if let Ok(ended) = timeout_at(deadline, all_ended(&handles)).await {
            ended?;
        }
    }
}

fn signal_each(
    found: &[Stat],
    asked: &mut HashSet<(i32, u64)>,
    force: bool,
) -> io::Result<Vec<Handle>> {
    let mut handles = Vec::with_capacity(found.len());
    for stat in found {
        let Some(handle) = Handle::open(stat.pid, stat.start_time)? else { continue };
        if force {
            handle.signal(Signal::KILL)?;
        } else if asked.insert((stat.pid, stat.start_time)) {
            handle.signal(Signal::TERM)?;
        }
        handles.push(handle);
    }
    Ok(handles)
}

async fn all_ended(handles: &[Handle]) -> io::Result<()> {
    for handle in handles {
        handle.ended().await?;
    }
    Ok(())
}

/// So long from now; what does not fit is as good as never.
#[must_use]
pub fn after(grace: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(grace).unwrap_or(now + Duration::from_secs(365 * 24 * 3600))
}

/// What runs below `ancestor`.
///
/// `/proc` is not read at one instant, so a process may be missed whose parent ends meanwhile: an
/// empty answer is a hint, and "no child is left" the proof.
///
/// # Errors
/// `/proc` cannot be read.
pub fn running_below(ancestor: i32) -> io::Result<Vec<Stat>> {
    let all = Stat::all()?;
    let mut below = HashSet::from([ancestor]);
    let mut known = 0;
    // A child may be listed before its parent: repeat until nothing is added.
    while known < below.len() {
        known = below.len();
        for stat in &all {
            if below.contains(&stat.parent) {
                below.insert(stat.pid);
            }
        }
    }
    below.remove(&ancestor);
    Ok(all.into_iter().filter(|stat| stat.runs() && below.contains(&stat.pid)).collect())
}
