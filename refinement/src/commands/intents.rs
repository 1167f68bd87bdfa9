//! Controls of running attempts: what routes say of them, what executors answer, and what results say was taken in.

use abide::domain::{self, EventUid, SendAnswer};
use abide_model::action;
use abide_model::index::{DeliveryIx, Proofs};
use abide_model::state::Fallback;
use abide_model::worlds::{Control, ControlPolicy};
use uuid::Uuid;

use crate::binding::Binding;
use crate::names::event_uid;
use crate::observation::Rows;
use crate::subject::SubjectError;

/// What a route says of a running attempt.
pub(super) fn control(of: Control) -> domain::Control {
    domain::Control {
        policy: match of.policy {
            ControlPolicy::Queue => domain::ControlPolicy::Queue,
            ControlPolicy::Inject => domain::ControlPolicy::Inject,
            ControlPolicy::Interrupt => domain::ControlPolicy::Interrupt,
            ControlPolicy::Drop => domain::ControlPolicy::Drop,
        },
        fallback: fallback(of.fallback),
        on_error: fallback(of.on_error),
    }
}

const fn fallback(of: Fallback) -> Option<domain::Fallback> {
    match of {
        Fallback::None => None,
        Fallback::Queue => Some(domain::Fallback::Queue),
        Fallback::Drop => Some(domain::Fallback::Drop),
    }
}

/// What an executor answered.
pub(super) const fn answered(answer: action::SendAnswer) -> SendAnswer {
    match answer {
        action::SendAnswer::Accepted => SendAnswer::Accepted,
        action::SendAnswer::NotAccepting => SendAnswer::NotAccepting,
        action::SendAnswer::Failed => SendAnswer::Failed,
    }
}

/// The events that a result names, by the ids that their process knows: the last one first, one of them twice, and one that
/// nobody ever sent, since the law asks for neither order nor sense. INJECT-11 INJECT-16
pub(super) fn named(
    binding: &Binding,
    rows: &mut Rows<'_>,
    proofs: Proofs,
) -> Result<Vec<EventUid>, SubjectError> {
    let mut named = Vec::new();
    for event in proofs.events() {
        let unknown = event_uid(DeliveryIx(event.0));
        named.push(rows.uid(binding.event(event))?.unwrap_or(unknown));
    }
    if let Some(first) = named.first().copied() {
        named.extend([first, EventUid::from_uuid(Uuid::nil())]);
        named.reverse();
    }
    Ok(named)
}
