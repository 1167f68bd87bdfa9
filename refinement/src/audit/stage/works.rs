//! Works: what the law may look at of each, and what may come of one in the step.

use std::collections::BTreeSet;

use abide_model::index::{Maybe, WaitIx, WorkIx, below};
use abide_model::state::{AttemptStatus, Facts, Work, WorkStatus};

use super::super::args::Exhausted;
use super::super::facts::{KeyNo, WaitNo, WorkNo};
use super::super::ledger::Ledger;
use super::places::place;
use super::shape::{Bound, Kind, SUBJECT};
use super::{At, OPEN, Set, Stage, TooLarge, due, number};

impl Stage<'_> {
    /// Puts a Work on the stage with everything of it that the law may look at.
    pub(in crate::audit) fn open(&mut self, work: WorkNo) -> WorkIx {
        let ix = self.work(work);
        let account = &self.ledger.works[work.0];
        if ix == WorkIx(0) {
            let close_after = self.shape.subject.close_after;
            self.shape.subject = Kind {
                standing: account.standing,
                close_after,
                budget: u8::try_from(account.policy.budget()).unwrap_or(u8::MAX),
                fails: account.policy.exhausted == Exhausted::Fail,
            };
        }
        if let Some(first) = account.first_key {
            self.key(first);
        }
        if let Some(wait) = account.last_wait {
            self.wait(wait);
        }
        let unrouted = self.ledger.unrouted_of(work);
        let open: BTreeSet<i64> =
            unrouted.iter().chain(&account.pending).chain(&account.intents).copied().collect();
        if open.len() > OPEN {
            self.too_large.get_or_insert(TooLarge("more than 64 events are open at once"));
            return ix;
        }
        for seq in open {
            self.event(seq);
        }
        for seq in [account.trigger, account.cause, account.released].into_iter().flatten() {
            self.event(seq);
        }
        ix
    }

    /// The same of a Work that may not exist.
    pub(in crate::audit) fn opened(&mut self, work: Option<WorkNo>) -> WorkIx {
        match work {
            Some(work) => self.open(work),
            None => self.no_work(),
        }
    }

    /// The handoff of this row names a time after which idle Work is closed.
    pub(in crate::audit) fn closes_after(&mut self) {
        self.shape.subject.close_after = true;
    }

    /// A scope above the Work concerned runs as many attempts as it may.
    pub(in crate::audit) fn is_full(&mut self) {
        self.full = true;
    }

    /// An attempt may publish how its turn ended.
    pub(in crate::audit) fn turn(&mut self, work: WorkIx, attempt: u8) -> At {
        self.shape.turns.push((work.0, attempt));
        At::Ended(work.0, attempt)
    }

    /// The retry of an attempt may be accepted, or is.
    pub(in crate::audit) fn retry(&mut self, work: WorkIx, attempt: u32, known: Option<i64>) -> At {
        let pair = (work.0, number(attempt));
        if !self.shape.retries.contains(&pair) {
            self.shape.retries.push(pair);
        }
        let at = At::Retry(pair.0, pair.1);
        if let Some(seq) = known {
            self.replace(at, seq);
        }
        at
    }

    /// A route may make this Work as a successor.
    pub(in crate::audit) fn successor(&mut self, work: WorkIx) {
        self.shape.successors.push(work.0);
    }

    /// For each Work what its binding can do.
    pub(super) fn bindings(&self) -> Vec<Bound> {
        self.works.iter().map(|work| self.binding(*work)).collect()
    }

    fn binding(&self, work: Option<WorkNo>) -> Bound {
        work.map_or_else(Bound::default, |work| {
            let account = &self.ledger.works[work.0];
            Bound {
                resumes: account.resumes,
                holds: account.holds_until_pin,
                injects: account.controls.injects,
                interrupts: account.controls.interrupts,
            }
        })
    }

    /// A Work as the rows before left it. What it descends from has no slot yet: see [`Set::refer`].
    pub(super) fn staged_work(&self, at: u8) -> Work {
        let Some(work) = self.works[usize::from(at)] else {
            let stranger = self.full && usize::from(at) + 1 == self.works.len();
            return if stranger { running() } else { Work::default() };
        };
        let account = &self.ledger.works[work.0];
        let mut staged = account.state;
        let key = |key: KeyNo| place(&self.keys, key);
        staged.keys = (0u8..)
            .zip(&self.keys)
            .filter(|(_, key)| self.ledger.keys[key.0].owner == Some(work))
            .fold(0, |bits, (at, _)| bits | 1 << at);
        staged.first_key = Maybe::of_key(account.first_key.and_then(key));
        staged.scope = self
            .scopes
            .iter()
            .position(|name| *name == account.scope)
            .map_or(u8::MAX, |at| u8::try_from(at).unwrap_or(u8::MAX));
        staged.kind = if at == 0 { SUBJECT } else { u8::from(account.standing) };
        staged.backoff = account.backoff.map_or(0, number);
        staged.retry = due(account.state.retry, account.retry_at, self.now);
        let wait = |wait: Option<WaitNo>| {
            let at =
                wait.and_then(|wait| self.waits.iter().position(|(known, _)| *known == Some(wait)));
            at.map_or(Maybe::NONE, |at| WaitIx(u8::try_from(at).unwrap_or_default()).into())
        };
        staged.wake = wait(account.wake);
        staged.last_wait = wait(account.last_wait);
        staged.released = Maybe::NONE;
        staged.closed_by = Maybe::NONE;
        staged.parent = Maybe::NONE;
        let predecessor = self.works.iter().position(|other| {
            other.is_some_and(|other| self.ledger.works[other.0].successor == Some(work))
        });
        staged.predecessor = predecessor
            .map_or(Maybe::NONE, |at| WorkIx(u8::try_from(at).unwrap_or_default()).into());
        staged.idle = due(account.state.idle, account.idle_at, self.now);
        staged.attempt.number = number(account.attempt);
        staged.attempt.lease = u8::from(self.now < account.expires_at);
        staged.attempt.trigger = Maybe::NONE;
        staged.attempt.cause = Maybe::NONE;
        staged
    }
}

impl Set {
    /// Points to the events that the Works descend from, which have slots only now.
    pub(in crate::audit) fn refer(&mut self, ledger: &Ledger) {
        for at in below(self.works.len()) {
            let Some(work) = self.works[usize::from(at)] else { continue };
            let account = &ledger.works[work.0];
            let find = |seq: Option<i64>| {
                let slot = self.slots.iter().find(|(_, _, known)| seq.is_some() && *known == seq);
                slot.map_or(Maybe::NONE, |(ix, _, _)| (*ix).into())
            };
            let (trigger, cause) = (find(account.trigger), find(account.cause));
            let released = find(account.released);
            let staged = self.state.work_mut(WorkIx(at));
            staged.attempt.trigger = trigger;
            staged.attempt.cause = cause;
            staged.released = released;
        }
    }
}

/// An attempt of some other Work, that takes the place there is.
fn running() -> Work {
    let mut work = Work { status: WorkStatus::Running, ..Work::default() };
    work.attempt.status = AttemptStatus::Running;
    work
}
