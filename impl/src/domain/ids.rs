//! Row ids (integers, inside the database) and uids (prefixed text, at the edge).
//!
//! A row id never leaves the process; a uid is what people and programs see. Only [`Seq`] is both:
//! it is an event's row
//! id and its shown place in this database.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use type_safe_id::{StaticType, TypeSafeId};
use uuid::Uuid;

use super::Millis;

macro_rules! row_id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
            schemars::JsonSchema,
        )]
        #[serde(transparent)]
        pub struct $name(pub $inner);

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
    /// Which claim of an attempt this is; starts at 1 and strictly grows. LEASE-10
    Epoch(u32)
}
row_id! {
    /// A validated configuration, numbered in the order they became current. BIND-10
    Generation(i64)
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
