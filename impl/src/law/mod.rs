//! The law: what each command makes true, one file an area. Rules and no SQL, no clock, no I/O.
//!
//! A function here has the name of its action. It reads as its guards in order of precedence, then
//! its writes, then its receipt; `docs/alphabet.md` is the page it follows. It decides before it
//! writes, so that an answer without effect needs no rollback.

mod attempts;
mod authority;
mod cancel;
mod causality;
#[cfg(test)]
mod faults;
mod generations;
mod holds;
mod ingress;
mod intents;
mod ownership;
mod record;
mod recovery;
mod requests;
mod restore;
mod retry;
pub mod routing;
mod subscriptions;
mod succession;
#[cfg(test)]
pub(crate) mod testing;
mod timers;
mod waits;
#[cfg(test)]
mod walks;

use crate::command::{Command, Deferral, Outcome, Receipt, Refusal};
use crate::domain::{Actor, Millis, Seq};
use crate::store::works::Work;
use crate::store::{StoreError, Tx};

use intents::Reported;

pub use record::NO_EFFECT_ROWS_PER_MINUTE;

/// The one door to durable truth: performs a command inside the caller's transaction and journals
/// it there. Whoever calls it commits, or loses both.
///
/// # Errors
/// The machine failed, or what is stored contradicts itself; the transaction must be rolled back.
pub fn apply(
    tx: &mut dyn Tx,
    now: Millis,
    actor: &Actor,
    command: &Command,
) -> Result<Outcome, StoreError> {
    let step = perform(tx, now, command)?;
    record::record(tx, now, actor, command, &step)?;
    Ok(step.outcome)
}

fn perform(tx: &mut dyn Tx, now: Millis, command: &Command) -> Result<Step, StoreError> {
    match command {
        Command::Accept { event } => ingress::accept(tx, now, event),
        Command::CommitRoute { proposal } => routing::commit_route(tx, now, proposal),
        Command::Claim { work, attempt_uid, token, lease, pin, capacity } => {
            let claim = attempts::NewClaim { uid: *attempt_uid, token: *token, lease: *lease, pin };
            attempts::claim(tx, now, *work, &claim, capacity)
        }
        Command::ClearNeverHanded { by } => attempts::clear_never_handed(tx, now, by),
        Command::Pin { by, metadata } => attempts::pin(tx, now, by, metadata),
        Command::Renew { by, lease } => attempts::renew(tx, now, by, *lease),
        Command::Dispatch { by, event } => intents::dispatch(tx, now, by, *event),
        Command::SettleDispatch { by, event, answer, detail } => {
            intents::settle_dispatch(tx, now, by, *event, *answer, detail)
        }
        Command::Interrupt { work, expect, request, implemented } => {
            intents::interrupt(tx, now, *work, *expect, request, *implemented)
        }
        Command::Complete { by, ending, status, proofs, usage } => {
            let reported = Reported { proofs, usage: usage.as_deref() };
            attempts::complete(tx, now, by, *ending, status.as_deref(), &reported)
        }
        Command::Fail { by, reason, hint, proofs, usage } => {
            let reported = Reported { proofs, usage: usage.as_deref() };
            attempts::fail(tx, now, by, reason, *hint, &reported)
        }
        Command::FireRetry { work, attempt } => retry::fire_retry(tx, now, *work, *attempt),
        Command::RegisterWait {
            by,
            uid,
            keys,
            types,
            after,
            deadline,
            source,
            read_scopes,
            proofs,
            usage,
        } => {
            let wanted = waits::Wanted {
                uid: *uid,
                keys,
                types,
                after: *after,
                deadline: *deadline,
                source: source.as_ref(),
                read_scopes,
            };
            let reported = Reported { proofs, usage: usage.as_deref() };
            waits::register_wait(tx, now, by, &wanted, &reported)
        }
        Command::Wake { wait } => waits::wake(tx, now, *wait),
        Command::FireTimer { wait } => timers::fire_timer(tx, now, *wait),
        Command::AcceptTimeout { wait } => timers::accept_timeout(tx, now, *wait),
        Command::ClaimRecovery { work, token, lease } => {
            recovery::claim_recovery(tx, now, *work, *token, *lease)
        }
        Command::SettleRecovery { by, verdict, reason } => {
            recovery::settle_recovery(tx, now, by, *verdict, reason)
        }
        Command::Detach { by } => recovery::detach(tx, now, by),
        Command::Restore { above } => restore::restore(tx, now, *above),
        Command::ReleaseRestore { request } => restore::release_restore(tx, now, request),
        Command::Vacate { work, segment } => recovery::vacate(tx, now, *work, *segment),
        Command::Cancel { work, expect, for_good, reason } => {
            cancel::cancel(tx, now, *work, *expect, *for_good, reason)
        }
        Command::Reload { digest, body } => generations::reload(tx, now, digest, body),
        Command::Drop { event, reason } => routing::drop_event(tx, now, *event, reason),
        Command::Replay { event, request } => ingress::replay(tx, now, *event, request),
        Command::Reopen { work, expect, request, successor } => {
            succession::reopen(tx, now, *work, *expect, request, *successor)
        }
        Command::CreateWork { request, scope, create, key, parent, authorised, data } => {
            let wanted = ownership::Wanted {
                scope,
                create,
                key: key.as_ref(),
                parent: *parent,
                authorised: *authorised,
                data: data.as_deref(),
            };
            ownership::create_work(tx, now, request, &wanted)
        }
        Command::Hold { work, expect, reason } => holds::hold(tx, now, *work, *expect, reason),
        Command::Release { work, expect, request } => {
            holds::release(tx, now, *work, *expect, request)
        }
        Command::Retry { work, expect, request } => retry::retry(tx, now, *work, *expect, request),
        Command::Translate { wait, event } => subscriptions::translate(tx, now, *wait, *event),
        Command::CloseIdle { work } => cancel::close_idle(tx, now, *work),
    }
}

/// What a law answered, and what the journal notes beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Step {
    outcome: Outcome,
    /// Hash of the touched work's summary as the command left it.
    digest: Option<i64>,
    /// The end of the lease that the command acted under.
    expires_at: Option<Millis>,
    /// The events that a result names as proved, as far as they were looked up: proofs or not.
    named: Vec<Seq>,
    /// It wrote although its answer says that nothing is new. REJECT-11 OURS-17
    wrote: bool,
}

impl Step {
    /// An accepted command that touched this work.
    fn accepted(receipt: Receipt, work: &Work) -> Self {
        let outcome = Outcome::Accepted(receipt);
        Self {
            outcome,
            digest: Some(work.digest()),
            expires_at: None,
            named: Vec::new(),
            wrote: false,
        }
    }

    /// Notes the events that its result named as proved.
    fn naming(self, named: Vec<Seq>) -> Self {
        Self { named, ..self }
    }

    /// Notes the lease it acted under.
    fn under(self, expires_at: Option<Millis>) -> Self {
        Self { expires_at, ..self }
    }
}

impl From<Outcome> for Step {
    fn from(outcome: Outcome) -> Self {
        // Only one refusal writes: the diagnostic of a causal limit. REJECT-11
        let wrote = outcome == Outcome::Refused(Refusal::DepthLimit);
        Self { outcome, digest: None, expires_at: None, named: Vec::new(), wrote }
    }
}

impl From<Refusal> for Step {
    fn from(refusal: Refusal) -> Self {
        Outcome::from(refusal).into()
    }
}

impl From<Deferral> for Step {
    fn from(deferral: Deferral) -> Self {
        Outcome::from(deferral).into()
    }
}
