//! Why a Work is where it is: one sentence and, where one would help, the command that moves it.
//! A function of what was read, so that every state can be asked in a test.

use crate::api::text::printable;
use crate::domain::{Hold, Millis, Phase, Seq, StartReason, WorkStatus};
use crate::store::attempts::Attempt;
use crate::store::pages::WorkRow;
use crate::store::reads::ListedWait;

/// A sentence, and the next command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reason {
    pub(super) sentence: String,
    pub(super) next: Option<String>,
}

/// What the sentence about a Work is made from.
#[derive(Debug)]
pub(super) struct Facts<'a> {
    pub(super) row: &'a WorkRow,
    /// Its last attempt.
    pub(super) attempt: Option<&'a Attempt>,
    /// Its last wait.
    pub(super) wait: Option<&'a ListedWait>,
    /// A causal limit refused that wait's deadline.
    pub(super) disabled: bool,
    /// Attempts running in its scope, and how many may.
    pub(super) running: i64,
    pub(super) capacity: u32,
    /// The lowest unrouted event of it.
    pub(super) unrouted: Option<Seq>,
    /// What the daemon knows besides.
    pub(super) trouble: Option<String>,
    pub(super) now: Millis,
}

/// The short form that a list shows.
pub(super) fn of_row(row: &WorkRow, trouble: Option<String>) -> String {
    if let Some(trouble) = trouble {
        return trouble;
    }
    let work = &row.work;
    match work.status {
        WorkStatus::Ready => match (work.hold, work.marked) {
            (Some(hold), _) => held(hold, work.reason.as_deref()),
            (None, Some(_)) => {
                "the process of an earlier segment has not been seen to exit".to_owned()
            }
            (None, None) if starts(row) => "waits for its turn".to_owned(),
            (None, None) => "nothing asks for another attempt".to_owned(),
        },
        WorkStatus::Running => format!("attempt {} is running", number(row)),
        WorkStatus::Waiting => "waits for an event or its deadline".to_owned(),
        WorkStatus::Completed => format!("attempt {} completed it", number(row)),
        WorkStatus::Failed => ended("it failed", work.reason.as_deref()),
        WorkStatus::Cancelled => ended("it was cancelled", work.reason.as_deref()),
    }
}

/// The whole sentence.
pub(super) fn of_work(facts: &Facts<'_>) -> Reason {
    let work = &facts.row.work;
    let uid = work.uid;
    let reason = match work.status {
        WorkStatus::Ready => ready(facts),
        WorkStatus::Running => running(facts),
        WorkStatus::Waiting => waiting(facts),
        WorkStatus::Completed => {
            let sentence = format!("it is over: attempt {} completed it", number(facts.row));
            over(facts, sentence)
        }
        WorkStatus::Failed => over(facts, ended("it is over: it failed", work.reason.as_deref())),
        WorkStatus::Cancelled => {
            over(facts, ended("it is over: it was cancelled", work.reason.as_deref()))
        }
    };
    let sentence = match (&facts.trouble, work.status.is_terminal()) {
        (Some(trouble), _) => format!("{}; {}", reason.sentence, printable(trouble)),
        (None, _) => reason.sentence,
    };
    let next = reason.next.map(|next| next.replace("WORK", &uid.to_string()));
    Reason { sentence, next }
}

fn ready(facts: &Facts<'_>) -> Reason {
    let work = &facts.row.work;
    if let Some(hold) = work.hold {
        let sentence = format!(
            "{}; this version lifts no hold: read what it printed, and cancel it to be done with it",
            held(hold, work.reason.as_deref())
        );
        return Reason { sentence, next: Some("abide work logs WORK".to_owned()) };
    }
    if let Some(segment) = work.marked {
        let sentence = format!(
            "it is ready, and the process of attempt {} (claim {}) has not been seen to exit, so \
             nothing new starts over it",
            segment.attempt, segment.epoch
        );
        return Reason { sentence, next: Some("abide work logs WORK".to_owned()) };
    }
    if !starts(facts.row) {
        let sentence = match facts.unrouted {
            Some(seq) => {
                format!("it is ready and has no input; event {seq} of it is not routed yet")
            }
            None => "it is ready, and nothing asks for another attempt: it has no input".to_owned(),
        };
        let next = facts.unrouted.map(|seq| format!("abide why {seq}"));
        return Reason { sentence, next };
    }
    let since = work.since;
    if facts.running >= i64::from(facts.capacity) {
        let sentence = format!(
            "it is ready since {since} and waits for room: {} of {} attempts of scope `{}` are \
             running",
            facts.running, facts.capacity, facts.row.scope
        );
        return Reason { sentence, next: Some("abide work list --status running".to_owned()) };
    }
    let sentence = format!("it is ready since {since} and about to start");
    Reason { sentence, next: Some("abide work show WORK".to_owned()) }
}

fn running(facts: &Facts<'_>) -> Reason {
    let Some(attempt) = facts.attempt else {
        return Reason { sentence: "it is running".to_owned(), next: None };
    };
    let n = attempt.n;
    let doing = match attempt.phase {
        Some(Phase::NeverHanded) => format!("attempt {n} is claimed and about to be launched"),
        Some(Phase::Handed) => format!("attempt {n} is being launched"),
        Some(Phase::Pinned) => format!("attempt {n} is running"),
        Some(Phase::Recovering) => format!("attempt {n} is being taken over"),
        None => format!("attempt {n} is running"),
    };
    let how = match attempt.reason {
        StartReason::Start | StartReason::Next => "",
        StartReason::Resume => " after its wake",
    };
    let lease = match attempt.expires_at {
        Some(at) if at <= facts.now => {
            format!("its lease ended at {at}, so it is taken over next")
        }
        Some(at) => format!("claim {}, lease until {at}", attempt.epoch),
        None => format!("claim {}", attempt.epoch),
    };
    let sentence = format!("{doing}{how} ({lease})");
    Reason { sentence, next: Some("abide work logs WORK".to_owned()) }
}

fn waiting(facts: &Facts<'_>) -> Reason {
    let Some(found) = facts.wait else {
        return Reason { sentence: "it waits".to_owned(), next: None };
    };
    let wait = &found.wait;
    let keys: Vec<String> = found.keys.iter().map(super::rows::key).collect();
    let what = match (keys.is_empty(), found.types.is_empty()) {
        (true, _) => "for its deadline alone".to_owned(),
        (false, true) => format!("for any event on {}", keys.join(" or ")),
        (false, false) => format!("for {} on {}", found.types.join(" or "), keys.join(" or ")),
    };
    let until = match wait.fire_at {
        Some(at) if facts.disabled => {
            format!("and its deadline {at} is disabled: a causal limit refused it")
        }
        Some(at) => format!("until {at}"),
        None => "without a deadline".to_owned(),
    };
    let marked =
        facts.row.work.marked.map_or("", |_| "; its process has not been seen to exit yet");
    let sentence = format!("it waits {what}, after event {}, {until}{marked}", wait.after);
    let next = found.keys.first().map(|key| {
        let kind = found.types.first().map_or("TYPE", String::as_str);
        format!("abide emit --source {} --key {} --type {kind}", key.source, key.external_id)
    });
    Reason { sentence, next }
}

fn over(facts: &Facts<'_>, sentence: String) -> Reason {
    let stopping = facts.row.work.marked.map(|segment| {
        format!("{sentence}; the process of attempt {} is being stopped", segment.attempt)
    });
    Reason { sentence: stopping.unwrap_or(sentence), next: Some("abide work show WORK".to_owned()) }
}

fn held(hold: Hold, why: Option<&str>) -> String {
    match hold {
        Hold::Exhausted => ended("it is held, because its last attempt failed", why),
        Hold::CausalLimit => {
            ended("it is held, because its chain of events is as deep as its root allows", why)
        }
    }
}

fn ended(what: &str, why: Option<&str>) -> String {
    match why.map(printable).filter(|why| !why.trim().is_empty()) {
        Some(why) => format!("{what}: {why}"),
        None => what.to_owned(),
    }
}

const fn starts(row: &WorkRow) -> bool {
    row.work.pending_count > 0 || row.work.next_trigger.is_some()
}

fn number(row: &WorkRow) -> String {
    row.work.attempt.map_or("?".to_owned(), |n| n.to_string())
}

#[cfg(test)]
mod tests;
