//! Holds: why ready Work is not started, until a person lifts them.

use crate::action::Expect;
use crate::index::{DeliveryIx, WorkIx};
use crate::law::{Law, enqueue, ingress, mark, misnamed, retry};
use crate::mutants::Mutant;
use crate::outcome::{Outcome, Receipt, Refusal, RouteMark};
use crate::state::{Facts, Hold, Holds, Timer};

/// Sets the operator's hold; attempt, wait and input stay as they are. OURS-06
pub(super) fn hold(law: &Law, state: &mut impl Facts, work: WorkIx, expect: Expect) -> Outcome {
    if let Some(refusal) = misnamed(law, state, work, expect) {
        return refusal.into();
    }
    if state.work(work).status.terminal() && !law.broken(Mutant::HoldEnded) {
        return Refusal::Terminal.into();
    }
    if state.work(work).holds.has(Hold::Operator) {
        return Outcome::Duplicate(Receipt::Done);
    }
    let held = state.work_mut(work);
    held.holds = held.holds.with(Hold::Operator);
    if law.broken(Mutant::HoldStopsTimer)
        && let Some(wait) = state.active_wait(law.world, work)
    {
        state.wait_mut(wait).timer = Timer::NONE;
    }
    Receipt::Done.into()
}

/// Lifts every hold. The release is a root, so that a chain which a limit ended goes on from it. WAKE-24 OURS-06
pub(super) fn release(
    law: &Law,
    state: &mut impl Facts,
    work: WorkIx,
    expect: Expect,
    request: DeliveryIx,
) -> Outcome {
    if let Some(answer) = ingress::repeated(law, state, request) {
        return answer;
    }
    if let Some(refusal) = misnamed(law, state, work, expect) {
        return refusal.into();
    }
    if state.work(work).status.terminal() {
        return Refusal::Terminal.into();
    }
    let holds = state.work(work).holds;
    if holds.is_empty() && !law.broken(Mutant::ReleaseUnheld) {
        return Refusal::NotHeld.into();
    }
    let seq = ingress::accept_root(state, request.into(), None);
    // Nothing else would start a retry that a limit refused. RETRY-19 WAKE-24
    let goes_on =
        state.work(work).retry == Timer::DISABLED && !law.broken(Mutant::ReleaseLeavesRefusedRetry);
    let made = if goes_on { RouteMark::Queued } else { RouteMark::Release };
    mark(law, state, request.into(), made, Some(work));
    if goes_on {
        retry::clear(state, work);
    }
    if goes_on || law.broken(Mutant::ReleaseIsInput) {
        enqueue(state, request.into(), work);
    }
    let released = state.work_mut(work);
    released.holds = match law.broken(Mutant::ReleaseLeavesHold) {
        true => holds.without(Hold::Operator),
        false => Holds::NONE,
    };
    if holds.has(Hold::CausalLimit) && !law.broken(Mutant::ReleaseWithoutParent) {
        released.released = request.into();
    }
    Receipt::Sequence(seq).into()
}
