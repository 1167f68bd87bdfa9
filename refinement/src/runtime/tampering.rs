//! What the planted faults change behind the back of the runtime in memory.

use abide::domain::{Control, Decision};
use abide::store::engine::query_all;
use abide::store::{Tx, Value};
use abide_model::action::Commit;
use abide_model::index::{EventIx, Proofs, WaitIx, WorkIx};
use abide_model::outcome::Outcome;

use super::InMemory;
use crate::broken::Tampered;
use crate::subject::{Subject, SubjectError};

impl Tampered for InMemory<'_> {
    fn forget_holds(&mut self, work: WorkIx) -> Result<(), SubjectError> {
        let work = Value::Int(self.here.binding.work(work).0);
        self.here.seen = None;
        self.session.execute("UPDATE work SET holds = 0 WHERE id = ?1", &[work])?;
        Ok(())
    }

    fn forget_checkpoint(&mut self, wait: WaitIx) -> Result<(), SubjectError> {
        let wait = Value::Int(self.here.binding.wait(wait).0);
        self.here.seen = None;
        self.session.execute("UPDATE subscription SET checkpoint = 0 WHERE wait = ?1", &[wait])?;
        Ok(())
    }

    fn forget_backoff(&mut self, work: WorkIx) -> Result<(), SubjectError> {
        let work = Value::Int(self.here.binding.work(work).0);
        self.here.seen = None;
        let forget = "UPDATE work SET backoff = NULL, retry_at = NULL, retry_disabled = NULL \
                      WHERE id = ?1";
        self.session.execute(forget, &[work])?;
        Ok(())
    }

    fn perform_keeping_tokens(&mut self, commit: Commit) -> Result<Outcome, SubjectError> {
        let held = "SELECT work, n, token FROM attempt WHERE token IS NOT NULL";
        let tokens = query_all(&mut self.session, held, &[], |row| {
            Ok((row.int(0)?, row.int(1)?, row.blob(2)?.to_owned()))
        })?;
        let outcome = self.perform(commit)?;
        self.here.seen = None;
        for (work, n, token) in tokens {
            let values = [work.into(), n.into(), token.as_slice().into()];
            let keep = "UPDATE attempt SET token = ?3 WHERE work = ?1 AND n = ?2";
            self.session.execute(keep, &values)?;
        }
        Ok(outcome)
    }

    fn believe(&mut self, work: WorkIx, named: Proofs) -> Result<(), SubjectError> {
        let work = Value::Int(self.here.binding.work(work).0);
        let named: Vec<i64> =
            named.events().map(|event| self.here.binding.event(event).0).collect();
        self.here.seen = None;
        for event in named {
            for sql in BELIEVED {
                self.session.execute(sql, &[work, Value::Int(event)])?;
            }
        }
        Ok(())
    }

    fn consume(&mut self, work: WorkIx, event: EventIx) -> Result<(), SubjectError> {
        let (work, event) = (self.here.binding.work(work), self.here.binding.event(event));
        self.here.seen = None;
        for sql in CONSUMED {
            self.session.execute(sql, &[work.into(), event.into()])?;
        }
        Ok(())
    }

    fn retarget(&mut self, work: WorkIx) -> Result<(), SubjectError> {
        let work = Value::Int(self.here.binding.work(work).0);
        self.here.seen = None;
        for sql in RETARGETED {
            self.session.execute(sql, &[work])?;
        }
        Ok(())
    }

    fn forget_exclusion(&mut self, work: WorkIx) -> Result<(), SubjectError> {
        let work = Value::Int(self.here.binding.work(work).0);
        self.here.seen = None;
        let forget = "UPDATE work SET marked_attempt = NULL, marked_epoch = NULL WHERE id = ?1";
        self.session.execute(forget, &[work])?;
        Ok(())
    }

    fn propose_to_queue(&mut self, event: EventIx) {
        let Some(mut proposal) = self.here.binding.proposal(event).cloned() else { return };
        match &mut proposal.decision {
            Decision::Update { control, .. } | Decision::Work { control, .. } => {
                *control = Control::default();
            }
            Decision::Decline | Decision::Drop | Decision::Close => {}
        }
        self.here.binding.propose(event, proposal);
    }
}

/// What is pending and named gets an intent for the running attempt, dispatched or accepted.
const BELIEVED: [&str; 3] = [
    "UPDATE intent SET status = 'dispatched' WHERE work = ?1 AND event = ?2 AND status = 'committed'",
    "UPDATE intent SET kind = 'inject', status = 'accepted', \
     attempt = (SELECT attempt FROM work WHERE id = ?1) WHERE work = ?1 AND event = ?2 \
     AND status <> 'dispatched' AND status <> 'consumed'",
    "INSERT INTO intent (event, work, attempt, epoch, kind, status, sends, committed_at) \
     SELECT i.event, w.id, w.attempt, w.epoch, 'inject', 'accepted', 0, 0 \
     FROM work AS w JOIN input AS i ON i.work = w.id AND i.attempt = 0 AND i.event = ?2 \
     WHERE w.id = ?1 AND w.attempt IS NOT NULL \
     AND NOT EXISTS (SELECT 1 FROM intent WHERE event = ?2)",
];

/// One input less is pending, and the running attempt has it.
const CONSUMED: [&str; 2] = [
    "UPDATE work SET pending_count = pending_count - 1, \
     pending_xor = (pending_xor | ?2) - (pending_xor & ?2) WHERE id = ?1 \
     AND EXISTS (SELECT 1 FROM input WHERE work = ?1 AND attempt = 0 AND event = ?2)",
    "UPDATE input SET attempt = (SELECT attempt FROM work WHERE id = ?1), \
     epoch = (SELECT epoch FROM work WHERE id = ?1), proved = 1 \
     WHERE work = ?1 AND attempt = 0 AND event = ?2",
];

/// Stale intents are open again, and counted.
const RETARGETED: [&str; 2] = [
    "UPDATE work SET open_intents = open_intents + \
     (SELECT count(*) FROM intent WHERE work = ?1 AND status = 'stale') WHERE id = ?1",
    "UPDATE intent SET status = 'committed', attempt = (SELECT attempt FROM work WHERE id = ?1) \
     WHERE work = ?1 AND status = 'stale'",
];
