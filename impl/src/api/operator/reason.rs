//! Why a Work is where it is: one sentence and, where one would help, the command that moves it.
//! A function of what was read, so that every state can be asked in a test.

use super::controls::under_way;
use crate::api::text::printable;
use crate::config::length;
use crate::domain::{AttemptStatus, Duration, Hold, Millis, Phase, Seq, StartReason, WorkStatus};
use crate::store::attempts::Attempt;
use crate::store::intents::Intent;
use crate::store::listed::{ListedSubscription, Relatives};
use crate::store::pages::WorkRow;
use crate::store::reads::ListedWait;
use crate::store::words::Word as _;

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
    /// The scope, its own or one above it, that runs as many attempts as it may.
    pub(super) full: Option<Full>,
    /// What its last wait subscribes to.
    pub(super) source: Option<&'a ListedSubscription>,
    /// What its running attempt is about to be told.
    pub(super) control: Option<&'a Intent>,
    /// What waits for the end of its running attempt, and holds that up.
    pub(super) holds_up: Option<&'a Reason>,
    /// The Works it stands in relation to.
    pub(super) relatives: Relatives,
    /// The lowest unrouted event of it.
    pub(super) unrouted: Option<Seq>,
    /// The restore hold stands.
    pub(super) restored: bool,
    /// Why the daemon starts nothing at all at present.
    pub(super) pause: Option<Pause>,
    /// What the daemon knows besides.
    pub(super) trouble: Option<String>,
    pub(super) now: Millis,
}

/// Why a daemon claims nothing, whatever is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pause {
    /// It drains.
    Draining,
    /// It stops.
    Stopping,
    /// Nothing can be committed.
    Storage,
}

/// A scope without room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Full {
    pub(super) scope: String,
    pub(super) running: u32,
    pub(super) limit: u32,
}

/// The short form that a list shows.
pub(super) fn of_row(row: &WorkRow, trouble: Option<String>, now: Millis) -> String {
    if let Some(trouble) = trouble {
        return trouble;
    }
    let work = &row.work;
    let reason = match work.status {
        WorkStatus::Ready if !work.holds.is_empty() => return held(row),
        WorkStatus::Ready if work.backoff.is_some() => ended(&retried(row, now), last_reason(row)),
        WorkStatus::Ready if work.marked.is_some() => {
            "the process of an earlier segment has not been seen to exit".to_owned()
        }
        WorkStatus::Ready if starts(row) => "waits for its turn".to_owned(),
        WorkStatus::Ready => quiet(row),
        WorkStatus::Running => format!("attempt {} is running", number(row)),
        WorkStatus::Waiting => "waits for an event or its deadline".to_owned(),
        WorkStatus::Completed => format!("attempt {} completed it", number(row)),
        WorkStatus::Failed => ended("it failed", work.reason.as_deref()),
        WorkStatus::Cancelled => cancelled(row, "it was cancelled"),
    };
    if work.holds.is_empty() { reason } else { format!("{reason}; {}", held(row)) }
}

/// Nothing asks for another attempt: what else is so.
fn quiet(row: &WorkRow) -> String {
    match row.work.idle_at {
        Some(at) => format!("idle after a handoff, and closed at {at} should nothing come"),
        None if row.work.standing => "stands, and nothing asks for another attempt".to_owned(),
        None => "nothing asks for another attempt".to_owned(),
    }
}

fn cancelled(row: &WorkRow, what: &str) -> String {
    match row.work.closed_by {
        Some(seq) => format!("{what}: event {seq} closed it"),
        None => ended(what, row.work.reason.as_deref()),
    }
}

/// The whole sentence.
pub(super) fn of_work(facts: &Facts<'_>) -> Reason {
    let work = &facts.row.work;
    let reason = match work.status {
        WorkStatus::Ready => ready(facts),
        WorkStatus::Running => running(facts),
        WorkStatus::Waiting => waiting(facts),
        WorkStatus::Completed => {
            let sentence = format!("it is over: attempt {} completed it", number(facts.row));
            over(facts, sentence)
        }
        WorkStatus::Failed => over(facts, ended("it is over: it failed", work.reason.as_deref())),
        WorkStatus::Cancelled => over(facts, cancelled(facts.row, "it is over: it was cancelled")),
    };
    let reason = still_held(facts, reason);
    let sentence = match (&facts.trouble, work.status.is_terminal()) {
        (Some(trouble), _) => format!("{}; {}", reason.sentence, printable(trouble)),
        (None, _) => reason.sentence,
    };
    Reason { sentence, next: reason.next }
}

/// A hold on Work that runs or waits: what is under way goes on, and nothing starts after it.
fn still_held(facts: &Facts<'_>, reason: Reason) -> Reason {
    let work = &facts.row.work;
    match work.status {
        WorkStatus::Running | WorkStatus::Waiting if !work.holds.is_empty() => Reason {
            sentence: format!("{}; nothing starts after it: {}", reason.sentence, held(facts.row)),
            next: Some(act("release", facts)),
        },
        WorkStatus::Ready
        | WorkStatus::Running
        | WorkStatus::Waiting
        | WorkStatus::Completed
        | WorkStatus::Failed
        | WorkStatus::Cancelled => reason,
    }
}

fn ready(facts: &Facts<'_>) -> Reason {
    let work = &facts.row.work;
    if !work.holds.is_empty() {
        return Reason { sentence: held(facts.row), next: Some(act(lifting(facts.row), facts)) };
    }
    if work.backoff.is_some() {
        return backoff(facts);
    }
    if let Some(exiting) = exiting(facts.row) {
        let sentence = format!("it is ready, and {exiting}, so nothing new starts over it");
        return Reason { sentence, next: Some(act("logs", facts)) };
    }
    if !starts(facts.row) {
        return unasked(facts);
    }
    if facts.restored {
        return Reason {
            sentence: format!("it is ready, and nothing starts: {RESTORED}"),
            next: Some(RELEASE_RESTORE.to_owned()),
        };
    }
    let since = work.since;
    if let Some(pause) = facts.pause {
        return paused(since, pause);
    }
    if let Some(Full { scope, running, limit }) = &facts.full {
        let sentence = format!(
            "it is ready since {since} and waits for room: {running} of {limit} attempts of scope \
             `{scope}` are running"
        );
        return Reason { sentence, next: Some("abide work list --status running".to_owned()) };
    }
    let sentence = format!("it is ready since {since} and about to start");
    Reason { sentence, next: Some(act("show", facts)) }
}

/// Ready, and nothing starts: neither this Work nor another.
fn paused(since: Millis, pause: Pause) -> Reason {
    let (why, next) = match pause {
        Pause::Draining => ("the daemon drains", Some("abide drain --cancel")),
        Pause::Stopping => ("the daemon is stopping", None),
        Pause::Storage => ("the daemon can commit nothing at present: see its log", None),
    };
    let sentence = format!("it is ready since {since}, and nothing starts: {why}");
    Reason { sentence, next: next.map(str::to_owned) }
}

/// Ready, and its last attempt's retry is yet to come. RETRY-04 RETRY-19 RETRY-20
fn backoff(facts: &Facts<'_>) -> Reason {
    let row = facts.row;
    let mut sentence = ended(&retried(row, facts.now), last_reason(row));
    if let Some(exiting) = exiting(row) {
        sentence = format!("{sentence}; {exiting}, and nothing new starts over it");
    }
    if facts.restored {
        return Reason {
            sentence: format!("{sentence}; and nothing starts: {RESTORED}"),
            next: Some(RELEASE_RESTORE.to_owned()),
        };
    }
    let next = match (row.work.retry, facts.unrouted) {
        (None, Some(seq)) => format!("abide why {seq}"),
        (Some(_), _) | (None, None) => act("retry", facts),
    };
    Reason { sentence, next: Some(next) }
}

/// How far the retry of its last attempt has come.
fn retried(row: &WorkRow, now: Millis) -> String {
    let after = failure(row);
    match row.work.retry {
        Some(timer) if timer.disabled => {
            format!("the retry after {after} was refused: its chain is as deep as its root allows")
        }
        Some(timer) if timer.fire_at > now => {
            format!("retry due in {} after {after}", left(now, timer.fire_at))
        }
        Some(timer) => format!("retry due since {} after {after}", timer.fire_at),
        None => format!("retry after {after} is accepted, and not routed yet"),
    }
}

/// Which failure it was: `failure 2 of 3`. Standing Work counts none. RETRY-09 JOB-16
fn failure(row: &WorkRow) -> String {
    match (row.work.failures, row.budget) {
        (0, _) => format!("the failure of attempt {}", number(row)),
        (n, Some(of)) => format!("failure {n} of {of}"),
        (n, None) => format!("failure {n}"),
    }
}

/// In whole seconds, the started one counted.
fn left(now: Millis, then: Millis) -> String {
    let ms = u64::try_from(then.0.saturating_sub(now.0)).unwrap_or(0);
    length(Duration::seconds(ms.div_ceil(1000)))
}

/// The process of an earlier segment that may still run.
fn exiting(row: &WorkRow) -> Option<String> {
    let segment = row.work.marked?;
    Some(format!(
        "the process of attempt {} (claim {}) has not been seen to exit",
        segment.attempt, segment.epoch
    ))
}

const RESTORED: &str = "the database was restored from a backup, and may still have another life";
const RELEASE_RESTORE: &str = "abide hold release --restore";

/// What lets held Work go on: a retry where a failure holds it, since that begins its count anew; a
/// release for whatever a person or a chain holds. RETRY-27
fn lifting(row: &WorkRow) -> &'static str {
    let work = &row.work;
    let failed = work.attempt_status == Some(AttemptStatus::Failed);
    match work.holds.iter().any(|hold| hold == Hold::Operator) {
        false if failed => "retry",
        true | false => "release",
    }
}

/// Ready, and neither input nor a wake asks for an attempt.
fn unasked(facts: &Facts<'_>) -> Reason {
    let work = &facts.row.work;
    if let Some(seq) = facts.unrouted {
        let sentence = format!("it is ready and has no input; event {seq} of it is not routed yet");
        return Reason { sentence, next: Some(format!("abide why {seq}")) };
    }
    let send = format!("abide emit --source op:me --type TYPE --work {}", work.uid);
    let interrupted = facts.attempt.and_then(interrupted);
    match (work.idle_at, interrupted) {
        (Some(at), _) => Reason {
            sentence: format!(
                "it handed over at {} and is idle since then: it is closed at {at}, should nothing \
                 come",
                work.since
            ),
            next: Some(send),
        },
        (None, Some(interrupted)) => Reason {
            sentence: format!(
                "it is ready and has no input: {interrupted}; its next event starts the next attempt"
            ),
            next: Some(send),
        },
        (None, None) if work.standing => Reason {
            sentence: "it stands and has no input: its next event starts the next attempt"
                .to_owned(),
            next: Some(send),
        },
        (None, None) => Reason {
            sentence: "it is ready, and nothing asks for another attempt: it has no input"
                .to_owned(),
            next: None,
        },
    }
}

/// What ended an attempt that nothing of its own ended. CTRL-09
fn interrupted(attempt: &Attempt) -> Option<String> {
    let by = attempt.interrupt_event?;
    Some(format!("attempt {} was interrupted by event {by}", attempt.n))
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
        Some(at) if at <= facts.now && facts.restored => {
            format!("its lease ended at {at}, and nothing is taken over: {RESTORED}")
        }
        Some(at) if at <= facts.now => {
            format!("its lease ended at {at}, so it is taken over next")
        }
        Some(at) => format!("claim {}, lease until {at}", attempt.epoch),
        None => format!("claim {}", attempt.epoch),
    };
    let told = facts.control.map_or(String::new(), |intent| format!("; {}", under_way(intent)));
    let holds_up = facts.holds_up.map_or(String::new(), |why| format!("; {}", why.sentence));
    let sentence = format!("{doing}{how} ({lease}){told}{holds_up}");
    let over = attempt.expires_at.is_some_and(|at| at <= facts.now);
    let way_out = facts.holds_up.and_then(|why| why.next.clone());
    let next = match over && facts.restored {
        true => RELEASE_RESTORE.to_owned(),
        false => way_out.unwrap_or_else(|| act("logs", facts)),
    };
    Reason { sentence, next: Some(next) }
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
    let source = facts.source.map_or(String::new(), subscribed);
    let sentence = format!("it waits {what}{source}, after event {}, {until}{marked}", wait.after);
    let next = found.keys.first().map(|key| {
        let kind = found.types.first().map_or("TYPE", String::as_str);
        let [source, key, kind] = [&key.source, &key.external_id, kind].map(quoted);
        format!("abide emit --source {source} --key {key} --type {kind}")
    });
    Reason { sentence, next }
}

/// A command about the Work itself.
fn act(verb: &str, facts: &Facts<'_>) -> String {
    format!("abide work {verb} {}", facts.row.work.uid)
}

/// A word of a command as it can be pasted into a shell, whoever chose it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:/#@%+=,".contains(c);
    // A `#` begins a comment only at the start of a word.
    match !word.is_empty() && !word.starts_with(['#', '-', '=']) && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", printable(word).replace('\'', r"'\''")),
    }
}

/// What a wait listens for beside its own keys, and how far that is translated. ALIAS-02
fn subscribed(source: &ListedSubscription) -> String {
    let key = super::rows::key(&source.key);
    let (scope, checkpoint) = (&source.scope, source.checkpoint);
    format!(", or for what comes of {key} in scope `{scope}` (seen up to event {checkpoint})")
}

fn over(facts: &Facts<'_>, sentence: String) -> Reason {
    if let Some(successor) = facts.relatives.successor {
        return Reason {
            sentence: format!("{sentence}; it was reopened as {successor}"),
            next: Some(format!("abide why {successor}")),
        };
    }
    let stopping = facts.row.work.marked.map(|segment| {
        format!("{sentence}; the process of attempt {} is being stopped", segment.attempt)
    });
    Reason { sentence: stopping.unwrap_or(sentence), next: Some(act("show", facts)) }
}

/// By what it is held, and why. A person's reason begins with who it is.
fn held(row: &WorkRow) -> String {
    let work = &row.work;
    let why = work.reason.as_deref();
    let holds: Vec<Hold> = work.holds.iter().collect();
    match holds.as_slice() {
        [Hold::Exhausted] => match work.failures {
            0 | 1 => ended("it is held, exhausted by its one failure", why),
            n => ended(&format!("it is held, exhausted after {n} failures"), why),
        },
        [Hold::CausalLimit] if work.backoff.is_some() => ended(
            "it is held, because its retry would make its chain of events deeper than its root \
             allows",
            why,
        ),
        [Hold::CausalLimit] => {
            ended("it is held, because its chain of events is as deep as its root allows", why)
        }
        [Hold::Operator] => match why.map(printable).filter(|why| !why.trim().is_empty()) {
            Some(why) => format!("it is held by {why}"),
            None => "it is held by a person".to_owned(),
        },
        several => {
            let words: Vec<&str> = several.iter().map(|hold| hold.word()).collect();
            ended(&format!("it is held ({})", words.join(", ")), why)
        }
    }
}

fn ended(what: &str, why: Option<&str>) -> String {
    match why.map(printable).filter(|why| !why.trim().is_empty()) {
        Some(why) => format!("{what}: {why}"),
        None => what.to_owned(),
    }
}

/// Why its last attempt failed.
fn last_reason(row: &WorkRow) -> Option<&str> {
    row.work.reason.as_deref()
}

const fn starts(row: &WorkRow) -> bool {
    row.work.pending_count > 0 || row.work.next_trigger.is_some()
}

fn number(row: &WorkRow) -> String {
    row.work.attempt.map_or("?".to_owned(), |n| n.to_string())
}

#[cfg(test)]
mod tests;
