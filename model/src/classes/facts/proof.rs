//! What a result says was taken in, and what of that is true.

use crate::index::{EventIx, Proofs, WorkIx};
use crate::state::{Facts, Input, IntentKind, IntentStatus};

/// Which kinds of proof a result brings: of a pending inject intent by its status (bits 0 to 7), of one that is pending no
/// more (8), of another attempt's (9), of an interrupt (10), of no intent of the Work (11), of what was sent to another
/// Work (12), of one that arrived and was then claimed (13).
pub(in crate::classes) fn proof_facts(state: &dyn Facts, work: WorkIx, proofs: Proofs) -> u16 {
    let claimed = |status, event| {
        let arrived = matches!(status, IntentStatus::Accepted | IntentStatus::FellBack);
        arrived && !state.is_input(event, work, Input::Withdrawn)
    };
    let bit = |event: EventIx| {
        let Some(intent) = state.intent(work, event) else {
            let sent_to_another = matches!(
                state.event(event).intent.status,
                IntentStatus::Dispatched | IntentStatus::Accepted | IntentStatus::FellBack
            );
            return if sent_to_another { 1 << 12 } else { 1 << 11 };
        };
        match intent.kind {
            IntentKind::None | IntentKind::Interrupt => 1 << 10,
            IntentKind::Inject if intent.attempt != state.work(work).attempt.number => 1 << 9,
            IntentKind::Inject if state.is_input(event, work, Input::Pending) => {
                1_u16 << (intent.status as u8).saturating_sub(1)
            }
            IntentKind::Inject if claimed(intent.status, event) => 1 << 13,
            IntentKind::Inject => 1 << 8,
        }
    };
    let known = proofs.events().filter(|event| event.at() < state.events().len());
    known.map(bit).fold(0, |all, one| all | one)
}
