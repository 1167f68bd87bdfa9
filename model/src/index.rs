//! Small indices into the finite universe of a world, and the optional index stored in a state.
//!
//! Names exist at the edge only: `names.rs` turns an index into the word a person reads and back.

use bytemuck::NoUninit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! indices {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(Serialize, Deserialize, JsonSchema)]
        pub struct $name(pub u8);

        impl $name {
            /// The position of this index in its table.
            pub fn at(self) -> usize {
                usize::from(self.0)
            }
        }

        impl From<$name> for Maybe {
            fn from(index: $name) -> Self {
                Maybe::of(index.0)
            }
        }

        impl From<Maybe> for Option<$name> {
            fn from(maybe: Maybe) -> Self {
                maybe.get().map($name)
            }
        }
    )*};
}

indices! {
    /// One delivery that a sender of the world may offer.
    DeliveryIx
    /// One event slot: the deliveries first, then what the law derives; `worlds.rs` says in which order.
    EventIx
    /// One Work: the one that the deliveries proposing it would create.
    WorkIx
    /// One wait of the universe; each is registered at most once.
    WaitIx
}

impl From<DeliveryIx> for EventIx {
    /// A delivery keeps its number as an event.
    fn from(delivery: DeliveryIx) -> Self {
        EventIx(delivery.0)
    }
}

/// An optional index in one byte, 0 for none, so that a state is plain bytes.
#[derive(Clone, Copy, Default, PartialEq, Eq, NoUninit)]
#[repr(transparent)]
pub struct Maybe(u8);

impl Maybe {
    /// No index.
    pub const NONE: Maybe = Maybe(0);

    fn of(index: u8) -> Self {
        Maybe(index + 1)
    }

    fn get(self) -> Option<u8> {
        self.0.checked_sub(1)
    }

    /// The event meant, if any.
    pub fn event(self) -> Option<EventIx> {
        self.into()
    }

    /// The Work meant, if any.
    pub fn work(self) -> Option<WorkIx> {
        self.into()
    }

    /// The wait meant, if any.
    pub fn wait(self) -> Option<WaitIx> {
        self.into()
    }

    /// The key meant, if any.
    pub fn key(self) -> Option<u8> {
        self.get()
    }

    /// A key, or none.
    pub fn of_key(key: Option<u8>) -> Self {
        key.map_or(Maybe::NONE, Maybe::of)
    }
}

impl std::fmt::Debug for Maybe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.get() {
            Some(index) => write!(f, "{index}"),
            None => f.write_str("-"),
        }
    }
}

/// The indices below `count`, as bytes; a universe has fewer than 255 of anything.
pub fn below(count: usize) -> std::ops::Range<u8> {
    0..u8::try_from(count).expect("a universe has fewer than 255 of anything")
}

/// A set of events in one word: what a result says its process took in. INJECT-08
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
pub struct Proofs(u64);

impl Proofs {
    /// No event.
    pub const NONE: Proofs = Proofs(0);

    /// These deliveries, by index.
    pub const fn of(deliveries: &[u8]) -> Self {
        let (mut set, mut at) = (0, 0);
        while at < deliveries.len() {
            set |= 1 << deliveries[at];
            at += 1;
        }
        Proofs(set)
    }

    /// Whether no event is among them.
    pub fn is_empty(self) -> bool {
        self == Proofs::NONE
    }

    /// Whether this event is among them; one beyond the word never is.
    pub fn has(self, event: EventIx) -> bool {
        1_u64.checked_shl(u32::from(event.0)).is_some_and(|bit| self.0 & bit != 0)
    }

    /// Those events and this one.
    #[must_use]
    pub fn with(self, event: EventIx) -> Self {
        Proofs(self.0 | 1_u64.checked_shl(u32::from(event.0)).unwrap_or(0))
    }

    /// The events, by index.
    pub fn events(self) -> impl Iterator<Item = EventIx> {
        (0..64).map(EventIx).filter(move |event| self.has(*event))
    }
}

impl FromIterator<EventIx> for Proofs {
    fn from_iter<I: IntoIterator<Item = EventIx>>(events: I) -> Self {
        events.into_iter().fold(Proofs::NONE, Proofs::with)
    }
}
