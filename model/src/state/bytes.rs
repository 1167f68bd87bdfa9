//! Small values of a state that are one byte each: a set of holds, a countdown.

use bytemuck::NoUninit;

use crate::state::Hold;

/// Why a Work is not started: a set, empty for most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, NoUninit)]
#[repr(transparent)]
pub struct Holds(u8);

impl Holds {
    /// No hold.
    pub const NONE: Holds = Holds(0);

    /// Every reason, in order of declaration.
    pub const REASONS: [Hold; 3] = [Hold::Exhausted, Hold::CausalLimit, Hold::Operator];

    /// Whether no hold stands.
    pub fn is_empty(self) -> bool {
        self == Holds::NONE
    }

    /// Whether this hold stands.
    pub fn has(self, hold: Hold) -> bool {
        self.0 & (1 << hold as u8) != 0
    }

    /// Those holds and this one.
    #[must_use]
    pub fn with(self, hold: Hold) -> Self {
        Holds(self.0 | 1 << hold as u8)
    }

    /// Those holds without this one.
    #[must_use]
    pub fn without(self, hold: Hold) -> Self {
        Holds(self.0 & !(1 << hold as u8))
    }

    /// The holds that stand, in order of declaration.
    pub fn reasons(self) -> impl Iterator<Item = Hold> {
        Holds::REASONS.into_iter().filter(move |hold| self.has(*hold))
    }
}

/// A countdown in one byte, of a wait, of idleness or of active time: none or gone, disabled, or running with the ticks
/// that remain.
#[derive(Clone, Copy, Default, PartialEq, Eq, NoUninit)]
#[repr(transparent)]
pub struct Timer(u8);

impl Timer {
    /// Never armed, fired or cancelled.
    pub const NONE: Timer = Timer(0);
    /// A causal limit refused the firing once. CAUSE-33
    pub const DISABLED: Timer = Timer(1);

    /// Armed, due in so many ticks.
    pub fn due_in(ticks: u8) -> Self {
        Timer(ticks + 2)
    }

    /// Ticks until it is due, if it is armed; 0 = due. WAKE-04
    pub fn ticks(self) -> Option<u8> {
        self.0.checked_sub(2)
    }

    /// The same timer one tick later.
    #[must_use]
    pub fn later(self) -> Self {
        match self.ticks() {
            Some(ticks) => Timer::due_in(ticks.saturating_sub(1)),
            None => self,
        }
    }
}

impl std::fmt::Debug for Timer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (*self, self.ticks()) {
            (Timer::NONE, _) => f.write_str("-"),
            (Timer::DISABLED, _) => f.write_str("disabled"),
            (_, Some(ticks)) => write!(f, "{ticks}t"),
            (_, None) => f.write_str("?"),
        }
    }
}
