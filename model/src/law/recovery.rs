//! Recovery: an attempt whose lease is over goes on as the same attempt under the next epoch.

use crate::action::{Authority, Hint, Verdict};
use crate::index::{EventIx, WorkIx, below};
use crate::law::{Law, exclude_segment, intents, processes, release, retry, unauthorised};
use crate::mutants::Mutant;
use crate::outcome::{Deferral, Outcome, Receipt, Recovery, Refusal};
use crate::state::{AttemptStatus, Exclusion, Facts, Flag, Input, Phase, Process, WorkStatus};

/// Takes over an attempt whose lease is over; number, trigger and batch stay. LEASE-02 LEASE-08 LEASE-09 ADOPT-01 to ADOPT-12
pub(super) fn claim(law: &Law, state: &mut impl Facts, work: WorkIx) -> Outcome {
    if !state.exists(work) {
        return Refusal::UnknownWork.into();
    }
    // A parked attempt holds no lease to lose. ADOPT-12
    let parked = state.work(work).attempt.status == AttemptStatus::Parked;
    let candidate = state.work(work).attempt.status == AttemptStatus::Running
        || (parked && law.broken(Mutant::RecoverParked));
    if !candidate {
        return Refusal::NothingToRecover.into();
    }
    let live = state.work(work).attempt.lease > 0 || law.broken(Mutant::RecoveryNever);
    if live && !law.broken(Mutant::RecoverLiveLease) {
        return Refusal::LeaseLive.into();
    }
    // What was forked off at the backup may still act. OURS-21
    if state.current().restore_hold == Flag::Yes && !law.broken(Mutant::RecoveryOverRestore) {
        return Deferral::Restored.into();
    }
    let how = match started_nothing(law, state, work) {
        true => Recovery::Relaunch,
        false => Recovery::Adopt,
    };
    // What was launched may be held still, and is never let run: it was not pinned.
    if how == Recovery::Relaunch {
        processes::leave_behind(state, work);
    }
    processes::attach(law, state, work);
    if law.broken(Mutant::IntentDiesWithRecovery) {
        intents::expire(law, state, work, AttemptStatus::Running);
    }
    if how == Recovery::Relaunch && law.broken(Mutant::RelaunchCounts) {
        state.work_mut(work).failures += 1;
    }
    let void = state.work(work).attempt.epochs == 0 && law.broken(Mutant::RecoveryStaysVoid);
    let attempt = &mut state.work_mut(work).attempt;
    attempt.lease = law.world.lease;
    attempt.epochs = if law.broken(Mutant::RecoveryKeepsEpoch) { 2 } else { 1 };
    attempt.number += u8::from(law.broken(Mutant::RecoveryNewAttempt));
    attempt.phase = match how {
        Recovery::Relaunch => Phase::NeverHanded,
        Recovery::Adopt if law.broken(Mutant::RecoveryUnrecorded) => Phase::Pinned,
        Recovery::Adopt => Phase::Recovering,
    };
    if void {
        (attempt.epochs, attempt.lease) = (0, 0);
    }
    if law.broken(Mutant::RecoveryWidensBatch) {
        widen_batch(state, work);
    }
    Receipt::Recovered(how).into()
}

/// Launching with nothing pinned, and either never handed over or held back until the pin. ADOPT-05 ADOPT-07 ADOPT-08
fn started_nothing(law: &Law, state: &impl Facts, work: WorkIx) -> bool {
    match state.work(work).attempt.phase {
        Phase::NeverHanded => true,
        Phase::Handed => law.world.binding(work).holds || law.broken(Mutant::RelaunchAfterHandOver),
        Phase::Pinned => law.broken(Mutant::RelaunchPinned),
        Phase::None | Phase::Recovering => false,
    }
}

fn widen_batch(state: &mut impl Facts, work: WorkIx) {
    for event in below(state.events().len()).map(EventIx) {
        if state.is_input(event, work, Input::Pending) {
            state.event_mut(event).input = Input::Batch;
        }
    }
}

/// Ends a recovery under its own epoch: adopted, or failed with its process excluded. ADOPT-14 to ADOPT-22
pub(super) fn settle(
    law: &Law,
    state: &mut impl Facts,
    work: WorkIx,
    by: Authority,
    verdict: Verdict,
) -> Outcome {
    if let Some(refusal) = unauthorised(law, state, work, by) {
        return refusal.into();
    }
    if state.work(work).attempt.phase != Phase::Recovering {
        return Refusal::NotRecovering.into();
    }
    match verdict {
        Verdict::Adopted => {
            let adopted = state.work_mut(work);
            adopted.attempt.phase = Phase::Pinned;
            adopted.attempt.number += u8::from(law.broken(Mutant::AdoptionNewAttempt));
            if law.broken(Mutant::AdoptionLosesResult) && adopted.process == Process::Finished {
                adopted.process = Process::Lost;
            }
        }
        Verdict::NotAdoptable if retry::conflicts(law, state, work) => return Outcome::Conflict,
        Verdict::NotAdoptable => {
            retry::admit(law, state, work, Hint::None);
            if law.broken(Mutant::NotAdoptableUncounted) {
                retry::clear(state, work);
            }
            // Being unverifiable proves no stop. ADOPT-22
            if !law.broken(Mutant::NotAdoptableUnmarked) {
                exclude_segment(state, work);
            }
        }
    }
    Receipt::Done.into()
}

/// Lifts the exclusion mark of a segment whose process is seen to have ended. POLICY-22
pub(super) fn vacate(
    law: &Law,
    state: &mut impl Facts,
    work: WorkIx,
    segment: Authority,
) -> Outcome {
    if !state.exists(work) {
        return Refusal::UnknownWork.into();
    }
    let marked = match state.work(work).excluded {
        Exclusion::None => return Refusal::NotExcluded.into(),
        Exclusion::LastSegment => Authority::Current,
        Exclusion::EarlierSegment => Authority::Stale,
    };
    if segment != marked && !law.broken(Mutant::VacateAnySegment) {
        return Refusal::StaleSegment.into();
    }
    let vacated = state.work_mut(work);
    vacated.excluded = Exclusion::None;
    vacated.exited = Flag::No;
    if vacated.process.ended() {
        vacated.process = Process::None;
    }
    Receipt::Done.into()
}

/// The process of the marked segment ends; only `Vacate` tells the law. POLICY-22
pub(super) fn process_exits(state: &mut impl Facts, work: WorkIx) -> Outcome {
    if state.work(work).excluded == Exclusion::None {
        return Refusal::NotExcluded.into();
    }
    let gone = state.work_mut(work);
    gone.exited = Flag::Yes;
    if gone.process != Process::None {
        gone.process = Process::Lost;
    }
    Receipt::Done.into()
}

/// Gives up the lease at once: recovery need not wait for its end. Nothing else of the attempt changes. LEASE-02 OURS-19
pub(super) fn detach(law: &Law, state: &mut impl Facts, work: WorkIx, by: Authority) -> Outcome {
    if let Some(refusal) = unauthorised(law, state, work, by) {
        return refusal.into();
    }
    let detached = state.work_mut(work);
    if !law.broken(Mutant::DetachKeepsAuthority) {
        detached.attempt.lease = 0;
    }
    detached.host = Flag::No;
    if law.broken(Mutant::DetachStopsProcess) && detached.process.runs() {
        detached.process = Process::Lost;
    }
    if law.broken(Mutant::DetachEndsAttempt) {
        release(law, state, work, AttemptStatus::Cancelled);
        state.work_mut(work).status = WorkStatus::Ready;
    }
    if law.broken(Mutant::IntentDiesWithDetach) {
        intents::outdate(state);
    }
    Receipt::Done.into()
}
