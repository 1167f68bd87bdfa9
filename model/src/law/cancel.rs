//! Cancel: everything of a Work that could still act ends in one commit, and nothing terminal is rewritten.

use crate::action::Expect;
use crate::index::{Maybe, WorkIx};
use crate::law::{Law, exclude_segment, intents, misnamed, release};
use crate::mutants::Mutant;
use crate::outcome::{Outcome, Receipt, Refusal};
use crate::state::{
    AttemptStatus, Facts, Flag, Holds, Phase, Process, Timer, WaitStatus, WorkStatus,
};

/// Ends the Work cancelled; standing Work for good or not at all. CANCEL-01 to CANCEL-11, OURS-10
pub(super) fn cancel(
    law: &Law,
    state: &mut impl Facts,
    work: WorkIx,
    expect: Expect,
    for_good: bool,
) -> Outcome {
    if let Some(refusal) = misnamed(law, state, work, expect) {
        return refusal.into();
    }
    match state.work(work).status {
        WorkStatus::Cancelled => return Outcome::Duplicate(Receipt::Done),
        WorkStatus::Completed | WorkStatus::Failed
            if !law.broken(Mutant::CancelRewritesTerminal) =>
        {
            return Refusal::Terminal.into();
        }
        WorkStatus::Absent
        | WorkStatus::Completed
        | WorkStatus::Failed
        | WorkStatus::Ready
        | WorkStatus::Running
        | WorkStatus::Waiting => {}
    }
    if law.stands(state, work) && !for_good && !law.broken(Mutant::StandingCancelledLightly) {
        return Refusal::Standing.into();
    }
    end(law, state, work);
    Receipt::Done.into()
}

/// What a cancel, a closing route and an idle close have in common. Pending input stays as audit and starts nothing.
/// CANCEL-01 to CANCEL-04, WAKE-12 to WAKE-15
pub(super) fn end(law: &Law, state: &mut impl Facts, work: WorkIx) {
    cancel_wait(law, state, work);
    cancel_attempt(law, state, work);
    let cancelled = state.work_mut(work);
    cancelled.status = WorkStatus::Cancelled;
    cancelled.holds = Holds::NONE;
    cancelled.wake = Maybe::NONE;
    cancelled.released = Maybe::NONE;
    if !law.broken(Mutant::CancelLeavesIdleTimer) {
        cancelled.idle = Timer::NONE;
    }
    if !law.broken(Mutant::CancelLeavesRetryTimer) {
        cancelled.retry = Timer::NONE;
    }
    if !law.broken(Mutant::CancelLeavesBackoff) {
        cancelled.backoff = 0;
    }
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
    if !law.broken(Mutant::CancelLeavesSubscription) {
        wait.subscribed = Flag::No;
        wait.checkpoint = 0;
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
    let told = intents::interrupting(state, work);
    release(law, state, work, AttemptStatus::Cancelled);
    if let Some(event) = told
        && law.broken(Mutant::CancelRecordsInterrupt)
    {
        state.work_mut(work).attempt.interrupted_by = event.into();
    }
    if law.broken(Mutant::CancelStopsProcess) {
        state.work_mut(work).process = Process::None;
    }
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
