//! The journal row of each command, in the command's own transaction. OURS-14

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::command::{Command, Outcome, Refusal};
use crate::domain::{
    Actor, AttemptNo, Authority, Deadline, Duration, Epoch, Key, Millis, NewEvent, Proposal, Seq,
    TokenHash, Verdict, WaitId, WaitUid, WorkId,
};
use crate::store::journal::{self, NewRow, Quota};
use crate::store::{StoreError, Tx};

use super::Step;

/// Answers without effect that one actor gets journalled in one minute of trusted time; the rest
/// are counted and become one `suppressed` row.
pub const NO_EFFECT_ROWS_PER_MINUTE: u32 = 60;

/// Journals a command, unless it is a renewal or one answer without effect too many.
pub(super) fn record(
    tx: &mut dyn Tx,
    now: Millis,
    actor: &Actor,
    command: &Command,
    step: &Step,
) -> Result<(), StoreError> {
    if matches!(command, Command::Renew { .. }) {
        return Ok(());
    }
    let actor = actor.to_string();
    if !had_effect(&step.outcome) && !within_quota(tx, now, &actor)? {
        return Ok(());
    }
    let args = to_json(&Args { expires_at: step.expires_at, of: args(command) })?;
    let facts = match &step.outcome {
        Outcome::Accepted(receipt) | Outcome::Duplicate(receipt) => to_json(receipt)?,
        Outcome::Deferred(deferral) => to_json(deferral)?,
        Outcome::Conflict => "null".to_owned(),
        Outcome::Refused(refusal) => to_json(refusal)?,
    };
    let row = NewRow {
        at: now,
        actor: &actor,
        action: command.name(),
        args: &args,
        outcome: step.outcome.name(),
        facts: &facts,
        digest: step.digest,
    };
    journal::append(tx, &row)
}

/// Only one refusal writes: the diagnostic of a causal limit. REJECT-11
fn had_effect(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Accepted(_) => true,
        Outcome::Refused(refusal) => *refusal == Refusal::DepthLimit,
        Outcome::Duplicate(_) | Outcome::Deferred(_) | Outcome::Conflict => false,
    }
}

/// Whether this actor has a row left in this minute; closes its last minute if that suppressed any.
fn within_quota(tx: &mut dyn Tx, now: Millis, actor: &str) -> Result<bool, StoreError> {
    let minute = now.0.div_euclid(60_000);
    let fresh = Quota { minute, written: 0, suppressed: 0 };
    let mut quota = match journal::quota(tx, actor)? {
        Some(quota) if quota.minute == minute => quota,
        Some(earlier) => {
            close(tx, now, actor, earlier)?;
            fresh
        }
        None => {
            journal::forget_quotas(tx, minute)?;
            fresh
        }
    };
    let within = quota.written < NO_EFFECT_ROWS_PER_MINUTE;
    if within {
        quota.written += 1;
    } else {
        quota.suppressed = quota.suppressed.saturating_add(1);
    }
    journal::set_quota(tx, actor, quota)?;
    Ok(within)
}

fn close(tx: &mut dyn Tx, now: Millis, actor: &str, quota: Quota) -> Result<(), StoreError> {
    if quota.suppressed == 0 {
        return Ok(());
    }
    let args = format!(r#"{{"minute":{},"answers":{}}}"#, quota.minute, quota.suppressed);
    let row = NewRow {
        at: now,
        actor,
        action: "suppressed",
        args: &args,
        outcome: "suppressed",
        facts: "null",
        digest: None,
    };
    journal::append(tx, &row)
}

fn to_json(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value)
        .map_err(|e| StoreError::Engine { what: format!("a journal row cannot be written: {e}") })
}

/// What a row says of its command: ids and digests. No field here can hold a payload, a token or
/// the text of a reason.
#[derive(Serialize)]
struct Args<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<Millis>,
    #[serde(flatten)]
    of: Of<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Of<'a> {
    Accept {
        source: &'a str,
        delivery: &'a str,
        #[serde(rename = "type")]
        event_type: &'a str,
        scope: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        key: Option<&'a Key>,
        #[serde(skip_serializing_if = "Option::is_none")]
        target: Option<WorkId>,
        max_depth: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        body: Option<String>,
    },
    CommitRoute {
        event: Seq,
        resolved: Option<(WorkId, i64)>,
        generation: i64,
        route: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        create: Option<&'a str>,
    },
    Claim {
        work: WorkId,
        lease: Duration,
        binding: &'a str,
        generation: i64,
        resumes: bool,
        holds_until_pin: bool,
        capacity: u32,
    },
    Authority {
        work: WorkId,
        attempt: AttemptNo,
        epoch: Epoch,
        #[serde(skip_serializing_if = "Option::is_none")]
        verdict: Option<Verdict>,
    },
    RegisterWait {
        work: WorkId,
        attempt: AttemptNo,
        epoch: Epoch,
        wait: WaitUid,
        keys: &'a [Key],
        types: &'a [String],
        after: Seq,
        #[serde(skip_serializing_if = "Option::is_none")]
        deadline: Option<Deadline>,
    },
    Wait {
        wait: WaitId,
    },
    Recovery {
        work: WorkId,
        lease: Duration,
    },
    Segment {
        work: WorkId,
        attempt: AttemptNo,
        epoch: Epoch,
    },
    Work {
        work: WorkId,
    },
}

fn args(command: &Command) -> Of<'_> {
    match command {
        Command::Accept { event } => accept(event),
        Command::CommitRoute { proposal } => commit_route(proposal),
        Command::Claim { work, attempt_uid: _, token: _, lease, pin, capacity } => Of::Claim {
            work: *work,
            lease: *lease,
            binding: &pin.binding,
            generation: pin.generation.0,
            resumes: pin.resumes,
            holds_until_pin: pin.holds_until_pin,
            capacity: *capacity,
        },
        Command::ClearNeverHanded { by }
        | Command::Pin { by, metadata: _ }
        | Command::Renew { by, lease: _ }
        | Command::Complete { by, status: _ }
        | Command::Fail { by, reason: _ } => authority(by, None),
        Command::SettleRecovery { by, verdict, reason: _ } => authority(by, Some(*verdict)),
        Command::RegisterWait { by, uid, keys, types, after, deadline } => Of::RegisterWait {
            work: by.work,
            attempt: by.attempt,
            epoch: by.epoch,
            wait: *uid,
            keys,
            types,
            after: *after,
            deadline: *deadline,
        },
        Command::Wake { wait } | Command::FireTimer { wait } | Command::AcceptTimeout { wait } => {
            Of::Wait { wait: *wait }
        }
        Command::ClaimRecovery { work, token: TokenHash(_), lease } => {
            Of::Recovery { work: *work, lease: *lease }
        }
        Command::Vacate { work, segment } => {
            Of::Segment { work: *work, attempt: segment.attempt, epoch: segment.epoch }
        }
        Command::Cancel { work, reason: _ } => Of::Work { work: *work },
    }
}

fn accept(event: &NewEvent) -> Of<'_> {
    Of::Accept {
        source: &event.id.source,
        delivery: &event.id.delivery,
        event_type: &event.event_type,
        scope: &event.scope,
        key: event.key.as_ref(),
        target: event.target,
        max_depth: event.limits.max_depth,
        // Half a hash tells bodies apart; the journal is written for every event.
        body: event.payload.as_ref().map(|body| hex::encode(&Sha256::digest(body)[..16])),
    }
}

fn commit_route(proposal: &Proposal) -> Of<'_> {
    Of::CommitRoute {
        event: proposal.event,
        resolved: proposal.resolved,
        generation: proposal.generation.0,
        route: proposal.route.as_deref(),
        create: proposal.create.as_ref().map(|work| work.kind.as_str()),
    }
}

fn authority<'a>(by: &Authority, verdict: Option<Verdict>) -> Of<'a> {
    Of::Authority { work: by.work, attempt: by.attempt, epoch: by.epoch, verdict }
}

#[cfg(test)]
mod tests;
