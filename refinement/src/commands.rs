//! An action of the model as a command of the runtime, and the runtime's answer in the model's words.
//!
//! The one place where the two alphabets meet; both matches are exhaustive, so that a new action or receipt on either
//! side stops the build here.

use abide::command::{Command, Deferral, Outcome, Receipt, Refusal};
use abide::domain::{
    AttemptUid, BindingPin, CausalLimits, Deadline, Duration, EventUid, Generation, IngressId, Key,
    MarkKind, NewEvent, Proposal, Seq, StartReason, Verdict, WaitUid,
};
use abide_model::action::{self, Commit, Mark};
use abide_model::index::{DeliveryIx, EventIx, WaitIx, WorkIx};
use abide_model::outcome as law;
use abide_model::worlds::{TICK_MS, World};
use uuid::Uuid;

use crate::binding::Binding;
use crate::subject::SubjectError;

/// The namespace of everything a world's senders offer.
pub const SOURCE: &str = "world";

/// Resolves the watermarks that depend on what the runtime shows.
#[derive(Debug, Clone, Copy)]
pub struct Watermarks {
    /// The highest sequence of the batch the Work's last segment claimed.
    pub batch: Seq,
    /// The latest accepted sequence.
    pub latest: Seq,
}

/// The command that performs an action.
///
/// # Errors
/// The watermark it declares cannot be read.
pub fn command(
    world: &World,
    binding: &mut Binding,
    commit: Commit,
    marks: impl FnOnce(WorkIx) -> Result<Watermarks, SubjectError>,
) -> Result<Command, SubjectError> {
    Ok(match commit {
        Commit::Accept { delivery } => {
            Command::Accept { event: Box::new(new_event(world, binding, delivery)) }
        }
        Commit::CommitRoute { event } => {
            Command::CommitRoute { proposal: proposal(binding, event) }
        }
        Commit::Claim { work } => claim(world, binding, work),
        Commit::ClearNeverHanded { work, by } => {
            Command::ClearNeverHanded { by: binding.authority(work, by) }
        }
        Commit::Pin { work, by } => {
            Command::Pin { by: binding.authority(work, by), metadata: "pinned".to_owned() }
        }
        Commit::Renew { work, by } => {
            Command::Renew { by: binding.authority(work, by), lease: ticks(world.lease) }
        }
        Commit::Complete { work, by } => {
            Command::Complete { by: binding.authority(work, by), status: None }
        }
        Commit::Fail { work, by } => {
            Command::Fail { by: binding.authority(work, by), reason: "failed".to_owned() }
        }
        Commit::RegisterWait { work, by, wait, after } => {
            let after = watermark(after, work, marks)?;
            register_wait(world, binding, (work, by), wait, after)
        }
        Commit::Wake { wait } => Command::Wake { wait: binding.wait(wait) },
        Commit::FireTimer { wait } => Command::FireTimer { wait: binding.wait(wait) },
        Commit::AcceptTimeout { wait } => Command::AcceptTimeout { wait: binding.wait(wait) },
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
        Commit::Vacate { work, segment } => {
            Command::Vacate { work: binding.work(work), segment: binding.segment(work, segment) }
        }
        Commit::Cancel { work } => {
            Command::Cancel { work: binding.work(work), reason: String::new() }
        }
    })
}

/// The length of so many ticks.
#[must_use]
pub fn ticks(count: u8) -> Duration {
    Duration(u64::from(count) * TICK_MS)
}

/// The edge id of a wait of the universe: the same in every history of a world.
#[must_use]
pub fn wait_uid(wait: WaitIx) -> WaitUid {
    WaitUid::from_uuid(numbered(0x77, wait.0))
}

fn numbered(kind: u8, index: u8) -> Uuid {
    let mut bytes = [0; 16];
    bytes[0] = kind;
    bytes[15] = index;
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}

fn key(world: &World, key: u8) -> Key {
    Key { source: SOURCE.to_owned(), external_id: world.keys[usize::from(key)].to_owned() }
}

fn new_event(world: &World, binding: &Binding, ix: DeliveryIx) -> NewEvent {
    let delivery = world.delivery(ix);
    NewEvent {
        uid: EventUid::from_uuid(numbered(0x65, ix.0)),
        id: IngressId { source: SOURCE.to_owned(), delivery: delivery.identity.to_owned() },
        event_type: world.types[usize::from(delivery.kind)].to_owned(),
        subject: None,
        occurred_at: None,
        scope: world.scopes[usize::from(delivery.scope)].to_owned(),
        key: delivery.key.map(|of| key(world, of)),
        target: delivery.target.map(|work| binding.work(work)),
        limits: CausalLimits { max_depth: u32::from(world.depth_max) },
        payload: None,
    }
}

/// What was evaluated; for an event nobody evaluated, a proposal the answer does not look at.
fn proposal(binding: &Binding, event: EventIx) -> Proposal {
    binding.proposal(event).cloned().unwrap_or(Proposal {
        event: binding.event(event),
        resolved: None,
        generation: Generation(1),
        route: None,
        create: None,
    })
}

fn claim(world: &World, binding: &mut Binding, work: WorkIx) -> Command {
    let pinned = world.binding(work);
    Command::Claim {
        work: binding.work(work),
        attempt_uid: AttemptUid::new(),
        token: binding.mint(),
        lease: ticks(world.lease),
        pin: BindingPin {
            binding: pinned.name.to_owned(),
            generation: Generation(1),
            resumes: pinned.resumes,
            holds_until_pin: pinned.holds,
        },
        capacity: u32::try_from(world.capacity).unwrap_or(u32::MAX),
    }
}

fn register_wait(
    world: &World,
    binding: &Binding,
    (work, by): (WorkIx, action::Authority),
    wait: WaitIx,
    after: Seq,
) -> Command {
    let def = world.wait(wait);
    Command::RegisterWait {
        by: binding.authority(work, by),
        uid: wait_uid(wait),
        keys: def.keys.iter().map(|of| key(world, *of)).collect(),
        types: def.types.iter().map(|of| world.types[usize::from(*of)].to_owned()).collect(),
        after,
        deadline: def.timeout.map(|length| Deadline::After(ticks(length))),
    }
}

fn watermark(
    after: Mark,
    work: WorkIx,
    marks: impl FnOnce(WorkIx) -> Result<Watermarks, SubjectError>,
) -> Result<Seq, SubjectError> {
    Ok(match after {
        Mark::Start => Seq(0),
        Mark::Batch => marks(work)?.batch,
        Mark::Latest => marks(work)?.latest,
        Mark::Beyond => Seq(marks(work)?.latest.0 + 1),
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
        Receipt::Advanced { .. }
        | Receipt::Renewed { .. }
        | Receipt::Ended { .. }
        | Receipt::Vacated { .. }
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
pub fn known_work(binding: &Binding, id: abide::domain::WorkId) -> Result<WorkIx, SubjectError> {
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
        MarkKind::Terminal => law::RouteMark::Terminal,
        MarkKind::Continuation => law::RouteMark::Continuation,
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
        Deferral::Held => law::Deferral::Held,
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
        StaleAuthority LeaseExpired CoreType UnknownEvent UnknownWork UnknownWait WrongScope
        ContradictoryTarget Terminal AttemptOpen WorkWaiting NothingToStart NotLaunching NotHanded
        NotRunning NotRecovering WaitCannotEnd KeyNotOwned WatermarkAhead WaitCancelled
        NothingToWakeFrom NoTimer TimerCancelled FiringDisabled NotDue MatchAccepted DepthLimit
        LeaseLive NothingToRecover StaleSegment NotExcluded
    )
}

/// Binds what a receipt reveals: the sequence of a delivery, the row of a new Work or wait, a fresh authority.
pub fn learn(
    world: &World,
    binding: &mut Binding,
    commit: Commit,
    done: &Command,
    outcome: &Outcome,
) {
    let (Outcome::Accepted(receipt) | Outcome::Duplicate(receipt)) = outcome else { return };
    match (commit, receipt) {
        // A second delivery of one identity answers the original's sequence: that binding stands.
        (Commit::Accept { delivery }, Receipt::Event { seq })
            if binding.event_of(*seq).is_none() =>
        {
            binding.bind_event(delivery.into(), *seq);
        }
        (Commit::CommitRoute { event }, Receipt::Routed { work: Some(id), .. }) => {
            if let (None, Some(work)) = (binding.work_of(*id), world.proposes(event)) {
                binding.bind_work(work, *id);
            }
        }
        (Commit::RegisterWait { wait, .. }, Receipt::Waiting { wait: id, .. }) => {
            binding.bind_wait(wait, *id);
        }
        (Commit::Claim { work }, Receipt::Claimed { work: id, attempt, epoch, .. })
        | (Commit::ClaimRecovery { work }, Receipt::Recovering { work: id, attempt, epoch, .. }) => {
            if let Command::Claim { token, .. } | Command::ClaimRecovery { token, .. } = done {
                let authority = abide::domain::Authority {
                    work: *id,
                    attempt: *attempt,
                    epoch: *epoch,
                    token: *token,
                };
                binding.grant(work, authority);
            }
        }
        _ => {}
    }
}
