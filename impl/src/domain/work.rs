//! Works: the durable objectives.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a Work is in its one lifecycle.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum WorkStatus {
    /// May be claimed, unless held or excluded.
    Ready,
    /// An attempt of it is running.
    Running,
    /// Its last attempt waits.
    Waiting,
    /// Ended by its own completion.
    Completed,
    /// Ended by failure.
    Failed,
    /// Ended by cancellation.
    Cancelled,
}

impl WorkStatus {
    /// Terminal Work never changes again. TERM-01
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        match self {
            Self::Completed | Self::Failed | Self::Cancelled => true,
            Self::Ready | Self::Running | Self::Waiting => false,
        }
    }
}

/// Why a Work does not start until a person says so.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Hold {
    /// A failure used up the failure budget. RETRY-06
    Exhausted,
    /// A causal limit refused the continuation of a wake, or a retry. WAKE-24 CAUSE-32
    CausalLimit,
    /// A person holds it. OURS-06
    Operator,
}

impl Hold {
    /// Every hold, in the order they are shown.
    pub const ALL: [Self; 3] = [Self::Exhausted, Self::CausalLimit, Self::Operator];

    const fn bit(self) -> u8 {
        match self {
            Self::Exhausted => 1,
            Self::CausalLimit => 2,
            Self::Operator => 4,
        }
    }
}

/// The holds of a Work: a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Holds(u8);

impl Holds {
    /// No hold.
    pub const NONE: Self = Self(0);

    /// Whether nothing holds the Work.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether this one stands.
    #[must_use]
    pub const fn has(self, hold: Hold) -> bool {
        self.0 & hold.bit() != 0
    }

    /// Sets one.
    pub const fn set(&mut self, hold: Hold) {
        self.0 |= hold.bit();
    }

    /// Takes one away.
    pub const fn lift(&mut self, hold: Hold) {
        self.0 &= !hold.bit();
    }

    /// Those that stand, in the order they are shown.
    pub fn iter(self) -> impl Iterator<Item = Hold> {
        Hold::ALL.into_iter().filter(move |hold| self.has(*hold))
    }

    /// The number a column holds.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// From the number a column holds; `None` if a bit of it means nothing.
    #[must_use]
    pub fn from_bits(bits: u8) -> Option<Self> {
        let known = Hold::ALL.into_iter().fold(0, |all, hold| all | hold.bit());
        (bits & !known == 0).then_some(Self(bits))
    }
}

impl FromIterator<Hold> for Holds {
    fn from_iter<I: IntoIterator<Item = Hold>>(holds: I) -> Self {
        holds.into_iter().fold(Self::NONE, |mut all, hold| {
            all.set(hold);
            all
        })
    }
}
