//! Worlds of attempts: claims, leases, recovery and the ways an attempt ends.

use crate::action::Kind;
use crate::index::DeliveryIx;
use crate::worlds::parts::*;
use crate::worlds::{Ask, Binding, Delivery, Does, When, World};

/// Claims, leases, recovery and cancellation.
pub(super) const ATTEMPTS: World = World {
    name: "attempts",
    shows: "two Works share one place; leases end in every phase, recoveries race, input arrives, cancels strike",
    keys: &["issue/1", "issue/2"],
    deliveries: &[
        note("fix-it"),
        note("and-this").once(When::Started(FIRST)),
        note("and-that").once(When::Started(FIRST)),
        keyed("ship-it", 1, SECOND),
    ],
    works: &[work("fix", RUNS_ONCE), work("ship", HELD)],
    lease: 2,
    offers: &[ROUTES, RUNS, EXPIRES, &[Kind::Renew, Kind::Fail, Kind::Cancel]],
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
    types: WITH_RESULTS,
    deliveries: &[
        note("start").within(1),
        Delivery { reloaded: Some(does(Does::Drop)), ..result("green").within(1) },
        keyed("ship-it", 1, SECOND).once(When::Accepted(DeliveryIx(0))),
    ],
    works: &[work("fix", Binding { active: Some(2), ..RESUMES }), work("ship", RUNS_ONCE)],
    waits: &[CI_FROM_BATCH],
    operated: &[FIRST],
    configurations: 2,
    offers: &[ROUTES, RUNS, EXPIRES, WAKES, &[Kind::Fail, Kind::Reload]],
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
    types: WITH_RESULTS,
    deliveries: &[
        note("start"),
        result("green"),
        keyed("ship-it", 1, SECOND).once(When::Started(FIRST)),
        asks("release", Ask::Release(FIRST)).once(When::Started(FIRST)),
    ],
    works: &[work("fix", RESUMES), work("ship", RUNS_ONCE)],
    waits: &[CI_FROM_BATCH.timed(1)],
    operated: &[FIRST],
    offers: &[
        ROUTES,
        RUNS,
        EXPIRES,
        WAKES,
        &[Kind::FireTimer, Kind::Hold, Kind::Release, Kind::Drop, Kind::Reload, Kind::Cancel],
    ],
    ..BARE
};

/// The next larger bound of [`COMPOSED`]: one more tick of a lease.
pub(super) const COMPOSED_LARGER: World = World { name: "composed-larger", lease: 2, ..COMPOSED };
