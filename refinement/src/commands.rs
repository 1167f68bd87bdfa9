//! An action of the model as a command of the runtime, and the runtime's answer in the model's words.
//!
//! The one place where the two alphabets meet; every match over one of them is exhaustive, so that a new action or receipt
//! on either side stops the build here.
//!
//! Here is the command of each action. What takes more than a line is in the file of its concern: `ingress` for deliveries
//! and requests, `routing` for evaluations and proposals, `attempts` for claims and ends of turns, `intents` for controls of
//! running attempts and for proofs, `waits` for registrations. A new concern is one more file beside them. `answer` puts outcomes in the model's words, `learn` binds what they reveal,
//! and `known` refuses what the world does not contain.

mod answer;
mod attempts;
mod ingress;
mod intents;
mod known;
mod learn;
mod routing;
mod waits;

use abide::command::Command;
use abide::domain::{AttemptNo, Duration, Incarnation};
use abide_model::action::Commit;
use abide_model::worlds::{TICK_MS, World};

use crate::binding::Binding;
use crate::observation::Rows;
use crate::subject::SubjectError;

pub use answer::{intent_kind, intent_status, mark, outcome};
pub use known::{known_event, known_work, rank, stranger};
pub use learn::learn;
pub use routing::evaluated;

use attempts::{claim, ended, finding, hinted};
use ingress::{create_work, new_event, proposed_uid, request};
use intents::{answered, named};
use routing::proposal;
use waits::{register_wait, watermark};

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
        Commit::Complete { work, by, ending, declares, proofs } => Command::Complete {
            by: binding.authority(work, by),
            ending: ended(world, rows, binding.work(work), ending)?,
            status: declares.then(|| "done".to_owned()),
            proofs: named(binding, rows, proofs)?,
            usage: None,
        },
        Commit::Fail { work, by, hint, proofs } => {
            let by = binding.authority(work, by);
            Command::Fail {
                by,
                reason: "failed".to_owned(),
                hint: hinted(world, by, hint),
                proofs: named(binding, rows, proofs)?,
                usage: None,
            }
        }
        Commit::FireRetry { work, attempt } => {
            Command::FireRetry { work: binding.work(work), attempt: AttemptNo(u32::from(attempt)) }
        }
        Commit::RegisterWait { work, by, wait, after, proofs } => {
            let after = watermark(after, rows, binding.work(work))?;
            let proofs = named(binding, rows, proofs)?;
            register_wait(world, binding, rows, (work, by), wait, (after, proofs))?
        }
        Commit::Dispatch { work, by, event } => {
            Command::Dispatch { by: binding.authority(work, by), event: binding.event(event) }
        }
        Commit::SettleDispatch { work, by, event, answer } => Command::SettleDispatch {
            by: binding.authority(work, by),
            event: binding.event(event),
            answer: answered(answer),
            detail: String::new(),
        },
        Commit::Interrupt { work, expect, request: by, implemented } => Command::Interrupt {
            work: binding.work(work),
            expect: binding.expected(work, expect),
            request: request(world, by),
            implemented,
        },
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
