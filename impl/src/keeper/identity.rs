//! Who a process is, for longer than its id is its own.

use std::{fs, io};

use serde::{Deserialize, Serialize};

/// A process of one boot of one machine. No two processes ever share it. LEASE-15
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The boot it belongs to.
    pub boot_id: String,
    /// Its id.
    pub pid: i32,
    /// When it started, in clock ticks since that boot.
    pub start_time: u64,
}

impl Identity {
    /// This process.
    ///
    /// # Errors
    /// `/proc` cannot be read.
    pub fn current() -> io::Result<Self> {
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        let stat = Stat::read(pid)?
            .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "/proc does not show us"))?;
        Ok(Self { boot_id: boot_id()?, pid, start_time: stat.start_time })
    }

    /// Whether this very process still runs; a zombie does not.
    ///
    /// # Errors
    /// `/proc` cannot be read.
    pub fn is_alive(&self) -> io::Result<bool> {
        if boot_id()? != self.boot_id {
            return Ok(false);
        }
        let stat = Stat::read(self.pid)?;
        Ok(stat.is_some_and(|stat| stat.start_time == self.start_time && stat.runs()))
    }
}

/// The id of this boot.
///
/// # Errors
/// `/proc` cannot be read.
pub fn boot_id() -> io::Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

/// What `/proc/PID/stat` says of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// Its id.
    pub pid: i32,
    /// One letter; `Z` and `X` are dead.
    pub state: char,
    /// Its parent.
    pub parent: i32,
    /// Its process group.
    pub group: i32,
    /// Its session.
    pub session: i32,
    /// How many threads it has.
    pub threads: u32,
    /// When it started, in clock ticks since boot.
    pub start_time: u64,
}

impl Stat {
    /// Reads one process; `None` if there is none that we may see.
    ///
    /// # Errors
    /// `/proc` cannot be read, or says something unknown.
    pub fn read(pid: i32) -> io::Result<Option<Self>> {
        match fs::read(format!("/proc/{pid}/stat")) {
            Ok(bytes) => Self::parse(&String::from_utf8_lossy(&bytes))
                .map(Some)
                .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "unknown /proc stat")),
            Err(error) if is_gone(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Every process.
    ///
    /// # Errors
    /// `/proc` cannot be read.
    pub fn all() -> io::Result<Vec<Self>> {
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc")? {
            let name = entry?.file_name();
            let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
            found.extend(Self::read(pid)?);
        }
        Ok(found)
    }

    /// Reads the line. The name, in parentheses, may itself hold spaces and parentheses.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let (head, tail) = line.rsplit_once(')')?;
        let (pid, _name) = head.split_once('(')?;
        let fields: Vec<&str> = tail.split_whitespace().collect();
        Some(Self {
            pid: pid.trim().parse().ok()?,
            state: fields.first()?.chars().next()?,
            parent: fields.get(1)?.parse().ok()?,
            group: fields.get(2)?.parse().ok()?,
            session: fields.get(3)?.parse().ok()?,
            threads: fields.get(17)?.parse().ok()?,
            start_time: fields.get(19)?.parse().ok()?,
        })
    }

    /// Whether it still runs. A process whose first thread has ended shows as a zombie while its
    /// other threads go on.
    #[must_use]
    pub fn runs(&self) -> bool {
        !matches!(self.state, 'Z' | 'X' | 'x') || self.threads > 1
    }
}

/// A process that ended between two looks, or that `/proc` hides from our user.
fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied)
        || error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_spaces_and_parentheses_is_no_field() {
        let line = "7 (a) b (c) S 1 2 3 0 -1 4 0 0 0 0 0 0 0 0 20 0 5 0 99 1 1";
        let stat = Stat::parse(line).expect("it is a line of /proc");
        assert_eq!((stat.pid, stat.parent, stat.group, stat.session), (7, 1, 2, 3));
        assert_eq!((stat.threads, stat.start_time), (5, 99));
    }

    #[test]
    fn this_process_is_alive_and_its_namesakes_are_not() {
        let me = Identity::current().expect("/proc is there");
        assert!(me.is_alive().expect("/proc is there"));
        let other_start = Identity { start_time: me.start_time + 1, ..me.clone() };
        assert!(!other_start.is_alive().expect("/proc is there"));
        let other_boot = Identity { boot_id: "another".into(), ..me };
        assert!(!other_boot.is_alive().expect("/proc is there"));
    }

    #[test]
    fn a_zombie_with_live_threads_runs() {
        let zombie =
            Stat::parse("7 (a) Z 1 7 7 0 -1 4 0 0 0 0 0 0 0 0 20 0 2 0 99").expect("a line");
        assert!(zombie.runs());
        assert!(!Stat { threads: 1, ..zombie }.runs());
    }
}
