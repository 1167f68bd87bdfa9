//! What a receipt reveals is bound: which row, sequence or authority of the runtime is which of the world.

use abide::command::{Command, Outcome, Receipt};
use abide::domain::Authority;
use abide_model::action::Commit;
use abide_model::index::DeliveryIx;
use abide_model::worlds::World;

use crate::binding::Binding;

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
