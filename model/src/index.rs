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
