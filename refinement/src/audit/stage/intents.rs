//! Intents: what is to reach an attempt, and what a result says of it.

use abide_model::index::{EventIx, Proofs, WorkIx};
use abide_model::state::{Intent, Message};

use super::super::facts::{Event, WorkNo};
use super::{At, Set, Stage, TooLarge, number};

/// Events that a set of proofs can name.
const NAMED: usize = 64;

impl Stage<'_> {
    /// Puts a Work on the stage, as [`opened`](Stage::opened) does, with what a result of it names standing before everything
    /// else. Of more than a set can name those are left out that are no pending input and prove nothing. INJECT-15
    pub(in crate::audit) fn reported(
        &mut self,
        work: Option<WorkNo>,
        named: &[i64],
    ) -> (WorkIx, Vec<At>) {
        let Some(work) = work else { return (self.no_work(), Vec::new()) };
        self.work(work);
        let pending = &self.ledger.works[work.0].pending;
        let (mut first, others): (Vec<i64>, Vec<i64>) =
            named.iter().partition(|seq| pending.contains(seq));
        if first.len() > NAMED {
            self.too_large.get_or_insert(TooLarge("a result names more than 64 pending inputs"));
            first.truncate(NAMED);
        }
        first.extend(others);
        first.truncate(NAMED);
        let stand = first.into_iter().map(|seq| self.event(seq)).collect();
        (self.open(work), stand)
    }

    /// The intent of an event as the rows before left it.
    pub(super) fn intent(&self, event: &Event) -> Intent {
        let (Some(intended), Some(work)) = (event.intent, event.work) else {
            return Intent::default();
        };
        let last = self.ledger.works[work.0].attempt;
        Intent {
            kind: intended.kind,
            status: intended.status,
            // How many attempts ago does not matter.
            attempt: if intended.attempt == last { number(last) } else { 0 },
            on_error: intended.on_error,
            message: Message::None,
        }
    }
}

impl Set {
    /// What a result names.
    pub(in crate::audit) fn proofs(&self, named: &[At]) -> Proofs {
        named.iter().map(|at| self.slot(*at)).collect()
    }

    /// The sequence of a slot, if what stands there is accepted.
    pub(in crate::audit) fn seq_at(&self, event: EventIx) -> Option<i64> {
        self.slots.iter().find(|(ix, _, _)| *ix == event).and_then(|(_, _, seq)| *seq)
    }
}
