//! Row ids (integers, inside the database) and uids (prefixed text, at the edge).
//!
//! A row id never leaves the process; a uid is what people and programs see. Only [`Seq`] is both:
//! it is an event's row
//! id and its shown place in this database.

use std::fmt;

use sha2::{Digest as _, Sha256};
use type_safe_id::{StaticType, TypeSafeId};
use uuid::Uuid;

use super::Millis;

/// A [`number!`] that is shown bare.
macro_rules! row_id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        number! {
            $(#[$doc])*
            $name($inner)
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

row_id! {
    /// Acceptance order of an Event, which is commit order; starts at 1. INGRESS-02
    Seq(i64)
}
row_id! {
    /// Row of a Work.
    WorkId(i64)
}
row_id! {
    /// Row of a Wait.
    WaitId(i64)
}
row_id! {
    /// Number of an attempt of its Work; starts at 1, grows by one, is never reset. RETRY-12
    AttemptNo(u32)
}
row_id! {
    /// Which claim of an attempt this is; strictly grows, from 1 or from the first of the database's
    /// incarnation. LEASE-10 OURS-21
    Epoch(u64)
}
row_id! {
    /// How often the database was restored, counted from 1. OURS-21
    Incarnation(u32)
}
row_id! {
    /// A validated configuration, numbered in the order they became current. BIND-10
    Generation(i64)
}

impl Incarnation {
    /// Claims that one attempt may have in one incarnation.
    pub const EPOCHS: u64 = 1_000_000_000;

    /// The last epoch of the incarnations before this one; its own are above. OURS-21
    #[must_use]
    pub const fn floor(self) -> Epoch {
        // Four billion incarnations of a billion epochs fit.
        Epoch((self.0 as u64).saturating_sub(1) * Self::EPOCHS)
    }

    /// The next claim of an attempt whose last was `last`: higher, and of this incarnation. LEASE-10
    #[must_use]
    pub fn epoch_after(self, last: Epoch) -> Epoch {
        Epoch(last.max(self.floor()).0.saturating_add(1))
    }
}

macro_rules! uid {
    ($(#[$doc:meta])* $name:ident, $tag:ident, $prefix:literal) => {
        /// Carries the prefix of the id of the same name.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
        pub struct $tag;

        impl StaticType for $tag {
            const TYPE: &'static str = $prefix;
        }

        $(#[$doc])*
        pub type $name = TypeSafeId<$tag>;
    };
}

uid! {
    /// `evt_…`: an Event, to the outside.
    EventUid, EventTag, "evt"
}
uid! {
    /// `work_…`: a Work, to the outside.
    WorkUid, WorkTag, "work"
}
uid! {
    /// `att_…`: an attempt, to the outside.
    AttemptUid, AttemptTag, "att"
}
uid! {
    /// `wait_…`: a Wait, to the outside.
    WaitUid, WaitTag, "wait"
}

/// An id that a decision about `of` always proposes again, so that repeating the decision cannot
/// make a second thing: UUID v8 of an instant and the SHA-256 of (id, role, ordinal). ROUTE-16
#[must_use]
pub fn derived_uuid(at: Millis, of: Uuid, role: &str, ordinal: u32) -> Uuid {
    let mut hasher = Sha256::new();
    hasher.update(of.as_bytes());
    hasher.update((role.len() as u64).to_le_bytes());
    hasher.update(role);
    hasher.update(ordinal.to_le_bytes());
    let hash = hasher.finalize();
    let mut bytes = [0; 16];
    // Milliseconds lead, as in v7, so that derived ids sort among the others by time.
    bytes[..6].copy_from_slice(&at.0.to_be_bytes()[2..]);
    bytes[6..].copy_from_slice(&hash[..10]);
    Uuid::new_v8(bytes)
}
