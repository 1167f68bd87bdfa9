//! Recovery: an attempt whose lease is over goes on as the same attempt under the next epoch.

use crate::action::{Authority, Verdict};
use crate::index::{EventIx, WorkIx, below};
use crate::law::{Law, attempts, exclude_segment, unauthorised};
use crate::mutants::Mutant;
use crate::outcome::{Outcome, Receipt, Recovery, Refusal};
use crate::state::{AttemptStatus, Exclusion, Facts, Flag, Input, Phase};

/// Takes over an attempt whose lease is over; number, trigger and batch stay. LEASE-02 LEASE-08 LEASE-09 ADOPT-01 to ADOPT-12
pub(super) fn claim(law: &Law, state: &mut impl Facts, work: WorkIx) -> Outcome {
    if !state.exists(work) {
        return Refusal::UnknownWork.into();
    }
    // A parked attempt holds no lease to lose. ADOPT-12
    if state.work(work).attempt.status != AttemptStatus::Running {
        return Refusal::NothingToRecover.into();
    }
    let live = state.work(work).attempt.lease > 0 || law.broken(Mutant::RecoveryNever);
    if live && !law.broken(Mutant::RecoverLiveLease) {
        return Refusal::LeaseLive.into();
    }
    let how = match started_nothing(law, state, work) {
        true => Recovery::Relaunch,
        false => Recovery::Adopt,
    };
    let attempt = &mut state.work_mut(work).attempt;
    attempt.lease = law.world.lease;
    attempt.epochs = if law.broken(Mutant::RecoveryKeepsEpoch) { 2 } else { 1 };
    attempt.number += u8::from(law.broken(Mutant::RecoveryNewAttempt));
    attempt.phase = match how {
        Recovery::Relaunch => Phase::NeverHanded,
        Recovery::Adopt => Phase::Recovering,
    };
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
        Phase::None | Phase::Pinned | Phase::Recovering => false,
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
        Verdict::Adopted => state.work_mut(work).attempt.phase = Phase::Pinned,
        Verdict::NotAdoptable => {
            attempts::record_failure(law, state, work);
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
    state.work_mut(work).excluded = Exclusion::None;
    state.work_mut(work).exited = Flag::No;
    Receipt::Done.into()
}

/// The process of the marked segment ends; only `Vacate` tells the law. POLICY-22
pub(super) fn process_exits(state: &mut impl Facts, work: WorkIx) -> Outcome {
    if state.work(work).excluded == Exclusion::None {
        return Refusal::NotExcluded.into();
    }
    state.work_mut(work).exited = Flag::Yes;
    Receipt::Done.into()
}
