//! What the worker's own record, the database and the plan say together: nothing done twice, nothing lost.

use std::collections::{BTreeMap, BTreeSet};

use abide::domain::{AttemptStatus, MarkKind, WorkStatus};
use abide::store::Observation;
use abide::store::observe::SeenWork;
use serde::Deserialize;

use crate::ground::Sent;

/// One line of the worker's record.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Line {
    pub(crate) what: What,
    pub(crate) work: String,
    pub(crate) attempt: u32,
    pub(crate) epoch: u64,
    pub(crate) reason: Reason,
    pub(crate) pid: i32,
    pub(crate) at: u64,
    #[serde(default)]
    pub(crate) seen: Vec<i64>,
}

/// What the worker did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum What {
    /// It began.
    Start,
    /// It found that another process works on its Work.
    Overlap,
    /// It did something that cannot be undone.
    Effect,
    /// It came to its end.
    End,
}

/// Why a segment was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reason {
    Start,
    Next,
    Resume,
}

impl Line {
    pub(crate) fn read(line: &str) -> serde_json::Result<Self> {
        serde_json::from_str(line)
    }
}

/// What is wrong, in sentences.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Accounts {
    /// What ran twice, or beside another.
    pub(crate) doubles: Vec<String>,
    /// What was accepted and came to nothing, or came to an end that nothing did.
    pub(crate) losses: Vec<String>,
}

/// What a Work ends with if nothing but a daemon was killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Course {
    /// How it ends.
    pub(crate) ends: WorkStatus,
    /// Segments that are started, in order.
    pub(crate) segments: &'static [(u32, Reason)],
    /// Effects of all of them.
    pub(crate) effects: usize,
}

/// One attempt that completes.
pub(crate) const ONCE: Course =
    Course { ends: WorkStatus::Completed, segments: &[(1, Reason::Start)], effects: 3 };

/// One attempt that parks and goes on after its wake.
pub(crate) const RESUMED: Course = Course {
    ends: WorkStatus::Completed,
    segments: &[(1, Reason::Start), (1, Reason::Resume)],
    effects: 3,
};

/// One attempt that fails, and the next.
pub(crate) const AGAIN: Course = Course {
    ends: WorkStatus::Completed,
    segments: &[(1, Reason::Start), (2, Reason::Next)],
    effects: 6,
};

/// One attempt that is stopped.
pub(crate) const CANCELLED: Course =
    Course { ends: WorkStatus::Cancelled, segments: &[(1, Reason::Start)], effects: 3 };

/// Holds the record against the database. Nothing here knows when anything happened.
pub(crate) fn account(seen: &Observation, log: &[Line], sent: &BTreeMap<String, Sent>) -> Accounts {
    let mut accounts = Accounts::default();
    doubles(log, &mut accounts.doubles);
    for work in &seen.works {
        lost_ends(work, log, &mut accounts.losses);
    }
    for (id, sent) in sent.iter().filter(|(_, sent)| sent.is_input) {
        lost_input(seen, log, id, sent, &mut accounts.losses);
    }
    accounts
}

/// Holds Works against the course that no kill of a daemon may change; those without one are passed over.
pub(crate) fn hold_to_course(
    seen: &Observation,
    log: &[Line],
    course_of: impl Fn(&SeenWork) -> Option<Course>,
) -> Accounts {
    let mut accounts = Accounts::default();
    for work in &seen.works {
        let Some(course) = course_of(work) else { continue };
        let own = || log.iter().filter(|line| line.work == work.uid);
        let started: Vec<(u32, Reason)> = own()
            .filter(|line| line.what == What::Start)
            .map(|line| (line.attempt, line.reason))
            .collect();
        let effects = own().filter(|line| line.what == What::Effect).count();
        let cancelled = course.ends == WorkStatus::Cancelled;
        if work.status != course.ends {
            accounts.losses.push(format!("{} is {:?}", work.uid, work.status));
        }
        let (more, less) = (started.len() > course.segments.len(), effects < course.effects);
        if more || effects > course.effects {
            accounts.doubles.push(format!("{}: {started:?} and {effects} effects", work.uid));
        } else if !cancelled && (started != course.segments || less) {
            accounts.losses.push(format!("{}: {started:?} and {effects} effects", work.uid));
        }
    }
    accounts
}

fn doubles(log: &[Line], doubles: &mut Vec<String>) {
    let mut claims = BTreeSet::new();
    let mut fresh = BTreeSet::new();
    for line in log {
        let Line { work, attempt, epoch, .. } = line;
        match line.what {
            What::Overlap => {
                doubles.push(format!("{work}: attempt {attempt} ran beside another process"));
            }
            What::Start => {
                if !claims.insert((work, attempt, epoch)) {
                    doubles.push(format!("{work}: claim {attempt}/{epoch} started twice"));
                }
                if line.reason != Reason::Resume && !fresh.insert((work, attempt)) {
                    doubles.push(format!("{work}: attempt {attempt} started twice"));
                }
            }
            What::Effect | What::End => {}
        }
    }
}

/// A Work that says it is completed was worked on to its end, by that attempt.
fn lost_ends(work: &SeenWork, log: &[Line], losses: &mut Vec<String>) {
    let Some(attempt) = &work.attempt else { return };
    if work.status != WorkStatus::Completed || attempt.status != AttemptStatus::Completed {
        return;
    }
    let ended = log
        .iter()
        .any(|line| line.what == What::End && line.work == work.uid && line.attempt == attempt.n.0);
    if !ended {
        losses.push(format!("{} is completed, and attempt {} never ended", work.uid, attempt.n));
    }
    if !work.pending.is_empty() {
        losses.push(format!("{} is completed and has input: {:?}", work.uid, work.pending));
    }
}

/// An event that was accepted is in a Work, and a process that went on to the end knew of it.
fn lost_input(seen: &Observation, log: &[Line], id: &str, sent: &Sent, losses: &mut Vec<String>) {
    let Some(event) = seen.events.iter().find(|event| event.seq == sent.seq) else {
        losses.push(format!("event {id} was answered {} and is not there", sent.seq));
        return;
    };
    let is_input = matches!(event.mark, Some(MarkKind::Queued | MarkKind::Woke));
    let work = seen.works.iter().find(|work| event.work == Some(work.work));
    let cancelled = work.is_some_and(|work| work.status == WorkStatus::Cancelled);
    if event.mark == Some(MarkKind::Terminal) && cancelled {
        return;
    }
    let Some(work) = work.filter(|_| is_input) else {
        losses.push(format!("event {id} is in no work: {event:?}"));
        return;
    };
    if work.status != WorkStatus::Completed {
        return;
    }
    if !work.consumed.iter().any(|input| input.event == event.seq) {
        losses.push(format!("event {id} was handed to no attempt of {}", work.uid));
    }
    let knew = log.iter().any(|line| {
        line.what == What::Start && line.work == work.uid && line.seen.contains(&event.seq.0)
    });
    if !knew {
        losses.push(format!("event {id} was seen by no process of {}", work.uid));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(what: What, attempt: u32, epoch: u64, reason: Reason) -> Line {
        let (work, pid, at, seen) = ("work_1".to_owned(), 7, 0, vec![1]);
        Line { what, work, attempt, epoch, reason, pid, at, seen }
    }

    fn doubles_of(log: &[Line]) -> usize {
        let mut found = Vec::new();
        doubles(log, &mut found);
        found.len()
    }

    #[test]
    fn what_is_done_twice_is_found() {
        use Reason::{Next, Resume, Start};
        let start = |attempt, epoch, reason| line(What::Start, attempt, epoch, reason);
        let sound = [start(1, 1, Start), start(1, 2, Resume), start(2, 3, Next)];
        assert_eq!(doubles_of(&sound), 0);
        assert_eq!(doubles_of(&[start(1, 1, Start), start(1, 2, Start)]), 1, "one attempt, twice");
        assert_eq!(doubles_of(&[start(1, 2, Resume), start(1, 2, Resume)]), 1, "one claim, twice");
        assert_eq!(doubles_of(&[start(1, 1, Start), line(What::Overlap, 2, 2, Next)]), 1);
    }
}
