//! Generations: a validated configuration becomes current, and nothing pinned moves with it. BIND-10
//! BIND-11

use crate::command::{Outcome, Receipt};
use crate::domain::{Generation, Millis};
use crate::store::{StoreError, Tx, generations};

use super::Step;

/// Makes a configuration current; the one that is current already keeps its number. BIND-10
pub(super) fn reload(
    tx: &mut dyn Tx,
    now: Millis,
    digest: &str,
    body: &str,
) -> Result<Step, StoreError> {
    let current = generations::current_no(tx)?;
    let stored = generations::get(tx, current)?;
    if stored.is_some_and(|stored| stored.digest == digest && stored.body == body) {
        return Ok(Outcome::Duplicate(Receipt::Reloaded { generation: current }).into());
    }
    let generation = Generation(current.0.saturating_add(1));
    generations::insert(tx, generation, digest, body, now)?;
    Ok(Outcome::Accepted(Receipt::Reloaded { generation }).into())
}
