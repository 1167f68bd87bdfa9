//! What a row asked for: one variant an action, how it is read, and what of it every action is asked for.
//!
//! A new action of the alphabet begins here; the matches over it that then do not build are all there is to be said of it.
//! What its arguments look like is in `args`.

use serde::Deserialize;
use serde_json::Value;

use super::args::{
    Accept, By, Claim, CommitRoute, Complete, CreateWork, Dispatch, Fail, Id, Operator,
    RegisterWait, SettleDispatch, Verdict,
};
use super::rows::Row;

#[derive(Debug, Clone)]
pub(super) enum Act {
    Accept(Accept),
    CommitRoute(CommitRoute),
    Reload { config: String },
    Drop { event: i64 },
    Replay { event: i64, request: String },
    Reopen(Operator),
    CreateWork(CreateWork),
    Hold(Operator),
    Release(Operator),
    Claim(Claim),
    ClearNeverHanded(By),
    Pin(By),
    Dispatch(Dispatch),
    SettleDispatch(SettleDispatch),
    Interrupt(Operator),
    Complete(Complete),
    Fail(Fail),
    FireRetry { work: Id, attempt: u32 },
    Retry(Operator),
    Detach(By),
    Restore { above: u64 },
    ReleaseRestore { request: String, max_depth: Option<u32> },
    RegisterWait(RegisterWait),
    Wake { wait: Id },
    FireTimer { wait: Id },
    AcceptTimeout { wait: Id },
    Translate { wait: Id, event: i64 },
    CloseIdle { work: Id },
    ClaimRecovery { work: Id, lease: i64, expires_at: Option<i64> },
    SettleRecovery(By, Verdict),
    Vacate { work: Id, attempt: u32, epoch: u64 },
    Cancel(Operator),
}

impl Act {
    /// The authority a row shows, if it shows one.
    pub(super) fn shown(&self) -> Option<&By> {
        match self {
            Self::ClearNeverHanded(by)
            | Self::Pin(by)
            | Self::Detach(by)
            | Self::SettleRecovery(by, _) => Some(by),
            Self::Complete(complete) => Some(&complete.by),
            Self::Fail(fail) => Some(&fail.by),
            Self::Dispatch(dispatch) => Some(&dispatch.by),
            Self::SettleDispatch(settle) => Some(&settle.by),
            Self::RegisterWait(register) => Some(&register.by),
            Self::Accept(_)
            | Self::CommitRoute(_)
            | Self::Reload { .. }
            | Self::Drop { .. }
            | Self::Replay { .. }
            | Self::Reopen(_)
            | Self::CreateWork(_)
            | Self::Hold(_)
            | Self::Release(_)
            | Self::FireRetry { .. }
            | Self::Retry(_)
            | Self::Interrupt(_)
            | Self::Restore { .. }
            | Self::ReleaseRestore { .. }
            | Self::Claim(_)
            | Self::Wake { .. }
            | Self::FireTimer { .. }
            | Self::AcceptTimeout { .. }
            | Self::Translate { .. }
            | Self::CloseIdle { .. }
            | Self::ClaimRecovery { .. }
            | Self::Vacate { .. }
            | Self::Cancel(_) => None,
        }
    }

    /// The Work a row names.
    pub(super) fn work(&self) -> Option<&Id> {
        match self {
            Self::Reopen(of)
            | Self::Hold(of)
            | Self::Release(of)
            | Self::Retry(of)
            | Self::Interrupt(of)
            | Self::Cancel(of) => Some(&of.work),
            Self::Claim(claim) => Some(&claim.work),
            Self::CloseIdle { work }
            | Self::ClaimRecovery { work, .. }
            | Self::FireRetry { work, .. }
            | Self::Vacate { work, .. } => Some(work),
            Self::Accept(_)
            | Self::CommitRoute(_)
            | Self::Reload { .. }
            | Self::Drop { .. }
            | Self::Replay { .. }
            | Self::CreateWork(_)
            | Self::ClearNeverHanded(_)
            | Self::Pin(_)
            | Self::Complete(_)
            | Self::Fail(_)
            | Self::Dispatch(_)
            | Self::SettleDispatch(_)
            | Self::Detach(_)
            | Self::Restore { .. }
            | Self::ReleaseRestore { .. }
            | Self::RegisterWait(_)
            | Self::Wake { .. }
            | Self::FireTimer { .. }
            | Self::AcceptTimeout { .. }
            | Self::Translate { .. }
            | Self::SettleRecovery(..) => self.shown().map(|by| &by.work),
        }
    }
}

/// Reads what a row asked for; an action that is not of the alphabet is none.
pub(super) fn act(row: &Row) -> Result<Option<Act>, serde_json::Error> {
    fn read<T: serde::de::DeserializeOwned>(row: &Row) -> Result<T, serde_json::Error> {
        T::deserialize(Value::Object(row.args.clone()))
    }
    Ok(Some(match row.action.as_str() {
        "accept" => Act::Accept(read(row)?),
        "commit_route" => Act::CommitRoute(read(row)?),
        "reload" => Act::Reload { config: read::<OfReload>(row)?.config },
        "drop" => Act::Drop { event: read::<OfEvent>(row)?.event },
        "replay" => {
            let OfEvent { event, request } = read(row)?;
            Act::Replay { event, request }
        }
        "reopen" => Act::Reopen(read(row)?),
        "create_work" => Act::CreateWork(read(row)?),
        "hold" => Act::Hold(read(row)?),
        "release" => Act::Release(read(row)?),
        "claim" => Act::Claim(read(row)?),
        "clear_never_handed" => Act::ClearNeverHanded(read(row)?),
        "pin" => Act::Pin(read(row)?),
        "dispatch" => Act::Dispatch(read(row)?),
        "settle_dispatch" => Act::SettleDispatch(read(row)?),
        "interrupt" => Act::Interrupt(read(row)?),
        "complete" => Act::Complete(read(row)?),
        "fail" => Act::Fail(read(row)?),
        "fire_retry" => {
            let OfAttempt { work, attempt } = read(row)?;
            Act::FireRetry { work, attempt }
        }
        "retry" => Act::Retry(read(row)?),
        "detach" => Act::Detach(read(row)?),
        "restore" => {
            let OfAbove { above } = read(row)?;
            Act::Restore { above }
        }
        "release_restore" => {
            let OfRestore { request, max_depth } = read(row)?;
            Act::ReleaseRestore { request, max_depth }
        }
        "register_wait" => Act::RegisterWait(read(row)?),
        "wake" => Act::Wake { wait: read::<OfWait>(row)?.wait },
        "fire_timer" => Act::FireTimer { wait: read::<OfWait>(row)?.wait },
        "accept_timeout" => Act::AcceptTimeout { wait: read::<OfWait>(row)?.wait },
        "translate" => {
            let OfWait { wait, event } = read(row)?;
            Act::Translate { wait, event }
        }
        "close_idle" => Act::CloseIdle { work: read::<Operator>(row)?.work },
        "claim_recovery" => {
            let OfRecovery { work, lease, expires_at } = read(row)?;
            Act::ClaimRecovery { work, lease, expires_at }
        }
        "settle_recovery" => Act::SettleRecovery(read(row)?, read::<OfVerdict>(row)?.verdict),
        "vacate" => {
            let By { work, attempt, epoch, .. } = read(row)?;
            Act::Vacate { work, attempt, epoch }
        }
        "cancel" => Act::Cancel(read(row)?),
        _ => return Ok(None),
    }))
}

// What is read of arguments that are no shape of their own.

#[derive(Deserialize)]
struct OfEvent {
    event: i64,
    #[serde(default)]
    request: String,
}

#[derive(Deserialize)]
struct OfWait {
    wait: Id,
    #[serde(default)]
    event: i64,
}

#[derive(Deserialize)]
struct OfReload {
    config: String,
}

#[derive(Deserialize)]
struct OfAttempt {
    work: Id,
    attempt: u32,
}

#[derive(Deserialize)]
struct OfAbove {
    above: u64,
}

#[derive(Deserialize)]
struct OfRestore {
    request: String,
    max_depth: Option<u32>,
}

#[derive(Deserialize)]
struct OfVerdict {
    verdict: Verdict,
}

#[derive(Deserialize)]
struct OfRecovery {
    work: Id,
    lease: i64,
    expires_at: Option<i64>,
}
