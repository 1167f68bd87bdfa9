//! The runtime's words one by one as the model's, and its numbers as the model counts.

use abide::domain::{self, Millis};
use abide::store::observe::{SeenIntent, SeenWork};
use abide_model::state::{
    AttemptStatus, Exclusion, Fallback, Hold, IntentKind, Phase, WaitStatus, WorkStatus,
};
use abide_model::view::{IntentView, LeaseView};
use abide_model::worlds::TICK_MS;

use crate::commands::{intent_kind, intent_status, stranger};
use crate::subject::SubjectError;

pub(super) fn small(number: u32, thing: &'static str) -> Result<u8, SubjectError> {
    u8::try_from(number).map_err(|_| stranger(thing, &number))
}

pub(super) fn in_ticks(length: u64, thing: &'static str) -> Result<u8, SubjectError> {
    u8::try_from(length.div_ceil(TICK_MS)).map_err(|_| stranger(thing, &length))
}

pub(super) fn exclusion(work: &SeenWork) -> Exclusion {
    match (work.excluded, work.excluded_is_last) {
        (None, _) => Exclusion::None,
        (Some(_), true) => Exclusion::LastSegment,
        (Some(_), false) => Exclusion::EarlierSegment,
    }
}

pub(super) fn lease(expires_at: Option<Millis>, now: Millis) -> LeaseView {
    match expires_at {
        None => LeaseView::None,
        Some(end) if now >= end => LeaseView::Expired,
        Some(_) => LeaseView::Live,
    }
}

pub(super) const fn work_status(status: domain::WorkStatus) -> WorkStatus {
    match status {
        domain::WorkStatus::Ready => WorkStatus::Ready,
        domain::WorkStatus::Running => WorkStatus::Running,
        domain::WorkStatus::Waiting => WorkStatus::Waiting,
        domain::WorkStatus::Completed => WorkStatus::Completed,
        domain::WorkStatus::Failed => WorkStatus::Failed,
        domain::WorkStatus::Cancelled => WorkStatus::Cancelled,
    }
}

pub(super) const fn hold(hold: domain::Hold) -> Hold {
    match hold {
        domain::Hold::Exhausted => Hold::Exhausted,
        domain::Hold::CausalLimit => Hold::CausalLimit,
        domain::Hold::Operator => Hold::Operator,
    }
}

pub(super) const fn attempt_status(status: domain::AttemptStatus) -> AttemptStatus {
    match status {
        domain::AttemptStatus::Running => AttemptStatus::Running,
        domain::AttemptStatus::Parked => AttemptStatus::Parked,
        domain::AttemptStatus::Completed => AttemptStatus::Completed,
        domain::AttemptStatus::Waiting => AttemptStatus::Waiting,
        domain::AttemptStatus::Failed => AttemptStatus::Failed,
        domain::AttemptStatus::Cancelled => AttemptStatus::Cancelled,
    }
}

pub(super) const fn phase(phase: domain::Phase) -> Phase {
    match phase {
        domain::Phase::NeverHanded => Phase::NeverHanded,
        domain::Phase::Handed => Phase::Handed,
        domain::Phase::Pinned => Phase::Pinned,
        domain::Phase::Recovering => Phase::Recovering,
    }
}

pub(super) const fn wait_status(status: domain::WaitStatus) -> WaitStatus {
    match status {
        domain::WaitStatus::Active => WaitStatus::Active,
        domain::WaitStatus::Woken => WaitStatus::Woken,
        domain::WaitStatus::Cancelled => WaitStatus::Cancelled,
    }
}

/// The control that a fallback stands in for.
pub(super) fn asked(policy: domain::ControlPolicy) -> Result<IntentKind, SubjectError> {
    match policy {
        domain::ControlPolicy::Inject => Ok(IntentKind::Inject),
        domain::ControlPolicy::Interrupt => Ok(IntentKind::Interrupt),
        domain::ControlPolicy::Queue | domain::ControlPolicy::Drop => {
            Err(stranger("fallback for", &format!("{policy:?}")))
        }
    }
}

pub(super) fn intent(seen: SeenIntent) -> Result<IntentView, SubjectError> {
    Ok(IntentView {
        kind: intent_kind(seen.kind),
        attempt: small(seen.attempt.0, "attempt")?,
        status: intent_status(seen.status),
        on_error: seen.on_error.map(|stands_in| match stands_in {
            domain::Fallback::Queue => Fallback::Queue,
            domain::Fallback::Drop => Fallback::Drop,
        }),
    })
}
