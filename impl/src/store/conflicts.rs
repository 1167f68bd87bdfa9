//! `conflict`: events whose identity came again with another body. OURS-17

use crate::domain::{Millis, Seq};

use super::engine::{StoreError, Tx};

/// Marks an event as conflicting; `false` if it was.
///
/// # Errors
/// The machine failed.
pub fn mark(tx: &mut dyn Tx, event: Seq, now: Millis) -> Result<bool, StoreError> {
    let changed = tx.execute(
        "INSERT INTO conflict (event, at) VALUES (?1, ?2) ON CONFLICT (event) DO NOTHING",
        &[event.into(), now.into()],
    )?;
    Ok(changed == 1)
}
