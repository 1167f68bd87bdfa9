//! The journal row of each command, in the command's own transaction. OURS-14

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::command::{Command, Outcome};
use crate::domain::{
    Actor, AttemptNo, Authority, ControlPolicy, Deadline, Decision, Duration, Ending, Epoch,
    Fallback, Incarnation, Key, Millis, NewEvent, Proposal, Request, RetryHint, RetryPolicy,
    ScopeLimit, SendAnswer, Seq, Source, TokenHash, Verdict, WaitId, WaitUid, WorkId, WorkUid,
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
    let args =
        to_json(&Args { expires_at: step.expires_at, proofs: &step.named, of: args(command) })?;
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
    /// Events that a result named as proved, whether they were proofs or not.
    #[serde(skip_serializing_if = "<[Seq]>::is_empty")]
    proofs: &'a [Seq],
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
        #[serde(skip_serializing_if = "Option::is_none")]
        policy: Option<ControlPolicy>,
        #[serde(skip_serializing_if = "Option::is_none")]
        fallback: Option<Fallback>,
        #[serde(skip_serializing_if = "Option::is_none")]
        on_error: Option<Fallback>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        reopen: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        successor: Option<WorkUid>,
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
        /// What was made, or would have been: a repeated request keeps its first.
        work: WorkUid,
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
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        injects: bool,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        interrupts: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        active: Option<Duration>,
        /// Absent where it is the one that holds where nothing else is said.
        #[serde(skip_serializing_if = "Option::is_none")]
        retry: Option<&'a RetryPolicy>,
        capacity: &'a [ScopeLimit],
    },
    Authority(Acting),
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
    /// Of a retry: the failed attempt.
    Attempt {
        work: WorkId,
        attempt: AttemptNo,
    },
    Restore {
        above: Incarnation,
    },
    ReleaseRestore {
        request: &'a str,
        max_depth: u32,
    },
    Segment {
        work: WorkId,
        attempt: AttemptNo,
        epoch: Epoch,
    },
    Work(On<'a>),
}

fn args(command: &Command) -> Of<'_> {
    match command {
        Command::Accept { event } => accept(event),
        Command::CommitRoute { proposal } => commit_route(proposal),
        Command::Reload { digest, body: _ } => Of::Reload { config: digest },
        Command::Drop { event, reason: _ } => Of::Event { event: *event },
        Command::Replay { event, request } => Of::Replay { event: *event, request: &request.id },
        Command::Reopen { work, expect, request, successor } => {
            Of::Work(On { successor: Some(*successor), ..On::asked(*work, *expect, request) })
        }
        Command::Release { work, expect, request } | Command::Retry { work, expect, request } => {
            Of::Work(On::asked(*work, *expect, request))
        }
        Command::CreateWork { request, scope, create, key, parent, authorised, data: _ } => {
            Of::CreateWork {
                request: &request.id,
                work: create.uid,
                scope,
                kind: &create.kind,
                standing: create.standing,
                key: key.as_ref(),
                parent: *parent,
                authorised: *authorised,
                max_depth: request.limits.max_depth,
            }
        }
        Command::Hold { work, expect, reason: _ } => Of::Work(On::work(*work, *expect)),
        Command::Claim { work, attempt_uid: _, token: _, lease, pin, capacity } => Of::Claim {
            work: *work,
            lease: *lease,
            binding: &pin.binding,
            generation: pin.generation.0,
            resumes: pin.resumes,
            holds_until_pin: pin.holds_until_pin,
            injects: pin.injects,
            interrupts: pin.interrupts,
            active: pin.active,
            retry: Some(&pin.retry).filter(|policy| **policy != RetryPolicy::default()),
            capacity,
        },
        Command::ClearNeverHanded { by }
        | Command::Pin { by, metadata: _ }
        | Command::Renew { by, lease: _ }
        | Command::Detach { by } => Of::Authority(Acting::by(by)),
        Command::Dispatch { by, event } => {
            Of::Authority(Acting { event: Some(*event), ..Acting::by(by) })
        }
        Command::SettleDispatch { by, event, answer, detail: _ } => {
            Of::Authority(Acting { event: Some(*event), answer: Some(*answer), ..Acting::by(by) })
        }
        Command::Interrupt { work, expect, request, implemented } => {
            Of::Work(On { implemented: Some(*implemented), ..On::asked(*work, *expect, request) })
        }
        Command::Fail { by, reason: _, hint, proofs: _, usage: _ } => {
            Of::Authority(Acting { hint: *hint, ..Acting::by(by) })
        }
        Command::Complete { by, ending, status, proofs: _, usage: _ } => Of::Authority(Acting {
            ending: Some(*ending),
            declares: status.is_some(),
            ..Acting::by(by)
        }),
        Command::SettleRecovery { by, verdict, reason: _ } => {
            Of::Authority(Acting { verdict: Some(*verdict), ..Acting::by(by) })
        }
        Command::FireRetry { work, attempt } => Of::Attempt { work: *work, attempt: *attempt },
        Command::Restore { above } => Of::Restore { above: *above },
        Command::ReleaseRestore { request } => {
            Of::ReleaseRestore { request: &request.id, max_depth: request.limits.max_depth }
        }
        Command::RegisterWait {
            by,
            uid,
            keys,
            types,
            after,
            deadline,
            source,
            read_scopes,
            proofs: _,
            usage: _,
        } => Of::RegisterWait {
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
        },
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
        Command::CloseIdle { work } => Of::Work(On::work(*work, None)),
        Command::Cancel { work, expect, for_good, reason: _ } => {
            Of::Work(On { for_good: Some(*for_good), ..On::work(*work, *expect) })
        }
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
        suspect_within: event.suspect_within,
    }
}

fn commit_route(proposal: &Proposal) -> Of<'_> {
    let (decision, attach, create) = match &proposal.decision {
        Decision::Decline => ("decline", [].as_slice(), None),
        Decision::Drop => ("drop", [].as_slice(), None),
        Decision::Close => ("close", [].as_slice(), None),
        Decision::Update { attach, .. } => ("update", attach.as_slice(), None),
        Decision::Work { attach, create, .. } => ("work", attach.as_slice(), create.as_ref()),
    };
    let control = proposal.decision.control();
    Of::CommitRoute {
        event: proposal.event,
        resolved: proposal.resolved,
        generation: proposal.generation.0,
        route: proposal.route.as_deref(),
        decision,
        attach,
        create: create.map(|work| work.kind.as_str()),
        standing: create.is_some_and(|work| work.standing),
        policy: Some(control.policy).filter(|policy| *policy != ControlPolicy::Queue),
        fallback: control.fallback,
        on_error: control.on_error,
        reopen: proposal.reopen.is_some(),
        successor: proposal.reopen,
    }
}

/// What is reported under an authority. Reasons, metadata and statuses have no place in it.
#[derive(Serialize)]
struct Acting {
    work: WorkId,
    attempt: AttemptNo,
    epoch: Epoch,
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<Verdict>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ending: Option<Ending>,
    /// A status is declared, so that an event may be published.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    declares: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<Seq>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<SendAnswer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<RetryHint>,
}

impl Acting {
    const fn by(by: &Authority) -> Self {
        let (work, attempt, epoch) = (by.work, by.attempt, by.epoch);
        Self {
            work,
            attempt,
            epoch,
            verdict: None,
            ending: None,
            declares: false,
            event: None,
            answer: None,
            hint: None,
        }
    }
}

/// What is done to a work. A request makes a root, which says how deep its chain may go.
#[derive(Serialize)]
struct On<'a> {
    work: WorkId,
    #[serde(skip_serializing_if = "Option::is_none")]
    expect: Option<AttemptNo>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_depth: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    for_good: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    implemented: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    successor: Option<WorkUid>,
}

impl<'a> On<'a> {
    const fn work(work: WorkId, expect: Option<AttemptNo>) -> Self {
        Self {
            work,
            expect,
            request: None,
            max_depth: None,
            for_good: None,
            implemented: None,
            successor: None,
        }
    }

    fn asked(work: WorkId, expect: Option<AttemptNo>, request: &'a Request) -> Self {
        let max_depth = Some(request.limits.max_depth);
        Self { request: Some(&request.id), max_depth, ..Self::work(work, expect) }
    }
}

#[cfg(test)]
mod tests;
