//! Ids of the runtime that must be of this world.

use abide::domain::{Seq, WorkId};
use abide_model::index::{EventIx, WorkIx};

use crate::binding::Binding;
use crate::subject::SubjectError;

/// A fresh database numbers its events from 1 without gaps, so a sequence is a rank.
///
/// # Errors
/// No world has so many events.
pub fn rank(seq: Seq) -> Result<u8, SubjectError> {
    u8::try_from(seq.0).map_err(|_| stranger("event", &seq))
}

/// The event of a sequence, which must be one of this world's.
///
/// # Errors
/// It is not.
pub fn known_event(binding: &Binding, seq: Seq) -> Result<EventIx, SubjectError> {
    binding.event_of(seq).ok_or_else(|| stranger("event", &seq))
}

/// The Work of a row, which must be one of this world's.
///
/// # Errors
/// It is not.
pub fn known_work(binding: &Binding, id: WorkId) -> Result<WorkIx, SubjectError> {
    binding.work_of(id).ok_or_else(|| stranger("work", &id))
}

/// An id that this world does not contain.
pub fn stranger(thing: &'static str, id: &impl ToString) -> SubjectError {
    SubjectError::Stranger { thing, id: id.to_string() }
}
