//! The Work that a step made, and each that it changed.

use abide_model::index::{Maybe, WorkIx, below};
use abide_model::state::{Exclusion, Facts, Timer, Work, WorkStatus};

use super::super::super::facts::{Account, WorkNo};
use super::super::super::stage::Staged;
use super::super::{Judge, Trial};

impl Judge {
    /// Keeps the Work that the step made, if it made one.
    pub(super) fn make(&mut self, trial: &mut Trial, after: &Staged) -> Option<WorkNo> {
        let made = trial.made.take()?;
        if after.work(made.ix).status == WorkStatus::Absent {
            return None;
        }
        let fresh = WorkNo(self.ledger.works.len());
        self.ledger.works.push(Account::new(None, made.scope, made.standing));
        match &made.name {
            Some(name) => self.ledger.name_work(fresh, name),
            None => self.unnamed.push(fresh),
        }
        if let Some((old, next)) = made.succeeds {
            self.ledger.succeed(old, fresh, next);
        }
        trial.set.works[made.ix.at()] = Some(fresh);
        Some(fresh)
    }

    /// Keeps a Work as the step left it.
    pub(super) fn keep_work(
        &mut self,
        trial: &Trial,
        after: &Staged,
        (ix, work, made): (WorkIx, WorkNo, bool),
        seqs: &[Option<i64>],
    ) {
        let (before, now) = (*trial.set.state.work(ix), *after.work(ix));
        let seq = |maybe: Maybe| maybe.event().and_then(|event| seqs[event.at()]);
        let wait = |maybe: Maybe| maybe.wait().and_then(|wait| trial.set.waits[wait.at()]);
        for at in below(trial.set.keys.len()) {
            let (key, grew) = (trial.set.keys[usize::from(at)], now.keys & !before.keys);
            if grew & 1 << at != 0 {
                self.ledger.keys[key.0].owner = Some(work);
                self.ledger.works[work.0].keys.push(key);
            }
        }
        let first = trial.set.key(now.first_key.key());
        let (scope, status) = (self.ledger.works[work.0].scope, now.status);
        self.ledger.moved(scope, before.status, status);
        let account = &mut self.ledger.works[work.0];
        account.first_key = account.first_key.or(first);
        account.attempt += u32::from(now.attempt.number > before.attempt.number);
        let sees = |work: &Work| (work.status, work.keys, work.attempt.number);
        let grew = if made { now.keys != 0 } else { sees(&now) != sees(&before) };
        account.revision += i64::from(grew);
        // What is not on the stage is none there, before and after.
        if now.attempt.trigger != before.attempt.trigger {
            account.trigger = seq(now.attempt.trigger);
        }
        if now.attempt.cause != before.attempt.cause {
            account.cause = seq(now.attempt.cause);
        }
        if now.released != before.released {
            account.released = seq(now.released);
        }
        if now.wake != before.wake {
            account.wake = wait(now.wake);
        }
        if now.last_wait != before.last_wait {
            account.last_wait = wait(now.last_wait);
        }
        if now.idle == Timer::NONE {
            account.idle_at = None;
        }
        account.backoff = match (now.backoff, before.backoff) {
            (0, _) => None,
            (now, before) if now == before => account.backoff,
            (_, _) => Some(account.attempt),
        };
        account.marked = match now.excluded {
            Exclusion::None => None,
            Exclusion::LastSegment => Some((account.attempt, account.epoch)),
            Exclusion::EarlierSegment => account.marked,
        };
        account.state = now;
    }
}
