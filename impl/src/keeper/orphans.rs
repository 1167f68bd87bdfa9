//! Ends what a killed keeper left behind, and nothing else.
//!
//! A process is the segment's if it is in the group of the recorded leader while that leader, by
//! its start time, is still there, or if it carries the segment's own `ABIDE_TOKEN_FILE` in its
//! environment. If the leader's id is somebody else's by now then the group is gone: an id is not
//! given out while it names a group. Only a group without a leader whose members have shed their
//! environment stays in doubt, and it is reported, not signalled. LEASE-15

use std::os::unix::ffi::OsStrExt;
use std::time::Duration;
use std::{fs, io};

use super::folder::Folder;
use super::identity::{Identity, Stat, boot_id};
use super::processes::{after, stop_all};
use crate::extension::executor::{StopError, Stopped};

/// Ends every process of a segment whose keeper is gone, and sees them exit.
///
/// # Errors
/// [`StopError::Unverifiable`] if some stay in doubt; the proved ones are stopped all the same.
pub async fn stop(
    folder: &Folder,
    keeper: &Identity,
    grace: Duration,
) -> Result<Stopped, StopError> {
    let nothing = Stopped { signalled: false, forced: false };
    if boot_id()? != keeper.boot_id {
        return Ok(nothing);
    }
    let leader = folder.read_process()?.map(|process| process.leader);
    let deadline = after(grace);
    let mut stopped = nothing;
    loop {
        let more = stop_all(|| Ok(find(folder, leader.as_ref())?.ours), deadline).await?;
        stopped.signalled |= more.signalled;
        stopped.forced |= more.forced;
        // `/proc` is not read at one instant: a second look finds what a first one missed.
        let found = find(folder, leader.as_ref())?;
        if found.ours.is_empty() {
            return found
                .doubtful
                .is_empty()
                .then_some(stopped)
                .ok_or_else(|| unverifiable(&found));
        }
    }
}

fn unverifiable(found: &Found) -> StopError {
    StopError::Unverifiable { pids: found.doubtful.iter().map(|stat| stat.pid).collect() }
}

struct Found {
    ours: Vec<Stat>,
    doubtful: Vec<Stat>,
}

/// What became of the command that led the group.
enum Leader {
    Unrecorded,
    /// It is there, or its zombie is: the group is the segment's.
    There(i32),
    /// Its id is somebody else's: the group is gone.
    Replaced,
    /// It has exited; its group may have outlived it.
    Gone(i32),
}

fn find(folder: &Folder, leader: Option<&Identity>) -> io::Result<Found> {
    Ok(sort_out(Stat::all()?, leader, |pid| is_marked(pid, folder)))
}

fn sort_out(all: Vec<Stat>, leader: Option<&Identity>, is_marked: impl Fn(i32) -> bool) -> Found {
    let leader = leader_now(&all, leader);
    let mut found = Found { ours: Vec::new(), doubtful: Vec::new() };
    for stat in all.into_iter().filter(Stat::runs) {
        let proved = matches!(leader, Leader::There(group) if group == stat.group);
        if proved || is_marked(stat.pid) {
            found.ours.push(stat);
        } else if matches!(leader, Leader::Gone(group) if group == stat.group) {
            found.doubtful.push(stat);
        }
    }
    found
}

fn leader_now(all: &[Stat], leader: Option<&Identity>) -> Leader {
    let Some(leader) = leader else { return Leader::Unrecorded };
    match all.iter().find(|stat| stat.pid == leader.pid) {
        Some(stat) if stat.start_time == leader.start_time => Leader::There(leader.pid),
        Some(_) => Leader::Replaced,
        None => Leader::Gone(leader.pid),
    }
}

/// Whether a process carries this segment's token file in its environment. The folder's name holds
/// the attempt's unique id, so it is compared, and not where the folder happens to lie.
fn is_marked(pid: i32, folder: &Folder) -> bool {
    let Some(name) = folder.path().file_name() else { return false };
    let ending = [b"/", name.as_bytes(), b"/token"].concat();
    // Not ours to read is not ours to stop.
    let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) else { return false };
    environment
        .split(|byte| *byte == 0)
        .any(|entry| entry.starts_with(b"ABIDE_TOKEN_FILE=") && entry.ends_with(&ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEADER: i32 = 10;

    fn process(pid: i32, group: i32, start_time: u64, state: char) -> Stat {
        Stat { pid, state, parent: 1, group, session: 5, threads: 1, start_time }
    }

    /// Ids of what is ours, and of what is in doubt; 12 and 30 carry the token file.
    fn sorted(leader: Option<Stat>) -> (Vec<i32>, Vec<i32>) {
        let others = [
            process(11, LEADER, 101, 'S'),
            process(12, LEADER, 102, 'S'),
            process(13, LEADER, 103, 'Z'),
            process(20, 20, 104, 'S'),
            process(30, 30, 105, 'S'),
        ];
        let recorded = Identity { boot_id: String::new(), pid: LEADER, start_time: 100 };
        let all = leader.into_iter().chain(others).collect();
        let found = sort_out(all, Some(&recorded), |pid| [12, 30].contains(&pid));
        let pids = |stats: Vec<Stat>| stats.iter().map(|stat| stat.pid).collect();
        (pids(found.ours), pids(found.doubtful))
    }

    #[test]
    fn a_leader_that_is_there_proves_its_group_even_as_a_zombie() {
        let running = process(LEADER, LEADER, 100, 'S');
        assert_eq!(sorted(Some(running)), (vec![10, 11, 12, 30], vec![]));
        let zombie = process(LEADER, LEADER, 100, 'Z');
        assert_eq!(sorted(Some(zombie)), (vec![11, 12, 30], vec![]));
    }

    #[test]
    fn a_stranger_under_the_leaders_id_means_that_the_group_is_gone() {
        let stranger = process(LEADER, LEADER, 999, 'S');
        assert_eq!(sorted(Some(stranger)), (vec![12, 30], vec![]));
    }

    #[test]
    fn a_group_without_its_leader_is_in_doubt_but_for_the_marked() {
        assert_eq!(sorted(None), (vec![12, 30], vec![11]));
    }
}
