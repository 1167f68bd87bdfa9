//! Routing one event: its evaluation, and the commit that says whether what was read still stands.
//! ROUTE-12 ROUTE-15

use std::sync::Arc;

use super::router::{Line, NAME};
use crate::command::{Command, Deferral, Outcome, Refusal};
use crate::domain::{Generation, Key, Proposal, Seq, WorkId};
use crate::evaluation::{Undecided, propose, whole};
use crate::host::Context;
use crate::store::{StoreError, Tx, works};

/// A moving target is evaluated so often before it goes back to its line.
const CONFLICTS: u32 = 16;

/// How routing one event ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Routed {
    /// It has its mark.
    Done,
    /// An earlier event of its Work is not routed yet. OWN-05
    OutOfTurn,
    /// It could not be decided, or not be committed; for people. It blocks its own Work. ROUTE-09
    Failed(String),
    /// The running attempt lacks the control that its route wants, and nothing stands in for it; for
    /// people, and until when. It blocks its own Work. POLICY-32
    Unsupported(String, Lacking),
    /// The same as failed, of an event that belongs to no Work of its scope: it blocks nobody. OWN-12
    Stranded(String),
}

/// What a control was not supported by: the attempt that runs, under the configuration that is
/// current. Reading B19.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lacking {
    work: WorkId,
    /// It moves when the attempt parks or ends.
    revision: i64,
    generation: Generation,
}

impl Lacking {
    /// Whether asking again may be answered otherwise.
    ///
    /// # Errors
    /// The machine failed.
    pub(super) fn is_over(self, tx: &mut dyn Tx, current: Generation) -> Result<bool, StoreError> {
        if self.generation != current {
            return Ok(true);
        }
        Ok(works::get(tx, self.work)?.is_none_or(|work| work.revision != self.revision))
    }
}

impl From<Undecided> for Routed {
    fn from(Undecided { why, bound }: Undecided) -> Self {
        if bound { Self::Failed(why) } else { Self::Stranded(why) }
    }
}

/// Evaluates an event and commits the result; begins anew when what it read has moved.
pub(crate) async fn route(context: &Arc<Context>, seq: Seq) -> Routed {
    for _ in 0..CONFLICTS {
        let proposal = match propose(context, seq).await {
            Ok(Some(proposal)) => proposal,
            // A wake may have marked it, out of turn: no handler is called for it again. ROUTE-19
            Ok(None) => return Routed::Done,
            Err(undecided) => return undecided.into(),
        };
        let bound = proposal.resolved.is_some();
        let lacking = lacking(&proposal);
        match context.commit(NAME, Command::CommitRoute { proposal }).await {
            Ok(Outcome::Accepted(_) | Outcome::Duplicate(_)) => return Routed::Done,
            Ok(Outcome::Conflict) => {}
            Ok(Outcome::Deferred(Deferral::OutOfTurn)) => return Routed::OutOfTurn,
            Ok(Outcome::Deferred(deferral @ Deferral::Unsupported)) => {
                let why = deferral.to_string();
                return match lacking {
                    Some(lacking) => Routed::Unsupported(why, lacking),
                    None => Routed::Failed(why),
                };
            }
            Ok(Outcome::Deferred(other)) => return Routed::Failed(other.to_string()),
            Ok(Outcome::Refused(refusal)) => return refused(refusal, bound),
            Err(error) => return Routed::Failed(error.to_string()),
        }
    }
    // Somebody else is faster each time: there is no hurry.
    Routed::OutOfTurn
}

/// Until when a control is lacking that a proposal wants.
pub(super) fn lacking(proposal: &Proposal) -> Option<Lacking> {
    let (work, revision) = proposal.resolved?;
    Some(Lacking { work, revision, generation: proposal.generation })
}

fn refused(refusal: Refusal, bound: bool) -> Routed {
    if refusal == Refusal::WrongScope {
        let why = "its key was taken by a work of another scope meanwhile";
        return Routed::Stranded(why.to_owned());
    }
    Undecided { why: refusal.to_string(), bound }.into()
}

/// The line an unrouted event stands in.
pub(super) fn line(tx: &mut dyn Tx, seq: Seq) -> Result<Line, StoreError> {
    let event = whole(tx, seq)?;
    let key: Option<Key> = event.key;
    Ok(match (event.target, key) {
        (Some(target), _) => Line::Target(target),
        (None, Some(key)) => Line::Key(key),
        (None, None) => Line::Alone(seq),
    })
}
