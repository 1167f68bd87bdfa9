//! An action of the model as a command of the runtime, and the runtime's answer in the model's words.
//!
//! The one place where the two alphabets meet; both matches are exhaustive, so that a new action or receipt on either
//! side stops the build here.

use abide::command::{Command, Deferral, Outcome, Receipt, Refusal};
use abide::domain::{
    self, AttemptNo, AttemptUid, Authority, BindingPin, CausalLimits, Deadline, Decision, Duration,
    Incarnation, IngressId, Key, MarkKind, NewEvent, Proposal, ProposedWork, Request, RetryHint,
    RetryPolicy, ScopeLimit, Seq, Source, StartReason, Verdict, WorkId,
};
use abide::law::routing::Snapshot;
use abide_model::action::{self, Commit, Ending, Hint, Mark};
use abide_model::index::{DeliveryIx, EventIx, WaitIx, WorkIx, below};
use abide_model::outcome as law;
use abide_model::worlds::{self, Ask, Does, TICK_MS, World};

use crate::binding::Binding;
use crate::names::{self, event_uid, key, wait_uid, work_uid};
use crate::observation::Rows;
use crate::subject::SubjectError;

/// The command that performs an action.
///
/// # Errors
/// What an actor reads before it acts cannot be read.
pub fn command(
    world: &World,
    binding: &mut Binding,
    rows: &mut Rows<'_>,
    commit: Commit,
) -> Result<Command, SubjectError> {
    Ok(match commit {
        Commit::Accept { delivery } => {
            Command::Accept { event: Box::new(new_event(world, binding, delivery)) }
        }
        Commit::CommitRoute { event } => {
            Command::CommitRoute { proposal: proposal(binding, event) }
        }
        Commit::Reload { configuration } => reload(world, configuration),
        Commit::Drop { event } => {
            Command::Drop { event: binding.event(event), reason: "unwanted".to_owned() }
        }
        Commit::Replay { event, request: by } => {
            Command::Replay { event: binding.event(event), request: request(world, by) }
        }
        Commit::Reopen { work, expect, request: by } => Command::Reopen {
            work: binding.work(work),
            expect: binding.expected(work, expect),
            request: request(world, by),
            successor: proposed_uid(world, by),
        },
        Commit::CreateWork { request: by } => create_work(world, binding, by),
        Commit::Hold { work, expect } => Command::Hold {
            work: binding.work(work),
            expect: binding.expected(work, expect),
            reason: "held".to_owned(),
        },
        Commit::Release { work, expect, request: by } => Command::Release {
            work: binding.work(work),
            expect: binding.expected(work, expect),
            request: request(world, by),
        },
        Commit::Retry { work, expect, request: by } => Command::Retry {
            work: binding.work(work),
            expect: binding.expected(work, expect),
            request: request(world, by),
        },
        Commit::Claim { work } => claim(world, binding, rows, work)?,
        Commit::ClearNeverHanded { work, by } => {
            Command::ClearNeverHanded { by: binding.authority(work, by) }
        }
        Commit::Pin { work, by } => {
            Command::Pin { by: binding.authority(work, by), metadata: "pinned".to_owned() }
        }
        Commit::Renew { work, by } => {
            Command::Renew { by: binding.authority(work, by), lease: ticks(world.lease) }
        }
        Commit::Complete { work, by, ending, declares } => Command::Complete {
            by: binding.authority(work, by),
            ending: ended(world, rows, binding.work(work), ending)?,
            status: declares.then(|| "done".to_owned()),
        },
        Commit::Fail { work, by, hint } => {
            let by = binding.authority(work, by);
            Command::Fail { by, reason: "failed".to_owned(), hint: hinted(world, by, hint) }
        }
        Commit::FireRetry { work, attempt } => {
            Command::FireRetry { work: binding.work(work), attempt: AttemptNo(u32::from(attempt)) }
        }
        Commit::RegisterWait { work, by, wait, after } => {
            let after = watermark(after, rows, binding.work(work))?;
            register_wait(world, binding, rows, (work, by), wait, after)?
        }
        Commit::Wake { wait } => Command::Wake { wait: binding.wait(wait) },
        Commit::FireTimer { wait } => Command::FireTimer { wait: binding.wait(wait) },
        Commit::AcceptTimeout { wait } => Command::AcceptTimeout { wait: binding.wait(wait) },
        Commit::Translate { wait, source } => {
            Command::Translate { wait: binding.wait(wait), event: binding.event(source) }
        }
        Commit::CloseIdle { work } => Command::CloseIdle { work: binding.work(work) },
        Commit::ClaimRecovery { work } => Command::ClaimRecovery {
            work: binding.work(work),
            token: binding.mint(),
            lease: ticks(world.lease),
        },
        Commit::SettleRecovery { work, by, verdict } => Command::SettleRecovery {
            by: binding.authority(work, by),
            verdict: finding(verdict),
            reason: String::new(),
        },
        Commit::Detach { work, by } => Command::Detach { by: binding.authority(work, by) },
        // No copy is known of: the incarnation that follows is the next one.
        Commit::Restore => Command::Restore { above: Incarnation(0) },
        Commit::ReleaseRestore { request: by } => {
            Command::ReleaseRestore { request: request(world, by) }
        }
        Commit::Vacate { work, segment } => {
            Command::Vacate { work: binding.work(work), segment: binding.segment(work, segment) }
        }
        Commit::Cancel { work, expect, for_good } => Command::Cancel {
            work: binding.work(work),
            expect: binding.expected(work, expect),
            for_good,
            reason: String::new(),
        },
    })
}

/// The length of so many ticks.
#[must_use]
pub fn ticks(count: u8) -> Duration {
    Duration(u64::from(count) * TICK_MS)
}

/// Makes one of the world's configurations current. Its text is all that tells it from another.
#[must_use]
pub fn reload(world: &World, configuration: u8) -> Command {
    let body = format!("# configuration {configuration} of world `{}`\n", world.name);
    Command::Reload { digest: format!("{}/{configuration}", world.name), body }
}

/// Every delivery has a body, so that bodies can be told apart and known again. OURS-17
fn new_event(world: &World, binding: &Binding, ix: DeliveryIx) -> NewEvent {
    let delivery = world.delivery(ix);
    NewEvent {
        uid: event_uid(ix),
        id: IngressId { source: names::source(delivery), delivery: delivery.identity.to_owned() },
        event_type: world.types[usize::from(delivery.kind)].to_owned(),
        subject: None,
        occurred_at: None,
        scope: names::scope(world, delivery.scope),
        key: delivery.key.map(|of| key(world, of)),
        target: delivery.target.map(|work| binding.work(work)),
        limits: limits(world),
        payload: Some(format!(r#"{{"body":{}}}"#, delivery.body)),
        suspect_within: delivery.signs.map(|_| ticks(world.suspect_window)),
    }
}

fn limits(world: &World) -> CausalLimits {
    CausalLimits { max_depth: u32::from(world.depth_max) }
}

fn request(world: &World, by: DeliveryIx) -> Request {
    let id = world.delivery(by).identity.to_owned();
    Request { uid: event_uid(by), id, limits: limits(world) }
}

/// The edge id of the Work a request asks for.
fn proposed_uid(world: &World, by: DeliveryIx) -> domain::WorkUid {
    world.delivery(by).decides.proposes.map_or_else(domain::WorkUid::new, work_uid)
}

fn create_work(world: &World, binding: &Binding, by: DeliveryIx) -> Command {
    let delivery = world.delivery(by);
    let (parent, authorised) = match delivery.asks {
        Some(Ask::Create { parent, authorised }) => (parent, authorised),
        Some(
            Ask::Replay(_) | Ask::Reopen(_) | Ask::Release(_) | Ask::Retry(_) | Ask::ReleaseRestore,
        )
        | None => (None, false),
    };
    let kind = world.kind(delivery.decides.kind);
    Command::CreateWork {
        request: request(world, by),
        scope: names::scope(world, delivery.scope),
        create: ProposedWork {
            uid: proposed_uid(world, by),
            kind: kind.name.to_owned(),
            standing: kind.standing,
        },
        key: delivery.key.map(|of| key(world, of)),
        parent: parent.map(|work| binding.work(work)),
        authorised,
        data: None,
    }
}

/// What an evaluation proposes that read this: the decision of the world's handler under what is current. A Work is
/// proposed only where the event resolves to none. ROUTE-08 ROUTE-16
#[must_use]
pub fn evaluated(
    world: &World,
    binding: &Binding,
    event: EventIx,
    snapshot: &Snapshot,
) -> Proposal {
    let of = world.decision(event, binding.configuration());
    let route = (of.does != Does::Decline).then_some("route");
    let resolved = snapshot.work.as_ref().and_then(|work| binding.work_of(work.id));
    let reopen = resolved.and_then(|work| of.successor_of(work)).map(work_uid);
    Proposal { reopen, ..snapshot.decide(route, decision(world, of, snapshot)) }
}

fn decision(world: &World, of: worlds::Decision, snapshot: &Snapshot) -> Decision {
    let attach: Vec<Key> = of.attaches.iter().map(|of| key(world, *of)).collect();
    match of.does {
        Does::Decline => Decision::Decline,
        Does::Drop => Decision::Drop,
        Does::Close => Decision::Close,
        Does::Update => Decision::Update { attach },
        Does::Work => {
            let kind = world.kind(of.kind);
            let create = of
                .proposes
                .filter(|_| snapshot.work.is_none())
                .map(|_| ProposedWork { standing: kind.standing, ..snapshot.fresh(kind.name) });
            Decision::Work { attach, create }
        }
    }
}

/// What an executor says of the delay of a retry. A valid hint is exactly as long as the bound allows and an excessive one
/// a millisecond longer; an invalid one takes every form in turn. RETRY-15 RETRY-16 RETRY-17
fn hinted(world: &World, by: Authority, hint: Hint) -> Option<RetryHint> {
    let bound = i64::try_from(ticks(world.hint).0).unwrap_or(i64::MAX);
    match hint {
        Hint::None => None,
        Hint::Valid => Some(RetryHint::Delay(bound)),
        Hint::Excessive => Some(RetryHint::Delay(bound.saturating_add(1))),
        Hint::Invalid => Some(match (u64::from(by.attempt.0) + by.epoch.0) % 4 {
            0 => RetryHint::Delay(0),
            1 => RetryHint::Delay(-1),
            2 => RetryHint::Delay(i64::MIN),
            _ => RetryHint::Unreadable,
        }),
    }
}

/// What the failure of an attempt leads to that is claimed now: its kind's to say, as it is configured now. RETRY-03
/// BIND-10
fn pinned_policy(
    world: &World,
    binding: &Binding,
    rows: &mut Rows<'_>,
    work: WorkIx,
) -> Result<RetryPolicy, SubjectError> {
    let Some(name) = rows.kind(binding.work(work))? else { return Ok(RetryPolicy::default()) };
    let kind = below(world.kinds.len()).find(|kind| world.kind(*kind).name == name);
    let kind = kind.ok_or_else(|| stranger("kind", &name))?;
    let reloads = binding.reloads(binding.generation());
    let generation = reloads.ok_or_else(|| stranger("generation", &binding.generation()))?;
    let policy = world.policy(kind, generation);
    Ok(RetryPolicy {
        attempts: u32::from(policy.budget),
        backoff: policy.steps.iter().copied().map(ticks).collect(),
        exhausted: match policy.exhausted {
            worlds::Exhausted::Keep => domain::Exhausted::Keep,
            worlds::Exhausted::Fail => domain::Exhausted::Fail,
        },
        hint_max: ticks(world.hint),
    })
}

/// What was evaluated; for an event nobody evaluated, a proposal the answer does not look at.
fn proposal(binding: &Binding, event: EventIx) -> Proposal {
    binding.proposal(event).cloned().unwrap_or(Proposal {
        event: binding.event(event),
        resolved: None,
        generation: binding.generation(),
        route: None,
        decision: Decision::Decline,
        reopen: None,
    })
}

fn claim(
    world: &World,
    binding: &mut Binding,
    rows: &mut Rows<'_>,
    work: WorkIx,
) -> Result<Command, SubjectError> {
    let pinned = world.binding(work);
    let limit = u32::try_from(world.capacity).unwrap_or(u32::MAX);
    let retry = pinned_policy(world, binding, rows, work)?;
    let scope = rows.scope(binding.work(work))?;
    let scope = scope.and_then(|path| names::scope_of(world, &path));
    let limited = |scope| ScopeLimit { scope: names::scope(world, scope), limit };
    Ok(Command::Claim {
        work: binding.work(work),
        attempt_uid: AttemptUid::new(),
        token: binding.mint(),
        lease: ticks(world.lease),
        pin: BindingPin {
            binding: pinned.name.to_owned(),
            generation: binding.generation(),
            resumes: pinned.resumes,
            holds_until_pin: pinned.holds,
            active: pinned.active.map(ticks),
            retry,
        },
        capacity: scope.map_or_else(Vec::new, |scope| world.upwards(scope).map(limited).collect()),
    })
}

/// How long handed-off Work may be idle is its kind's to say, and its kind was fixed when it was made.
fn ended(
    world: &World,
    rows: &mut Rows<'_>,
    work: WorkId,
    ending: Ending,
) -> Result<domain::Ending, SubjectError> {
    Ok(match ending {
        Ending::Completed => domain::Ending::Completed,
        Ending::Handoff => {
            let kind = rows.kind(work)?;
            let kind = kind.and_then(|name| names::kind_of(world, &name));
            let close_after = kind.and_then(|kind| kind.close_after).map(ticks);
            domain::Ending::Handoff { close_after }
        }
    })
}

fn register_wait(
    world: &World,
    binding: &Binding,
    rows: &mut Rows<'_>,
    (work, by): (WorkIx, action::Authority),
    wait: WaitIx,
    after: Seq,
) -> Result<Command, SubjectError> {
    let def = world.wait(wait);
    let source = def.source.map(|source| Source {
        extension: "harness".to_owned(),
        key: key(world, source.key),
        scope: names::scope(world, source.scope),
    });
    let read_scopes = match &source {
        None => Vec::new(),
        Some(_) => readable(world, rows, binding.work(work))?,
    };
    Ok(Command::RegisterWait {
        by: binding.authority(work, by),
        uid: wait_uid(wait),
        keys: def.keys.iter().map(|of| key(world, *of)).collect(),
        types: def.types.iter().map(|of| world.types[usize::from(*of)].to_owned()).collect(),
        after,
        deadline: def.timeout.map(|length| Deadline::After(ticks(length))),
        source,
        read_scopes,
    })
}

/// What the configuration grants the scope of a Work to read beside itself. BIND-05
fn readable(world: &World, rows: &mut Rows<'_>, work: WorkId) -> Result<Vec<String>, SubjectError> {
    let Some(own) = rows.scope(work)?.and_then(|path| names::scope_of(world, &path)) else {
        return Ok(Vec::new());
    };
    Ok(below(world.scopes.len())
        .filter(|other| *other != own && world.may_read(own, *other))
        .map(|other| names::scope(world, other))
        .collect())
}

fn watermark(after: Mark, rows: &mut Rows<'_>, work: WorkId) -> Result<Seq, SubjectError> {
    Ok(match after {
        Mark::Start => Seq(0),
        Mark::Batch => rows.batch_end(work)?,
        Mark::Latest => rows.latest()?,
        Mark::Beyond => Seq(rows.latest()?.0 + 1),
    })
}

const fn finding(verdict: action::Verdict) -> Verdict {
    match verdict {
        action::Verdict::Adopted => Verdict::Adopted,
        action::Verdict::NotAdoptable => Verdict::NotAdoptable,
    }
}

/// The runtime's answer in the model's words. What a receipt reveals is bound first by [`learn`].
///
/// # Errors
/// It names something this world does not contain.
pub fn outcome(binding: &Binding, outcome: &Outcome) -> Result<law::Outcome, SubjectError> {
    Ok(match outcome {
        Outcome::Accepted(given) => law::Outcome::Accepted(receipt(binding, given)?),
        Outcome::Duplicate(given) => law::Outcome::Duplicate(receipt(binding, given)?),
        Outcome::Deferred(reason) => law::Outcome::Deferred(deferral(*reason)),
        Outcome::Conflict => law::Outcome::Conflict,
        Outcome::Refused(reason) => law::Outcome::Refused(refusal(*reason)),
    })
}

fn receipt(binding: &Binding, receipt: &Receipt) -> Result<law::Receipt, SubjectError> {
    Ok(match receipt {
        Receipt::Event { seq } | Receipt::TimeoutAccepted { seq, .. } => {
            law::Receipt::Sequence(rank(*seq)?)
        }
        Receipt::Routed { mark: given, work, .. } => {
            let work = work.map(|id| known_work(binding, id)).transpose()?;
            law::Receipt::Routed { mark: mark(*given), work }
        }
        Receipt::Claimed { attempt, reason, .. } => law::Receipt::Claimed {
            attempt: u8::try_from(attempt.0).map_err(|_| stranger("attempt", attempt))?,
            start: start(*reason),
        },
        Receipt::Recovering { relaunch: true, .. } => {
            law::Receipt::Recovered(law::Recovery::Relaunch)
        }
        Receipt::Recovering { relaunch: false, .. } => {
            law::Receipt::Recovered(law::Recovery::Adopt)
        }
        Receipt::Waiting { winner, .. } => law::Receipt::Registered {
            winner: winner.map(|seq| known_event(binding, seq)).transpose()?,
        },
        Receipt::Woken { winner, .. } => {
            law::Receipt::Woken { winner: known_event(binding, *winner)? }
        }
        Receipt::Reloaded { .. }
        | Receipt::Advanced { .. }
        | Receipt::Renewed { .. }
        | Receipt::Ended { .. }
        | Receipt::Vacated { .. }
        | Receipt::Held { .. }
        | Receipt::Detached { .. }
        | Receipt::Restored { .. }
        | Receipt::Cancelled { .. } => law::Receipt::Done,
    })
}

/// A fresh database numbers its events from 1 without gaps, so a sequence is a rank.
///
/// # Errors
/// No world has so many events.
pub fn rank(seq: Seq) -> Result<u8, SubjectError> {
    u8::try_from(seq.0).map_err(|_| stranger("event", &seq))
}

/// The event of a sequence, which must be one of this world's.
///
/// # Errors
/// It is not.
pub fn known_event(binding: &Binding, seq: Seq) -> Result<EventIx, SubjectError> {
    binding.event_of(seq).ok_or_else(|| stranger("event", &seq))
}

/// The Work of a row, which must be one of this world's.
///
/// # Errors
/// It is not.
pub fn known_work(binding: &Binding, id: WorkId) -> Result<WorkIx, SubjectError> {
    binding.work_of(id).ok_or_else(|| stranger("work", &id))
}

/// An id that this world does not contain.
pub fn stranger(thing: &'static str, id: &impl ToString) -> SubjectError {
    SubjectError::Stranger { thing, id: id.to_string() }
}

/// A mark in the model's words.
#[must_use]
pub const fn mark(mark: MarkKind) -> law::RouteMark {
    match mark {
        MarkKind::Queued => law::RouteMark::Queued,
        MarkKind::Woke => law::RouteMark::Woke,
        MarkKind::Unmatched => law::RouteMark::Unmatched,
        MarkKind::Drop => law::RouteMark::Drop,
        MarkKind::Close => law::RouteMark::Close,
        MarkKind::Terminal => law::RouteMark::Terminal,
        MarkKind::OperatorDrop => law::RouteMark::OperatorDrop,
        MarkKind::ReplaySuspect => law::RouteMark::ReplaySuspect,
        MarkKind::Release => law::RouteMark::Release,
        MarkKind::Continuation => law::RouteMark::Continuation,
        MarkKind::StaleRetry => law::RouteMark::StaleRetry,
    }
}

const fn start(reason: StartReason) -> law::Start {
    match reason {
        StartReason::Start => law::Start::Start,
        StartReason::Next => law::Start::Next,
        StartReason::Resume => law::Start::Resume,
    }
}

const fn deferral(reason: Deferral) -> law::Deferral {
    match reason {
        Deferral::OutOfTurn => law::Deferral::OutOfTurn,
        Deferral::Restored => law::Deferral::Restored,
        Deferral::Held => law::Deferral::Held,
        Deferral::Backoff => law::Deferral::Backoff,
        Deferral::Excluded => law::Deferral::Excluded,
        Deferral::Capacity => law::Deferral::Capacity,
    }
}

macro_rules! same_names {
    ($value:expr, $($name:ident)*) => {
        match $value { $(Refusal::$name => law::Refusal::$name,)* }
    };
}

const fn refusal(reason: Refusal) -> law::Refusal {
    same_names!(
        reason,
        StaleAuthority LeaseExpired CoreType UnknownEvent UnknownWork UnknownWait StaleTarget
        WrongScope ContradictoryTarget KeyOwned Terminal NotTerminal HasSuccessor Standing
        AlreadyRouted NotRouted NotHeld NothingToRetry NotIdle AttemptOpen WorkWaiting
        NothingToStart NotLaunching NotHanded NotRunning NotRecovering WaitCannotEnd KeyNotOwned
        ScopeNotReadable WatermarkAhead WaitCancelled NothingToWakeFrom TimerCancelled NoTimer
        FiringDisabled NoRetry SubscriptionEnded NothingToTranslate NotDue MatchAccepted DepthLimit
        LeaseLive NothingToRecover StaleSegment NotExcluded
    )
}

/// Binds what a receipt reveals: the sequence of a delivery or request, the row of a new Work or wait, the number of a
/// configuration, a fresh authority.
pub fn learn(
    world: &World,
    binding: &mut Binding,
    commit: Commit,
    done: &Command,
    outcome: &Outcome,
) {
    let (Outcome::Accepted(receipt) | Outcome::Duplicate(receipt)) = outcome else { return };
    if let (Some(delivery), Receipt::Event { seq }) = (offered(commit), receipt) {
        // A second delivery of one identity answers the original's sequence: that binding stands.
        if binding.event_of(*seq).is_none() {
            binding.bind_event(delivery.into(), *seq);
        }
    }
    match (commit, receipt) {
        (Commit::CommitRoute { event }, Receipt::Routed { work: Some(id), .. }) => {
            let proposed = world.decision(event, binding.configuration()).proposes;
            if let (None, Some(work)) = (binding.work_of(*id), proposed) {
                binding.bind_work(work, *id);
            }
        }
        (Commit::Reload { configuration }, Receipt::Reloaded { generation }) => {
            binding.load(configuration, *generation);
        }
        (Commit::RegisterWait { wait, .. }, Receipt::Waiting { wait: id, .. }) => {
            binding.bind_wait(wait, *id);
        }
        (Commit::Claim { work }, Receipt::Claimed { work: id, attempt, epoch, .. })
        | (Commit::ClaimRecovery { work }, Receipt::Recovering { work: id, attempt, epoch, .. }) => {
            if let Command::Claim { token, .. } | Command::ClaimRecovery { token, .. } = done {
                let (work_row, attempt, epoch, token) = (*id, *attempt, *epoch, *token);
                let authority = Authority { work: work_row, attempt, epoch, token };
                binding.grant(work, authority);
            }
        }
        _ => {}
    }
}

/// The delivery whose slot an accepted event takes: what was offered, or the request of an operator.
fn offered(commit: Commit) -> Option<DeliveryIx> {
    if let Commit::Accept { delivery } = commit { Some(delivery) } else { commit.request() }
}
