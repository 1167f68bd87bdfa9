//! Routing: an evaluation reads a snapshot and proposes; a commit applies the proposal if what was
//! read still stands. ROUTE-12 ROUTE-15

use type_safe_id::TypeSafeId;

use crate::command::{Deferral, Outcome, Receipt, Refusal};
use crate::domain::{
    AttemptNo, Event, Generation, Key, MarkKind, Millis, Proposal, ProposedWork, Seq, WorkId,
    WorkStatus, WorkUid, derived_uuid,
};
use crate::store::events::Place;
use crate::store::marks::Mark;
use crate::store::works::Work;
use crate::store::{
    StoreError, Tx, events, generations, keys, marks, names, payloads, unrouted, waits, works,
};

use super::ingress::resolve;
use super::{Step, ownership, waits as law_of_waits};

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
    /// The proposal of an evaluation that read this: the name of the first matching route, and the
    /// kind of work it would create where nothing owns the event's key. ROUTE-08 ROUTE-16
    #[must_use]
    pub fn propose(&self, route: Option<&str>, kind: Option<&str>) -> Proposal {
        let creates = route.is_some() && self.event.key.is_some() && self.work.is_none();
        let create = kind
            .filter(|_| creates)
            .map(|kind| ProposedWork { uid: proposed_uid(&self.event, 0), kind: kind.to_owned() });
        Proposal {
            event: self.event.seq,
            resolved: self.work.as_ref().map(|work| (work.id, work.revision)),
            generation: self.generation,
            route: route.map(str::to_owned),
            create,
        }
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
    if let Some(work) = &work {
        // Relative to what resolves now; a high-water mark would strand late joiners. OWN-05 OWN-09
        if unrouted::lowest_of(tx, work.id, work.scope)?.is_some_and(|lowest| lowest < event.seq) {
            return Ok(Deferral::OutOfTurn.into());
        }
    }
    Routing { now, event, proposal }.route(tx, work)
}

/// One routing commit past its guards.
struct Routing<'a> {
    now: Millis,
    event: Place,
    proposal: &'a Proposal,
}

impl Routing<'_> {
    /// The first line that applies decides.
    fn route(&self, tx: &mut dyn Tx, work: Option<Work>) -> Result<Step, StoreError> {
        let Some(mut work) = work else { return self.route_unowned(tx) };
        // Late for good: kept, associated, and inert. TERM-02
        if work.status.is_terminal() {
            return self.mark(tx, MarkKind::Terminal, Some(&work));
        }
        // A wait is tried before any route. POLICY-02
        if let Some(wait) = waits::active_of(tx, work.id)?
            && self.matches(tx, &wait)?
        {
            return self.wake(tx, &mut work, &wait);
        }
        if self.proposal.route.is_none() {
            return self.mark(tx, MarkKind::Unmatched, None);
        }
        // Whatever the work is doing, its status does not change. POLICY-03 POLICY-04
        ownership::append(tx, &mut work, self.event.seq)?;
        works::save(tx, &mut work, self.now)?;
        self.mark(tx, MarkKind::Queued, Some(&work))
    }

    fn route_unowned(&self, tx: &mut dyn Tx) -> Result<Step, StoreError> {
        let (Some(_), Some(key), Some(create)) =
            (&self.proposal.route, self.event.key, &self.proposal.create)
        else {
            return self.mark(tx, MarkKind::Unmatched, None);
        };
        let mut work = ownership::create(tx, self.now, &self.event, key, create)?;
        ownership::append(tx, &mut work, self.event.seq)?;
        works::save(tx, &mut work, self.now)?;
        self.mark(tx, MarkKind::Queued, Some(&work))
    }

    /// Whether this event fits the wait of the work it resolves to. A timeout fits by identity
    /// alone. WAIT-03 WAIT-04 WAIT-05 WAIT-08
    fn matches(&self, tx: &mut dyn Tx, wait: &waits::Wait) -> Result<bool, StoreError> {
        if wait.timeout == Some(self.event.seq) {
            return Ok(true);
        }
        let Some(key) = self.event.key else { return Ok(false) };
        if self.event.seq <= wait.after {
            return Ok(false);
        }
        waits::fits(tx, wait.id, key, self.event.event_type)
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
        if winner != Some(self.event.seq) {
            return Err(StoreError::corrupt(format!(
                "wait {} is active although event {winner:?} matched before event {}",
                wait.id, self.event.seq
            )));
        }
        law_of_waits::wake_by(tx, self.now, work, wait, self.event.seq)?;
        works::save(tx, work, self.now)?;
        let mark = MarkKind::Woke;
        let receipt = Receipt::Routed { event: self.event.seq, mark, work: Some(work.id) };
        Ok(Step::accepted(receipt, work))
    }

    fn mark(
        &self,
        tx: &mut dyn Tx,
        kind: MarkKind,
        work: Option<&Work>,
    ) -> Result<Step, StoreError> {
        if !unrouted::remove(tx, self.event.seq)? {
            return Err(StoreError::corrupt(format!(
                "event {} has no mark and is not queued for routing",
                self.event.seq
            )));
        }
        let route = self.proposal.route.as_deref();
        let generation = self.proposal.generation;
        let (event, at) = (self.event.seq, self.now);
        let associated = work.map(|work| work.id);
        marks::insert(
            tx,
            &Mark { event, kind, work: associated, wait: None, route, generation, at },
        )?;
        let receipt = Receipt::Routed { event, mark: kind, work: associated };
        Ok(match work {
            Some(work) => Step::accepted(receipt, work),
            None => Outcome::Accepted(receipt).into(),
        })
    }
}

#[cfg(test)]
mod tests;
