//! Restoring from a backup: nothing that was granted before is valid, and nothing starts until a person says so.

use crate::index::{DeliveryIx, WorkIx};
use crate::law::{Law, enqueue, ingress, intents, mark};
use crate::mutants::Mutant;
use crate::outcome::{Outcome, Receipt, Refusal, RouteMark};
use crate::state::{AttemptStatus, Facts, Flag, Phase, WorkStatus};

/// The next incarnation: what happened after the backup is not known, so attempts stay, to be adopted or given up, and no
/// token of theirs is valid. OURS-21
pub(super) fn restore(law: &Law, state: &mut impl Facts) -> Outcome {
    let now = state.current_mut();
    if !law.broken(Mutant::RestoreSameIncarnation) {
        now.restores = now.restores.saturating_add(1);
    }
    if !law.broken(Mutant::RestoreWithoutHold) {
        now.restore_hold = Flag::Yes;
    }
    for work in state.works_mut() {
        work.host = Flag::No;
        if work.attempt.status != AttemptStatus::Running {
            continue;
        }
        if !law.broken(Mutant::RestoreKeepsTokens) {
            work.attempt.epochs = 0;
            work.attempt.lease = 0;
        }
        // What was launched after the backup is on no record, the record that nothing was among them. ADOPT-05 OURS-21
        let launching = matches!(work.attempt.phase, Phase::NeverHanded | Phase::Handed);
        if launching && !law.broken(Mutant::RestoreRelaunches) {
            work.attempt.phase = Phase::Recovering;
        }
        if law.broken(Mutant::RestoreEndsAttempts) {
            work.attempt.status = AttemptStatus::Cancelled;
            work.status = WorkStatus::Ready;
        }
    }
    if law.broken(Mutant::IntentDiesWithRestore) {
        intents::outdate(state);
    }
    if law.broken(Mutant::RestoreForgetsSends) {
        intents::unsend(state);
    }
    Receipt::Done.into()
}

/// What a deadline leads to waits for that person too: senders first get the time to send again what the backup does not
/// know. OURS-21
pub(super) fn stops_clocks(law: &Law, state: &impl Facts, breaks: Mutant) -> bool {
    state.current().restore_hold == Flag::Yes && !law.broken(breaks)
}

/// A person says that the other life of this database has ended. OURS-21
pub(super) fn release(law: &Law, state: &mut impl Facts, request: DeliveryIx) -> Outcome {
    if let Some(answer) = ingress::repeated(law, state, request) {
        return answer;
    }
    if state.current().restore_hold == Flag::No && !law.broken(Mutant::RestoreReleasedTwice) {
        return Refusal::NotHeld.into();
    }
    let seq = ingress::accept_root(state, request.into(), None);
    mark(law, state, request.into(), RouteMark::Release, None);
    if law.broken(Mutant::RestoreReleaseIsInput) {
        enqueue(state, request.into(), WorkIx(0));
    }
    state.current_mut().restore_hold = Flag::No;
    Receipt::Sequence(seq).into()
}
