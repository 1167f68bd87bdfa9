//! Attempts: claimed under a lease, launched in two steps, ended once.

use crate::action::Authority;
use crate::index::{EventIx, Maybe, WorkIx, below};
use crate::law::{Law, release, unauthorised};
use crate::mutants::Mutant;
use crate::outcome::{Deferral, Outcome, Receipt, Refusal, Start};
use crate::state::{Attempt, AttemptStatus, Exclusion, Facts, Hold, Input, Phase, WorkStatus};

/// Starts or resumes an attempt with all pending input, under a fresh lease and the next epoch.
/// POLICY-05 to POLICY-09, LEASE-03, LEASE-10, WAKE-16 to WAKE-20, WAKE-25, WAKE-26, OURS-28
pub(super) fn claim(law: &Law, state: &mut impl Facts, work: WorkIx) -> Outcome {
    if let Some(answer) = not_startable(law, state, work) {
        return answer;
    }
    let wake = state.work(work).wake.wait();
    let winner = wake.and_then(|wait| state.wait(wait).winner.event());
    let before = state.work(work).attempt;
    let resumes = before.status == AttemptStatus::Parked && !law.broken(Mutant::ResumeNewAttempt);
    let trigger = if resumes {
        replaced(law, before.trigger, winner)
    } else {
        first_input(law, state, work, winner)
    };
    let start = match (resumes, before.number) {
        (true, _) => Start::Resume,
        (false, 0) => Start::Start,
        (false, _) => Start::Next,
    };
    let attempt = if resumes { before.number } else { before.number + 1 };
    let cause = match wake {
        Some(wait) if !law.broken(Mutant::WakeKeepsCause) => law.world.continuation_of(wait).into(),
        Some(_) if resumes => before.cause,
        Some(_) | None => trigger,
    };
    take_input(law, state, work, trigger);
    let claimed = state.work_mut(work);
    claimed.status = WorkStatus::Running;
    claimed.wake = Maybe::NONE;
    if claimed.excluded != Exclusion::None {
        claimed.excluded = Exclusion::EarlierSegment;
    }
    claimed.attempt = Attempt {
        number: attempt,
        status: AttemptStatus::Running,
        phase: Phase::NeverHanded,
        lease: law.world.lease,
        epochs: if resumes && law.broken(Mutant::ResumeKeepsEpoch) { 2 } else { 1 },
        trigger,
        cause,
    };
    Receipt::Claimed { attempt, start }.into()
}

fn not_startable(law: &Law, state: &impl Facts, ix: WorkIx) -> Option<Outcome> {
    let work = state.work(ix);
    match work.status {
        WorkStatus::Absent => return Some(Refusal::UnknownWork.into()),
        WorkStatus::Completed | WorkStatus::Failed | WorkStatus::Cancelled => {
            return Some(Refusal::Terminal.into());
        }
        // A lease that is over ends no attempt: it is recovered, not replaced. LEASE-03
        WorkStatus::Running if !law.broken(Mutant::ClaimWhileRunning) => {
            return Some(Refusal::AttemptOpen.into());
        }
        WorkStatus::Waiting => return Some(Refusal::WorkWaiting.into()),
        WorkStatus::Running | WorkStatus::Ready => {}
    }
    if !state.has_pending(ix) && work.wake == Maybe::NONE {
        return Some(Refusal::NothingToStart.into());
    }
    if work.hold != Hold::None && !law.broken(Mutant::ClaimOverHold) {
        return Some(Deferral::Held.into());
    }
    if work.excluded != Exclusion::None && !law.broken(Mutant::ClaimOverExclusion) {
        return Some(Deferral::Excluded.into());
    }
    if state.running_in(work.scope) >= law.world.capacity && !law.broken(Mutant::ClaimOverCapacity)
    {
        return Some(Deferral::Capacity.into());
    }
    None
}

/// A resume never replaces the trigger. WAKE-17
fn replaced(law: &Law, trigger: Maybe, winner: Option<EventIx>) -> Maybe {
    match winner {
        Some(winner) if law.broken(Mutant::ResumeReplacesTrigger) => winner.into(),
        Some(_) | None => trigger,
    }
}

/// A new attempt starts from the wake's winner, else from its lowest pending input. WAKE-19
fn first_input(law: &Law, state: &impl Facts, work: WorkIx, winner: Option<EventIx>) -> Maybe {
    match winner {
        Some(winner) if !law.broken(Mutant::NextForgetsWinner) => winner.into(),
        Some(_) | None => {
            state.input(work, Input::Pending).first().map_or(Maybe::NONE, |event| (*event).into())
        }
    }
}

/// The segment consumes all pending input; what earlier segments consumed stays theirs. OURS-28
fn take_input(law: &Law, state: &mut impl Facts, work: WorkIx, trigger: Maybe) {
    for ix in below(state.events().len()).map(EventIx) {
        let left = law.broken(Mutant::ClaimTakesTriggerOnly) && trigger != ix.into();
        let event = state.event_mut(ix);
        if event.work != work.into() {
            continue;
        }
        event.input = match event.input {
            Input::Pending if left => Input::Pending,
            Input::Pending => Input::Batch,
            Input::Batch | Input::Consumed => Input::Consumed,
            Input::No => Input::No,
        };
    }
}

/// Withdraws the record that no executor was handed the segment. ADOPT-06
pub(super) fn clear_never_handed(
    law: &Law,
    state: &mut impl Facts,
    work: WorkIx,
    by: Authority,
) -> Outcome {
    if let Some(refusal) = unauthorised(law, state, work, by) {
        return refusal.into();
    }
    match state.work(work).attempt.phase {
        Phase::None | Phase::Pinned | Phase::Recovering => Refusal::NotLaunching.into(),
        Phase::Handed => Outcome::Duplicate(Receipt::Done),
        Phase::NeverHanded => {
            state.work_mut(work).attempt.phase = Phase::Handed;
            Receipt::Done.into()
        }
    }
}

/// Saves the executor's metadata with the segment. ADOPT-04 ADOPT-09
pub(super) fn pin(law: &Law, state: &mut impl Facts, work: WorkIx, by: Authority) -> Outcome {
    if let Some(refusal) = unauthorised(law, state, work, by) {
        return refusal.into();
    }
    match state.work(work).attempt.phase {
        Phase::Pinned => return Outcome::Duplicate(Receipt::Done),
        Phase::None | Phase::Recovering => return Refusal::NotLaunching.into(),
        Phase::NeverHanded if !law.broken(Mutant::PinBeforeHandOver) => {
            return Refusal::NotHanded.into();
        }
        Phase::NeverHanded | Phase::Handed => {}
    }
    state.work_mut(work).attempt.phase = Phase::Pinned;
    Receipt::Done.into()
}

/// Extends the lease of the live epoch. LEASE-11
pub(super) fn renew(law: &Law, state: &mut impl Facts, work: WorkIx, by: Authority) -> Outcome {
    if let Some(refusal) = unauthorised(law, state, work, by) {
        return refusal.into();
    }
    state.work_mut(work).attempt.lease = law.world.lease;
    Receipt::Done.into()
}

/// Ends the attempt completed, and with it the Work unless input is pending. DONE-01 to DONE-06
pub(super) fn complete(law: &Law, state: &mut impl Facts, work: WorkIx, by: Authority) -> Outcome {
    if let Some(refusal) = unauthorised(law, state, work, by) {
        return refusal.into();
    }
    if state.work(work).attempt.phase != Phase::Pinned {
        return Refusal::NotRunning.into();
    }
    let more = state.has_pending(work) && !law.broken(Mutant::CompleteDropsPending);
    // An event that already resolves to the Work would otherwise come to a Work that has ended. DONE-02
    if !more && state.owed_a_route(law.world, work) && !law.broken(Mutant::CompleteOverUnrouted) {
        return Outcome::Conflict;
    }
    release(state, work, AttemptStatus::Completed);
    state.work_mut(work).status = if more { WorkStatus::Ready } else { WorkStatus::Completed };
    Receipt::Done.into()
}

/// Ends the attempt failed. OURS-28
pub(super) fn fail(law: &Law, state: &mut impl Facts, work: WorkIx, by: Authority) -> Outcome {
    if let Some(refusal) = unauthorised(law, state, work, by) {
        return refusal.into();
    }
    if state.work(work).attempt.phase == Phase::Recovering {
        return Refusal::NotRunning.into();
    }
    record_failure(law, state, work);
    Receipt::Done.into()
}

/// Counts a failure. The budget is one, so it is used up: the Work stays open under a hold. RETRY-06 RETRY-09
pub(super) fn record_failure(law: &Law, state: &mut impl Facts, work: WorkIx) {
    release(state, work, AttemptStatus::Failed);
    if law.broken(Mutant::FailureDropsPending) {
        for event in state.input(work, Input::Pending) {
            state.event_mut(event).input = Input::No;
        }
    }
    let failed = state.work_mut(work);
    failed.status = WorkStatus::Ready;
    failed.failures = failed.failures.saturating_add(1);
    if !law.broken(Mutant::FailureUnheld) {
        failed.hold = Hold::Exhausted;
    }
}
