//! The journal row of each command, in the command's own transaction. OURS-14

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::command::{Command, Outcome};
use crate::domain::{
    Actor, AttemptNo, Authority, Deadline, Decision, Duration, Ending, Epoch, Key, Millis,
    NewEvent, Proposal, ScopeLimit, Seq, Source, TokenHash, Verdict, WaitId, WaitUid, WorkId,
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
    if !had_effect(step) && !within_quota(tx, now, &actor)? {
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

fn had_effect(step: &Step) -> bool {
    step.wrote || matches!(step.outcome, Outcome::Accepted(_))
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
        #[serde(skip_serializing_if = "Option::is_none")]
        suspect_within: Option<Duration>,
    },
    CommitRoute {
        event: Seq,
        resolved: Option<(WorkId, i64)>,
        generation: i64,
        route: Option<&'a str>,
        decision: &'static str,
        #[serde(skip_serializing_if = "<[Key]>::is_empty")]
        attach: &'a [Key],
        #[serde(skip_serializing_if = "Option::is_none")]
        create: Option<&'a str>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        standing: bool,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        reopen: bool,
    },
    Reload {
        config: &'a str,
    },
    Event {
        event: Seq,
    },
    Replay {
        event: Seq,
        request: &'a str,
    },
    CreateWork {
        request: &'a str,
        scope: &'a str,
        kind: &'a str,
        standing: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        key: Option<&'a Key>,
        #[serde(skip_serializing_if = "Option::is_none")]
        parent: Option<WorkId>,
        authorised: bool,
        max_depth: u32,
    },
    Claim {
        work: WorkId,
        lease: Duration,
        binding: &'a str,
        generation: i64,
        resumes: bool,
        holds_until_pin: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        active: Option<Duration>,
        capacity: &'a [ScopeLimit],
    },
    Authority {
        work: WorkId,
        attempt: AttemptNo,
        epoch: Epoch,
        #[serde(skip_serializing_if = "Option::is_none")]
        verdict: Option<Verdict>,
        #[serde(skip_serializing_if = "Option::is_none")]
        ending: Option<Ending>,
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
        #[serde(skip_serializing_if = "Option::is_none")]
        source: Option<&'a Source>,
        #[serde(skip_serializing_if = "<[String]>::is_empty")]
        read_scopes: &'a [String],
    },
    Wait {
        wait: WaitId,
        #[serde(skip_serializing_if = "Option::is_none")]
        event: Option<Seq>,
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
        #[serde(skip_serializing_if = "Option::is_none")]
        expect: Option<AttemptNo>,
        #[serde(skip_serializing_if = "Option::is_none")]
        request: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        for_good: Option<bool>,
    },
}

fn args(command: &Command) -> Of<'_> {
    match command {
        Command::Accept { event } => accept(event),
        Command::CommitRoute { proposal } => commit_route(proposal),
        Command::Reload { digest, body: _ } => Of::Reload { config: digest },
        Command::Drop { event, reason: _ } => Of::Event { event: *event },
        Command::Replay { event, request } => Of::Replay { event: *event, request: &request.id },
        Command::Reopen { work, expect, request, successor: _ }
        | Command::Release { work, expect, request } => operator(*work, *expect, Some(&request.id)),
        Command::CreateWork { request, scope, create, key, parent, authorised, data: _ } => {
            Of::CreateWork {
                request: &request.id,
                scope,
                kind: &create.kind,
                standing: create.standing,
                key: key.as_ref(),
                parent: *parent,
                authorised: *authorised,
                max_depth: request.limits.max_depth,
            }
        }
        Command::Hold { work, expect, reason: _ } => operator(*work, *expect, None),
        Command::Claim { work, attempt_uid: _, token: _, lease, pin, capacity } => Of::Claim {
            work: *work,
            lease: *lease,
            binding: &pin.binding,
            generation: pin.generation.0,
            resumes: pin.resumes,
            holds_until_pin: pin.holds_until_pin,
            active: pin.active,
            capacity,
        },
        Command::ClearNeverHanded { by }
        | Command::Pin { by, metadata: _ }
        | Command::Renew { by, lease: _ }
        | Command::Fail { by, reason: _ } => authority(by, None, None),
        Command::Complete { by, ending, status: _ } => authority(by, None, Some(*ending)),
        Command::SettleRecovery { by, verdict, reason: _ } => authority(by, Some(*verdict), None),
        Command::RegisterWait { by, uid, keys, types, after, deadline, source, read_scopes } => {
            Of::RegisterWait {
                work: by.work,
                attempt: by.attempt,
                epoch: by.epoch,
                wait: *uid,
                keys,
                types,
                after: *after,
                deadline: *deadline,
                source: source.as_ref(),
                read_scopes,
            }
        }
        Command::Wake { wait } | Command::FireTimer { wait } | Command::AcceptTimeout { wait } => {
            Of::Wait { wait: *wait, event: None }
        }
        Command::Translate { wait, event } => Of::Wait { wait: *wait, event: Some(*event) },
        Command::ClaimRecovery { work, token: TokenHash(_), lease } => {
            Of::Recovery { work: *work, lease: *lease }
        }
        Command::Vacate { work, segment } => {
            Of::Segment { work: *work, attempt: segment.attempt, epoch: segment.epoch }
        }
        Command::CloseIdle { work } => operator(*work, None, None),
        Command::Cancel { work, expect, for_good, reason: _ } => {
            let (work, expect, for_good) = (*work, *expect, Some(*for_good));
            Of::Work { work, expect, request: None, for_good }
        }
    }
}

fn operator(work: WorkId, expect: Option<AttemptNo>, request: Option<&str>) -> Of<'_> {
    Of::Work { work, expect, request, for_good: None }
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
        suspect_within: event.suspect_within,
    }
}

fn commit_route(proposal: &Proposal) -> Of<'_> {
    let (decision, attach, create) = match &proposal.decision {
        Decision::Decline => ("decline", [].as_slice(), None),
        Decision::Drop => ("drop", [].as_slice(), None),
        Decision::Close => ("close", [].as_slice(), None),
        Decision::Update { attach } => ("update", attach.as_slice(), None),
        Decision::Work { attach, create } => ("work", attach.as_slice(), create.as_ref()),
    };
    Of::CommitRoute {
        event: proposal.event,
        resolved: proposal.resolved,
        generation: proposal.generation.0,
        route: proposal.route.as_deref(),
        decision,
        attach,
        create: create.map(|work| work.kind.as_str()),
        standing: create.is_some_and(|work| work.standing),
        reopen: proposal.reopen.is_some(),
    }
}

fn authority<'a>(by: &Authority, verdict: Option<Verdict>, ending: Option<Ending>) -> Of<'a> {
    Of::Authority { work: by.work, attempt: by.attempt, epoch: by.epoch, verdict, ending }
}

#[cfg(test)]
mod tests;
