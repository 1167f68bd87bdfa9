//! Worlds of attempts: claims, leases, recovery and the ways an attempt ends.

use crate::action::{Kind, Mark};
use crate::index::{DeliveryIx, WorkIx};
use crate::worlds::parts::*;
use crate::worlds::{Ask, Binding, Delivery, Does, WaitDef, When, World};

/// Claims, leases, recovery and cancellation.
pub(super) const ATTEMPTS: World = World {
    name: "attempts",
    shows: "two Works share one place; leases end in every phase, recoveries race, input arrives, cancels strike",
    scopes: &["main"],
    keys: &["issue/1", "issue/2"],
    types: &["note"],
    deliveries: &[
        keyed("fix-it", 0, 0),
        Delivery { when: When::Started(WorkIx(0)), ..keyed("and-this", 0, 0) },
        Delivery { when: When::Started(WorkIx(0)), ..keyed("and-that", 0, 0) },
        keyed("ship-it", 1, 1),
    ],
    works: &[work("fix", RUNS_ONCE), work("ship", HELD)],
    lease: 2,
    capacity: 1,
    offers: RUNNING,
    ..BARE
};

/// The next larger bound of [`ATTEMPTS`]: one more tick of a lease.
pub(super) const ATTEMPTS_LARGER: World = World { name: "attempts-larger", lease: 3, ..ATTEMPTS };

/// Configurations that are replaced while things run.
pub(super) const CONFIGURATION: World = World {
    name: "configuration",
    shows: "a reload falls between a decision and its commit, between a claim and a resume; one scope lies in another",
    scopes: &["main", "team"],
    inside: &[(1, 0)],
    keys: &["ci/1", "ship/1"],
    types: &["note", "result"],
    deliveries: &[
        Delivery { scope: 1, ..keyed("start", 0, 0) },
        Delivery { scope: 1, reloaded: Some(does(Does::Drop)), ..result("green") },
        Delivery { when: When::Accepted(DeliveryIx(0)), ..keyed("ship-it", 1, 1) },
    ],
    works: &[work("fix", Binding { active: Some(2), ..RESUMES }), work("ship", RUNS_ONCE)],
    waits: &[WaitDef { after: &[Mark::Batch], ..CI }],
    operated: &[WorkIx(0)],
    lease: 1,
    configurations: 2,
    offers: &[
        Kind::Accept,
        Kind::Evaluate,
        Kind::CommitRoute,
        Kind::Claim,
        Kind::ClearNeverHanded,
        Kind::Pin,
        Kind::Complete,
        Kind::Fail,
        Kind::ClaimRecovery,
        Kind::SettleRecovery,
        Kind::RegisterWait,
        Kind::Wake,
        Kind::Vacate,
        Kind::ProcessExits,
        Kind::Reload,
        Kind::Tick,
    ],
    ..BARE
};

/// The next larger bound of [`CONFIGURATION`]: one more reload.
pub(super) const CONFIGURATION_LARGER: World =
    World { name: "configuration-larger", configurations: 3, ..CONFIGURATION };

/// Small parts of everything, together.
pub(super) const COMPOSED: World = World {
    name: "composed",
    shows: "two Works with two keys share one place; one waits, is held, is dropped from and released meanwhile",
    keys: &["ci/1", "ship/1"],
    types: &["note", "result"],
    deliveries: &[
        keyed("start", 0, 0),
        result("green"),
        Delivery { when: When::Started(WorkIx(0)), ..keyed("ship-it", 1, 1) },
        Delivery { when: When::Started(WorkIx(0)), ..asks("release", Ask::Release(WorkIx(0))) },
    ],
    works: &[work("fix", RESUMES), work("ship", RUNS_ONCE)],
    waits: &[WaitDef { timeout: Some(1), after: &[Mark::Batch], ..CI }],
    operated: &[WorkIx(0)],
    offers: &[
        Kind::Accept,
        Kind::Evaluate,
        Kind::CommitRoute,
        Kind::Claim,
        Kind::ClearNeverHanded,
        Kind::Pin,
        Kind::Complete,
        Kind::ClaimRecovery,
        Kind::SettleRecovery,
        Kind::RegisterWait,
        Kind::Wake,
        Kind::FireTimer,
        Kind::Vacate,
        Kind::ProcessExits,
        Kind::Hold,
        Kind::Release,
        Kind::Drop,
        Kind::Reload,
        Kind::Cancel,
        Kind::Tick,
    ],
    configurations: 1,
    ..BARE
};

/// The next larger bound of [`COMPOSED`]: one more tick of a lease.
pub(super) const COMPOSED_LARGER: World = World { name: "composed-larger", lease: 2, ..COMPOSED };
