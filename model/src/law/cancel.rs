//! Cancel: everything of a Work that could still act ends in one commit, and nothing terminal is rewritten.

use crate::index::{Maybe, WorkIx};
use crate::law::{Law, exclude_segment, release};
use crate::mutants::Mutant;
use crate::outcome::{Outcome, Receipt, Refusal};
use crate::state::{AttemptStatus, Facts, Hold, Phase, Timer, WaitStatus, WorkStatus};

/// Ends the Work cancelled. Pending input stays as audit and starts nothing. CANCEL-01 to CANCEL-11, WAKE-12 to WAKE-15
pub(super) fn cancel(law: &Law, state: &mut impl Facts, work: WorkIx) -> Outcome {
    match state.work(work).status {
        WorkStatus::Absent => return Refusal::UnknownWork.into(),
        WorkStatus::Cancelled => return Outcome::Duplicate(Receipt::Done),
        WorkStatus::Completed | WorkStatus::Failed
            if !law.broken(Mutant::CancelRewritesTerminal) =>
        {
            return Refusal::Terminal.into();
        }
        WorkStatus::Completed
        | WorkStatus::Failed
        | WorkStatus::Ready
        | WorkStatus::Running
        | WorkStatus::Waiting => {}
    }
    cancel_wait(law, state, work);
    cancel_attempt(law, state, work);
    let cancelled = state.work_mut(work);
    cancelled.status = WorkStatus::Cancelled;
    cancelled.hold = Hold::None;
    cancelled.wake = Maybe::NONE;
    Receipt::Done.into()
}

/// A woken wait keeps its winner; only an active one is cancelled. WAKE-14 WAKE-15
fn cancel_wait(law: &Law, state: &mut impl Facts, work: WorkIx) {
    let Some(wait) = state.active_wait(law.world, work) else {
        return;
    };
    let wait = state.wait_mut(wait);
    if !law.broken(Mutant::CancelLeavesWait) {
        wait.status = WaitStatus::Cancelled;
    }
    if !law.broken(Mutant::CancelLeavesTimer) {
        wait.timer = Timer::NONE;
        wait.cause = Maybe::NONE;
    }
}

/// Every token is refused from here on, before any process has stopped. CANCEL-05 CANCEL-06
fn cancel_attempt(law: &Law, state: &mut impl Facts, work: WorkIx) {
    let before = state.work(work).attempt;
    let parked = before.status == AttemptStatus::Parked;
    if !before.status.open() || (parked && law.broken(Mutant::CancelLeavesAttempt)) {
        return;
    }
    release(state, work, AttemptStatus::Cancelled);
    if law.broken(Mutant::CancelLeavesAuthority) {
        state.work_mut(work).attempt.epochs = before.epochs;
        state.work_mut(work).attempt.lease = before.lease;
    }
    // A segment that no executor was handed has no process to exclude. ADOPT-05
    let started = before.status == AttemptStatus::Running && before.phase != Phase::NeverHanded;
    if started && !law.broken(Mutant::CancelUnmarked) {
        exclude_segment(state, work);
    }
}
