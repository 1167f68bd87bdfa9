//! Attempts: what a claim pins, and how turns end.

use abide::command::Command;
use abide::domain::{
    self, AttemptUid, Authority, BindingPin, RetryHint, RetryPolicy, ScopeLimit, Verdict, WorkId,
};
use abide_model::action::{self, Ending, Hint};
use abide_model::index::{WorkIx, below};
use abide_model::worlds::{self, World};

use super::{stranger, ticks};
use crate::binding::Binding;
use crate::names;
use crate::observation::Rows;
use crate::subject::SubjectError;

/// The claim of Work under what the world pins for it, and under the limits of every scope above it.
pub(super) fn claim(
    world: &World,
    binding: &mut Binding,
    rows: &mut Rows<'_>,
    work: WorkIx,
) -> Result<Command, SubjectError> {
    let pinned = world.binding(work);
    let limit = u32::try_from(world.capacity).unwrap_or(u32::MAX);
    let retry = pinned_policy(world, binding, rows, work)?;
    let controls = world.controls(work, current(binding)?);
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
            injects: controls.injects,
            interrupts: controls.interrupts,
            active: pinned.active.map(ticks),
            retry,
        },
        capacity: scope.map_or_else(Vec::new, |scope| world.upwards(scope).map(limited).collect()),
    })
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
    let policy = world.policy(kind, current(binding)?);
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

/// The current configuration, counted from the one that the world begins with.
fn current(binding: &Binding) -> Result<u8, SubjectError> {
    let generation = binding.generation();
    binding.reloads(generation).ok_or_else(|| stranger("generation", &generation))
}

/// How long handed-off Work may be idle is its kind's to say, and its kind was fixed when it was made.
pub(super) fn ended(
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

/// What an executor says of the delay of a retry. A valid hint is exactly as long as the bound allows and an excessive one
/// a millisecond longer; an invalid one takes every form in turn. RETRY-15 RETRY-16 RETRY-17
pub(super) fn hinted(world: &World, by: Authority, hint: Hint) -> Option<RetryHint> {
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

/// What a recovery found.
pub(super) const fn finding(verdict: action::Verdict) -> Verdict {
    match verdict {
        action::Verdict::Adopted => Verdict::Adopted,
        action::Verdict::NotAdoptable => Verdict::NotAdoptable,
    }
}
