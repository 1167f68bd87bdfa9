//! Waits: what a registration asks for, and what its Work may read.

use abide::command::Command;
use abide::domain::{Deadline, EventUid, Seq, Source, WorkId};
use abide_model::action::{self, Mark};
use abide_model::index::{WaitIx, WorkIx, below};
use abide_model::worlds::World;

use super::ticks;
use crate::binding::Binding;
use crate::names::{self, key, wait_uid};
use crate::observation::Rows;
use crate::subject::SubjectError;

/// A wait as the world defines it, with what the result that parks the turn says beside it: how far it looked, and what its
/// process took in.
pub(super) fn register_wait(
    world: &World,
    binding: &Binding,
    rows: &mut Rows<'_>,
    (work, by): (WorkIx, action::Authority),
    wait: WaitIx,
    (after, proofs): (Seq, Vec<EventUid>),
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
        proofs,
        usage: None,
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

/// The sequence that a wait looks beyond.
pub(super) fn watermark(
    after: Mark,
    rows: &mut Rows<'_>,
    work: WorkId,
) -> Result<Seq, SubjectError> {
    Ok(match after {
        Mark::Start => Seq(0),
        Mark::Batch => rows.batch_end(work)?,
        Mark::Latest => rows.latest()?,
        Mark::Beyond => Seq(rows.latest()?.0 + 1),
    })
}
