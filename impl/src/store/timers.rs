//! `timer`: armed timeouts of waits. A row is gone once it fired or was cancelled.

use crate::domain::{Millis, WaitId};

use super::engine::{StoreError, Tx, execute_one, query_one};

/// A timeout that has neither fired nor been cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timer {
    /// Due from this instant on. WAKE-04
    pub fire_at: Millis,
    /// A causal limit refused its firing. CAUSE-33
    pub disabled: bool,
}

/// Arms the timeout of a wait.
///
/// # Errors
/// The machine failed.
pub fn insert(tx: &mut dyn Tx, wait: WaitId, fire_at: Millis) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO timer (wait, fire_at, disabled) VALUES (?1, ?2, 0)",
        &[wait.into(), fire_at.into()],
    )
    .map(drop)
}

/// The timer of a wait.
///
/// # Errors
/// The machine failed.
pub fn get(tx: &mut dyn Tx, wait: WaitId) -> Result<Option<Timer>, StoreError> {
    query_one(tx, "SELECT fire_at, disabled FROM timer WHERE wait = ?1", &[wait.into()], |row| {
        Ok(Timer { fire_at: Millis(row.int(0)?), disabled: row.int(1)? != 0 })
    })
}

/// Takes the timer of a wait away, fired or cancelled; one that is gone already is no fault.
/// TIMER-05
///
/// # Errors
/// The machine failed.
pub fn remove(tx: &mut dyn Tx, wait: WaitId) -> Result<(), StoreError> {
    tx.execute("DELETE FROM timer WHERE wait = ?1", &[wait.into()]).map(drop)
}

/// Disables the firing of an armed timer. CAUSE-32
///
/// # Errors
/// The machine failed, or it is not armed.
pub fn disable(tx: &mut dyn Tx, wait: WaitId) -> Result<(), StoreError> {
    execute_one(
        tx,
        "UPDATE timer SET disabled = 1 WHERE wait = ?1 AND disabled = 0",
        &[wait.into()],
        "timer: a firing was refused of a timer that is not armed",
    )
}
