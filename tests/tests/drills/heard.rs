//! Every message that was sent to what runs already: what the listener's own record says of it, and what the database
//! says, are one story.

use std::collections::{BTreeMap, BTreeSet};

use abide::domain::{
    AttemptNo, AttemptStatus, EventUid, IntentKind, IntentStatus, MarkKind, Seq, WorkStatus,
};
use abide::store::intents::Intent;
use abide::store::observe::{SeenEvent, SeenInput, SeenWork};
use abide::store::{Observation, attempts, events, intents};
use serde::Deserialize;

use crate::accounts::{Accounts, Reason};
use crate::ground::{Failed, Ground, SENDER};

/// One line of the listener's record.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Heard {
    pub(crate) what: Done,
    pub(crate) work: String,
    pub(crate) attempt: u32,
    pub(crate) epoch: u64,
    pub(crate) reason: Reason,
    pub(crate) pid: i32,
    /// What was taken in.
    #[serde(default)]
    pub(crate) event: Option<String>,
    /// What it was handed when it began.
    #[serde(default)]
    pub(crate) handed: Vec<Handed>,
}

/// What a listener did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Done {
    /// It began.
    Start,
    /// It found that another process of its Work runs.
    Overlap,
    /// It has a message, on its disk, and has told nobody.
    Taken,
    /// It has acknowledged or echoed the message.
    Said,
    /// It takes in nothing more.
    Deaf,
    /// It came to its end.
    End,
}

/// An input that a process was handed in its request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Handed {
    pub(crate) event: String,
    /// The attempt that was handed it: its own, or one before it that never came so far as to say so.
    pub(crate) attempt: u32,
    /// It says that an earlier attempt may have seen it.
    pub(crate) repeated: bool,
}

impl Heard {
    pub(crate) fn read(line: &str) -> serde_json::Result<Self> {
        serde_json::from_str(line)
    }

    /// Whether it is about this message.
    pub(crate) fn is(&self, what: Done, uid: &str) -> bool {
        self.what == what && self.event.as_deref() == Some(uid)
    }
}

/// A message as the database has it.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    pub(crate) id: String,
    pub(crate) uid: String,
    event: SeenEvent,
    intent: Option<Intent>,
    /// Its Work, by the id at the edge.
    work: Option<String>,
    /// Each time it was consumed.
    consumed: Vec<SeenInput>,
    /// The attempt that last consumed it has a result of its own.
    concluded: bool,
    left: bool,
}

impl Message {
    /// Every one that was sent.
    pub(crate) fn all(ground: &Ground, seen: &Observation) -> Result<Vec<Self>, Failed> {
        let sent = seen.events.iter().filter(|event| event.source == SENDER);
        sent.map(|event| Self::of(ground, seen, event)).collect()
    }

    /// The one of this id.
    pub(crate) fn find(ground: &Ground, id: &str) -> Result<Option<Self>, Failed> {
        let seen = ground.see()?;
        let event = seen.events.iter().find(|event| event.source == SENDER && event.delivery == id);
        event.map(|event| Self::of(ground, &seen, event)).transpose()
    }

    fn of(ground: &Ground, seen: &Observation, event: &SeenEvent) -> Result<Self, Failed> {
        let seq = event.seq;
        let (kept, intent) =
            ground.read(|tx| Ok((events::get(tx, seq)?, intents::get(tx, seq)?)))?;
        let uid: EventUid = kept.ok_or_else(|| format!("event {seq} is not there"))?.uid;
        let work = seen.works.iter().find(|work| event.work == Some(work.work));
        let inputs = seen.works.iter().flat_map(|work| &work.consumed);
        let concluded = match (&intent, work) {
            (Some(Intent { attempt, .. }), Some(work)) => {
                let attempt = ground.read(|tx| attempts::get(tx, work.work, *attempt))?;
                attempt.is_some_and(|attempt| attempt.status == AttemptStatus::Completed)
            }
            (_, _) => false,
        };
        Ok(Self {
            id: event.delivery.clone(),
            uid: uid.to_string(),
            event: event.clone(),
            intent,
            work: work.map(|work| work.uid.clone()),
            consumed: inputs.filter(|input| input.event == seq).copied().collect(),
            concluded,
            left: seen
                .works
                .iter()
                .any(|work| work.pending.contains(&seq) || work.withdrawn.contains(&seq)),
        })
    }

    /// A result said that its process took it in.
    pub(crate) fn is_proved(&self) -> bool {
        self.intent.as_ref().is_some_and(|intent| intent.status == IntentStatus::Consumed)
    }

    /// A send to a process was tried, whatever came of it.
    pub(crate) fn was_sent(&self) -> bool {
        let inject = self.intent.as_ref().filter(|intent| intent.kind == IntentKind::Inject);
        inject.is_some_and(|intent| intent.dispatched_at.is_some())
    }

    /// Nothing is to be sent any more.
    pub(crate) fn is_settled(&self) -> bool {
        let open = |status| matches!(status, IntentStatus::Committed | IntentStatus::Dispatched);
        self.event.mark.is_some() && !self.intent.as_ref().is_some_and(|one| open(one.status))
    }

    pub(crate) const fn mark(&self) -> Option<MarkKind> {
        self.event.mark
    }

    /// How far it is on its way to a process.
    pub(crate) fn status(&self) -> Option<IntentStatus> {
        self.intent.as_ref().map(|intent| intent.status)
    }
}

/// How many messages came to what.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Consumed by a result that proved them.
    pub(crate) proved: usize,
    /// Handed over after a send was tried, and marked.
    pub(crate) again: usize,
    /// Of those, what a process had taken in.
    pub(crate) again_though_taken: usize,
    /// Handed over, and never sent.
    pub(crate) handed: usize,
    /// Of all, what interrupted an attempt.
    pub(crate) interrupts: usize,
}

impl Tally {
    pub(crate) const fn total(&self) -> usize {
        self.proved + self.again + self.handed
    }
}

/// Holds the record against the database, once everything is at rest.
pub(crate) fn account(
    seen: &Observation,
    messages: &[Message],
    log: &[Heard],
    posted: &[String],
) -> (Tally, Accounts) {
    let (mut tally, mut accounts) = (Tally::default(), Accounts::default());
    doubles(log, &mut accounts.doubles);
    let kept: BTreeMap<&str, &Message> =
        messages.iter().map(|message| (message.id.as_str(), message)).collect();
    for id in posted.iter().filter(|id| !kept.contains_key(id.as_str())) {
        accounts.losses.push(format!("message {id} was answered and is not there"));
    }
    if kept.len() != messages.len() {
        accounts.doubles.push("a message was accepted twice".to_owned());
    }
    for message in messages {
        consumed_once(message, &mut accounts);
        let of_it = Story::of(message, log);
        if message.is_proved() {
            tally.proved += 1;
            proved(message, &of_it, &mut accounts);
        } else {
            let sent = message.was_sent();
            *(if sent { &mut tally.again } else { &mut tally.handed }) += 1;
            tally.again_though_taken += usize::from(sent && !of_it.taken.is_empty());
            presented(message, &of_it, &mut accounts);
        }
        if message.event.mark == Some(MarkKind::Interrupt) {
            tally.interrupts += 1;
        }
        if of_it.taken.len() > 1 {
            let times = of_it.taken.len();
            accounts.doubles.push(format!("message {} was taken in {times} times", message.id));
        }
    }
    heard_of_nothing_else(messages, log, &mut accounts);
    for work in seen.works.iter().filter(|work| !work.pending.is_empty()) {
        accounts
            .losses
            .push(format!("{} has input that nobody gets: {:?}", work.uid, work.pending));
    }
    (tally, accounts)
}

/// The lines about one message.
struct Story<'a> {
    taken: Vec<&'a Heard>,
    said: Vec<&'a Heard>,
    /// Requests that it was in.
    handed: Vec<(&'a Heard, &'a Handed)>,
}

impl<'a> Story<'a> {
    fn of(message: &Message, log: &'a [Heard]) -> Self {
        let that = |what| log.iter().filter(|line| line.is(what, &message.uid)).collect();
        let handed = log.iter().flat_map(|line| line.handed.iter().map(move |one| (line, one)));
        Self {
            taken: that(Done::Taken),
            said: that(Done::Said),
            handed: handed.filter(|(_, one)| one.event == message.uid).collect(),
        }
    }
}

/// No claim is started twice, and no process beside another.
fn doubles(log: &[Heard], doubles: &mut Vec<String>) {
    let mut claims = BTreeSet::new();
    for line in log {
        let Heard { what, work, attempt, epoch, .. } = line;
        match what {
            Done::Overlap => {
                doubles.push(format!("{work}: attempt {attempt} ran beside another process"));
            }
            Done::Start if !claims.insert((work, attempt, epoch)) => {
                doubles.push(format!("{work}: claim {attempt}/{epoch} started twice"));
            }
            Done::Start | Done::Taken | Done::Said | Done::Deaf | Done::End => {}
        }
    }
}

fn consumed_once(message: &Message, accounts: &mut Accounts) {
    let Message { id, event, consumed, .. } = message;
    let input = matches!(
        event.mark,
        Some(MarkKind::Queued | MarkKind::Woke | MarkKind::Inject | MarkKind::Interrupt)
    );
    if !input || message.work.is_none() {
        accounts.losses.push(format!("message {id} is input of no work: {event:?}"));
    } else if consumed.is_empty() || message.left {
        accounts.losses.push(format!("message {id} was not consumed: {event:?}"));
    }
    if consumed.len() > 1 {
        accounts.doubles.push(format!("message {id} was consumed more than once: {consumed:?}"));
    }
}

/// What a result proved, its process has taken in, and nobody is handed it.
fn proved(message: &Message, of_it: &Story<'_>, accounts: &mut Accounts) {
    let Message { id, intent, consumed, .. } = message;
    let attempt = intent.as_ref().map(|intent| intent.attempt);
    let by = |line: &&&Heard| {
        Some(AttemptNo(line.attempt)) == attempt && Some(&line.work) == message.work.as_ref()
    };
    if of_it.taken.iter().filter(by).count() != 1 {
        accounts
            .losses
            .push(format!("message {id} is proved, and was not taken in by {attempt:?}"));
    }
    if consumed.iter().any(|input| Some(input.attempt) != attempt) {
        accounts.losses.push(format!("message {id} is proved, and consumed by another attempt"));
    }
    if let Some((line, one)) = of_it.handed.first() {
        let (handed, began) = (one.attempt, line.attempt);
        accounts.doubles.push(format!("message {id} is proved, and {began} got it for {handed}"));
    }
}

/// What no result proved, a process is handed, with a mark if and only if a send was tried.
fn presented(message: &Message, of_it: &Story<'_>, accounts: &mut Accounts) {
    let Message { id, consumed, .. } = message;
    let sent = message.was_sent();
    let by = consumed.last().map(|input| input.attempt.0);
    if !of_it.handed.iter().any(|(_, one)| Some(one.attempt) == by) {
        accounts.losses.push(format!("message {id} was seen by no process: {consumed:?}"));
    }
    let own = |(line, one): &&(&Heard, &Handed)| line.attempt == one.attempt;
    if of_it.handed.iter().filter(own).count() > 1 {
        accounts.doubles.push(format!("message {id} was handed over more than once"));
    }
    if let Some((line, _)) = of_it.handed.iter().find(|(_, one)| one.repeated != sent) {
        let what = if sent { "without a mark" } else { "as a repeat, and never sent" };
        accounts.doubles.push(format!("message {id} was handed to {} {what}", line.attempt));
    }
    if !of_it.taken.is_empty() && !sent {
        accounts.doubles.push(format!("message {id} was taken in, and no send is on record"));
    }
    // What fails or is cancelled may have lost what it said; what completed has not.
    if !of_it.said.is_empty() && message.concluded {
        accounts.losses.push(format!("message {id}: its process said so, and its result did not"));
    }
}

/// A listener takes in nothing that nobody sent.
fn heard_of_nothing_else(messages: &[Message], log: &[Heard], accounts: &mut Accounts) {
    let known: BTreeSet<&str> = messages.iter().map(|message| message.uid.as_str()).collect();
    for event in log.iter().filter_map(|line| line.event.as_deref()) {
        if !known.contains(event) {
            accounts.doubles.push(format!("{event} was taken in, and is no message"));
        }
    }
}

/// Every attempt that was fenced is cancelled by that event, and is no failure. Answers how many there are.
pub(crate) fn fenced(
    ground: &Ground,
    seen: &Observation,
    accounts: &mut Accounts,
) -> Result<usize, Failed> {
    let mut fenced = 0;
    for event in &seen.events {
        let (Some(intent), Some(work)) = (event.intent, event.work) else { continue };
        if intent.kind != IntentKind::Interrupt {
            continue;
        }
        let attempt = ground.read(|tx| attempts::get(tx, work, intent.attempt))?;
        let by_it = attempt.as_ref().is_some_and(|one| one.interrupt_event == Some(event.seq));
        let cancelled = attempt.as_ref().map(|one| one.status) == Some(AttemptStatus::Cancelled);
        let is_fenced = intent.status == IntentStatus::Fenced;
        fenced += usize::from(is_fenced);
        if is_fenced != by_it || by_it && !cancelled {
            accounts.losses.push(format!("event {} is {intent:?} of {attempt:?}", event.seq));
        }
    }
    Ok(fenced)
}

/// What comes of listeners of one Work, if nothing but a daemon was killed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hearing {
    /// Processes that are started, in order.
    pub(crate) segments: &'static [(u32, Reason)],
    /// How its attempts end.
    pub(crate) attempts: &'static [AttemptStatus],
    /// Messages that a result proves.
    pub(crate) proved: &'static [&'static str],
    /// The attempts that were interrupted, whoever else was killed.
    pub(crate) interrupted: &'static [u32],
}

impl Hearing {
    pub(crate) fn judge(&self, ground: &Ground, daemons_alone: bool) -> Result<Accounts, Failed> {
        let (seen, log) = (ground.see()?, ground.heard()?);
        let messages = Message::all(ground, &seen)?;
        let (_, mut accounts) = account(&seen, &messages, &log, &ground.posted);
        if let Some(running) = ground.running()?.first() {
            accounts.doubles.push(format!("{running} is left over"));
        }
        fenced(ground, &seen, &mut accounts)?;
        for work in &seen.works {
            self.interrupted(ground, work, &mut accounts)?;
            if work.status != WorkStatus::Completed {
                accounts.losses.push(format!("{} is {:?}", work.uid, work.status));
            }
            if daemons_alone {
                self.undisturbed(ground, work, &log, &mut accounts)?;
            }
        }
        let proved = |id: &&&str| messages.iter().any(|one| one.id == **id && one.is_proved());
        let lacking: Vec<_> = self.proved.iter().filter(|id| !proved(id)).collect();
        if daemons_alone && !lacking.is_empty() {
            accounts.losses.push(format!("{lacking:?} should be proved"));
        }
        Ok(accounts)
    }

    /// Whatever is killed, an interrupt is no failure.
    fn interrupted(
        &self,
        ground: &Ground,
        work: &SeenWork,
        accounts: &mut Accounts,
    ) -> Result<(), Failed> {
        for n in self.interrupted {
            let attempt = ground.read(|tx| attempts::get(tx, work.work, AttemptNo(*n)))?;
            let so = attempt.as_ref().is_some_and(|attempt| {
                attempt.status == AttemptStatus::Cancelled && attempt.interrupt_event.is_some()
            });
            if !so {
                accounts.losses.push(format!("attempt {n} was not interrupted: {attempt:?}"));
            }
        }
        Ok(())
    }

    fn undisturbed(
        &self,
        ground: &Ground,
        work: &SeenWork,
        log: &[Heard],
        accounts: &mut Accounts,
    ) -> Result<(), Failed> {
        let starts = log.iter().filter(|line| line.what == Done::Start && line.work == work.uid);
        let started: Vec<_> = starts.map(|line| (line.attempt, line.reason)).collect();
        if started != self.segments {
            let found = format!("{}: {started:?}", work.uid);
            let more = started.len() > self.segments.len();
            (if more { &mut accounts.doubles } else { &mut accounts.losses }).push(found);
        }
        let mut ended = Vec::new();
        for n in 1.. {
            let attempt = ground.read(|tx| attempts::get(tx, work.work, AttemptNo(n)))?;
            let Some(attempt) = attempt else { break };
            ended.push(attempt.status);
        }
        if ended != self.attempts {
            accounts.losses.push(format!("{}: its attempts ended {ended:?}", work.uid));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(what: Done, attempt: u32, event: Option<&str>, handed: &[(u32, bool)]) -> Heard {
        let handed = handed.iter().map(|(attempt, repeated)| Handed {
            event: "evt_1".to_owned(),
            attempt: *attempt,
            repeated: *repeated,
        });
        Heard {
            what,
            work: "work_1".to_owned(),
            attempt,
            epoch: u64::from(attempt),
            reason: Reason::Start,
            pid: 7,
            event: event.map(str::to_owned),
            handed: handed.collect(),
        }
    }

    fn message(status: Option<IntentStatus>, consumed: &[u32]) -> Message {
        let intent = status.map(|status| Intent {
            event: Seq(1),
            work: abide::domain::WorkId(1),
            attempt: AttemptNo(1),
            epoch: abide::domain::Epoch(1),
            kind: IntentKind::Inject,
            status,
            on_error: None,
            sends: 1,
            committed_at: abide::domain::Millis(1),
            dispatched_at: Some(abide::domain::Millis(2)),
            settled_at: None,
            detail: None,
        });
        let event = SeenEvent {
            seq: Seq(1),
            source: SENDER.to_owned(),
            delivery: "m1".to_owned(),
            event_type: "hear.talks".to_owned(),
            target: None,
            key: None,
            wait: None,
            failed: None,
            derived: None,
            parent: None,
            provenance: None,
            conflicting: false,
            mark: Some(MarkKind::Inject),
            generation: None,
            asked: None,
            intent: None,
            work: Some(abide::domain::WorkId(1)),
            root: Seq(1),
            depth: 0,
        };
        let epoch = abide::domain::Epoch(1);
        let consumed =
            consumed.iter().map(|n| SeenInput { event: Seq(1), attempt: AttemptNo(*n), epoch });
        Message {
            id: "m1".to_owned(),
            uid: "evt_1".to_owned(),
            event,
            intent,
            work: Some("work_1".to_owned()),
            consumed: consumed.collect(),
            concluded: false,
            left: false,
        }
    }

    /// Losses and doubles that are found.
    fn found(message: Message, log: &[Heard]) -> (usize, usize) {
        let seen = Observation {
            generation: abide::domain::Generation(1),
            incarnation: abide::domain::Incarnation(1),
            restored: false,
            events: Vec::new(),
            keys: Vec::new(),
            works: Vec::new(),
            rejections: Vec::new(),
        };
        let posted = ["m1".to_owned()];
        let (_, accounts) = account(&seen, &[message], log, &posted);
        (accounts.losses.len(), accounts.doubles.len())
    }

    const TAKEN: Option<&str> = Some("evt_1");

    #[test]
    fn a_message_that_was_proved_is_told_from_every_other() {
        let proved = || message(Some(IntentStatus::Consumed), &[1]);
        let took = line(Done::Taken, 1, TAKEN, &[]);
        assert_eq!(found(proved(), std::slice::from_ref(&took)), (0, 0));
        assert_eq!(found(proved(), &[]).0, 1, "a proof of what was not taken in");
        assert_eq!(found(proved(), &[line(Done::Taken, 2, TAKEN, &[])]).0, 1, "by another attempt");
        let again = line(Done::Start, 2, None, &[(2, true)]);
        assert_eq!(found(proved(), &[took.clone(), again]).1, 1, "it is handed over all the same");
        assert_eq!(found(proved(), &[took.clone(), took.clone()]).1, 1, "it is taken in twice");
        let twice = message(Some(IntentStatus::Consumed), &[1, 1]);
        assert_eq!(found(twice, &[took]).1, 1, "it is consumed twice");
    }

    #[test]
    fn a_message_that_comes_again_has_its_mark() {
        let again = || message(Some(IntentStatus::Accepted), &[2]);
        let start = |repeated| line(Done::Start, 2, None, &[(2, repeated)]);
        assert_eq!(found(again(), &[start(true)]), (0, 0));
        assert_eq!(found(again(), &[start(false)]).1, 1, "without a mark");
        assert_eq!(found(again(), &[]).0, 1, "seen by nobody");
        assert_eq!(
            found(message(Some(IntentStatus::Accepted), &[]), &[]).0,
            2,
            "it is not consumed"
        );
        let fresh = || message(None, &[2]);
        assert_eq!(found(fresh(), &[start(false)]), (0, 0));
        assert_eq!(found(fresh(), &[start(true)]).1, 1, "a repeat of nothing");
        let took = line(Done::Taken, 1, TAKEN, &[]);
        assert_eq!(found(fresh(), &[took, start(false)]).1, 1, "taken in, and never sent");
        let said = [line(Done::Said, 1, TAKEN, &[]), start(true)];
        assert_eq!(found(again(), &said), (0, 0), "what its attempt lost with its life");
        let lost = Message { concluded: true, ..again() };
        assert_eq!(found(lost, &said).0, 1, "what its result should have said");
        let other = line(Done::Taken, 1, Some("evt_2"), &[]);
        assert_eq!(found(again(), &[start(true), other]).1, 1, "a message that nobody sent");
    }
}
