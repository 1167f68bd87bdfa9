//! Ownership: a key makes a Work once and stays with it, whatever becomes of the Work; only a successor goes on, under
//! the next generation of the key.

use crate::action::Expect;
use crate::index::{DeliveryIx, EventIx, Maybe, WorkIx};
use crate::law::{Law, causality, enqueue, ingress, mark, misnamed};
use crate::mutants::Mutant;
use crate::outcome::{Outcome, Receipt, Refusal, RouteMark};
use crate::state::{Facts, SUCCESSOR_REJECTED, WorkStatus};
use crate::worlds::{Ask, Decision, Origin};

/// Makes the Work a decision proposes for an event, owning the event's key, if any, and those to attach.
/// OWN-01 OWN-04 ROUTE-24 ROUTE-25
pub(super) fn create(
    law: &Law,
    state: &mut impl Facts,
    event: EventIx,
    decision: &Decision,
) -> Option<WorkIx> {
    let (work, scope) = (decision.proposes?, state.scope_of(law.world, event)?);
    let about = state.about(law.world, event);
    if about.target.is_some() {
        return None;
    }
    make(state, work, scope, decision.kind);
    let attached = attached(law, state, decision);
    for key in about.key.into_iter().chain(attached) {
        own(state, work, key);
    }
    Some(work)
}

/// A new Work, ready; what a handler proposes twice is one Work.
fn make(state: &mut impl Facts, work: WorkIx, scope: u8, kind: u8) {
    let made = state.work_mut(work);
    if made.status == WorkStatus::Absent {
        made.status = WorkStatus::Ready;
        made.scope = scope;
        made.kind = kind;
    }
}

fn own(state: &mut impl Facts, work: WorkIx, key: u8) {
    let owner = state.work_mut(work);
    owner.keys |= 1 << key;
    if owner.first_key == Maybe::NONE {
        owner.first_key = Maybe::of_key(Some(key));
    }
}

/// The keys to attach, in their newest generation: a script may go on naming the resource. TERM-04
fn attached(law: &Law, state: &impl Facts, decision: &Decision) -> Vec<u8> {
    let mapped = |key: u8| match law.broken(Mutant::AttachUnmapped) {
        true => key,
        false => state.newest(law.world, key),
    };
    decision.attaches.iter().map(|key| mapped(*key)).collect()
}

/// Whether a key to attach belongs to another Work, which aborts the whole commit. OWN-07
pub(super) fn foreign(
    law: &Law,
    state: &mut impl Facts,
    decision: &Decision,
    work: Option<WorkIx>,
) -> bool {
    let owned =
        |state: &dyn Facts, key: u8| state.owner(key).is_some_and(|owner| Some(owner) != work);
    let attached = attached(law, state, decision);
    let foreign = attached.iter().any(|key| owned(state, *key));
    if foreign && law.broken(Mutant::AttachSteals) {
        for work in state.works_mut() {
            attached.iter().for_each(|key| work.keys &= !(1 << key));
        }
        return false;
    }
    if let (true, Some(work)) = (foreign && law.broken(Mutant::AttachPartly), work) {
        for key in attached {
            if !owned(state, key) {
                own(state, work, key);
            }
        }
    }
    foreign
}

/// The key set of a Work grows, and nothing else about it. OWN-06 OWN-09 OWN-13
pub(super) fn attach(law: &Law, state: &mut impl Facts, work: WorkIx, decision: &Decision) {
    if !law.broken(Mutant::AttachForgets) {
        for key in attached(law, state, decision) {
            own(state, work, key);
        }
    }
    if law.broken(Mutant::KindChanges) {
        state.work_mut(work).kind = decision.kind;
    }
}

/// A route's decision may reopen Work that ended; without one nothing is made. TERM-02 TERM-03 TERM-08
pub(super) fn reopen_by_route(
    law: &Law,
    state: &mut impl Facts,
    event: EventIx,
    old: WorkIx,
    decision: &Decision,
) {
    let Some(successor) = succeeding(law, event, old, decision) else {
        return;
    };
    if state.successor(old).is_some() && !law.broken(Mutant::SecondSuccessor) {
        return;
    }
    let Some(created) = law.world.created_of(successor) else {
        return;
    };
    if taken(law, state, old) {
        return;
    }
    if causality::accept_derived(law, state, created, Some(event)).is_none() {
        state.event_mut(event).rejected |= SUCCESSOR_REJECTED;
        return;
    }
    succeed(law, state, old, successor);
    first_input(law, state, created, successor);
}

/// The successor that an event makes of ended Work. A retry is no news of a resource: nothing is decided about it, and it
/// reopens nothing. TERM-03 RETRY-23
fn succeeding(law: &Law, event: EventIx, old: WorkIx, decision: &Decision) -> Option<WorkIx> {
    let uninvited = decision.proposes.filter(|_| law.broken(Mutant::ReopenUninvited));
    match law.world.origin(event) {
        Origin::Retry(..) => {
            law.world.successors.first().copied().filter(|_| law.broken(Mutant::DueReopens))
        }
        Origin::Delivery(_)
        | Origin::Timeout(_)
        | Origin::Continuation(_)
        | Origin::Alias(..)
        | Origin::Ended(..)
        | Origin::Created(_) => decision.successor_of(old).or(uninvited),
    }
}

/// Makes a successor of Work that ended, at an operator's request. TERM-03 TERM-05 to TERM-07, OURS-11
pub(super) fn reopen(
    law: &Law,
    state: &mut impl Facts,
    old: WorkIx,
    expect: Expect,
    request: DeliveryIx,
) -> Outcome {
    if let Some(answer) = ingress::repeated(law, state, request) {
        return answer;
    }
    if let Some(refusal) = misnamed(law, state, old, expect) {
        return refusal.into();
    }
    if !state.work(old).status.terminal() && !law.broken(Mutant::ReopenOpen) {
        return Refusal::NotTerminal.into();
    }
    if state.successor(old).is_some() && !law.broken(Mutant::SecondSuccessor) {
        return Refusal::HasSuccessor.into();
    }
    if taken(law, state, old) {
        return Refusal::KeyOwned.into();
    }
    let Some(successor) = law.world.delivery(request).decides.proposes else {
        return Refusal::UnknownWork.into();
    };
    let seq = ingress::accept_root(state, request.into(), None);
    succeed(law, state, old, successor);
    first_input(law, state, request.into(), successor);
    Receipt::Sequence(seq).into()
}

/// Whether somebody delivered under the name of the next generation before there was one. TERM-07
fn taken(law: &Law, state: &impl Facts, old: WorkIx) -> bool {
    let next = state.work(old).first_key.key().and_then(|key| law.world.next_generation(key));
    let owner = next.and_then(|next| state.owner(next));
    owner.is_some_and(|owner| state.work(owner).predecessor != old.into())
}

/// The successor owns the next generation of the first key; the predecessor keeps what it has. TERM-03 TERM-06 TERM-07
fn succeed(law: &Law, state: &mut impl Facts, old: WorkIx, successor: WorkIx) {
    let before = *state.work(old);
    make(state, successor, before.scope, before.kind);
    state.work_mut(successor).predecessor = old.into();
    if law.broken(Mutant::SuccessorIsChild) {
        state.work_mut(successor).parent = old.into();
    }
    if let Some(key) = before.first_key.key() {
        if let Some(next) = law.world.next_generation(key) {
            own(state, successor, next);
        }
        if law.broken(Mutant::ReopenMovesKey) {
            state.work_mut(old).keys &= !(1 << key);
            own(state, successor, key);
        }
    }
    if law.broken(Mutant::ReopenRevives) {
        state.work_mut(old).status = WorkStatus::Ready;
    }
}

/// `core.work.created` is the first pending input of what it made. TERM-05 BIND-03
fn first_input(law: &Law, state: &mut impl Facts, created: EventIx, work: WorkIx) {
    mark(law, state, created, RouteMark::Queued, Some(work));
    if !law.broken(Mutant::CreatedIsNoInput) {
        enqueue(state, created, work);
    }
}

/// Makes Work by hand. A child lies in its parent's scope, unless that was authorised. BIND-03 BIND-04
pub(super) fn create_by_hand(law: &Law, state: &mut impl Facts, request: DeliveryIx) -> Outcome {
    if let Some(answer) = ingress::repeated(law, state, request) {
        return answer;
    }
    let def = law.world.delivery(request);
    let (parent, authorised) = match def.asks {
        Some(Ask::Create { parent, authorised }) => (parent, authorised),
        Some(
            Ask::Replay(_)
            | Ask::Reopen(_)
            | Ask::Release(_)
            | Ask::Retry(_)
            | Ask::Interrupt(_)
            | Ask::ReleaseRestore,
        )
        | None => (None, false),
    };
    if let Some(parent) = parent {
        if !state.exists(parent) && !law.broken(Mutant::ParentUnchecked) {
            return Refusal::UnknownWork.into();
        }
        let abroad = state.work(parent).scope != def.scope;
        if abroad && !authorised && !law.broken(Mutant::ChildAnywhere) {
            return Refusal::WrongScope.into();
        }
    }
    let owned = def.key.is_some_and(|key| state.owner(key).is_some());
    if owned && !law.broken(Mutant::CreateOverOwner) {
        return Refusal::KeyOwned.into();
    }
    let Some(work) = def.decides.proposes else {
        return Refusal::UnknownWork.into();
    };
    let seq = ingress::accept_root(state, request.into(), None);
    make(state, work, def.scope, def.decides.kind);
    state.work_mut(work).parent = parent.map_or(Maybe::NONE, Into::into);
    if let Some(key) = def.key {
        own(state, work, key);
    }
    first_input(law, state, request.into(), work);
    Receipt::Sequence(seq).into()
}
