//! Waits: registration scans accepted history in its own transaction; a wait wakes once, by its lowest match.

use crate::action::{Authority, Mark};
use crate::index::{EventIx, Maybe, Proofs, WaitIx, WorkIx, below};
use crate::law::{
    Law, aliases, causality, enqueue, exclude_segment, intents, mark, registered, release,
    unauthorised,
};
use crate::mutants::Mutant;
use crate::outcome::{Outcome, Receipt, Refusal, RouteMark};
use crate::state::{
    AttemptStatus, CONTINUATION_REJECTED, Facts, Flag, Hold, Input, Phase, Timer, Wait, WaitStatus,
    WorkStatus,
};
use crate::worlds::WaitDef;

/// Parks or ends the attempt, registers the wait and wakes it at once if accepted history has a match.
/// WAIT-01 to WAIT-19, TIMER-01, TIMER-04
pub(super) fn register(
    law: &Law,
    state: &mut impl Facts,
    work: WorkIx,
    by: Authority,
    (wait, after): (WaitIx, Mark),
    proofs: Proofs,
) -> Outcome {
    if let Some(refusal) = unauthorised(law, state, work, by) {
        return refusal.into();
    }
    if state.work(work).attempt.phase != Phase::Pinned {
        return Refusal::NotRunning.into();
    }
    if registered(state, wait) {
        return Outcome::Duplicate(Receipt::Registered { winner: state.wait(wait).winner.event() });
    }
    let def = law.world.wait(wait);
    if let Some(refusal) = unsound(law, state, work, def) {
        return refusal.into();
    }
    let watermark = sequence_at(state, work, after);
    if watermark > state.latest() && !law.broken(Mutant::WatermarkUnchecked) {
        return Refusal::WatermarkAhead.into();
    }
    // What was taken in is no news to the turn: no scan finds it. INJECT-25 INJECT-26 INJECT-27
    if let Some(refusal) = intents::unproved(law, state, work, proofs) {
        return refusal.into();
    }
    let named = if law.broken(Mutant::ProofIgnoredOnWait) { Proofs::NONE } else { proofs };
    let proved = intents::proved(law, state, work, named);
    if !law.broken(Mutant::ProofAfterScan) {
        intents::consume(law, state, proved);
    }
    let (checkpoint, subscription) = subscribe(law, state, wait, watermark);
    park(law, state, work, wait);
    *state.wait_mut(wait) = Wait {
        status: WaitStatus::Active,
        // The boundary is the execution's own word for what it saw; raising it would lose a wake. WAIT-12
        watermark: if law.broken(Mutant::WatermarkRaised) { state.latest() } else { watermark },
        timer: def.timeout.map_or(Timer::NONE, Timer::due_in),
        cause: def.timeout.map_or(Maybe::NONE, |_| state.work(work).attempt.cause),
        subscribed: if def.source.is_some() { Flag::Yes } else { Flag::No },
        checkpoint,
        subscription,
        ..Wait::default()
    };
    aliases::catch_up(law, state, wait);
    // What came between observation and this commit wakes it here or never. WAIT-14 WAIT-17
    let winner =
        lowest_match(law, state, wait).filter(|_| !law.broken(Mutant::SkipRegistrationScan));
    if let Some(winner) = winner {
        wake_by(law, state, wait, winner);
    }
    if law.broken(Mutant::ProofAfterScan) {
        intents::consume(law, state, proved);
    }
    Receipt::Registered { winner }.into()
}

/// A wait can end, on keys of its own Work, and reads only what its scope may read. OURS-18 WAIT-02 ALIAS-05 ALIAS-09
fn unsound(law: &Law, state: &impl Facts, work: WorkIx, def: &WaitDef) -> Option<Refusal> {
    let ends = !def.keys.is_empty() || def.timeout.is_some() || def.source.is_some();
    if !ends && !law.broken(Mutant::WaitCannotEndUnchecked) {
        return Some(Refusal::WaitCannotEnd);
    }
    // A successor's script may go on naming the resource as it always did. TERM-04
    let meant = |key: u8| match law.broken(Mutant::ListedKeyUnmapped) {
        true => key,
        false => state.newest(law.world, key),
    };
    let own = |key: &u8| state.owner(meant(*key)) == Some(work);
    if !def.keys.iter().all(own) && !law.broken(Mutant::ForeignKeyUnchecked) {
        return Some(Refusal::KeyNotOwned);
    }
    let source = def.source?;
    // An alias has exactly one key of the dependent. ALIAS-05
    if def.keys.is_empty() && !law.broken(Mutant::AliasWithoutKey) {
        return Some(Refusal::KeyNotOwned);
    }
    let readable = law.world.may_read(state.work(work).scope, source.scope);
    (!readable && !law.broken(Mutant::ScopeUnchecked)).then_some(Refusal::ScopeNotReadable)
}

/// Where a subscription begins, and which of its Work it is. A watermark says nothing of sources: an alias has a higher
/// number than what it stands for, so the last subscription's checkpoint counts as well. ALIAS-02 ALIAS-07
fn subscribe(law: &Law, state: &impl Facts, wait: WaitIx, watermark: u8) -> (u8, u8) {
    if law.world.wait(wait).source.is_none() {
        return (0, 0);
    }
    let before = state.subscribed_before(law.world, wait);
    let reached = before
        .filter(|_| !law.broken(Mutant::SubscriptionForgets))
        .map_or(watermark, |before| state.wait(before).checkpoint);
    (watermark.min(reached), before.map_or(1, |before| state.wait(before).subscription + 1))
}

/// The sequence a declared watermark stands for.
pub fn sequence_at(state: &impl Facts, work: WorkIx, after: Mark) -> u8 {
    match after {
        Mark::Start => 0,
        Mark::Batch => {
            state.input(work, Input::Batch).last().map_or(0, |event| state.event(*event).seq)
        }
        Mark::Latest => state.latest(),
        Mark::Beyond => state.latest() + 1,
    }
}

/// An immediate wake does not save the old authority: it is gone either way. WAIT-16 WAIT-19
fn park(law: &Law, state: &mut impl Facts, work: WorkIx, wait: WaitIx) {
    let status = match law.world.binding(work).resumes {
        true => AttemptStatus::Parked,
        false => AttemptStatus::Waiting,
    };
    let (lease, epochs) = (state.work(work).attempt.lease, state.work(work).attempt.epochs);
    release(law, state, work, status);
    if law.broken(Mutant::ParkKeepsAuthority) {
        state.work_mut(work).attempt.lease = lease;
        state.work_mut(work).attempt.epochs = epochs;
    }
    if !law.broken(Mutant::ParkUnmarked) {
        exclude_segment(state, work);
    }
    state.work_mut(work).status = WorkStatus::Waiting;
    state.work_mut(work).last_wait = wait.into();
}

/// Wakes an active wait by its lowest matching event, once. WAKE-01 to WAKE-11
pub(super) fn wake(law: &Law, state: &mut impl Facts, wait: WaitIx) -> Outcome {
    match state.wait(wait).status {
        WaitStatus::Unregistered => return Refusal::UnknownWait.into(),
        WaitStatus::Cancelled => return Refusal::WaitCancelled.into(),
        // A replayed winner, a loser or a stale timer finds the wait woken and changes nothing. WAKE-10
        WaitStatus::Woken if !law.broken(Mutant::WakeTwice) => {
            return match state.wait(wait).winner.event() {
                Some(winner) => Outcome::Duplicate(Receipt::Woken { winner }),
                None => Refusal::NothingToWakeFrom.into(),
            };
        }
        WaitStatus::Woken | WaitStatus::Active => {}
    }
    let Some(winner) = lowest_match(law, state, wait) else {
        return Refusal::NothingToWakeFrom.into();
    };
    wake_by(law, state, wait, winner);
    Receipt::Woken { winner }.into()
}

/// Wakes the wait of a Work on behalf of an event being routed, if the event matches it. POLICY-02
pub(super) fn wake_for(law: &Law, state: &mut impl Facts, work: WorkIx, event: EventIx) -> bool {
    let Some(wait) = state.active_wait(law.world, work) else {
        return false;
    };
    if !state.matches(law.world, wait, event) || law.broken(Mutant::MatchAsContext) {
        return false;
    }
    let Some(winner) = lowest_match(law, state, wait) else {
        return false;
    };
    wake_by(law, state, wait, winner);
    if event != winner {
        enqueue(state, event, work);
    }
    true
}

/// The match with the lowest sequence, an accepted timeout included. WAKE-02 WAKE-03
pub(super) fn lowest_match(law: &Law, state: &impl Facts, wait: WaitIx) -> Option<EventIx> {
    if law.broken(Mutant::WakeSuppressed) {
        return None;
    }
    let watermark =
        if law.broken(Mutant::WatermarkIgnored) { 0 } else { state.wait(wait).watermark };
    let matches = below(state.events().len()).map(EventIx).filter(|event| {
        let queued = state.event(*event).input == Input::Pending;
        (state.matches_above(law.world, wait, *event, watermark)
            && !(queued && law.broken(Mutant::ScanSkipsQueued)))
            || barred(law, state, wait, *event, watermark)
    });
    if law.broken(Mutant::WakeHighest) {
        return matches.max_by_key(|event| state.event(*event).seq);
    }
    matches.min_by_key(|event| state.event(*event).seq)
}

/// What no wait may wake by: what its own Work published, and what was dropped. WAIT-06 WAIT-15
fn barred(law: &Law, state: &impl Facts, wait: WaitIx, event: EventIx, watermark: u8) -> bool {
    if !state.is_accepted(event) {
        return false;
    }
    let def = law.world.wait(wait);
    let own = state.about(law.world, event).publisher == Some(def.work)
        && state.is_unrouted(event)
        && law.broken(Mutant::OwnPublicationWakes);
    let dropped = state.event(event).mark == RouteMark::Drop && law.broken(Mutant::DroppedWakes);
    let consumed = [Input::Batch, Input::Consumed]
        .into_iter()
        .any(|standing| state.is_input(event, def.work, standing))
        && law.broken(Mutant::WakeByConsumed);
    (own || dropped || consumed)
        && state.event(event).seq > watermark
        && state.satisfies(law.world, def, event)
}

/// Active to woken: the winner is input once, the timer is gone, the Work is ready, the chain goes on. WAKE-08 WAKE-09
pub(super) fn wake_by(law: &Law, state: &mut impl Facts, wait: WaitIx, winner: EventIx) {
    let work = law.world.wait(wait).work;
    let woken = state.wait_mut(wait);
    woken.status = WaitStatus::Woken;
    woken.winner = winner.into();
    woken.wakes = (woken.wakes + 1).min(2);
    if !law.broken(Mutant::WakeLeavesTimer) {
        woken.timer = Timer::NONE;
        woken.cause = Maybe::NONE;
    }
    if !law.broken(Mutant::WakeLeavesSubscription) {
        woken.subscribed = Flag::No;
    }
    if state.is_unrouted(winner) {
        mark(law, state, winner, RouteMark::Woke, Some(work));
    }
    if !law.broken(Mutant::WakeWithoutInput) {
        enqueue(state, winner, work);
    }
    state.work_mut(work).status = WorkStatus::Ready;
    state.work_mut(work).wake = wait.into();
    go_on_from(law, state, wait, winner);
}

/// `core.wait.woken` is accepted with the wake. If a limit refuses it the wake stands and the Work is held.
/// WAKE-21 to WAKE-24
fn go_on_from(law: &Law, state: &mut impl Facts, wait: WaitIx, winner: EventIx) {
    let work = law.world.wait(wait).work;
    let event = law.world.continuation_of(wait);
    if causality::accept_derived(law, state, event, Some(winner)).is_some() {
        mark(law, state, event, RouteMark::Continuation, Some(work));
        return;
    }
    state.wait_mut(wait).rejected |= CONTINUATION_REJECTED;
    if !law.broken(Mutant::RefusedContinuationUnheld) {
        let held = state.work_mut(work);
        held.holds = held.holds.with(Hold::CausalLimit);
    }
}
