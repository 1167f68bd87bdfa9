//! What the law comes to look at before it answers so; what it does not reach is forgotten.

use crate::action::Kind;
use crate::outcome::{Outcome, Refusal};
use crate::state::Fallback;

use super::{EventFacts, WorkFacts};

/// What the law comes to look at of a Work before it answers so, as far as controls and proofs go.
pub(in crate::classes) fn seen_of_work(
    kind: Kind,
    outcome: Outcome,
    proofs: u16,
    facts: WorkFacts,
) -> WorkFacts {
    let WorkFacts { attempt, phase, lease, .. } = facts;
    let blank = WorkFacts::default();
    let unknown = outcome == Outcome::Refused(Refusal::UnknownIntent);
    let unauthorised =
        matches!(outcome, Outcome::Refused(Refusal::StaleAuthority | Refusal::LeaseExpired));
    let repeated = matches!(outcome, Outcome::Duplicate(_));
    // A late answer is late whatever became of its attempt, and an answer to nothing is that first of all.
    if kind == Kind::SettleDispatch && (repeated || unknown) {
        return blank;
    }
    // A request made before is answered as it was then.
    if kind == Kind::Interrupt && repeated {
        return blank;
    }
    // Authority is looked at first, so the rest of the Work has no say; of results, those that name nothing show that.
    if unauthorised {
        let held = WorkFacts { attempt, phase, lease, ..blank };
        return if proofs == 0 { held } else { WorkFacts { phase, ..blank } };
    }
    // Only what is done ends what is on its way, and a fence has to leave the rest of its Work alone.
    let sends = matches!(kind, Kind::Dispatch | Kind::SettleDispatch);
    if sends && !outcome.accepted() {
        return WorkFacts { attempt, phase, lease, ..blank };
    }
    WorkFacts { intents: facts.intents && outcome.accepted(), ..facts }
}

/// What the law comes to look at of an event before it answers so, as far as controls go.
pub(in crate::classes) fn seen_of_event(outcome: Outcome, facts: EventFacts) -> EventFacts {
    match outcome {
        Outcome::Accepted(_) | Outcome::Deferred(_) => facts,
        // Nothing was tried, so nothing failed.
        Outcome::Duplicate(_) | Outcome::Conflict | Outcome::Refused(_) => {
            EventFacts { policy: None, on_error: Fallback::None, ..facts }
        }
    }
}
