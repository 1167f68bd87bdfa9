//! What an actor of the daemon reads before it acts.

use abide::domain::{EventUid, Seq, WorkId};
use abide::store::{Tx, attempts, events, inputs, meta, names, works};

use crate::subject::SubjectError;

/// What an actor of the daemon reads before it acts.
pub struct Rows<'t>(pub &'t mut dyn Tx);

impl Rows<'_> {
    /// The path of the scope a Work was created in; none if there is no such Work.
    ///
    /// # Errors
    /// The store failed.
    pub fn scope(&mut self, work: WorkId) -> Result<Option<String>, SubjectError> {
        let Some(work) = works::get(self.0, work)? else { return Ok(None) };
        Ok(Some(names::text(self.0, work.scope)?))
    }

    /// The kind a Work was created as; none if there is no such Work.
    ///
    /// # Errors
    /// The store failed.
    pub fn kind(&mut self, work: WorkId) -> Result<Option<String>, SubjectError> {
        let Some(work) = works::get(self.0, work)? else { return Ok(None) };
        Ok(Some(names::text(self.0, work.kind)?))
    }

    /// The highest sequence of the batch that a Work's last segment claimed; 0 without one.
    ///
    /// # Errors
    /// The store failed.
    pub fn batch_end(&mut self, work: WorkId) -> Result<Seq, SubjectError> {
        let last = works::get(self.0, work)?.and_then(|row| row.attempt);
        let Some(n) = last else { return Ok(Seq(0)) };
        let epoch = attempts::referred(self.0, work, n)?.batch_epoch;
        Ok(inputs::batch(self.0, work, n, epoch)?.last().copied().unwrap_or(Seq(0)))
    }

    /// The id of an event at the edge, by which a process names it; none if it is not accepted.
    ///
    /// # Errors
    /// The store failed.
    pub fn uid(&mut self, event: Seq) -> Result<Option<EventUid>, SubjectError> {
        Ok(events::get(self.0, event)?.map(|event| event.uid))
    }

    /// The latest accepted sequence.
    ///
    /// # Errors
    /// The store failed.
    pub fn latest(&mut self) -> Result<Seq, SubjectError> {
        Ok(meta::last_seq(self.0)?)
    }
}
