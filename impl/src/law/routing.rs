//! Routing: an evaluation reads a snapshot and proposes; a commit applies the proposal if what was
//! read still stands. ROUTE-12 ROUTE-15

use type_safe_id::TypeSafeId;

use crate::command::{Deferral, Outcome, Receipt, Refusal};
use crate::domain::{
    AttemptNo, Control, ControlPolicy, Decision, Event, Generation, IntentKind, Key, MarkKind,
    Millis, Proposal, ProposedWork, Seq, WorkId, WorkStatus, WorkUid, derived_uuid,
};
use crate::store::events::Place;
use crate::store::marks::Mark;
use crate::store::rejections::Derived;
use crate::store::words::Word as _;
use crate::store::works::Work;
use crate::store::{
    StoreError, Tx, attempts, events, generations, keys, marks, names, payloads, unrouted, waits,
    works,
};

use super::cancel::terminate;
pub use super::ingress::resolve;
use super::succession::reopen_by_route;
use super::{Step, intents, ownership, waits as law_of_waits};

/// What a route handler gets to see of one unrouted event: detached copies. ROUTE-12
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The event.
    pub event: Event,
    /// What it carries, as JSON text.
    pub payload: Option<String>,
    /// The work it resolves to, if it does.
    pub work: Option<WorkView>,
    /// The configuration that is current.
    pub generation: Generation,
}

/// What a route handler gets to see of a work; its revision counts changes of just this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkView {
    /// Its row.
    pub id: WorkId,
    /// Its id at the edge.
    pub uid: WorkUid,
    /// Its kind.
    pub kind: String,
    /// Where it is.
    pub status: WorkStatus,
    /// The identities it owns.
    pub keys: Vec<Key>,
    /// Number of its last attempt.
    pub attempt: Option<AttemptNo>,
    /// Counts what of the above changed.
    pub revision: i64,
}

impl Snapshot {
    /// The proposal of an evaluation that read this and decided so. ROUTE-08
    #[must_use]
    pub fn decide(&self, route: Option<&str>, decision: Decision) -> Proposal {
        Proposal {
            event: self.event.seq,
            resolved: self.work.as_ref().map(|work| (work.id, work.revision)),
            generation: self.generation,
            route: route.map(str::to_owned),
            decision,
            reopen: None,
        }
    }

    /// The same of a route that finds or creates work: its name, and the kind of work it would
    /// create where nothing owns the event's key. ROUTE-16
    #[must_use]
    pub fn propose(&self, route: Option<&str>, kind: Option<&str>) -> Proposal {
        let creates = self.event.key.is_some() && self.work.is_none();
        let create = kind.filter(|_| creates).map(|kind| self.fresh(kind));
        let decision = match route {
            Some(_) => Decision::Work { attach: Vec::new(), create, control: Control::default() },
            None => Decision::Decline,
        };
        self.decide(route, decision)
    }

    /// The work that a decision about this event would create. ROUTE-16
    #[must_use]
    pub fn fresh(&self, kind: &str) -> ProposedWork {
        let uid = proposed_uid(&self.event, 0);
        ProposedWork { uid, kind: kind.to_owned(), standing: false }
    }
}

/// The id of a work that a decision about `event` would create: the same at every evaluation.
/// ROUTE-16
#[must_use]
pub fn proposed_uid(event: &Event, ordinal: u32) -> WorkUid {
    TypeSafeId::from_uuid(derived_uuid(event.accepted_at, event.uid.uuid(), "work", ordinal))
}

/// Reads what an evaluation of `event` may look at; `None` if there is no such event, or it is
/// routed already. Writes nothing. ROUTE-14 ROUTE-19
///
/// # Errors
/// The machine failed, or the rows contradict each other.
pub fn snapshot(tx: &mut dyn Tx, event: Seq) -> Result<Option<Snapshot>, StoreError> {
    let Some(place) = events::place(tx, event)? else { return Ok(None) };
    if marks::get(tx, event)?.is_some() {
        return Ok(None);
    }
    let work = match resolve(tx, &place)? {
        Some(work) => Some(view(tx, work)?),
        None => None,
    };
    let Some(whole) = events::get(tx, event)? else {
        return Err(StoreError::corrupt(format!("event {event}: a name it uses is missing")));
    };
    let payload = payloads::get(tx, event)?;
    Ok(Some(Snapshot { event: whole, payload, work, generation: generations::current_no(tx)? }))
}

fn view(tx: &mut dyn Tx, id: WorkId) -> Result<WorkView, StoreError> {
    let work = works::referred(tx, id)?;
    let kind = names::text(tx, work.kind)?;
    let keys = keys::of_work(tx, id)?;
    let Work { uid, status, attempt, revision, .. } = work;
    Ok(WorkView { id, uid, kind, status, keys, attempt, revision })
}

/// Applies what an evaluation proposed for one event. ROUTE-15 ROUTE-17 ROUTE-19
pub(super) fn commit_route(
    tx: &mut dyn Tx,
    now: Millis,
    proposal: &Proposal,
) -> Result<Step, StoreError> {
    let Some(event) = events::place(tx, proposal.event)? else {
        return Ok(Refusal::UnknownEvent.into());
    };
    if let Some((mark, work)) = marks::get(tx, event.seq)? {
        let receipt = Receipt::Routed { event: event.seq, mark, work };
        return Ok(Outcome::Duplicate(receipt).into());
    }
    let work = match resolve(tx, &event)? {
        Some(work) => Some(works::referred(tx, work)?),
        None => None,
    };
    let generation = generations::current_no(tx)?;
    let seen = work.as_ref().map(|work| (work.id, work.revision));
    if proposal.resolved != seen || proposal.generation != generation {
        return Ok(Outcome::Conflict.into());
    }
    // The key found an owner elsewhere after this event was accepted: no authority there. OWN-03
    if work.as_ref().is_some_and(|work| work.scope != event.scope) {
        return Ok(Refusal::WrongScope.into());
    }
    if out_of_turn(tx, work.as_ref(), event.seq)? {
        return Ok(Deferral::OutOfTurn.into());
    }
    let (generation, route) = (proposal.generation, proposal.route.as_deref());
    let marking = Marking { now, event, route, reason: None, asked: None, generation };
    Routing { marking, proposal }.route(tx, work)
}

/// Whether a lower unrouted event resolves to the same work. Relative to what resolves now: a
/// high-water mark would strand late joiners. OWN-05 OWN-09
fn out_of_turn(tx: &mut dyn Tx, work: Option<&Work>, event: Seq) -> Result<bool, StoreError> {
    let Some(work) = work else { return Ok(false) };
    Ok(unrouted::lowest_of(tx, work.id, work.scope)?.is_some_and(|lowest| lowest < event))
}

/// Marks an unrouted event so that it can never be input, in its turn. OURS-07
pub(super) fn drop_event(
    tx: &mut dyn Tx,
    now: Millis,
    event: Seq,
    reason: &str,
) -> Result<Step, StoreError> {
    let Some(event) = events::place(tx, event)? else { return Ok(Refusal::UnknownEvent.into()) };
    if marks::get(tx, event.seq)?.is_some() {
        return Ok(Refusal::AlreadyRouted.into());
    }
    match event.derived {
        Some(Derived::Timeout | Derived::Alias | Derived::TurnEnded | Derived::Retry) => {
            return Ok(Refusal::CoreType.into());
        }
        Some(Derived::Continuation | Derived::Successor | Derived::Replay) | None => {}
    }
    let work = match resolve(tx, &event)? {
        Some(work) => Some(works::referred(tx, work)?),
        None => None,
    };
    // An owner elsewhere is none of its business. OWN-03
    let work = work.filter(|work| work.scope == event.scope);
    if out_of_turn(tx, work.as_ref(), event.seq)? {
        return Ok(Deferral::OutOfTurn.into());
    }
    let generation = generations::current_no(tx)?;
    let reason = Some(reason);
    let marking = Marking { now, event, route: None, reason, asked: None, generation };
    marking.mark(tx, MarkKind::OperatorDrop, work.as_ref())
}

/// How the event at hand is marked.
#[derive(Clone, Copy)]
struct Marking<'a> {
    now: Millis,
    event: Place,
    route: Option<&'a str>,
    reason: Option<&'a str>,
    /// The policy that was asked for, where a fallback stands in.
    asked: Option<ControlPolicy>,
    generation: Generation,
}

impl Marking<'_> {
    /// Writes the one mark of the event. ROUTE-19
    fn mark(
        &self,
        tx: &mut dyn Tx,
        kind: MarkKind,
        work: Option<&Work>,
    ) -> Result<Step, StoreError> {
        let event = self.event.seq;
        if !unrouted::remove(tx, event)? {
            return Err(StoreError::corrupt(format!(
                "event {event} has no mark and is not queued for routing"
            )));
        }
        let Self { now: at, route, reason, asked, generation, .. } = *self;
        let associated = work.map(|work| work.id);
        marks::insert(
            tx,
            &Mark {
                event,
                kind,
                work: associated,
                wait: None,
                route,
                reason,
                asked,
                generation,
                at,
            },
        )?;
        let receipt = Receipt::Routed { event, mark: kind, work: associated };
        Ok(match work {
            Some(work) => Step::accepted(receipt, work),
            None => Outcome::Accepted(receipt).into(),
        })
    }
}

/// One routing commit past its guards.
struct Routing<'a> {
    marking: Marking<'a>,
    proposal: &'a Proposal,
}

impl Routing<'_> {
    /// The first line that applies decides.
    fn route(&self, tx: &mut dyn Tx, work: Option<Work>) -> Result<Step, StoreError> {
        let Some(mut work) = work else { return self.route_unowned(tx) };
        if work.status.is_terminal() {
            return self.come_late(tx, &work);
        }
        if self.marking.event.derived == Some(Derived::Retry) {
            return self.retry(tx, &mut work);
        }
        // A wait is tried before any route. POLICY-02
        if let Some(wait) = waits::active_of(tx, work.id)?
            && self.matches(tx, &wait)?
        {
            return self.wake(tx, &mut work, &wait);
        }
        // An alias needs no route: it was made for this work. POLICY-03 ALIAS-05
        if self.marking.event.derived == Some(Derived::Alias) {
            return self.queue(tx, &mut work, &[]);
        }
        match &self.proposal.decision {
            Decision::Decline => self.marking.mark(tx, MarkKind::Unmatched, None),
            Decision::Drop => self.marking.mark(tx, MarkKind::Drop, Some(&work)),
            Decision::Close => self.close(tx, &mut work),
            Decision::Update { attach, control } | Decision::Work { attach, control, .. } => {
                self.input(tx, &mut work, attach, *control)
            }
        }
    }

    /// Late for good: kept, associated, and inert; a successor is another work. TERM-02 TERM-03
    fn come_late(&self, tx: &mut dyn Tx, work: &Work) -> Result<Step, StoreError> {
        // A retry is of no handler's deciding. RETRY-28
        let decided = self.marking.event.derived != Some(Derived::Retry);
        if let Some(successor) = self.proposal.reopen.filter(|_| decided) {
            let Marking { now, event, .. } = &self.marking;
            reopen_by_route(tx, *now, work, event, successor)?;
        }
        self.marking.mark(tx, MarkKind::Terminal, Some(work))
    }

    /// The retry of another attempt than the one the work is in the backoff of changes nothing.
    /// RETRY-21 RETRY-23 RETRY-28
    fn retry(&self, tx: &mut dyn Tx, work: &mut Work) -> Result<Step, StoreError> {
        if work.backoff.is_none() || work.backoff != self.marking.event.failed {
            return self.marking.mark(tx, MarkKind::StaleRetry, Some(work));
        }
        work.end_backoff();
        self.queue(tx, work, &[])
    }

    /// Cancels the work, for good, with this event as the cause. OURS-02
    fn close(&self, tx: &mut dyn Tx, work: &mut Work) -> Result<Step, StoreError> {
        work.closed_by = Some(self.marking.event.seq);
        let route = self.proposal.route.as_deref().unwrap_or("a handler");
        let reason = format!("closed by event {} through `{route}`", self.marking.event.seq);
        terminate(tx, self.marking.now, work, &reason)?;
        self.marking.mark(tx, MarkKind::Close, Some(work))
    }

    /// What becomes of the event is for the control to say while an attempt runs, in whatever phase,
    /// and only then. POLICY-01 POLICY-04
    fn input(
        &self,
        tx: &mut dyn Tx,
        work: &mut Work,
        attach: &[Key],
        control: Control,
    ) -> Result<Step, StoreError> {
        match work.status {
            WorkStatus::Running => self.control(tx, work, attach, control),
            WorkStatus::Ready
            | WorkStatus::Waiting
            | WorkStatus::Completed
            | WorkStatus::Failed
            | WorkStatus::Cancelled => self.queue(tx, work, attach),
        }
    }

    /// The policy asked for where the attempt supports it; else the fallback, if the route has one.
    /// Nothing is inferred. POLICY-28 POLICY-32 POLICY-34
    fn control(
        &self,
        tx: &mut dyn Tx,
        work: &mut Work,
        attach: &[Key],
        control: Control,
    ) -> Result<Step, StoreError> {
        let wanted = control.policy;
        let n = work.attempt.unwrap_or_default();
        let supported = match wanted {
            ControlPolicy::Queue | ControlPolicy::Drop => true,
            ControlPolicy::Inject | ControlPolicy::Interrupt => {
                intents::supports(&attempts::referred(tx, work.id, n)?, wanted)
            }
        };
        if supported {
            return self.take(tx, work, attach, control, wanted);
        }
        let Some(fallback) = control.fallback else { return Ok(Deferral::Unsupported.into()) };
        let reason = format!("attempt {n} does not support `{}`", wanted.word());
        let marking = Marking { reason: Some(&reason), asked: Some(wanted), ..self.marking };
        Routing { marking, ..*self }.take(tx, work, attach, control, fallback.policy())
    }

    /// Does what the policy in effect says.
    fn take(
        &self,
        tx: &mut dyn Tx,
        work: &mut Work,
        attach: &[Key],
        control: Control,
        in_effect: ControlPolicy,
    ) -> Result<Step, StoreError> {
        match in_effect {
            ControlPolicy::Queue => self.queue(tx, work, attach),
            ControlPolicy::Inject => self.send(tx, work, attach, IntentKind::Inject, control),
            ControlPolicy::Interrupt => self.send(tx, work, attach, IntentKind::Interrupt, control),
            ControlPolicy::Drop => self.drop_now(tx, work),
        }
    }

    /// Kept, associated and never input; no key is attached. POLICY-24 POLICY-25
    fn drop_now(&self, tx: &mut dyn Tx, work: &Work) -> Result<Step, StoreError> {
        let n = work.attempt.unwrap_or_default();
        let said = format!("attempt {n} was running, and its route drops what comes meanwhile");
        let reason = self.marking.reason.unwrap_or(&said);
        let marking = Marking { reason: Some(reason), ..self.marking };
        marking.mark(tx, MarkKind::Drop, Some(work))
    }

    /// Whatever the work is doing, its status does not change. POLICY-03 POLICY-04
    fn queue(&self, tx: &mut dyn Tx, work: &mut Work, attach: &[Key]) -> Result<Step, StoreError> {
        if ownership::owned_by_another(tx, attach, Some(work.id))? {
            return Ok(Refusal::KeyOwned.into());
        }
        self.append(tx, work, attach, MarkKind::Queued)
    }

    /// Pending input like any other, and an intent beside it. POLICY-11 POLICY-12 POLICY-19
    fn send(
        &self,
        tx: &mut dyn Tx,
        work: &mut Work,
        attach: &[Key],
        kind: IntentKind,
        control: Control,
    ) -> Result<Step, StoreError> {
        if ownership::owned_by_another(tx, attach, Some(work.id))? {
            return Ok(Refusal::KeyOwned.into());
        }
        let Marking { now, event, .. } = self.marking;
        intents::commit(tx, now, work, event.seq, kind, control.on_error)?;
        let mark = match kind {
            IntentKind::Inject => MarkKind::Inject,
            IntentKind::Interrupt => MarkKind::Interrupt,
        };
        self.append(tx, work, attach, mark)
    }

    fn append(
        &self,
        tx: &mut dyn Tx,
        work: &mut Work,
        attach: &[Key],
        mark: MarkKind,
    ) -> Result<Step, StoreError> {
        ownership::attach(tx, work, attach)?;
        ownership::append(tx, work, self.marking.event.seq)?;
        works::save(tx, work, self.marking.now)?;
        self.marking.mark(tx, mark, Some(work))
    }

    fn route_unowned(&self, tx: &mut dyn Tx) -> Result<Step, StoreError> {
        let (attach, create) = match &self.proposal.decision {
            Decision::Decline | Decision::Close | Decision::Update { .. } => {
                return self.marking.mark(tx, MarkKind::Unmatched, None);
            }
            Decision::Drop => return self.marking.mark(tx, MarkKind::Drop, None),
            Decision::Work { attach, create, control: _ } => (attach, create),
        };
        if ownership::owned_by_another(tx, attach, None)? {
            return Ok(Refusal::KeyOwned.into());
        }
        let Some(create) = create.as_ref().filter(|_| self.marking.event.target.is_none()) else {
            return self.marking.mark(tx, MarkKind::Unmatched, None);
        };
        // Published by the owner of its own key: that work is not its own input. WAIT-06
        if let Some(key) = self.marking.event.key
            && keys::owner(tx, key)?.is_some()
        {
            return self.marking.mark(tx, MarkKind::Unmatched, None);
        }
        let mut work = ownership::create(tx, self.marking.now, &self.marking.event, create)?;
        self.queue(tx, &mut work, attach)
    }

    /// Whether this event fits the wait of the work it resolves to. A timeout fits by identity
    /// alone. WAIT-03 WAIT-04 WAIT-05 WAIT-08
    fn matches(&self, tx: &mut dyn Tx, wait: &waits::Wait) -> Result<bool, StoreError> {
        if wait.timeout == Some(self.marking.event.seq) {
            return Ok(true);
        }
        let Some(key) = self.marking.event.key else { return Ok(false) };
        if self.marking.event.seq <= wait.after {
            return Ok(false);
        }
        waits::fits(tx, wait.id, key, self.marking.event.event_type)
    }

    fn wake(
        &self,
        tx: &mut dyn Tx,
        work: &mut Work,
        wait: &waits::Wait,
    ) -> Result<Step, StoreError> {
        let winner = waits::lowest_match(tx, wait)?;
        // A lower match would be unrouted and ahead of this event, or pending and would have woken
        // the wait when it came.
        if winner != Some(self.marking.event.seq) {
            return Err(StoreError::corrupt(format!(
                "wait {} is active although event {winner:?} matched before event {}",
                wait.id, self.marking.event.seq
            )));
        }
        law_of_waits::wake_by(tx, self.marking.now, work, wait, self.marking.event.seq)?;
        works::save(tx, work, self.marking.now)?;
        let mark = MarkKind::Woke;
        let receipt = Receipt::Routed { event: self.marking.event.seq, mark, work: Some(work.id) };
        Ok(Step::accepted(receipt, work))
    }
}

#[cfg(test)]
mod tests;
