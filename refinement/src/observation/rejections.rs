//! What core would have derived and could not.

use abide::store::observe::SeenRejection;
use abide::store::rejections::Derived;
use abide_model::index::EventIx;
use abide_model::view::{RejectionKind, RejectionView};

use super::view::Names;
use super::words::small;
use crate::commands::{known_event, known_work, stranger};
use crate::subject::SubjectError;

impl Names<'_> {
    /// One line for what was refused, in the model's order. An original whose replay was asked for under two identities
    /// was refused twice and is one line.
    pub(super) fn rejections(
        &self,
        seen: &[SeenRejection],
    ) -> Result<Vec<RejectionView>, SubjectError> {
        let mut found: Vec<(RejectionKind, u8, String)> =
            seen.iter().map(|row| self.rejection(row)).collect::<Result<_, _>>()?;
        found.sort_unstable();
        found.dedup_by(|one, other| one == other && one.0 == RejectionKind::Replay);
        Ok(found.into_iter().map(|(kind, _, of)| RejectionView { kind, of }).collect())
    }

    fn rejection(&self, row: &SeenRejection) -> Result<(RejectionKind, u8, String), SubjectError> {
        let wait = || self.wait_ix(row.wait.ok_or_else(|| stranger("rejection", &row.parent))?);
        let about = |slot: Option<EventIx>, kind, of| match slot {
            Some(slot) => Ok((kind, slot.0, of)),
            None => Err(stranger("rejection", &row.parent)),
        };
        match row.kind {
            Derived::Timeout | Derived::Continuation => {
                let wait = wait()?;
                let kind = match row.kind == Derived::Timeout {
                    true => RejectionKind::Timeout,
                    false => RejectionKind::Continuation,
                };
                Ok((kind, wait.0, self.world.wait(wait).name.to_owned()))
            }
            Derived::Alias => {
                let (wait, source) = (wait()?, known_event(self.binding, row.parent)?);
                let of =
                    format!("{}/{}", self.world.wait(wait).name, self.world.event_name(source));
                about(self.world.alias_of(wait, source), RejectionKind::Alias, of)
            }
            Derived::TurnEnded | Derived::Retry => {
                let (Some(work), Some(attempt)) = (row.work, row.attempt) else {
                    return Err(stranger("rejection", &row.parent));
                };
                let work = known_work(self.binding, work)?;
                let attempt = small(attempt.0, "attempt")?;
                let of = format!("{}/{attempt}", self.world.work_name(work));
                let (slot, kind) = match row.kind == Derived::TurnEnded {
                    true => (self.world.ended_of(work, attempt), RejectionKind::TurnEnd),
                    false => (self.world.retry_of(work, attempt), RejectionKind::Retry),
                };
                about(slot, kind, of)
            }
            Derived::Successor | Derived::Replay => {
                let kind = match row.kind == Derived::Successor {
                    true => RejectionKind::Successor,
                    false => RejectionKind::Replay,
                };
                let of = known_event(self.binding, row.parent)?;
                about(Some(of), kind, self.world.event_name(of))
            }
        }
    }
}
