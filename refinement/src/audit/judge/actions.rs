//! Which trial each action is: one line an action.
//!
//! What rests on no more than one Work is put here; everything else has a method in the file of its concern.

use abide_model::action::Commit;

use super::super::act::Act;
use super::super::answer::Answer;
use super::super::rows::Row;
use super::{Judge, Skip, Trial};

impl Judge {
    /// What a row asked for, as it is put before the law.
    pub(super) fn trial(&mut self, row: &Row, act: &Act, said: &Answer) -> Result<Trial, Skip> {
        let now = row.at;
        match act {
            Act::Accept(accept) => self.accept(now, accept),
            Act::CommitRoute(route) => self.commit_route(now, route, said),
            Act::Reload { config } => self.reload(now, config),
            Act::Drop { event } => self.drop(now, *event),
            Act::Replay { event, request } => self.replay(now, *event, request),
            Act::Reopen(of) => self.reopen(now, of),
            Act::CreateWork(create) => self.create_work(now, create),
            Act::Hold(of) => {
                self.simple(now, &of.work, |work, expect| Commit::Hold { work, expect }, of.expect)
            }
            Act::Cancel(of) => {
                let for_good = of.for_good;
                let cancel = |work, expect| Commit::Cancel { work, expect, for_good };
                self.simple(now, &of.work, cancel, of.expect)
            }
            Act::CloseIdle { work } => {
                self.simple(now, work, |work, _| Commit::CloseIdle { work }, None)
            }
            Act::Release(of) => self.release(now, of),
            Act::Claim(claim) => self.claim(now, claim),
            Act::ClearNeverHanded(by) => {
                self.by(now, by, |work, by| Commit::ClearNeverHanded { work, by })
            }
            Act::Pin(by) => self.by(now, by, |work, by| Commit::Pin { work, by }),
            Act::Dispatch(dispatch) => self.dispatch(now, dispatch),
            Act::SettleDispatch(settle) => self.settle_dispatch(now, settle),
            Act::Interrupt(of) => self.interrupt(now, of),
            Act::Fail(fail) => self.fail(now, fail),
            Act::FireRetry { work, attempt } => self.fire_retry(now, work, *attempt),
            Act::Retry(of) => self.retry(now, of),
            Act::Detach(by) => self.detach(now, by),
            Act::Restore { above } => self.restore(now, *above),
            Act::ReleaseRestore { request, max_depth } => {
                self.release_restore(now, request, *max_depth)
            }
            Act::SettleRecovery(by, verdict) => self.settle_recovery(now, by, *verdict),
            Act::Complete(complete) => self.complete(now, complete),
            Act::RegisterWait(register) => self.register_wait(now, register, said),
            Act::Wake { wait } => self.of_wait(now, wait, |wait| Commit::Wake { wait }),
            Act::FireTimer { wait } => self.of_wait(now, wait, |wait| Commit::FireTimer { wait }),
            Act::AcceptTimeout { wait } => {
                self.of_wait(now, wait, |wait| Commit::AcceptTimeout { wait })
            }
            Act::Translate { wait, event } => self.translate(now, wait, *event),
            Act::ClaimRecovery { work, lease, expires_at } => {
                self.claim_recovery(now, work, (*lease, *expires_at), said)
            }
            Act::Vacate { work, attempt, epoch } => self.vacate(now, work, (*attempt, *epoch)),
        }
    }
}
