//! One row after another: what the law answers, and whether the journal says the same.

mod ingress;
mod keep;
mod phrase;
mod routing;
mod segments;
mod waits;

use std::collections::VecDeque;

use abide_model::action::{self, Action, Commit, Expect};
use abide_model::index::{DeliveryIx, WaitIx, WorkIx};
use abide_model::law::Law;
use abide_model::outcome::RouteMark;
use serde_json::{Value, json};

use super::act::{self, Act, By, Id};
use super::answer::Answer;
use super::ledger::{Born, Event, KeyNo, Ledger, NameNo, WaitFact, WaitNo, WorkNo, tell};
use super::rows::{Ids, Row, SUPPRESSED, Sealed};
use super::stage::{self, At, DoesWhat, Set, Stage, TooLarge};
use super::{AuditError, Illegal, Report};

/// Types that begin like this are core's own. CAUSE-07
const CORE: &str = "core.";
/// The source of what core makes itself.
const CORE_SOURCE: &str = "core";
/// Claims that one attempt may have in one incarnation. OURS-21
const EPOCHS: u64 = 1_000_000_000;
/// Events of a source that are staged for one row.
const SOURCES: usize = 16;

/// An audit as far as it has come.
pub(super) struct Judge {
    ids: Ids,
    ledger: Ledger,
    report: Report,
    last: i64,
    at: i64,
    story: VecDeque<String>,
    /// Works that no row has named yet.
    unnamed: Vec<WorkNo>,
}

/// A row put before the law.
struct Trial {
    set: Set,
    commit: Commit,
    subject: Option<WorkNo>,
    /// What becomes of an event that the step may accept.
    offered: Vec<(At, Event)>,
    made: Option<Made>,
    waits: Option<(WaitIx, WaitFact, String)>,
    /// What an acceptance leaves that the model does not keep.
    leaves: Leaves,
    /// Facts beside those of the model.
    facts: Vec<(String, Value)>,
    unsure: Option<&'static str>,
}

/// A Work that the step may make.
struct Made {
    ix: WorkIx,
    name: Option<String>,
    scope: NameNo,
    standing: bool,
    succeeds: Option<(WorkNo, Option<KeyNo>)>,
}

/// What an acceptance leaves that the model counts in ticks or not at all.
#[derive(Debug, Clone, Default)]
struct Leaves {
    expires_at: Option<i64>,
    idle_at: Option<i64>,
    retry_at: Option<i64>,
    pinned: Option<(bool, bool, act::Policy)>,
    reloads: bool,
    incarnation: Option<u64>,
}

/// Why a row is not put before the law.
enum Skip {
    /// It does not fit.
    TooLarge(Option<WorkNo>, TooLarge),
    /// Its Work is not judged any more.
    Undecided(WorkNo),
    /// What it names was in rows that were not judged.
    Unknown,
}

impl Judge {
    /// Before the first row.
    pub(super) fn new(ids: Ids) -> Self {
        Self {
            ids,
            ledger: Ledger::default(),
            report: Report::default(),
            last: 0,
            at: i64::MIN,
            story: VecDeque::new(),
            unnamed: Vec::new(),
        }
    }

    /// What was covered.
    pub(super) fn report(mut self, sealed: Option<Sealed>) -> Report {
        self.report.works = self.ledger.works.len();
        self.report.seals = sealed.map(|sealed| sealed.count);
        let until = sealed.map_or(self.last, |sealed| sealed.until);
        self.report.unsealed = usize::try_from(self.last - until).unwrap_or_default();
        self.report.worlds = stage::shapes();
        self.report
    }

    /// Judges the next row.
    pub(super) fn row(&mut self, row: &Row) -> Result<(), AuditError> {
        self.number(row)?;
        self.report.rows += 1;
        if row.action == SUPPRESSED {
            self.report.suppressed += 1;
            return Ok(());
        }
        let unreadable = |what: String| AuditError::Unreadable { n: row.n, what };
        let said = row.outcome.as_ref().and_then(Answer::read);
        let said = said.ok_or_else(|| unreadable("its outcome is none of the alphabet".into()))?;
        let act = act::act(row)
            .map_err(|error| unreadable(format!("arguments of `{}`: {error}", row.action)))?;
        let act =
            act.ok_or_else(|| unreadable(format!("`{}` is no action known here", row.action)))?;
        if row.at < self.at {
            let lawful = format!("an instant not before that of row {}, {}", row.n - 1, self.at);
            return Err(self.illegal(row, None, format!("at={}", row.at), lawful));
        }
        self.at = row.at;
        let trial = match self.trial(row, &act, &said) {
            Ok(trial) => trial,
            Err(skip) => {
                self.skip(row, &act, &said, &skip);
                return Ok(());
            }
        };
        self.decide(row, &act, &said, trial)
    }

    /// Rows are numbered one by one, from the first on.
    fn number(&mut self, row: &Row) -> Result<(), AuditError> {
        if self.last == 0 && row.n > 1 {
            return Err(AuditError::Partial { n: row.n });
        }
        if row.n != self.last + 1 {
            return Err(AuditError::Gap { after: self.last, found: row.n });
        }
        self.last = row.n;
        Ok(())
    }

    fn decide(
        &mut self,
        row: &Row,
        act: &Act,
        said: &Answer,
        trial: Trial,
    ) -> Result<(), AuditError> {
        let (outcome, after) =
            Law::of(trial.set.world).step(&trial.set.state, Action::Commit(trial.commit));
        let lawful = self.phrase(&outcome, &trial, &after);
        if !said.is_as(&lawful) {
            return self.differs(row, act, said, &lawful, &trial);
        }
        match trial.unsure {
            Some(why) => self.not_judged(why),
            None => self.report.replayed += 1,
        }
        let subject = trial.subject;
        let subject = self.absorb(row, said, trial, &after).or(subject);
        self.narrate(subject, row, said);
        Ok(())
    }

    /// The journal says something else than the law: unlawful, unless the journal cannot say why it was so.
    fn differs(
        &mut self,
        row: &Row,
        act: &Act,
        said: &Answer,
        lawful: &Answer,
        trial: &Trial,
    ) -> Result<(), AuditError> {
        let token = said.code == "stale_authority" && shown(act).is_some();
        if token {
            self.not_judged("refused for a token, and no token is in a journal");
            self.narrate(trial.subject, row, said);
            return Ok(());
        }
        let deep = [&said.code, &lawful.code].into_iter().any(|code| code == "depth_limit");
        if deep && self.ledger.guessed {
            self.not_judged("rests on how deep the root of a request allows, which no row says");
            self.trust(said);
            if let Some(work) = trial.subject {
                self.give_up(work, "how deep the root of a request allows is not known");
            }
            return Ok(());
        }
        let elsewhere = |code: &str| {
            matches!(
                code,
                "capacity" | "key_owned" | "wrong_scope" | "contradictory_target" | "unknown_event"
            )
        };
        let crosses = elsewhere(&said.code) || elsewhere(&lawful.code) || said.code == lawful.code;
        if self.ledger.inexact && crosses {
            self.not_judged("rests on Works that are undecided");
            self.trust(said);
            if let Some(work) = trial.subject {
                self.give_up(work, "a row of it rests on Works that are undecided");
            }
            return Ok(());
        }
        Err(self.illegal(row, trial.subject, said.to_string(), lawful.to_string()))
    }

    fn illegal(&self, row: &Row, work: Option<WorkNo>, said: String, lawful: String) -> AuditError {
        let mut story =
            work.map_or_else(|| self.story.clone(), |work| self.ledger.works[work.0].story.clone());
        tell(&mut story, format!("{}. {} => {said}", row.n, sentence(row)));
        AuditError::Illegal(Box::new(Illegal {
            n: row.n,
            action: sentence(row),
            work: work.map(|work| self.called(work)),
            said,
            lawful,
            story: story.into(),
        }))
    }

    fn called(&self, work: WorkNo) -> String {
        let name = self.ledger.works[work.0].name.clone();
        name.unwrap_or_else(|| format!("the {}. work made, which no row names", work.0 + 1))
    }

    fn narrate(&mut self, work: Option<WorkNo>, row: &Row, said: &Answer) {
        let step = format!("{}. {} => {said}", row.n, sentence(row));
        if let Some(work) = work {
            self.ledger.works[work.0].tell(step.clone());
        }
        tell(&mut self.story, step);
    }

    fn not_judged(&mut self, why: &str) {
        *self.report.not_judged.entry(why.to_owned()).or_default() += 1;
    }

    fn give_up(&mut self, work: WorkNo, why: &str) {
        self.ledger.inexact = true;
        let name = self.called(work);
        self.report.undecided.entry(name).or_insert_with(|| why.to_owned());
        self.ledger.works[work.0].undecided.get_or_insert_with(|| why.to_owned());
    }

    fn skip(&mut self, row: &Row, act: &Act, said: &Answer, skip: &Skip) {
        match skip {
            Skip::TooLarge(work, TooLarge(why)) => {
                self.not_judged(why);
                self.ledger.inexact = true;
                if let Some(work) = work {
                    self.give_up(*work, why);
                }
            }
            Skip::Undecided(work) => {
                let why = format!("a row of {}, which is undecided", self.called(*work));
                self.not_judged(&why);
            }
            Skip::Unknown => self.not_judged("names what rows that were not judged made"),
        }
        self.trust(said);
        let work = subject(act).and_then(|id| self.ledger.work_of(&id.to_string()));
        self.narrate(work, row, said);
    }

    /// Takes the journal's word for what a row that is not judged accepted, so that those after it can be.
    fn trust(&mut self, said: &Answer) {
        if !said.accepted() {
            return;
        }
        self.ledger.inexact = true;
        let seqs = ["seq", "winner"].into_iter().filter_map(|name| said.number(name));
        let until = seqs.max().unwrap_or(0);
        self.fill(until);
        if let (Some(event), Some(mark)) = (said.number("event"), said.name("mark"))
            && let Some(mark) = mark_of(&mark)
        {
            let work = said.name("work").and_then(|name| self.ledger.work_of(&name));
            if let Some(event) = self.ledger.event_mut(event) {
                (event.mark, event.work) = (mark, work);
            }
            self.ledger.file(event, mark == RouteMark::Unrouted);
        }
    }

    /// Events up to a sequence that rows which were not judged have accepted.
    fn fill(&mut self, until: i64) {
        // A sequence is at most a few above the number of rows: each row accepts few events.
        let most = self.ledger.latest().saturating_add(1_000);
        while self.ledger.latest() < until.min(most) {
            let (kind, scope) = (self.ledger.name(""), self.ledger.name(""));
            let blank = blank(Born::Unknown, kind, scope, 0);
            self.ledger.accept(Event { mark: RouteMark::Unmatched, ..blank });
        }
    }

    /// The Work of an id. One that no row has named yet is known by the first row that does.
    fn work(&mut self, id: &Id) -> Option<WorkNo> {
        let name = id.to_string();
        if let Some(known) = self.ledger.work_of(&name) {
            return Some(known);
        }
        if !name.starts_with("work_") {
            return None;
        }
        match self.unnamed.as_slice() {
            [] => None,
            [only] => {
                let only = *only;
                self.unnamed.clear();
                self.ledger.name_work(only, &name);
                Some(only)
            }
            [_, _, ..] => {
                for work in self.unnamed.clone() {
                    self.give_up(work, "no row says which of several Works it is");
                }
                None
            }
        }
    }

    /// A Work that is judged; `None` if there is none of that id.
    fn judged(&mut self, id: &Id) -> Result<Option<WorkNo>, Skip> {
        let Some(work) = self.work(id) else {
            return if self.unnamed.is_empty() { Ok(None) } else { Err(Skip::Unknown) };
        };
        self.decided(work).map(Some)
    }

    fn decided(&self, work: WorkNo) -> Result<WorkNo, Skip> {
        match self.ledger.works[work.0].undecided {
            None => Ok(work),
            Some(_) => Err(Skip::Undecided(work)),
        }
    }

    fn wait(&mut self, id: &Id) -> Result<Option<WaitNo>, Skip> {
        let Some(wait) = self.ledger.wait_of(&id.to_string()) else {
            return if self.ledger.inexact { Err(Skip::Unknown) } else { Ok(None) };
        };
        self.decided(self.ledger.waits[wait.0].work)?;
        Ok(Some(wait))
    }

    fn id(&self, work: WorkNo) -> Value {
        let name = self.ledger.works[work.0].name.clone();
        match (self.ids, name) {
            (Ids::Rows, Some(name)) => name.parse::<i64>().map_or(Value::Null, Value::from),
            (Ids::Names, Some(name)) => Value::from(name),
            (Ids::Rows | Ids::Names, None) => Value::Null,
        }
    }

    /// What a Work that is made next will be called.
    fn next_name(&self, said: Option<String>) -> Option<String> {
        match self.ids {
            Ids::Rows => Some((self.ledger.works.len() + 1).to_string()),
            Ids::Names => said,
        }
    }

    fn trial(&mut self, row: &Row, act: &Act, said: &Answer) -> Result<Trial, Skip> {
        let now = row.at;
        match act {
            Act::Accept(accept) => self.accept(now, accept),
            Act::CommitRoute(route) => self.commit_route(now, route, said),
            Act::Reload { config } => self.reload(now, config),
            Act::Drop { event } => self.drop(now, *event),
            Act::Replay { event, request } => self.replay(now, *event, request),
            Act::Reopen(of) => self.reopen(now, of),
            Act::CreateWork(create) => self.create_work(now, create),
            Act::Hold(of) => {
                self.simple(now, &of.work, |work, expect| Commit::Hold { work, expect }, of.expect)
            }
            Act::Cancel(of) => {
                let for_good = of.for_good;
                let cancel = |work, expect| Commit::Cancel { work, expect, for_good };
                self.simple(now, &of.work, cancel, of.expect)
            }
            Act::CloseIdle { work } => {
                self.simple(now, work, |work, _| Commit::CloseIdle { work }, None)
            }
            Act::Release(of) => self.release(now, of),
            Act::Claim(claim) => self.claim(now, claim),
            Act::ClearNeverHanded(by) => {
                self.by(now, by, |work, by| Commit::ClearNeverHanded { work, by })
            }
            Act::Pin(by) => self.by(now, by, |work, by| Commit::Pin { work, by }),
            Act::Fail(by, hint) => self.fail(now, by, *hint),
            Act::FireRetry { work, attempt } => self.fire_retry(now, work, *attempt),
            Act::Retry(of) => self.retry(now, of),
            Act::Detach(by) => {
                let mut trial = self.by(now, by, |work, by| Commit::Detach { work, by })?;
                // The lease is over at this instant. LEASE-02
                trial.leaves.expires_at = Some(now);
                Ok(trial)
            }
            Act::Restore { above } => self.restore(now, *above),
            Act::ReleaseRestore { request, max_depth } => {
                self.release_restore(now, request, *max_depth)
            }
            Act::SettleRecovery(by, verdict) => {
                let verdict = match verdict {
                    act::Verdict::Adopted => action::Verdict::Adopted,
                    act::Verdict::NotAdoptable => action::Verdict::NotAdoptable,
                };
                let mut trial =
                    self.by(now, by, |work, by| Commit::SettleRecovery { work, by, verdict })?;
                trial.leaves.retry_at = self.retry_at(now, trial.subject, None);
                Ok(trial)
            }
            Act::Complete(by, ending, declares) => self.complete(now, by, *ending, *declares),
            Act::RegisterWait(register) => self.register_wait(now, register, said),
            Act::Wake { wait } => self.of_wait(now, wait, |wait| Commit::Wake { wait }),
            Act::FireTimer { wait } => self.of_wait(now, wait, |wait| Commit::FireTimer { wait }),
            Act::AcceptTimeout { wait } => {
                self.of_wait(now, wait, |wait| Commit::AcceptTimeout { wait })
            }
            Act::Translate { wait, event } => self.translate(now, wait, *event),
            Act::ClaimRecovery { work, lease, expires_at } => {
                self.claim_recovery(now, work, (*lease, *expires_at), said)
            }
            Act::Vacate { work, attempt, epoch } => {
                let segment = (*attempt, *epoch);
                let no = self.judged(work)?;
                let marked = no.and_then(|work| self.ledger.works[work.0].marked);
                let segment = match marked == Some(segment) {
                    true => action::Authority::Current,
                    false => action::Authority::Stale,
                };
                self.simple(now, work, |work, _| Commit::Vacate { work, segment }, None)
            }
        }
    }

    /// A row about one Work, whose answer rests on nothing but that Work.
    fn simple(
        &mut self,
        now: i64,
        id: &Id,
        commit: impl FnOnce(WorkIx, Expect) -> Commit,
        expect: Option<u32>,
    ) -> Result<Trial, Skip> {
        let work = self.judged(id)?;
        let mut stage = Stage::new(&self.ledger, now);
        let ix = stage.opened(work);
        let expect = self.expect(work, expect);
        self.set(stage, work, commit(ix, expect))
    }

    fn expect(&self, work: Option<WorkNo>, expect: Option<u32>) -> Expect {
        let last = work.map_or(0, |work| self.ledger.works[work.0].attempt);
        match expect {
            None => Expect::Any,
            Some(expected) if expected == last => Expect::Last,
            Some(_) => Expect::Other,
        }
    }

    fn set(
        &self,
        stage: Stage<'_>,
        subject: Option<WorkNo>,
        commit: Commit,
    ) -> Result<Trial, Skip> {
        let mut set = stage.set().map_err(|why| Skip::TooLarge(subject, why))?;
        set.refer(&self.ledger);
        Ok(Trial {
            set,
            commit,
            subject,
            offered: Vec::new(),
            made: None,
            waits: None,
            leaves: Leaves::default(),
            facts: Vec::new(),
            unsure: None,
        })
    }
}

impl Trial {
    /// The end of a lease as it has to be: what the row says otherwise is part of the answer that differs.
    fn lease(&mut self, lawful: i64, said: Option<i64>) {
        if said.is_some_and(|said| said != lawful) {
            self.facts.push(("expires_at".to_owned(), json!(lawful)));
        }
    }
}

/// An event of which nothing but its birth is known.
fn blank(born: Born, kind: NameNo, scope: NameNo, left: u32) -> Event {
    Event {
        born,
        key: None,
        target: None,
        publisher: None,
        kind,
        scope,
        left,
        mark: RouteMark::Unrouted,
        work: None,
    }
}

/// Whether core made an event itself, to say what it did.
fn is_cores(event: &Event) -> bool {
    match event.born {
        Born::Sent => false,
        Born::Asked
        | Born::Timeout(_)
        | Born::Continuation(_)
        | Born::Alias
        | Born::Ended
        | Born::Created
        | Born::Retry(..)
        | Born::Unknown => true,
    }
}

fn delivery(at: At) -> DeliveryIx {
    match at {
        At::Delivery(delivery) => DeliveryIx(delivery),
        At::Timeout(_)
        | At::Continuation(_)
        | At::Alias(..)
        | At::Ended(..)
        | At::Created(_)
        | At::Retry(..) => DeliveryIx(0),
    }
}

const fn does(decision: act::Decision) -> DoesWhat {
    match decision {
        act::Decision::Decline => DoesWhat::Decline,
        act::Decision::Drop => DoesWhat::Drop,
        act::Decision::Close => DoesWhat::Close,
        act::Decision::Update => DoesWhat::Update,
        act::Decision::Work => DoesWhat::Work,
    }
}

fn mark_of(name: &str) -> Option<RouteMark> {
    serde_json::from_value(json!(name)).ok()
}

/// The authority a row shows, if it shows one.
fn shown(act: &Act) -> Option<&By> {
    match act {
        Act::ClearNeverHanded(by)
        | Act::Pin(by)
        | Act::Complete(by, ..)
        | Act::Fail(by, _)
        | Act::Detach(by)
        | Act::SettleRecovery(by, _) => Some(by),
        Act::RegisterWait(register) => Some(&register.by),
        Act::Accept(_)
        | Act::CommitRoute(_)
        | Act::Reload { .. }
        | Act::Drop { .. }
        | Act::Replay { .. }
        | Act::Reopen(_)
        | Act::CreateWork(_)
        | Act::Hold(_)
        | Act::Release(_)
        | Act::FireRetry { .. }
        | Act::Retry(_)
        | Act::Restore { .. }
        | Act::ReleaseRestore { .. }
        | Act::Claim(_)
        | Act::Wake { .. }
        | Act::FireTimer { .. }
        | Act::AcceptTimeout { .. }
        | Act::Translate { .. }
        | Act::CloseIdle { .. }
        | Act::ClaimRecovery { .. }
        | Act::Vacate { .. }
        | Act::Cancel(_) => None,
    }
}

/// The Work a row names.
fn subject(act: &Act) -> Option<&Id> {
    match act {
        Act::Reopen(of) | Act::Hold(of) | Act::Release(of) | Act::Retry(of) | Act::Cancel(of) => {
            Some(&of.work)
        }
        Act::Claim(claim) => Some(&claim.work),
        Act::CloseIdle { work }
        | Act::ClaimRecovery { work, .. }
        | Act::FireRetry { work, .. }
        | Act::Vacate { work, .. } => Some(work),
        Act::Accept(_)
        | Act::CommitRoute(_)
        | Act::Reload { .. }
        | Act::Drop { .. }
        | Act::Replay { .. }
        | Act::CreateWork(_)
        | Act::ClearNeverHanded(_)
        | Act::Pin(_)
        | Act::Complete(..)
        | Act::Fail(..)
        | Act::Detach(_)
        | Act::Restore { .. }
        | Act::ReleaseRestore { .. }
        | Act::RegisterWait(_)
        | Act::Wake { .. }
        | Act::FireTimer { .. }
        | Act::AcceptTimeout { .. }
        | Act::Translate { .. }
        | Act::SettleRecovery(..) => shown(act).map(|by| &by.work),
    }
}

/// Characters of a row's arguments that are told.
const TOLD: usize = 240;

/// A row as a person reads it: its action and what it was asked with.
fn sentence(row: &Row) -> String {
    let mut text = row.action.clone();
    for (name, value) in &row.args {
        if !matches!(name.as_str(), "n" | "at" | "actor" | "digest") {
            text.push_str(&format!(" {name}={value}"));
        }
        if text.len() > TOLD {
            let end = (0..=TOLD).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            text.truncate(end);
            text.push('…');
            break;
        }
    }
    format!("{text} at={}", row.at)
}
